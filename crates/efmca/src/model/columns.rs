//! Which family stands in which column, and where its statistics lie.

use std::ops::Range;

use super::{Resolution, Views};
use crate::error::{Error, Result};
use crate::family::SharedFamily;

/// The families of the $D$ columns of a data set.
///
/// The statistics of all columns lie side by side in rows of length $K = \sum_d L_d$; [`Columns::span`] tells where
/// those of column $d$ are. A family for all columns and a different one in each are the same thing from here on.
#[derive(Debug, Clone)]
pub struct Columns {
    families: Vec<SharedFamily>,
    /// How finely values were written down; empty if all columns are continuous.
    resolutions: Vec<Resolution>,
    /// Groups of columns that count alike, and how much each column counts; `None` and empty if each counts once.
    views: Option<Views>,
    weights: Vec<f64>,
    offsets: Vec<usize>,
    l_max: usize,
}

impl Columns {
    /// One family for each column.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] if there is no column.
    pub fn new(families: Vec<SharedFamily>) -> Result<Columns> {
        if families.is_empty() {
            return Err(Error::EmptyData { rows: 0, columns: 0 });
        }
        let offsets = std::iter::once(0)
            .chain(families.iter().scan(0, |end, family| {
                *end += family.l();
                Some(*end)
            }))
            .collect();
        let l_max = families.iter().map(|family| family.l()).max().unwrap_or(0);
        Ok(Columns { families, resolutions: Vec::new(), views: None, weights: Vec::new(), offsets, l_max })
    }

    /// The same family in `d` columns.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyData`] if there is no column.
    pub fn same(family: SharedFamily, d: usize) -> Result<Columns> {
        Columns::new(vec![family; d])
    }

    /// The same columns with values that stand for intervals: a resolution for each of them.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if there are not as many as columns.
    pub fn with_resolutions(mut self, resolutions: &[Resolution]) -> Result<Columns> {
        if !resolutions.is_empty() && resolutions.len() != self.d() {
            return Err(Error::shape("resolutions", self.d(), resolutions.len()));
        }
        let continuous = resolutions.iter().all(Resolution::is_continuous);
        self.resolutions = if continuous { Vec::new() } else { resolutions.to_vec() };
        Ok(self)
    }

    /// How finely the values of column `d` were written down.
    pub fn resolution(&self, d: usize) -> &Resolution {
        self.resolutions.get(d).unwrap_or(&Resolution::Continuous)
    }

    /// The resolution of each column; empty if all are continuous.
    pub fn resolutions(&self) -> &[Resolution] {
        &self.resolutions
    }

    /// The same columns in groups that count alike.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] for views of other columns.
    pub fn with_views(mut self, views: Option<&Views>) -> Result<Columns> {
        self.views = views.map(|views| views.over(self.d())).transpose()?;
        let weights = self.views.as_ref().map_or_else(Vec::new, |views| views.weights(self.d()));
        self.weights = if weights.iter().all(|weight| *weight == 1.0) { Vec::new() } else { weights };
        Ok(self)
    }

    /// Groups of columns that count alike, if there are any.
    pub fn views(&self) -> Option<&Views> {
        self.views.as_ref()
    }

    /// How much column `d` counts where causes are inferred.
    pub fn weight(&self, d: usize) -> f64 {
        self.weights.get(d).copied().unwrap_or(1.0)
    }

    /// The same columns without views.
    pub(crate) fn counted_once(mut self) -> Columns {
        (self.views, self.weights) = (None, Vec::new());
        self
    }

    /// Whether all columns count once.
    pub(crate) fn count_once(&self) -> bool {
        self.weights.is_empty()
    }

    /// The specification of each column's family.
    pub fn specs(&self) -> Vec<String> {
        self.families.iter().map(|family| family.spec()).collect()
    }

    /// Whether each column has the same family in both.
    pub(crate) fn same_families(&self, other: &Columns) -> bool {
        self.specs() == other.specs()
    }

    /// $D$, the number of columns.
    pub fn d(&self) -> usize {
        self.families.len()
    }

    /// $K = \sum_d L_d$, the length of a row of statistics.
    pub fn k(&self) -> usize {
        self.offsets[self.d()]
    }

    /// The largest $L_d$.
    pub fn l_max(&self) -> usize {
        self.l_max
    }

    /// The family of column `d`.
    pub fn family(&self, d: usize) -> &SharedFamily {
        &self.families[d]
    }

    /// Where the statistics of column `d` lie in a row of length $K$.
    pub fn span(&self, d: usize) -> Range<usize> {
        self.offsets[d]..self.offsets[d + 1]
    }

    /// Columns, families and spans together.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &SharedFamily, Range<usize>)> {
        self.families.iter().enumerate().map(|(d, family)| (d, family, self.span(d)))
    }

    /// A row of length $K$ from one that gives $L$ values for every column (if all columns have the same $L$), or
    /// from one that has length $K$ already.
    pub(crate) fn spread(&self, profile: &[f64], what: &str) -> Result<Vec<f64>> {
        let l = self.families[0].l();
        if profile.len() == self.k() {
            Ok(profile.to_vec())
        } else if profile.len() == l && self.families.iter().all(|family| family.l() == l) {
            Ok(profile.iter().copied().cycle().take(self.k()).collect())
        } else {
            Err(Error::shape(what, format!("{l} or {} values", self.k()), profile.len()))
        }
    }
}
