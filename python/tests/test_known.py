"""What is known of causes and columns: signs, held causes, views; and the report."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

import efmca
from efmca import EFMCA

pandas = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def patients():
    """Illness brings visits and costs, youth brings sport; the ward follows illness."""
    rng = np.random.default_rng(5)
    ill, young = rng.random(400) < 0.4, rng.random(400) < 0.4
    return pandas.DataFrame(
        {
            "visits": rng.poisson(np.where(ill, 12, 2)),
            "costs": rng.gamma(4, np.where(ill, 50, 8)).round(2),
            "sport": rng.poisson(np.where(young, 9, 1)),
            "city": np.where(rng.random(400) < np.where(ill, 0.8, 0.2), "Rome", "Oslo"),
            "ward": np.where(ill, "north", "south"),
        }
    )


FAMILIES = {"visits": "poisson", "costs": "gamma", "sport": "poisson"}
SIGNS = [{"sport": "+", "visits": "0", "costs": "0"}, {"sport": "0", "visits": "+", "costs": "+"}]


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "efmca", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_signs_and_held_causes_steer_the_fit(patients, tmp_path):
    table = patients.drop(columns="ward")
    model = EFMCA(2, FAMILIES, signs=SIGNS).fit(table)
    assert model.components_[0, 2] > model.background_[2] + 3 and model.components_[1, 0] > model.background_[0] + 5
    assert model.components_[0, 0] == model.background_[0] and model.components_[1, 2] == model.background_[2]
    numbers = np.array([[0, 0, 1, np.nan], [1, 1, 0, np.nan]])
    assert np.array_equal(EFMCA(2, FAMILIES, signs=numbers).fit(table).components_, model.components_)
    more = EFMCA(3, hold=model).fit(table)
    assert np.array_equal(more.components_[:2], model.components_) and more.families_ == model.families_
    model.save(tmp_path / "m.model")
    again = EFMCA(3, hold=tmp_path / "m.model").fit(table)
    assert np.array_equal(again.components_, more.components_)
    with pytest.raises(ValueError, match="signs has an entry for column 'vists'"):
        EFMCA(2, FAMILIES, signs=[{"vists": "+"}]).fit(table)
    with pytest.raises(ValueError, match='signs has \'maybe\': give "\\+"'):
        EFMCA(2, FAMILIES, signs=[{"visits": "maybe"}]).fit(table)
    with pytest.raises(ValueError, match="turn the column around"):
        EFMCA(2, FAMILIES, signs=[{"visits": "-"}]).fit(table)
    with pytest.raises(ValueError, match="hold has 4 columns, and X has 3"):
        EFMCA(3, hold=model).fit(table.drop(columns="city"))
    with pytest.raises(ValueError, match="give one of them"):
        EFMCA(3, hold=model, signs=SIGNS).fit(table)
    with pytest.raises(TypeError, match="a list with a dict for each cause"):
        EFMCA(2, FAMILIES, signs="+").fit(table)


def test_views_count_alike_and_are_kept(tmp_path):
    rng = np.random.default_rng(1)
    one, other = rng.random((2, 500)) < 0.4
    table = np.column_stack(
        [rng.poisson(np.where(one, 12, 2), (30, 500)).T, rng.poisson(np.where(other, 12, 2), (2, 500)).T]
    ).astype(float)
    model = EFMCA(2, "poisson", views={"last": [30, 31]}, random_state=1).fit(table)
    weights = {view["name"]: view["weight"] for view in model.views_}
    assert weights["last"] == 1 and 0 < weights["other columns"] < 0.3
    assert model.views_[0]["columns"] == [30, 31] and model.bic_ is None
    plain = EFMCA(2, "poisson", random_state=1).fit(table)
    assert plain.views_ is None and plain.bic_ > 0
    # scores are not weighted, the bound is
    assert abs(model.score(table) - plain.score(table)) < 5
    assert model.lower_bound_ / 500 > model.score(table) + 20
    assert plain.lower_bound_ / 500 == pytest.approx(plain.score(table), rel=1e-9)
    model.save(tmp_path / "m.model")
    loaded = EFMCA.load(tmp_path / "m.model")
    assert loaded.views_ == model.views_ and np.array_equal(loaded.transform(table), model.transform(table))
    info = json.loads(run("info", tmp_path / "m.model", "--json"))
    assert [view["weight"] for view in info["views"]] == [view["weight"] for view in model.views_]
    for views, error, message in [
        ({"a": [0, 40]}, ValueError, "views has an entry for column 40; give names, or numbers from 0 to 31"),
        ({"a": [0, 1], "b": [1]}, ValueError, "column 2 is in view `a` already"),
        ({"a": []}, ValueError, "one column at least"),
        ({"a": "visits"}, TypeError, "give a list of columns"),
        ([[0, 1]], TypeError, "views must be a dict"),
    ]:
        with pytest.raises(error, match=message):
            EFMCA(2, "poisson", views=views).fit(table)


def test_the_report_has_the_numbers_of_the_program(patients, tmp_path):
    table = patients.drop(columns="ward")
    model = EFMCA(2, FAMILIES).fit(table)
    report = model.report(patients, by="ward")
    numbers = report.numbers
    assert numbers["schema"] == "efmca-report-1" and numbers["rows"] == 400
    assert [column["name"] for column in numbers["columns"]] == list(table.columns)
    assert numbers["log_likelihood_per_row"] == pytest.approx(model.score(table), rel=1e-12)
    assert [group["name"] for group in numbers["groups"]["groups"]] == ["north", "south"]
    assert min(test["p_corrected"] for test in numbers["groups"]["tests"]) < 1e-6
    model.save(tmp_path / "m.model")
    patients.to_csv(tmp_path / "patients.csv", index=False)
    run("report", tmp_path / "m.model", tmp_path / "patients.csv", "--by", "ward", "-o", tmp_path / "r.html",
        "--json", tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == numbers
    assert report.html.startswith("<!doctype html>") or report.html.lower().startswith("<!doctype")
    assert "What the causes explain" in report.html and "iframe" in report._repr_html_()
    assert repr(report) == "TableReport(400 rows, 4 columns, 2 causes)"
    report.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == report.html
    report.save(tmp_path / "page.json")
    assert json.loads((tmp_path / "page.json").read_text()) == numbers
    with pytest.raises(FileExistsError, match="overwrite=True"):
        report.save(tmp_path / "page.html")
    same = model.report(table, by=patients["ward"].to_numpy())
    assert same.numbers["groups"]["tests"] == numbers["groups"]["tests"]
    with pytest.raises(ValueError, match="no column of this name"):
        model.report(table, by="ward")
    with pytest.raises(ValueError, match="by has 3 entries, and X has 400 rows"):
        model.report(table, by=["a", "b", "c"])


def test_impute_is_that_of_the_program(patients, tmp_path):
    table = patients.drop(columns="ward")
    table = table.mask(np.random.default_rng(2).random(table.shape) < 0.1)
    model = EFMCA(2, FAMILIES).fit(table)
    model.save(tmp_path / "m.model")
    table.to_csv(tmp_path / "holes.csv", index=False)
    run("impute", tmp_path / "holes.csv", "--model", tmp_path / "m.model", "-o", tmp_path / "filled.csv")
    filled, expected = model.impute(table), pandas.read_csv(tmp_path / "filled.csv")
    assert filled["city"].tolist() == expected["city"].tolist()
    for name in ("visits", "costs", "sport"):
        assert np.array_equal(filled[name].to_numpy(), expected[name].to_numpy())
    whole = model.impute(table, as_written=True)
    assert (whole["visits"] % 1 == 0).all()
    assert not np.array_equal(model.impute(table, value="mode")["costs"], filled["costs"])
    with pytest.raises(ValueError, match="value = "):
        model.impute(table, value="middle")


def test_samples_have_the_steps_of_the_table(patients, tmp_path):
    table = patients[["visits", "costs"]]
    model = EFMCA(1, ["poisson", "gamma"], step={"costs": 0.01}).fit(table)
    assert model.steps_ == ["1", "0.01"]
    drawn, _ = model.sample(200, random_state=3)
    assert np.array_equal(drawn["costs"], drawn["costs"].round(2))
    free, _ = model.sample(200, random_state=3, rounded=False)
    assert np.abs(free["costs"] - drawn["costs"]).max() <= 0.0050001 and not np.array_equal(free["costs"], drawn["costs"])
    model.save(tmp_path / "m.model")
    run("sample", tmp_path / "m.model", "-n", 200, "--seed", 3, "-o", tmp_path / "drawn.csv")
    assert np.array_equal(pandas.read_csv(tmp_path / "drawn.csv")["costs"], drawn["costs"])


def test_what_was_found_is_there(patients):
    table = patients[["visits", "costs", "sport"]]
    model = EFMCA(2, "auto").fit(table)
    assert set(model.verdicts_) == set(model.rankings_) and len(model.verdicts_) > 0
    for verdict in model.verdicts_.values():
        assert isinstance(verdict["fits"], bool) and verdict["sentence"]
    assert model.duplicates_ == []
    rng = np.random.default_rng(0)
    twice = EFMCA(2, "poisson", n_init=1).fit(rng.poisson(5, (100, 3)).astype(float))
    assert all(one < other for one, other in twice.duplicates_)


def test_sparse_matrices_are_reported_and_filled():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    table = rng.poisson(np.where(rng.random((300, 1)) < 0.3, [4, 4, 0.1, 0.1], [0.1, 0.1, 0.2, 2])).astype(float)
    model = EFMCA(2, "poisson").fit(sparse.csc_matrix(table))
    assert model.report(sparse.csr_matrix(table)).numbers == model.report(table).numbers
    assert np.array_equal(model.impute(sparse.csr_matrix(table)), table)
    assert isinstance(efmca.TableReport, type)
