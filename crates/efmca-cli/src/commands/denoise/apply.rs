//! `efmca apply`: a clean image with a model that was learned before.

use efmca::tasks::denoise::PatchDenoiser;
use efmca::{Error, Model};
use efmca_io::image_file::ImageFile;
use efmca_io::{ModelFile, read_model_file};

use super::args::{ApplyArgs, FileArgs};
use super::noisy::Noisy;
use super::report::{Page, Reference};
use super::results::Results;
use super::size_of;
use crate::args::common::PatchSize;
use crate::failure::Failure;
use crate::progress::Watch;
use crate::rescue::Rescue;

/// Cleans an image with a model.
pub(crate) fn apply(args: &ApplyArgs) -> Result<(), Failure> {
    let files = &args.files.of(&args.input, &args.output);
    files.work.set_threads()?;
    files.check_outputs(None, &[Some(&args.model)])?;
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    if let Some(changes) = file.changes() {
        return Err(Failure::input(format!(
            "{}: it was learned from patches that were changed first ({changes}), and does not fit the values of an \
             image; use one of efmca denoise --save-model, or of efmca learn --whiten none",
            args.model.display()
        )));
    }
    let watch = Watch::without_steps(files.work.log_format);
    let image = Noisy::read(files)?;
    let patch = patch(&file, args, image.values.dim().3)?;
    clean_with(&file.model, &args.model.display().to_string(), patch, (files, image), &watch, |_| Ok(()))
}

/// Cleans an image with a model, which has a name and patches of this size (squares without it).
pub(super) fn clean_with(
    model: &Model,
    name: &str,
    patch: Option<PatchSize>,
    (files, image): (&FileArgs, ImageFile),
    watch: &Watch,
    prepare: impl FnOnce(&mut Noisy<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let denoiser = match patch {
        Some(PatchSize { rows, columns, pages }) => {
            PatchDenoiser::for_model_of(model, (rows, columns)).map(|denoiser| denoiser.depth(pages))
        }
        None => PatchDenoiser::for_model(model, image.values.dim().3),
    };
    let denoiser = denoiser.map_err(|error| {
        let hint = if matches!(error, Error::Shape { .. }) {
            "; give their size with --patch ROWSxCOLUMNS, and xPAGES if they have several"
        } else {
            ""
        };
        Failure::input(format!("{name}: {error}{hint}"))
    })?;
    let family = denoiser.family.resolve().map_err(Failure::input)?;
    let mut noisy = Noisy::new(files, image, &family);
    prepare(&mut noisy)?;
    noisy.check_result()?;
    let reference = Reference::read(files.reference.as_deref(), &noisy)?;

    let estimate = denoiser.apply(noisy.values.view(), model).map_err(|error| noisy.origin().describe(&error))?;
    let size = size_of(&denoiser);
    let settings = vec![
        ("noise".to_owned(), family.spec()),
        ("model".to_owned(), format!("{name} ({} causes of {size})", model.h())),
    ];
    let page = Page { settings, member: None, model: Some(model), patch: size };
    Results { files, noisy: &noisy, reference: reference.as_ref(), page, family: &family, interrupted: false }.write(
        &estimate,
        watch,
        Rescue::default(),
    )
}

/// The size of a patch that the model says, or else the one that was given.
fn patch(file: &ModelFile, args: &ApplyArgs, image_channels: usize) -> Result<Option<PatchSize>, Failure> {
    let Some([rows, columns, channels]) = file.patch else { return Ok(args.patch) };
    let own = PatchSize { rows, columns, pages: file.pages };
    let problem = if let Some(given) = args.patch.filter(|given| *given != own) {
        format!("it was learned from patches of {own}, and --patch says {given}; leave that out")
    } else if channels != image_channels {
        format!("it was learned from an image with {channels} channels, and this one has {image_channels}")
    } else {
        return Ok(Some(own));
    };
    Err(Failure::input(format!("{}: {problem}", args.model.display())))
}
