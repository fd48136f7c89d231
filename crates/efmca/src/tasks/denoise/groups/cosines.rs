//! The cosine transform of patches.

use multiversion::multiversion;

/// The orthonormal cosine transform of square patches.
pub(in super::super) struct Cosines {
    side: usize,
    /// One cosine a row, and the same with one a column.
    rows: Vec<f32>,
    columns: Vec<f32>,
}

impl Cosines {
    pub(in super::super) fn new(side: usize) -> Cosines {
        let value = |k: usize, x: usize| {
            let norm = if k == 0 { 1.0 } else { 2.0 } / side as f64;
            (norm.sqrt() * (std::f64::consts::PI * (x as f64 + 0.5) * k as f64 / side as f64).cos()) as f32
        };
        let all = 0..side * side;
        Cosines {
            side,
            rows: all.clone().map(|at| value(at / side, at % side)).collect(),
            columns: all.map(|at| value(at % side, at / side)).collect(),
        }
    }

    /// The coefficients of the patch at every position, one after the other.
    pub(super) fn of_all_patches(&self, pixels: &[f32], columns: usize) -> Vec<f32> {
        let side = self.side;
        let (down, across) = (pixels.len() / columns + 1 - side, columns + 1 - side);
        let mut coefficients = vec![0.0; down * across * side * side];
        transform_all(self, pixels, columns, &mut coefficients);
        coefficients
    }

    /// The coefficients of a patch.
    pub(in super::super) fn of_patch(&self, patch: &[f32], coefficients: &mut [f32]) {
        forward(self, patch, coefficients);
    }

    /// The patch with these coefficients.
    pub(in super::super) fn back(&self, coefficients: &[f32], patch: &mut [f32]) {
        inverse(self, coefficients, patch);
    }
}

/// Lines are transformed first, each once for all patches that it is in.
#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn transform_all(cosines: &Cosines, pixels: &[f32], columns: usize, coefficients: &mut [f32]) {
    let side = cosines.side;
    let across = columns + 1 - side;
    let mut lines = vec![0.0; pixels.len() / columns * across * side];
    for (to, line) in lines.chunks_exact_mut(across * side).zip(pixels.chunks_exact(columns)) {
        for (to, window) in to.chunks_exact_mut(side).zip(line.windows(side)) {
            row_product(window, &cosines.columns, to);
        }
    }
    let mut half = vec![0.0; side * side];
    for (at, coefficients) in coefficients.chunks_exact_mut(side * side).enumerate() {
        for (half, line) in half.chunks_exact_mut(side).zip(lines[at * side..].chunks(across * side)) {
            half.iter_mut().zip(line).for_each(|(to, from)| *to = *from);
        }
        square_product(side, &cosines.rows, &half, coefficients);
    }
}

/// A row times a square matrix.
#[inline(always)]
fn row_product(row: &[f32], matrix: &[f32], to: &mut [f32]) {
    match row.len() {
        8 => product::<8>(row, matrix, to),
        12 => product::<12>(row, matrix, to),
        16 => product::<16>(row, matrix, to),
        side => any_product(side, row, matrix, to),
    }
}

/// The product of two square matrices of `side` rows; a constant size is worth a factor.
#[inline(always)]
fn square_product(side: usize, left: &[f32], right: &[f32], to: &mut [f32]) {
    match side {
        8 => product::<8>(left, right, to),
        12 => product::<12>(left, right, to),
        16 => product::<16>(left, right, to),
        _ => any_product(side, left, right, to),
    }
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn forward(cosines: &Cosines, patch: &[f32], coefficients: &mut [f32]) {
    with_room(cosines.side, |half| {
        both_products(cosines.side, &cosines.rows, patch, &cosines.columns, half, coefficients);
    });
}

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn inverse(cosines: &Cosines, coefficients: &[f32], patch: &mut [f32]) {
    with_room(cosines.side, |half| {
        both_products(cosines.side, &cosines.columns, coefficients, &cosines.rows, half, patch);
    });
}

/// Room for a square matrix, on the stack if it is not large.
#[inline(always)]
fn with_room(side: usize, work: impl FnOnce(&mut [f32])) {
    if side <= 16 { work(&mut [0.0; 16 * 16]) } else { work(&mut vec![0.0; side * side]) }
}

/// `left` times `middle` times `right`, square matrices of `side` rows.
#[inline(always)]
fn both_products(side: usize, left: &[f32], middle: &[f32], right: &[f32], half: &mut [f32], to: &mut [f32]) {
    let half = &mut half[..side * side];
    square_product(side, left, middle, half);
    square_product(side, half, right, to);
}

#[inline(always)]
fn product<const N: usize>(left: &[f32], right: &[f32], to: &mut [f32]) {
    for (left, to) in left.chunks_exact(N).zip(to.chunks_exact_mut(N)) {
        let mut sum = [0.0f32; N];
        for (factor, right) in left.iter().zip(right.chunks_exact(N)) {
            sum.iter_mut().zip(right).for_each(|(sum, right)| *sum += factor * right);
        }
        to.copy_from_slice(&sum);
    }
}

#[inline(always)]
fn any_product(n: usize, left: &[f32], right: &[f32], to: &mut [f32]) {
    for (left, to) in left.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
        to.fill(0.0);
        for (factor, right) in left.iter().zip(right.chunks_exact(n)) {
            to.iter_mut().zip(right).for_each(|(to, right)| *to += factor * right);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_come_back_and_keep_their_energy() {
        for side in [1, 5, 8, 12, 20] {
            let (rows, columns) = (side + 2, side + 3);
            let pixels: Vec<f32> = (0..rows * columns).map(|at| ((at * 37) % 11) as f32 - 4.0).collect();
            let cosines = Cosines::new(side);
            let all = cosines.of_all_patches(&pixels, columns);
            assert_eq!(all.len(), 3 * 4 * side * side);
            let mut patch = vec![0.0; side * side];
            // the patch in row 1 and column 2
            let coefficients = &all[(4 + 2) * side * side..][..side * side];
            cosines.back(coefficients, &mut patch);
            let energy = |values: &[f32]| values.iter().map(|value| value * value).sum::<f32>();
            assert!((energy(coefficients) - energy(&patch)).abs() < 1e-3 * energy(&patch).max(1.0));
            for (at, value) in patch.iter().enumerate() {
                let pixel = pixels[(1 + at / side) * columns + 2 + at % side];
                assert!((value - pixel).abs() < 1e-4, "{side}: {value} instead of {pixel}");
            }
        }
    }
}
