#!/usr/bin/env python3
"""Make the reference tables special.csv and densities.csv.

Run `python3 make_reference.py`; it writes both tables next to itself.  It
needs numpy, scipy and mpmath, and prints the versions it ran with.

Every input is an f64 written with repr(), and every value is the exact result
for that f64, rounded once to f64.  The value is computed with mpmath at 50
digits and again at twice as many until two successive precisions round to the
same f64, so cancellation cannot spoil it.

Each value is also computed with SciPy and must agree to 1e-9 relative, or
1e-12 absolute where the result crosses zero; places that differ by more than
1e-13 relative are printed.  Where SciPy itself loses more than that (a small
sum of large terms) it must agree to 4 ulp of the sum of the terms' sizes; such
places are marked `cancels` in the printout.  The `scipy` columns hold what SciPy's own function
returns.  Where SciPy has no such function the column is blank, but the value
is still checked against a composition of SciPy functions, to a tolerance that
allows for the cancellation in that composition.

A `family` field that contains a comma is quoted, as usual in CSV.
"""

import csv
import math
import sys
from collections import namedtuple
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import scipy
from mpmath import mp, mpf
from scipy import special, stats

HERE = Path(__file__).resolve().parent
DIGITS = 50
EPS = 2.0**-52
np.seterr(all="ignore")


# ---------------------------------------------------------------- rounding

def to_f64(v):
    """An mpf rounded once, to nearest, to f64 (subnormals included)."""
    if mp.isinf(v):
        return float("inf") if v > 0 else float("-inf")
    assert not mp.isnan(v)
    sign, man, exp, _ = v._mpf_
    man = int(man)
    r = float(man << exp) if exp >= 0 else man / (1 << -exp)
    return -r if sign and r != 0.0 else r


def exact(f):
    """f() as a correctly rounded f64: precision doubles until it is stable."""
    previous = None
    for digits in (DIGITS, 2 * DIGITS, 4 * DIGITS, 8 * DIGITS):
        with mp.workdps(digits):
            now = to_f64(f())
        if now == previous:
            return now
        previous = now
    raise AssertionError("no stable rounding")


def text(v):
    v = float(v)
    return repr(v + 0.0 if v != 0.0 else 0.0)


def digits10(v):
    """v cut to 10 decimal digits, so inputs do not hang on the last ulp."""
    return float(f"{float(v):.10g}")


def unique(xs):
    return list(dict.fromkeys(float(x) for x in xs))


def logspace(lo, hi, n):
    return [digits10(10.0 ** (lo + (hi - lo) * i / (n - 1))) for i in range(n)]


# ---------------------------------------------------------------- checking

class Check:
    """Agreement of SciPy with mpmath, gathered for each function or family."""

    def __init__(self):
        self.worst = {}
        self.rows = {}
        self.cancels = {}

    def __call__(self, name, where, value, other, native, absolute=0.0, slack=0.0):
        """absolute: tolerance near a zero crossing; slack: f64 cancellation in SciPy."""
        self.rows[name] = self.rows.get(name, 0) + 1
        other = float(other)
        if value == other:
            return
        difference = abs(value - other)
        relative = difference / abs(value) if value else math.inf
        tiny = 4 * 5e-324
        strict = relative <= 1e-9 or difference <= max(absolute, tiny)
        ok = strict or difference <= slack
        if native and ok and not strict:
            self.cancels[name] = self.cancels.get(name, 0) + 1
        key = (name, "scipy" if native else "composed")
        old = self.worst.get(key, (0.0, 0.0))
        self.worst[key] = (max(old[0], relative), max(old[1], difference))
        if relative > 1e-13 and (native or not ok):
            print(f"  {name} {where}: value {value!r} scipy {other!r}"
                  f" relative {relative:.2e} absolute {difference:.2e}"
                  + ("" if strict else " cancels"))
        assert ok, f"{name} {where}: mpmath {value!r}, SciPy {other!r}"

    def summary(self):
        print("largest differences (relative, absolute):")
        for (name, kind), (rel, dif) in self.worst.items():
            print(f"  {name:28s} {kind:9s} {rel:9.2e} {dif:9.2e}")
        print(f"rows that pass only because SciPy cancels: {self.cancels or 'none'}")


# ---------------------------------------------------------------- special.csv

Special = namedtuple("Special", "name points value scipy native absolute slack")


