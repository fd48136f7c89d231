//! `efmca impute`: fills in the missing cells of a table.

mod args;
mod report;

use std::path::Path;

use efmca::tasks::impute::{CellKind, FilledCell, FilledTable, Imputer};
use efmca_io::table_file::{Table, did_you_mean, listed, read_table, shown, write_labelled_table};
use efmca_io::{ModelFile, ModelRows, read_model_file, write_atomically};

use crate::columns::ColumnFamilies;
use crate::errors::{Origin, TableOrigin};
use crate::failure::Failure;
use crate::outputs::{self, Output};
use crate::progress::Watch;
use crate::rescue::Rescue;
use crate::show::Screen;
pub(crate) use args::ImputeArgs;
use report::{errors_json, errors_page, errors_text};

/// The columns of a table that is filled, as the results need them.
struct Columns {
    names: Vec<String>,
    labels: Vec<Option<Vec<String>>>,
}

/// Fills in the missing cells of a table.
pub(crate) fn run(args: &ImputeArgs) -> Result<(), Failure> {
    args.checkpoint.around(args.work.log_format, || fill(args))
}

fn fill(args: &ImputeArgs) -> Result<(), Failure> {
    let imputer = args.imputer(args.learner())?;
    args.work.set_threads()?;
    let filled = args.filled();
    let inputs: Vec<&Path> = [Some(&args.input), args.learn_from.as_ref(), args.model.as_ref()]
        .into_iter()
        .flatten()
        .map(|path| path.as_path())
        .collect();
    let others = [&args.cells, &args.json, &args.outputs.report];
    let results = filled.iter().map(|path| Some(Output::Table(path)));
    let results = results.chain(others.into_iter().map(|path| path.as_deref().map(Output::File)));
    outputs::check(results, &inputs, args.outputs.force.force)?;
    let table = read_table(&args.input, &args.table.options()).map_err(Failure::input)?;
    if table.values.iter().all(|cell| !cell.is_nan()) {
        let problem = "it has no missing cell, so that there is nothing to fill in";
        let hint = "say with --missing which value or text stands for one";
        return Err(Failure::input(format!("{}: {problem}; {hint}", args.input.display())));
    }
    let mut watch = Watch::new(args.work.log_format);
    let (found, columns, causes) = match (&args.model, &args.learn_from) {
        (Some(model), _) => by_model(args, &imputer, model, &table)?,
        (None, Some(other)) => by_other(args, &imputer, other, &table, &mut watch)?,
        (None, None) => by_itself(args, &imputer, &table, &mut watch)?,
    };
    watch.finish();
    let draws = if args.draws.is_some() { &found.draws[..] } else { std::slice::from_ref(&found.values) };
    let mut rescue = Rescue::default();
    for (path, values) in filled.iter().zip(draws) {
        rescue.write(path, |path| {
            write_labelled_table(path, &columns.names, &columns.labels, values.view(), args.outputs.force.force)
        });
    }
    if let Some(path) = &args.cells {
        let text = cells_csv(&found, &columns)?;
        rescue.write(path, |path| write_atomically(path, text.as_bytes()));
    }
    if let Some(path) = &args.json {
        let json = errors_json(&found, &columns, causes);
        rescue.write(path, |path| write_atomically(path, (format!("{json:#}") + "\n").as_bytes()));
    }
    if let Some(path) = &args.outputs.report {
        let page = errors_page(&found, &columns, &args.input, causes);
        rescue.write(path, |path| page.write(path, args.outputs.force.force));
    }
    rescue.finish()?;
    let mut screen = Screen::beside_files();
    screen.notes(&args.input, &table.remarks)?;
    screen.say(&errors_text(&found, &columns, causes))?;
    let written: Vec<String> = filled
        .iter()
        .chain([&args.cells, &args.json, &args.outputs.report].into_iter().flatten())
        .map(|path| path.display().to_string())
        .collect();
    Ok(screen.say(&format!("wrote {}", written.join(", ")))?)
}

/// Learns the table itself.
fn by_itself(
    args: &ImputeArgs,
    imputer: &Imputer,
    table: &Table,
    watch: &mut Watch,
) -> Result<(FilledTable, Columns, usize), Failure> {
    let (imputer, columns) = of_columns(args, imputer, table)?;
    let origin =
        TableOrigin { path: &args.input, names: &columns.names, labels: &columns.labels, step: 1, learning: true };
    let trained = imputer.train(table.values.view(), &mut |progress| watch.see(progress));
    let filled = trained.and_then(|trained| Ok((trained.fill(table.values.view())?, trained.model().h())));
    let (filled, causes) = filled.map_err(|error| Origin::Table(origin).describe(&error))?;
    Ok((filled, columns, causes))
}

