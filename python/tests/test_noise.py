"""Noise types, the number of causes, features."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

import efmca


def test_a_ranking_is_that_of_the_program(program, counts, tmp_path):
    np.save(tmp_path / "counts.npy", counts)
    done = subprocess.run(
        [*program, "noise-type", tmp_path / "counts.npy", "--json", "--as", "table", "--causes", "2", "--seed", "1"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    expected = json.loads(done.stdout)
    found = efmca.noise_type(counts, n_components=2, random_state=1)
    assert found.best == expected["best"]
    assert found.sentence == expected["sentence"]
    assert [row["held_out"] for row in found] == [row["held_out"] for row in expected["ranking"]]
    assert len(found) > 3 and "held-out value" in str(found) and "<table>" in found._repr_html_()
    pandas = pytest.importorskip("pandas")
    assert isinstance(found.to_frame(), pandas.DataFrame) and list(found.to_frame()["family"])[0] == found.best


def test_families_of_columns_and_images(counts, rng, square):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"guests": counts[:, 0], "open": counts[:, 0] > 9, "wait": rng.exponential(counts[:, 0] + 1)})
    found = efmca.noise_type(frame, n_components=1)
    assert found.families["open"] == "bernoulli" and list(found.families) == ["guests", "open", "wait"]
    assert efmca.noise_type(frame, family={"guests": "poisson"}, n_components=1).rows[0]["fixed"]
    assert "bernoulli" in str(found)
    again = efmca.EFMCA(1, found.families).fit(frame)
    assert again.families_[0] == found.families["guests"]
    _, noisy = square
    ranking = efmca.noise_type(noisy, ["poisson", "gaussian"], kind="image", n_components=4)
    assert ranking.best == "poisson"
    for change, message in [
        ({"kind": "sound"}, "kind"),
        ({"columns": "some"}, "columns"),
        ({"kind": "image", "columns": "each"}, "image has one family"),
        ({"families": ["poisson"], "columns": "each"}, "leave it out"),
        ({"families": ["poison"]}, "did you mean"),
        ({"held_out": 1.5}, "held-out"),
    ]:
        with pytest.raises(ValueError, match=message):
            efmca.noise_type(counts, **change)
    with pytest.raises(ValueError, match="all values are equal"):
        efmca.noise_type(np.ones((50, 2)))


def test_the_number_of_causes(program, counts, tmp_path):
    choice = efmca.select(counts, [1, 2, 4], family="poisson", random_state=2)
    np.save(tmp_path / "counts.npy", counts)
    done = subprocess.run(
        [*program, "select", tmp_path / "counts.npy", "--json", "--as", "table", "--causes", "1,2,4", "--family", "poisson",
         "--seed", "2"], capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    expected = json.loads(done.stdout)
    assert choice.best == expected["components"] == 2
    assert [row["held_out"] for row in choice] == [row["held_out"] for row in expected["tried"]]
    assert "2 causes" in choice.sentence and "chosen" in str(choice)
    found = efmca.select(counts, [1, 2])
    assert found.best == 2 and len(found.families) == 1
    with pytest.raises(ValueError, match="one cause at least"):
        efmca.select(counts, [0])


def test_features_are_those_of_the_program(program, rng, tmp_path):
    scene = rng.poisson(np.kron(rng.random((10, 10)) * 20, np.ones((4, 4)))).astype(float)
    np.save(tmp_path / "scene.npy", scene)
    subprocess.run(
        [*program, "learn", tmp_path / "scene.npy", "--out-dir", tmp_path / "out", "--family", "poisson", "--patch", "5",
         "--causes", "6", "--iterations", "4", "--states", "8", "--seed", "2", "--patches", "500"],
        capture_output=True, check=True, timeout=300,
    )  # fmt: skip
    found = efmca.learn_features(
        scene, 6, family="poisson", patch_size=5, max_iter=4, n_states=8, random_state=2, n_patches=500
    )
    assert found.fields.shape == (6, 5, 5) and len(found.bounds) == 4
    model = efmca.load_model(next((tmp_path / "out").glob("*.safetensors")))
    assert np.array_equal(model.components_.reshape(6, 5, 5), found.fields)
    found.save(tmp_path / "again.safetensors")
    assert np.array_equal(efmca.load_model(tmp_path / "again.safetensors").pi_, found.pi)
    whitened = efmca.learn_features([scene, scene[:20]], 3, patch_size=(4, 5), max_iter=2, n_patches=300)
    assert whitened.fields.shape == (3, 4, 5)
    with pytest.raises(ValueError, match="transform"):
        efmca.learn_features(scene, transform="square")
    with pytest.raises(ValueError, match="both signs"):
        efmca.learn_features(scene, 3, family="poisson", whiten=0.9)


def test_steps_and_verdicts_are_those_of_the_program(program, tmp_path):
    rng = np.random.default_rng(2)
    table = np.column_stack([rng.choice([17.5, 22, 27, 32], 500), np.round(rng.exponential(10, 500) * 2) / 2])
    text = "age,amount\n" + "\n".join(f"{age},{amount}" for age, amount in table)
    (tmp_path / "t.csv").write_text(text)
    done = subprocess.run(
        [*program, "noise-type", tmp_path / "t.csv", "--json", "--causes", "1", "--step", "amount=0.5"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    expected = json.loads(done.stdout)
    found = efmca.noise_type(table, columns="each", n_components=1, step={1: 0.5})
    for row, column in zip(found, expected["columns"], strict=True):
        assert row["family"] == column["family"] and row["step"] == column["step"]
        assert row["alone"]["p_value"] == column["alone"]["p_value"]
        assert row["verdict"]["sentence"] == column["verdict"]["sentence"]
    assert [row["step"] for row in found] == ["17.5/22/27/32", "0.5"]
    assert found.fits == expected["verdict"]["fits"] and "fits" in str(found)
    model = efmca.EFMCA(1, {0: "ordinal", 1: "exponential"}, step={1: 0.5}).fit(table)
    assert model.steps_ == ["17.5/22/27/32", "0.5"] and model.families_[0] == "ordinal:codes=17.5/22/27/32"
    assert np.isfinite(model.score(table))
    with pytest.raises(ValueError, match="exponential"):
        efmca.EFMCA(1, "exponential", step="continuous").fit(np.round(table))
    with pytest.raises(ValueError, match="step has an entry for column 5"):
        efmca.noise_type(table, step={5: 1})
    with pytest.raises(ValueError, match="positive number"):
        efmca.noise_type(table, step={0: -1.0})
    with pytest.raises(TypeError, match="step = None|step = True"):
        efmca.noise_type(table, step={0: True})
