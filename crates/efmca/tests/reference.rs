//! Special functions and densities against values made with SciPy and mpmath.
//!
//! `tests/reference/make_reference.py` writes the tables.

use efmca::family::{family, from_conventional};
use efmca::internals::special::*;

fn table(name: &str, columns: usize) -> Vec<Vec<String>> {
    let path = format!("{}/tests/reference/{name}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    // only the first field may hold a comma, and then it is quoted
    let split = |line: &str| {
        let mut fields: Vec<String> = line.rsplitn(columns, ',').map(|field| field.trim_matches('"').into()).collect();
        fields.reverse();
        fields
    };
    text.lines().skip(1).map(split).collect()
}

#[test]
fn special_functions_agree_to_1e_12() {
    let mut checked = 0;
    for row in table("special.csv", 5) {
        let number = |i: usize| row[i].parse::<f64>();
        let (x, value) = (number(1).unwrap(), number(3).unwrap());
        let y = number(2).unwrap_or(f64::NAN);
        let found = match row[0].as_str() {
            "ln_gamma" => ln_gamma(x),
            "digamma" => digamma(x),
            "trigamma" => trigamma(x),
            "log_minus_digamma" => log_minus_digamma(x),
            "digamma_difference" => digamma_difference(x, y),
            "ln_beta" => ln_beta(x, y),
            "log1p_exp" => log1p_exp(x),
            "log_expm1" => log_expm1(x),
            "logit" => logit(x),
            other => panic!("no function {other}"),
        };
        let mut tolerance = 1e-12 * value.abs();
        if row[0] == "ln_beta" {
            // log B crosses zero between its large terms
            tolerance += 1e-15 * (ln_gamma(x.min(y)).abs() + x.min(y));
        }
        if row[0] == "log_expm1" {
            // it crosses zero at log 2, where x itself is only known to half a unit in the last place
            tolerance += f64::EPSILON;
        }
        assert!((found - value).abs() <= tolerance, "{row:?}: found {found:e}, relative {:e}", (found - value) / value);
        checked += 1;
    }
    assert!(checked > 900);
}

#[test]
fn densities_and_means_agree_to_1e_12() {
    let mut checked = 0;
    for row in table("densities.csv", 6) {
        let family = family(&row[0]).unwrap();
        let parameters: Vec<f64> = row[1].split(';').map(|v| v.parse().unwrap()).collect();
        let (y, value, mean): (f64, f64, f64) =
            (row[2].parse().unwrap(), row[3].parse().unwrap(), row[4].parse().unwrap());
        if !family.support().contains(y) {
            // SciPy has a density at y = 0 for these; a single value has no probability, and it is not in our support
            assert!(y == 0.0 && ["exponential", "half-normal"].contains(&row[0].as_str()), "{row:?}");
            continue;
        }
        let eta = from_conventional(&*family, &parameters).unwrap();
        let found = family.log_density(y, &eta);
        // log h + eta T - A is a sum, as exact as the largest of its terms allows, and eta itself is rounded: that
        // moves the density by up to eta (T - w) units in the last place.
        let (mut t, mut w) = (vec![0.0; family.l()], vec![0.0; family.l()]);
        family.t(y, &mut t);
        family.grad_a(&eta, &mut w);
        let inner: f64 = (0..eta.len()).map(|l| eta[l].abs() * (t[l].abs() + w[l].abs())).sum();
        let terms = family.log_h(y).abs() + inner + family.a(&eta).abs();
        let tolerance = 1e-12 * value.abs() + 16.0 * f64::EPSILON * terms;
        assert!((found - value).abs() <= tolerance, "{row:?}: found {found:e}, terms {terms:e}");
        let f = family.f(&w);
        if mean.is_finite() {
            // how far the mean moves when eta is off by two units in its last place
            let moved = |l: usize, sign: f64| {
                let (mut near, mut w) = (eta.clone(), w.clone());
                near[l] *= 1.0 + sign * 2.0 * f64::EPSILON;
                family.grad_a(&near, &mut w);
                (family.f(&w) - f).abs()
            };
            let shift: f64 = (0..eta.len()).map(|l| moved(l, 1.0) + moved(l, -1.0)).sum();
            assert!((f - mean).abs() <= 1e-12 * mean.abs() + shift, "{row:?}: mean {f:e}, shift {shift:e}");
        } else {
            assert_eq!(f, mean, "{row:?}");
        }
        checked += 1;
    }
    assert!(checked > 1900);
}
