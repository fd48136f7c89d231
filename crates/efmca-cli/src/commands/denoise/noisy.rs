//! The noisy image in the units of its noise.

use std::path::Path;

use efmca::family::{Measure, SharedFamily};
use efmca_io::image_file::{ImageFile, ReadOptions, WriteOptions, check_holds, read, read_mask};
use ndarray::{Array4, s};

use super::args::FileArgs;
use crate::args::common::mark_missing;
use crate::errors::Origin;
use crate::failure::Failure;

/// The noisy image in the units of its noise.
pub(super) struct Noisy<'a> {
    pub(super) files: &'a FileArgs,
    pub(super) file: ImageFile,
    /// Counts, where gain and offset are given; NaN where a pixel is missing.
    pub(super) values: Array4<f64>,
    /// Changes of the values that the user should know about.
    pub(super) remarks: Vec<String>,
    /// Whether the noise counts something.
    counts: bool,
}

impl<'a> Noisy<'a> {
    /// Reads an image.
    pub(super) fn read(files: &'a FileArgs) -> Result<ImageFile, Failure> {
        read(&files.input, &files.image.options()).map_err(Failure::input)
    }

    /// Marks missing pixels and turns camera units into counts.
    pub(super) fn new(files: &'a FileArgs, file: ImageFile, family: &SharedFamily) -> Self {
        let mut values = file.values.clone();
        mark_missing(&mut values, files.image.missing);
        let (mut remarks, support) = (Vec::new(), family.support());
        let counts = support.measure == Measure::Counting;
        if files.gain.is_some() || files.offset.is_some() {
            let (gain, offset) = (files.gain.unwrap_or(1.0), files.offset.unwrap_or(0.0));
            values.mapv_inplace(|value| (value - offset) / gain);
            if counts {
                let below = values.iter().filter(|value| value.round() < support.low).count();
                values.mapv_inplace(|value| if value.is_nan() { value } else { value.round().max(support.low) });
                remarks.push(format!("values were turned into counts by rounding (value - {offset}) / {gain}"));
                if below > 0 {
                    remarks.push(format!("{below} pixels below the offset became {}", support.low));
                }
            }
        }
        Self { files, file, values, remarks, counts }
    }

    /// Marks the pixels of a mask as missing.
    pub(super) fn cover(&mut self, mask: &Path) -> Result<(), Failure> {
        let (pages, rows, columns, _) = self.values.dim();
        let mask = read_mask(mask, (pages, rows, columns), &ReadOptions::default()).map_err(Failure::input)?;
        for ((page, row, column), _) in mask.indexed_iter().filter(|(_, missing)| **missing) {
            self.values.slice_mut(s![page, row, column, ..]).fill(f64::NAN);
        }
        Ok(())
    }

    pub(super) fn missing(&self) -> usize {
        self.values.iter().filter(|value| value.is_nan()).count()
    }

    /// Finds out whether the format of the result has a place for it.
    pub(super) fn check_result(&self) -> Result<(), Failure> {
        check_holds(&self.files.output, self.values.dim(), &self.write_options()).map_err(Failure::input)
    }

    /// How the result is written: like the noisy image.
    pub(super) fn write_options(&self) -> WriteOptions<'_> {
        WriteOptions {
            dtype: self.files.dtype,
            like: Some(&self.file.metadata),
            notes: Vec::new(),
            scale: None,
            force: self.files.outputs.force.force,
        }
    }

    /// Values in the units of the file.
    pub(super) fn in_camera_units(&self, values: &Array4<f64>) -> Array4<f64> {
        let (gain, offset) = (self.files.gain.unwrap_or(1.0), self.files.offset.unwrap_or(0.0));
        values.mapv(|value| value * gain + offset)
    }

    /// Differences of values in the units of the file.
    pub(super) fn differences_in_camera_units(&self, values: &Array4<f64>) -> Array4<f64> {
        values.mapv(|value| value * self.files.gain.unwrap_or(1.0))
    }

    /// The image, for errors about its pixels.
    pub(super) fn origin(&self) -> Origin<'a> {
        Origin::Image { path: &self.files.input, counts: self.counts }
    }
}
