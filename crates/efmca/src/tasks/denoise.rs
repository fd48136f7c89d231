//! Zero-shot denoising and inpainting: a model is learned from the patches of the noisy image itself, and says what is
//! below the noise.

use std::ops::ControlFlow;

use ndarray::{ArrayView4, Axis, s};

use super::merge::{Canvas, Estimate, Posteriors};
use super::start::{dark, from_blurred};
use crate::em::{Em, Fit, Init, Iteration, Progress};
use crate::error::{Error, Result};
use crate::family::{SharedFamily, check};
use crate::model::{Background, Data, Model, Patches};
use crate::posterior::truncated::Precision;
use crate::posterior::{Observed, Sets, Truncated, Truncation};

/// Patches that are looked at together where a model is applied, to bound the memory that their states take.
const MOST_AT_ONCE: usize = 200_000;

/// How to learn from an image, and how to clean it.
///
/// ```
/// use efmca::{family::family, tasks::denoise::Denoiser};
/// use ndarray::Array4;
///
/// // a bright square, seen with few photons
/// let clean = Array4::from_shape_fn((1, 24, 24, 1), |(_, y, x, _)| if (8..16).contains(&y) && x > 10 { 9.0 } else { 1.0 });
/// let poisson = family("poisson")?;
/// let mut random = rand_chacha::ChaCha8Rng::from_seed([1; 32]);
/// # use rand::SeedableRng;
/// let noisy = clean.mapv(|mean: f64| poisson.sample(&[mean.ln()], &mut random));
/// let cleaned = Denoiser::new(poisson).patch(6, 6).components(8).iterations(20).run(noisy.view())?;
/// let error = |image: &Array4<f64>| (image - &clean).mapv(|e| e * e).mean().unwrap();
/// assert!(error(&cleaned.estimate.mean) < error(&noisy) / 4.0);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Denoiser {
    family: SharedFamily,
    patch: (usize, usize),
    components: usize,
    states: usize,
    iterations: usize,
    batches: usize,
    seed: u64,
    blur: f64,
    window: f64,
    most_patches: usize,
    sweeps: usize,
}

/// How much time denoising takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quality {
    /// Seconds for 256 x 256 pixels.
    Fast,
    /// A minute or two.
    #[default]
    Balanced,
    /// Several models with patches of different sizes, averaged: their errors differ.
    Best,
}

/// A model that was learned from an image.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The model.
    pub model: Model,
    /// One entry for each iteration.
    pub history: Vec<Iteration>,
    /// The bound of the model on the patches that it was learned from.
    pub bound: f64,
    /// How many patches these are.
    pub patches: usize,
    /// The states of all patches, if it was learned from all of them.
    sets: Option<Sets>,
}

/// A clean image and where it came from.
#[derive(Debug, Clone)]
pub struct Denoised {
    /// The image.
    pub estimate: Estimate,
    /// The model.
    pub learned: Learned,
}

impl Denoiser {
    /// Denoising for noise of a family, with settings for an image of some 256 x 256 pixels.
    pub fn new(family: SharedFamily) -> Denoiser {
        Denoiser {
            family,
            patch: (20, 20),
            components: 100,
            states: 60,
            iterations: 30,
            batches: 4,
            seed: 0,
            blur: 2.0,
            window: 0.25,
            most_patches: 70_000,
            sweeps: 8,
        }
    }

    /// Settings for a quality and an image; `None` for `components` chooses a number that suits the image.
    ///
    /// Returns the denoisers to run, whose estimates [`Estimate::average`] puts together.
    pub fn for_image(
        family: SharedFamily,
        quality: Quality,
        components: Option<usize>,
        noisy: ArrayView4<'_, f64>,
    ) -> Vec<Denoiser> {
        let (_, rows, columns, _) = noisy.dim();
        let components = components.unwrap_or_else(|| suitable_components(noisy));
        let smallest = rows.min(columns).max(1);
        let one = |size: usize, components: usize, seed: u64| {
            let size = size.min(smallest);
            Denoiser::new(family.clone()).patch(size, size).components(components.max(1)).seed(seed)
        };
        match quality {
            Quality::Fast => {
                vec![one(16, components, 0).states(30).iterations(8).most_patches(60_000)]
            }
            Quality::Balanced => vec![one(20, components, 0).iterations(50)],
            Quality::Best => [(20, 1.0, 0), (16, 1.0, 1), (24, 1.5, 2), (12, 1.5, 3), (20, 2.0, 4)]
                .into_iter()
                .map(|(size, more, seed)| one(size, (components as f64 * more) as usize, seed).iterations(50))
                .collect(),
        }
    }

    /// The number of causes.
    pub fn h(&self) -> usize {
        self.components
    }

    /// The size of a patch in rows and columns.
    pub fn patch_size(&self) -> (usize, usize) {
        self.patch
    }

    /// The number of passes.
    pub fn passes(&self) -> usize {
        self.iterations
    }

