//! Large tables: a million rows of mixed columns, and counts that are mostly zeros.
//!
//! Both are drawn from a model that is known, written to files as people have them, read again and learned. CPU seconds and the
//! peak of memory are those of reading and learning together.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::Path;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::family::{SharedFamily, family};
use efmca::model::Columns;
use efmca::tasks::table::TableLearner;
use efmca::{Background, Model};
use efmca_io::table_file::{Table, TableOptions, read_table};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};
use crate::speed::peak_memory;

/// Rows that are drawn together.
const BLOCK: usize = 2000;
/// The families of the mixed table, one after the other.
const MIXED: [&str; 6] = ["gaussian", "poisson", "bernoulli", "exponential", "gamma:k=4", "negative-binomial:r=5"];

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// Rows of the mixed table of 30 columns.
    #[arg(long, default_value_t = 1_000_000)]
    rows: usize,
    /// Rows of the table of counts with 4,000 columns.
    #[arg(long, default_value_t = 20_000)]
    counts: usize,
    /// The seed of the tables.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What a table took.
#[derive(Debug, Clone, Serialize)]
struct Row {
    name: String,
    /// Megabytes of the file.
    file: f64,
    /// CPU seconds of reading, and of all.
    reading: f64,
    cpu: f64,
    /// Peak memory in megabytes.
    megabytes: f64,
    iterations: usize,
    /// Nats of a row above those of the model that the table was drawn from.
    above: f64,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let folder = std::env::temp_dir().join(format!("efmca-large-tables-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = tables(settings, &folder, out);
    std::fs::remove_dir_all(&folder)?;
    done
}

fn tables(settings: &Settings, folder: &Path, out: &Path) -> Done<()> {
    let mut rows = Vec::new();
    let mixed = mixed_model(settings.seed)?;
    let path = folder.join("mixed.csv");
    write_csv(&path, &mixed, settings.rows, settings.seed)?;
    let learner = TableLearner::new().causes(mixed.h());
    let learner = (0..mixed.d()).fold(learner, |learner, d| learner.column(d, MIXED[d % MIXED.len()]));
    rows.push(learn("mixed", &path, &learner, &mixed)?);
    let counts = count_model(settings.seed)?;
    let path = folder.join("counts.npz");
    write_csr(&path, &counts, settings.counts, settings.seed)?;
    let learner = TableLearner::new().causes(counts.h()).family("poisson").iterations(20);
    rows.push(learn("counts", &path, &learner, &counts)?);
    write(out, "large-tables.md", markdown(&rows).as_bytes())?;
    write(out, "large-tables.json", &serde_json::to_vec_pretty(&rows)?)
}

/// Eight causes over 30 columns of six families.
fn mixed_model(seed: u64) -> Done<Model> {
    let (h, d) = (8, 30);
    let families: Vec<SharedFamily> = (0..d).map(|d| family(MIXED[d % MIXED.len()])).collect::<Result<_, _>>()?;
    let columns = Columns::new(families)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    // a mean for each cause and column: a cause shows in a third of the columns
    let means = Array2::from_shape_fn((h + 1, d), |(cause, _)| match cause < h && random.random::<f64>() < 0.33 {
        true => 3.0 + 6.0 * random.random::<f64>(),
        false => 1.0,
    });
    let mut w = Array2::zeros((h + 1, columns.k()));
    for cause in 0..=h {
        for (d, family, span) in columns.iter() {
            let mean = means[[cause, d]];
            let spec = family.spec();
            let parameters: Vec<f64> = match spec.split(':').next().unwrap_or_default() {
                "gaussian" => vec![mean, mean * mean + 0.5],
                "bernoulli" => vec![mean / 12.0],
                _ => vec![mean],
            };
            span.zip(parameters).for_each(|(k, value)| w[[cause, k]] = value);
        }
    }
    let background = Background::Fixed(w.row(h).to_vec());
    let w = w.slice(ndarray::s![..h, ..]).to_owned();
    Ok(Model::from_parts(columns, Array1::from_elem(h, 0.15), w, background)?)
}

/// Twenty causes over 4,000 columns of counts, of which 4 % are not zero.
fn count_model(seed: u64) -> Done<Model> {
    let (h, d) = (20, 4000);
    let columns = Columns::same(family("poisson")?, d)?;
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let background: Vec<f64> = (0..d).map(|_| 0.002 + 0.016 * random.random::<f64>()).collect();
    let w = Array2::from_shape_fn((h, d), |_| match random.random::<f64>() < 0.06 {
        true => 0.1 + 0.6 * random.random::<f64>(),
        false => 0.001,
    });
    Ok(Model::from_parts(columns, Array1::from_elem(h, 0.1), w, Background::Fixed(background))?)
}

fn write_csv(path: &Path, model: &Model, rows: usize, seed: u64) -> Done<()> {
    let mut file = BufWriter::new(std::fs::File::create(path)?);
    let names: Vec<String> =
        (0..model.d()).map(|d| format!("{}_{d}", MIXED[d % MIXED.len()].replace([':', '='], "_"))).collect();
    writeln!(file, "{}", names.join(","))?;
    let mut line = String::new();
    for (block, start) in (0..rows).step_by(BLOCK).enumerate() {
        let y = model.sample(BLOCK.min(rows - start), seed + block as u64).y;
        for row in y.rows() {
            line.clear();
            for (d, value) in row.iter().enumerate() {
                let comma = if d == 0 { "" } else { "," };
                let _ = match value.fract() == 0.0 {
                    true => write!(line, "{comma}{value}"),
                    false => write!(line, "{comma}{value:.6}"),
                };
            }
            writeln!(file, "{line}")?;
        }
    }
    Ok(file.flush()?)
}

/// Writes counts as `scipy.sparse.save_npz` does.
fn write_csr(path: &Path, model: &Model, rows: usize, seed: u64) -> Done<()> {
    let (mut starts, mut columns, mut values) = (vec![0_usize], Vec::new(), Vec::new());
    for (block, start) in (0..rows).step_by(BLOCK).enumerate() {
        let y = model.sample(BLOCK.min(rows - start), seed + block as u64).y;
        for row in y.rows() {
            for (d, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                columns.push(d as u32);
                values.push(*value);
            }
            starts.push(values.len());
        }
    }
    say(&format!("{:.2} % of the counts are not zero", 100.0 * values.len() as f64 / (rows * model.d()) as f64));
    let sparse = efmca::SparseRows::new(model.d(), starts, columns, values)?;
    Ok(efmca_io::table_file::write_sparse(path, &sparse, true)?)
}

fn learn(name: &str, path: &Path, learner: &TableLearner, truth: &Model) -> Done<Row> {
    // the peak of this table alone, where the system can do that
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let start = ProcessTime::now();
    let table: Table = read_table(path, &TableOptions { keep_rows: true, ..TableOptions::default() })?;
    let reading = start.elapsed().as_secs_f64();
    let observer = &mut |_: &efmca::em::Progress<'_>| std::ops::ControlFlow::Continue(());
    let learned = match &table.rows {
        Some(rows) => learner.run_data(rows.data(), observer)?,
        None => learner.run_observed(table.values.view(), observer)?,
    };
    let (cpu, megabytes) = (start.elapsed().as_secs_f64(), peak_memory());
    let (n, d) = (table.data().n(), table.data().d());
    let mut first = Array2::zeros((n.min(BLOCK), d));
    for (n, mut row) in first.outer_iter_mut().enumerate() {
        if let Some(row) = row.as_slice_mut() {
            table.data().read_row(n, row);
        }
    }
    let above = learned.fit.model.log_likelihood(&first)? - truth.log_likelihood(&first)?;
    let row = Row {
        name: format!("{n} x {d} {name}, {} causes", truth.h()),
        file: std::fs::metadata(path)?.len() as f64 / 1e6,
        reading,
        cpu,
        megabytes,
        iterations: learned.fit.history.len(),
        above: above / first.nrows() as f64,
    };
    say(&format!("{}: {cpu:.0} CPU s ({reading:.1} to read), {megabytes:.0} MB", row.name));
    Ok(row)
}

fn markdown(rows: &[Row]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let mut page = format!(
        "# Large tables\n\nMade by `cargo run --release -p experiments -- {}`.\n\nTables drawn from a known model, written to a \
         file (CSV, and a sparse matrix as `scipy.sparse.save_npz` writes it), read and learned with given families and \
         causes. The last column is the log-likelihood of {BLOCK} rows above that of the model that they were drawn from, in \
         nats a row.\n\n| table | file, MB | CPU s to read | CPU s | peak MB | iterations on all rows | above the truth |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        command.join(" ")
    );
    for row in rows {
        let _ = writeln!(
            page,
            "| {} | {:.0} | {:.1} | {:.0} | {:.0} | {} | {:.3} |",
            row.name, row.file, row.reading, row.cpu, row.megabytes, row.iterations, row.above
        );
    }
    page
}
