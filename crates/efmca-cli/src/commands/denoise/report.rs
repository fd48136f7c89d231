//! The quality of a clean image, and a page to look at.

use std::path::Path;

use efmca::Model;
use efmca::tasks::denoise::Member;
use efmca::tasks::quality::{blur_effect, gmsd, psnr, ssim};
use efmca_io::image_file::{ReadOptions, read};
use efmca_view::{CaptionedPicture, Dictionary, Field, Picture, Report, ReportSection};
use ndarray::{Array3, Array4, Axis, s};
use serde_json::Value;

use super::args::FileArgs;
use super::noisy::Noisy;
use super::residual::Check;
use crate::args::common::PatchSize;
use crate::failure::Failure;
use crate::show::{file_name, largest_first};

/// One of so many pixels may be darker than black, and one brighter than white.
const OUTSIDE: usize = 1000;
/// The causes that are shown, and how many of them in a row: large enough to be recognised.
const CAUSES: usize = 48;
const CAUSES_ACROSS: usize = 12;

/// A clean image to compare with.
pub(super) struct Reference {
    /// The truth in the units of the image.
    truth: Array4<f64>,
    /// The brightest pixel of the truth, which PSNR is relative to.
    peak: f64,
}

impl Reference {
    /// Reads the truth and finds out whether the image can be compared with it. If the noisy file says by what it was
    /// divided and what was added (`efmca corrupt --peak --offset`), so it is with the truth.
    pub(super) fn read(path: Option<&Path>, noisy: &Noisy<'_>) -> Result<Option<Self>, Failure> {
        let Some(path) = path else { return Ok(None) };
        let file = read(path, &ReadOptions::default()).map_err(Failure::input)?;
        if file.values.dim() != noisy.values.dim() {
            let size = |(pages, rows, columns, channels): (usize, usize, usize, usize)| {
                format!("{pages} pages of {rows} x {columns} pixels in {channels} channels")
            };
            return Err(Failure::input(format!(
                "{}: it has {}, and the image has {}; compare images of the same size",
                path.display(),
                size(file.values.dim()),
                size(noisy.values.dim())
            )));
        }
        let note = |name: &str| noisy.file.metadata.note(name).and_then(|note| note.parse::<f64>().ok());
        let (scale, offset) = (note("peak-scale").unwrap_or(1.0), note("mean-offset").unwrap_or(0.0));
        let truth = file.values.mapv(|value| value / scale + offset);
        let peak = truth.iter().copied().filter(|value| !value.is_nan()).fold(0.0, f64::max);
        if !(peak > 0.0 && peak.is_finite()) {
            return Err(Failure::input(format!(
                "{}: its largest value is {peak}, and PSNR needs a positive one; leave out --reference, or give the \
                 clean image",
                path.display()
            )));
        }
        Ok(Some(Self { truth, peak }))
    }
}

/// How near an image is to the truth: over all pages and channels, or the mean over them.
struct Measures {
    psnr: f64,
    ssim: f64,
    gmsd: f64,
}

/// The noisy and the clean image beside the truth.
pub(super) struct Comparison<'a> {
    before: Measures,
    after: Measures,
    /// How blurred the clean image and the truth look.
    blur: [f64; 2],
    reference: &'a Reference,
}

impl<'a> Comparison<'a> {
    /// Measures both images.
    pub(super) fn new(reference: &'a Reference, noisy: &Noisy<'_>, clean: &Array4<f64>) -> Result<Self, Failure> {
        let Reference { truth, peak } = reference;
        let measure = |image: &Array4<f64>| -> Result<Measures, efmca::Error> {
            let (mut similar, mut deviations) = (Vec::new(), Vec::new());
            for (page, truth) in image.outer_iter().zip(truth.outer_iter()) {
                for channel in 0..page.dim().2 {
                    let (page, truth) = (page.slice(s![.., .., channel]), truth.slice(s![.., .., channel]));
                    similar.push(ssim(page, truth, *peak)?);
                    deviations.push(gmsd(page, truth, *peak)?);
                }
            }
            Ok(Measures {
                psnr: psnr(image.view(), truth.view(), *peak)?,
                ssim: mean(&similar),
                gmsd: mean(&deviations),
            })
        };
        let before = measure(&noisy.file.values).map_err(Failure::input)?;
        let after = measure(clean).map_err(Failure::input)?;
        Ok(Self { before, after, blur: [blur_of(clean), blur_of(truth)], reference })
    }

