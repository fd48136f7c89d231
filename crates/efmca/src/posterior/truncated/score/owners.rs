//! A state with many active causes: who owns each column of a row, and what changes for the states near it.
//!
//! One walk to the second active cause of each column scores all $H$ flips of the state. A state that differs by a few causes
//! from it has other owners in few columns: those in which one of these causes is at least as strong as the owner. Ranks
//! tell which these are, many columns in one comparison.

use multiversion::multiversion;

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, LANES, Rank, place};
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;

/// Causes by which a state may differ to be near.
const NEAR: usize = 8;

/// The owner of a column: its position in the order, its place, which cause it is, and the place of the next active cause.
#[derive(Debug, Clone, Copy, Default)]
struct Owner {
    position: u32,
    place: u32,
    second: u32,
    cause: u16,
}

/// The owners of all columns of a row in one state.
#[derive(Debug)]
pub(crate) struct Owners<R> {
    columns: Vec<Owner>,
    /// Their ranks, padded as those of a [`Layout`].
    ranks: Vec<R>,
    /// Whether each cause, or the background, is active.
    active: Vec<bool>,
    /// The columns that a difference may change, stored as ranks are (`kernel::place`).
    hits: Vec<u8>,
}

/// The causes by which a state differs from another, if they are few.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference {
    causes: [u16; NEAR],
    count: usize,
}

impl Difference {
    /// Nothing if more than [`NEAR`] causes differ.
    pub(crate) fn new(state: &[u64], other: &[u64]) -> Option<Difference> {
        let mut found = Difference { causes: [0; NEAR], count: 0 };
        for (index, (a, b)) in state.iter().zip(other).enumerate() {
            let mut rest = a ^ b;
            while rest != 0 {
                *found.causes.get_mut(found.count)? = (index * 64) as u16 + rest.trailing_zeros() as u16;
                found.count += 1;
                rest &= rest - 1;
            }
        }
        Some(found)
    }

    /// The causes.
    pub(crate) fn causes(&self) -> impl Iterator<Item = usize> {
        self.causes[..self.count].iter().map(|cause| usize::from(*cause))
    }
}

impl<R: Rank> Owners<R> {
    pub(crate) fn new(h: usize) -> Owners<R> {
        Owners { columns: Vec::new(), ranks: Vec::new(), active: vec![false; h + 1], hits: Vec::new() }
    }

    /// Finds the owners of the columns of `row` in `state`, and $\sum_d$ of the log-terms of `state` with each of its $H$ bits
    /// flipped in turn, and of `state` itself.
    ///
    /// An inactive cause changes the columns in which it comes before the owner, and the owner the columns it owns.
    pub(crate) fn flips<F: Float>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        state: &[u64],
        found: &mut [f64],
    ) -> f64 {
        for (active, word) in self.active.chunks_mut(64).zip(state) {
            active.iter_mut().enumerate().for_each(|(bit, active)| *active = word >> bit & 1 == 1);
        }
        // the background
        self.active[layout.h] = true;
        found.fill(0.0);
        self.columns.clear();
        self.ranks.resize(layout.width, R::LOWEST);
        let mut total = 0.0;
        for column in 0..layout.d {
            let owner = self.owner(layout, column);
            self.ranks[place::<F, R>(column)] = R::of(layout.h - owner.position as usize);
            self.columns.push(owner);
            if row.missing && row.present[column] == F::ZERO {
                continue;
            }
            let term = layout.term_at(row, column, owner.place as usize);
            total += term.f64();
            each_before(layout, column, owner.position, |place, cause| {
                found[cause] += (layout.term_at(row, column, place) - term).f64();
            });
            if let Some(found) = found.get_mut(usize::from(owner.cause)) {
                *found += (layout.term_at(row, column, owner.second as usize) - term).f64();
            }
        }
        found.iter_mut().for_each(|found| *found += total);
        total
    }

    /// The owner of a column, and the next active cause.
    #[inline(always)]
    fn owner<F: Float>(&self, layout: &Layout<F, R>, column: usize) -> Owner {
        let mut owner = None;
        let mut position = 0;
        for (start, causes) in layout.blocks(column) {
            for (place, cause) in (start..).zip(causes) {
                if self.active[usize::from(*cause)] {
                    let place = place as u32;
                    match owner {
                        None => owner = Some(Owner { position, place, cause: *cause, second: place }),
                        Some(owner) => return Owner { second: place, ..owner },
                    }
                    if usize::from(*cause) == layout.h {
                        // the background is never dropped
                        return owner.unwrap_or_default();
                    }
                }
                position += 1;
            }
        }
        owner.unwrap_or_default()
    }

    /// Calls `see` with the columns that are not missing and have another owner if the causes of `difference` flip, and with the
    /// places of the owners before and after.
    #[inline(always)]
    fn each_changed<F: Float>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        difference: &Difference,
        mut see: impl FnMut(usize, usize, usize),
    ) {
        difference.causes().for_each(|cause| self.active[cause] ^= true);
        let mut hits = std::mem::take(&mut self.hits);
        hits.clear();
        hits.resize(layout.width, 0);
        for cause in difference.causes() {
            mark_not_below(layout.ranks(cause), &self.ranks, &mut hits);
        }
        for (group, hits) in hits.as_chunks::<LANES>().0.iter().enumerate() {
            if hits.iter().fold(0, |any, hit| any | hit) == 0 {
                continue;
            }
            for column in group * LANES..((group + 1) * LANES).min(layout.d) {
                let missing = row.missing && row.present[column] == F::ZERO;
                if hits[place::<F, R>(column) % LANES] != 0 && !missing {
                    see(column, self.columns[column].place as usize, self.place_of_first(layout, column));
                }
            }
        }
        self.hits = hits;
        difference.causes().for_each(|cause| self.active[cause] ^= true);
    }

    /// The place of the strongest cause of a column that is active.
    #[inline(always)]
    fn place_of_first<F: Float>(&self, layout: &Layout<F, R>, column: usize) -> usize {
        for (start, causes) in layout.blocks(column) {
            for (place, cause) in (start..).zip(causes) {
                if self.active[usize::from(*cause)] {
                    return place;
                }
            }
        }
        0
    }

    /// What is added to $\sum_d$ of the log-terms if the causes of `difference` flip.
    pub(crate) fn score<F: Float>(&mut self, layout: &Layout<F, R>, row: &Row<F>, difference: &Difference) -> f64 {
        let mut sum = 0.0;
        self.each_changed(layout, row, difference, |column, before, after| {
            sum += (layout.term_at(row, column, after) - layout.term_at(row, column, before)).f64();
        });
        sum
    }
}

