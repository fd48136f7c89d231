//! Which families data can have come from.

use crate::error::{Error, Result};
use crate::family::cell::reaches;
use crate::family::registry::{Entry, Search, Summary, entries, entry};
use crate::family::{FamilySpec, Measure, SharedFamily, family};
use crate::model::{MOST_CODES, Resolution};

/// Categories that are tried, at the most: with more of them values are counts or measurements.
const MOST_CATEGORIES: usize = 12;
/// Codes that are told apart by a word where a column of them is given a density.
const FEW_CODES: std::ops::RangeInclusive<usize> = 3..=10;
/// Rows for each code, at the least: three numbers in three rows are no codes.
const ROWS_PER_CODE: usize = 4;
/// Whole numbers with zeros can be amounts of money from this many on: then a density may stand above the zeros.
const AMOUNTS: f64 = 100.0;
/// Whole numbers with zeros that range over less than this are no rounded measurements.
const SMALL: f64 = 10.0;
/// Categories that are written as their number alone, at the most.
const MOST_PLAIN: f64 = 4096.0;
/// Exact zeros of an otherwise positive column are a part of it (and no accident) from this share on.
const ZERO_SHARE: f64 = 0.01;

/// The kind of numbers that values are, which decides how families are compared on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Zeros and ones only.
    YesNo,
    /// Integers: probabilities are compared, those of densities over the intervals that integers stand for.
    Integer,
    /// Exact zeros and positive numbers with fractions: a probability and a density.
    ZeroOrPositive,
    /// Numbers with fractions: densities are compared, or probabilities of the intervals that rounded numbers stand for.
    Real,
}

impl Kind {
    /// The kind in words, for messages.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::YesNo => "zeros and ones",
            Kind::Integer => "whole numbers",
            Kind::ZeroOrPositive => "exact zeros and positive numbers",
            Kind::Real => "numbers with fractions",
        }
    }
}

/// A kind and a resolution in words.
pub(super) fn described(kind: Kind, resolution: &Resolution) -> String {
    match (kind, resolution) {
        (Kind::YesNo, _) | (_, Resolution::Continuous) => kind.words().to_owned(),
        (Kind::ZeroOrPositive, rounded) => format!("exact zeros and {}", rounded.words()),
        (_, rounded) => rounded.words(),
    }
}

/// A summary of the values of a data set or of one of its columns.
#[derive(Debug, Clone)]
pub struct Values {
    /// Their kind.
    pub kind: Kind,
    /// Smallest, largest, middle and scatter.
    pub summary: Summary,
    /// How finely they were written down.
    pub resolution: Resolution,
    /// The values without repeats, in ascending order, and how many there are with repeats.
    sorted: Vec<f64>,
    count: usize,
}

impl Values {
    /// Summarises all values but NaN; `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Values> {
        let mut sorted: Vec<f64> = values.into_iter().filter(|value| !value.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        let count = sorted.len();
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        let median = 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
        let mean = sorted.iter().sum::<f64>() / count as f64;
        let variance = sorted.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count as f64;
        let integer = sorted.iter().all(|value| value.fract() == 0.0);
        let zeros = sorted.iter().filter(|value| **value == 0.0).count();
        let kind = if sorted.iter().all(|value| *value == 0.0 || *value == 1.0) {
            Kind::YesNo
        } else if integer {
            Kind::Integer
        } else if min == 0.0 && zeros > 1 && zeros as f64 >= ZERO_SHARE * count as f64 {
            Kind::ZeroOrPositive
        } else {
            Kind::Real
        };
        let resolution = Resolution::of_sorted(&sorted);
        sorted.dedup();
        Some(Values { kind, summary: Summary { min, max, median, variance }, resolution, sorted, count })
    }

    /// The same values with a resolution that is known.
    #[must_use]
    pub fn with_resolution(mut self, resolution: Resolution) -> Values {
        self.resolution = resolution;
        self
    }

    /// The kind and the resolution in words, for messages.
    #[must_use]
    pub fn words(&self) -> String {
        described(self.kind, &self.resolution)
    }

    /// The number of different values.
    #[must_use]
    pub fn distinct(&self) -> usize {
        self.sorted.len()
    }

