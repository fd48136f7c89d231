"""Families of the user's own."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import efmca
from efmca import EFMCA, Family


def _identity(y):
    return y


def _log_factorial(y):
    return -math.lgamma(y + 1)


def own_poisson(**change):
    return Family(**{"name": "own-poisson", "t": _identity, "log_h": _log_factorial, "a": math.exp, "some_eta": 0.0,
                     "support": "counts", **change})  # fmt: skip


def own_gaussian(**change):
    """Two natural parameters, mean / var and -1 / (2 var)."""
    def a(eta1, eta2):
        return -(eta1**2) / (4 * eta2) + 0.5 * math.log(math.pi / -eta2)

    return Family(**{"name": "own-gaussian", "t": lambda y: (y, y * y), "a": a, "some_eta": (0.0, -0.5), **change})


@pytest.mark.parametrize("gradient", [None, math.exp])
def test_a_family_of_ones_own_is_like_the_built_in_one(counts, gradient):
    counts = counts[:80, ::2]
    own = EFMCA(2, own_poisson(gradient=gradient), n_init=1, max_iter=8).fit(counts)
    built_in = EFMCA(2, "poisson", n_init=1, max_iter=8).fit(counts)
    assert own.families_ == ["own-poisson"] * 3
    assert own.lower_bound_ == pytest.approx(built_in.lower_bound_, rel=1e-8)
    assert np.allclose(own.components_, built_in.components_, rtol=1e-6)
    assert np.allclose(own.transform(counts), built_in.transform(counts), atol=1e-6)
    assert own.sample(20)[0].min() >= 0


def test_two_parameters(rng):
    table = rng.normal(np.where(rng.random((60, 1)) < 0.5, [[5.0, 1.0]], [[0.0, 2.0]]), 1.0)
    own = EFMCA(1, own_gaussian(), n_init=1, max_iter=5).fit(table)
    built_in = EFMCA(1, "gaussian", n_init=1, max_iter=5).fit(table)
    # starts differ: only the built-in family keeps a spread of its own when a cause is moved
    assert own.lower_bound_ == pytest.approx(built_in.lower_bound_, abs=20)
    mean, var = own.components_[0, 0], 1.3
    eta = own_gaussian().phi([mean, mean**2 + var])
    assert eta[0] == pytest.approx(mean / var, rel=1e-7) and eta[1] == pytest.approx(-0.5 / var, rel=1e-7)
    assert own_gaussian().log_density(1.0, eta) == pytest.approx(
        -0.5 * (1.0 - mean) ** 2 / var - 0.5 * math.log(2 * math.pi * var), rel=1e-7
    )


def test_derivatives_are_good_beside_the_end_of_the_domain():
    exponential = Family("own-exponential", t=_identity, a=lambda eta: -math.log(-eta), some_eta=-1.0, support="positive")
    for mean in (1e-6, 1e-2, 1.0, 33.0, 1e5):
        assert exponential.phi([mean])[0] == pytest.approx(-1 / mean, rel=1e-7)
    with pytest.raises(ValueError, match="outside its domain"):
        exponential.phi([-1.0])


def test_files_and_pickles(counts, tmp_path):
    family = own_poisson()
    model = EFMCA(2, family, n_init=1, max_iter=3).fit(counts[:40, :2])
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(counts[:, :2]), model.transform(counts[:, :2]))
    model.save(tmp_path / "own.safetensors")
    read = EFMCA.load(tmp_path / "own.safetensors", families=[family])
    assert np.array_equal(read.transform(counts[:, :2]), model.transform(counts[:, :2]))
    with pytest.raises(ValueError, match="own-poisson"):
        EFMCA.load(tmp_path / "own.safetensors")


def test_own_families_clean_images(square):
    _, noisy = square
    found = efmca.denoise(noisy[:16, :16], own_poisson(), quality="fast", n_components=3, patch_size=4, max_iter=2)
    assert np.isfinite(found).all()


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"a": lambda eta: math.exp(eta) + 1}, ValueError, "sums or integrates to 0.3678"),
        ({"log_h": None}, ValueError, "sums or integrates"),
        ({"a": lambda eta: (1.0, 2.0)}, ValueError, "one finite number"),
        ({"t": lambda y: (y, y)}, ValueError, "t gives 2 numbers, and 1 are expected"),
        ({"t": 3}, TypeError, "t must be a function"),
        ({"a": lambda eta: math.inf}, ValueError, "one finite number"),
        ({"t": lambda y: y.nothing}, AttributeError, "nothing"),
        ({"some_eta": (0.0,) * 5, "t": lambda y: (y,) * 5, "a": lambda *eta: 0.0}, ValueError, "1 to 4"),
        ({"support": "all"}, ValueError, "support"),
        ({"support": ("integers", 3, 1)}, ValueError, "low must be below high"),
        ({"gradient": lambda eta: (1.0, 2.0)}, ValueError, "gradient gives 2 numbers"),
    ],
)
def test_wrong_families(change, error, message):
    with pytest.raises(error, match=message):
        own_poisson(**change)


def test_an_error_in_a_function_goes_on(counts):
    calls = []

    def later(y):
        calls.append(y)
        if len(calls) > 500:
            raise LookupError("no more")
        return y

    with pytest.raises(LookupError, match="no more"):
        EFMCA(2, own_poisson(t=later), n_init=1).fit(counts)
    # what failed once does not fail the next one
    assert EFMCA(2, "poisson", n_init=1, max_iter=2).fit(counts).n_iter_ == 2
