//! Errors of the library in terms of files, columns and options: the only place where they are translated. Places are
//! counted from 1, and columns have their names.

use std::path::Path;

use efmca::Error;
use efmca_io::table_file::shown;

use crate::failure::Failure;

/// Settings of the library that are options of the same name, and those that have another one.
const OPTIONS: &str = "batches causes floor folds iterations offset patch patches peak restarts sd shards spread starts states superposition whiten";
const OTHER_OPTIONS: [(&str, &str); 6] = [
    ("held-out share", "held-out"),
    ("learn_from", "learn-pages"),
    ("level", "interval"),
    ("pi_init", "pi-start"),
    ("pseudo_rows", "pseudo-rows"),
    ("read_noise", "read-noise"),
];

/// The data that an error is about.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// A table.
    Table(TableOrigin<'a>),
    /// The rows of an array, whose columns have no names.
    Rows(&'a Path),
    /// Patches of so many rows and columns, of one file or of several.
    Patches { path: Option<&'a Path>, size: (usize, usize) },
    /// An image with noise that counts something, or with other noise.
    Image { path: &'a Path, counts: bool },
}

/// A table that an error is about.
#[derive(Clone, Copy)]
pub(crate) struct TableOrigin<'a> {
    pub(crate) path: &'a Path,
    pub(crate) names: &'a [String],
    pub(crate) labels: &'a [Option<Vec<String>>],
    /// Only every so many-th row was looked at.
    pub(crate) step: usize,
    /// Whether families can be chosen: a model that is applied has its own.
    pub(crate) learning: bool,
}

/// A setting that cannot be used.
pub(crate) fn refused(error: &Error) -> Failure {
    Failure::input(in_options(error))
}

/// An error that is not about data.
fn in_options(error: &Error) -> String {
    match error {
        Error::Setting { name, value, requirement } => {
            let same = OPTIONS.split(' ').find(|option| option == name);
            let other = OTHER_OPTIONS.iter().find(|(setting, _)| setting == name).map(|(_, option)| *option);
            same.or(other).map_or(error.to_string(), |option| format!("--{option} {value}: {requirement}"))
        }
        Error::TooManyCauses { causes, limit } => format!(
            "--exact: the model has {causes} causes, and exact results are possible up to {limit}; leave it out, or \
             choose --states N"
        ),
        Error::Resume { .. } => format!("{error}; another --out-dir keeps both runs"),
        other => other.to_string(),
    }
}

impl Origin<'_> {
    /// The error with the place of the fault, and with what can be done about it.
    pub(crate) fn describe(&self, error: &Error) -> Failure {
        let path = match self {
            Self::Table(TableOrigin { path, .. }) | Self::Rows(path) | Self::Image { path, .. } => Some(*path),
            Self::Patches { path, .. } => *path,
        };
        let message = path.map_or(String::new(), |path| format!("{}: ", path.display())) + &self.message(error);
        // nothing is wrong with the data of someone who did not want to wait
        if matches!(error, Error::Stopped { .. }) { Failure::work(message) } else { Failure::input(message) }
    }

    /// The error without the name of the file.
    pub(crate) fn message(&self, error: &Error) -> String {
        let (place, problem) = match error {
            Error::OutsideSupport { row, column, value, family, support } => {
                let value = match self.label(*column, *value) {
                    Some(label) => format!("the label {} (coded as {value})", shown(label)),
                    None => format!("the value {value}"),
                };
                (self.cell(*row, *column), format!("{value} cannot come from `{family}`, which is for {support}"))
            }
            Error::ImpossiblePixel { place, value, family, support } => {
                (place.to_string(), format!("the value {value} cannot come from `{family}`, which is for {support}"))
            }
            Error::NotFinite { row, column, value } => {
                (self.cell(*row, *column), format!("the value is {value}, and values must be finite"))
            }
            Error::TooExtreme { row, column, value, family } => {
                (self.cell(*row, *column), format!("the value {value} is too extreme for `{family}`"))
            }
            Error::EmptyColumn { .. } if matches!(self, Self::Image { .. }) => {
                return "so many pixels are missing that one place of the patches has none; give a smaller --patch"
                    .into();
            }
            Error::EmptyColumn { column } => {
                (self.column(*column), "every value is missing, so nothing can be learned".to_owned())
            }
            Error::TooFarFromZero { mean, family, .. } if matches!(self, Self::Image { .. }) => {
                let problem = format!("the pixels scatter so little about {mean} that `{family}` cannot tell how much");
                return format!("{problem}; {}", self.remedy(error));
            }
            Error::TooFarFromZero { column, mean, family } => {
                let problem = format!("the values scatter so little about {mean} that `{family}` cannot tell how much");
                (self.column(*column), problem)
            }
            Error::ImpossibleRow { row } => (self.row(*row), "the model gives it no probability at all".to_owned()),
            Error::Column { column, problem } => return format!("{}: {problem}", self.column(*column)),
            other => return in_options(other),
        };
        format!("{place}: {problem}; {}", self.remedy(error))
    }

    /// The ways out of a fault of the data.
    fn remedy(&self, error: &Error) -> String {
        let text = match (error, self) {
            (Error::OutsideSupport { column, value, .. }, Self::Table(_)) => {
                let missing =
                    self.label(*column, *value).map_or_else(|| value.to_string(), |label| format!("\"{label}\""));
                return format!("{}, or leave it out with --missing {missing}", self.other_family(*column));
            }
            (Error::TooExtreme { column, .. }, Self::Table(_)) => {
                return format!("{}, or rescale the column", self.other_family(*column));
            }
            (Error::ImpossiblePixel { value, .. }, _) if value.is_infinite() => {
                return format!(
                    "values must be finite: mark such pixels with --missing={value}, or with NaN in the image"
                );
            }
            (Error::ImpossiblePixel { value, .. }, Self::Image { counts: true, .. }) if value.fract() != 0.0 => {
                "counts are integers: if these are camera units, give --gain and --offset"
            }
            (Error::ImpossiblePixel { .. }, _) => "choose another --noise, or mark such pixels with --missing VALUE",
            (Error::OutsideSupport { .. }, Self::Rows(_)) => {
                "choose another --family, or mark the value as missing with NaN"
            }
            (Error::OutsideSupport { .. }, _) => "choose another --family, or mark such pixels with --missing VALUE",
            (Error::TooExtreme { .. }, Self::Patches { .. }) => "--normalise divides each image by its mean",
            (Error::TooExtreme { .. }, _) => "rescale the column, or mark the value as missing with NaN",
            (Error::EmptyColumn { .. }, Self::Patches { .. }) => "give other images, or a smaller --patch",
            (Error::EmptyColumn { .. }, _) => "leave the column out",
            (Error::TooFarFromZero { .. }, Self::Patches { .. }) => "give other images, or more of them",
            (Error::TooFarFromZero { .. }, Self::Image { .. }) => {
                "an image of one value has no noise to remove; subtract a constant from all pixels if there is some"
            }
            (Error::TooFarFromZero { .. }, _) => {
                "subtract a constant from the column, or leave it out if all its values are equal"
            }
            (Error::ImpossibleRow { .. }, Self::Patches { .. }) => "choose larger --pseudo-rows",
            (Error::ImpossibleRow { .. }, _) => "look at the row, or leave it out",
            _ => "NaN marks a missing value",
        };
        text.to_owned()
    }

    /// How another family is chosen for a column of a table.
    fn other_family(&self, column: usize) -> String {
        match self {
            Self::Table(TableOrigin { names, learning: true, .. }) => {
                let name = names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string());
                format!("choose another family with --family \"{name}=FAMILY\"")
            }
            _ => "correct it".to_owned(),
        }
    }

    fn row(&self, row: usize) -> String {
        match self {
            Self::Table(TableOrigin { step, .. }) => format!("row {} of the data", row * step + 1),
            Self::Patches { .. } => "a patch".to_owned(),
            Self::Rows(_) | Self::Image { .. } => format!("row {} of the data", row + 1),
        }
    }

    fn column(&self, column: usize) -> String {
        match self {
            Self::Table(TableOrigin { names, .. }) if column < names.len() => {
                format!("column {}", shown(&names[column]))
            }
            Self::Patches { size: (rows, columns), .. } => {
                format!("the pixel in row {}, column {} of patches", column / columns % rows + 1, column % columns + 1)
            }
            _ => format!("column {}", column + 1),
        }
    }

    fn cell(&self, row: usize, column: usize) -> String {
        match self {
            // nobody can look up the number of a patch
            Self::Patches { .. } => self.column(column),
            _ => format!("{}, {}", self.row(row), self.column(column)),
        }
    }

    fn label(&self, column: usize, value: f64) -> Option<&String> {
        let Self::Table(TableOrigin { labels, .. }) = self else { return None };
        labels.get(column)?.as_ref()?.get(value as usize).filter(|_| value >= 0.0 && value.fract() == 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one_and_columns_are_named() {
        let says = |origin: Origin<'_>, error: &Error, expected: &str| {
            let found = origin.describe(error).to_string();
            assert!(found.contains(expected), "{found}");
        };
        let (names, labels) = (["a", "b", "c"].map(str::to_owned), [None, None, Some(vec!["x".to_owned()])]);
        let table = TableOrigin { path: Path::new("t.csv"), names: &names, labels: &labels, step: 1, learning: true };
        let tenth = Origin::Table(TableOrigin { step: 10, learning: false, ..table });
        let (table, file) = (Origin::Table(table), Origin::Rows(Path::new("rows.npy")));
        let patches = Origin::Patches { path: None, size: (3, 4) };
        let family = || "poisson".to_owned();
        let outside =
            |value: f64| Error::OutsideSupport { row: 3, column: 2, value, family: family(), support: "counts".into() };
        says(file, &outside(0.5), "rows.npy: row 4 of the data, column 3: the value 0.5 cannot come from `poisson`");
        says(table, &outside(0.5), "t.csv: row 4 of the data, column `c`: the value 0.5");
        says(table, &outside(0.0), "the label `x` (coded as 0)");
        says(table, &outside(0.0), "--family \"c=FAMILY\", or leave it out with --missing \"x\"");
        says(tenth, &outside(0.5), "row 31 of the data, column `c`");
        says(tenth, &outside(0.5), "correct it, or leave it out with --missing 0.5");
        says(patches, &outside(0.5), "the pixel in row 1, column 3 of patches: the value 0.5");
        says(file, &Error::NotFinite { row: 4, column: 0, value: f64::INFINITY }, "row 5 of the data, column 1");
        let extreme = Error::TooExtreme { row: 6, column: 17, value: 1e200, family: family() };
        says(file, &extreme, "row 7 of the data, column 18");
        // the second channel
        says(patches, &extreme, "row 2, column 2 of patches");
        says(table, &Error::EmptyColumn { column: 1 }, "column `b`:");
        let image = Origin::Image { path: Path::new("i.png"), counts: true };
        says(image, &Error::EmptyColumn { column: 1 }, "i.png: so many pixels are missing");
        let flat = Error::TooFarFromZero { column: 0, mean: 7.0, family: family() };
        says(patches, &flat, "row 1, column 1 of patches: the values scatter so little about 7");
        says(image, &flat, "i.png: the pixels scatter so little about 7");
        says(image, &flat, "an image of one value has no noise");
        let infinite = |value: f64| Error::ImpossiblePixel {
            place: efmca::Pixel { page: 0, row: 0, column: 0, channel: 0 },
            value,
            family: family(),
            support: "counts".into(),
        };
        says(image, &infinite(f64::INFINITY), "with --missing=inf,");
        says(image, &infinite(f64::NEG_INFINITY), "with --missing=-inf,");
        says(file, &Error::ImpossibleRow { row: 9 }, "row 10 of the data:");
        says(patches, &Error::Resume { reason: "its data is other data".into() }, "another --out-dir");
        let setting = |name| Error::Setting { name, value: "1".into(), requirement: "it is odd".into() };
        says(table, &Error::Column { column: 1, problem: "it is odd".into() }, "column `b`: it is odd");
        says(table, &setting("pi_init"), "--pi-start 1: it is odd");
        // nothing is wrong with the data of someone who did not want to wait
        assert!(matches!(file.describe(&Error::Stopped { what: "it".into() }), Failure::Work(_)));
    }
}
