//! Trainings that ranks do side by side, each by itself: the same bits for any number of ranks, one error for all of them, one rank
//! that is asked to stop, and trainings that are kept.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use efmca::em::{Keep, KeptTraining, Progress, keeping};
use efmca::ranks::{self, InProcess};
use efmca::tasks::Causes;
use efmca::tasks::noise::{NoiseType, TableNoise};
use efmca::tasks::select::{CauseSearch, Source};
use efmca::{Checkpoint, Error, Result, bars};
use ndarray::{Array2, Array4};

/// Does the same work on so many ranks.
fn on_ranks<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |rank: InProcess| scope.spawn(move || ranks::over(Arc::new(rank), work));
        let ranks: Vec<_> = InProcess::crew(count).into_iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

/// All bits of a result: numbers are written with all digits that they have, and arrays in full.
fn bits(found: &impl Debug) -> String {
    format!("{found:#?}")
}

/// Does the work in one process and on ranks, and compares all bits.
fn assert_same_on_all<T: Debug + Send>(name: &str, counts: &[usize], work: impl Fn() -> Result<T> + Sync) -> Result<T> {
    let alone = work()?;
    for count in counts {
        for (rank, found) in on_ranks(*count, &work).into_iter().enumerate() {
            assert!(bits(&alone) == bits(&found?), "{name}: rank {rank} of {count} has other bits");
        }
    }
    Ok(alone)
}

fn counts(n: usize) -> Result<Array2<f64>> {
    Ok(bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?.sample(n, 1).y)
}

fn gaussian(n: usize) -> Result<Array2<f64>> {
    let mut y = bars::model("gaussian", 3, &[4.0, 17.0], &[0.0, 1.0], 0.2)?.sample(n, 1).y;
    y.iter_mut().step_by(13).for_each(|y| *y = f64::NAN);
    Ok(y)
}

#[test]
fn numbers_of_causes() -> Result<()> {
    let search = CauseSearch::new("poisson").causes([1, 2, 4, 20]).iterations(6).restarts(2).seed(3);
    let (y, holes) = (counts(300)?, gaussian(200)?);
    let choice = assert_same_on_all("counts", &[1, 2, 3, 4, 7], || search.run(Source::Table(y.view())))?;
    assert!(choice.trials.len() == 4 && choice.trials[3].model.h() == 20);
    let numbers = CauseSearch::new("gaussian").causes([3, 6]).iterations(6);
    assert_same_on_all("numbers", &[2, 3], || numbers.run(Source::Table(holes.view())))?;
    Ok(())
}

/// What an observer saw: the stage, and whether the rank worked alone.
type Seen = Vec<(String, bool)>;

#[test]
fn small_trainings_are_done_apart_and_large_ones_are_shared() -> Result<()> {
    let y = counts(1500)?;
    let search = CauseSearch::new("poisson").causes([1, 2, 9]).iterations(3);
    let seen_by_all = on_ranks(2, || -> Result<(String, Seen)> {
        let mut seen = Seen::new();
        let choice = search.run_observed(Source::Table(y.view()), &mut |progress: &Progress<'_>| {
            seen.push((progress.stage.to_owned(), ranks::current().is_alone()));
            ControlFlow::Continue(())
        })?;
        Ok((bits(&choice), seen))
    });
    let expected = bits(&search.run(Source::Table(y.view()))?);
    for found in seen_by_all {
        let (choice, seen) = found?;
        assert!(choice == expected);
        // nine causes take longer than both others together, and their rows are three parts
        assert!(seen.contains(&("9 causes".into(), false)) && !seen.contains(&("9 causes".into(), true)), "{seen:?}");
        assert!(["1 causes", "2 causes"].iter().all(|stage| seen.contains(&((*stage).into(), true))), "{seen:?}");
    }
    Ok(())
}

#[test]
fn families() -> Result<()> {
    let y = counts(250)?;
    let noise = NoiseType::new().causes(3).iterations(6).same_posteriors(true).seed(2);
    let some = noise.clone().families(["gaussian", "poisson", "negative-binomial", "geometric", "exponential"]);
    let ranking = assert_same_on_all("families", &[1, 2, 3, 4, 7], || some.run(Source::Table(y.view())))?;
    assert!(ranking.ranked.len() == 5 && ranking.ranked.iter().any(|one| one.matched.is_some()));
    let auto = noise.clone().families(["gaussian", "poisson"]).causes(Causes::Auto).restarts(1).iterations(4);
    let ranking = assert_same_on_all("with the number of causes", &[2, 3], || auto.run(Source::Table(y.view())))?;
    assert!(ranking.choice.is_some());
    Ok(())
}

#[test]
fn families_of_an_image() -> Result<()> {
    let noise = NoiseType::new().causes(20).iterations(6).restarts(2).same_posteriors(true);
    let noise = noise.families(["gaussian", "poisson", "negative-binomial", "gamma", "geometric"]);
    let mut random = 1u64;
    let pixels = Array4::from_shape_fn((1, 24, 24, 1), |(_, y, x, _)| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let level = if (y / 6 + x / 5) % 2 == 0 { 12 } else { 40 };
        (level + (random >> 60)) as f64
    });
    let source = Source::images(pixels.view(), (4, 4), 300);
    let ranking = assert_same_on_all("pixels", &[1, 2, 4], || noise.run(source))?;
    assert!(ranking.ranked.len() > 2);
    Ok(())
}

