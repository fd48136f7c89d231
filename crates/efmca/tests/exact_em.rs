//! Exact EM against the reference, for every family.

mod common;

use common::*;
use efmca::family::{SharedFamily, family};
use efmca::model::Columns;
use efmca::model::Weighted;
use efmca::{Background, Em, Held, Hold, Init, Model, Schedule, Superposition, bars};
use ndarray::{Array1, Array2, Axis, array, s};

fn one_step(model: &Model, y: &Array2<f64>, weights: &Array1<f64>, temperature: f64) -> (Model, f64) {
    let families = model.columns().iter().map(|(_, family, _)| family.clone());
    let fit = Em::new(model.h())
        .families(families)
        .background(Background::Fixed(model.background().to_vec()))
        .superposition(model.superposition())
        .init(Init::Model(Box::new(model.clone())))
        .iterations(1)
        .guard(false)
        .revive(false)
        .temperature(Schedule::Constant(temperature))
        .smallest_pi(1e-12)
        .run(&Weighted::new(y, weights.clone()).unwrap())
        .unwrap();
    let bound = fit.history[0].bound;
    (fit.model, bound)
}

fn check_step(model: &Model, y: &Array2<f64>, temperature: f64, what: &str) {
    let weights = Array1::from_shape_fn(y.nrows(), |n| 0.5 + (n % 4) as f64);
    let (pi, w, bound) = em_step(model, y, &weights.to_vec(), 1.0 / temperature);
    let (found, found_bound) = one_step(model, y, &weights, temperature);
    assert!(close(found_bound, bound, 1e-11), "{what}: bound {found_bound} {bound}");
    for (a, b) in found.pi().iter().zip(&pi) {
        assert!(close(*a, *b, 1e-11), "{what}: pi {a} {b}");
    }
    for (a, b) in found.w_flat().iter().zip(&w) {
        assert!(close(*a, *b, 1e-8), "{what}: w {a} {b}");
    }
    for (n, row) in y.outer_iter().enumerate() {
        let row_bound = posterior(model, &row.to_vec(), 1.0).1;
        let found = model.log_likelihoods(&y.slice(s![n..=n, ..]).to_owned()).unwrap()[0];
        assert!(close(found, row_bound, 1e-11), "{what}: row {n} {found} {row_bound}");
    }
}

#[test]
fn one_step_equals_brute_force_for_every_family() {
    for (i, family) in all_families().into_iter().enumerate() {
        let spec = family.spec();
        for (causes, seed) in [(1, 1), (3, 2), (4, 3)] {
            let model = random_model(vec![family.clone(); 5], causes, seed + 10 * i as u64);
            let y = model.sample(37, seed).y;
            check_step(&model, &y, 1.0, &spec);
            check_step(&model, &with_holes(&y, 0.2, seed), 1.0, &format!("{spec} with holes"));
            check_step(&model, &y, 3.0, &format!("{spec} tempered"));
            let signed = model.with_superposition(Superposition::MaxMagnitude).unwrap();
            check_step(&signed, &y, 1.0, &format!("{spec} by magnitude"));
        }
    }
}

#[test]
fn one_step_equals_brute_force_for_mixed_columns() {
    let specs = ["poisson", "bernoulli", "gamma", "gaussian", "beta", "categorical:k=4", "hurdle-gamma", "weibull:k=2"];
    let families: Vec<SharedFamily> = specs.iter().map(|spec| family(spec).unwrap()).collect();
    for seed in 0..5 {
        let model = random_model(families.clone(), 4, seed);
        let y = with_holes(&model.sample(50, seed).y, 0.15, seed);
        check_step(&model, &y, 1.0, "mixed");
    }
}

/// Largest derivative of the log-likelihood by any parameter, in units of one row's worth of it, by differences.
fn largest_gradient(model: &Model, y: &Array2<f64>) -> f64 {
    let log_likelihood = |pi: Array1<f64>, w: Array2<f64>| {
        let background = Background::Fixed(model.background().to_vec());
        let near = Model::from_parts(model.columns().clone(), pi, w, background).unwrap();
        near.with_superposition(model.superposition()).unwrap().log_likelihood(y).unwrap()
    };
    let mut largest: f64 = 0.0;
    for h in 0..model.h() {
        let step = 1e-5 * model.pi()[h];
        let at = |sign: f64| {
            let mut pi = model.pi().clone();
            pi[h] += sign * step;
            log_likelihood(pi, model.w_flat().clone())
        };
        largest = largest.max((at(1.0) - at(-1.0)).abs() / (2e-5 * y.nrows() as f64));
        for k in 0..model.columns().k() {
            let w = model.w_flat()[[h, k]];
            let step = 1e-5 * w.abs();
            let at = |sign: f64| {
                let mut w = model.w_flat().clone();
                w[[h, k]] += sign * step;
                log_likelihood(model.pi().clone(), w)
            };
            largest = largest.max((at(1.0) - at(-1.0)).abs() / (2e-5 * y.nrows() as f64));
        }
    }
    largest
}

