//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

mod apply;
mod args;
mod noisy;
mod report;
mod residual;
mod results;

use std::path::Path;

use efmca::Causes;
use efmca::em::Progress;
use efmca::tasks::denoise::{Member, PatchDenoiser};
use efmca_io::write_model;

use crate::failure::Failure;
use crate::progress::Watch;
pub(crate) use apply::apply;
pub(crate) use args::{ApplyArgs, DenoiseArgs, InpaintArgs};
use args::{FileArgs, LearningArgs};
use noisy::Noisy;
use report::{Page, Reference};
use results::Results;

/// Cleans an image.
pub(crate) fn denoise(args: &DenoiseArgs) -> Result<(), Failure> {
    args.files.check_outputs(args.learning.save_model.as_deref(), &[args.learning.camera.as_deref()])?;
    learn_and_clean(&args.files, &args.learning, |_| Ok(()))
}

/// Cleans an image with missing pixels.
pub(crate) fn inpaint(args: &InpaintArgs) -> Result<(), Failure> {
    let mask = args.mask.as_deref();
    args.files.check_outputs(args.learning.save_model.as_deref(), &[mask, args.learning.camera.as_deref()])?;
    learn_and_clean(&args.files, &args.learning, |noisy| cover(noisy, mask))
}

/// Marks the missing pixels, of which there must be one.
fn cover(noisy: &mut Noisy<'_>, mask: Option<&Path>) -> Result<(), Failure> {
    mask.map_or(Ok(()), |mask| noisy.cover(mask))?;
    if noisy.missing() == 0 {
        return Err(Failure::input(
            "no pixel is missing; give --mask MASK, --missing VALUE, or NaN in the image, or use `efmca denoise`",
        ));
    }
    Ok(())
}

/// Learns from the image and cleans it.
fn learn_and_clean(
    files: &FileArgs,
    learning: &LearningArgs,
    prepare: impl FnOnce(&mut Noisy<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let family = learning.family()?;
    let denoiser = learning.denoiser(&family)?;
    files.work.set_threads()?;
    let mut noisy = Noisy::new(files, Noisy::read(files)?, &family);
    prepare(&mut noisy)?;
    noisy.check_result()?;
    let reference = Reference::read(files.reference.as_deref(), &noisy)?;

    let mut watch = Watch::new(files.work.log_format);
    let mut told = learning.causes != Some(Causes::Auto);
    let mut observer = |progress: &Progress<'_>| {
        if let Some(training) = progress.training.filter(|_| !told) {
            told = true;
            watch.event("components", &[("components", training.model.h().into())]);
        }
        watch.see(progress)
    };
    let denoised = denoiser.run_observed(noisy.values.view(), &mut observer);
    watch.finish();
    let denoised = denoised.map_err(|error| noisy.origin().describe(&error))?;
    let first = denoised.members.first();
    if let (Some(path), Some(model)) = (&learning.save_model, denoised.model()) {
        write_model(path, model).map_err(Failure::work)?;
    }
    let mut settings = vec![
        ("noise".to_owned(), family.spec()),
        ("quality".to_owned(), learning.quality.to_string()),
        ("seed".to_owned(), learning.seed.seed.to_string()),
    ];
    settings.extend(denoised.members.iter().map(|member| ("model".to_owned(), words(member))));
    if noisy.missing() > 0 {
        settings.push(("missing pixels".to_owned(), noisy.missing().to_string()));
    }
    let page = Page {
        settings,
        member: first,
        model: first.map(|member| &member.model),
        patch: first.map_or((1, 1), |member| member.settings.patch),
    };
    let (family, interrupted) = (&learning.noise, denoised.interrupted);
    Results { files, noisy: &noisy, reference: reference.as_ref(), page, family, interrupted }
        .write(&denoised.estimate, &watch)
}

/// A model in a line of the report.
fn words(member: &Member) -> String {
    let PatchDenoiser { causes, patch: (rows, columns), .. } = member.settings;
    format!("{causes} causes of {rows} x {columns} pixels, {} iterations", member.history.len())
}
