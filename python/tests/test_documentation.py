"""The examples of docstrings run, all parameters are documented, and types are right."""

from __future__ import annotations

import doctest
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import efmca

MODULES = ["efmca", *(f"efmca.{name}" for name in ("_camera", "_estimator", "_family", "_features", "_images", "_noise", "_results"))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    found = doctest.testmod(importlib.import_module(name))
    assert found.failed == 0
    if name in ("efmca", "efmca._camera", "efmca._estimator", "efmca._family", "efmca._images", "efmca._noise", "efmca._features"):
        assert found.attempted > 0


def test_the_code_of_the_readme_runs(capsys):
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    blocks = [block.split("```")[0] for block in readme.split("```python\n")[1:]]
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    before, after = (float(text.split(" dB")[0].split()[-1]) for text in capsys.readouterr().out.splitlines()[0].split(","))
    assert after > before + 6


@pytest.mark.parametrize("name", ["EFMCA", "Family", "denoise", "corrupt", "noise_type", "select", "learn_features", "calibrate"])
def test_all_parameters_are_documented(name):
    one = getattr(efmca, name)
    signature = inspect.signature(one.__new__ if name == "Family" else one)
    text = inspect.getdoc(one).split("Parameters\n")[1].split("\nReturns\n")[0]
    documented = {part.strip() for line in text.splitlines() for part in line.split(" : ")[0].split(",")}
    missing = set(signature.parameters) - documented - {"cls", "kwargs"}
    assert not missing


def test_types(tmp_path):
    pytest.importorskip("mypy")
    script = tmp_path / "use.py"
    script.write_text(
        "import numpy as np\nimport efmca\n"
        "model = efmca.EFMCA(2, 'poisson').fit(np.ones((4, 2)))\n"
        "reveal_type(model.transform(np.ones((4, 2))))\n"
        "reveal_type(efmca.denoise(np.ones((8, 8)), return_std=True))\n"
        "efmca.EFMCA(2, familly='poisson')\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-version", "3.11", "--cache-dir", str(tmp_path), str(script)],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert "ndarray" in done.stdout.splitlines()[0], done.stdout
    assert "tuple[" in done.stdout, done.stdout
    assert 'Unexpected keyword argument "familly"' in done.stdout, done.stdout
    package = Path(efmca.__file__).parent
    assert (package / "py.typed").exists() and (package / "_core.pyi").exists()
