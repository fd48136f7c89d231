//! Scoring states by passes over the columns, one for each cause: for states with few active causes.

use super::bits;
use super::kernel::{self, Float, LANES, Rank, TwoBest};
use super::layout::Layout;
use super::observations::Row;
use super::sums::Sums;

/// Causes that take part in the order of states; what is left comes after them.
const KEY_BITS: usize = 128;

/// Rows that are summed in the precision of the kernel before they are added to the sums in `f64`.
const BLOCK_ROWS: usize = 32;

/// Buffers for one row at a time.
#[derive(Debug)]
pub(crate) struct Passes<F, R> {
    /// $(H+1) \times$ width: log-terms of the row, made when they are first needed.
    terms: Vec<F>,
    made: Vec<bool>,
    /// The strongest causes of a chain of states, each with one cause more than the one before.
    ranks: Vec<R>,
    best: Vec<F>,
    sums: Vec<F>,
    /// How many states have a cause.
    popularity: Vec<u32>,
    /// The causes that some states have and others do not, the most popular first.
    differing: Vec<u16>,
    /// Where a cause is in that list.
    place: Vec<u16>,
    keys: Vec<(u128, u32)>,
    tail: Vec<u16>,
    second_rank: Vec<R>,
    second_term: Vec<F>,
    common: Vec<u64>,
    /// The causes that were added on the way to the present state, and what its levels own beside `best`.
    path: Vec<u16>,
    extra: Vec<F>,
    /// $(H+1) \times$ width: what this row gives to each cause, zero but for the touched ones.
    given: Vec<F>,
    touched: Vec<u16>,
    is_touched: Vec<bool>,
    /// $(H+1) \times (1+L) \times$ width: the sums of a block of rows.
    block: Vec<F>,
    block_causes: Vec<u16>,
    in_block: Vec<bool>,
    rows_in_block: usize,
}

impl<F: Float, R: Rank> Passes<F, R> {
    pub(crate) fn new(layout: &Layout<F, R>) -> Passes<F, R> {
        let (causes, width) = (layout.h + 1, layout.width);
        Passes {
            terms: vec![F::ZERO; causes * width],
            made: vec![false; causes],
            ranks: Vec::new(),
            best: Vec::new(),
            sums: Vec::new(),
            popularity: vec![0; causes],
            differing: Vec::new(),
            place: vec![0; causes],
            keys: Vec::new(),
            tail: Vec::new(),
            second_rank: vec![R::LOWEST; width],
            second_term: vec![F::ZERO; width],
            common: vec![0; bits::words(layout.h)],
            path: Vec::new(),
            extra: Vec::new(),
            given: vec![F::ZERO; causes * width],
            touched: Vec::new(),
            is_touched: vec![false; causes],
            block: vec![F::ZERO; causes * (1 + layout.l) * width],
            block_causes: Vec::new(),
            in_block: vec![false; causes],
            rows_in_block: 0,
        }
    }

