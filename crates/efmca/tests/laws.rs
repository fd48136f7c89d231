//! The laws of an exponential family, written once and run over every example of the registry.

use efmca::family::registry::entries;
use efmca::family::{
    Family, Measure, Noise, Parameter, Range, SharedFamily, check, checked_phi, expectation, family, from_conventional,
};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn all_families() -> Vec<SharedFamily> {
    entries().iter().flat_map(|entry| entry.examples).map(|spec| family(spec).unwrap()).collect()
}

/// Values of one parameter: over its whole usable range, or where quadrature and sampling see all the mass.
fn values(range: Range, moderate: bool) -> Vec<f64> {
    let log_spaced = |low: f64, high: f64| -> Vec<f64> {
        (0..7).map(|i| (low.ln() + (high / low).ln() * f64::from(i) / 6.0).exp()).collect()
    };
    match range {
        Range::Positive(low, high) if moderate => log_spaced(low.max(0.12), high.min(40.0)),
        Range::Positive(low, high) => log_spaced(low, high),
        Range::Real(..) if moderate => vec![-11.0, -0.7, 0.0, 3.0],
        Range::Real(low, high) => vec![low, 0.1 * low, -0.7, 0.0, 0.3, 0.2 * high, high],
        Range::Probability if moderate => vec![0.03, 0.2, 0.5, 0.7, 0.97],
        Range::Probability => vec![1e-6, 1e-3, 0.1, 0.499_999, 0.5, 0.73, 0.999, 1.0 - 1e-6],
        Range::Share => vec![],
    }
}

/// Conventional parameters all over the usable range of a family.
fn grid(family: &dyn Family, moderate: bool) -> Vec<Vec<f64>> {
    let parameters = family.parameters();
    if parameters[0].range == Range::Share {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let floor: f64 = if moderate { 0.1 } else { 1e-9 };
        return (0..20)
            .map(|_| {
                let p: Vec<f64> = parameters.iter().map(|_| floor.powf(rng.random())).collect();
                let total: f64 = p.iter().sum();
                p.iter().map(|v| v / total).collect()
            })
            .collect();
    }
    let extend = |points: Vec<Vec<f64>>, parameter: &Parameter| {
        let choices = values(parameter.range, moderate);
        points.iter().flat_map(|p| choices.iter().map(|v| [&p[..], &[*v]].concat()).collect::<Vec<_>>()).collect()
    };
    parameters.iter().fold(vec![vec![]], extend)
}

fn naturals(family: &dyn Family, moderate: bool) -> Vec<(Vec<f64>, Vec<f64>)> {
    let natural = |p: Vec<f64>| (from_conventional(family, &p).unwrap(), p);
    grid(family, moderate).into_iter().map(natural).map(|(eta, p)| (p, eta)).collect()
}

fn mean_parameters(family: &dyn Family, eta: &[f64]) -> Vec<f64> {
    let mut w = vec![0.0; family.l()];
    family.grad_a(eta, &mut w);
    w
}

/// How far `phi` moves when each mean parameter is off by a few units in its last place. No algorithm that is given `w`
/// as f64 can do better; it exceeds 1e-9 only at the far ends (a Gamma shape of 1e6 sits in the last 7 digits of
/// `log w1 - w2`).
///
/// The slope is measured over steps as long as `phi` is nearly straight, so that noise in `phi` itself would not widen
/// the bound that it is held to.
fn conditioning(family: &dyn Family, w: &[f64]) -> Vec<f64> {
    let phi = |w: &[f64]| {
        let mut eta = vec![0.0; w.len()];
        family.phi(w, &mut eta);
        eta
    };
    let at = phi(w);
    let mut limit = vec![0.0; w.len()];
    for l in 0..w.len() {
        for sign in [-1.0, 1.0] {
            for step in (6..=15).map(|digits| 10f64.powi(-digits)) {
                let mut near = w.to_vec();
                near[l] += sign * step * w[l].abs();
                if !family.inside(&near) {
                    continue;
                }
                let moved: Vec<f64> = phi(&near).iter().zip(&at).map(|(a, b)| (a - b).abs()).collect();
                if moved.iter().zip(&at).all(|(moved, eta)| *moved <= 0.1 * eta.abs()) || step < 2e-15 {
                    let units = 4.0 * f64::EPSILON / step;
                    limit.iter_mut().zip(&moved).for_each(|(limit, moved)| *limit += units * moved);
                    break;
                }
            }
        }
    }
    limit
}

