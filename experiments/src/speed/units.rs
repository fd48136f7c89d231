//! The units of work.

use std::f64::consts::PI;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::model::Data;
use efmca::posterior::Precision;
use efmca::posterior::truncated::{Evolution, Marginals, Neighbours, OneFlips, Propose, Selection, Variation};
use efmca::{Em, Held, Hold, Patches, Superposition, Truncation};
use ndarray::{Array2, concatenate};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Measured, Settings, growth};
use crate::cleaning::read_grey;
use crate::output::Done;

/// States of a row, as in the paper.
const S: usize = 60;
/// Expected photons in the brightest pixel.
const PEAK: f64 = 2.0;

/// All units, in the order in which they are measured.
pub(super) fn names() -> Vec<&'static str> {
    let mut names = vec!["poisson", "poisson-one-thread", "poisson-twice", "poisson-portable", "gaussian"];
    names.extend(PROPOSALS.iter().map(|(name, _, _)| *name));
    names
}

/// Ways to propose states: a name, what it is, and what is proposed in how many generations.
type Way = fn() -> (Vec<Arc<dyn Propose>>, usize);
pub(super) const PROPOSALS: [(&str, &str, Way); 9] = [
    ("randflip", "EVO: random flips of 10 fit parents, 9 children, 2 generations", || {
        (evo(10, 9, Variation::RandomFlip), 2)
    }),
    ("sparseflip", "EVO: sparse flips of 10 fit parents, 9 children, 2 generations", || {
        (evo(10, 9, Variation::SparseFlip { rate: 0.01 }), 2)
    }),
    ("cross", "EVO: crossover of 10 fit parents, 2 generations", || (evo(10, 0, Variation::Crossover), 2)),
    ("cross-randflip", "EVO: crossover of 10 fit parents and a random flip, 2 generations", || {
        (evo(10, 0, Variation::CrossoverRandomFlip), 2)
    }),
    ("one-flips", "all flips of the best state", || (vec![Arc::new(OneFlips { parents: 1 })], 1)),
    ("two-parents", "all flips of the best state and of another", || (vec![Arc::new(OneFlips { parents: 2 })], 1)),
    ("neighbours", "all flips of the best state, and 3 states of each of 4 neighbours", || {
        (vec![Arc::new(OneFlips { parents: 1 }), Arc::new(Neighbours { each: 3 })], 1)
    }),
    ("marginals", "all flips of the best state, and 12 draws from the marginals", || {
        (vec![Arc::new(OneFlips { parents: 1 }), Arc::new(Marginals { draws: 12 })], 1)
    }),
    ("flips-and-evo", "all flips of the best state, and random flips of 10 fit parents, 7 children", || {
        let mut both: Vec<Arc<dyn Propose>> = vec![Arc::new(OneFlips { parents: 1 })];
        both.extend(evo(10, 7, Variation::RandomFlip));
        (both, 1)
    }),
];

fn evo(parents: usize, children: usize, variation: Variation) -> Vec<Arc<dyn Propose>> {
    vec![Arc::new(Evolution { parents, children, selection: Selection::Fitness, variation })]
}

pub(super) fn measure(unit: &str, settings: &Settings) -> Done<Measured> {
    let poisson = |truncation: Truncation| {
        Ok::<Em, efmca::Error>(
            Em::new(100).family(family("poisson")?).truncated(truncation.precision(Precision::Single)),
        )
    };
    if let Some((name, what, way)) = PROPOSALS.iter().find(|(name, _, _)| *name == unit) {
        let (proposals, generations) = way();
        let em = poisson(Truncation::new(S).proposals(proposals).generations(generations))?;
        return observe(name, what, &em.iterations(10_000), &patches(settings, 1)?, 1, settings.budget);
    }
    if let Some(setting) = growth::Setting::named(unit) {
        return setting.measure(settings);
    }
    let steps = settings.steps + 2;
    let run = |name: &str, what: &str, em: Em, data: &dyn Data| {
        observe(name, what, &em.iterations(steps), data, settings.steps, f64::INFINITY)
    };
    match unit {
        "poisson" => run(unit, "Poisson, patches of 20 x 20", poisson(Truncation::new(S))?, &patches(settings, 1)?),
        "poisson-one-thread" => {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
            let data = patches(settings, 1)?;
            pool.install(|| run(unit, "the same with one thread", poisson(Truncation::new(S))?, &data))
        }
        "poisson-twice" => run(unit, "twice as many rows", poisson(Truncation::new(S))?, &patches(settings, 2)?),
        "poisson-portable" => {
            let em = poisson(Truncation::new(S).portable(true))?;
            run(unit, "with the safe kernel that runs anywhere", em, &patches(settings, 1)?)
        }
        "gaussian" => {
            let em = Em::new(1000)
                .family(family("gaussian")?)
                .superposition(Superposition::MaxMagnitude)
                .pi_init(0.1, 0.5)
                .hold(Hold::always(Held::Pi))
                .pseudo_count(1.0)
                .truncated(Truncation::new(S).precision(Precision::Single));
            run(unit, "Gaussian, two dictionaries, maximum magnitude", em, &textures(settings.rows))
        }
        other => Err(format!("there is no unit `{other}`").into()),
    }
}

