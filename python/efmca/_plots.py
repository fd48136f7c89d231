"""Pictures of models in matplotlib.

Every function draws into ``ax``, or into a new figure, and returns the axes. matplotlib is imported when a picture is drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efmca._pictures import fields_of, means_of, mosaic
from efmca._work import needed

Array = NDArray[Any]

_QUIET: dict[str, Any] = {"n_jobs": None, "callback": None, "names": None}
# rows that are drawn from a model to know the scatter of its columns
_DRAWN = 2000


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """The axes that were given, or those of a new figure."""
    pyplot = needed("matplotlib.pyplot", "plot", "a picture")
    if ax is None:
        _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def bare(ax: Any) -> None:
    """Axes without ticks and frame, for images."""
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)


def plot_components(
    model: Any,
    *,
    shape: tuple[int, ...] | None = None,
    n_components: int | None = None,
    scale: str = "same",
    cmap: Any = None,
    ax: Any = None,
) -> Any:
    """Draw the causes of a model, the most active one first.

    Parameters
    ----------
    model : EFMCA, Features, Denoised or Model
        A fitted estimator, or a result that has a model.
    shape : (int, int) or (int, int, 3), optional
        Rows and columns of the images that rows of the table are; models of patches know it. Without a shape causes are bars,
        or a heatmap where there are many; models with several families are drawn by `plot_table`.
    n_components : int, optional
        Causes to draw at the most.
    scale : {"same", "each"}, default="same"
        Whether images have one scale for all causes, or each its own.
    cmap : str or Colormap, optional
        The colours.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> pictures = np.random.default_rng(0).poisson(3, (50, 12))
    >>> model = efmca.EFMCA(2, "poisson", max_iter=2).fit(pictures)
    >>> ax = efmca.plot_components(model, shape=(3, 4))
    >>> len(ax.images)
    1
    """
    if scale not in ("same", "each"):
        raise ValueError(f'scale = {scale!r}: it is "same" or "each"')
    fields, pi = fields_of(model, shape)
    order = np.argsort(-pi, kind="stable")[:n_components]
    if fields is not None:
        return _images(fields[order], len(pi), scale, cmap, ax)
    means = means_of(model)[0]
    inner = getattr(model, "model_", None) or getattr(model, "model", model)
    if len(set(inner.families)) > 1:
        return plot_table(model, n_components=n_components, cmap=cmap, ax=ax)
    names = [*inner.names] or [str(d) for d in range(means.shape[1])]
    if len(order) <= 6 and means.shape[1] <= 20:
        return _bars(means[order], order, pi, names, ax)
    ax = axes_or_new(ax, min(12, 2 + 0.25 * means.shape[1]), min(10, 1.5 + 0.25 * len(order)))
    drawn = ax.imshow(means[order], aspect="auto", cmap=cmap or "viridis", interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label="mean")
    ax.set(xlabel="column", ylabel="cause")
    if len(names) <= 30:
        ax.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 3 else 0)
    ax.set_yticks(range(len(order)), [str(h) for h in order]) if len(order) <= 30 else None
    return ax


def _images(fields: Array, count: int, scale: str, cmap: Any, ax: Any) -> Any:
    signed = bool(fields.min() < 0 < fields.max())
    if scale == "each" or fields.ndim == 4:
        across = tuple(range(1, fields.ndim))
        if scale == "same":
            across = tuple(range(fields.ndim))
        high = np.abs(fields).max(across, keepdims=True) if signed else fields.max(across, keepdims=True)
        low = -high if signed else fields.min(across, keepdims=True)
        fields = (fields - low) / np.where(high > low, high - low, 1)
        span, signed_now = (0.0, 1.0), signed
    else:
        top = float(np.abs(fields).max())
        span, signed_now = ((-top, top) if signed else (float(fields.min()), float(fields.max()))), signed
    picture = mosaic(fields)
    ax = axes_or_new(ax, 5, 5 * picture.shape[0] / picture.shape[1] + 0.3)
    if picture.ndim == 3:
        drawn = ax.imshow(np.nan_to_num(picture, nan=1.0), interpolation="nearest")
    else:
        colours = cmap or ("RdBu_r" if signed_now else "gray")
        drawn = ax.imshow(picture, cmap=colours, vmin=span[0], vmax=span[1], interpolation="nearest")
        if scale == "same":
            ax.figure.colorbar(drawn, ax=ax, label="mean", shrink=0.8)
    bare(ax)
    shown = f"{len(fields)} of {count} causes" if len(fields) < count else f"{count} causes"
    ax.set_title(f"{shown}, the most active first", fontsize="medium")
    return ax


def _bars(means: Array, order: Array, pi: Array, names: list[str], ax: Any) -> Any:
    ax = axes_or_new(ax, min(10, 2.5 + 0.25 * means.size), 3.2)
    width = 0.8 / len(means)
    for place, (h, row) in enumerate(zip(order, means)):
        at = np.arange(len(row)) + (place - (len(means) - 1) / 2) * width
        ax.bar(at, row, width, label=f"cause {h} ({100 * pi[h]:.0f} %)")
    ax.set_xticks(range(len(names)), names, rotation=45 if max(map(len, names)) > 4 and len(names) > 6 else 0)
    ax.set_ylabel("mean")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_bound(model: Any, *, ax: Any = None) -> Any:
    """Draw how the bound rose from iteration to iteration; it should be nearly level at the end.

    Parameters
    ----------
    model : EFMCA, Features, Denoised or array
        A fitted estimator, a result, or bounds themselves. The models of a `Denoised` see different data, so that each is
        drawn relative to where it ended.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    label = "lower bound of the log-likelihood"
    if hasattr(model, "lower_bounds_"):
        lines, label = {"": model.lower_bounds_}, "log-likelihood" if model.is_exact_ else label
    elif hasattr(model, "models"):
        lines = {f"{_size(one)}, {one['n_components']} causes": one["bounds"] for one in model.models}
        lines, label = {name: bounds - bounds[-1] for name, bounds in lines.items()}, "bound, relative to its last value"
    elif hasattr(model, "bounds"):
        lines = {"": model.bounds}
    elif isinstance(model, (list, tuple, np.ndarray)):
        lines = {"": np.asarray(model, dtype=float)}
    else:
        raise ValueError(f"there are no bounds in {model!r}: models of files do not have them, and others are to be fitted")
    ax = axes_or_new(ax, 4.5, 3)
    for name, bounds in lines.items():
        ax.plot(np.arange(1, len(bounds) + 1), bounds, marker="." if len(bounds) <= 40 else None, label=name or None)
    ax.set(xlabel="iteration", ylabel=label)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if len(lines) > 1:
        ax.legend(frameon=False, fontsize="small")
    return ax


