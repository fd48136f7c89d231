//! `efmca noise-type`: what noise an image, a sound or a table has.

use std::path::Path;

use efmca::tasks::noise::{ColumnTypes, Mixed, NoiseType, Ranking};
use efmca::tasks::select::Select;
use efmca::{Error, Model};
use efmca_io::{ModelFile, check_place, write_model_file};
use serde_json::{Value, json};

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::input::{Content, Input};
use crate::noise_args::{ColumnsArg, NoiseTypeArgs, WorkArgs};
use crate::noise_report::{columns_page, columns_text, ranking_page, ranking_text};
use crate::progress::Watch;
use crate::show::Screen;

/// Causes where nothing is said: of images and sounds, and of tables.
const CAUSES: (usize, usize) = (32, 8);
/// Rows for each cause, at the least, where nothing is said.
const ROWS: usize = 20;

pub(crate) fn run(args: &NoiseTypeArgs) -> Result<(), Failure> {
    set_threads(args.work.threads)?;
    check_outputs(&[args.work.report.as_deref(), args.save_model.as_deref()], args.work.force)?;
    let input = Input::read(&args.input)?;
    let mut watch = Watch::new(args.work.log_format);
    let found = match each_column(args, &input)? {
        true => columns(args, &input, &mut watch),
        false => ranking(args, &input, &mut watch),
    };
    watch.finish();
    let found = found?;
    let mut screen = Screen::new();
    if !args.work.json {
        remarks(&mut screen, &input, &args.input.input)?;
    }
    if let Some(path) = &args.save_model {
        let names = match &input.content {
            Content::Table { names, .. } => names.clone(),
            _ => Vec::new(),
        };
        let file = ModelFile { names, ..ModelFile::from(found.model.clone()) };
        write_model_file(path, &file).map_err(Failure::work)?;
    }
    if let Some(path) = &args.work.report {
        found.page.write(path, args.work.force).map_err(Failure::work)?;
    }
    if args.work.json {
        return Ok(screen.say(&found.json.to_string())?);
    }
    screen.say(&found.text)?;
    if watch.stopped() {
        screen.say("stopped early: this is the result so far")?;
    }
    for path in [&args.work.report, &args.save_model].into_iter().flatten() {
        screen.say(&format!("wrote {}", path.display()))?;
    }
    Ok(())
}

/// What is shown and kept.
struct Found {
    text: String,
    json: Value,
    page: efmca_view::Report,
    model: Model,
}

/// Whether each column has a family of its own.
fn each_column(args: &NoiseTypeArgs, input: &Input) -> Result<bool, Failure> {
    let Content::Table { text, .. } = &input.content else {
        return match (args.columns, args.family.is_empty()) {
            (Some(ColumnsArg::Each), _) | (_, false) => Err(Failure::input(
                "--columns each and --family COLUMN=FAMILY are for tables; for an image or a sound use --families",
            )),
            _ => Ok(false),
        };
    };
    let each = args.columns.map_or(*text && args.families.is_empty(), |columns| columns == ColumnsArg::Each);
    let each = each || !args.family.is_empty();
    if each && !args.families.is_empty() {
        return Err(Failure::input(
            "--families ranks families for all columns together: say --columns same, or fix columns with --family COLUMN=FAMILY",
        ));
    }
    Ok(each)
}

fn settings(args: &NoiseTypeArgs, h: usize) -> NoiseType {
    let work = &args.work;
    let settings =
        NoiseType::new(h).restarts(args.restarts).iterations(work.iterations).hidden(work.hidden).seed(work.seed);
    if args.families.is_empty() { settings } else { settings.families(args.families.iter().cloned()) }
}

/// The number of causes that was asked for; `None` for `auto`.
pub(crate) fn components(text: Option<&str>, input: &Input) -> Result<Option<usize>, Failure> {
    match text {
        Some("auto") => Ok(None),
        Some(text) => match text.parse::<usize>() {
            Ok(number) if number > 0 => Ok(Some(number)),
            _ => Err(Failure::input(format!("--components {text}: give a number of causes, or auto"))),
        },
        None => Ok(Some(match &input.content {
            Content::Table { values, .. } => CAUSES.1.min(values.nrows() / ROWS).max(1),
            _ => CAUSES.0,
        })),
    }
}

/// One family for all values.
fn ranking(args: &NoiseTypeArgs, input: &Input, watch: &mut Watch) -> Result<Found, Failure> {
    let asked = components(args.components.as_deref(), input)?;
    let first = asked.map_or_else(|| components(None, input), |asked| Ok(Some(asked)))?.unwrap_or(1);
    let located = |error: Error| located(error, input, &args.input.input);
    let mut ranking =
        settings(args, first).run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?;
    if asked.is_none() && !watch.stopped() {
        let family = ranking.best().family.clone();
        let select = choose(Select::new(family), &args.work);
        let choice = select.run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?;
        let h = choice.best().h;
        if h != first && !watch.stopped() {
            ranking = settings(args, h).run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?;
        }
    }
    let model = ranking.best().model.clone();
    let page = ranking_page(&ranking, input, &args.input.input)?;
    Ok(Found { text: ranking_text(&ranking, input), json: ranking_json(&ranking), page, model })
}

