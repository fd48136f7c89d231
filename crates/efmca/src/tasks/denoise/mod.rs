//! Zero-shot denoising and inpainting (Sec. 7.2.3): models are learned from the patches of the noisy image itself, and say what
//! is below the noise.
//!
//! [`Denoiser`] is the complete method, the one of `efmca denoise`; [`PatchDenoiser`] is one member of it: one model of patches
//! of one size. The steps, and the files that they are in:
//!
//! | step | file |
//! | --- | --- |
//! | 1. Patch size, number of causes and blur that suit the signal and the noise of the image | `suitable.rs` |
//! | 2. The models of a [`Quality`], of pixels and of blocks of pixels, and their seeds | `quality.rs`, `plan.rs`, `blocks.rs` |
//! | 3. If asked for ([`Causes::Auto`](crate::Causes::Auto)), the number of causes that predicts held-out pixels best | `causes.rs` |
//! | 4. A start from patches of the blurred image, above a dark background | `start.rs`, `blur.rs` |
//! | 5. Learning each model by incremental variational EM | `learning.rs` |
//! | 6. The posterior mean of each patch, averaged where patches overlap | `cleaning.rs`, `strips.rs`, `merge.rs` |
//! | 7. Each pixel mostly from the models that are best around it | `combine.rs` |
//! | 8. Groups of similar patches, from coarse to fine | `similar.rs`, `refine.rs`, `groups/`, `plane.rs` |
//! | 9. The scale on which noise is everywhere alike | `noise_curve.rs`, `stabilise.rs` |
//! | 10. The same again with a part of the data, which shows how much of the estimates is noise | `passes.rs`, `thinning.rs` |
//! | 11. By that: weights of all models and of groups, flat places made flat, textures that were missed | `judge.rs`, `weighting.rs`, `flatten.rs`, `texture.rs` |
//! | 12. Without a second pass: causes and groups, each where it has the lower risk | `blend.rs` |

mod blend;
mod blocks;
mod blur;
mod causes;
mod cleaning;
mod combine;
mod denoiser;
mod flatten;
mod groups;
mod image;
mod judge;
mod learning;
mod merge;
mod noise_curve;
mod passes;
mod patch_denoiser;
mod plan;
mod plane;
mod quality;
mod refine;
mod similar;
mod stabilise;
mod start;
mod strips;
mod suitable;
mod texture;
mod thinning;
mod weighting;

pub use denoiser::{Denoised, Denoiser, Member};
pub use merge::Estimate;
pub use patch_denoiser::PatchDenoiser;
pub use quality::Quality;
