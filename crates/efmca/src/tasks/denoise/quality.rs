//! How much time denoising takes, and the models that are learned in it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// How much time denoising takes.
///
/// ```
/// use efmca::tasks::denoise::Quality;
///
/// assert_eq!("best".parse::<Quality>()?, Quality::Best);
/// assert_eq!(Quality::default().to_string(), "balanced");
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quality {
    /// One model: ten seconds for 256 x 256 pixels.
    Fast,
    /// Three models with patches of different sizes, because their errors differ: a minute.
    #[default]
    Balanced,
    /// Seven models and more iterations: several minutes.
    Best,
}

/// The models of a quality.
pub(super) struct Preset {
    /// Iterations of each model.
    pub(super) iterations: usize,
    /// The models.
    pub(super) models: &'static [RelativeSize],
}

/// The size of a model, in units of the size that suits the image.
pub(super) struct RelativeSize {
    /// Of rows and columns of a patch.
    pub(super) patch: f64,
    /// Of the number of causes.
    pub(super) causes: f64,
}

const fn size(patch: f64, causes: f64) -> RelativeSize {
    RelativeSize { patch, causes }
}

const FAST: [RelativeSize; 1] = [size(1.0, 1.8)];
const BALANCED: [RelativeSize; 3] = [size(1.0, 3.6), size(0.67, 2.4), size(1.42, 1.0)];
const BEST: [RelativeSize; 7] = [
    size(1.0, 3.6),
    size(0.67, 2.4),
    size(1.42, 1.0),
    size(0.85, 2.4),
    size(1.2, 2.4),
    size(1.42, 2.4),
    size(1.0, 1.4),
];

const ALL: [Quality; 3] = [Quality::Fast, Quality::Balanced, Quality::Best];

impl Quality {
    pub(super) fn preset(self) -> Preset {
        match self {
            Quality::Fast => Preset { iterations: 7, models: &FAST },
            Quality::Balanced => Preset { iterations: 8, models: &BALANCED },
            Quality::Best => Preset { iterations: 16, models: &BEST },
        }
    }

    fn name(self) -> &'static str {
        match self {
            Quality::Fast => "fast",
            Quality::Balanced => "balanced",
            Quality::Best => "best",
        }
    }
}

impl fmt::Display for Quality {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Quality {
    type Err = Error;

    fn from_str(text: &str) -> Result<Quality> {
        let found = ALL.into_iter().find(|quality| quality.name() == text);
        found.ok_or_else(|| Error::setting("quality", text, "it is fast, balanced or best"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for quality in ALL {
            assert_eq!(quality.to_string().parse::<Quality>().unwrap(), quality);
        }
        assert!("good".parse::<Quality>().unwrap_err().to_string().contains("fast, balanced or best"));
    }
}
