//! Truncated posteriors (Sec. 5.2): for each row a set $\mathcal K^{(n)}$ of $S$ states, improved from one E-step to the
//! next.
//!
//! $$ q^{(n)}(\vec s) = \frac{p(\vec y^{(n)}, \vec s | \Theta)}{\sum\_{\vec s' \in \mathcal K^{(n)}} p(\vec y^{(n)}, \vec s' | \Theta)} \quad\text{for } \vec s \in \mathcal K^{(n)} $$
//! (Eqn. 41) and zero elsewhere; the bound is $\sum_n\log\sum_{\vec s \in \mathcal K^{(n)}} p(\vec y^{(n)}, \vec s)$. A state
//! leaves $\mathcal K^{(n)}$ only for a better one, so with the parameters fixed (and without annealing) the bound never falls.
//!
//! Rooms, each of which uses only those before it (`tests/layers.rs`):
//!
//! ```text
//! states ─▶ kernel ─▶ data ─▶ score ─▶ proposals ─▶ task ────▶ stars ─▶ row ─▶ shards ─▶ sparse, removal
//!           avx2      sums                          places
//! ```
//!
//! A file without a room stands beside `mod.rs`.
//!
//! | room | file | subject |
//! | --- | --- | --- |
//! | `states/` | `bits`, `state`, `sets` | states as words of bits; one state; the sets $\mathcal K^{(n)}$ and what they begin with |
//! | `kernel/` | `mod`, `share`, `numbers`, `instructions` | the inner loops in safe code, which know ranks and parameters and no families; the same that share out columns; numbers and ranks; the proof that a processor can run others |
//! | `avx2/` | `mod`, `scan`, `share`, `lanes` | the same loops for processors with AVX2, with the same bits |
//! | `data/` | `observations` | rows of statistics |
//! | `data/` | `frame`, `scatter` | coordinates in which single precision is enough |
//! | `data/` | `layout` | the tables of a model, ranks and parameters side by side |
//! | `data/` | `constants` | what zeros add to log-joints where they are not part of rows |
//! | | `sums` | sums over rows, from which moments are made |
//! | `score/` | `ways`, `passes`, `chains`, `scan`, `walk`, `owners`, `centre` | log-joints of states, and the way back: by cause where few are active, by column where many are |
//! | `proposals/` | `evolution`, `one_flips`, `neighbours`, `marginals` | ways to propose states, one a file; EVO of Sec. 5.2.1 is `evolution` |
//! | `proposals/` | `context`, `specs` | what a proposal sees, and how it is written down |
//! | | `truncation` | the settings |
//! | | `task` | what all rows of an E-step share, and where its results go |
//! | | `places` | which states stay, and $q$ |
//! | `stars/` | `mod`, `batch` | rows that share their first state, all at once; the steps of their E-step |
//! | `stars/` | `winners`, `pool`, `scan` | products of matrices: parameters of the winners, states that rows share, log-joints |
//! | `stars/` | `choice`, `give` | one row: proposals, and which states stay; what rows give to the M-step |
//! | `row/` | `rows`, `work`, `select` | all other rows, one after the other: scores, proposals, which states stay, $q$, sums |
//! | `sparse/` | `mod`, `observations` | rows that are mostly zeros, by their other values |
//! | | `shards` | the rows of a rank, and the tree of sums |
//! | | `removal` | which causes can be spared, and posteriors without them |
//! | | `bench` | the kernel by itself, for benchmarks |
//!
//! A new way to propose states is a file in `proposals/`, named in `proposals/mod` and `proposals/specs` and exported here;
//! `all_proposals` of `tests/truncated.rs` tries it.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod bench;
mod data;
mod kernel;
mod places;
mod proposals;
mod removal;
mod row;
mod score;
mod shards;
mod sparse;
mod stars;
mod states;
mod sums;
mod task;
mod truncation;

use std::ops::Range;

