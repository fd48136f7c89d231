//! Which families data can have come from.

use crate::error::{Error, Result};
use crate::family::registry::{Entry, Search, Summary, entries, entry};
use crate::family::{Measure, SharedFamily, family};

/// Categories that are tried for counts, at the most: with more of them they are counts.
const MOST_CATEGORIES: f64 = 12.0;
/// Exact zeros of an otherwise positive column are a part of it (and no accident) from this share on.
const ZERO_SHARE: f64 = 0.01;

/// What kind of numbers the values are, which decides what they can be compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Zeros and ones only.
    YesNo,
    /// Whole numbers: probabilities are compared, those of densities over $\lbrack y-\frac12, y+\frac12\rbrack $.
    Whole,
    /// Exact zeros and positive numbers with fractions: a probability and a density.
    ZeroOrPositive,
    /// Numbers with fractions: densities are compared.
    Real,
}

impl Kind {
    /// In words, for messages.
    pub fn words(self) -> &'static str {
        match self {
            Kind::YesNo => "zeros and ones",
            Kind::Whole => "whole numbers",
            Kind::ZeroOrPositive => "exact zeros and positive numbers",
            Kind::Real => "numbers with fractions",
        }
    }
}

/// The values of a data set or of a column of it, looked at once.
#[derive(Debug, Clone)]
pub struct Values {
    /// Their kind.
    pub kind: Kind,
    /// Smallest, largest, middle and scatter.
    pub summary: Summary,
    sorted: Vec<f64>,
}

impl Values {
    /// Looks at all values but NaN; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Values> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
        let whole = sorted.iter().all(|value| value.fract() == 0.0);
        let zeros = sorted.iter().filter(|value| **value == 0.0).count();
        let kind = if sorted.iter().all(|value| *value == 0.0 || *value == 1.0) {
            Kind::YesNo
        } else if whole {
            Kind::Whole
        } else if min == 0.0 && zeros > 1 && zeros as f64 >= ZERO_SHARE * count as f64 {
            Kind::ZeroOrPositive
        } else {
            Kind::Real
        };
        sorted.dedup();
        Some(Values { kind, summary: Summary { min, max, median, variance }, sorted })
    }

    /// Whether all values are the same.
    pub fn constant(&self) -> bool {
        self.sorted.len() == 1
    }
}

/// A known parameter that is to be found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Unknown {
    pub(crate) low: f64,
    pub(crate) high: f64,
    pub(crate) whole: bool,
    key: &'static str,
}

/// A family that may be the one, with what must still be found of it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The name, and known parameters that are known already.
    spec: String,
    pub(crate) unknown: Vec<Unknown>,
    /// Known parameters that were read off the data.
    read: usize,
}

/// A family that cannot be the one, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The family.
    pub family: String,
    /// Why not.
    pub reason: String,
}

impl Candidate {
    /// The name with a question mark for what must be found: `gamma:k=?`.
    pub fn name(&self) -> String {
        self.unknown.iter().fold(self.spec.clone(), |spec, unknown| with_known(&spec, unknown.key, "?"))
    }

    /// The number of known parameters that are found in the data.
    pub fn searched(&self) -> usize {
        self.unknown.len()
    }

    /// Whether its mean says how wide it is, or the other way round.
    pub(crate) fn fixes_its_spread(&self) -> bool {
        self.family(&self.middle()).is_ok_and(|family| family.l() < 2)
    }

    /// The number of known parameters that come from the data, found or read off: they count as learned ones do.
    pub(crate) fn taken_from_data(&self) -> usize {
        self.unknown.len() + self.read
    }

    /// The family with the unknown parameters at `known`.
    pub(crate) fn family(&self, known: &[f64]) -> Result<SharedFamily> {
        let with =
            |spec: String, (unknown, value): (&Unknown, &f64)| with_known(&spec, unknown.key, &value.to_string());
        family(&self.unknown.iter().zip(known).fold(self.spec.clone(), with))
    }

    /// Values of the unknown parameters in the middle of their ranges.
    pub(crate) fn middle(&self) -> Vec<f64> {
        self.unknown.iter().map(|unknown| rounded(unknown, (unknown.low * unknown.high).sqrt())).collect()
    }

