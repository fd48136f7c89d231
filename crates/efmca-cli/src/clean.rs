//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

use std::path::Path;

use efmca::Causes;
use efmca::Error;
use efmca::em::Progress;
use efmca::family::{Measure, SharedFamily, family};
use efmca::tasks::denoise::{Denoiser, Estimate, Member, PatchDenoiser, Quality};
use efmca_io::image_file::{
    Format, ImageFile, ReadOptions, ValueScale, WriteOptions, Written, check_holds, check_writable, default_sample,
    read, read_mask, rounding_cost, write,
};
use efmca_io::{check_place, read_model_file, write_model};
use ndarray::Array4;

use crate::clean_args::{ApplyArgs, DenoiseArgs, FileArgs, InpaintArgs, LearnArgs};
use crate::clean_report::{Comparison, Page, Reference};
use crate::failure::Failure;
use crate::progress::Watch;
use crate::show::Screen;

/// The noisy image in the units of the noise.
pub(crate) struct Noisy {
    pub(crate) file: ImageFile,
    /// Counts, where gain and offset are given; NaN where a pixel is missing.
    pub(crate) values: Array4<f64>,
    gain: f64,
    offset: f64,
    /// Changes of the values that the user should know about.
    remarks: Vec<String>,
}

pub(crate) fn denoise(args: &DenoiseArgs) -> Result<(), Failure> {
    learn_and_clean(&args.files, &args.learning, None)
}

pub(crate) fn inpaint(args: &InpaintArgs) -> Result<(), Failure> {
    learn_and_clean(&args.files, &args.learning, Some(args.mask.as_deref()))
}

/// Learns from the image and cleans it; `mask` is present for `inpaint`, which may have a file of it.
fn learn_and_clean(files: &FileArgs, learning: &LearnArgs, mask: Option<Option<&Path>>) -> Result<(), Failure> {
    let family = parse_family(&learning.noise)?;
    let causes = causes(learning.components.as_deref())?;
    let mut denoiser = denoiser(&family, learning, causes)?;
    set_threads(learning.threads)?;
    check_outputs(files, learning.save_model.as_deref())?;
    let mut noisy = read_noisy(files, read_image(files)?, &family)?;
    let shape = noisy.values.dim();
    if let Some(Some(mask)) = mask {
        let mask = read_mask(mask, (shape.0, shape.1, shape.2), &ReadOptions::default()).map_err(Failure::input)?;
        for (place, _) in mask.indexed_iter().filter(|(_, missing)| **missing) {
            noisy.values.slice_mut(ndarray::s![place.0, place.1, place.2, ..]).fill(f64::NAN);
        }
    }
    let missing = noisy.values.iter().filter(|value| value.is_nan()).count();
    if mask.is_some() && missing == 0 {
        return Err(Failure::input(
            "no pixel is missing; give --mask MASK, --missing VALUE, or NaN in the image, or use `efmca denoise`",
        ));
    }
    check_holds(&files.output, shape, &write_options(files, &noisy)).map_err(Failure::input)?;
    if !learning.learn_pages.is_empty() {
        denoiser = denoiser.learn_from(pages(&learning.learn_pages, shape.0)?);
    }
    let reference = files.reference.as_deref().map(|path| Reference::read(path, &noisy)).transpose()?;

    let mut watch = Watch::new(files.log_format);
    let mut told = causes != Causes::Auto;
    let mut observer = |progress: &Progress<'_>| {
        if let Some(training) = progress.training.filter(|_| !told) {
            told = true;
            watch.event("components", &[("components", training.model.h().into())]);
        }
        watch.see(progress)
    };
    let denoised = denoiser.run_observed(noisy.values.view(), &mut observer);
    watch.finish();
    let denoised = denoised.map_err(|error| describe(error, &files.input, &family))?;
    let first = denoised.members.first();
    if let (Some(path), Some(member)) = (&learning.save_model, first) {
        write_model(path, &member.model).map_err(Failure::work)?;
    }
    let mut settings = vec![
        ("noise".to_owned(), family.spec()),
        ("quality".to_owned(), Quality::from(learning.quality).to_string()),
        ("seed".to_owned(), learning.seed.to_string()),
    ];
    for member in &denoised.members {
        settings.push(("model".to_owned(), words(member)));
    }
    if missing > 0 {
        settings.push(("missing pixels".to_owned(), missing.to_string()));
    }
    let page = Page {
        settings,
        member: first,
        model: first.map(|member| &member.model),
        patch: first.map_or((1, 1), |member| member.settings.patch),
    };
    let result = Cleaned { estimate: &denoised.estimate, reference, interrupted: denoised.interrupted };
    finish(files, &noisy, &result, &page, &watch)
}