/// Learns another table with the same columns.
fn by_other(
    args: &ImputeArgs,
    imputer: &Imputer,
    path: &Path,
    table: &Table,
    watch: &mut Watch,
) -> Result<(FilledTable, Columns, usize), Failure> {
    let other = read_table(path, &args.table.options()).map_err(Failure::input)?;
    let (imputer, columns) = of_columns(args, imputer, &other)?;
    let origin = TableOrigin { path, names: &columns.names, labels: &columns.labels, step: 1, learning: true };
    let trained = imputer.train(other.values.view(), &mut |progress| watch.see(progress));
    let trained = trained.map_err(|error| Origin::Table(origin).describe(&error))?;
    let file = ModelFile {
        names: columns.names.clone(),
        labels: columns.labels.clone(),
        ..ModelFile::from(trained.model().clone())
    };
    let values = rows_of(args, &file, table)?;
    let origin =
        TableOrigin { path: &args.input, names: &columns.names, labels: &columns.labels, step: 1, learning: false };
    let filled = trained.fill(values.view()).map_err(|error| Origin::Table(origin).describe(&error))?;
    Ok((filled, columns, trained.model().h()))
}

/// Fills in what a model says.
fn by_model(
    args: &ImputeArgs,
    imputer: &Imputer,
    path: &Path,
    table: &Table,
) -> Result<(FilledTable, Columns, usize), Failure> {
    let file = read_model_file(path).map_err(Failure::input)?;
    let values = rows_of(args, &file, table)?;
    let columns = Columns { names: file.column_names(), labels: file.labels.clone() };
    let imputer = with_kinds(args, imputer.clone(), &columns)?;
    let origin =
        TableOrigin { path: &args.input, names: &columns.names, labels: &columns.labels, step: 1, learning: false };
    let filled = imputer.of_model(&file.model, values.view()).and_then(|trained| trained.fill(values.view()));
    let filled = filled.map_err(|error| Origin::Table(origin).describe(&error))?;
    Ok((filled, columns, file.model.h()))
}

/// The rows of the table in the columns of a model.
fn rows_of(args: &ImputeArgs, file: &ModelFile, table: &Table) -> Result<ndarray::Array2<f64>, Failure> {
    let wrong = |problem| Failure::input(format!("{}: {problem}", args.input.display()));
    if let Some(changes) = file.changes() {
        return Err(wrong(format!("the model sees rows that were changed ({changes}), which cannot be filled in")));
    }
    let ModelRows { values, .. } = file.rows_of(table).map_err(wrong)?;
    Ok(values)
}

/// The settings with what was typed about columns.
fn of_columns(args: &ImputeArgs, imputer: &Imputer, table: &Table) -> Result<(Imputer, Columns), Failure> {
    let given = ColumnFamilies::resolve(&args.family, table)?;
    let learner = given.of_columns().fold(args.learner(), |learner, (d, spec)| learner.column(d, spec));
    let learner = given.of_labels().fold(learner, |learner, (d, count)| learner.labels(d, count));
    let columns = Columns { names: table.names.clone(), labels: table.labels() };
    Ok((with_kinds(args, imputer.clone().learner(learner), &columns)?, columns))
}

/// The settings with the columns that were typed as codes or numbers, and those of words.
fn with_kinds(args: &ImputeArgs, imputer: Imputer, columns: &Columns) -> Result<Imputer, Failure> {
    let mut imputer = imputer;
    for (d, labels) in columns.labels.iter().enumerate() {
        if labels.is_some() {
            imputer = imputer.kind(d, CellKind::Code);
        }
    }
    for (option, typed, kind) in [("codes", &args.codes, CellKind::Code), ("numbers", &args.numbers, CellKind::Number)]
    {
        for column in typed {
            let d = place_of(column, &columns.names)
                .map_err(|problem| Failure::input(format!("--{option} {column}: {problem}")))?;
            if kind == CellKind::Number && columns.labels.get(d).is_some_and(Option::is_some) {
                return Err(Failure::input(format!("--numbers {column}: this column has words, which are no numbers")));
            }
            imputer = imputer.kind(d, kind);
        }
    }
    Ok(imputer)
}

/// The place of a column that was typed by its name, or by its number counted from 1.
pub(crate) fn place_of(typed: &str, names: &[String]) -> Result<usize, String> {
    let by_name = names.iter().position(|name| name == typed);
    let number = typed.parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    by_name.or(number.map(|number| number - 1)).ok_or_else(|| {
        format!("there is no column {}{}; the columns are {}", shown(typed), did_you_mean(typed, names), listed(names))
    })
}

/// A line for each cell that was filled in.
fn cells_csv(found: &FilledTable, columns: &Columns) -> Result<String, Failure> {
    let mut text = String::from("row,column,value,sd,low,high,probability\n");
    let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for cell in &found.cells {
        let FilledCell { row, column, sd, interval, probability, .. } = *cell;
        text += &format!(
            "{},{},{},{},{},{},{}\n",
            row + 1,
            quoted(&columns.names[column]),
            quoted(&columns.word(column, cell.value)),
            number(sd),
            number(interval.map(|interval| interval.0)),
            number(interval.map(|interval| interval.1)),
            number(probability)
        );
    }
    Ok(text)
}

impl Columns {
    /// A value as it stands in the table.
    fn word(&self, column: usize, value: f64) -> String {
        let labels = self.labels.get(column).and_then(Option::as_ref);
        let word =
            labels.and_then(|labels| labels.get(value as usize)).filter(|_| value >= 0.0 && value.fract() == 0.0);
        word.cloned().unwrap_or_else(|| value.to_string())
    }
}

/// A field of a CSV file.
pub(crate) fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
