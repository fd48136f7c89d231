//! Real tables: the log-likelihood of test rows and of masked cells, next to independent columns and other programs.

mod score;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;
use cpu_time::ProcessTime;
use efmca::tasks::table::TableLearner;
use efmca_io::table_file::{TableOptions, read_table};
use ndarray::{Array2, s};
use serde::Serialize;

use self::score::{Scorer, step_of};
use crate::output::{Done, say, write};

/// What to run.
#[derive(Args, Clone)]
pub(crate) struct Settings {
    /// The folder of NAME-train.csv, NAME-valid.csv and NAME-test.csv.
    #[arg(long, value_name = "DIR")]
    tables: PathBuf,
    /// Names of tables (default: all).
    #[arg(long, value_delimiter = ',')]
    names: Vec<String>,
    /// What `experiments/peers/tables.py` wrote.
    #[arg(long, value_name = "TSV")]
    peers: Option<PathBuf>,
    /// Numbers of causes, of which the valid rows choose one. After a number that is worse than the one before, no more are tried.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8, 16, 32])]
    causes: Vec<usize>,
    /// The seed of all trainings.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Scores of a method on a table.
#[derive(Serialize, Clone)]
struct Line {
    table: String,
    method: String,
    setting: String,
    /// Nats of a row.
    row: f64,
    /// Nats of a masked cell, with 10 % and with 50 % of the cells masked.
    cells: [f64; 2],
    cpu: f64,
}

/// The three parts of a table.
struct Table {
    name: String,
    train: Array2<f64>,
    valid: Array2<f64>,
    test: Array2<f64>,
    steps: Vec<f64>,
}

impl Table {
    fn read(folder: &Path, name: &str) -> Done<Table> {
        let part = |part: &str| -> Done<Array2<f64>> {
            Ok(read_table(&folder.join(format!("{name}-{part}.csv")), &TableOptions::default())?.values)
        };
        let (train, valid, test) = (part("train")?, part("valid")?, part("test")?);
        let steps = train.columns().into_iter().map(|column| step_of(column.iter().copied())).collect();
        Ok(Table { name: name.to_owned(), train, valid, test, steps })
    }

    fn line(&self, method: &str, setting: String, scores: [f64; 3], cpu: f64) -> Line {
        let [row, some, half] = scores;
        Line { table: self.name.clone(), method: method.to_owned(), setting, row, cells: [some, half], cpu }
    }

    /// Families by `TableLearner` with its defaults, then the number of causes that gives valid rows the highest probability.
    fn ours(&self, settings: &Settings) -> Done<Line> {
        let cpu = ProcessTime::now();
        let learner = TableLearner::new().seed(settings.seed);
        let first = learner.clone().causes(8).run(self.train.view())?;
        let given =
            (first.families.iter().enumerate()).fold(learner, |learner, (d, family)| learner.column(d, family.clone()));
        let mut best: Option<(f64, efmca::Model)> = None;
        for causes in &settings.causes {
            let model = given.clone().causes(*causes).run(self.train.view())?.fit.model;
            let score = Scorer::new(&model, &self.steps).mean(self.valid.view(), None)?;
            say(&format!(
                "{}: {causes} causes: {score:.3} on valid, {:.0} CPU s so far",
                self.name,
                cpu.elapsed().as_secs_f64()
            ));
            if best.as_ref().is_some_and(|(best, _)| score <= *best) {
                break;
            }
            best = Some((score, model));
        }
        let (_, model) = best.ok_or("--causes: give one at least")?;
        let families: Vec<String> = first.families.iter().map(|family| family.spec()).collect();
        say(&format!("{}: {}", self.name, families.join(", ")));
        let scorer = Scorer::new(&model, &self.steps);
        let test = self.test.view();
        let scores = [scorer.mean(test, None)?, scorer.mean(test, Some(0.1))?, scorer.mean(test, Some(0.5))?];
        Ok(self.line("efmca", format!("{} causes", model.h()), scores, cpu.elapsed().as_secs_f64()))
    }

