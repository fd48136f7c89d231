//! Known structure: signs, zeros, and causes that are held.

use efmca::em::{Sign, Structure};
use efmca::tasks::table::TableLearner;
use efmca::{Em, Error, Superposition, Truncation, bars};
use ndarray::{Array2, array};

fn pictures() -> (efmca::Model, Array2<f64>) {
    let truth = bars::model("poisson", 3, &[20.0], &[1.0], 0.25).unwrap();
    let y = truth.sample(500, 3).y;
    (truth, y)
}

#[test]
fn zeros_stay_zeros_and_signs_lead_causes_to_what_was_meant() {
    let (_, y) = pictures();
    // the first cause is the last column of pixels, the second the first row of them
    let known = [2, 5, 8].into_iter().fold(Structure::new(), |known, d| known.sign(0, d, Sign::Plus));
    let known = (0..9).filter(|d| d % 3 != 2).fold(known, |known, d| known.sign(0, d, Sign::Zero));
    let known = (0..3).fold(known, |known, d| known.sign(1, d, Sign::Plus));
    for em in [Em::new(6), Em::new(6).truncated(Truncation::new(30))] {
        let fit = em.family("poisson").structure(known.clone()).starts(4).seed(2).run(&y).unwrap();
        let (means, background) = (fit.model.means(), fit.model.background().clone());
        for d in 0..9 {
            match d % 3 {
                2 => assert!(means[[0, d]] > 15.0, "{means}"),
                _ => assert_eq!(means[[0, d]], background[d], "{means}"),
            }
            assert!(d >= 3 || means[[1, d]] > 15.0, "{means}");
        }
    }
}

#[test]
fn the_bound_never_falls_with_exact_posteriors() {
    let (_, y) = pictures();
    let known = (0..9).fold(Structure::new(), |known, d| known.sign(0, d, if d < 3 { Sign::Plus } else { Sign::Zero }));
    let fit = Em::new(6).family("poisson").structure(known).revive(false).seed(5).run(&y).unwrap();
    let bounds: Vec<f64> = fit.history.iter().map(|step| step.bound).collect();
    assert!(bounds.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9 * pair[0].abs()), "{bounds:?}");
}

#[test]
fn a_sign_that_the_data_deny_ends_at_the_background() {
    let (_, y) = pictures();
    // a column that no cause can raise, because it is noise
    let noise = Array2::from_shape_fn((500, 1), |(n, _)| ((n * 7919) % 5) as f64);
    let y = ndarray::concatenate![ndarray::Axis(1), y, noise];
    let known = Structure::new().sign(0, 9, Sign::Plus).sign(0, 0, Sign::Plus);
    let fit = Em::new(6).family("poisson").structure(known).starts(4).seed(1).run(&y).unwrap();
    let (own, background) = (fit.model.means()[[0, 9]], fit.model.background()[9]);
    assert!(own >= background && own < background + 0.8, "{own} {background}");
}

#[test]
fn held_causes_stay_and_others_are_learned_beside_them() {
    let (truth, y) = pictures();
    let three = truth.most_active(3).unwrap();
    let learner = TableLearner::new().causes(6).structure(Structure::new().hold(three.clone())).seed(1);
    let learned = learner.run(y.view()).unwrap();
    assert_eq!(learned.fit.model.h(), 6);
    assert_eq!(learned.fit.model.means().slice(ndarray::s![..3, ..]), three.means());
    assert!(bars::recovered(&truth, &learned.fit.model));
    // fewer causes than are held: as many as are held
    let fewer = TableLearner::new().causes(1).structure(Structure::new().hold(three)).run(y.view()).unwrap();
    assert_eq!(fewer.fit.model.h(), 3);
}

#[test]
fn signs_of_signed_data_need_the_magnitude() {
    let y = Array2::from_shape_fn((300, 3), |(n, d)| {
        let on = n % 3 == d;
        (if on { -5.0 } else { 0.0 }) + 0.3 * (((n * 31 + d * 17) % 11) as f64 / 5.0 - 1.0)
    });
    let known = Structure::new().sign(0, 1, Sign::Minus).sign(0, 0, Sign::Zero);
    let em = Em::new(3).family("gaussian").structure(known).pseudo_count(0.1).starts(5);
    assert!(matches!(em.clone().run(&y), Err(Error::Column { column: 1, .. })));
    let fit = em.superposition(Superposition::MaxMagnitude).run(&y).unwrap();
    assert!(fit.model.means()[[0, 1]] < -3.0, "{}", fit.model.means());
}

#[test]
fn what_cannot_be_known_is_refused() {
    let (truth, y) = pictures();
    let em = || Em::new(2).family("poisson");
    assert!(matches!(em().structure(Structure::new().sign(2, 0, Sign::Zero)).run(&y), Err(Error::Setting { .. })));
    assert!(matches!(
        em().structure(Structure::new().sign(0, 9, Sign::Zero)).run(&y),
        Err(Error::Column { column: 9, .. })
    ));
    assert!(matches!(em().structure(Structure::new()).spare_causes(2).run(&y), Err(Error::Setting { .. })));
    let other = bars::model("exponential", 3, &[20.0], &[1.0], 0.25).unwrap();
    let held = Structure::new().hold(other.most_active(2).unwrap());
    assert!(matches!(em().structure(held).run(&y), Err(Error::Shape { .. })));
    let both = Structure::new().hold(truth.most_active(2).unwrap()).sign(0, 0, Sign::Zero);
    assert!(matches!(em().structure(both).run(&y), Err(Error::Column { .. })));
    let names = Structure::new().sign(0, 0, Sign::Plus);
    let labels = array![[0.0], [1.0], [2.0], [1.0]];
    let refused = Em::new(1).family("categorical:k=3,order=nominal").structure(names).run(&labels);
    assert!(matches!(refused, Err(Error::Column { column: 0, .. })));
}
