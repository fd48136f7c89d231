//! How much time denoising takes, and the models that are learned in it.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

use super::refine::{Effort, Last};
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
    /// One model of blocks of pixels, and groups of similar patches: two seconds for 256 x 256 pixels.
    Fast,
    /// Three models, of pixels and of blocks, because their errors differ, and a second pass over a part of the data: ten to fifteen
    /// seconds.
    #[default]
    Balanced,
    /// Seven models, more iterations, and a second pass: two minutes.
    Best,
}

/// The models of a quality.
pub(super) struct Preset {
    /// Iterations of each model, and states of a patch.
    pub(super) iterations: usize,
    pub(super) states: usize,
    /// The same of a second pass over a part of the data, if there is one.
    pub(super) second: Option<Second>,
    /// The models.
    pub(super) models: &'static [RelativeSize],
    /// The distance of the patches of single pixels that a model is learned from and that are cleaned, in each direction.
    pub(super) spacing: usize,
    /// Groups of similar patches.
    pub(super) effort: Effort,
    /// Whether flat places are made flat: many models have few blotches, and faint structure to lose.
    pub(super) flattens: bool,
}

/// A second pass: no more than this for each model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Second {
    pub(super) iterations: usize,
    pub(super) states: usize,
}

/// The size of a model, in units of the size that suits the image.
pub(super) struct RelativeSize {
    /// Rows and columns of the blocks of pixels that it sees.
    pub(super) block: usize,
    /// Of rows and columns of a patch.
    pub(super) patch: f64,
    /// Of the number of causes.
    pub(super) causes: f64,
    /// Whether it has only as many causes as noisy pixels can tell apart, for smooth scenes; if that is no fewer than usual, there is
    /// no such model.
    pub(super) few: bool,
}

const fn size(block: usize, patch: f64, causes: f64) -> RelativeSize {
    RelativeSize { block, patch, causes, few: false }
}

const fn few(block: usize) -> RelativeSize {
    RelativeSize { block, patch: 1.0, causes: 1.8, few: true }
}

/// A model of single pixels, for other images.
pub(super) const OF_PIXELS: RelativeSize = size(1, 1.0, 1.8);

const FAST: [RelativeSize; 1] = [size(3, 1.0, 1.8)];
const BALANCED: [RelativeSize; 4] = [size(1, 0.67, 2.4), size(2, 1.0, 1.8), size(3, 1.0, 1.8), few(2)];
const BEST: [RelativeSize; 9] = [
    size(1, 1.0, 3.6),
    size(1, 0.67, 2.4),
    size(1, 1.42, 1.0),
    size(1, 0.85, 2.4),
    size(1, 1.2, 2.4),
    size(2, 1.0, 1.8),
    size(3, 1.0, 1.8),
    few(1),
    few(2),
];

const fn last(block: usize, side: usize, step: usize) -> Last {
    Last { block, side, step }
}

const SPARSE: [Last; 3] = [last(1, 8, 4), last(1, 12, 6), last(2, 8, 2)];
const DENSE: [Last; 3] = [last(1, 8, 3), last(1, 12, 4), last(2, 8, 2)];

const fn effort(rounds: usize, step: usize, last: &'static [Last]) -> Effort {
    Effort { rounds, last, step, reach: 12 }
}

const ALL: [Quality; 3] = [Quality::Fast, Quality::Balanced, Quality::Best];

impl Quality {
    pub(super) fn preset(self) -> Preset {
        match self {
            Quality::Fast => Preset {
                iterations: 7,
                states: 12,
                second: None,
                models: &FAST,
                spacing: 2,
                effort: effort(1, 4, &SPARSE),
                flattens: true,
            },
            Quality::Balanced => Preset {
                iterations: 6,
                states: 6,
                second: Some(Second { iterations: 4, states: 5 }),
                models: &BALANCED,
                spacing: 1,
                effort: effort(2, 3, &DENSE),
                flattens: true,
            },
            Quality::Best => Preset {
                iterations: 12,
                states: 12,
                second: Some(Second { iterations: 8, states: 10 }),
                models: &BEST,
                spacing: 1,
                effort: effort(3, 2, &DENSE),
                flattens: false,
            },
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
