//! The data points of `efmca learn`: patches of images, or rows of a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use efmca::Error;
use efmca::family::SharedFamily;
use efmca::model::Data;
use efmca::tasks::learn::{DrawnPatches, SharedRows, Whitening};
use efmca_io::MappedRows;
use efmca_io::image_file::{ReadOptions, read};
use ndarray::{Array3, Axis};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::learn_args::{DataArgs, FeatureArgs, Transform};

/// The side of a patch where nothing is said.
const PATCH: usize = 12;
/// The share of the variance that is whitened where nothing is said.
const WHITENED: f64 = 0.95;

/// Data points, and what was done to get them.
pub(crate) struct Points {
    pub(crate) data: Box<dyn Data>,
    /// Rows, columns and channels of a patch.
    pub(crate) patch: Option<[usize; 3]>,
    pub(crate) whitening: Option<Whitening>,
    pub(crate) remarks: Vec<String>,
    /// What they depend on beside the files.
    pub(crate) settings: Value,
    /// What they are, in a few words.
    pub(crate) words: String,
}

impl Points {
    pub(crate) fn read(args: &FeatureArgs, family: &SharedFamily) -> Result<Self, Failure> {
        let share = whitened_share(args.data.whiten.as_deref(), family)?;
        match args.data.rows {
            true => rows(args, share),
            false => patches(args, share, family),
        }
    }
}

/// The share of the variance to whiten, if any.
fn whitened_share(asked: Option<&str>, family: &SharedFamily) -> Result<Option<f64>, Failure> {
    let support = family.support();
    let real = support.low == f64::NEG_INFINITY && support.high == f64::INFINITY;
    match asked {
        None => Ok(real.then_some(WHITENED)),
        Some("none") => Ok(None),
        Some(text) => match text.parse::<f64>() {
            Ok(share) if share > 0.0 && share <= 1.0 && real => Ok(Some(share)),
            Ok(share) if share > 0.0 && share <= 1.0 => Err(Failure::input(format!(
                "--whiten {text}: whitened values have both signs, and `{}` is for {support}; leave --whiten out, or use \
                 --family gaussian",
                family.spec()
            ))),
            _ => Err(Failure::input(format!("--whiten {text}: give a share above 0 and up to 1, as 0.95, or none"))),
        },
    }
}

fn rows(args: &FeatureArgs, share: Option<f64>) -> Result<Points, Failure> {
    let [path] = args.inputs.as_slice() else {
        return Err(Failure::input("--rows: give one NPY file; several can be put together with numpy.concatenate"));
    };
    if args.data.transform != Transform::None || args.data.normalise || args.data.missing.is_some() {
        return Err(Failure::input(
            "--rows: rows are taken as they are; leave --transform, --normalise and --missing out (NaN is missing)",
        ));
    }
    let mapped = MappedRows::open(path).map_err(Failure::input)?;
    let patch = match args.data.patch {
        None => None,
        Some((rows, columns)) if mapped.d().is_multiple_of(rows * columns) => {
            Some([rows, columns, mapped.d() / (rows * columns)])
        }
        Some((rows, columns)) => {
            return Err(Failure::input(format!(
                "{}: its rows have {} values, which are no patches of {rows} x {columns} pixels; correct --patch, or leave \
                 it out",
                path.display(),
                mapped.d()
            )));
        }
    };
    let words = format!("{} rows of {} values", mapped.n(), mapped.d());
    let settings = json!({ "rows": true, "patch": patch, "whiten": share });
    if share.is_some() && mapped.n() < 2 {
        return Err(Failure::input(format!(
            "{}: there is one row only, and whitening needs two at least; give more rows, or say --whiten none",
            path.display()
        )));
    }
    let failed = |error: Error| {
        let hint = if matches!(error, Error::Setting { .. }) { " (--whiten none)" } else { "" };
        Failure::input(format!("{}: {error}{hint}", path.display()))
    };
    let whitening = share.map(|share| Whitening::fit(&mapped, share)).transpose().map_err(failed)?;
    let data: Box<dyn Data> = match &whitening {
        None => Box::new(mapped),
        Some(whitening) => Box::new(WhitenedRows { rows: mapped, whitening: Arc::new(whitening.clone()) }),
    };
    Ok(Points { data, patch, whitening, remarks: Vec::new(), settings, words })
}

/// Rows that are whitened when they are read.
#[derive(Clone)]
struct WhitenedRows {
    rows: MappedRows,
    whitening: Arc<Whitening>,
}

impl Data for WhitenedRows {
    fn n(&self) -> usize {
        self.rows.n()
    }

    fn d(&self) -> usize {
        self.rows.d()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.rows.read_row(n, y);
        let white = self.whitening.apply(ndarray::ArrayView1::from(&*y));
        y.iter_mut().zip(&white).for_each(|(y, white)| *y = *white);
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::new(self.clone()))
    }
}