/// Whether two causes (or a cause and the background) are equally strong in some column: there the log-likelihood has
/// a kink, and a maximum on it has no gradient.
fn on_a_kink(model: &Model) -> bool {
    model.columns().iter().any(|(_, family, span)| {
        let background = model.background().to_vec();
        let strength = |h: usize| {
            let w: Vec<f64> =
                span.clone().map(|k| if h < model.h() { model.w_flat()[[h, k]] } else { background[k] }).collect();
            family.dominance(&w)
        };
        let mut strengths: Vec<f64> = (0..=model.h()).map(strength).collect();
        strengths.sort_by(f64::total_cmp);
        strengths.windows(2).any(|pair| pair[1] - pair[0] < 1e-3 * (pair[0].abs() + pair[1].abs()))
    })
}

/// Whether a parameter ended on the edge of its domain, where the gradient need not vanish.
fn on_the_edge(model: &Model) -> bool {
    let near_edge = |(_, family, span): (usize, &SharedFamily, std::ops::Range<usize>)| {
        (0..model.h()).any(|h| {
            let w: Vec<f64> = span.clone().map(|k| model.w_flat()[[h, k]]).collect();
            (0..w.len()).any(|l| {
                [-1e-3, 1e-3].into_iter().any(|by| {
                    let mut near = w.clone();
                    near[l] *= 1.0 + by;
                    !family.inside(&near) || near[l].abs() < 1e-6
                })
            })
        })
    };
    model.pi().iter().any(|pi| *pi < 1e-4 || *pi > 1.0 - 1e-4) || model.columns().iter().any(near_edge)
}

#[test]
fn at_convergence_the_gradient_is_zero() {
    for spec in ["poisson", "exponential", "gamma", "gaussian", "bernoulli", "beta", "negative-binomial:r=2.5"] {
        let family = family(spec).unwrap();
        let mut checked = 0;
        for seed in 70..82 {
            let truth = random_model(vec![family.clone(); 4], 2, seed);
            let y = truth.sample(400, 3).y;
            let fit = Em::new(2)
                .family(family.clone())
                .background(Background::Fixed(truth.background().to_vec()))
                .init(Init::Model(Box::new(truth.clone())))
                .iterations(20_000)
                .tolerance(1e-15)
                .smallest_pi(1e-12)
                .run(&y)
                .unwrap();
            if on_a_kink(&fit.model) || on_the_edge(&fit.model) {
                continue;
            }
            let (before, after) = (largest_gradient(&truth, &y), largest_gradient(&fit.model, &y));
            // EM converges linearly, and slowly in flat directions: this is what 20,000 steps leave of the worst one
            assert!(
                after < 1e-4 && before > 100.0 * after,
                "{spec}, seed {seed}: {before:e} -> {after:e}, {:?}",
                fit.stop
            );
            checked += 1;
        }
        assert!(checked >= 3, "{spec}: only {checked} runs ended off the kinks");
    }
}

#[test]
fn missing_values_are_left_out_exactly() {
    let families: Vec<SharedFamily> =
        ["gamma", "poisson", "gaussian", "beta", "exponential"].iter().map(|spec| family(spec).unwrap()).collect();
    let model = random_model(families.clone(), 4, 9);
    let y = model.sample(40, 1).y;
    // a column that is missing in some rows: those rows are rows of the model without the column
    let rest = [0, 1, 3, 4];
    let columns = Columns::new(rest.iter().map(|d| families[*d].clone()).collect()).unwrap();
    let keep: Vec<usize> = rest.iter().flat_map(|d| model.columns().span(*d)).collect();
    let background = Background::Fixed(keep.iter().map(|k| model.background()[*k]).collect());
    let smaller =
        Model::from_parts(columns, model.pi().clone(), model.w_flat().select(Axis(1), &keep), background).unwrap();
    let mut holes = y.clone();
    holes.column_mut(2).fill(f64::NAN);
    let a = model.log_likelihoods(&holes).unwrap();
    let b = smaller.log_likelihoods(&y.select(Axis(1), &rest)).unwrap();
    assert!(a.iter().zip(&b).all(|(a, b)| close(*a, *b, 1e-13)), "{a} {b}");
    // rows of which nothing is there change nothing but pi
    let fit = |y: &Array2<f64>, weights: &Array1<f64>| {
        let em = Em::new(4).families(families.clone()).init(Init::Model(Box::new(model.clone()))).iterations(3);
        em.hold(Hold::always(Held::Pi)).revive(false).run(&Weighted::new(y, weights.clone()).unwrap()).unwrap()
    };
    let mut longer = Array2::from_elem((60, 5), f64::NAN);
    longer.slice_mut(s![..40, ..]).assign(&y);
    let (a, b) = (fit(&y, &Array1::ones(40)), fit(&longer, &Array1::ones(60)));
    assert!(close(a.bound, b.bound, 1e-12));
    assert!(a.model.w_flat().iter().zip(b.model.w_flat()).all(|(a, b)| close(*b, *a, 1e-10)));
}