def _size(one: dict[str, Any]) -> str:
    block = f" of blocks of {one['block']}" if one["block"] not in (1, (1, 1), None) else ""
    patch = one["patch"]
    return (" x ".join(str(side) for side in patch) if isinstance(patch, tuple) else str(patch)) + block


def plot_encoding(
    model: Any, X: Any, *, shape: tuple[int, int] | None = None, n_rows: int | None = None, cmap: Any = None, ax: Any = None
) -> Any:
    """Draw which causes are behind rows.

    With a shape each row is an image: beside it stand the causes of its most probable state, and what these say together
    (the posterior mean). Otherwise it is a heatmap of how likely each cause is to be active.

    Parameters
    ----------
    model : EFMCA
        A fitted estimator.
    X : array or DataFrame of shape (n_samples, n_features)
        Rows.
    shape : (int, int), optional
        Rows and columns of the images that rows are; models of patches with one channel know it.
    n_rows : int, optional
        Rows to draw at the most: 6 as images and 40 in a heatmap without it.
    cmap : str or Colormap, optional
        The colours.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if not hasattr(model, "transform"):
        raise TypeError(f"a fitted EFMCA is needed, not {type(model).__name__}; efmca.load_model reads one from a file")
    model._check_fitted()
    patch = model.model_.patch
    if shape is None and patch is not None and patch[2:] == (1, 1):
        shape = patch[:2]
    rows = X[: n_rows or (40 if shape is None else 6)]
    if shape is not None:
        return _explained(model, rows, tuple(shape), cmap, ax)
    active = np.asarray(model.transform(rows))
    ax = axes_or_new(ax, min(10, 2.5 + 0.35 * active.shape[1]), min(8, 1.5 + 0.15 * len(active)))
    drawn = ax.imshow(active, aspect="auto", vmin=0, vmax=1, cmap=cmap or "Blues", interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label="probability that it is active")
    ax.set(xlabel="cause", ylabel="row")
    ax.xaxis.get_major_locator().set_params(integer=True)
    index = getattr(rows, "index", None)
    if index is not None and len(index) <= 40:
        ax.set_yticks(range(len(index)), [str(one) for one in index], fontsize="small")
    return ax


def _explained(model: Any, rows: Any, shape: tuple[int, ...], cmap: Any, ax: Any) -> Any:
    """Images, the causes behind each of them, and what those say together."""
    values = np.asarray(rows, dtype=float)
    fields = fields_of(model, shape)[0]
    states, together = model.predict(rows), np.asarray(model.posterior_mean(rows))
    if fields is None or fields.ndim != 3:
        raise ValueError(f"shape = {shape}: give rows and columns of images with one channel")
    most = max(1, int(states.sum(axis=1).max()))
    tiles = np.full((len(values), most + 2, *shape), np.nan)
    tiles[:, 0] = values.reshape(-1, *shape)
    tiles[:, -1] = together.reshape(-1, *shape)
    for n, state in enumerate(states):
        behind = np.flatnonzero(state)
        tiles[n, 1 : 1 + len(behind)] = fields[behind]
    picture = mosaic(tiles.reshape(-1, *shape), columns=most + 2)
    ax = axes_or_new(ax, min(10, 1 + 0.8 * (most + 2)), 0.6 + 0.8 * len(values))
    top = float(np.nanquantile(picture, 0.998))
    low = float(np.nanmin(picture))
    if low < 0:
        low, top = -max(top, -low), max(top, -low)
    ax.imshow(picture, cmap=cmap or ("RdBu_r" if low < 0 else "gray"), vmin=low, vmax=top, interpolation="nearest")
    bare(ax)
    step = shape[1] + 1
    for left, right, text in [(0, 1, "data"), (1, most + 1, "causes"), (most + 1, most + 2, "together")]:
        ax.text((left + right) * step / 2 - 1, -1.5, text, ha="center", va="bottom", fontsize="medium")
    # the title of the axes would be on the words
    for edge in (1, most + 1):
        ax.axvline(edge * step - 1, color="tab:blue", linewidth=1)
    return ax


def plot_table(model: Any, *, n_components: int | None = None, cmap: Any = None, ax: Any = None) -> Any:
    """Draw what each cause does to each column of a table.

    A cell has the mean that the cause gives the column; of labels it has the most probable one. The colour is how far that
    is from the background (where no cause is active), in standard deviations of the column; where a family is of your own,
    the largest difference of each column counts as two.

    Parameters
    ----------
    model : EFMCA
        A fitted estimator.
    n_components : int, optional
        Causes to draw at the most, the most active first.
    cmap : str or Colormap, optional
        The colours, whose middle is no difference.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if not hasattr(model, "components_"):
        means_of(model)  # says what is missing
        raise TypeError(f"a fitted EFMCA is needed, not {type(model).__name__}; efmca.load_model reads one from a file")
    order = [int(h) for h in np.argsort(-model.pi_, kind="stable")[:n_components]]
    colours, texts = _colours(model, order), table_texts(model, order)
    names = [str(name) for name in getattr(model, "feature_names_in_", range(model.n_features_in_))]
    wide = max([6, *(len(text) for row in texts for text in row), *(len(name) for name in names)])
    written = len(names) <= 16 and len(order) <= 16
    ax = axes_or_new(
        ax, min(14, 2.6 + len(names) * (0.1 * wide if written else 0.25)), min(10, 1.3 + 0.36 * (len(order) + 1))
    )
    drawn = ax.imshow(colours, aspect="auto", cmap=cmap or "RdBu_r", vmin=-2, vmax=2, interpolation="nearest")
    ax.figure.colorbar(drawn, ax=ax, label="difference to the background\n(standard deviations)", extend="both")
    ax.set_xticks(range(len(names)), names, rotation=0 if written else 90)
    labels = [f"cause {h} ({100 * model.pi_[h]:.0f} %)" for h in order]
    ax.set_yticks(range(len(order) + 1), [*labels, "background"])
    if written:
        for (row, column), colour in np.ndenumerate(colours):
            ink = "white" if abs(colour) > 1.3 else "black"
            ax.text(column, row, texts[row][column], ha="center", va="center", fontsize="small", color=ink)
    ax.axhline(len(order) - 0.5, color="black", linewidth=0.8)
    ax.tick_params(length=0)
    return ax


