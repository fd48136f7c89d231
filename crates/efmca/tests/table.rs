//! Learning a table in one call: families, the number of causes, and the training.

use std::ops::ControlFlow;
use std::sync::Arc;

use efmca::family::{Poisson, family, from_conventional};
use efmca::model::Columns;
use efmca::tasks::table::{CauseOrigin, FamilyOrigin, LearnedTable, TableLearner};
use efmca::{Background, Causes, Error, Model, Weighted, bars};
use ndarray::{Array1, Array2, array};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Counts, answers, amounts and measurements with rounded values, driven by the same two causes; a few cells are empty.
fn table(rows: usize) -> Array2<f64> {
    let families: Vec<_> =
        ["poisson", "bernoulli", "exponential", "gaussian"].iter().map(|spec| family(spec).unwrap()).collect();
    // for each column the parameters of both causes and of the background
    let parameters: [[&[f64]; 3]; 4] = [
        [&[12.0], &[2.0], &[1.0]],
        [&[0.9], &[0.1], &[0.05]],
        [&[0.2], &[0.05], &[2.0]],
        [&[0.0, 1.0], &[6.0, 1.0], &[-2.0, 1.0]],
    ];
    let mut profiles = vec![Vec::new(); 3];
    for (family, parameters) in families.iter().zip(parameters) {
        for (profile, values) in profiles.iter_mut().zip(parameters) {
            let mut w = vec![0.0; family.l()];
            family.grad_a(&from_conventional(&**family, values).unwrap(), &mut w);
            profile.extend(w);
        }
    }
    let columns = Columns::new(families).unwrap();
    let w = Array2::from_shape_fn((2, columns.k()), |(h, k)| profiles[h][k]);
    let model = Model::from_parts(columns, array![0.4, 0.4], w, Background::Fixed(profiles[2].clone())).unwrap();
    let mut y = model.sample(rows, 6).y;
    for d in [2, 3] {
        // thousandths, and no exact zero
        y.column_mut(d).mapv_inplace(|value| if value == 0.0 { 0.001 } else { (value * 1000.0).ceil() / 1000.0 });
    }
    y.iter_mut().step_by(61).for_each(|value| *value = f64::NAN);
    y
}

fn specs(learned: &LearnedTable) -> Vec<String> {
    learned.families.iter().map(|family| family.spec()).collect()
}

#[test]
fn a_table_that_is_learned_keeps_its_values() {
    // The pinned values are those of `efmca fit` before it called the library. A change here changes what every seed gives, and
    // belongs in the changelog.
    let y = table(400);
    let all = TableLearner::new().seed(3).run(y.view()).unwrap();
    let given = TableLearner::new().column(0, "poisson").column(3, "gaussian").causes(2).iterations(30).starts(4);
    let given = given.run(y.view()).unwrap();
    let line = |learned: &LearnedTable| {
        let model = &learned.fit.model;
        format!("{} causes, {}: {:.6} {:.6}\n", model.h(), specs(learned).join(" "), learned.fit.bound, model.pi()[0])
    };
    let found = line(&all) + &line(&given);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pinned/table.txt");
    if std::env::var_os("EFMCA_UPDATE_PINNED").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
    assert!(matches!(&all.causes, CauseOrigin::Chosen(choice) if choice.best().h == all.fit.model.h()));
    assert!(all.choice().is_some() && given.choice().is_none());
    assert!(all.origins.iter().all(|origin| matches!(origin, FamilyOrigin::Found(_))));
    assert!(matches!(given.origins[0], FamilyOrigin::Given) && matches!(given.origins[1], FamilyOrigin::Found(_)));
}

#[test]
fn what_is_wrong_is_said_before_the_first_training() {
    let y = table(60);
    let wrong = |learner: TableLearner, y: &Array2<f64>| -> Error {
        let mut calls = 0;
        let error = learner.run_observed(y.view(), &mut |_| {
            calls += 1;
            ControlFlow::Continue(())
        });
        assert_eq!(calls, 0);
        error.unwrap_err()
    };
    let message = |learner: TableLearner| wrong(learner, &y).to_string();
    assert!(message(TableLearner::new().column(4, "poisson")).contains("4 columns"));
    assert!(message(TableLearner::new().column(0, "poison")).contains("did you mean `poisson`"));
    assert!(message(TableLearner::new().family("gamma:q=1")).contains("no fixed parameter `q`"));
    assert!(message(TableLearner::new().starts(0)).contains("starts"));
    assert!(message(TableLearner::new().states(0)).contains("states"));
    assert!(message(TableLearner::new().causes(0)).contains("one cause at least"));
    assert!(TableLearner::new().iterations(0).check().is_err() && TableLearner::new().check().is_ok());
    // in a family that is complete, and in one that must be searched, which is named as it was given
    for spec in ["poisson", "weibull", "gamma:k=?"] {
        let learner = TableLearner::new().column(3, spec);
        let Error::OutsideSupport { column, family, .. } = wrong(learner, &y) else { panic!("{spec}") };
        assert_eq!((column, family.as_str()), (3, spec));
    }
    let all_given = TableLearner::new().family("gaussian").column(1, "pareto:xm=1000");
    assert!(matches!(wrong(all_given, &y), Error::OutsideSupport { column: 1, .. }));
    let mut empty = y.clone();
    empty.column_mut(2).fill(f64::NAN);
    assert!(matches!(wrong(TableLearner::new(), &empty), Error::EmptyColumn { column: 2 }));
    assert!(matches!(wrong(TableLearner::new(), &Array2::zeros((0, 3))), Error::EmptyData { .. }));
}

