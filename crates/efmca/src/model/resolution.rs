//! How finely the values of a column were written down.
//!
//! A value that was rounded to a whole number, to halves or to two decimals stands for the interval that was rounded to it. A family
//! with a density gives such a value the probability of its interval, so that densities and counts are compared by the same
//! measure, and no variance is rewarded for running onto values that repeat because they were rounded.

use std::fmt;
use std::str::FromStr;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The resolution of a column: which values are told apart.
///
/// ```
/// use efmca::model::Resolution;
///
/// let halves = Resolution::of([2.5, 3.0, 7.5, 4.0, 2.5, 5.5]);
/// assert_eq!(halves, Resolution::Step { step: 0.5, offset: 0.0 });
/// assert_eq!(halves.cell(7.5), Some((7.25, 7.75)));
/// assert_eq!(Resolution::of([0.123456789, 3.0_f64.sqrt(), 2.0_f64.ln()]), Resolution::Continuous);
/// assert_eq!("0.5".parse::<Resolution>()?, halves);
/// # Ok::<(), efmca::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resolution {
    /// Values are what they are: densities are compared.
    #[default]
    Continuous,
    /// Values are multiples of a step, counted from an offset: a value stands for half a step to both sides.
    Step {
        /// The distance of neighbours.
        step: f64,
        /// One of the values, between zero and the step.
        offset: f64,
    },
    /// Codes in ascending order at irregular distances: a code stands for what is nearer to it than to others, and the first and
    /// the last reach as far outwards as inwards.
    Codes(Vec<f64>),
}

/// Distinct values that can be codes, at the most.
pub const MOST_CODES: usize = 20;
/// Rows for each of a few codes, at the least: three numbers in three rows are no codes.
const ROWS_PER_CODE: usize = 4;
/// Decimals that are looked for.
const MOST_DECIMALS: i32 = 6;
/// Steps in the middle half of the values above which rounding cannot matter.
const MOST_STEPS: f64 = 4096.0;
/// The share of values that are equal to another one above which they are no accident.
const REPEATS: f64 = 0.5;
/// Whole numbers have steps of 1 unless this many of them have larger ones.
const ENOUGH: usize = 20;

impl Resolution {
    /// Whole numbers.
    pub const WHOLE: Resolution = Resolution::Step { step: 1.0, offset: 0.0 };

    /// Steps of a size, with zero among the values.
    ///
    /// # Errors
    ///
    /// [`Error::Setting`] if the step is not positive.
    pub fn steps(step: f64) -> Result<Resolution> {
        if step > 0.0 && step.is_finite() {
            return Ok(Resolution::Step { step, offset: 0.0 });
        }
        Err(Error::setting("step", step, "give a positive number, such as 0.5, or `continuous`"))
    }

