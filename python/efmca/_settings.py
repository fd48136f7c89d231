"""What users say about columns, rows and numbers, in the form that the compiled part takes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._frames import Columns

Array = NDArray[np.float64]


def is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))


def has_package(module: str) -> bool:
    import importlib.util

    return importlib.util.find_spec(module) is not None


def values_of_labels(labels: list[str] | None) -> list[Any] | None:
    """Labels of a file, which are texts; those of booleans are booleans again."""
    return [False, True] if labels == ["False", "True"] else labels


def unique_names(names: list[str] | None) -> list[str]:
    """Names for a model file, which has none where two are equal."""
    return names if names is not None and len(set(names)) == len(names) else []


def row_weights(weights: Any, array: Any) -> Array | None:
    if weights is None:
        return None
    if np.isscalar(weights):
        weights = np.full(array.shape[0], weights)
    try:
        found: Array = np.ascontiguousarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise type(error)(f"sample_weight must be numbers: {error}") from error
    if found.shape != (array.shape[0],):
        raise ValueError(f"sample_weight has the shape {found.shape}, and X has {array.shape[0]} rows")
    return found


def families_of_columns(family: Any, columns: Columns) -> tuple[list[Any], list[tuple[int, int]]]:
    """The family of each column, None where it is to be found, and the columns of labels without one."""
    count, labels = columns.count, dict(columns.labels)
    given: list[Any] = [None] * count
    if isinstance(family, Mapping):
        for key, one in family.items():
            given[place_of(key, columns)] = one
        own = set(range(count)) - {d for d in labels if given[d] is None}
    elif isinstance(family, (str, _core.OwnFamily)):
        given = [family] * count
        own = set(range(count)) - set(labels)
    elif isinstance(family, Sequence) or isinstance(family, np.ndarray):
        if len(family) != count:
            raise ValueError(f"family has {len(family)} entries, and X has {count} columns")
        given = list(family)
        own = set(range(count)) - {d for d in labels if given[d] is None}
    else:
        raise TypeError(f"family must be a name, a Family, a list or a dict, not {type(family).__name__}")
    for one in given:
        if not (one is None or isinstance(one, (str, _core.OwnFamily))):
            raise TypeError(f"a family is a name or a Family, not {one!r}")
    found = [None if d not in own or given[d] == "auto" else given[d] for d in range(count)]
    searched = {d for d in range(count) if d in own and given[d] == "auto"}
    return found, [(d, size) for d, size in labels.items() if d not in own or d in searched]


def steps_of_columns(step: Any, columns: Columns) -> list[tuple[int, str]]:
    """How finely values were written down, by the number of the column and as texts that the compiled part reads."""
    if step is None:
        return []
    if isinstance(step, Mapping):
        return [(place_of(key, columns, "step"), _step_text(one)) for key, one in step.items()]
    labels = dict(columns.labels)
    return [(d, _step_text(step)) for d in range(columns.count) if d not in labels]


def _step_text(step: Any) -> str:
    if isinstance(step, str):
        return step
    if isinstance(step, (Sequence, np.ndarray)):
        return "/".join(repr(float(code)) for code in step)
    if isinstance(step, (bool, np.bool_)) or not isinstance(step, (int, float, np.integer, np.floating)):
        raise TypeError(f'step = {step!r}: give a number, a list of codes or "continuous"')
    return repr(float(step))


def signs_of_causes(signs: Any, columns: Columns) -> list[tuple[int, int, int]]:
    """What is known of causes: cause, column, and 1, -1 or 0."""
    if signs is None:
        return []
    if isinstance(signs, np.ndarray):
        if signs.ndim != 2 or signs.shape[1] != columns.count:
            raise ValueError(f"signs has the shape {signs.shape}; give a row for each cause and {columns.count} columns")
        return [(h, d, _sign(signs[h, d])) for h, d in np.ndindex(signs.shape) if not _unknown(signs[h, d])]
    if isinstance(signs, (str, bytes, Mapping)) or not isinstance(signs, Sequence):
        raise TypeError("signs must be a list with a dict for each cause, or an array of causes and columns")
    found: list[tuple[int, int, int]] = []
    for h, of_cause in enumerate(signs):
        if not isinstance(of_cause, Mapping):
            raise TypeError(f"signs[{h}] = {of_cause!r}: give a dict from columns to \"+\", \"-\" or \"0\"")
        found += [(h, place_of(key, columns, "signs"), _sign(one)) for key, one in of_cause.items()]
    return found


def _unknown(sign: Any) -> bool:
    return sign is None or sign == "" or (isinstance(sign, (float, np.floating)) and bool(np.isnan(sign)))


def _sign(sign: Any) -> int:
    known = {"+": 1, "-": -1, "0": 0}.get(sign) if isinstance(sign, str) else None
    if known is None and not isinstance(sign, (str, bool, np.bool_)) and sign in (1, -1, 0):
        known = int(sign)
    if known is None:
        raise ValueError(f'signs has {sign!r}: give "+", "-" or "0", and leave out what is not known')
    return known


def views_of_columns(views: Any, columns: Columns) -> list[tuple[str, list[int]]]:
    """Groups of columns by their names."""
    if views is None:
        return []
    if not isinstance(views, Mapping):
        raise TypeError(f"views must be a dict from names to lists of columns, not {type(views).__name__}")
    found: list[tuple[str, list[int]]] = []
    for name, of_view in views.items():
        if isinstance(of_view, (str, bytes)) or not isinstance(of_view, (Sequence, np.ndarray)):
            raise TypeError(f"views[{name!r}] = {of_view!r}: give a list of columns")
        found.append((str(name), [place_of(key, columns, "views") for key in of_view]))
    return found


def held_model(hold: Any, columns: Columns) -> _core.Model | None:
    """The model whose causes are held: that of an estimator, or of a file."""
    if hold is None:
        return None
    model: Any = getattr(hold, "model_", None)
    if model is None:
        if not isinstance(hold, (str, os.PathLike)):
            raise TypeError("hold must be a fitted EFMCA, or the path of a model file")
        model = _core.load_model(os.fspath(hold), [])
    if model.n_features != columns.count:
        raise ValueError(f"hold has {model.n_features} columns, and X has {columns.count}")
    if columns.names is not None and model.names and list(model.names) != columns.names:
        raise ValueError(
            f"hold has the columns {', '.join(model.names[:8])}, and X has {', '.join(columns.names[:8])}; give a model of "
            "the same columns in the same order"
        )
    found: _core.Model = model
    return found


def place_of(key: Any, columns: Columns, what: str = "family") -> int:
    """The number of a column that has a name or a number."""
    if isinstance(key, str):
        if columns.names is None or key not in columns.names:
            known = "it has no names" if columns.names is None else f"the columns are {', '.join(columns.names[:20])}"
            raise ValueError(f"{what} has an entry for column {key!r}, which X does not have; {known}")
        return columns.names.index(key)
    if not is_whole(key) or not 0 <= key < columns.count:
        raise ValueError(f"{what} has an entry for column {key!r}; give names, or numbers from 0 to {columns.count - 1}")
    return int(key)
