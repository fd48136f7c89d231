//! `efmca denoise`, `efmca inpaint` and `efmca apply`: a clean image from a noisy one.

use std::path::Path;

use efmca::family::{Measure, SharedFamily, family};
use efmca::tasks::Estimate;
use efmca::tasks::denoise::{Denoiser, Learned};
use efmca::tasks::noise::Source;
use efmca::tasks::select::Select;
use efmca::{Error, Model};
use efmca_io::image_file::{
    Format, ImageFile, ReadOptions, ValueScale, WriteOptions, Written, check_holds, check_writable, default_sample,
    read, read_mask, rounding_cost, write,
};
use efmca_io::{check_place, read_model_file, write_model};
use ndarray::{Array4, ArrayView4, Axis};

use crate::clean_args::{ApplyArgs, DenoiseArgs, FileArgs, InpaintArgs, LearnArgs};
use crate::clean_report::{Comparison, Page};
use crate::failure::Failure;
use crate::input::{MOST_PATCHES, stride_for};
use crate::progress::Watch;
use crate::show::Screen;

/// The noisy image in the units of the noise.
pub(crate) struct Noisy {
    pub(crate) file: ImageFile,
    /// Counts, where gain and offset are given; NaN where a pixel is missing.
    pub(crate) values: Array4<f64>,
    gain: f64,
    offset: f64,
    /// What was done to the values.
    remarks: Vec<String>,
}

pub(crate) fn denoise(args: &DenoiseArgs) -> Result<(), Failure> {
    learn_and_clean(&args.files, &args.learning, None)
}

pub(crate) fn inpaint(args: &InpaintArgs) -> Result<(), Failure> {
    learn_and_clean(&args.files, &args.learning, Some(args.mask.as_deref()))
}

/// Learns from the image and cleans it; `mask` is there for `inpaint`, which may have a file of it.
fn learn_and_clean(files: &FileArgs, learning: &LearnArgs, mask: Option<Option<&Path>>) -> Result<(), Failure> {
    let family = parse_family(&learning.noise)?;
    let asked = match learning.components.as_deref() {
        None | Some("auto") => None,
        Some(number) => match number.parse::<usize>() {
            Ok(number) if number > 0 => Some(number),
            _ => return Err(Failure::input(format!("--components {number}: give a number of causes, or auto"))),
        },
    };
    set_threads(learning.threads)?;
    check_outputs(files, learning.save_model.as_deref())?;
    let mut noisy = read_noisy(files, &family)?;
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
    if missing == noisy.values.len() {
        return Err(Failure::input("every pixel is missing, so there is nothing to learn from; check the mask"));
    }
    check_holds(&files.output, shape, &write_options(files, &noisy)).map_err(Failure::input)?;
    let learn_from = pages(&learning.learn_pages, &noisy.values)?;

    let mut watch = Watch::new(files.log_format);
    let for_image =
        |components| Denoiser::for_image(family.clone(), learning.quality.into(), components, learn_from.view());
    let mut denoisers = for_image(asked);
    if learning.components.as_deref() == Some("auto") {
        let patch = learning.patch.or(denoisers.first().map(Denoiser::patch_size)).unwrap_or((8, 8));
        denoisers = for_image(Some(causes_by_hidden_pixels(
            &family,
            learn_from.view(),
            patch,
            learning.seed,
            &mut watch,
            files,
        )?));
    }
    denoisers = denoisers.into_iter().map(|denoiser| configured(denoiser, learning)).collect();
    if learning.patch.is_some() {
        // models of one size differ by their start only, and their average gains little
        denoisers.truncate(1);
    }
    let mut found: Vec<(Estimate, Learned)> = Vec::new();
    for denoiser in &denoisers {
        let located = |error: Error| describe(error, &files.input, &family);
        let learned = denoiser.learn(learn_from.view(), &mut |progress| watch.see(progress)).map_err(located)?;
        let all = learn_from.len() == noisy.values.len();
        let estimate = match all {
            true => denoiser.estimate(noisy.values.view(), &learned),
            false => denoiser.apply(noisy.values.view(), &learned.model),
        };
        found.push((estimate.map_err(located)?, learned));
        if watch.stopped() {
            break;
        }
    }
    watch.finish();
    let estimates: Vec<Estimate> = found.iter().map(|(estimate, _)| estimate.clone()).collect();
    let Some(estimate) = Estimate::combine(noisy.values.view(), &estimates) else {
        return Err(Failure::work("nothing was learned"));
    };
    if let (Some(path), Some((_, learned))) = (&learning.save_model, found.first()) {
        write_model(path, &learned.model).map_err(Failure::work)?;
    }
    let mut settings = vec![
        ("noise".to_owned(), family.spec()),
        ("quality".to_owned(), format!("{:?}", learning.quality).to_lowercase()),
        ("seed".to_owned(), learning.seed.to_string()),
    ];
    for denoiser in &denoisers {
        let (rows, columns) = denoiser.patch_size();
        let text = format!("{} causes of {rows} x {columns} pixels, {} passes", denoiser.h(), denoiser.passes());
        settings.push(("model".to_owned(), text));
    }
    if missing > 0 {
        settings.push(("missing pixels".to_owned(), missing.to_string()));
    }
    let learned = found.into_iter().next().map(|(_, learned)| learned);
    let patch = denoisers.first().map_or((1, 1), Denoiser::patch_size);
    let page = Page { settings, learned: learned.as_ref(), model: learned.as_ref().map(|one| &one.model), patch };
    finish(files, &noisy, &estimate, &page, &watch)
}

