//! Second-order dual numbers: a value with its gradient and its Hessian.
//!
//! A log-partition function written once for any [`Real`] can be evaluated on `f64` and on [`Dual`]; the latter
//! gives $\nabla A$ and $\nabla^2 A$ exactly, with no formula for them.

use std::ops::{Add, Div, Mul, Neg, Sub};

use crate::special::{digamma, ln_gamma, trigamma};

/// The arithmetic a log-partition function may use.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// A constant.
    fn constant(value: f64) -> Self;
    /// The number itself, without derivatives; for choosing between two branches of a formula.
    fn value(self) -> f64;
    /// A function with value `f`, first derivative `f1` and second derivative `f2` at [`Real::value`].
    ///
    /// Every function below is made of it, and so can be any other that is needed.
    fn chain(self, f: f64, f1: f64, f2: f64) -> Self;

    /// $e^x$
    fn exp(self) -> Self {
        let e = self.value().exp();
        self.chain(e, e, e)
    }
    /// $e^x - 1$
    fn exp_m1(self) -> Self {
        let x = self.value();
        self.chain(x.exp_m1(), x.exp(), x.exp())
    }
    /// $\log x$
    fn ln(self) -> Self {
        let x = self.value();
        self.chain(x.ln(), 1.0 / x, -1.0 / (x * x))
    }
    /// $\log(1 + x)$
    fn ln_1p(self) -> Self {
        let (x, r) = (self.value(), 1.0 / (1.0 + self.value()));
        self.chain(x.ln_1p(), r, -r * r)
    }
    /// $\sqrt x$
    fn sqrt(self) -> Self {
        let (x, root) = (self.value(), self.value().sqrt());
        self.chain(root, 0.5 / root, -0.25 / (root * x))
    }
    /// $x^p$ for a constant exponent.
    fn powf(self, p: f64) -> Self {
        let x = self.value();
        self.chain(x.powf(p), p * x.powf(p - 1.0), p * (p - 1.0) * x.powf(p - 2.0))
    }
    /// $\sin x$
    fn sin(self) -> Self {
        let (s, c) = self.value().sin_cos();
        self.chain(s, c, -s)
    }
    /// $\cos x$
    fn cos(self) -> Self {
        let (s, c) = self.value().sin_cos();
        self.chain(c, -s, -c)
    }
    /// $\log\Gamma(x)$
    fn ln_gamma(self) -> Self {
        let x = self.value();
        self.chain(ln_gamma(x), digamma(x), trigamma(x))
    }
}

impl Real for f64 {
    fn constant(value: f64) -> f64 {
        value
    }
    fn value(self) -> f64 {
        self
    }
    fn chain(self, f: f64, _: f64, _: f64) -> f64 {
        f
    }
}

/// A number with its first and second derivatives with respect to $L$ variables.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dual<const L: usize> {
    /// The number.
    pub value: f64,
    /// Its gradient.
    pub gradient: [f64; L],
    /// Its Hessian.
    pub hessian: [[f64; L]; L],
}

impl<const L: usize> Dual<L> {
    /// The variables themselves, at the point `x`.
    pub(crate) fn variables(x: &[f64; L]) -> [Dual<L>; L] {
        std::array::from_fn(|i| {
            let mut variable = Dual::constant(x[i]);
            variable.gradient[i] = 1.0;
            variable
        })
    }

    fn map(self, f: impl Fn(f64) -> f64) -> Dual<L> {
        Dual { value: f(self.value), gradient: self.gradient.map(&f), hessian: self.hessian.map(|row| row.map(&f)) }
    }

    fn zip(self, other: Dual<L>, f: impl Fn(f64, f64) -> f64) -> Dual<L> {
        Dual {
            value: f(self.value, other.value),
            gradient: std::array::from_fn(|i| f(self.gradient[i], other.gradient[i])),
            hessian: std::array::from_fn(|i| std::array::from_fn(|j| f(self.hessian[i][j], other.hessian[i][j]))),
        }
    }
}