def special_functions():
    near = [1e-3, 1e-8]
    gamma_x = unique(
        logspace(-10, 10, 61)
        + [c + s * h for c in (1.0, 2.0) for h in near for s in (-1, 1)]
        + [k / 2 for k in range(1, 61)]
    )
    root = 1.4616321449683623
    psi_x = unique(
        logspace(-10, 10, 61)
        + [root]
        + [root + s * h for h in near for s in (-1, 1)]
        + [k / 2 for k in range(1, 25)]
    )
    log_psi_x = logspace(-6, 12, 91)
    grid_x = [10.0**k if k >= 0 else float(f"1e{k}") for k in range(-4, 8)]
    grid_y = [1e-4] + [float(f"1.37e{k}") for k in range(-3, 7)] + [1e7]
    grid = [(x, y) for x in grid_x for y in grid_y]
    softplus_x = unique(
        sorted(
            [20.0 * k for k in range(-40, 41)]
            + [s * v for s in (-1, 1) for v in (
                1e-300, 1e-16, 1e-8, 1e-3, 0.1, 0.5, 1.0, 2.5, 5.0, 7.3, 13.7,
                18.0, 33.3, 36.04, 37.0, 37.5, 50.7, 333.3, 708.3, 709.8, 745.1)]
        )
    )
    log2 = math.log(2.0)
    expm1_x = unique(
        sorted(
            logspace(-12, math.log10(800.0), 70)
            + [log2, log2 + 1e-3, log2 - 1e-3, log2 + 1e-8, log2 - 1e-8]
            + [0.5, 0.6, 0.8, 1.0, 2.0, 10.0, 18.0, 20.0, 33.3, 37.0, 50.0, 709.0, 710.0, 800.0]
        )
    )
    logit_x = unique(
        sorted(
            logspace(-300, -10, 30)
            + logspace(-9.5, -0.5, 19)
            + [0.2, 0.25, 0.4, 0.5, 0.6, 0.75, 0.8]
            + [0.5 + s * h for h in (1e-1, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12, 2.0**-52) for s in (-1, 1)]
            + [1 - c * 10.0**-k for k in range(1, 13) for c in (1, 3)]
        )
    )

    def one(xs):
        return [(x,) for x in xs]

    def naive_expm1(x):
        return np.log(special.expm1(x)) if x < 700 else x + special.log1p(-np.exp(-x))

    Z = 1e-12  # absolute tolerance of functions with a zero crossing
    return [
        Special("ln_gamma", one(gamma_x), mp.loggamma, special.gammaln, True, Z, None),
        Special("digamma", one(psi_x), lambda x: mp.psi(0, x), special.psi, True, Z, None),
        Special("trigamma", one(psi_x), lambda x: mp.psi(1, x),
                lambda x: special.polygamma(1, x), True, 0.0, None),
        Special("log_minus_digamma", one(log_psi_x), lambda x: mp.log(x) - mp.psi(0, x),
                lambda x: np.log(x) - special.psi(x), False, 0.0,
                lambda x: 4 * EPS * (abs(np.log(x)) + abs(special.psi(x)))),
        Special("digamma_difference", grid, lambda x, y: mp.psi(0, x) - mp.psi(0, x + y),
                lambda x, y: special.psi(x) - special.psi(x + y), False, 0.0,
                lambda x, y: 4 * EPS * (1 + abs(special.psi(x)) + abs(special.psi(x + y)))),
        Special("ln_beta", grid,
                lambda x, y: mp.loggamma(x) + mp.loggamma(y) - mp.loggamma(x + y),
                special.betaln, True, Z,
                lambda x, y: 4 * EPS * sum(abs(special.gammaln(v)) for v in (x, y, x + y))),
        Special("log1p_exp", one(softplus_x), lambda x: mp.log1p(mp.exp(x)),
                lambda x: -special.log_expit(-x), True, 0.0, None),
        Special("log_expm1", one(expm1_x), lambda x: mp.log(mp.expm1(x)), naive_expm1,
                False, Z, None),
        Special("logit", one(logit_x), lambda x: mp.log(x) - mp.log1p(-x), special.logit,
                True, Z, None),
    ]