/// The number of causes that foretells hidden pixels best.
fn causes_by_hidden_pixels(
    family: &SharedFamily,
    pixels: ArrayView4<'_, f64>,
    patch: (usize, usize),
    seed: u64,
    watch: &mut Watch,
    files: &FileArgs,
) -> Result<usize, Failure> {
    let stride = stride_for(pixels.dim(), patch, MOST_PATCHES);
    let source = Source::Images { pixels, patch, stride };
    let choice = Select::new(family.clone()).seed(seed).run_observed(source, &mut |step| watch.see(step));
    let h = choice.map_err(|error| describe(error, &files.input, family))?.best().h;
    watch.event("components", &[("components", h.into())]);
    Ok(h)
}

pub(crate) fn apply(args: &ApplyArgs) -> Result<(), Failure> {
    set_threads(args.threads)?;
    let files = &args.files;
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    if let Some(changes) = file.changes() {
        return Err(Failure::input(format!(
            "{}: it was learned from patches that were changed first ({changes}), and so it is no model of images as they are; \
             use one of efmca denoise --save-model, or of efmca learn --whiten none",
            args.model.display()
        )));
    }
    let model = file.model;
    let family = family_of(&model, &args.model)?;
    check_outputs(files, None)?;
    let noisy = read_noisy(files, &family)?;
    let channels = noisy.values.dim().3;
    check_holds(&files.output, noisy.values.dim(), &write_options(files, &noisy)).map_err(Failure::input)?;
    let patch = match args.patch {
        Some(patch) => patch,
        None => {
            let side = ((model.d() / channels) as f64).sqrt().round() as usize;
            if side * side * channels != model.d() {
                return Err(Failure::input(format!(
                    "{}: {} values a patch are no square of an image with {channels} channels; if its patches are not \
                     square, say --patch ROWSxCOLUMNS, or use an image with as many channels as it was learned from",
                    args.model.display(),
                    model.d()
                )));
            }
            (side, side)
        }
    };
    let watch = Watch::without_steps(files.log_format);
    let denoiser = Denoiser::new(family.clone()).patch(patch.0, patch.1).components(model.h());
    let estimate =
        denoiser.apply(noisy.values.view(), &model).map_err(|error| describe(error, &files.input, &family))?;
    let settings = vec![
        ("noise".to_owned(), family.spec()),
        (
            "model".to_owned(),
            format!("{} ({} causes of {} x {} pixels)", args.model.display(), model.h(), patch.0, patch.1),
        ),
    ];
    finish(files, &noisy, &estimate, &Page { settings, learned: None, model: Some(&model), patch }, &watch)
}