#[test]
fn phi_inverts_grad_a() {
    for family in all_families() {
        for (p, eta) in naturals(&*family, false) {
            let w = mean_parameters(&*family, &eta);
            if !family.inside(&w) {
                // 1 - 1e-17 is 1: the mean parameters themselves cannot be written as f64
                continue;
            }
            let back = checked_phi(&*family, &w).unwrap();
            let limit = conditioning(&*family, &w);
            for l in 0..eta.len() {
                let error = (back[l] - eta[l]).abs();
                assert!(
                    error <= 1e-9 * eta[l].abs() + limit[l] + 4.0 * f64::EPSILON,
                    "{} at {p:?}: eta {eta:?}, back {back:?}, w {w:?}, limit {limit:?}",
                    family.spec()
                );
            }
        }
    }
}

#[test]
fn shapes_and_scales_survive_the_round_trip() {
    // In the coordinates people use: 1e-9 relative, for shapes from 1e-3 to 1e6, unless w itself is the limit.
    for spec in ["gamma", "beta", "inverse-gaussian", "hurdle-gamma", "hurdle-beta", "gaussian", "log-normal"] {
        let family = family(spec).unwrap();
        for (p, eta) in naturals(&*family, false) {
            let w = mean_parameters(&*family, &eta);
            if !family.inside(&w) {
                continue;
            }
            let back = checked_phi(&*family, &w).unwrap();
            let limit = conditioning(&*family, &w);
            let widened: Vec<f64> = back.iter().zip(&limit).map(|(b, l)| b + l).collect();
            let (found, reach) = (family.conventional(&back), family.conventional(&widened));
            for i in 0..p.len() {
                let allowed = 1e-9 * p[i].abs() + (reach[i] - found[i]).abs() + 4.0 * f64::EPSILON;
                assert!((found[i] - p[i]).abs() <= allowed, "{spec} {p:?}: {found:?}");
            }
        }
    }
}

#[test]
fn grad_a_is_the_gradient_of_a() {
    for family in all_families() {
        for (p, eta) in naturals(&*family, false) {
            let w = mean_parameters(&*family, &eta);
            for l in 0..eta.len() {
                let shifted = |h: f64| {
                    let mut near = eta.clone();
                    near[l] += h;
                    near
                };
                // the natural unit of eta_l is one over the standard deviation of T_l
                let nudge = 1e-7 * eta[l].abs().max(1e-3);
                let variance = (mean_parameters(&*family, &shifted(-nudge))[l] - w[l]) / -nudge;
                let deviation = variance.max(0.0).sqrt();
                // Too long a step sees the curvature, too short a one the rounding of A: some step must do.
                let best = (0..8)
                    .map(|k| 0.01 / deviation.max(1e-300) * 0.1f64.powi(k))
                    .filter(|h| family.natural_inside(&shifted(30.0 * h)) && family.natural_inside(&shifted(-30.0 * h)))
                    .map(|h| {
                        let a = |k: f64| family.a(&shifted(k * h));
                        (8.0 * (a(1.0) - a(-1.0)) - (a(2.0) - a(-2.0))) / (12.0 * h)
                    })
                    .min_by(|a, b| (a - w[l]).abs().total_cmp(&(b - w[l]).abs()))
                    .unwrap();
                assert!(
                    (best - w[l]).abs() <= 1e-6 * (w[l].abs() + deviation),
                    "{} at {p:?}, l = {l}: difference {best}, grad_a {}",
                    family.spec(),
                    w[l]
                );
            }
        }
    }
}

