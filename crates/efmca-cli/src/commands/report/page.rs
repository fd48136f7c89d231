//! The report as a page.

use efmca_view::{Colours, Figure, Line, Matrix, Points, Report, ReportSection, ReportTable};

use super::TableReport;
use crate::commands::fit::causes::{number, percent};
use crate::failure::Failure;

/// Characters of a bar.
const BAR: usize = 12;
/// Columns that a picture has room for.
const MOST_COLUMNS: usize = 200;
/// Effects beyond this many standard deviations have the same colour.
const STRONGEST: f64 = 3.0;
/// Rows of a cause that are named.
const ROWS: usize = 5;

fn texts(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

/// A share as a bar of characters.
fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR as f64).ceil() as usize;
    "█".repeat(full) + &"░".repeat(BAR - full)
}

/// A share as a bar and in percent, on one line.
fn with_bar(share: f64) -> String {
    format!("{} {}", bar(share), percent(share)).replace(' ', "\u{a0}")
}

/// The page with all sections of the report.
pub(super) fn on(report: &TableReport<'_>, mut page: Report) -> Result<Report, Failure> {
    page.sections.push(columns(report));
    page.sections.push(causes(report)?);
    page.sections.push(each_cause(report));
    page.sections.push(explained(report)?);
    page.sections.extend(groups(report)?);
    page.sections.push(unlikely(report));
    page.sections.extend(number_of_causes(report)?);
    Ok(page)
}

fn columns(report: &TableReport<'_>) -> ReportSection {
    let names = report.file.column_names();
    let rows = report.overview.columns.iter().zip(&names).enumerate().map(|(d, (column, name))| {
        let missing = column.missing as f64 / report.rows.max(1) as f64;
        let kind = match (report.file.labels_of(d), column.kind) {
            (Some(labels), _) => format!("{} labels", labels.len()),
            (None, Some(kind)) => kind.words().to_owned(),
            (None, None) => "no value".to_owned(),
        };
        vec![
            name.clone(),
            kind,
            column.family.clone(),
            if column.missing == 0 { "-".into() } else { with_bar(missing) },
            column.distinct.to_string(),
            format!("{} to {}", report.value(d, column.range.0), report.value(d, column.range.1)),
            number(column.mean),
            number(column.background),
        ]
    });
    let rows = rows.collect();
    let missing: usize = report.overview.columns.iter().map(|column| column.missing).sum();
    let cells = report.rows * names.len();
    ReportSection {
        heading: "The table".into(),
        text: format!(
            "{} rows, {} columns, {missing} of {cells} cells missing ({}). Background: the mean where no cause is on.",
            report.rows,
            names.len(),
            percent(missing as f64 / cells.max(1) as f64)
        ),
        tables: vec![ReportTable {
            title: String::new(),
            head: texts(&["column", "values", "family", "missing", "different", "from, to", "mean", "background"]),
            rows,
        }],
        ..ReportSection::default()
    }
}

/// The names of causes and columns in the order in which they are shown.
fn names(report: &TableReport<'_>) -> (Vec<String>, Vec<String>) {
    let of_columns = report.file.column_names();
    let cause = |cause: usize| format!("cause {} ({})", cause + 1, percent(report.overview.causes[cause].share));
    (
        report.order().into_iter().map(cause).collect(),
        report.overview.order.iter().map(|d| of_columns[*d].clone()).collect(),
    )
}

fn causes(report: &TableReport<'_>) -> Result<ReportSection, Failure> {
    let (rows, mut columns) = names(report);
    let effects = report.ordered(&report.overview.effects);
    columns.truncate(MOST_COLUMNS);
    let shown = effects.slice(ndarray::s![.., ..columns.len()]);
    let matrix = Matrix::new(shown, rows, columns).largest(STRONGEST).unit("sd");
    Ok(ReportSection {
        heading: "Causes and columns".into(),
        text: "How far each cause is from the background, in standard deviations of the column; white where it does not show. \
               The most frequent cause is at the top, with the share of the rows in which it is on; columns that behave alike \
               stand side by side."
            .into(),
        figures: vec![matrix.draw().and_then(|drawing| drawing.to_svg()).map_err(Failure::work)?],
        ..ReportSection::default()
    })
}

fn each_cause(report: &TableReport<'_>) -> ReportSection {
    let row = |cause: usize| {
        let about = &report.overview.causes[cause];
        let rows = about.rows.iter().take(ROWS).map(|(row, _)| (row + 1).to_string());
        let effects = report.effects(cause);
        vec![
            format!("cause {}", cause + 1),
            with_bar(about.share),
            if effects.is_empty() { "nowhere stronger than the background".into() } else { effects.join("\n") },
            rows.collect::<Vec<String>>().join(", "),
        ]
    };
    ReportSection {
        heading: "Each cause".into(),
        text:
            "Its strongest columns against the background, how often it is on, and rows in which it is most surely on."
                .into(),
        tables: vec![ReportTable {
            title: String::new(),
            head: texts(&["cause", "on in", "strongest columns", "rows, such as"]),
            rows: report.order().into_iter().map(row).collect(),
        }],
        ..ReportSection::default()
    }
}

