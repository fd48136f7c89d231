//! The noise of an image: the family that was typed, or the one that is found.

use efmca::Error;
use efmca::family::{SharedFamily, family};
use efmca::tasks::noise::{FoundNoise, ImageNoise, Ranked};
use serde_json::{Value, json};

use super::args::FileArgs;
use super::noisy::Noisy;
use crate::args::common::noise;
use crate::failure::Failure;
use crate::progress::Watch;

/// What was typed for `--noise`.
#[derive(Debug, Clone)]
pub(super) enum NoiseArg {
    /// `auto`: the image says it.
    Auto,
    /// A family.
    Given(SharedFamily),
}

/// The family that an image is cleaned with.
pub(super) struct Noise {
    pub(super) family: SharedFamily,
    /// The way that it was found, if it was not given.
    found: Option<FoundNoise>,
}

/// Reads a family, or `auto`.
pub(super) fn noise_or_auto(text: &str) -> Result<NoiseArg, Error> {
    if text.trim() == "auto" { Ok(NoiseArg::Auto) } else { noise(text).map(NoiseArg::Given) }
}

impl NoiseArg {
    /// The family that values are read for. Before it is found, that is one with all values, or counts if gain or offset is given.
    pub(super) fn for_reading(&self, files: &FileArgs) -> Result<SharedFamily, Failure> {
        let counts = files.gain.is_some() || files.offset.is_some();
        match self {
            Self::Given(family) => Ok(family.clone()),
            Self::Auto => family(if counts { "poisson" } else { "gaussian" }).map_err(Failure::input),
        }
    }

    /// The family that was given, or the one that the image says, in a line.
    pub(super) fn resolve(&self, noisy: &Noisy<'_>, seed: u64, watch: &mut Watch) -> Result<Noise, Failure> {
        let Self::Auto = self else { return Ok(Noise { family: self.for_reading(noisy.files)?, found: None }) };
        let found = ImageNoise::new().seed(seed).run_observed(noisy.values.view(), &mut |step| watch.see(step));
        let found = found.map_err(|error| noisy.origin().describe(&error))?;
        watch.event("noise", &fields(&found));
        watch.say(&format!("noise: {}", found.sentence()))?;
        Ok(Noise { family: found.family.resolve().map_err(Failure::work)?, found: Some(found) })
    }
}

impl Noise {
    /// The noise in the table of a report.
    pub(super) fn words(&self) -> String {
        let found = self.found.as_ref().map(|found| format!(" (auto: {})", found.sentence()));
        self.family.spec() + &found.unwrap_or_default()
    }
}

/// The finding for programs.
fn fields(found: &FoundNoise) -> [(&'static str, Value); 4] {
    let one = |one: &Ranked| {
        json!({
            "family": one.family.spec(),
            "held_out": one.held_out,
            "behind": one.behind.mean,
            "error": one.behind.error,
            "tied": one.tied,
        })
    };
    let camera = found.camera.map(|camera| json!({ "gain": camera.gain, "offset": camera.offset }));
    [
        ("family", found.family.spec().into()),
        ("sentence", found.sentence().into()),
        ("ranking", found.ranked().iter().map(one).collect()),
        ("camera", camera.into()),
    ]
}