/// The number of causes as it was typed.
fn causes(text: Option<&str>) -> Result<Causes, Failure> {
    match text {
        None => Ok(Causes::Suitable),
        Some("auto") => Ok(Causes::Auto),
        Some(number) => match number.parse::<usize>() {
            Ok(causes) if causes > 0 => Ok(Causes::Given(causes)),
            _ => Err(Failure::input(format!("--components {number}: give a number of causes, or auto"))),
        },
    }
}

/// The settings that were asked for, which are checked.
fn denoiser(family: &SharedFamily, learning: &LearnArgs, causes: Causes) -> Result<Denoiser, Failure> {
    let mut denoiser = Denoiser::new(family).quality(learning.quality.into()).causes(causes).seed(learning.seed);
    if let Some((rows, columns)) = learning.patch {
        denoiser = denoiser.patch(rows, columns);
    }
    if let Some(states) = learning.states {
        denoiser = denoiser.states(states);
    }
    if let Some(iterations) = learning.iterations {
        denoiser = denoiser.iterations(iterations);
    }
    denoiser.check().map_err(Failure::input)?;
    Ok(denoiser)
}

/// A model in a line of the report.
fn words(member: &Member) -> String {
    let PatchDenoiser { causes, patch: (rows, columns), .. } = member.settings;
    format!("{causes} causes of {rows} x {columns} pixels, {} iterations", member.history.len())
}

pub(crate) fn apply(args: &ApplyArgs) -> Result<(), Failure> {
    set_threads(args.threads)?;
    let files = &args.files;
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    if let Some(changes) = file.changes() {
        return Err(Failure::input(format!(
            "{}: it was learned from patches that were changed first ({changes}), and does not fit the values of an image; \
             use one of efmca denoise --save-model, or of efmca learn --whiten none",
            args.model.display()
        )));
    }
    let model = file.model;
    check_outputs(files, None)?;
    let image = read_image(files)?;
    let denoiser = match args.patch {
        Some(patch) => PatchDenoiser::for_model_of(&model, patch),
        None => PatchDenoiser::for_model(&model, image.values.dim().3),
    };
    let of_model = |error: Error| {
        let hint = if matches!(error, Error::Shape { .. }) { "; --patch ROWSxCOLUMNS says their size" } else { "" };
        Failure::input(format!("{}: {error}{hint}", args.model.display()))
    };
    let denoiser = denoiser.map_err(of_model)?;
    let family = denoiser.family.resolve().map_err(Failure::input)?;
    let noisy = read_noisy(files, image, &family)?;
    check_holds(&files.output, noisy.values.dim(), &write_options(files, &noisy)).map_err(Failure::input)?;
    let reference = files.reference.as_deref().map(|path| Reference::read(path, &noisy)).transpose()?;
    let watch = Watch::without_steps(files.log_format);
    let estimate =
        denoiser.apply(noisy.values.view(), &model).map_err(|error| describe(error, &files.input, &family))?;
    let (rows, columns) = denoiser.patch;
    let settings = vec![
        ("noise".to_owned(), family.spec()),
        ("model".to_owned(), format!("{} ({} causes of {rows} x {columns} pixels)", args.model.display(), model.h())),
    ];
    let page = Page { settings, member: None, model: Some(&model), patch: denoiser.patch };
    finish(files, &noisy, &Cleaned { estimate: &estimate, reference, interrupted: false }, &page, &watch)
}

/// A clean image, and the truth that it is compared with.
struct Cleaned<'a> {
    estimate: &'a Estimate,
    reference: Option<Reference>,
    interrupted: bool,
}

