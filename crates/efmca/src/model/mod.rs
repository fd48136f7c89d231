//! The generative model $\Theta = (\vec\pi, W^{(1)}, \ldots, W^{(L)})$.
//!
//! $$ p(\vec s | \Theta) = \prod_h \pi_h^{s_h}(1-\pi_h)^{1-s_h}, \qquad p(\vec y | \vec s,\Theta) = \prod_d p\big(y_d;\ \vec\Phi(\bar W_d^{(1)}(\vec s,\Theta), \ldots, \bar W_d^{(L)}(\vec s,\Theta))\big) $$
//! (Eqns. 8-10 and 43). The functions $\bar W_d^{(l)}$ take the entries of one cause, the strongest active one
//! ([`Superposition`]).

mod columns;
mod combined;
mod data;
mod inference;
mod resolution;
mod sample;
mod sparse;
mod statistics;
mod superpose;
mod superposition;
mod tables;
mod tensors;
mod value;
mod views;
mod weighted;
mod winners;

pub use columns::Columns;
pub use combined::Combined;
pub use data::{Data, Geometry, Patches};
pub(crate) use data::{RowRange, RowReader, is_sparse};
pub use inference::{Inference, LARGEST_EXACT_H};
pub use resolution::{MOST_CODES, Resolution};
pub use sample::Sample;
pub use sparse::SparseRows;
pub(crate) use statistics::Statistics;
pub(crate) use superpose::{Shares, Superposer};
pub use superposition::Superposition;
#[doc(hidden)]
pub use tables::Tables;
pub use tensors::Tensor;
pub use views::{View, Views};
pub use weighted::Weighted;
#[doc(hidden)]
pub use winners::WinnerOrder;

use ndarray::{Array1, Array2};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::family::{FamilySpec, check_mean_parameters};

/// The profile that shows where no cause is active. It is always on and takes part in the maximum.
///
/// The state in which no cause is active needs a distribution too, and an argmax over nothing does not give one. With
/// a profile weaker than every cause, the background shows in the empty state only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Background {
    /// A cause that is always on and learned with the others, as in the paper's natural-image runs ($s_1 = 1$).
    Learned,
    /// A profile that stays as it is: $L$ mean parameters for every column, or all $K$ of them.
    Fixed(Vec<f64>),
}

impl Background {
    /// A fixed background with the mean parameters `w` in every column.
    pub fn fixed(w: &[f64]) -> Background {
        Background::Fixed(w.to_vec())
    }
}

/// An EF-MCA model.
///
/// The dictionaries are stored with one row for each cause: $W^{(l)}_{dh}$ of the paper is `model.w(l)[[h, d]]`, with
/// $l$ counted from zero.
#[derive(Debug, Clone)]
pub struct Model {
    pub(crate) columns: Columns,
    /// $\pi_h$, the probability that cause $h$ is active.
    pub(crate) pi: Array1<f64>,
    /// $H \times K$, all dictionaries side by side.
    pub(crate) w: Array2<f64>,
    /// Length $K$.
    pub(crate) background_w: Array1<f64>,
    pub(crate) background_learned: bool,
    pub(crate) superposition: Superposition,
    /// The states of each row that it was trained with, if posteriors were truncated.
    pub(crate) states: Option<usize>,
}

impl Model {
    /// A number that two models share only if all their parameters have the same bits.
    pub(crate) fn mark(&self) -> u64 {
        let parameters = self.pi.iter().chain(&self.w).chain(&self.background_w);
        crate::hash::of_words(self.h() as u64, parameters.map(|value| value.to_bits()))
    }

    /// A model with one family in all columns.
    ///
    /// `pi` has length $H$; `w` holds the $L$ dictionaries, each $H \times D$.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] if the sizes do not fit together, [`Error::Setting`] for priors that are no probabilities, and
    /// [`Error::OutsideDomain`] for entries that are no mean parameters of the family.
    pub fn new(
        family: impl Into<FamilySpec>,
        pi: Array1<f64>,
        w: Vec<Array2<f64>>,
        background: Background,
    ) -> Result<Model> {
        let family = family.into().resolve()?;
        if w.len() != family.l() {
            return Err(Error::shape(format!("dictionaries for `{}`", family.spec()), family.l(), w.len()));
        }
        let (h, d) = w[0].dim();
        if let Some(other) = w.iter().find(|other| other.dim() != (h, d)) {
            return Err(Error::shape("dictionary", format!("{h} x {d}"), format!("{:?}", other.dim())));
        }
        let columns = Columns::same(family, d)?;
        let flat = Array2::from_shape_fn((h, columns.k()), |(h, k)| w[k % w.len()][[h, k / w.len()]]);
        Model::from_parts(columns, pi, flat, background)
    }

