//! Errors of the library about rows and columns, in terms of files, patches and options. Places are counted from 1.

use std::path::Path;

use efmca::Error;

use crate::failure::Failure;

/// The data that an error can be about.
#[derive(Clone, Copy)]
pub(crate) enum Origin<'a> {
    /// The rows of a file.
    Rows(&'a Path),
    /// Patches of so many rows and columns.
    Patches(usize, usize),
}

impl Origin<'_> {
    /// An error of training.
    pub(crate) fn describe(self, error: &Error) -> Failure {
        if let Error::Resume { .. } = error {
            return Failure::input(format!("{error}; another --out-dir keeps both runs"));
        }
        match self {
            Origin::Rows(path) => Failure::input(format!("{}: {}", path.display(), in_rows(error))),
            Origin::Patches(rows, columns) => Failure::input(in_patches(error, rows, columns)),
        }
    }
}

/// An error about the rows of a file.
pub(super) fn in_rows(error: &Error) -> String {
    let cell = |row: &usize, column: &usize| format!("row {}, column {}", row + 1, column + 1);
    match error {
        Error::OutsideSupport { row, column, value, family, support } => format!(
            "{}: the value {value} cannot come from `{family}`, which is for {support}; choose another --family, or mark \
             the value as missing with NaN",
            cell(row, column)
        ),
        Error::NotFinite { row, column, value } => {
            format!("{}: the value is {value}, and values must be finite; NaN marks a missing one", cell(row, column))
        }
        Error::TooExtreme { row, column, value, family } => format!(
            "{}: the value {value} is too extreme for `{family}`; rescale the column, or mark the value as missing with \
             NaN",
            cell(row, column)
        ),
        Error::EmptyColumn { column } => {
            format!("column {}: every value is missing, so nothing can be learned about it; drop it", column + 1)
        }
        Error::TooFarFromZero { column, mean, family } => format!(
            "column {}: the values scatter so little about {mean} that `{family}` cannot tell how much; subtract a \
             constant from it, or drop it if all its values are equal",
            column + 1
        ),
        Error::ImpossibleRow { row } => {
            format!("row {}: its probability is zero under every state of the model; look at it, or drop it", row + 1)
        }
        other => other.to_string(),
    }
}

/// An error about patches, whose columns are pixels and whose rows nobody can look up.
fn in_patches(error: &Error, rows: usize, columns: usize) -> String {
    let pixel = |column: &usize| {
        format!("the pixel in row {}, column {} of patches", column / columns % rows + 1, column % columns + 1)
    };
    match error {
        Error::TooFarFromZero { column, mean, family } => format!(
            "{} is always {mean} or very near to it, so that `{family}` cannot tell how it scatters; give other images, \
             or more of them",
            pixel(column)
        ),
        Error::EmptyColumn { column } => {
            format!("{} is always missing; give other images, or a smaller --patch", pixel(column))
        }
        Error::TooExtreme { column, value, family, .. } => format!(
            "{} has the value {value} in a patch, which is too extreme for `{family}`; --normalise divides each image by \
             its mean",
            pixel(column)
        ),
        Error::ImpossibleRow { .. } => {
            "the probability of a patch is zero under every state of the model; choose larger --pseudo-rows".to_owned()
        }
        other => other.to_string(),
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
        let patches = Origin::Patches(3, 4);
        let family = || "poisson".to_owned();
        let outside =
            Error::OutsideSupport { row: 0, column: 2, value: 0.5, family: family(), support: "counts".into() };
        says(file, &outside, "rows.npy: row 1, column 3: the value 0.5");
        says(file, &Error::NotFinite { row: 4, column: 0, value: f64::INFINITY }, "row 5, column 1");
        let extreme = Error::TooExtreme { row: 6, column: 17, value: 1e200, family: family() };
        says(file, &extreme, "row 7, column 18");
        // the second channel
        says(patches, &extreme, "row 2, column 2 of patches");
        says(file, &Error::EmptyColumn { column: 5 }, "column 6:");
        says(patches, &Error::EmptyColumn { column: 5 }, "row 2, column 2 of patches");
        let flat = Error::TooFarFromZero { column: 0, mean: 7.0, family: family() };
        says(file, &flat, "column 1:");
        says(patches, &flat, "row 1, column 1 of patches is always 7");
        says(file, &Error::ImpossibleRow { row: 9 }, "row 10:");
        says(patches, &Error::Resume { reason: "its data is other data".into() }, "another --out-dir");
    }
}
