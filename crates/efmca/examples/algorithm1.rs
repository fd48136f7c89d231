//! Algorithm 1 of the paper, line by line: exact EM for EF-MCA models with any family.
//!
//! The engine (`src/em/run.rs`) takes the same steps for thousands of rows and causes at a time; `tests/algorithm1.rs`
//! holds the two against each other. Run it with `cargo run --release -p efmca --example algorithm1`.

#![allow(clippy::print_stdout)]

use efmca::{Background, Em, Init, Model, Result, bars};
use ndarray::{Array1, Array2};

/// One iteration: the new parameters, and $\mathcal F(q, \Theta)$ before it (Eqn. 26), which is the log-likelihood here.
pub fn em_step(model: &Model, y: &Array2<f64>) -> Result<(Model, f64)> {
    let (h, columns) = (model.h(), model.columns());
    // the parameters of cause c in column d; cause H is the background, which is always active
    let w = |c: usize, d: usize| -> Vec<f64> {
        columns.span(d).map(|k| if c < h { model.w_flat()[[c, k]] } else { model.background()[k] }).collect()
    };
    let mut bound = 0.0;
    let mut active_sum = Array1::<f64>::zeros(h); // sum_n E[s_h]
    let mut assigned = Array2::<f64>::zeros((h, columns.d())); // sum_n E[A_dh]
    let mut sums = Array2::<f64>::zeros((h, columns.k())); // sum_n E[A_dh] T_l(y_d)
    for row in y.outer_iter() {
        let (mut winners, mut log_joints) = (Vec::new(), Vec::new());
        for s in 0..1usize << h {
            let active = |c: &usize| s >> c & 1 == 1;
            // Eqn. 8: the prior of the state
            let mut log_joint: f64 =
                (0..h).map(|c| if active(&c) { model.pi()[c].ln() } else { (1.0 - model.pi()[c]).ln() }).sum();
            let mut winner = vec![h; columns.d()];
            for (d, family, _) in columns.iter() {
                // Eqns. 44 and 45: the active cause with the largest M = F(W); ties go to the first
                for c in (0..h).filter(active) {
                    let (new, best) = (family.dominance(&w(c, d)), family.dominance(&w(winner[d], d)));
                    if new > best || (new == best && winner[d] == h) {
                        winner[d] = c;
                    }
                }
                // Eqns. 9, 10 and 43: the observable given its natural parameters Phi(W_bar)
                let mut eta = vec![0.0; family.l()];
                family.phi(&w(winner[d], d), &mut eta);
                log_joint += family.log_density(row[d], &eta);
            }
            winners.push(winner);
            log_joints.push(log_joint);
        }
        // the exact posterior, and log p(y)
        let max = log_joints.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let log_evidence = max + log_joints.iter().map(|log_joint| (log_joint - max).exp()).sum::<f64>().ln();
        bound += log_evidence;
        for (s, (winner, log_joint)) in winners.iter().zip(&log_joints).enumerate() {
            let q = (log_joint - log_evidence).exp();
            (0..h).filter(|c| s >> c & 1 == 1).for_each(|c| active_sum[c] += q);
            for (d, family, span) in columns.iter().filter(|(d, _, _)| winner[*d] < h) {
                // Eqn. 29: A_dh is one for the winner and zero for all others
                assigned[[winner[d], d]] += q;
                let mut t = vec![0.0; family.l()];
                family.t(row[d], &mut t);
                span.zip(t).for_each(|(k, t)| sums[[winner[d], k]] += q * t);
            }
        }
    }
    // Eqn. 40, and Eqn. 47 (38 and 39 for two parameters); an entry that owns nothing stays as it is
    let pi = active_sum.mapv(|active| (active / y.nrows() as f64).clamp(1e-5, 1.0 - 1e-5));
    let mut new = model.w_flat().clone();
    for (d, family, span) in columns.iter() {
        for c in (0..h).filter(|c| assigned[[*c, d]] > 1e-12) {
            let mut entry: Vec<f64> = span.clone().map(|k| sums[[c, k]] / assigned[[c, d]]).collect();
            family.project(&mut entry); // off the edge of the domain, where rounding can put it
            span.clone().zip(entry).for_each(|(k, entry)| new[[c, k]] = entry);
        }
    }
    let background = Background::Fixed(model.background().to_vec());
    Ok((Model::from_parts(columns.clone(), pi, new, background)?, bound))
}

#[allow(clippy::print_stdout)]
fn main() -> Result<()> {
    // six bars on three by three pixels, seen through Poisson noise
    let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.2)?;
    let y = truth.sample(200, 1).y;
    let start = Em::new(6).family("poisson").background(Background::fixed(&[1.0])).seed(3).iterations(0).run(&y)?;
    let (mut model, mut bound) = (start.model.clone(), f64::NEG_INFINITY);
    for _ in 0..20 {
        (model, bound) = em_step(&model, &y)?;
    }
    let engine = Em::new(6).family("poisson").background(Background::fixed(&[1.0])).guard(false).revive(false);
    let fit = engine.init(Init::Model(Box::new(start.model))).iterations(20).tolerance(0.0).run(&y)?;
    let last = fit.history.last().map_or(f64::NAN, |step| step.bound);
    println!("log-likelihood after 20 iterations: {bound:.6} by Algorithm 1, {last:.6} by the engine");
    println!("bars found: {} of 6", bars::found(&truth, &model));
    Ok(())
}