    /// The different values, if they are few and repeat, so that they can be codes.
    pub(super) fn codes(&self) -> Option<&[f64]> {
        let few = (3..=MOST_CODES).contains(&self.sorted.len()) && self.count >= ROWS_PER_CODE * self.sorted.len();
        few.then_some(&self.sorted[..])
    }

    /// Whether they are so few codes that a density for them needs a word.
    pub(super) fn few_codes(&self) -> Option<usize> {
        self.codes().map(<[f64]>::len).filter(|codes| FEW_CODES.contains(codes))
    }

    /// Whether all values are the same.
    #[must_use]
    pub fn constant(&self) -> bool {
        self.sorted.len() == 1
    }
}

/// The range in which a fixed parameter is searched.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct SearchRange {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) integer: bool,
    key: &'static str,
}

/// A family that may have produced the data, with the fixed parameters that must still be found.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The name, and the fixed parameters that are given.
    spec: String,
    /// The fixed parameters that are searched.
    pub(super) ranges: Vec<SearchRange>,
    /// The number of fixed parameters that were read off the data.
    read: usize,
    /// The family itself where it was given, which may be one that has no name.
    given: Option<SharedFamily>,
}

/// A family that cannot have produced the data, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The family.
    pub family: String,
    /// Why not.
    pub reason: String,
}

impl Candidate {
    /// The name with a question mark for fixed parameters that are searched: `gamma:k=?`.
    #[must_use]
    pub fn name(&self) -> String {
        self.ranges.iter().fold(self.spec.clone(), |spec, range| with_fixed(&spec, range.key, "?"))
    }

    /// The number of fixed parameters that are searched.
    #[must_use]
    pub fn searched(&self) -> usize {
        self.ranges.len()
    }

    /// Whether its mean says how wide it is, or the other way round.
    pub(super) fn fixes_its_spread(&self) -> bool {
        self.family(&self.middle()).is_ok_and(|family| family.l() < 2)
    }

    /// The number of fixed parameters that come from the data, searched or read off: they count as learned ones do.
    pub(super) fn taken_from_data(&self) -> usize {
        self.ranges.len() + self.read
    }

    /// The family with the searched parameters at `values`.
    pub(super) fn family(&self, values: &[f64]) -> Result<SharedFamily> {
        if let Some(given) = &self.given {
            return Ok(given.clone());
        }
        let with =
            |spec: String, (range, value): (&SearchRange, &f64)| with_fixed(&spec, range.key, &value.to_string());
        family(&self.ranges.iter().zip(values).fold(self.spec.clone(), with))
    }

    /// Values of the searched parameters in the middle of their ranges.
    pub(super) fn middle(&self) -> Vec<f64> {
        self.ranges.iter().map(|range| rounded(range, (range.low * range.high).sqrt())).collect()
    }

    /// A family with nothing to be found.
    pub(super) fn given(family: &SharedFamily) -> Candidate {
        Candidate { spec: family.spec(), ranges: Vec::new(), read: 0, given: Some(family.clone()) }
    }

    /// The candidate of a specification or a family, as [`parse`](Candidate::parse) reads it.
    pub(super) fn of(spec: &FamilySpec, values: &Values) -> Result<Candidate> {
        match spec.resolve() {
            Ok(family) => Ok(Candidate::given(&family)),
            // something in it must be found, or it is wrong and this says why
            Err(_) => Candidate::parse(&spec.spec(), values),
        }
    }