def write_special(check):
    with open(HERE / "special.csv", "w", newline="", encoding="ascii") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["function", "x", "y", "value", "scipy"])
        for s in special_functions():
            for point in s.points:
                value = exact(lambda: s.value(*map(mpf, point)))
                other = s.scipy(*point)
                slack = s.slack(*point) if s.slack else 0.0
                check(s.name, point, value, other, s.native, s.absolute, slack)
                x, y = text(point[0]), text(point[1]) if len(point) > 1 else ""
                out.writerow([s.name, x, y, text(value), text(other) if s.native else ""])


# ---------------------------------------------------------------- densities.csv
#
# A family gives, for mpf arguments, the terms of its log density (their sum is
# the log density; the sum of their sizes bounds what f64 rounding can do to a
# plain sum in SciPy) and its mean.  `scipy` maps parameters to a function of y
# and a mean.  `rows` is a list of (parameters, ys).

Family = namedtuple("Family", "name rows terms mean scipy native")

LOW = (1e-6, 0.03, 0.3)
HIGH = (0.4, 0.05, 1e-4, 1e-12)


def spread(dist, low=LOW, high=HIGH, inside=(-math.inf, math.inf), extra=()):
    """Points over the mass and tails of a SciPy distribution."""
    ys = [dist.ppf(q) for q in low] + [dist.isf(q) for q in high]
    ys = [digits10(y) for y in list(ys) + list(extra)]
    return sorted(unique(y for y in ys if math.isfinite(y) and inside[0] < y < inside[1]))


def frozen(dist):
    log = dist.logpmf if hasattr(dist, "logpmf") else dist.logpdf
    return log, dist.mean()


def log_factorial(y):
    return mp.loggamma(y + 1)


def plain(name, make, parameters, terms, mean, inside=(-math.inf, math.inf), extra=None, **kw):
    """A family that SciPy has: make(*parameters) is its distribution."""
    rows = []
    for p in parameters:
        more = extra(*p) if extra else ()
        rows.append((p, spread(make(*p), inside=inside, extra=more, **kw)))
    return Family(name, rows, terms, mean, lambda *p: frozen(make(*p)), True)


POSITIVE = (1e-305, math.inf)
SCALES = [(1e-6,), (1e-3,), (0.07,), (1.0,), (3.7,), (250.0,), (1e4,), (1e6,)]
PROBABILITIES = [1e-12, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.2, 0.3, 1 / 3, 0.4, 0.49,
                 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 0.51, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95, 0.99,
                 0.999, 0.9999, 1 - 1e-6, 1 - 1e-12]
RHOS = [1e-4, 0.03, 0.25, 0.5, 0.62, 0.9, 0.99, 1 - 1e-6]