fn patches(args: &FeatureArgs, share: Option<f64>, family: &SharedFamily) -> Result<Points, Failure> {
    let patch = args.data.patch.unwrap_or((PATCH, PATCH));
    if args.data.patches == 0 {
        return Err(Failure::input("--patches 0: give 1 or more"));
    }
    let (images, mut remarks) = images(&args.inputs, &args.data, patch, family)?;
    let count = images.len();
    let whole = share.is_some();
    let size = format!("{} x {} pixels", patch.0, patch.1);
    let drawn = DrawnPatches::new(images, patch, args.data.patches, whole, args.learning.seed);
    let drawn = drawn.map_err(|error| match error {
        Error::EmptyData { .. } => Failure::input(format!(
            "all patches of {size} have missing pixels, and such patches cannot be whitened; choose a smaller --patch, or \
             learn from them with --whiten none"
        )),
        other => Failure::input(other),
    })?;
    if whole && drawn.n() < 2 {
        return Err(Failure::input(format!(
            "there is one patch of {size} only, and whitening needs two at least; choose a smaller --patch, more --patches \
             or more images, or say --whiten none"
        )));
    }
    if drawn.incomplete() > 0 {
        remarks.push(format!("patches with missing pixels were left out: {}", drawn.incomplete()));
    }
    if drawn.n() < args.data.patches {
        remarks.push(format!("there are fewer patches than the {} asked for: {}", args.data.patches, drawn.n()));
    }
    let (rows, columns, channels) = (patch.0, patch.1, drawn.channels());
    let many = if count == 1 { "1 image".to_owned() } else { format!("{count} images") };
    let colour = if channels == 1 { String::new() } else { format!(" in {channels} channels") };
    let words = format!("{} patches of {rows} x {columns} pixels{colour} from {many}", drawn.n());
    let settings = json!({
        "rows": false,
        "patch": [rows, columns, channels],
        "patches": args.data.patches,
        "transform": format!("{:?}", args.data.transform).to_lowercase(),
        "normalise": args.data.normalise,
        "whiten": share,
        "seed": args.learning.seed,
    });
    let whitening = share.map(|share| Whitening::fit(&drawn, share)).transpose().map_err(|error| match error {
        Error::Setting { .. } => Failure::input(
            "the patches cannot be whitened: they are all the same, or their values are too large; give other images",
        ),
        other => Failure::input(other),
    })?;
    let data: Box<dyn Data> = match &whitening {
        None => Box::new(drawn),
        Some(whitening) => Box::new(SharedRows(Arc::new(whitening.whitened(&drawn).map_err(Failure::input)?))),
    };
    Ok(Points { data, patch: Some([rows, columns, channels]), whitening, remarks, settings, words })
}

/// All pages of all files by row, column and channel, and what the user should know.
fn images(
    inputs: &[PathBuf],
    args: &DataArgs,
    patch: (usize, usize),
    family: &SharedFamily,
) -> Result<(Vec<Array3<f64>>, Vec<String>), Failure> {
    let options = ReadOptions { axes: args.axes.clone(), ..ReadOptions::default() };
    let (mut pages, mut remarks) = (Vec::new(), Vec::new());
    let mut first: Option<(&Path, efmca_io::image_file::SampleType, usize)> = None;
    for path in inputs {
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
        let sample = file.metadata.sample;
        let (other, type_before, channels_before) = *first.get_or_insert((path, sample, channels));
        if channels != channels_before {
            return Err(Failure::input(format!(
                "{}: the number of its channels is {channels}, and that of {} is {channels_before}; learn from colour and grey \
                 images apart",
                path.display(),
                other.display()
            )));
        }
        if sample != type_before && !args.normalise {
            return Err(Failure::input(format!(
                "{}: its values are of type {sample}, and those of {} of {type_before}, which have other ranges; \
                 --normalise divides each image by its mean",
                path.display(),
                other.display()
            )));
        }
        let mut values = file.values;
        if let Some(missing) = args.missing {
            values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
        }
        let many = values.dim().0 > 1;
        for (number, page) in values.axis_iter(Axis(0)).enumerate() {
            let name = match many {
                true => format!("{}, page {}", path.display(), number + 1),
                false => path.display().to_string(),
            };
            pages.push(prepared(page.to_owned(), args, &name, family)?);
        }
    }
    Ok((pages, remarks))
}

/// One page after `--normalise` and `--transform`.
fn prepared(mut page: Array3<f64>, args: &DataArgs, name: &str, family: &SharedFamily) -> Result<Array3<f64>, Failure> {
    if let Some((pixel, value)) = first_pixel(&page, |value| value.is_infinite()) {
        return Err(Failure::input(format!(
            "{name}: {pixel} is {value}, and values must be finite; mark such pixels with --missing {value}"
        )));
    }
    if args.normalise {
        let there = || page.iter().copied().filter(|value| !value.is_nan());
        let mean = there().sum::<f64>() / there().count().max(1) as f64;
        if !(mean > 0.0 && mean.is_finite()) {
            return Err(Failure::input(format!(
                "{name}: the mean of its values is {mean}, so it cannot be divided by it; leave --normalise out"
            )));
        }
        page.mapv_inplace(|value| value / mean);
    }
    if args.transform == Transform::Log {
        if let Some((pixel, value)) = first_pixel(&page, |value| value <= 0.0) {
            return Err(Failure::input(format!(
                "{name}: {pixel} is {value}, which has no logarithm; mark such pixels with --missing VALUE, or leave \
                 --transform log out"
            )));
        }
        page.mapv_inplace(f64::ln);
    }
    let support = family.support();
    if let Some((pixel, value)) = first_pixel(&page, |value| !value.is_nan() && !support.contains(value)) {
        let (done, hint) = match (args.transform, args.normalise) {
            (Transform::Log, _) => (" after --transform log", "leave --transform out"),
            (Transform::None, true) => (" after --normalise", "leave --normalise out"),
            (Transform::None, false) => ("", "mark such pixels with --missing VALUE"),
        };
        return Err(Failure::input(format!(
            "{name}: {pixel} is {value}{done}, and `{}` is for {support}; choose another --family, or {hint}",
            family.spec()
        )));
    }
    Ok(page)
}

/// The first pixel whose value is so, counted from one as in viewers of images.
fn first_pixel(page: &Array3<f64>, so: impl Fn(f64) -> bool) -> Option<(String, f64)> {
    let ((y, x, _), value) = page.indexed_iter().find(|(_, value)| so(**value))?;
    Some((format!("the pixel in row {}, column {}", y + 1, x + 1), *value))
}
