"""Cameras that count photons: gain, offset and read noise from images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from efmca import _core
from efmca._images import _Pages
from efmca._work import working


class Camera:
    """A camera, as `calibrate` finds it.

    Attributes
    ----------
    gain : float
        Camera units per photon.
    offset : float
        The mean value of a pixel without photons.
    read_noise : float
        The standard deviation of the noise that is there without photons.
    errors : tuple of (float or None)
        Standard errors of the three; None for those that were given.
    family : str
        The family of its noise, for `denoise`: ``denoise(image, camera.family)``.
    points : ndarray of shape (n, 2)
        Means and variances of groups of equally bright pixels: the photon-transfer line.
    remarks : list of str
        What limits the result, and what to do about it.
    """

    def __init__(self, found: dict[str, Any]) -> None:
        self.gain: float = found["gain"]
        self.offset: float = found["offset"]
        self.read_noise: float = found["read_noise"]
        self.errors: tuple[float | None, float | None, float | None] = found["errors"]
        self.family: str = found["family"]
        self.points: NDArray[np.float64] = np.array(found["points"]).reshape(-1, 2)
        self.remarks: list[str] = found["remarks"]

    def __repr__(self) -> str:
        names = ("gain", "offset", "read noise")
        values = (self.gain, self.offset, self.read_noise)
        shown = [
            f"{name} {value:.4g}" + ("" if error is None else f" ± {error:.2g}")
            for name, value, error in zip(names, values, self.errors)
        ]
        return f"<Camera: {', '.join(shown)}>"


def calibrate(
    scenes: Any = (),
    *,
    flats: Any = (),
    darks: Any = (),
    one_scene: bool = False,
    offset: float | None = None,
    read_noise: float | None = None,
    channel_axis: int | None = None,
    n_jobs: int | None = None,
) -> Camera:
    """Find gain, offset and read noise of a camera in its images, as ``efmca calibrate`` does.

    Parameters
    ----------
    scenes : array or sequence of arrays
        Images of scenes as the camera recorded them, or stacks of them.
    flats : array or sequence of arrays
        Images of an even surface; the pages of each have the same exposure.
    darks : array or sequence of arrays
        Images without light, which tell offset and read noise.
    one_scene : bool, default=False
        Whether all pages of all scenes show one scene that does not move.
    offset, read_noise : float, optional
        Numbers that are known, in camera units.
    channel_axis : int, optional
        The axis of colours.
    n_jobs : int, optional
        Threads.

    Returns
    -------
    Camera
        The camera; ``denoise(image, camera.family)`` cleans its images.

    Examples
    --------
    >>> import numpy as np
    >>> import efmca
    >>> rng = np.random.default_rng(0)
    >>> photons = np.tile(np.linspace(0, 8, 160), (160, 1))
    >>> image = 2 * rng.poisson(photons) + 50 + rng.normal(size=photons.shape)
    >>> camera = efmca.calibrate(image)
    >>> bool(abs(camera.gain - 2) < 0.2 and abs(camera.offset - 50) < 1)
    True
    """
    seen, even = _images(scenes, channel_axis, "scenes"), _images(flats, channel_axis, "flats")
    dark = _images(darks, channel_axis, "darks")
    with working(n_jobs) as work:
        return Camera(_core.calibrate(seen, even, dark, bool(one_scene), offset, read_noise, work))


def _images(images: Any, channel_axis: int | None, what: str) -> Sequence[Any]:
    listed = images if isinstance(images, (list, tuple)) else [images]
    return [_Pages(image, channel_axis, what).values for image in listed]
