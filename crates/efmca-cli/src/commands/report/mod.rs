//! `efmca report`: a page about a table and the causes of a model, and the same numbers as JSON and CSV. `efmca fit --report`
//! makes it as well.

mod csv;
mod json;
mod page;

use std::path::PathBuf;

use efmca::Observer;
use efmca::tasks::overview::{Effect, Grouping, Overview, TableOverview};
use efmca::tasks::select::CauseChoice;
use efmca_io::table_file::{Kind, Table, read_table, shown};
use efmca_io::{ModelFile, ModelRows, read_model_file, write_atomically};
use efmca_view::Report;
use ndarray::{Array2, ArrayView2, Axis};

use crate::args::common::{ForceArgs, SeedArgs, TableArgs, WorkArgs};
use crate::commands::fit::causes::{number, percent};
use crate::commands::impute::place_of;
use crate::commands::views;
use crate::errors::{Origin, TableOrigin};
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::{Screen, file_name};

/// Groups of rows, at the most.
const MOST_GROUPS: usize = 50;
/// Effects of a cause that are named.
const EFFECTS: usize = 6;
/// Causes that are shown in the terminal.
const SHOWN: usize = 12;

/// The numbers of a report for programs, and the groups of rows that it compares.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReportOptions {
    /// Compares how often each cause is on in groups of rows: those with the same value in this column (by its name, or by
    /// its number counted from 1), from which nothing is learned.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) by: Option<String>,
    /// Writes the numbers of the report, as docs/TABLES.md describes them (.json).
    #[arg(long, value_name = "FILE.json")]
    pub(crate) json: Option<PathBuf>,
    /// Writes the numbers of the report to this folder: columns.csv, causes.csv, effects.csv, rows.csv and, with --by,
    /// groups.csv.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) csv: Option<PathBuf>,
}

impl ReportOptions {
    /// The files that it writes.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        let names: &[&str] = if self.by.is_some() { &csv::NAMES } else { &csv::NAMES[..csv::NAMES.len() - 1] };
        let of_folder = self.csv.iter().flat_map(|folder| names.iter().map(|name| folder.join(name)));
        self.json.iter().cloned().chain(of_folder).collect()
    }

    /// Whether anything needs an overview.
    pub(crate) fn wanted(&self) -> bool {
        self.by.is_some() || self.json.is_some() || self.csv.is_some()
    }
}

/// The options of `efmca report`.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// A model written by `efmca fit`.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// The table, with the columns that the model was learned from, in any order.
    #[arg(value_name = "INPUT")]
    input: PathBuf,
    /// The page.
    #[arg(long, short, value_name = "FILE.html")]
    output: PathBuf,
    #[command(flatten)]
    options: ReportOptions,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    work: WorkArgs,
    #[command(flatten)]
    force: ForceArgs,
}

/// What a report is made of.
pub(crate) struct TableReport<'a> {
    pub(crate) file: &'a ModelFile,
    pub(crate) overview: TableOverview,
    /// The column of the groups.
    pub(crate) by: Option<String>,
    pub(crate) rows: usize,
    pub(crate) choice: Option<&'a CauseChoice>,
}

/// Makes a report.
pub(crate) fn run(args: &ReportArgs) -> Result<(), Failure> {
    args.work.set_threads()?;
    let files = args.options.files();
    let results = std::iter::once(&args.output).chain(&files).map(|path| Some(Output::File(path)));
    outputs::check(results, &[&args.model, &args.input], args.force.force)?;
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    let mut table = read_table(&args.input, &args.table.options()).map_err(Failure::input)?;
    let by = args.options.by.as_deref().map(|by| Groups::take(by, &mut table)).transpose()?;
    let wrong = |problem| Failure::input(format!("{}: {problem}", args.input.display()));
    let ModelRows { values, changes, .. } = file.rows_of(&table).map_err(wrong)?;
    let values = file.prepared(values).map_err(wrong)?;
    let (names, labels) = (file.column_names(), &file.labels);
    let origin = TableOrigin { path: &args.input, names: &names, labels, step: 1, learning: false };
    let mut watch = Watch::new(args.work.log_format);
    let report = TableReport::new(&file, values.view(), by, args.seed.seed, None, &mut |step| watch.see(step));
    watch.finish();
    let report = report.map_err(|error| Origin::Table(origin).describe(&error))?;
    let title = format!("{} and {}", file_name(&args.input), file_name(&args.model));
    let about = [("table", &args.input), ("model", &args.model)];
    let about = about.map(|(what, path)| (what.to_owned(), path.display().to_string())).to_vec();
    let (page, mut rescue) = (report.page(title, about)?, Rescue::default());
    rescue.write(&args.output, |path| page.write(path, args.force.force));
    report.write_numbers(&args.options, rescue)?;
    let mut screen = Screen::beside_files();
    screen.notes(&args.input, &changes)?;
    for line in report.lines() {
        screen.say(&line)?;
    }
    let written: Vec<String> =
        std::iter::once(&args.output).chain(&files).map(|path| path.display().to_string()).collect();
    Ok(screen.say(&format!("wrote {}", written.join(", ")))?)
}

