"""The guides run: every block of a page in order, in one namespace and a folder of its own, with what it prints."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

GUIDES = Path(__file__).resolve().parents[2] / "docs" / "python"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?")
# processors differ in the last digits, and a training may end an iteration earlier
NEAR = 0.05


def blocks(page):
    return BLOCK.findall((GUIDES / f"{page}.md").read_text(encoding="utf-8"))


def same(printed, expected):
    """Whether two texts have the same words, and numbers that are near each other."""
    words = [" ".join(NUMBER.sub("#", text).split()) for text in (printed, expected)]
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (printed, expected)]
    close = all(abs(one - other) <= NEAR * max(abs(one), abs(other), 1) for one, other in zip(*numbers))
    return words[0] == words[1] and len(numbers[0]) == len(numbers[1]) and close


@pytest.fixture(scope="module")
def demo(tmp_path_factory, program):
    """What `efmca demo` leaves, made once for all pages."""
    folder = tmp_path_factory.mktemp("demo")
    subprocess.run([*program, "demo"], cwd=folder, check=True, capture_output=True, timeout=300)
    return folder / "efmca-demo"


@pytest.mark.parametrize("page", ["START", "MICROSCOPY", "NOISE", "TABLES", "FEATURES"])
def test_guide(page, tmp_path, monkeypatch, program, request):
    for module in ("matplotlib", "pandas", "sklearn"):
        pytest.importorskip(module, reason=f"the guides need {module}: pip install 'efmca[all]'")
    import matplotlib
    from matplotlib import pyplot

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "guide"}
    printed = None
    found = blocks(page)
    assert sum(kind == "python" for kind, _ in found) >= 4, "a guide has blocks"
    for kind, body in found:
        if kind == "python":
            heard = io.StringIO()
            with contextlib.redirect_stdout(heard):
                exec(compile(body, f"{page}.md", "exec"), names)
            assert not (printed or "").strip(), f"{page}.md does not show what is printed:\n{printed}"
            printed = heard.getvalue()
        elif kind == "text":
            assert printed is not None and same(printed, body), f"{page}.md has\n{body}\nand it printed\n{printed}"
            printed = None
        else:
            assert kind == "sh", f"{page}.md has a block of {kind}, which is not run"
            for line in body.strip().splitlines():
                words = shlex.split(line)
                assert words[0] == "efmca", line
                if words == ["efmca", "demo"]:
                    os.symlink(request.getfixturevalue("demo"), tmp_path / "efmca-demo", target_is_directory=True)
                    continue
                done = subprocess.run([*program, *words[1:]], capture_output=True, text=True, timeout=300)
                assert done.returncode == 0, done.stderr
    assert not (printed or "").strip(), f"{page}.md does not show what is printed:\n{printed}"
    pyplot.close("all")


def test_words_and_numbers_are_compared():
    assert same("a 1.00 b -2", "a  1.01 b -2.0")
    assert not same("a 1", "a 2") and not same("a 1", "b 1") and not same("a 1", "a 1 1")


def test_every_picture_of_a_guide_is_made_by_the_example():
    script = (GUIDES.parents[1] / "python" / "examples" / "pictures.py").read_text(encoding="utf-8")
    shown = {name for page in GUIDES.glob("*.md") for name in re.findall(r"!\[[^]]*\]\(([\w-]+\.png)\)", page.read_text())}
    assert len(shown) >= 6
    for name in shown:
        assert f'"{name}"' in script, name
        assert (GUIDES / name).stat().st_size < 100_000, name
    assert {path.name for path in GUIDES.glob("*.png")} == shown, "no picture is left over"
