"""Work on a thread that no signal reaches is ended from another one, also within a long step."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import efmca


class Ask:
    """A callback that can be told to cancel."""

    def __init__(self):
        self.asked = False
        self.begun = threading.Event()

    def __call__(self, progress):
        self.begun.set()

    def cancelled(self):
        self.begun.set()
        return self.asked


@pytest.mark.parametrize("work", ["denoise", "fit"])
def test_cancelled_from_another_thread(rng, work):
    ask, outcome = Ask(), []

    def go():
        try:
            if work == "denoise":
                outcome.append(efmca.denoise(rng.poisson(5.0, (1024, 1024)).astype(float), "poisson", quality="best", callback=ask))
            else:
                outcome.append(efmca.EFMCA(64, "poisson", callback=ask).fit(rng.poisson(5.0, (40000, 64))))
        except efmca.Stopped as stopped:
            outcome.append(stopped)

    thread = threading.Thread(target=go)
    thread.start()
    assert ask.begun.wait(60)
    time.sleep(0.2)
    assert thread.is_alive(), "the work takes longer than this test"
    ask.asked = True
    # it takes some 0.05 seconds where nothing else runs, and the work itself would take minutes
    thread.join(5)
    assert not thread.is_alive()
    assert isinstance(outcome[0], efmca.Stopped)
    assert np.isfinite(efmca.denoise(np.ones((16, 16)) * 3, "poisson", quality="fast")).all(), "the next work is not touched"
