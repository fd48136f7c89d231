"""Missing cells of tables."""

import json

import numpy as np
import pytest

import efmca
from efmca import Imputer, _core


def table(n=400, seed=0):
    rng = np.random.default_rng(seed)
    on = rng.random(n) < 0.4
    counts = rng.poisson(np.where(on, 30, 5))
    amounts = rng.gamma(9, np.where(on, 10, 2))
    answer = rng.random(n) < np.where(on, 0.9, 0.1)
    return np.column_stack([counts, amounts, answer]).astype(float)


def holes(full, seed=1):
    hidden = np.random.default_rng(seed).random(full.shape) < 0.15
    hidden[0] = False
    return np.where(hidden, np.nan, full), hidden


def test_fills_cells_and_says_how_well():
    full = table()
    x, hidden = holes(full)
    imputer = Imputer(1, ["poisson", "gamma", "bernoulli"]).fit(x)
    filled = imputer.transform(x)
    assert np.isfinite(filled).all()
    assert (filled[~hidden] == full[~hidden]).all()
    wrong = (filled[:, 2] != full[:, 2])[hidden[:, 2]].mean()
    assert wrong < 0.25
    assert imputer.scores_["error"] < 0.8 < imputer.scores_["error_of_means"]
    assert abs((1 - imputer.scores_["accuracy"]) - wrong) < 0.15
    assert [column["kind"] for column in imputer.scores_["columns"]] == ["number", "number", "code"]
    cells = imputer.cells(x)
    assert len(cells["row"]) == hidden.sum()
    numbers = cells["column"] < 2
    assert (cells["low"][numbers] <= cells["value"][numbers]).all() and np.isnan(cells["sd"][~numbers]).all()
    assert (cells["probability"][~numbers] >= 0.5).all()


def test_draws_differ_and_have_a_seed():
    x, _ = holes(table(200))
    one, other = Imputer(1, "auto", random_state=3).fit(x).draws(x, 2)
    again = Imputer(1, "auto", random_state=3).fit(x).draws(x, 2)
    assert (one == again[0]).all() and (other == again[1]).all()
    assert (one != other).any()
    assert (one[:, 0] == one[:, 0].round()).all()


def test_frames_keep_their_labels():
    pd = pytest.importorskip("pandas")
    full = table(300)
    frame = pd.DataFrame({"guests": full[:, 0], "open": np.where(full[:, 2] == 1, "yes", "no")})
    frame.loc[5, "open"] = None
    frame.loc[7, "guests"] = np.nan
    filled = Imputer(1).fit_transform(frame)
    assert list(filled.columns) == ["guests", "open"]
    assert filled.loc[5, "open"] in ("yes", "no") and filled.loc[7, "guests"] > 0


def test_the_program_gives_the_same(tmp_path):
    x, _ = holes(table(150))
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", header="a,b,c", comments="")
    names = [str(tmp_path / name) for name in ("x.csv", "filled.csv", "scores.json")]
    assert _core.main(["efmca", "impute", names[0], "-o", names[1], "--json", names[2], "--causes", "1"]) == 0
    filled = np.loadtxt(names[1], delimiter=",", skiprows=1)
    imputer = Imputer(1).fit(x)
    assert (imputer.transform(x) == filled).all()
    assert json.loads((tmp_path / "scores.json").read_text())["error"] == imputer.scores_["error"]


def test_what_is_wrong_is_said():
    x, _ = holes(table(60))
    with pytest.raises(ValueError, match="value"):
        Imputer(1, value="best").fit(x)
    with pytest.raises(ValueError, match="folds"):
        Imputer(1, folds=1).fit(x)
    with pytest.raises(TypeError, match="n_components"):
        Imputer("many").fit(x)
    with pytest.raises(Exception, match="not fitted"):
        Imputer().transform(x)
    imputer = Imputer(1).fit(x)
    with pytest.raises(ValueError, match="n_draws"):
        imputer.draws(x, 0)
    with pytest.raises(ValueError, match="columns|features"):
        imputer.transform(x[:, :2])


def test_it_is_listed():
    assert "Imputer" in efmca.__all__
