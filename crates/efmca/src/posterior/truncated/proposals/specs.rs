//! Proposals as text, so that settings with them can be written down and read again.

use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Evolution, Marginals, Neighbours, OneFlips, Propose, Selection, Variation};

/// The proposal with this specification, if it is one of ours.
fn proposal(spec: &str) -> Option<Arc<dyn Propose>> {
    let (name, values) = spec.split_once(':')?;
    let value = |name: &str| values.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let count = |name: &str| value(name)?.parse::<usize>().ok();
    Some(match name {
        "one-flips" => Arc::new(OneFlips { parents: count("parents")? }),
        "neighbours" => Arc::new(Neighbours { each: count("each")? }),
        "marginals" => Arc::new(Marginals { draws: count("draws")? }),
        "evolution" => {
            let rate = value("rate").map(str::parse::<f64>).transpose().ok()?;
            Arc::new(Evolution {
                parents: count("parents")?,
                children: count("children")?,
                selection: Selection::from_name(value("selection")?)?,
                variation: Variation::from_name(value("variation")?, rate)?,
            })
        }
        _ => return None,
    })
}

/// Writes proposals as their specifications.
pub(crate) fn serialize<S: Serializer>(proposals: &[Arc<dyn Propose>], serializer: S) -> Result<S::Ok, S::Error> {
    proposals.iter().map(|proposal| proposal.spec()).collect::<Vec<_>>().serialize(serializer)
}

/// Reads them again. A proposal of the user's own is not found by its specification.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<dyn Propose>>, D::Error> {
    let specs = Vec::<String>::deserialize(deserializer)?;
    let found =
        |spec: &String| proposal(spec).ok_or_else(|| D::Error::custom(format!("there is no proposal `{spec}`")));
    specs.iter().map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specifications_name_their_proposals() {
        let evolution = |selection, variation| Evolution { parents: 5, children: 4, selection, variation };
        let all: [Arc<dyn Propose>; 8] = [
            Arc::new(OneFlips { parents: 3 }),
            Arc::new(Neighbours { each: 2 }),
            Arc::new(Marginals { draws: 7 }),
            Arc::new(evolution(Selection::Fitness, Variation::RandomFlip)),
            Arc::new(evolution(Selection::Uniform, Variation::SparseFlip { rate: 0.1 })),
            Arc::new(evolution(Selection::Uniform, Variation::Crossover)),
            Arc::new(evolution(Selection::Uniform, Variation::CrossoverRandomFlip)),
            Arc::new(evolution(Selection::Uniform, Variation::CrossoverSparseFlip { rate: 1e-3 })),
        ];
        for one in all {
            let again = proposal(&one.spec()).map(|again| format!("{again:?}"));
            assert_eq!(again, Some(format!("{one:?}")));
        }
        assert!(proposal("one-flips").is_none() && proposal("flips:parents=1").is_none());
    }
}