    /// Reads a specification. Fixed parameters that it needs and does not give, or that it gives as `?`, are searched.
    ///
    /// # Errors
    ///
    /// [`Error::UnknownFamily`] and [`Error::FamilyParameter`] if it names no family.
    pub fn parse(spec: &str, values: &Values) -> Result<Candidate> {
        let found = entry(spec)?;
        let (name, rest) = spec.trim().split_once(':').unwrap_or((spec.trim(), ""));
        // a hurdle has the fixed parameters of what stands above it
        let inner = name.to_lowercase().replace('_', "-");
        let described = inner.strip_prefix("hurdle-").map_or(Ok(found), entry)?;
        let given: Vec<(&str, &str)> =
            rest.split(',').filter_map(|part| part.split_once('=')).map(|(k, v)| (k.trim(), v.trim())).collect();
        let mut candidate = Candidate { spec: inner.clone(), ranges: Vec::new(), read: 0, given: None };
        let has = |key: &str| given.iter().any(|(given, value)| *given == key && *value != "?");
        if ["categorical", "ordinal"].contains(&found.name) && !has("k") && !has("codes") {
            let (key, value) = code_parameter(found.name, values)?;
            candidate.spec = with_fixed(&candidate.spec, key, &value);
        }
        for fixed in described.fixed {
            match given.iter().find(|(key, _)| *key == fixed.key) {
                Some((_, value)) if *value != "?" => candidate.spec = with_fixed(&candidate.spec, fixed.key, value),
                None if !fixed.required => {}
                _ if ["k", "codes"].contains(&fixed.key) && candidate.spec.contains(['=']) => {}
                _ => candidate.look_for(fixed.key, fixed.search, values)?,
            }
        }
        let wrong_key = given.iter().find(|(key, _)| !described.fixed.iter().any(|fixed| fixed.key == *key));
        if wrong_key.is_some() || rest.split(',').any(|part| !part.trim().is_empty() && !part.contains('=')) {
            family(spec)?; // says what is wrong with it
        }
        candidate.family(&candidate.middle())?;
        Ok(candidate)
    }

    fn look_for(&mut self, key: &'static str, search: Search, values: &Values) -> Result<()> {
        let bounds = |(low, high): (f64, f64), integer: bool| {
            // equal values have no scatter that a range could be made of
            let low = if low > 0.0 { low } else { f64::MIN_POSITIVE };
            SearchRange { low, high: high.max(low), integer, key }
        };
        match search {
            Search::No => {
                return Err(Error::FamilyParameter {
                    family: self.spec.clone(),
                    problem: format!("`{key}` cannot be found in data; give it, such as `{}:{key}=…`", self.spec),
                });
            }
            Search::Value(read) => {
                self.spec = with_fixed(&self.spec, key, &short(read(&values.summary)).to_string());
                self.read += 1;
            }
            Search::Range(range) => self.ranges.push(bounds(range(&values.summary), false)),
            Search::Integer(range) => self.ranges.push(bounds(range(&values.summary), true)),
        }
        Ok(())
    }

    /// Whether the family can have produced all values and is worth a trial; the reason if not.
    pub(super) fn possible(&self, values: &Values) -> std::result::Result<(), String> {
        let family = self.family(&self.middle()).map_err(|error| error.to_string())?;
        let (support, kind) = (family.support(), values.kind);
        let outside = |value: &&f64| !reaches(&support, **value, values.resolution.cell(**value));
        if let Some(value) = values.sorted.iter().find(outside) {
            return Err(format!("there is the value {value}, and its values are {support}"));
        }
        let name = self.spec.split(':').next().unwrap_or_default();
        let refuse = |reason: String| Err(reason);
        let (range, has_zero) = (values.summary.max - values.summary.min, values.sorted.contains(&0.0));
        let wide = range >= AMOUNTS;
        match (kind, support.measure) {
            (Kind::YesNo, _) if name != "bernoulli" => {
                refuse("yes or no is bernoulli, and everything else would be a detour to it".into())
            }
            // pixels stand for themselves, and are counts where they are whole numbers
            (_, Measure::Counting) if name == "ordinal" && values.resolution.is_continuous() => {
                refuse("ordered codes are for columns of tables".into())
            }
            (_, Measure::Counting) if name == "categorical" && family.l() >= MOST_CATEGORIES => {
                refuse(format!("{} categories are too many to be told apart", family.l() + 1))
            }
            (Kind::Integer, Measure::Counting) if name.starts_with("hurdle") && values.summary.min > 0.0 => {
                refuse("there is no zero".into())
            }
            (Kind::Integer, Measure::Lebesgue) if support.low == 0.0 && has_zero && range < SMALL => {
                refuse("small whole numbers with zeros are counts or codes".into())
            }
            (Kind::Integer, Measure::AtomAtZero) if !wide || values.resolution.is_continuous() => {
                refuse("a density above zero is for larger numbers; hurdle-poisson is for counts".into())
            }
            (Kind::Integer, Measure::AtomAtZero) if values.summary.min > 0.0 => refuse("there is no zero".into()),
            (Kind::ZeroOrPositive, Measure::Lebesgue) if values.resolution.is_continuous() => refuse(
                "a density has no place for exact zeros, so it cannot be compared with families that have; \
                 leave out the zeros (make them missing) to rank densities"
                    .into(),
            ),
            (Kind::Real, Measure::AtomAtZero) => refuse("there are no exact zeros to speak of".into()),
            _ => Ok(()),
        }
    }
}

