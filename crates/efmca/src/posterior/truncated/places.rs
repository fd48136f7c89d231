//! The places of a set: which states leave for better ones, and $q$ of those that stay.

use multiversion::multiversion;

use crate::posterior::exp::exp_of_negative;

/// Numbers that are worked on side by side.
const LANES: usize = 8;

/// States that may enter a set all at once, and those that would leave for them.
#[derive(Debug, Default)]
pub(crate) struct Entering {
    /// Log-joints of states that are better than the worst one of the set, with numbers of their own.
    pub(crate) better: Vec<(f64, u32)>,
    leaving: Vec<(f64, u32)>,
}

impl Entering {
    /// Of the states in `better` those that belong to the best of all, each with the place of the one that leaves for it. No state of
    /// the set may be among them.
    pub(crate) fn pairs<'a>(
        &'a mut self,
        joints: &[f64],
    ) -> impl ExactSizeIterator<Item = ((f64, u32), usize)> + use<'a> {
        let Entering { better, leaving } = self;
        let best_first = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if better.len() > joints.len() {
            // no more can enter than there are states
            better.select_nth_unstable_by(joints.len() - 1, best_first);
            better.truncate(joints.len());
        }
        better.sort_unstable_by(best_first);
        // a candidate enters if more states of the set are worse than it than candidates are better
        let mut entering = 0..better.len();
        while !entering.is_empty() {
            let middle = entering.start + entering.len() / 2;
            match count_below(joints, better[middle].0) > middle {
                true => entering.start = middle + 1,
                false => entering.end = middle,
            }
        }
        better.truncate(entering.start);
        leaving.clear();
        if let Some((limit, _)) = better.last() {
            let below = joints.iter().zip(0..).filter(|(joint, _)| *joint < limit);
            leaving.extend(below.map(|(joint, place)| (*joint, place)));
            if leaving.len() > better.len() {
                leaving.select_nth_unstable_by(better.len() - 1, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
                leaving.truncate(better.len());
            }
        }
        better.iter().zip(leaving).map(|(better, (_, place))| (*better, *place as usize))
    }
}

/// $q \propto p^\beta$ over $\mathcal K^{(n)}$ (Eqn. 41) from its log-joints, and $\mathcal F$ (Eqns. 26 and 81) without what is
/// common to all states; nothing if no state is possible.
pub(crate) fn posterior(beta: f64, joints: &[f64], q: &mut [f64]) -> Option<f64> {
    let max = joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if !max.is_finite() {
        return None;
    }
    let total = exponentials(beta, max, joints, q);
    let mut mean = 0.0;
    for (q, joint) in q.iter_mut().zip(joints) {
        *q /= total;
        if beta != 1.0 && *q > 1e-300 {
            mean += *q * (joint - max);
        }
    }
    // F = log sum p^beta + (1 - beta) E_q[log p]
    Some(libm::log(total) + max + (1.0 - beta) * mean)
}

/// $e^{\beta(x - \text{max})}$ of all `joints`, and their sum. The bits are the same for all processors.
#[multiversion(targets("x86_64+avx2", "x86_64+avx", "aarch64+neon"))]
fn exponentials(beta: f64, max: f64, joints: &[f64], found: &mut [f64]) -> f64 {
    let mut sums = [0.0; LANES];
    let (groups, rest) = joints.as_chunks::<LANES>();
    let (found, last) = found[..joints.len()].as_chunks_mut::<LANES>();
    for (found, group) in found.iter_mut().zip(groups) {
        for lane in 0..LANES {
            found[lane] = exp_of_negative::<false>(beta * (group[lane] - max));
            sums[lane] += found[lane];
        }
    }
    for ((found, joint), sum) in last.iter_mut().zip(rest).zip(&mut sums) {
        *found = exp_of_negative::<false>(beta * (joint - max));
        *sum += *found;
    }
    sums.iter().sum()
}

/// Where the best state is; the first of equals.
pub(crate) fn best(joints: &[f64]) -> usize {
    first_of(joints, joints.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// Where the worst state is; the first of equals.
pub(crate) fn worst(joints: &[f64]) -> usize {
    first_of(joints, lowest(joints))
}

/// The lowest of `values`, in lanes, because it is asked for often.
fn lowest(values: &[f64]) -> f64 {
    let mut lowest = [f64::INFINITY; LANES];
    let (groups, rest) = values.as_chunks::<LANES>();
    for group in groups {
        for (lowest, value) in lowest.iter_mut().zip(group) {
            *lowest = if value < lowest { *value } else { *lowest };
        }
    }
    rest.iter().chain(&lowest).copied().fold(f64::INFINITY, |a, b| if b < a { b } else { a })
}

/// How many of `values` are lower than `limit`, also in lanes.
fn count_below(values: &[f64], limit: f64) -> usize {
    let (groups, rest) = values.as_chunks::<LANES>();
    let mut counts = [0u64; LANES];
    for group in groups {
        for (count, value) in counts.iter_mut().zip(group) {
            *count += u64::from(*value < limit);
        }
    }
    counts.iter().sum::<u64>() as usize + rest.iter().filter(|value| **value < limit).count()
}

/// Where `value` is in `values`.
fn first_of(values: &[f64], value: f64) -> usize {
    values.iter().position(|other| *other == value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::posterior::truncated::states::bits;

    #[test]
    fn the_best_of_all_stay() {
        let mut seed = 1u64;
        let mut draw = |below: u64| {
            seed = bits::hash(&[seed]);
            // few different values, so that there are ties
            (seed % below) as f64
        };
        for size in [1usize, 3, 8, 60] {
            for offered in [0usize, 1, 5, 100] {
                let mut joints: Vec<f64> = (0..size).map(|_| draw(40)).collect();
                let floor = joints[worst(&joints)];
                let all: Vec<f64> = (0..offered).map(|_| draw(60)).filter(|joint| *joint > floor).collect();
                let mut expected: Vec<f64> = joints.iter().chain(&all).copied().collect();
                expected.sort_by(|a, b| b.total_cmp(a));
                expected.truncate(size);
                let mut entering = Entering { better: all.iter().copied().zip(0..).collect(), ..Entering::default() };
                let pairs: Vec<_> = entering.pairs(&joints).collect();
                for ((joint, number), place) in pairs {
                    assert_eq!(joint, all[number as usize]);
                    assert!(joints[place] < joint, "a state leaves for a better one only");
                    joints[place] = joint;
                }
                joints.sort_by(|a, b| b.total_cmp(a));
                assert_eq!(joints, expected, "{size} {offered}");
            }
        }
    }
}
