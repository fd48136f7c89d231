"""The contract of scikit-learn."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from efmca import EFMCA

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

# Starts are drawn from the rows in their order, so that shuffled rows begin elsewhere and end in another maximum.
# scikit-learn expects the same failure of its KMeans. With rows in the same order weights are
# the same as repeated rows: test_estimator.py, test_weights_count_as_rows.
SHUFFLED = "the check shuffles rows, and starts depend on their order"
# `predict` says which causes are on: a column for each of them, where these checks expect one label a row
LABELS = "predict has a column for each cause"
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": SHUFFLED,
    "check_sample_weight_equivalence_on_sparse_data": SHUFFLED,
    "check_estimator_sparse_array": LABELS,
    "check_estimator_sparse_matrix": LABELS,
}


@pytest.mark.filterwarnings("ignore")
def test_all_checks_of_scikit_learn_pass():
    results = check_estimator(EFMCA(), expected_failed_checks=EXPECTED, on_fail=None, on_skip=None)
    failed = [one for one in results if one["status"] == "failed"]
    assert not failed, failed
    assert sum(one["status"] == "passed" for one in results) > 40


def test_clone_and_pickle(counts):
    model = EFMCA(2, "poisson", random_state=3)
    assert clone(model).get_params() == model.get_params()
    model.fit(counts)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.transform(counts), model.transform(counts))
    assert again.get_params() == model.get_params() and again.lower_bound_ == model.lower_bound_
    assert "n_components=2" in repr(model)


def test_pipeline_and_grid_search(counts):
    pipeline = make_pipeline(FunctionTransformer(), EFMCA(2, "poisson", n_init=1))
    assert pipeline.fit_transform(counts).shape == (200, 2)
    search = GridSearchCV(EFMCA(family="poisson", n_init=2, max_iter=30), {"n_components": [1, 2]}, cv=2, n_jobs=1)
    assert search.fit(counts).best_params_ == {"n_components": 2}


def test_output_as_frames(counts):
    pandas = pytest.importorskip("pandas")
    model = EFMCA(2, "poisson").set_output(transform="pandas").fit(counts)
    found = model.transform(counts)
    assert isinstance(found, pandas.DataFrame) and list(found.columns) == ["efmca0", "efmca1"]
    polars = pytest.importorskip("polars")
    assert isinstance(model.set_output(transform="polars").transform(counts), polars.DataFrame)
    assert list(model.get_feature_names_out()) == ["efmca0", "efmca1"]


def test_joblib_in_four_processes(counts):
    joblib = pytest.importorskip("joblib")
    model = EFMCA(2, "poisson", n_jobs=1).fit(counts)
    expected = model.transform(counts)
    found = joblib.Parallel(n_jobs=4)(joblib.delayed(model.transform)(counts) for _ in range(4))
    assert all(np.array_equal(one, expected) for one in found)
