"""Pictures: what is in them."""

from __future__ import annotations

import base64
import doctest
import importlib
import math
import re
import struct
import sys
import zlib

import numpy as np
import pytest

import efmca

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib: pip install 'efmca[plot]'")
matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402
from matplotlib.colors import to_hex  # noqa: E402


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def fitted(counts):
    return efmca.EFMCA(2, "poisson").fit(counts)


@pytest.fixture
def cleaned(square):
    return efmca.denoise(square[1], "poisson", quality="fast", full_output=True, keep_model=True)


@pytest.fixture
def mixed(rng):
    pd = pytest.importorskip("pandas")
    weekend = rng.random(300) < 0.3
    frame = pd.DataFrame(
        {
            "guests": rng.poisson(np.where(weekend, 30, 8)),
            "open": np.where(weekend & (rng.random(300) < 0.9), "yes", "no"),
            "dish": np.where(weekend, "steak", rng.choice(["salad", "soup"], 300)),
            "rain": rng.normal(3.0, 1.0, 300),
        }
    )
    return frame, efmca.EFMCA(1, {"guests": "poisson", "rain": "gaussian"}).fit(frame)


def labels(axis):
    return [tick.get_text() for tick in axis.get_ticklabels()]


def test_components_are_images_where_a_shape_is_known(fitted):
    ax = efmca.plot_components(fitted, shape=(2, 3))
    order = np.argsort(-fitted.pi_)
    (image,) = ax.images
    shown = np.ma.filled(image.get_array(), np.nan)
    assert shown.shape == (2, 3 + 1 + 3) or shown.shape == (2 + 1 + 2, 3)
    first, second = shown[:2, :3], shown[-2:, -3:]
    assert np.array_equal(first, fitted.components_[order[0]].reshape(2, 3))
    assert np.array_equal(second, fitted.components_[order[1]].reshape(2, 3))
    assert np.isnan(shown).any(), "there is a gap between the images"
    assert image.get_clim() == (fitted.components_.min(), fitted.components_.max())
    assert ax.get_title() == "2 causes, the most active first"
    one = efmca.plot_components(fitted, shape=(2, 3), n_components=1)
    assert one.images[0].get_array().shape == (2, 3) and one.get_title().startswith("1 of 2 causes")
    each = efmca.plot_components(fitted, shape=(2, 3), scale="each").images[0]
    assert each.get_clim() == (0, 1) and np.nanmax(np.ma.filled(each.get_array(), np.nan)) == 1
    with pytest.raises(ValueError, match=r"shape = \(3, 3\): the model has 6 columns"):
        efmca.plot_components(fitted, shape=(3, 3))
    with pytest.raises(ValueError, match="not fitted"):
        efmca.plot_components(efmca.EFMCA())
    with pytest.raises(ValueError, match="scale"):
        efmca.plot_components(fitted, shape=(2, 3), scale="all")


def test_components_of_results_know_their_patches(cleaned, rng):
    causes = cleaned.model.n_components
    rows, columns = cleaned.model.patch[:2]
    ax = cleaned_axes = efmca.plot_components(cleaned, n_components=4)
    assert ax.images[0].get_array().shape[0] % (rows + 1) == rows and f"4 of {causes} causes" in cleaned_axes.get_title()
    colours = rng.poisson(np.tile(np.array([[2, 20, 2], [20, 2, 2]]), (10, 12, 1)).reshape(20, 12, 3).astype(float))
    features = efmca.learn_features(colours, 3, family="poisson", patch_size=4, max_iter=2, channel_axis=-1)
    assert features.fields.shape == (3, 4, 4, 3)
    image = features.plot().images[0].get_array()
    assert image.ndim == 3 and image.shape[-1] == 3 and image.min() >= 0 and image.max() <= 1


