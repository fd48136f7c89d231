"""How many causes of a noisy-OR network its own likelihood finds, by the rule of `experiments -- noisy-or`.

    python experiments/peers/noisy_or.py DIR/plnt.npz

The network is the one the data were drawn from, started at the true parameters and trained by exact EM to its maximum. A cause is
found if the same columns lie above one half. What is not found here, no method can find by the likelihood of these rows: an entry of
0.501 is estimated below one half about every other time. Needs numpy, and 2^causes states for each row.
"""

import itertools
import sys

import numpy as np

ITERATIONS = 200
EDGE = 1e-6


def main(path):
    data = np.load(path)
    x, truth = data["x"].astype(float), data["p"].astype(float)
    p, prior, leak = truth.copy(), data["prior"].astype(float), data["leak"].astype(float)
    states = np.array(list(itertools.product((0.0, 1.0), repeat=len(prior))))
    for _ in range(ITERATIONS):
        p, leak, prior = (np.clip(values, EDGE, 1 - EDGE) for values in (p, leak, prior))
        off = states @ np.log1p(-p) + np.log1p(-leak)
        on = -np.expm1(off)
        joint = x @ np.log(on).T + (1 - x) @ off.T + states @ np.log(prior) + (1 - states) @ np.log1p(-prior)
        top = joint.max(1, keepdims=True)
        posterior = np.exp(joint - top)
        total = posterior.sum(1, keepdims=True)
        bound = float(np.mean(top + np.log(total)))
        posterior /= total
        # how often each state goes with each column that is on, divided by its probability: who switched it on is p or leak of that
        switched = (posterior.T @ x) / on
        rows = posterior.sum(0)
        p = p * (states.T @ switched) / (states.T @ rows)[:, None]
        leak = leak * switched.sum(0) / rows.sum()
        prior = states.T @ rows / rows.sum()
    same = (p > 0.5) == (truth > 0.5)
    print(f"{path}: {int(same.all(1).sum())} of {len(p)} causes, {bound:.4f} nats a row")
    for cause, column in np.argwhere(~same):
        print(f"  cause {cause + 1}, column {column + 1}: {truth[cause, column]:.3f} is estimated as {p[cause, column]:.3f}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for each in sys.argv[1:]:
        main(each)