/// Groups of rows by a column that is no longer in the table.
pub(crate) struct Groups {
    column: String,
    grouping: Grouping,
}

impl Groups {
    /// Takes the column that was typed out of the table.
    pub(crate) fn take(typed: &str, table: &mut Table) -> Result<Groups, Failure> {
        let wrong = |problem: String| Failure::input(format!("--by {typed}: {problem}"));
        let place = place_of(typed, &table.names).map_err(wrong)?;
        if table.names.len() == 1 {
            return Err(wrong("it is the only column, so that nothing is left to learn from".to_owned()));
        }
        let cells = table.values.column(place).to_owned();
        let (names, of_rows) = match &table.kinds[place] {
            Kind::Labels(labels) => {
                (labels.clone(), cells.iter().map(|cell| (!cell.is_nan()).then_some(*cell as usize)).collect())
            }
            _ => {
                let mut values: Vec<f64> = cells.iter().copied().filter(|cell| !cell.is_nan()).collect();
                values.sort_by(f64::total_cmp);
                values.dedup();
                let group = |cell: &f64| values.iter().position(|value| value == cell);
                let found: Vec<Option<usize>> = match values.len() {
                    0..=MOST_GROUPS => cells.iter().map(group).collect(),
                    _ => Vec::new(),
                };
                (values.iter().map(ToString::to_string).collect::<Vec<String>>(), found)
            }
        };
        if names.len() > MOST_GROUPS {
            let problem = format!("column {} has {} different values", shown(&table.names[place]), names.len());
            return Err(wrong(format!("{problem}; give one with {MOST_GROUPS} at the most, such as a label")));
        }
        let kept: Vec<usize> = (0..table.names.len()).filter(|d| *d != place).collect();
        let column = table.names.remove(place);
        table.kinds.remove(place);
        table.values = table.values.select(Axis(1), &kept);
        Ok(Groups { column, grouping: Grouping::new(names, of_rows) })
    }
}

/// A report for those who call it without a terminal: the Python package.
pub struct TablePage<'a>(TableReport<'a>);

impl<'a> TablePage<'a> {
    /// Looks at rows of the columns of a model; `by` is the name of groups, and the groups.
    ///
    /// # Errors
    ///
    /// Those of [`Overview::run_observed`].
    pub fn new(
        file: &'a ModelFile,
        values: ArrayView2<'_, f64>,
        by: Option<(String, Grouping)>,
        seed: u64,
        observer: &mut Observer<'_>,
    ) -> efmca::Result<TablePage<'a>> {
        let by = by.map(|(column, grouping)| Groups { column, grouping });
        TableReport::new(file, values, by, seed, None, observer).map(TablePage)
    }

    /// The numbers, as docs/TABLES.md describes them.
    #[must_use]
    pub fn json(&self) -> String {
        json::json_of(&self.0).to_string()
    }

    /// The page.
    ///
    /// # Errors
    ///
    /// What cannot be drawn, in words.
    pub fn html(&self, title: &str) -> Result<String, String> {
        let page = self.0.page(title.to_owned(), Vec::new());
        let page = page.map_err(|failure| failure.to_string())?;
        page.to_html().map_err(|error| error.to_string())
    }
}

impl<'a> TableReport<'a> {
    /// A page of this title, about these things first.
    fn page(&self, title: String, mut summary: Vec<(String, String)>) -> Result<Report, Failure> {
        summary.push(("log-likelihood".into(), format!("{:.4} per row", self.overview.log_likelihood)));
        summary.extend(views::words(&self.file.model).map(|words| ("views".into(), words)));
        self.on(Report { title, summary, ..Report::default() })
    }