    /// A model with a family for each column; `w` is $H \times K$ in the order of [`Columns::span`].
    ///
    /// # Errors
    ///
    /// As [`Model::new`].
    pub fn from_parts(columns: Columns, pi: Array1<f64>, w: Array2<f64>, background: Background) -> Result<Model> {
        let h = pi.len();
        if h == 0 {
            return Err(Error::setting("causes", 0, "a model needs one cause at least"));
        }
        if w.dim() != (h, columns.k()) {
            return Err(Error::shape("w", format!("{h} x {}", columns.k()), format!("{} x {}", w.nrows(), w.ncols())));
        }
        if let Some(bad) = pi.iter().find(|pi| !(**pi > 0.0 && **pi < 1.0)) {
            return Err(Error::setting("pi", bad, "every prior probability must lie strictly between 0 and 1"));
        }
        let (background_w, background_learned) = match background {
            Background::Fixed(profile) => (columns.spread(&profile, "background")?, false),
            Background::Learned => (weakest_profile(&columns, &w), true),
        };
        let model = Model {
            columns,
            pi,
            w: w.as_standard_layout().to_owned(),
            background_w: Array1::from(background_w),
            background_learned,
            superposition: Superposition::Max,
            states: None,
        };
        for h in 0..=model.h() {
            let profile = model.profile(h);
            for (_, family, span) in model.columns.iter() {
                check_mean_parameters(&**family, &profile[span])?;
            }
        }
        Ok(model)
    }

    /// The same model with another superposition rule.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the exponent of a smooth maximum is not positive.
    pub fn with_superposition(mut self, superposition: Superposition) -> Result<Model> {
        if let Some(rho) = superposition.rho()
            && !(rho > 0.0 && rho.is_finite())
        {
            return Err(Error::setting("rho", rho, "the exponent of the smooth maximum must be positive"));
        }
        self.superposition = superposition;
        Ok(self)
    }

    /// $H$, the number of causes (without the background).
    pub fn h(&self) -> usize {
        self.pi.len()
    }

    /// $D$, the number of observables.
    pub fn d(&self) -> usize {
        self.columns.d()
    }

    /// The families of the columns.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// $\pi_h$.
    pub fn pi(&self) -> &Array1<f64> {
        &self.pi
    }

    /// $W^{(l)}$ as an $H \times D$ matrix, `l` counted from zero; NaN in columns whose family has fewer parameters.
    pub fn w(&self, l: usize) -> Array2<f64> {
        Array2::from_shape_fn((self.h(), self.d()), |(h, d)| {
            let span = self.columns.span(d);
            if l < span.len() { self.w[[h, span.start + l]] } else { f64::NAN }
        })
    }

    /// All dictionaries side by side, $H \times K$.
    pub fn w_flat(&self) -> &Array2<f64> {
        &self.w
    }

    /// The background's mean parameters, length $K$.
    pub fn background(&self) -> &Array1<f64> {
        &self.background_w
    }

    /// Whether the background is learned.
    pub fn background_learned(&self) -> bool {
        self.background_learned
    }

    /// How active causes combine.
    pub fn superposition(&self) -> Superposition {
        self.superposition
    }

    /// $M_{dh} = F(\vec W_{dh})$ as an $H \times D$ matrix (Eqn. 44): the mean each cause would give alone.
    pub fn means(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.h(), self.d()), |(h, d)| {
            let span = self.columns.span(d);
            self.columns.family(d).f(&self.profile(h)[span])
        })
    }

    /// The mean parameters of cause `h`; `h` = $H$ is the background.
    pub(crate) fn profile(&self, h: usize) -> &[f64] {
        let row = if h < self.h() { self.w.row(h).to_slice() } else { self.background_w.as_slice() };
        row.unwrap_or(&[])
    }

    /// Sets the mean parameters of cause `h` in column `d`; `h` = $H$ is the background.
    pub(crate) fn set_entry(&mut self, h: usize, d: usize, w: &[f64]) {
        for (k, value) in self.columns.span(d).zip(w) {
            if h < self.h() {
                self.w[[h, k]] = *value;
            } else {
                self.background_w[k] = *value;
            }
        }
    }

    /// The same model with its `h` most active causes only, in the order in which they were.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the model does not have that many causes.
    pub fn most_active(&self, h: usize) -> Result<Model> {
        if h == 0 || h > self.h() {
            return Err(Error::setting("causes to keep", h, format!("the model has {} causes", self.h())));
        }
        let mut kept: Vec<usize> = (0..self.h()).collect();
        kept.sort_by(|a, b| self.pi[*b].total_cmp(&self.pi[*a]).then(a.cmp(b)));
        kept.truncate(h);
        kept.sort_unstable();
        Ok(self.with_causes(&kept))
    }

    /// The same model with these causes only.
    pub(crate) fn with_causes(&self, kept: &[usize]) -> Model {
        let mut model = self.clone();
        model.pi = kept.iter().map(|cause| self.pi[*cause]).collect();
        model.w = self.w.select(ndarray::Axis(0), kept);
        model
    }

    /// The number of free parameters, as the BIC counts them.
    pub fn parameter_count(&self) -> usize {
        self.h() + self.columns.k() * (self.h() + usize::from(self.background_learned))
    }
}

/// For each column the mean parameters of the cause with the smallest dominance.
fn weakest_profile(columns: &Columns, w: &Array2<f64>) -> Vec<f64> {
    let mut profile = vec![0.0; columns.k()];
    for (_, family, span) in columns.iter() {
        let entry = |h: usize| span.clone().map(|k| w[[h, k]]).collect::<Vec<f64>>();
        let weakest =
            (0..w.nrows()).min_by(|a, b| family.dominance(&entry(*a)).total_cmp(&family.dominance(&entry(*b))));
        profile[span.clone()].copy_from_slice(&entry(weakest.unwrap_or(0)));
    }
    profile
}
