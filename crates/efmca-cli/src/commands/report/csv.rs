//! The numbers of the report as CSV files, as docs/TABLES.md describes them.

use super::TableReport;
use crate::commands::impute::quoted;

/// The files; the last one is there with groups only.
pub(super) const NAMES: [&str; 5] = ["columns.csv", "causes.csv", "effects.csv", "rows.csv", "groups.csv"];

/// The names and texts of all files.
pub(super) fn tables_of(report: &TableReport<'_>) -> Vec<(&'static str, String)> {
    let mut found = vec![
        (NAMES[0], columns(report)),
        (NAMES[1], causes(report)),
        (NAMES[2], effects(report)),
        (NAMES[3], rows(report)),
    ];
    if report.by.is_some() {
        found.push((NAMES[4], groups(report)));
    }
    found
}

/// A number, or nothing where there is none.
fn cell(value: f64) -> String {
    match value.is_finite() {
        true if value != 0.0 && value.abs() < 1e-5 => format!("{value:e}"),
        true => value.to_string(),
        false => String::new(),
    }
}

fn line(cells: impl IntoIterator<Item = String>) -> String {
    cells.into_iter().collect::<Vec<String>>().join(",") + "\n"
}

fn columns(report: &TableReport<'_>) -> String {
    let names = report.file.column_names();
    let about = &report.overview.explained;
    let total = about.total();
    let mut text = String::from(
        "column,family,kind,present,missing,distinct,min,max,mean,sd,background,place,held_out_cells,log_likelihood,\
         log_likelihood_alone,explained\n",
    );
    for (d, column) in report.overview.columns.iter().enumerate() {
        let place = report.overview.order.iter().position(|one| *one == d).unwrap_or(d) + 1;
        text += &line([
            quoted(&names[d]),
            quoted(&column.family),
            column.kind.map_or(String::new(), |kind| quoted(kind.words())),
            column.present.to_string(),
            column.missing.to_string(),
            column.distinct.to_string(),
            cell(column.range.0),
            cell(column.range.1),
            cell(column.mean),
            cell(column.sd),
            cell(column.background),
            place.to_string(),
            about.entries[d].to_string(),
            cell(about.by_all[d]),
            cell(about.alone[d]),
            cell(total[d]),
        ]);
    }
    text
}

fn causes(report: &TableReport<'_>) -> String {
    let tested = !report.overview.tests.is_empty();
    let mut text = String::from("cause,prior,share,explained");
    text += if tested { ",chi_square,p,p_corrected\n" } else { "\n" };
    let about = &report.overview.explained;
    let weights: Vec<f64> = about.entries.iter().map(|entries| *entries as f64).collect();
    for (h, cause) in report.overview.causes.iter().enumerate() {
        // over all held-out cells, in nats
        let explained: f64 = about.by_cause.row(h).iter().zip(&weights).map(|(nats, weight)| nats * weight).sum();
        let mut cells = vec![(h + 1).to_string(), cell(cause.pi), cell(cause.share), cell(explained)];
        if let Some(test) = report.overview.tests.get(h) {
            cells.extend([cell(test.chi_square), cell(test.p), cell(test.corrected)]);
        }
        text += &line(cells);
    }
    text
}

fn effects(report: &TableReport<'_>) -> String {
    let names = report.file.column_names();
    let mut text = String::from("cause,column,label,with,without,far,explained\n");
    for (h, cause) in report.overview.causes.iter().enumerate() {
        for effect in &cause.effects {
            text += &line([
                (h + 1).to_string(),
                quoted(&names[effect.column]),
                effect.code.map_or(String::new(), |code| quoted(&report.value(effect.column, code as f64))),
                cell(effect.with),
                cell(effect.without),
                cell(effect.far),
                cell(report.overview.explained.by_cause[[h, effect.column]]),
            ]);
        }
    }
    text
}

fn rows(report: &TableReport<'_>) -> String {
    let names = report.file.column_names();
    let mut text = String::from("row,log_likelihood,column,value,expected,nats\n");
    for row in &report.overview.unlikely {
        for surprise in &row.cells {
            text += &line([
                (row.row + 1).to_string(),
                cell(row.log_likelihood),
                quoted(&names[surprise.column]),
                quoted(&report.label(surprise.column, surprise.value).unwrap_or_else(|| surprise.value.to_string())),
                cell(surprise.expected),
                cell(surprise.nats),
            ]);
        }
    }
    text
}

fn groups(report: &TableReport<'_>) -> String {
    let mut text = String::from("group,rows,cause,share,standard_error\n");
    for group in &report.overview.groups {
        for (h, (share, error)) in group.shares.iter().zip(&group.errors).enumerate() {
            text +=
                &line([quoted(&group.name), group.rows.to_string(), (h + 1).to_string(), cell(*share), cell(*error)]);
        }
    }
    text
}
