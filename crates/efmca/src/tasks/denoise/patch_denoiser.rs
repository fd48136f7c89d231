//! Zero-shot denoising and inpainting: a model is learned from the patches of the noisy image itself, and says what is
//! below the noise.

use std::ops::ControlFlow;

use ndarray::{ArrayView4, s};

use super::merge::{Canvas, Estimate, Posteriors};
use super::start::{dark, from_blurred};
use super::suitable::Suitable;
use crate::em::{Em, Fit, Init, Iteration, Observer};
use crate::error::{Error, Result};
use crate::family::{SharedFamily, check};
use crate::model::{Background, Data, Model, Patches};
use crate::posterior::truncated::Precision;
use crate::posterior::{Observed, Sets, Truncated, Truncation};

/// Patches that are looked at together where a model is applied, to bound the memory that their states take.
const MOST_AT_ONCE: usize = 200_000;
/// Of pages with more patches than this, every second one in each direction is cleaned: House and Camera at peak 2 lose
/// 0.04 to 0.1 dB by it.
const MANY_PATCHES: usize = 300_000;
/// A cause is learned from this many patches at least, as far as it is up to us.
const PATCHES_OF_A_CAUSE: f64 = 50.0;

/// How to learn from an image, and how to clean it.
///
/// ```
/// use efmca::{family::family, tasks::denoise::Denoiser};
/// use ndarray::Array4;
///
/// // a bright square, seen with few photons
/// let clean = Array4::from_shape_fn((1, 40, 40, 1), |(_, y, x, _)| if (8..28).contains(&y) && x > 15 { 9.0 } else { 1.0 });
/// let poisson = family("poisson")?;
/// let mut random = rand_chacha::ChaCha8Rng::from_seed([1; 32]);
/// # use rand::SeedableRng;
/// let noisy = clean.mapv(|mean: f64| poisson.sample(&[mean.ln()], &mut random));
/// let cleaned = Denoiser::new(poisson).patch(8, 8).components(12).iterations(12).run(noisy.view())?;
/// let error = |image: &Array4<f64>| (image - &clean).mapv(|e| e * e).mean().unwrap();
/// assert!(error(&cleaned.estimate.mean) < error(&noisy) / 2.0);
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
    stride: Option<usize>,
    sweeps: usize,
}

/// How much time denoising takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Quality {
    /// One model: ten seconds for 256 x 256 pixels.
    Fast,
    /// Three models with patches of different sizes, because their errors differ: a minute.
    #[default]
    Balanced,
    /// Seven models and more passes: several minutes.
    Best,
}

