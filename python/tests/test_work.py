"""Long work: threads, forks, Ctrl-C, callbacks, memory."""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time

import numpy as np
import pytest
from conftest import run_python

import efmca
from efmca import EFMCA

PRELUDE = """
import numpy as np
import efmca
from efmca import EFMCA
rng = np.random.default_rng(0)
"""

LONG = {
    "exact fit": "EFMCA(14, 'poisson', inference='exact', n_init=1, tol=0).fit(rng.poisson(5, (20_000, 30)))",
    "truncated fit": "EFMCA(150, 'poisson', tol=0).fit(rng.poisson(5, (20_000, 100)))",
    "starts": "EFMCA(9, 'poisson', n_init=1000).fit(rng.poisson(5, (3_000, 30)))",
    "search for families": "EFMCA('auto', 'auto').fit(rng.gamma(5, size=(20_000, 30)))",
    "transform": "MODEL.transform(np.tile(rng.poisson(5, (2_000, 64)), (200, 1)).astype(float))",
    "impute": "MODEL.impute(np.full((200_000, 64), np.nan))",
    "sample": "MODEL.sample(3_000_000)",
    "noise types": "efmca.noise_type(rng.poisson(5, (20_000, 60)))",
    "noise types of an image": "efmca.noise_type(rng.poisson(5, (500, 500)), kind='image', most=60_000)",
    "number of causes": "efmca.select(rng.poisson(5, (20_000, 60)), family='poisson')",
    "denoise": "efmca.denoise(rng.poisson(5, (700, 700)), 'poisson', quality='best')",
    "features": "efmca.learn_features(rng.normal(size=(400, 400)), 200)",
}


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way there")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_long_work(name):
    code = LONG[name]
    model = "MODEL = EFMCA(10, 'poisson', inference='exact', max_iter=1, n_init=1).fit(rng.poisson(5, (50, 64)))\n"
    code = PRELUDE + (model if "MODEL" in code else "") + f"print('begin', flush=True)\n{code}\nprint('end', flush=True)\n"
    begun = time.monotonic()
    returned, out, err = run_python(code, interrupt_after=1.0)
    assert "KeyboardInterrupt" in err and "end" not in out, f"it returned {returned}: {out}\n{err}"
    # Half a second on a machine that is not busy. This only tells it from work that goes on to its end.
    assert time.monotonic() - begun < 20
    assert "panicked" not in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fit_after_a_fork_does_not_hang():
    code = PRELUDE + """
import os, sys, warnings
warnings.simplefilter("ignore")
counts = rng.poisson(5, (300, 6)).astype(float)
fit = lambda: EFMCA(3, "poisson", n_init=2, max_iter=5).fit(counts).components_
before = fit()
child = os.fork()
same = np.array_equal(before, fit())
if child == 0:
    os._exit(0 if same else 3)
_, status = os.waitpid(child, 0)
sys.exit(os.waitstatus_to_exitcode(status) + (0 if same else 5))
"""
    assert run_python(code, timeout=60)[0] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_pickled_estimator_in_four_forked_processes(counts, tmp_path):
    model = EFMCA(2, "poisson").fit(counts)
    (tmp_path / "model.pickle").write_bytes(pickle.dumps(model))
    np.save(tmp_path / "counts.npy", counts)
    np.save(tmp_path / "expected.npy", model.transform(counts))
    code = f"""
import multiprocessing, pickle, warnings
import numpy as np
warnings.simplefilter("ignore")
model = pickle.load(open({str(tmp_path / "model.pickle")!r}, "rb"))
counts = np.load({str(tmp_path / "counts.npy")!r})
model.transform(counts)
with multiprocessing.get_context("fork").Pool(4) as pool:
    found = pool.map(model.transform, [counts] * 8)
expected = np.load({str(tmp_path / "expected.npy")!r})
assert all(np.array_equal(one, expected) for one in found)
"""
    returned, _, err = run_python(code, timeout=60)
    assert returned == 0, err


