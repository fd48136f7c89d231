//! Errors of the library in terms of files, columns and options: the only place where they are translated. Places are counted from 1,
//! and columns have their names.

use std::path::Path;

use efmca::Error;

use crate::failure::Failure;
use crate::names::{code, quoted};

/// Settings of the library, and the options that they are typed as.
const OPTIONS: [(&str, &str); 18] = [
    ("batches", "batches"),
    ("causes", "causes"),
    ("floor", "floor"),
    ("held-out share", "held-out"),
    ("iterations", "iterations"),
    ("learn_from", "learn-pages"),
    ("patch", "patch"),
    ("patches", "patches"),
    ("peak", "peak"),
    ("pi_init", "pi-start"),
    ("pseudo_rows", "pseudo-rows"),
    ("restarts", "restarts"),
    ("sd", "sd"),
    ("spread", "spread"),
    ("starts", "starts"),
    ("states", "states"),
    ("superposition", "superposition"),
    ("whiten", "whiten"),
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
        Error::Setting { name, value, requirement } => match OPTIONS.iter().find(|(setting, _)| setting == name) {
            Some((_, option)) => format!("--{option} {value}: {requirement}"),
            None => error.to_string(),
        },
        Error::TooManyCauses { causes, limit } => format!(
            "--exact: the model has {causes} causes, and exact results are possible up to {limit}; leave it out, or choose \
             --states N"
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

    pub(crate) fn message(&self, error: &Error) -> String {
        match error {
            Error::OutsideSupport { row, column, value, family, support } => {
                let label = self.label(*column, *value);
                let shown = label.map_or_else(
                    || format!("the value {value}"),
                    |label| format!("the label {} (coded as {value})", quoted(label)),
                );
                let place = self.cell(*row, *column);
                let missing = label.map_or_else(|| value.to_string(), |label| format!("\"{label}\""));
                let remedy = self.other_value(*column, &missing);
                format!("{place}: {shown} cannot come from `{family}`, which is for {support}; {remedy}")
            }
            Error::ImpossiblePixel { place, value, family, support } => {
                let remedy = match self {
                    Self::Image { counts: true, .. } if value.fract() != 0.0 => {
                        "counts are integers: if these are camera units, give --gain and --offset"
                    }
                    _ => "choose another --noise, or mark such pixels with --missing VALUE",
                };
                format!("{place}: the value {value} cannot come from `{family}`, which is for {support}; {remedy}")
            }
            Error::NotFinite { row, column, value } => format!(
                "{}: the value is {value}, and values must be finite; NaN marks a missing one",
                self.cell(*row, *column)
            ),
            Error::TooExtreme { row, column, value, family } => {
                format!(
                    "{}: the value {value} is too extreme for `{family}`; {}",
                    self.cell(*row, *column),
                    self.rescale(*column)
                )
            }
            Error::EmptyColumn { column } => {
                format!(
                    "{}: every value is missing, so nothing can be learned; {}",
                    self.column(*column),
                    self.drop_column()
                )
            }
            Error::TooFarFromZero { column, mean, family } => format!(
                "{}: the values scatter so little about {mean} that `{family}` cannot tell how much; {}",
                self.column(*column),
                self.subtract()
            ),
            Error::ImpossibleRow { row } => {
                format!("{}: the model gives it no probability at all; {}", self.row(*row), self.drop_row())
            }
            Error::Setting { name: "column", value, requirement } => match value.parse() {
                Ok(column) => format!("{}: {requirement}", self.column(column)),
                Err(_) => in_options(error),
            },
            other => in_options(other),
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
                format!("column {}", quoted(&names[column]))
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
        labels.get(column)?.as_ref()?.get(code(value)?)
    }

    /// Where another family can be chosen for a column.
    fn other_family(&self, column: usize) -> String {
        match self {
            Self::Table(TableOrigin { learning: false, .. }) => "correct it".to_owned(),
            Self::Table(TableOrigin { names, .. }) => {
                let name = names.get(column).cloned().unwrap_or_else(|| (column + 1).to_string());
                format!("choose another family with --family \"{name}=FAMILY\"")
            }
            _ => "choose another --family".to_owned(),
        }
    }

    fn other_value(&self, column: usize, missing: &str) -> String {
        let mark = match self {
            Self::Table(_) | Self::Image { .. } => format!("leave it out with --missing {missing}"),
            Self::Rows(_) => "mark the value as missing with NaN".to_owned(),
            Self::Patches { .. } => "mark such pixels with --missing VALUE".to_owned(),
        };
        format!("{}, or {mark}", self.other_family(column))
    }

    fn rescale(&self, column: usize) -> String {
        match self {
            Self::Patches { .. } => "--normalise divides each image by its mean".to_owned(),
            Self::Rows(_) => "rescale the column, or mark the value as missing with NaN".to_owned(),
            _ => format!("{}, or rescale the column", self.other_family(column)),
        }
    }

    fn drop_column(&self) -> &'static str {
        match self {
            Self::Patches { .. } => "give other images, or a smaller --patch",
            _ => "leave the column out",
        }
    }

    fn subtract(&self) -> &'static str {
        match self {
            Self::Patches { .. } => "give other images, or more of them",
            _ => "subtract a constant from the column, or leave it out if all its values are equal",
        }
    }

    fn drop_row(&self) -> &'static str {
        match self {
            Self::Patches { .. } => "choose larger --pseudo-rows",
            _ => "look at the row, or leave it out",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_from_one() {
        let says = |origin: Origin<'_>, error: &Error, expected: &str| {
            let found = origin.describe(error).to_string();
            assert!(found.contains(expected), "{found}");
        };
        let file = Origin::Rows(Path::new("rows.npy"));
        let patches = Origin::Patches { path: None, size: (3, 4) };
        let (names, labels) = (["a", "b", "c"].map(str::to_owned), [None, None, Some(vec!["x".to_owned()])]);
        let table = TableOrigin { path: Path::new("t.csv"), names: &names, labels: &labels, step: 1, learning: true };
        let tenth = Origin::Table(TableOrigin { step: 10, learning: false, ..table });
        let table = Origin::Table(table);
        let family = || "poisson".to_owned();
        let outside =
            |value: f64| Error::OutsideSupport { row: 3, column: 2, value, family: family(), support: "counts".into() };
        says(
            file,
            &outside(0.5),
            "rows.npy: row 4 of the data, column 3: the value 0.5 cannot come from `poisson`, which is for counts",
        );
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
        says(file, &Error::EmptyColumn { column: 5 }, "column 6:");
        says(table, &Error::EmptyColumn { column: 1 }, "column `b`:");
        says(patches, &Error::EmptyColumn { column: 5 }, "row 2, column 2 of patches");
        let flat = Error::TooFarFromZero { column: 0, mean: 7.0, family: family() };
        says(file, &flat, "column 1:");
        says(patches, &flat, "row 1, column 1 of patches: the values scatter so little about 7");
        says(file, &Error::ImpossibleRow { row: 9 }, "row 10 of the data:");
        says(patches, &Error::Resume { reason: "its data is other data".into() }, "another --out-dir");
        let setting = |name| Error::Setting { name, value: "1".into(), requirement: "it is odd".into() };
        says(table, &setting("column"), "column `b`: it is odd");
        says(table, &setting("pi_init"), "--pi-start 1: it is odd");
    }

    #[test]
    fn who_stops_the_work_made_no_mistake() {
        let stopped = Error::Stopped { what: "all rows were done".into() };
        assert!(matches!(Origin::Rows(Path::new("r.npy")).describe(&stopped), Failure::Work(_)));
    }
}