    /// Looks at the table with the eyes of the model.
    pub(crate) fn new(
        file: &'a ModelFile,
        values: ArrayView2<'_, f64>,
        by: Option<Groups>,
        seed: u64,
        choice: Option<&'a CauseChoice>,
        observer: &mut Observer<'_>,
    ) -> efmca::Result<TableReport<'a>> {
        let (column, overview) = match by {
            Some(Groups { column, grouping }) => (Some(column), Overview::new().groups(grouping)),
            None => (None, Overview::new()),
        };
        let overview = overview.seed(seed).run_observed(&file.model, values, observer)?;
        Ok(TableReport { file, overview, by: column, rows: values.nrows(), choice })
    }

    /// The page with all that the report has to say.
    pub(crate) fn on(&self, page: Report) -> Result<Report, Failure> {
        page::on(self, page)
    }

    /// Writes the numbers that were asked for; their places were checked. What was not written before, or is not now, is an error.
    pub(crate) fn write_numbers(&self, options: &ReportOptions, mut rescue: Rescue) -> Result<(), Failure> {
        if let Some(path) = &options.json {
            let text = format!("{:#}\n", json::json_of(self));
            rescue.write(path, |path| write_atomically(path, text.as_bytes()));
        }
        if let Some(folder) = &options.csv {
            for (name, text) in csv::tables_of(self) {
                rescue.write(&folder.join(name), |path| write_atomically(path, text.as_bytes()));
            }
        }
        rescue.finish()
    }

    /// The causes in the order in which they are shown: the most frequent first.
    fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.overview.causes.len()).collect();
        order.sort_by(|a, b| self.overview.causes[*b].share.total_cmp(&self.overview.causes[*a].share).then(a.cmp(b)));
        order
    }

    /// What a cause does to a column, in words.
    fn words(&self, effect: &Effect) -> String {
        let name = &self.file.column_names()[effect.column];
        let labels = self.file.labels_of(effect.column);
        match (effect.code, labels) {
            (Some(code), labels) => {
                let label = labels.and_then(|labels| labels.get(code)).cloned().unwrap_or_else(|| code.to_string());
                format!("{name} {label} {} (background {})", percent(effect.with), percent(effect.without))
            }
            (None, Some(labels)) if labels.len() == 2 => {
                format!("{name} {} {} (background {})", labels[1], percent(effect.with), percent(effect.without))
            }
            _ => format!("{name} {} (background {})", number(effect.with), number(effect.without)),
        }
    }

    /// The columns in which a cause shows most, in words.
    fn effects(&self, cause: usize) -> Vec<String> {
        let effects = &self.overview.causes[cause].effects;
        effects.iter().take(EFFECTS).map(|effect| self.words(effect)).collect()
    }

    /// The word that a value stands for, if it does.
    fn label(&self, column: usize, value: f64) -> Option<String> {
        let labels = self.file.labels_of(column)?;
        labels.get(value as usize).filter(|_| value >= 0.0 && value.fract() == 0.0).cloned()
    }

    /// A value as people read it.
    fn value(&self, column: usize, value: f64) -> String {
        self.label(column, value).unwrap_or_else(|| number(value))
    }

    /// What is shown in the terminal.
    fn lines(&self) -> Vec<String> {
        let mut lines =
            vec![format!("{} rows, {} columns, {} causes", self.rows, self.file.model.d(), self.file.model.h())];
        for cause in self.order().into_iter().take(SHOWN) {
            let share = percent(self.overview.causes[cause].share);
            let effects = self.effects(cause);
            let effects =
                if effects.is_empty() { "nowhere stronger than the background".into() } else { effects.join(", ") };
            lines.push(format!("cause {}, on in {share} of the rows: {effects}", cause + 1));
        }
        lines.extend(self.differences());
        lines
    }

    /// The causes that are not as often on in all groups.
    pub(crate) fn differences(&self) -> Vec<String> {
        let by = self.by.as_deref().unwrap_or("group");
        let sure = self.overview.tests.iter().enumerate().filter(|(_, test)| test.corrected < 0.05);
        sure.map(|(cause, test)| {
            format!("cause {} differs by {by} (p = {:.2e}, corrected for all causes)", cause + 1, test.corrected)
        })
        .collect()
    }

    /// The matrix of causes and columns, both in the order in which they are shown.
    fn ordered(&self, of: &Array2<f64>) -> Array2<f64> {
        of.select(Axis(0), &self.order()).select(Axis(1), &self.overview.order)
    }
}
