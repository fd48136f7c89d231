"""The estimator: what it learns, and what it says about rows."""

from __future__ import annotations

import numpy as np
import pytest

import efmca
from efmca import EFMCA


def test_two_causes_are_found_again(counts):
    model = EFMCA(2, "poisson", random_state=1).fit(counts)
    order = np.argsort(model.components_[:, 0])
    expected = [[2, 2, 2, 16, 16, 16], [21, 21, 21, 2, 2, 2]]
    assert np.allclose(model.components_[order], expected, rtol=0.2, atol=1.5)
    assert np.allclose(model.pi_, 0.4, atol=0.1)
    assert np.allclose(model.background_, 1, atol=0.4)
    assert model.families_ == ["poisson"] * 6
    assert list(model.parameters_) == ["rate"]
    assert np.allclose(model.parameters_["rate"][:2], model.components_)
    assert np.allclose(model.parameters_["rate"][2], model.background_)
    assert model.lower_bounds_.shape == (model.n_iter_,)
    assert model.lower_bound_ >= model.lower_bounds_[0]
    assert model.is_exact_ and model.n_components_ == 2


def test_rows_are_explained(counts):
    model = EFMCA(2, "poisson").fit(counts)
    active = model.transform(counts)
    assert active.shape == (200, 2) and active.min() >= 0 and active.max() <= 1
    states = model.predict(counts)
    assert np.array_equal(states, active > 0.5), "counts this far apart leave no doubt"
    assert model.score_samples(counts).sum() == pytest.approx(model.lower_bound_, rel=1e-9)
    assert model.score(counts) == pytest.approx(model.lower_bound_ / 200, rel=1e-9)
    means = model.posterior_mean(counts)
    assert np.allclose(means, model.inverse_transform(active), atol=0.2)
    assert np.abs(means - counts).mean() < np.abs(counts.mean(axis=0) - counts).mean() / 2
    rows, drawn = model.sample(500, random_state=3)
    assert rows.shape == (500, 6) and set(np.unique(drawn)) == {0, 1}
    assert np.allclose(drawn.mean(axis=0), model.pi_, atol=0.1)
    assert np.array_equal(rows, model.sample(500, random_state=3)[0])
    assert not np.array_equal(rows, model.sample(500, random_state=4)[0])


def test_missing_values_are_filled_in(counts):
    holes = counts.copy()
    holes[::3, 0] = np.nan
    model = EFMCA(2, "poisson").fit(holes)
    filled = model.impute(holes)
    there = ~np.isnan(holes)
    assert np.array_equal(filled[there], holes[there])
    error = np.abs(filled[::3, 0] - counts[::3, 0]).mean()
    assert error < np.abs(np.nanmean(holes[:, 0]) - counts[::3, 0]).mean() / 2
    assert np.isfinite(model.transform(holes)).all()


def test_the_kind_of_array_does_not_matter(counts):
    model = EFMCA(2, "poisson").fit(counts)
    for other in (
        counts.astype(np.int32),
        counts.astype(np.uint8),
        counts.tolist(),
        np.asfortranarray(counts),
        counts.astype(">f8"),
        np.repeat(counts, 2, axis=0)[::2],
        counts[::-1][::-1],
        counts.astype(np.float32),
    ):
        again = EFMCA(2, "poisson").fit(other)
        assert np.array_equal(again.components_, model.components_)
        assert np.array_equal(model.transform(other), model.transform(counts))
    assert EFMCA(1, "bernoulli").fit(counts > 5).families_ == ["bernoulli"] * 6


def test_masked_arrays_have_missing_values(counts):
    holes = np.where(counts > 22, np.nan, counts)
    expected = EFMCA(2, "poisson").fit(holes).components_
    masked = np.ma.masked_array(counts, counts > 22)
    assert np.array_equal(EFMCA(2, "poisson").fit(masked).components_, expected)
    assert np.array_equal(EFMCA(2, "poisson").fit(masked.astype(int)).components_, expected)


def test_truncated_posteriors(counts):
    exact = EFMCA(2, "poisson", inference="exact").fit(counts)
    few = EFMCA(2, "poisson", inference="truncated", n_states=4).fit(counts)
    assert not few.is_exact_ and few.lower_bound_ == pytest.approx(exact.lower_bound_, rel=1e-3)
    assert few.model_.inference == ("truncated", 4)
    assert np.allclose(few.score_samples(counts).sum(), few.lower_bound_, rtol=1e-6)
    many = EFMCA(20, "poisson", max_iter=3).fit(counts)
    assert not many.is_exact_
    with pytest.raises(ValueError, match="at most 16"):
        EFMCA(20, "poisson", inference="exact").fit(counts)