#[test]
fn densities_integrate_to_one_and_have_the_right_means() {
    for family in all_families() {
        for (p, eta) in naturals(&*family, true) {
            if family.spec().ends_with("beta") && p[p.len() - 1] < 0.6 {
                // more than 1e-9 of the mass lies above the largest f64 below 1
                continue;
            }
            let w = mean_parameters(&*family, &eta);
            let close = |found: f64, exact: f64, what: &str| {
                let scale = exact.abs().max(1e-3);
                assert!((found - exact).abs() < 1e-9 * scale, "{} {p:?}: {what} {found} != {exact}", family.spec());
            };
            close(expectation(&*family, &eta, |_| 1.0), 1.0, "total");
            for l in 0..w.len() {
                let statistic = |y: f64| {
                    let mut t = vec![0.0; w.len()];
                    family.t(y, &mut t);
                    t[l]
                };
                close(expectation(&*family, &eta, statistic), w[l], "E[T]");
            }
            let mean = family.f(&w);
            // A tail so heavy that the mean barely exists is out of reach of quadrature.
            let barely = family.spec().starts_with("pareto") && w[0] > 0.7;
            if mean.is_finite() && !barely {
                close(expectation(&*family, &eta, |y| family.score(y)), mean, "E[y]");
            }
        }
    }
}

#[test]
fn infinite_means_are_said_to_be_infinite_and_still_ordered() {
    let inverse_gamma = family("inverse-gamma:alpha=0.7").unwrap();
    let pareto = family("pareto:xm=2").unwrap();
    let cases: [(&SharedFamily, f64, f64); 2] = [(&inverse_gamma, 1.0, 5.0), (&pareto, 0.9, 0.5)];
    for (family, small, large) in cases {
        let w = |value: f64| mean_parameters(&**family, &from_conventional(&**family, &[value]).unwrap());
        assert_eq!(family.f(&w(small)), f64::INFINITY);
        assert!(family.dominance(&w(large)) > family.dominance(&w(small)), "{}", family.spec());
    }
}

#[test]
fn samples_lie_in_the_support_and_average_to_w() {
    const N: usize = 20_000;
    for family in all_families() {
        let points = naturals(&*family, true);
        for (p, eta) in points.iter().step_by((points.len() / 12).max(1)) {
            let w = mean_parameters(&*family, eta);
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let (mut sum, mut squares) = (vec![0.0; w.len()], vec![0.0; w.len()]);
            let mut t = vec![0.0; w.len()];
            for _ in 0..N {
                let y = family.sample(eta, &mut rng);
                check(&*family, y, 0, 0).unwrap();
                family.t(y, &mut t);
                for l in 0..w.len() {
                    sum[l] += t[l];
                    squares[l] += t[l] * t[l];
                }
            }
            for l in 0..w.len() {
                let mean = sum[l] / N as f64;
                let deviation = (squares[l] / N as f64 - mean * mean).max(0.0).sqrt() / (N as f64).sqrt();
                assert!(
                    (mean - w[l]).abs() < 5.5 * deviation + 1e-9 * w[l].abs(),
                    "{} {p:?} l = {l}: sampled {mean} ± {deviation}, exact {}",
                    family.spec(),
                    w[l]
                );
            }
        }
    }
}

