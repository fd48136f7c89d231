"""What pictures are made of, without matplotlib: patches side by side, grey levels and PNG files."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def fields_of(model: Any, shape: tuple[int, ...] | None = None) -> tuple[Array | None, Array]:
    """The means of each cause as patches, of shape (causes, rows, columns) or (causes, rows, columns, 3), and how often
    each cause is active.

    There are no patches (None) where neither the model nor `shape` says how large one is.
    """
    if hasattr(model, "fields"):
        fields, pi = model.fields, model.pi
        if fields.ndim == 2:
            fields = None if shape is None else _as_patches(fields, shape)
        return (None if fields is None else _drawable(fields)), pi
    means, pi, patch = means_of(model)
    if shape is not None:
        return _drawable(_as_patches(means, shape)), pi
    if patch is None:
        return None, pi
    rows, columns, channels, pages = patch
    # columns of a model are page by page, and in a page channel by channel; pages are drawn side by side
    cubes = means.reshape(-1, pages, channels, rows, columns).transpose(0, 3, 1, 4, 2)
    return _drawable(cubes.reshape(len(means), rows, pages * columns, channels)), pi


def means_of(model: Any) -> tuple[Array, Array, tuple[int, int, int, int] | None]:
    """The means of each cause, how often each is active, and the size of patches, of anything that has a model."""
    if hasattr(model, "components_"):
        return model.components_, model.pi_, model.model_.patch
    inner = model if hasattr(model, "means") else getattr(model, "model", None)
    if inner is None:
        if hasattr(model, "get_params"):
            raise ValueError("the estimator is not fitted yet: call fit first")
        if hasattr(model, "std"):
            raise ValueError("there is no model in this result: ask for one with denoise(..., keep_model=True)")
        raise TypeError(f"a model is needed, not {type(model).__name__}")
    return inner.means(), inner.pi, inner.patch


def _as_patches(means: Array, shape: tuple[int, ...]) -> Array:
    if len(shape) not in (2, 3) or int(np.prod(shape)) != means.shape[1]:
        raise ValueError(f"shape = {tuple(shape)}: the model has {means.shape[1]} columns; give rows and columns")
    return means.reshape(-1, *shape)


def _drawable(fields: Array) -> Array:
    """Patches of one channel or of three: two channels, or more than three, become their average."""
    if fields.ndim == 4 and fields.shape[-1] != 3:
        fields = fields.mean(axis=-1)
    return fields


def mosaic(patches: Array, columns: int | None = None, gap: int = 1) -> Array:
    """Patches side by side in one picture, from left to right and from top to bottom, with NaN between them."""
    count, height, width = patches.shape[:3]
    columns = columns or max(1, int(np.ceil(np.sqrt(count * height / width))))
    columns = min(columns, count)
    rows = -(-count // columns)
    size = (rows * (height + gap) - gap, columns * (width + gap) - gap)
    picture = np.full(size + patches.shape[3:], np.nan)
    for number, patch in enumerate(patches):
        top, left = number // columns * (height + gap), number % columns * (width + gap)
        picture[top : top + height, left : left + width] = patch
    return picture


def limits(image: Array, share: float = 0.002) -> tuple[float, float]:
    """Black and white: all but a few of the smallest and largest values lie between them."""
    values = image[np.isfinite(image)]
    if values.size == 0:
        return 0.0, 1.0
    low, high = (float(one) for one in np.quantile(values, [share, 1 - share]))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def black_and_white(clean: Array) -> tuple[float, float]:
    """Black and white for an image before and after cleaning: those of the clean one, with some room for the other."""
    low, high = limits(clean)
    room = 0.1 * (high - low)
    return low - room, high + room


def png_tag(image: Array, low: float, high: float, title: str, most: int = 320) -> str:
    """An HTML picture of grey levels or colours that needs nothing from outside.

    Of large images every so many-th pixel is shown: averages would show less noise than there is.
    """
    from html import escape

    step = max(1, -(-max(image.shape[:2]) // most))
    image = image[::step, ::step]
    # white where nothing is known, as the page behind it
    levels = np.nan_to_num((image - low) / (high - low), nan=1.0)
    pixels = (255 * np.clip(levels, 0, 1)).round().astype(np.uint8)
    zoom = max(1, 300 // max(image.shape[:2]))
    height, width = pixels.shape[:2]
    data = b64encode(_png(pixels)).decode()
    return (
        f'<figure style="display:inline-block;margin:0 8px 8px 0"><img width="{width * zoom}" height="{height * zoom}" '
        f'style="image-rendering:pixelated" alt="{escape(title)}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(title)}</figcaption></figure>"
    )


def _png(pixels: Array) -> bytes:
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    # each line begins with its filter, which is none
    lines = np.zeros((height, 1 + pixels[0].size), dtype=np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines.tobytes(), 9)) + chunk(b"IEND", b"")
    )
