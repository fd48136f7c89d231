//! The data points of `efmca learn`: patches of images, or rows of a file.

use std::path::{Path, PathBuf};

use efmca::model::Data;
use efmca::tasks::learn::{Drawing, Preparation, PreparationError, PreparedRows, Transform, Whitening};
use efmca_io::FileRows;
use efmca_io::image_file::{SampleType, read};
use ndarray::{Array3, Axis};

use super::args::LearnArgs;
use super::settings::DataSettings;
use crate::args::common::mark_missing;
use crate::errors::{Origin, refused};
use crate::failure::Failure;

/// The side of a patch where nothing else is said.
const PATCH: usize = 12;

/// Data points that were made of the input.
pub(super) struct Points {
    pub(super) data: Box<dyn Data + Send>,
    /// Rows, columns and channels of a patch.
    pub(super) patch: Option<[usize; 3]>,
    pub(super) whitening: Option<Whitening>,
    pub(super) remarks: Vec<String>,
    pub(super) settings: DataSettings,
    /// A few words about them for people.
    pub(super) words: String,
}

/// A plan for making data points, with nothing wrong about it before a file is read.
pub(super) struct Input<'a> {
    args: &'a LearnArgs,
    preparation: Preparation,
    source: Source<'a>,
}

/// The origin of data points.
enum Source<'a> {
    /// The rows of a file.
    Rows(&'a Path),
    /// Patches of all images.
    Patches(Drawing),
}

impl<'a> Input<'a> {
    /// Finds out what cannot be done before images are read, which can take long.
    pub(super) fn new(args: &'a LearnArgs) -> Result<Self, Failure> {
        let (given, family) = (&args.data, &*args.learning.family);
        let usual = Preparation::of(family);
        let preparation = Preparation {
            transform: given.transform,
            normalise: given.normalise,
            whiten: given.whiten.map_or(usual.whiten, |share| share.0),
        };
        preparation.check(family).map_err(|error| refused(&error))?;
        let source = if given.rows {
            let [path] = args.inputs.as_slice() else {
                return Err(Failure::input("--rows: give one NPY file; numpy.concatenate joins several"));
            };
            if preparation.transform != Transform::None || preparation.normalise || given.image.missing.is_some() {
                return Err(Failure::input(
                    "--rows: rows are taken as they are; leave --transform, --normalise and --missing out (NaN marks \
                     missing values)",
                ));
            }
            Source::Rows(path)
        } else {
            let patch = given.patch.unwrap_or((PATCH, PATCH));
            let drawing = Drawing { patch, count: given.patches, seed: args.learning.seed.seed };
            drawing.check().map_err(|error| refused(&error))?;
            Source::Patches(drawing)
        };
        Ok(Self { args, preparation, source })
    }