#[test]
fn samples_keep_their_values() {
    // Three draws of each family; a change here changes every seed's results and belongs in the changelog.
    let mut found = String::new();
    for family in all_families() {
        let points = naturals(&*family, true);
        let (_, eta) = &points[points.len() / 2];
        let mut rng = ChaCha8Rng::seed_from_u64(42);
        let draws: Vec<String> = (0..3).map(|_| format!("{:.9e}", family.sample(eta, &mut rng))).collect();
        found += &format!("{} {}\n", family.spec(), draws.join(" "));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pinned/samples.txt");
    if std::env::var_os("EFMCA_UPDATE_PINNED").is_some() {
        std::fs::write(path, &found).unwrap();
    }
    assert_eq!(found, std::fs::read_to_string(path).unwrap());
}

/// Points in, on the edge of, and far outside of every mean domain.
fn trial_points(l: usize) -> Vec<Vec<f64>> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let special = [0.0, 1.0, -1.0, 0.5, 2.0, 12.0, 1e-300, 1e-13, -1e-13, 1e9, -1e9, 1e30, -1e30];
    let mut points: Vec<Vec<f64>> = special.iter().map(|v| vec![*v; l]).collect();
    for _ in 0..200 {
        points.push((0..l).map(|_| special[rng.random_range(0..special.len())]).collect());
        points.push((0..l).map(|_| 10f64.powf(rng.random_range(-5.0..5.0)) * rng.random_range(-1.0..1.0)).collect());
    }
    points
}

#[test]
fn project_lands_inside_and_is_idempotent() {
    for family in all_families() {
        let mut points = trial_points(family.l());
        // the statistics of single values lie on the edge of the domain
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        for (_, eta) in naturals(&*family, true) {
            let mut t = vec![0.0; family.l()];
            family.t(family.sample(&eta, &mut rng), &mut t);
            points.push(t);
        }
        for point in points {
            let mut w = point.clone();
            family.project(&mut w);
            assert!(family.inside(&w), "{}: {point:?} -> {w:?} is not inside", family.spec());
            let mut eta = vec![0.0; w.len()];
            family.phi(&w, &mut eta);
            assert!(family.natural_inside(&eta), "{}: {point:?} -> {w:?} -> {eta:?}", family.spec());
            assert!(family.a(&eta).is_finite() && !family.dominance(&w).is_nan(), "{}: {w:?}", family.spec());
            let once = w.clone();
            family.project(&mut w);
            assert_eq!(w, once, "{}: {point:?} is moved twice", family.spec());
        }
    }
}

#[test]
fn project_leaves_the_usable_range_alone() {
    for family in all_families() {
        for (p, eta) in naturals(&*family, false) {
            let w = mean_parameters(&*family, &eta);
            let mut projected = w.clone();
            family.project(&mut projected);
            let unwritable = !family.inside(&w);
            assert!(unwritable || w == projected, "{} {p:?}: {w:?} -> {projected:?}", family.spec());
        }
    }
}

#[test]
fn everything_outside_the_domain_is_refused() {
    for family in all_families() {
        let spec = family.spec();
        let support = family.support();
        for y in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(check(&*family, y, 3, 4).is_err(), "{spec} takes {y}");
        }
        for y in [-1.5, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 1e6, 0.5f64.next_up()] {
            match check(&*family, y, 3, 4) {
                Ok(()) => assert!(support.contains(y)),
                Err(error) => {
                    let message = error.to_string();
                    assert!(message.contains("row 4, column 5") && message.contains(&y.to_string()), "{message}");
                    assert!(message.contains(&spec), "{message}");
                    assert!(family.log_density(y, &naturals(&*family, true)[0].1) == f64::NEG_INFINITY, "{spec} {y}");
                }
            }
        }
        if support.measure == Measure::Counting {
            assert!(!support.contains(1.5));
        }
        for w in trial_points(family.l()) {
            if !family.inside(&w) {
                let message = checked_phi(&*family, &w).unwrap_err().to_string();
                assert!(message.contains(&spec) && message.contains(&family.domain()), "{message}");
            }
        }
        assert!(checked_phi(&*family, &vec![f64::NAN; family.l()]).is_err(), "{spec} takes NaN");
        assert!(checked_phi(&*family, &vec![0.5; family.l() + 1]).is_err(), "{spec} takes a longer w");
        let parameters = family.parameters();
        for bad in [-1e-9, f64::NAN, f64::INFINITY] {
            let real = matches!(parameters[0].range, Range::Real(..));
            if bad.is_finite() && real {
                continue;
            }
            let mut values = naturals(&*family, true)[0].0.clone();
            values[0] = bad;
            let message = from_conventional(&*family, &values).unwrap_err().to_string();
            assert!(message.contains(&parameters[0].name), "{message}");
        }
    }
}

