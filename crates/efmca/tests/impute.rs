//! Missing cells: what is filled in is near the truth, its uncertainty is right, and bad input is refused.

use efmca::tasks::impute::{CellKind, Fill, Imputer};
use efmca::tasks::table::TableLearner;
use efmca::{Background, Error, Model};
use ndarray::{Array2, array};

/// Counts and answers of two causes.
fn truth() -> Model {
    let columns = ["poisson", "poisson", "poisson", "poisson", "bernoulli", "bernoulli"];
    let families = columns.map(|spec| efmca::family::family(spec).unwrap()).to_vec();
    let columns = efmca::model::Columns::new(families).unwrap();
    let w = array![[30.0, 25.0, 3.0, 3.0, 0.9, 0.1], [3.0, 3.0, 28.0, 22.0, 0.1, 0.9]];
    Model::from_parts(columns, array![0.4, 0.4], w, Background::Fixed(vec![2.0, 2.0, 2.0, 2.0, 0.05, 0.05])).unwrap()
}

/// A table with every so many-th cell missing.
fn with_holes(complete: &Array2<f64>, step: usize) -> Array2<f64> {
    let mut table = complete.clone();
    table.iter_mut().skip(6).step_by(step).for_each(|cell| *cell = f64::NAN);
    table
}

fn imputer() -> Imputer {
    let specs = ["poisson", "poisson", "poisson", "poisson", "bernoulli", "bernoulli"];
    let learner =
        specs.iter().enumerate().fold(TableLearner::new().causes(2), |learner, (d, spec)| learner.column(d, *spec));
    Imputer::new().learner(learner)
}

#[test]
fn filled_cells_are_near_the_truth_and_present_ones_stay() {
    let complete = truth().sample(600, 1).y;
    let table = with_holes(&complete, 7);
    let filled = imputer().run(table.view()).unwrap();
    assert_eq!(filled.cells.len(), table.iter().filter(|cell| cell.is_nan()).count());
    for ((place, before), after) in table.indexed_iter().zip(&filled.values) {
        assert!(before.is_nan() || before == after, "{place:?}");
    }
    let numbers: Vec<_> = filled.cells.iter().filter(|cell| cell.column < 4).collect();
    let codes: Vec<_> = filled.cells.iter().filter(|cell| cell.column >= 4).collect();
    let error =
        |value: f64, cell: &efmca::tasks::impute::FilledCell| (value - complete[[cell.row, cell.column]]).powi(2);
    let ours: f64 = numbers.iter().map(|cell| error(cell.value, cell)).sum();
    let mean = |d: usize| {
        let present: Vec<f64> = table.column(d).iter().copied().filter(|cell| !cell.is_nan()).collect();
        present.iter().sum::<f64>() / present.len() as f64
    };
    let of_means: f64 = numbers.iter().map(|cell| error(mean(cell.column), cell)).sum();
    assert!(ours < 0.3 * of_means, "{ours} {of_means}");
    let right = codes.iter().filter(|cell| cell.value == complete[[cell.row, cell.column]]).count();
    assert!(right * 10 > codes.len() * 8, "{right} of {}", codes.len());
    // the scores that are given beforehand say the same
    let (said, found) = (filled.scores.accuracy.unwrap(), right as f64 / codes.len() as f64);
    assert!((said - found).abs() < 0.1, "{said} {found}");
    assert!(filled.scores.error.unwrap() < 0.6 && filled.scores.error_of_means.unwrap() > 0.9);
    assert!(filled.scores.log_likelihood > filled.scores.log_likelihood_alone);
}

#[test]
fn intervals_hold_what_they_promise() {
    let complete = truth().sample(1500, 2).y;
    let table = with_holes(&complete, 5);
    for level in [0.5, 0.9] {
        let filled = imputer().level(level).run(table.view()).unwrap();
        let inside = |cell: &&efmca::tasks::impute::FilledCell| {
            let (low, high) = cell.interval.unwrap();
            (low..=high).contains(&complete[[cell.row, cell.column]])
        };
        let numbers: Vec<_> = filled.cells.iter().filter(|cell| cell.interval.is_some()).collect();
        let share = numbers.iter().copied().filter(inside).count() as f64 / numbers.len() as f64;
        // 1,200 cells: a standard error of 0.014. Ends of intervals are whole numbers, outwards: half of the values around the
        // mean 2 of the background are from 1.05 to 2.95, and 72 % from 1 to 3
        assert!((level - 0.04..level + 0.26).contains(&share), "{level} {share}");
    }
}