def test_components_of_tables_are_bars_or_a_heatmap(fitted, counts):
    ax = efmca.plot_components(fitted)
    heights = [bar.get_height() for bar in ax.patches]
    order = np.argsort(-fitted.pi_)
    assert np.allclose(heights, fitted.components_[order].ravel())
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == [f"cause {h} ({100 * fitted.pi_[h]:.0f} %)" for h in order]
    many = efmca.EFMCA(8, "poisson", max_iter=2).fit(counts)
    heat = efmca.plot_components(many).images[0].get_array()
    assert np.array_equal(heat, many.components_[np.argsort(-many.pi_, kind="stable")])


def test_bound(fitted, cleaned):
    ax = efmca.plot_bound(fitted)
    (line,) = ax.lines
    assert np.array_equal(line.get_ydata(), fitted.lower_bounds_) and line.get_xdata()[0] == 1
    assert ax.get_ylabel() == "log-likelihood" and ax.get_xlabel() == "iteration"
    of_models = efmca.plot_bound(cleaned)
    assert len(of_models.lines) == len(cleaned.models) and all(line.get_ydata()[-1] == 0 for line in of_models.lines)
    assert len(efmca.plot_bound([-3.0, -2.0]).lines[0].get_ydata()) == 2
    with pytest.raises(ValueError, match="no bounds"):
        efmca.plot_bound(cleaned.model)


def test_encoding(fitted, counts, mixed):
    ax = efmca.plot_encoding(fitted, counts, n_rows=10)
    assert np.array_equal(ax.images[0].get_array(), fitted.transform(counts[:10])) and ax.images[0].get_clim() == (0, 1)
    frame, model = mixed
    named = efmca.plot_encoding(model, frame.rename(index=lambda n: f"day {n}"), n_rows=3)
    assert labels(named.yaxis) == ["day 0", "day 1", "day 2"]
    images = efmca.plot_encoding(fitted, counts, shape=(2, 3), n_rows=4)
    shown = np.ma.filled(images.images[0].get_array(), np.nan)
    most = max(1, fitted.predict(counts[:4]).sum(axis=1).max())
    assert shown.shape == (4 * 3 - 1, (most + 2) * 4 - 1)
    assert np.array_equal(shown[3:5, :3], counts[1].reshape(2, 3))
    assert np.allclose(shown[3:5, -3:], fitted.posterior_mean(counts[:4])[1].reshape(2, 3))
    behind = np.flatnonzero(fitted.predict(counts[:4])[1])
    tiles = [shown[3:5, 4 * k : 4 * k + 3] for k in range(1, 1 + len(behind))]
    assert all(np.array_equal(tile.ravel(), fitted.components_[h]) for tile, h in zip(tiles, behind))
    assert {text.get_text() for text in images.texts} == {"data", "causes", "together"}
    with pytest.raises(TypeError, match="fitted EFMCA"):
        efmca.plot_encoding(fitted.model_, counts)


def test_table(mixed):
    frame, model = mixed
    ax = efmca.plot_table(model)
    colours = ax.images[0].get_array()
    assert colours.shape == (2, 4) and (colours[-1] == 0).all(), "the background is compared with itself"
    assert labels(ax.xaxis) == list(frame.columns)
    assert labels(ax.yaxis)[0].startswith("cause 0 (") and labels(ax.yaxis)[-1] == "background"
    texts = np.array([text.get_text() for text in ax.texts]).reshape(2, 4)
    assert texts[0, 0] == f"{model.components_[0, 0]:.3g}" and texts[0, 1].startswith("yes ") and texts[1, 1].startswith("no ")
    assert texts[0, 2].startswith("steak "), "labels without an order have the most probable one"
    assert colours[0, 0] > 1 and colours[0, 2] > 1.5 and abs(colours[0, 3]) < 0.5, "rain has nothing to do with it"
    assert efmca.plot_components(model).images[0].get_array().shape == (2, 4), "several families are drawn as a table"
    with pytest.raises(ValueError, match="not fitted"):
        efmca.plot_table(efmca.EFMCA())