def table_texts(model: Any, order: list[int]) -> list[list[str]]:
    """What is written into cells: a row for each cause in `order`, and one for the background."""
    means = np.vstack([model.components_[order], model.background_])
    texts = [[_number(value) for value in row] for row in means]
    for d, labels in enumerate(model._columns.categories):
        if labels is None:
            continue
        for row, share in enumerate(_shares(model, d, len(labels))[[*order, -1]]):
            best = int(np.argmax(share))
            texts[row][d] = f"{labels[best]} {100 * share[best]:.0f} %"
    return texts


def _colours(model: Any, order: list[int]) -> Array:
    """Differences of cells to the background, in standard deviations of their column."""
    means = np.vstack([model.components_[order], model.background_])
    if model.model_.own_families:
        # drawing from them takes minutes: the largest difference of a column counts as two deviations
        scatter = np.abs(means - means[-1]).max(axis=0) / 2
    else:
        scatter = np.nanstd(model.model_.sample(_DRAWN, 0, False, _QUIET)[0], axis=0)
    colours = np.asarray((means - means[-1]) / np.where(scatter > 0, scatter, 1))
    for d, labels in enumerate(model._columns.categories):
        if labels is not None and len(labels) > 2:
            # codes of labels have no order: the share of rows that have another label, where half of them are two deviations
            shares = _shares(model, d, len(labels))[[*order, -1]]
            colours[:, d] = 4 * np.abs(shares - shares[-1]).sum(axis=1) / 2
    return colours


def _shares(model: Any, d: int, count: int) -> Array:
    """How probable each label of a column is, for each cause and, last, the background."""
    parameters = model.parameters_
    if count == 2 and "probability" in parameters and np.isfinite(parameters["probability"][:, d]).all():
        second = parameters["probability"][:, d]
        return np.column_stack([1 - second, second])
    if all(f"p{label}" in parameters for label in range(count)):
        return np.column_stack([parameters[f"p{label}"][:, d] for label in range(count)])
    means = np.append(model.components_[:, d], model.background_[d])
    # another family was given for the labels: only the mean of their codes is known
    nearest = np.clip(np.round(means), 0, count - 1).astype(int)
    return np.asarray(np.eye(count)[nearest])


def _number(value: float) -> str:
    """A number with three digits, without an exponent where that is short."""
    if not np.isfinite(value):
        return str(value)
    size = abs(value)
    if size >= 1e5 or 0 < size < 1e-3:
        return f"{value:.1e}"
    if size >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"
