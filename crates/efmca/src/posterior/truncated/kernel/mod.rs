//! The kernel: passes over the columns of one row of data.
//!
//! Which cause is stronger in a column is an order, so it is enough to know the *rank* of each cause there. A rank
//! fits in a byte (two above 255 causes), where a strength takes four, and it names its cause.
//!
//! The functions here are the safe twins: they work on fixed groups of [`LANES`] columns and run anywhere. Where the
//! processor has AVX2 and numbers are `f32`, [`super::avx2`] takes over. No fused multiply-add is used and every sum has
//! one order, so all of them give the same bits.

mod instructions;
mod numbers;
mod share;
#[cfg(test)]
mod tests;

#[cfg(target_arch = "x86_64")]
use crate::posterior::truncated::avx2;
pub(crate) use instructions::Instructions;
pub(super) use numbers::place;
pub(crate) use numbers::{Float, Rank};
pub(super) use share::{Share, give_owned, share_out};

/// Columns that are worked on together. Rows are padded to a multiple of it.
pub(crate) const LANES: usize = 32;

/// The masks of a group of columns from comparisons of their ranks.
#[inline(always)]
fn masks<F: Float, R: Rank>(ranks: &[R; LANES], others: &[R; LANES], compare: impl Fn(R, R) -> i8) -> [i8; LANES] {
    let mut stored = [0; LANES];
    for lane in 0..LANES {
        stored[lane] = compare(ranks[lane], others[lane]);
    }
    if !F::INTERLEAVED {
        return stored;
    }
    std::array::from_fn(|lane| stored[place::<F, R>(lane)])
}

#[inline(always)]
fn blend<F: Float>(take: &[i8; LANES], yes: &[F; LANES], no: &[F; LANES]) -> [F; LANES] {
    let mut values = [F::ZERO; LANES];
    for lane in 0..LANES {
        values[lane] = F::blend(take[lane], yes[lane], no[lane]);
    }
    values
}

#[inline(always)]
fn add<F: Float>(sums: &mut [F; LANES], values: &[F; LANES]) {
    for lane in 0..LANES {
        sums[lane] += values[lane];
    }
}

/// The sum over the lanes, by halves.
#[inline(always)]
fn total<F: Float>(mut sums: [F; LANES]) -> F {
    let mut width = LANES / 2;
    while width > 0 {
        for lane in 0..width {
            sums[lane] += sums[lane + width];
        }
        width /= 2;
    }
    sums[0]
}

/// $\sum_d$ of log-terms.
#[inline(always)]
pub(super) fn sum<F: Float>(terms: &[F]) -> F {
    let mut sums = [F::ZERO; LANES];
    groups(terms).iter().for_each(|terms| add(&mut sums, terms));
    total(sums)
}

#[inline(always)]
fn groups<T>(values: &[T]) -> &[[T; LANES]] {
    values.as_chunks().0
}

#[inline(always)]
fn groups_mut<T>(values: &mut [T]) -> &mut [[T; LANES]] {
    values.as_chunks_mut().0
}

/// $\sum_d a_d b_d$.
#[inline(always)]
pub(super) fn dot<F: Float>(set: Instructions, a: &[F], b: &[F]) -> F {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && let Some(sum) = avx2::dot(proof, a, b)
    {
        return sum;
    }
    let mut sums = [F::ZERO; LANES];
    for (a, b) in groups(a).iter().zip(groups(b)) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    total(sums)
}

/// Adds `factor` times `values` to `sums`.
#[inline(always)]
pub(super) fn add_times<F: Float>(set: Instructions, factor: F, values: &[F], sums: &mut [F]) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set {
        return avx2::add_times(proof, factor, values, sums);
    }
    add_times_twin(factor, values, sums);
}

#[inline(always)]
pub(super) fn add_times_twin<F: Float>(factor: F, values: &[F], sums: &mut [F]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += factor * *value;
    }
}

/// The log-terms of a cause: $\vec\eta_d^T\vec T_d - A_d$ for all columns; `eta` and `t` have one plane for each $l$.
#[inline(always)]
pub(super) fn log_terms<F: Float>(set: Instructions, eta: &[F], a: &[F], t: &[F], terms: &mut [F]) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set {
        return avx2::log_terms(proof, eta, a, t, terms);
    }
    log_terms_twin(eta, a, t, terms);
}