impl<const L: usize> Real for Dual<L> {
    fn constant(value: f64) -> Self {
        Dual { value, gradient: [0.0; L], hessian: [[0.0; L]; L] }
    }
    fn value(self) -> f64 {
        self.value
    }
    fn chain(self, f: f64, f1: f64, f2: f64) -> Self {
        Dual {
            value: f,
            gradient: self.gradient.map(|g| f1 * g),
            hessian: std::array::from_fn(|i| {
                std::array::from_fn(|j| f1 * self.hessian[i][j] + f2 * self.gradient[i] * self.gradient[j])
            }),
        }
    }
}

impl<const L: usize> Add for Dual<L> {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}
impl<const L: usize> Sub for Dual<L> {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}
impl<const L: usize> Mul for Dual<L> {
    type Output = Self;
    #[allow(clippy::suspicious_arithmetic_impl)] // the product rule adds
    fn mul(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Dual {
            value: a.value * b.value,
            gradient: std::array::from_fn(|i| a.value * b.gradient[i] + b.value * a.gradient[i]),
            hessian: std::array::from_fn(|i| {
                std::array::from_fn(|j| {
                    a.value * b.hessian[i][j]
                        + b.value * a.hessian[i][j]
                        + a.gradient[i] * b.gradient[j]
                        + a.gradient[j] * b.gradient[i]
                })
            }),
        }
    }
}
impl<const L: usize> Div for Dual<L> {
    type Output = Self;
    #[allow(clippy::suspicious_arithmetic_impl)] // a / b is a times the reciprocal, and that has its own derivatives
    fn div(self, other: Self) -> Self {
        let r = 1.0 / other.value;
        self * other.chain(r, -r * r, 2.0 * r * r * r)
    }
}
impl<const L: usize> Neg for Dual<L> {
    type Output = Self;
    fn neg(self) -> Self {
        self.map(|v| -v)
    }
}
impl<const L: usize> Add<f64> for Dual<L> {
    type Output = Self;
    fn add(self, c: f64) -> Self {
        Dual { value: self.value + c, ..self }
    }
}
impl<const L: usize> Sub<f64> for Dual<L> {
    type Output = Self;
    fn sub(self, c: f64) -> Self {
        Dual { value: self.value - c, ..self }
    }
}
impl<const L: usize> Mul<f64> for Dual<L> {
    type Output = Self;
    fn mul(self, c: f64) -> Self {
        self.map(|v| v * c)
    }
}
impl<const L: usize> Div<f64> for Dual<L> {
    type Output = Self;
    fn div(self, c: f64) -> Self {
        self.map(|v| v / c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Central differences of a function of two variables.
    fn check(f: impl Fn([Dual<2>; 2]) -> Dual<2>, x: [f64; 2]) {
        let at = |x: [f64; 2]| f(Dual::variables(&x));
        let exact = at(x);
        let h = 1e-5;
        for i in 0..2 {
            let (mut up, mut down) = (x, x);
            up[i] += h;
            down[i] -= h;
            let (up, down) = (at(up), at(down));
            assert!(((up.value - down.value) / (2.0 * h) - exact.gradient[i]).abs() < 1e-7 * (1.0 + exact.value.abs()));
            for j in 0..2 {
                let second = (up.gradient[j] - down.gradient[j]) / (2.0 * h);
                assert!((second - exact.hessian[i][j]).abs() < 1e-7 * (1.0 + second.abs()), "{second} {exact:?}");
            }
        }
    }

    #[test]
    fn derivatives_agree_with_differences() {
        check(|[x, y]| x * y / (x + y), [1.3, 0.7]);
        check(|[x, y]| (x * 2.0 - y).exp() - (y / 3.0).exp_m1() + 1.0, [0.3, 0.9]);
        check(|[x, y]| (x * x + y).ln().sqrt() - (x + y).ln_1p(), [1.3, 1.7]);
        check(|[x, y]| x.ln_gamma() + y.ln_gamma() - (x + y).ln_gamma(), [0.4, 3.2]);
        check(|[x, y]| x.sin() * y.cos() + x.powf(1.7) - 0.5, [0.4, 1.2]);
        check(|[x, y]| -x / Dual::constant(3.0) * y, [0.4, 1.2]);
    }
}
