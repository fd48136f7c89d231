//! Special functions of positive arguments, accurate to a few units in the last place.
//!
//! The log-gamma function comes from `libm`. The digamma family, and the differences that would cancel if they
//! were written out naively, are here. Every function is compared with reference values in
//! `tests/reference/special.csv`.

/// Half of $\log 2\pi$, the constant of Stirling's formula and of the Gaussian density.
pub const HALF_LN_TWO_PI: f64 = 0.918_938_533_204_672_8;

/// From here on the asymptotic series below reach full precision.
const ASYMPTOTIC: f64 = 10.0;

/// $\log\Gamma(x)$ for $x > 0$.
pub fn ln_gamma(x: f64) -> f64 {
    libm::lgamma(x)
}

/// $\sum_k \frac{B_{2k}}{2k} x^{-2k}$, so that $\psi(x) = \log x - \frac{1}{2x} - \text{tail}(x)$ for large $x$.
fn digamma_tail(x: f64) -> f64 {
    let r = 1.0 / (x * x);
    r * (1.0 / 12.0
        - r * (1.0 / 120.0
            - r * (1.0 / 252.0 - r * (1.0 / 240.0 - r * (1.0 / 132.0 - r * (691.0 / 32760.0 - r * (1.0 / 12.0)))))))
}

/// The positive root of $\psi$, as an unevaluated sum of two numbers: next to the root $\psi$ is as small as
/// $x - x_0$, and a rounded root would cost digits.
const DIGAMMA_ROOT: (f64, f64) = (1.461_632_144_968_362_2, 9.549_995_429_965_697e-17);

/// Taylor coefficients $\psi^{(k)}(x_0)/k!$ at the root, $k = 1, 2, \ldots$
const DIGAMMA_AT_ROOT: [f64; 20] = [
    0.967_672_245_447_621_2,
    -0.442_763_168_983_592_1,
    0.258_499_760_955_651,
    -0.163_942_705_442_406_52,
    0.107_824_050_691_262_37,
    -0.072_199_561_256_454_71,
    0.048_804_288_164_143_11,
    -0.033_161_126_474_847_36,
    0.022_597_648_232_218_104,
    -0.015_424_765_904_948_96,
    0.010_538_791_616_612_175,
    -0.007_204_534_386_356_869,
    0.004_926_781_395_729_853,
    -0.003_369_801_655_439_328,
    0.002_305_126_326_734_928,
    -0.001_576_936_771_430_197_2,
    0.001_078_825_201_916_296_7,
    -0.000_738_070_938_996_005_2,
    0.000_504_953_265_834_602,
    -0.000_345_468_025_106_307_7,
];

/// The digamma function $\psi(x) = \frac{d}{dx}\log\Gamma(x)$ for $x > 0$; NaN elsewhere.
pub fn digamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let from_root = (x - DIGAMMA_ROOT.0) - DIGAMMA_ROOT.1;
    if from_root.abs() < 0.25 {
        let series = DIGAMMA_AT_ROOT.iter().rev().fold(0.0, |acc, c| acc * from_root + c);
        return series * from_root;
    }
    // psi(x) = psi(x + n) - sum_{i<n} 1/(x + i)
    let (mut z, mut below) = (x, 0.0);
    while z < ASYMPTOTIC {
        below += 1.0 / z;
        z += 1.0;
    }
    (z.ln() - 0.5 / z - digamma_tail(z)) - below
}

/// The trigamma function $\psi'(x)$ for $x > 0$; NaN elsewhere.
pub fn trigamma(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return f64::NAN;
    }
    let (mut z, mut below) = (x, 0.0);
    while z < ASYMPTOTIC {
        below += 1.0 / (z * z);
        z += 1.0;
    }
    let r = 1.0 / (z * z);
    let tail = r
        * (1.0 / 6.0
            - r * (1.0 / 30.0
                - r * (1.0 / 42.0 - r * (1.0 / 30.0 - r * (5.0 / 66.0 - r * (691.0 / 2730.0 - r * (7.0 / 6.0)))))));
    // psi'(z) ~ 1/z + 1/(2 z^2) + (1/z) * sum_k B_2k z^-2k
    below + (1.0 + 0.5 / z + tail) / z
}

