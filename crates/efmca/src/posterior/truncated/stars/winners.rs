//! The parameters of the winners in each column.

use ndarray::Array2;

use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::kernel::{self, Float, Rank};
use crate::posterior::truncated::states::bits;

/// The parameters of the winners for all states of a star.
pub(super) struct Winners<F, R> {
    /// Planes of parameters that are multiplied with those of a row: $\vec\eta$, and $A$ if values are missing.
    planes: usize,
    /// $(H+1) \times$ planes $\cdot$ width.
    pub(super) eta: Array2<F>,
    /// $H+1$: sums of $A$ over the columns, or zeros if it is among the planes.
    pub(super) a: Vec<F>,
    /// Of one state: ranks, $\vec\eta$ and $A$; and the same with a cause more.
    ranks: [Vec<R>; 2],
    parameters: [Vec<F>; 2],
}

impl<F: Float, R: Rank> Winners<F, R> {
    pub(super) fn new(layout: &Layout<F, R>, planes: usize) -> Winners<F, R> {
        let width = layout.width;
        Winners {
            planes,
            eta: Array2::zeros((layout.h + 1, planes * width)),
            a: vec![F::ZERO; layout.h + 1],
            ranks: std::array::from_fn(|_| vec![R::LOWEST; width]),
            parameters: std::array::from_fn(|_| vec![F::ZERO; (layout.l + 1) * width]),
        }
    }

    /// Puts together the winners of `state`, leaving out cause `without`: the planes, and the sum of $A$ if it is not among them.
    pub(super) fn state(&mut self, layout: &Layout<F, R>, state: &[u64], without: Option<usize>) -> (&[F], F) {
        let width = layout.width;
        let mut any = false;
        bits::each(state, |cause| {
            if Some(cause) == without {
                return;
            }
            let [ranks, new_ranks] = &mut self.ranks;
            let [old, new] = &mut self.parameters;
            let (ranks, old) = match any {
                true => (&ranks[..], &old[..]),
                false => (layout.ranks(layout.h), layout.all_parameters(layout.h)),
            };
            let planes = layout.all_parameters(cause).chunks_exact(width);
            for ((plane, old), new) in planes.zip(old.chunks_exact(width)).zip(new.chunks_exact_mut(width)) {
                kernel::add_cause(layout.set, layout.ranks(cause), plane, (ranks, old), new_ranks, new);
            }
            self.ranks.swap(0, 1);
            self.parameters.swap(0, 1);
            any = true;
        });
        if !any {
            self.ranks[0].copy_from_slice(layout.ranks(layout.h));
            self.parameters[0].copy_from_slice(layout.all_parameters(layout.h));
        }
        let (planes, a) = self.parameters[0].split_at(self.planes * width);
        (planes, kernel::sum(a))
    }

    /// Puts together the winners of `state` and of all its flips.
    pub(super) fn star(&mut self, layout: &Layout<F, R>, state: &[u64]) {
        let width = layout.width;
        let keep = |winners: &mut Winners<F, R>, index: usize, without: Option<usize>| {
            winners.a[index] = winners.state(layout, state, without).1;
            winners.eta.row_mut(index).iter_mut().zip(&winners.parameters[0]).for_each(|(to, from)| *to = *from);
        };
        bits::each(state, |cause| keep(self, cause, Some(cause)));
        keep(self, layout.h, None);
        let (ranks, scratch) = self.ranks.split_at_mut(1);
        let (ranks, scratch, best) = (&ranks[0], &mut scratch[0], &self.parameters[0]);
        for (cause, mut row) in self.eta.outer_iter_mut().enumerate().take(layout.h) {
            let Some(row) = row.as_slice_mut().filter(|_| !bits::has(state, cause)) else { continue };
            let rank = layout.ranks(cause);
            let (planes, a) = layout.all_parameters(cause).split_at(self.planes * width);
            let planes = planes.chunks_exact(width).zip(best.chunks_exact(width)).zip(row.chunks_exact_mut(width));
            for ((plane, old), new) in planes {
                kernel::add_cause(layout.set, rank, plane, (ranks, old), scratch, new);
            }
            if !a.is_empty() {
                self.a[cause] = kernel::sum_with(layout.set, rank, a, ranks, &best[self.planes * width..]);
            }
        }
    }
}
