//! Options that several commands share, as the typed values that the library takes.

use std::fmt;
use std::path::PathBuf;

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use efmca::family::{SharedFamily, family};
use efmca::{Causes, Error};
use efmca_io::image_file::{Axes, ReadOptions};
use efmca_io::table_file::TableOptions;
use ndarray::{ArrayBase, DataMut, Dimension};

use crate::cluster;
use crate::failure::Failure;
use crate::{memory, threads};

/// More threads than any machine has processors would be started one by one for minutes.
const MOST_THREADS: usize = 4096;

/// How to work.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct WorkArgs {
    /// Number of threads, of each rank if there are several; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N", value_parser = number_of_threads)]
    pub(crate) threads: Option<usize>,
    /// Messages along the way: text for people, or one JSON object per line on standard error for programs.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

impl WorkArgs {
    /// From now on work is done with this many threads.
    pub(crate) fn set_threads(&self) -> Result<(), Failure> {
        threads::check_environment(MOST_THREADS)?;
        match self.threads.or_else(cluster::threads) {
            Some(number) => threads::start(number)?,
            None => threads::start_if_possible(),
        }
        Ok(())
    }
}

/// The format of messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The seed of random numbers.
#[derive(Debug, clap::Args)]
pub(crate) struct SeedArgs {
    /// Seed of the random numbers: the same seed gives the same result, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N", allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

/// Whether results replace files.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ForceArgs {
    /// Replaces files that exist already.
    #[arg(long)]
    pub(crate) force: bool,
}

/// The results of a command that writes a report.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Writes a page with settings, results and pictures.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) force: ForceArgs,
}

/// How an image is read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ImageArgs {
    /// Pixels with this value are missing.
    #[arg(long, value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) missing: Option<f64>,
    /// Axes of an array, slowest first: p pages, y rows, x columns, c channels; such as yxc or pyx.
    #[arg(long, value_name = "LETTERS")]
    pub(crate) axes: Option<Axes>,
}

impl ImageArgs {
    /// The same for the reader of images.
    pub(crate) fn options(&self) -> ReadOptions {
        let usual = ReadOptions::default();
        ReadOptions { axes: self.axes.clone(), memory_limit: memory::for_a_file(usual.memory_limit) }
    }
}

/// Marks values as missing.
pub(crate) fn mark_missing<S, D>(values: &mut ArrayBase<S, D>, missing: impl IntoIterator<Item = f64>)
where
    S: DataMut<Elem = f64>,
    D: Dimension,
{
    for missing in missing {
        values.mapv_inplace(|value| if value == missing { f64::NAN } else { value });
    }
}

/// How a table is read.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// Character between the fields of a CSV file, or `tab`; found in the file without it.
    #[arg(long, value_name = "C", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// Value or text that stands for a missing value, beside empty cells, NA, N/A, NaN, nan, null, NULL, ? and -. Can
    /// be given several times.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// Whether the first line of a CSV file holds the names of the columns; found in the file without it.
    #[arg(long, value_name = "yes|no", value_parser = yes_no)]
    pub(crate) header: Option<bool>,
    /// Whether the numbers of a CSV file have decimal commas, 3,14; found in the file without it.
    #[arg(long, value_name = "yes|no", value_parser = yes_no)]
    pub(crate) decimal_comma: Option<bool>,
}

impl TableArgs {
    /// The same for the reader of tables.
    pub(crate) fn options(&self) -> TableOptions {
        let mut options = TableOptions { delimiter: self.delimiter, header: self.header, ..TableOptions::default() };
        options.decimal_comma = self.decimal_comma;
        options.memory_limit = memory::for_a_file(options.memory_limit);
        options.missing.extend(self.missing.iter().cloned());
        options
    }
}

/// A parser for a few values with a name and a description each.
pub(crate) fn one_of<T: Clone + Send + Sync>(
    values: &'static [(&'static str, &'static str, T)],
) -> impl TypedValueParser<Value = T> {
    let named = values.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(named).map(move |typed| {
        // no other name gets here
        let (_, _, value) = values.iter().find(|(name, ..)| *name == typed).unwrap_or(&values[0]);
        value.clone()
    })
}