/// The codes of a column as a fixed parameter: their number if they are 0, 1, … and the codes themselves if not.
fn code_parameter(name: &str, values: &Values) -> Result<(&'static str, String)> {
    let top = values.summary.max;
    let whole = values.kind != Kind::Real && values.kind != Kind::ZeroOrPositive && values.summary.min >= 0.0;
    let plain = values.distinct() as f64 == top + 1.0 || values.codes().is_none() || values.resolution.is_continuous();
    if whole && plain && (2.0..MOST_PLAIN).contains(&(top + 1.0)) {
        return Ok(("k", (top + 1.0).to_string()));
    }
    match values.codes() {
        Some(codes) => Ok(("codes", codes.iter().map(f64::to_string).collect::<Vec<String>>().join("/"))),
        None => Err(Error::FamilyParameter {
            family: name.into(),
            problem: format!(
                "{} different values are no codes: from 3 to {MOST_CODES} of them that repeat can be; give them as \
                 `{name}:codes=1/2/5`",
                values.distinct()
            ),
        }),
    }
}

/// A specification with one more fixed parameter.
fn with_fixed(spec: &str, key: &str, value: &str) -> String {
    format!("{spec}{}{key}={value}", if spec.contains(':') { ',' } else { ':' })
}

/// A value that can be written down: an integer, or four digits.
pub(super) fn rounded(range: &SearchRange, value: f64) -> f64 {
    if range.integer {
        return value.round().clamp(range.low, range.high);
    }
    let scale = scale_for(value, 4);
    let rounded = (value * scale).round() / scale;
    if rounded.is_finite() && rounded > 0.0 { rounded } else { value }
}

/// The power of ten that makes integers of `digits` digits of numbers as large as `value`.
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

/// Families for values that are all equal: the first that has the value is taken. Nothing can be learned about such values, and a
/// family without a width of its own will do.
const CONSTANT: [&str; 4] = ["bernoulli", "poisson", "exponential", "gaussian:var=1"];

/// The candidate for values that are all equal; `None` if they are not.
pub(crate) fn for_one_value(values: &Values) -> Option<Candidate> {
    if !values.constant() {
        return None;
    }
    let candidates = CONSTANT.iter().filter_map(|spec| Candidate::parse(spec, values).ok());
    candidates.into_iter().find(|candidate| candidate.possible(values).is_ok())
}

/// All families of the registry: those that can have produced these values, and those that cannot with the reason.
#[must_use]
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

/// A family by its name alone, and with each of its optional fixed parameters that can be found.
fn specs(entry: &Entry) -> Vec<String> {
    if entry.name == "hurdle" {
        // all that may stand above zeros; two parameters of it to be found would be too many
        let fits = |inner: &&Entry| {
            let required = inner.fixed.iter().filter(|fixed| fixed.required).count();
            let example = inner.examples.first().map(|example| family(&format!("hurdle-{example}")));
            inner.name != "hurdle" && required < 2 && example.is_some_and(|example| example.is_ok())
        };
        let above = entries().iter().filter(fits).flat_map(specs);
        // `hurdle-poisson` is the shorter name of the same family
        return above.filter(|spec| spec != "zero-truncated-poisson").map(|spec| format!("hurdle-{spec}")).collect();
    }
    if ["categorical", "ordinal"].contains(&entry.name) {
        return vec![entry.name.to_string()];
    }
    let optional = entry.fixed.iter().filter(|fixed| !fixed.required && !matches!(fixed.search, Search::No));
    std::iter::once(entry.name.to_string())
        .chain(optional.map(|fixed| format!("{}:{}=?", entry.name, fixed.key)))
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
        // a rounded amount can be zero
        assert!(names(&[0.0, 1.0, 14.0]).contains(&"exponential".to_string()));
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