    /// The size of a patch in rows and columns (default: 20 x 20).
    pub fn patch(mut self, rows: usize, columns: usize) -> Denoiser {
        self.patch = (rows, columns);
        self
    }

    /// $H$, the number of causes (default: 100).
    pub fn components(mut self, components: usize) -> Denoiser {
        self.components = components;
        self
    }

    /// $S$, the number of states that are kept for each patch (default: 60).
    pub fn states(mut self, states: usize) -> Denoiser {
        self.states = states;
        self
    }

    /// Passes over the patches (default: 30).
    pub fn iterations(mut self, iterations: usize) -> Denoiser {
        self.iterations = iterations;
        self
    }

    /// Updates of the parameters in each pass (default: 4).
    pub fn batches(mut self, batches: usize) -> Denoiser {
        self.batches = batches;
        self
    }

    /// The seed: the same one gives the same bits.
    pub fn seed(mut self, seed: u64) -> Denoiser {
        self.seed = seed;
        self
    }

    /// Another seed on top of the one that is set.
    pub fn also_seed(mut self, seed: u64) -> Denoiser {
        self.seed = self.seed.wrapping_add(seed.wrapping_mul(0x9e37_79b9));
        self
    }

    /// The standard deviation of the blur that the first causes are taken from, in pixels (default: 2).
    pub fn blur(mut self, blur: f64) -> Denoiser {
        self.blur = blur;
        self
    }

    /// The standard deviation of the window with which overlapping patches are averaged, in patch sizes (default: 1/4);
    /// infinite for a plain average.
    pub fn window(mut self, window: f64) -> Denoiser {
        self.window = window;
        self
    }

    /// Learns from this many patches at most, on a lattice; all are cleaned (default: 70,000).
    pub fn most_patches(mut self, patches: usize) -> Denoiser {
        self.most_patches = patches;
        self
    }

    /// E-steps for patches that were not learned from (default: 8).
    pub fn sweeps(mut self, sweeps: usize) -> Denoiser {
        self.sweeps = sweeps;
        self
    }

