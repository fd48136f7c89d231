//! Where a family puts its mass, and with respect to which measure.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// The reference measure of a density. Only densities with respect to the same measure can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Probabilities of single values: sums.
    Counting,
    /// Densities: integrals.
    Lebesgue,
    /// A probability at zero and a density above it: both.
    AtomAtZero,
}

/// The set $\mathcal Y$ of values that a family can produce.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Support {
    /// The reference measure of the density.
    pub measure: Measure,
    /// Lower end.
    pub low: f64,
    /// Upper end, possibly infinite.
    pub high: f64,
    /// Whether the lower end itself belongs to the support.
    pub low_included: bool,
    /// Whether the upper end itself belongs to the support.
    pub high_included: bool,
    /// The values themselves, in ascending order, if they are codes and not whole numbers.
    pub codes: Option<&'static [f64]>,
}

impl Support {
    /// All real numbers.
    pub const REAL: Support = Support::open(f64::NEG_INFINITY, f64::INFINITY);
    /// Positive real numbers.
    pub const POSITIVE: Support = Support::open(0.0, f64::INFINITY);
    /// Zero with a probability of its own, or a positive real number.
    pub const ZERO_OR_POSITIVE: Support =
        Support { measure: Measure::AtomAtZero, low_included: true, ..Support::POSITIVE };

    /// The open interval from `low` to `high`.
    pub const fn open(low: f64, high: f64) -> Support {
        Support { measure: Measure::Lebesgue, low, high, low_included: false, high_included: false, codes: None }
    }

    /// The closed interval from `low` to `high`; `high` may be infinite.
    pub const fn closed(low: f64, high: f64) -> Support {
        Support { low_included: true, high_included: high < f64::INFINITY, ..Support::open(low, high) }
    }

    /// The whole numbers from `low` to `high`; `high` may be infinite.
    pub const fn integers(low: f64, high: f64) -> Support {
        Support { measure: Measure::Counting, ..Support::closed(low, high) }
    }

    /// Two codes or more, in ascending order.
    ///
    /// They are kept for as long as the program runs, once for each different list, since a support is copied a lot.
    pub fn of_codes(codes: &[f64]) -> Support {
        static KNOWN: Mutex<Vec<&'static [f64]>> = Mutex::new(Vec::new());
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match known.iter().find(|kept| **kept == codes) {
            Some(kept) => *kept,
            None => {
                let kept: &'static [f64] = Box::leak(codes.into());
                known.push(kept);
                kept
            }
        };
        let (low, high) = (kept.first().copied().unwrap_or(0.0), kept.last().copied().unwrap_or(0.0));
        Support { codes: Some(kept), ..Support::integers(low, high) }
    }

    /// Whether a family with this support can produce `y`.
    pub fn contains(&self, y: f64) -> bool {
        if let Some(codes) = self.codes {
            return codes.contains(&y);
        }
        let above = if self.low_included { y >= self.low } else { y > self.low };
        let below = if self.high_included { y <= self.high } else { y < self.high };
        above && below && y.is_finite() && (self.measure != Measure::Counting || y.fract() == 0.0)
    }
}

impl fmt::Display for Support {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounded = self.high < f64::INFINITY;
        if let Some(codes) = self.codes {
            let shown: Vec<String> = codes.iter().take(12).map(f64::to_string).collect();
            return write!(out, "the codes {}{}", shown.join(", "), if codes.len() > 12 { ", …" } else { "" });
        }
        match self.measure {
            Measure::Counting if bounded => write!(out, "whole numbers from {} to {}", self.low, self.high),
            Measure::Counting => write!(out, "whole numbers {}, {}, {}, …", self.low, self.low + 1.0, self.low + 2.0),
            Measure::AtomAtZero if bounded => write!(out, "0, or numbers between 0 and {}", self.high),
            Measure::AtomAtZero => write!(out, "0, or positive numbers"),
            Measure::Lebesgue if self.low == f64::NEG_INFINITY => write!(out, "any finite number"),
            Measure::Lebesgue if bounded => {
                let ends = if self.low_included { "included" } else { "excluded" };
                write!(out, "numbers between {} and {}, both {ends}", self.low, self.high)
            }
            Measure::Lebesgue if self.low == 0.0 => write!(out, "positive numbers"),
            Measure::Lebesgue => write!(out, "numbers of {} or more", self.low),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_and_fractions_are_told_apart() {
        assert!(Support::integers(0.0, f64::INFINITY).contains(7.0));
        assert!(!Support::integers(0.0, f64::INFINITY).contains(7.5));
        assert!(!Support::integers(0.0, 1.0).contains(2.0));
        assert!(!Support::open(0.0, 1.0).contains(1.0));
        assert!(Support::closed(0.0, 1.0).contains(1.0));
        assert!(Support::ZERO_OR_POSITIVE.contains(0.0) && Support::ZERO_OR_POSITIVE.contains(0.3));
        assert!(!Support::REAL.contains(f64::INFINITY) && !Support::REAL.contains(f64::NAN));
    }

    #[test]
    fn codes_are_what_they_are() {
        let codes = Support::of_codes(&[17.5, 22.0, 27.0]);
        assert!(codes.contains(17.5) && codes.contains(27.0) && !codes.contains(18.0) && !codes.contains(f64::NAN));
        assert_eq!(codes, Support::of_codes(&[17.5, 22.0, 27.0]));
        assert_eq!(codes.to_string(), "the codes 17.5, 22, 27");
    }

    #[test]
    fn supports_read_well() {
        assert_eq!(Support::integers(0.0, f64::INFINITY).to_string(), "whole numbers 0, 1, 2, …");
        assert_eq!(Support::open(0.0, 1.0).to_string(), "numbers between 0 and 1, both excluded");
        assert_eq!(Support::closed(2.0, f64::INFINITY).to_string(), "numbers of 2 or more");
    }
}