def discrete_families():
    log, log1p = mp.log, mp.log1p
    yield Family("bernoulli", [((p,), [0, 1]) for p in PROBABILITIES],
                 lambda p, y: [log(p) if y == 1 else log1p(-p)], lambda p: p,
                 lambda p: frozen(stats.bernoulli(p)), True)
    yield Family("binomial:n=12",
                 [((p,), [0, 1, 3, 6, 8, 11, 12]) for p in
                  (1e-6, 1e-3, 0.05, 0.3, 0.5, 0.62, 0.9, 0.999, 1 - 1e-6)],
                 lambda p, y: [log(mp.binomial(12, y)), y * log(p), (12 - y) * log1p(-p)],
                 lambda p: 12 * p, lambda p: frozen(stats.binom(12, p)), True)
    yield plain("poisson", stats.poisson,
                [(v,) for v in (1e-6, 1e-3, 0.1, 0.7, 1.0, 3.3, 12.5, 100.0, 4321.0, 1e5, 1e6)],
                lambda m, y: [y * log(m), -m, -log_factorial(y)], lambda m: m,
                extra=lambda m: (0, 1, 2) if m < 1 else ())
    yield plain("geometric", lambda p: stats.geom(p, loc=-1),
                [(v,) for v in (1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6, 1 - 1e-9)],
                lambda p, y: [log(p), y * log1p(-p)], lambda p: (1 - p) / p,
                extra=lambda p: (0, 1, 2, 5))
    yield plain("negative-binomial:r=2.5", lambda p: stats.nbinom(2.5, p),
                [(v,) for v in (1e-6, 1e-4, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6)],
                lambda p, y: [mp.loggamma(y + mpf(2.5)), -log_factorial(y), -mp.loggamma(mpf(2.5)),
                              mpf(2.5) * log(p), y * log1p(-p)],
                lambda p: mpf(2.5) * (1 - p) / p, extra=lambda p: (0, 1, 2))

    # categorical: probabilities on a 2^-53 grid, so that they add up to exactly 1
    def simplex(*weights):
        total = sum(Fraction(w) for w in weights)
        ps = [Fraction(round(Fraction(w) / total * 2**53), 2**53) for w in weights]
        big = max(range(4), key=lambda k: ps[k])
        ps[big] += 1 - sum(ps)
        fs = tuple(float(p) for p in ps)
        assert sum(map(Fraction, fs)) == 1 and min(fs) > 0
        return fs

    weights = [(1, 1, 1, 1), (1, 2, 3, 4), (4, 3, 2, 1), (0.1, 0.2, 0.3, 0.4), (0.7, 0.1, 0.1, 0.1),
               (1, 1, 1, 97), (97, 1, 1, 1), (1, 97, 1, 1), (1e-3, 1, 1e-3, 1), (1e-6, 1, 2, 3),
               (3, 2, 1, 1e-6), (1, 1e-9, 1e-9, 1), (1e-4, 1e-3, 1e-2, 1), (5, 1, 7, 2),
               (0.25, 0.35, 0.15, 0.25)]

    def categorical(*p):
        dist = stats.multinomial(1, p)
        return (lambda y: dist.logpmf([int(k == y) for k in range(4)])), dist.mean() @ np.arange(4.0)

    yield Family("categorical:k=4", [(simplex(*w), [0, 1, 2, 3]) for w in weights],
                 lambda *a: [log(a[int(a[4])])],
                 lambda *p: p[1] + 2 * p[2] + 3 * p[3], categorical, True)

    # zero-truncated and hurdle Poisson: not in SciPy, checked by composition
    def truncated_terms(m, y):
        return [y * log(m), -log_factorial(y), -m, -log(-mp.expm1(-m))]

    def truncated_mean(m):
        return m / -mp.expm1(-m)

    def truncated_scipy(m):
        keep = -special.expm1(-m)
        return (lambda y: stats.poisson.logpmf(y, m) - np.log(keep)), m / keep

    def positive_counts(m):
        return spread(stats.poisson(m), inside=(0.5, math.inf), extra=(1, 2, 3, 5) if m < 5 else ())

    rates = (1e-6, 1e-3, 0.1, 0.7, 1.0, 3.3, 12.5, 100.0, 4321.0, 1e5, 1e6)
    yield Family("zero-truncated-poisson", [((m,), positive_counts(m)) for m in rates],
                 truncated_terms, truncated_mean, truncated_scipy, False)
    yield hurdle("hurdle-poisson",
                 [((r,) + (m,), [0] + positive_counts(m)[1::2]) for r, m in
                  zip(cycle(RHOS, 14), (1e-6, 1e-3, 0.1, 0.7, 1.0, 3.3, 12.5, 100.0, 4321.0, 1e5,
                                        1e6, 0.02, 2.0, 30.0))],
                 truncated_terms, truncated_mean, truncated_scipy)


def cycle(xs, n):
    return [xs[i % len(xs)] for i in range(n)]


def hurdle(name, rows, terms, mean, compose):
    """P(y = 0) = 1 - rho, and rho times the given density for y > 0."""
    def hurdle_terms(rho, *rest):
        if rest[-1] == 0:
            return [mp.log1p(-rho)]
        return [mp.log(rho)] + terms(*rest)

    def hurdle_scipy(rho, *p):
        log, m = compose(*p)
        return (lambda y: special.log1p(-rho) if y == 0 else np.log(rho) + log(y)), rho * m

    return Family(name, rows, hurdle_terms, lambda rho, *p: rho * mean(*p), hurdle_scipy, False)