/// Reads a family, such as `gamma:k=4`.
pub(crate) fn noise(text: &str) -> Result<SharedFamily, Error> {
    family(text)
}

/// Reads a number of causes, or `auto`.
pub(crate) fn causes(text: &str) -> Result<Causes, String> {
    text.parse().map_err(|error| match error {
        Error::Setting { requirement, .. } => requirement,
        other => other.to_string(),
    })
}

/// Reads the rows and columns of a patch.
pub(crate) fn patch_size(text: &str) -> Result<(usize, usize), String> {
    let number = |text: &str| match text.trim().parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{text}` is not a number of pixels; write 20 or 16x24")),
    };
    match text.split_once(['x', 'X']) {
        Some((rows, columns)) => Ok((number(rows)?, number(columns)?)),
        None => number(text).map(|size| (size, size)),
    }
}

/// The size of a patch, which can go over several pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PatchSize {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) pages: usize,
}

impl fmt::Display for PatchSize {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} x {} pixels", self.rows, self.columns)?;
        if self.pages == 1 { Ok(()) } else { write!(out, " x {} pages", self.pages) }
    }
}

/// Reads the rows and columns of a patch, and the pages where there are several.
pub(crate) fn patch_over_pages(text: &str) -> Result<PatchSize, String> {
    let Some(pages) = text.splitn(3, ['x', 'X']).nth(2) else {
        return patch_size(text).map(|(rows, columns)| PatchSize { rows, columns, pages: 1 });
    };
    let number = pages.trim().parse::<usize>().ok().filter(|pages| *pages > 0);
    let pages = number.ok_or_else(|| {
        format!("`{pages}` is not a number of pages; write 16x24, or 8x8x5 for 8 rows, 8 columns and 5 pages")
    })?;
    let (rows, columns) = patch_size(&text[..text.rfind(['x', 'X']).unwrap_or(text.len())])?;
    Ok(PatchSize { rows, columns, pages })
}

fn number_of_threads(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=MOST_THREADS).contains(number));
    number.ok_or_else(|| format!("give a number from 1 to {MOST_THREADS}, or leave it out for all processors"))
}

fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() => Ok(*byte),
        _ => Err("write one character, such as ';', or tab".to_owned()),
    }
}

fn yes_no(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "yes" | "true" => Ok(true),
        "no" | "false" => Ok(false),
        _ => Err("write yes or no".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patches_are_squares_or_not() {
        assert_eq!(patch_size("20"), Ok((20, 20)));
        assert_eq!(patch_size("16x24"), Ok((16, 24)));
        assert!(patch_size("0").is_err() && patch_size("8x").is_err() && patch_size("-3").is_err());
    }

    #[test]
    fn patches_can_have_pages() {
        let size = |rows, columns, pages| Ok(PatchSize { rows, columns, pages });
        assert_eq!(patch_over_pages("20"), size(20, 20, 1));
        assert_eq!(patch_over_pages("16x24"), size(16, 24, 1));
        assert_eq!(patch_over_pages("8X8x5"), size(8, 8, 5));
        for wrong in ["8x8x0", "8x8x", "8x8x-1", "8x8x5x2", "8x8x99999999999999999999"] {
            assert!(patch_over_pages(wrong).unwrap_err().contains("not a number of pages"), "{wrong}");
        }
        for wrong in ["8x", "0", "x8", "8xx5", "0x8x5"] {
            assert!(patch_over_pages(wrong).unwrap_err().contains("not a number of pixels"), "{wrong}");
        }
    }

    #[test]
    fn delimiters_are_one_character() {
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert!(delimiter("").is_err() && delimiter(";;").is_err() && delimiter("ä").is_err());
    }

    #[test]
    fn causes_are_a_number_or_auto() {
        assert_eq!((causes("auto"), causes("12")), (Ok(Causes::Auto), Ok(Causes::Given(12))));
        assert!(["0", "many", ""].iter().all(|text| causes(text).unwrap_err().contains("or auto")));
    }
}
