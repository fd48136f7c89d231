//! The smooth maximum, and causes so sharp that the others could lose their digits.

mod common;

use common::*;
use efmca::family::family;
use efmca::{Background, Em, Init, Model, Schedule, Superposition};
use ndarray::{Array2, array};

#[test]
fn the_smooth_maximum_is_the_papers() {
    // one Poisson column, two causes and a background: every state can be written down
    let (w, background, pi, rho): ([f64; 2], f64, f64, f64) = ([4.0, 2.5], 1.5, 0.3, 7.0);
    let model = Model::new(
        family("poisson").unwrap(),
        array![pi, pi],
        vec![array![[w[0]], [w[1]]]],
        Background::fixed(&[background]),
    )
    .unwrap()
    .with_superposition(Superposition::Smooth { rho })
    .unwrap();
    let norm = |active: &[f64]| active.iter().map(|w| w.powf(rho)).sum::<f64>().powf(1.0 / rho);
    let means =
        [norm(&[background]), norm(&[background, w[0]]), norm(&[background, w[1]]), norm(&[background, w[0], w[1]])];
    let prior = [(1.0 - pi) * (1.0 - pi), pi * (1.0 - pi), pi * (1.0 - pi), pi * pi];
    for y in 0..9 {
        let factorial: f64 = (1..=y).map(f64::from).product();
        let expected: f64 = (0..4).map(|s| prior[s] * means[s].powi(y) * (-means[s]).exp() / factorial).sum();
        let found = model.log_likelihood(&array![[f64::from(y)]]).unwrap();
        assert!(close(found, expected.ln(), 1e-12), "{y}: {found} {}", expected.ln());
    }
    // and with a large exponent it is the maximum, for every family
    for family in all_families() {
        let rho = 1e7;
        for (hard, soft) in [
            (Superposition::Max, Superposition::Smooth { rho }),
            (Superposition::MaxMagnitude, Superposition::SmoothMagnitude { rho }),
        ] {
            let model = random_model(vec![family.clone(); 3], 3, 5);
            let (hard, soft) =
                (model.clone().with_superposition(hard).unwrap(), model.with_superposition(soft).unwrap());
            let y = hard.sample(20, 1).y;
            let (a, b) = (hard.log_likelihood(&y).unwrap(), soft.log_likelihood(&y).unwrap());
            assert!(close(a, b, 1e-4), "{}: {a} {b}", family.spec());
        }
    }
}

#[test]
fn the_smooth_m_step_shares_the_data() {
    // one column, one cause and a background: two states, and the shares can be written down
    let (w, background, pi, rho): (f64, f64, f64, f64) = (4.0, 2.5, 0.3, 3.0);
    let model = Model::new(family("poisson").unwrap(), array![pi], vec![array![[w]]], Background::fixed(&[background]))
        .unwrap();
    let share = w.powf(rho) / (w.powf(rho) + background.powf(rho));
    let both = (w.powf(rho) + background.powf(rho)).powf(1.0 / rho);
    let y = array![[3.0], [7.0], [0.0], [5.0]];
    let log_density = |mean: f64, y: f64| y * mean.ln() - mean;
    let (mut sum, mut count) = (0.0, 0.0);
    for y in &y {
        let (on, off) = (pi * log_density(both, *y).exp(), (1.0 - pi) * log_density(background, *y).exp());
        let q = on / (on + off);
        sum += q * share * y;
        count += q * share;
    }
    let fit = Em::new(1)
        .family("poisson")
        .init(Init::Model(Box::new(model)))
        .rho(Schedule::Constant(rho))
        .iterations(1)
        .guard(false)
        .run(&y)
        .unwrap();
    assert_eq!(fit.history[0].rho, Some(rho));
    assert!(close(fit.model.w(0)[[0, 0]], sum / count, 1e-12));
    assert_eq!(fit.model.superposition(), Superposition::Max);
    // shares too, not only the likelihood: with two equal causes each owns its half and both learn the same
    let twins =
        Model::new(family("poisson").unwrap(), array![0.4, 0.4], vec![array![[6.0], [6.0]]], Background::fixed(&[0.1]));
    let em = Em::new(2).family("poisson").init(Init::Model(Box::new(twins.unwrap())));
    let fit = em.rho(Schedule::Constant(5.0)).iterations(4).run(&y).unwrap();
    assert!(close(fit.model.w(0)[[0, 0]], fit.model.w(0)[[1, 0]], 1e-12));
}

#[test]
fn a_sharp_cause_or_background_leaves_the_other_states_their_digits() {
    for sharp in [1e-6f64, 1e-12, 1e-16, 1e-30] {
        let exact = (0.5 * (-1.0f64).exp() + 0.5 * (-1.0 / sharp).exp() / sharp).ln();
        let exponential = family("exponential").unwrap();
        let background =
            Model::new(exponential.clone(), array![0.5], vec![array![[1.0]]], Background::fixed(&[sharp])).unwrap();
        let found = background.log_likelihood(&array![[1.0]]).unwrap();
        assert!(close(found, exact, 1e-14), "background {sharp}: {found} {exact}");
        let causes = Model::new(
            exponential,
            array![0.5, 0.3],
            vec![array![[sharp, 2.0], [1.0, 3.0]]],
            Background::fixed(&[0.1 * sharp]),
        )
        .unwrap();
        let y = array![[1.0, 2.5], [0.3, 4.0]];
        let expected: f64 = y.outer_iter().map(|row| posterior(&causes, &row.to_vec(), 1.0).1).sum();
        let found = causes.log_likelihood(&y).unwrap();
        assert!(close(found, expected, 1e-13), "cause {sharp}: {found} {expected}");
    }
    // columns that are exactly zero unless a cause is on
    let truth = Model::new(
        family("gaussian:var=1").unwrap(),
        array![0.4],
        vec![array![[5.0, 5.0, 5.0]]],
        Background::fixed(&[0.0]),
    )
    .unwrap();
    let drawn = truth.sample(400, 1);
    let y = Array2::from_shape_fn((400, 3), |(n, d)| if drawn.s[[n, 0]] > 0.0 { drawn.y[[n, d]] } else { 0.0 });
    let fit = Em::new(1).family("gaussian").run(&y).unwrap();
    assert!(fit.bound > 0.0 && fit.bound < 1e7, "{}", fit.bound);
    assert!((fit.model.w(0)[[0, 0]] - 5.0).abs() < 0.5);
}
