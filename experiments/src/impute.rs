//! Missing cells of tables: what is filled in, next to column means and the imputers of scikit-learn.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use cpu_time::ProcessTime;
use efmca::tasks::impute::{CellKind, Imputer};
use efmca::tasks::table::TableLearner;
use efmca_io::table_file::{TableOptions, read_table, write_table};
use ndarray::{Array2, Axis, concatenate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::Serialize;

use crate::output::{Done, say, write};

/// The tables of the benchmark.
const TABLES: [&str; 6] = ["abalone", "australian", "dermatology", "german", "student", "wine"];
/// The imputers of scikit-learn that are run beside ours.
const PEERS: [(&str, &str); 3] =
    [("mean", "SimpleImputer"), ("iterative", "IterativeImputer"), ("neighbours", "KNNImputer")];

/// Settings of the experiment.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// The folder with NAME-train.csv, NAME-valid.csv and NAME-test.csv.
    #[arg(long)]
    tables: PathBuf,
    /// These tables instead of the six of the benchmark.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The rows whose cells are hidden: test, or valid while settings are chosen.
    #[arg(long, default_value = "test")]
    rows: String,
    /// The share of the cells that is hidden.
    #[arg(long, default_value_t = 0.1)]
    share: f64,
    /// Hides cells of all rows, train and others together, and learns from what is left of them, as someone would who has
    /// one table. Without it models are learned from the complete train rows.
    #[arg(long)]
    together: bool,
    /// Choices of the hidden cells.
    #[arg(long, default_value_t = 5)]
    masks: u64,
    /// A Python with numpy and scikit-learn, for the peers.
    #[arg(long)]
    python: Option<PathBuf>,
    /// The number of causes; without it as many as predict best.
    #[arg(long)]
    causes: Option<usize>,
    /// Leaves the regression of what the causes leave away.
    #[arg(long)]
    causes_only: bool,
}

/// What one imputer gave on one table.
#[derive(Debug, Clone, Serialize)]
struct Outcome {
    table: String,
    method: String,
    mask: u64,
    /// The root of the mean square error in standard deviations of the column, over columns of numbers.
    error: Option<f64>,
    /// The share of codes that are right, over columns of codes.
    accuracy: Option<f64>,
    cpu: f64,
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let names: Vec<String> = match settings.only.is_empty() {
        true => TABLES.map(str::to_owned).to_vec(),
        false => settings.only.clone(),
    };
    let mut found: Vec<Outcome> = Vec::new();
    for name in &names {
        for mask in 0..settings.masks {
            let case = Case::new(settings, name, mask)?;
            let mut outcomes = case.of_peers(settings)?;
            outcomes.push(case.of_ours(settings)?);
            for one in &outcomes {
                let number = |value: Option<f64>| value.map_or("-".into(), |value| format!("{value:.4}"));
                say(&format!(
                    "{name}, mask {mask}, {}: error {}, accuracy {}, {:.1} CPU s",
                    one.method,
                    number(one.error),
                    number(one.accuracy),
                    one.cpu
                ));
            }
            found.append(&mut outcomes);
        }
    }
    let file = if settings.together { "impute-together" } else { "impute" };
    write(out, &format!("{file}.json"), &serde_json::to_vec_pretty(&found)?)?;
    write(out, &format!("{file}.md"), markdown(settings, &names, &found).as_bytes())
}

/// A table with some cells hidden.
struct Case {
    name: String,
    mask: u64,
    names: Vec<String>,
    learn: Array2<f64>,
    masked: Array2<f64>,
    complete: Array2<f64>,
}