impl Quality {
    /// Passes over the patches, and for each model the size of its patches and the number of its causes, in units of what
    /// suits the image.
    fn models(self) -> (usize, &'static [(f64, f64)]) {
        match self {
            Quality::Fast => (7, &[(1.0, 1.8)]),
            Quality::Balanced => (8, &[(1.0, 3.6), (0.67, 2.4), (1.42, 1.0)]),
            Quality::Best => {
                (16, &[(1.0, 3.6), (0.67, 2.4), (1.42, 1.0), (0.85, 2.4), (1.2, 2.4), (1.42, 2.4), (1.0, 1.4)])
            }
        }
    }
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
            states: 12,
            iterations: 30,
            batches: 4,
            seed: 0,
            blur: 2.0,
            window: 0.25,
            most_patches: 70_000,
            stride: None,
            sweeps: 4,
        }
    }

    /// Settings for a quality and an image; `None` for `components` chooses numbers that suit the image and the patches.
    ///
    /// Returns the denoisers to run, whose estimates [`Estimate::combine`] puts together.
    pub fn for_image(
        family: SharedFamily,
        quality: Quality,
        components: Option<usize>,
        noisy: ArrayView4<'_, f64>,
    ) -> Vec<Denoiser> {
        let (pages, rows, columns, _) = noisy.dim();
        let suitable = Suitable::of(noisy);
        let (passes, models) = quality.models();
        let one = |((size, more), seed): (&(f64, f64), u64)| {
            let size = ((suitable.patch * size).round() as usize).clamp(1, rows.min(columns).max(1));
            let patches = pages * (rows + 1).saturating_sub(size) * (columns + 1).saturating_sub(size);
            let suits = (suitable.components * more).min(patches as f64 / PATCHES_OF_A_CAUSE).round();
            let components = components.unwrap_or(suits.max(1.0) as usize);
            let denoiser = Denoiser::new(family.clone()).patch(size, size).components(components);
            denoiser.blur(suitable.blur).iterations(passes).seed(seed)
        };
        models.iter().zip(0..).map(one).collect()
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

    /// $S$, the number of states that are kept for each patch (default: 12).
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

    /// Where a model is applied: cleans only every `stride`-th patch in each direction, which still overlap (default: 1,
    /// and 2 for pages of more than 300,000 patches).
    pub fn stride(mut self, stride: usize) -> Denoiser {
        self.stride = Some(stride.max(1));
        self
    }

    /// E-steps for patches that were not learned from (default: 4).
    pub fn sweeps(mut self, sweeps: usize) -> Denoiser {
        self.sweeps = sweeps;
        self
    }

    /// Learns from `noisy` (pages, rows, columns, channels; NaN where a pixel is missing) and cleans it.
    pub fn run(&self, noisy: ArrayView4<'_, f64>) -> Result<Denoised> {
        self.run_observed(noisy, &mut |_| ControlFlow::Continue(()))
    }

    /// The same, and calls `observer` after each pass; it can end the learning.
    pub fn run_observed(&self, noisy: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<Denoised> {
        let learned = self.learn(noisy, observer)?;
        let estimate = self.estimate(noisy, &learned)?;
        Ok(Denoised { estimate, learned })
    }

    /// Learns from the patches of an image.
    pub fn learn(&self, noisy: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<Learned> {
        self.check(noisy)?;
        let mut patches = Patches::of_stack(noisy, self.patch)?;
        let all = patches.n();
        let mut stride = 1;
        // a stack of many pages has more than that on the widest lattice, too
        while patches.n() > self.most_patches && stride < noisy.dim().1.max(noisy.dim().2) {
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
        let Fit { model, history, bound, sets, .. } = em.run_observed(&patches, observer)?;
        let sets = sets.filter(|_| patches.n() == all);
        Ok(Learned { model, history, bound, patches: patches.n(), sets })
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

    /// Cleans an image with a model that was learned from another one. Overlapping patches lend each other states, so that a
    /// pixel depends on the image around it.
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
        let (pages, rows, columns, channels) = noisy.dim();
        let suits = if whole.n() / pages > MANY_PATCHES && self.patch.0.min(self.patch.1) >= 8 { 2 } else { 1 };
        let stride = self.stride.unwrap_or(suits).min(self.patch.0).min(self.patch.1);
        let geometry = whole.stride(stride).geometry().ok_or(Error::EmptyData { rows: 0, columns: 0 })?;
        let mut canvas = Canvas::new(&geometry);
        let lines = (MOST_AT_ONCE / geometry.across()).max(1);
        for page in 0..pages {
            for from in (0..geometry.down()).step_by(lines) {
                let last = (from + lines).min(geometry.down()) - 1;
                let (from, to) = (from * stride, (last * stride).min(rows - self.patch.0) + self.patch.0);
                // strips of one channel lie together, those of several do not: then the page goes as a whole
                let (from, to) = if channels == 1 { (from, to) } else { (0, rows) };
                let strip =
                    Patches::of_stack(noisy.slice(s![page..=page, from..to, .., ..]), self.patch)?.stride(stride);
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
        let observed = Observed::new(model.columns(), patches, truncation.precision)?;
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

fn noisy_channels(geometry: &crate::model::Geometry) -> usize {
    geometry.pages_and_channels().1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;
    use ndarray::Array4;

    #[test]
    fn every_pixel_is_cleaned_on_any_lattice() {
        let noisy =
            Array4::from_shape_fn((2, 31, 26, 1), |(page, y, x, _)| ((y / 9 + x / 7 + page) % 3 + (y * x) % 2) as f64);
        let denoiser = Denoiser::new(family("poisson").unwrap()).patch(6, 5).components(6).iterations(4).blur(1.0);
        let learned =
            denoiser.clone().most_patches(200).learn(noisy.view(), &mut |_| ControlFlow::Continue(())).unwrap();
        assert!(learned.patches <= 200, "{}", learned.patches);
        let all = denoiser.apply(noisy.view(), &learned.model).unwrap().mean;
        for stride in [2, 3, 5, 100] {
            let some = denoiser.clone().stride(stride).apply(noisy.view(), &learned.model).unwrap().mean;
            let difference = (&some - &all).mapv(|e| e * e).mean().unwrap().sqrt();
            assert!(some.iter().all(|value| value.is_finite()) && difference < 0.5, "{stride}: {difference}");
        }
        // a lattice does not become wider than the image
        let few = denoiser.most_patches(0).learn(noisy.view(), &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(few.patches, 2 * 2 * 2);
    }
}
