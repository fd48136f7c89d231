//! Sums over rows.

use super::frame::Frame;
use super::kernel::{Float, Rank};
use super::layout::Layout;
use super::observations::Row;
use crate::model::Columns;
use crate::posterior::Moments;
use crate::ranks::{Decoder, Encode, Sum};

/// [`Moments`] while they are being summed, with statistics in the frame of the data.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// From passes, $(H+1) \times (1+L) \times$ width: what is assigned to each cause, and the statistics that go with it.
    by_cause: Vec<f64>,
    /// From walks, $D \times (H+1) \times (1+L)$: the same for each column, in its order of strength, of which the first
    /// few are used most.
    by_strength: Vec<f64>,
    /// $\sum_n\mathbb E\lbrack s_h\rbrack $.
    pub(crate) active: Vec<f64>,
    pub(crate) weight: f64,
    pub(crate) bound: f64,
    /// Log-joints that were evaluated.
    pub(crate) evaluations: u64,
    /// States that took the place of a worse one.
    pub(crate) replaced: u64,
}

impl Sums {
    pub(crate) fn zeros<F: Float, R: Rank>(layout: &Layout<F, R>) -> Sums {
        let size = (layout.h + 1) * (1 + layout.l);
        Sums {
            by_cause: vec![0.0; size * layout.width],
            by_strength: vec![0.0; size * layout.d],
            active: vec![0.0; layout.h],
            weight: 0.0,
            bound: 0.0,
            evaluations: 0,
            replaced: 0,
        }
    }

    /// Gives `q` of a column of `row` to the cause at `position` of its order.
    #[inline(always)]
    pub(crate) fn give<F: Float, R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        column: usize,
        position: usize,
        q: f64,
    ) {
        let size = 1 + layout.l;
        let entry = &mut self.by_strength[(column * (layout.h + 1) + position) * size..][..size];
        entry[0] += q;
        for l in 0..layout.l {
            entry[1 + l] += q * row.t[l * layout.width + column].f64();
        }
    }

    /// All sums of a cause.
    #[inline(always)]
    pub(crate) fn of_cause<F: Float, R: Rank>(&mut self, layout: &Layout<F, R>, cause: usize) -> &mut [f64] {
        let size = (1 + layout.l) * layout.width;
        &mut self.by_cause[cause * size..][..size]
    }

    pub(crate) fn add(&mut self, other: &Sums) {
        self.by_cause.iter_mut().zip(&other.by_cause).for_each(|(mine, theirs)| *mine += theirs);
        self.by_strength.iter_mut().zip(&other.by_strength).for_each(|(mine, theirs)| *mine += theirs);
        self.active.iter_mut().zip(&other.active).for_each(|(mine, theirs)| *mine += theirs);
        self.weight += other.weight;
        self.bound += other.bound;
        self.evaluations += other.evaluations;
        self.replaced += other.replaced;
    }

    /// The moments, by cause and in the family's own statistics.
    pub(crate) fn moments<F: Float, R: Rank>(
        &self,
        columns: &Columns,
        layout: &Layout<F, R>,
        frame: &Frame,
    ) -> Moments {
        let mut moments = Moments::zeros(layout.h, columns);
        let (causes, size) = (layout.h + 1, 1 + layout.l);
        let mut entry = vec![0.0; size];
        for (d, _, span) in columns.iter() {
            for (position, cause) in layout.strongest(d).iter().enumerate() {
                let cause = usize::from(*cause);
                for (l, entry) in entry.iter_mut().enumerate() {
                    *entry = self.by_strength[(d * causes + position) * size + l]
                        + self.by_cause[(cause * size + l) * layout.width + d];
                }
                let (assigned, sums) = (entry[0], &mut entry[1..=span.len()]);
                frame.leave(d, span.start, assigned, sums);
                moments.assigned[[cause, d]] = assigned;
                for (k, sum) in span.clone().zip(sums) {
                    moments.sums[[cause, k]] = *sum;
                }
            }
        }
        moments.active.iter_mut().zip(&self.active).for_each(|(to, value)| *to = *value);
        moments.weight = self.weight;
        moments.bound = self.bound;
        moments
    }
}

impl Encode for Sums {
    fn encode(&self, out: &mut Vec<u8>) {
        self.by_cause.encode(out);
        // where no row has many causes there were no walks
        let walked = self.by_strength.iter().any(|value| value.to_bits() != 0);
        self.by_strength.len().encode(out);
        walked.then(|| self.by_strength.clone()).encode(out);
        self.active.encode(out);
        (self.weight, self.bound).encode(out);
        (self.evaluations, self.replaced).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Sums> {
        let by_cause = Encode::decode(from)?;
        let length = usize::decode(from)?;
        let walked: Option<Vec<f64>> = Encode::decode(from)?;
        let (active, (weight, bound)) = Encode::decode(from)?;
        let (evaluations, replaced) = Encode::decode(from)?;
        let by_strength = walked.unwrap_or_else(|| vec![0.0; length]);
        Some(Sums { by_cause, by_strength, active, weight, bound, evaluations, replaced })
    }
}

impl Sum for Sums {
    fn add(&mut self, other: Sums) {
        Sums::add(self, &other);
    }
}