def test_weights_count_as_rows(counts):
    weights = np.arange(200) % 4
    for family in ("poisson", "gaussian", "laplace", "gamma"):
        values = counts + 0.5 if family == "gamma" else counts
        weighted = EFMCA(3, family).fit(values, sample_weight=weights)
        repeated = EFMCA(3, family).fit(np.repeat(values, weights, axis=0))
        # the same but for the order in which rounding errors are added up
        assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-7), family
        assert np.allclose(weighted.components_, repeated.components_, rtol=1e-4), family
    assert EFMCA(2, "poisson").fit(counts, sample_weight=2).lower_bound_ < -200


def test_families_are_found(counts, rng):
    high = counts[:, 0] > 10
    table = np.column_stack([counts[:, 0], high, rng.exponential(np.where(high, 9, 1))])
    found = EFMCA("auto", "auto", random_state=0).fit(table)
    assert found.families_[0].split(":")[0] in ("poisson", "negative-binomial")
    assert found.families_[1] == "bernoulli"
    assert found.families_[2].split(":")[0] in ("exponential", "gamma", "weibull", "pareto", "log-normal", "hurdle-exponential")
    assert found.n_components_ == found.choice_.best
    assert set(found.rankings_) <= {0, 1, 2} and len(found.rankings_[0]) > 1
    given = EFMCA(1, ["poisson", None, "exponential"]).fit(table)
    assert given.families_ == ["poisson", "bernoulli", "exponential"] and list(given.rankings_) == [1]
    by_place = EFMCA(1, {0: "poisson", 2: "exponential"}).fit(table)
    assert by_place.families_ == given.families_


def test_warm_start_goes_on(counts):
    model = EFMCA(2, "poisson", max_iter=2, warm_start=True, n_init=1).fit(counts)
    bound = model.lower_bound_
    model.fit(counts)
    assert model.lower_bounds_[0] == pytest.approx(bound) and model.lower_bound_ > bound
    assert EFMCA(2, "poisson", max_iter=2, n_init=1).fit(counts).lower_bound_ == pytest.approx(bound)


def test_seeds(counts):
    def fit(seed, **other):
        return EFMCA(3, "poisson", random_state=seed, n_init=1, max_iter=5, **other).fit(counts).components_

    assert np.array_equal(fit(7), fit(7, n_jobs=1))
    assert not np.array_equal(fit(7), fit(8))
    assert np.array_equal(fit(None), fit(0))
    assert np.array_equal(fit(np.random.default_rng(5)), fit(np.random.default_rng(5)))
    assert np.array_equal(fit(np.random.RandomState(5)), fit(np.random.RandomState(5)))
    for wrong in (-1, 2**64, True, "x", 1.5):
        with pytest.raises((TypeError, ValueError), match="random_state"):
            fit(wrong)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components = 0"),
        ({"n_components": "many"}, TypeError, "whole number"),
        ({"n_components": 2.5}, TypeError, "whole number"),
        ({"family": "poison"}, ValueError, "did you mean `poisson`"),
        ({"family": ["poisson"]}, ValueError, "1 entries, and X has 6 columns"),
        ({"family": {"age": "poisson"}}, ValueError, "column 'age'"),
        ({"family": {9: "poisson"}}, ValueError, "from 0 to 5"),
        ({"family": 3}, TypeError, "family must be"),
        ({"family": [1] * 6}, TypeError, "a family is a name"),
        ({"superposition": "sum"}, ValueError, "max-magnitude"),
        ({"inference": "best"}, ValueError, "truncated"),
        ({"max_iter": 0}, ValueError, "max_iter = 0"),
        ({"n_init": 0}, ValueError, "n_init = 0"),
        ({"n_init": None}, TypeError, "n_init"),
        ({"n_states": 0}, ValueError, "n_states = 0"),
        ({"tol": -1}, ValueError, "tol = -1"),
        ({"tol": "small"}, TypeError, "tol"),
        ({"pseudo_count": float("nan")}, ValueError, "pseudo_count"),
        ({"n_jobs": 0}, ValueError, "n_jobs = 0"),
        ({"n_jobs": "all"}, TypeError, "n_jobs"),
        ({"callback": 3}, TypeError, "callback"),
    ],
)
def test_wrong_parameters(counts, change, error, message):
    with pytest.raises(error, match=message):
        EFMCA(**{"n_components": 2, "family": "poisson", **change}).fit(counts)


