//! What `efmca fit`, `efmca encode`, `efmca score`, `efmca sample` and `efmca info` can be told.

use std::path::PathBuf;

use clap::ValueEnum;
use efmca_io::table_file::TableOptions;

use crate::clean_args::LogFormat;

/// What `efmca fit` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct FitArgs {
    /// The table: CSV (also packed with gzip), NPY or NPZ (file.npz:name), with a row for each data point.
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    /// The file for the model, as model.safetensors.
    #[arg(long, short, value_name = "MODEL")]
    pub(crate) output: PathBuf,
    /// The family of all columns, as poisson or gamma:k=4, or of one, as age=gamma (by its name, or by its number from 1).
    /// Can be given several times; columns without one get the family that suits them best. `efmca families` lists all.
    #[arg(long, value_name = "[COLUMN=]FAMILY")]
    pub(crate) family: Vec<String>,
    /// The number of causes, or `auto` for the one that foretells hidden values best.
    #[arg(long, default_value = "auto", value_name = "H")]
    pub(crate) components: String,
    /// Iterations, at the most; training ends earlier when nothing changes any more.
    #[arg(long, default_value_t = 100, value_name = "N")]
    pub(crate) iterations: usize,
    /// Starts that are given a short run, of which the best goes on.
    #[arg(long, default_value_t = 10, value_name = "N")]
    pub(crate) starts: usize,
    /// States that are kept for each row. Without it all, or 60 where there are too many causes or rows for that.
    #[arg(long, value_name = "S")]
    pub(crate) states: Option<usize>,
    /// The same number gives the same model, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Writes a page with the settings, the causes, and how the bound rose.
    #[arg(long, value_name = "FILE.html")]
    pub(crate) report: Option<PathBuf>,
    /// Replaces files that are there.
    #[arg(long)]
    pub(crate) force: bool,
    /// What is said on the way: text for people, or one JSON object a line on standard error for machines.
    #[arg(long, value_enum, default_value_t = LogFormat::Text, value_name = "FORMAT")]
    pub(crate) log_format: LogFormat,
}

/// How a table is read.
#[derive(Debug, clap::Args)]
pub(crate) struct TableArgs {
    /// The character between the fields of a CSV file, or `tab`; found in the file without it.
    #[arg(long, value_name = "C", value_parser = delimiter)]
    pub(crate) delimiter: Option<u8>,
    /// A text that stands for a missing value, beside empty cells, NA, N/A, NaN, nan, null, NULL, ? and -. Can be given
    /// several times.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// Whether the first line of a CSV file holds the names of the columns; found in the file without it.
    #[arg(long, value_enum, value_name = "yes|no")]
    pub(crate) header: Option<YesNo>,
}

impl TableArgs {
    /// The same for the reader of tables.
    pub(crate) fn options(&self) -> TableOptions {
        let mut options = TableOptions { delimiter: self.delimiter, ..TableOptions::default() };
        options.header = self.header.map(|header| header == YesNo::Yes);
        options.missing.extend(self.missing.iter().map(|text| text.trim().to_owned()));
        options
    }
}

/// A model and a table that it is used on.
#[derive(Debug, clap::Args)]
pub(crate) struct UseArgs {
    /// A model that `efmca fit` wrote.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The table: CSV, NPY or NPZ (file.npz:name), with the columns that the model was learned from, in any order.
    #[arg(value_name = "INPUT")]
    pub(crate) input: PathBuf,
    #[command(flatten)]
    pub(crate) table: TableArgs,
    /// Threads; all processors without it. The result is the same for any number.
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<usize>,
    /// Replaces files that are there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What `efmca encode` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct EncodeArgs {
    #[command(flatten)]
    pub(crate) with: UseArgs,
    /// The probabilities, a row for each row of INPUT and a column for each cause: .csv, .tsv, .npy or .npz.
    #[arg(long, short, value_name = "CODES")]
    pub(crate) output: PathBuf,
}

/// What `efmca score` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct ScoreArgs {
    #[command(flatten)]
    pub(crate) with: UseArgs,
    /// The log-likelihoods, one for each row of INPUT: .csv, .tsv, .npy or .npz.
    #[arg(long, short, value_name = "SCORES")]
    pub(crate) output: Option<PathBuf>,
}

/// What `efmca sample` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct SampleArgs {
    /// A model that efmca wrote.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// How many rows.
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) rows: usize,
    /// The rows: .csv, .tsv, .npy or .npz; CSV on standard output without it.
    #[arg(long, short, value_name = "ROWS")]
    pub(crate) output: Option<PathBuf>,
    /// The same number gives the same rows, bit for bit.
    #[arg(long, short, default_value_t = 0, value_name = "N")]
    pub(crate) seed: u64,
    /// Writes which causes were active in each row (1) and which were not (0): .csv, .tsv, .npy or .npz.
    #[arg(long, value_name = "FILE")]
    pub(crate) causes: Option<PathBuf>,
    /// Replaces files that are there.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What `efmca info` can be told.
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// A model that efmca wrote.
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Prints one JSON object for machines.
    #[arg(long)]
    pub(crate) json: bool,
}

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum YesNo {
    /// It does.
    Yes,
    /// It does not.
    No,
}

fn delimiter(text: &str) -> Result<u8, String> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() => Ok(*byte),
        _ => Err("write one character, as ';', or tab".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_one_character() {
        assert_eq!(delimiter(";"), Ok(b';'));
        assert_eq!(delimiter("tab"), Ok(b'\t'));
        assert_eq!(delimiter("\\t"), Ok(b'\t'));
        assert!(delimiter("").is_err() && delimiter(";;").is_err() && delimiter("ä").is_err());
    }
}
