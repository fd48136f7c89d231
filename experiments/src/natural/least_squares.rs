//! Least squares for forms in which some parameters enter linearly (variable projection).
//!
//! For fixed non-linear parameters $`q`$ the best linear ones solve a small linear system,
//! ```math
//! c(q) = (\Phi^T \Phi)^{-1} \Phi^T y,
//! ```
//! so that only $`q`$ is searched, by Levenberg-Marquardt within a box. The Jacobian of the residuals is that of Kaufman,
//! $`J = -(1 - \Phi (\Phi^T \Phi)^{-1} \Phi^T) D`$ with $`D_k = (\partial \Phi / \partial q_k) c`$: its gradient is exact,
//! because the residuals are orthogonal to $`\Phi`$.

use super::field::Field;

/// A form with `L` linear and `Q` non-linear parameters.
pub(super) trait Form<const L: usize, const Q: usize> {
    /// The functions that are added up, at a pixel (x, y), and their derivatives by the non-linear parameters.
    fn at(q: &[f64; Q]) -> impl Fn(f64, f64) -> ([f64; L], [[f64; Q]; L]);
}

/// Where each non-linear parameter may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds<const Q: usize> {
    pub(super) low: [f64; Q],
    pub(super) high: [f64; Q],
}

impl<const Q: usize> Bounds<Q> {
    pub(super) fn clamp(&self, mut q: [f64; Q]) -> [f64; Q] {
        for ((q, low), high) in q.iter_mut().zip(self.low).zip(self.high) {
            *q = q.max(low).min(high);
        }
        q
    }
}

/// A point of the search: the non-linear parameters, the best linear ones for them, and the squared error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point<const L: usize, const Q: usize> {
    pub(super) q: [f64; Q],
    pub(super) c: [f64; L],
    pub(super) sse: f64,
}

/// How many starts are followed for how many steps: a few of the most promising ones briefly, the last of those to the end.
const FEW: usize = 16;
const FEW_STEPS: usize = 8;
const LAST: usize = 3;
const LAST_STEPS: usize = 80;
/// A search is over when a step lowers the error by less than this share.
const TOLERANCE: f64 = 1e-7;
/// Points with errors nearer than this share are taken for one on its way to one minimum.
const SAME: f64 = 1e-3;
/// A share of the diagonal that is added to $`\Phi^T \Phi`$, for functions that vanish or that are the same on all pixels.
const RIDGE: f64 = 1e-12;

/// The best linear parameters for `q`.
pub(super) fn project<F: Form<L, Q>, const L: usize, const Q: usize>(field: &Field, q: [f64; Q]) -> Point<L, Q> {
    let form = F::at(&q);
    let (mut gram, mut b) = ([[0.0; L]; L], [0.0; L]);
    for &(x, y, value) in &field.pixels {
        let (phi, _) = form(x, y);
        for i in 0..L {
            b[i] += phi[i] * value;
            for j in 0..=i {
                gram[i][j] += phi[i] * phi[j];
            }
        }
    }
    let c = solve(ridged(gram), b).unwrap_or([0.0; L]);
    let mut sse = field.about_zero;
    for i in 0..L {
        sse += c[i] * (gram[i][i] * c[i] - 2.0 * b[i]);
        for j in 0..i {
            sse += 2.0 * c[i] * c[j] * gram[i][j];
        }
    }
    Point { q, c, sse: sse.max(0.0) }
}

/// The best point that the search finds from any of the starts.
///
/// Of the starts only those with the lowest error are followed. Starts that are close to each other should come with one label,
/// of which only the best counts, so that those which are followed differ.
pub(super) fn search<F: Form<L, Q>, const L: usize, const Q: usize>(
    field: &Field,
    starts: &[(usize, [f64; Q])],
    bounds: &Bounds<Q>,
) -> Option<Point<L, Q>> {
    let mut scored: Vec<(usize, Point<L, Q>)> =
        starts.iter().map(|(label, q)| (*label, project::<F, L, Q>(field, bounds.clamp(*q)))).collect();
    scored.sort_by(|a, b| a.1.sse.total_cmp(&b.1.sse));
    let mut seen = Vec::new();
    scored.retain(|(label, _)| {
        let new = !seen.contains(label);
        seen.push(*label);
        new
    });
    let mut points: Vec<Point<L, Q>> =
        scored.into_iter().take(FEW).map(|(_, point)| descend::<F, L, Q>(field, point, bounds, FEW_STEPS)).collect();
    points.sort_by(|a, b| a.sse.total_cmp(&b.sse));
    points.dedup_by(|next, last| next.sse <= last.sse * (1.0 + SAME));
    points
        .into_iter()
        .take(LAST)
        .map(|point| descend::<F, L, Q>(field, point, bounds, LAST_STEPS))
        .min_by(|a, b| a.sse.total_cmp(&b.sse))
}

