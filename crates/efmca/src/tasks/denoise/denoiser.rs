//! The complete method: several models learned from an image, each used where it is best.

use ndarray::{ArrayView4, Axis};
use serde::{Deserialize, Serialize};

use super::image::{check_fits, check_learnable, check_pixels};
use super::merge::Estimate;
use super::passes::{Found, Steps};
use super::patch_denoiser::PatchDenoiser;
use super::plan::Planned;
use super::quality::Quality;
use super::similar::SimilarPatches;
use crate::em::{Iteration, Observer, StopReason, unobserved};
use crate::error::{Error, Result};
use crate::family::FamilySpec;
use crate::model::Model;
use crate::tasks::Causes;
use crate::tasks::watch::Watch;

/// Settings for cleaning an image with nothing but itself. Everything has a default but the family of the noise.
///
/// ```
/// use efmca::tasks::denoise::{Denoiser, Quality};
/// use efmca::tasks::corrupt::Corruption;
/// use ndarray::Array4;
///
/// // a bright square, seen with few photons
/// let clean = Array4::from_shape_fn((1, 40, 40, 1), |(_, y, x, _)| if (8..28).contains(&y) && x > 15 { 9.0 } else { 1.0 });
/// let noisy = Corruption::new("poisson").seed(1).run(clean.view())?.noisy;
/// let cleaned = Denoiser::new("poisson").quality(Quality::Fast).run(noisy.view())?;
/// let error = |image: &Array4<f64>| (image - &clean).mapv(|e| e * e).mean().unwrap();
/// assert!(error(&cleaned.estimate.mean) < error(&noisy) / 4.0);
/// # Ok::<(), efmca::Error>(())
/// ```
///
/// Missing pixels are NaN in `noisy`, and are filled in. A model that was learned before cleans another image with
/// [`PatchDenoiser::apply`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Denoiser {
    pub(super) family: FamilySpec,
    pub(super) quality: Quality,
    pub(super) causes: Causes,
    pub(super) patch: Option<(usize, usize)>,
    pub(super) depth: usize,
    pub(super) states: Option<usize>,
    pub(super) iterations: Option<usize>,
    pub(super) batches: Option<usize>,
    pub(super) blur: Option<f64>,
    pub(super) window: Option<f64>,
    pub(super) seed: u64,
    /// In ascending order, each once; `None` for all.
    learn_from: Option<Vec<usize>>,
    similar_patches: bool,
    pub(super) keep_model: bool,
    pub(super) member_estimates: bool,
}

/// A clean image and the models that it comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Denoised {
    /// The image: the estimates of all members combined.
    pub estimate: Estimate,
    /// The models that were learned, one at least.
    pub members: Vec<Member>,
    /// Whether the observer ended the work early, so that models or iterations are missing.
    pub interrupted: bool,
}

/// A model that was learned from an image.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Member {
    /// The settings that it was learned with.
    pub settings: PatchDenoiser,
    /// The model.
    pub model: Model,
    /// One entry for each iteration.
    pub history: Vec<Iteration>,
    /// The bound of the model on the patches that it was learned from.
    pub bound: f64,
    /// The number of these patches.
    pub patches: usize,
    /// Rows and columns of the blocks of pixels whose sums it is a model of: 1 for pixels.
    pub block: usize,
    /// Why learning ended.
    pub stop: StopReason,
    /// Its own estimate, if that is kept: see [`Denoiser::member_estimates`].
    pub estimate: Option<Estimate>,
}

impl Denoised {
    /// The member to keep for other images: the first one that is a model of single pixels; see [`Denoiser::keep_model`]. `apply`
    /// with it does less than all members together.
    #[must_use]
    pub fn kept(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.block == 1)
    }

    /// The model of the member to keep.
    #[must_use]
    pub fn model(&self) -> Option<&Model> {
        self.kept().map(|member| &member.model)
    }
}

impl Denoiser {
    /// Denoising for noise of a family.
    pub fn new(family: impl Into<FamilySpec>) -> Denoiser {
        Denoiser {
            family: family.into(),
            quality: Quality::default(),
            causes: Causes::default(),
            patch: None,
            depth: 1,
            states: None,
            iterations: None,
            batches: None,
            blur: None,
            window: None,
            seed: 0,
            learn_from: None,
            similar_patches: true,
            keep_model: false,
            member_estimates: false,
        }
    }

    /// How much time to take (default: [`Quality::Balanced`]). It decides how many models there are, and the settings below that
    /// are not given.
    #[must_use]
    pub fn quality(mut self, quality: Quality) -> Denoiser {
        self.quality = quality;
        self
    }

    /// $H$, the number of causes of every model (default: [`Causes::Suitable`], here a number for each model that suits the signal and
    /// the noise of the image and the number of patches).
    #[must_use]
    pub fn causes(mut self, causes: impl Into<Causes>) -> Denoiser {
        self.causes = causes.into();
        self
    }