/// Marks the columns in which `others` are at least as high as `ranks`.
#[multiversion(targets("x86_64+avx512f+avx512bw+avx512vl", "x86_64+avx2", "aarch64+neon"))]
fn mark_not_below<R: Rank>(others: &[R], ranks: &[R], hits: &mut [u8]) {
    for ((hit, other), rank) in hits.iter_mut().zip(others).zip(ranks) {
        *hit |= u8::from(other >= rank);
    }
}

/// The posterior probabilities of a state with many active causes and of states near it.
#[derive(Debug)]
pub(crate) struct NearWeights {
    /// Those of its flips, by cause, and of all others together; zero between rows.
    flips: Vec<f64>,
    /// What states that are no flips have given away of each column.
    moved: Vec<f64>,
    total: f64,
}

impl NearWeights {
    pub(crate) fn new(h: usize, d: usize) -> NearWeights {
        NearWeights { flips: vec![0.0; h], moved: vec![0.0; d], total: 0.0 }
    }

    /// Notes the posterior probability of the state itself (code $H$) or of one of its flips.
    #[inline(always)]
    pub(crate) fn assign(&mut self, code: u16, q: f64) {
        self.total += q;
        if let Some(flip) = self.flips.get_mut(usize::from(code)) {
            *flip = q;
        }
    }

    /// Adds what a state gives that differs from the state of the owners: the columns that change to their owners now, the
    /// others with [`NearWeights::distribute`].
    pub(crate) fn give<F: Float, R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        (owners, state): (&mut Owners<R>, &[u64]),
        (difference, q): (&Difference, f64),
        sums: &mut Sums,
    ) {
        sums.prepare_walks(layout);
        self.total += q;
        owners.each_changed(layout, row, difference, |column, before, after| {
            if after != before {
                sums.give(layout, row, column, after, q);
                self.moved[column] += q;
            }
        });
        for cause in difference.causes() {
            sums.active[cause] += if bits::has(state, cause) { -q } else { q };
        }
    }

    /// Adds what all states give to the M-step whose owners are those of `state`, and forgets them.
    pub(crate) fn distribute<F: Float, R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        owners: &Owners<R>,
        state: &[u64],
        sums: &mut Sums,
    ) {
        let total = std::mem::take(&mut self.total);
        if total == 0.0 {
            return;
        }
        sums.prepare_walks(layout);
        for (column, (owner, moved)) in owners.columns.iter().zip(&mut self.moved).enumerate() {
            let mut left = total - std::mem::take(moved);
            if row.missing && row.present[column] == F::ZERO {
                continue;
            }
            let flips = &self.flips;
            // a cause that is added wins where it is stronger than the owner
            each_before(layout, column, owner.position, |place, cause| {
                if flips[cause] > 0.0 {
                    sums.give(layout, row, column, place, flips[cause]);
                    left -= flips[cause];
                }
            });
            // where the owner is dropped, the next one takes its place
            let share = flips.get(usize::from(owner.cause)).copied().unwrap_or(0.0);
            if share > 0.0 {
                sums.give(layout, row, column, owner.second as usize, share);
                left -= share;
            }
            // by rounding, nothing can be a little less than nothing
            sums.give(layout, row, column, owner.place as usize, left.max(0.0));
        }
        bits::each(state, |cause| sums.active[cause] += total);
        for (cause, q) in self.flips.iter_mut().enumerate().filter(|(_, q)| **q > 0.0) {
            sums.active[cause] += if bits::has(state, cause) { -*q } else { *q };
            *q = 0.0;
        }
    }
}