use ndarray::Array1;

#[doc(hidden)]
pub use bench::Kernel;
pub use proposals::{
    Evolution, Marginals, Neighbours, OneFlips, Propose, Proposed, Random, RowContext, Selection, Variation,
};
pub(crate) use removal::Substitutes;
pub(crate) use shards::Batch;
pub use states::{Sets, State};
pub use sums::Effort;
pub use truncation::{Precision, Truncation};

use crate::error::{Error, Result};
use crate::model::{Columns, Data, Model, Tables, is_sparse};
use crate::posterior::Moments;
use crate::ranks::{Forest, Share};
use data::layout::Layout;
use data::observations::Observations;
use kernel::{Float, Rank};
use row::rows;
use shards::{ALL, each_shard, finished, tree};
use sparse::SparseObservations;
use stars::{Chosen, Stars};
use sums::Sums;
use task::{Job, Kept, Task};

/// Rows that weigh more than this are kept in double precision, whatever was asked for.
const HEAVIEST_SINGLE: f64 = 1e12;
/// The same if no row weighs as much as this: shares of them would be zero in `f32`.
const LIGHTEST_SINGLE: f64 = 1e-12;
/// The largest number of causes, which are numbered with 16 bits.
pub const LARGEST_H: usize = u16::MAX as usize - 1;

/// A data set in the precision that was asked for.
#[derive(Debug, Clone)]
pub(crate) enum Observed {
    Single(Observations<f32>),
    Double(Observations<f64>),
    Sparse(Box<SparseObservations>),
}

macro_rules! both {
    ($observed:expr, $data:ident => $result:expr) => {
        match $observed {
            Observed::Single($data) => $result,
            Observed::Double($data) => $result,
            Observed::Sparse($data) => $result,
        }
    };
}

impl Observed {
    /// All rows of `data`.
    pub(crate) fn new(columns: &Columns, data: &dyn Data, precision: Precision) -> Result<Observed> {
        Observed::of_share(columns, data, Share::all(data.n()), precision)
    }

    /// The rows of `data` that belong to this rank. All ranks must be here at a time.
    pub(crate) fn of_share(columns: &Columns, data: &dyn Data, share: Share, precision: Precision) -> Result<Observed> {
        if is_sparse(data) {
            return Ok(Observed::Sparse(Box::new(SparseObservations::new(columns, data, share)?)));
        }
        // sums of weighted rows must stay where `f32` has room
        let room = LIGHTEST_SINGLE..=HEAVIEST_SINGLE;
        let heaviest = data.weights().map(|weights| weights.iter().copied().fold(0.0, f64::max));
        let no_room = heaviest.is_some_and(|weight| !room.contains(&weight));
        Ok(if no_room || precision.is_double(data.n() * columns.k()) {
            Observed::Double(Observations::new(columns, data, share, false)?)
        } else {
            Observed::Single(Observations::new(columns, data, share, true)?)
        })
    }

    /// All rows, wherever they are.
    pub(crate) fn n(&self) -> usize {
        both!(self, data => data.n())
    }

    /// The rows that are here, and where the others are.
    pub(crate) fn share(&self) -> &Share {
        both!(self, data => data.share())
    }

    pub(crate) fn weight(&self, n: usize) -> f64 {
        both!(self, data => data.weight(n))
    }

    pub(crate) fn total_weight(&self) -> f64 {
        both!(self, data => data.total_weight())
    }

    pub(crate) fn column_means(&self) -> Array1<f64> {
        both!(self, data => data.column_means())
    }

    pub(crate) fn check_learnable(&self) -> Result<()> {
        both!(self, data => data.check_learnable())
    }

    /// $\vec T$ of a row, and which columns are present. A row that is not here is read from `data`.
    pub(crate) fn statistics(&self, n: usize, data: Option<&dyn Data>) -> (Vec<f64>, Vec<bool>) {
        both!(self, data_here => data_here.statistics(n, data))
    }
}

