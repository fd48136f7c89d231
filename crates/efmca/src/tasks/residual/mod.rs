//! Whether what was taken away from an image looks like the noise that was assumed.
//!
//! A residual is a noisy image minus its estimate. If the family of the noise is right, and the estimate too, it has the
//! variance and the distribution of the family at each mean, no pattern, and nothing of the scene in it. Each way to
//! differ has a cause of its own:
//!
//! | finding | where it is measured | file |
//! | --- | --- | --- |
//! | rows or columns have offsets of their own | means of distant parts of a row that agree | `stripes.rs` |
//! | neighbouring pixels are correlated | autocorrelation where the scene is flat | `correlation.rs` |
//! | the residual varies too much or too little | squared residuals against the family's variance, where the scene is flat | `dispersion.rs` |
//! | its distribution has another shape | ranks among values drawn from the family | `quantiles.rs` |
//! | parts of the scene are in it | variance and correlation where the scene is busy, against those where it is flat | `finding.rs` |
//!
//! An estimate has seen the noise that it is compared with, so that residuals are slightly too small (by 5 to 15 % of
//! their variance) and neighbours slightly anticorrelated (by 0.02 to 0.1); at edges something of the scene is always
//! left. Bands are wide enough for that: they are about what would change a result, and not about what is significant.

mod check;
mod correlation;
mod dispersion;
mod finding;
mod noise;
mod quantiles;
mod ratio;
mod regions;
mod stripes;

pub use check::{Residual, ResidualCheck};
pub use correlation::{Correlations, Lag};
pub use dispersion::{Dispersion, Share};
pub use finding::{Finding, FindingKind};
pub use quantiles::Quantiles;
pub use ratio::Ratio;
pub use stripes::{Direction, Offsets};

#[cfg(test)]
mod tests;
