//! Rows of which only the values other than zero are kept give what whole rows give.

use efmca::em::Fit;
use efmca::model::Weighted;
use efmca::posterior::Truncation;
use efmca::{Em, SparseRows};
use ndarray::{Array1, Array2};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// The values of `table` that are not zero.
fn sparse(table: &Array2<f64>) -> SparseRows {
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in table.rows() {
        for (column, value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
            columns.push(column as u32);
            values.push(*value);
        }
        starts.push(values.len());
    }
    SparseRows::new(table.ncols(), starts, columns, values).unwrap()
}

/// Mostly zeros, and two groups of columns that go together.
fn table(rows: usize, columns: usize, largest: u32, missing: f64) -> Array2<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut table = Array2::zeros((rows, columns));
    for mut row in table.outer_iter_mut() {
        let on = [random.random::<f64>() < 0.3, random.random::<f64>() < 0.3];
        for (d, value) in row.iter_mut().enumerate() {
            let often = if on[d % 2] { 0.6 } else { 0.08 };
            if random.random::<f64>() < often {
                *value = f64::from(random.random_range(1..=largest));
            }
            if random.random::<f64>() < missing {
                *value = f64::NAN;
            }
        }
    }
    table
}

fn assert_same(whole: &Fit, sparse: &Fit, what: &str) {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-7 * (1.0 + a.abs());
    assert!(close(whole.bound, sparse.bound), "{what}: {} {}", whole.bound, sparse.bound);
    assert!(whole.model.pi().iter().zip(sparse.model.pi()).all(|(a, b)| close(*a, *b)), "{what}");
    assert!(whole.model.w_flat().iter().zip(sparse.model.w_flat()).all(|(a, b)| close(*a, *b)), "{what}");
    assert!(whole.model.background().iter().zip(sparse.model.background()).all(|(a, b)| close(*a, *b)), "{what}");
}

/// All states are kept, so that posteriors are exact and nothing is left to chance.
fn em(family: &str) -> Em {
    Em::new(3).family(family).truncated(Truncation::new(8)).iterations(12).tolerance(0.0).pseudo_count(0.5).seed(3)
}

#[test]
fn every_family_with_zeros_gives_the_same_model() {
    for (family, largest) in [
        ("poisson", 6),
        ("bernoulli", 1),
        ("geometric", 6),
        ("binomial:n=6", 6),
        ("negative-binomial:r=3", 6),
        ("gaussian", 6),
        ("laplace:mu=0", 6),
        ("categorical:k=4,order=nominal", 3),
    ] {
        let table = table(150, 40, largest, 0.0);
        assert_same(&em(family).run(&table).unwrap(), &em(family).run(&sparse(&table)).unwrap(), family);
    }
}

#[test]
fn missing_values_are_no_zeros() {
    for (family, largest) in [("poisson", 6), ("gaussian", 6), ("categorical:k=4,order=nominal", 3)] {
        let table = table(150, 40, largest, 0.1);
        assert!(sparse(&table).missing() > 300);
        assert_same(&em(family).run(&table).unwrap(), &em(family).run(&sparse(&table)).unwrap(), family);
    }
}

#[test]
fn weights_and_families_of_columns_are_seen() {
    let table = table(120, 30, 1, 0.02);
    let families: Vec<&str> = (0..30).map(|d| ["poisson", "bernoulli", "gaussian"][d % 3]).collect();
    let em = em("poisson").families(families).guard(true);
    let weights = Array1::from_shape_fn(120, |n| (n % 3) as f64);
    let sparse = sparse(&table);
    let whole = em.run(&Weighted::new(&table, weights.clone()).unwrap()).unwrap();
    assert_same(&whole, &em.run(&Weighted::new(&sparse, weights).unwrap()).unwrap(), "weighted");
}

#[test]
fn small_sets_end_as_high_and_threads_do_not_matter() {
    let table = table(400, 60, 5, 0.01);
    let sparse = sparse(&table);
    let em = Em::new(8).family("poisson").truncated(Truncation::new(12)).iterations(15).tolerance(0.0).seed(5);
    let (whole, first) = (em.run(&table).unwrap(), em.run(&sparse).unwrap());
    // other states are tried first, and sets may end a little different
    assert!((whole.bound - first.bound).abs() < 2e-3 * whole.bound.abs(), "{} {}", whole.bound, first.bound);
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let second = alone.install(|| em.run(&sparse)).unwrap();
    assert_eq!(first.bound.to_bits(), second.bound.to_bits());
    assert_eq!(first.model, second.model);
}

#[test]
fn models_are_applied_to_sparse_rows() {
    let table = table(100, 40, 5, 0.01);
    let sparse = sparse(&table);
    for states in [8, 60] {
        let fit = em("poisson").truncated(Truncation::new(states)).run(&table).unwrap();
        let (whole, kept) = (fit.model.log_likelihoods(&table).unwrap(), fit.model.log_likelihoods(&sparse).unwrap());
        assert!(whole.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-9), "{states} states");
        let (whole, kept) = (fit.model.encode(&table).unwrap(), fit.model.encode(&sparse).unwrap());
        assert!(whole.iter().zip(&kept).all(|(a, b)| (a - b).abs() < 1e-9), "{states} states");
    }
}

#[test]
fn a_zero_where_there_can_be_none_is_named() {
    let table = table(20, 4, 5, 0.0);
    let columns = ["poisson", "poisson", "gamma:k=2", "poisson"];
    let message = |error: efmca::Error| error.to_string();
    let whole = message(em("poisson").families(columns).run(&table).unwrap_err());
    assert_eq!(whole, message(em("poisson").families(columns).run(&sparse(&table)).unwrap_err()));
    // and no error where there is none
    let mut full = table;
    full.column_mut(2).mapv_inplace(|value| value + 1.0);
    let em = em("poisson").families(columns);
    assert_same(&em.run(&full).unwrap(), &em.run(&sparse(&full)).unwrap(), "gamma");
}
