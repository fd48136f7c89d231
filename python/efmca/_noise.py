"""Noise types, and the number of causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from efmca import _core
from efmca._frames import Columns, frame_kind, read_table
from efmca._images import _known, _Pages
from efmca._results import CauseChoice, ColumnFamilies, NoiseRanking
from efmca._settings import families_of_columns, steps_of_columns
from efmca._work import Callback, seed_of, working

FamilyLike = str | _core.OwnFamily


def _is_image(data: Any, kind: str, channel_axis: int | None) -> bool:
    """Whether values belong together by where they are."""
    if kind not in ("auto", "image", "table"):
        raise ValueError(f'kind = {kind!r}: it is "auto", "image" or "table"')
    if kind != "auto":
        return kind == "image"
    if frame_kind(data) != "numpy":
        return False
    return channel_axis is not None or np.ndim(data) > 2


def _comparison(
    patch_size: Any, most: int | None, n_restarts: int, max_iter: int, held_out: float, random_state: Any
) -> dict[str, Any]:
    side = (patch_size, patch_size) if isinstance(patch_size, (int, np.integer)) else tuple(patch_size)
    if len(side) != 2:
        raise ValueError(f"patch_size = {patch_size!r}: give one number, or rows and columns")
    return {
        "patch": (int(side[0]), int(side[1])),
        "most": most,
        "n_restarts": int(n_restarts),
        "max_iter": int(max_iter),
        "held_out": float(held_out),
        "seed": seed_of(random_state),
        "steps": [],
    }


def _table(data: Any) -> tuple[Any, Columns]:
    array, columns = read_table(data, who="efmca")
    return array.astype(np.float64, copy=False), columns


def noise_type(
    data: Any,
    families: Sequence[FamilyLike] | None = None,
    *,
    kind: Literal["auto", "image", "table"] = "auto",
    columns: Literal["auto", "each", "same"] = "auto",
    family: Mapping[Any, FamilyLike] | None = None,
    step: Any = None,
    n_components: int | Literal["auto"] | None = None,
    channel_axis: int | None = None,
    patch_size: Any = 8,
    most: int | None = None,
    n_restarts: int = 3,
    max_iter: int = 60,
    held_out: float = 0.1,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> NoiseRanking | ColumnFamilies:
    """Name the noise of an image or a table.

    All families that the values allow are ranked by how well they predict held-out values, as ``efmca noise-type`` does.

    Parameters
    ----------
    data : array or DataFrame
        A table of rows, or an image.
    families : sequence of str or Family, optional
        Ranks these only; ``"gamma:k=?"`` has its shape found.
    kind : {"auto", "image", "table"}, default="auto"
        Whether values belong together by where they are. Arrays of two axes and frames are tables unless this says
        otherwise.
    columns : {"auto", "each", "same"}, default="auto"
        A family for each column of a table (``"auto"`` for frames), or one for all (``"auto"`` for arrays).
    family : dict, optional
        Families of columns that are known, by name or number.
    step : float, "continuous", dict, optional
        How finely values were written down: a number, a list of codes or ``"continuous"``, for all columns of a table or in a dict from
        names or numbers of columns. Without it the step of each column is found. A rounded value stands for its interval.
    n_components : int or "auto", optional
        The number of causes; without it one that suits the size of the data.
    channel_axis : int, optional
        The axis of colours of an image.
    patch_size : int or (int, int), default=8
        Rows and columns of the patches of an image.
    most : int, optional
        Patches or rows that are looked at, at the most.
    n_restarts : int, default=3
        Trainings of each family that is not far behind.
    max_iter : int, default=60
        EM iterations of each training.
    held_out : float, default=0.1
        The share of the values that is held out.
    random_state, n_jobs, verbose, callback
        As in `EFMCA`. A callback that returns something true ends the work with the families that were trained.

    Returns
    -------
    NoiseRanking or ColumnFamilies
        The ranking, or the family of each column. Both print themselves, and have ``to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> rng = np.random.default_rng(0)
    >>> waits = rng.exponential(np.where(rng.random((300, 1)) < 0.4, [[9, 1, 9]], [[1, 1, 2]]))
    >>> efmca.noise_type(waits, ["exponential", "gaussian"], n_components=1).best
    'exponential'
    """
    comparison = _comparison(patch_size, most, n_restarts, max_iter, held_out, random_state)
    causes = "suitable" if n_components is None else str(n_components)
    ranked = None if families is None else [_known(one) for one in families]
    if columns not in ("auto", "each", "same"):
        raise ValueError(f'columns = {columns!r}: it is "auto", "each" or "same"')
    if _is_image(data, kind, channel_axis):
        if columns == "each" or family is not None or step is not None:
            raise ValueError("an image has one family: columns, family and step are for tables")
        values = _Pages(data, channel_axis, "data").values
        with working(n_jobs, callback, verbose) as work:
            return NoiseRanking(_core.rank_families(values, ranked, causes, comparison, work))
    array, known = _table(data)
    comparison["steps"] = steps_of_columns(step, known)
    each = columns == "each" or family is not None or isinstance(step, Mapping)
    each = each or columns == "auto" and families is None and known.frame != "numpy"
    if each and ranked is not None:
        raise ValueError("families ranks families of all columns together: leave it out, or take columns=\"same\"")
    with working(n_jobs, callback, verbose, known.names) as work:
        if not each:
            return NoiseRanking(_core.rank_families(array, ranked, causes, comparison, work))
        given, labels = families_of_columns(family or {}, known)
        fixed = [(d, one) for d, one in enumerate(given) if one is not None]
        found = _core.families_of_columns(array, fixed, labels, causes, comparison, work)
    return ColumnFamilies(found, list(known.names or range(known.count)))


def select(
    data: Any,
    n_components: Sequence[int] | None = None,
    *,
    family: Any = "auto",
    step: Any = None,
    kind: Literal["auto", "image", "table"] = "auto",
    channel_axis: int | None = None,
    patch_size: Any = 8,
    most: int | None = None,
    n_restarts: int = 1,
    max_iter: int = 60,
    held_out: float = 0.1,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> CauseChoice:
    """Choose the number of causes by how well held-out values are predicted.

    Parameters
    ----------
    data : array or DataFrame
        A table of rows, or an image.
    n_components : sequence of int, optional
        Numbers to try; without it powers of two that suit the size of the data.
    family : str, Family, list, dict or "auto", default="auto"
        Families as in `EFMCA`; those that are not given are found first.
    step, kind, channel_axis, patch_size, most, n_restarts, max_iter, held_out
        As in `noise_type`.
    random_state, n_jobs, verbose, callback
        As in `EFMCA`.

    Returns
    -------
    CauseChoice
        The number, and all that were tried. It prints itself, and has ``to_frame()``.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> rng = np.random.default_rng(0)
    >>> on = rng.random((400, 2, 1)) < 0.4
    >>> counts = rng.poisson((on * [[20, 20, 1, 1], [1, 1, 20, 20]]).max(axis=1) + 1)
    >>> efmca.select(counts, [1, 2, 4], family="poisson").best
    2
    """
    comparison = _comparison(patch_size, most, n_restarts, max_iter, held_out, random_state)
    numbers = [] if n_components is None else [int(number) for number in n_components]
    if any(number < 1 for number in numbers):
        raise ValueError(f"n_components = {numbers}: a model needs one cause at least")
    searching = {**comparison, "n_restarts": 3, "max_iter": 60, "held_out": 0.1}
    if _is_image(data, kind, channel_axis):
        values = _Pages(data, channel_axis, "data").values
        with working(n_jobs, callback, verbose) as work:
            if isinstance(family, str) and family == "auto":
                family = _core.rank_families(values, None, "suitable", searching, work)["best"]
            found = _core.select(values, [_known(family)], numbers, comparison, work)
        return CauseChoice(found, [family if isinstance(family, str) else family.name])
    array, known = _table(data)
    comparison["steps"] = searching["steps"] = steps_of_columns(step, known)
    with working(n_jobs, callback, verbose, known.names) as work:
        specs: list[Any]
        given, labels = families_of_columns(family, known)
        if any(one is None for one in given):
            if known.frame == "numpy" and all(one is None for one in given) and not labels:
                specs = [_core.rank_families(array, None, "suitable", searching, work)["best"]]
            else:
                fixed = [(d, one) for d, one in enumerate(given) if one is not None]
                columns = _core.families_of_columns(array, fixed, labels, "suitable", searching, work)["columns"]
                specs = [one if one is not None else column["family"] for one, column in zip(given, columns)]
        else:
            specs = given
        found = _core.select(array, specs, numbers, comparison, work)
    return CauseChoice(found, [one if isinstance(one, str) else one.name for one in specs])
