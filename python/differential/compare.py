"""Files of other programs, and ours in them: random ones, compared number by number.

    compare.py PROGRAM FILES SEED [FOLDER]

PROGRAM is the example `numbers` of efmca-io. FILES files are written here and read by us, half as many the other way round, and
some that cannot be read must be refused with a message. `.ci/differential` calls it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from foreign import READERS, REFUSED, WRITERS


def stored(path: Path, values: np.ndarray) -> None:
    """Numbers as the program takes them."""
    extents = " ".join(map(str, values.shape)).encode()
    path.write_bytes(extents + b"\n" + np.ascontiguousarray(values, "<f8").tobytes())


def loaded(path: Path) -> np.ndarray:
    extents, _, numbers = path.read_bytes().partition(b"\n")
    return np.frombuffer(numbers, "<f8").reshape([int(extent) for extent in extents.split()])


def same(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """Bit for bit, but for the kind of NaN and the sign of zeros, which integers do not have."""
    theirs = np.asarray(theirs, dtype=np.float64)
    return ours.shape == theirs.shape and bool(np.all((ours == theirs) | (np.isnan(ours) & np.isnan(theirs))))


class Program:
    def __init__(self, path: str):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def do(self, *words: object) -> str | None:
        """Nothing, or what is wrong."""
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().rstrip("\n")
        if not answer:
            raise SystemExit(f"the program ended with {self.process.wait()} in {words}")
        return None if answer == "ok" else answer


def main(program: str, files: int, seed: int, folder: Path) -> int:
    rng, ours = np.random.default_rng(seed), Program(program)
    done: Counter[str] = Counter()
    values = 0
    wrong: list[str] = []
    for number in range(files):
        kind = list(WRITERS)[number % len(WRITERS)]
        job, path, expected, what = WRITERS[kind](rng, folder / f"{number}")
        error = ours.do(job, path, folder / "numbers")
        if error or not same(loaded(folder / "numbers"), expected):
            found = error or loaded(folder / "numbers").ravel()[:8]
            wrong.append(f"{path.name} ({what}): {found} instead of {np.shape(expected)} {np.ravel(expected)[:8]}")
        done[f"{kind} of others"] += 1
        values += np.size(expected)
    for number in range(files // 2):
        kind = list(READERS)[number % len(READERS)]
        given, words, read = READERS[kind](rng, folder / f"ours{number}")
        stored(folder / "numbers", given)
        error = ours.do(words[0], folder / "numbers", *words[1:])
        if error:
            wrong.append(f"{words}: {error}")
        elif not same(given, read()):
            wrong.append(f"{words}: {given.ravel()[:8]} is read as {np.ravel(read())[:8]}")
        done[f"{kind} of ours"] += 1
        values += given.size
    for name, make in REFUSED.items():
        job, path = make(folder / f"refused-{name}")
        error = ours.do(job, path, folder / "numbers")
        if error is None or len(error) < 40:
            wrong.append(f"{path.name} should be refused with a reason: {error}")
        done["refused with a reason"] += 1
    print("| files | compared |\n| --- | ---: |")
    for kind, count in sorted(done.items()):
        print(f"| {kind} | {count} |")
    print(f"| **all** | **{sum(done.values())}** |\n\n{values} numbers, seed {seed}, {len(wrong)} files differ")
    print("\n".join(wrong[:40]))
    return bool(wrong)


if __name__ == "__main__":
    if len(sys.argv) > 4:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(temporary)))
