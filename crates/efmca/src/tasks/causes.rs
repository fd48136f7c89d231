//! The number of causes, as settings hold it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::held_out::Source;
use crate::error::{Error, Result};

/// Rows for each cause, at the least, where the number of causes is not given.
pub(crate) const ROWS: usize = 20;
/// Causes for each column of a table, at the most, where the number of causes is not given.
pub(crate) const PER_COLUMN: usize = 2;
/// The pseudo-count of densities for one of codes and counts (`docs/TABLE_BENCHMARKS.md`, "Rows of average data").
pub(crate) const DENSITY_SHARE: f64 = 1.0 / 32.0;
/// The suitable number for images and sounds, and the largest one for tables.
const OF_IMAGES: usize = 32;
const OF_TABLES: usize = 8;

/// How many causes a model has: a number, or as many as the data say.
///
/// ```
/// use efmca::Causes;
///
/// assert_eq!("auto".parse::<Causes>()?, Causes::Auto);
/// assert_eq!("12".parse::<Causes>()?, Causes::from(12));
/// assert_eq!(Causes::Given(12).to_string(), "12");
/// assert!("0".parse::<Causes>().unwrap_err().to_string().contains("give a number of causes, or auto"));
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Causes {
    /// A number that suits the data, without any training: 32 for images whose noise is named, and up to 8 for tables with 20 rows
    /// for each. [`Denoiser`](super::denoise::Denoiser) takes numbers that suit the size, brightness and noise of the image.
    #[default]
    Suitable,
    /// The number that predicts held-out entries best, found by [`CauseSearch`](super::select::CauseSearch).
    Auto,
    /// This number.
    Given(usize),
}

impl Causes {
    /// Whether the number can be used; any data may come.
    pub(crate) fn check(self) -> Result<()> {
        match self {
            Causes::Given(0) => Err(Error::setting("causes", 0, "a model needs one cause at least")),
            _ => Ok(()),
        }
    }

    /// The number without a search: the given one, or one that suits the size of the data.
    pub(crate) fn without_search(self, source: &Source<'_>) -> usize {
        match self {
            Causes::Given(causes) => causes,
            Causes::Suitable | Causes::Auto => suitable(source),
        }
    }
}

/// A number of causes that suits the size of the data.
fn suitable(source: &Source<'_>) -> usize {
    match source {
        Source::Table(table) => OF_TABLES.min(table.nrows() / ROWS).max(1),
        Source::Images { .. } => OF_IMAGES,
    }
}

/// Numbers of causes that are worth a trial: powers of two from two on, as far as there are rows for them, and no more than twice
/// the columns.
pub(crate) fn worth_trying(rows: usize, columns: usize) -> Vec<usize> {
    let most = (rows / ROWS).min(PER_COLUMN * columns).clamp(1, 256);
    let powers = std::iter::successors(Some(2), |h| Some(h * 2)).take_while(|h| *h <= most);
    std::iter::once(1).filter(|_| most < 4).chain(powers).collect()
}

impl From<usize> for Causes {
    fn from(causes: usize) -> Causes {
        Causes::Given(causes)
    }
}

impl FromStr for Causes {
    type Err = Error;

    /// Reads `auto`, `suitable`, or a number above zero.
    fn from_str(text: &str) -> Result<Causes> {
        match text.trim() {
            "auto" => Ok(Causes::Auto),
            "suitable" => Ok(Causes::Suitable),
            number => match number.parse::<usize>() {
                Ok(causes) if causes > 0 => Ok(Causes::Given(causes)),
                _ => Err(Error::setting("causes", text, "give a number of causes, or auto")),
            },
        }
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Causes::Suitable => out.write_str("suitable"),
            Causes::Auto => out.write_str("auto"),
            Causes::Given(causes) => causes.fmt(out),
        }
    }
}

impl From<Causes> for String {
    fn from(causes: Causes) -> String {
        causes.to_string()
    }
}

impl TryFrom<String> for Causes {
    type Error = Error;

    fn try_from(text: String) -> Result<Causes> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array4};

    #[test]
    fn what_is_written_is_read_back() {
        for causes in [Causes::Suitable, Causes::Auto, Causes::Given(1), Causes::Given(512)] {
            assert_eq!(causes.to_string().parse::<Causes>().unwrap(), causes);
            let json = serde_json::to_string(&causes).unwrap();
            assert_eq!(serde_json::from_str::<Causes>(&json).unwrap(), causes, "{json}");
        }
        for wrong in ["0", "-1", "many", "", "1.5", "18446744073709551616"] {
            let message = wrong.parse::<Causes>().unwrap_err().to_string();
            assert!(message.contains("give a number of causes, or auto"), "{message}");
        }
        assert!(serde_json::from_str::<Causes>("\"none\"").is_err());
    }

    #[test]
    fn suitable_numbers_follow_the_size() {
        let of_rows = |rows: usize| {
            let table = Array2::<f64>::zeros((rows, 3));
            Causes::Suitable.without_search(&Source::Table(table.view()))
        };
        assert_eq!([0, 19, 40, 159, 160, 100_000].map(of_rows), [1, 1, 2, 7, 8, 8]);
        let pixels = Array4::<f64>::zeros((1, 9, 9, 1));
        let images = Source::Images { pixels: pixels.view(), patch: (3, 3), depth: 1, stride: 1 };
        assert_eq!(Causes::Auto.without_search(&images), 32);
        assert_eq!(Causes::Given(5).without_search(&images), 5);
        assert!(Causes::Given(0).check().is_err() && Causes::Auto.check().is_ok());
    }

    #[test]
    fn numbers_worth_trying_follow_the_size() {
        assert_eq!(worth_trying(1000, 10), [2, 4, 8, 16]);
        assert_eq!(worth_trying(30, 10), [1]);
        assert_eq!(worth_trying(100_000, 400), [2, 4, 8, 16, 32, 64, 128, 256]);
    }
}