    /// The resolution of values, without NaN: the coarsest step that all of them are multiples of, within the rounding of decimal
    /// text, or few codes at irregular distances.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Resolution {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        Resolution::of_sorted(&sorted)
    }

    /// The resolution of each column of a table: the last of those that are given for it, or found.
    #[must_use]
    pub fn of_columns(table: ArrayView2<'_, f64>, given: &[(usize, Resolution)]) -> Vec<Resolution> {
        let known = |d: usize| given.iter().rev().find(|(column, _)| *column == d).map(|(_, given)| given.clone());
        let columns = table.columns().into_iter().enumerate();
        columns.map(|(d, column)| known(d).unwrap_or_else(|| Resolution::of(column.iter().copied()))).collect()
    }

    /// The same for values in ascending order.
    pub(crate) fn of_sorted(sorted: &[f64]) -> Resolution {
        let count = sorted.len();
        let mut distinct = sorted.to_vec();
        distinct.dedup();
        let Some(range) = distinct.last().zip(distinct.first()).map(|(last, first)| last - first) else {
            return Resolution::Continuous;
        };
        let whole = distinct.iter().all(|value| value.fract() == 0.0);
        if distinct.len() < 3 {
            return if whole { Resolution::WHOLE } else { Resolution::Continuous };
        }
        let few = distinct.len() <= MOST_CODES && count >= ROWS_PER_CODE * distinct.len();
        let repeats = (count - distinct.len()) as f64 >= REPEATS * count as f64;
        let grid = decimal_step(&distinct).or_else(|| repeats.then(|| even_step(&distinct)).flatten());
        let middle = sorted[(3 * count / 4).min(count - 1)] - sorted[count / 4];
        match grid {
            Some(step) => {
                let gap = distinct.windows(2).map(|pair| pair[1] - pair[0]).fold(f64::INFINITY, f64::min);
                // no two values are neighbours: the step is what the distances happen to have in common
                if few && gap > 1.5 * step {
                    return Resolution::Codes(distinct);
                }
                let step = if whole && count < ENOUGH { 1.0 } else { step };
                let fine = middle.max(range / 64.0) > MOST_STEPS * step;
                if fine && !whole { Resolution::Continuous } else { Resolution::with_offset(step, distinct[0]) }
            }
            None if few => Resolution::Codes(distinct),
            None => Resolution::Continuous,
        }
    }

    fn with_offset(step: f64, value: f64) -> Resolution {
        let steps = (value / step).round();
        let offset = value - steps * step;
        // decimal text is rounded in its last bit
        let offset = if offset.abs() <= 1e-9 * step { 0.0 } else { value.rem_euclid(step) };
        Resolution::Step { step, offset }
    }

    /// The interval that a value stands for; `None` if it stands for itself. A value between two that can be told apart has the
    /// interval of the nearest.
    #[must_use]
    pub fn cell(&self, y: f64) -> Option<(f64, f64)> {
        match self {
            Resolution::Continuous => None,
            Resolution::Step { step, offset } => {
                let centre = offset + ((y - offset) / step).round() * step;
                Some((centre - 0.5 * step, centre + 0.5 * step))
            }
            Resolution::Codes(codes) => {
                let nearest = nearest(codes, y);
                let code = *codes.get(nearest)?;
                let below = nearest.checked_sub(1).map(|before| 0.5 * (code - codes[before]));
                let above = codes.get(nearest + 1).map(|next| 0.5 * (next - code));
                let (below, above) = (below.or(above)?, above.or(below)?);
                Some((code - below, code + above))
            }
        }
    }

    /// The value that would have been written down for `y`: the nearest one that can be told apart.
    ///
    /// ```
    /// use efmca::model::Resolution;
    ///
    /// assert_eq!(Resolution::steps(0.1)?.rounded(0.31), 0.3);
    /// assert_eq!("17.5/22/27".parse::<Resolution>()?.rounded(19.0), 17.5);
    /// assert_eq!(Resolution::Continuous.rounded(0.31), 0.31);
    /// # Ok::<(), efmca::Error>(())
    /// ```
    #[must_use]
    pub fn rounded(&self, y: f64) -> f64 {
        match self {
            Resolution::Continuous => y,
            Resolution::Step { step, offset } => {
                let (count, steps) = (((y - offset) / step).round(), (1.0 / step).round());
                // dividing by the number of steps in one keeps 0.1 * 3 at 0.3
                let exact = steps >= 1.0 && (steps * step - 1.0).abs() < 1e-9;
                offset + if exact { count / steps } else { count * step }
            }
            Resolution::Codes(codes) => codes.get(nearest(codes, y)).copied().unwrap_or(y),
        }
    }

    /// The resolution in words, for messages.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Resolution::Continuous => "numbers with fractions".into(),
            Resolution::Step { step, offset } if *step == 1.0 && *offset == 0.0 => "whole numbers".into(),
            Resolution::Step { step, offset } if *offset == 0.0 => format!("multiples of {}", short(*step)),
            Resolution::Step { step, offset } => format!("steps of {} from {}", short(*step), short(*offset)),
            Resolution::Codes(codes) => format!("{} codes", codes.len()),
        }
    }

    /// Whether values stand for themselves.
    #[must_use]
    pub fn is_continuous(&self) -> bool {
        *self == Resolution::Continuous
    }
}

/// `continuous`, or a step such as `0.5`, or `0.5+0.25` with an offset, or codes such as `17.5/22/27`.
impl FromStr for Resolution {
    type Err = Error;

    fn from_str(text: &str) -> Result<Resolution> {
        let wrong =
            || Error::setting("step", text, "give a positive number such as 0.5, `continuous`, or codes such as 1/2/5");
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(wrong);
        let text = text.trim();
        if text.eq_ignore_ascii_case("continuous") {
            return Ok(Resolution::Continuous);
        }
        if text.contains('/') {
            let mut codes = text.split('/').map(number).collect::<Result<Vec<f64>>>()?;
            codes.sort_by(f64::total_cmp);
            codes.dedup();
            return if codes.len() < 2 { Err(wrong()) } else { Ok(Resolution::Codes(codes)) };
        }
        let (step, offset) = match text.split_once('+') {
            Some((step, offset)) => (number(step)?, number(offset)?),
            None => (number(text)?, 0.0),
        };
        match Resolution::steps(step)? {
            Resolution::Step { step, .. } => Ok(Resolution::Step { step, offset: offset.rem_euclid(step) }),
            other => Ok(other),
        }
    }
}

impl fmt::Display for Resolution {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Resolution::Continuous => write!(out, "continuous"),
            Resolution::Step { step, offset } if *offset == 0.0 => write!(out, "{step}"),
            Resolution::Step { step, offset } => write!(out, "{step}+{offset}"),
            Resolution::Codes(codes) => {
                let codes: Vec<String> = codes.iter().map(f64::to_string).collect();
                write!(out, "{}", codes.join("/"))
            }
        }
    }
}

/// The place of the code nearest to `y`; the larger one of two.
fn nearest(codes: &[f64], y: f64) -> usize {
    let after = codes.partition_point(|code| *code < y);
    match (after.checked_sub(1), codes.get(after)) {
        (Some(before), Some(code)) if y - codes[before] < code - y => before,
        (Some(before), None) => before,
        _ => after,
    }
}