    /// The size of a patch in rows and columns (default: one for each model, by the signal and the noise of the image). With it there
    /// is one model only: others would differ by their start.
    #[must_use]
    pub fn patch(mut self, rows: usize, columns: usize) -> Denoiser {
        self.patch = Some((rows, columns));
        self
    }

    /// The number of pages of a patch (default: 1, each page by itself). With more, neighbouring slices of a volume or frames of
    /// a movie help each other, and there is one model only.
    ///
    /// ```
    /// # use efmca::tasks::denoise::Denoiser;
    /// # use ndarray::Array4;
    /// # let movie = Array4::from_shape_fn((5, 12, 12, 1), |(page, y, x, _)| ((y + x + page) % 5 / 2) as f64);
    /// let cleaned = Denoiser::new("poisson").patch(6, 6).depth(3).causes(8).iterations(3).run(movie.view())?;
    /// assert_eq!(cleaned.members[0].model.d(), 6 * 6 * 3);
    /// # Ok::<(), efmca::Error>(())
    /// ```
    #[must_use]
    pub fn depth(mut self, pages: usize) -> Denoiser {
        self.depth = pages;
        self
    }

    /// $S$, the number of states that are kept for each patch (default: 12, 6 or 12 by quality).
    #[must_use]
    pub fn states(mut self, states: usize) -> Denoiser {
        self.states = Some(states);
        self
    }

    /// EM iterations of each model (default: 7, 6 or 12 by quality).
    #[must_use]
    pub fn iterations(mut self, iterations: usize) -> Denoiser {
        self.iterations = Some(iterations);
        self
    }

    /// Updates of the parameters in each iteration (default: 4).
    #[must_use]
    pub fn batches(mut self, batches: usize) -> Denoiser {
        self.batches = Some(batches);
        self
    }

    /// The standard deviation of the blur that the first causes are taken from, in pixels (default: by the noise of the image).
    #[must_use]
    pub fn blur(mut self, blur: f64) -> Denoiser {
        self.blur = Some(blur);
        self
    }

    /// The standard deviation of the window with which overlapping patches are averaged, in patch sizes (default: 1/4);
    /// infinite for a plain average.
    #[must_use]
    pub fn window(mut self, window: f64) -> Denoiser {
        self.window = Some(window);
        self
    }

    /// The seed: the same one gives the same bits (default: 0).
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Denoiser {
        self.seed = seed;
        self
    }

    /// Learns from these pages of a stack only, counted from 0, in any order (default: all). All pages are cleaned. For patches of
    /// several pages ([`Denoiser::depth`]) they must follow each other.
    #[must_use]
    pub fn learn_from(mut self, pages: impl IntoIterator<Item = usize>) -> Denoiser {
        let mut pages: Vec<usize> = pages.into_iter().collect();
        pages.sort_unstable();
        pages.dedup();
        self.learn_from = Some(pages);
        self
    }

    /// Whether groups of similar patches are used beside models of causes (default: yes). Without them the image is explained by
    /// causes alone, as in the paper.
    #[must_use]
    pub fn similar_patches(mut self, used: bool) -> Denoiser {
        self.similar_patches = used;
        self
    }

    /// Whether there has to be a model of single pixels for other images (default: no). [`Quality::Fast`] has none otherwise.
    #[must_use]
    pub fn keep_model(mut self, kept: bool) -> Denoiser {
        self.keep_model = kept;
        self
    }

    /// Whether the estimate of each member is kept beside the combined one (default: no).
    #[must_use]
    pub fn member_estimates(mut self, kept: bool) -> Denoiser {
        self.member_estimates = kept;
        self
    }

