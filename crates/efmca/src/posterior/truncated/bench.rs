//! The kernel by itself, for benchmarks.

use ndarray::Array2;

use crate::error::Result;
use crate::model::{Model, Tables};
use crate::posterior::truncated::data::frame::Frame;
use crate::posterior::truncated::data::layout::Layout;
use crate::posterior::truncated::data::observations::{Observations, Row};
use crate::posterior::truncated::kernel::{Instructions, Rank};
use crate::posterior::truncated::score::owners::Owners;
use crate::posterior::truncated::score::passes::Passes;
use crate::posterior::truncated::score::walk::Walk;
use crate::posterior::truncated::score::ways;
use crate::posterior::truncated::states::bits;
use crate::ranks::Share;

/// Scores states of the first row of a data set in single precision. It is here to be measured, not to be used.
#[derive(Debug)]
pub struct Kernel {
    layout: Ranked,
    row: Row<f32>,
    walk: Walk<f32>,
    words: usize,
    found: Vec<f64>,
}

#[derive(Debug)]
enum Ranked {
    Bytes(Box<(Layout<f32, i8>, Passes<f32, i8>)>),
    Words(Box<(Layout<f32, i16>, Passes<f32, i16>)>),
}

macro_rules! ranked {
    ($kernel:expr, |$layout:ident, $passes:ident| $result:expr) => {
        match &mut $kernel.layout {
            Ranked::Bytes(both) => {
                let ($layout, $passes) = &mut **both;
                $result
            }
            Ranked::Words(both) => {
                let ($layout, $passes) = &mut **both;
                $result
            }
        }
    };
}

impl Kernel {
    /// Prepares `model` and the first row of `y`.
    pub fn new(model: &Model, y: &Array2<f64>, portable: bool) -> Result<Kernel> {
        let data = Observations::<f32>::new(model.columns(), y, Share::all(y.nrows()), false)?;
        let (tables, frame) = (Tables::new(model), Frame::identity(model.columns()));
        let mut row = Row::new(model.columns());
        data.load(0, &mut row);
        let layout = if model.h() < <i8 as Rank>::COUNT {
            let layout = Layout::new(model.columns(), &tables, &frame, Instructions::new(portable));
            let passes = Passes::new(&layout);
            Ranked::Bytes(Box::new((layout, passes)))
        } else {
            let layout = Layout::new(model.columns(), &tables, &frame, Instructions::new(portable));
            let passes = Passes::new(&layout);
            Ranked::Words(Box::new((layout, passes)))
        };
        let words = bits::words(model.h());
        Ok(Kernel { layout, row, walk: Walk::new(model.h()), words, found: Vec::new() })
    }

    /// The sum over `states` (bits, one after the other) of their log-likelihoods up to a constant.
    pub fn score(&mut self, states: &[u64]) -> f64 {
        self.found.resize(states.len() / self.words, 0.0);
        let (row, words, walk, found) = (&self.row, self.words, &mut self.walk, &mut self.found);
        let active = bits::count(states) / found.len().max(1);
        ranked!(self, |layout, passes| {
            passes.begin();
            if ways::is_many(active, layout.h) {
                walk.score(layout, row, states, words, found);
            } else {
                passes.score(layout, row, states, found);
            }
        });
        self.found.iter().sum()
    }

    /// The same over all states that differ from `state` by one cause.
    pub fn flips(&mut self, state: &[u64]) -> f64 {
        let (row, found) = (&self.row, &mut self.found);
        ranked!(self, |layout, passes| {
            found.resize(layout.h, 0.0);
            passes.begin();
            if ways::is_many(bits::count(state), layout.h) {
                Owners::new(layout.h).flips(layout, row, state, found);
            } else {
                passes.flips(layout, row, state, found);
            }
        });
        self.found.iter().sum()
    }
}
