//! The tables of a model as the kernel reads them.

use crate::model::{Columns, Tables};
use crate::posterior::truncated::data::frame::Frame;
use crate::posterior::truncated::data::observations::{Row, padded};
use crate::posterior::truncated::kernel::{Float, Instructions, Rank, place as kernel_place};

/// Places of a column's order that lie side by side.
const BLOCK: usize = 16;

/// [`Tables`] in a [`Frame`], by cause and by strength.
///
/// Natural parameters and log-partition functions are differences to a reference, the average cause: what all causes
/// have in common is added to a row once, in `f64`, and rounding touches what tells them apart.
#[derive(Debug, Clone)]
pub(crate) struct Layout<F, R> {
    /// The instructions with which it is read.
    pub(crate) set: Instructions,
    /// $H$.
    pub(crate) h: usize,
    pub(crate) d: usize,
    pub(crate) l: usize,
    /// $D$, padded.
    pub(crate) width: usize,
    /// $(H+1) \times$ width: the place of each cause in the order of each column; the background is the last row.
    rank: Vec<R>,
    /// $(H+1) \times (L+1) \times$ width: the planes of $\vec\eta$, then $A$; side by side, because they are read together.
    parameters: Vec<F>,
    /// The causes of each column, the strongest first: blocks of [`BLOCK`] places, each with all $D$ columns, because walks
    /// seldom leave the first one. The background stands in the places that are left over.
    order: Vec<u16>,
    /// $\vec\eta$ and $A$ in that order.
    sorted: Vec<F>,
    /// $L \times$ width and width: what was subtracted.
    reference: (Vec<f64>, Vec<f64>),
    /// $\sum_d$ of the reference of $A$.
    reference_sum: f64,
    /// $\log\frac{\pi_h}{1-\pi_h}$.
    pub(crate) log_odds: Vec<f64>,
    /// $\sum_h\log(1-\pi_h)$.
    pub(crate) log_prior_empty: f64,
    /// Whether these are some columns only, whose order of causes is not kept: then states are never walked.
    pub(crate) is_part: bool,
}

/// How much larger than the smallest a parameter may be to have a part in the reference, see [`middle`].
const FAR: f64 = 1e6;

/// What is subtracted from the parameters of all causes: their mean. A cause that owns equal values only has parameters up to
/// 1e280, of which the others would be nothing but the rounding; such ones are left out.
fn middle(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let smallest = values.clone().fold(f64::INFINITY, |least, value| least.min(value.abs()));
    let limit = FAR * smallest.max(1.0);
    let (mut sum, mut count) = (0.0, 0);
    for value in values.filter(|value| value.abs() <= limit) {
        sum += value;
        count += 1;
    }
    if count == 0 { 0.0 } else { sum / f64::from(count) }
}

impl<F: Float, R: Rank> Layout<F, R> {
    pub(crate) fn new(columns: &Columns, tables: &Tables, frame: &Frame, set: Instructions) -> Layout<F, R> {
        let (h, d, l) = (tables.log_odds.len(), columns.d(), columns.l_max());
        let (width, causes) = (padded(d), h + 1);
        let mut layout = Layout {
            set,
            h,
            d,
            l,
            width,
            rank: vec![R::LOWEST; causes * width],
            parameters: vec![F::ZERO; causes * (l + 1) * width],
            order: vec![h as u16; d * causes.next_multiple_of(BLOCK)],
            sorted: vec![F::ZERO; d * causes.next_multiple_of(BLOCK) * (l + 1)],
            reference: (vec![0.0; l * width], vec![0.0; width]),
            reference_sum: 0.0,
            log_odds: tables.log_odds.to_vec(),
            log_prior_empty: tables.log_prior_empty,
            is_part: false,
        };
        let (mut eta, mut a) = (vec![0.0; causes * l], vec![0.0; causes]);
        for (column, _, span) in columns.iter() {
            for cause in 0..causes {
                let eta = &mut eta[cause * l..][..span.len()];
                a[cause] = frame.parameters(columns, tables, cause, column, eta);
            }
            let mean_a = middle(a.iter().copied());
            layout.reference.1[column] = mean_a;
            for l in 0..span.len() {
                layout.reference.0[l * width + column] = middle(eta.iter().copied().skip(l).step_by(layout.l));
            }
            let order = tables.winners.strongest_first(column);
            for (position, cause) in order.iter().map(|cause| usize::from(*cause)).enumerate() {
                let at = layout.place(column, position);
                layout.order[at] = cause as u16;
                layout.rank[cause * width + kernel_place::<F, R>(column)] = R::of(h - position);
                let sorted = &mut layout.sorted[at * (l + 1)..][..l + 1];
                for l in 0..span.len() {
                    let value = F::of(eta[cause * layout.l + l] - layout.reference.0[l * width + column]);
                    layout.parameters[(cause * (layout.l + 1) + l) * width + column] = value;
                    sorted[l] = value;
                }
                let value = F::of(a[cause] - mean_a);
                layout.parameters[(cause * (l + 1) + l) * width + column] = value;
                sorted[l] = value;
            }
        }
        layout.reference_sum = layout.reference.1.iter().sum();
        layout
    }

    /// The same without any column, for [`Layout::gather`].
    pub(crate) fn without_columns(&self) -> Layout<F, R> {
        Layout {
            set: self.set,
            h: self.h,
            d: 0,
            l: self.l,
            width: 0,
            rank: Vec::new(),
            parameters: Vec::new(),
            order: Vec::new(),
            sorted: Vec::new(),
            reference: (Vec::new(), Vec::new()),
            reference_sum: 0.0,
            log_odds: self.log_odds.clone(),
            log_prior_empty: self.log_prior_empty,
            is_part: true,
        }
    }