#[test]
fn special_cases_coincide() {
    let pairs: [(&str, &[f64], &str, &[f64]); 10] = [
        ("exponential", &[0.7], "gamma:k=1", &[0.7]),
        ("exponential", &[0.7], "weibull:k=1", &[1.0 / 0.7]),
        ("gamma:k=4", &[0.7], "gamma", &[4.0, 0.7]),
        ("rayleigh", &[1.3], "nakagami:m=1", &[2.0 * 1.3 * 1.3]),
        ("rayleigh", &[1.3], "weibull:k=2", &[1.3 * std::f64::consts::SQRT_2]),
        ("half-normal", &[1.3], "gen-gamma:d=1,p=2", &[1.3 * std::f64::consts::SQRT_2]),
        ("maxwell", &[1.3], "gen-gamma:d=3,p=2", &[1.3 * std::f64::consts::SQRT_2]),
        ("gaussian:var=2.25", &[0.4], "gaussian", &[0.4, 2.25]),
        ("gaussian:mean=1.5", &[0.4], "gaussian", &[1.5, 0.4]),
        ("hurdle-gamma:k=4", &[0.3, 0.7], "hurdle-gamma", &[0.3, 4.0, 0.7]),
    ];
    for (one, p, other, q) in pairs {
        let (one, other) = (family(one).unwrap(), family(other).unwrap());
        let (eta, theta) = (from_conventional(&*one, p).unwrap(), from_conventional(&*other, q).unwrap());
        for y in [0.01, 0.5, 1.0, 3.7] {
            let (a, b) = (one.log_density(y, &eta), other.log_density(y, &theta));
            assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{} {}: {a} {b}", one.spec(), other.spec());
        }
        let (w, v) = (mean_parameters(&*one, &eta), mean_parameters(&*other, &theta));
        let (a, b) = (one.f(&w), other.f(&v));
        assert!((a - b).abs() < 1e-13 * (1.0 + a.abs()), "{} {}: {a} {b}", one.spec(), other.spec());
    }
}

#[test]
fn held_parameters_stay_and_the_others_move() {
    for family in all_families() {
        let points = naturals(&*family, true);
        let (old, new) = (&points[0].1, &points[points.len() / 2].1);
        let (old, target) = (mean_parameters(&*family, old), mean_parameters(&*family, new));
        let mut free = old.clone();
        family.update(&target, &vec![false; old.len()], &mut free);
        for (a, b) in free.iter().zip(&target) {
            assert!((a - b).abs() <= 1e-13 * b.abs(), "{}", family.spec());
        }
        let mut held = old.clone();
        family.update(&target, &vec![true; old.len()], &mut held);
        for (a, b) in held.iter().zip(&old) {
            assert!((a - b).abs() <= 1e-13 * b.abs(), "{}", family.spec());
        }
    }
    // The Gaussian holds its mean or its variance, as the paper's two-phase schedule does.
    let gaussian = family("gaussian").unwrap();
    let mut w = [1.0, 1.0 + 4.0];
    gaussian.update(&[3.0, 10.0], &[false, true], &mut w);
    assert_eq!(w, [3.0, 9.0 + 4.0]);
    let mut w = [1.0, 1.0 + 4.0];
    gaussian.update(&[3.0, 10.0], &[true, false], &mut w);
    assert_eq!(w[1] - w[0] * w[0], 10.0 - 2.0 * 3.0 + 1.0); // E[(y - 1)²]
}