#[test]
fn families_of_columns() -> Result<()> {
    let mut y = counts(200)?;
    y.column_mut(4).mapv_inplace(|y| if y > 9.0 { 1.0 } else { 0.0 });
    y.column_mut(5).mapv_inplace(|y| (y + 0.5).ln());
    y.column_mut(6).fill(3.0);
    for causes in [1, 3] {
        let noise = TableNoise::new().causes(causes).iterations(6).fix(0, "poisson");
        let found = assert_same_on_all("columns", &[1, 2, 3, 7], || noise.run(y.view()))?;
        assert_eq!(found.columns[4].family.spec(), "bernoulli");
    }
    Ok(())
}

#[test]
fn an_error_of_one_training_is_the_error_of_all_ranks() -> Result<()> {
    let y = counts(200)?;
    let search = CauseSearch::new("poisson").causes([1, 2, 2_000_000]).iterations(3);
    let run = || search.run(Source::Table(y.view())).map(drop).unwrap_err();
    let alone = run();
    assert!(alone.to_string().contains("there can be"), "{alone}");
    for count in [2, 3, 7] {
        let found = on_ranks(count, run);
        // it takes longest, so that the first rank does it
        assert!(found.iter().all(|error| error.to_string() == format!("rank 0: {alone}")), "{found:?}");
    }
    // what is wrong with the data is wrong for all of them
    let mut bad = y.clone();
    bad[[7, 3]] = -1.0;
    let search = CauseSearch::new("poisson").causes([1, 2, 4]).iterations(3);
    let found = on_ranks(3, || search.run(Source::Table(bad.view())).map(drop).unwrap_err());
    assert!(found.iter().all(|error| matches!(error, Error::OutsideSupport { row: 7, .. })), "{found:?}");
    // other data on one rank
    let mut other = y.clone();
    other[[150, 3]] += 1.0;
    let of_rank = || if ranks::current().rank() == 1 { other.view() } else { y.view() };
    let found = on_ranks(2, || search.run(Source::Table(of_rank())).map(drop).unwrap_err());
    assert!(found.iter().all(|error| error.to_string().contains("its data are not those of rank")), "{found:?}");
    let columns = || TableNoise::new().iterations(3).run(of_rank()).map(drop).unwrap_err();
    assert!(on_ranks(2, columns).iter().all(|error| error.to_string().contains("its data are not those of rank")));
    Ok(())
}

#[test]
fn one_rank_that_is_asked_to_stop_ends_all() -> Result<()> {
    let y = counts(200)?;
    let search = CauseSearch::new("poisson").causes([1, 2, 4, 6]).iterations(4);
    // the rank that does the largest training is asked in it; what the other did counts
    let found = on_ranks(2, || {
        let stop = AtomicBool::new(false);
        let choice = search.run_observed(Source::Table(y.view()), &mut |progress| {
            stop.fetch_or(progress.stage == "6 causes" && ranks::current().is_alone(), Ordering::SeqCst);
            if stop.load(Ordering::SeqCst) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        choice.map(|choice| choice.trials.iter().map(|trial| trial.h).collect::<Vec<_>>())
    });
    for trials in found {
        assert_eq!(trials?, [1, 2, 4]);
    }
    // a family of the first look, and all that comes after it
    let noise = NoiseType::new().causes(Causes::Auto).families(["gaussian", "poisson", "geometric", "exponential"]);
    let noise = noise.iterations(4);
    let found = on_ranks(3, || {
        let mut stop = false;
        let ranking = noise.run_observed(Source::Table(y.view()), &mut |_| {
            // a rank that does a training of its own
            stop |= ranks::current().rank() == 0 && ranks::current().is_alone();
            if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        ranking.map(|ranking| ranking.ranked.len()).map_err(|error| error.to_string())
    });
    assert!(found.iter().all(|one| *one == found[0]), "{found:?}");
    Ok(())
}

#[derive(Default)]
struct Memory(RefCell<HashMap<String, Checkpoint>>);

impl Keep for Memory {
    fn left(&self, name: &str) -> Option<Checkpoint> {
        self.0.borrow().get(name).cloned()
    }

    fn keep(&self, name: &str, training: &KeptTraining<'_>) {
        let checkpoint = training.state.to_checkpoint(training.settings.clone(), training.data);
        self.0.borrow_mut().insert(name.to_owned(), checkpoint);
    }
}

#[test]
fn each_rank_keeps_the_trainings_that_it_does() -> Result<()> {
    let y = counts(200)?;
    let search = CauseSearch::new("poisson").causes([1, 2, 4, 20]).iterations(4);
    let expected = bits(&search.run(Source::Table(y.view()))?);
    let kept = on_ranks(3, || {
        let memory = Rc::new(Memory::default());
        let choice = keeping(memory.clone(), || search.run(Source::Table(y.view()))).unwrap();
        assert!(bits(&choice) == expected);
        memory.0.take()
    });
    assert!(kept.iter().all(|kept| !kept.is_empty()));
    assert_eq!(kept.iter().map(HashMap::len).sum::<usize>(), 4);
    // in a folder that all of them see another number of ranks finds them
    let all: HashMap<String, Checkpoint> = kept.into_iter().flatten().collect();
    for count in [1, 2] {
        let found = on_ranks(count, || {
            let memory = Rc::new(Memory(RefCell::new(all.clone())));
            let choice = keeping(memory.clone(), || search.run(Source::Table(y.view()))).unwrap();
            (bits(&choice) == expected, memory.0.borrow().len())
        });
        assert!(found.iter().all(|found| *found == (true, 4)));
    }
    Ok(())
}