#[test]
fn a_table_with_mixed_columns_is_recovered() {
    let specs = ["poisson", "poisson", "bernoulli", "bernoulli", "gamma", "gamma", "gaussian", "gaussian"];
    let families: Vec<SharedFamily> = specs.iter().map(|spec| family(spec).unwrap()).collect();
    let columns = Columns::new(families.clone()).unwrap();
    let conventional = |strong: bool| -> Vec<f64> {
        let values: [(&str, Vec<f64>); 4] = if strong {
            [("poisson", vec![9.0]), ("bernoulli", vec![0.9]), ("gamma", vec![4.0, 0.5]), ("gaussian", vec![5.0, 0.5])]
        } else {
            [("poisson", vec![1.0]), ("bernoulli", vec![0.1]), ("gamma", vec![2.0, 2.0]), ("gaussian", vec![-1.0, 1.0])]
        };
        let mut all = Vec::new();
        for spec in specs {
            let (_, values) = values.iter().find(|(name, _)| *name == spec).unwrap();
            let family = family(spec).unwrap();
            let eta = efmca::family::from_conventional(&*family, values).unwrap();
            let mut w = vec![0.0; family.l()];
            family.grad_a(&eta, &mut w);
            all.extend(w);
        }
        all
    };
    let (strong, weak) = (conventional(true), conventional(false));
    // cause h is strong in columns of its own, one of each kind
    let mut w = Array2::zeros((2, columns.k()));
    for (d, _, span) in columns.iter() {
        for h in 0..2 {
            for k in span.clone() {
                w[[h, k]] = if d % 2 == h { strong[k] } else { weak[k] };
            }
        }
    }
    let truth = Model::from_parts(columns, array![0.4, 0.3], w, Background::Fixed(weak)).unwrap();
    let y = with_holes(&truth.sample(4000, 5).y, 0.05, 1);
    let fit = Em::new(2).families(families).seed(2).starts(6).iterations(300).run(&y).unwrap();
    let found = &fit.model;
    let order = if found.w_flat()[[0, 0]] > found.w_flat()[[1, 0]] { [0, 1] } else { [1, 0] };
    for (h, like) in order.into_iter().enumerate() {
        assert!((found.pi()[like] - truth.pi()[h]).abs() < 0.04, "{}", found.pi());
        for (a, b) in found.w_flat().row(like).iter().zip(truth.w_flat().row(h)) {
            assert!((a - b).abs() < 0.12 * (1.0 + b.abs()), "cause {h}: {a} for {b}");
        }
    }
}

#[test]
fn a_row_of_weight_two_is_two_rows() {
    let truth = bars::model(family("poisson").unwrap(), 2, &[8.0], &[1.0], 0.3).unwrap();
    let y = truth.sample(60, 1).y;
    let doubled = ndarray::concatenate![Axis(0), y, y.slice(s![..20, ..])];
    let weights = Array1::from_shape_fn(60, |n| if n < 20 { 2.0 } else { 1.0 });
    let em = Em::new(4).family("poisson").init(Init::Model(Box::new(truth.clone()))).iterations(5);
    let em = em.background(Background::fixed(&[1.0])).revive(false);
    let (a, b) = (em.run(&doubled).unwrap(), em.run(&Weighted::new(&y, weights.clone()).unwrap()).unwrap());
    assert!(close(a.bound, b.bound, 1e-12));
    assert!(a.model.w_flat().iter().zip(b.model.w_flat()).all(|(a, b)| close(*b, *a, 1e-10)));
}

