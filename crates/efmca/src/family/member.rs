//! The member of a family that has a given mean. Noise is made with it, and the background of denoising is one.

use super::{Family, Measure, Range, Support, checked_phi, from_conventional};
use crate::error::{Error, Result};

/// A distribution that values can be drawn from.
pub(crate) enum Member {
    /// All mass at one value: the mean is an end of the support.
    Constant(f64),
    /// Natural parameters.
    Natural(Vec<f64>),
}

/// Finds members of a family by their mean, and their standard deviation where that is free.
#[derive(Debug)]
pub(crate) struct Members<'a> {
    family: &'a dyn Family,
    support: Support,
    spread: Option<Spread>,
}

/// Usual parameters from mean and standard deviation, or the reason why there are none.
type FromMeanAndSd = fn(mean: f64, sd: f64) -> std::result::Result<[f64; 2], String>;

/// The scatter of a family with two parameters.
#[derive(Debug)]
struct Spread {
    sd: f64,
    parameters: FromMeanAndSd,
}

/// Families with two parameters: their usual ones from mean and standard deviation, and how to fix one of them.
const TWO_PARAMETERS: [(&str, FromMeanAndSd, &str); 5] = [
    ("gaussian", |mean, sd| Ok([mean, sd * sd]), ", or the variance with the family, such as `gaussian:var=25`"),
    (
        "gamma",
        |mean, sd| Ok([(mean / sd).powi(2), mean / sd / sd]),
        ", or the shape with the family, such as `gamma:k=4` for four looks",
    ),
    (
        "log-normal",
        |mean, sd| {
            let variance = (sd / mean).powi(2).ln_1p();
            Ok([mean.ln() - 0.5 * variance, variance])
        },
        "",
    ),
    ("inverse-gaussian", |mean, sd| Ok([mean, mean * (mean / sd).powi(2)]), ""),
    ("beta", beta, ""),
];

fn beta(mean: f64, sd: f64) -> std::result::Result<[f64; 2], String> {
    let widest = mean * (1.0 - mean);
    let total = widest / (sd * sd) - 1.0;
    if total > 0.0 {
        Ok([mean * total, (1.0 - mean) * total])
    } else {
        Err(format!("with it the standard deviation {sd} must be below {}; make it smaller", widest.sqrt()))
    }
}