def test_tables_of_own_families_are_drawn_without_drawing_rows(counts):
    own = efmca.Family("own-poisson", t=lambda y: y, log_h=lambda y: -math.lgamma(y + 1), a=math.exp, some_eta=0.0, support="counts")
    model = efmca.EFMCA(2, own, n_init=1, max_iter=5).fit(counts[:60, ::3])
    colours = efmca.plot_table(model).images[0].get_array()
    assert np.allclose(np.abs(colours).max(axis=0), 2) and "own-poisson" in model._repr_html_()


def test_rankings(counts, mixed):
    ranking = efmca.noise_type(counts, ["poisson", "geometric", "gaussian"], n_components=2, n_restarts=1, max_iter=10)
    ax = ranking.plot()
    assert labels(ax.yaxis) == [row["family"] for row in ranking.rows]
    dots = [container.lines[0].get_xdata()[0] for container in ax.containers]
    assert np.allclose(dots, [row["behind"] for row in ranking.rows])
    filled = [to_hex(container.lines[0].get_markerfacecolor()) != "#ffffff" for container in ax.containers]
    assert filled == [place == 0 or row["tied"] for place, row in enumerate(ranking.rows)]
    assert len(efmca.plot_noise_ranking(ranking, n_families=2).containers) == 2
    columns = efmca.noise_type(mixed[0], n_components=1, n_restarts=1, max_iter=10)
    drawn = columns.plot()
    assert labels(drawn.yaxis) == [f"{name}: {family}" for name, family in columns.families.items()]
    assert len(drawn.lines) > 2 * len(columns.rows)
    with pytest.raises(TypeError, match="noise_type"):
        efmca.plot_noise_ranking(counts)


def test_choice(counts):
    choice = efmca.select(counts, [1, 2, 3], family="poisson")
    ax = choice.plot()
    assert np.array_equal(ax.containers[0].lines[0].get_xdata(), [1, 2, 3])
    assert np.allclose(ax.containers[0].lines[0].get_ydata(), [row["held_out"] for row in choice.rows])
    assert ax.get_legend().get_texts()[0].get_text() == f"{choice.best} causes"


def test_denoised(cleaned, square, rng):
    axes = cleaned.plot(std=True, clean=square[0])
    assert [ax.get_title() for ax in axes] == ["before", "after", "residual", "truth", "standard deviation"]
    before, after, residual, truth, std = (ax.images[0] for ax in axes)
    assert np.array_equal(before.get_array(), square[1]) and np.array_equal(after.get_array(), cleaned.image)
    assert np.allclose(residual.get_array(), cleaned.residual) and np.array_equal(std.get_array(), cleaned.std)
    assert np.array_equal(truth.get_array(), square[0])
    assert before.get_clim() == after.get_clim() == truth.get_clim(), "the same black and white"
    low, high = residual.get_clim()
    assert low == -high
    of_arrays = efmca.plot_denoised(cleaned.image, square[1])
    assert np.array_equal(of_arrays[0].images[0].get_array(), square[1])
    movie = rng.poisson(np.stack([square[0], square[0] + 5])).astype(float)
    pages = efmca.denoise(movie, "poisson", quality="fast", max_iter=2, full_output=True)
    assert np.array_equal(pages.plot(page=1)[0].images[0].get_array(), movie[1])
    with pytest.raises(ValueError, match="there are 2 pages"):
        pages.plot(page=2)
    with pytest.raises(ValueError, match="give the noisy image"):
        efmca.plot_denoised(cleaned.image)
    with pytest.raises(ValueError, match="std needs a Denoised"):
        efmca.plot_denoised(cleaned.image, square[1], std=True)


def test_denoised_colours(rng):
    scene = np.ones((3, 24, 30))
    scene[0, 5:18, 6:20] = 9
    noisy = rng.poisson(scene).astype(float)
    found = efmca.denoise(noisy, "poisson", quality="fast", max_iter=2, channel_axis=0, full_output=True)
    axes = found.plot(std=True, clean=scene)
    before, after, residual, truth, std = (ax.images[0].get_array() for ax in axes)
    assert before.shape == after.shape == truth.shape == (24, 30, 3) and residual.shape == std.shape == (24, 30)
    assert np.allclose(std, found.std.mean(axis=0)) and np.allclose(residual, found.residual.mean(axis=0))
    assert np.argmax(after[10, 10]) == 0, "the square is red"