    /// What is meant by `spec`: known parameters that it needs and does not give, or that it gives as `?`, are unknown.
    pub fn parse(spec: &str, values: &Values) -> Result<Candidate> {
        let found = entry(spec)?;
        let (name, rest) = spec.trim().split_once(':').unwrap_or((spec.trim(), ""));
        // a hurdle has the known parameters of what stands above it
        let inner = name.to_lowercase().replace('_', "-");
        let described = inner.strip_prefix("hurdle-").map_or(Ok(found), entry)?;
        let given: Vec<(&str, &str)> =
            rest.split(',').filter_map(|part| part.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
        let mut candidate = Candidate { spec: inner.clone(), unknown: Vec::new(), read: 0 };
        for known in described.fixed {
            match given.iter().find(|(key, _)| *key == known.key) {
                Some((_, value)) if *value != "?" => candidate.spec = with_known(&candidate.spec, known.key, value),
                None if !known.required => {}
                _ => candidate.look_for(known.key, known.search, values)?,
            }
        }
        let unknown_key = given.iter().find(|(key, _)| !described.fixed.iter().any(|known| known.key == *key));
        if unknown_key.is_some() || rest.split(',').any(|part| !part.trim().is_empty() && !part.contains('=')) {
            family(spec)?; // says what is wrong with it
        }
        candidate.family(&candidate.middle())?;
        Ok(candidate)
    }

    fn look_for(&mut self, key: &'static str, search: Search, values: &Values) -> Result<()> {
        let bounds = |(low, high): (f64, f64), whole: bool| {
            // equal values have no scatter that a range could be made of
            let low = if low > 0.0 { low } else { f64::MIN_POSITIVE };
            Unknown { low, high: high.max(low), whole, key }
        };
        match search {
            Search::No => {
                return Err(Error::FamilyParameter {
                    family: self.spec.clone(),
                    problem: format!("`{key}` cannot be found in data; give it, as in `{}:{key}=…`", self.spec),
                });
            }
            Search::Value(read) => {
                self.spec = with_known(&self.spec, key, &short(read(&values.summary)).to_string());
                self.read += 1;
            }
            Search::Range(range) => self.unknown.push(bounds(range(&values.summary), false)),
            Search::Integer(range) => self.unknown.push(bounds(range(&values.summary), true)),
        }
        Ok(())
    }

    /// Whether the family can have produced all values and is worth a trial; the reason if not.
    pub(crate) fn possible(&self, values: &Values) -> std::result::Result<(), String> {
        let family = self.family(&self.middle()).map_err(|error| error.to_string())?;
        let (support, kind) = (family.support(), values.kind);
        if let Some(value) = values.sorted.iter().find(|value| !support.contains(**value)) {
            return Err(format!("there is the value {value}, and its values are {support}"));
        }
        let name = self.spec.split(':').next().unwrap_or_default();
        let refuse = |reason: String| Err(reason);
        match (kind, support.measure) {
            (Kind::YesNo, _) if name != "bernoulli" => {
                refuse("yes or no is bernoulli, and everything else would be a detour to it".into())
            }
            (Kind::Whole, Measure::Counting) if name == "categorical" && values.summary.max >= MOST_CATEGORIES => {
                refuse(format!("{} categories are too many to be told apart", values.summary.max + 1.0))
            }
            (Kind::Whole, Measure::Counting) if name.starts_with("hurdle") && values.summary.min > 0.0 => {
                refuse("there is no zero".into())
            }
            (Kind::Whole, Measure::AtomAtZero) => {
                refuse("a density above zero has no probability for whole numbers; hurdle-poisson has".into())
            }
            (Kind::ZeroOrPositive, Measure::Lebesgue) => refuse(
                "a density has no place for exact zeros, so it cannot be compared with families that have; \
                 leave out the zeros (make them missing) to rank densities"
                    .into(),
            ),
            (Kind::Real, Measure::AtomAtZero) => refuse("there are no exact zeros to speak of".into()),
            _ => Ok(()),
        }
    }
}

/// A specification with one more known parameter.
fn with_known(spec: &str, key: &str, value: &str) -> String {
    format!("{spec}{}{key}={value}", if spec.contains(':') { ',' } else { ':' })
}

/// A value that can be written down: whole, or with four digits.
pub(crate) fn rounded(unknown: &Unknown, value: f64) -> f64 {
    if unknown.whole {
        return value.round().clamp(unknown.low, unknown.high);
    }
    let scale = scale_for(value, 4);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() && rounded > 0.0 { rounded } else { value }
}

/// The power of ten that makes whole numbers of `digits` digits of numbers as large as `value`.
fn scale_for(value: f64, digits: i32) -> f64 {
    let size = value.abs().log10().floor();
    if size.is_finite() { 10f64.powi(digits - 1 - size as i32) } else { 1.0 }
}

/// A value that was read off the data with seven digits, and not above it: a threshold must not pass the smallest value.
fn short(value: f64) -> f64 {
    let scale = scale_for(value, 7);
    let short = (value * scale).floor() / scale;
    // zero would be no threshold
    if short.is_finite() && (short != 0.0 || value == 0.0) { short } else { value }
}

/// All candidates of the registry for these values, and those that are out with the reason.
pub fn candidates(values: &Values) -> (Vec<Candidate>, Vec<Refusal>) {
    let mut found = Vec::new();
    let mut refused = Vec::new();
    for spec in entries().iter().flat_map(specs) {
        let possible = Candidate::parse(&spec, values)
            .map_err(|error| error.to_string())
            .and_then(|candidate| candidate.possible(values).map(|()| candidate));
        match possible {
            Ok(candidate) => found.push(candidate),
            Err(reason) => refused.push(Refusal { family: spec, reason }),
        }
    }
    (found, refused)
}

/// A family by its name alone, and with each of its optional known parameters that can be found.
fn specs(entry: &Entry) -> Vec<String> {
    if entry.name == "hurdle" {
        // all that may stand above zeros; two parameters of it to be found would be too many
        let fits = |inner: &&Entry| {
            let required = inner.fixed.iter().filter(|known| known.required).count();
            let example = inner.examples.first().map(|example| family(&format!("hurdle-{example}")));
            inner.name != "hurdle" && required < 2 && example.is_some_and(|example| example.is_ok())
        };
        let above = entries().iter().filter(fits).flat_map(specs);
        // `hurdle-poisson` is the shorter name of the same family
        return above.filter(|spec| spec != "zero-truncated-poisson").map(|spec| format!("hurdle-{spec}")).collect();
    }
    let optional = entry.fixed.iter().filter(|known| !known.required && !matches!(known.search, Search::No));
    std::iter::once(entry.name.to_string())
        .chain(optional.map(|known| format!("{}:{}=?", entry.name, known.key)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(values: &[f64]) -> Vec<String> {
        let values = Values::of(values.iter().copied()).unwrap();
        candidates(&values).0.iter().map(Candidate::name).collect()
    }

    #[test]
    fn values_decide_what_is_possible() {
        assert_eq!(names(&[0.0, 1.0, 1.0]), ["bernoulli"]);
        let counts = names(&[0.0, 1.0, 4.0]);
        for name in ["poisson", "geometric", "negative-binomial:r=?", "binomial:n=?", "gaussian", "hurdle-poisson"] {
            assert!(counts.contains(&name.to_string()), "{name} {counts:?}");
        }
        assert!(!counts.iter().any(|name| name == "exponential" || name == "bernoulli"));
        let positive = names(&[0.5, 1.25, 4.0]);
        for name in ["exponential", "gamma", "gamma:k=?", "weibull:k=?", "pareto:xm=0.5", "log-normal", "gaussian"] {
            assert!(positive.contains(&name.to_string()), "{name} {positive:?}");
        }
        assert!(!positive.contains(&"beta".to_string()) && !positive.contains(&"hurdle-gamma".to_string()));
        let zeros = names(&[0.0, 0.0, 0.3, 0.7]);
        assert!(zeros.contains(&"hurdle-gamma".to_string()) && zeros.contains(&"hurdle-beta".to_string()), "{zeros:?}");
        assert!(!zeros.contains(&"gaussian".to_string()));
        assert!(names(&[-1.0, 0.5]).contains(&"laplace:mu=-0.25".to_string()));
    }

    #[test]
    fn what_is_asked_for_is_read_as_it_is_meant() {
        let values = Values::of([0.5, 1.25, 4.0]).unwrap();
        let name = |spec: &str| Candidate::parse(spec, &values).map(|candidate| candidate.name());
        assert_eq!(name("weibull").unwrap(), "weibull:k=?");
        assert_eq!(name("weibull:k=2").unwrap(), "weibull:k=2");
        assert_eq!(name("gamma").unwrap(), "gamma");
        assert_eq!(name("gamma:k=?").unwrap(), "gamma:k=?");
        assert_eq!(name("hurdle-weibull").unwrap(), "hurdle-weibull:k=?");
        assert!(name("gama").unwrap_err().to_string().contains("did you mean"));
        assert!(name("gamma:q=1").unwrap_err().to_string().contains("no fixed parameter"));
    }

    #[test]
    fn reasons_name_the_value() {
        let values = Values::of([-2.5, 1.25]).unwrap();
        let (_, refused) = candidates(&values);
        let reason = |name: &str| refused.iter().find(|refusal| refusal.family == name).unwrap().reason.clone();
        assert!(reason("gamma").contains("-2.5"), "{}", reason("gamma"));
        assert!(reason("poisson").contains("-2.5"));
    }
}