#[inline(always)]
pub(super) fn log_terms_twin<F: Float>(eta: &[F], a: &[F], t: &[F], terms: &mut [F]) {
    let width = terms.len();
    if eta.len() == 2 * width {
        let (eta_1, eta_2) = eta.split_at(width);
        let (t_1, t_2) = t.split_at(width);
        for ((((out, a), eta_1), t_1), (eta_2, t_2)) in
            terms.iter_mut().zip(a).zip(eta_1).zip(t_1).zip(eta_2.iter().zip(t_2))
        {
            *out = (*eta_1 * *t_1 + *eta_2 * *t_2) - *a;
        }
        return;
    }
    for (((out, a), eta), t) in terms.iter_mut().zip(a).zip(eta).zip(t) {
        *out = *eta * *t - *a;
    }
    for (eta, t) in eta.chunks_exact(width).zip(t.chunks_exact(width)).skip(1) {
        for ((out, eta), t) in terms.iter_mut().zip(eta).zip(t) {
            *out += *eta * *t;
        }
    }
}

/// Sets the log-terms of missing values to zero.
#[inline(always)]
pub(super) fn mask_terms<F: Float>(set: Instructions, present: &[F], terms: &mut [F]) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && avx2::mask_terms(proof, present, terms).is_some()
    {
        return;
    }
    mask_terms_twin(present, terms);
}

#[inline(always)]
pub(super) fn mask_terms_twin<F: Float>(present: &[F], terms: &mut [F]) {
    for (term, present) in terms.iter_mut().zip(present) {
        *term = if *present > F::ZERO { *term } else { F::ZERO };
    }
}

/// $\sum_d$ of the log-terms after a cause is added to a state.
#[inline(always)]
pub(super) fn sum_with<F: Float, R: Rank>(
    set: Instructions,
    rank: &[R],
    term: &[F],
    best_rank: &[R],
    best_term: &[F],
) -> F {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && let Some(sum) = avx2::sum_with(proof, rank, term, best_rank, best_term)
    {
        return sum;
    }
    let mut sums = [F::ZERO; LANES];
    for (((rank, term), best_rank), best_term) in
        groups(rank).iter().zip(groups(term)).zip(groups(best_rank)).zip(groups(best_term))
    {
        let take = masks::<F, R>(rank, best_rank, R::higher);
        add(&mut sums, &blend(&take, term, best_term));
    }
    total(sums)
}

/// Adds a cause to a state, and returns the sum of its log-terms then.
#[inline(always)]
pub(super) fn add_cause<F: Float, R: Rank>(
    set: Instructions,
    rank: &[R],
    term: &[F],
    old: (&[R], &[F]),
    new_rank: &mut [R],
    new_term: &mut [F],
) -> F {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && let Some(sum) = avx2::add_cause(proof, rank, term, old, new_rank, new_term)
    {
        return sum;
    }
    let mut sums = [F::ZERO; LANES];
    let old = groups(old.0).iter().zip(groups(old.1));
    let new = groups_mut(new_rank).iter_mut().zip(groups_mut(new_term));
    for (((rank, term), (old_rank, old_term)), (new_rank, new_term)) in
        groups(rank).iter().zip(groups(term)).zip(old).zip(new)
    {
        let take = masks::<F, R>(rank, old_rank, R::higher);
        *new_term = blend(&take, term, old_term);
        for lane in 0..LANES {
            new_rank[lane] = rank[lane].max(old_rank[lane]);
        }
        add(&mut sums, new_term);
    }
    total(sums)
}

/// The best and the second-best cause of each column.
pub(super) struct TwoBest<'a, F, R> {
    pub(super) best_rank: &'a mut [R],
    pub(super) best_term: &'a mut [F],
    pub(super) second_rank: &'a mut [R],
    pub(super) second_term: &'a mut [F],
}

