//! Families by name.
//!
//! A new family is one file with an `Entry` and one line in `ENTRIES`; the laws in `tests/laws.rs` run over
//! everything that stands here.

use super::{
    SharedFamily, beta, binomial, camera, categorical, continuous_bernoulli, gamma, gaussian, gen_gamma, geometric,
    hurdle, inverse_gaussian, laplace, log_normal, ordinal, pareto, poisson,
};
use crate::error::{Error, Result};

/// One line of the registry.
pub struct Entry {
    /// The name to write.
    pub name: &'static str,
    /// Other names it answers to.
    pub aliases: &'static [&'static str],
    /// Its use, in a line.
    pub summary: &'static str,
    /// The fixed parameters that may follow the name.
    pub fixed: &'static [FixedParameter],
    /// Specifications that show its range; the laws are tested on each.
    pub examples: &'static [&'static str],
    pub(crate) build: fn(&FixedValues<'_>) -> Result<SharedFamily>,
}

/// A parameter that is given with the family and never learned.
pub struct FixedParameter {
    /// Its name before the equals sign.
    pub key: &'static str,
    /// Its meaning.
    pub meaning: &'static str,
    /// Whether the family needs it.
    pub required: bool,
    /// Where to look for it in data, if it can be found there.
    pub search: Search,
}

/// How a fixed parameter that is not given is found in data.
#[derive(Debug, Clone, Copy)]
pub enum Search {
    /// It is not looked for.
    No,
    /// By the likelihood, between two positive numbers.
    Range(fn(&Summary) -> (f64, f64)),
    /// By the likelihood, among the integers between two.
    Integer(fn(&Summary) -> (f64, f64)),
    /// It is read off the data.
    Value(fn(&Summary) -> f64),
}

/// The values of a data set in short: where a search for fixed parameters starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// The smallest value.
    pub min: f64,
    /// The largest value.
    pub max: f64,
    /// The middle value.
    pub median: f64,
    /// The variance.
    pub variance: f64,
}

impl FixedParameter {
    pub(super) const fn required(key: &'static str, meaning: &'static str) -> FixedParameter {
        FixedParameter { key, meaning, required: true, search: Search::No }
    }
    pub(super) const fn optional(key: &'static str, meaning: &'static str) -> FixedParameter {
        FixedParameter { key, meaning, required: false, search: Search::No }
    }

    /// The same parameter with a way to find it.
    pub(super) const fn found_by(mut self, search: Search) -> FixedParameter {
        self.search = search;
        self
    }

    /// The same parameter, found by the likelihood between two positive numbers.
    pub(super) const fn between(self, range: fn(&Summary) -> (f64, f64)) -> FixedParameter {
        self.found_by(Search::Range(range))
    }
}

/// Every family that can be asked for by name.
const ENTRIES: &[Entry] = &[
    binomial::BERNOULLI,
    binomial::BINOMIAL,
    poisson::POISSON,
    poisson::ZERO_TRUNCATED_POISSON,
    geometric::GEOMETRIC,
    geometric::NEGATIVE_BINOMIAL,
    categorical::CATEGORICAL,
    ordinal::ORDINAL,
    hurdle::HURDLE,
    gen_gamma::EXPONENTIAL,
    gamma::GAMMA,
    gen_gamma::RAYLEIGH,
    gen_gamma::MAXWELL,
    gen_gamma::HALF_NORMAL,
    gen_gamma::NAKAGAMI,
    gen_gamma::WEIBULL,
    gen_gamma::INVERSE_GAMMA,
    gen_gamma::GEN_GAMMA,
    log_normal::LOG_NORMAL,
    inverse_gaussian::INVERSE_GAUSSIAN,
    pareto::PARETO,
    beta::BETA,
    continuous_bernoulli::CONTINUOUS_BERNOULLI,
    gaussian::GAUSSIAN,
    laplace::LAPLACE,
    camera::CAMERA,
];

/// Every family that can be asked for by name, in the order in which they are best explained.
pub fn entries() -> &'static [Entry] {
    ENTRIES
}

