//! The files that cleaning an image leaves, and the lines about them.

use efmca::family::SharedFamily;
use efmca::tasks::denoise::Estimate;
use efmca_io::image_file::{Format, ValueScale, WriteOptions, Written, default_sample, rounding_cost, write};
use ndarray::Array4;

use super::args::FileArgs;
use super::noisy::Noisy;
use super::report::{Comparison, Page, Reference, Shown};
use super::residual::Check;
use crate::failure::Failure;
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::Screen;

/// The results of cleaning an image.
pub(super) struct Results<'a> {
    pub(super) files: &'a FileArgs,
    pub(super) noisy: &'a Noisy<'a>,
    pub(super) reference: Option<&'a Reference>,
    pub(super) page: Page<'a>,
    /// The noise that was assumed.
    pub(super) family: &'a SharedFamily,
    /// Whether the user stopped the work.
    pub(super) interrupted: bool,
}

impl Results<'_> {
    /// Writes all that was asked for, and says so; `rescue` knows of files that were written before.
    pub(super) fn write(&self, estimate: &Estimate, watch: &Watch, mut rescue: Rescue) -> Result<(), Failure> {
        let (files, noisy) = (self.files, self.noisy);
        let mut screen = Screen::beside_files();
        let image = noisy.in_camera_units(&estimate.mean);
        let deviation = noisy.differences_in_camera_units(&estimate.deviation);
        let (written, warning) = self.write_image(&image, &deviation, &mut rescue)?;
        let check = Check::new(self.family, noisy, estimate)?;
        let comparison = self.reference.map(|reference| Comparison::new(reference, noisy, &image)).transpose()?;
        if let Some(path) = &files.uncertainty {
            let like = Some(&noisy.file.metadata);
            let integers = Format::of_output(path).ok().filter(|format| !format.holds_floats());
            let scale = integers.and_then(|format| ValueScale::filling(deviation.view(), default_sample(format, like)));
            let options = WriteOptions { dtype: None, scale, ..noisy.write_options() };
            rescue.write(path, |path| write(path, deviation.view(), &options));
        }
        if let Some(path) = &files.outputs.report {
            let shown =
                Shown { noisy, clean: &image, deviation: &deviation, comparison: comparison.as_ref(), check: &check };
            let page = self.page.report(files, &shown)?;
            rescue.write(path, |path| page.write(path, files.outputs.force.force));
        }
        rescue.finish()?;
        let Some(written) = written else { return Ok(()) };
        screen.notes(&files.input, noisy.file.remarks.iter().chain(&noisy.remarks))?;
        screen.notes(&written.path, warning.iter().chain(&written.remarks))?;
        if self.interrupted {
            screen.say("stopped early: this is the result so far")?;
        }
        if let Some(comparison) = &comparison {
            screen.say(&comparison.line())?;
            watch.event("quality", &comparison.fields());
        }
        check.lines(&files.input).iter().try_for_each(|line| screen.say(line))?;
        watch.event("residual", &check.fields());
        let mut line = format!("wrote {} ({})", written.path.display(), written.sample);
        for path in [&files.uncertainty, &files.outputs.report].into_iter().flatten() {
            line += &format!(", {}", path.display());
        }
        screen.say(&line)?;
        watch.event("written", &[("path", written.path.display().to_string().into())]);
        Ok(())
    }

    /// Writes the image in a type that keeps it, and says what that cost.
    fn write_image(
        &self,
        image: &Array4<f64>,
        deviation: &Array4<f64>,
        rescue: &mut Rescue,
    ) -> Result<(Option<Written>, Option<String>), Failure> {
        let path = &self.files.output;
        let mut options = self.noisy.write_options();
        let format = Format::of_output(path).map_err(Failure::input)?;
        let sample = options.dtype.unwrap_or_else(|| default_sample(format, options.like));
        let mut warning = None;
        if !sample.is_float() {
            let cost = rounding_cost(image.view(), sample, None);
            let present = deviation.iter().filter(|value| value.is_finite());
            let left = (present.clone().map(|value| value * value).sum::<f64>() / present.count().max(1) as f64).sqrt();
            if cost.out_of_range > 0 || cost.rms > left {
                options.scale = ValueScale::filling(image.view(), sample);
                let (factor, offset) = options.scale.map_or((1.0, 0.0), |scale| (scale.factor, scale.offset));
                warning = Some(format!(
                    "integers would have cost more than the noise that is left ({:.3} against {left:.3}), so values \
                     are stored as {factor} * value + {offset}; a float format (.tif, .npy, .fits) or --dtype keeps \
                     them as they are",
                    cost.rms
                ));
            }
        }
        let written = rescue.write(path, |path| write(path, image.view(), &options));
        Ok((written, warning))
    }
}
