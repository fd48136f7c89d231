//! Groups of columns that count alike.

use efmca::family::family;
use efmca::model::{Columns, Inference, View, Views};
use efmca::tasks::encode::Encoder;
use efmca::tasks::table::TableLearner;
use efmca::{Background, Em, Model, Result, SparseRows, Truncation};
use ndarray::{Array1, Array2, array};

const LARGE: usize = 200;
const SMALL: usize = 8;
/// Columns of each cause of the large view.
const OF_LARGE: [usize; 8] = [60, 45, 30, 20, 15, 10, 10, 10];

/// Eight causes over 200 columns, of 10 to 60 columns each, and two over 8 others, of four columns each; Gaussian noise of
/// deviation one, means of 1.5 and 2.
fn two_views() -> Result<Model> {
    let (d, h) = (LARGE + SMALL, OF_LARGE.len() + 2);
    let mut means = Array2::<f64>::zeros((h, d));
    let mut first = 0;
    for (cause, columns) in OF_LARGE.into_iter().chain([4, 4]).enumerate() {
        let mean = if first < LARGE { 1.5 } else { 2.0 };
        (first..first + columns).for_each(|d| means[[cause, d]] = mean);
        first += columns;
    }
    let w = Array2::from_shape_fn((h, 2 * d), |(h, k)| match k % 2 {
        0 => means[[h, k / 2]],
        _ => means[[h, k / 2]].powi(2) + 1.0,
    });
    let background = (0..2 * d).map(|k| (k % 2) as f64).collect();
    let columns = Columns::same(family("gaussian")?, d)?;
    Model::from_parts(columns, Array1::from_elem(h, 0.2), w, Background::Fixed(background))
}

/// How many of the two causes of the small view `model` has: their four columns and none of the others.
fn found_in_small(model: &Model) -> usize {
    let means = model.means();
    let is = |cause: usize, first: usize| {
        (0..LARGE + SMALL).all(|d| (means[[cause, d]] > 0.75) == (first..first + 4).contains(&d))
    };
    [LARGE, LARGE + 4].into_iter().filter(|first| (0..model.h()).any(|cause| is(cause, *first))).count()
}

#[test]
fn a_small_view_is_lost_beside_a_large_one_and_found_with_views() -> Result<()> {
    let truth = two_views()?;
    let (mut without, mut with) = (0, 0);
    for seed in 21..25 {
        let table = truth.sample(600, seed).y;
        let learner = TableLearner::new().family("gaussian").causes(6).seed(seed);
        without += found_in_small(&learner.run(table.view())?.fit.model);
        let views = Views::new([("small", (LARGE..LARGE + SMALL).collect())])?;
        let model = learner.views(views).run(table.view())?.fit.model;
        with += found_in_small(&model);
        // the strongest causes of the large view are still there
        let columns = |h: usize| (0..LARGE).filter(|d| model.means()[[h, *d]] > 0.75).count();
        assert!([60, 45].iter().all(|count| (0..6).any(|h| columns(h) == *count)), "seed {seed}");
    }
    assert_eq!((without, with), (0, 8));
    Ok(())
}

/// Three causes over five columns of three families, the first three of which count 0.3.
fn weighted() -> Result<Model> {
    let families = ["poisson", "gaussian", "bernoulli", "poisson", "bernoulli"].map(|name| family(name).unwrap());
    let view = View { name: "first".into(), columns: vec![0, 1, 2], weight: 0.3 };
    let columns = Columns::new(families.to_vec())?.with_views(Some(&Views::of(vec![view])?))?;
    let w = array![[9.0, 1.0, 2.0, 0.9, 1.0, 0.1], [2.0, 3.0, 9.5, 0.2, 7.0, 0.3], [5.0, 0.5, 1.5, 0.5, 4.0, 0.9]];
    Model::from_parts(columns, array![0.3, 0.2, 0.4], w, Background::Fixed(vec![1.0, 0.0, 1.0, 0.1, 0.8, 0.05]))
}