def test_a_callback_sees_and_ends_the_training(counts):
    seen = []

    def see(progress):
        seen.append(progress)
        return progress.iteration is not None and progress.iteration >= 3

    model = EFMCA(2, "poisson", n_init=1, tol=0, callback=see).fit(counts)
    assert model.n_iter_ == 3 and seen[-1].iteration == 3 and seen[-1].total == 100
    assert seen[-1].bound == model.lower_bounds_[-1]
    assert "training, 3 of 100" in repr(seen[-1])
    early = efmca.denoise(counts[:40, :], "poisson", quality="fast", callback=lambda progress: True, full_output=True)
    assert early.stopped and np.isfinite(early.image).all()
    with pytest.raises(efmca.Stopped, match="before a family was trained"):
        efmca.noise_type(counts, callback=lambda progress: True)


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit, StopIteration])
def test_an_exception_in_a_callback_goes_on(counts, error):
    def fail(progress):
        raise error("from the callback")

    for work in (
        lambda: EFMCA(2, "poisson", callback=fail).fit(counts),
        lambda: efmca.noise_type(counts, callback=fail),
        lambda: efmca.select(counts, [2], family="poisson", callback=fail),
        lambda: efmca.denoise(counts[:40], "poisson", quality="fast", callback=fail),
        lambda: efmca.learn_features(counts[:40], 3, family="poisson", patch_size=3, callback=fail),
    ):
        with pytest.raises(error, match="from the callback"):
            work()
    assert EFMCA(2, "poisson", max_iter=2, n_init=1).fit(counts).n_iter_ == 2


def test_progress_is_shown_only_when_asked_for(counts, capfd):
    EFMCA(2, "poisson", n_init=1, max_iter=3).fit(counts).transform(counts)
    assert capfd.readouterr() == ("", "")
    EFMCA(2, "poisson", n_init=1, max_iter=3, verbose=1).fit(counts)
    shown = capfd.readouterr()
    assert "training" in shown.err and shown.out == ""


def test_progress_without_tqdm(counts, capfd, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    EFMCA(2, "poisson", n_init=1, max_iter=3, tol=0, verbose=1).fit(counts)
    assert "training: 3 of 3, bound" in capfd.readouterr().err


def test_threads_at_the_same_time_give_the_same_bits(counts):
    expected = [EFMCA(3, "poisson", random_state=seed, n_init=2, max_iter=10).fit(counts).components_ for seed in range(4)]
    found: list = [None] * 4

    def fit(seed):
        found[seed] = EFMCA(3, "poisson", random_state=seed, n_init=2, max_iter=10, n_jobs=1 + seed % 3).fit(counts).components_

    threads = [threading.Thread(target=fit, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_the_lock_is_free_while_others_work(rng):
    """Another thread goes on counting during a fit."""
    table = rng.poisson(5, (3000, 30)).astype(float)
    counted, working = 0, True

    def count():
        nonlocal counted
        while working:
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    EFMCA(8, "poisson", n_init=1, max_iter=20, tol=0, n_jobs=1).fit(table)
    working = False
    thread.join()
    assert counted > 20


def test_many_fits_do_not_grow():
    psutil = pytest.importorskip("psutil")
    code = PRELUDE + """
import gc, psutil
counts = rng.poisson(5, (60, 4)).astype(float)
model = EFMCA(2, "poisson", n_init=1, max_iter=3)
def many(n):
    for _ in range(n):
        model.fit(counts).transform(counts)
    gc.collect()
    return psutil.Process().memory_info().rss
many(200)
before = many(100)
grown = many(800) - before
print(grown)
assert grown < 8e6, grown
"""
    assert psutil
    returned, out, err = run_python(code)
    assert returned == 0, out + err


def test_float_arrays_are_not_copied():
    """The most memory during a transform, with a table of 160 MB: a copy would be seen."""
    code = PRELUDE + """
import resource
counts = rng.poisson(5, (500, 40)).astype(float)
model = EFMCA(2, "poisson", n_init=1, max_iter=3).fit(counts)
for dtype in (np.float64, np.float32):
    table = np.tile(counts.astype(dtype), (1000 if dtype == np.float64 else 2000, 1))
    model.transform(table[:1000])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    model.transform(table)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    # the result itself, and the blocks that are worked on
    result = len(table) * 3 * 8
    print(dtype.__name__, table.nbytes, grown - result, flush=True)
    assert grown - 2 * result < 0.5 * table.nbytes, (dtype, table.nbytes, grown, result)
"""
    returned, out, err = run_python(code)
    assert returned == 0, out + err


def test_n_jobs(counts):
    expected = EFMCA(3, "poisson", n_init=2, max_iter=5, n_jobs=1).fit(counts).components_
    for n_jobs in (2, 3, -1, -2, None, np.int64(2)):
        assert np.array_equal(EFMCA(3, "poisson", n_init=2, max_iter=5, n_jobs=n_jobs).fit(counts).components_, expected)