/// Writes all that was asked for, and says so.
fn finish(
    files: &FileArgs,
    noisy: &Noisy,
    cleaned: &Cleaned<'_>,
    page: &Page<'_>,
    watch: &Watch,
) -> Result<(), Failure> {
    let mut screen = Screen::new();
    let estimate = cleaned.estimate;
    let image = estimate.mean.mapv(|value| value * noisy.gain + noisy.offset);
    let deviation = estimate.deviation.mapv(|value| value * noisy.gain.abs());
    let (written, warning) = write_image(files, noisy, &image, &deviation)?;
    let reference = cleaned.reference.as_ref();
    let comparison = reference.map(|reference| Comparison::new(reference, noisy, &image)).transpose()?;
    if let Some(path) = &files.uncertainty {
        let like = Some(&noisy.file.metadata);
        let dtype = Format::of_output(path).ok().filter(|format| !format.holds_floats());
        let scale = dtype.and_then(|format| ValueScale::filling(deviation.view(), default_sample(format, like)));
        let options = WriteOptions { like, force: files.force, scale, ..WriteOptions::default() };
        write(path, deviation.view(), &options).map_err(Failure::work)?;
    }
    if let Some(path) = &files.report {
        page.write(path, files, noisy, &image, &deviation, comparison.as_ref())?;
    }
    for remark in noisy.file.remarks.iter().chain(&noisy.remarks) {
        screen.say(&format!("note: {}: {remark}", files.input.display()))?;
    }
    for remark in warning.iter().chain(&written.remarks) {
        screen.say(&format!("note: {}: {remark}", written.path.display()))?;
    }
    if cleaned.interrupted {
        screen.say("stopped early: this is the result so far")?;
    }
    if let Some(comparison) = &comparison {
        screen.say(&comparison.line())?;
        watch.event("quality", &comparison.fields());
    }
    let others = [files.uncertainty.as_ref(), files.report.as_ref()];
    let mut line = format!("wrote {} ({})", written.path.display(), written.sample);
    for path in others.into_iter().flatten() {
        line += &format!(", {}", path.display());
    }
    screen.say(&line)?;
    watch.event("written", &[("path", written.path.display().to_string().into())]);
    Ok(())
}

/// Writes the image in a type that keeps it, and says what that cost.
fn write_image(
    files: &FileArgs,
    noisy: &Noisy,
    image: &Array4<f64>,
    deviation: &Array4<f64>,
) -> Result<(Written, Option<String>), Failure> {
    let mut options = write_options(files, noisy);
    let format = Format::of_output(&files.output).map_err(Failure::input)?;
    let sample = options.dtype.unwrap_or_else(|| default_sample(format, options.like));
    let mut warning = None;
    if !sample.is_float() {
        let cost = rounding_cost(image.view(), sample, None);
        let present = deviation.iter().filter(|value| value.is_finite());
        let left = (present.clone().map(|value| value * value).sum::<f64>() / present.count().max(1) as f64).sqrt();
        if cost.out_of_range > 0 || cost.rms > left {
            options.scale = ValueScale::filling(image.view(), sample);
            let scale = options.scale.map_or((1.0, 0.0), |scale| (scale.factor, scale.offset));
            warning = Some(format!(
                "integers would have cost more than the noise that is left ({:.3} against {left:.3}), so values are \
                 stored as {} * value + {}; a float format (.tif, .npy, .fits) or --dtype keeps them as they are",
                cost.rms, scale.0, scale.1
            ));
        }
    }
    let written = write(&files.output, image.view(), &options).map_err(Failure::work)?;
    Ok((written, warning))
}

fn write_options<'a>(files: &FileArgs, noisy: &'a Noisy) -> WriteOptions<'a> {
    WriteOptions {
        dtype: files.dtype,
        like: Some(&noisy.file.metadata),
        notes: Vec::new(),
        scale: None,
        force: files.force,
    }
}