/// Finds a family by its specification: a name, and after a colon its fixed parameters.
///
/// ```
/// use efmca::family::family;
///
/// assert_eq!(family("poisson")?.spec(), "poisson");
/// assert_eq!(family("gamma:k=4")?.spec(), "gamma:k=4");
/// assert_eq!(family("categorical:k=5")?.l(), 4);
/// assert!(family("poison").unwrap_err().to_string().contains("did you mean `poisson`?"));
/// # Ok::<(), efmca::Error>(())
/// ```
///
/// # Errors
///
/// [`Error::UnknownFamily`], with the nearest name there is, and [`Error::FamilyParameter`].
pub fn family(spec: &str) -> Result<SharedFamily> {
    let spec = spec.trim();
    let (name, rest) = spec.split_once(':').unwrap_or((spec, ""));
    let name = normalised(name);
    if let Some(inner) = name.strip_prefix("hurdle-") {
        let inner = if rest.is_empty() { inner.to_string() } else { format!("{inner}:{rest}") };
        return hurdle::Hurdle::parse(&inner);
    }
    let entry = entry(&name)?;
    let values = FixedValues::parse(entry, spec, rest)?;
    (entry.build)(&values)
}

/// The line of the registry that a specification belongs to.
///
/// # Errors
///
/// [`Error::UnknownFamily`], with the nearest name there is.
pub fn entry(spec: &str) -> Result<&'static Entry> {
    let name = normalised(spec.split(':').next().unwrap_or_default());
    let name = if name.starts_with("hurdle-") { "hurdle" } else { &name };
    let found = ENTRIES.iter().find(|entry| entry.name == name || entry.aliases.contains(&name));
    found.ok_or_else(|| unknown(name))
}

fn normalised(name: &str) -> String {
    name.trim().to_lowercase().replace('_', "-")
}

/// The error for a name that nothing answers to, with the nearest name and, where people ask for it, the reason.
fn unknown(name: &str) -> Error {
    let not_exponential = match name {
        "student-t" | "student" | "t" => Some("it is not an exponential family; the nearest are laplace and gaussian"),
        "rice" | "rician" => Some("it is not an exponential family; the nearest are rayleigh and nakagami:m=…"),
        "cauchy" | "uniform" => Some("it is not an exponential family"),
        _ => None,
    };
    let nearest = ENTRIES
        .iter()
        .flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied()))
        .map(|known| (strsim::jaro_winkler(name, known), known))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    let suggestion = match (not_exponential, nearest) {
        (Some(reason), _) => format!(" ({reason})"),
        (None, Some((similarity, known))) if similarity > 0.8 => format!(" (did you mean `{known}`?)"),
        _ => String::new(),
    };
    let known: Vec<&str> = ENTRIES.iter().map(|entry| entry.name).collect();
    Error::UnknownFamily { name: name.to_string(), suggestion, known: known.join(", ") }
}

