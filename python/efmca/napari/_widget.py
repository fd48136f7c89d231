"""The widget: an image layer in, a clean one out, with its uncertainty and what was taken away.

The work is done on another thread. What it tells is read by a timer on the thread of the window, since only that one may touch
widgets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from magicgui.widgets import CheckBox, ComboBox, Container, Label, LineEdit, ProgressBar, PushButton, SpinBox, create_widget
from napari.layers import Image
from napari.qt.threading import create_worker
from napari.utils.notifications import show_error, show_warning
from napari.viewer import Viewer
from qtpy.QtCore import Qt, QTimer

import efmca

# what most images have; any other family is typed
_NOISES = ["auto", "poisson", "gaussian", "exponential", "gamma:k=4", "binomial:n=10", "rayleigh", "beta", "other"]
_LOOK_EVERY_MS = 100
_MESSAGE_HEIGHT = 140


class _Ask:
    """What the work is asked, and what it told last; each field is written by one thread only."""

    def __init__(self) -> None:
        self.stop = False
        self.told: Any = None

    def __call__(self, progress: Any) -> None:
        self.told = progress

    def cancelled(self) -> bool:
        return self.stop


class DenoiseWidget(Container):  # type: ignore[type-arg]
    """Clean an image layer.

    Parameters
    ----------
    napari_viewer : napari.Viewer
        The viewer whose layers are cleaned; napari gives it.
    """

    def __init__(self, napari_viewer: Viewer) -> None:
        self._viewer = napari_viewer
        self.layer: Any = create_widget(annotation=Image, label="layer")
        self.noise = ComboBox(label="noise", choices=_NOISES, value="auto", tooltip="auto: found in the image, in some seconds")
        self.other = LineEdit(label="family", value="negative-binomial:r=4", tooltip="a family: efmca families lists all")
        self.quality = ComboBox(label="quality", choices=["fast", "balanced", "best"], value="balanced")
        self.pages = SpinBox(
            label="pages of a patch", value=1, min=1, max=32,
            tooltip="more than 1: neighbouring slices or frames of a stack help each other",
        )  # fmt: skip
        self.uncertainty = CheckBox(text="uncertainty", value=True)
        self.residual = CheckBox(text="residual", value=True)
        self.start = PushButton(text="Clean")
        self.stop = PushButton(text="Stop", enabled=False)
        self.progress = ProgressBar(value=0, min=0, max=1)
        self.message = Label(value="")
        super().__init__(
            widgets=[
                self.layer, self.noise, self.other, self.quality, self.pages, self.uncertainty, self.residual, self.start,
                self.stop, self.progress, self.message,
            ]
        )  # fmt: skip
        self.message.native.setWordWrap(True)
        self.message.native.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        # the layout does not ask how high a text is when it is wrapped
        self.message.native.setMinimumHeight(_MESSAGE_HEIGHT)
        self.other.visible = False
        self._ask: _Ask | None = None
        self._worker: Any = None
        self._timer = QTimer(self.native)
        self._timer.setInterval(_LOOK_EVERY_MS)
        self._timer.timeout.connect(self._look)
        self.noise.changed.connect(lambda value: setattr(self.other, "visible", value == "other"))
        self.start.changed.connect(self.begin)
        self.stop.changed.connect(self.end)
        self.native.destroyed.connect(lambda *_: self.end())

    @property
    def running(self) -> bool:
        """Whether an image is being cleaned."""
        return self._ask is not None

    def begin(self) -> None:
        """Clean the layer that is chosen."""
        layer = self.layer.value
        if self.running:
            return
        if layer is None:
            show_error("efmca: there is no image layer; open an image first")
            return
        ask = _Ask()
        family = self.other.value.strip() if self.noise.value == "other" else self.noise.value
        settings: dict[str, Any] = {"quality": self.quality.value}
        if self.pages.value > 1:
            settings["patch_size"] = (8, 8, self.pages.value)
        # `_ignore_errors`: ours are shown with their message, and not as a traceback
        worker = create_worker(_clean, layer.data, _kind(layer), family, settings, ask, _ignore_errors=True, _start_thread=False)
        worker.returned.connect(lambda found: self._add(layer, found))
        worker.errored.connect(self._fail)
        worker.finished.connect(self._finish)
        self._ask, self._worker = ask, worker
        self.start.enabled, self.stop.enabled = False, True
        self.message.value = "begins"
        self.progress.max, self.progress.value = 1, 0
        self._timer.start()
        worker.start()

    def end(self) -> None:
        """End the work; nothing is added."""
        if self._ask is not None:
            self._ask.stop = True

    def _look(self) -> None:
        told = self._ask.told if self._ask is not None else None
        if told is not None:
            self.progress.max, self.progress.value = max(1, told.total), min(told.done, max(1, told.total))
            self.message.value = f"{told.stage}, {told.done} of {told.total}"

    def _finish(self) -> None:
        self._timer.stop()
        self._ask = self._worker = None
        self.start.enabled, self.stop.enabled = True, False

    def _fail(self, error: Exception) -> None:
        self.progress.value = 0
        if isinstance(error, efmca.Stopped):
            self.message.value = "stopped"
            return
        expected = isinstance(error, (ValueError, TypeError, MemoryError))
        text = f"efmca: {error}" if expected else f"efmca: {type(error).__name__}: {error}"
        self.message.value = text
        show_error(text)

    def _add(self, layer: Any, found: tuple[Any, list[tuple[str, str]]]) -> None:
        result, findings = found
        self.progress.value = self.progress.max
        place = {"scale": layer.scale, "translate": layer.translate, "rotate": layer.rotate, "shear": layer.shear}
        about = {"family": result.family, "noise": result.noise, "efmca": efmca.__version__}
        rgb = _kind(layer) == "rgb"
        clean = _as_before(result.image, layer) if rgb else result.image
        # black and white are its own: those of the noisy one have room for its noise
        like = {} if rgb else {"colormap": layer.colormap, "gamma": layer.gamma}
        shown = self._viewer.add_image(clean, name=f"{layer.name} clean", rgb=rgb, metadata={"efmca": about}, **like, **place)
        if self.uncertainty.value:
            std = result.std.mean(axis=-1) if rgb else result.std
            self._viewer.add_image(std, name=f"{layer.name} uncertainty", colormap="magma", visible=False, **place)
        if self.residual.value:
            rest = result.residual.mean(axis=-1) if rgb else result.residual
            far = float(np.nanquantile(np.abs(rest), 0.99)) or 1.0
            self._viewer.add_image(
                rest, name=f"{layer.name} residual", colormap="PiYG", contrast_limits=(-far, far), visible=False, **place
            )
        self._viewer.layers.selection.active = shown
        self.message.value = result.noise or f"{result.family} noise"
        for finding, advice in findings[:1]:
            self.message.value += f"\n{finding}"
            show_warning(f"efmca: {finding}: {advice}")


def _kind(layer: Any) -> str:
    return "multiscale" if layer.multiscale else "rgb" if layer.rgb else "plain"


def _clean(data: Any, kind: str, family: str, settings: dict[str, Any], ask: _Ask) -> tuple[Any, list[tuple[str, str]]]:
    """Clean the pixels of a layer, on a thread of its own."""
    # of several resolutions the finest has the noise as it was measured
    pixels = np.asarray(data[0] if kind == "multiscale" else data)
    if kind == "rgb":
        # a fourth channel says how transparent pixels are, and has no noise
        settings = {**settings, "channel_axis": -1}
        pixels = pixels[..., :3]
    result = efmca.denoise(pixels, family, full_output=True, callback=ask, **settings)
    return result, result.check()


def _as_before(clean: Any, layer: Any) -> Any:
    """Colours in the type of the layer, because napari shows floats from 0 to 1."""
    if layer.data.dtype.kind not in "iu":
        return clean
    span = np.iinfo(layer.data.dtype)
    return np.clip(np.round(clean), span.min, span.max).astype(layer.data.dtype)
