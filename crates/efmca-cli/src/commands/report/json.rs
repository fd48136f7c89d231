//! The numbers of the report as JSON, as docs/TABLES.md describes them.

use efmca::tasks::select::CauseChoice;
use serde_json::{Value, json};

use super::TableReport;
use crate::commands::views;

pub(super) fn json_of(report: &TableReport<'_>) -> Value {
    let names = report.file.column_names();
    let about = &report.overview;
    let total = about.explained.total();
    let columns: Vec<Value> = about
        .columns
        .iter()
        .enumerate()
        .map(|(d, column)| {
            json!({
                "name": names[d],
                "family": column.family,
                "kind": column.kind.map(|kind| kind.words()),
                "labels": report.file.labels_of(d),
                "present": column.present,
                "missing": column.missing,
                "distinct": column.distinct,
                "min": column.range.0,
                "max": column.range.1,
                "mean": column.mean,
                "sd": column.sd,
                "background": column.background,
                "held_out": {
                    "cells": about.explained.entries[d],
                    "log_likelihood": about.explained.by_all[d],
                    "log_likelihood_alone": about.explained.alone[d],
                    "explained": total[d],
                },
            })
        })
        .collect();
    json!({
        "schema": "efmca-report-1",
        "rows": report.rows,
        "log_likelihood_per_row": about.log_likelihood,
        "columns": columns,
        "column_order": about.order.iter().map(|d| &names[*d]).collect::<Vec<_>>(),
        "causes": (0..about.causes.len()).map(|h| cause(report, h)).collect::<Vec<_>>(),
        "unlikely_rows": unlikely(report),
        "groups": groups(report),
        "number_of_causes": report.choice.map(choice),
        "views": views::as_json(report.file),
    })
}

fn cause(report: &TableReport<'_>, h: usize) -> Value {
    let names = report.file.column_names();
    let cause = &report.overview.causes[h];
    let effects: Vec<Value> = cause
        .effects
        .iter()
        .map(|effect| {
            json!({
                "column": names[effect.column],
                "label": effect.code.map(|code| report.value(effect.column, code as f64)),
                "with": effect.with,
                "without": effect.without,
                "far": effect.far,
            })
        })
        .collect();
    let rows: Vec<Value> = cause.rows.iter().map(|(row, on)| json!({ "row": row + 1, "probability": on })).collect();
    json!({
        "cause": h + 1,
        "prior": cause.pi,
        "share": cause.share,
        "rows": rows,
        "effects": effects,
        "explained": report.overview.explained.by_cause.row(h).to_vec(),
    })
}

fn unlikely(report: &TableReport<'_>) -> Vec<Value> {
    let names = report.file.column_names();
    let row = |row: &efmca::tasks::overview::UnlikelyRow| {
        let cells: Vec<Value> = row
            .cells
            .iter()
            .map(|cell| {
                json!({
                    "column": names[cell.column],
                    "value": cell.value,
                    "expected": cell.expected,
                    "nats": cell.nats,
                })
            })
            .collect();
        json!({ "row": row.row + 1, "log_likelihood": row.log_likelihood, "cells": cells })
    };
    report.overview.unlikely.iter().map(row).collect()
}

fn groups(report: &TableReport<'_>) -> Value {
    let Some(by) = &report.by else { return Value::Null };
    let groups: Vec<Value> = report
        .overview
        .groups
        .iter()
        .map(|group| {
            json!({ "name": group.name, "rows": group.rows, "shares": group.shares, "standard_errors": group.errors })
        })
        .collect();
    let tests: Vec<Value> = report
        .overview
        .tests
        .iter()
        .enumerate()
        .map(|(h, test)| {
            json!({ "cause": h + 1, "chi_square": test.chi_square, "p": test.p, "p_corrected": test.corrected })
        })
        .collect();
    json!({ "column": by, "groups": groups, "tests": tests })
}

fn choice(choice: &CauseChoice) -> Value {
    let tried: Vec<Value> = choice
        .trials
        .iter()
        .map(|trial| {
            json!({
                "causes": trial.h,
                "held_out": trial.held_out,
                "behind": trial.behind.mean,
                "standard_error": trial.behind.error,
            })
        })
        .collect();
    json!({ "chosen": choice.best().h, "held_out_cells": choice.entries, "tried": tried })
}
