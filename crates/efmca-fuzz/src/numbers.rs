//! The functions of families with any bits.

use efmca::SharedFamily;
use efmca::family::registry::entries;
use efmca::family::{Family, check, checked_a, checked_phi, family, from_conventional};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use crate::{Choices, said};

/// The families that show the range of the registry, and some that people ask for.
pub(crate) fn families() -> &'static [SharedFamily] {
    use std::sync::OnceLock;
    static ALL: OnceLock<Vec<SharedFamily>> = OnceLock::new();
    ALL.get_or_init(|| {
        let examples = entries().iter().flat_map(|entry| entry.examples).copied();
        let more = ["hurdle-log-normal", "hurdle-negative-binomial:r=2", "gamma:k=0.01", "ordinal:codes=-1/0/2.5"];
        examples.chain(more).filter_map(|spec| family(spec).ok()).collect()
    })
}

/// Whether results must be numbers, too: beyond this, squares and sums of parameters leave the range of `f64`. (Training refuses
/// statistics beyond 1e140.)
fn ordinary(values: &[f64]) -> bool {
    values.iter().all(|value| *value == 0.0 || (1e-100..=1e100).contains(&value.abs()))
}

/// Numbers from outside go to the functions that check, and what these accept to the ones that trust. Nothing may panic, and of
/// ordinary numbers all results are numbers, and draws lie in the support.
pub(crate) fn parameters(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let all = families();
    let family = &*all[choices.below(all.len())];
    let y = choices.number();
    let given: Vec<f64> = (0..family.l()).map(|_| choices.number()).collect();
    let (spec, usual) = (family.spec(), ordinary(&given));
    let usable = said(check(family, y, 0, 0)).is_some();
    if usable {
        let mut t = vec![0.0; family.l()];
        family.t(y, &mut t);
        let log_h = family.log_h(y);
        let numbers = !log_h.is_nan() && t.iter().all(|t| !t.is_nan());
        assert!(numbers || !ordinary(&[y]), "{spec}: y = {y}, T = {t:?}, log h = {log_h}");
    }
    // as natural parameters
    let natural = said(checked_a(family, &given)).map(|a| {
        assert!(!a.is_nan() || !usual, "{spec}: A({given:?}) is NaN");
        given.clone()
    });
    // as mean parameters
    let of_means = said(checked_phi(family, &given)).inspect(|eta| {
        assert!(eta.iter().all(|eta| eta.is_finite()), "{spec}: Phi({given:?}) = {eta:?}");
        let (dominance, mean) = (family.dominance(&given), family.f(&given));
        assert!(!usual || !(dominance.is_nan() || mean.is_nan()), "{spec}: {given:?}: {dominance}, {mean}");
    });
    // as people write them
    let written: Vec<f64> =
        (0..family.parameters().len()).map(|place| given.get(place).copied().unwrap_or(y)).collect();
    let conventional = said(from_conventional(family, &written));
    for eta in [natural, of_means, conventional].into_iter().flatten() {
        of_member(family, &eta, Some(y).filter(|_| usable));
    }
    // averages of statistics are moved inside
    if given.iter().all(|value| value.is_finite()) {
        let mut moved = given.clone();
        family.project(&mut moved);
        let inside = moved.iter().all(|w| w.is_finite()) && family.inside(&moved);
        assert!(inside || !usual, "{spec}: {given:?} is moved to {moved:?}");
    }
}

/// All that can be asked of the member with natural parameters `eta`.
fn of_member(family: &dyn Family, eta: &[f64], y: Option<f64>) {
    let (spec, mut w) = (family.spec(), vec![0.0; family.l()]);
    family.grad_a(eta, &mut w);
    let (a, density) = (family.a(eta), y.map(|y| family.log_density(y, eta)));
    assert_eq!(family.conventional(eta).len(), family.parameters().len());
    let drawn = family.sample(eta, &mut ChaCha8Rng::seed_from_u64(1));
    if !ordinary(eta) || !ordinary(&w) {
        return;
    }
    assert!(!a.is_nan(), "{spec}: A({eta:?})");
    assert!(family.support().contains(drawn), "{spec}: {drawn} was drawn with {eta:?}");
    if let (Some(y), Some(density)) = (y.filter(|y| ordinary(&[*y])), density) {
        assert!(!density.is_nan(), "{spec}: log p({y}; {eta:?})");
    }
}
