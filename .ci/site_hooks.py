"""What mkdocs does beside docs/: pages of the repository that lie elsewhere, and links to them.

A page keeps its relative links as they work in the repository. Here they are led to where the page is on the site; files that
are no pages (sources, licences) are put there as they are, and a link to a folder becomes plain text.
"""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
# pages outside of docs/ by their place on the site
PAGES = {
    "index.md": "README.md",
    "ARCHITECTURE.md": "ARCHITECTURE.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "CHANGELOG.md": "CHANGELOG.md",
}
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)\s]+)\)")

RUST = """# The Rust library

`cargo add` it by its path, and begin with [one call for each problem](index.md#in-rust).

<p><a href="../api/efmca/index.html">The documentation of the library</a>, with the paper's equations, is made by
<code>cargo docs</code>. The other crates: <a href="../api/efmca_io/index.html">files</a> and
<a href="../api/efmca_view/index.html">pictures</a>.</p>

[A family of your own](OWN_FAMILY.md) needs one trait.
"""

MATH = """document$.subscribe(() => {
  if (typeof renderMathInElement === "function")
    document.querySelectorAll(".arithmatex").forEach((one) => renderMathInElement(one, { throwOnError: false }));
});
"""


def _results() -> dict[str, str]:
    found = sorted((ROOT / "experiments" / "results").glob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.relative_to(ROOT).as_posix() for path in found}


def _origin(src_uri: str) -> PurePosixPath:
    """The file of the repository that a page is made of."""
    elsewhere = {**PAGES, **_results()}
    return PurePosixPath(elsewhere.get(src_uri, f"docs/{src_uri}"))


def _place(path: str) -> str:
    """The place on the site of a file of the repository."""
    back = {origin: place for place, origin in {**PAGES, **_results()}.items()}
    if path in back:
        return back[path]
    return path[len("docs/") :] if path.startswith("docs/") else f"repository/{path}"


def on_files(files, config):
    for place, origin in {**PAGES, **_results()}.items():
        files.append(File.generated(config, place, abs_src_path=str(ROOT / origin)))
    files.append(File.generated(config, "rust.md", content=RUST))
    files.append(File.generated(config, "site-math.js", content=MATH))
    # pages link to these: they come along as they are
    wanted: set[str] = set()
    for file in list(files.documentation_pages()):
        if file.src_uri == "rust.md":
            continue
        origin = _origin(file.src_uri)
        for _, _, target in LINK.findall((ROOT / origin).read_text(encoding="utf-8")):
            path = _target(origin, target)[0]
            if path is not None and (ROOT / path).is_file():
                wanted.add(path)
    for path in sorted(wanted):
        place = _place(path)
        if files.get_file_from_path(place) is None:
            files.append(File.generated(config, place, abs_src_path=str(ROOT / path)))
    return files


def _target(origin: PurePosixPath, target: str) -> tuple[str | None, str]:
    """The file of the repository that a link leads to, and its anchor."""
    if re.match(r"[a-z]+:", target) or target.startswith("#"):
        return None, ""
    path, _, anchor = target.partition("#")
    return os.path.normpath((origin.parent / path).as_posix()), f"#{anchor}" if anchor else ""


def on_page_markdown(markdown, page, config, files):
    if page.file.src_uri == "rust.md":
        return markdown
    origin = _origin(page.file.src_uri)
    here = PurePosixPath(page.file.src_uri).parent.as_posix()

    def led(match: re.Match[str]) -> str:
        image, text, target = match.groups()
        path, anchor = _target(origin, target)
        if path is None:
            return match.group(0)
        if (ROOT / path).is_dir():
            return text
        return f"{image}[{text}]({os.path.relpath(_place(path), here)}{anchor})"

    # code is left as it is: every second part lies within fences
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(led, part) for part in parts)