#[test]
fn draws_scatter_as_the_data_do_and_are_the_same_for_a_seed() {
    let complete = truth().sample(500, 3).y;
    let table = with_holes(&complete, 7);
    let filled = imputer().draws(3).run(table.view()).unwrap();
    let again = imputer().draws(3).run(table.view()).unwrap();
    assert_eq!(filled.draws, again.draws);
    assert_ne!(filled.draws[0], filled.draws[1]);
    assert_ne!(filled.draws, imputer().seed(9).draws(3).run(table.view()).unwrap().draws);
    for draw in &filled.draws {
        assert!(draw.iter().all(|cell| cell.is_finite() && *cell >= 0.0 && cell.fract() == 0.0));
        // means shrink towards the middle, draws do not
        let scatter = |values: &Array2<f64>| {
            let cells: Vec<f64> =
                filled.cells.iter().filter(|cell| cell.column == 0).map(|cell| values[[cell.row, 0]]).collect();
            let mean = cells.iter().sum::<f64>() / cells.len() as f64;
            cells.iter().map(|cell| (cell - mean).powi(2)).sum::<f64>() / cells.len() as f64
        };
        let (drawn, true_one) = (scatter(draw), scatter(&complete));
        assert!((0.5..2.0).contains(&(drawn / true_one)), "{drawn} {true_one}");
    }
}

#[test]
fn other_rows_are_filled_by_what_was_learned_and_by_themselves() {
    let complete = truth().sample(500, 4).y;
    let trained = imputer().train(complete.view(), &mut |_| std::ops::ControlFlow::Continue(())).unwrap();
    let rows = array![[31.0, f64::NAN, 2.0, f64::NAN, f64::NAN, 0.0], [1.0, f64::NAN, 2.0, 1.0, 0.0, 0.0]];
    let filled = trained.fill(rows.view()).unwrap();
    assert!(
        filled.values[[0, 1]] > 18.0 && filled.values[[0, 4]] == 1.0 && filled.values[[1, 1]] < 8.0,
        "{}",
        filled.values
    );
    let alone = trained.fill(rows.slice(ndarray::s![1.., ..])).unwrap();
    assert_eq!(alone.values.row(0), filled.values.row(1));
    assert!(matches!(trained.fill(array![[1.0]].view()), Err(Error::Shape { .. })));
    let wrong = trained.fill(array![[1.0, f64::NAN, 2.0, 1.0, 0.0, 0.0], [-3.0, f64::NAN, 2.0, 1.0, 0.0, 0.0]].view());
    assert!(matches!(wrong, Err(Error::OutsideSupport { row: 1, column: 0, .. })), "{wrong:?}");
}

#[test]
fn a_model_fills_by_itself_as_the_encoder_does() {
    let model = truth();
    let table = with_holes(&model.sample(60, 5).y, 4);
    let all_numbers = (0..6).fold(Imputer::new(), |imputer, d| imputer.kind(d, CellKind::Number));
    let filled = all_numbers.of_model(&model, table.view()).unwrap().fill(table.view()).unwrap();
    let expected = efmca::tasks::encode::Encoder::new(&model)
        .filled(&table, &[], &mut |_| std::ops::ControlFlow::Continue(()))
        .unwrap();
    for (found, expected) in filled.values.iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-9 * (1.0 + expected.abs()), "{found} {expected}");
    }
    // a single row, whose range says nothing about the column
    let row = array![[f64::NAN, 24.0, 3.0, 1.0, 1.0, 0.0]];
    let filled = Imputer::new().fill(Fill::Mode).of_model(&model, row.view()).unwrap().fill(row.view()).unwrap();
    assert!((filled.values[[0, 0]] - 30.0).abs() < 1.0, "{}", filled.values);
}

#[test]
fn whole_numbers_stay_whole_if_asked_for() {
    let table = with_holes(&truth().sample(300, 6).y, 9);
    let filled = imputer().as_written(true).run(table.view()).unwrap();
    assert!(filled.values.iter().all(|cell| cell.fract() == 0.0));
    let median = imputer().fill(Fill::Median).run(table.view()).unwrap();
    assert_ne!(median.values, filled.values);
}

#[test]
fn settings_that_make_no_sense_are_refused() {
    let table = truth().sample(40, 7).y;
    assert!(matches!(Imputer::new().folds(1).run(table.view()), Err(Error::Setting { name: "folds", .. })));
    assert!(matches!(Imputer::new().level(1.0).run(table.view()), Err(Error::Setting { name: "level", .. })));
    assert!(matches!(Imputer::new().kind(6, CellKind::Code).run(table.view()), Err(Error::Column { column: 6, .. })));
    // a handful of rows, and columns that are nearly empty, are no reason to fail
    let few = with_holes(&truth().sample(6, 8).y, 3);
    let filled = imputer().run(few.view()).unwrap();
    assert!(filled.values.iter().all(|cell| cell.is_finite()));
}
