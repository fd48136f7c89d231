//! Many runs of one model.

use cpu_time::ProcessTime;
use efmca::family::family;
use efmca::{Background, Em, Init, Model, Schedule, bars};
use rayon::prelude::*;
use serde::Serialize;

use super::Line;
use crate::output::Done;

/// A model of the bars test, as in appendix C.1.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Case {
    pub(super) name: &'static str,
    pub(super) family: &'static str,
    /// Bars in each direction; H = 2 b and D = b².
    pub(super) b: usize,
    /// The conventional parameter on a bar, elsewhere, and where nothing is active.
    pub(super) bar: f64,
    pub(super) dark: f64,
    pub(super) nothing: f64,
    pub(super) pi: f64,
    pub(super) n: usize,
}

impl Case {
    /// Means of 10 and 1 on 5 x 5 pixels.
    pub(super) fn exponential(pi: f64) -> Case {
        Case { name: "E-MCA", family: "exponential", b: 5, bar: 0.1, dark: 1.0, nothing: 1e6, pi, n: 1000 }
    }

    /// Probabilities of 0.99 and 0.01 on 5 x 5 pixels.
    pub(super) fn bernoulli(pi: f64) -> Case {
        Case { name: "B-MCA", family: "bernoulli", b: 5, bar: 0.99, dark: 0.01, nothing: 1e-6, pi, n: 1000 }
    }

    /// Means of 10 and 1 on 3 x 3 pixels.
    pub(super) fn poisson(pi: f64) -> Case {
        Case { name: "P-MCA", family: "poisson", b: 3, bar: 10.0, dark: 1.0, nothing: 1e-6, pi, n: 1000 }
    }

    /// Runs of 100 that reached the ground truth in the paper.
    pub(super) fn paper_rate(&self) -> Option<usize> {
        match self.name {
            "E-MCA" => Some(71),
            "B-MCA" => Some(29),
            _ => Some(83),
        }
    }

    /// The generating model. With `empty_is_zero` a picture without bars has mean zero (10⁻⁶, to stay inside the
    /// domain), as the paper's max over nothing does; otherwise it is dark like the rest.
    pub(super) fn truth(&self, empty_is_zero: bool) -> efmca::Result<Model> {
        let family = family(self.family)?;
        let model = bars::model(family.clone(), self.b, &[self.bar], &[self.dark], self.pi)?;
        if !empty_is_zero {
            return Ok(model);
        }
        let nothing = bars::model(family.clone(), 1, &[self.nothing], &[self.nothing], 0.5)?.background()[0];
        Model::new(family, model.pi().clone(), vec![model.w(0)], Background::fixed(&[nothing]))
    }
}

/// How a model is trained.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Recipe {
    pub(super) name: &'static str,
    pub(super) is_paper: bool,
    /// Whether a picture without bars has mean zero, as the paper's max over nothing says, or is dark like the space
    /// between bars.
    pub(super) empty_is_zero: bool,
    /// The exponent of the smooth maximum, if it is used.
    pub(super) rho: Option<f64>,
    pub(super) iterations: usize,
    /// Initial noise in standard deviations of the data.
    pub(super) noise: f64,
    pub(super) starts: usize,
    pub(super) guard: bool,
}

impl Recipe {
    /// Appendix C.1: the mean of the data plus a little noise, pi at 0.3, 50 iterations, one M-step in each.
    pub(super) fn paper() -> Recipe {
        Recipe {
            name: "paper, maximum",
            is_paper: true,
            empty_is_zero: true,
            rho: None,
            iterations: 50,
            noise: 0.05,
            starts: 1,
            guard: false,
        }
    }

    /// The same with the smooth maximum that the appendix speaks of, at the exponent it names.
    pub(super) fn paper_smooth() -> Recipe {
        Recipe { name: "paper, smooth maximum", empty_is_zero: false, rho: Some(21.0), noise: 0.1, ..Recipe::paper() }
    }

    /// What we recommend: twenty short starts, the best goes on, guarded steps, a learned background.
    pub(super) fn recommended() -> Recipe {
        Recipe {
            name: "recommended",
            is_paper: false,
            empty_is_zero: false,
            rho: None,
            iterations: 100,
            noise: 0.05,
            starts: 20,
            guard: true,
        }
    }

    pub(super) fn em(&self, case: &Case, truth: &Model, seed: u64) -> efmca::Result<Em> {
        let em = Em::new(2 * case.b)
            .family(case.family)
            .iterations(self.iterations)
            .init(Init::MeanNoise { scale: self.noise })
            .guard(self.guard)
            .seed(seed);
        let em = match self.rho {
            Some(rho) => em.rho(Schedule::Constant(rho)),
            None => em,
        };
        Ok(if self.is_paper {
            let background = Background::Fixed(truth.background().to_vec());
            em.background(background).pi_init(0.3, 0.3).revive(false).tolerance(0.0)
        } else {
            em.starts(self.starts).short_iterations(10)
        })
    }
}

/// What became of one run.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Outcome {
    pub(super) seed: u64,
    pub(super) log_likelihood: f64,
    pub(super) ground_truth: f64,
    /// Whether each bar is found by a cause of its own.
    pub(super) recovered: bool,
    pub(super) dips: usize,
    pub(super) largest_dip: f64,
    /// The log-likelihood before each iteration and at the end; it is drawn, and too long for the JSON.
    #[serde(skip)]
    pub(super) curve: Vec<f64>,
}

impl Outcome {
    /// The paper's criterion: at least the log-likelihood of the generating parameters.
    pub(super) fn reached(&self) -> bool {
        self.log_likelihood >= self.ground_truth
    }
}

/// `runs` runs of `case`; five times as many of the small one, which costs a twentieth and whose rates are then known
/// better.
pub(super) fn line(case: &Case, recipe: &Recipe, runs: usize, seed: u64, paper: Option<usize>) -> Done<Line> {
    let runs = if case.b < 5 { 5 * runs } else { runs };
    let truth = case.truth(recipe.empty_is_zero)?;
    let start = ProcessTime::now();
    let outcomes: efmca::Result<Vec<Outcome>> = (0..runs as u64)
        .into_par_iter()
        .map(|run| {
            let y = truth.sample(case.n, 1000 * seed + run).y;
            let fit = recipe.em(case, &truth, 1_000_000 * seed + run)?.run(&y)?;
            let (dips, largest_dip) = fit.dips();
            Ok(Outcome {
                seed: run,
                log_likelihood: fit.bound,
                ground_truth: truth.log_likelihood(&y)?,
                recovered: bars::recovered(&truth, &fit.model),
                dips,
                largest_dip,
                curve: fit.history.iter().map(|step| step.bound).chain([fit.bound]).collect(),
            })
        })
        .collect();
    let cpu_seconds = start.elapsed().as_secs_f64();
    Ok(Line { case: case.clone(), recipe: recipe.clone(), paper, outcomes: outcomes?, cpu_seconds })
}