    /// Learns from `noisy` (pages, rows, columns, channels; NaN where a pixel is missing) and cleans it.
    pub fn run(&self, noisy: ArrayView4<'_, f64>) -> Result<Denoised> {
        self.run_observed(noisy, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, and calls `observer` after each pass; it can end the learning.
    pub fn run_observed(
        &self,
        noisy: ArrayView4<'_, f64>,
        observer: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Denoised> {
        let learned = self.learn(noisy, observer)?;
        let estimate = self.estimate(noisy, &learned)?;
        Ok(Denoised { estimate, learned })
    }

    /// Learns from the patches of an image.
    pub fn learn(
        &self,
        noisy: ArrayView4<'_, f64>,
        observer: &mut dyn FnMut(&Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Learned> {
        self.check(noisy)?;
        let mut patches = Patches::of_stack(noisy, self.patch)?;
        let all = patches.n();
        let mut stride = 1;
        while patches.n() > self.most_patches.max(1) {
            stride += 1;
            patches = patches.stride(stride);
        }
        let background = dark(&self.family, &patches, self.blur).unwrap_or(Background::Learned);
        let init = match &background {
            Background::Fixed(_) if self.blur > 0.0 => {
                let start = (self.components, background.clone());
                Init::Model(Box::new(from_blurred(&self.family, &patches, start, self.blur, self.seed)?))
            }
            _ => Init::MeanNoise { scale: 0.1 },
        };
        let em = Em::new(self.components)
            .family(self.family.clone())
            .background(background)
            .init(init)
            .iterations(self.iterations)
            .batches(self.batches)
            .revive(false)
            .seed(self.seed)
            .pseudo_count(if self.family.l() > 1 { 1.0 } else { 0.01 })
            .truncated(self.truncation());
        let Fit { model, history, log_likelihood, sets, .. } = em.fit_observed(&patches, None, observer)?;
        let sets = sets.filter(|_| patches.n() == all);
        Ok(Learned { model, history, bound: log_likelihood, patches: patches.n(), sets })
    }

    /// Cleans the image that a model was learned from.
    pub fn estimate(&self, noisy: ArrayView4<'_, f64>, learned: &Learned) -> Result<Estimate> {
        let Some(sets) = &learned.sets else { return self.apply(noisy, &learned.model) };
        let patches = Patches::of_stack(noisy, self.patch)?;
        let geometry = patches.geometry().ok_or(Error::EmptyData { rows: 0, columns: 0 })?;
        let mut canvas = Canvas::new(&geometry);
        self.add_to(&mut canvas, &patches, 0, &learned.model, Some(sets.clone()))?;
        Ok(canvas.estimate(&geometry))
    }

    /// Cleans an image with a model that was learned from another one.
    pub fn apply(&self, noisy: ArrayView4<'_, f64>, model: &Model) -> Result<Estimate> {
        self.check(noisy)?;
        let whole = Patches::of_stack(noisy, self.patch)?;
        if whole.d() != model.d() {
            return Err(Error::shape(
                "patch",
                format!("{} pixels, which the model was learned from", model.d()),
                format!("{} ({} x {} in {} channels)", whole.d(), self.patch.0, self.patch.1, noisy.dim().3),
            ));
        }
        let geometry = whole.geometry().ok_or(Error::EmptyData { rows: 0, columns: 0 })?;
        let (pages, rows, columns, channels) = noisy.dim();
        let mut canvas = Canvas::new(&geometry);
        let lines = (MOST_AT_ONCE / geometry.across()).max(1);
        for page in 0..pages {
            for from in (0..geometry.down()).step_by(lines) {
                let to = (from + lines).min(geometry.down()) + self.patch.0 - 1;
                // strips of one channel lie together, those of several do not: then the page goes as a whole
                let (from, to) = if channels == 1 { (from, to) } else { (0, rows) };
                let strip = Patches::of_stack(noisy.slice(s![page..=page, from..to, .., ..]), self.patch)?;
                self.add_to(&mut canvas, &strip, (page * channels * rows + from) * columns, model, None)?;
                if channels > 1 {
                    break;
                }
            }
        }
        Ok(canvas.estimate(&geometry))
    }

    fn add_to(
        &self,
        canvas: &mut Canvas,
        patches: &Patches,
        offset: usize,
        model: &Model,
        sets: Option<Sets>,
    ) -> Result<()> {
        let Some(geometry) = patches.geometry() else { return Ok(()) };
        let truncation = self.truncation();
        let observed = Observed::new(model.columns(), patches, None, truncation.precision)?;
        let sweeps = if sets.is_some() { 1 } else { self.sweeps.max(1) };
        let mut truncated = Truncated::new(&observed, &truncation, model.h(), self.seed);
        if let Some(sets) = sets {
            truncated = truncated.with_sets(sets);
        }
        for sweep in 0..sweeps {
            truncated.e_step(model, 1.0, sweep + 1 == sweeps)?;
        }
        let posteriors = Posteriors::new(model, truncated.sets(), truncated.q());
        canvas.add(&geometry, offset, &self.weights(noisy_channels(&geometry)), &posteriors);
        Ok(())
    }

    fn truncation(&self) -> Truncation {
        Truncation::new(self.states).precision(Precision::Single)
    }

    /// Pixels that the family cannot produce are refused, with their place in the image.
    fn check(&self, noisy: ArrayView4<'_, f64>) -> Result<()> {
        for ((_, row, column, _), value) in noisy.indexed_iter().filter(|(_, value)| !value.is_nan()) {
            check(&*self.family, *value, row, column)?;
        }
        Ok(())
    }

    /// The weight of each pixel of a patch: the middle of a patch is known best.
    fn weights(&self, channels: usize) -> Vec<f64> {
        let along = |at: usize, size: usize| {
            let from_middle = (at as f64 + 0.5) / size as f64 - 0.5;
            (-0.5 * (from_middle / self.window).powi(2)).exp()
        };
        let (rows, columns) = self.patch;
        let one = (0..rows).flat_map(|y| (0..columns).map(move |x| along(y, rows) * along(x, columns)));
        let one: Vec<f64> = one.collect();
        one.repeat(channels)
    }
}

/// A number of causes that suits an image: more where there is more signal in the noise.
///
/// The paper used 20 or 30 for images of some 0.1 photons a pixel and 100 for those of one; with more, causes learn the
/// noise.
fn suitable_components(noisy: ArrayView4<'_, f64>) -> usize {
    let (mut signal, mut noise) = (Moments2::default(), Moments2::default());
    for page in noisy.axis_iter(Axis(0)) {
        for channel in page.axis_iter(Axis(2)) {
            // means of blocks hold the signal, the rest is noise
            for block in channel.exact_chunks((4.min(channel.nrows()), 4.min(channel.ncols()))) {
                let there: Vec<f64> = block.iter().copied().filter(|value| !value.is_nan()).collect();
                if there.len() > 1 {
                    let mean = there.iter().sum::<f64>() / there.len() as f64;
                    signal.add(mean);
                    there.iter().for_each(|value| noise.add(value - mean));
                }
            }
        }
    }
    let noise = noise.variance();
    let signal = (signal.variance() - noise / 16.0).max(0.0);
    let ratio = if noise > 0.0 { signal / noise } else { 1.0 };
    (320.0 * ratio.sqrt()).clamp(20.0, 200.0) as usize
}

/// Mean and variance of numbers.
#[derive(Debug, Default)]
struct Moments2 {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments2 {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn variance(&self) -> f64 {
        let mean = self.sum / self.count.max(1.0);
        self.squares / self.count.max(1.0) - mean * mean
    }
}

fn noisy_channels(geometry: &crate::model::Geometry) -> usize {
    geometry.pages_and_channels().1
}
