//! The quality of a clean image, and a page to look at.

use std::path::Path;

use efmca::Model;
use efmca::tasks::denoise::Member;
use efmca::tasks::quality::{psnr, ssim};
use efmca_io::image_file::{ReadOptions, read};
use efmca_view::{CaptionedPicture, Dictionary, Field, Picture, Report, common_range};
use ndarray::{Array2, Array4, Axis, s};
use serde_json::Value;

use super::args::FileArgs;
use super::noisy::Noisy;
use crate::args::common::PatchSize;
use crate::failure::Failure;
use crate::show::{file_name, largest_first};

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

/// The noisy and the clean image beside the truth.
pub(super) struct Comparison<'a> {
    /// PSNR and SSIM before and after.
    psnr: [f64; 2],
    ssim: [f64; 2],
    reference: &'a Reference,
}

impl<'a> Comparison<'a> {
    /// Measures both images.
    pub(super) fn new(reference: &'a Reference, noisy: &Noisy<'_>, clean: &Array4<f64>) -> Result<Self, Failure> {
        let Reference { truth, peak } = reference;
        let both = |image: &Array4<f64>| -> Result<(f64, f64), efmca::Error> {
            let mut similar = Vec::new();
            for (page, truth) in image.outer_iter().zip(truth.outer_iter()) {
                for channel in 0..page.dim().2 {
                    similar.push(ssim(page.slice(s![.., .., channel]), truth.slice(s![.., .., channel]), *peak)?);
                }
            }
            Ok((psnr(image.view(), truth.view(), *peak)?, similar.iter().sum::<f64>() / similar.len().max(1) as f64))
        };
        let before = both(&noisy.file.values).map_err(Failure::input)?;
        let after = both(clean).map_err(Failure::input)?;
        Ok(Self { psnr: [before.0, after.0], ssim: [before.1, after.1], reference })
    }

    /// The comparison in one line.
    pub(super) fn line(&self) -> String {
        format!(
            "PSNR {:.2} -> {:.2} dB (peak {}), SSIM {:.3} -> {:.3}",
            self.psnr[0], self.psnr[1], self.reference.peak, self.ssim[0], self.ssim[1]
        )
    }

    /// The comparison for programs.
    pub(super) fn fields(&self) -> [(&'static str, Value); 5] {
        [
            ("psnr_before", self.psnr[0].into()),
            ("psnr_after", self.psnr[1].into()),
            ("ssim_before", self.ssim[0].into()),
            ("ssim_after", self.ssim[1].into()),
            ("peak", self.reference.peak.into()),
        ]
    }
}

/// Texts and causes that a page shows beside the pictures.
pub(super) struct Page<'a> {
    pub(super) settings: Vec<(String, String)>,
    pub(super) member: Option<&'a Member>,
    pub(super) model: Option<&'a Model>,
    pub(super) patch: PatchSize,
}

impl Page<'_> {
    /// Writes the page.
    pub(super) fn write(
        &self,
        path: &Path,
        files: &FileArgs,
        noisy: &Noisy<'_>,
        clean: &Array4<f64>,
        deviation: &Array4<f64>,
        comparison: Option<&Comparison<'_>>,
    ) -> Result<(), Failure> {
        let mut summary = vec![("image".to_owned(), files.input.display().to_string())];
        summary.extend(self.settings.iter().cloned());
        if let Some(comparison) = comparison {
            summary.push(("quality".to_owned(), comparison.line()));
        }
        if let Some(member) = self.member {
            summary.push(("patches learned from".to_owned(), member.patches.to_string()));
        }
        // the range of the clean image for all, so that they can be compared
        let first = clean.slice(s![0, .., .., 0]);
        let (low, high) = common_range(&[first]);
        let mut pictures = vec![
            CaptionedPicture::new("before", picture(&noisy.file.values, low, high)?),
            CaptionedPicture::new("after", picture(clean, low, high)?),
        ];
        if let Some(comparison) = comparison {
            pictures.push(CaptionedPicture::new("reference", picture(&comparison.reference.truth, low, high)?));
        }
        let most = deviation.iter().copied().filter(|value| value.is_finite()).fold(0.0, f64::max);
        let caption = format!("posterior standard deviation (white: {most:.3})");
        pictures.push(CaptionedPicture::new(caption, picture(deviation, 0.0, most)?));
        let causes = self.model.map(|model| causes(model, self.patch)).transpose()?;
        let curve = self.member.map_or(Vec::new(), |member| member.history.iter().map(|step| step.bound).collect());
        Report { title: file_name(&files.output), summary, pictures, causes, curve, ..Report::default() }
            .write(path, files.outputs.force.force)
            .map_err(Failure::work)
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

/// The means of the causes, the most active first; of patches over pages the page in the middle.
fn causes(model: &Model, PatchSize { rows, columns, pages }: PatchSize) -> Result<CaptionedPicture, Failure> {
    let means = model.means();
    let order = largest_first(model.pi());
    let first = pages / 2 * (model.d() / pages);
    let fields: Vec<Array2<f64>> = (order.iter())
        .map(|h| Array2::from_shape_fn((rows, columns), |(y, x)| means[[*h, first + y * columns + x]]))
        .collect();
    let fields = fields.iter().map(|field| Field::from(field.view()));
    let drawing = Dictionary::means("", fields).priors(order.iter().map(|h| model.pi()[*h])).draw();
    let picture = drawing.and_then(|drawing| drawing.to_picture(1)).map_err(Failure::work)?;
    let page = if pages == 1 { String::new() } else { format!(" (page {} of {pages} of a patch)", pages / 2 + 1) };
    Ok(CaptionedPicture::new(format!("the means of the causes{page}, each in its own range"), picture))
}
