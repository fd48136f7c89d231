//! A table that was learned, with all decisions.

use crate::em::Fit;
use crate::family::SharedFamily;
use crate::model::Resolution;
use crate::tasks::noise::ColumnFamily;
use crate::tasks::select::CauseChoice;

/// A model of a table, and how it came about.
#[derive(Debug, Clone)]
pub struct LearnedTable {
    /// The model, trained on all entries.
    pub fit: Fit,
    /// The family of each column.
    pub families: Vec<SharedFamily>,
    /// How the family of each column was decided.
    pub origins: Vec<FamilyOrigin>,
    /// How finely the values of each column were written down, found or given.
    pub resolutions: Vec<Resolution>,
    /// How the number of causes was decided.
    pub causes: CauseOrigin,
    /// Whether the observer ended the work early.
    pub stopped: bool,
}

/// How the family of a column was decided.
#[derive(Debug, Clone)]
pub enum FamilyOrigin {
    /// It was given, perhaps with fixed parameters that were searched.
    Given,
    /// All values of the column are equal, so that nothing can be learned about it.
    OneValue,
    /// It was found by held-out entries.
    Found(Box<ColumnFamily>),
}

/// How the number of causes was decided.
#[derive(Debug, Clone)]
pub enum CauseOrigin {
    /// It was given.
    Given,
    /// It suits the size of the table.
    Suitable,
    /// It was chosen by held-out entries.
    Chosen(CauseChoice),
    /// It is the one with which families were found, because the observer ended the work before one was chosen.
    Stopped,
}

/// Two causes are alike if their means differ by less than this in every column, in units of how far causes and background differ
/// there at all.
const ALIKE: f64 = 0.1;

impl LearnedTable {
    /// Pairs of causes, the first being the smaller number, that do the same in every column: the data may have fewer causes
    /// than the model. Where a cause is weaker than the background it does nothing, so that two weak ones are alike, too.
    #[must_use]
    pub fn duplicates(&self) -> Vec<(usize, usize)> {
        let model = &self.fit.model;
        let means: Vec<Vec<f64>> = (0..model.h()).map(|h| model.combined(&[h]).mean).collect();
        let background = model.combined(&[]).mean;
        let all = || means.iter().chain([&background]);
        let range = |d: usize| {
            let (low, high) = all()
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), mean| (low.min(mean[d]), high.max(mean[d])));
            high - low
        };
        let ranges: Vec<f64> = (0..model.d()).map(range).collect();
        let alike = |a: usize, b: usize| {
            let far = |d: usize| (means[a][d] - means[b][d]).abs() > ALIKE * ranges[d];
            !(0..model.d()).any(far)
        };
        let pairs = (0..model.h()).flat_map(|a| (a + 1..model.h()).map(move |b| (a, b)));
        pairs.filter(|(a, b)| alike(*a, *b)).collect()
    }

    /// How the number of causes was chosen, if it was.
    #[must_use]
    pub fn choice(&self) -> Option<&CauseChoice> {
        match &self.causes {
            CauseOrigin::Chosen(choice) => Some(choice),
            _ => None,
        }
    }
}