#[test]
fn families_are_given_by_name_or_themselves_and_searched_where_they_are_not_complete() {
    let mut y = table(200);
    y.column_mut(1).fill(1.0);
    let quick = TableLearner::new().causes(2).iterations(10).starts(2);
    // nothing is searched: one value needs no family of its own
    let learner = quick.clone().column(0, Arc::new(Poisson)).column(2, "exponential").column(3, "gaussian");
    let learned = learner.run(y.view()).unwrap();
    assert_eq!(specs(&learned), ["poisson", "bernoulli", "exponential", "gaussian"]);
    assert!(matches!(learned.origins[1], FamilyOrigin::OneValue) && matches!(learned.causes, CauseOrigin::Given));
    // one fixed parameter is searched, and one family is found beside a family itself
    let learner = quick.clone().column(0, "negative-binomial").column(2, "gamma:k=?").column(3, "gaussian");
    let learned = learner.run(y.view()).unwrap();
    assert!(specs(&learned)[0].starts_with("negative-binomial:r=") && specs(&learned)[2].starts_with("gamma:k="));
    let learned = quick.column(0, Arc::new(Poisson)).run(y.view()).unwrap();
    assert_eq!((specs(&learned)[0].as_str(), specs(&learned)[3].as_str()), ("poisson", "gaussian"));
    assert!(matches!(learned.origins[1], FamilyOrigin::OneValue));
    // the last of two families for a column counts, and settings are values
    let twice = TableLearner::new().column(0, "geometric").column(0, "poisson").family("gaussian");
    assert_eq!(twice.clone(), twice);
    assert_ne!(twice, TableLearner::new());
}

#[test]
fn a_suitable_number_of_causes_needs_no_training() {
    let y = table(200);
    let families = |learner: TableLearner| {
        learner.column(0, "poisson").column(1, "bernoulli").column(2, "exponential").column(3, "gaussian")
    };
    let quick = families(TableLearner::new()).iterations(5).starts(2);
    let learned = quick.clone().causes(Causes::Suitable).run(y.view()).unwrap();
    // twice the columns
    assert_eq!(learned.fit.model.h(), 8);
    assert!(matches!(learned.causes, CauseOrigin::Suitable) && !learned.stopped);
    let few = quick.causes(Causes::Suitable).run(table(60).view()).unwrap();
    assert_eq!(few.fit.model.h(), 3);
}