/// $\log p(\vec s) + \sum_d\omega_d\log p(y_d|\vec s)$ of all states, by the definition.
fn joint(model: &Model, row: &[f64], weights: &[f64]) -> Vec<f64> {
    let state = |state: usize| {
        let active: Vec<usize> = (0..3).filter(|h| state >> h & 1 == 1).collect();
        let prior = (0..3).map(|h| if active.contains(&h) { model.pi()[h].ln() } else { (1.0 - model.pi()[h]).ln() });
        let owners = model.combined(&active).owners;
        let density = |d: usize| {
            let (family, span) = (model.columns().family(d), model.columns().span(d));
            let w: Vec<f64> = span
                .map(|k| if owners[d] == 3 { model.background()[k] } else { model.w_flat()[[owners[d], k]] })
                .collect();
            let mut eta = vec![0.0; w.len()];
            family.phi(&w, &mut eta);
            if row[d].is_nan() { 0.0 } else { weights[d] * family.log_density(row[d], &eta) }
        };
        prior.sum::<f64>() + (0..5).map(density).sum::<f64>()
    };
    (0..8).map(state).collect()
}

fn log_sum(logs: &[f64]) -> f64 {
    logs.iter().map(|log| log.exp()).sum::<f64>().ln()
}

#[test]
fn posteriors_are_those_of_the_weighted_likelihood_and_likelihoods_are_not_weighted() -> Result<()> {
    let model = weighted()?;
    let rows = array![[8.0, 1.2, 1.0, 0.0, 0.0], [0.0, 2.5, 0.0, 6.0, 1.0], [4.0, f64::NAN, 1.0, 3.0, f64::NAN]];
    let all = Inference::Truncated { states: 8, e_steps: 3 };
    for inference in [Inference::Exact, all] {
        let found = Encoder::new(&model).inference(inference).run(&rows)?;
        for (n, row) in rows.outer_iter().enumerate() {
            let row = row.to_vec();
            let logs = joint(&model, &row, &[0.3, 0.3, 0.3, 1.0, 1.0]);
            for h in 0..3 {
                let on = (0..8).filter(|state| state >> h & 1 == 1).map(|state| (logs[state] - log_sum(&logs)).exp());
                assert!((found.active[[n, h]] - on.sum::<f64>()).abs() < 1e-9, "{inference:?} row {n} cause {h}");
            }
            let likelihood = log_sum(&joint(&model, &row, &[1.0; 5]));
            assert!((found.log_likelihoods[n] - likelihood).abs() < 1e-9, "{inference:?} row {n}");
        }
    }
    let total: f64 = rows.outer_iter().map(|row| log_sum(&joint(&model, &row.to_vec(), &[1.0; 5]))).sum();
    assert!((model.log_likelihood(&rows)? - total).abs() < 1e-9);
    Ok(())
}

/// Counts of two causes, mostly zeros.
fn counts() -> Array2<f64> {
    let w = Array2::from_shape_fn((2, 12), |(h, d)| if (d < 9) == (h == 0) { 3.0 } else { 0.1 });
    let columns = Columns::same(family("poisson").unwrap(), 12).unwrap();
    let truth = Model::from_parts(columns, array![0.3, 0.3], w, Background::fixed(&[0.05])).unwrap();
    truth.sample(300, 5).y
}