/// Finds out before the work starts whether its results can be written.
fn check_outputs(files: &FileArgs, model: Option<&Path>) -> Result<(), Failure> {
    let images = [Some(&files.output), files.uncertainty.as_ref()];
    for path in images.into_iter().flatten() {
        check_writable(path, files.force).map_err(Failure::input)?;
    }
    for path in [files.report.as_deref(), model].into_iter().flatten() {
        check_place(path, files.force).map_err(Failure::input)?;
    }
    let all: Vec<&Path> = [Some(files.output.as_path()), files.uncertainty.as_deref(), files.report.as_deref(), model]
        .into_iter()
        .flatten()
        .collect();
    for (index, path) in all.iter().enumerate() {
        if all[..index].contains(path) {
            return Err(Failure::input(format!("{}: two results cannot be the same file", path.display())));
        }
    }
    Ok(())
}

fn read_image(files: &FileArgs) -> Result<ImageFile, Failure> {
    let options = ReadOptions { axes: files.axes.clone(), ..ReadOptions::default() };
    read(&files.input, &options).map_err(Failure::input)
}

/// Marks missing pixels and turns camera units into counts.
fn read_noisy(files: &FileArgs, file: ImageFile, family: &SharedFamily) -> Result<Noisy, Failure> {
    let (gain, offset) = (files.gain.unwrap_or(1.0), files.offset.unwrap_or(0.0));
    if !(gain.is_finite() && gain > 0.0 && offset.is_finite()) {
        return Err(Failure::input(format!("--gain {gain} --offset {offset}: the gain must be positive, both finite")));
    }
    let mut values = file.values.clone();
    if let Some(missing) = files.missing {
        values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
    }
    let mut remarks = Vec::new();
    if files.gain.is_some() || files.offset.is_some() {
        values.mapv_inplace(|value| (value - offset) / gain);
        let support = family.support();
        if support.measure == Measure::Counting {
            let below = values.iter().filter(|value| value.round() < support.low).count();
            values.mapv_inplace(|value| if value.is_nan() { value } else { value.round().max(support.low) });
            remarks.push(format!("values were turned into counts by rounding (value - {offset}) / {gain}"));
            if below > 0 {
                remarks.push(format!("{below} pixels below the offset became {}", support.low));
            }
        }
    }
    Ok(Noisy { file, values, gain, offset, remarks })
}

/// The pages to learn from, which the user counts from 1, as the library counts them.
fn pages(chosen: &[usize], count: usize) -> Result<Vec<usize>, Failure> {
    match chosen.iter().find(|page| **page == 0 || **page > count) {
        Some(page) => Err(Failure::input(format!("--learn-pages {page}: the image has pages 1 to {count}"))),
        None => Ok(chosen.iter().map(|page| page - 1).collect()),
    }
}

fn parse_family(spec: &str) -> Result<SharedFamily, Failure> {
    family(spec).map_err(|error| Failure::input(format!("--noise {spec}: {error}")))
}

/// More threads than any machine has processors would be started one by one for minutes.
const MOST_THREADS: usize = 4096;

pub(crate) fn set_threads(threads: Option<usize>) -> Result<(), Failure> {
    match threads {
        None => Ok(()),
        Some(0) => Err(Failure::input("--threads 0: give 1 or more, or leave it out for all processors")),
        Some(threads) if threads > MOST_THREADS => Err(Failure::input(format!(
            "--threads {threads}: give up to {MOST_THREADS}, or leave it out for all processors"
        ))),
        Some(threads) => rayon::ThreadPoolBuilder::new().num_threads(threads).build_global().map_err(Failure::work),
    }
}

/// A fault of an image, with the options that help.
fn describe(error: Error, path: &Path, family: &SharedFamily) -> Failure {
    if matches!(error, Error::Stopped { .. }) {
        return Failure::work(error);
    }
    let hint = match &error {
        Error::ImpossiblePixel { value, .. }
            if value.fract() != 0.0 && family.support().measure == Measure::Counting =>
        {
            "; counts are integers: if these are camera units, say --gain and --offset"
        }
        Error::ImpossiblePixel { .. } => "; choose another --noise, or mark such pixels with --missing VALUE",
        _ => "",
    };
    Failure::input(format!("{}: {error}{hint}", path.display()))
}
