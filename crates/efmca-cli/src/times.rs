//! Where the time of ranks goes: computing, waiting for others, and exchanging sums.

use std::time::Instant;

use cpu_time::ProcessTime;
use efmca::ranks::{Ranks, Times};
use serde_json::{Value, json};

/// A rank that computes so many times as long as the middle one is slow.
const SLOW: f64 = 1.5;
/// Seconds below which nobody minds.
const SHORT: f64 = 1.0;

/// Seconds of each rank: computing, waiting, exchanging, and of all its processors.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Spent {
    computing: f64,
    waiting: f64,
    exchanging: f64,
    processor: f64,
}

/// The times of all ranks, step by step.
pub(crate) struct RankTimes {
    last: Instant,
    times: Times,
    processor: Option<ProcessTime>,
    /// All steps so far, for each rank.
    total: Vec<Spent>,
    steps: usize,
}

impl RankTimes {
    pub(crate) fn new(ranks: &Ranks) -> Self {
        let processor = ProcessTime::try_now().ok();
        Self { last: Instant::now(), times: ranks.times(), processor, total: Vec::new(), steps: 0 }
    }

    /// The times since the step before as fields of an event; nothing if there is a single rank. All ranks must be here at a time.
    pub(crate) fn step(&mut self, ranks: &Ranks) -> efmca::Result<Option<[(&'static str, Value); 4]>> {
        if ranks.is_alone() {
            return Ok(None);
        }
        let (now, times, processor) = (self.last.elapsed().as_secs_f64(), ranks.times(), ProcessTime::try_now().ok());
        let waiting = (times.waiting - self.times.waiting).as_secs_f64();
        let exchanging = (times.exchanging - self.times.exchanging).as_secs_f64();
        let used = self.processor.zip(processor).map_or(0.0, |(then, now)| now.duration_since(then).as_secs_f64());
        let own = [(now - waiting - exchanging).max(0.0), waiting, exchanging, used];
        (self.last, self.times, self.processor) = (Instant::now(), times, processor);
        let all = ranks.numbers(&own)?;
        self.total.resize(all.len(), Spent::default());
        self.steps += 1;
        for (total, step) in self.total.iter_mut().zip(&all) {
            if let [computing, waiting, exchanging, processor] = step[..] {
                total.computing += computing;
                total.waiting += waiting;
                total.exchanging += exchanging;
                total.processor += processor;
            }
        }
        let column = |at: usize| json!(all.iter().map(|step| step.get(at)).collect::<Vec<_>>());
        Ok(Some([
            ("computing", column(0)),
            ("waiting", column(1)),
            ("exchanging", column(2)),
            ("processor", column(3)),
        ]))
    }

    /// All steps in a few lines.
    pub(crate) fn summary(&self) -> Vec<String> {
        if self.total.len() < 2 {
            return Vec::new();
        }
        let range = |of: fn(&Spent) -> f64| {
            let values = || self.total.iter().map(of);
            (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max))
        };
        let words = |(low, high): (f64, f64)| format!("{low:.1} to {high:.1} s");
        let mut lines = vec![format!(
            "{} ranks, {} steps, seconds of a rank: computing {}, waiting {}, exchanging {}, of processors {}",
            self.total.len(),
            self.steps,
            words(range(|spent| spent.computing)),
            words(range(|spent| spent.waiting)),
            words(range(|spent| spent.exchanging)),
            words(range(|spent| spent.processor)),
        )];
        let mut order: Vec<usize> = (0..self.total.len()).collect();
        order.sort_by(|a, b| self.total[*a].computing.total_cmp(&self.total[*b].computing));
        let (middle, slowest) = (order[(order.len() - 1) / 2], order[order.len() - 1]);
        let (usual, most) = (self.total[middle].computing, self.total[slowest].computing);
        if most > SLOW * usual + SHORT {
            lines.push(format!(
                "rank {slowest} is slow: it computed for {most:.1} s, the middle one for {usual:.1} s, and all others waited for it"
            ));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_rank_is_named() {
        let spent = |computing: f64| Spent { computing, waiting: 1.0, exchanging: 0.1, processor: computing };
        let mut times = RankTimes::new(&Ranks::default());
        assert!(times.summary().is_empty() && times.step(&Ranks::default()).unwrap().is_none());
        times.total = vec![spent(10.0), spent(11.0), spent(30.0)];
        let lines = times.summary();
        assert!(lines[0].contains("computing 10.0 to 30.0 s") && lines[1].starts_with("rank 2 is slow"), "{lines:?}");
        times.total.pop();
        assert_eq!(times.summary().len(), 1);
    }
}
