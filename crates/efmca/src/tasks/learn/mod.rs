//! Learning features: dictionaries of image patches, or of any other rows (Sec. 7.2.1 and appendix C.2 of the paper).

mod draw;
mod whiten;

pub use draw::DrawnPatches;
pub use whiten::Whitening;

use std::sync::Arc;

use ndarray::Array2;

use crate::em::{Em, Held, Hold, Init};
use crate::family::SharedFamily;
use crate::model::{Background, Data, Superposition};
use crate::posterior::truncated::{Evolution, OneFlips, Selection, Variation};
use crate::posterior::{Precision, Truncation};

/// Settings of feature learning; [`FeatureLearner::em`] makes an [`Em`] of them.
#[derive(Debug, Clone)]
pub struct FeatureLearner {
    /// The noise.
    pub family: SharedFamily,
    /// $H$.
    pub h: usize,
    /// How active causes combine.
    pub superposition: Superposition,
    /// EM iterations in all.
    pub iterations: usize,
    /// In two phases where the family has a spread of its own: the other dictionaries and $\vec\pi$ in the first part of
    /// the iterations, the spread alone in the rest. Learned together from the start, the bound can oscillate.
    pub two_phases: bool,
    /// $S$, the states of each row.
    pub states: usize,
    /// The range that $\pi_h$ is drawn from at the start; `None` for equal small ones.
    pub pi_init: Option<(f64, f64)>,
    /// The share of all rows that is added to every entry of the dictionaries as average data. A cause that few rows use
    /// would learn their noise by heart, and stay with them.
    pub pseudo_rows: f64,
    /// Updates of the parameters in each iteration; see [`Em::batches`].
    pub batches: usize,
    /// How the dictionaries start.
    pub init: Init,
    /// The same number gives the same features.
    pub seed: u64,
}

/// The share of the iterations that the first of two phases has.
const FIRST_PHASE: f64 = 0.5;

impl FeatureLearner {
    /// The paper's settings for `family` (60 states, a start from clusters, for the Gaussian two phases; values of both signs
    /// combine by their magnitudes) but for what `docs/LEARNING.md` says: $\pi_h$ starts small and not in [0.1, 0.5], and a few
    /// rows of average data are added.
    pub fn new(family: SharedFamily, h: usize) -> FeatureLearner {
        let signed = family.support().low < 0.0;
        let two_phases = has_spread(&family);
        FeatureLearner {
            family,
            h,
            superposition: if signed { Superposition::MaxMagnitude } else { Superposition::Max },
            iterations: 100,
            two_phases,
            states: 60,
            pi_init: None,
            pseudo_rows: 5e-4,
            batches: 4,
            init: Init::Clusters { spread: 1.0 },
            seed: 0,
        }
    }

    /// The first iteration of the second phase.
    pub fn second_phase(&self) -> Option<usize> {
        let first = (FIRST_PHASE * self.iterations as f64).ceil() as usize;
        (self.two_phases && has_spread(&self.family)).then_some(first)
    }

    /// EM with these settings for `rows` rows.
    pub fn em(&self, rows: usize) -> Em {
        let proposals: Vec<Arc<dyn crate::posterior::truncated::Propose>> = vec![
            Arc::new(OneFlips { parents: 1 }),
            Arc::new(Evolution {
                parents: 5,
                children: 4,
                selection: Selection::Fitness,
                variation: Variation::RandomFlip,
            }),
        ];
        let mut em = Em::new(self.h)
            .family(self.family.clone())
            .superposition(self.superposition)
            .background(Background::Learned)
            .iterations(self.iterations)
            .tolerance(0.0)
            .init(self.init.clone())
            .seed(self.seed)
            .pseudo_count(self.pseudo_rows * rows as f64)
            .batches(self.batches)
            .truncated(Truncation::new(self.states).precision(Precision::Single).proposals(proposals));
        if let Some((low, high)) = self.pi_init {
            em = em.pi_init(low, high);
        }
        if let Some(second) = self.second_phase() {
            em = em
                .hold(Hold { what: Held::W(1), from: 0, until: second })
                .hold(Hold { what: Held::W(0), from: second, until: usize::MAX })
                .hold(Hold { what: Held::Pi, from: second, until: usize::MAX });
        }
        em
    }
}

/// Whether the second dictionary is a spread, which can be held.
fn has_spread(family: &SharedFamily) -> bool {
    let mut w = vec![0.0; family.l()];
    family.project(&mut w);
    family.spread(&w).is_some()
}

/// Rows in single precision that are shared and not copied.
#[derive(Debug, Clone)]
pub struct SharedRows(pub Arc<Array2<f32>>);

impl Data for SharedRows {
    fn n(&self) -> usize {
        self.0.nrows()
    }

    fn d(&self) -> usize {
        self.0.ncols()
    }

    fn read_row(&self, n: usize, y: &mut [f64]) {
        self.0.read_row(n, y);
    }

    fn outside(&self) -> Option<Arc<dyn Data + Send>> {
        Some(Arc::new(self.clone()))
    }
}
