//! Data in the form that the posteriors of a run need.

use std::sync::Arc;

use ndarray::Array1;

use super::Em;
use crate::error::Result;
use crate::model::{Columns, Data, Statistics, is_sparse};
use crate::posterior::truncated::Substitutes;
use crate::posterior::{Observed, Sets, Truncation};
use crate::ranks::{self, Ranks, Share};

/// Rows that starting values are taken from.
const SAMPLE: usize = 8192;
/// Numbers that these may have where the data itself takes less room, because zeros are not kept: 32 MB.
const SPARSE_SAMPLE: usize = 1 << 22;

/// The training data, checked once.
pub(super) enum Training {
    /// For exact posteriors, and the ranks that share the work.
    Exact(Statistics, Ranks),
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
    /// The data as the ranks of this thread see it, each its own rows.
    pub(super) fn new(em: &Em, columns: &Columns, y: &dyn Data) -> Result<Training> {
        let ranks = ranks::current();
        let Some(truncation) = em.posterior_settings() else {
            let statistics = ranks.agree(Statistics::new(columns, y), y.n() as u64)?;
            ranks.agree(y.check_unchanged(), 0)?;
            return Ok(Training::Exact(statistics, ranks));
        };
        let share = Share { ranks, shards: em.shards_of(y.n()) };
        let ranks = share.ranks.clone();
        let observed = Observed::of_share(columns, y, share, truncation.precision)?;
        let counts = |n: &usize| y.weights().is_none_or(|weights| weights[*n] > 0.0);
        let rows: Vec<usize> = (0..y.n()).filter(counts).collect();
        let most = if is_sparse(y) { (SPARSE_SAMPLE / columns.k()).clamp(1, SAMPLE) } else { SAMPLE };
        let chosen: Vec<usize> = rows.iter().copied().step_by(rows.len().div_ceil(most).max(1)).collect();
        let sample = ranks.agree(Statistics::of_rows(columns, y, &chosen), chosen.len() as u64)?;
        ranks.agree(y.check_unchanged(), 0)?;
        let substitutes = truncation.clone().generations(1).proposals(vec![Arc::new(Substitutes)]);
        let outside = y.outside();
        Ok(Training::Truncated { observed: Box::new(observed), sample, truncation, substitutes, outside })
    }

    /// An error if rows that are read again and again are not what they were.
    pub(super) fn check_unchanged(&self) -> Result<()> {
        match self {
            Training::Truncated { outside: Some(rows), .. } => self.ranks().agree(rows.check_unchanged(), 0),
            _ => Ok(()),
        }
    }

    /// An error if there is a column of which nothing can be learned.
    pub(super) fn check_learnable(&self) -> Result<()> {
        match self {
            Training::Exact(statistics, _) => statistics.check_learnable(),
            Training::Truncated { observed, .. } => observed.check_learnable(),
        }
    }

    pub(super) fn columns(&self) -> &Columns {
        &self.sample().columns
    }

    /// Rows to start from: all, or evenly spaced ones.
    pub(super) fn sample(&self) -> &Statistics {
        match self {
            Training::Exact(statistics, _) => statistics,
            Training::Truncated { sample, .. } => sample,
        }
    }

    /// The ranks that share the rows.
    pub(super) fn ranks(&self) -> &Ranks {
        match self {
            Training::Exact(_, ranks) => ranks,
            Training::Truncated { observed, .. } => &observed.share().ranks,
        }
    }

    /// $\vec T$ of a row, and which columns are present. A row of another rank is read from `data`.
    pub(super) fn row(&self, n: usize, data: Option<&dyn Data>) -> (Vec<f64>, Vec<bool>) {
        match self {
            Training::Exact(statistics, _) => statistics.row(n),
            Training::Truncated { observed, .. } => observed.statistics(n, data),
        }
    }

    /// Whether `sets` are of as many rows as there are on all ranks.
    pub(super) fn has_rows_of(&self, sets: &Sets) -> bool {
        matches!(self, Training::Truncated { observed, .. } if observed.n() == sets.n())
    }

    /// The rows that count, of those that this rank looks after.
    pub(super) fn own_rows(&self) -> Vec<usize> {
        match self {
            Training::Exact(statistics, _) => statistics.weighty_rows(),
            Training::Truncated { observed, .. } => {
                observed.share().rows().filter(|n| observed.weight(*n) > 0.0).collect()
            }
        }
    }

    /// The rows that count.
    pub(super) fn weighty_rows(&self) -> Vec<usize> {
        match self {
            Training::Exact(statistics, _) => statistics.weighty_rows(),
            Training::Truncated { observed, .. } => (0..observed.n()).filter(|n| observed.weight(*n) > 0.0).collect(),
        }
    }

    pub(super) fn total_weight(&self) -> f64 {
        match self {
            Training::Exact(statistics, _) => statistics.total_weight(),
            Training::Truncated { observed, .. } => observed.total_weight(),
        }
    }

    /// The weight of an average row, for what is measured in rows.
    pub(super) fn mean_weight(&self) -> f64 {
        match self {
            Training::Exact(statistics, _) => statistics.mean_weight(),
            Training::Truncated { observed, .. } => observed.total_weight() / observed.n() as f64,
        }
    }

    pub(super) fn column_means(&self) -> Array1<f64> {
        match self {
            Training::Exact(statistics, _) => statistics.column_means(),
            Training::Truncated { observed, .. } => observed.column_means(),
        }
    }
}
