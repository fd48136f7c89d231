//! Groups of columns that count alike, in words and for programs.

use efmca::Model;
use efmca_io::ModelFile;
use serde_json::{Value, json};

use super::fit::causes::number;

/// The views of a model with their sizes and weights, if it has any.
pub(crate) fn words(model: &Model) -> Option<String> {
    let view = |view: &efmca::model::View| {
        let (name, count) = (view.name.escape_debug(), view.columns.len());
        let columns = if count == 1 { "1 column".to_owned() } else { format!("{count} columns") };
        // the weight of a column that counts once is exactly one
        let weight = if view.weight == 1.0 { "once".to_owned() } else { format!("{} times", number(view.weight)) };
        format!("{name} ({columns} that {} {weight})", if count == 1 { "counts" } else { "count" })
    };
    let views = model.columns().views()?;
    Some(views.iter().map(view).collect::<Vec<String>>().join(", "))
}

/// The same with the names of all columns; null without views.
pub(crate) fn as_json(file: &ModelFile) -> Value {
    let names = file.column_names();
    let views = file.model.columns().views();
    views.map_or(Value::Null, |views| {
        let view = |view: &efmca::model::View| {
            let columns: Vec<&String> = view.columns.iter().map(|d| &names[*d]).collect();
            json!({ "name": view.name, "columns": columns, "weight": view.weight })
        };
        views.iter().map(view).collect()
    })
}
