//! Sums over rows.

use crate::model::Columns;
use crate::posterior::Moments;
use crate::posterior::truncated::data::frame::Frame;
use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::Row;
use crate::posterior::truncated::kernel::{Float, Rank};
use crate::ranks::{Decoder, Encode, Sum};

/// The work of an E-step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Effort {
    /// Log-joints that were evaluated.
    pub evaluations: u64,
    /// States that took the place of a worse one.
    pub replaced: u64,
}

impl Encode for Effort {
    fn encode(&self, out: &mut Vec<u8>) {
        (self.evaluations, self.replaced).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Effort> {
        let (evaluations, replaced) = Encode::decode(from)?;
        Some(Effort { evaluations, replaced })
    }
}

/// [`Moments`] while they are being summed, with statistics in the frame of the data.
#[derive(Debug, Clone)]
pub(crate) struct Sums {
    /// From passes, $(H+1) \times (1+L) \times$ width: what is assigned to each cause, and the statistics that go with it. Empty as
    /// long as there is none, which saves megabytes where all states are walked.
    by_cause: Vec<f64>,
    /// From walks, $(1+L)$ for each place of [`Layout::place`]: the same for each column in its order of strength, of which the
    /// first few are used most. Empty as long as there is none.
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
        Sums {
            by_cause: Vec::new(),
            by_strength: Vec::new(),
            active: vec![0.0; layout.h],
            weight: 0.0,
            bound: 0.0,
            evaluations: 0,
            replaced: 0,
        }
    }

    /// Makes room for what walks give.
    pub(crate) fn prepare_walks<F: Float, R: Rank>(&mut self, layout: &Layout<F, R>) {
        self.by_strength.resize((1 + layout.l) * layout.places(), 0.0);
    }

    /// Gives `q` of a column of `row` to the cause at a place of its order, after [`Sums::prepare_walks`].
    #[inline(always)]
    pub(crate) fn give<F: Float, R: Rank>(
        &mut self,
        layout: &Layout<F, R>,
        row: &Row<F>,
        column: usize,
        place: usize,
        q: f64,
    ) {
        let size = 1 + layout.l;
        let entry = &mut self.by_strength[place * size..][..size];
        entry[0] += q;
        for l in 0..layout.l {
            entry[1 + l] += q * row.t[l * layout.width + column].f64();
        }
    }

    /// All sums of a cause.
    #[inline(always)]
    pub(crate) fn of_cause<F: Float, R: Rank>(&mut self, layout: &Layout<F, R>, cause: usize) -> &mut [f64] {
        let size = (1 + layout.l) * layout.width;
        if self.by_cause.is_empty() {
            self.by_cause.resize((layout.h + 1) * size, 0.0);
        }
        &mut self.by_cause[cause * size..][..size]
    }

    pub(crate) fn add(&mut self, other: &Sums) {
        add(&mut self.by_cause, &other.by_cause);
        add(&mut self.by_strength, &other.by_strength);
        add(&mut self.active, &other.active);
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
        let size = 1 + layout.l;
        let mut entry = vec![0.0; size];
        for (d, _, span) in columns.iter() {
            for (position, cause) in layout.strongest(d).enumerate() {
                let place = layout.place(d, position);
                for (l, entry) in entry.iter_mut().enumerate() {
                    let walked = self.by_strength.get(place * size + l).unwrap_or(&0.0);
                    *entry = walked + self.by_cause.get((cause * size + l) * layout.width + d).unwrap_or(&0.0);
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

/// Adds `theirs` to `mine`; none at all are zeros.
fn add(mine: &mut Vec<f64>, theirs: &[f64]) {
    if mine.is_empty() {
        mine.extend_from_slice(theirs);
    } else {
        mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl Encode for Sums {
    fn encode(&self, out: &mut Vec<u8>) {
        self.by_cause.encode(out);
        self.by_strength.encode(out);
        self.active.encode(out);
        (self.weight, self.bound).encode(out);
        (self.evaluations, self.replaced).encode(out);
    }

    fn decode(from: &mut Decoder<'_>) -> Option<Sums> {
        let (by_cause, by_strength) = (Encode::decode(from)?, Encode::decode(from)?);
        let (active, (weight, bound)) = Encode::decode(from)?;
        let (evaluations, replaced) = Encode::decode(from)?;
        Some(Sums { by_cause, by_strength, active, weight, bound, evaluations, replaced })
    }
}

impl Sum for Sums {
    fn add(&mut self, other: Sums) {
        Sums::add(self, &other);
    }
}