    /// A model of one cause for each column by itself, which is a mixture of two.
    fn independent(&self, settings: &Settings) -> Done<Line> {
        let cpu = ProcessTime::now();
        let whole: Vec<usize> =
            (0..self.test.nrows()).filter(|n| !self.test.row(*n).iter().any(|cell| cell.is_nan())).collect();
        let (mut row, mut cells) = (0.0, [(0.0, 0usize); 2]);
        for d in 0..self.train.ncols() {
            let column = |table: &Array2<f64>| table.slice(s![.., d..=d]).to_owned();
            let train = column(&self.train);
            let model = TableLearner::new().causes(1).seed(settings.seed).run(train.view())?.fit.model;
            let scorer = Scorer::new(&model, &self.steps[d..=d]);
            let score = |n: usize| scorer.mean(self.test.slice(s![n..=n, d..=d]), None);
            row += whole.iter().map(|n| score(*n)).sum::<Done<f64>>()? / whole.len().max(1) as f64;
            for (share, (sum, count)) in [0.1, 0.5].into_iter().zip(&mut cells) {
                for n in (0..self.test.nrows()).filter(|n| score::masked(*n, d, self.test.ncols(), share)) {
                    if !self.test[[n, d]].is_nan() {
                        (*sum, *count) = (*sum + score(n)?, *count + 1);
                    }
                }
            }
        }
        let mean = |(sum, count): (f64, usize)| sum / count.max(1) as f64;
        let scores = [row, mean(cells[0]), mean(cells[1])];
        Ok(self.line("independent columns", "one cause each".to_owned(), scores, cpu.elapsed().as_secs_f64()))
    }
}

/// The lines of other programs.
fn peers(path: &Path) -> Done<Vec<Line>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let line = |(number, line): (usize, &str)| -> Done<Line> {
        let cells: Vec<&str> = line.split('\t').collect();
        let number_at = |at: usize| cells.get(at).and_then(|cell| cell.parse::<f64>().ok());
        let found = (|| {
            Some(Line {
                table: (*cells.first()?).to_owned(),
                method: (*cells.get(1)?).to_owned(),
                setting: (*cells.get(2)?).to_owned(),
                row: number_at(3)?,
                cells: [number_at(4)?, number_at(5)?],
                cpu: number_at(6)?,
            })
        })();
        let wrong = || {
            format!(
                "{}, line {}: table, method, setting, three scores and CPU seconds are needed",
                path.display(),
                number + 1
            )
        };
        Ok(found.ok_or_else(wrong)?)
    };
    text.lines().enumerate().map(line).collect()
}

pub(crate) fn run(settings: &Settings, out: &Path) -> Done<()> {
    let peers = settings.peers.as_deref().map_or(Ok(Vec::new()), peers)?;
    let mut lines = Vec::new();
    for name in names(settings)? {
        let table = Table::read(&settings.tables, &name)?;
        for line in [table.ours(settings)?, table.independent(settings)?] {
            say(&markdown_of(&line));
            lines.push(line);
        }
        lines.extend(peers.iter().filter(|line| line.table == name).cloned());
        // what is there is kept if a later table fails
        write(out, "tables.md", markdown(settings, &lines).as_bytes())?;
    }
    write(out, "tables.json", serde_json::to_string_pretty(&lines)?.as_bytes())
}

/// The names of the tables.
fn names(settings: &Settings) -> Done<Vec<String>> {
    if !settings.names.is_empty() {
        return Ok(settings.names.clone());
    }
    let folder = &settings.tables;
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix("-train.csv").map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn markdown_of(line: &Line) -> String {
    let Line { table, method, setting, row, cells: [some, half], cpu } = line;
    format!("| {table} | {method} | {setting} | {row:.2} | {some:.3} | {half:.3} | {cpu:.0} |")
}

fn markdown(settings: &Settings, lines: &[Line]) -> String {
    let mut text = String::from("# Real tables\n\n");
    let causes: Vec<String> = settings.causes.iter().map(ToString::to_string).collect();
    let _ = writeln!(
        text,
        "Made by `python experiments/peers/tables.py DIR peers.tsv` and `cargo run --release -p experiments -- tables --tables DIR \
         --peers peers.tsv --causes {} --seed {}`.\n",
        causes.join(","),
        settings.seed
    );
    text += "Log-probabilities in nats, of complete test rows and of masked test cells given the others of their row. Every value \
             stands for the interval of one step around it (the largest of 1, 0.5, 0.1, … of which 95 % of the column are \
             multiples), for all methods. Everything is fitted on train; the number of causes, of components or of factors is \
             chosen on valid. Models with more than 11 causes are summed over 100 states a row, which is a lower bound. Independent \
             columns are a mixture of two members of the best family, for each column by itself.\n\n";
    text += "| table | method | chosen | a row | a cell, 10 % masked | a cell, 50 % masked | CPU s |\n\
             | --- | --- | --- | ---: | ---: | ---: | ---: |\n";
    for line in lines {
        text += &markdown_of(line);
        text += "\n";
    }
    text +=
        "\nBy how much the model of causes is ahead of the best of the others (negative: behind), in nats a row:\n\n";
    for ours in lines.iter().filter(|line| line.method == "efmca") {
        let others = lines.iter().filter(|line| line.table == ours.table && line.method != "efmca");
        if let Some(best) = others.max_by(|a, b| a.row.total_cmp(&b.row)) {
            let _ = writeln!(text, "- {}: {:+.2} ({})", ours.table, ours.row - best.row, best.method);
        }
    }
    text
}
