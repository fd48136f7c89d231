"""Links of the documents: files and headings that they lead to exist."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

import efmca

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/results/*.md")],
    key=lambda path: path.as_posix(),
)
LINK = re.compile(r"!?\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"`[^`\n]*`")


def anchors(text):
    """The anchors of a page, made of its headings: lower case, punctuation away, spaces as dashes."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ +(.*?)\s*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        name = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        number = 1
        while name in found:
            name, number = f"{re.sub(r'-[0-9]+$', '', name)}-{number}", number + 1
        found.add(name)
    return found


def broken(page, text):
    for target in LINK.findall(SPAN.sub("", FENCE.sub("", text))):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page if not path else (page.parent / path)
        if not file.exists():
            yield f"{target}: there is no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links(page):
    assert list(broken(page, page.read_text(encoding="utf-8"))) == []


def test_there_are_pages():
    assert {"README.md", "GUIDE.md", "START.md"} <= {page.name for page in PAGES}


def test_broken_links_are_noticed():
    page = ROOT / "README.md"
    text = "[a](docs/GUIDE.md#tables) [b](docs/NOT.md) [c](docs/GUIDE.md#not) `[d](not.md)` [e](https://x.y) [f](#more)\n## More\n"
    assert [line.split(":")[0] for line in broken(page, text)] == ["docs/NOT.md", "docs/GUIDE.md#not"]


def test_the_reference_has_all_names():
    text = (ROOT / "docs" / "python" / "API.md").read_text(encoding="utf-8")
    for name in efmca.__all__:
        assert re.search(rf"[.`]{name}\b", text), f"docs/python/API.md does not have {name}"
    for module, name in re.findall(r"^::: efmca\.(\w+)\.(\w+)$", text, re.MULTILINE):
        assert hasattr(importlib.import_module(f"efmca.{module}"), name), name
