//! `efmca info`: the contents of a model file.

use std::path::PathBuf;

use efmca_io::table_file::shown;
use efmca_io::{ModelFile, read_model_file};
use serde_json::{Value, json};

use super::fit::causes::{background_means, background_shares, number, percent};
use super::views;
use crate::failure::Failure;
use crate::show::{Screen, largest_first, width_of};

/// The options of `efmca info`.
#[derive(Debug, clap::Args)]
pub(crate) struct InfoArgs {
    /// A model file written by efmca.
    #[arg(value_name = "MODEL")]
    model: PathBuf,
    /// Prints one JSON object for programs.
    #[arg(long)]
    json: bool,
}

/// Causes that are shown.
const CAUSES: usize = 10;
/// Columns that are shown.
const COLUMNS: usize = 50;
/// Labels of a column that are shown.
const LABELS: usize = 8;

pub(crate) fn run(args: &InfoArgs) -> Result<(), Failure> {
    let file = read_model_file(&args.model).map_err(Failure::input)?;
    let bytes = std::fs::metadata(&args.model).map_or(0, |metadata| metadata.len());
    let path = args.model.display().to_string();
    let mut screen = Screen::new();
    if args.json {
        return Ok(screen.say(&as_json(&file, &path, bytes).to_string())?);
    }
    for line in as_text(&file, &path, bytes) {
        screen.say(&line)?;
    }
    Ok(())
}

/// The families in the order in which they come first, and the columns of each.
fn families(file: &ModelFile) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    for (_, family, _) in file.model.columns().iter() {
        let spec = family.spec();
        match found.iter_mut().find(|(known, _)| *known == spec) {
            Some((_, count)) => *count += 1,
            None => found.push((spec, 1)),
        }
    }
    found
}

fn as_text(file: &ModelFile, path: &str, bytes: u64) -> Vec<String> {
    let model = &file.model;
    let families: Vec<String> = families(file)
        .into_iter()
        .map(|(spec, count)| format!("{spec} ({count} {})", if count == 1 { "column" } else { "columns" }))
        .collect();
    let items = [
        ("file", format!("{path} ({bytes} bytes)")),
        ("causes", model.h().to_string()),
        ("columns", model.d().to_string()),
        ("families", families.join(", ")),
        ("background", background(file).to_owned()),
        ("superposition", String::from(model.superposition())),
        ("parameters", model.parameter_count().to_string()),
        ("active in a row", format!("{:.2} causes on average", model.pi().sum())),
    ];
    let views = views::words(model).map(|words| ("views", words));
    let patch = file.patch.map(|[rows, columns, channels]| {
        let colour = if channels == 1 { String::new() } else { format!(", {channels} channels") };
        let pages = if file.pages == 1 { String::new() } else { format!(" x {} pages", file.pages) };
        ("patches", format!("{rows} x {columns} pixels{pages}{colour}"))
    });
    let changes = file.changes().map(|changes| ("values", format!("{changes}, before the model sees a row")));
    let items = items.into_iter().chain(views).chain(patch).chain(changes);
    let mut lines: Vec<String> = items.map(|(what, value)| format!("{what:<17}{value}")).collect();
    lines.push(if model.h() > CAUSES {
        format!("probability to be active, the {CAUSES} most active causes")
    } else {
        "probability to be active".to_owned()
    });
    for cause in largest_first(model.pi()).into_iter().take(CAUSES) {
        lines.push(format!("  cause {}  {}", cause + 1, number(model.pi()[cause])));
    }
    if file.names.is_empty() {
        lines.push("the columns have no names, which is usual for models of images".to_owned());
        return lines;
    }
    lines.push("columns, with the mean or the shares of labels where no cause is active".to_owned());
    let names = file.column_names();
    let specs: Vec<String> = model.columns().iter().map(|(_, family, _)| family.spec()).collect();
    let (first, second) = (width_of(&names), width_of(&specs));
    for (d, mean) in background_means(model).into_iter().enumerate().take(COLUMNS) {
        let value = file.labels_of(d).map_or_else(|| number(mean), |labels| shares(file, d, labels));
        // names from files stay on their line
        let name = names[d].escape_debug().to_string();
        let rounded =
            Some(model.columns().resolution(d)).filter(|step| !step.is_continuous() && file.labels_of(d).is_none());
        let rounded = rounded.map_or(String::new(), |step| format!(" ({})", step.words()));
        lines.push(format!("  {name:<first$}  {:<second$}  {value}{rounded}", specs[d]));
    }
    if names.len() > COLUMNS {
        lines.push(format!("  … ({} in all; --json shows all)", names.len()));
    }
    lines
}

/// The labels of a column, each with its share where no cause is active.
fn shares(file: &ModelFile, d: usize, labels: &[String]) -> String {
    let shares = background_shares(&file.model, d, labels.len());
    let each = labels.iter().zip(shares).map(|(label, share)| format!("{} {}", shown(label), percent(share)));
    let mut list: Vec<String> = each.take(LABELS).collect();
    if labels.len() > LABELS {
        list.push(format!("… ({} in all)", labels.len()));
    }
    list.join(", ")
}

fn as_json(file: &ModelFile, path: &str, bytes: u64) -> Value {
    let model = &file.model;
    let means = background_means(model);
    let columns: Vec<Value> = model
        .columns()
        .iter()
        .map(|(d, family, _)| {
            // labels have no mean
            let labels = file.labels_of(d);
            let mean = Some(means[d]).filter(|mean| mean.is_finite() && labels.is_none());
            json!({
                "name": file.names.get(d),
                "family": family.spec(),
                "step": model.columns().resolution(d).to_string(),
                "labels": labels,
                "background_mean": mean,
                "background_shares": labels.map(|labels| background_shares(model, d, labels.len())),
            })
        })
        .collect();
    json!({
        "file": path,
        "bytes": bytes,
        "causes": model.h(),
        "columns": columns,
        "background": background(file),
        "superposition": String::from(model.superposition()),
        "parameters": model.parameter_count(),
        "patch": file.patch,
        "pages": file.pages,
        "values": file.changes(),
        "pi": model.pi().to_vec(),
        "views": views::as_json(file),
    })
}

fn background(file: &ModelFile) -> &'static str {
    if file.model.background_learned() { "learned" } else { "fixed" }
}
