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

use self::score::{RowScore, Scorer, chosen, mean, step_of};
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
    /// Numbers of causes, of which the valid rows choose one. After a number that is worse than the two before, no more are tried.
    #[arg(long, value_delimiter = ',', default_values_t = [2, 4, 8, 16, 32, 64, 128])]
    causes: Vec<usize>,
    /// Models with the chosen number of causes and different seeds. The average is of those among them, and of those with other
    /// numbers, that together give the valid rows the highest probability.
    #[arg(long, default_value_t = 8)]
    models: usize,
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

/// A model that was trained, and the probabilities that it gives valid rows.
struct Candidate {
    model: efmca::Model,
    rows: Vec<RowScore>,
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

    /// Families by `TableLearner` with its defaults, then the number of causes that gives valid rows the highest probability; and the
    /// average of several models that does.
    fn ours(&self, settings: &Settings) -> Done<[Line; 2]> {
        let cpu = ProcessTime::now();
        let learner = TableLearner::new().seed(settings.seed);
        let first = learner.clone().causes(8).run(self.train.view())?;
        let given =
            (first.families.iter().enumerate()).fold(learner, |learner, (d, family)| learner.column(d, family.clone()));
        let mut tried: Vec<Candidate> = Vec::new();
        let tries = |tried: &mut Vec<Candidate>, causes: usize, seed: u64| -> Done<f64> {
            let model = given.clone().causes(causes).seed(seed).run(self.train.view())?.fit.model;
            let rows = Scorer::new(&model, &self.steps).rows(self.valid.view(), None)?;
            let score = mean(&[&rows], None);
            let spent = cpu.elapsed().as_secs_f64();
            say(&format!("{}: {causes} causes, seed {seed}: {score:.3} on valid, {spent:.0} CPU s so far", self.name));
            tried.push(Candidate { model, rows });
            Ok(score)
        };
        let mut scores: Vec<f64> = Vec::new();
        for causes in &settings.causes {
            let score = tries(&mut tried, *causes, settings.seed)?;
            let worse = scores.iter().rev().take(2).filter(|before| score <= **before).count();
            scores.push(score);
            if worse == 2 {
                break;
            }
        }
        let best = (0..scores.len()).max_by(|a, b| scores[*a].total_cmp(&scores[*b]));
        let best = best.ok_or("--causes: give one at least")?;
        let one = self.scored("efmca, one model", &[(&tried[best], 1)], cpu.elapsed().as_secs_f64())?;
        for other in 1..settings.models as u64 {
            tries(&mut tried, settings.causes[best], settings.seed + other)?;
        }
        let rows: Vec<&Vec<RowScore>> = tried.iter().map(|candidate| &candidate.rows).collect();
        let mut picked: Vec<(&Candidate, usize)> = tried.iter().map(|candidate| (candidate, 0)).collect();
        chosen(&rows).into_iter().for_each(|place| picked[place].1 += 1);
        picked.retain(|(_, times)| *times > 0);
        let families: Vec<String> = first.families.iter().map(|family| family.spec()).collect();
        say(&format!("{}: {}", self.name, families.join(", ")));
        Ok([self.scored("efmca", &picked, cpu.elapsed().as_secs_f64())?, one])
    }

    /// The scores of the average of some models on the test rows; each counts as often as it was picked.
    fn scored(&self, method: &str, picked: &[(&Candidate, usize)], cpu: f64) -> Done<Line> {
        let score = |share: Option<f64>| -> Done<f64> {
            let rows = (picked.iter())
                .map(|(candidate, _)| Scorer::new(&candidate.model, &self.steps).rows(self.test.view(), share))
                .collect::<Done<Vec<_>>>()?;
            // one that was picked several times counts as often
            let members = rows.iter().zip(picked).flat_map(|(rows, (_, times))| std::iter::repeat_n(rows, *times));
            Ok(mean(&members.collect::<Vec<_>>(), share))
        };
        let causes = |(candidate, _): &(&Candidate, usize)| candidate.model.h();
        let (low, high) = (picked.iter().map(causes).min(), picked.iter().map(causes).max());
        let setting = match (low.unwrap_or(0), high.unwrap_or(0)) {
            (low, high) if low == high => format!("{high} causes"),
            (low, high) => format!("{low} to {high} causes"),
        };
        Ok(self.line(method, setting, [score(None)?, score(Some(0.1))?, score(Some(0.5))?], cpu))
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
        let [average, one] = table.ours(settings)?;
        for line in [average, one, table.independent(settings)?] {
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
         --peers peers.tsv --causes {} --models {} --seed {}`.\n",
        causes.join(","),
        settings.models,
        settings.seed
    );
    text += "Log-probabilities in nats, of complete test rows and of masked test cells given the others of their row. Every value \
             stands for the interval of one step around it (the largest of 1, 0.5, 0.1, … of which 95 % of the column are \
             multiples), for all methods. Everything is fitted on train; the number of causes, of components or of factors is \
             chosen on valid. `efmca` is the average of several models with different seeds and numbers of causes, which is chosen on \
             valid too. Models with more than 11 causes are summed over 100 states a row, which is a lower bound. Independent \
             columns are a mixture of two members of the best family, for each column by itself.\n\n";
    text += "| table | method | chosen | a row | a cell, 10 % masked | a cell, 50 % masked | CPU s |\n\
             | --- | --- | --- | ---: | ---: | ---: | ---: |\n";
    for line in lines {
        text += &markdown_of(line);
        text += "\n";
    }
    text += "\nBy how much it is ahead of the best of the others (negative: behind), in nats a row, and one model alone:\n\n";
    for ours in lines.iter().filter(|line| line.method == "efmca") {
        let others = lines.iter().filter(|line| line.table == ours.table && !line.method.starts_with("efmca"));
        let one = lines.iter().find(|line| line.table == ours.table && line.method == "efmca, one model");
        if let (Some(best), Some(one)) = (others.max_by(|a, b| a.row.total_cmp(&b.row)), one) {
            let (ahead, alone) = (ours.row - best.row, one.row - best.row);
            let _ = writeln!(text, "- {}: {ahead:+.2}, alone {alone:+.2} ({})", ours.table, best.method);
        }
    }
    text
}
