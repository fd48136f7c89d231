//! Scoring states by passes over the columns, one for each cause: for states with few active causes.

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{self, Float, Rank, TwoBest};
use crate::posterior::truncated::score::chains::Chains;
use crate::posterior::truncated::states::bits;
use crate::posterior::truncated::sums::Sums;

/// Rows that are summed in the precision of the kernel before they are added to the sums in `f64`.
const BLOCK_ROWS: usize = 256;

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
    chains: Chains,
    second_rank: Vec<R>,
    second_term: Vec<F>,
    /// The causes that were added on the way to the present state, and what its levels own beside `best`.
    path: Vec<u16>,
    extra: Vec<F>,
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
            chains: Chains::new(layout.h, bits::words(layout.h)),
            second_rank: vec![R::LOWEST; width],
            second_term: vec![F::ZERO; width],
            path: Vec::new(),
            extra: Vec::new(),
            block: vec![F::ZERO; causes * (1 + layout.l) * width],
            block_causes: Vec::new(),
            in_block: vec![false; causes],
            rows_in_block: 0,
        }
    }

    /// Makes room for a layout of another width. The sums of the block must be gone.
    pub(crate) fn reshape(&mut self, layout: &Layout<F, R>) {
        let (causes, width) = (layout.h + 1, layout.width);
        self.terms.resize(causes * width, F::ZERO);
        self.second_rank.resize(width, R::LOWEST);
        self.second_term.resize(width, F::ZERO);
        self.block.resize(causes * (1 + layout.l) * width, F::ZERO);
        self.sums.clear();
        self.ranks.clear();
        self.best.clear();
    }

    /// Forgets the row before.
    pub(crate) fn begin(&mut self) {
        self.made.fill(false);
    }

    /// Makes the log-terms of a cause.
    fn make(&mut self, layout: &Layout<F, R>, row: &Row<F>, cause: usize) {
        if !self.made[cause] {
            self.made[cause] = true;
            let (eta, a) = layout.parameters(cause);
            let terms = &mut self.terms[cause * layout.width..][..layout.width];
            kernel::log_terms(layout.set, eta, a, &row.t, terms);
            if row.missing {
                kernel::mask_terms(layout.set, &row.present, terms);
            }
        }
    }

    /// Starts the chain with the background alone.
    fn start(&mut self, layout: &Layout<F, R>, row: &Row<F>) {
        let width = layout.width;
        self.make(layout, row, layout.h);
        self.grow(1, width);
        self.ranks[..width].copy_from_slice(layout.ranks(layout.h));
        self.best[..width].copy_from_slice(&self.terms[layout.h * width..][..width]);
        self.sums[0] = kernel::sum(&self.best[..width]);
    }

    fn grow(&mut self, levels: usize, width: usize) {
        if self.sums.len() < levels {
            self.sums.resize(levels, F::ZERO);
            self.ranks.resize(levels * width, R::LOWEST);
            self.best.resize(levels * width, F::ZERO);
        }
    }

    /// Adds a cause to the state at `level`; the new state is at the next level.
    fn push(&mut self, layout: &Layout<F, R>, row: &Row<F>, level: usize, cause: usize) {
        let width = layout.width;
        self.make(layout, row, cause);
        self.grow(level + 2, width);
        let (old_rank, new_rank) = self.ranks.split_at_mut((level + 1) * width);
        let (old_best, new_best) = self.best.split_at_mut((level + 1) * width);
        self.sums[level + 1] = kernel::add_cause(
            layout.set,
            layout.ranks(cause),
            &self.terms[cause * width..][..width],
            (&old_rank[level * width..], &old_best[level * width..]),
            &mut new_rank[..width],
            &mut new_best[..width],
        );
    }

    /// The sum of the log-terms of the state at `level` with a cause more.
    fn peek(&mut self, layout: &Layout<F, R>, row: &Row<F>, level: usize, cause: usize) -> F {
        let width = layout.width;
        if row.missing {
            self.make(layout, row, cause);
        }
        let (rank, terms) = (layout.ranks(cause), &mut self.terms[cause * width..][..width]);
        let (best_rank, best_term) = (&self.ranks[level * width..][..width], &self.best[level * width..][..width]);
        if self.made[cause] {
            return kernel::sum_with(layout.set, rank, terms, best_rank, best_term);
        }
        let (eta, a) = layout.parameters(cause);
        kernel::sum_with_new(layout.set, (rank, eta, a), &row.t, best_rank, best_term, terms)
    }

    /// $\sum_d$ of the log-terms of each of `states`.
    ///
    /// States are visited in the order of [`Chains`], and what they share is scored once: a state then costs little more
    /// than one pass.
    pub(crate) fn score(&mut self, layout: &Layout<F, R>, row: &Row<F>, states: &[u64], found: &mut [f64]) {
        let mut chains = std::mem::take(&mut self.chains);
        chains.arrange(states);
        self.start(layout, row);
        let mut base = 0;
        bits::each(chains.common(), |cause| {
            self.push(layout, row, base, cause);
            base += 1;
        });
        for at in 0..chains.len() {
            let step = chains.step(at, states);
            let end = base + step.shared + chains.added().len();
            let mut sum = None;
            for (level, cause) in (base + step.shared..).zip(chains.added()) {
                if level + 1 == end && end > base + step.kept {
                    sum = Some(self.peek(layout, row, level, usize::from(*cause)));
                } else {
                    self.push(layout, row, level, usize::from(*cause));
                }
            }
            found[step.index] = sum.unwrap_or_else(|| self.sums[end]).f64();
        }
        self.chains = chains;
    }

    /// $\sum_d$ of the log-terms of `state` with each of its $H$ bits flipped in turn, and of `state` itself.
    pub(crate) fn flips(&mut self, layout: &Layout<F, R>, row: &Row<F>, state: &[u64], found: &mut [f64]) -> f64 {
        let sum = self.drops(layout, row, state, found);
        for (cause, found) in found.iter_mut().enumerate().filter(|(cause, _)| !bits::has(state, *cause)) {
            // the best are at level zero
            *found = self.peek(layout, row, 0, cause).f64();
        }
        sum
    }

    /// $\sum_d$ of the log-terms of `state` with each of its active causes dropped in turn, and of `state` itself. What is
    /// best in each column is then at [`Passes::best`].
    pub(crate) fn drops(&mut self, layout: &Layout<F, R>, row: &Row<F>, state: &[u64], found: &mut [f64]) -> f64 {
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
        bits::each(state, |cause| two.add(layout.set, layout.ranks(cause), &self.terms[cause * width..][..width]));
        bits::each(state, |cause| found[cause] = two.sum_without(layout.set, layout.ranks(cause)).f64());
        kernel::sum(&self.best[..width]).f64()
    }

    /// The ranks and log-terms of the state that [`Passes::drops`] was asked for.
    pub(crate) fn best(&self, layout: &Layout<F, R>) -> (&[R], &[F]) {
        (&self.ranks[..layout.width], &self.best[..layout.width])
    }

    /// Gives the columns to the causes that own them in `states`, with posterior probabilities `q`.
    ///
    /// The way back along the chains of [`Passes::score`]: what a state owns of a column goes to the cause that was added
    /// last where that one wins, and to the state before elsewhere. States that share causes share the rest of the way.
    pub(crate) fn distribute(&mut self, layout: &Layout<F, R>, row: &Row<F>, states: &[u64], q: &[f64]) {
        let width = layout.width;
        let mut chains = std::mem::take(&mut self.chains);
        chains.arrange(states);
        self.grow(2, width);
        self.ranks[..width].copy_from_slice(layout.ranks(layout.h));
        self.path.clear();
        self.open(0, width);
        bits::each(chains.common(), |cause| self.descend(layout, cause));
        let base = self.path.len();
        for at in 0..chains.len() {
            let step = chains.step(at, states);
            let q = F::of(q[step.index]);
            let end = base + step.shared + chains.added().len();
            let mut given = false;
            for cause in chains.added() {
                let (level, cause) = (self.path.len(), usize::from(*cause));
                if level + 1 == end && end > base + step.kept {
                    self.share_out(layout, row, level, cause, None, q);
                    given = true;
                } else {
                    self.descend(layout, cause);
                }
            }
            if !given {
                self.extra[end] += q;
            }
            while self.path.len() > base + step.kept {
                self.ascend(layout, row);
            }
        }
        while !self.path.is_empty() {
            self.ascend(layout, row);
        }
        self.chains = chains;
        // what is left belongs to the background
        let extra = self.extra[0];
        self.best[..width].iter_mut().for_each(|own| *own += extra);
        self.touch(layout.h);
        let size = (1 + layout.l) * width;
        let own = &mut self.best[..width];
        if row.missing {
            kernel::mask_terms(layout.set, &row.present, own);
        }
        let (assigned, sums) = self.block[layout.h * size..][..size].split_at_mut(width);
        for (to, own) in assigned.iter_mut().zip(&*own) {
            *to += *own;
        }
        for (sums, t) in sums.chunks_exact_mut(width).zip(row.t.chunks_exact(width)) {
            for ((to, own), t) in sums.iter_mut().zip(&*own).zip(t) {
                *to += *own * *t;
            }
        }
        self.rows_in_block += 1;
    }

    /// Gives `weight`, and the sum of statistics that goes with it, to the causes that own the columns in `state`. Where values are
    /// missing, columns have weights of their own, which are the first plane of statistics.
    pub(crate) fn give(&mut self, layout: &Layout<F, R>, state: &[u64], weight: Option<f64>, statistics: &[F]) {
        let (width, size) = (layout.width, (1 + layout.l) * layout.width);
        self.grow(1, width);
        self.ranks[..width].copy_from_slice(layout.ranks(layout.h));
        bits::each(state, |cause| {
            kernel::raise_ranks(layout.set, layout.ranks(cause), &self.ranks[..width], &mut self.second_rank);
            self.ranks[..width].copy_from_slice(&self.second_rank);
        });
        let mut give = |cause: usize| {
            self.touch(cause);
            let (ranks, sums) = (&self.ranks[..width], &mut self.block[cause * size..][..size]);
            kernel::give_owned(layout.set, layout.ranks(cause), ranks, weight.map(F::of), statistics, sums);
        };
        bits::each(state, &mut give);
        give(layout.h);
        self.rows_in_block += 1;
    }

    /// Prepares what is owned at a level.
    fn open(&mut self, level: usize, width: usize) {
        if self.extra.len() <= level {
            self.extra.resize(level + 1, F::ZERO);
        }
        self.extra[level] = F::ZERO;
        self.best[level * width..][..width].fill(F::ZERO);
    }

    /// Adds a cause to the path.
    fn descend(&mut self, layout: &Layout<F, R>, cause: usize) {
        let (level, width) = (self.path.len(), layout.width);
        self.grow(level + 2, width);
        let (old, new) = self.ranks.split_at_mut((level + 1) * width);
        kernel::raise_ranks(layout.set, layout.ranks(cause), &old[level * width..], &mut new[..width]);
        self.path.push(cause as u16);
        self.open(level + 1, width);
    }

    /// Takes the last cause from the path, and shares out what was owned there.
    fn ascend(&mut self, layout: &Layout<F, R>, row: &Row<F>) {
        let level = self.path.len();
        if let Some(cause) = self.path.pop() {
            self.share_out(layout, row, level - 1, usize::from(cause), Some(level), self.extra[level]);
        }
    }

    fn share_out(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        parent: usize,
        cause: usize,
        own: Option<usize>,
        extra: F,
    ) {
        let (width, size) = (layout.width, (1 + layout.l) * layout.width);
        self.touch(cause);
        let (below, above) = self.best.split_at_mut((parent + 1) * width);
        let present = row.missing.then_some(&row.present[..]);
        let share = kernel::Share { own: own.map(|_| &above[..width]), extra, t: &row.t, present };
        let (ranks, parent_ranks) = (layout.ranks(cause), &self.ranks[parent * width..][..width]);
        let (parent, sums) = (&mut below[parent * width..], &mut self.block[cause * size..][..size]);
        kernel::share_out(layout.set, ranks, parent_ranks, &share, sums, parent);
    }

    /// Notes that a cause has a part in the block.
    fn touch(&mut self, cause: usize) {
        if !self.in_block[cause] {
            self.in_block[cause] = true;
            self.block_causes.push(cause as u16);
        }
    }

    /// Hands the block to `see`, cause by cause ($1 + L$ planes), and empties it.
    pub(crate) fn take_block(&mut self, layout: &Layout<F, R>, mut see: impl FnMut(usize, &[F])) {
        let size = (1 + layout.l) * layout.width;
        for cause in self.block_causes.drain(..) {
            let cause = usize::from(cause);
            self.in_block[cause] = false;
            let block = &mut self.block[cause * size..][..size];
            see(cause, block);
            block.fill(F::ZERO);
        }
        self.rows_in_block = 0;
    }

    /// Adds the block to `sums` if it is full, or if it is the last.
    pub(crate) fn flush(&mut self, layout: &Layout<F, R>, sums: &mut Sums, last: bool) {
        if self.rows_in_block < BLOCK_ROWS && !last {
            return;
        }
        self.take_block(layout, |cause, block| {
            sums.of_cause(layout, cause).iter_mut().zip(block).for_each(|(to, value)| *to += value.f64());
        });
    }
}
