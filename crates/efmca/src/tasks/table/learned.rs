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

impl LearnedTable {
    /// How the number of causes was chosen, if it was.
    #[must_use]
    pub fn choice(&self) -> Option<&CauseChoice> {
        match &self.causes {
            CauseOrigin::Chosen(choice) => Some(choice),
            _ => None,
        }
    }
}
