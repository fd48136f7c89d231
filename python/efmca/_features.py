"""Features of images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from efmca import _core
from efmca._frames import as_floats
from efmca._images import _known
from efmca._results import Features
from efmca._work import Callback, seed_of, working


def learn_features(
    images: Any,
    n_components: int = 100,
    *,
    family: str | _core.OwnFamily = "gaussian",
    patch_size: Any = 12,
    n_patches: int = 100_000,
    transform: str | None = None,
    normalise: bool = False,
    whiten: float | bool | None = None,
    superposition: str | None = None,
    channel_axis: int | None = None,
    max_iter: int = 100,
    n_states: int = 60,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> Features:
    """Learn features of images: a dictionary of patches, as ``efmca learn`` does.

    Parameters
    ----------
    images : array or sequence of arrays
        One image or several, of rows and columns (and channels at `channel_axis`); sizes may differ.
    n_components : int, default=100
        The number of causes.
    family : str or Family, default="gaussian"
        The noise.
    patch_size : int or (int, int), default=12
        Rows and columns of a patch.
    n_patches : int, default=100000
        Patches that are drawn at random places; all if there are fewer.
    transform : {None, "log"}, default=None
        A function of each value: logarithms for light intensities, whose contrasts are ratios.
    normalise : bool, default=False
        Whether to divide each image by its mean first.
    whiten : float, bool or None, default=None
        The share of the variance whose directions are made equally strong, such as 0.95; False for no whitening. Without
        it 0.95 for families of all real numbers, and none for others.
    superposition : {"max", "max-magnitude"}, optional
        Which active cause sets a value; without it max-magnitude where values have both signs.
    channel_axis : int, optional
        The axis of colours.
    max_iter : int, default=100
        EM iterations.
    n_states : int, default=60
        States of a patch.
    random_state, n_jobs, verbose, callback
        As in `EFMCA`.

    Returns
    -------
    Features
        The fields of the causes, and the model.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> stripes = np.random.default_rng(0).poisson(np.tile([2, 2, 2, 20, 20], (40, 8)))
    >>> features = efmca.learn_features(stripes, 4, family="poisson", patch_size=5, max_iter=5)
    >>> features.fields.shape
    (4, 5, 5)
    """
    if transform not in (None, "log"):
        raise ValueError(f'transform = {transform!r}: it is None or "log"')
    several = isinstance(images, (list, tuple)) and len(images) > 0 and np.ndim(images[0]) >= 2
    listed: Sequence[Any] = images if several else [images]
    side = (patch_size, patch_size) if isinstance(patch_size, (int, np.integer)) else tuple(patch_size)
    share = None if whiten is None else 0.95 if whiten is True else 0.0 if whiten is False else float(whiten)
    settings = {
        "family": _known(family),
        "causes": int(n_components),
        "patch": (int(side[0]), int(side[1])),
        "n_patches": int(n_patches),
        "logarithms": transform == "log",
        "normalise": bool(normalise),
        "whiten": share,
        "superposition": superposition,
        "max_iter": int(max_iter),
        "states": int(n_states),
        "seed": seed_of(random_state),
    }
    with working(n_jobs, callback, verbose) as work:
        return Features(_core.learn_features([_planes(image, channel_axis) for image in listed], settings, work))


def _planes(image: Any, channel_axis: int | None) -> Any:
    """An image as rows, columns and channels."""
    array = as_floats(np.asarray(image)).astype(np.float64, copy=False)
    expected = 2 if channel_axis is None else 3
    if array.ndim != expected:
        raise ValueError(f"an image has {array.ndim} axes, and should have {expected}; give a list of several images")
    return array[..., np.newaxis] if channel_axis is None else np.moveaxis(array, channel_axis, -1)