/// Levenberg-Marquardt from a point; the error never rises.
fn descend<F: Form<L, Q>, const L: usize, const Q: usize>(
    field: &Field,
    start: Point<L, Q>,
    bounds: &Bounds<Q>,
    steps: usize,
) -> Point<L, Q> {
    let (mut point, mut damping) = (start, 1e-2);
    for _ in 0..steps {
        let (hessian, gradient) = normal_equations::<F, L, Q>(field, &point, bounds);
        let mut better = None;
        while damping < 1e8 {
            let mut damped = hessian;
            for (k, row) in damped.iter_mut().enumerate() {
                // a parameter without effect here (an angle of a round field) must not make the system singular
                row[k] += damping * row[k] + 1e-12 * field.about_zero + f64::MIN_POSITIVE;
            }
            if let Some(step) = solve(damped, gradient) {
                let mut q = point.q;
                q.iter_mut().zip(step).for_each(|(q, step)| *q -= step);
                let trial = project::<F, L, Q>(field, bounds.clamp(q));
                if trial.sse < point.sse {
                    better = Some(trial);
                    break;
                }
            }
            damping *= 4.0;
        }
        let Some(trial) = better else { break };
        let gain = point.sse - trial.sse;
        point = trial;
        damping = (damping / 6.0).max(1e-9);
        if gain <= TOLERANCE * point.sse {
            break;
        }
    }
    point
}

/// $`J^T J`$ and half of the gradient of the error; parameters that the gradient pushes out of the box are held.
fn normal_equations<F: Form<L, Q>, const L: usize, const Q: usize>(
    field: &Field,
    point: &Point<L, Q>,
    bounds: &Bounds<Q>,
) -> ([[f64; Q]; Q], [f64; Q]) {
    let form = F::at(&point.q);
    let (mut hessian, mut gradient) = ([[0.0; Q]; Q], [0.0; Q]);
    let (mut gram, mut across) = ([[0.0; L]; L], [[0.0; L]; Q]);
    for &(x, y, value) in &field.pixels {
        let (phi, slopes) = form(x, y);
        let mut residual = value;
        let mut d = [0.0; Q];
        for l in 0..L {
            residual -= point.c[l] * phi[l];
            for k in 0..Q {
                d[k] += point.c[l] * slopes[l][k];
            }
            for j in 0..=l {
                gram[l][j] += phi[l] * phi[j];
            }
        }
        for k in 0..Q {
            gradient[k] -= d[k] * residual;
            for l in 0..L {
                across[k][l] += d[k] * phi[l];
            }
            for j in 0..=k {
                hessian[k][j] += d[k] * d[j];
            }
        }
    }
    let gram = ridged(gram);
    for k in 0..Q {
        let through = solve(gram, across[k]).unwrap_or([0.0; L]);
        for j in 0..=k {
            hessian[k][j] -= through.iter().zip(across[j]).map(|(a, b)| a * b).sum::<f64>();
        }
        hessian[k][k] = hessian[k][k].max(0.0);
    }
    for k in 0..Q {
        let out =
            (point.q[k] <= bounds.low[k] && gradient[k] > 0.0) || (point.q[k] >= bounds.high[k] && gradient[k] < 0.0);
        if out {
            gradient[k] = 0.0;
            for j in 0..Q {
                hessian[k.max(j)][k.min(j)] = if j == k { 1.0 } else { 0.0 };
            }
        }
    }
    (hessian, gradient)
}

fn ridged<const N: usize>(mut a: [[f64; N]; N]) -> [[f64; N]; N] {
    let trace: f64 = (0..N).map(|i| a[i][i]).sum();
    for (i, row) in a.iter_mut().enumerate() {
        row[i] += RIDGE * trace;
    }
    a
}

/// Solves a symmetric positive definite system, of which the lower half is given, by Cholesky; `None` if it is not definite.
fn solve<const N: usize>(mut a: [[f64; N]; N], mut b: [f64; N]) -> Option<[f64; N]> {
    for i in 0..N {
        for j in 0..=i {
            let sum: f64 = a[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            if i == j {
                if !(sum > 0.0 && sum.is_finite()) {
                    return None;
                }
                a[i][i] = sum.sqrt();
            } else {
                a[i][j] = sum / a[j][j];
            }
        }
    }
    for i in 0..N {
        b[i] = (b[i] - (0..i).map(|k| a[i][k] * b[k]).sum::<f64>()) / a[i][i];
    }
    for i in (0..N).rev() {
        b[i] = (b[i] - (i + 1..N).map(|k| a[k][i] * b[k]).sum::<f64>()) / a[i][i];
    }
    Some(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cholesky_solves_and_refuses() {
        let x = solve([[4.0, 0.0, 0.0], [2.0, 5.0, 0.0], [1.0, 3.0, 6.0]], [9.0, 21.0, 25.0]).expect("definite");
        let back =
            [4.0 * x[0] + 2.0 * x[1] + x[2], 2.0 * x[0] + 5.0 * x[1] + 3.0 * x[2], x[0] + 3.0 * x[1] + 6.0 * x[2]];
        for (back, b) in back.iter().zip([9.0, 21.0, 25.0]) {
            assert!((back - b).abs() < 1e-12);
        }
        assert!(solve([[1.0, 0.0], [2.0, 1.0]], [1.0, 1.0]).is_none());
        assert!(solve([[f64::NAN]], [1.0]).is_none());
    }
}
