//! Scores of held-out entries, and by how much one model is ahead of another.

use ndarray::Array1;

use crate::ranks::{Decoder, Encode};

/// How well a model predicts the held-out entries.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Scores {
    /// For each row, block of an image or entry of a column, the sum over its held-out entries of
    /// $\log p(y_d | \text{the entries of the row that training sees})$; for a pixel, of the average of that over the patches
    /// that it is in.
    pub(crate) rows: Vec<f64>,
    /// The number of held-out entries.
    pub(crate) entries: usize,
}

impl Encode for Scores {
    fn encode(&self, out: &mut Vec<u8>) {
        self.rows.encode(out);
        self.entries.encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Scores> {
        let (rows, entries) = (Encode::decode(from)?, Encode::decode(from)?);
        Some(Scores { rows, entries })
    }
}

/// By how much something is worse than the best, for each held-out entry in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// The average over held-out entries. Negative if it is better.
    pub mean: f64,
    /// The standard error of the average.
    pub error: f64,
}

impl Scores {
    /// Scores of single entries.
    pub(crate) fn of_entries(scores: Vec<f64>) -> Scores {
        Scores { entries: scores.len(), rows: scores }
    }

    /// The score of a held-out entry, on average.
    pub(crate) fn mean(&self) -> f64 {
        self.rows.iter().sum::<f64>() / self.entries.max(1) as f64
    }

    /// By how much `other` is worse for each held-out entry, and the standard error of that over rows.
    pub(crate) fn lead(&self, other: &Scores) -> Difference {
        let differences: Vec<f64> = self.rows.iter().zip(&other.rows).map(|(mine, theirs)| mine - theirs).collect();
        let count = differences.len().max(1) as f64;
        let mean = differences.iter().sum::<f64>() / count;
        let variance = differences.iter().map(|difference| (difference - mean).powi(2)).sum::<f64>() / count;
        let per_entry = count / self.entries.max(1) as f64;
        Difference { mean: mean * per_entry, error: (variance / count).sqrt() * per_entry }
    }

    /// All scores times a factor.
    pub(crate) fn scaled(mut self, factor: f64) -> Scores {
        self.rows.iter_mut().for_each(|row| *row *= factor);
        self
    }

    /// The sum of two scores of the same entries.
    pub(crate) fn plus(mut self, other: &Scores) -> Scores {
        self.rows = (Array1::from(self.rows) + Array1::from(other.rows.clone())).to_vec();
        self
    }
}