def test_wrong_tables(counts):
    def fails(x, error, message, family="poisson", **other):
        with pytest.raises(error, match=message):
            EFMCA(2, family).fit(x, **other)

    negative = counts.copy()
    negative[7, 3] = -2
    fails(negative, ValueError, r"X\[7, 3\] is -2.*outside the support of `poisson`")
    infinite = counts.copy()
    infinite[1, 2] = np.inf
    fails(infinite, ValueError, r"X\[1, 2\] is inf")
    empty = counts.copy()
    empty[:, 4] = np.nan
    fails(empty, ValueError, r"X\[:, 4\]: every value is missing")
    fails(np.full_like(counts, np.nan), ValueError, "missing")
    fails(counts[0], ValueError, "Reshape your data")
    fails(counts[None], ValueError, "dim 3")
    fails(np.array(3.0), ValueError, "Expected 2D array")
    fails(counts[:0], ValueError, "0 sample")
    fails(counts[:, :0], ValueError, "0 feature")
    fails(counts[:1], ValueError, "minimum of 2")
    fails(counts.astype(complex), ValueError, "Complex data not supported")
    fails([["a", "b"], ["c", "d"]], ValueError, r"X\[0, 0\] = .*a.* is no number")
    objects = counts.astype(object)
    assert EFMCA(2, "poisson").fit(objects).n_features_in_ == 6
    objects[2, 1] = {"not": "a number"}
    fails(objects, TypeError, r"X\[2, 1\]")
    fails(np.array([["2020-01-01"] * 2] * 3, dtype="datetime64[D]"), TypeError, "no numbers")
    fails(counts, ValueError, "200 rows", sample_weight=[1, 2])
    fails(counts, ValueError, "sample_weight must be numbers", sample_weight=["a"] * 200)
    fails(counts, ValueError, r"sample_weight\[1\] is -1", sample_weight=[1, -1] * 100)
    fails(counts, ValueError, "all weights are zero", sample_weight=np.zeros(200))
    fails("text", ValueError, "Expected 2D array")
    fails(None, ValueError, "Expected 2D array")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array"])
def test_sparse_matrices_are_whole_tables(counts, form):
    sparse = pytest.importorskip("scipy.sparse")
    X = getattr(sparse, form)(counts)
    settings = {"inference": "truncated", "n_states": 4, "max_iter": 15, "random_state": 1}
    whole, kept = EFMCA(2, "poisson", **settings).fit(counts), EFMCA(2, "poisson", **settings).fit(X)
    np.testing.assert_allclose(kept.components_, whole.components_, rtol=1e-6)
    np.testing.assert_allclose(whole.transform(X), whole.transform(counts), atol=1e-9)
    np.testing.assert_allclose(whole.score_samples(X), whole.score_samples(counts), atol=1e-9)
    assert whole.posterior_mean(X).shape == counts.shape


def test_stored_values_in_any_order(counts):
    sparse = pytest.importorskip("scipy.sparse")
    model = EFMCA(2, "poisson", random_state=1).fit(counts)
    # the first value twice, and columns that fall
    data, indices, indptr = [1.0, 2.0, 3.0], [2, 0, 2], [0, 3]
    X = sparse.csr_matrix((data, indices, indptr), shape=(1, counts.shape[1]))
    row = np.zeros((1, counts.shape[1]))
    row[0, [0, 2]] = 2.0, 4.0
    np.testing.assert_allclose(model.score_samples(X), model.score_samples(row), atol=1e-9)
    with pytest.raises(ValueError, match="features"):
        model.transform(sparse.csr_matrix((2, counts.shape[1] + 1)))
    with pytest.raises(TypeError, match="no numbers"):
        model.transform(sparse.csr_matrix(np.array([[1j] * counts.shape[1]])))


def test_before_fit_and_with_other_columns(counts):
    with pytest.raises(ValueError, match="not fitted yet"):
        EFMCA().transform(counts)
    model = EFMCA(2, "poisson").fit(counts)
    for method in (model.transform, model.predict, model.score_samples, model.impute, model.posterior_mean):
        with pytest.raises(ValueError, match="X has 5 features, but EFMCA is expecting 6"):
            method(counts[:, :5])
    with pytest.raises(ValueError, match=r"X\[0, 1\]"):
        model.inverse_transform([[0.5, 1.5]])
    with pytest.raises(ValueError, match="one for each cause"):
        model.inverse_transform([[0.5, 0.5, 0.5]])
    with pytest.raises(ValueError, match="n_samples"):
        model.sample(0)


def test_names_are_loaded_when_they_are_used():
    assert set(efmca.__all__) <= set(dir(efmca))
    for name in efmca.__all__:
        assert getattr(efmca, name).__doc__, name
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        efmca.nothing  # noqa: B018
    assert efmca.__version__.count(".") == 2
