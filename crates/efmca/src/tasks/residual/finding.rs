//! Verdicts: in which way a residual differs from the noise that was assumed, and what to do about it.

use serde::{Deserialize, Serialize};

use super::check::Residual;
use super::stripes::{Direction, Offsets};
use crate::family::{Measure, Support};

/// Offsets with less than this share of the variance, or within so many standard errors, are none. Estimates of images
/// without stripes had up to 0.0002, with weak stripes 0.04.
const STRIPED: f64 = 0.005;
const STRIPED_ERRORS: f64 = 3.0;
/// Neighbours with at least this correlation where the scene is flat, and so many standard errors, are correlated. Good
/// estimates leave -0.1 to 0.05.
const CORRELATED: f64 = 0.08;
const CORRELATED_ERRORS: f64 = 3.0;
/// The dispersion where the scene is flat is between these; good estimates leave 0.8 to 1.1.
const LEAST_DISPERSION: f64 = 0.65;
const MOST_DISPERSION: f64 = 1.3;
/// So much dispersion is not explained by a scene that is left, either.
const FAR_TOO_MUCH: f64 = 2.0;
/// Distances of Kolmogorov and Smirnov up to this, and so many standard errors more, are those of residuals that are
/// slightly too small.
const DISTANCE: f64 = 0.06;
const DISTANCE_ERRORS: f64 = 2.0;
/// The scene is left if residuals vary so much more where it is busy than where it is flat, and are correlated there.
const SCENE_DISPERSION: f64 = 1.6;
const SCENE_CORRELATION: f64 = 0.25;

/// A way in which residuals differ from noise of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FindingKind {
    /// Rows have offsets of their own.
    StripedRows,
    /// Columns have offsets of their own.
    StripedColumns,
    /// Neighbouring pixels are correlated.
    Correlated,
    /// Parts of the scene are in the residual.
    SceneLeft,
    /// The residual varies more than the family.
    VariesTooMuch,
    /// The residual varies less than the family.
    VariesTooLittle,
    /// The distribution has another shape than the family.
    OtherDistribution,
}

/// A way in which a residual differs from the noise that was assumed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// What was found, with its numbers.
    pub text: String,
    /// What that may mean, and what to do.
    pub advice: String,
}

impl Finding {
    /// Whether these offsets are more than chance.
    pub(super) fn is_striped(offsets: &Offsets) -> bool {
        offsets.variance > STRIPED.max(STRIPED_ERRORS * offsets.error)
    }
}

/// All numbers about a residual, from which it is judged.
pub(super) struct Measured<'a> {
    pub(super) residual: &'a Residual,
    pub(super) support: Support,
}

