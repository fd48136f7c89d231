//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

mod apply;
mod args;
mod many;
mod noise;
mod noisy;
mod places;
mod report;
mod residual;
mod results;

use std::path::Path;

use efmca::Causes;
use efmca::em::Progress;
use efmca::tasks::denoise::{Denoised, Member, PatchDenoiser};
use efmca_io::{ModelFile, write_model_file};

use crate::args::common::PatchSize;
use crate::cluster;
use crate::failure::Failure;
use crate::progress::Watch;
use crate::rescue::Rescue;
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
    learning.checkpoint.around(files.work.log_format, || clean_all(places, files, learning, mask, prepare))
}

fn clean_all(
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
    /// The same, and the model is for other images as well.
    WriteAndKeep,
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
    let noise = learning.noise()?;
    let for_reading = noise.for_reading(files)?;
    // settings are checked before any file is read, whatever the noise will be
    learning.denoiser(&for_reading)?;
    let mut noisy = Noisy::new(files, Noisy::read(files)?, &for_reading);
    prepare(&mut noisy)?;
    noisy.check_result()?;
    let reference = Reference::read(files.reference.as_deref(), &noisy)?;

    let mut watch = watch();
    let noise = noise.resolve(&noisy, learning.seed.seed, &mut watch)?;
    let keep = learning.save_model.is_some() || after != After::Write;
    let denoiser = learning.denoiser(&noise.family)?.keep_model(keep);
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
    if after == After::Nothing || cluster::follows() {
        return Ok(denoised);
    }
    let first = denoised.members.first();
    let mut rescue = Rescue::default();
    if let (Some(path), Some(member)) = (&learning.save_model, denoised.kept()) {
        let size = size_of(&member.settings);
        let file = ModelFile {
            patch: Some([size.rows, size.columns, noisy.values.dim().3]),
            pages: size.pages,
            ..ModelFile::from(member.model.clone())
        };
        rescue.write(path, |path| write_model_file(path, &file));
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
    Results { files, noisy: &noisy, reference: reference.as_ref(), page, family, interrupted }.write(
        &denoised.estimate,
        &watch,
        rescue,
    )?;
    Ok(denoised)
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