    /// The data that errors of training are about.
    pub(super) fn origin(&self) -> Origin<'a> {
        match self.source {
            Source::Rows(path) => Origin::Rows(path),
            Source::Patches(Drawing { patch, .. }) => Origin::Patches { path: None, size: patch },
        }
    }

    pub(super) fn read(&self) -> Result<Points, Failure> {
        match self.source {
            Source::Rows(path) => self.rows(path),
            Source::Patches(drawing) => self.patches(drawing),
        }
    }

    fn rows(&self, path: &Path) -> Result<Points, Failure> {
        let rows = FileRows::open(path).map_err(Failure::input)?;
        let (n, d) = (rows.n(), rows.d());
        let patch = match self.args.data.patch {
            None => None,
            Some((rows, columns)) => {
                let size = rows.checked_mul(columns).filter(|size| d.is_multiple_of(*size));
                let size = size.ok_or_else(|| {
                    Failure::input(format!(
                        "{}: its rows have {d} values, which cannot be patches of {rows} x {columns} pixels; correct \
                         --patch, or leave it out",
                        path.display(),
                    ))
                })?;
                Some([rows, columns, d / size])
            }
        };
        let prepared = self.preparation.rows(rows).map_err(|error| self.unprepared(&error))?;
        let PreparedRows { data, whitening, .. } = prepared;
        let settings = DataSettings::of_rows(patch, self.preparation);
        let words = format!("{n} rows of {d} values");
        Ok(Points { data, patch, whitening, remarks: Vec::new(), settings, words })
    }

    fn patches(&self, drawing: Drawing) -> Result<Points, Failure> {
        let (images, mut remarks) = self.images(drawing.patch)?;
        let count = images.len();
        let (rows, columns) = drawing.patch;
        let prepared = self.preparation.patches(images, drawing).map_err(|error| self.unprepared(&error))?;
        let PreparedRows { data, whitening, incomplete } = prepared;
        let (drawn, asked) = (data.n(), drawing.count);
        if incomplete > 0 {
            remarks.push(format!("patches with missing pixels were left out: {incomplete}"));
        }
        if drawn < asked {
            remarks.push(format!("there are fewer patches than the {asked} asked for: {drawn}"));
        }
        let channels = data.d() / (rows * columns);
        let many = if count == 1 { "1 image".to_owned() } else { format!("{count} images") };
        let colour = if channels == 1 { String::new() } else { format!(" in {channels} channels") };
        let words = format!("{drawn} patches of {rows} x {columns} pixels{colour} from {many}");
        let settings = DataSettings::of_patches(drawing, channels, self.preparation);
        Ok(Points { data, patch: settings.patch, whitening, remarks, settings, words })
    }

    /// The problem with rows or patches that cannot be whitened.
    fn unprepared(&self, error: &PreparationError) -> Failure {
        match (error, &self.source) {
            (PreparationError::Other(error), _) => self.origin().describe(error),
            (error, Source::Rows(path)) => Failure::input(format!("{}: {error} (--whiten none)", path.display())),
            (error, Source::Patches(_)) => Failure::input(format!("{error} (--whiten none)")),
        }
    }

    /// All pages of all files by row, column and channel, and remarks for the user.
    fn images(&self, patch: (usize, usize)) -> Result<(Vec<Array3<f64>>, Vec<String>), Failure> {
        let given = &self.args.data;
        let options = given.image.options();
        let (mut pages, mut remarks) = (Vec::new(), Vec::new());
        let mut first = None;
        for path in &self.args.inputs {
            let file = read(path, &options).map_err(Failure::input)?;
            remarks.extend(file.remarks.iter().map(|remark| format!("{}: {remark}", path.display())));
            let (_, rows, columns, channels) = file.values.dim();
            if patch.0 > rows || patch.1 > columns {
                return Err(Failure::input(format!(
                    "{}: it has {rows} x {columns} pixels, which is less than a patch of {} x {}; choose --patch {} or \
                     smaller, or leave this image out",
                    path.display(),
                    patch.0,
                    patch.1,
                    rows.min(columns)
                )));
            }
            let kind = Kind { path, sample: file.metadata.sample, channels };
            kind.check_beside(first.get_or_insert(kind), given.normalise)?;
            let mut values = file.values;
            mark_missing(&mut values, given.image.missing);
            let many = values.dim().0 > 1;
            for (page, number) in values.axis_iter(Axis(0)).zip(1..) {
                let prepared = self.preparation.image(page.to_owned(), pages.len() + 1, &*self.args.learning.family);
                pages.push(prepared.map_err(|error| {
                    let page = if many { format!(", page {number}") } else { String::new() };
                    Failure::input(format!("{}{page}: {}", path.display(), self.pixel_problem(&error)))
                })?);
            }
        }
        Ok((pages, remarks))
    }

    /// The problem with an image, in terms of options.
    fn pixel_problem(&self, error: &PreparationError) -> String {
        let Preparation { transform, normalise, .. } = self.preparation;
        match error {
            PreparationError::NotFinite { pixel, value } => format!(
                "the pixel in row {}, column {} is {value}, and values must be finite; mark such pixels with --missing \
                 {value}",
                pixel.row, pixel.column
            ),
            PreparationError::NoMean { mean, .. } => {
                format!("the mean of its values is {mean}, so it cannot be divided by it; leave --normalise out")
            }
            PreparationError::NoLogarithm { pixel, value } => format!(
                "the pixel in row {}, column {} is {value}, which has no logarithm; mark such pixels with --missing \
                 VALUE, or leave --transform log out",
                pixel.row, pixel.column
            ),
            PreparationError::OutsideSupport { pixel, value, family, support } => {
                let (done, hint) = match (transform, normalise) {
                    (Transform::Log, _) => (" after --transform log", "leave --transform out"),
                    (Transform::None, true) => (" after --normalise", "leave --normalise out"),
                    (Transform::None, false) => ("", "mark such pixels with --missing VALUE"),
                };
                format!(
                    "the pixel in row {}, column {} is {value}{done}, and `{family}` is for {support}; choose another \
                     --family, or {hint}",
                    pixel.row, pixel.column
                )
            }
            other => other.to_string(),
        }
    }
}

/// The properties of an image file in which all of them must agree.
#[derive(Clone, Copy)]
struct Kind<'a> {
    path: &'a PathBuf,
    sample: SampleType,
    channels: usize,
}

impl Kind<'_> {
    fn check_beside(&self, first: &Kind<'_>, normalise: bool) -> Result<(), Failure> {
        let (path, other) = (self.path.display(), first.path.display());
        if self.channels != first.channels {
            return Err(Failure::input(format!(
                "{path}: the number of its channels is {}, and that of {other} is {}; learn from colour and grey \
                 images separately",
                self.channels, first.channels
            )));
        }
        if self.sample != first.sample && !normalise {
            return Err(Failure::input(format!(
                "{path}: its values are of type {}, and those of {other} of {}, which have other ranges; --normalise \
                 divides each image by its mean",
                self.sample, first.sample
            )));
        }
        Ok(())
    }
}