/// $\log x - \psi(x) > 0$ for $x > 0$, without the cancellation at large $x$.
pub fn log_minus_digamma(x: f64) -> f64 {
    if x >= ASYMPTOTIC { 0.5 / x + digamma_tail(x) } else { x.ln() - digamma(x) }
}

/// $\psi(x) - \psi(x + y) < 0$ for $x, y > 0$ to full relative precision, also where $y \ll x$.
pub fn digamma_difference(x: f64, y: f64) -> f64 {
    // Every term is negative, so nothing cancels.
    let (mut z, mut below) = (x, 0.0);
    while z < ASYMPTOTIC {
        below += y / (z * (z + y));
        z += 1.0;
    }
    let (r, q) = (1.0 / z, 1.0 / (z + y));
    // r^2 - q^2 and higher even powers, each as (r - q) times a positive factor
    let difference = y * r * q;
    let (r2, q2) = (r * r, q * q);
    let mut powers = difference * (r + q); // r^2 - q^2
    let mut sum = 0.0;
    let coefficients = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let mut q_power = q2;
    for c in coefficients {
        sum += c * powers;
        // r^(2k+2) - q^(2k+2) = r^2 (r^2k - q^2k) + q^2k (r^2 - q^2)
        powers = r2 * powers + q_power * (difference * (r + q));
        q_power *= q2;
    }
    -((y / z).ln_1p() + 0.5 * difference + sum + below)
}

/// The remainder of Stirling's formula, $\log\Gamma(x) - (x-\frac12)\log x + x - \frac12\log 2\pi$, for $x \ge 10$.
fn stirling_remainder(x: f64) -> f64 {
    let r = 1.0 / (x * x);
    (1.0 / 12.0
        - r * (1.0 / 360.0
            - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * (1.0 / 1188.0 - r * (691.0 / 360360.0 - r / 156.0))))))
        / x
}

/// $\log B(x, y) = \log\Gamma(x) + \log\Gamma(y) - \log\Gamma(x+y)$ for $x, y > 0$, without cancellation.
pub fn ln_beta(x: f64, y: f64) -> f64 {
    let (p, q) = if x < y { (x, y) } else { (y, x) };
    let sum = p + q;
    if p >= ASYMPTOTIC {
        let remainder = stirling_remainder(p) + stirling_remainder(q) - stirling_remainder(sum);
        HALF_LN_TWO_PI - 0.5 * q.ln() + remainder - (p - 0.5) * (q / p).ln_1p() - q * (p / q).ln_1p()
    } else if q >= ASYMPTOTIC {
        let remainder = stirling_remainder(q) - stirling_remainder(sum);
        ln_gamma(p) + remainder + p - p * sum.ln() - (q - 0.5) * (p / q).ln_1p()
    } else {
        ln_gamma(p) + ln_gamma_ratio_small(p, q)
    }
}

/// $\log\Gamma(q) - \log\Gamma(p+q)$ for $0 < p \le q < 10$, shifted up to where Stirling's formula holds.
fn ln_gamma_ratio_small(p: f64, q: f64) -> f64 {
    // Gamma(q)/Gamma(p+q) = [Gamma(q+n)/Gamma(p+q+n)] * prod_i (p+q+i)/(q+i)
    let (mut z, mut product) = (q, 1.0);
    let mut log_product = 0.0;
    while z < ASYMPTOTIC {
        // log1p keeps the digits when p is small; the product would lose them in 1 + p/z
        if p < 0.1 {
            log_product += (p / z).ln_1p();
        } else {
            product *= 1.0 + p / z;
        }
        z += 1.0;
    }
    let remainder = stirling_remainder(z) - stirling_remainder(p + z);
    log_product + product.ln() + remainder + p - p * (p + z).ln() - (z - 0.5) * (p / z).ln_1p()
}

