"""The pictures of the Python guides: `python python/examples/pictures.py` writes them to docs/python.

Cells begin with `# %%`, so that editors and Jupyter (jupytext) run this file as a notebook. With `--napari` it makes the picture
of the widget instead, which needs napari and a display. It takes some ten CPU seconds.
"""

# %% Where pictures go, and how large they are
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib
import numpy as np

import efmca

if "--napari" not in sys.argv and "ipykernel" not in sys.modules:
    matplotlib.use("Agg")
from matplotlib import pyplot as plt

HERE = Path(__file__).resolve().parents[2] if "__file__" in globals() else Path.cwd()
OUT = HERE / "docs" / "python"


def save(ax, name, dpi=80):
    """Write the figure of some axes as a small picture."""
    figure = np.atleast_1d(ax).ravel()[0].figure
    figure.savefig(OUT / name, dpi=dpi, metadata={"Software": None})
    plt.close(figure)
    smaller(OUT / name)


def smaller(path, most=80_000):
    """Take fewer colours where a picture is large, so that the repository stays small."""
    if path.stat().st_size < most:
        return
    try:
        from PIL import Image
    except ImportError:
        return
    Image.open(path).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def cells(frames, size):
    """A made-up movie of cells that move a little."""
    rng = np.random.default_rng(3)
    places, steps, sizes = rng.uniform(8, size - 8, (9, 2)), rng.uniform(-0.5, 0.5, (9, 2)), rng.uniform(4, 8, 9)
    y, x = np.mgrid[:size, :size]
    truth = np.full((frames, size, size), 0.4)
    for frame in range(frames):
        for (row, column), radius in zip(places + frame * steps, sizes):
            spot = 3 * np.exp(-(((y - row) ** 2 + (x - column) ** 2) / radius**2) ** 2)
            truth[frame] = np.maximum(truth[frame], spot)
    return truth


def napari_picture():
    """The widget after it has cleaned a page."""
    import time

    import napari
    from qtpy.QtWidgets import QApplication

    viewer = napari.Viewer()
    viewer.window.resize(1000, 640)
    viewer.add_image(efmca.corrupt(cells(6, 72), "poisson", random_state=1), name="cells")
    _, widget = viewer.window.add_plugin_dock_widget("efmca", "Clean an image")
    widget.quality.value = "fast"
    widget.begin()
    ready = time.monotonic() + 2
    while widget.running or time.monotonic() < ready:
        QApplication.processEvents()
        time.sleep(0.01)
    viewer.window.screenshot(str(OUT / "napari.png"), flash=False)
    viewer.close()
    smaller(OUT / "napari.png")


if "--napari" in sys.argv:
    napari_picture()
    sys.exit()

# %% A first quarter of an hour: a ring, seen with few photons
y, x = np.mgrid[-1:1:96j, -1:1:96j]
scene = np.where(abs(np.hypot(x, y) - 0.6) < 0.15, 6.0, 1.0)
noisy = efmca.corrupt(scene, "poisson", random_state=1)
result = efmca.denoise(noisy, quality="fast", full_output=True)
save(result.plot(std=True), "denoised.png", dpi=60)

# %% A stack: patches over three frames
stack = efmca.corrupt(cells(6, 72), "poisson", random_state=1)
together = efmca.denoise(stack, "poisson", quality="fast", patch_size=(8, 8, 3), full_output=True)
save(together.plot(page=2, std=True), "stack.png", dpi=60)

# %% What noise is it: minutes that callers wait
rng = np.random.default_rng(2)
busy = rng.random((800, 1)) < 0.4
waits = rng.exponential(np.where(busy, [[12, 12, 3]], [[2, 2, 5]]))
ranking = efmca.noise_type(waits, n_components=1, n_restarts=1)
save(ranking.plot(n_families=8), "ranking.png")

# %% A mixed table: days of a tea room
import pandas as pd  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, "-m", "efmca", "demo", "--out", folder], check=True, capture_output=True)
    days = pd.read_csv(Path(folder) / "days.csv")
    photograph = plt.imread(Path(folder) / "camera.png")
model = efmca.EFMCA("auto", "auto", random_state=1).fit(days)
save(efmca.plot_table(model), "table.png")

# %% Digits, and the causes behind them
from sklearn.datasets import load_digits  # noqa: E402

digits = load_digits().data[:600]
strokes = efmca.EFMCA(16, "poisson", inference="truncated", max_iter=40, random_state=0).fit(digits)
save(efmca.plot_components(strokes, shape=(8, 8)), "digits.png")
save(efmca.plot_encoding(strokes, digits, shape=(8, 8), n_rows=4), "encoding.png")

# %% Fields of a photograph
found = efmca.learn_features(photograph, 36, patch_size=8, n_patches=8000, n_states=20, max_iter=40, random_state=0)
save(found.plot(scale="each"), "fields.png")
