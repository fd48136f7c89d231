//! Names of columns in messages.

use super::trouble::shown;

/// Names in a message, at the most.
const MOST_NAMES: usize = 12;
/// Names that are less similar than this are not meant.
const SIMILAR: f64 = 0.8;

/// The name nearest to one that does not exist, ready to be printed after it: ` (did you mean x?)`, or nothing.
pub fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a String>) -> String {
    let lower = name.to_lowercase();
    let near = names.into_iter().map(|known| (strsim::jaro_winkler(&lower, &known.to_lowercase()), known));
    match near.max_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((similarity, known)) if similarity > SIMILAR => format!(" (did you mean {}?)", shown(known)),
        _ => String::new(),
    }
}

/// Names one after another, the first few if there are many.
pub fn listed(names: &[String]) -> String {
    let mut list: Vec<String> = names.iter().take(MOST_NAMES).map(|name| shown(name)).collect();
    if names.len() > MOST_NAMES {
        list.push(format!("… ({} in all)", names.len()));
    }
    list.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["visits", "income"].map(str::to_owned);
        assert_eq!(did_you_mean("Visit", &names), " (did you mean `visits`?)");
        assert_eq!(did_you_mean("zzz", &names), "");
        assert_eq!(listed(&names), "`visits`, `income`");
    }
}
