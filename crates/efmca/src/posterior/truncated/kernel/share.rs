//! The way back: what states own goes to the causes that own it.

use super::{Float, Instructions, LANES, Rank, add, blend, groups, groups_mut, mask_terms_twin, masks};

/// The part of each column that a state owns.
pub(in crate::posterior::truncated) struct Share<'a, F> {
    /// In each column by itself; nothing if it is the same in all of them.
    pub(in crate::posterior::truncated) own: Option<&'a [F]>,
    /// In all columns.
    pub(in crate::posterior::truncated) extra: F,
    /// The statistics of the row, $L$ planes.
    pub(in crate::posterior::truncated) t: &'a [F],
    /// Positive where a value is there; nothing if none is missing.
    pub(in crate::posterior::truncated) present: Option<&'a [F]>,
}

/// Gives what a state owns to the cause that it has more than its parent where that cause wins, and to the parent
/// elsewhere. The cause has $1 + L$ planes of sums: what it was given, and that times the statistics; nothing is given where a value
/// is missing.
#[inline(always)]
pub(in crate::posterior::truncated) fn share_out<F: Float, R: Rank>(
    set: Instructions,
    rank: &[R],
    parent_rank: &[R],
    share: &Share<'_, F>,
    sums: &mut [F],
    parent: &mut [F],
) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && super::avx2::share_out(proof, rank, parent_rank, share, sums, parent).is_some()
    {
        return;
    }
    share_out_twin(rank, parent_rank, share, sums, parent);
}

#[inline(always)]
fn share_out_twin<F: Float, R: Rank>(
    rank: &[R],
    parent_rank: &[R],
    share: &Share<'_, F>,
    sums: &mut [F],
    parent: &mut [F],
) {
    let (zeros, width) = ([F::ZERO; LANES], rank.len());
    let (assigned, sums) = sums.split_at_mut(width);
    for (index, ((rank, parent_rank), (assigned, parent))) in groups(rank)
        .iter()
        .zip(groups(parent_rank))
        .zip(groups_mut(assigned).iter_mut().zip(groups_mut(parent)))
        .enumerate()
    {
        let wins = masks::<F, R>(rank, parent_rank, R::higher);
        let mut whole = [share.extra; LANES];
        if let Some(own) = share.own {
            add(&mut whole, &groups(own)[index]);
        }
        let mut given = blend(&wins, &whole, &zeros);
        add(parent, &blend(&wins, &zeros, &whole));
        if let Some(present) = share.present {
            mask_terms_twin(&groups(present)[index], &mut given);
        }
        add(assigned, &given);
        for (sums, t) in sums.chunks_exact_mut(width).zip(share.t.chunks_exact(width)) {
            let (sums, t) = (&mut groups_mut(sums)[index], &groups(t)[index]);
            for lane in 0..LANES {
                sums[lane] += given[lane] * t[lane];
            }
        }
    }
}

/// Gives `weight`, and the statistics that go with it, to a cause in all columns that it owns, which are those where its
/// rank is the best. The cause has $1 + L$ planes of sums. Without a weight the first of as many planes of statistics has one for
/// each column.
#[inline(always)]
pub(in crate::posterior::truncated) fn give_owned<F: Float, R: Rank>(
    set: Instructions,
    rank: &[R],
    best_rank: &[R],
    weight: Option<F>,
    statistics: &[F],
    sums: &mut [F],
) {
    #[cfg(target_arch = "x86_64")]
    if let Instructions::Avx2(proof) = set
        && super::avx2::give_owned(proof, rank, best_rank, weight, statistics, sums).is_some()
    {
        return;
    }
    let (zeros, width) = ([F::ZERO; LANES], rank.len());
    let (assigned, sums) = sums.split_at_mut(if weight.is_some() { width } else { 0 });
    for (index, (rank, best_rank)) in groups(rank).iter().zip(groups(best_rank)).enumerate() {
        let owned = masks::<F, R>(rank, best_rank, R::same);
        if let Some(weight) = weight {
            add(&mut groups_mut(assigned)[index], &blend(&owned, &[weight; LANES], &zeros));
        }
        for (sums, statistics) in sums.chunks_exact_mut(width).zip(statistics.chunks_exact(width)) {
            add(&mut groups_mut(sums)[index], &blend(&owned, &groups(statistics)[index], &zeros));
        }
    }
}