#[test]
fn exact_truncated_and_sparse_trainings_climb_one_bound() -> Result<()> {
    let table = counts();
    let (mut starts, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in table.rows() {
        let kept = row.iter().enumerate().filter(|(_, value)| **value != 0.0);
        kept.for_each(|(d, value)| {
            columns.push(d as u32);
            values.push(*value);
        });
        starts.push(values.len());
    }
    let sparse = SparseRows::new(12, starts, columns, values)?;
    let view = View { name: "many".into(), columns: (0..9).collect(), weight: 0.4 };
    let em = Em::new(2).family("poisson").views(Views::of(vec![view])?).iterations(15).tolerance(0.0).seed(4);
    let em = em.pseudo_count(0.5).guard(true).revive(false);
    let exact = em.run(&table)?;
    let bounds: Vec<f64> = exact.history.iter().map(|step| step.bound).collect();
    assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9 * pair[0].abs()), "{bounds:?}");
    let truncated = em.clone().truncated(Truncation::new(4));
    for (what, fit) in [("truncated", truncated.run(&table)?), ("sparse", truncated.run(&sparse)?)] {
        assert!((fit.bound - exact.bound).abs() < 1e-6 * exact.bound.abs(), "{what}: {} {}", fit.bound, exact.bound);
        let far = (fit.model.w_flat() - exact.model.w_flat()).mapv(f64::abs).fold(0.0, |a: f64, b| a.max(*b));
        assert!(far < 1e-5, "{what}: {far}");
        assert!(fit.model.columns().views().is_some(), "{what}");
    }
    // another bound than that of columns that count once
    assert!((exact.bound - exact.model.log_likelihood(&table)?).abs() > 1.0);
    Ok(())
}

#[test]
fn models_keep_their_views() -> Result<()> {
    let model = weighted()?;
    let again = Model::from_tensors(&model.to_tensors(), &model.to_metadata())?;
    assert_eq!(again, model);
    let rows = array![[8.0, 1.2, 1.0, 0.0, 0.0]];
    assert_eq!(again.encode(&rows)?, model.encode(&rows)?);
    let as_value: Model = serde_json::from_value(serde_json::to_value(&model).unwrap()).unwrap();
    assert_eq!(as_value, model);
    for damaged in ["3", "[{\"name\": \"a\"}]", "[{\"name\": \"a\", \"columns\": [9], \"weight\": 1.0}]"] {
        let mut metadata: serde_json::Value = serde_json::from_str(&model.to_metadata()).unwrap();
        metadata["views"] = serde_json::from_str(damaged).unwrap();
        let error = Model::from_tensors(&model.to_tensors(), &metadata.to_string()).unwrap_err();
        assert!(error.to_string().contains("views"), "{error}");
    }
    Ok(())
}

#[test]
fn views_of_other_columns_are_refused_before_any_work() -> Result<()> {
    let views = Views::new([("a", vec![1, 40])])?;
    let error = TableLearner::new().views(views).run(counts().view()).unwrap_err();
    assert!(error.to_string().contains("it has column 41, and the table has 12 columns"), "{error}");
    Ok(())
}

#[test]
fn causes_are_chosen_and_trainings_continued_with_the_same_weights() -> Result<()> {
    let table = counts();
    let views = Views::new([("last", vec![9, 10, 11])])?;
    let learner = TableLearner::new().family("poisson").iterations(20).seed(2);
    let learned = learner.clone().views(views).run(table.view())?;
    let weighed = learned.fit.model.columns().views().cloned();
    let weights: Vec<f64> = weighed.iter().flat_map(Views::iter).map(|view| view.weight).collect();
    assert!(weights[0] == 1.0 && weights[1] > 0.1 && weights[1] < 0.9, "{weights:?}");
    let tried = &learned.choice().unwrap().trials;
    assert!(tried.iter().all(|trial| trial.model.columns().views() == weighed.as_ref()));
    let continued = learner.causes(learned.fit.model.h()).start_from(learned.fit.model.clone()).run(table.view())?;
    assert_eq!(continued.fit.model.columns().views(), weighed.as_ref());
    assert!(continued.fit.bound >= learned.fit.bound - 1e-9 * learned.fit.bound.abs());
    // the report trains on, too, without the cells that it hides
    let overview = efmca::tasks::overview::Overview::new().run(&learned.fit.model, table.view())?;
    assert!(overview.explained.total().iter().all(|nats| nats.is_finite()));
    Ok(())
}