/// $\log(1 + e^x)$ without overflow or cancellation.
pub fn log1p_exp(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// $\log(e^x - 1)$ for $x > 0$ without overflow or cancellation.
pub fn log_expm1(x: f64) -> f64 {
    if x > std::f64::consts::LN_2 { x + (-(-x).exp()).ln_1p() } else { x.exp_m1().ln() }
}

/// $\log(1 - e^{x})$ for $x < 0$ without cancellation at either end.
pub fn log1m_exp(x: f64) -> f64 {
    if x > -std::f64::consts::LN_2 { (-x.exp_m1()).ln() } else { (-x.exp()).ln_1p() }
}

/// The logistic function $1/(1+e^{-x})$ without overflow.
pub fn logistic(x: f64) -> f64 {
    if x >= 0.0 {
        1.0 / (1.0 + (-x).exp())
    } else {
        let e = x.exp();
        e / (1.0 + e)
    }
}

/// $\log\frac{p}{1-p}$, with full precision near $p = \frac12$ where it vanishes.
pub fn logit(p: f64) -> f64 {
    if (0.25..=0.75).contains(&p) {
        // 1 - p and 2p - 1 are exact here
        ((2.0 * p - 1.0) / (1.0 - p)).ln_1p()
    } else {
        p.ln() - (-p).ln_1p()
    }
}

/// $\log\sum_i e^{x_i}$, shifted by the maximum; $-\infty$ for an empty slice or one of all $-\infty$.
pub fn log_sum_exp(x: &[f64]) -> f64 {
    let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        return max;
    }
    max + x.iter().map(|v| (v - max).exp()).sum::<f64>().ln()
}

/// $Q(a, x) = \Gamma(a, x) / \Gamma(a)$ for $a > 0$, $x \ge 0$: the probability that a Gamma variable of shape $a$ exceeds $x$.
/// By the series of the lower function below $a + 1$, and by the continued fraction (Lentz) above.
pub fn gamma_upper(a: f64, x: f64) -> f64 {
    const TERMS: usize = 10_000;
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for n in 1..TERMS {
            term *= x / (a + n as f64);
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return (1.0 - front * sum).clamp(0.0, 1.0);
    }
    let (mut b, tiny) = (x + 1.0 - a, f64::MIN_POSITIVE / f64::EPSILON);
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut fraction = d;
    for n in 1..TERMS {
        let n = n as f64;
        let step = -n * (n - a);
        b += 2.0;
        d = 1.0 / (step * d + b).abs().max(tiny).copysign(step * d + b);
        c = b + step / c;
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    (front * fraction).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by `scipy.special.gammaincc(a, x)`.
    #[test]
    fn tails_of_the_gamma_distribution_are_those_of_scipy() {
        for (a, x, expected) in [
            (0.5, 0.5, 0.317_310_507_862_911_15),
            (1.0, 3.0, 0.049_787_068_367_863_95),
            (2.5, 1.0, 0.849_145_036_084_609_6),
            (10.0, 25.0, 0.000_221_476_638_248_783_5),
            (3.0, 0.0, 1.0),
        ] {
            let found = gamma_upper(a, x);
            assert!((found - expected).abs() <= 1e-9 * expected, "{a} {x}: {found} {expected}");
        }
    }

    #[test]
    fn functions_of_values_outside_their_domain_are_nan() {
        assert!(digamma(0.0).is_nan() && digamma(-1.5).is_nan() && trigamma(-0.5).is_nan());
        assert!(digamma(f64::NAN).is_nan());
    }

    #[test]
    fn log_sum_exp_of_nothing_is_log_of_zero() {
        assert_eq!(log_sum_exp(&[]), f64::NEG_INFINITY);
        assert_eq!(log_sum_exp(&[f64::NEG_INFINITY; 3]), f64::NEG_INFINITY);
        assert!((log_sum_exp(&[1000.0, 1000.0]) - (1000.0 + 2f64.ln())).abs() < 1e-12);
    }
}