    /// The comparison in one line.
    pub(super) fn line(&self) -> String {
        let Self { before, after, reference, .. } = self;
        format!(
            "PSNR {:.2} -> {:.2} dB (peak {}), SSIM {:.3} -> {:.3}, GMSD {:.3} -> {:.3}",
            before.psnr, after.psnr, reference.peak, before.ssim, after.ssim, before.gmsd, after.gmsd
        )
    }

    /// The comparison for programs.
    pub(super) fn fields(&self) -> [(&'static str, Value); 9] {
        let Self { before, after, blur: [blur, reference_blur], reference } = self;
        [
            ("psnr_before", before.psnr.into()),
            ("psnr_after", after.psnr.into()),
            ("ssim_before", before.ssim.into()),
            ("ssim_after", after.ssim.into()),
            ("gmsd_before", before.gmsd.into()),
            ("gmsd_after", after.gmsd.into()),
            ("blur_after", (*blur).into()),
            ("blur_reference", (*reference_blur).into()),
            ("peak", reference.peak.into()),
        ]
    }
}

/// The mean of numbers; NaN without any.
fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

/// How blurred the pages and channels of an image look, on average.
fn blur_of(image: &Array4<f64>) -> f64 {
    let planes = image.outer_iter().flat_map(|page| {
        (0..page.dim().2).map(|channel| blur_effect(page.slice(s![.., .., channel]))).collect::<Vec<f64>>()
    });
    mean(&planes.filter(|blur| !blur.is_nan()).collect::<Vec<f64>>())
}

/// Texts and causes that a page shows beside the pictures.
pub(super) struct Page<'a> {
    pub(super) settings: Vec<(String, String)>,
    pub(super) member: Option<&'a Member>,
    pub(super) model: Option<&'a Model>,
    pub(super) patch: PatchSize,
}

/// The images that a page shows, in the units of the file, and what is known of them.
pub(super) struct Shown<'a> {
    pub(super) noisy: &'a Noisy<'a>,
    pub(super) clean: &'a Array4<f64>,
    pub(super) deviation: &'a Array4<f64>,
    pub(super) comparison: Option<&'a Comparison<'a>>,
    pub(super) check: &'a Check,
}

impl Page<'_> {
    /// The page.
    pub(super) fn report(&self, files: &FileArgs, shown: &Shown<'_>) -> Result<Report, Failure> {
        let Shown { noisy, clean, deviation, comparison, check } = *shown;
        let mut summary = vec![("image".to_owned(), files.input.display().to_string())];
        summary.extend(self.settings.iter().cloned());
        if let Some(comparison) = comparison {
            summary.push(("quality".to_owned(), comparison.line()));
        }
        let blur = comparison.map_or_else(|| vec![blur_of(clean)], |comparison| comparison.blur.to_vec());
        summary.extend(blur_words(&blur).map(|words| ("blur".to_owned(), words)));
        summary.push(("residual".to_owned(), check.lines(&files.input).join("\n")));
        if let Some(member) = self.member {
            summary.push(("patches learned from".to_owned(), member.patches.to_string()));
        }
        let pages = clean.dim().0;
        // the range of the clean image for all, so that they can be compared
        let (low, high) = shown_range(clean);
        let which = if pages > 1 { format!("page 1 of {pages}, ") } else { String::new() };
        summary.push(("pictures".to_owned(), format!("{which}black {low:.4}, white {high:.4}")));
        let mut comparison_of = vec![
            CaptionedPicture::new("before", picture(&noisy.file.values, low, high)?),
            CaptionedPicture::new("after", picture(clean, low, high)?),
        ];
        if let Some(comparison) = comparison {
            comparison_of.push(CaptionedPicture::new("reference", picture(&comparison.reference.truth, low, high)?));
        }
        let most = deviation.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let caption = format!("posterior standard deviation (white: {most:.3})");
        let uncertainty = CaptionedPicture::new(caption, picture(deviation, 0.0, most)?);
        let mut sections = vec![check.details(&comparison_of)?, check.section(uncertainty)?];
        if let Some(model) = self.model {
            sections.push(causes(model, self.patch)?);
        }
        let sections = sections.into_iter().filter(|section| !section.pictures.is_empty()).collect();
        let curve = self.member.map_or(Vec::new(), |member| member.history.iter().map(|step| step.bound).collect());
        let title = file_name(&files.output);
        Ok(Report { title, summary, comparison: comparison_of, sections, curve, ..Report::default() })
    }
}