impl<F: Float, R: Rank> TwoBest<'_, F, R> {
    /// Adds a cause.
    #[inline(always)]
    pub(super) fn add(&mut self, set: Instructions, rank: &[R], term: &[F]) {
        #[cfg(target_arch = "x86_64")]
        if let Instructions::Avx2(proof) = set
            && avx2::add_to_two_best(proof, self, rank, term).is_some()
        {
            return;
        }
        let best = groups_mut(self.best_rank).iter_mut().zip(groups_mut(self.best_term));
        let second = groups_mut(self.second_rank).iter_mut().zip(groups_mut(self.second_term));
        for (((rank, term), (best_rank, best_term)), (second_rank, second_term)) in
            groups(rank).iter().zip(groups(term)).zip(best).zip(second)
        {
            let first = masks::<F, R>(rank, best_rank, R::higher);
            // what is left for the second place
            let left_term = blend(&first, best_term, term);
            let left_rank: [R; LANES] = std::array::from_fn(|lane| rank[lane].min(best_rank[lane]));
            *best_term = blend(&first, term, best_term);
            let next = masks::<F, R>(&left_rank, second_rank, R::higher);
            *second_term = blend(&next, &left_term, second_term);
            for lane in 0..LANES {
                best_rank[lane] = rank[lane].max(best_rank[lane]);
                second_rank[lane] = left_rank[lane].max(second_rank[lane]);
            }
        }
    }

    /// $\sum_d$ of the log-terms after a cause of the state is dropped.
    #[inline(always)]
    pub(super) fn sum_without(&self, set: Instructions, rank: &[R]) -> F {
        #[cfg(target_arch = "x86_64")]
        if let Instructions::Avx2(proof) = set
            && let Some(sum) = avx2::sum_without(proof, rank, self.best_rank, self.best_term, self.second_term)
        {
            return sum;
        }
        let mut sums = [F::ZERO; LANES];
        for (((rank, best_rank), best_term), second_term) in
            groups(rank).iter().zip(groups(self.best_rank)).zip(groups(self.best_term)).zip(groups(self.second_term))
        {
            let owned = masks::<F, R>(rank, best_rank, R::same);
            add(&mut sums, &blend(&owned, second_term, best_term));
        }
        total(sums)
    }
}

/// $\sum_d$ of the log-terms after a cause is added to a state, for a cause whose log-terms are not needed again.
#[inline(always)]
pub(super) fn sum_with_new<F: Float, R: Rank>(
    set: Instructions,
    cause: (&[R], &[F], &[F]),
    t: &[F],
    best_rank: &[R],
    best_term: &[F],
    terms: &mut [F],
) -> F {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && let Some(sum) = avx2::sum_with_new(proof, cause, t, best_rank, best_term)
    {
        return sum;
    }
    let (rank, eta, a) = cause;
    log_terms(set, eta, a, t, terms);
    sum_with(set, rank, terms, best_rank, best_term)
}

/// A cause that is added to states.
pub(super) struct Added<'a, F, R> {
    pub(super) rank: &'a [R],
    pub(super) eta: &'a [F],
    pub(super) a: &'a [F],
}

/// A row and the state that causes are added to.
pub(super) struct Base<'a, F, R> {
    pub(super) t: &'a [F],
    pub(super) best_rank: &'a [R],
    pub(super) best_term: &'a [F],
}

/// [`sum_with_new`] for two causes in two rows: for the first row with each cause, then for the second.
#[inline(always)]
pub(super) fn sums_with_two<F: Float, R: Rank>(
    set: Instructions,
    causes: &[Added<'_, F, R>; 2],
    rows: &[Base<'_, F, R>; 2],
    scratch: &mut [F],
) -> [F; 4] {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && let Some(sums) = avx2::sums_with_two(proof, causes, rows)
    {
        return sums;
    }
    std::array::from_fn(|pair| {
        let (row, cause) = (&rows[pair / 2], &causes[pair % 2]);
        let cause = (cause.rank, cause.eta, cause.a);
        sum_with_new(set, cause, row.t, row.best_rank, row.best_term, scratch)
    })
}

/// Raises the ranks of a state to those of a cause that is added.
#[inline(always)]
pub(super) fn raise_ranks<R: Rank>(set: Instructions, rank: &[R], old: &[R], new: &mut [R]) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set {
        return avx2::raise_ranks(proof, rank, old, new);
    }
    raise_ranks_twin(rank, old, new);
}

#[inline(always)]
pub(super) fn raise_ranks_twin<R: Rank>(rank: &[R], old: &[R], new: &mut [R]) {
    for ((new, old), rank) in new.iter_mut().zip(old).zip(rank) {
        *new = (*rank).max(*old);
    }
}