impl Measured<'_> {
    /// The gravest first.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let residual = self.residual;
        let mut found: Vec<Finding> = residual.offsets.iter().filter_map(striped).collect();
        let correlated = self.correlated();
        let scene = if correlated.is_none() { self.scene_left() } else { None };
        let dispersion = self.dispersion(correlated.is_some(), scene.is_some());
        let shape = if dispersion.is_none() && correlated.is_none() { self.distribution() } else { None };
        found.extend([correlated, dispersion, shape, scene].into_iter().flatten());
        found
    }

    fn correlated(&self) -> Option<Finding> {
        let near = |rows: isize, columns: isize| {
            let lag = self.residual.correlations.at(rows, columns)?;
            Some((lag.flat, lag.flat > CORRELATED.max(CORRELATED_ERRORS * lag.flat_error)))
        };
        let (row, column) = (near(0, 1), near(1, 0));
        if !(row.is_some_and(|(_, yes)| yes) || column.is_some_and(|(_, yes)| yes)) {
            return None;
        }
        let words = [(row, "rows"), (column, "columns")];
        let words: Vec<String> = words
            .iter()
            .filter_map(|(near, along)| near.map(|(value, _)| format!("{value:.2} along {along}")))
            .collect();
        Some(Finding {
            kind: FindingKind::Correlated,
            text: format!("neighbouring pixels are correlated ({})", words.join(", ")),
            advice:
                "the image was smoothed, resampled, demosaiced or compressed, and what is left of the noise is taken \
                     for a part of the scene; clean the raw image, or take every second pixel or means of 2 x 2 pixels \
                     first; where the scene is fine texture everywhere, it may be the texture that is left"
                    .into(),
        })
    }

    fn scene_left(&self) -> Option<Finding> {
        let dispersion = self.residual.dispersion?;
        let times = dispersion.busy?.value / dispersion.flat?.value;
        let correlation = self.residual.correlations.busy;
        (times > SCENE_DISPERSION && correlation > SCENE_CORRELATION).then(|| Finding {
            kind: FindingKind::SceneLeft,
            text: format!(
                "parts of the scene are left in the residual (it varies {times:.1} times as much around details as \
                 elsewhere, where neighbours are correlated by {correlation:.2})"
            ),
            advice:
                "the estimate is too smooth there; a higher quality, more causes or smaller patches keep more of it"
                    .into(),
        })
    }

    fn dispersion(&self, correlated: bool, scene_left: bool) -> Option<Finding> {
        let residual = self.residual;
        let flat = residual.dispersion.filter(|_| residual.variance_known)?.flat?;
        let counts = self.support.measure == Measure::Counting && self.support.high.is_infinite();
        let most = if scene_left { FAR_TOO_MUCH } else { MOST_DISPERSION };
        let (kind, advice) = if flat.value - 2.0 * flat.error > most {
            let advice = if counts {
                "values may be in camera units: turn them into counts with gain and offset; or the noise is another one \
                 (negative-binomial, geometric), or has an electronic part"
            } else if self.residual.ratio.is_some() {
                "the noise is stronger than that of the family: there may be fewer looks (a smaller shape)"
            } else {
                "the noise is stronger than that of the family: another parameter or another family may fit"
            };
            (FindingKind::VariesTooMuch, advice)
        } else if flat.value + 2.0 * flat.error < LEAST_DISPERSION && !correlated {
            let advice = if counts {
                "an offset may be left in the values, several frames may have been averaged, or values were divided: \
                 subtract the offset, and divide by the gain so that values are counts"
            } else if self.residual.ratio.is_some() {
                "the noise is weaker than that of the family: there may be more looks (a larger shape)"
            } else {
                "the noise is weaker than that of the family, or the estimate follows it: another parameter or another \
                 family may fit"
            };
            (FindingKind::VariesTooLittle, advice)
        } else {
            return None;
        };
        let text = format!("the residual varies {:.2} times as much as {} noise", flat.value, residual.family);
        Some(Finding { kind, text, advice: advice.into() })
    }

    fn distribution(&self) -> Option<Finding> {
        let quantiles = self.residual.quantiles.as_ref()?;
        if quantiles.distance <= DISTANCE + DISTANCE_ERRORS / (quantiles.pixels as f64).sqrt() {
            return None;
        }
        let end = |share: Option<&f64>| 100.0 * share.copied().unwrap_or(f64::NAN);
        Some(Finding {
            kind: FindingKind::OtherDistribution,
            text: format!(
                "the residual is not distributed like {} noise (distance {:.2}; {:.0} % of the values are below the lowest \
                 5 % of the family, and {:.0} % above the highest)",
                self.residual.family,
                quantiles.distance,
                end(quantiles.histogram.first()),
                end(quantiles.histogram.last())
            ),
            advice: "another family may fit better: compare families by held-out pixels".into(),
        })
    }
}

fn striped(offsets: &Offsets) -> Option<Finding> {
    let (kind, lines) = match offsets.direction {
        Direction::Rows => (FindingKind::StripedRows, "rows"),
        Direction::Columns => (FindingKind::StripedColumns, "columns"),
    };
    Finding::is_striped(offsets).then(|| Finding {
        kind,
        text: format!(
            "{lines} have offsets of their own (stripes, with {:.0} % of the deviation of the residual)",
            100.0 * offsets.deviation()
        ),
        advice: format!(
            "stripes come from the readout; subtract the offset of each of the {lines} (a dark frame, or the median of \
             masked pixels) before cleaning"
        ),
    })
}
