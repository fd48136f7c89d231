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

#[multiversion(targets("x86_64+avx2+fma", "x86_64+avx", "aarch64+neon"))]
fn transform_all(cosines: &Cosines, pixels: &[f32], columns: usize, coefficients: &mut [f32]) {
    let side = cosines.side;
    let across = columns + 1 - side;
    let (mut patch, mut half) = (vec![0.0; side * side], vec![0.0; side * side]);
    for (at, coefficients) in coefficients.chunks_exact_mut(side * side).enumerate() {
        let corner = at / across * columns + at % across;
        for (line, to) in patch.chunks_exact_mut(side).enumerate() {
            to.copy_from_slice(&pixels[corner + line * columns..][..side]);
        }
        both_products(side, &cosines.rows, &patch, &cosines.columns, &mut half, coefficients);
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

/// `left` times `middle` times `right`, square matrices of `side` rows; a constant size is worth a factor.
#[inline(always)]
fn both_products(side: usize, left: &[f32], middle: &[f32], right: &[f32], half: &mut [f32], to: &mut [f32]) {
    match side {
        8 => products::<8>(left, middle, right, half, to),
        12 => products::<12>(left, middle, right, half, to),
        16 => products::<16>(left, middle, right, half, to),
        _ => any_products(side, left, middle, right, half, to),
    }
}

/// `left` times `middle` times `right`, square matrices of `N` rows.
#[inline(always)]
fn products<const N: usize>(left: &[f32], middle: &[f32], right: &[f32], half: &mut [f32], to: &mut [f32]) {
    product::<N>(left, middle, half);
    product::<N>(half, right, to);
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
fn any_products(n: usize, left: &[f32], middle: &[f32], right: &[f32], half: &mut [f32], to: &mut [f32]) {
    any_product(n, left, middle, half);
    any_product(n, half, right, to);
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
