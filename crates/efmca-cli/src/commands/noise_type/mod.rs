//! `efmca noise-type`: the noise of an image, a sound or a table.

mod args;
mod json;
mod report;
mod verdicts;

use efmca::Model;
use efmca_io::{ModelFile, write_model_file};
use efmca_view::Report;
use serde_json::Value;

use crate::cluster;
use crate::columns::{ColumnFamilies, steps};
use crate::errors::refused;
use crate::failure::Failure;
use crate::input::{Content, Input, TableContent};
use crate::progress::Watch;
use crate::rescue::Rescue;
use args::ColumnsArg;
pub(crate) use args::{ComparisonArgs, NoiseTypeArgs};
use json::{columns_json, ranking_json};
use report::{columns_page, columns_text, ranking_page, ranking_text};

/// Finds the noise, and shows how sure that is.
pub(crate) fn run(args: &NoiseTypeArgs) -> Result<(), Failure> {
    let comparison = &args.comparison;
    comparison.checkpoint.around(comparison.work.log_format, || name(args))
}

fn name(args: &NoiseTypeArgs) -> Result<(), Failure> {
    args.ranking().check().map_err(|error| refused(&error))?;
    let comparison = &args.comparison;
    comparison.prepare(args.save_model.as_deref(), &args.input.input)?;
    let input = Input::read(&args.input)?;
    let table = own_families(args, &input)?;
    let mut watch = Watch::new(comparison.work.log_format);
    let found = match table {
        Some(table) => columns(args, &input, table, &mut watch),
        None => ranking(args, &input, &mut watch),
    };
    watch.finish();
    let found = found?;
    if cluster::follows() {
        return Ok(());
    }
    let mut rescue = Rescue::default();
    if let Some(path) = &comparison.outputs.report {
        rescue.write(path, |path| found.page.write(path, comparison.outputs.force.force));
    }
    if let Some(path) = &args.save_model {
        let (names, labels) = match &input.content {
            Content::Table(TableContent { table, .. }) => (table.names.clone(), table.labels()),
            _ => (Vec::new(), Vec::new()),
        };
        let file = ModelFile { names, labels, ..ModelFile::from(found.model) };
        rescue.write(path, |path| write_model_file(path, &file));
    }
    comparison.show(&input, &found.text, &found.json, watch.stopped(), rescue)
}

/// A result in all the forms in which it is shown and kept.
struct Findings {
    text: String,
    json: Value,
    page: Report,
    model: Model,
}

/// The table, if each of its columns has a family of its own.
fn own_families<'a>(args: &NoiseTypeArgs, input: &'a Input<'_>) -> Result<Option<&'a TableContent>, Failure> {
    let each = args.columns == Some(ColumnsArg::Each) || !args.family.is_empty() || !args.step.is_empty();
    let Content::Table(table) = &input.content else {
        if each {
            return Err(Failure::input(
                "--columns each, --family COLUMN=FAMILY and --step COLUMN=STEP are for tables; for an image or a sound use --families",
            ));
        }
        return Ok(None);
    };
    if each && !args.families.is_empty() {
        return Err(Failure::input(
            "--families ranks families for all columns together: give --columns same, or the families of columns with \
             --family COLUMN=FAMILY",
        ));
    }
    let usual = args.columns.is_none() && table.is_text && args.families.is_empty();
    Ok((each || usual).then_some(table))
}

/// One family for all values.
fn ranking(args: &NoiseTypeArgs, input: &Input<'_>, watch: &mut Watch) -> Result<Findings, Failure> {
    let ranking = args.ranking().run_observed(input.source(), &mut |step| watch.see(step));
    let ranking = ranking.map_err(|error| input.origin().describe(&error))?;
    Ok(Findings {
        text: ranking_text(&ranking, input),
        json: ranking_json(&ranking),
        page: ranking_page(&ranking, input, &args.input.input),
        model: ranking.best().model.clone(),
    })
}

/// A family for each column.
fn columns(
    args: &NoiseTypeArgs,
    input: &Input<'_>,
    content: &TableContent,
    watch: &mut Watch,
) -> Result<Findings, Failure> {
    let (table, names) = (&content.table, &content.table.names);
    let given = ColumnFamilies::resolve(&args.family, table)?;
    if let Some(family) = given.all {
        return Err(Failure::input(format!("--family {family}: write COLUMN=FAMILY, such as age=poisson")));
    }
    let steps = steps(&args.step, table)?;
    let found = args.table_noise(&given, steps).run_observed(table.values.view(), &mut |step| watch.see(step));
    let found = found.map_err(|error| input.origin().describe(&error))?;
    Ok(Findings {
        text: columns_text(&found, names, input),
        json: columns_json(&found, names),
        page: columns_page(&found, names, input, &args.input.input)?,
        model: found.fit.model,
    })
}
