//! Numbers that change as training goes on.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A number for each iteration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Schedule {
    /// Always the same.
    Constant(f64),
    /// In equal steps from `from` at iteration 0 to `to` at iteration `until`, and `to` from there on.
    Linear {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// The iteration at which it is reached.
        until: usize,
    },
    /// In equal factors from `from` at iteration 0 to `to` at iteration `until`, and `to` from there on.
    Geometric {
        /// First value.
        from: f64,
        /// Last value.
        to: f64,
        /// The iteration at which it is reached.
        until: usize,
    },
}

impl Schedule {
    /// The value at `iteration`, counted from zero.
    pub fn at(self, iteration: usize) -> f64 {
        let share = |until: usize| if iteration >= until { 1.0 } else { iteration as f64 / until as f64 };
        match self {
            Schedule::Constant(value) => value,
            Schedule::Linear { from, to, until } => from + (to - from) * share(until),
            Schedule::Geometric { to, until, .. } if iteration >= until => to,
            Schedule::Geometric { from, to, until } => (from.ln() + (to.ln() - from.ln()) * share(until)).exp(),
        }
    }

    /// The iteration from which on the value no longer changes.
    pub fn settles(self) -> usize {
        match self {
            Schedule::Constant(_) => 0,
            Schedule::Linear { until, .. } | Schedule::Geometric { until, .. } => until,
        }
    }

    /// Every value must be positive and finite.
    pub(super) fn check(self, name: &'static str) -> Result<()> {
        let ends = match self {
            Schedule::Constant(value) => [value, value],
            Schedule::Linear { from, to, .. } | Schedule::Geometric { from, to, .. } => [from, to],
        };
        match ends.iter().find(|value| !(value.is_finite() && **value > 0.0)) {
            Some(value) => Err(Error::setting(name, value, "every value of the schedule must be positive and finite")),
            None => Ok(()),
        }
    }
}

/// Which parameters are held where they are, as a span of iterations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The parameter that is held.
    pub what: Held,
    /// First iteration in which it is held.
    pub from: usize,
    /// First iteration in which it is no longer held.
    pub until: usize,
}

/// A parameter that can be held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// $\vec\pi$.
    Pi,
    /// The dictionary $W^{(l)}$, `l` counted from zero. The Gaussian's first is its mean, its second its variance.
    W(usize),
    /// The learned background.
    Background,
}

impl Hold {
    /// Holds `what` for the whole training.
    pub fn always(what: Held) -> Hold {
        Hold { what, from: 0, until: usize::MAX }
    }

    pub(super) fn applies(self, what: Held, iteration: usize) -> bool {
        self.what == what && (self.from..self.until).contains(&iteration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_start_and_end_where_they_say() {
        let linear = Schedule::Linear { from: 10.0, to: 1.0, until: 9 };
        assert_eq!([linear.at(0), linear.at(3), linear.at(9), linear.at(50)], [10.0, 7.0, 1.0, 1.0]);
        let geometric = Schedule::Geometric { from: 8.0, to: 1.0, until: 3 };
        assert!((geometric.at(1) - 4.0).abs() < 1e-12 && geometric.at(3) == 1.0);
        assert_eq!(Schedule::Geometric { from: 49.0, to: 1.0, until: 5 }.at(5), 1.0);
        let sudden = Schedule::Linear { from: 5.0, to: 2.0, until: 0 };
        assert_eq!(sudden.at(0), 2.0);
        assert!(Schedule::Constant(0.0).check("rho").is_err());
    }
}
