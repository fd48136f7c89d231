use crate::output::{Done, say};
use cpu_time::ProcessTime;
use efmca::em::{Em, Init};
use efmca::{Fit, Truncation};
use ndarray::{Array2, Axis};

fn env(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

pub(super) fn train(x: &Array2<f64>, h: usize, seed: u64) -> Done<Fit> {
    let rows = env("ROWS", 2000);
    let step = (x.nrows() / rows).max(1);
    let some: Vec<usize> = (0..x.nrows()).step_by(step).collect();
    let sub = x.select(Axis(0), &some);
    let spare = env("SPARE", h);
    let s = env("S", 16);
    let t0 = ProcessTime::now();
    let mut best: Option<Fit> = None;
    for start in 0..env("STARTS", 3) {
        let mut em = Em::new(h).family("bernoulli").spare_causes(spare).pseudo_count(1.0).seed(seed + 1000 * start as u64);
        em = em.iterations(env("IT", 30)).tolerance(0.0);
        em = match env("INIT", 0) {
            0 => em,
            1 => em.init(Init::Clusters { spread: 1.0 }),
            _ => em.init(Init::Rows { share: env("SHARE", 50) as f64 / 100.0 }),
        };
        if env("TEMP", 0) > 0 {
            em = em.temperature(efmca::em::Schedule::Geometric { from: env("TEMP", 0) as f64, to: 1.0, until: env("UNTIL", 10) });
        }
        if env("PI", 0) > 0 {
            let pi = env("PI", 0) as f64 / 100.0;
            em = em.pi_init(pi, pi);
        }
        if s > 0 {
            em = em.truncated(Truncation::new(s)).batches(env("BATCHES", 4));
        }
        let fit = em.run(&sub)?;
        if best.as_ref().is_none_or(|best| fit.bound > best.bound) {
            best = Some(fit);
        }
    }
    let fit = best.ok_or("no start")?;
    let t1 = t0.elapsed().as_secs_f64();
    let mut em = Em::new(h).family("bernoulli").pseudo_count(1.0).init(Init::Model(Box::new(fit.model))).seed(seed);
    em = em.iterations(env("LAST", 30)).tolerance(if env("TIGHT", 0) > 0 { 1e-9 } else { 1e-6 });
    let s2 = env("S2", 0);
    if s2 > 0 {
        em = em.truncated(Truncation::new(s2)).guard(true);
    }
    let fit = em.run(x)?;
    if env("TIMES", 0) > 0 {
        say(&format!("{t1:.2} then {:.2}, {} its", t0.elapsed().as_secs_f64() - t1, fit.history.len()));
    }
    Ok(fit)
}

pub(super) fn from_truth(x: &Array2<f64>, p: &Array2<f64>) -> Done<Fit> {
    use efmca::{Background, Model, family::family};
    let h = p.nrows();
    let w = p.mapv(|p| p.clamp(0.01, 0.99));
    let model = Model::new(family("bernoulli")?, ndarray::Array1::from_elem(h, 0.15), vec![w], Background::fixed(&vec![0.01; x.ncols()]))?;
    let em = Em::new(h).family("bernoulli").background(Background::fixed(&vec![0.01; x.ncols()])).pseudo_count(1.0).iterations(1);
    let fit = em.init(Init::Model(Box::new(model))).run(x)?;
    let em = Em::new(h).family("bernoulli").pseudo_count(1.0).iterations(env("LAST", 30)).tolerance(1e-7);
    let model = Model::from_parts(fit.model.columns().clone(), fit.model.pi().clone(), fit.model.w_flat().clone(), Background::Learned)?;
    Ok(em.init(Init::Model(Box::new(model))).run(x)?)
}