fn explained(report: &TableReport<'_>) -> Result<ReportSection, Failure> {
    let (rows, mut columns) = names(report);
    let by_cause = report.ordered(&report.overview.explained.by_cause);
    columns.truncate(MOST_COLUMNS);
    let shown = by_cause.slice(ndarray::s![.., ..columns.len()]);
    let matrix = Matrix::new(shown, rows, columns).unit("nats");
    let of_columns = report.file.column_names();
    let about = &report.overview.explained;
    let total = about.total();
    let table = report.overview.order.iter().filter(|d| about.entries[**d] > 0).map(|d| {
        vec![
            of_columns[*d].clone(),
            about.entries[*d].to_string(),
            format!("{:.4}", about.alone[*d]),
            format!("{:.4}", about.by_all[*d]),
            format!("{:.4}", total[*d]),
        ]
    });
    Ok(ReportSection {
        heading: "What the causes explain".into(),
        text: "A tenth of the cells is held out, and the model forgets them. Colours: by how much a held-out cell of the column \
               is less likely if the rest of the row does not say whether the cause is on. The table: its log-probability \
               (log-density) in nats if the rest of the row is not known, if it is, and the difference, which is what all causes \
               explain together."
            .into(),
        figures: vec![matrix.draw().and_then(|drawing| drawing.to_svg()).map_err(Failure::work)?],
        tables: vec![ReportTable {
            title: String::new(),
            head: texts(&["column", "held-out cells", "column alone", "given the row", "explained"]),
            rows: table.collect(),
        }],
        ..ReportSection::default()
    })
}

fn groups(report: &TableReport<'_>) -> Result<Option<ReportSection>, Failure> {
    let Some(by) = &report.by else { return Ok(None) };
    let groups = &report.overview.groups;
    if groups.is_empty() {
        return Ok(None);
    }
    let order = report.order();
    let shares =
        ndarray::Array2::from_shape_fn((order.len(), groups.len()), |(row, group)| groups[group].shares[order[row]]);
    let rows = order.iter().map(|cause| format!("cause {}", cause + 1)).collect();
    let columns = groups.iter().map(|group| format!("{} ({})", group.name, group.rows)).collect();
    let matrix = Matrix::new(shares.view(), rows, columns).colours(Colours::Sequential).largest(1.0).unit("share");
    let row = |cause: &usize| {
        let mut cells = vec![format!("cause {}", cause + 1)];
        cells.extend(groups.iter().map(|group| format!("{:.3} ± {:.3}", group.shares[*cause], group.errors[*cause])));
        let test = report.overview.tests[*cause];
        cells.extend([format!("{:.2}", test.chi_square), format!("{:.2e}", test.p), format!("{:.2e}", test.corrected)]);
        cells
    };
    let mut head = texts(&["cause"]);
    head.extend(groups.iter().map(|group| group.name.clone()));
    head.extend(texts(&["chi-square", "p", "p, corrected"]));
    Ok(Some(ReportSection {
        heading: format!("Causes by {by}"),
        text: format!(
            "How often each cause is on in the rows of each group, with its standard error; nothing was learned from the column \
             {by}. The test asks whether a cause is as often on in all groups ({} degrees of freedom); the last column is \
             corrected for {} tests (Holm).",
            groups.len() - 1,
            order.len()
        ),
        figures: vec![matrix.draw().and_then(|drawing| drawing.to_svg()).map_err(Failure::work)?],
        tables: vec![ReportTable { title: String::new(), head, rows: order.iter().map(row).collect() }],
        ..ReportSection::default()
    }))
}

fn unlikely(report: &TableReport<'_>) -> ReportSection {
    let names = report.file.column_names();
    let rows = report.overview.unlikely.iter().map(|unlikely| {
        let cells = unlikely.cells.iter().filter(|cell| cell.nats > 0.0).map(|cell| {
            let (value, expected) = (report.value(cell.column, cell.value), number(cell.expected));
            let expected = if report.file.labels_of(cell.column).is_some_and(|labels| labels.len() > 2) {
                String::new()
            } else {
                format!(", {expected} expected")
            };
            format!("{} = {value} ({:.1} nats{expected})", names[cell.column], cell.nats)
        });
        let cells: Vec<String> = cells.collect();
        vec![(unlikely.row + 1).to_string(), format!("{:.2}", unlikely.log_likelihood), cells.join("\n")]
    });
    ReportSection {
        heading: "Rows that fit least".into(),
        text: format!(
            "A row has a log-likelihood of {:.3} on average. Beside each row the cells that surprise most, given the rest of the \
             row, and by how much more than cells of their column do: look there for errors in the data.",
            report.overview.log_likelihood
        ),
        tables: vec![ReportTable {
            title: String::new(),
            head: texts(&["row", "log-likelihood", "because of"]),
            rows: rows.collect(),
        }],
        ..ReportSection::default()
    }
}

fn number_of_causes(report: &TableReport<'_>) -> Result<Option<ReportSection>, Failure> {
    let Some(choice) = report.choice else { return Ok(None) };
    let points = || choice.trials.iter().map(|trial| (trial.h as f64, trial.held_out));
    let best = choice.best();
    let figure = Figure::new("")
        .x_label("causes")
        .y_label("log-probability of a held-out value")
        .line(Line::new(points()))
        .points(Points::new(points()))
        .points(Points::new([(best.h as f64, best.held_out)]).radius(6.0).label("chosen"));
    Ok(Some(ReportSection {
        heading: "Number of causes".into(),
        text: format!("{} causes, by {} held-out values.", best.h, choice.entries),
        figures: vec![figure.to_svg(720, 380).map_err(Failure::work)?],
        ..ReportSection::default()
    }))
}
