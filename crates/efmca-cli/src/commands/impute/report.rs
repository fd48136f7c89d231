//! The errors of an imputation as text, as JSON and as a page.

use std::path::Path;

use efmca::tasks::impute::{CellKind, CellScores, ColumnScore, FilledTable};
use efmca_view::{Report, ReportTable};
use serde_json::{Value, json};

use super::Columns;
use crate::show::{TextTable, file_name};

/// Columns that are shown in the terminal.
const SHOWN: usize = 40;

/// The error of a column in words.
fn error_of(score: &ColumnScore) -> (String, String) {
    match score.kind {
        CellKind::Number => (format!("{:.3}", score.error), format!("{:.3}", score.error_of_means)),
        CellKind::Code => {
            let right = |error: f64| format!("{:.1} % right", 100.0 * (1.0 - error));
            (right(score.error), right(score.error_of_means))
        }
    }
}

fn filled_in(found: &FilledTable, column: usize) -> usize {
    found.cells.iter().filter(|cell| cell.column == column).count()
}

/// The errors of all columns.
fn errors_table(found: &FilledTable, columns: &Columns) -> TextTable {
    let head = ["column", "cells", "filled in", "error", "of means, modes", "nats a cell", "alone"];
    let rows = found.scores.columns.iter().zip(&columns.names).enumerate().map(|(d, (score, name))| {
        let (error, of_means) = error_of(score);
        vec![
            name.clone(),
            if score.kind == CellKind::Number { "numbers".into() } else { "codes".into() },
            filled_in(found, d).to_string(),
            error,
            of_means,
            format!("{:.3}", score.log_likelihood),
            format!("{:.3}", score.log_likelihood_alone),
        ]
    });
    TextTable { head: head.map(str::to_owned).to_vec(), rows: rows.collect() }
}

/// The errors over all columns, a line each.
fn summary(scores: &CellScores) -> Vec<(String, String)> {
    let mut lines = Vec::new();
    if let (Some(error), Some(of_means)) = (scores.error, scores.error_of_means) {
        lines.push((
            "error of numbers".to_owned(),
            format!("{error:.4} standard deviations; with column means {of_means:.4}"),
        ));
    }
    if let (Some(accuracy), Some(of_modes)) = (scores.accuracy, scores.accuracy_of_modes) {
        let text = format!("{:.2} % right; with the most frequent ones {:.2} %", 100.0 * accuracy, 100.0 * of_modes);
        lines.push(("codes".to_owned(), text));
    }
    let text =
        format!("{:.4} nats; without the rest of the row {:.4}", scores.log_likelihood, scores.log_likelihood_alone);
    lines.push(("log-likelihood of a cell".to_owned(), text));
    lines
}

/// The errors for the terminal.
pub(super) fn errors_text(found: &FilledTable, columns: &Columns, causes: usize) -> String {
    let mut table = errors_table(found, columns);
    let left_out = table.rows.len().saturating_sub(SHOWN);
    table.rows.truncate(SHOWN);
    let rows = found.values.nrows();
    let mut text = format!(
        "{} cells of {rows} rows filled in, {causes} causes\n\n{}\n",
        found.cells.len(),
        table.aligned(&[0, 1])
    );
    if left_out > 0 {
        text += &format!("and {left_out} more columns: see --report and --json\n");
    }
    text +=
        "\nEach cell that is present was predicted from the others of its row by models that had not seen the row.\n";
    text += "error: of numbers in standard deviations of the column; nats a cell: log-probability (log-density); alone: \n\
             the same without the rest of the row.\n\n";
    let lines: Vec<String> =
        summary(&found.scores).into_iter().map(|(what, value)| format!("{what:<26}{value}")).collect();
    text + &lines.join("\n")
}

/// The same as a page.
pub(super) fn errors_page(found: &FilledTable, columns: &Columns, path: &Path, causes: usize) -> Report {
    let TextTable { head, rows } = errors_table(found, columns);
    let mut lines = vec![
        ("cells that were filled in".to_owned(), format!("{} of {} rows", found.cells.len(), found.values.nrows())),
        ("causes".to_owned(), causes.to_string()),
    ];
    lines.extend(summary(&found.scores));
    Report {
        title: format!("Missing cells of {}", file_name(path)),
        summary: lines,
        tables: vec![ReportTable {
            title: "Errors of cells that are present, predicted by models that had not seen their row".into(),
            head,
            rows,
        }],
        ..Report::default()
    }
}

/// The same for programs; docs/TABLES.md describes it.
pub(super) fn errors_json(found: &FilledTable, columns: &Columns, causes: usize) -> Value {
    let scores = &found.scores;
    let of_columns: Vec<Value> = scores
        .columns
        .iter()
        .zip(&columns.names)
        .enumerate()
        .map(|(d, (score, name))| {
            json!({
                "name": name,
                "kind": if score.kind == CellKind::Number { "number" } else { "code" },
                "predicted": score.cells,
                "filled": filled_in(found, d),
                "error": score.error,
                "error_of_means": score.error_of_means,
                "log_likelihood": score.log_likelihood,
                "log_likelihood_alone": score.log_likelihood_alone,
            })
        })
        .collect();
    json!({
        "schema": "efmca-impute-1",
        "rows": found.values.nrows(),
        "filled": found.cells.len(),
        "causes": causes,
        "error": scores.error,
        "error_of_means": scores.error_of_means,
        "accuracy": scores.accuracy,
        "accuracy_of_modes": scores.accuracy_of_modes,
        "log_likelihood": scores.log_likelihood,
        "log_likelihood_alone": scores.log_likelihood_alone,
        "columns": of_columns,
    })
}
