//! What was found out about the noise of an image.

use super::level::{CameraNoise, camera};
use super::tiles::Tiles;
use crate::family::FamilySpec;
use crate::tasks::noise::{Kind, Ranked, Ranking};

/// The noise of an image.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundNoise {
    /// The family, with fixed parameters as they were found.
    pub family: FamilySpec,
    /// The reason for it.
    pub basis: Basis,
    /// The camera that the image may come from, whose counts would be cleaned better than its values.
    pub camera: Option<CameraNoise>,
    /// The number that all values are multiples of, if they are not whole numbers: they may be counts in other units.
    pub unit: Option<f64>,
}

/// The reason for a family.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Basis {
    /// It predicts held-out pixels best, or is the simplest of those that do.
    HeldOut(Box<Ranking>),
    /// It is the family for images of this kind of values.
    Values(Kind),
    /// No other family of counts has this variance.
    Variance {
        /// The variance over the mean.
        over_mean: f64,
    },
    /// All values are equal, so that there is no noise.
    Equal(f64),
    /// There are too few pixels to compare families; this one is usual for such values.
    TooFew {
        /// The pixels that are present.
        pixels: usize,
        /// The kind of their values.
        kind: Kind,
    },
    /// No family could be compared, for these reasons; this one is usual for such values.
    Incomparable(String),
}

impl FoundNoise {
    /// The families that were compared, the best first.
    #[must_use]
    pub fn ranked(&self) -> &[Ranked] {
        match &self.basis {
            Basis::HeldOut(ranking) => &ranking.ranked,
            _ => &[],
        }
    }

    /// Looks whether the image comes from a camera. Families that have any variance at any mean are those that such values are
    /// taken for; where another one is best, its own law is.
    pub(super) fn with_camera(mut self, tiles: &Tiles) -> FoundNoise {
        let any = |name: &str| self.family.spec().starts_with(name);
        if any("gaussian") || any("negative-binomial") {
            self.camera = camera(&tiles.found);
        }
        self
    }

    /// The finding in one line.
    #[must_use]
    pub fn sentence(&self) -> String {
        let family = self.family.spec();
        let mut text = match &self.basis {
            Basis::HeldOut(ranking) => format!("the noise looks like {family} ({})", compared(ranking)),
            Basis::Values(kind) => format!("{family} is taken, the family for images of {}", kind.words()),
            Basis::Variance { over_mean } => {
                format!("the noise looks like {family} (the variance is {over_mean:.2} times the mean)")
            }
            Basis::Equal(value) => format!("all pixels are {value}, so that there is no noise; {family} is taken"),
            Basis::TooFew { pixels, kind } => format!(
                "{family} is taken, which is usual for {}: {pixels} pixels are too few to compare families",
                kind.words()
            ),
            Basis::Incomparable(reason) => {
                format!("{family} is taken, because families could not be compared ({reason})")
            }
        };
        if let Some(CameraNoise { gain, offset }) = self.camera {
            text += &format!(
                ". But the variance grows along a line with the mean, as that of a camera with a gain of about {} and an \
                 offset of about {} does: `efmca calibrate` measures both, and --camera, or --gain and --offset with \
                 --noise poisson, clean its counts",
                digits(gain),
                digits(offset)
            );
        }
        if let (Some(unit), None) = (self.unit, self.camera) {
            text += &format!(
                ". All values are multiples of {unit}: if they are counts in other units, --gain {unit} turns them back"
            );
        }
        text
    }
}

/// What the first of the ranking was compared with.
fn compared(ranking: &Ranking) -> String {
    let names = |tied: bool| -> Vec<String> {
        ranking.ranked[1..].iter().filter(|one| one.tied == tied).map(|one| one.family.spec()).collect()
    };
    let (ties, others) = (names(true), names(false));
    let mut parts = Vec::new();
    if !ties.is_empty() {
        parts.push(format!(
            "{} cannot be told from it and {} no simpler",
            ties.join(" and "),
            if ties.len() > 1 { "are" } else { "is" }
        ));
    }
    if !others.is_empty() {
        parts.push(format!(
            "{} {} held-out pixels worse",
            others.join(", "),
            if others.len() > 1 { "predict" } else { "predicts" }
        ));
    }
    if parts.is_empty() { "no other family could be compared".to_owned() } else { parts.join("; ") }
}

/// A number with three digits.
fn digits(value: f64) -> String {
    let size = value.abs().log10().floor();
    if !size.is_finite() || size >= 2.0 {
        return format!("{value:.0}");
    }
    format!("{value:.*}", (2.0 - size).clamp(0.0, 12.0) as usize)
}
