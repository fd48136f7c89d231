//! Which causes can be spared, and posteriors without them.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::error::Result;
use crate::model::Model;
use crate::posterior::truncated::proposals::{Propose, Proposed, Random, RowContext};
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::{Sets, Truncated, Truncation};
use crate::ranks::{Forest, Share};

/// Rows whose losses are summed apart; it never depends on the number of threads.
const CHUNK: usize = 256;
/// Below this a share of a posterior is nothing.
const NOTHING: f64 = 1e-300;

/// The states that would explain a row if one of the causes of its best state were not there: those without it, with
/// each other cause in its place.
#[derive(Debug)]
pub(crate) struct Substitutes;

impl Propose for Substitutes {
    fn propose(&self, row: &RowContext<'_>, _: &mut Random, proposed: &mut Proposed) {
        let mut without = row.current[..row.words].to_vec();
        bits::each(&row.current[..row.words], |cause| {
            bits::flip(&mut without, cause);
            proposed.flips_of_words(&without);
            bits::flip(&mut without, cause);
        });
    }
}

/// The prior with which substitutes are looked for: so small that the set holds states with one cause in the place of
/// another, and not all those with one cause more that explains nothing.
const RARE: f64 = 1e-8;

/// Posteriors over sets that hold substitutes.
struct Compared<'b> {
    sets: &'b Sets,
    /// $q$ of each state of each row, up to a factor of the row.
    q: Vec<f64>,
    /// For each row what a state that is not in its set has at the most.
    least: Vec<f64>,
    weights: Vec<f64>,
    share: &'b Share,
}

impl<'a> Truncated<'a> {
    /// The `count` causes that the bound misses least, one after the other: the loss of each is counted without those
    /// that were chosen before, so that of two causes that stand in for each other one stays.
    ///
    /// Without cause $h$ a row's bound is the logarithm of the sum over the states of $\mathcal K^{(n)}$ in which it is
    /// not active. `substitutes` proposes these before they are compared.
    pub(crate) fn least_missed(
        &mut self,
        model: &Model,
        substitutes: &'a Truncation,
        count: usize,
    ) -> Result<Vec<usize>> {
        let mut rare = model.clone();
        rare.pi.fill(RARE);
        let usual = std::mem::replace(&mut self.truncation, substitutes);
        let done = self.e_step(&rare, 1.0, true);
        self.truncation = usual;
        done?;
        let log_odds = |pi: f64| pi.ln() - (-pi).ln_1p();
        let change: Vec<f64> = model.pi.iter().map(|pi| log_odds(*pi) - log_odds(RARE)).collect();
        let compared = self.compared(&change);
        let mut spared = vec![0u64; self.sets.words()];
        let mut order = Vec::with_capacity(count);
        for _ in 0..count.min(model.h().saturating_sub(1)) {
            let losses = compared.losses(&spared)?;
            let left = (0..model.h()).filter(|cause| !bits::has(&spared, *cause));
            if let Some(cause) = left.min_by(|a, b| losses[*a].total_cmp(&losses[*b])) {
                bits::flip(&mut spared, cause);
                order.push(cause);
            }
        }
        Ok(order)
    }

    /// Posteriors with the priors of the model, whose log-odds differ by `change` from those of the last E-step.
    fn compared(&self, change: &[f64]) -> Compared<'_> {
        let (s, words) = (self.sets.s(), self.sets.words());
        let mut q = vec![0.0; self.q.len()];
        let least = q.par_chunks_exact_mut(s).enumerate().map(|(n, q)| {
            let states = self.sets.row(n).chunks_exact(words);
            let before = &self.q[n * s..][..s];
            for ((q, state), before) in q.iter_mut().zip(states).zip(before) {
                *q = before.max(NOTHING).ln();
                bits::each(state, |cause| *q += change[cause]);
            }
            let best = (1..s).fold(0, |best, index| if q[index] > q[best] { index } else { best });
            let highest = q[best];
            q.iter_mut().for_each(|q| *q = (*q - highest).exp());
            // what is not in the set has with the rare priors no more than the worst that is
            before.iter().copied().fold(f64::INFINITY, f64::min).max(NOTHING) / before[best].max(NOTHING)
        });
        let least = least.collect();
        let share = self.share();
        Compared { sets: &self.sets, q, least, weights: share.rows().map(|n| self.observed.weight(n)).collect(), share }
    }
}