/// A number for people, without the rounding of its last bits.
fn short(value: f64) -> String {
    let rounded: f64 = format!("{value:.6e}").parse().unwrap_or(value);
    rounded.to_string()
}

/// The coarsest step that all differences are multiples of, if the values are decimal numbers of a few digits.
fn decimal_step(distinct: &[f64]) -> Option<f64> {
    // numbers that were kept with 32 bits have fewer digits to be exact in
    let single = distinct.iter().all(|value| f64::from(*value as f32) == *value);
    let fractions = distinct.iter().any(|value| value.fract() != 0.0);
    let unit = if single && fractions { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let decimals = (0..=MOST_DECIMALS).find(|decimals| {
        let scale = 10f64.powi(*decimals);
        distinct.iter().all(|value| {
            let scaled = value * scale;
            let tolerance = 4.0 * unit * scaled.abs();
            tolerance < 0.02 && (scaled - scaled.round()).abs() <= tolerance
        })
    })?;
    let scale = 10f64.powi(decimals);
    let whole: Vec<i64> = distinct.iter().map(|value| (value * scale).round() as i64).collect();
    let common = whole.windows(2).fold(0u64, |common, pair| greatest_common_divisor(common, pair[1].abs_diff(pair[0])));
    (common > 0).then_some(common as f64 / scale)
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// The step of an even grid whose step is no decimal number, such as standardised whole numbers.
fn even_step(distinct: &[f64]) -> Option<f64> {
    let largest = distinct.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let tolerance = 64.0 * f64::EPSILON * largest;
    let gaps: Vec<f64> = distinct.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > tolerance).collect();
    let smallest = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let fits = |step: &f64| {
        *step > 1e3 * tolerance
            && gaps.iter().all(|gap| (gap / step - (gap / step).round()).abs() * step <= 1e-6 * step + tolerance)
    };
    (1..=4).map(|parts| smallest / f64::from(parts)).find(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(step: f64, count: usize) -> Vec<f64> {
        let value = |n: usize| 10.0 + 3.0 * (n as f64 * 0.754_877_666).sin() + (n as f64 * 1.7).cos();
        (0..count).map(|n| (value(n) / step).round() * step).collect()
    }

    #[test]
    fn steps_are_found_whatever_they_are() {
        for step in [1.0, 0.5, 0.25, 0.1, 0.05, 0.01, 1.0 / 3.0] {
            match Resolution::of(rounded(step, 2000)) {
                Resolution::Step { step: found, offset } => {
                    assert!((found / step - 1.0).abs() < 1e-9 && offset.min(step - offset) < 1e-9, "{step}: {found}")
                }
                other => panic!("{step}: {other:?}"),
            }
        }
        let tens: Vec<f64> = rounded(1.0, 100).iter().map(|value| 10.0 * value + 3.0).collect();
        assert_eq!(Resolution::of(tens), Resolution::Step { step: 10.0, offset: 3.0 });
        let single: Vec<f64> = rounded(0.1, 2000).iter().map(|value| f64::from(*value as f32)).collect();
        assert!(matches!(Resolution::of(single), Resolution::Step { step, .. } if (step - 0.1).abs() < 1e-9));
    }

    #[test]
    fn continuous_values_stay_continuous_with_a_few_repeats() {
        let mut values: Vec<f64> = (0..500).map(|n| (n as f64 * 0.754_877_666).sin()).collect();
        values.extend([values[3], values[3], values[7]]);
        assert_eq!(Resolution::of(values.clone()), Resolution::Continuous);
        // a row that is there several times is no rounded one
        let thrice: Vec<f64> = values.iter().flat_map(|value| [*value; 3]).collect();
        assert_eq!(Resolution::of(thrice), Resolution::Continuous);
    }

    #[test]
    fn codes_share_what_is_between_them() {
        let ages = [17.5, 22.0, 27.0, 32.0, 37.0, 42.0];
        let codes = Resolution::of(ages.iter().cycle().take(60).copied());
        assert_eq!(codes, Resolution::Codes(ages.to_vec()));
        assert_eq!(codes.cell(17.5), Some((15.25, 19.75)));
        assert_eq!(codes.cell(22.0), Some((19.75, 24.5)));
        assert_eq!(codes.cell(42.0), Some((39.5, 44.5)));
        // values that are no codes belong to the nearest
        assert_eq!(
            (codes.cell(41.0), codes.cell(90.0), codes.cell(-1.0)),
            (codes.cell(42.0), codes.cell(42.0), codes.cell(17.5))
        );
        assert_eq!(codes.words(), "6 codes");
        // a handful of rows has no codes
        assert!(matches!(Resolution::of(ages), Resolution::Step { step: 0.5, .. }));
    }

    #[test]
    fn what_is_written_is_read_again() -> Result<()> {
        for text in ["continuous", "0.5", "0.25+0.125", "1/2/5.5"] {
            assert_eq!(text.parse::<Resolution>()?.to_string(), text);
        }
        for text in ["", "zero", "0", "-1", "inf", "1/x"] {
            let message = text.parse::<Resolution>().unwrap_err().to_string();
            assert!(message.contains("step"), "{message}");
        }
        Ok(())
    }
}
