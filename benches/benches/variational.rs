//! Kernel, E-step and whole EM steps over the sizes that matter, beside the naive evaluation in the same run.
//!
//! `cargo bench -p efmca-benches`
#![allow(missing_docs)] // the macros of criterion

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use efmca::internals::Kernel;
use efmca::internals::Tables;
use efmca::posterior::Precision;
use efmca::{Background, Em, Held, Hold, Init, Truncation};
use efmca_benches::{model, naive, states};

fn kernel(c: &mut Criterion) {
    let mut group = c.benchmark_group("score 60 states of a row");
    for (d, h, active) in
        [(400, 100, 2), (400, 100, 10), (400, 100, 50), (100, 100, 10), (400, 1000, 10), (400, 1000, 290)]
    {
        let model = model(h, d, active as f64).expect("a model");
        let y = model.sample(1, 1).y;
        let states = states(h, 60, active);
        let size = format!("D={d} H={h} |s|={active}");
        group.throughput(Throughput::Elements(60));
        for portable in [false, true] {
            let mut kernel = Kernel::new(&model, &y, portable).expect("a kernel");
            let name = if portable { "safe kernel" } else { "kernel" };
            group.bench_function(BenchmarkId::new(name, &size), |b| b.iter(|| kernel.score(&states)));
        }
        let (tables, row, words) = (Tables::new(&model), y.row(0).to_vec(), h.div_ceil(64));
        group.bench_function(BenchmarkId::new("naive", &size), |b| {
            b.iter(|| states.chunks_exact(words).map(|state| naive(&tables, &row, state)).sum::<f64>());
        });
    }
    group.finish();
    let mut group = c.benchmark_group("all flips of a state");
    for (d, h, active) in [(400, 100, 2), (400, 100, 10), (400, 1000, 10), (400, 1000, 290)] {
        let model = model(h, d, active as f64).expect("a model");
        let mut kernel = Kernel::new(&model, &model.sample(1, 1).y, false).expect("a kernel");
        let state = states(h, 1, active);
        group.throughput(Throughput::Elements(h as u64));
        group.bench_function(format!("D={d} H={h} |s|={active}"), |b| b.iter(|| kernel.flips(&state)));
    }
    group.finish();
}

/// EM from the true model, so that states stay what they are.
fn em(h: usize, d: usize, s: usize, iterations: usize, learns: bool) -> (Em, ndarray::Array2<f64>, usize) {
    let n = 512;
    let model = model(h, d, 4.0).expect("a model");
    let y = model.sample(n, 1).y;
    let em = Em::new(h)
        .family("poisson")
        .background(Background::Fixed(model.background().to_vec()))
        .init(Init::Model(Box::new(model)))
        .truncated(Truncation::new(s).precision(Precision::Single))
        .tolerance(0.0)
        .revive(false)
        .iterations(iterations);
    let em = if learns { em } else { em.hold(Hold::always(Held::Pi)).hold(Hold::always(Held::W(0))) };
    (em, y, n)
}

fn steps(c: &mut Criterion) {
    let mut group = c.benchmark_group("10 EM steps of 512 rows");
    group.sample_size(10);
    for (h, d, s) in [(100, 400, 60), (50, 400, 60), (200, 400, 60), (100, 100, 60), (100, 400, 30), (100, 400, 120)] {
        let (em, y, n) = em(h, d, s, 10, true);
        group.throughput(Throughput::Elements(10 * n as u64));
        group.bench_function(format!("H={h} D={d} S={s}"), |b| b.iter(|| em.run(&y)));
    }
    let (em, y, _) = em(100, 400, 60, 10, false);
    group.bench_function("H=100 D=400 S=60, E-steps only", |b| b.iter(|| em.run(&y)));
    group.finish();
}

criterion_group!(benches, kernel, steps);
criterion_main!(benches);