def continuous_families():
    log, log1p, lg = mp.log, mp.log1p, mp.loggamma

    def gamma_terms(k, rate, y):
        return [k * log(rate), -lg(k), (k - 1) * log(y), -rate * y]

    yield plain("exponential", lambda r: stats.expon(scale=1 / r), SCALES,
                lambda r, y: [log(r), -r * y], lambda r: 1 / r, extra=lambda r: (0,))
    for k, name in ((4.0, "4"), (0.5, "0.5")):
        yield plain(f"gamma:k={name}", lambda r, k=k: stats.gamma(k, scale=1 / r), SCALES,
                    lambda r, y, k=k: gamma_terms(mpf(k), r, y), lambda r, k=k: mpf(k) / r,
                    inside=POSITIVE)
    yield plain("rayleigh", lambda s: stats.rayleigh(scale=s), SCALES,
                lambda s, y: [log(y), -2 * log(s), -(y / s) ** 2 / 2],
                lambda s: s * mp.sqrt(mp.pi / 2), inside=POSITIVE)
    yield plain("weibull:k=1.7", lambda s: stats.weibull_min(1.7, scale=s), SCALES,
                lambda s, y: [log(mpf(1.7)), -log(s), (mpf(1.7) - 1) * log(y / s), -(y / s) ** mpf(1.7)],
                lambda s: s * mp.gamma(1 + 1 / mpf(1.7)), inside=POSITIVE)
    yield plain("maxwell", lambda s: stats.maxwell(scale=s), SCALES,
                lambda s, y: [log(2 / mp.pi) / 2, 2 * log(y), -3 * log(s), -(y / s) ** 2 / 2],
                lambda s: 2 * s * mp.sqrt(2 / mp.pi), inside=POSITIVE)
    yield plain("half-normal", lambda s: stats.halfnorm(scale=s), SCALES,
                lambda s, y: [log(2 / mp.pi) / 2, -log(s), -(y / s) ** 2 / 2],
                lambda s: s * mp.sqrt(2 / mp.pi), extra=lambda s: (0,))

    def nakagami(omega, y):
        m = mpf(0.8)
        return [log(2), m * log(m), -lg(m), -m * log(omega), (2 * m - 1) * log(y), -m * y**2 / omega]

    yield plain("nakagami:m=0.8", lambda w: stats.nakagami(0.8, scale=math.sqrt(w)), SCALES, nakagami,
                lambda w: mp.gamma(mpf(0.8) + mpf(1) / 2) / mp.gamma(mpf(0.8)) * mp.sqrt(w / mpf(0.8)),
                inside=POSITIVE)
    yield plain("inverse-gamma:alpha=3", lambda b: stats.invgamma(3, scale=b), SCALES,
                lambda b, y: [3 * log(b), -lg(3), -4 * log(y), -b / y], lambda b: b / 2,
                inside=POSITIVE)

    def gen_gamma(a, y):
        d, p = mpf(2.2), mpf(1.3)
        return [log(p), -d * log(a), -lg(d / p), (d - 1) * log(y), -(y / a) ** p]

    def gen_gamma_mean(a):
        d, p = mpf(2.2), mpf(1.3)
        return a * mp.gamma((d + 1) / p) / mp.gamma(d / p)

    yield plain("gen-gamma:d=2.2,p=1.3", lambda a: stats.gengamma(2.2 / 1.3, 1.3, scale=a), SCALES,
                gen_gamma, gen_gamma_mean, inside=POSITIVE)

    def normal(m, v, y):
        return [-log(2 * mp.pi) / 2, -log(v) / 2, -((y - m) ** 2) / (2 * v)]

    yield plain("gaussian:var=2.25", lambda m: stats.norm(m, 1.5),
                [(v,) for v in (-1e6, -300.0, -2.5, 0.0, 1e-3, 0.7, 42.0, 1e4, 1e6)],
                lambda m, y: normal(m, mpf(2.25), y), lambda m: m)
    yield plain("gaussian:mean=1.5", lambda v: stats.norm(1.5, math.sqrt(v)),
                [(1e-12,)] + SCALES + [(1e12,)],
                lambda v, y: normal(mpf(1.5), v, y), lambda v: mpf(1.5))
    yield plain("gaussian", lambda m, v: stats.norm(m, math.sqrt(v)),
                [(0.0, 1.0), (0.0, 1e-12), (0.0, 1e12), (1.0, 0.25), (-3.5, 2.0), (1e-3, 1e-6),
                 (-1e-5, 1e-12), (12.0, 0.01), (-150.0, 400.0), (1e3, 1.0), (-1e4, 1e8), (1e6, 1e6),
                 (1e6, 1e12), (-1e6, 100.0)],
                normal, lambda m, v: m, low=(1e-6, 0.2), high=(0.4, 0.01, 1e-12))

    def log_normal(m, v, y):
        return [-log(2 * mp.pi) / 2, -log(v) / 2, -log(y), -((log(y) - m) ** 2) / (2 * v)]

    def log_normal_mean(m, v):
        return mp.exp(m + v / 2)

    def scipy_log_normal(m, v):
        return stats.lognorm(math.sqrt(v), scale=math.exp(m))

    log_normals = [(0.0, 1.0), (0.0, 1e-6), (0.0, 100.0), (0.5, 0.25), (-1.3, 0.04), (3.0, 2.0),
                   (-13.8, 1.0), (13.8, 0.5), (5.0, 1e-4), (-7.0, 30.0), (1e-3, 1e-2), (10.0, 9.0)]
    yield plain("log-normal", scipy_log_normal, log_normals, log_normal, log_normal_mean,
                inside=POSITIVE, low=(1e-6, 0.2), high=(0.4, 0.01, 1e-12))

    yield plain("laplace:mu=-0.5", lambda b: stats.laplace(-0.5, b), SCALES,
                lambda b, y: [-log(2 * b), -abs(y + mpf(1) / 2) / b], lambda b: -mpf(1) / 2,
                extra=lambda b: (-0.5,))
    yield plain("pareto:xm=2", lambda a: stats.pareto(a, scale=2),
                [(v,) for v in (1e-3, 0.05, 0.5, 1.0, 1.0001, 1.5, 2.0, 3.3, 20.0, 1e3, 1e6)],
                lambda a, y: [log(a), a * log(2), -(a + 1) * log(y)],
                lambda a: a * 2 / (a - 1) if a > 1 else mp.inf,
                inside=(2.0, 1e300), extra=lambda a: (2 * (1 + 1e-3 / a), 2 * (1 + 1 / a)) if a > 0.5 else (2.5, 10, 1e4))

    gammas = [(1e-3, 1.0), (1e-3, 1e-6), (0.02, 1e6), (0.1, 0.5), (0.5, 3.0), (1.0, 0.2), (1.7, 1e-3),
              (2.0, 1e4), (5.5, 2.5), (30.0, 1e6), (150.0, 0.01), (2e3, 7.0), (1e4, 1e-6),
              (1e5, 1e5), (1e6, 1.0)]

    def scipy_gamma(k, r):
        return stats.gamma(k, scale=1 / r)

    def small_gamma(k, r):
        return (1e-200 / r, 1e-30 / r, 1e-3 / r, 0.5 / r, 10 / r) if k < 0.05 else ()

    yield plain("gamma", scipy_gamma, gammas, gamma_terms, lambda k, r: k / r, inside=POSITIVE,
                extra=small_gamma, low=(1e-6, 0.2), high=(0.4, 0.01, 1e-12))

    def beta_terms(a, b, y):
        return [(a - 1) * log(y), (b - 1) * log1p(-y), lg(a + b), -lg(a), -lg(b)]

    unit = (1e-305, 1.0)
    betas = [(1e-3, 1e-3), (1e-3, 1.0), (0.02, 3.0), (0.5, 0.5), (1.0, 3.0), (2.0, 5.0), (2.5, 0.7),
             (10.0, 30.0), (100.0, 1.0), (1e3, 2e3), (1e4, 10.0), (1e5, 2e4), (0.3, 1e6), (1e6, 3.0),
             (1e6, 1e6)]

    def small_beta(a, b):
        return (1e-200, 1e-12, 1e-3, 0.3, 0.9, 0.9999) if min(a, b) < 0.05 else ()

    yield plain("beta", stats.beta, betas, beta_terms, lambda a, b: a / (a + b), inside=unit,
                extra=small_beta, low=(1e-6, 0.2), high=(0.4, 0.01, 1e-6))

    yield plain("inverse-gaussian", lambda m, s: stats.invgauss(m / s, scale=s),
                [(1.0, 1.0), (1.0, 0.01), (1.0, 100.0), (0.5, 3.0), (3.0, 0.5), (1e-6, 1e-6),
                 (1e-3, 1e-4), (1e-3, 10.0), (250.0, 40.0), (1e4, 1e6), (1e6, 1e6), (1e6, 1e3),
                 (20.0, 1e5)],
                lambda m, s, y: [log(s) / 2, -log(2 * mp.pi) / 2, -mpf(3) / 2 * log(y),
                                 -s * (y - m) ** 2 / (2 * m**2 * y)],
                lambda m, s: m, inside=POSITIVE, low=(1e-6, 0.2), high=(0.4, 0.01, 1e-9))

    # continuous Bernoulli: not in SciPy; it is a truncated exponential in y or 1 - y
    def continuous_bernoulli(p, y):
        if 2 * p == 1:
            return [mpf(0)]
        return [log(2 * mp.atanh(1 - 2 * p) / (1 - 2 * p)), y * log(p), (1 - y) * log1p(-p)]

    def continuous_bernoulli_mean(p):
        if 2 * p == 1:
            return mpf(1) / 2
        return p / (2 * p - 1) + 1 / (2 * mp.atanh(1 - 2 * p))

    def truncated_exponential(p):
        # The mean of SciPy's truncexpon cancels near 1/2, so a series is used there.
        eta = float(special.logit(p))
        if eta == 0.0:
            return (lambda y: 0.0), 0.5
        t = abs(eta)

        def log_density(y):
            return stats.truncexpon.logpdf(t * y, t) + np.log(t)

        mean = 0.5 - t / 12 + t**3 / 720 if t < 0.01 else 1 / t - 1 / special.expm1(t)
        if eta < 0:
            return log_density, mean
        return (lambda y: log_density(1 - y)), 1 - mean

    yield Family("continuous-bernoulli",
                 [((p,), [0.0, 0.03, 0.4, 0.75, 1.0]) for p in
                  (1e-9, 1e-4, 0.02, 0.1, 0.3, 0.5 - 1e-3, 0.5 - 1e-6, 0.5, 0.5 + 1e-6, 0.5 + 1e-3,
                   0.62, 0.8, 0.95, 0.9999, 1 - 1e-9)],
                 continuous_bernoulli, continuous_bernoulli_mean, truncated_exponential, False)

    # hurdle families, checked by composition
    def hurdle_rows(parameters, make, inside, extra):
        rows = []
        for rho, p in zip(cycle(RHOS, len(parameters)), parameters):
            ys = spread(make(*p), low=(1e-4, 0.2), high=(0.4, 1e-3), inside=inside, extra=extra(*p))
            rows.append(((rho,) + p, [0.0] + ys))
        return rows

    yield hurdle("hurdle-gamma", hurdle_rows(gammas[1:], scipy_gamma, POSITIVE, small_gamma),
                 gamma_terms, lambda k, r: k / r, lambda *p: frozen(scipy_gamma(*p)))
    yield hurdle("hurdle-log-normal",
                 hurdle_rows(log_normals, scipy_log_normal, POSITIVE, lambda m, v: ()),
                 log_normal, log_normal_mean, lambda *p: frozen(scipy_log_normal(*p)))
    yield hurdle("hurdle-beta", hurdle_rows(betas, stats.beta, unit, small_beta),
                 beta_terms, lambda a, b: a / (a + b), lambda *p: frozen(stats.beta(*p)))


