"""The report about a table and the causes of a model."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from efmca._frames import frame_kind


class TableReport:
    """What there is to say about a table and the causes of a model: a page, and its numbers.

    Attributes
    ----------
    numbers : dict
        The numbers of the report, as docs/TABLES.md describes them (``efmca-report-1``): ``columns``, ``causes`` with their effects
        and what they explain, ``unlikely_rows``, ``groups``, ``views``. Rows and causes are counted from 1 there.
    html : str
        The page, which needs nothing else.
    """

    def __init__(self, html: str, numbers: str) -> None:
        self.html = html
        self.numbers: dict[str, Any] = json.loads(numbers)

    def save(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Write the page to a file, and with a name that ends in ``.json`` the numbers."""
        place = Path(path)
        if place.exists() and not overwrite:
            raise FileExistsError(f"{place} is there already; overwrite=True replaces it")
        text = json.dumps(self.numbers, indent=2) + "\n" if place.suffix.lower() == ".json" else self.html
        # a full disk leaves what was there, and never half of a page
        part = place.with_name(f".{place.name}.{os.getpid()}.part")
        try:
            part.write_text(text, encoding="utf-8")
            os.replace(part, place)
        finally:
            part.unlink(missing_ok=True)

    def _repr_html_(self) -> str:
        # a frame of its own keeps the page's styles to itself
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:0"></iframe>'

    def __repr__(self) -> str:
        columns, causes = len(self.numbers["columns"]), len(self.numbers["causes"])
        return f"TableReport({self.numbers['rows']} rows, {columns} columns, {causes} causes)"


def groups_of(x: Any, by: Any) -> tuple[Any, tuple[str, list[str], list[int | None]] | None]:
    """The table without its column of groups, and the groups: what they are, their names, and that of each row."""
    if by is None:
        return x, None
    what = "group"
    if isinstance(by, str):
        kind = frame_kind(x)
        if kind == "numpy" or by not in list(x.columns):
            raise ValueError(f"by = {by!r}: X has no column of this name; give a label for each row")
        what, column = by, x[by]
        x = x.drop(columns=by) if kind == "pandas" else x.drop(by)
        by = column
    labels = np.asarray(by, dtype=object)
    if labels.ndim != 1:
        raise ValueError(f"by has {labels.ndim} dimensions; give a label for each row")
    missing = [label is None or label != label for label in labels]
    known = sorted({label for label, gone in zip(labels, missing, strict=True) if not gone}, key=_order)
    place = {label: number for number, label in enumerate(known)}
    of_rows = [None if gone else place[label] for label, gone in zip(labels, missing, strict=True)]
    return x, (what, [str(label) for label in known], of_rows)


def _order(label: Any) -> tuple[str, Any]:
    return ("", label) if isinstance(label, (int, float, np.number)) else ("text", str(label))