/// Calls `see` with the places and causes of a column's order before `position`.
#[inline(always)]
fn each_before<F: Float, R: Rank>(
    layout: &Layout<F, R>,
    column: usize,
    position: u32,
    mut see: impl FnMut(usize, usize),
) {
    let mut left = position as usize;
    for (start, causes) in layout.blocks(column) {
        (start..).zip(causes).take(left).for_each(|(place, cause)| see(place, usize::from(*cause)));
        if left <= causes.len() {
            return;
        }
        left -= causes.len();
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2};

    use super::*;
    use crate::family::family;
    use crate::model::{Background, Model, Tables};
    use crate::posterior::truncated::data::frame::Frame;
    use crate::posterior::truncated::data::observations::Observations;
    use crate::posterior::truncated::kernel::Instructions;
    use crate::posterior::truncated::score::walk::Walk;
    use crate::ranks::Share;

    /// A number in $[0, 1)$ that looks random.
    fn scrambled(i: usize, j: usize) -> f64 {
        (bits::hash(&[i as u64, j as u64]) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Flips, and states that differ by up to eight causes, score and give what a walk of their own says.
    fn near_states_are_those_of_walks<F: Float, R: Rank>(h: usize, d: usize, missing: bool) {
        let w = Array2::from_shape_fn((h, d), |(h, d)| 0.5 + 7.5 * scrambled(h, d).powi(3));
        let pi = Array1::from_elem(h, 0.2);
        let poisson = family("poisson").expect("a family");
        let model = Model::new(poisson, pi, vec![w], Background::fixed(&[4.0])).expect("a model");
        let hole = |d: usize| missing && d % 5 == 3;
        let y =
            Array2::from_shape_fn((1, d), |(_, d)| if hole(d) { f64::NAN } else { (scrambled(9, d) * 9.0).floor() });
        let data = Observations::<F>::new(model.columns(), &y, Share::all(1), false).expect("data");
        let (tables, frame) = (Tables::new(&model), Frame::identity(model.columns()));
        let layout: Layout<F, R> = Layout::new(model.columns(), &tables, &frame, Instructions::new(false));
        let mut row = Row::new(model.columns());
        data.load(0, &mut row);

        let words = bits::words(h);
        let mut state = vec![0; words];
        (0..h).filter(|cause| scrambled(3, *cause) < 0.3).for_each(|cause| bits::flip(&mut state, cause));
        let mut owners: Owners<R> = Owners::new(h);
        let mut flips = vec![0.0; h];
        let sum = owners.flips(&layout, &row, &state, &mut flips);
        let mut walk = Walk::new(h);
        let mut walked = |state: &[u64]| {
            let mut found = [0.0];
            walk.score(&layout, &row, state, words, &mut found);
            found[0]
        };
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-4 * (1.0 + b.abs());
        assert!(close(sum, walked(&state)));

        let mut weights = NearWeights::new(h, d);
        let (mut near, mut all) = (Sums::zeros(&layout), Sums::zeros(&layout));
        let (mut states, mut q) = (state.clone(), vec![0.5]);
        weights.assign(h as u16, 0.5);
        for (cause, flip) in flips.iter().enumerate() {
            let mut other = state.clone();
            bits::flip(&mut other, cause);
            assert!(close(*flip, walked(&other)), "{cause}");
            weights.assign(cause as u16, 0.25);
            states.extend_from_slice(&other);
            q.push(0.25);
        }
        for round in 0..40 {
            let mut other = state.clone();
            for place in 0..2 + round % 7 {
                bits::flip(&mut other, (scrambled(round + 50, place) * h as f64) as usize);
            }
            let Some(difference) = Difference::new(&state, &other) else { panic!("it is near") };
            assert!(close(sum + owners.score(&layout, &row, &difference), walked(&other)), "{round}");
            weights.give(&layout, &row, (&mut owners, &state), (&difference, 0.125), &mut near);
            states.extend_from_slice(&other);
            q.push(0.125);
        }
        weights.distribute(&layout, &row, &owners, &state, &mut near);
        walk.distribute(&layout, &row, &states, words, &q, &mut all);
        for (state, q) in states.chunks_exact(words).zip(&q) {
            bits::each(state, |cause| all.active[cause] += q);
        }
        let [near, all] = [near, all].map(|sums| sums.moments(model.columns(), &layout, &frame));
        for (one, other) in near.assigned.iter().zip(&all.assigned).chain(near.sums.iter().zip(&all.sums)) {
            assert!(close(*one, *other), "{one} {other}");
        }
        assert!(near.active.iter().zip(&all.active).all(|(one, other)| close(*one, *other)));
    }

    #[test]
    fn states_near_a_state_score_and_give_what_walks_say() {
        for (h, d) in [(40, 33), (100, 70), (130, 400)] {
            for missing in [false, true] {
                near_states_are_those_of_walks::<f32, i8>(h, d, missing);
                near_states_are_those_of_walks::<f64, i16>(h, d, missing);
            }
        }
        near_states_are_those_of_walks::<f32, i16>(300, 64, true);
        assert!(Difference::new(&[0], &[0x1ff]).is_none());
    }
}