impl<'a> Members<'a> {
    /// Refuses families whose noise is not fixed by a mean, and a standard deviation that is missing or too much.
    pub(crate) fn new(family: &'a dyn Family, sd: Option<f64>) -> Result<Members<'a>> {
        let refuse = |problem: String| Err(Error::FamilyParameter { family: family.spec(), problem });
        let spread = match TWO_PARAMETERS.iter().find(|(name, ..)| *name == family.spec()) {
            Some((_, parameters, or)) => match sd {
                Some(sd) => Some(Spread { sd, parameters: *parameters }),
                None => return refuse(format!("a mean does not fix its noise; give the standard deviation sd{or}")),
            },
            None => None,
        };
        if spread.is_none() {
            if family.l() != 1 || family.parameters().len() != 1 {
                return refuse(
                    "a mean does not fix its noise; use a family with one parameter, such as poisson, bernoulli, \
                     binomial:n=10, exponential or gamma:k=4"
                        .into(),
                );
            }
            if let Some(mean) = constant_mean(family)? {
                return refuse(format!(
                    "its mean is {mean} whatever its parameter is, so that it cannot follow an image; use a family \
                     whose mean is free, such as gaussian:var=25"
                ));
            }
            if let Some(sd) = sd {
                return refuse(format!(
                    "its scatter is fixed by the mean, so that sd = {sd} has no place; leave it out"
                ));
            }
        }
        Ok(Members { family, support: family.support(), spread })
    }

    /// The member with this mean, or the reason why the family has none and what to do.
    pub(crate) fn with_mean(&self, mean: f64) -> std::result::Result<Member, String> {
        let Support { low, high, measure, .. } = self.support;
        let counting = measure == Measure::Counting;
        if counting && (mean == low || mean == high) {
            return Ok(Member::Constant(mean));
        }
        if mean <= low || mean >= high {
            return Err(self.advice(mean));
        }
        let eta = match &self.spread {
            Some(spread) => {
                let parameters = (spread.parameters)(mean, spread.sd)?;
                from_conventional(self.family, &parameters)
            }
            None => {
                self.one_parameter(mean).ok_or_else(|| self.advice(mean)).map(|w| checked_phi(self.family, &[w]))?
            }
        };
        let eta = eta.map_err(|error| format!("its parameters would be too extreme ({error}); scale the image"))?;
        let mut w = vec![0.0; self.family.l()];
        self.family.grad_a(&eta, &mut w);
        // A family of the user's own may have a name of ours, and extreme parameters lose digits.
        let scale = mean.abs().max(self.spread.as_ref().map_or(0.0, |spread| spread.sd));
        if (self.family.f(&w) - mean).abs() <= 1e-6 * scale {
            Ok(Member::Natural(eta))
        } else {
            Err("no parameters of the family that can be written as numbers give it; scale the image".into())
        }
    }

    /// The mean parameter of a family with one parameter, where the mean of y may be another function of it.
    fn one_parameter(&self, mean: f64) -> Option<f64> {
        let f = |log_w: f64| self.family.f(&[log_w.exp()]);
        let near = |found: f64| (found - mean).abs() <= 1e-12 * mean.abs();
        if near(self.family.f(&[mean])) {
            return Some(mean);
        }
        // F may be a line that does not go through zero (an offset): two values of it tell.
        let (at_zero, at_one) = (self.family.f(&[0.0]), self.family.f(&[1.0]));
        let on_line = (mean - at_zero) / (at_one - at_zero);
        if on_line.is_finite() && near(self.family.f(&[on_line])) && self.family.inside(&[on_line]) {
            return Some(on_line);
        }
        // F is monotone: halving in the logarithm, over all positive numbers.
        let (mut low, mut high) = (1e-300_f64.ln(), 1e300_f64.ln());
        let rising = f(high) > f(low);
        for _ in 0..120 {
            let middle = 0.5 * (low + high);
            if (f(middle) < mean) == rising { low = middle } else { high = middle }
        }
        let w = (0.5 * (low + high)).exp();
        self.family.inside(&[w]).then_some(w)
    }

    /// The means that the family has, and how to get to them from this one.
    fn advice(&self, mean: f64) -> String {
        let Support { low, high, measure, .. } = self.support;
        let means = match (measure == Measure::Counting, low.is_finite(), high.is_finite()) {
            (true, _, true) => format!("its means are from {low} to {high}"),
            (true, _, false) => format!("its means are {low} or more"),
            (false, true, true) => format!("its means are above {low} and below {high}"),
            (false, true, false) => format!("its means are above {low}"),
            (false, false, _) => "its means are finite numbers".to_owned(),
        };
        let remedy = if mean <= low {
            "raise such means (floor), or choose a family that has them"
        } else {
            "scale the image to a lower peak, or choose a family that has them"
        };
        format!("{means}; {remedy}")
    }
}

/// The mean of a family whose members all have the same one.
fn constant_mean(family: &dyn Family) -> Result<Option<f64>> {
    let ends = match family.parameters().first().map(|parameter| parameter.range) {
        Some(Range::Positive(low, high) | Range::Real(low, high)) => [low, high],
        _ => [0.25, 0.75],
    };
    let mut means = [0.0; 2];
    for (mean, end) in means.iter_mut().zip(ends) {
        let eta = from_conventional(family, &[end])?;
        let mut w = [0.0];
        family.grad_a(&eta, &mut w);
        *mean = family.f(&w);
    }
    Ok((means[0] == means[1]).then_some(means[0]))
}

/// The natural parameters of the member of `family` that has this mean, and this standard deviation where it is free;
/// `None` if there is none.
pub(crate) fn natural_with_mean(family: &dyn Family, mean: f64, sd: f64) -> Option<Vec<f64>> {
    let found = |sd: Option<f64>| match Members::new(family, sd).ok()?.with_mean(mean).ok()? {
        Member::Natural(eta) => Some(eta),
        Member::Constant(_) => None,
    };
    found(None).or_else(|| found(Some(sd)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::family;

    #[test]
    fn the_member_has_the_mean_that_was_asked_for() {
        for (spec, mean) in
            [("poisson", 3.5), ("exponential", 0.2), ("gaussian", -4.0), ("beta", 0.3), ("gamma:k=4", 7.0)]
        {
            let family = family(spec).unwrap();
            let eta = natural_with_mean(&*family, mean, 0.1).unwrap();
            let mut w = vec![0.0; family.l()];
            family.grad_a(&eta, &mut w);
            assert!((family.f(&w) - mean).abs() < 1e-9, "{spec}: {}", family.f(&w));
        }
        // means that a family does not have, and families that a mean does not fix
        for (spec, mean) in
            [("poisson", -1.0), ("poisson", 0.0), ("beta", 1.5), ("laplace", 1.0), ("categorical:k=3", 1.0)]
        {
            assert_eq!(natural_with_mean(&*family(spec).unwrap(), mean, 0.1), None, "{spec} {mean}");
        }
    }
}