#[test]
fn work_that_is_stopped_gives_the_result_so_far() {
    // with one thread there is a call after every column
    rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap().install(|| {
        let y = table(200);
        let stopped_at = |last: usize| {
            let mut calls = 0;
            let learned = TableLearner::new().iterations(20).starts(2).run_observed(y.view(), &mut |_| {
                calls += 1;
                if calls >= last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            (learned, calls)
        };
        let (complete, all) = stopped_at(usize::MAX);
        assert!(!complete.unwrap().stopped);
        let (nothing, _) = stopped_at(1);
        assert!(matches!(nothing.unwrap_err(), Error::Stopped { .. }));
        for last in [8, all / 4, all / 2, 3 * all / 4, all - 1] {
            let (learned, calls) = stopped_at(last);
            let learned = learned.unwrap_or_else(|error| panic!("call {last} of {all}: {error}"));
            assert!(learned.stopped && calls == last, "asked {calls} times, not {last}");
            assert!(learned.fit.bound.is_finite() && learned.families.len() == 4);
        }
    });
}

#[test]
fn truncated_training_ends_at_a_maximum() -> Result<(), Error> {
    let truth = bars::model("poisson", 5, &[8.0], &[2.0], 0.2)?;
    let table = truth.sample(600, 1).y;
    let learned =
        TableLearner::new().family("poisson").causes(10).states(20).starts(1).tolerance(1e-6).run(table.view())?;
    assert!(!learned.fit.is_exact());
    assert_eq!(learned.fit.stop, efmca::StopReason::Converged);
    // what the incremental part loses by its last updates is no cycle
    let after: Vec<f64> = learned.fit.history.iter().map(|step| step.bound).skip(16).collect();
    let fall = after.windows(2).map(|pair| pair[0] - pair[1]).fold(0.0, f64::max);
    assert!(fall < 1e-3 * learned.fit.bound.abs(), "{fall} of {}", learned.fit.bound);
    assert!(learned.fit.bound > after[0]);
    // a model that was learned before goes on from where it was
    let more = TableLearner::new().family("poisson").causes(10).states(20).start_from(learned.fit.model.clone());
    let more = more.iterations(20).run(table.view())?;
    assert!(more.fit.bound > learned.fit.bound - 1e-3 * learned.fit.bound.abs(), "{}", more.fit.bound);
    Ok(())
}

#[test]
fn weights_count_as_rows_with_pseudo_counts_too() -> Result<(), Error> {
    let table = bars::model("gaussian", 3, &[3.0, 10.0], &[0.0, 1.0], 0.3)?.sample(60, 1).y;
    let weights = Array1::from_shape_fn(60, |n| (n % 4) as f64);
    let repeated: Vec<usize> = (0..60).flat_map(|n| std::iter::repeat_n(n, n % 4)).collect();
    let repeated = table.select(ndarray::Axis(0), &repeated);
    for h in [1, 3] {
        let learner = TableLearner::new().family("gaussian").causes(h).starts(1);
        let weighted =
            learner.run_data(&Weighted::new(&table, weights.clone())?, &mut |_| ControlFlow::Continue(()))?;
        let repeated = learner.run_data(&repeated, &mut |_| ControlFlow::Continue(()))?;
        // the same but for rounding
        let (a, b) = (weighted.fit.bound, repeated.fit.bound);
        assert!((a - b).abs() < 1e-7 * a.abs(), "{h} causes: {a} {b}");
    }
    Ok(())
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    let learner = || TableLearner::new().family("poisson").causes(2);
    for (wrong, name) in [
        (learner().exact(true).states(3), "exact"),
        (learner().tolerance(-1.0), "tolerance"),
        (learner().pseudo_count(f64::NAN), "pseudo_count"),
    ] {
        assert!(matches!(wrong.check(), Err(Error::Setting { name: found, .. }) if found == name), "{name}");
    }
    assert!(matches!(learner().causes(17).exact(true).check(), Err(Error::TooManyCauses { causes: 17, .. })));
}

/// A noisy-OR network of ten causes in 40 columns, whose rows are more than exact starts are made for.
fn noisy_or(rows: usize, seed: u64) -> (Array2<f64>, Vec<Vec<bool>>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let causes: Vec<Vec<bool>> = (0..10).map(|_| (0..40).map(|_| rng.random::<f64>() < 0.2).collect()).collect();
    let mut x = Array2::zeros((rows, 40));
    for mut row in x.rows_mut() {
        let on: Vec<&Vec<bool>> = causes.iter().filter(|_| rng.random::<f64>() < 0.15).collect();
        for (d, x) in row.iter_mut().enumerate() {
            let off = on.iter().filter(|cause| cause[d]).fold(0.99, |off, _| off * 0.1);
            *x = f64::from(u8::from(rng.random::<f64>() >= off));
        }
    }
    (x, causes)
}

#[test]
fn all_causes_of_a_large_table_are_found_from_one_seed() {
    let (x, causes) = noisy_or(3000, 5);
    let learned = TableLearner::new().family("bernoulli").causes(10).seed(3).run(x.view()).unwrap();
    let means = learned.fit.model.means();
    for cause in &causes {
        let found =
            means.rows().into_iter().filter(|mean| mean.iter().zip(cause).all(|(mean, on)| (*mean > 0.5) == *on));
        assert_eq!(found.count(), 1, "{cause:?}");
    }
    assert_eq!(learned.duplicates(), []);
}

#[test]
fn causes_that_do_the_same_are_named() {
    let (x, _) = noisy_or(200, 1);
    let start = Model::new(
        family("bernoulli").unwrap(),
        Array1::from(vec![0.2; 3]),
        vec![Array2::from_shape_fn((3, 40), |(h, d)| if (d < 20) == (h < 2) { 0.9 } else { 0.1 })],
        Background::fixed(&[0.05]),
    );
    let learner = TableLearner::new().family("bernoulli").causes(3).iterations(1).start_from(start.unwrap());
    assert!(learner.run(x.view()).unwrap().duplicates().contains(&(0, 1)));
}
