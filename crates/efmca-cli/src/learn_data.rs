//! The data points of `efmca learn`: patches of images, or rows of a file.

mod located;
mod settings;

use std::path::{Path, PathBuf};

use efmca::family::SharedFamily;
use efmca::model::Data;
use efmca::tasks::learn::{Drawing, Preparation, PreparationError, PreparedRows, Transform, Whitening};
use efmca_io::MappedRows;
use efmca_io::image_file::{ReadOptions, SampleType, read};
use ndarray::{Array3, Axis};

use crate::failure::Failure;
use crate::learn_args::{FeatureArgs, refused};
pub(crate) use located::Origin;
use located::in_rows;
pub(crate) use settings::DataSettings;

/// The side of a patch where nothing else is said.
const PATCH: usize = 12;

/// Data points that were made of the input.
pub(crate) struct Points {
    pub(crate) data: Box<dyn Data + Send>,
    /// Rows, columns and channels of a patch.
    pub(crate) patch: Option<[usize; 3]>,
    pub(crate) whitening: Option<Whitening>,
    pub(crate) remarks: Vec<String>,
    pub(crate) settings: DataSettings,
    /// A few words about them for people.
    pub(crate) words: String,
}

/// A plan for making data points, with nothing wrong about it before a file is read.
pub(crate) struct Input<'a> {
    args: &'a FeatureArgs,
    family: &'a SharedFamily,
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
    pub(crate) fn new(args: &'a FeatureArgs, family: &'a SharedFamily) -> Result<Self, Failure> {
        let given = &args.data;
        let usual = Preparation::of(&**family);
        let preparation = Preparation {
            transform: given.transform.into(),
            normalise: given.normalise,
            whiten: given.whiten.map_or(usual.whiten, |share| share.0),
        };
        preparation.check(&**family).map_err(|error| refused(&error))?;
        let source = if given.rows {
            let [path] = args.inputs.as_slice() else {
                return Err(Failure::input("--rows: give one NPY file; numpy.concatenate joins several"));
            };
            if preparation.transform != Transform::None || preparation.normalise || given.missing.is_some() {
                return Err(Failure::input(
                    "--rows: rows are taken as they are; leave --transform, --normalise and --missing out (NaN marks \
                     missing values)",
                ));
            }
            Source::Rows(path)
        } else {
            let patch = given.patch.unwrap_or((PATCH, PATCH));
            let drawing = Drawing { patch, count: given.patches, seed: args.learning.seed };
            drawing.check().map_err(|error| refused(&error))?;
            Source::Patches(drawing)
        };
        Ok(Self { args, family, preparation, source })
    }

    /// The data that errors of training are about.
    pub(crate) fn origin(&self) -> Origin<'a> {
        match self.source {
            Source::Rows(path) => Origin::Rows(path),
            Source::Patches(Drawing { patch: (rows, columns), .. }) => Origin::Patches(rows, columns),
        }
    }

    pub(crate) fn read(&self) -> Result<Points, Failure> {
        match self.source {
            Source::Rows(path) => self.rows(path),
            Source::Patches(drawing) => self.patches(drawing),
        }
    }

    fn rows(&self, path: &Path) -> Result<Points, Failure> {
        let mapped = MappedRows::open(path).map_err(Failure::input)?;
        let (n, d) = (mapped.n(), mapped.d());
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
        let PreparedRows { data, whitening, .. } = self.preparation.rows(mapped).map_err(|error| {
            let problem = match &error {
                PreparationError::TooFewRows { .. } => {
                    "there is only one row, and whitening needs two at least; give more rows, or say --whiten none"
                        .to_owned()
                }
                PreparationError::MissingValue { row, column } => format!(
                    "row {row}, column {column}: the value is missing, and rows with missing values cannot be whitened; \
                     leave those rows out, or say --whiten none"
                ),
                PreparationError::NoVariance => "the rows cannot be whitened: all of them are the same, or their values \
                                                 are too large; give other rows, or say --whiten none"
                    .to_owned(),
                PreparationError::Other(error) => in_rows(error),
                other => other.to_string(),
            };
            Failure::input(format!("{}: {problem}", path.display()))
        })?;
        let settings = DataSettings::of_rows(patch, self.preparation);
        let words = format!("{n} rows of {d} values");
        Ok(Points { data, patch, whitening, remarks: Vec::new(), settings, words })
    }

    fn patches(&self, drawing: Drawing) -> Result<Points, Failure> {
        let (images, mut remarks) = self.images(drawing.patch)?;
        let count = images.len();
        let (rows, columns) = drawing.patch;
        let prepared = self.preparation.patches(images, drawing).map_err(|error| match &error {
            PreparationError::NoCompletePatch { .. } => Failure::input(format!(
                "all patches of {rows} x {columns} pixels have missing pixels, and such patches cannot be whitened; \
                 choose a smaller --patch, or learn from them with --whiten none"
            )),
            PreparationError::TooFewRows { .. } => Failure::input(format!(
                "there is only one patch of {rows} x {columns} pixels, and whitening needs two at least; choose a \
                 smaller --patch, more --patches or more images, or say --whiten none"
            )),
            PreparationError::NoVariance => Failure::input(
                "the patches cannot be whitened: they are all the same, or their values are too large; give other images",
            ),
            other => Failure::input(other),
        })?;
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

    /// All pages of all files by row, column and channel, and remarks for the user.
    fn images(&self, patch: (usize, usize)) -> Result<(Vec<Array3<f64>>, Vec<String>), Failure> {
        let given = &self.args.data;
        let options = ReadOptions { axes: given.axes.clone(), ..ReadOptions::default() };
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
            if let Some(missing) = given.missing {
                values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
            }
            let many = values.dim().0 > 1;
            for (page, number) in values.axis_iter(Axis(0)).zip(1..) {
                let prepared = self.preparation.image(page.to_owned(), pages.len() + 1, &**self.family);
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
                "{path}: the number of its channels is {}, and that of {other} is {}; learn from colour and grey images \
                 separately",
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