    /// Takes some columns of `all`, without their log-partition functions: what is left are the terms
    /// $\vec\eta^T\vec T$.
    pub(crate) fn gather(&mut self, all: &Layout<F, R>, columns: &[u32]) {
        let (causes, l) = (self.h + 1, self.l);
        let width = padded(columns.len().max(1));
        (self.d, self.width, self.reference_sum) = (columns.len(), width, 0.0);
        self.rank.clear();
        self.rank.resize(causes * width, R::LOWEST);
        self.parameters.clear();
        self.parameters.resize(causes * (l + 1) * width, F::ZERO);
        for cause in 0..causes {
            let (to, from) = (&mut self.rank[cause * width..][..width], all.ranks(cause));
            for (place, column) in columns.iter().enumerate() {
                to[kernel_place::<F, R>(place)] = from[kernel_place::<F, R>(*column as usize)];
            }
            let (from, to) = (all.all_parameters(cause), &mut self.parameters[cause * (l + 1) * width..]);
            for (to, from) in to.chunks_exact_mut(width).zip(from.chunks_exact(all.width)).take(l) {
                to.iter_mut().zip(columns).for_each(|(to, column)| *to = from[*column as usize]);
            }
        }
        self.reference.0.clear();
        self.reference.0.resize(l * width, 0.0);
        for (to, from) in self.reference.0.chunks_exact_mut(width).zip(all.reference.0.chunks_exact(all.width)) {
            to.iter_mut().zip(columns).for_each(|(to, column)| *to = from[*column as usize]);
        }
    }

    /// The log-terms of the column at `place` are lower by `term` of the cause, and by `reference` in common.
    pub(crate) fn take_off(&mut self, place: usize, term: impl Fn(usize) -> f64, reference: f64) {
        for cause in 0..=self.h {
            self.parameters[(cause * (self.l + 1) + self.l) * self.width + place] = F::of(term(cause));
        }
        self.reference_sum += reference;
    }

    /// The log-term of the reference in a column of `row`.
    pub(crate) fn reference_term(&self, row: &Row<F>, column: usize) -> f64 {
        let at = |l: usize| l * self.width + column;
        (0..self.l).map(|l| self.reference.0[at(l)] * row.t[at(l)].f64()).sum::<f64>() - self.reference.1[column]
    }

    /// The ranks of a cause.
    #[inline(always)]
    pub(crate) fn ranks(&self, cause: usize) -> &[R] {
        &self.rank[cause * self.width..][..self.width]
    }

    /// $\vec\eta$ (all planes) and $A$ of a cause.
    #[inline(always)]
    pub(crate) fn parameters(&self, cause: usize) -> (&[F], &[F]) {
        self.all_parameters(cause).split_at(self.l * self.width)
    }

    /// The same one after the other.
    #[inline(always)]
    pub(crate) fn all_parameters(&self, cause: usize) -> &[F] {
        let size = (self.l + 1) * self.width;
        &self.parameters[cause * size..][..size]
    }

    /// Where the cause at `position` of a column's order is kept.
    #[inline(always)]
    pub(crate) fn place(&self, column: usize, position: usize) -> usize {
        (position / BLOCK * self.d + column) * BLOCK + position % BLOCK
    }

    /// All places.
    pub(crate) fn places(&self) -> usize {
        self.order.len()
    }

    /// The causes of a column, the strongest first.
    pub(crate) fn strongest(&self, column: usize) -> impl Iterator<Item = usize> {
        (0..=self.h).map(move |position| usize::from(self.order[self.place(column, position)]))
    }

    /// The causes of a column, the strongest first, in blocks: the place of the first cause of a block, and its causes. The
    /// last block ends with the background, again and again.
    #[inline(always)]
    pub(crate) fn blocks(&self, column: usize) -> impl Iterator<Item = (usize, &[u16])> {
        let all = self.order.chunks_exact((self.d * BLOCK).max(1)).enumerate();
        all.map(move |(block, causes)| ((block * self.d + column) * BLOCK, &causes[column * BLOCK..][..BLOCK]))
    }

    /// The log-term of the cause at a place of a column's order.
    #[inline(always)]
    pub(crate) fn term_at(&self, row: &Row<F>, column: usize, place: usize) -> F {
        let entry = &self.sorted[place * (self.l + 1)..][..self.l + 1];
        // the same order of operations as in the passes, for the same bits
        let mut term = entry[0] * row.t[column];
        if self.l == 2 {
            return (term + entry[1] * row.t[self.width + column]) - entry[2];
        }
        term = term - entry[self.l];
        for (l, eta) in entry[..self.l].iter().enumerate().skip(1) {
            term += *eta * row.t[l * self.width + column];
        }
        term
    }

    /// The term that all states have in common in this row: the log-term of the reference.
    #[inline(always)]
    pub(crate) fn common(&self, row: &Row<F>) -> f64 {
        let (eta, a) = (&self.reference.0, &self.reference.1);
        let mut sums = [0.0; 4];
        for (eta, t) in eta.as_chunks::<4>().0.iter().zip(row.t.as_chunks::<4>().0) {
            for lane in 0..4 {
                sums[lane] += eta[lane] * t[lane].f64();
            }
        }
        let mut sum = (sums[0] + sums[2]) + (sums[1] + sums[3]) - self.reference_sum;
        if row.missing {
            sum += a.iter().zip(&row.present).filter(|(_, there)| **there == F::ZERO).map(|(a, _)| a).sum::<f64>();
        }
        sum
    }
}
