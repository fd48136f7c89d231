//! Data in the form that the posteriors of a run need.

use std::sync::Arc;

use ndarray::Array1;

use super::Em;
use crate::error::Result;
use crate::model::{Columns, Data, Statistics, is_sparse};
use crate::posterior::truncated::Substitutes;
use crate::posterior::{Observed, Truncation};

/// Rows that starting values are taken from.
const SAMPLE: usize = 8192;
/// Numbers that these may have where the data itself takes less room, because zeros are not kept: 32 MB.
const SPARSE_SAMPLE: usize = 1 << 22;

/// The training data, checked once.
pub(super) enum Training {
    /// For exact posteriors.
    Exact(Statistics),
    /// For truncated ones: the data as the kernel reads it, and evenly spaced rows of it to start from.
    Truncated {
        observed: Box<Observed>,
        sample: Statistics,
        truncation: Truncation,
        substitutes: Truncation,
        /// The rows, if they are not copied into memory.
        outside: Option<Arc<dyn Data + Send>>,
    },
}

impl Training {
    pub(super) fn new(em: &Em, columns: &Columns, y: &dyn Data) -> Result<Training> {
        let Some(truncation) = em.posterior_settings() else {
            let statistics = Statistics::new(columns, y)?;
            y.check_unchanged()?;
            return Ok(Training::Exact(statistics));
        };
        let observed = Observed::new(columns, y, truncation.precision)?;
        let counts = |n: &usize| y.weights().is_none_or(|weights| weights[*n] > 0.0);
        let rows: Vec<usize> = (0..y.n()).filter(counts).collect();
        let most = if is_sparse(y) { (SPARSE_SAMPLE / columns.k()).clamp(1, SAMPLE) } else { SAMPLE };
        let chosen: Vec<usize> = rows.iter().copied().step_by(rows.len().div_ceil(most).max(1)).collect();
        let sample = Statistics::of_rows(columns, y, &chosen)?;
        y.check_unchanged()?;
        let substitutes = truncation.clone().generations(1).proposals(vec![Arc::new(Substitutes)]);
        let outside = y.outside();
        Ok(Training::Truncated { observed: Box::new(observed), sample, truncation, substitutes, outside })
    }

    /// An error if rows that are read again and again are not what they were.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        match self {
            Training::Truncated { outside: Some(rows), .. } => rows.check_unchanged(),
            _ => Ok(()),
        }
    }

    /// An error if there is a column of which nothing can be learned.
    pub(super) fn check_learnable(&self) -> Result<()> {
        match self {
            Training::Exact(statistics) => statistics.check_learnable(),
            Training::Truncated { observed, .. } => observed.check_learnable(),
        }
    }

    pub(super) fn columns(&self) -> &Columns {
        &self.sample().columns
    }

    /// Rows to start from: all, or evenly spaced ones.
    pub(super) fn sample(&self) -> &Statistics {
        match self {
            Training::Exact(statistics) => statistics,
            Training::Truncated { sample, .. } => sample,
        }
    }

    /// $\vec T$ of a row, and which columns are present.
    pub(super) fn row(&self, n: usize) -> (Vec<f64>, Vec<bool>) {
        match self {
            Training::Exact(statistics) => statistics.row(n),
            Training::Truncated { observed, .. } => observed.statistics(n),
        }
    }

    /// The rows that count.
    pub(super) fn weighty_rows(&self) -> Vec<usize> {
        match self {
            Training::Exact(statistics) => statistics.weighty_rows(),
            Training::Truncated { observed, .. } => (0..observed.n()).filter(|n| observed.weight(*n) > 0.0).collect(),
        }
    }

    pub(super) fn total_weight(&self) -> f64 {
        match self {
            Training::Exact(statistics) => statistics.total_weight(),
            Training::Truncated { observed, .. } => observed.total_weight(),
        }
    }

    /// The weight of an average row, for what is measured in rows.
    pub(super) fn mean_weight(&self) -> f64 {
        match self {
            Training::Exact(statistics) => statistics.mean_weight(),
            Training::Truncated { observed, .. } => observed.total_weight() / observed.n() as f64,
        }
    }

    pub(super) fn column_means(&self) -> Array1<f64> {
        match self {
            Training::Exact(statistics) => statistics.column_means(),
            Training::Truncated { observed, .. } => observed.column_means(),
        }
    }
}
