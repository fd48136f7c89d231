//! `efmca noise-type`: what noise an image, a sound or a table has.

use std::path::Path;

use efmca::tasks::noise::{NoiseType, Ranking, TableFamilies, TableNoise};
use efmca::{Causes, Error, Model};
use efmca_io::{ModelFile, check_place, write_model_file};
use serde_json::{Value, json};

use crate::clean::set_threads;
use crate::failure::Failure;
use crate::input::{Content, Input};
use crate::noise_args::{ColumnsArg, NoiseTypeArgs};
use crate::noise_report::{columns_page, columns_text, ranking_page, ranking_text};
use crate::progress::Watch;
use crate::show::Screen;

pub(crate) fn run(args: &NoiseTypeArgs) -> Result<(), Failure> {
    set_threads(args.work.threads)?;
    check_outputs(&[args.work.report.as_deref(), args.save_model.as_deref()], args.work.force)?;
    let input = Input::read(&args.input)?;
    let mut watch = Watch::new(args.work.log_format);
    let found =
        if each_column(args, &input)? { columns(args, &input, &mut watch) } else { ranking(args, &input, &mut watch) };
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

/// The result as it is shown and kept.
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

/// The number of causes that was asked for.
fn causes(args: &NoiseTypeArgs) -> Result<Causes, Failure> {
    args.components.as_deref().map_or(Ok(Causes::Suitable), causes_of)
}

/// The number of causes that `--components` gives.
pub(crate) fn causes_of(text: &str) -> Result<Causes, Failure> {
    text.parse().map_err(|error| match error {
        Error::Setting { requirement, .. } => Failure::input(format!("--components {text}: {requirement}")),
        other => Failure::input(other),
    })
}

/// One family for all values.
fn ranking(args: &NoiseTypeArgs, input: &Input, watch: &mut Watch) -> Result<Found, Failure> {
    let work = &args.work;
    let mut noise = NoiseType::new().causes(causes(args)?).restarts(args.restarts).iterations(work.iterations);
    noise = noise.held_out(work.hidden).seed(work.seed);
    if !args.families.is_empty() {
        noise = noise.families(&args.families);
    }
    let ranking = noise.run_observed(input.source(), &mut |step| watch.see(step));
    let ranking = ranking.map_err(|error| located(error, input, &args.input.input))?;
    let model = ranking.best().model.clone();
    let page = ranking_page(&ranking, input, &args.input.input)?;
    Ok(Found { text: ranking_text(&ranking, input), json: ranking_json(&ranking), page, model })
}

/// A family for each column.
fn columns(args: &NoiseTypeArgs, input: &Input, watch: &mut Watch) -> Result<Found, Failure> {
    let Content::Table { values, names, .. } = &input.content else {
        return Err(Failure::input("only tables have columns"));
    };
    let work = &args.work;
    let mut noise = TableNoise::new().causes(causes(args)?).iterations(work.iterations);
    noise = noise.held_out(work.hidden).seed(work.seed);
    for text in &args.family {
        let (column, spec) = fixed(text, names)?;
        noise = noise.fix(column, spec);
    }
    let found = noise.run_observed(values.view(), &mut |step| watch.see(step));
    let found = found.map_err(|error| located(error, input, &args.input.input))?;
    let page = columns_page(&found, names, input, &args.input.input)?;
    let model = found.fit.model.clone();
    Ok(Found { text: columns_text(&found, names, input), json: columns_json(&found, names), page, model })
}

/// A column and its family, from `COLUMN=FAMILY`.
pub(crate) fn fixed(text: &str, names: &[String]) -> Result<(usize, String), Failure> {
    let Some((column, spec)) = text.split_once('=') else {
        return Err(Failure::input(format!("--family {text}: write COLUMN=FAMILY, such as age=poisson")));
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
                "behind": one.behind.mean,
                "standard_error": one.behind.error,
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
        "components": ranking.causes,
        "hidden_entries": ranking.entries,
        "ranking": ranked,
        "not_possible": refused,
    })
}

fn columns_json(found: &TableFamilies, names: &[String]) -> Value {
    let columns: Vec<Value> = found
        .columns
        .iter()
        .zip(names)
        .map(|(column, name)| {
            let tried: Vec<Value> = column
                .trials
                .iter()
                .map(|one| {
                    json!({
                        "family": one.family.spec(),
                        "held_out": one.held_out,
                        "behind": one.behind.mean,
                        "standard_error": one.behind.error,
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
