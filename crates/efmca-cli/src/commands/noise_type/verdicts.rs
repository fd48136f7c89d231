//! Whether families fit, as text and as pictures.

use efmca::tasks::noise::{TableFamilies, Verdict};
use efmca_view::{Figure, Line, Reference, panels};

use crate::failure::Failure;
use crate::show::wrapped;

/// Lines of text are this long.
const WIDTH: usize = 100;
/// Columns whose residuals are drawn, at the most, and pictures beside each other.
const MOST_DRAWN: usize = 40;
const BESIDE: usize = 3;

/// The verdict in a word for the table of columns.
pub(super) fn word(verdict: Option<&Verdict>) -> String {
    match verdict {
        None => "-".to_owned(),
        Some(verdict) if verdict.fits() => format!("yes (p = {:.2})", verdict.p_value),
        Some(verdict) if verdict.p_value < 0.001 => "no (p < 0.001)".to_owned(),
        Some(verdict) => format!("no (p = {:.3})", verdict.p_value),
    }
}

/// Everything that is to be said about the columns below their table.
pub(super) fn text(found: &TableFamilies, names: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (column, name) in found.columns.iter().zip(names) {
        if let Some(remark) = column.remark() {
            lines.push(format!("note: {name}: {remark}"));
        }
    }
    for (column, name) in found.columns.iter().zip(names) {
        if let Some(verdict) = column.verdict.as_ref().filter(|verdict| !verdict.fits()) {
            lines.push(format!("{name}: {}", verdict.sentence()));
        }
    }
    if let Some(verdict) = &found.verdict {
        let ill: Vec<&str> = verdict.ill_fitting.iter().map(|d| names[*d].as_str()).collect();
        lines.push(match ill.is_empty() {
            true => format!("The model fits all {} columns (p = {:.2}).", verdict.columns, verdict.p_value),
            false => format!(
                "The model does not fit {} of {} columns, at a level of 5 % for the table: {}.",
                ill.len(),
                verdict.columns,
                ill.join(", ")
            ),
        });
    }
    let lines = lines.iter().map(|line| wrapped(line, WIDTH).join("\n  "));
    lines.collect::<Vec<String>>().join("\n")
}

/// The residuals of the columns as pictures with titles: bars inside of the band if the family fits.
pub(super) fn figures(found: &TableFamilies, names: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let judged: Vec<(&Verdict, &String)> = (found.columns.iter().zip(names))
        .filter_map(|(column, name)| Some((column.verdict.as_ref()?, name)))
        .take(MOST_DRAWN)
        .collect();
    let row = |columns: &[(&Verdict, &String)]| {
        let pictures: Vec<Figure> = columns.iter().map(|(verdict, name)| picture(verdict, name)).collect();
        let names: Vec<&str> = columns.iter().map(|(_, name)| name.as_str()).collect();
        let title = format!(
            "Do the families fit? Values that training did not see, in what is predicted: {}",
            names.join(", ")
        );
        Ok((title, panels(&pictures, 320, 240).map_err(Failure::work)?))
    };
    judged.chunks(BESIDE).map(row).collect()
}

fn picture(verdict: &Verdict, name: &str) -> Figure {
    let count = verdict.histogram.len() as f64;
    let steps = verdict.histogram.iter().enumerate().flat_map(|(bar, share)| {
        let (from, height) = (bar as f64, share * count);
        [(from / count, height), ((from + 1.0) / count, height)]
    });
    let highest = verdict.histogram.iter().fold(2.0, |most: f64, share| most.max(1.1 * share * count));
    let (low, high) = verdict.band();
    Figure::new(name)
        .x_label(format!("quantile of {}", verdict.family))
        .y_label("density")
        .y_range(0.0, highest)
        .line(Line::new(steps).width(2.0))
        .reference(Reference::dashed(low * count))
        .reference(Reference::dashed(high * count))
}
