"""Boolean matrices of known rank with flipped bits, and what nimfa finds in them.

    python experiments/peers/boolean.py FOLDER peers.tsv

Writes a matrix for each rank (5, 10, 15) and share of flipped bits (0, 0.1, 0.2, 0.3) to FOLDER as NPZ files with `x` (1,000 x 60
zeros and ones: the Boolean product of random factors, with flipped bits) and `p` (the true factors, rank x 60), which
`experiments -- noisy-or --data FOLDER --causes 0` reads; then runs nimfa's binary factorisation with the true rank in an environment
of its own (`--environment FOLDER`). A factor is found if one of the result has the same columns above one half, each matched
once. Lines: file, method, factors found, rank, CPU seconds.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROWS, COLUMNS, SEEDS = 1000, 60, 3


def in_environment(folder):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(folder)])
    subprocess.check_call([str(python), "-m", "pip", "install", "--quiet", "numpy<2", "scipy", "nimfa"])
    os.environ["BOOLEAN_PEERS"] = "1"
    os.execv(str(python), [str(python), *sys.argv])


def found(truth, factors):
    left = [tuple(factor > 0.5) for factor in factors]
    count = 0
    for cause in truth > 0.5:
        if tuple(cause) in left:
            left.remove(tuple(cause))
            count += 1
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--environment", type=Path, default=Path(".boolean-peers"))
    arguments = parser.parse_args()
    if "BOOLEAN_PEERS" not in os.environ:
        in_environment(arguments.environment)
    import nimfa
    import numpy as np

    arguments.folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for rank in (5, 10, 15):
        for noise in (0.0, 0.1, 0.2, 0.3):
            rng = np.random.default_rng(1000 * rank + int(100 * noise))
            truth = (rng.random((rank, COLUMNS)) < 0.15).astype(np.uint8)
            use = (rng.random((ROWS, rank)) < 1.5 / rank).astype(np.uint8)
            x = (use.astype(int) @ truth > 0) ^ (rng.random((ROWS, COLUMNS)) < noise)
            name = f"rank-{rank:02}-noise-{int(100 * noise):02}"
            np.savez_compressed(arguments.folder / f"{name}.npz", x=x.astype(np.uint8), p=truth.astype(np.float64))
            for seed in range(SEEDS):
                np.random.seed(seed)
                begin = time.process_time()
                fit = nimfa.Bmf(x.astype(float), rank=rank, seed="random_vcol", max_iter=60, lambda_w=1.1, lambda_h=1.1)()
                factors = np.asarray(fit.coef())
                factors = factors / np.maximum(factors.max(axis=1, keepdims=True), 1e-12)
                cpu = time.process_time() - begin
                lines.append(f"{name}\tnimfa Bmf\t{found(truth, factors)}\t{rank}\t{cpu:.2f}")
                print(lines[-1], file=sys.stderr, flush=True)
    arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