impl Case {
    fn new(settings: &Settings, name: &str, mask: u64) -> Done<Case> {
        let read = |part: &str| {
            let path = settings.tables.join(format!("{name}-{part}.csv"));
            read_table(&path, &TableOptions::default())
        };
        let (train, other) = (read("train")?, read(&settings.rows)?);
        if train.names != other.names {
            return Err(format!("{name}: train and {} have different columns", settings.rows).into());
        }
        let complete = match settings.together {
            true => concatenate(Axis(0), &[train.values.view(), other.values.view()])?,
            false => other.values,
        };
        let mut rng = ChaCha8Rng::seed_from_u64(mask);
        let mut masked = complete.clone();
        // a row keeps a cell, and a column its first one
        for (n, mut row) in masked.outer_iter_mut().enumerate() {
            let hidden: Vec<bool> = row.iter().map(|_| rng.random::<f64>() < settings.share && n > 0).collect();
            if hidden.iter().all(|hidden| *hidden) {
                continue;
            }
            row.iter_mut().zip(hidden).filter(|(_, hidden)| *hidden).for_each(|(cell, _)| *cell = f64::NAN);
        }
        let learn = if settings.together { masked.clone() } else { train.values };
        Ok(Case { name: name.to_owned(), mask, names: train.names, learn, masked, complete })
    }

    fn of_ours(&self, settings: &Settings) -> Done<Outcome> {
        let started = ProcessTime::now();
        let mut learner = TableLearner::new();
        if let Some(causes) = settings.causes {
            learner = learner.causes(causes);
        }
        let imputer = Imputer::new().learner(learner).regression(!settings.causes_only);
        let trained = imputer.train(self.learn.view(), &mut |_| std::ops::ControlFlow::Continue(()))?;
        let filled = trained.fill(self.masked.view())?;
        let cpu = started.elapsed().as_secs_f64();
        say(&format!("  {} causes, {}", trained.model().h(), trained.model().columns().specs().join(" ")));
        Ok(self.outcome("efmca impute", &filled.values, cpu))
    }

