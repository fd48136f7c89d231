//! Rankings of families as text and as pages.

use std::path::Path;

use efmca::tasks::noise::{Ranked, Ranking, TableFamilies};
use efmca_view::{Report, ReportTable};

use super::verdicts::{figures, text, word};
use crate::failure::Failure;
use crate::input::Input;
use crate::show::{TextTable, file_name, wrapped};

/// Families of a column that are named beside the best.
const BESIDE: usize = 3;
/// Reasons are shown in lines of this length.
const WIDTH: usize = 100;

fn texts(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// The table of a ranking.
fn ranking_table(ranking: &Ranking) -> TextTable {
    let head = texts(&[
        "",
        "family",
        "held-out value",
        "behind",
        "± error",
        "starts",
        "bound per row",
        "BIC per row",
        "parameters",
        "",
    ]);
    let first = ranking.best().behind.mean;
    let row = |(place, one): (usize, &Ranked)| {
        let behind = if place == 0 { "-".into() } else { format!("{:.4}", one.behind.mean - first) };
        vec![
            (place + 1).to_string(),
            one.family.spec(),
            format!("{:.4}", one.held_out),
            behind,
            format!("{:.4}", one.behind.error),
            if one.trainings > 1 { format!("{:.4}", one.spread) } else { "-".into() },
            format!("{:.3}", one.bound),
            one.bic.map_or("-".into(), |bic| format!("{bic:.3}")),
            one.parameters.to_string(),
            if one.tied && place > 0 { "tie".into() } else { String::new() },
        ]
    };
    TextTable { head, rows: ranking.ranked.iter().enumerate().map(row).collect() }
}

/// A ranking for the terminal.
pub(super) fn ranking_text(ranking: &Ranking, input: &Input<'_>) -> String {
    let mut text = format!(
        "{}, {}; {} families with {} causes, compared on {} held-out values\n\n{}\n",
        input.words(),
        ranking.values(),
        ranking.ranked.len(),
        ranking.causes,
        ranking.entries,
        ranking_table(ranking).aligned(&[1, 9])
    );
    text += "\nheld-out value: log-probability (log-density) of a value that training did not see, in nats; starts: \
             difference\nbetween the best and the worst training; ties of tables are ordered by BIC.\n";
    for (reason, families) in reasons(ranking) {
        let line = format!("not possible: {} ({reason})", families.join(", "));
        text += &(wrapped(&line, WIDTH).join("\n  ") + "\n");
    }
    text += "\n";
    text += &wrapped(&ranking.sentence(), WIDTH).join("\n");
    text
}

/// Families that are not possible, by the reason.
fn reasons(ranking: &Ranking) -> Vec<(&str, Vec<&str>)> {
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for refusal in &ranking.refused {
        match found.iter_mut().find(|(reason, _)| *reason == refusal.reason) {
            Some((_, families)) => families.push(&refusal.family),
            None => found.push((&refusal.reason, vec![&refusal.family])),
        }
    }
    found
}

/// The families of columns.
fn columns_table(found: &TableFamilies, names: &[String]) -> TextTable {
    let head = texts(&[
        "column",
        "values",
        "family",
        "fits",
        "alone",
        "held-out value",
        "ahead of (by)",
        "cannot be told from",
    ]);
    let rows = found.columns.iter().zip(names).map(|(column, name)| {
        let others = || column.trials.iter().skip(1);
        let ties: Vec<String> = others().filter(|one| one.tied).map(|one| one.family.spec()).take(BESIDE).collect();
        let first = column.trials.first();
        let next = others().find(|one| !one.tied).map(|one| {
            let lead = one.behind.mean - first.map_or(0.0, |first| first.behind.mean);
            format!("{} ({lead:.3} ± {:.3})", one.family.spec(), one.behind.error)
        });
        vec![
            name.clone(),
            column.values(),
            column.family.spec(),
            word(column.verdict.as_ref()),
            word(column.alone.as_ref()),
            first.map_or("-".into(), |first| format!("{:.4}", first.held_out)),
            if column.fixed { "given".into() } else { next.unwrap_or_else(|| "-".into()) },
            ties.join(", "),
        ]
    });
    TextTable { head, rows: rows.collect() }
}

/// The families of columns for the terminal.
pub(super) fn columns_text(found: &TableFamilies, names: &[String], input: &Input<'_>) -> String {
    let fit = &found.fit;
    format!(
        "{}, {} causes\n\n{}\n\n\
         held-out value: log-probability (log-density) of a value that training did not see, in nats, given the other \
         columns.\n\
         fits: whether values that training did not see are as the model predicts them from the other columns; alone: whether \
         the\nbest family without causes is right.\n\
         {}\n\
         The complete model: {:.4} nats per held-out value, log-likelihood {:.3} per row, BIC {:.1}.",
        input.words(),
        fit.model.h(),
        columns_table(found, names).aligned(&[0, 1, 2, 3, 4, 6, 7]),
        text(found, names),
        found.held_out,
        fit.bound / fit.weight,
        fit.bic()
    )
}

pub(super) fn ranking_page(ranking: &Ranking, input: &Input<'_>, path: &Path) -> Report {
    let TextTable { head, rows } = ranking_table(ranking);
    let refused =
        reasons(ranking).into_iter().map(|(reason, families)| vec![families.join(", "), reason.to_owned()]).collect();
    Report {
        title: format!("Noise of {}", file_name(path)),
        summary: vec![
            ("data".into(), format!("{}, {}", input.words(), ranking.values())),
            ("result".into(), ranking.sentence()),
            ("causes".into(), ranking.causes.to_string()),
            ("held-out values".into(), ranking.entries.to_string()),
        ],
        tables: vec![
            ReportTable { title: "Families, the best first".into(), head, rows },
            ReportTable {
                title: "Families that these values cannot have".into(),
                head: texts(&["family", "reason"]),
                rows: refused,
            },
        ],
        figures: Vec::new(),
        ..Report::default()
    }
}

pub(super) fn columns_page(
    found: &TableFamilies,
    names: &[String],
    input: &Input<'_>,
    path: &Path,
) -> Result<Report, Failure> {
    let TextTable { head, rows } = columns_table(found, names);
    let fit = &found.fit;
    let ranked =
        found.columns.iter().zip(names).filter(|(column, _)| !column.fixed).map(|(column, name)| ReportTable {
            title: name.clone(),
            head: texts(&["family", "held-out value", "behind", "± error"]),
            rows: column
                .trials
                .iter()
                .map(|one| {
                    let numbers = [one.held_out, one.behind.mean, one.behind.error].map(|value| format!("{value:.4}"));
                    std::iter::once(one.family.spec()).chain(numbers).collect()
                })
                .collect(),
        });
    let tables = std::iter::once(ReportTable { title: "Families of the columns".into(), head, rows }).chain(ranked);
    Ok(Report {
        title: format!("Families of {}", file_name(path)),
        summary: vec![
            ("data".into(), input.words()),
            ("causes".into(), fit.model.h().to_string()),
            ("fit".into(), text(found, names)),
            ("log-likelihood of a row".into(), format!("{:.4}", fit.bound / fit.weight)),
            ("BIC".into(), format!("{:.1}", fit.bic())),
        ],
        tables: tables.collect(),
        figures: figures(found, names)?,
        curve: fit.history.iter().map(|step| step.bound).collect(),
        ..Report::default()
    })
}
