"""Images: the same as the program, in the manners of scikit-image."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

import efmca


def run(program, *arguments):
    done = subprocess.run([*program, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("family", ["auto", "poisson", "gaussian"])
def test_the_program_gives_the_same_bits(program, square, tmp_path, family):
    _, noisy = square
    np.save(tmp_path / "noisy.npy", noisy)
    run(
        program, "denoise", tmp_path / "noisy.npy", "-o", tmp_path / "clean.npy", "--noise", family, "--seed", 5,
        "--quality", "fast", "--uncertainty", tmp_path / "std.npy", "--dtype", "f64",
    )  # fmt: skip
    clean, std = efmca.denoise(noisy, family, quality="fast", random_state=5, return_std=True)
    assert np.array_equal(clean, np.load(tmp_path / "clean.npy"))
    # the program writes deviations like the noisy image
    assert np.array_equal(std.astype(np.load(tmp_path / "std.npy").dtype), np.load(tmp_path / "std.npy"))


def test_stacks_colours_and_settings_give_the_same_bits(program, rng, tmp_path):
    movie = rng.poisson(3.0, (4, 20, 24)).astype(float)
    movie[:, 5:15, 5:15] += rng.poisson(9.0, (4, 10, 10))
    np.save(tmp_path / "movie.npy", movie)
    run(
        program, "denoise", tmp_path / "movie.npy", "-o", tmp_path / "clean.npy", "--axes", "pyx", "--noise", "poisson",
        "--patch", "6x6x2", "--causes", 8, "--iterations", 4, "--states", 6, "--learn-pages", "1,2", "--dtype", "f64",
    )  # fmt: skip
    clean = efmca.denoise(
        movie, "poisson", patch_size=(6, 6, 2), n_components=8, max_iter=4, n_states=6, learn_pages=[0, 1]
    )
    assert np.array_equal(clean, np.load(tmp_path / "clean.npy"))
    colour = rng.poisson(4.0, (20, 24, 3)).astype(float)
    np.save(tmp_path / "colour.npy", colour)
    run(
        program, "denoise", tmp_path / "colour.npy", "-o", tmp_path / "clean2.npy", "--axes", "yxc", "--noise", "poisson",
        "--causes", 6, "--iterations", 3, "--causes-only", "--dtype", "f64",
    )  # fmt: skip
    clean = efmca.denoise(colour, "poisson", channel_axis=-1, n_components=6, max_iter=3, causes_only=True)
    assert np.array_equal(clean, np.load(tmp_path / "clean2.npy"))
    first = efmca.denoise(np.moveaxis(colour, -1, 0), "poisson", channel_axis=0, n_components=6, max_iter=3, causes_only=True)
    assert np.array_equal(np.moveaxis(first, 0, -1), clean)


def test_corrupt_inpaint_and_psnr_are_those_of_the_program(program, square, tmp_path):
    clean, _ = square
    np.save(tmp_path / "clean.npy", clean)
    run(program, "corrupt", tmp_path / "clean.npy", "-o", tmp_path / "noisy.npy", "--noise", "poisson", "--peak", 6, "--seed", 3)
    noisy, means = efmca.corrupt(clean, "poisson", peak=6, random_state=3, return_means=True)
    assert np.array_equal(noisy, np.load(tmp_path / "noisy.npy"))
    assert means.max() == 6
    holes = np.zeros(clean.shape, dtype=bool)
    holes[15:18, 20:24] = True
    np.save(tmp_path / "mask.npy", holes.astype(np.uint8))
    run(
        program, "inpaint", tmp_path / "noisy.npy", "-o", tmp_path / "full.npy", "--mask", tmp_path / "mask.npy",
        "--noise", "poisson", "--quality", "fast", "--dtype", "f64",
    )  # fmt: skip
    full = efmca.inpaint(noisy, holes, "poisson", quality="fast")
    assert np.array_equal(full, np.load(tmp_path / "full.npy"))
    marked = np.where(holes, np.nan, noisy)
    masked = np.ma.masked_array(noisy, holes)
    assert np.array_equal(efmca.inpaint(masked, family="poisson", quality="fast"), full)
    assert np.array_equal(efmca.inpaint(marked, family="poisson", quality="fast"), full)
    assert efmca.psnr(means, full) > efmca.psnr(means, noisy) + 3
    assert efmca.psnr(means, means) == np.inf and efmca.ssim(means, means) == pytest.approx(1)
    mse = np.mean((noisy - means) ** 2)
    assert efmca.psnr(means, noisy, data_range=10) == pytest.approx(10 * np.log10(100 / mse))
    with pytest.raises(ValueError, match="no pixel is missing"):
        efmca.inpaint(noisy, family="poisson")


def test_arrays_keep_shape_and_type(square):
    clean, noisy = square
    found = efmca.denoise(noisy.astype(np.float32), "poisson", quality="fast")
    assert found.dtype == np.float32 and found.shape == noisy.shape
    for other in (noisy.astype(np.uint16), noisy.tolist(), np.asfortranarray(noisy), noisy.T.copy().T):
        again = efmca.denoise(other, "poisson", quality="fast")
        assert again.dtype == np.float64 and np.array_equal(again.astype(np.float32), found)
    assert 0.5 < found.min() and found.max() < 12, "values keep their unit"

    class Lazy:
        def __array__(self, dtype=None, copy=None):
            return noisy

    assert np.array_equal(efmca.denoise(Lazy(), "poisson", quality="fast").astype(np.float32), found)
    assert efmca.psnr(clean, found) > efmca.psnr(clean, noisy) + 6
    before = noisy.copy()
    efmca.denoise(noisy, "poisson", quality="fast", mask=noisy > 14)
    assert np.array_equal(before, noisy), "the image is not changed"


def test_everything_that_is_known(square):
    _, noisy = square
    found = efmca.denoise(noisy, quality="fast", full_output=True, keep_model=True)
    assert found.family == "poisson" and "poisson" in found.noise
    assert np.allclose(found.residual, noisy - found.image)
    assert found.model.patch is not None and found.models[0]["n_components"] >= 1
    assert found.check() == [] or all(len(one) == 2 for one in found.check())
    assert "poisson noise" in repr(found) and not found.stopped
    wrong = efmca.denoise(noisy, "gaussian:var=0.01", quality="fast", full_output=True)
    assert wrong.check(), "noise that was assumed too small is noticed"


def test_wrong_images(square):
    _, noisy = square
    for image, kwargs, error, message in [
        (noisy[0], {}, ValueError, "1 axes"),
        (noisy, {"channel_axis": 2}, ValueError, "rows and columns and channels"),
        (noisy[..., None], {"channel_axis": 5}, ValueError, "channel_axis = 5"),
        (noisy - 3, {}, ValueError, r"page 0, row 0, column \d+, channel 0 \(counted from 0\) is -"),
        (noisy + 0.5, {}, ValueError, "outside the support of `poisson`"),
        (np.full_like(noisy, np.nan), {}, ValueError, "missing"),
        (noisy, {"quality": "good"}, ValueError, "fast, balanced or best"),
        (noisy, {"family": "poison"}, ValueError, "did you mean"),
        (noisy, {"family": 3}, TypeError, "family must be"),
        (noisy, {"patch_size": (4, 4, 4, 4)}, ValueError, "patch_size"),
        (noisy, {"patch_size": 100}, ValueError, "patch"),
        (noisy, {"mask": np.zeros((3, 3))}, ValueError, "mask has the shape"),
        (noisy, {"n_components": 0}, ValueError, "n_components"),
        (noisy, {"learn_pages": [3]}, ValueError, "learn_pages"),
        (noisy.astype(complex), {}, ValueError, "complex"),
        (np.array([["a", "b"], ["c", "d"]]), {}, TypeError, "no numbers"),
        (noisy[:0], {}, ValueError, ""),
        ("noisy.tif", {}, TypeError, "read it first"),
    ]:
        with pytest.raises(error, match=message or None):
            efmca.denoise(image, kwargs.pop("family", "poisson"), **kwargs)
    with pytest.raises(ValueError, match="`gaussian`"):
        efmca.corrupt(noisy, "gaussian")
    with pytest.raises(ValueError, match=r"expected \[40, 48\], found \[3, 48\]"):
        efmca.psnr(noisy, noisy[:3])


def test_a_camera_is_that_of_the_program(program, rng, tmp_path):
    photons = np.tile(np.linspace(0, 10, 150), (150, 1))
    image = 3 * rng.poisson(photons) + 100 + rng.normal(size=photons.shape)
    np.save(tmp_path / "scene.npy", image)
    run(program, "calibrate", tmp_path / "scene.npy", "-o", tmp_path / "camera.json")
    camera = efmca.calibrate(image)
    written = json.loads((tmp_path / "camera.json").read_text())
    assert camera.gain == written["gain"] and camera.offset == written["offset"]
    assert camera.gain == pytest.approx(3, rel=0.1) and "gain 3" in repr(camera) or "gain 2.9" in repr(camera)
    assert camera.points.shape[1] == 2
    clean = efmca.denoise(image[:40, :40], camera.family, quality="fast")
    assert np.isfinite(clean).all()
    known = efmca.calibrate([image], offset=100, read_noise=1)
    assert known.offset == 100 and known.errors[1] is None
    with pytest.raises(ValueError, match="cannot be calibrated"):
        efmca.calibrate(image[:5, :5])
    with pytest.raises(ValueError, match="read_noise"):
        efmca.calibrate(image, read_noise=-1)
