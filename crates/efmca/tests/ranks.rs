//! The same seed gives the same model, bit for bit, for any number of ranks; ranks are threads here, each with rows of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::sync::Arc;

use efmca::em::{Keep, KeptTraining, keeping};
use efmca::model::Data;
use efmca::posterior::Precision;
use efmca::ranks::{self, InProcess};
use efmca::tasks::learn::SharedRows;
use efmca::{
    Checkpoint, Em, Error, Fingerprint, Fit, Init, Patches, Result, SparseRows, StopReason, Truncation, Weighted, bars,
};
use ndarray::{Array1, Array2};

/// Does the same work on so many ranks.
fn on_ranks<T: Send>(count: usize, work: impl Fn() -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let work = &work;
        let start = |rank: InProcess| scope.spawn(move || ranks::over(Arc::new(rank), work));
        let ranks: Vec<_> = InProcess::crew(count).into_iter().map(start).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn pictures(family: &str, n: usize) -> Result<Array2<f64>> {
    let high: &[f64] = if family == "gaussian" { &[4.0, 17.0] } else { &[20.0] };
    let low: &[f64] = if family == "gaussian" { &[0.0, 1.0] } else { &[1.0] };
    Ok(bars::model(family, 4, high, low, 0.2)?.sample(n, 1).y)
}

type Bits = (Vec<u64>, Vec<u64>, u64, Vec<(u64, usize, usize, u64, u64)>, StopReason);

/// All bits of a result.
fn bits(fit: &Fit) -> Bits {
    let of = |values: Vec<f64>| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    let model = fit.model.to_tensors().into_iter().flat_map(|tensor| tensor.values).collect();
    let step = |step: &efmca::em::Iteration| {
        (step.bound.to_bits(), step.revived, step.removed, step.effort.evaluations, step.effort.replaced)
    };
    let sets = fit.sets.iter().flat_map(|sets| sets.bits().to_vec()).collect();
    (of(model), sets, fit.bound.to_bits(), fit.history.iter().map(step).collect(), fit.stop)
}

/// Trains on one rank and on more, and compares all bits.
fn assert_same_on_all(name: &str, em: &Em, y: &(dyn Data + Sync)) -> Result<Fit> {
    let alone = em.run(y)?;
    for count in [1, 2, 3, 4, 7] {
        for (rank, fit) in on_ranks(count, || em.run(y)).into_iter().enumerate() {
            assert!(bits(&alone) == bits(&fit?), "{name}: rank {rank} of {count} has other bits");
        }
    }
    Ok(alone)
}

fn truncated() -> Truncation {
    Truncation::new(12).precision(Precision::Single)
}

#[test]
fn exact_training() -> Result<()> {
    for family in ["poisson", "gaussian", "bernoulli"] {
        let y = match family {
            "bernoulli" => pictures("poisson", 3000)?.mapv(|y| f64::from(u8::from(y > 5.0))),
            _ => pictures(family, 3000)?,
        };
        let em = Em::new(6).family(family).iterations(6).tolerance(0.0).pseudo_count(0.1).seed(3);
        assert_same_on_all(family, &em, &y)?;
        let mut holes = y.clone();
        holes.iter_mut().step_by(17).for_each(|y| *y = f64::NAN);
        assert_same_on_all("with missing values", &em, &holes)?;
        let weights = Array1::from_shape_fn(y.nrows(), |n| (n % 4) as f64);
        assert_same_on_all("with weights", &em, &Weighted::new(&y, weights)?)?;
    }
    let y = pictures("poisson", 1500)?;
    let em = Em::new(4).family("poisson").iterations(12).tolerance(0.0).seed(4);
    assert_same_on_all("several starts", &em.clone().starts(3).short_iterations(3), &y)?;
    assert_same_on_all("a warm start", &em.clone().warm_start(3), &y)?;
    let fit = assert_same_on_all("spare causes", &em.clone().spare_causes(3), &y)?;
    assert!(fit.history.iter().any(|step| step.removed > 0));
    Ok(())
}

#[test]
fn truncated_training() -> Result<()> {
    for family in ["poisson", "gaussian", "exponential"] {
        let y = match family {
            "exponential" => pictures("poisson", 900)?.mapv(|y| y + 0.5),
            _ => pictures(family, 900)?,
        };
        let em = Em::new(8).family(family).iterations(9).tolerance(0.0).pseudo_count(0.1).seed(3);
        let em = em.truncated(truncated()).shards(5);
        assert_same_on_all(family, &em, &y)?;
        let mut holes = y.clone();
        holes.iter_mut().step_by(17).for_each(|y| *y = f64::NAN);
        assert_same_on_all("with missing values", &em, &holes)?;
        let weights = Array1::from_shape_fn(y.nrows(), |n| (n % 4) as f64);
        assert_same_on_all("with weights", &em, &Weighted::new(&y, weights)?)?;
    }
    Ok(())
}

#[test]
fn every_way_to_start_and_to_step() -> Result<()> {
    let y = pictures("gaussian", 1200)?;
    let em = Em::new(8).family("gaussian").iterations(10).tolerance(0.0).pseudo_count(0.1).seed(3);
    let em = em.truncated(truncated()).shards(7);
    let double = em.clone().truncated(Truncation::new(12).precision(Precision::Double));
    assert_same_on_all("in double precision", &double, &y)?;
    assert_same_on_all("batches", &em.clone().batches(3), &y)?;
    assert_same_on_all("clusters", &em.clone().init(Init::Clusters { spread: 1.0 }), &y)?;
    assert_same_on_all("rows", &em.clone().init(Init::Rows { share: 0.5 }), &y)?;
    assert_same_on_all("guarded", &em.clone().guard(true).m_step_iterations(2), &y)?;
    assert_same_on_all("several starts", &em.clone().starts(2).short_iterations(2), &y)?;
    assert_same_on_all("a warm start", &em.clone().family("laplace").warm_start(3), &y)?;
    let fit = assert_same_on_all("spare causes", &em.clone().spare_causes(5).batches(2), &y)?;
    assert!(fit.history.iter().any(|step| step.removed > 0));
    // two causes that never win a column are started again, from the rows that are explained worst
    let counts = pictures("poisson", 900)?;
    let em_of_counts = em.clone().family("poisson");
    let model = em_of_counts.run(&counts)?.model;
    let mut tensors = model.to_tensors();
    tensors[1].values[..2 * counts.ncols()].fill(1e-3);
    let model = Box::new(efmca::Model::from_tensors(&tensors, &model.to_metadata())?);
    let fit = assert_same_on_all("revived causes", &em_of_counts.init(Init::Model(model)), &counts)?;
    assert!(fit.history.iter().map(|step| step.revived).sum::<usize>() >= 2, "{:?}", fit.history);
    assert_same_on_all("a single shard", &em.clone().shards(1), &y)?;
    assert_same_on_all("more shards than rows", &em.clone().shards(5000).iterations(3), &y)?;
    Ok(())
}

#[test]
fn every_kind_of_rows() -> Result<()> {
    let y = pictures("poisson", 800)?;
    let em = Em::new(8).family("poisson").iterations(8).tolerance(0.0).pseudo_count(0.1).seed(3);
    let em = em.truncated(truncated()).shards(6);
    let clusters = em.clone().init(Init::Clusters { spread: 1.0 });
    let inside = y.mapv(|y| y as f32);
    let outside = SharedRows(Arc::new(inside.clone()));
    let fit = assert_same_on_all("rows outside of memory", &clusters, &outside)?;
    assert_eq!(bits(&fit), bits(&clusters.run(&inside)?));
    let mut zeros = y.mapv(|y| if y < 4.0 { 0.0 } else { y });
    zeros[[3, 4]] = f64::NAN;
    let rows: Vec<Vec<(u32, f64)>> = zeros
        .outer_iter()
        .map(|row| row.iter().enumerate().filter(|(_, y)| **y != 0.0).map(|(d, y)| (d as u32, *y)).collect())
        .collect();
    let starts: Vec<usize> = std::iter::once(0)
        .chain(rows.iter().scan(0, |end, row| {
            *end += row.len();
            Some(*end)
        }))
        .collect();
    let (places, values): (Vec<u32>, Vec<f64>) = rows.into_iter().flatten().unzip();
    let sparse = SparseRows::new(zeros.ncols(), starts, places, values)?;
    assert_same_on_all("sparse rows", &clusters, &sparse)?;
    let image =
        Array2::from_shape_fn((40, 30), |(y, x)| f64::from((y / 5 + x / 3) as u32 % 2) * 9.0 + ((y * x) % 3) as f64);
    let patches = Patches::new(image, (3, 3))?;
    assert_same_on_all("patches", &clusters.clone().batches(2), &patches)?;
    Ok(())
}

/// A run that is left on so many ranks.
fn left(em: &Em, y: &(dyn Data + Sync), ranks: usize, iteration: usize) -> Checkpoint {
    let found = on_ranks(ranks, || {
        let mut left = None;
        let data = Fingerprint::over_ranks(y).unwrap();
        let stopped = em.run_observed(y, &mut |progress| {
            let Some(training) = progress.training.filter(|training| training.iteration >= iteration) else {
                return ControlFlow::Continue(());
            };
            left = training.state.gathered(|state| state.to_checkpoint(em.settings(), data)).unwrap();
            // one rank is asked to stop, and all do
            if ranks::current().rank() + 1 == ranks { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(stopped.unwrap().stop, StopReason::Interrupted);
        left
    });
    assert!(found.iter().skip(1).all(Option::is_none));
    found.into_iter().flatten().next().unwrap()
}

#[test]
fn a_run_is_resumed_by_another_number_of_ranks() -> Result<()> {
    let y = pictures("poisson", 700)?;
    let base = Em::new(8).family("poisson").iterations(9).tolerance(0.0).pseudo_count(0.1).seed(3);
    for em in [base.clone(), base.truncated(truncated()).shards(6).batches(2).spare_causes(4)] {
        let whole = bits(&em.run(&y)?);
        for (before, after) in [(3, 2), (1, 4), (7, 1), (2, 7)] {
            let left = left(&em, &y, before, 4);
            assert_eq!((left.data, left.history.len()), (Fingerprint::of(&y), 4));
            for fit in on_ranks(after, || em.resume(&y, left.clone(), &mut |_| ControlFlow::Continue(()))) {
                assert!(whole == bits(&fit?), "{before} {after}");
            }
        }
    }
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
fn trainings_are_kept_by_rank_0() -> Result<()> {
    let y = pictures("poisson", 500)?;
    let em = Em::new(8).family("poisson").iterations(4).seed(3).truncated(truncated()).shards(4);
    let expected = bits(&em.run(&y)?);
    let kept = on_ranks(3, || {
        let memory = Rc::new(Memory::default());
        let fit = keeping(memory.clone(), || em.run(&y)).unwrap();
        assert!(bits(&fit) == expected);
        memory.0.take()
    });
    assert_eq!(kept.iter().map(HashMap::len).collect::<Vec<_>>(), [1, 0, 0]);
    // all ranks read what was kept
    let steps = on_ranks(2, || {
        let (memory, mut steps) = (Rc::new(Memory(RefCell::new(kept[0].clone()))), 0);
        let fit = keeping(memory, || {
            em.run_observed(&y, &mut |_| {
                steps += 1;
                ControlFlow::Continue(())
            })
        });
        assert!(bits(&fit.unwrap()) == expected);
        steps
    });
    assert_eq!(steps, [0, 0]);
    Ok(())
}

#[test]
fn a_fault_of_one_rank_ends_all() -> Result<()> {
    let good = pictures("poisson", 600)?;
    let mut bad = good.clone();
    bad[[599, 2]] = -1.0;
    // in single precision all ranks read some rows to find out how large values are
    let double = truncated().precision(Precision::Double);
    let em = Em::new(8).family("poisson").iterations(4).truncated(double).shards(4);
    let found = on_ranks(3, || em.run(&bad).map(drop).unwrap_err());
    assert!(found[0].to_string().starts_with("rank 2: row 600, column 3"), "{found:?}");
    assert!(matches!(found[2], Error::OutsideSupport { row: 599, .. }), "{found:?}");
    // other data on one rank
    let mut other = good.clone();
    other[[5, 5]] += 1.0;
    let of_rank = || if ranks::current().rank() == 1 { &other } else { &good };
    for found in on_ranks(3, || Fingerprint::over_ranks(of_rank()).map(drop).unwrap_err()) {
        let text = found.to_string();
        assert!(text.contains("its data are not those of rank"), "{text}");
    }
    // a model that differs by one bit
    let model = em.run(&good)?.model;
    let mut tensors = model.to_tensors();
    tensors[0].values[0] = f64::from_bits(tensors[0].values[0].to_bits() + 1);
    let one_more = efmca::Model::from_tensors(&tensors, &model.to_metadata())?;
    let init = || if ranks::current().rank() == 2 { one_more.clone() } else { model.clone() };
    let found = on_ranks(3, || em.clone().init(Init::Model(Box::new(init()))).run(&good).map(drop).unwrap_err());
    assert!(
        found.iter().all(|error| error.to_string().starts_with("rank 2: it has come to another model")),
        "{found:?}"
    );
    Ok(())
}

#[test]
fn ranks_with_any_number_of_threads() -> Result<()> {
    let y = pictures("poisson", 900)?;
    let em = Em::new(8).family("poisson").iterations(5).seed(1).truncated(truncated()).shards(4).batches(2);
    let expected = bits(&em.run(&y)?);
    for threads in [1, 3] {
        let found = on_ranks(2, || {
            let (pool, way) = (rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap(), ranks::current());
            assert_eq!(way.count(), 2);
            // a training outside of the thread that the ranks belong to is done by each of them alone
            let alone = pool.install(|| em.run(&y)).unwrap();
            (bits(&em.run(&y).unwrap()), bits(&alone))
        });
        assert!(found.iter().all(|(shared, alone)| *shared == expected && *alone == expected));
    }
    Ok(())
}