/// Writes all that was asked for, and says so.
fn finish(files: &FileArgs, noisy: &Noisy, estimate: &Estimate, page: &Page<'_>, watch: &Watch) -> Result<(), Failure> {
    let mut screen = Screen::new();
    let image = estimate.mean.mapv(|value| value * noisy.gain + noisy.offset);
    let deviation = estimate.deviation.mapv(|value| value * noisy.gain.abs());
    let (written, warning) = write_image(files, noisy, &image, &deviation)?;
    let comparison = match &files.reference {
        Some(path) => Some(Comparison::new(path, noisy, &image)?),
        None => None,
    };
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
    if watch.stopped() {
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
        let there = deviation.iter().filter(|value| value.is_finite());
        let left = (there.clone().map(|value| value * value).sum::<f64>() / there.count().max(1) as f64).sqrt();
        if cost.out_of_range > 0 || cost.rms > left {
            options.scale = ValueScale::filling(image.view(), sample);
            let scale = options.scale.map_or((1.0, 0.0), |scale| (scale.factor, scale.offset));
            warning = Some(format!(
                "whole numbers would have cost more than the noise that is left ({:.3} against {left:.3}), so values are \
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

/// Reads the image and turns camera units into counts.
fn read_noisy(files: &FileArgs, family: &SharedFamily) -> Result<Noisy, Failure> {
    let options = ReadOptions { axes: files.axes.clone(), ..ReadOptions::default() };
    let file = read(&files.input, &options).map_err(Failure::input)?;
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

/// The pages to learn from.
fn pages(chosen: &[usize], values: &Array4<f64>) -> Result<Array4<f64>, Failure> {
    if chosen.is_empty() {
        return Ok(values.clone());
    }
    let count = values.dim().0;
    match chosen.iter().find(|page| **page == 0 || **page > count) {
        Some(page) => Err(Failure::input(format!("--learn-pages {page}: the image has pages 1 to {count}"))),
        None => Ok(values.select(Axis(0), &chosen.iter().map(|page| page - 1).collect::<Vec<_>>())),
    }
}

fn configured(mut denoiser: Denoiser, learning: &LearnArgs) -> Denoiser {
    denoiser = denoiser.also_seed(learning.seed);
    if let Some((rows, columns)) = learning.patch {
        denoiser = denoiser.patch(rows, columns);
    }
    if let Some(states) = learning.states {
        denoiser = denoiser.states(states);
    }
    if let Some(iterations) = learning.iterations {
        denoiser = denoiser.iterations(iterations);
    }
    denoiser
}

fn parse_family(spec: &str) -> Result<SharedFamily, Failure> {
    family(spec).map_err(|error| Failure::input(format!("--noise {spec}: {error}")))
}

/// The one family of a model that was learned from images.
fn family_of(model: &Model, path: &Path) -> Result<SharedFamily, Failure> {
    let first = model.columns().family(0).clone();
    match model.columns().iter().all(|(_, family, _)| family.spec() == first.spec()) {
        true => Ok(first),
        false => Err(Failure::input(format!(
            "{}: its columns have different families, so it is no model of images; use one that --save-model wrote",
            path.display()
        ))),
    }
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

/// What is wrong with an image, in words about images.
fn describe(error: Error, path: &Path, family: &SharedFamily) -> Failure {
    let hint = match &error {
        Error::OutsideSupport { value, .. }
            if value.fract() != 0.0 && family.support().measure == Measure::Counting =>
        {
            "; counts are whole numbers: if these are camera units, say --gain and --offset"
        }
        Error::OutsideSupport { .. } => "; choose another --noise, or mark such pixels with --missing VALUE",
        _ => "",
    };
    Failure::input(format!("{}: {error}{hint}", path.display()))
}
