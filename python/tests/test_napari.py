"""The widget in a real viewer.

It needs napari and a display: ``pip install 'efmca[napari]' 'napari[pyqt6]'``, and on a machine without a screen
``xvfb-run -a -s "-screen 0 1280x800x24" python -m pytest python/tests/test_napari.py``.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import efmca

MANIFEST = Path(efmca.__file__).parent / "napari" / "napari.yaml"

if importlib.util.find_spec("napari") is None:
    pytest.skip("napari is not installed: pip install 'efmca[napari]' 'napari[pyqt6]'", allow_module_level=True)
if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
    pytest.skip("napari needs a display: run the tests under xvfb-run", allow_module_level=True)


@pytest.fixture
def viewer():
    import napari

    one = napari.Viewer()
    yield one
    one.close()


@pytest.fixture
def notes():
    from napari.utils.notifications import notification_manager

    seen = []

    def see(note):
        seen.append((str(note.severity), note.message))

    notification_manager.notification_ready.connect(see)
    yield seen
    notification_manager.notification_ready.disconnect(see)


def wait(ready, seconds=120):
    """Let the window work until something is so."""
    from qtpy.QtWidgets import QApplication

    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "it took too long"
        QApplication.processEvents()
        time.sleep(0.005)
    QApplication.processEvents()


def opened(viewer):
    """The widget, opened as from the menu of napari."""
    _, widget = viewer.window.add_plugin_dock_widget("efmca", "Clean an image")
    return widget


def test_manifest():
    done = subprocess.run(
        [sys.executable, "-m", "npe2", "validate", "--imports", str(MANIFEST)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "valid" in done.stdout, done.stdout + done.stderr


def test_layers_come_out(viewer, square, notes):
    clean, noisy = square
    viewer.add_image(noisy.astype(np.uint16), name="cells", scale=(0.5, 0.5), colormap="green")
    widget = opened(viewer)
    assert widget.layer.value.name == "cells"
    widget.noise.value, widget.quality.value = "poisson", "fast"
    widget.start.native.click()
    assert widget.running and widget.stop.enabled and not widget.start.enabled
    wait(lambda: not widget.running)
    assert [layer.name for layer in viewer.layers] == ["cells", "cells clean", "cells uncertainty", "cells residual"]
    direct, std = efmca.denoise(noisy, "poisson", quality="fast", return_std=True)
    result, uncertainty, residual = viewer.layers[1:]
    assert np.array_equal(result.data, direct) and np.array_equal(uncertainty.data, std)
    assert np.allclose(residual.data, noisy - direct)
    assert all(np.array_equal(layer.scale, (0.5, 0.5)) for layer in viewer.layers), "layers lie on each other"
    assert result.colormap.name == "green" and viewer.layers.selection.active is result
    assert result.metadata["efmca"]["family"] == "poisson"
    assert widget.progress.value == widget.progress.max and widget.start.enabled
    assert not [note for note in notes if note[0] == "error"]


def test_the_noise_is_found_and_colours_stay_colours(viewer, rng):
    scene = np.full((32, 40, 3), 40.0)
    scene[8:24, 10:30, 0] = 200
    viewer.add_image(rng.poisson(scene).clip(0, 255).astype(np.uint8), name="photo", rgb=True)
    widget = opened(viewer)
    widget.quality.value, widget.uncertainty.value = "fast", False
    widget.begin()
    wait(lambda: not widget.running)
    assert [layer.name for layer in viewer.layers] == ["photo", "photo clean", "photo residual"]
    result = viewer.layers["photo clean"]
    assert result.rgb and result.data.dtype == np.uint8 and result.data.shape == scene.shape
    assert np.abs(result.data - scene).mean() < np.abs(viewer.layers["photo"].data - scene).mean() / 2
    assert viewer.layers["photo residual"].data.shape == scene.shape[:2]
    assert "noise" in widget.message.value


def test_stop(viewer, rng):
    viewer.add_image(rng.poisson(5.0, (1024, 1024)).astype(float), name="large")
    widget = opened(viewer)
    widget.noise.value, widget.quality.value = "poisson", "best"
    widget.begin()
    begun = time.monotonic()
    wait(lambda: time.monotonic() > begun + 1)
    assert widget.running, "the image takes longer than this"
    widget.stop.native.click()
    # some 0.1 seconds where nothing else runs; the work itself would take minutes
    wait(lambda: not widget.running, seconds=5)
    assert widget.message.value == "stopped" and len(viewer.layers) == 1 and widget.start.enabled


def test_errors_are_notifications(viewer, notes, rng):
    widget = opened(viewer)
    widget.begin()
    assert notes[-1] == ("error", "efmca: there is no image layer; open an image first")
    viewer.add_image(rng.normal(0, 1, (32, 32)), name="signed")
    widget.noise.value = "other"
    wait(lambda: widget.other.visible, seconds=5)
    widget.other.value = "poison"
    widget.begin()
    wait(lambda: not widget.running)
    assert notes[-1][0] == "error" and "did you mean" in notes[-1][1] and "Traceback" not in notes[-1][1]
    widget.noise.value = "poisson"
    widget.begin()
    wait(lambda: not widget.running)
    assert "outside the support of `poisson`" in notes[-1][1] or "is -" in notes[-1][1]
    assert len(viewer.layers) == 1 and widget.start.enabled


def test_a_stack_with_patches_over_pages(viewer, rng):
    movie = rng.poisson(np.where(np.arange(24) > 12, 9.0, 2.0), (5, 24, 24))
    viewer.add_image(movie, name="movie")
    widget = opened(viewer)
    widget.noise.value, widget.quality.value, widget.pages.value = "poisson", "fast", 3
    widget.begin()
    wait(lambda: not widget.running)
    direct = efmca.denoise(movie, "poisson", quality="fast", patch_size=(8, 8, 3))
    assert np.array_equal(viewer.layers["movie clean"].data, direct)
