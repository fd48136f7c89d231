//! The causes of a table in words and as a picture.

use efmca::tasks::noise::Values;
use efmca::{Data, Model};
use efmca_io::ModelFile;
use efmca_io::table_file::Table;
use efmca_view::{CaptionedPicture, Picture};
use ndarray::Array2;

use crate::failure::Failure;
use crate::show::largest_first;

/// Columns that are named for a cause.
const COLUMNS: usize = 4;
/// Differences below this, in standard deviations of the column, are named only where there is no larger one.
const SMALL: f64 = 0.2;

/// A cause in words.
pub(super) struct Description {
    /// Its name, `cause 1`.
    pub(super) cause: String,
    /// How often it is active, and the columns in which it shows.
    pub(super) effect: String,
}

/// A column in which a cause shows.
struct Effect {
    text: String,
    /// How far it is from the background, in standard deviations of the column.
    far: f64,
}

/// The most active causes with the columns in which they differ most from the background.
pub(super) fn described(file: &ModelFile, table: &Table, most: usize) -> Vec<Description> {
    let names = file.column_names();
    let spread: Vec<f64> = match &table.rows {
        Some(rows) => spread_of(rows.data()),
        None => {
            let spread = |values: Option<Values>| values.map_or(1.0, |values| values.summary.variance.sqrt());
            table.values.columns().into_iter().map(|column| spread(Values::of(column.iter().copied()))).collect()
        }
    };
    let order = largest_first(file.model.pi());
    let description = |cause: &usize| {
        let mut shown: Vec<Effect> =
            (0..file.model.d()).filter_map(|d| effect(file, &names[d], *cause, d, spread[d])).collect();
        shown.sort_by(|a, b| b.far.total_cmp(&a.far));
        let large = shown.iter().take_while(|effect| effect.far >= SMALL).count();
        shown.truncate(large.clamp(1, COLUMNS));
        let texts: Vec<String> = shown.into_iter().map(|effect| effect.text).collect();
        let what = if texts.is_empty() { "nowhere stronger than the background".to_owned() } else { texts.join(", ") };
        let effect = format!("active in {}: {what}", percent(file.model.pi()[*cause]));
        Description { cause: format!("cause {}", cause + 1), effect }
    };
    order.iter().take(most).map(description).collect()
}

/// The standard deviations of the columns, in evenly spread rows.
fn spread_of(rows: &dyn Data) -> Vec<f64> {
    const MOST: usize = 20_000;
    let mut sums = vec![[0.0; 3]; rows.d()];
    let mut row = vec![0.0; rows.d()];
    for n in (0..rows.n()).step_by(rows.n().div_ceil(MOST).max(1)) {
        rows.read_row(n, &mut row);
        for (sums, value) in sums.iter_mut().zip(&row).filter(|(_, value)| !value.is_nan()) {
            *sums = [sums[0] + 1.0, sums[1] + value, sums[2] + value * value];
        }
    }
    let spread = |[n, sum, squares]: &[f64; 3]| (squares / n - (sum / n).powi(2)).max(0.0).sqrt();
    sums.iter().map(|sums| if sums[0] > 0.0 { spread(sums) } else { 1.0 }).collect()
}

/// The effect of a cause in a column, if it is stronger there than the background; otherwise it cannot be seen.
fn effect(file: &ModelFile, name: &str, cause: usize, d: usize, spread: f64) -> Option<Effect> {
    let (family, span) = (file.model.columns().family(d), file.model.columns().span(d));
    let with: Vec<f64> = span.clone().map(|k| file.model.w_flat()[[cause, k]]).collect();
    let without: Vec<f64> = span.map(|k| file.model.background()[k]).collect();
    if file.model.combined(&[cause]).owners[d] != cause {
        return None;
    }
    let Some(labels) = file.labels_of(d) else {
        let (with, without) = (family.f(&with), family.f(&without));
        let far = (with - without).abs() / spread.max(f64::MIN_POSITIVE);
        let text = format!("{name} {} (background {})", number(with), number(without));
        return Some(Effect { text, far }).filter(|effect| effect.far > 0.0);
    };
    let (with, without) = (shares(&file.model, d, &with, labels.len()), shares(&file.model, d, &without, labels.len()));
    let gain = |code: usize| with[code] - without[code];
    let code = (0..labels.len()).max_by(|a, b| gain(*a).total_cmp(&gain(*b)))?;
    let text = format!("{name} {} {} (background {})", labels[code], percent(with[code]), percent(without[code]));
    // half is the largest standard deviation of a yes or no
    Some(Effect { text, far: gain(code) / 0.5 })
}

/// The means of causes and background, a row each; every column in its own range.
pub(super) fn picture(file: &ModelFile) -> Result<CaptionedPicture, Failure> {
    let model = &file.model;
    let means = model.means();
    let order = largest_first(model.pi());
    let background = background_means(model);
    let mut field = Array2::from_shape_fn((model.h() + 1, model.d()), |(row, d)| match order.get(row) {
        Some(cause) => means[[*cause, d]],
        None => background[d],
    });
    for mut column in field.columns_mut() {
        let finite = || column.iter().copied().filter(|value| value.is_finite());
        let (low, high) = (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
        let range = if high > low { high - low } else { 1.0 };
        column.mapv_inplace(|value| (value - low) / range);
    }
    let names = file.column_names();
    let columns = match names.len() {
        0..=20 => format!("columns: {}", names.join(", ")),
        count => format!("{count} columns, from {} to {}", names[0], names[count - 1]),
    };
    let caption = format!(
        "means of the causes, the most active at the top and the background at the bottom; every column in its own \
         range; {columns}"
    );
    Ok(CaptionedPicture::new(caption, Picture::grey(field.view(), 0.0, 1.0).map_err(Failure::work)?))
}

/// The mean of each column where no cause is active.
pub(crate) fn background_means(model: &Model) -> Vec<f64> {
    let mean = |d: usize| {
        let w: Vec<f64> = model.columns().span(d).map(|k| model.background()[k]).collect();
        model.columns().family(d).f(&w)
    };
    (0..model.d()).map(mean).collect()
}

/// The probabilities of the labels of column `d` where no cause is active.
pub(crate) fn background_shares(model: &Model, d: usize, labels: usize) -> Vec<f64> {
    let w: Vec<f64> = model.columns().span(d).map(|k| model.background()[k]).collect();
    shares(model, d, &w, labels)
}

/// The probabilities of the labels of column `d` with the mean parameters `w`.
fn shares(model: &Model, d: usize, w: &[f64], labels: usize) -> Vec<f64> {
    let family = model.columns().family(d);
    let mut eta = vec![0.0; family.l()];
    family.phi(w, &mut eta);
    (0..labels).map(|code| family.log_density(code as f64, &eta).exp()).collect()
}

/// A probability in percent.
pub(crate) fn percent(share: f64) -> String {
    let hundred = share * 100.0;
    if hundred < 0.95 { format!("{hundred:.1} %") } else { format!("{hundred:.0} %") }
}

/// A number with three significant digits.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    if !(1e-4..1e7).contains(&size) {
        return format!("{value:.2e}");
    }
    let decimals = (2 - size.log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!([12.345, 0.012_34, 123_456.0, -1.5, 0.0].map(number), ["12.3", "0.0123", "123456", "-1.50", "0"]);
        assert_eq!([1e-9, f64::INFINITY].map(number), ["1.00e-9", "inf"]);
        assert_eq!([0.4, 0.001, 0.999].map(percent), ["40 %", "0.1 %", "100 %"]);
    }
}
