//! Ridge regression whose penalty is chosen by rows that it has not seen.

use nalgebra::{DMatrix, SymmetricEigen};
use ndarray::{Array1, Array2, ArrayView2, Axis};

/// Penalties for each row that are tried, from weak to strong; without any regression is tried as well.
const PENALTIES: [f64; 10] = [1e-5, 1e-4, 1e-3, 1e-2, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];
/// Features of a regression, at the most: those that go with the targets most closely.
const MOST_FEATURES: usize = 160;

/// A linear function of features.
#[derive(Debug, Clone)]
pub(super) struct Linear {
    /// The features that it uses.
    features: Vec<usize>,
    centre: Array1<f64>,
    /// A row for each feature, a column for each target.
    slopes: Array2<f64>,
    offset: Array1<f64>,
}

/// Features that a regression may use, and one whose slope is minus one whatever the data say: then the targets are what they are
/// with it added.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) features: Vec<usize>,
    pub(super) without: Option<usize>,
}

/// A regression, and what it says about rows when it has not seen them.
#[derive(Debug, Clone)]
pub(super) struct Regression {
    pub(super) linear: Linear,
    /// For each row the prediction of the regression of the other folds.
    pub(super) unseen: Array2<f64>,
}

impl Linear {
    /// The targets of a row with these features.
    pub(super) fn of(&self, features: &[f64]) -> Array1<f64> {
        let mut found = self.offset.clone();
        for (place, (feature, centre)) in self.features.iter().zip(&self.centre).enumerate() {
            found.scaled_add(features[*feature] - centre, &self.slopes.row(place));
        }
        found
    }
}

/// A least-squares problem with the eigenvectors of its features, from which the solution for any penalty is quick.
struct Problem {
    features: Vec<usize>,
    centre: Array1<f64>,
    offset: Array1<f64>,
    vectors: Array2<f64>,
    values: Vec<f64>,
    /// $V^T X^T T$.
    moments: Array2<f64>,
    rows: f64,
}

impl Problem {
    fn new(x: ArrayView2<'_, f64>, t: ArrayView2<'_, f64>, allowed: &[usize]) -> Option<Problem> {
        let rows = x.nrows();
        let (offset, all) = (t.mean_axis(Axis(0))?, x.mean_axis(Axis(0))?);
        let t = &t - &offset;
        let features = closest(&x, &t, &all, allowed);
        if features.is_empty() {
            return None;
        }
        let centre: Array1<f64> = features.iter().map(|feature| all[*feature]).collect();
        let x = x.select(Axis(1), &features) - &centre;
        let gram = x.t().dot(&x);
        let count = features.len();
        let eigen = SymmetricEigen::try_new(
            DMatrix::from_iterator(count, count, gram.iter().copied()),
            f64::EPSILON,
            // never seen to need more than a few for each; a matrix of rubbish ends here
            100 * count,
        )?;
        let vectors = Array2::from_shape_fn((count, count), |(row, column)| eigen.eigenvectors[(row, column)]);
        let values = eigen.eigenvalues.iter().map(|value| value.max(0.0)).collect();
        let moments = vectors.t().dot(&x.t().dot(&t));
        Some(Problem { features, centre, offset, vectors, values, moments, rows: rows as f64 })
    }

    fn solved(&self, penalty: f64) -> Linear {
        let mut moments = self.moments.clone();
        for (value, mut row) in self.values.iter().zip(moments.outer_iter_mut()) {
            row /= value + penalty * self.rows;
        }
        Linear {
            features: self.features.clone(),
            centre: self.centre.clone(),
            slopes: self.vectors.dot(&moments),
            offset: self.offset.clone(),
        }
    }
}

/// The features among `allowed` that vary, of many the ones with the largest correlations with the targets.
fn closest(x: &ArrayView2<'_, f64>, t: &Array2<f64>, mean: &Array1<f64>, allowed: &[usize]) -> Vec<usize> {
    let mut strength: Vec<(usize, f64)> = Vec::new();
    for feature in allowed.iter().copied() {
        let centred = &x.column(feature) - mean[feature];
        let size = centred.dot(&centred);
        if size > 1e-12 {
            strength.push((feature, t.t().dot(&centred).mapv(|sum| sum * sum).sum() / size));
        }
    }
    if strength.len() > MOST_FEATURES {
        strength.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        strength.truncate(MOST_FEATURES);
        strength.sort_by_key(|(feature, _)| *feature);
    }
    strength.into_iter().map(|(feature, _)| feature).collect()
}

/// The regression of `t` on some of the features of `x`, of several such choices and penalties those that predict each fold best from
/// the others; `None` if no regression is better, or if there are too few rows for one.
pub(super) fn regression(
    x: ArrayView2<'_, f64>,
    t: ArrayView2<'_, f64>,
    folds: &[usize],
    choices: &[Choice],
) -> Option<Regression> {
    let tried = choices.iter().filter_map(|choice| of_choice(x, t, folds, choice));
    let (error, found) = tried.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let without = t.iter().map(|t| t * t).sum::<f64>();
    (error < without).then_some(found)
}