    /// Whether the settings can be used; any image may come.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] or [`Error::FamilyParameter`] for a family that does not exist, [`Error::Setting`] for a number
    /// that makes no sense.
    pub fn check(&self) -> Result<()> {
        let mut member = self.with_own_settings(PatchDenoiser::new(self.family.clone()));
        if let Causes::Given(causes) = self.causes {
            member.causes = causes;
        }
        member.check()?;
        if self.learn_from.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::setting(
                "learn_from",
                "none",
                "give one page at least, or leave it out to learn from all",
            ));
        }
        self.check_neighbouring_pages()
    }

    /// Learns from `noisy` (pages, rows, columns, channels; NaN where a pixel is missing) and cleans it.
    ///
    /// # Errors
    ///
    /// All that [`Denoiser::check`] finds, and faults of the image, before any work is done: [`Error::Setting`] for pages that it
    /// does not have, [`Error::Shape`] if the patch is larger, [`Error::ImpossiblePixel`] for the first pixel that the family cannot
    /// produce, [`Error::EmptyImage`] if every pixel to learn from is missing.
    pub fn run(&self, noisy: ArrayView4<'_, f64>) -> Result<Denoised> {
        self.run_observed(noisy, &mut unobserved)
    }

    /// Learns and cleans, and calls `observer` after each iteration of each model: stages are called `model 2 of 3`, and steps are
    /// the iterations of all of them. It can end the learning; the models so far clean the image then.
    ///
    /// # Errors
    ///
    /// As [`Denoiser::run`], and [`Error::Stopped`] if the work is ended while the number of causes is searched for.
    pub fn run_observed(&self, noisy: ArrayView4<'_, f64>, observer: &mut Observer<'_>) -> Result<Denoised> {
        self.check()?;
        let family = self.family.resolve()?;
        let pages = self.pages(noisy.dim().0)?;
        check_pixels(&*family, noisy)?;
        check_fits(self.patch.unwrap_or((1, 1)), self.depth, noisy)?;
        let selected = pages.map(|pages| noisy.select(Axis(0), pages));
        let learned_from = selected.as_ref().map_or(noisy, |selected| selected.view());
        check_learnable(learned_from)?;

        let mut watch = Watch::new(observer);
        let plan = self.plan(&family, learned_from, &mut |progress| watch.see(progress))?;
        if watch.stopped() {
            return Err(Error::Stopped { what: "a model was learned".into() });
        }
        let similar = SimilarPatches::new(&*family, noisy).filter(|_| self.similar_patches && self.depth == 1);
        let second = similar.as_ref().and_then(|_| self.second_plan(&family, &plan));
        let iterations = |plan: &[Planned]| plan.iter().map(|member| member.settings.iterations).sum::<usize>();
        let of_groups = similar.as_ref().map_or(0, |similar| self.steps_of_groups(similar));
        let total = iterations(&plan) + of_groups + second.as_ref().map_or(0, |plan| iterations(plan) + of_groups);
        let mut steps = Steps { watch: &mut watch, done: 0, total, behind: "" };

        let mut causes = self.by_causes(&plan, &family, (noisy, learned_from), &mut steps)?;
        let members = std::mem::take(&mut causes.members);
        let interrupted = members.len() < plan.len() || members.iter().any(Member::is_unfinished);
        let Some(similar) = similar.filter(|_| !interrupted) else {
            return Ok(Denoised { estimate: causes.combined, members, interrupted });
        };
        let curve = similar.curve(&causes.combined);
        let Some(by_groups) = self.by_groups(&similar, &causes.combined, &curve, &mut steps) else {
            return Ok(Denoised { estimate: causes.combined, members, interrupted: true });
        };
        if let Some(second) = &second {
            let first = Found { causes: &causes, groups: &by_groups, curve: &curve };
            if let Some(estimate) = self.second_pass(second, &similar, &first, pages, &mut steps)? {
                return Ok(Denoised { estimate, members, interrupted });
            }
        }
        let blend = causes.combined.blended_with(&by_groups.last, noisy, &curve);
        let estimate = if self.quality.preset().flattens { blend.flattened(noisy, &curve) } else { blend.estimate };
        Ok(Denoised { estimate, members, interrupted: watch.stopped() })
    }

    /// Patches of several pages have neighbouring pages to learn from.
    fn check_neighbouring_pages(&self) -> Result<()> {
        let Some(pages) = self.learn_from.as_ref().filter(|_| self.depth > 1) else { return Ok(()) };
        if let Some(gap) = pages.windows(2).find(|pair| pair[0].checked_add(1) != Some(pair[1])) {
            return Err(Error::setting(
                "learn_from",
                format!("page {} and then page {}", gap[0].saturating_add(1), gap[1].saturating_add(1)),
                format!(
                    "patches of {} pages are learned from pages that follow each other; leave out none between",
                    self.depth
                ),
            ));
        }
        if pages.len() < self.depth {
            let (pages, depth) = (pages.len(), self.depth);
            return Err(Error::setting(
                "learn_from",
                format!("{pages} {}", if pages == 1 { "page" } else { "pages" }),
                format!("give {depth} pages or more, as many as a patch has"),
            ));
        }
        Ok(())
    }

    /// The pages to learn from, of a stack with this many; `None` if that is all of them.
    fn pages(&self, count: usize) -> Result<Option<&[usize]>> {
        let Some(pages) = &self.learn_from else { return Ok(None) };
        if let Some(page) = pages.iter().find(|page| **page >= count) {
            let value = format!("page {}", page.saturating_add(1));
            let requirement = match count {
                1 => "the image has one page only; leave it out".to_owned(),
                _ => format!("the stack has pages 1 to {count}, counted from 1"),
            };
            return Err(Error::setting("learn_from", value, requirement));
        }
        // they are different and in order
        Ok((pages.len() < count).then_some(pages))
    }
}

#[cfg(test)]
mod tests;