impl Compared<'_> {
    /// The loss of the bound without each cause, where those of `spared` are gone already.
    fn losses(&self, spared: &[u64]) -> Result<Vec<f64>> {
        let (ranks, mut own) = (&self.share.ranks, Forest::new());
        for shard in self.share.own() {
            own.push(shard, self.losses_of(self.share.shards.rows(shard), spared));
        }
        ranks.broadcast(0, ranks.sum(self.share.shards.count(), own)?)
    }

    /// The losses of some rows that are here.
    fn losses_of(&self, rows: Range<usize>, spared: &[u64]) -> Vec<f64> {
        let (rows, h) = (rows.start - self.share.first()..rows.end - self.share.first(), self.sets.h());
        let chunks: Vec<Vec<f64>> = (0..rows.len().div_ceil(CHUNK))
            .into_par_iter()
            .map(|chunk| {
                let (mut losses, mut active) = (vec![0.0; h], vec![0.0; h]);
                let from = rows.start + chunk * CHUNK;
                for n in from..(from + CHUNK).min(rows.end) {
                    self.add_losses(n, spared, &mut active, &mut losses);
                }
                losses
            })
            .collect();
        let mut losses = vec![0.0; h];
        for chunk in chunks {
            losses.iter_mut().zip(chunk).for_each(|(loss, more)| *loss += more);
        }
        losses
    }

    fn add_losses(&self, n: usize, spared: &[u64], active: &mut [f64], losses: &mut [f64]) {
        let (s, words, weight) = (self.sets.s(), self.sets.words(), self.weights[n]);
        let q = &self.q[n * s..][..s];
        let is_left = |state: &&[u64]| state.iter().zip(spared).all(|(a, b)| a & b == 0);
        let left = || self.sets.row(n).chunks_exact(words).zip(q).filter(|(state, _)| is_left(state));
        let (mut total, mut best): (f64, Option<(&[u64], f64)>) = (0.0, None);
        for (state, q) in left() {
            total += q;
            if best.is_none_or(|(_, highest)| *q > highest) {
                best = Some((state, *q));
            }
            bits::each(state, |cause| active[cause] += q);
        }
        let least = self.least[n];
        if let Some((best, _)) = best
            && total > least
        {
            bits::each(best, |cause| {
                // a difference of two sums would lose what little may be left
                let without: f64 = left().filter(|(state, _)| !bits::has(state, cause)).map(|(_, q)| q).sum();
                losses[cause] += weight * (total / without.max(least)).ln();
                active[cause] = 0.0;
            });
            for (loss, active) in losses.iter_mut().zip(&*active).filter(|(_, active)| **active > 0.0) {
                *loss -= weight * (-active / total).ln_1p();
            }
        }
        active.fill(0.0);
    }
}

impl<'a> Truncated<'a> {
    /// The same posteriors without the causes of which `kept` is not one; `kept` ascends.
    pub(crate) fn with_causes(&self, kept: &[usize]) -> Truncated<'a> {
        let mut sets = Sets::empty(self.sets.n(), kept.len(), self.sets.s());
        let (s, words, first) = (sets.s(), sets.words(), self.share().first());
        let mut all_kept = vec![0u64; self.sets.words()];
        kept.iter().for_each(|cause| bits::flip(&mut all_kept, *cause));
        sets.bits_mut().par_chunks_exact_mut(s * words).enumerate().for_each(|(n, to)| {
            let from = || self.sets.row(n).chunks_exact(self.sets.words());
            let whole = |state: &&[u64]| state.iter().zip(&all_kept).all(|(a, b)| a & !b == 0);
            let row = (first + n) as u64;
            let mut random = Random::seed_from_u64(bits::hash(&[self.seed, self.iteration, row]));
            let mut hashes = Vec::with_capacity(s);
            let mut state = vec![0u64; words];
            // states that lose nothing come first, then what is left of the others
            let old = from().filter(whole).chain(from().filter(|state| !whole(state)));
            for old in old {
                state.fill(0);
                kept.iter().enumerate().filter(|(_, old_h)| bits::has(old, **old_h)).for_each(|(h, _)| {
                    bits::flip(&mut state, h);
                });
                let hash = bits::hash(&state);
                if hashes.len() < s && !hashes.contains(&hash) {
                    to[hashes.len() * words..][..words].copy_from_slice(&state);
                    hashes.push(hash);
                }
            }
            // and where states have become the same, new ones
            while hashes.len() < s {
                while hashes.contains(&bits::hash(&state)) {
                    bits::flip(&mut state, random.random_range(0..kept.len()));
                }
                to[hashes.len() * words..][..words].copy_from_slice(&state);
                hashes.push(bits::hash(&state));
            }
        });
        Truncated { sets, q: Vec::new(), bounds: self.bounds.clone(), ..*self }
    }
}
