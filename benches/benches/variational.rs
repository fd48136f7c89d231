//! Kernel, E-step and whole EM steps over the sizes that matter, beside the naive evaluation in the same run.
//!
//! `cargo bench -p efmca-benches`

use std::fmt;

use divan::Bencher;
use divan::counter::ItemsCount;
use efmca::internals::Kernel;
use efmca::internals::Tables;
use efmca::posterior::Precision;
use efmca::{Background, Em, Held, Hold, Init, Truncation};
use efmca_benches::{model, naive, states};

fn main() {
    divan::main();
}

/// Columns, causes, and active causes of a state.
struct Sizes {
    d: usize,
    h: usize,
    active: usize,
}

impl fmt::Display for Sizes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "D={} H={} |s|={}", self.d, self.h, self.active)
    }
}

const fn sizes(d: usize, h: usize, active: usize) -> Sizes {
    Sizes { d, h, active }
}

const OF_STATES: [Sizes; 6] = [
    sizes(400, 100, 2),
    sizes(400, 100, 10),
    sizes(400, 100, 50),
    sizes(100, 100, 10),
    sizes(400, 1000, 10),
    sizes(400, 1000, 290),
];
const OF_FLIPS: [Sizes; 4] = [sizes(400, 100, 2), sizes(400, 100, 10), sizes(400, 1000, 10), sizes(400, 1000, 290)];

/// 60 states of a row.
mod score {
    use super::*;

    fn by_kernel(bencher: Bencher, Sizes { d, h, active }: &Sizes, portable: bool) {
        let model = model(*h, *d, *active as f64).expect("a model");
        let mut kernel = Kernel::new(&model, &model.sample(1, 1).y, portable).expect("a kernel");
        let states = states(*h, 60, *active);
        bencher.counter(ItemsCount::new(60u32)).bench_local(|| kernel.score(&states));
    }

    #[divan::bench(args = &OF_STATES)]
    fn kernel(bencher: Bencher, sizes: &Sizes) {
        by_kernel(bencher, sizes, false);
    }

    #[divan::bench(args = &OF_STATES)]
    fn safe_kernel(bencher: Bencher, sizes: &Sizes) {
        by_kernel(bencher, sizes, true);
    }

    #[divan::bench(name = "naive", args = &OF_STATES)]
    fn obvious(bencher: Bencher, Sizes { d, h, active }: &Sizes) {
        let model = model(*h, *d, *active as f64).expect("a model");
        let row = model.sample(1, 1).y.row(0).to_vec();
        let (tables, states, words) = (Tables::new(&model), states(*h, 60, *active), h.div_ceil(64));
        bencher
            .counter(ItemsCount::new(60u32))
            .bench_local(|| states.chunks_exact(words).map(|state| naive(&tables, &row, state)).sum::<f64>());
    }
}

/// All flips of a state.
#[divan::bench(args = &OF_FLIPS)]
fn flips(bencher: Bencher, Sizes { d, h, active }: &Sizes) {
    let model = model(*h, *d, *active as f64).expect("a model");
    let mut kernel = Kernel::new(&model, &model.sample(1, 1).y, false).expect("a kernel");
    let state = states(*h, 1, *active);
    bencher.counter(ItemsCount::new(*h)).bench_local(|| kernel.flips(&state));
}

/// Ten EM steps of 512 rows.
mod steps {
    use super::*;

    const N: usize = 512;

    /// From the true model, so that states stay what they are.
    fn em(bencher: Bencher, (h, d, s): (usize, usize, usize), learns: bool) {
        let model = model(h, d, 4.0).expect("a model");
        let y = model.sample(N, 1).y;
        let em = Em::new(h)
            .family("poisson")
            .background(Background::Fixed(model.background().to_vec()))
            .init(Init::Model(Box::new(model)))
            .truncated(Truncation::new(s).precision(Precision::Single))
            .tolerance(0.0)
            .revive(false)
            .iterations(10);
        let em = if learns { em } else { em.hold(Hold::always(Held::Pi)).hold(Hold::always(Held::W(0))) };
        bencher.counter(ItemsCount::new(10 * N)).bench_local(|| em.run(&y));
    }

    #[divan::bench(
        sample_count = 10,
        args = [(100, 400, 60), (50, 400, 60), (200, 400, 60), (100, 100, 60), (100, 400, 30), (100, 400, 120)]
    )]
    fn h_d_s(bencher: Bencher, sizes: (usize, usize, usize)) {
        em(bencher, sizes, true);
    }

    #[divan::bench(sample_count = 10, args = [(100, 400, 60)])]
    fn without_the_m_step(bencher: Bencher, sizes: (usize, usize, usize)) {
        em(bencher, sizes, false);
    }
}