/// Trains, and notes what each EM step took; the first step, which also prepares the data, does not count.
pub(super) fn observe(name: &str, what: &str, em: &Em, data: &dyn Data, steps: usize, budget: f64) -> Done<Measured> {
    let n = data.n() as f64;
    let (mut cpu, mut wall, mut course) = (Vec::new(), Vec::new(), Vec::new());
    let mut last = (ProcessTime::now(), Instant::now());
    let mut spent = 0.0;
    let fit = em.clone().seed(1).revive(false).run_observed(data, &mut |progress| {
        let now = (last.0.elapsed().as_secs_f64(), last.1.elapsed().as_secs_f64());
        if progress.done > 1 {
            spent += now.0;
            cpu.push(now.0);
            wall.push(now.1);
        }
        course.extend(progress.training.map(|training| (spent, training.bound / n)));
        last = (ProcessTime::now(), Instant::now());
        if spent > budget || (budget.is_infinite() && cpu.len() > steps) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    let middle = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let evaluations: u64 = fit.history.iter().skip(1).map(|step| step.effort.evaluations).sum();
    let counted = fit.history.len().saturating_sub(1).max(1) as f64;
    let active = fit.sets.as_ref().map_or(f64::NAN, |sets| {
        let rows = 0..sets.n().min(1000);
        let total: usize = rows.clone().flat_map(|n| sets.states(n)).map(|state| state.count()).sum();
        total as f64 / (rows.len() * sets.s()) as f64
    });
    Ok(Measured {
        name: name.into(),
        what: what.into(),
        n: data.n(),
        d: data.d(),
        h: fit.model.h(),
        s: fit.sets.as_ref().map_or(0, |sets| sets.s()),
        cpu: middle(cpu),
        wall: middle(wall),
        evaluations_per_row: evaluations as f64 / counted / n,
        active,
        megabytes: peak_memory(),
        limit: None,
        course,
    })
}

/// The peak of resident memory in megabytes, where the system tells.
pub(crate) fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse::<f64>().ok());
    kilobytes.map_or(f64::NAN, |kilobytes| kilobytes / 1000.0)
}

/// All 20 x 20 patches of a photon-limited picture; with `times` 2 about twice as many.
fn patches(settings: &Settings, times: usize) -> Done<Patches> {
    Ok(Patches::new(noisy(settings, times)?, (20, 20))?)
}

/// A photon-limited picture; with `times` 2 below itself once more.
pub(super) fn noisy(settings: &Settings, times: usize) -> Done<Array2<f64>> {
    let clean = match &settings.images {
        Some(folder) => read_grey(&folder.join("house.png"))?.slice(ndarray::s![0, .., .., 0]).to_owned(),
        None => drawn(),
    };
    // one row of patches less is lost at the seam
    let clean = match times {
        1 => clean,
        _ => concatenate(ndarray::Axis(0), &[clean.view(), clean.slice(ndarray::s![19.., ..])])?,
    };
    let brightest = clean.iter().copied().fold(0.0, f64::max);
    let poisson = family("poisson")?;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    Ok(clean.mapv(|value| poisson.sample(&[(value / brightest * PEAK).max(1e-9).ln()], &mut rng)))
}

/// A picture of 256 x 256 with edges, stripes and smooth parts.
fn drawn() -> Array2<f64> {
    Array2::from_shape_fn((256, 256), |(y, x)| {
        let (u, v) = (x as f64 / 256.0, y as f64 / 256.0);
        let roof = v < 0.6 && v > 0.2 + (u - 0.5).abs() * 0.8;
        let wall = (0.2..0.8).contains(&u) && v >= 0.6;
        let window = (y / 24) % 2 == 0 && (x / 20) % 2 == 1;
        let stripes = 20.0 * (2.0 * PI * 24.0 * (u + 0.5 * v)).sin();
        match (roof, wall, window) {
            (true, _, _) => 90.0 + stripes,
            (_, true, true) => 60.0,
            (_, true, false) => 170.0 + 0.5 * stripes,
            _ => 230.0 - 60.0 * v,
        }
    })
}

/// Rows of 20 x 20 that look like patches of textures: oriented waves and noise.
pub(super) fn textures(rows: usize) -> Array2<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut y = Array2::zeros((rows, 400));
    for mut row in y.outer_iter_mut() {
        let wave = |rng: &mut ChaCha8Rng| {
            let (angle, frequency): (f64, f64) = (rng.random_range(0.0..PI), rng.random_range(0.1..1.2));
            (
                frequency * angle.cos(),
                frequency * angle.sin(),
                rng.random_range(0.0..2.0 * PI),
                rng.random_range(0.2..1.0),
            )
        };
        let waves = [wave(&mut rng), wave(&mut rng)];
        for (d, value) in row.iter_mut().enumerate() {
            let (u, v) = ((d % 20) as f64, (d / 20) as f64);
            let signal: f64 = waves.iter().map(|(a, b, phase, size)| size * (a * u + b * v + phase).sin()).sum();
            *value = (signal + 0.3 * (rng.random::<f64>() + rng.random::<f64>() - 1.0)) as f32;
        }
    }
    y
}
