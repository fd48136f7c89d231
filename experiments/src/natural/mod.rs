//! Features of natural images (Sec. 7.2.1 and appendix C.2): means and standard deviations of patches, and what the
//! means look like: Gabor functions, globular fields, or neither.
//!
//! A field is a picture of one cause, p x p. Two forms are fitted to it by least squares, without any random numbers: a
//! Gabor function ([`gabor`]) and a globular field ([`globular`]). [`shape`] tells from the two fits what the field is,
//! and [`summary`] counts over many fields.
//!
//! The column is x and the row is y, both in pixels from the middle of the first pixel, so angles run from the x axis
//! towards the rows below.

mod course;
mod field;
mod gabor;
mod globular;
mod learning;
mod least_squares;
#[cfg(test)]
mod planted;
mod priors;
mod report;
mod shape;
mod summary;
mod waves;

use std::path::{Path, PathBuf};

use clap::Args;
use efmca_view::Gallery;
use ndarray::Array2;
use rayon::prelude::*;
use serde::Serialize;

use crate::output::{Done, say, write};
use shape::{Kind, Shape};
use summary::Summary;

/// A cause that is used is active in more patches than this: the smallest prior that training allows is one of 100,000 patches.
const IN_USE: f64 = 1.5;

/// The options of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// A folder with images of natural scenes; all files of it that are images are used.
    #[arg(long)]
    images: PathBuf,
    /// The paper's size: 100,000 patches of 20 x 20 pixels and 1,000 causes; the options below change single settings.
    #[arg(long)]
    full: bool,
    /// Rows and columns of a patch (default: 12, or 20 with --full).
    #[arg(long)]
    patch: Option<usize>,
    /// Patches (default: 50,000, or 100,000 with --full).
    #[arg(long)]
    patches: Option<usize>,
    /// Causes (default: 200, or 1,000 with --full).
    #[arg(long = "components")]
    causes: Option<usize>,
    /// EM iterations (default: 60, or 500 with --full).
    #[arg(long)]
    iterations: Option<usize>,
    /// States of a patch.
    #[arg(long, default_value_t = 60)]
    states: usize,
    /// The share of the variance that is whitened.
    #[arg(long, default_value_t = 0.95)]
    share: f64,
    /// Takes the intensities as they are instead of their logarithms.
    #[arg(long)]
    linear: bool,
    /// The paper's start of the priors, from 0.1 to 0.5.
    #[arg(long)]
    paper_priors: bool,
    /// Rows of average data that are added to every cause, as a share of all rows.
    #[arg(long, default_value_t = 5e-4)]
    pseudo_rows: f64,
    /// The same number gives the same fields.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Ends after this many EM steps, for their time alone: no shapes and no pictures.
    #[arg(long)]
    steps: Option<usize>,
    /// Keeps the training in this folder: the same command goes on from there, and gives the same bits.
    #[arg(long)]
    keep: Option<PathBuf>,
}

impl Settings {
    fn size(&self) -> Size {
        let or =
            |asked: Option<usize>, full: usize, small: usize| asked.unwrap_or(if self.full { full } else { small });
        Size {
            patch: or(self.patch, 20, 12),
            patches: or(self.patches, 100_000, 50_000),
            causes: or(self.causes, 1000, 200),
            iterations: or(self.iterations, 500, 60),
        }
    }

    fn name(&self) -> &'static str {
        if self.full { "natural-full" } else { "natural" }
    }
}

/// The size of a run.
#[derive(Debug, Clone, Copy, Serialize)]
struct Size {
    patch: usize,
    patches: usize,
    #[serde(rename = "components")]
    causes: usize,
    iterations: usize,
}

/// The time and memory of a run.
#[derive(Debug, Clone, Serialize)]
struct Times {
    /// CPU seconds of reading, drawing and whitening, and of the first EM step with all that comes before it.
    patches: f64,
    first: f64,
    /// CPU and wall seconds of an EM step, the middle one.
    step_cpu: f64,
    step_wall: f64,
    /// All CPU seconds.
    cpu: f64,
    megabytes: f64,
}

/// The results of a run.
#[derive(Debug, Clone, Serialize)]
struct Found {
    size: Size,
    images: usize,
    times: Times,
    /// Causes that are used by a patch at least.
    used: usize,
    /// The bound a patch after training, and the mean number of active causes in the best state.
    bound: f64,
    active: f64,
    /// Of the standard deviations of each cause (over its pixels, and of its median over causes): are they one
    /// constant?
    spread_within: f64,
    spread_between: f64,
    /// All fields, and those of causes that are used.
    summary: Option<Summary>,
    of_used: Option<Summary>,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let learned = learning::learned(settings)?;
    let fit = &learned.fit;
    let size = settings.size();
    let used: Vec<bool> = fit.model.pi().iter().map(|pi| *pi * fit.weight > IN_USE).collect();
    let (within, between) = spreads(&fit.model.spreads().unwrap_or_default());
    let mut found = Found {
        size,
        images: learned.images,
        used: used.iter().filter(|used| **used).count(),
        times: learned.times.clone(),
        bound: fit.bound / fit.weight,
        active: learned.active(),
        spread_within: within,
        spread_between: between,
        summary: None,
        of_used: None,
    };
    let name = settings.name();
    if settings.steps.is_none() {
        let gallery = Gallery::new(fit, &*learned.rows, Some([size.patch, size.patch, 1]));
        let means = fit.model.means();
        // all of them: causes that are not used count as neither
        let fields: Vec<Array2<f64>> = (0..fit.model.h())
            .map(|h| Array2::from_shape_fn((size.patch, size.patch), |(y, x)| means[[h, y * size.patch + x]]))
            .collect();
        let shapes: Vec<Shape> = fields.par_iter().map(|field| Shape::of(field.view())).collect();
        let gabors = shapes.iter().filter(|shape| shape.kind == Kind::Gabor).count();
        say(&format!("{gabors} of {} fields are Gabor functions", shapes.len()));
        found.summary = Some(Summary::of(&shapes));
        let of_used: Vec<Shape> =
            shapes.iter().zip(&used).filter(|(_, used)| **used).map(|(shape, _)| *shape).collect();
        found.of_used = Some(Summary::of(&of_used));
        write(
            out,
            &format!("{name}-priors.png"),
            &priors::drawing(fit.model.pi().as_slice().unwrap_or(&[]))?.to_png(1)?,
        )?;
        for (file, _, drawing) in gallery.drawings(&mut say)? {
            write(out, &format!("{name}-{file}.png"), &drawing.to_png(1)?)?;
        }
    }
    write(out, &format!("{name}.md"), report::markdown(settings, &found).as_bytes())?;
    write(out, &format!("{name}.json"), &serde_json::to_vec_pretty(&found)?)
}

/// How much standard deviations differ: within a cause (the middle ratio of its largest tenth to its smallest tenth),
/// and between causes (the same of their medians).
fn spreads(spreads: &Array2<f64>) -> (f64, f64) {
    let quantile = |values: &mut Vec<f64>, share: f64| {
        values.sort_by(f64::total_cmp);
        values.get(((values.len().max(1) - 1) as f64 * share) as usize).copied().unwrap_or(f64::NAN)
    };
    let ratio = |mut values: Vec<f64>| quantile(&mut values, 0.9) / quantile(&mut values, 0.1);
    let mut within: Vec<f64> = spreads.rows().into_iter().map(|row| ratio(row.to_vec())).collect();
    let medians: Vec<f64> = spreads.rows().into_iter().map(|row| quantile(&mut row.to_vec(), 0.5)).collect();
    (quantile(&mut within, 0.5), ratio(medians))
}
