"""Functions for images, in the manners of scikit-image.

Images are arrays of rows and columns; more axes before these are pages (of a stack, a volume or a movie), and
``channel_axis`` is the axis of colours. Values keep their unit and range: nothing is scaled to 0 … 1. Results are float64,
or float32 for images of that type, and have the shape of the image.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._frames import as_array, as_floats
from efmca._results import Denoised
from efmca._work import Callback, seed_of, working

if TYPE_CHECKING:
    from typing_extensions import Unpack

Array = NDArray[Any]
FamilyLike = str | _core.OwnFamily


class _Options(TypedDict, total=False):
    """What `denoise` takes by name, whatever it returns."""

    quality: str
    channel_axis: int | None
    mask: Any
    patch_size: Any
    n_components: int | Literal["auto"] | None
    causes_only: bool
    n_states: int | None
    max_iter: int | None
    learn_pages: Any
    random_state: Any
    keep_model: bool
    n_jobs: int | None
    verbose: int
    callback: Callback | None


class _Pages:
    """An image as pages, rows, columns and channels: a view of it where it is an array of float64."""

    def __init__(self, image: Any, channel_axis: int | None, what: str = "image") -> None:
        if isinstance(image, (str, os.PathLike)):
            raise TypeError(f"{what} is the name of a file; read it first (imageio.v3.imread), or use the program efmca")
        array = as_array(image)
        if array.dtype.kind == "c":
            raise ValueError(f"{what} has complex values; clean real and imaginary parts, or the magnitude")
        if array.dtype.kind not in "fiub":
            raise TypeError(f"{what} has values of type {array.dtype}, which are no numbers")
        least = 2 if channel_axis is None else 3
        if array.ndim < least:
            raise ValueError(
                f"{what} has {array.ndim} axes, and rows and columns{' and channels' if least == 3 else ''} are needed"
            )
        if channel_axis is not None and not -array.ndim <= channel_axis < array.ndim:
            raise ValueError(f"channel_axis = {channel_axis}: {what} has {array.ndim} axes")
        self.shape, self.channel_axis = array.shape, channel_axis
        self.dtype = array.dtype if array.dtype == np.float32 else np.dtype(np.float64)
        moved = array[..., np.newaxis] if channel_axis is None else np.moveaxis(array, channel_axis, -1)
        self._moved = moved.shape
        rows, columns, channels = moved.shape[-3:]
        # reshape keeps views where it can
        pages = moved[np.newaxis] if moved.ndim == 3 else moved.reshape(-1, rows, columns, channels)
        self.values = as_floats(pages).astype(np.float64, copy=False)

    def back(self, values: Array) -> Array:
        """Values in the shape and the type of the image."""
        moved = values.reshape(self._moved)
        array = moved[..., 0] if self.channel_axis is None else np.moveaxis(moved, -1, self.channel_axis)
        return np.ascontiguousarray(array, dtype=self.dtype)


def _covered(pages: _Pages, mask: Any, image_shape: tuple[int, ...]) -> Array:
    """The pixels with NaN where the mask says that one is missing."""
    if mask is None:
        return pages.values
    mask = np.asarray(mask)
    if mask.dtype != bool:
        mask = mask != 0
    spatial = pages._moved[:-1]
    if mask.shape == image_shape and pages.channel_axis is not None:
        moved = np.moveaxis(mask, pages.channel_axis, -1)
    elif mask.shape == spatial:
        moved = np.broadcast_to(mask[..., np.newaxis], pages._moved)
    elif mask.shape == spatial[-2:]:
        moved = np.broadcast_to(mask[..., np.newaxis], pages._moved)
    else:
        raise ValueError(f"mask has the shape {mask.shape}, and the image {image_shape}; give a pixel for each pixel")
    values = pages.values.copy()
    values[moved.reshape(values.shape)] = np.nan
    return values


@overload
def denoise(
    image: Any,
    family: FamilyLike = ...,
    *,
    return_std: Literal[False] = ...,
    full_output: Literal[False] = ...,
    **options: Unpack[_Options],
) -> Array: ...
@overload
def denoise(
    image: Any,
    family: FamilyLike = ...,
    *,
    return_std: Literal[True],
    full_output: Literal[False] = ...,
    **options: Unpack[_Options],
) -> tuple[Array, Array]: ...
@overload
def denoise(
    image: Any,
    family: FamilyLike = ...,
    *,
    return_std: bool = ...,
    full_output: Literal[True],
    **options: Unpack[_Options],
) -> Denoised: ...
def denoise(
    image: Any,
    family: FamilyLike = "auto",
    *,
    quality: str = "balanced",
    channel_axis: int | None = None,
    mask: Any = None,
    patch_size: Any = None,
    n_components: int | Literal["auto"] | None = None,
    causes_only: bool = False,
    n_states: int | None = None,
    max_iter: int | None = None,
    learn_pages: Any = None,
    random_state: Any = None,
    return_std: bool = False,
    full_output: bool = False,
    keep_model: bool = False,
    n_jobs: int | None = None,
    verbose: int = 0,
    callback: Callback | None = None,
) -> Any:
    """Clean an image, with nothing to learn from but itself.

    It does what ``efmca denoise`` does: the same seed gives the same pixels, bit for bit.

    Parameters
    ----------
    image : array
        Rows and columns, with pages before them, and channels at `channel_axis`. NaN marks a missing pixel, which is
        filled in. Anything with ``__array__`` will do.
    family : str or Family, default="auto"
        The noise: ``"poisson"``, ``"gaussian"``, ``"gamma:k=4"`` (see `efmca.families`), or ``"auto"`` for the family that
        predicts held-out pixels best.
    quality : {"fast", "balanced", "best"}, default="balanced"
        How much time to take: one model, three, or seven with more iterations. The last two clean the image a second time
        with a part of its data, which shows how much of the result is noise.
    channel_axis : int, optional
        The axis of colours; without it there is one channel.
    mask : array of bool, optional
        Pixels that are missing: of the shape of the image, of a page, or without channels.
    patch_size : int or tuple, optional
        Rows and columns of a patch, and pages for patches of volumes and movies: ``8``, ``(8, 12)`` or ``(8, 8, 5)``.
    n_components : int or "auto", optional
        The number of causes of every model; without it a number that suits the image.
    causes_only : bool, default=False
        Whether to explain the image by causes alone, as in the paper, without groups of similar patches.
    n_states, max_iter : int, optional
        States of a patch, and EM iterations of each model.
    learn_pages : sequence of int, optional
        Pages to learn from, counted from 0; all are cleaned.
    random_state : int, numpy generator or None, default=None
        The seed; None is 0.
    return_std : bool, default=False
        Whether to return the posterior standard deviation of each pixel, too.
    full_output : bool, default=False
        Whether to return a `Denoised` with everything that is known.
    keep_model : bool, default=False
        Whether there has to be a model for other images in the `Denoised`.
    n_jobs : int, optional
        Threads; all processors without it. The result is the same for any number.
    verbose : int, default=0
        Whether to show progress.
    callback : callable, optional
        Called with a `Progress`. Something true ends the learning: the models so far clean the image.

    Returns
    -------
    ndarray, (ndarray, ndarray) or Denoised
        The clean image; with its standard deviation; or all of it.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> scene = np.ones((32, 32))
    >>> scene[8:24, 8:24] = 9
    >>> noisy = efmca.corrupt(scene, "poisson", random_state=1)
    >>> clean, std = efmca.denoise(noisy, "poisson", quality="fast", return_std=True)
    >>> clean.shape == std.shape == noisy.shape
    True
    """
    pages = _Pages(image, channel_axis)
    values = _covered(pages, mask, pages.shape)
    settings = {
        "family": None if isinstance(family, str) and family == "auto" else _known(family),
        "quality": quality,
        "patch": _patch(patch_size),
        "causes": None if n_components is None else str(n_components),
        "causes_only": bool(causes_only),
        "states": n_states,
        "iterations": max_iter,
        "learn_pages": None if learn_pages is None else [int(page) for page in learn_pages],
        "keep_model": bool(keep_model),
        "seed": seed_of(random_state),
    }
    with working(n_jobs, callback, verbose) as work:
        found = _core.denoise(values, settings, work)
    clean, std = pages.back(found["mean"]), pages.back(found["deviation"])
    if full_output:
        own = None if isinstance(family, str) else family
        return Denoised(found, clean, std, pages.back(values), (values, found["mean"]), own)
    return (clean, std) if return_std else clean


def inpaint(image: Any, mask: Any = None, family: FamilyLike = "auto", **kwargs: Any) -> Any:
    """Clean an image and fill in its missing pixels.

    Parameters
    ----------
    image : array
        As for `denoise`.
    mask : array of bool, optional
        Pixels that are missing; those that are NaN are, too. There must be one.
    family : str or Family, default="auto"
        The noise.
    **kwargs
        All else that `denoise` takes.

    Returns
    -------
    ndarray, (ndarray, ndarray) or Denoised
        As `denoise`.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> scene = np.full((40, 40), 4.0)
    >>> holes = np.zeros((40, 40), dtype=bool)
    >>> holes[10:12, 10:12] = True
    >>> full = efmca.inpaint(efmca.corrupt(scene, "poisson"), holes, "poisson", quality="fast")
    >>> bool(np.isfinite(full).all())
    True
    """
    array = as_array(image)
    missing = mask is not None and bool(np.any(mask))
    if not missing and not (array.dtype.kind == "f" and bool(np.isnan(array).any())):
        raise ValueError("no pixel is missing: give a mask, or NaN in the image, or use efmca.denoise")
    return denoise(image, family, mask=mask, **kwargs)


def corrupt(
    image: Any,
    family: FamilyLike,
    *,
    peak: float | None = None,
    sd: float | None = None,
    floor: float | None = None,
    offset: float | None = None,
    channel_axis: int | None = None,
    random_state: Any = None,
    return_means: bool = False,
) -> Any:
    """Make a noisy image to test with: every pixel is drawn with the mean that the clean image gives it.

    Parameters
    ----------
    image : array
        The clean image.
    family : str or Family
        The noise. Families with two parameters need `sd`, or a fixed parameter (``"gaussian:var=25"``).
    peak : float, optional
        Scales the image so that its largest value becomes this mean.
    sd : float, optional
        The standard deviation of every pixel.
    floor : float, optional
        Raises smaller means to this one.
    offset : float, optional
        Is added to every mean after scaling.
    channel_axis : int, optional
        The axis of colours.
    random_state : int, numpy generator or None, default=None
        The seed; None is 0.
    return_means : bool, default=False
        Whether to return the means that pixels were drawn with, too.

    Returns
    -------
    ndarray or (ndarray, ndarray)
        The noisy image; and the means.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> dim, means = efmca.corrupt(np.full((3, 3), 200.0), "poisson", peak=2, return_means=True)
    >>> float(means.max())
    2.0
    """
    pages = _Pages(image, channel_axis)
    with working() as work:
        found = _core.corrupt(pages.values, _known(family), peak, sd, floor, offset, seed_of(random_state), work)
    noisy = pages.back(found["noisy"])
    return (noisy, pages.back(found["means"])) if return_means else noisy


def psnr(image_true: Any, image_test: Any, *, data_range: float | None = None) -> float:
    """Return the peak signal-to-noise ratio in decibels; pixels that are NaN in either image are left out.

    Parameters
    ----------
    image_true, image_test : array
        The clean image and another one of the same shape.
    data_range : float, optional
        The peak; without it the largest value of the clean image.

    Returns
    -------
    float
        The ratio; infinite for equal images.
    """
    true, test = (as_floats(np.asarray(image)).astype(np.float64, copy=False) for image in (image_true, image_test))
    return _core.psnr(test, true, _peak(true, data_range))


def ssim(
    image_true: Any, image_test: Any, *, data_range: float | None = None, channel_axis: int | None = None
) -> float:
    """Return the structural similarity of two images (Wang et al., 2004), the mean over pages and channels.

    Parameters
    ----------
    image_true, image_test : array
        The clean image and another one of the same shape.
    data_range : float, optional
        The peak; without it the largest value of the clean image.
    channel_axis : int, optional
        The axis of colours.

    Returns
    -------
    float
        1 for equal images.
    """
    true, test = _Pages(image_true, channel_axis, "image_true"), _Pages(image_test, channel_axis, "image_test")
    if true.shape != test.shape:
        raise ValueError(f"image_true has the shape {true.shape}, and image_test {test.shape}")
    peak = _peak(true.values, data_range)
    planes = [
        _core.ssim(test.values[page, :, :, channel], true.values[page, :, :, channel], peak)
        for page in range(true.values.shape[0])
        for channel in range(true.values.shape[3])
    ]
    return float(np.mean(planes))


def _peak(true: Array, data_range: float | None) -> float:
    if data_range is not None:
        return float(data_range)
    return float(np.nanmax(true)) if true.size else 0.0


def _known(family: Any) -> Any:
    if not isinstance(family, (str, _core.OwnFamily)):
        raise TypeError(f"family must be a name or a Family, not {type(family).__name__}")
    return family


def _patch(size: Any) -> tuple[int, int, int] | None:
    if size is None:
        return None
    if isinstance(size, (int, np.integer)):
        return int(size), int(size), 1
    sides = tuple(int(side) for side in size)
    if len(sides) == 2:
        return sides[0], sides[1], 1
    if len(sides) == 3:
        return sides[0], sides[1], sides[2]
    raise ValueError(f"patch_size = {size!r}: give one number, rows and columns, or rows, columns and pages")