    fn of_peers(&self, settings: &Settings) -> Done<Vec<Outcome>> {
        let Some(python) = &settings.python else {
            return Ok(vec![self.outcome("column means", &self.means(), 0.0)]);
        };
        let folder = std::env::temp_dir().join(format!("efmca-impute-{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let [learn, masked, filled] = ["learn.csv", "masked.csv", "filled.csv"].map(|name| folder.join(name));
        write_table(&learn, &self.names, self.learn.view(), true)?;
        write_table(&masked, &self.names, self.masked.view(), true)?;
        let mut found = vec![self.outcome("column means", &self.means(), 0.0)];
        for (method, name) in PEERS.iter().skip(1) {
            let done = Command::new(python)
                .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/impute.py"))
                .args([&learn, &masked])
                .arg(method)
                .arg(&filled)
                .output()?;
            if !done.status.success() {
                return Err(format!("{name}: {}", String::from_utf8_lossy(&done.stderr)).into());
            }
            let cpu = String::from_utf8_lossy(&done.stdout).trim().parse().unwrap_or(f64::NAN);
            let values = read_table(&filled, &TableOptions::default())?.values;
            found.push(self.outcome(name, &values, cpu));
        }
        std::fs::remove_dir_all(&folder)?;
        Ok(found)
    }

    /// The codes of a column in the rows that were learned from; none if it has numbers.
    fn codes(&self, d: usize) -> Vec<f64> {
        let mut values: Vec<f64> = self.learn.column(d).iter().copied().filter(|value| !value.is_nan()).collect();
        let present = values.len();
        values.sort_by(f64::total_cmp);
        values.dedup();
        if values.len() <= 10.min(present / 5).max(2) { values } else { Vec::new() }
    }

    /// Means of numbers, most frequent codes.
    fn means(&self) -> Array2<f64> {
        let mut filled = self.masked.clone();
        for (d, mut column) in filled.columns_mut().into_iter().enumerate() {
            let present: Vec<f64> = self.learn.column(d).iter().copied().filter(|value| !value.is_nan()).collect();
            let times = |code: &f64| present.iter().filter(|value| *value == code).count();
            let value = match self.codes(d).iter().copied().max_by_key(times) {
                Some(code) => code,
                None => present.iter().sum::<f64>() / present.len().max(1) as f64,
            };
            column.iter_mut().filter(|cell| cell.is_nan()).for_each(|cell| *cell = value);
        }
        filled
    }

    fn outcome(&self, method: &str, filled: &Array2<f64>, cpu: f64) -> Outcome {
        let (mut errors, mut right) = (Vec::new(), Vec::new());
        for d in 0..self.complete.ncols() {
            let hidden: Vec<usize> = (0..self.complete.nrows())
                .filter(|n| self.masked[[*n, d]].is_nan() && !self.complete[[*n, d]].is_nan())
                .collect();
            let codes = self.codes(d);
            if hidden.is_empty() || codes.len() == 1 {
                continue;
            }
            let average = |of: &dyn Fn(usize) -> f64| hidden.iter().map(|n| of(*n)).sum::<f64>() / hidden.len() as f64;
            if kind_of(&codes) == CellKind::Code {
                let nearest = |value: f64| {
                    let far = |code: &f64| (code - value).abs();
                    codes.iter().copied().min_by(|a, b| far(a).total_cmp(&far(b))).unwrap_or(value)
                };
                right.push(average(&|n| f64::from(u8::from(nearest(filled[[n, d]]) == self.complete[[n, d]]))));
                continue;
            }
            let learn: Vec<f64> = self.learn.column(d).iter().copied().filter(|value| !value.is_nan()).collect();
            let mean = learn.iter().sum::<f64>() / learn.len() as f64;
            let variance = learn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / learn.len() as f64;
            errors.push(average(&|n| (filled[[n, d]] - self.complete[[n, d]]).powi(2)) / variance);
        }
        let average = |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        Outcome {
            table: self.name.clone(),
            method: method.to_owned(),
            mask: self.mask,
            error: average(&errors).map(f64::sqrt),
            accuracy: average(&right),
            cpu,
        }
    }
}

fn kind_of(codes: &[f64]) -> CellKind {
    if codes.is_empty() { CellKind::Number } else { CellKind::Code }
}

/// The average over masks of what `of` takes from the outcomes of a method.
fn average(found: &[Outcome], table: &str, method: &str, of: impl Fn(&Outcome) -> Option<f64>) -> Option<f64> {
    let values: Vec<f64> =
        found.iter().filter(|one| one.table == table && one.method == method).filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn markdown(settings: &Settings, names: &[String], found: &[Outcome]) -> String {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let rows = if settings.together {
        "all rows, which are learned from as they are left"
    } else {
        "the rows that were not learned from"
    };
    let mut page = format!(
        "# Missing cells\n\nMade by `cargo run --release -p experiments -- {}`. {} % of the cells of {rows} are hidden, and filled in; \
         averages over {} choices of these cells. Error: the root of the mean square difference in standard deviations of the \
         column, over columns of numbers. Accuracy: the share of codes that are right, over columns of up to ten codes; numbers \
         between codes count as the nearest. Column means are most frequent codes in columns of codes. Imputers of scikit-learn \
         have their default settings (`experiments/peers/impute.py`).\n\n",
        command.join(" "),
        settings.share * 100.0,
        settings.masks,
    );
    let mut methods: Vec<&str> = Vec::new();
    for one in found {
        if !methods.contains(&one.method.as_str()) {
            methods.push(&one.method);
        }
    }
    for (title, digits, of) in [
        ("Error of numbers (smaller is better)", 4, (|one| one.error) as fn(&Outcome) -> Option<f64>),
        ("Accuracy of codes (larger is better)", 4, |one| one.accuracy),
        ("CPU seconds", 1, |one| Some(one.cpu)),
    ] {
        let _ = writeln!(page, "## {title}\n\n| table | {} |", methods.join(" | "));
        let _ = writeln!(page, "| --- |{}", " ---: |".repeat(methods.len()));
        for name in names {
            let cells: Vec<String> = methods
                .iter()
                .map(|method| average(found, name, method, of).map_or("-".into(), |value| format!("{value:.digits$}")))
                .collect();
            let _ = writeln!(page, "| {name} | {} |", cells.join(" | "));
        }
        let _ = writeln!(page);
    }
    page
}
