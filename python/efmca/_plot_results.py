"""Pictures of results: rankings of noise, numbers of causes, clean images."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from efmca._pictures import black_and_white, limits
from efmca._plots import axes_or_new, bare
from efmca._results import CauseChoice, ColumnFamilies, Denoised, NoiseRanking

Array = NDArray[Any]


def plot_noise_ranking(ranking: Any, *, n_families: int = 12, ax: Any = None) -> Any:
    """Draw how far families are behind the best one, with two standard errors; ties are filled.

    Parameters
    ----------
    ranking : NoiseRanking or ColumnFamilies
        What `noise_type` returned. Of a table with a family for each column the picture has a line for each column, with its
        family in front, and a dot for each family that was tried.
    n_families : int, default=12
        Families to draw at the most, for each column.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if isinstance(ranking, ColumnFamilies):
        return _columns(ranking, n_families, ax)
    if not isinstance(ranking, NoiseRanking):
        raise TypeError(f"a result of efmca.noise_type is needed, not {type(ranking).__name__}")
    rows = ranking.rows[:n_families]
    ax = axes_or_new(ax, 5.5, 1 + 0.28 * len(rows))
    for place, row in enumerate(rows):
        colour = "tab:blue" if row["tied"] or place == 0 else "0.45"
        ax.errorbar(
            row["behind"], place, xerr=2 * row["error"], fmt="o", color=colour, capsize=3, markersize=5,
            markerfacecolor=colour if row["tied"] or place == 0 else "white",
        )  # fmt: skip
    _behind_scale(ax, [(row["behind"], row["error"]) for row in rows])
    ax.set_yticks(range(len(rows)), [row["family"] for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("behind the best, in nats for a held-out value")
    left = len(ranking.rows) - len(rows)
    if left:
        ax.set_title(f"{left} more are further behind", fontsize="small", loc="right", color="0.4")
    return ax


def _columns(ranking: ColumnFamilies, n_families: int, ax: Any) -> Any:
    ax = axes_or_new(ax, 6.5, 1 + 0.32 * len(ranking.rows))
    dots = []
    for place, row in enumerate(ranking.rows):
        for one in row["ranking"][:n_families]:
            chosen = one["family"] == row["family"]
            colour = "tab:orange" if chosen else "tab:blue" if one["tied"] else "0.6"
            face = colour if chosen or one["tied"] else "white"
            size = 8 if chosen else 5
            ax.plot(one["behind"], place, "o", color=colour, markerfacecolor=face, markersize=size, zorder=2 + chosen)
            dots.append((one["behind"], one["error"]))
        if row["fixed"] or not row["ranking"]:
            # labels and families that were given are not compared
            ax.text(0, place, "given", va="center", ha="left", fontsize="small", color="0.4")
    _behind_scale(ax, dots)
    ax.set_yticks(range(len(ranking.rows)), [f"{row['column']}: {row['family']}" for row in ranking.rows])
    ax.set_ylim(len(ranking.rows) - 0.5, -0.5)
    ax.set_xlabel("behind the best, in nats for a held-out value")
    ax.set_title("orange: taken; blue: as good; white: worse", fontsize="small", loc="right", color="0.4")
    return ax


def _behind_scale(ax: Any, dots: list[tuple[float, float]]) -> None:
    """Differences are a thousandth of a nat or several: linear below the smallest error, logarithmic above it."""
    ax.grid(axis="x", color="0.9")
    ax.set_axisbelow(True)
    ax.axvline(0, color="0.5", linewidth=1)
    high = max([behind + 2 * error for behind, error in dots], default=0.0)
    errors = [error for _, error in dots if error > 0]
    if high <= 0:
        return
    near = 10 ** np.round(np.log10(max(min(errors, default=high / 10), high / 1e4)))
    if high > 20 * near:
        ax.set_xscale("symlog", linthresh=near)
        ax.set_xlim(-0.5 * near, high * 1.5)
    else:
        ax.set_xlim(-0.08 * high, high * 1.08)


def plot_choice(choice: CauseChoice, *, ax: Any = None) -> Any:
    """Draw how well numbers of causes predict held-out values, with two standard errors of the distance to the best.

    Parameters
    ----------
    choice : CauseChoice
        What `select` returned, or ``choice_`` of an estimator with ``n_components="auto"``.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.
    """
    if not isinstance(choice, CauseChoice):
        raise TypeError(f"a result of efmca.select is needed, not {type(choice).__name__}")
    rows = sorted(choice.rows, key=lambda row: row["n_components"])
    numbers, heights = [row["n_components"] for row in rows], [row["held_out"] for row in rows]
    ax = axes_or_new(ax, 4.5, 3)
    ax.errorbar(numbers, heights, yerr=[2 * row["error"] for row in rows], fmt="o-", color="tab:blue", capsize=3)
    chosen = numbers.index(choice.best)
    ax.plot(choice.best, heights[chosen], "o", color="tab:orange", markersize=9, label=f"{choice.best} causes", zorder=3)
    ax.set_xscale("log", base=2)
    ax.set_xticks(numbers, [str(number) for number in numbers])
    ax.minorticks_off()
    ax.set(xlabel="causes", ylabel="log-probability of a held-out value")
    ax.legend(frameon=False)
    return ax


def plot_denoised(
    result: Any, image: Any = None, *, clean: Any = None, page: int = 0, std: bool = False, cmap: Any = "gray", ax: Any = None
) -> Any:
    """Draw an image before and after cleaning, and what was taken away.

    Before and after have the same black and white. The residual should look like noise everywhere: outlines of the scene in
    it are parts that were taken away with the noise.

    Parameters
    ----------
    result : Denoised or array
        What ``denoise(..., full_output=True)`` returned; or a clean image of rows and columns (after pages, if there are any).
    image : array, optional
        The noisy image, if `result` is an array.
    clean : array, optional
        The true image, if there is one, as a fourth picture.
    page : int, default=0
        The page of a stack to draw.
    std : bool, default=False
        Whether to draw the posterior standard deviation, too; of colours it is their average.
    cmap : str or Colormap, default="gray"
        The colours of images with one channel.
    ax : sequence of matplotlib.axes.Axes, optional
        Where to draw: one for each picture.

    Returns
    -------
    ndarray of matplotlib.axes.Axes
        The axes: before, after, residual, and those that were asked for.
    """
    before, after, deviation, truth = _page(result, image, clean, page)
    scaled: list[Any] = [before, after, truth]
    low, high = black_and_white(after)
    residual = before - after
    residual = residual.mean(axis=-1) if residual.ndim == 3 else residual
    if after.ndim == 3:
        scaled = [None if one is None else (one - low) / (high - low) for one in scaled]
    far = max(limits(np.abs(residual), 0.01)[1], np.finfo(float).tiny)
    grey = {"cmap": cmap, "vmin": low, "vmax": high}
    pictures: list[tuple[str, Array, dict[str, Any]]] = [("before", scaled[0], grey), ("after", scaled[1], grey)]
    pictures.append(("residual", residual, {"cmap": "RdBu_r", "vmin": -far, "vmax": far}))
    if truth is not None:
        pictures.append(("truth", scaled[2], grey))
    if std:
        if deviation is None:
            raise ValueError("std needs a Denoised: efmca.denoise(..., full_output=True)")
        pictures.append(("standard deviation", deviation, {"cmap": "magma", "vmin": 0, "vmax": limits(deviation)[1]}))
    axes = _row_of_axes(ax, len(pictures), after.shape[0] / after.shape[1])
    for one, (title, picture, settings) in zip(axes, pictures):
        colour = picture.ndim == 3
        drawn = one.imshow(
            np.clip(np.nan_to_num(picture, nan=1.0), 0, 1) if colour else picture,
            interpolation="nearest", **({} if colour else settings),
        )  # fmt: skip
        bare(one)
        one.set_title(title, fontsize="medium")
        if title in ("residual", "standard deviation"):
            one.figure.colorbar(drawn, ax=one, shrink=0.8, pad=0.02)
    return axes


def _page(result: Any, image: Any, clean: Any, page: int) -> tuple[Array, Array, Array | None, Array | None]:
    """One page of everything: rows and columns, and three channels where there are three."""
    if isinstance(result, Denoised):
        if image is not None:
            raise ValueError("a Denoised has its noisy image with it: leave image out")
        noisy, after = result._pages
        shape = after.shape
        deviation: Any = _like(result.std, result, shape)
        truth = None if clean is None else _like(np.asarray(clean), result, shape)
    else:
        if image is None:
            raise ValueError("give the noisy image, too: plot_denoised(clean, noisy)")
        after, noisy = (np.asarray(one, dtype=float) for one in (result, image))
        truth = None if clean is None else np.asarray(clean, dtype=float)
        for name, one in (("image", noisy), ("clean", truth)):
            if one is not None and one.shape != after.shape:
                raise ValueError(f"{name} has the shape {one.shape}, and the result {after.shape}")
        if after.ndim < 2:
            raise ValueError(f"the result has {after.ndim} axes, and rows and columns are needed")
        after, noisy = (one.reshape(-1, *one.shape[-2:], 1) for one in (after, noisy))
        truth = None if truth is None else truth.reshape(after.shape)
        deviation = None
    if not -len(after) <= page < len(after):
        raise ValueError(f"page = {page}: there are {len(after)} pages, counted from 0")
    planes = [None if one is None else np.asarray(one, dtype=float)[page] for one in (noisy, after, deviation, truth)]
    drawn: list[Any] = [None if one is None else _channels(one) for one in planes]
    if drawn[2] is not None and drawn[2].ndim == 3:
        drawn[2] = drawn[2].mean(axis=-1)
    return drawn[0], drawn[1], drawn[2], drawn[3]


def _like(array: Array, result: Denoised, shape: tuple[int, ...]) -> Array:
    """An array in the axes of the image as pages, rows, columns and channels."""
    if array.shape != result.image.shape:
        raise ValueError(f"clean has the shape {array.shape}, and the image {result.image.shape}")
    if shape[-1] == 1 and array.size == int(np.prod(shape)):
        return array.reshape(shape)
    # the axis of colours is the one that makes the clean image what it was before its axes were moved
    for axis in range(array.ndim):
        moved = np.moveaxis(result.image, axis, -1)
        if moved.size == int(np.prod(shape)) and moved.shape[-3:] == shape[-3:]:
            pages = moved.reshape(shape)
            if np.allclose(pages, result._pages[1], equal_nan=True):
                return np.moveaxis(array, axis, -1).reshape(shape)
    raise ValueError("the axis of colours was not found")


def _channels(plane: Array) -> Array:
    """One channel, or three; the average of any other number."""
    if plane.shape[-1] == 3:
        return plane
    return np.asarray(plane.mean(axis=-1))


def _row_of_axes(ax: Any, count: int, tall: float) -> Array:
    if ax is None:
        first = axes_or_new(None, 3.3 * count, 3.1 * tall + 0.4)
        figure = first.figure
        first.remove()
        return np.atleast_1d(figure.subplots(1, count))
    axes = np.atleast_1d(np.asarray(ax, dtype=object)).ravel()
    if len(axes) != count:
        raise ValueError(f"ax has {len(axes)} axes, and there are {count} pictures: plt.subplots(1, {count})")
    return axes
