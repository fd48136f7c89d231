//! Several causes together.

use ndarray::Array2;

use super::{Model, Tables};

/// The observables under a set of active causes: the paper's $\bar W$, and the winner of each.
#[derive(Debug, Clone)]
pub struct Combined {
    /// For each observable the cause that wins; $H$ is the background.
    pub owners: Vec<usize>,
    /// The mean of each observable.
    pub mean: Vec<f64>,
    /// Its standard deviation, where the families have one of their own.
    pub spread: Option<Vec<f64>>,
}

impl Model {
    /// The observables under the background and the causes in `active`; for a smooth maximum, those of its limit.
    pub fn combined(&self, active: &[usize]) -> Combined {
        let winners = Tables::new(self).winners;
        let active = || active.iter().copied().filter(|h| *h < self.h());
        let owners: Vec<usize> = (0..self.d()).map(|d| winners.winner(active(), d)).collect();
        let of_owner = |d: usize| &self.profile(owners[d])[self.columns.span(d)];
        let mean = self.columns.iter().map(|(d, family, _)| family.f(of_owner(d))).collect();
        let spread = self.columns.iter().map(|(d, family, _)| family.spread(of_owner(d))).collect();
        Combined { owners, mean, spread }
    }
    /// The standard deviation of each cause and observable, $H \times D$, where the families have one of their own.
    pub fn spreads(&self) -> Option<Array2<f64>> {
        let mut found = Array2::zeros((self.h(), self.d()));
        for ((h, d), value) in found.indexed_iter_mut() {
            *value = self.columns.family(d).spread(&self.profile(h)[self.columns.span(d)])?;
        }
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use crate::model::{Background, Superposition};
    use ndarray::array;

    #[test]
    fn the_strongest_active_cause_gives_mean_and_spread() -> crate::Result<()> {
        let means = array![[3.0, -1.0, 0.0], [-4.0, 2.0, 0.1]];
        let squares = array![[9.0 + 1.0, 1.0 + 4.0, 9.0], [16.0 + 9.0, 4.0 + 16.0, 0.01 + 25.0]];
        let background = Background::fixed(&[0.05, 0.0025 + 36.0]);
        let model = Model::new(family("gaussian")?, array![0.5, 0.5], vec![means, squares], background)?
            .with_superposition(Superposition::MaxMagnitude)?;
        let both = model.combined(&[1, 0]);
        assert_eq!((both.owners, both.mean), (vec![1, 1, 1], vec![-4.0, 2.0, 0.1]));
        let first = model.combined(&[0]);
        assert_eq!((first.owners, first.mean), (vec![0, 0, 2], vec![3.0, -1.0, 0.05]));
        let spread = first.spread.unwrap_or_default();
        assert!(spread.iter().zip([1.0, 2.0, 6.0]).all(|(a, b)| (a - b).abs() < 1e-12), "{spread:?}");
        assert_eq!(model.spreads().map(|spreads| spreads.dim()), Some((2, 3)));
        Ok(())
    }
}