fn of_choice(
    x: ArrayView2<'_, f64>,
    t: ArrayView2<'_, f64>,
    folds: &[usize],
    choice: &Choice,
) -> Option<(f64, Regression)> {
    let Some(without) = choice.without else { return of_features(x, t, folds, &choice.features) };
    let known = x.column(without).insert_axis(Axis(1));
    let (error, mut found) = of_features(x, (&t + &known).view(), folds, &choice.features)?;
    found.unseen -= &known;
    found.linear.features.push(without);
    found.linear.centre.append(Axis(0), ndarray::aview1(&[0.0])).ok()?;
    found.linear.slopes.push_row(Array1::from_elem(t.ncols(), -1.0).view()).ok()?;
    Some((error, found))
}

/// The regression on the features `allowed`, with the squared error of what it says about rows that it has not seen.
fn of_features(
    x: ArrayView2<'_, f64>,
    t: ArrayView2<'_, f64>,
    folds: &[usize],
    allowed: &[usize],
) -> Option<(f64, Regression)> {
    let count = folds.iter().copied().max()? + 1;
    let mut unseen = vec![Array2::<f64>::zeros(t.dim()); PENALTIES.len()];
    for fold in 0..count {
        let (inside, outside): (Vec<usize>, Vec<usize>) = (0..folds.len()).partition(|row| folds[*row] == fold);
        if inside.is_empty() {
            continue;
        }
        let problem = Problem::new(x.select(Axis(0), &outside).view(), t.select(Axis(0), &outside).view(), allowed)?;
        for (penalty, unseen) in PENALTIES.iter().zip(&mut unseen) {
            let linear = problem.solved(*penalty);
            for row in &inside {
                unseen.row_mut(*row).assign(&linear.of(&x.row(*row).to_vec()));
            }
        }
    }
    let error = |unseen: &Array2<f64>| (&t - unseen).mapv(|difference| difference * difference).sum();
    let errors: Vec<f64> = unseen.iter().map(error).collect();
    // of equals the stronger penalty
    let best =
        (0..errors.len()).rev().fold(errors.len() - 1, |best, one| if errors[one] < errors[best] { one } else { best });
    if errors[best].is_nan() {
        return None;
    }
    let linear = Problem::new(x, t, allowed)?.solved(PENALTIES[best]);
    Some((errors[best], Regression { linear, unseen: unseen.swap_remove(best) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash;

    fn all(features: &[usize]) -> Choice {
        Choice { features: features.to_vec(), without: None }
    }

    fn noise(place: usize) -> f64 {
        hash::of_place(5, place as u64) as f64 / u64::MAX as f64 - 0.5
    }

    #[test]
    fn a_line_is_found_and_noise_is_left_alone() {
        let x = Array2::from_shape_fn((200, 6), |(row, column)| noise(row * 6 + column));
        let folds: Vec<usize> = (0..200).map(|row| row % 5).collect();
        let line = Array2::from_shape_fn((200, 1), |(row, _)| 2.0 * x[[row, 1]] - x[[row, 4]] + 0.5);
        let found = regression(x.view(), line.view(), &folds, &[all(&[0, 2]), all(&[0, 1, 4])]).unwrap();
        assert!((&found.unseen - &line).iter().all(|error| error.abs() < 1e-3));
        assert!((found.linear.of(&[0.0, 0.1, 0.0, 0.0, 0.2, 0.0])[0] - 0.5).abs() < 1e-3);
        // targets that have nothing to do with the features, about zero: no regression, or next to none
        let rubbish = Array2::from_shape_fn((200, 1), |(row, _)| noise(90_000 + row));
        if let Some(found) = regression(x.view(), rubbish.view(), &folds, &[all(&[0, 1, 2, 3, 4, 5])]) {
            assert!(found.unseen.iter().all(|value| value.abs() < 0.1));
        }
    }

    #[test]
    fn what_is_known_already_can_be_taken_away() {
        // the targets are what a poor guess, the last feature, leaves of a line
        let x = Array2::from_shape_fn((60, 3), |(row, column)| noise(row * 3 + column));
        let t = Array2::from_shape_fn((60, 1), |(row, _)| 3.0 * x[[row, 0]] - x[[row, 2]]);
        let folds: Vec<usize> = (0..60).map(|row| row % 5).collect();
        let found =
            regression(x.view(), t.view(), &folds, &[Choice { features: vec![0, 1], without: Some(2) }]).unwrap();
        assert!((&found.unseen - &t).iter().all(|error| error.abs() < 1e-3));
        assert!((found.linear.of(&[0.2, 0.0, 0.5])[0] - 0.1).abs() < 1e-3);
    }

    #[test]
    fn more_features_than_rows_and_constant_ones_do_no_harm() {
        let x =
            Array2::from_shape_fn((40, 300), |(row, column)| if column < 5 { 1.0 } else { noise(row * 300 + column) });
        let folds: Vec<usize> = (0..40).map(|row| row % 4).collect();
        let t = Array2::from_shape_fn((40, 2), |(row, column)| x[[row, 7 + column]]);
        if let Some(found) = regression(x.view(), t.view(), &folds, &[all(&(0..300).collect::<Vec<_>>())]) {
            assert!(found.linear.of(&x.row(3).to_vec()).iter().all(|value| value.is_finite()));
        }
        assert!(regression(x.slice(ndarray::s![.., ..5]), t.view(), &folds, &[all(&[0, 1, 2, 3, 4])]).is_none());
    }
}
