"""How work is done: threads, seeds, callbacks and progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any, Iterator

import numpy as np

from efmca._core import Progress

Callback = Callable[[Progress], Any]


def seed_of(random_state: Any) -> int:
    """Return the seed that a ``random_state`` stands for: 0 for None, so that results are the same each time."""
    if random_state is None:
        return 0
    if isinstance(random_state, (bool, np.bool_)):
        raise TypeError("random_state must be None, a whole number, or a generator of numpy")
    if isinstance(random_state, (int, np.integer)):
        if not 0 <= int(random_state) < 2**64:
            raise ValueError(f"random_state = {random_state}: seeds are whole numbers from 0 to 2**64 - 1")
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if hasattr(random_state, "randint"):
        return int(random_state.randint(2**31 - 1))
    raise TypeError(f"random_state must be None, a whole number, or a generator of numpy, not {random_state!r}")


@contextmanager
def working(
    n_jobs: int | None = None,
    callback: Callback | None = None,
    verbose: int | bool = 0,
    names: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """Yield what the compiled part wants to know about the way in which work is done."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be a function of a Progress, not {type(callback).__name__}")
    if n_jobs is not None and not isinstance(n_jobs, (int, np.integer)):
        raise TypeError(f"n_jobs must be None or a whole number, not {n_jobs!r}")
    shown = _shown() if verbose else None

    def both(progress: Progress) -> bool:
        if shown is not None:
            shown(progress)
        return bool(callback is not None and callback(progress))

    asked = both if shown is not None or callback is not None else None
    try:
        yield {
            "n_jobs": n_jobs,
            "callback": asked,
            # steps can be long: a callback with this method is asked between them, too
            "cancelled": getattr(callback, "cancelled", None),
            "names": None if names is None else [str(name) for name in names],
        }
    finally:
        if shown is not None:
            shown.close()


def _shown() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Lines()
    return _Bar(tqdm)


class _Bar:
    """A bar of tqdm, anew for each part of the work."""

    def __init__(self, tqdm: Any) -> None:
        self._tqdm, self._total = tqdm, 0
        self._bar: Any = None

    def __call__(self, progress: Progress) -> None:
        if self._bar is None or progress.total != self._total or progress.done < self._bar.n:
            self.close()
            self._bar, self._total = self._tqdm(total=progress.total, desc=progress.stage, leave=False), progress.total
        bound = "" if progress.bound is None else f", bound {progress.bound:.6e}"
        self._bar.set_description(progress.stage + bound, refresh=False)
        self._bar.update(progress.done - self._bar.n)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()
        self._bar = None


class _Lines:
    """A line for each tenth of the work, where there is no tqdm."""

    def __init__(self) -> None:
        self._told: tuple[str, int] | None = None

    def __call__(self, progress: Progress) -> None:
        now = (progress.stage, 10 * progress.done // max(progress.total, 1))
        if now != self._told:
            self._told = now
            bound = "" if progress.bound is None else f", bound {progress.bound:.6e}"
            print(f"{progress.stage}: {progress.done} of {progress.total}{bound}", file=sys.stderr)

    def close(self) -> None:
        pass


def needed(module: str, extra: str, what: str) -> Any:
    """Import an optional package, or say how to get it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{what} needs {module.split('.')[0]}: pip install 'efmca[{extra}]'") from error
