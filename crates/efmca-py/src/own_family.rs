//! A family of the user's own, from Python functions for T, log h and A.
//!
//! The library completes it ([`Custom`]). Only the derivatives of $A$ are made here, because Python functions know nothing
//! of dual numbers: by differences whose steps become smaller until their extrapolation no longer improves (Ridders), or by
//! the user's own function for the gradient.

use std::sync::Arc;

use efmca::family::custom::{Custom, Definition, Derivatives, Real};
use efmca::family::{Family, Measure, SharedFamily, Support, expectation};
use pyo3::exceptions::{PyArithmeticError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::work::raise_later;

/// Sufficient statistics, at the most.
const MOST_STATISTICS: usize = 4;
/// How far the sum or the integral of the density may be from one.
const NORMALISED: f64 = 1e-6;

/// Values that are added up to see whether probabilities sum to one.
const MOST_VALUES: i32 = 100_000;

/// The functions, and what else defines the family.
#[derive(Debug)]
struct Functions {
    name: String,
    support: Support,
    t: Py<PyAny>,
    log_h: Option<Py<PyAny>>,
    a: Py<PyAny>,
    gradient: Option<Py<PyAny>>,
    mean: Option<Py<PyAny>>,
    some_eta: Vec<f64>,
}

impl Functions {
    /// The numbers that `function` returns, one or a sequence of them.
    fn call(function: &Py<PyAny>, arguments: &[f64]) -> PyResult<Vec<f64>> {
        Python::attach(|py| {
            let found = function.bind(py).call1(PyTuple::new(py, arguments)?)?;
            found.extract::<f64>().map(|number| vec![number]).or_else(|_| found.extract::<Vec<f64>>())
        })
    }

    /// The same where an exception has to wait until the work has ended.
    fn later(function: &Py<PyAny>, arguments: &[f64], expected: usize) -> Vec<f64> {
        let found = Functions::call(function, arguments).and_then(|found| match found.len() == expected {
            true => Ok(found),
            false => Err(PyValueError::new_err(format!(
                "a function of a family gave {} numbers, and {expected} are expected",
                found.len()
            ))),
        });
        found.unwrap_or_else(|error| {
            raise_later(error);
            vec![f64::NAN; expected]
        })
    }

    /// $A$; outside of its domain functions may fail as arithmetic does.
    fn a(&self, eta: &[f64]) -> f64 {
        match Functions::call(&self.a, eta) {
            Ok(found) if found.len() == 1 => found[0],
            Err(error) if Python::attach(|py| is_arithmetic(py, &error)) => f64::NAN,
            other => {
                let length = |found: Vec<f64>| PyTypeError::new_err(format!("a gave {} numbers, not one", found.len()));
                raise_later(other.map_or_else(|error| error, length));
                f64::NAN
            }
        }
    }

    /// $\nabla A$.
    fn gradient(&self, eta: &[f64]) -> Vec<f64> {
        if let Some(gradient) = &self.gradient {
            return match Functions::call(gradient, eta) {
                Err(error) if Python::attach(|py| is_arithmetic(py, &error)) => vec![f64::NAN; eta.len()],
                Ok(found) if found.len() == eta.len() => found,
                _ => Functions::later(gradient, eta, eta.len()),
            };
        }
        (0..eta.len()).map(|l| derivative(|x| self.a(&with(eta, l, x)), eta[l])).collect()
    }
}

/// Whether an exception says that numbers are outside of the domain of a function: `OverflowError`, `ZeroDivisionError`, and
/// what `math` raises.
fn is_arithmetic(py: Python<'_>, error: &PyErr) -> bool {
    error.is_instance_of::<PyArithmeticError>(py)
        || error.is_instance_of::<PyValueError>(py) && error.value(py).to_string().contains("math domain error")
        || error.is_instance_of::<PyValueError>(py) && error.value(py).to_string().contains("expected a positive input")
}

fn with(eta: &[f64], l: usize, x: f64) -> Vec<f64> {
    let mut eta = eta.to_vec();
    eta[l] = x;
    eta
}

/// The derivative of `f` at `x`: central differences, extrapolated to a step of zero (Ridders 1982).
fn derivative(f: impl Fn(f64) -> f64, x: f64) -> f64 {
    const SHRINK: f64 = 1.6;
    const ROWS: usize = 12;
    let difference = |h: f64| (f(x + h) - f(x - h)) / (2.0 * h);
    // inside the domain on both sides
    let mut h = 0.1 * x.abs().max(0.1);
    let mut first = difference(h);
    while !first.is_finite() && h > 1e-12 * x.abs().max(1e-3) {
        h /= 4.0;
        first = difference(h);
    }
    // beside a boundary even a step that stays inside is far too long for the series
    h /= 4.0;
    first = difference(h);
    let (mut row, mut best, mut error) = (vec![first], first, f64::INFINITY);
    for _ in 1..ROWS {
        h /= SHRINK;
        let mut next = vec![difference(h)];
        let mut factor = SHRINK * SHRINK;
        for (j, before) in row.iter().enumerate() {
            let value = (next[j] * factor - before) / (factor - 1.0);
            factor *= SHRINK * SHRINK;
            let found = (value - next[j]).abs().max((value - before).abs());
            if found <= error {
                (best, error) = (value, found);
            }
            next.push(value);
        }
        // nothing is left to gain, or rounding has taken over
        if error <= 1e-14 * best.abs() || (next[next.len() - 1] - row[row.len() - 1]).abs() > 4.0 * error {
            break;
        }
        row = next;
    }
    best
}

/// The functions as a definition with $L$ statistics.
#[derive(Debug)]
struct Defined<const L: usize>(Arc<Functions>);

impl<const L: usize> Definition<L> for Defined<L> {
    fn name(&self) -> String {
        self.0.name.clone()
    }
    fn support(&self) -> Support {
        self.0.support
    }
    fn t(&self, y: f64) -> [f64; L] {
        point(&Functions::later(&self.0.t, &[y], L))
    }
    fn log_h(&self, y: f64) -> f64 {
        self.0.log_h.as_ref().map_or(0.0, |log_h| Functions::later(log_h, &[y], 1)[0])
    }
    fn a<R: Real>(&self, eta: [R; L]) -> R {
        R::constant(self.0.a(&eta.map(Real::value)))
    }
    fn a_with_derivatives(&self, eta: &[f64; L]) -> Derivatives<L> {
        let value = self.0.a(eta);
        let gradient: [f64; L] = point(&self.0.gradient(eta));
        let finite = |hessian: &[[f64; L]; L]| hessian.iter().flatten().all(|entry| entry.is_finite());
        // beside the end of the domain only a short step stays inside
        let scales = [1e-1, 1e-4, 1e-7, 1e-10, 1e-13].into_iter();
        let hessian = scales.map(|scale| self.hessian(eta, value, scale)).find(finite).unwrap_or([[f64::NAN; L]; L]);
        Derivatives { value, gradient, hessian }
    }
    fn some_eta(&self) -> [f64; L] {
        point(&self.0.some_eta)
    }
    fn mean(&self, eta: &[f64; L]) -> Option<f64> {
        self.0.mean.as_ref().map(|mean| Functions::later(mean, eta, 1)[0])
    }
}

impl<const L: usize> Defined<L> {
    /// The second derivatives of $A$ by one difference each. They decide how fast a solution is found, and not which.
    fn hessian(&self, eta: &[f64; L], value: f64, scale: f64) -> [[f64; L]; L] {
        let h: [f64; L] = std::array::from_fn(|l| 3e-4 * eta[l].abs().max(scale));
        let moved = |k: usize, up: f64, l: usize, right: f64| {
            let mut moved = *eta;
            moved[k] += up * h[k];
            moved[l] += right * h[l];
            self.0.a(&moved)
        };
        let mut found = [[0.0; L]; L];
        for k in 0..L {
            for l in 0..=k {
                found[k][l] = match k == l {
                    true => (moved(k, 1.0, l, 0.0) - 2.0 * value + moved(k, -1.0, l, 0.0)) / (h[k] * h[k]),
                    false => {
                        let corners = [(1.0, 1.0), (-1.0, -1.0), (1.0, -1.0), (-1.0, 1.0)]
                            .map(|(up, right)| moved(k, up, l, right));
                        (corners[0] + corners[1] - corners[2] - corners[3]) / (4.0 * h[k] * h[l])
                    }
                };
                found[l][k] = found[k][l];
            }
        }
        found
    }
}

fn point<const L: usize>(values: &[f64]) -> [f64; L] {
    std::array::from_fn(|l| values.get(l).copied().unwrap_or(f64::NAN))
}

/// A family of the user's own.
#[pyclass(frozen, subclass, module = "efmca._core")]
#[derive(Debug)]
pub(crate) struct OwnFamily {
    shared: SharedFamily,
}

impl OwnFamily {
    pub(crate) fn shared(&self) -> SharedFamily {
        self.shared.clone()
    }
}

#[pymethods]
impl OwnFamily {
    #[new]
    #[pyo3(signature = (name, t, a, log_h, gradient, mean, some_eta, integers, low, high, low_included, high_included))]
    #[allow(clippy::too_many_arguments, reason = "all of it defines a family, and Python has names for it")]
    fn new(
        name: String,
        t: Py<PyAny>,
        a: Py<PyAny>,
        log_h: Option<Py<PyAny>>,
        gradient: Option<Py<PyAny>>,
        mean: Option<Py<PyAny>>,
        some_eta: Vec<f64>,
        integers: bool,
        low: f64,
        high: f64,
        low_included: bool,
        high_included: bool,
    ) -> PyResult<OwnFamily> {
        let measure = if integers { Measure::Counting } else { Measure::Lebesgue };
        let support = Support { measure, low, high, low_included, high_included, codes: None };
        let inside = inside(&support)?;
        let functions = Arc::new(Functions { name, support, t, log_h, a, gradient, mean, some_eta });
        functions.check(inside)?;
        let shared: SharedFamily = match functions.some_eta.len() {
            1 => Arc::new(Custom::new(Defined::<1>(Arc::clone(&functions)))),
            2 => Arc::new(Custom::new(Defined::<2>(Arc::clone(&functions)))),
            3 => Arc::new(Custom::new(Defined::<3>(Arc::clone(&functions)))),
            4 => Arc::new(Custom::new(Defined::<4>(Arc::clone(&functions)))),
            other => {
                return Err(PyValueError::new_err(format!(
                    "some_eta has {other} numbers: a family has 1 to {MOST_STATISTICS} natural parameters"
                )));
            }
        };
        let total = total(&*shared, &functions.some_eta);
        if total.is_nan() || (total - 1.0).abs() > NORMALISED {
            return Err(PyValueError::new_err(format!(
                "the density of `{}` at some_eta sums or integrates to {total}, and not to 1: check t, log_h, a and the \
                 support",
                functions.name
            )));
        }
        Ok(OwnFamily { shared })
    }

    /// The name.
    #[getter]
    fn name(&self) -> String {
        self.shared.spec()
    }

    /// The logarithm of the density of a value, given natural parameters.
    fn log_density(&self, y: f64, eta: Vec<f64>) -> PyResult<f64> {
        efmca::family::check_natural_parameters(&*self.shared, &eta).map_err(crate::errors::value_error)?;
        Ok(self.shared.log_density(y, &eta))
    }

    /// The natural parameters of mean parameters.
    fn phi(&self, w: Vec<f64>) -> PyResult<Vec<f64>> {
        efmca::family::checked_phi(&*self.shared, &w).map_err(crate::errors::value_error)
    }
}

/// The sum or the integral of the density. A sum is given up after so many values that it can be no density.
fn total(family: &dyn Family, eta: &[f64]) -> f64 {
    let support = family.support();
    if support.measure != Measure::Counting {
        return expectation(family, eta, |_| 1.0);
    }
    let first = if support.low.is_finite() { support.low } else { support.high.min(0.0) };
    let density = |y: &f64| family.log_density(*y, eta).exp();
    let up = (0..MOST_VALUES).map(|step| first + f64::from(step)).take_while(|y| *y <= support.high);
    let down = (1..MOST_VALUES).map(|step| first - f64::from(step)).take_while(|y| *y >= support.low);
    let mut sum = 0.0;
    for side in [up.collect::<Vec<f64>>(), down.collect()] {
        let mut before = 0.0;
        for y in side {
            let now = density(&y);
            sum += now;
            // too much already, or past the mode and next to nothing
            if sum.is_nan() || sum > 2.0 || (now < before && now < 1e-3 * NORMALISED * sum.max(NORMALISED)) {
                break;
            }
            before = now;
        }
    }
    sum
}

/// Values that the family has.
fn inside(support: &Support) -> PyResult<Vec<f64>> {
    let probes = [-7.0, -2.5, -1.0, 0.0, 0.25, 0.5, 0.75, 1.0, 2.0, 3.0, 7.5, 11.0, 100.0];
    let middle =
        [support.low + 0.5, support.low + 1.0, support.high - 0.5, 0.5 * (support.low + support.high), support.low];
    let inside: Vec<f64> = probes.into_iter().chain(middle).filter(|y| support.contains(*y)).collect();
    match inside.is_empty() {
        true => Err(PyValueError::new_err("the support is empty: low must be below high")),
        false => Ok(inside),
    }
}

impl Functions {
    /// Whether the functions can be called and give as many numbers as they should.
    fn check(&self, inside: Vec<f64>) -> PyResult<()> {
        let expected = self.some_eta.len();
        let wrong = |what: &str, found: usize, expected: usize| {
            PyValueError::new_err(format!("{what} gives {found} numbers, and {expected} are expected (see some_eta)"))
        };
        for y in inside {
            let t = Functions::call(&self.t, &[y])?;
            if t.len() != expected {
                return Err(wrong("t", t.len(), expected));
            }
            if let Some(log_h) = &self.log_h {
                let log_h = Functions::call(log_h, &[y])?;
                if log_h.len() != 1 {
                    return Err(wrong("log_h", log_h.len(), 1));
                }
            }
        }
        let a = Functions::call(&self.a, &self.some_eta)?;
        if a.len() != 1 || !a[0].is_finite() {
            return Err(PyValueError::new_err(format!("a gives {a:?} at some_eta, and should give one finite number")));
        }
        if let Some(gradient) = &self.gradient {
            let gradient = Functions::call(gradient, &self.some_eta)?;
            if gradient.len() != expected {
                return Err(wrong("gradient", gradient.len(), expected));
            }
        }
        if let Some(mean) = &self.mean {
            let mean = Functions::call(mean, &self.some_eta)?;
            if mean.len() != 1 {
                return Err(wrong("mean", mean.len(), 1));
            }
        }
        Ok(())
    }
}
