//! A run that is left and resumed ends where it would have ended; rows that stay outside of memory give the same
//! model as rows that do not.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use efmca::em::{Keep, KeptTraining, Progress, keeping};
use efmca::family::family;
use efmca::model::Data;
use efmca::posterior::Precision;
use efmca::tasks::learn::SharedRows;
use efmca::tasks::table::TableLearner;
use efmca::{Checkpoint, Em, Error, Fingerprint, Fit, Init, Result, Truncation, bars};
use ndarray::Array2;

fn pictures(n: usize) -> Result<Array2<f64>> {
    let mut y = bars::model(family("poisson")?, 5, &[20.0], &[1.0], 0.2)?.sample(n, 1).y;
    y[[3, 4]] = f64::NAN;
    Ok(y)
}

/// Trains until `iteration` and gives what is left there.
fn left_after(em: &Em, y: &dyn Data, iteration: usize) -> Result<Checkpoint> {
    let mut left = None;
    em.run_observed(y, &mut |progress: &Progress<'_>| {
        let Some(training) = progress.training.filter(|training| training.iteration >= iteration) else {
            return ControlFlow::Continue(());
        };
        left = Some(training.state.to_checkpoint(em.settings(), Fingerprint::of(y)));
        ControlFlow::Break(())
    })?;
    left.ok_or(Error::Resume { reason: "the run was shorter".into() })
}

fn resumed(em: &Em, y: &dyn Data, checkpoint: Checkpoint) -> Result<Fit> {
    em.resume(y, checkpoint, &mut |_| ControlFlow::Continue(()))
}

fn assert_same(a: &Fit, b: &Fit) {
    let bits = |values: &Array2<f64>| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(a.model.w_flat()), bits(b.model.w_flat()));
    assert_eq!(a.model.pi(), b.model.pi());
    assert_eq!(a.model.background(), b.model.background());
    assert_eq!(a.bound.to_bits(), b.bound.to_bits());
    assert_eq!(a.history, b.history);
    assert_eq!((a.stop, &a.sets), (b.stop, &b.sets));
}

#[test]
fn a_resumed_run_ends_where_the_whole_one_does() -> Result<()> {
    let y = pictures(600)?;
    let base = || Ok::<Em, Error>(Em::new(10).family(family("poisson")?).iterations(14).tolerance(0.0).seed(5));
    let truncated = || Truncation::new(12).precision(Precision::Single);
    let settings = [
        base()?,
        base()?.starts(3).short_iterations(2),
        base()?.truncated(truncated()),
        base()?.truncated(truncated()).batches(2).init(Init::Clusters { spread: 1.0 }),
        base()?.truncated(truncated()).spare_causes(4).guard(true),
        base()?.tolerance(1e-2).iterations(200),
    ];
    for em in settings {
        let whole = em.run(&y)?;
        for iteration in [1, 5, whole.history.len()] {
            assert_same(&whole, &resumed(&em, &y, left_after(&em, &y, iteration)?)?);
        }
    }
    Ok(())
}

/// Trainings in memory, and how many iterations they had.
#[derive(Default)]
struct Memory {
    kept: RefCell<HashMap<String, Checkpoint>>,
    iterations: Cell<usize>,
}

impl Keep for Memory {
    fn left(&self, name: &str) -> Option<Checkpoint> {
        self.kept.borrow().get(name).cloned()
    }

    fn keep(&self, name: &str, training: &KeptTraining<'_>) {
        let checkpoint = training.state.to_checkpoint(training.settings.clone(), training.data);
        self.iterations.set(self.iterations.get() + usize::from(!training.ended));
        self.kept.borrow_mut().insert(name.to_owned(), checkpoint);
    }
}

