"""What notebooks show: HTML in which everything is escaped and nothing comes from outside."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from efmca._pictures import black_and_white, fields_of, limits, mosaic, png_tag

# of larger models the first causes and columns are shown
_MOST_CAUSES, _MOST_COLUMNS, _MOST_FIELDS = 12, 12, 64


def table(head: list[str], rows: list[list[str]]) -> str:
    """A table; cells are texts."""
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f'<td style="white-space:nowrap">{escape(cell)}</td>' for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"


def of_estimator(model: Any) -> str:
    """A fitted estimator: its settings, how training went, and what each cause does to each column."""
    from efmca._plots import table_texts

    order = [int(h) for h in np.argsort(-model.pi_, kind="stable")]
    shown = order[:_MOST_CAUSES]
    texts = table_texts(model, shown)
    names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
    lines = [f"<p><b>{escape(repr(model))}</b></p>", f"<p>{escape(sentence(model))}</p>"]
    columns = slice(0, _MOST_COLUMNS)
    head = ["cause", "active", *(f"{name} ({family})" for name, family in zip(names[columns], model.families_[columns]))]
    rows = [[str(h), f"{100 * model.pi_[h]:.1f} %", *texts[row][columns]] for row, h in enumerate(shown)]
    rows.append(["background", "", *texts[-1][columns]])
    lines.append(table(head, rows))
    left = [
        f"{hidden} more {what}"
        for hidden, what in [(len(order) - len(shown), "causes"), (len(names) - _MOST_COLUMNS, "columns")]
        if hidden > 0
    ]
    if left:
        lines.append(f"<p>and {' and '.join(left)}</p>")
    return "<div>" + "".join(lines) + "</div>"


def sentence(model: Any) -> str:
    """What was learned, in a sentence."""
    what = f"{model.n_components_} causes of {model.n_features_in_} columns"
    if not hasattr(model, "n_iter_"):
        return f"{what}, from a file."
    ended = "converged" if model.converged_ else "not converged"
    bound = "log-likelihood" if model.is_exact_ else "lower bound of the log-likelihood"
    return f"{what}; {ended} after {model.n_iter_} iterations; {bound} {model.lower_bound_:.6g}."


def of_denoised(result: Any) -> str:
    """Before, after and residual of the first page."""
    noisy, clean = (np.asarray(pages[0], dtype=float) for pages in result._pages)
    if noisy.shape[-1] != 3:
        noisy, clean = noisy.mean(axis=-1), clean.mean(axis=-1)
    low, high = black_and_white(clean)
    residual = noisy - clean
    residual = residual.mean(axis=-1) if residual.ndim == 3 else residual
    far = max(limits(np.abs(residual), 0.01)[1], float(np.finfo(float).tiny))
    pages = len(result._pages[0])
    lines = [f"<p><b>{escape(repr(result))}</b></p>"]
    if result.noise:
        lines.append(f"<p>{escape(result.noise)}</p>")
    if result.stopped:
        lines.append("<p>It was ended early.</p>")
    where = f" (page 0 of {pages})" if pages > 1 else ""
    lines.append(
        png_tag(noisy, low, high, f"before{where}")
        + png_tag(clean, low, high, f"after{where}")
        + png_tag(residual, -far, far, f"residual{where}")
    )
    return "<div>" + "".join(lines) + "</div>"


def of_features(features: Any) -> str:
    """The fields of the most active causes."""
    head = f"<p><b>{escape(repr(features))}</b></p>"
    fields, pi = fields_of(features)
    if fields is None:
        return f"<div>{head}</div>"
    order = np.argsort(-pi, kind="stable")[:_MOST_FIELDS]
    # each field has its own scale, and zero is the same grey in all
    fields = fields[order]
    across = tuple(range(1, fields.ndim))
    far = np.abs(fields).max(across, keepdims=True)
    scaled = fields / np.where(far > 0, far, 1)
    low = -1.0 if bool((fields < 0).any()) else 0.0
    title = f"{len(order)} of {len(pi)} causes, the most active first"
    return f"<div>{head}{png_tag(mosaic(scaled), low, 1.0, title)}</div>"