#[test]
fn sums_have_the_mean_and_the_variance_of_their_family() {
    let mut families = 0;
    for one in all_families() {
        let Some(sum) = one.sum_of(4) else { continue };
        families += 1;
        assert_eq!(sum.l(), one.l(), "{}", one.spec());
        let moments = |family: &dyn Family, eta: &[f64]| {
            let mean = expectation(family, eta, |y| y);
            (mean, expectation(family, eta, |y| (y - mean).powi(2)))
        };
        for (p, eta) in naturals(&*one, true) {
            // the member of the sums with four times the mean statistics of values that add up: found by its mean and variance
            let (mean, variance) = moments(&*one, &eta);
            let mut rng = ChaCha8Rng::seed_from_u64(5);
            let draws: Vec<f64> = (0..4000).map(|_| (0..4).map(|_| one.sample(&eta, &mut rng)).sum()).collect();
            assert!(draws.iter().all(|y| sum.support().contains(*y)), "{} {p:?}", sum.spec());
            let mut w = vec![0.0; sum.l()];
            let mut t = vec![0.0; sum.l()];
            for y in &draws {
                sum.t(*y, &mut t);
                w.iter_mut().zip(&t).for_each(|(w, t)| *w += t / draws.len() as f64);
            }
            sum.project(&mut w);
            let mut found = vec![0.0; sum.l()];
            sum.phi(&w, &mut found);
            let (sum_mean, sum_variance) = moments(&*sum, &found);
            let scale = (4.0 * variance).sqrt();
            assert!((sum_mean - 4.0 * mean).abs() < 0.1 * scale, "{} {p:?}: {sum_mean}, {mean}", sum.spec());
            let ratio = sum_variance / (4.0 * variance);
            assert!((0.8..1.25).contains(&ratio), "{} {p:?}: {ratio}", sum.spec());
        }
    }
    assert!(families > 6, "{families}");
}

#[test]
fn parts_are_independent_and_have_their_share() {
    let (mut families, share, n) = (0, 0.7, 20_000);
    for whole in all_families() {
        let Some(part) = whole.part(share) else { continue };
        families += 1;
        for (p, eta) in naturals(&*whole, true) {
            let mean = expectation(&*whole, &eta, |y| y);
            let variance = expectation(&*whole, &eta, |y| (y - mean).powi(2));
            // a camera's values are sums of parts where there are photons; members below its offset are no camera's
            let spec = whole.spec();
            let offset =
                spec.strip_prefix("camera:").and_then(|fixed| fixed.split(',').nth(1)?.split('=').nth(1)?.parse().ok());
            if offset.is_some_and(|offset: f64| mean < offset) {
                continue;
            }
            let mut rng = ChaCha8Rng::seed_from_u64(7);
            let pairs: Vec<(f64, f64)> = (0..n)
                .map(|_| {
                    let y = whole.sample(&eta, &mut rng);
                    let one = part.draw(y, Noise { mean, variance }, &mut rng);
                    assert!(part.family.support().contains(one), "{} {p:?}: {one} of {y}", whole.spec());
                    (one, y - one)
                })
                .collect();
            let average = |of: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / n as f64;
            let (one, rest) = (average(&|pair| pair.0), average(&|pair| pair.1));
            let error = (variance / n as f64).sqrt();
            assert!((one - share * mean).abs() < 5.0 * error, "{} {p:?}: {one} of {mean}", whole.spec());
            let (spread, other) = (average(&|pair| (pair.0 - one).powi(2)), average(&|pair| (pair.1 - rest).powi(2)));
            let shared = average(&|pair| (pair.0 - one) * (pair.1 - rest));
            // heavy tails have few values to tell by
            let kurtosis = average(&|pair| ((pair.0 + pair.1 - mean) / variance.sqrt()).powi(4)).max(3.0);
            let tolerance = 6.0 * (kurtosis / n as f64).sqrt();
            assert!((spread / variance - share).abs() < tolerance, "{} {p:?}: {spread} of {variance}", whole.spec());
            assert!((other / variance - 1.0 + share).abs() < tolerance, "{} {p:?}: {other}", whole.spec());
            assert!((shared / variance).abs() < tolerance, "{} {p:?}: {shared} of {variance}", whole.spec());
        }
    }
    assert!(families > 8, "{families}");
}
