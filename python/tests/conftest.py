"""What several tests need."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture
def counts(rng: np.random.Generator) -> np.ndarray:
    """Counts of two causes over six columns."""
    profiles = np.array([[20, 20, 20, 1, 1, 1], [1, 1, 1, 15, 15, 15]])
    active = rng.random((200, 2, 1)) < 0.4
    return rng.poisson((active * profiles).max(axis=1) + 1.0).astype(float)


@pytest.fixture
def square(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A bright square, and the same seen with few photons."""
    clean = np.ones((40, 48))
    clean[10:30, 12:36] = 8.0
    return clean, rng.poisson(clean).astype(float)


@pytest.fixture(scope="session")
def program() -> list[str]:
    """The program that the wheel brought."""
    beside = Path(sys.executable).parent / ("efmca.exe" if os.name == "nt" else "efmca")
    assert beside.exists(), f"the wheel brings {beside}"
    return [str(beside)]


def run_python(code: str, *, interrupt_after: float | None = None, timeout: float = 120) -> tuple[int, str, str]:
    """Run code in a process of its own; with `interrupt_after` it gets Ctrl-C so long after it printed a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        first = ""
        if interrupt_after is not None:
            assert process.stdout is not None
            first = process.stdout.readline()
            assert first, process.stderr.read() if process.stderr else ""
            time.sleep(interrupt_after)
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=timeout)
    finally:
        process.kill()
    return process.returncode, first + out, err