/// How blurred the result looks, and the reference if there is one.
fn blur_words(blur: &[f64]) -> Option<String> {
    let scale = "0: sharp, 1: blurred";
    match blur {
        [after, reference] if !after.is_nan() => Some(format!("{after:.2}, reference {reference:.2} ({scale})")),
        [after] if !after.is_nan() => Some(format!("{after:.2} ({scale})")),
        _ => None,
    }
}

/// The values that are black and white: without the few darkest and brightest ones, which would make all others grey.
fn shown_range(clean: &Array4<f64>) -> (f64, f64) {
    let page = clean.index_axis(Axis(0), 0);
    let channels = if page.dim().2 == 3 { 3 } else { 1 };
    let mut values: Vec<f64> =
        page.slice(s![.., .., ..channels]).iter().copied().filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    let out = values.len() / OUTSIDE;
    match (values.get(out), values.len().checked_sub(1 + out).and_then(|at| values.get(at))) {
        (Some(low), Some(high)) => (*low, *high),
        _ => (0.0, 0.0),
    }
}

/// The first page of a stack.
fn picture(stack: &Array4<f64>, low: f64, high: f64) -> Result<Picture, Failure> {
    let page = stack.index_axis(Axis(0), 0);
    match page.dim().2 {
        3 => Picture::colour(page, low, high).map_err(Failure::work),
        _ => Picture::grey(page.slice(s![.., .., 0]), low, high).map_err(Failure::work),
    }
}

/// The means of the causes that are most active; of patches over pages the page in the middle.
fn causes(model: &Model, PatchSize { rows, columns, pages }: PatchSize) -> Result<ReportSection, Failure> {
    let means = model.means();
    let mut order = largest_first(model.pi());
    let total = order.len();
    order.truncate(CAUSES);
    // pixels are page by page and channel by channel; other than three channels cannot be a colour
    let channels = if model.d() == 3 * rows * columns * pages { 3 } else { 1 };
    let first = pages / 2 * (model.d() / pages);
    let fields: Vec<Array3<f64>> = (order.iter())
        .map(|h| {
            let value =
                |(y, x, channel): (usize, usize, usize)| means[[*h, first + (channel * rows + y) * columns + x]];
            Array3::from_shape_fn((rows, columns, channels), value)
        })
        .collect();
    let fields = fields.iter().map(|field| match channels {
        3 => Field::from(field.view()),
        _ => Field::from(field.index_axis(Axis(2), 0)),
    });
    let priors = order.iter().map(|h| model.pi()[*h]);
    let drawing = Dictionary::means("", fields).priors(priors).columns(CAUSES_ACROSS).draw();
    let picture = drawing.and_then(|drawing| drawing.to_picture(1)).map_err(Failure::work)?;
    let which = if total > order.len() { format!("the {} most active of {total}", order.len()) } else { "all".into() };
    let page = if pages == 1 { String::new() } else { format!(", page {} of {pages} of a patch", pages / 2 + 1) };
    let caption = format!("the means of the causes ({which}{page}), each in its own range");
    let pictures = vec![CaptionedPicture::new(caption, picture)];
    Ok(ReportSection { heading: "Learned causes".into(), pictures, ..ReportSection::default() })
}
