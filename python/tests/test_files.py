"""Model files: the same for Python, the program and Rust; and the program itself."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest
from conftest import run_python

import efmca
from efmca import EFMCA


def run(program, *arguments):
    done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def table_of(path):
    with open(path, newline="") as file:
        rows = list(csv.reader(file))
    return np.array([[float(value) for value in row] for row in rows[1:]])


def test_what_the_program_learned_is_applied_alike(program, counts, tmp_path):
    np.save(tmp_path / "counts.npy", counts)
    run(program, "fit", tmp_path / "counts.npy", "-o", tmp_path / "a.model", "--family", "poisson", "--causes", 2, "--seed", 4)
    model = efmca.load_model(tmp_path / "a.model")
    run(program, "encode", tmp_path / "a.model", tmp_path / "counts.npy", "-o", tmp_path / "causes.npy")
    assert np.array_equal(model.transform(counts), np.load(tmp_path / "causes.npy"))
    # the same settings give the same model
    own = EFMCA(2, "poisson", random_state=4, n_init=10, tol=1e-9).fit(counts)
    assert np.array_equal(own.components_, model.components_) and np.array_equal(own.pi_, model.pi_)


def test_what_python_learned_the_program_applies_alike(program, counts, tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"guests": counts[:, 0], "menu": np.where(counts[:, 0] > 9, "roast", np.where(counts[:, 1] > 2, "soup", "salad"))}
    )
    model = EFMCA(1, {"guests": "poisson"}).fit(frame)
    path = tmp_path / "b.safetensors"
    model.save(path)
    frame.to_csv(tmp_path / "days.csv", index=False)
    run(program, "encode", path, tmp_path / "days.csv", "-o", tmp_path / "causes.csv")
    found = table_of(tmp_path / "causes.csv")
    assert np.allclose(found[:, -1], model.transform(frame)[:, 0], rtol=0, atol=1e-12)
    assert "menu" in run(program, "info", path)
    again = EFMCA.load(path)
    assert np.array_equal(again.transform(frame), model.transform(frame))
    assert again.categories_ == model.categories_ and again.families_ == model.families_
    assert list(again.feature_names_in_) == ["guests", "menu"]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(path)
    model.save(path, overwrite=True)


def test_files_are_plain_safetensors(counts, tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    model = EFMCA(2, "gaussian").fit(counts)
    model.save(tmp_path / "c.safetensors")
    tensors = safetensors.load_file(tmp_path / "c.safetensors")
    assert np.array_equal(tensors["pi"], model.pi_)
    assert np.allclose(tensors["w1"], model.components_)
    assert set(tensors) == set(model.model_.tensors())
    assert all(np.array_equal(tensors[name], value) for name, value in model.model_.tensors().items())


def test_wrong_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no\.model"):
        efmca.load_model(tmp_path / "no.model")
    (tmp_path / "text.model").write_text("this is no model")
    with pytest.raises(ValueError, match="no usable model"):
        efmca.load_model(tmp_path / "text.model")
    with pytest.raises(OSError):
        efmca.load_model(tmp_path)


def test_the_program_of_the_wheel(program, tmp_path):
    assert run(program, "--version").strip() == f"efmca {efmca.__version__}"
    assert "poisson" in run(program, "families")
    wrong = subprocess.run([*program, "denoise", "nothing.tif", "-o", "x.tif"], capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 2 and "nothing.tif" in wrong.stderr
    also = subprocess.run([sys.executable, "-m", "efmca", "no-command"], capture_output=True, text=True)
    assert also.returncode == 2 and "no-command" in also.stderr


def test_importing_loads_nothing_else():
    code = """
import sys
before = set(sys.modules)
import efmca
loaded = {name.split(".")[0] for name in set(sys.modules) - before}
assert loaded <= {"efmca", "__future__"}, loaded
import numpy as np
efmca.families()
efmca.noise_type(np.arange(40.0).reshape(20, 2) % 7, ["poisson", "gaussian"], n_components=1, n_restarts=1)
assert "sklearn" not in sys.modules and "pandas" not in sys.modules
"""
    returned, _, err = run_python(code)
    assert returned == 0, err


def test_without_scikit_learn(counts, tmp_path):
    """Only numpy is needed."""
    np.save(tmp_path / "counts.npy", counts)
    code = f"""
import sys
for name in ("sklearn", "pandas", "polars", "scipy", "matplotlib", "tqdm", "joblib"):
    sys.modules[name] = None
import pickle
import numpy as np
from efmca import EFMCA
counts = np.load({str(tmp_path / "counts.npy")!r})
model = EFMCA(2, "poisson", random_state=1)
assert model.set_params(max_iter=50).get_params()["max_iter"] == 50
assert repr(model) == "EFMCA(n_components=2, family='poisson', max_iter=50, random_state=1)", repr(model)
active = model.fit_transform(counts)
assert active.shape == (200, 2) and list(model.get_feature_names_out()) == ["efmca0", "efmca1"]
assert np.array_equal(pickle.loads(pickle.dumps(model)).transform(counts), active)
for call, message in [
    (lambda: model.set_output(transform="pandas"), "scikit-learn"),
    (lambda: __import__("efmca").noise_type(counts, ["poisson", "gaussian"], n_components=1).to_frame(), "pip install 'efmca[pandas]'"),
]:
    try:
        call()
    except ImportError as error:
        assert message in str(error), error
    else:
        raise AssertionError("it should ask for a package")
try:
    EFMCA().transform(counts)
except ValueError as error:
    assert "not fitted" in str(error)
"""
    returned, _, err = run_python(code)
    assert returned == 0, err
