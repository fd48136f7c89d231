//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

mod apply;
mod args;
mod many;
mod noisy;
mod places;
mod report;
mod residual;
mod results;

use std::path::Path;

use efmca::Causes;
use efmca::em::Progress;
use efmca::tasks::denoise::{Denoised, Member, PatchDenoiser};
use efmca_io::write_model;

use crate::failure::Failure;
use crate::progress::Watch;
pub(crate) use apply::apply;
pub(crate) use args::{ApplyArgs, DenoiseArgs, InpaintArgs};
use args::{FileArgs, LearningArgs};
use many::Many;
use noisy::Noisy;
use places::{PlaceArgs, Places};
use report::{Page, Reference};
use results::Results;

/// Cleans an image.
pub(crate) fn denoise(args: &DenoiseArgs) -> Result<(), Failure> {
    clean(&args.places, &args.files, &args.learning, None, &|_| Ok(()))
}

/// Cleans an image with missing pixels.
pub(crate) fn inpaint(args: &InpaintArgs) -> Result<(), Failure> {
    let mask = args.mask.as_deref();
    clean(&args.places, &args.files, &args.learning, mask, &|noisy| cover(noisy, mask))
}

/// A change of an image before it is cleaned.
type Prepare<'a> = &'a dyn Fn(&mut Noisy<'_>) -> Result<(), Failure>;

/// Cleans one image or many.
fn clean(
    places: &PlaceArgs,
    files: &FileArgs,
    learning: &LearningArgs,
    mask: Option<&Path>,
    prepare: Prepare<'_>,
) -> Result<(), Failure> {
    let read = [mask, learning.camera.as_deref(), places.learn_from()];
    match places.resolve()? {
        Places::One { input, output } => {
            let files = files.of(input, output);
            files.check_outputs(learning.save_model.as_deref(), &read)?;
            files.work.set_threads()?;
            let watch = || Watch::new(files.work.log_format);
            learn_and_clean(&files, learning, After::Write, watch, prepare).map(drop)
        }
        Places::Many(batch) => Many { files, learning, prepare }.run(&batch, &read),
    }
}

/// What is done with a clean image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// It is written, with all else that was asked for.
    Write,
    /// Nothing: the model was wanted.
    Nothing,
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
    after: After,
    watch: impl FnOnce() -> Watch,
    prepare: Prepare<'_>,
) -> Result<Denoised, Failure> {
    let family = learning.family()?;
    let denoiser = learning.denoiser(&family)?;
    let mut noisy = Noisy::new(files, Noisy::read(files)?, &family);
    prepare(&mut noisy)?;
    noisy.check_result()?;
    let reference = Reference::read(files.reference.as_deref(), &noisy)?;

    let mut watch = watch();
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
    if after == After::Nothing {
        return Ok(denoised);
    }
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
    let (family, interrupted) = (&family, denoised.interrupted);
    Results { files, noisy: &noisy, reference: reference.as_ref(), page, family, interrupted }
        .write(&denoised.estimate, &watch)?;
    Ok(denoised)
}

/// A model in a line of the report.
fn words(member: &Member) -> String {
    let PatchDenoiser { causes, patch: (rows, columns), .. } = member.settings;
    format!("{causes} causes of {rows} x {columns} pixels, {} iterations", member.history.len())
}