/// A family for each column.
fn columns(args: &NoiseTypeArgs, input: &Input, watch: &mut Watch) -> Result<Found, Failure> {
    let Content::Table { values, names, .. } = &input.content else {
        return Err(Failure::input("only tables have columns"));
    };
    let located = |error: Error| located(error, input, &args.input.input);
    let asked = components(args.components.as_deref(), input)?;
    let first = asked.map_or_else(|| components(None, input), |asked| Ok(Some(asked)))?.unwrap_or(1);
    let mixed = |h: usize| -> Result<Mixed, Failure> {
        args.family.iter().try_fold(Mixed::new(settings(args, h)), |mixed, text| {
            let (column, spec) = fixed(text, names)?;
            Ok(mixed.fix(column, spec))
        })
    };
    let mut found = mixed(first)?.run_observed(values.view(), &mut |step| watch.see(step)).map_err(located)?;
    if asked.is_none() && !watch.stopped() {
        let families = found.columns.iter().map(|column| column.family.clone()).collect();
        let select = choose(Select::with_families(families), &args.work);
        let h = select.run_observed(input.source(), &mut |step| watch.see(step)).map_err(located)?.best().h;
        if h != first && !watch.stopped() {
            found = mixed(h)?.run_observed(values.view(), &mut |step| watch.see(step)).map_err(located)?;
        }
    }
    let page = columns_page(&found, names, input, &args.input.input)?;
    let model = found.fit.model.clone();
    Ok(Found { text: columns_text(&found, names, input), json: columns_json(&found, names), page, model })
}

/// A column and its family, from `COLUMN=FAMILY`.
pub(crate) fn fixed(text: &str, names: &[String]) -> Result<(usize, String), Failure> {
    let Some((column, spec)) = text.split_once('=') else {
        return Err(Failure::input(format!("--family {text}: write COLUMN=FAMILY, as age=poisson")));
    };
    let by_name = names.iter().position(|name| name == column.trim());
    let by_number = column.trim().parse::<usize>().ok().filter(|number| (1..=names.len()).contains(number));
    match by_name.or(by_number.map(|number| number - 1)) {
        Some(column) => Ok((column, spec.trim().to_owned())),
        None => Err(Failure::input(format!(
            "--family {text}: there is no column `{column}`; the columns are {}",
            names.join(", ")
        ))),
    }
}

pub(crate) fn choose(select: Select, work: &WorkArgs) -> Select {
    select.iterations(work.iterations).hidden(work.hidden).seed(work.seed)
}

/// What is wrong with the data, with the column's name.
pub(crate) fn located(error: Error, input: &Input, path: &Path) -> Failure {
    let column = match &error {
        Error::OutsideSupport { column, .. } | Error::EmptyColumn { column } => Some(*column),
        _ => None,
    };
    let name = match (&input.content, column) {
        (Content::Table { names, .. }, Some(column)) => names.get(column),
        _ => None,
    };
    let named = name.map_or(String::new(), |name| format!(" (column `{name}`)"));
    let message = format!("{}: {error}{named}", path.display());
    // nothing is wrong with the input of someone who did not want to wait
    if matches!(error, Error::Stopped { .. }) { Failure::work(message) } else { Failure::input(message) }
}

pub(crate) fn check_outputs(paths: &[Option<&Path>], force: bool) -> Result<(), Failure> {
    let all: Vec<&Path> = paths.iter().flatten().copied().collect();
    for (index, path) in all.iter().enumerate() {
        check_place(path, force).map_err(Failure::input)?;
        if all[..index].contains(path) {
            return Err(Failure::input(format!("{}: two results cannot be the same file", path.display())));
        }
    }
    Ok(())
}

pub(crate) fn remarks(screen: &mut Screen, input: &Input, path: &Path) -> Result<(), Failure> {
    for remark in &input.remarks {
        screen.say(&format!("note: {}: {remark}", path.display()))?;
    }
    Ok(())
}

fn ranking_json(ranking: &Ranking) -> Value {
    let ranked: Vec<Value> = ranking
        .ranked
        .iter()
        .map(|one| {
            json!({
                "family": one.family.spec(),
                "held_out": one.held_out,
                "behind": one.behind,
                "standard_error": one.error,
                "tied": one.tied,
                "spread_over_starts": one.spread,
                "trainings": one.trainings,
                "bound_per_row": one.bound,
                "bic_per_row": one.bic,
                "parameters": one.parameters,
            })
        })
        .collect();
    let refused: Vec<Value> =
        ranking.refused.iter().map(|one| json!({"family": one.family, "reason": one.reason})).collect();
    json!({
        "best": ranking.best().family.spec(),
        "sentence": ranking.sentence(),
        "values": ranking.kind.words(),
        "components": ranking.h,
        "hidden_entries": ranking.entries,
        "ranking": ranked,
        "not_possible": refused,
    })
}

fn columns_json(found: &ColumnTypes, names: &[String]) -> Value {
    let columns: Vec<Value> = found
        .columns
        .iter()
        .zip(names)
        .map(|(column, name)| {
            let tried: Vec<Value> = column
                .tried
                .iter()
                .map(|one| {
                    json!({
                        "family": one.family.spec(),
                        "held_out": one.held_out,
                        "behind": one.behind.0,
                        "standard_error": one.behind.1,
                        "tied": one.tied,
                    })
                })
                .collect();
            json!({
                "name": name,
                "family": column.family.spec(),
                "fixed": column.fixed,
                "values": column.kind.words(),
                "ranking": tried,
            })
        })
        .collect();
    json!({
        "columns": columns,
        "components": found.fit.model.h(),
        "held_out": found.held_out,
        "log_likelihood_per_row": found.fit.bound / found.fit.weight,
        "bic": found.fit.bic(),
        "sweeps": found.sweeps,
    })
}