#[test]
fn trainings_of_a_task_that_is_left_are_found_again() -> Result<()> {
    let y = pictures(200)?;
    let learner = TableLearner::new().seed(3).iterations(12).starts(1);
    let whole = learner.run(y.view())?;
    let memory = Rc::new(Memory::default());
    // left again and again, a little later each time
    for round in 0.. {
        let life = 40 * (round + 1);
        let mut steps = 0;
        let mut observer = |_: &Progress<'_>| {
            steps += 1;
            if steps >= life { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let learned = keeping(memory.clone(), || learner.run_observed(y.view(), &mut observer));
        if steps < life {
            assert_same(&whole.fit, &learned?.fit);
            assert!(round > 3, "it was left {round} times only");
            break;
        }
    }
    // once more: there is nothing left to train
    let before = memory.iterations.get();
    assert_same(&whole.fit, &keeping(memory.clone(), || learner.run(y.view()))?.fit);
    assert!(before > 0 && memory.iterations.get() == before);
    Ok(())
}

#[test]
fn one_training_is_not_taken_for_another() -> Result<()> {
    /// Gives the same checkpoint for any name, as if all hashes were the same.
    struct Wrong(Checkpoint);
    impl Keep for Wrong {
        fn left(&self, _: &str) -> Option<Checkpoint> {
            Some(self.0.clone())
        }
        fn keep(&self, _: &str, _: &KeptTraining<'_>) {}
    }
    let y = pictures(100)?;
    let em = Em::new(6).family("poisson").iterations(5).tolerance(0.0);
    let wrong = Rc::new(Wrong(left_after(&em.clone().seed(9), &y, 3)?));
    assert_same(&em.run(&y)?, &keeping(wrong, || em.run(&y))?);
    Ok(())
}

#[test]
fn a_run_that_is_prolonged_ends_as_one_that_was_never_left() -> Result<()> {
    let y = pictures(300)?;
    let em = Em::new(10).family("poisson").iterations(6).tolerance(0.0).truncated(Truncation::new(10));
    let long = em.clone().further(5).run(&y)?;
    assert_eq!(long.history.len(), 11);
    for iteration in [2, 6] {
        let left = left_after(&em, &y, iteration)?;
        assert_same(&long, &resumed(&em.clone().further(5), &y, left)?);
    }
    // and again, from where the prolonged run was left
    let left = left_after(&em.clone().further(5), &y, 9)?;
    assert_same(&long, &resumed(&em.clone().further(5), &y, left.clone())?);
    assert!(resumed(&em.clone().further(2), &y, left).unwrap_err().to_string().contains("9 iterations already"));
    Ok(())
}

#[test]
fn other_data_and_other_settings_are_refused() -> Result<()> {
    let y = pictures(300)?;
    let em = Em::new(10).family(family("poisson")?).iterations(6).truncated(Truncation::new(10));
    let left = left_after(&em, &y, 2)?;
    let refusal = |em: &Em, y: &Array2<f64>| match resumed(em, y, left.clone()) {
        Err(Error::Resume { reason }) => reason,
        other => panic!("not refused: {other:?}"),
    };
    let mut changed = y.clone();
    changed[[17, 3]] += 1.0;
    assert!(refusal(&em, &changed).contains("other values"));
    assert!(refusal(&em, &pictures(299)?).contains("300 rows of 25"));
    assert!(refusal(&em.clone().seed(1), &y).contains("`seed` is 0, and now it is 1"));
    assert!(refusal(&em.clone().truncated(Truncation::new(11)), &y).contains("posterior"));
    assert!(refusal(&em.clone().iterations(7), &y).contains("iterations"));
    let other = Em::new(10).family(family("geometric")?).iterations(6).truncated(Truncation::new(10));
    assert!(refusal(&other, &y).contains("family"));
    let mut without = left.clone();
    without.sets = None;
    assert!(matches!(resumed(&em, &y, without), Err(Error::Resume { .. })));
    Ok(())
}

#[test]
fn rows_outside_of_memory_give_the_same_bits() -> Result<()> {
    let y = pictures(500)?;
    // counts are the same numbers in single precision
    let outside = SharedRows(Arc::new(y.mapv(|value| value as f32)));
    for precision in [Precision::Single, Precision::Double] {
        for spec in ["poisson", "gaussian"] {
            let em = Em::new(10).family(spec).iterations(5).pseudo_count(1e-3);
            let em = em.truncated(Truncation::new(10).precision(precision));
            assert_same(&em.run(&y)?, &em.run(&outside)?);
        }
    }
    Ok(())
}
