//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

mod apply;
mod args;
mod noise;
mod noisy;
mod report;
mod residual;
mod results;

use std::path::Path;

use efmca::Causes;
use efmca::em::Progress;
use efmca::tasks::denoise::{Member, PatchDenoiser};
use efmca_io::{ModelFile, write_model_file};

use crate::args::common::PatchSize;
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
    let noise = learning.noise()?;
    let for_reading = noise.for_reading(files)?;
    // settings are checked before any file is read, whatever the noise will be
    learning.denoiser(&for_reading)?;
    files.work.set_threads()?;
    let mut noisy = Noisy::new(files, Noisy::read(files)?, &for_reading);
    prepare(&mut noisy)?;
    noisy.check_result()?;
    let reference = Reference::read(files.reference.as_deref(), &noisy)?;

    let mut watch = Watch::new(files.work.log_format);
    let noise = noise.resolve(&noisy, learning.seed.seed, &mut watch)?;
    let denoiser = learning.denoiser(&noise.family)?;
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
    if let (Some(path), Some(member)) = (&learning.save_model, denoised.kept()) {
        let size = size_of(&member.settings);
        let file = ModelFile {
            patch: Some([size.rows, size.columns, noisy.values.dim().3]),
            pages: size.pages,
            ..ModelFile::from(member.model.clone())
        };
        write_model_file(path, &file).map_err(Failure::work)?;
    }
    let mut settings = vec![
        ("noise".to_owned(), noise.words()),
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
        patch: first.map_or(PatchSize { rows: 1, columns: 1, pages: 1 }, |member| size_of(&member.settings)),
    };
    let (family, interrupted) = (&noise.family, denoised.interrupted);
    Results { files, noisy: &noisy, reference: reference.as_ref(), page, family, interrupted }
        .write(&denoised.estimate, &watch)
}

/// A model in a line of the report.
fn words(member: &Member) -> String {
    let size = size_of(&member.settings);
    let blocks = match member.block {
        1 => String::new(),
        side => format!(" of blocks of {side} x {side}"),
    };
    format!("{} causes of {size}{blocks}, {} iterations", member.settings.causes, member.history.len())
}

/// The size of the patches of a model.
fn size_of(settings: &PatchDenoiser) -> PatchSize {
    let (rows, columns) = settings.patch;
    PatchSize { rows, columns, pages: settings.depth }
}