def test_pictures_are_drawn_where_they_are_asked_for(fitted, counts, cleaned):
    figure, axes = plt.subplots(2, 3)
    before = len(plt.get_fignums())
    assert efmca.plot_components(fitted, ax=axes[0, 0]) is axes[0, 0]
    assert efmca.plot_bound(fitted, ax=axes[0, 1]) is axes[0, 1]
    assert efmca.plot_encoding(fitted, counts, ax=axes[0, 2]) is axes[0, 2]
    drawn = cleaned.plot(ax=axes[1])
    assert list(drawn) == list(axes[1])
    assert len(plt.get_fignums()) == before, "no other figure is opened"
    with pytest.raises(ValueError, match="3 pictures"):
        cleaned.plot(ax=axes[1, :2])
    figure.canvas.draw()


def test_without_matplotlib(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"a picture needs matplotlib: pip install 'efmca\[plot\]'"):
        efmca.plot_bound(fitted)


def pictures_in(html):
    """Decode the PNG pictures of a page, as sizes and rows of bytes without their filters."""
    for data in re.findall(r'src="data:image/png;base64,([^"]+)"', html):
        png = base64.b64decode(data)
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        width, height, _, colour = struct.unpack(">IIBB", png[16:26])
        start = png.index(b"IDAT") + 4
        raw = zlib.decompress(png[start : start + struct.unpack(">I", png[start - 8 : start - 4])[0]])
        channels = 3 if colour == 2 else 1
        yield np.frombuffer(raw, np.uint8).reshape(height, 1 + width * channels)[:, 1:].reshape(height, width, channels)


def test_notebooks_show_results(cleaned, square, rng):
    html = cleaned._repr_html_()
    before, after, residual = pictures_in(html)
    assert before.shape == after.shape == residual.shape == (*square[0].shape, 1)
    inside, outside = after[20, 24, 0], after[3, 3, 0]
    assert inside > 150 > 60 > outside, "the bright square is bright"
    assert abs(float(residual.mean()) - 127) < 12, "nothing that was taken away is grey"
    assert "http" not in html and "<script" not in html
    features = efmca.learn_features(rng.poisson(4.0, (20, 20)), 4, family="poisson", patch_size=5, max_iter=2)
    (field,) = pictures_in(features._repr_html_())
    assert field.shape == (11, 11, 1)


def test_notebooks_show_models(mixed, counts):
    frame, _ = mixed
    odd = frame.rename(columns={"guests": "<b>guests</b>"})
    odd["dish"] = odd["dish"].replace({"steak": "<i>steak</i>"})
    model = efmca.EFMCA(1, "auto").fit(odd)
    html = model._repr_html_()
    assert "<b>guests" not in html and "&lt;b&gt;guests" in html
    assert "<i>steak" not in html and "&lt;i&gt;steak" in html
    assert "background" in html and f"{100 * model.pi_[0]:.1f} %" in html and "log-likelihood" in html
    assert model._repr_mimebundle_()["text/html"] == html and "text/plain" in model._repr_mimebundle_()
    assert "EFMCA" in efmca.EFMCA()._repr_html_()
    wide = efmca.EFMCA(14, "poisson", max_iter=2).fit(np.tile(counts, 3))
    assert "and 2 more causes and 6 more columns" in wide._repr_html_()
    ranking = efmca.noise_type(counts, ["poisson", "gaussian"], n_components=2, n_restarts=1, max_iter=5)
    assert "poisson" in ranking._repr_html_() and "<table>" in ranking._repr_html_()


@pytest.mark.parametrize("name", ["_plots", "_plot_results", "_pictures", "_html"])
def test_examples_run(name):
    assert doctest.testmod(importlib.import_module(f"efmca.{name}")).failed == 0