def write_densities(check):
    with open(HERE / "densities.csv", "w", newline="", encoding="ascii") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(["family", "parameters", "y", "log_density", "mean", "scipy_log_density"])
        for family in [*discrete_families(), *continuous_families()]:
            for parameters, ys in family.rows:
                parameters = tuple(map(float, parameters))
                log_density, scipy_mean = family.scipy(*parameters)
                mean = exact(lambda: family.mean(*map(mpf, parameters)))
                check(family.name + " mean", parameters, mean, scipy_mean, family.native, 1e-12)
                for y in map(float, ys):
                    arguments = [*parameters, y]
                    value = exact(lambda: mp.fsum(family.terms(*map(mpf, arguments))))
                    other = log_density(y)
                    size = float(mp.fsum(map(abs, family.terms(*map(mpf, arguments)))))
                    check(family.name, arguments, value, other, family.native, 1e-12, 4 * EPS * size)
                    out.writerow([family.name, ";".join(map(text, parameters)), text(y), text(value),
                                  text(mean), text(other) if family.native else ""])


def main():
    print(f"python {sys.version.split()[0]}, numpy {np.__version__}, "
          f"scipy {scipy.__version__}, mpmath {mpmath.__version__}")
    check = Check()
    print("differences above 1e-13 relative:")
    write_special(check)
    write_densities(check)
    check.summary()
    print("rows:")
    for name, count in check.rows.items():
        if not name.endswith(" mean"):
            print(f"  {name:28s} {count}")


if __name__ == "__main__":
    main()