/// Truncated posteriors of a data set. What is kept for each row is kept for those rows that are here.
#[derive(Debug, Clone)]
pub(crate) struct Truncated<'a> {
    observed: &'a Observed,
    truncation: &'a Truncation,
    sets: Sets,
    filled: bool,
    bounds: Vec<f64>,
    /// $q$ of each state of each row, if it is kept.
    q: Vec<f64>,
    seed: u64,
    iteration: u64,
    by_content: bool,
}

impl<'a> Truncated<'a> {
    /// Sets that the first E-step fills.
    pub(crate) fn new(observed: &'a Observed, truncation: &'a Truncation, h: usize, seed: u64) -> Truncated<'a> {
        let rows = observed.share().rows().len();
        let sets = Sets::empty(rows, h, truncation.states);
        let bounds = vec![0.0; rows];
        Truncated {
            observed,
            truncation,
            sets,
            filled: false,
            bounds,
            q: Vec::new(),
            seed,
            iteration: 0,
            by_content: false,
        }
    }

    /// The same from sets that are there already.
    pub(crate) fn with_sets(mut self, sets: Sets) -> Truncated<'a> {
        self.sets = sets;
        self.filled = true;
        self
    }

    /// The same after this many E-steps, which random numbers depend on.
    pub(crate) fn after(mut self, e_steps: u64) -> Truncated<'a> {
        self.iteration = e_steps;
        self
    }

    /// E-steps that were done.
    pub(crate) fn e_steps(&self) -> u64 {
        self.iteration
    }

    /// Posteriors in which no row depends on another.
    pub(crate) fn by_content(mut self) -> Truncated<'a> {
        self.by_content = true;
        self
    }

    /// The same posteriors over other statistics of the same rows.
    pub(crate) fn with_data(self, observed: &'a Observed) -> Truncated<'a> {
        Truncated { observed, ..self }
    }

    /// The families of the columns.
    pub(crate) fn columns(&self) -> &Columns {
        both!(self.observed, data => data.columns())
    }

    /// The rows that are here, and where the others are.
    pub(crate) fn share(&self) -> &Share {
        self.observed.share()
    }

    /// $\mathcal F$ of each row that is here in the last E-step.
    pub(crate) fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    pub(crate) fn sets(&self) -> &Sets {
        &self.sets
    }

    pub(crate) fn into_sets(self) -> Sets {
        self.sets
    }

    /// The sets, and $q$ of each state of each row if the last E-step kept it.
    pub(crate) fn into_sets_and_q(self) -> (Sets, Vec<f64>) {
        (self.sets, self.q)
    }

    /// $q$ of each state of each row, if the last E-step kept it.
    pub(crate) fn q(&self) -> &[f64] {
        &self.q
    }

    /// The E-step; `keep_q` if [`Truncated::redistribute`] or [`Truncated::q`] will be asked for.
    pub(crate) fn e_step(&mut self, model: &Model, beta: f64, keep_q: bool) -> Result<(Moments, Effort)> {
        if keep_q {
            self.q.resize(self.sets.n() * self.sets.s(), 0.0);
        } else {
            self.q = Vec::new();
        }
        let found = self.dispatch(model, &Tables::for_posteriors(model), Job::EStep, ALL, beta)?;
        self.filled = true;
        self.iteration += 1;
        Ok(found)
    }

    /// The E-step of one of several batches of rows; the first time, they must come in order until all had theirs.
    pub(crate) fn e_step_of(&mut self, batch: Batch, model: &Model, beta: f64) -> Result<(Moments, Effort)> {
        self.q = Vec::new();
        let found = self.dispatch(model, &Tables::for_posteriors(model), Job::EStep, batch, beta)?;
        self.filled |= batch.0 + 1 == batch.1;
        self.iteration += 1;
        Ok(found)
    }

    /// The moments of the same posteriors with the owners that `model` has.
    pub(crate) fn redistribute(&mut self, model: &Model, tables: &Tables) -> Result<Moments> {
        Ok(self.dispatch(model, tables, Job::Redistribute, ALL, 1.0)?.0)
    }

    fn dispatch(
        &mut self,
        model: &Model,
        tables: &Tables,
        job: Job,
        batch: Batch,
        beta: f64,
    ) -> Result<(Moments, Effort)> {
        if model.superposition().rho().is_some() {
            return Err(Error::setting(
                "superposition",
                model.superposition().name(),
                "truncated posteriors know the true maximum only; leave out `rho`, or use 16 causes or fewer",
            ));
        }
        let bytes = model.h() < <i8 as Rank>::COUNT;
        match (self.observed, bytes) {
            (Observed::Single(data), true) => self.all_rows::<f32, i8>(data, (model, tables), job, batch, beta),
            (Observed::Single(data), false) => self.all_rows::<f32, i16>(data, (model, tables), job, batch, beta),
            (Observed::Double(data), true) => self.all_rows::<f64, i8>(data, (model, tables), job, batch, beta),
            (Observed::Double(data), false) => self.all_rows::<f64, i16>(data, (model, tables), job, batch, beta),
            (Observed::Sparse(data), true) => self.sparse_rows::<i8>(data, (model, tables), job, batch, beta),
            (Observed::Sparse(data), false) => self.sparse_rows::<i16>(data, (model, tables), job, batch, beta),
        }
    }

    fn all_rows<F: Float, R: Rank>(
        &mut self,
        data: &Observations<F>,
        (model, tables): (&Model, &Tables),
        job: Job,
        batch: Batch,
        beta: f64,
    ) -> Result<(Moments, Effort)> {
        let layout: Layout<F, R> = Layout::new(data.columns(), tables, data.frame(), self.truncation.instructions());
        let pi = model.pi().to_vec();
        let task = Task {
            data,
            layout: &layout,
            constants: None,
            proposals: &self.truncation.proposals,
            generations: self.truncation.generations,
            beta,
            pi: &pi,
            expected_active: pi.iter().sum(),
            s: self.sets.s(),
            words: self.sets.words(),
            flips_first: self.truncation.proposals.iter().any(|proposal| proposal.flips_first()),
            by_content: self.by_content,
            seed: self.seed,
            iteration: self.iteration,
        };
        let (share, chunk) = (data.share(), data.share().shards.chunk());
        let in_stars = job == Job::EStep && stars::suit(&task);
        let (mut own, mut chosen, filled) = (Forest::new(), Chosen::default(), self.filled);
        let kept = Kept { sets: self.sets.bits_mut(), bounds: &mut self.bounds, q: &mut self.q };
        let each = |rows: Range<usize>, mut kept: Kept<'_>| {
            if !filled {
                task.fill(rows.clone(), kept.sets);
            }
            let (mut sums, mut stars) = (Sums::zeros(&layout), Stars::none(rows.start));
            if in_stars {
                stars = Stars::find(&task, rows.clone(), kept.sets);
                if let Some(found) = stars.e_step(&task, &mut kept, &mut chosen)? {
                    sums.add(&found);
                }
            }
            let leaf = |rows: Range<usize>, kept: Kept<'_>| rows::rows(&task, job, rows, kept, &stars);
            let add = |mut a: Sums, b: Sums| {
                a.add(&b);
                a
            };
            sums.add(&tree(rows, chunk, (task.s, task.words), kept, &leaf, &add)?);
            Ok(sums)
        };
        let done = each_shard(share, batch, (task.s, task.words), kept, &mut own, each);
        finished(share, done.map(|()| own), model, |sums: Sums| {
            let effort = Effort { evaluations: sums.evaluations, replaced: sums.replaced };
            (sums.moments(data.columns(), &layout, data.frame()), effort)
        })
    }
}