/// Training from the start, which must not tell a weight from a repetition either.
#[test]
fn repeated_rows_and_weights_start_and_end_alike() {
    let inits = [Init::MeanNoise { scale: 0.1 }, Init::Rows { share: 0.5 }, Init::Clusters { spread: 1.0 }];
    for family in all_families() {
        let truth = random_model(vec![family.clone(); 5], 3, 7);
        let mut y = truth.sample(240, 3).y;
        y[[4, 2]] = f64::NAN;
        let weights = Array1::from_shape_fn(240, |n| f64::from(n as u32 % 3));
        let copies = |n: usize| weights[n] as usize;
        let in_place: Vec<usize> = (0..240).flat_map(|n| vec![n; copies(n)]).collect();
        let at_the_end: Vec<usize> = (0..2).flat_map(|copy| (0..240).filter(move |n| copies(*n) > copy)).collect();
        for init in &inits {
            let em = Em::new(3).family(family.clone()).seed(4).init(init.clone()).iterations(6);
            let weighted = em.run(&Weighted::new(&y, weights.clone()).unwrap()).unwrap();
            for rows in [&in_place, &at_the_end] {
                let repeated = em.run(&y.select(Axis(0), rows)).unwrap();
                let same = close(weighted.bound, repeated.bound, 1e-9);
                assert!(same, "{} {init:?}: {} {}", family.spec(), weighted.bound, repeated.bound);
            }
        }
    }
}

#[test]
fn the_guard_makes_every_step_non_decreasing() {
    let mut dips = 0;
    for family in all_families() {
        let truth = random_model(vec![family.clone(); 6], 4, 21);
        let y = truth.sample(150, 2).y;
        let em = Em::new(4).family(family.clone()).seed(1).iterations(30).tolerance(0.0).revive(false).guard(false);
        dips += em.run(&y).unwrap().dips().0;
        let guarded = em.guard(true).run(&y).unwrap();
        assert_eq!(guarded.dips().0, 0, "{}: {:?}", family.spec(), guarded.dips());
        assert!(guarded.bound > guarded.history[0].bound);
    }
    assert!(dips > 0, "the plain M-step of the paper dips somewhere, or there would be nothing to guard");
}

#[test]
fn iterating_the_m_step_reaches_its_fixed_point() {
    let truth = bars::model(family("poisson").unwrap(), 3, &[10.0], &[1.0], 0.2).unwrap();
    let y = truth.sample(300, 1).y;
    let em = Em::new(6).family("poisson").init(Init::Model(Box::new(truth.clone()))).iterations(1);
    let em = em.background(Background::fixed(&[1.0])).revive(false).guard(false);
    let w = |repeats: usize| em.clone().m_step_iterations(repeats).run(&y).unwrap().model.w_flat().clone();
    let (once, many, more) = (w(1), w(40), w(41));
    assert!(once.iter().zip(&many).any(|(a, b)| (a - b).abs() > 0.01), "the second time must change something");
    assert!(many.iter().zip(&more).all(|(a, b)| close(*a, *b, 1e-9)));
}

#[test]
fn threads_and_batches_do_not_change_a_bit() {
    let truth = bars::model(family("gamma").unwrap(), 3, &[2.0, 0.2], &[2.0, 2.0], 0.25).unwrap();
    let y = with_holes(&truth.sample(1500, 1).y, 0.05, 1);
    let em = Em::new(6).family("gamma").seed(4).starts(3).iterations(12);
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| em.run(&y).unwrap())
    };
    let one = fit(1);
    for threads in [2, 5] {
        let other = fit(threads);
        assert_eq!(one.model.w_flat(), other.model.w_flat());
        assert_eq!(one.model.pi(), other.model.pi());
        assert_eq!(one.bound, other.bound);
    }
    let all = one.model.log_likelihoods(&y).unwrap();
    let codes = one.model.encode(&y).unwrap();
    for n in [0, 31, 32, 777, 1499] {
        let alone = y.slice(s![n..=n, ..]).to_owned();
        assert_eq!(one.model.log_likelihoods(&alone).unwrap()[0], all[n]);
        assert_eq!(one.model.encode(&alone).unwrap().row(0), codes.row(n));
    }
}

#[test]
fn encodings_are_the_posterior_probabilities() {
    let model = random_model(vec![family("poisson").unwrap(); 4], 3, 8);
    let y = model.sample(10, 3).y;
    let found = model.encode(&y).unwrap();
    for (n, row) in y.outer_iter().enumerate() {
        let (q, _) = posterior(&model, &row.to_vec(), 1.0);
        for h in 0..3 {
            let expected: f64 = (0..8).filter(|state| state >> h & 1 == 1).map(|state| q[state]).sum();
            assert!(close(found[[n, h]], expected, 1e-12));
        }
    }
}