    /// Forgets the row before.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        self.made.fill(false);
    }

    /// Makes the log-terms of a cause.
    #[inline(always)]
    fn make(&mut self, layout: &Layout<F, R>, row: &Row<F>, cause: usize) {
        if !self.made[cause] {
            self.made[cause] = true;
            let (eta, a) = layout.parameters(cause);
            let terms = &mut self.terms[cause * layout.width..][..layout.width];
            kernel::log_terms(eta, a, &row.t, terms);
            if row.missing {
                kernel::mask_terms(&row.present, terms);
            }
        }
    }

    /// Starts the chain with the background alone.
    #[inline(always)]
    fn start(&mut self, layout: &Layout<F, R>, row: &Row<F>) {
        let width = layout.width;
        self.make(layout, row, layout.h);
        self.grow(1, width);
        self.ranks[..width].copy_from_slice(layout.ranks(layout.h));
        self.best[..width].copy_from_slice(&self.terms[layout.h * width..][..width]);
        let mut lanes = [F::ZERO; LANES];
        for group in self.best[..width].as_chunks::<LANES>().0 {
            for lane in 0..LANES {
                lanes[lane] += group[lane];
            }
        }
        self.sums[0] = kernel::total(lanes);
    }

    #[inline(always)]
    fn grow(&mut self, levels: usize, width: usize) {
        if self.sums.len() < levels {
            self.sums.resize(levels, F::ZERO);
            self.ranks.resize(levels * width, R::LOWEST);
            self.best.resize(levels * width, F::ZERO);
        }
    }

    /// Adds a cause to the state at `level`; the new state is at the next level.
    #[inline(always)]
    fn push<const AVX2: bool>(&mut self, layout: &Layout<F, R>, row: &Row<F>, level: usize, cause: usize) {
        let width = layout.width;
        self.make(layout, row, cause);
        self.grow(level + 2, width);
        let (old_rank, new_rank) = self.ranks.split_at_mut((level + 1) * width);
        let (old_best, new_best) = self.best.split_at_mut((level + 1) * width);
        self.sums[level + 1] = kernel::add_cause::<AVX2, F, R>(
            layout.ranks(cause),
            &self.terms[cause * width..][..width],
            (&old_rank[level * width..], &old_best[level * width..]),
            &mut new_rank[..width],
            &mut new_best[..width],
        );
    }

    /// The sum of the log-terms of the state at `level` with a cause more.
    #[inline(always)]
    fn peek<const AVX2: bool>(&mut self, layout: &Layout<F, R>, row: &Row<F>, level: usize, cause: usize) -> F {
        let width = layout.width;
        self.make(layout, row, cause);
        kernel::sum_with::<AVX2, F, R>(
            layout.ranks(cause),
            &self.terms[cause * width..][..width],
            &self.ranks[level * width..][..width],
            &self.best[level * width..][..width],
        )
    }

    /// The causes that all of `states` have, and the others that some have, the most popular first.
    #[inline(always)]
    fn sort_causes(&mut self, states: &[u64], words: usize) {
        self.common.fill(u64::MAX);
        for state in states.chunks_exact(words) {
            for (common, word) in self.common.iter_mut().zip(state) {
                *common &= word;
            }
        }
        self.differing.clear();
        for state in states.chunks_exact(words) {
            for (index, (word, common)) in state.iter().zip(&self.common).enumerate() {
                let mut rest = word & !common;
                while rest != 0 {
                    let cause = index * 64 + rest.trailing_zeros() as usize;
                    rest &= rest - 1;
                    if self.popularity[cause] == 0 {
                        self.differing.push(cause as u16);
                    }
                    self.popularity[cause] += 1;
                }
            }
        }
        let popularity = &self.popularity;
        self.differing.sort_unstable_by_key(|cause| (std::cmp::Reverse(popularity[usize::from(*cause)]), *cause));
        for (place, cause) in self.differing.iter().enumerate() {
            self.place[usize::from(*cause)] = place as u16;
            self.popularity[usize::from(*cause)] = 0;
        }
    }

    /// Puts states in an order in which those that share the most popular causes follow each other.
    #[inline(always)]
    fn make_keys(&mut self, states: &[u64], words: usize) {
        self.keys.clear();
        for (index, state) in states.chunks_exact(words).enumerate() {
            let mut key = 0u128;
            for (index, (word, common)) in state.iter().zip(&self.common).enumerate() {
                let mut rest = word & !common;
                while rest != 0 {
                    let place = usize::from(self.place[index * 64 + rest.trailing_zeros() as usize]);
                    rest &= rest - 1;
                    if place < KEY_BITS {
                        key |= 1 << (KEY_BITS - 1 - place);
                    }
                }
            }
            self.keys.push((key, index as u32));
        }
        self.keys.sort_unstable_by_key(|key| std::cmp::Reverse(*key));
    }

    /// $\sum_d$ of the log-terms of each of `states`.
    ///
    /// States are visited in an order in which those that share most causes follow each other, and what they share is
    /// scored once: a state then costs little more than one pass.
    #[inline(always)]
    pub(crate) fn score<const AVX2: bool>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        words: usize,
        found: &mut [f64],
    ) {
        self.sort_causes(states, words);
        self.make_keys(states, words);
        let keys = std::mem::take(&mut self.keys);
        self.start(layout, row);
        let mut base = 0;
        for index in 0..words {
            let mut rest = self.common[index];
            while rest != 0 {
                self.push::<AVX2>(layout, row, base, index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
                base += 1;
            }
        }
        let long = self.differing.len() > KEY_BITS;
        let mut shared = 0;
        for at in 0..keys.len() {
            let (key, index) = keys[at];
            let total = key.count_ones();
            let kept = keys.get(at + 1).map_or(0, |next| shared_bits(key, next.0));
            self.tail.clear();
            if long {
                self.find_tail(&states[index as usize * words..][..words]);
            }
            let mut level = shared;
            let mut rest = if shared == 0 { key } else { drop_high_bits(key, shared) };
            let mut sum = None;
            while rest != 0 {
                let bit = rest.leading_zeros();
                rest &= !(1 << (127 - bit));
                let cause = usize::from(self.differing[bit as usize]);
                if level + 1 == total && total > kept && self.tail.is_empty() {
                    sum = Some(self.peek::<AVX2>(layout, row, base + level as usize, cause));
                } else {
                    self.push::<AVX2>(layout, row, base + level as usize, cause);
                }
                level += 1;
            }
            for last in 0..self.tail.len() {
                let cause = usize::from(self.tail[last]);
                if last + 1 == self.tail.len() {
                    sum = Some(self.peek::<AVX2>(layout, row, base + level as usize, cause));
                } else {
                    self.push::<AVX2>(layout, row, base + level as usize, cause);
                }
                level += 1;
            }
            found[index as usize] = sum.unwrap_or_else(|| self.sums[base + total as usize]).f64();
            shared = kept;
        }
        self.keys = keys;
    }

    /// The causes of a state that have no place in its key.
    fn find_tail(&mut self, state: &[u64]) {
        for (index, (word, common)) in state.iter().zip(&self.common).enumerate() {
            let mut rest = word & !common;
            while rest != 0 {
                let cause = index * 64 + rest.trailing_zeros() as usize;
                rest &= rest - 1;
                if usize::from(self.place[cause]) >= KEY_BITS {
                    self.tail.push(cause as u16);
                }
            }
        }
    }

    /// $\sum_d$ of the log-terms of `state` with each of its $H$ bits flipped in turn.
    #[inline(always)]
    pub(crate) fn flips<const AVX2: bool>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        state: &[u64],
        found: &mut [f64],
    ) {
        let width = layout.width;
        bits::each(state, |cause| self.make(layout, row, cause));
        self.start(layout, row);
        let mut two = TwoBest {
            best_rank: &mut self.ranks[..width],
            best_term: &mut self.best[..width],
            second_rank: &mut self.second_rank,
            second_term: &mut self.second_term,
        };
        // should the background be the weakest of all, then it is this second place that it falls to
        two.second_rank.fill(R::LOWEST);
        two.second_term.copy_from_slice(two.best_term);
        bits::each(state, |cause| two.add::<AVX2>(layout.ranks(cause), &self.terms[cause * width..][..width]));
        for (cause, found) in found.iter_mut().enumerate() {
            let sum = if bits::has(state, cause) {
                two.sum_without::<AVX2>(layout.ranks(cause))
            } else {
                let (rank, terms) = (layout.ranks(cause), &mut self.terms[cause * width..][..width]);
                let (eta, a) = layout.parameters(cause);
                if row.missing && !self.made[cause] {
                    kernel::log_terms(eta, a, &row.t, terms);
                    kernel::mask_terms(&row.present, terms);
                    self.made[cause] = true;
                }
                match self.made[cause] {
                    true => kernel::sum_with::<AVX2, F, R>(rank, terms, two.best_rank, two.best_term),
                    false => kernel::sum_with_new::<AVX2, F, R>(
                        (rank, eta, a),
                        &row.t,
                        two.best_rank,
                        two.best_term,
                        terms,
                    ),
                }
            };
            *found = sum.f64();
        }
    }

    /// Gives the columns to the causes that own them in `states`, with posterior probabilities `q`.
    ///
    /// The way back along the chains of [`Passes::score`]: what a state owns of a column goes to the cause that was added
    /// last where that one wins, and to the state before elsewhere. States that share causes share the rest of the way.
    #[inline(always)]
    pub(crate) fn distribute<const AVX2: bool>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        states: &[u64],
        words: usize,
        q: &[f64],
    ) {
        let width = layout.width;
        self.sort_causes(states, words);
        self.make_keys(states, words);
        let keys = std::mem::take(&mut self.keys);
        self.grow(2, width);
        self.ranks[..width].copy_from_slice(layout.ranks(layout.h));
        self.path.clear();
        self.open(0, width);
        for index in 0..words {
            let mut rest = self.common[index];
            while rest != 0 {
                self.descend(layout, index * 64 + rest.trailing_zeros() as usize);
                rest &= rest - 1;
            }
        }
        let base = self.path.len();
        let long = self.differing.len() > KEY_BITS;
        let mut shared = 0;
        for at in 0..keys.len() {
            let (key, index) = keys[at];
            let (total, q) = (key.count_ones(), F::of(q[index as usize]));
            let kept = keys.get(at + 1).map_or(0, |next| shared_bits(key, next.0));
            self.tail.clear();
            if long {
                self.find_tail(&states[index as usize * words..][..words]);
            }
            let mut rest = if shared == 0 { key } else { drop_high_bits(key, shared) };
            let mut last = None;
            while rest != 0 {
                let bit = rest.leading_zeros();
                rest &= !(1 << (127 - bit));
                let cause = usize::from(self.differing[bit as usize]);
                if rest == 0 && total > kept && self.tail.is_empty() {
                    last = Some(cause);
                } else {
                    self.descend(layout, cause);
                }
            }
            for position in 0..self.tail.len() {
                let cause = usize::from(self.tail[position]);
                if position + 1 == self.tail.len() {
                    last = Some(cause);
                } else {
                    self.descend(layout, cause);
                }
            }
            match last {
                Some(cause) => self.share_out::<AVX2>(layout, self.path.len(), cause, None, q),
                None => self.extra[self.path.len()] += q,
            }
            while self.path.len() > base + kept as usize {
                self.ascend::<AVX2>(layout);
            }
            shared = kept;
        }
        while !self.path.is_empty() {
            self.ascend::<AVX2>(layout);
        }
        let extra = self.extra[0];
        let background = self.touch(layout.h);
        for (to, own) in self.given[background * width..][..width].iter_mut().zip(&self.best[..width]) {
            *to += *own + extra;
        }
        self.keys = keys;
        self.add_row(layout, row);
    }

    /// Prepares what is owned at a level.
    #[inline(always)]
    fn open(&mut self, level: usize, width: usize) {
        if self.extra.len() <= level {
            self.extra.resize(level + 1, F::ZERO);
        }
        self.extra[level] = F::ZERO;
        self.best[level * width..][..width].fill(F::ZERO);
    }

    /// Adds a cause to the path.
    #[inline(always)]
    fn descend(&mut self, layout: &Layout<F, R>, cause: usize) {
        let (level, width) = (self.path.len(), layout.width);
        self.grow(level + 2, width);
        let (old, new) = self.ranks.split_at_mut((level + 1) * width);
        kernel::raise_ranks(layout.ranks(cause), &old[level * width..], &mut new[..width]);
        self.path.push(cause as u16);
        self.open(level + 1, width);
    }

    /// Takes the last cause from the path, and shares out what was owned there.
    #[inline(always)]
    fn ascend<const AVX2: bool>(&mut self, layout: &Layout<F, R>) {
        let level = self.path.len();
        if let Some(cause) = self.path.pop() {
            self.share_out::<AVX2>(layout, level - 1, usize::from(cause), Some(level), self.extra[level]);
        }
    }

    #[inline(always)]
    fn share_out<const AVX2: bool>(
        &mut self,
        layout: &Layout<F, R>,
        parent: usize,
        cause: usize,
        own: Option<usize>,
        extra: F,
    ) {
        let width = layout.width;
        let slot = self.touch(cause);
        let (below, above) = self.best.split_at_mut((parent + 1) * width);
        kernel::share_out::<AVX2, F, R>(
            layout.ranks(cause),
            &self.ranks[parent * width..][..width],
            own.map(|_| &above[..width]),
            extra,
            &mut self.given[slot * width..][..width],
            &mut below[parent * width..],
        );
    }

    /// Where this row's part of a cause is kept.
    #[inline(always)]
    fn touch(&mut self, cause: usize) -> usize {
        if !self.is_touched[cause] {
            self.is_touched[cause] = true;
            self.touched.push(cause as u16);
        }
        cause
    }

    /// Adds what this row gave to the sums of the block.
    #[inline(always)]
    fn add_row(&mut self, layout: &Layout<F, R>, row: &Row<F>) {
        let (width, size) = (layout.width, (1 + layout.l) * layout.width);
        for cause in self.touched.drain(..) {
            let cause = usize::from(cause);
            self.is_touched[cause] = false;
            if !self.in_block[cause] {
                self.in_block[cause] = true;
                self.block_causes.push(cause as u16);
            }
            let given = &mut self.given[cause * width..][..width];
            if row.missing {
                kernel::mask_terms(&row.present, given);
            }
            let (assigned, sums) = self.block[cause * size..][..size].split_at_mut(width);
            for (to, given) in assigned.iter_mut().zip(&*given) {
                *to += *given;
            }
            for (sums, t) in sums.chunks_exact_mut(width).zip(row.t.chunks_exact(width)) {
                for ((to, given), t) in sums.iter_mut().zip(&*given).zip(t) {
                    *to += *given * *t;
                }
            }
            given.fill(F::ZERO);
        }
        self.rows_in_block += 1;
    }

    /// Adds the block to `sums` if it is full, or if it is the last.
    #[inline(always)]
    pub(crate) fn flush(&mut self, layout: &Layout<F, R>, sums: &mut Sums, last: bool) {
        if self.rows_in_block < BLOCK_ROWS && !last {
            return;
        }
        let size = (1 + layout.l) * layout.width;
        for cause in self.block_causes.drain(..) {
            let cause = usize::from(cause);
            self.in_block[cause] = false;
            let block = &mut self.block[cause * size..][..size];
            for (to, value) in sums.of_cause(layout, cause).iter_mut().zip(block) {
                *to += value.f64();
                *value = F::ZERO;
            }
        }
        self.rows_in_block = 0;
    }
}

/// The causes that two keys share from the most popular one on.
#[inline(always)]
fn shared_bits(a: u128, b: u128) -> u32 {
    match (a ^ b).leading_zeros() {
        0 => 0,
        same => (a >> (128 - same.min(127))).count_ones() + if same == 128 { (a & 1) as u32 } else { 0 },
    }
}

/// `key` without its `count` highest set bits.
#[inline(always)]
fn drop_high_bits(mut key: u128, count: u32) -> u128 {
    for _ in 0..count {
        key &= !(1 << (127 - key.leading_zeros()));
    }
    key
}