/// The fixed parameters as they were written.
pub(crate) struct FixedValues<'a> {
    spec: &'a str,
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> FixedValues<'a> {
    fn parse(entry: &Entry, spec: &'a str, rest: &'a str) -> Result<FixedValues<'a>> {
        let fail = |problem: String| Err(Error::FamilyParameter { family: spec.to_string(), problem });
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in rest.split(',').filter(|part| !part.trim().is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return fail(format!("`{}` should be written as name=value", part.trim()));
            };
            let (key, value) = (key.trim(), value.trim());
            if !entry.fixed.iter().any(|fixed| fixed.key == key) {
                let keys: Vec<&str> = entry.fixed.iter().map(|fixed| fixed.key).collect();
                let keys = if keys.is_empty() { "it has none".into() } else { format!("it has: {}", keys.join(", ")) };
                return fail(format!("there is no fixed parameter `{key}`; {keys}"));
            }
            if pairs.iter().any(|(given, _)| *given == key) {
                return fail(format!("`{key}` is given twice"));
            }
            pairs.push((key, value));
        }
        if let Some(missing) =
            entry.fixed.iter().find(|fixed| fixed.required && !pairs.iter().any(|(key, _)| *key == fixed.key))
        {
            return fail(format!("it needs {} ({}), as in `{}`", missing.key, missing.meaning, entry.examples[0]));
        }
        Ok(FixedValues { spec, pairs })
    }

    pub(super) fn text(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(given, _)| *given == key).map(|(_, value)| *value)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.text(key).is_some()
    }

    pub(super) fn refuse(&self, key: &str, problem: &str) -> Error {
        let problem = match self.text(key) {
            Some(value) => format!("{key}={value}: {problem}"),
            None => problem.to_string(),
        };
        Error::FamilyParameter { family: self.spec.to_string(), problem }
    }

    pub(super) fn number(&self, key: &str) -> Result<f64> {
        let value = self.text(key).and_then(|text| text.parse::<f64>().ok()).filter(|value| value.is_finite());
        value.ok_or_else(|| self.refuse(key, "it must be a finite number"))
    }

    pub(super) fn positive(&self, key: &str) -> Result<f64> {
        let value = self.number(key)?;
        if value > 0.0 { Ok(value) } else { Err(self.refuse(key, "it must be positive")) }
    }

    /// Codes in ascending order: `k` of them from zero on, or those of a list.
    pub(super) fn codes(&self, most: usize) -> Result<Vec<f64>> {
        let too_many = |key: &str| self.refuse(key, &format!("at most {most} categories are supported"));
        match (self.text("k"), self.text("codes")) {
            (Some(_), Some(_)) => Err(self.refuse("codes", "k is their number; leave it out")),
            (None, None) => Err(self.refuse(
                "",
                "it needs k (number of categories, written 0 to k-1), or codes (the values themselves, as in codes=1/2/5)",
            )),
            (Some(_), None) => match self.integer("k", 2)? {
                k if k > most => Err(too_many("k")),
                k => Ok((0..k).map(|code| code as f64).collect()),
            },
            (None, Some(text)) => {
                let codes: Option<Vec<f64>> =
                    text.split('/').map(|code| code.trim().parse().ok().filter(|code: &f64| code.is_finite())).collect();
                let ascending = |codes: &Vec<f64>| codes.len() > 1 && codes.windows(2).all(|pair| pair[0] < pair[1]);
                match codes.filter(ascending) {
                    Some(codes) if codes.len() > most => Err(too_many("codes")),
                    Some(codes) => Ok(codes),
                    None => Err(self.refuse("codes", "write two numbers or more in ascending order, as in codes=1/2/5")),
                }
            }
        }
    }

    pub(super) fn integer(&self, key: &str, least: usize) -> Result<usize> {
        let value = self.text(key).and_then(|text| text.parse::<u32>().ok()).map(|value| value as usize);
        value
            .filter(|value| *value >= least)
            .ok_or_else(|| self.refuse(key, &format!("it must be a whole number, {least} or more")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_reads_back_as_itself() {
        for spec in entries().iter().flat_map(|entry| entry.examples) {
            let found = family(spec).unwrap();
            assert_eq!(found.spec(), *spec);
            assert_eq!(family(&found.spec()).unwrap().l(), found.l());
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> =
            entries().iter().flat_map(|e| std::iter::once(e.name).chain(e.aliases.iter().copied())).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn wrong_specifications_say_what_to_write() {
        let message = |spec: &str| family(spec).unwrap_err().to_string();
        assert!(message("binomial").contains("it needs n (number of trials), as in `binomial:n=12`"));
        assert!(message("binomial:n=0").contains("n=0: it must be a whole number, 1 or more"));
        assert!(message("gamma:k=-1").contains("k=-1: it must be positive"));
        assert!(message("gamma:q=1").contains("no fixed parameter `q`; it has: k"));
        assert!(message("poisson:lambda=3").contains("it has none"));
        assert!(message("gamma:4").contains("name=value"));
        assert!(message("gamma:k=1,k=2").contains("twice"));
        assert!(message("gaussian:var=1,mean=0").contains("nothing is left to learn"));
        assert!(message("student-t").contains("not an exponential family"));
        assert!(message("hurdle-gaussian").contains("only positive values"));
        assert!(message("hurdle").contains("hurdle-poisson"));
        assert!(message("").contains("there is no family ``"));
        assert!(message("gen-gamma:d=1,p=-1").contains("must be positive"));
        assert!(message("categorical").contains("it needs k (number of categories"));
        assert!(message("ordinal:codes=3/2/1").contains("ascending order"));
        assert!(message("ordinal:k=3,codes=1/2/4").contains("leave it out"));
        assert!(message("ordinal:k=2").contains("three"));
        assert!(message("categorical:k=3,scores=1/2").contains("write 3 numbers"));
        assert!(message("hurdle-hurdle-gamma").contains("only positive"));
    }
}
