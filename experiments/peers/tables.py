"""Log-likelihoods that other programs give to the test rows of tables, for `experiments -- tables --peers FILE`.

    python experiments/peers/tables.py TABLES peers.tsv [NAME ...]

TABLES is the folder of NAME-train.csv, NAME-valid.csv and NAME-test.csv. The script makes an environment of its own
(`--environment FOLDER`, default `.tables-peers`), installs scikit-learn, SPFlow and mofapy2 from PyPI, and runs them there.

The measure is the one of `experiments -- tables`. Every column has a step (1 for whole numbers, 0.01 for two decimals), a value
stands for the interval of that length around it, and what is scored is the logarithm of the probability of that interval: of all
cells of a row together, and of single masked cells given the others. Continuous models are fitted to values to which uniform noise
of one step was added, so that no variance collapses on repeated values; the probability of a row's box is the average density over
points in it. Everything is fitted on train and chosen on valid. Lines: table, method, setting, nats a row, nats of a masked cell
with 10 % and with 50 % masked, CPU seconds.
"""

import argparse
import csv
import math
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

PACKAGES = ["numpy<2.3", "scipy", "scikit-learn", "statsmodels", "networkx", "matplotlib", "tqdm", "lark-parser", "sympy", "mofapy2"]
# its own list of requirements has four frameworks for training on graphics cards, which learning a structure does not use
WITHOUT_REQUIREMENTS = ["spflow==0.0.46"]
POINTS = 100
SHARES = (0.1, 0.5)


def in_environment(folder):
    """Runs this script again in an environment that has all packages."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.check_call([sys.executable, "-m", "venv", str(folder)])
    pip = [str(python), "-m", "pip", "install", "--quiet"]
    subprocess.check_call([*pip, *PACKAGES])
    subprocess.check_call([*pip, "--no-deps", *WITHOUT_REQUIREMENTS])
    os.environ["TABLES_PEERS"] = "1"
    os.execv(str(python), [str(python), *sys.argv])


def read(path):
    import numpy as np

    with open(path, newline="") as file:
        rows = list(csv.reader(file))[1:]
    return np.array([[float(cell) if cell not in ("", "?", "nan") else math.nan for cell in row] for row in rows])


def step_of(values):
    """The largest of 1, 0.5, 0.1, 0.05, ... of which at least 95 % of the values are multiples."""
    import numpy as np

    values = values[np.isfinite(values)]
    for step in (1.0, 0.5, 0.1, 0.05, 0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00005):
        if np.mean(np.abs(values / step - np.round(values / step)) < 1e-4) >= 0.95:
            return step
    return 0.00001


def masked(n, d, columns, share):
    """Whether a cell is masked: the same cells as in the experiment."""
    z = (n * columns + d + 0x9E3779B97F4A7C15) & (2**64 - 1)
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & (2**64 - 1)
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & (2**64 - 1)
    return ((z ^ (z >> 31)) >> 11) / 2.0**53 < share


class Table:
    def __init__(self, folder, name):
        import numpy as np

        self.train, self.valid, self.test = (read(folder / f"{name}-{part}.csv") for part in ("train", "valid", "test"))
        self.steps = np.array([step_of(column) for column in self.train.T])
        means = np.nanmean(self.train, axis=0)
        # the few missing cells: by the mean for fitting; marginalised in no program alike, so that rows with one are left out
        self.train = np.where(np.isnan(self.train), means, self.train)
        self.valid = self.valid[~np.isnan(self.valid).any(axis=1)]
        self.whole = ~np.isnan(self.test).any(axis=1)
        rng = np.random.default_rng(1)
        self.noisy = self.train + rng.uniform(-0.5, 0.5, self.train.shape) * self.steps

    def boxes(self, log_density, rows):
        """The mean over rows of the logarithm of the probability of each row's box."""
        import numpy as np
        from scipy.special import logsumexp

        rng = np.random.default_rng(2)
        points = rng.uniform(-0.5, 0.5, (POINTS, rows.shape[1])) * self.steps
        logs = np.array([log_density(rows + point) for point in points])
        return float(np.mean(logsumexp(logs, axis=0) - math.log(POINTS) + np.log(self.steps).sum()))

    def mask(self, share):
        import numpy as np

        n, d = self.test.shape
        return np.array([[masked(i, j, d, share) for j in range(d)] for i in range(n)])


class Mixture:
    """Gaussians with weights: what mixtures, factor analysis and MOFA's marginal all are."""

    def __init__(self, weights, means, covariances):
        self.weights, self.means, self.covariances = weights, means, covariances

    def log_density(self, rows, columns=slice(None)):
        import numpy as np
        from scipy.special import logsumexp

        return logsumexp(self.parts(rows, columns) + np.log(self.weights), axis=1)

    def parts(self, rows, columns):
        import numpy as np

        logs = np.empty((len(rows), len(self.weights)))
        for k, (mean, covariance) in enumerate(zip(self.means, self.covariances)):
            part = covariance[columns][:, columns]
            root = np.linalg.cholesky(part)
            z = np.linalg.solve(root, (rows[:, columns] - mean[columns]).T)
            logs[:, k] = -0.5 * (z**2).sum(0) - np.log(np.diag(root)).sum() - 0.5 * len(part) * math.log(2 * math.pi)
        return logs

    def cells(self, table, share):
        """The mean logarithm of the probability of a masked cell given the cells of its row that are seen."""
        import numpy as np
        from scipy.special import log_ndtr, logsumexp

        scores = []
        mask = table.mask(share)
        for row, hidden in zip(table.test, mask):
            present = ~np.isnan(row)
            seen, hidden = np.flatnonzero(present & ~hidden), np.flatnonzero(present & hidden)
            if len(hidden) == 0:
                continue
            logs = np.log(self.weights)
            if len(seen):
                logs = logs + self.parts(row[None], seen)[0]
            logs = logs - logsumexp(logs)
            total = np.full((len(self.weights), len(hidden)), -np.inf)
            for k, (mean, covariance) in enumerate(zip(self.means, self.covariances)):
                middle, variance = mean[hidden], np.diag(covariance)[hidden]
                if len(seen):
                    gain = np.linalg.solve(covariance[seen][:, seen], covariance[seen][:, hidden])
                    middle = middle + gain.T @ (row[seen] - mean[seen])
                    variance = variance - (gain * covariance[seen][:, hidden]).sum(0)
                sd = np.sqrt(np.maximum(variance, 1e-12))
                low = (row[hidden] - table.steps[hidden] / 2 - middle) / sd
                high = (row[hidden] + table.steps[hidden] / 2 - middle) / sd
                flip = low > 0
                low, high = np.where(flip, -high, low), np.where(flip, -low, high)
                a, b = log_ndtr(high), log_ndtr(low)
                total[k] = a + np.log1p(-np.exp(np.minimum(b - a, -1e-12)))
            scores.extend(np.maximum(logsumexp(logs[:, None] + total, axis=0), -1e4))
        return float(np.mean(scores))


def gaussian_mixture(table):
    import numpy as np
    from sklearn.mixture import GaussianMixture

    best = None
    spread = table.noisy.std(0)
    for kind in ("full", "diag"):
        worse = 0
        for components in (1, 2, 4, 8, 16, 32, 64):
            if components * 10 > len(table.noisy) or worse > 1:
                break
            model = GaussianMixture(components, covariance_type=kind, reg_covar=1e-3, random_state=0, n_init=2)
            model.fit(table.noisy / spread)
            covariances = model.covariances_ if kind == "full" else [np.diag(c) for c in model.covariances_]
            scaled = Mixture(model.weights_, model.means_ * spread, [c * np.outer(spread, spread) for c in covariances])
            score = table.boxes(scaled.log_density, table.valid)
            worse = 0 if best is None or score > best[0] else worse + 1
            if best is None or score > best[0]:
                best = (score, f"{components} {kind}", scaled)
    return best[1:]


def factor_analysis(table):
    import numpy as np
    from sklearn.decomposition import FactorAnalysis

    best = None
    spread = table.noisy.std(0)
    for components in range(1, min(table.noisy.shape[1], 16)):
        model = FactorAnalysis(components, random_state=0).fit(table.noisy / spread)
        covariance = model.get_covariance() * np.outer(spread, spread)
        one = Mixture(np.ones(1), [model.mean_ * spread], [covariance])
        score = table.boxes(one.log_density, table.valid)
        if best is None or score > best[0]:
            best = (score, f"{components} factors", one)
    return best[1:]


def mofa(table):
    import contextlib
    import io

    import numpy as np
    from mofapy2.run.entry_point import entry_point

    best = None
    mean, spread = table.noisy.mean(0), table.noisy.std(0)
    for factors in (factors for factors in (2, 5, 10) if factors < table.noisy.shape[1]):
        with contextlib.redirect_stdout(io.StringIO()):
            entry = entry_point()
            entry.set_data_options(scale_views=False)
            entry.set_data_matrix([[(table.noisy - mean) / spread]], likelihoods=["gaussian"])
            entry.set_model_options(factors=factors)
            entry.set_train_options(iter=500, convergence_mode="fast", seed=1, verbose=False)
            entry.build()
            entry.run()
        nodes = entry.model.nodes
        w = nodes["W"].getExpectation()[0]
        z = nodes["Z"].getExpectation()
        tau = np.asarray(nodes["Tau"].getExpectation()[0]).reshape(-1, w.shape[0])[0]
        # the factors of new rows are distributed like those of the rows that were seen
        covariance = w @ np.atleast_2d(np.cov(z.T)) @ w.T + np.diag(1 / tau)
        one = Mixture(np.ones(1), [mean + spread * (w @ z.mean(0))], [covariance * np.outer(spread, spread)])
        score = table.boxes(one.log_density, table.valid)
        if best is None or score > best[0]:
            best = (score, f"{factors} factors", one)
    return best[1:]


class SumProduct:
    """A network of SPFlow: codes are categorical, all else is Gaussian."""

    def __init__(self, table, rows):
        import numpy as np
        from spn.algorithms.LearningWrappers import learn_parametric
        from spn.structure.Base import Context
        from spn.structure.leaves.parametric.Parametric import Categorical, Gaussian

        whole = table.steps == 1.0
        values = np.concatenate([table.train, table.valid, table.test[table.whole]])
        self.codes = whole & (values.max(0) < 20) & (values.min(0) >= 0)
        data = np.where(self.codes, np.round(table.train), table.noisy)
        kinds = [Categorical if code else Gaussian for code in self.codes]
        context = Context(parametric_types=kinds).add_domains(np.concatenate([data, np.round(values)]))
        self.network = learn_parametric(data, context, min_instances_slice=rows)
        self.steps = np.where(self.codes, 1.0, table.steps)

    def log_density(self, rows):
        import numpy as np
        from spn.algorithms.Inference import log_likelihood

        rows = np.where(self.codes, np.round(rows), rows)
        return np.maximum(log_likelihood(self.network, rows)[:, 0], -1e4)

    def cells(self, table, share):
        import numpy as np

        points = np.linspace(-0.4, 0.4, 5)
        mask = table.mask(share)
        rows, seen_rows, scores = [], [], []
        for row, hidden in zip(table.test, mask):
            present = ~np.isnan(row)
            seen = np.where(present & ~hidden, row, math.nan)
            for d in np.flatnonzero(present & hidden):
                one = seen.copy()
                one[d] = row[d]
                rows.append((one, d))
                seen_rows.append(seen)
        base = self.log_density(np.array(seen_rows))
        both = np.array([one for one, _ in rows])
        at = np.array([d for _, d in rows])
        logs = []
        for point in points:
            moved = both.copy()
            moved[np.arange(len(at)), at] += point * self.steps[at] * ~self.codes[at]
            logs.append(self.log_density(moved))
        top = np.max(logs, axis=0)
        scores = top + np.log(np.mean(np.exp(np.array(logs) - top), axis=0)) + np.log(self.steps[at]) - base
        return float(np.mean(np.minimum(np.maximum(scores, -1e4), 0.0)))


def sum_product(table):
    best = None
    for rows in (30, 60, 120, 250, 500):
        if rows > len(table.train):
            break
        network = SumProduct(table, rows)
        score = table.boxes(network.log_density, table.valid)
        if best is None or score > best[0]:
            best = (score, f"{rows} rows", network)
    return best[1:]


METHODS = {
    "Gaussian mixture": gaussian_mixture,
    "FactorAnalysis": factor_analysis,
    "SPFlow": sum_product,
    "MOFA": mofa,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--environment", type=Path, default=Path(".tables-peers"))
    parser.add_argument("--methods", default=",".join(METHODS))
    arguments = parser.parse_args()
    if "TABLES_PEERS" not in os.environ:
        in_environment(arguments.environment)
    warnings.filterwarnings("ignore")
    names = arguments.names or sorted(path.name[: -len("-train.csv")] for path in arguments.tables.glob("*-train.csv"))
    lines = []
    for name in names:
        table = Table(arguments.tables, name)
        for method in arguments.methods.split(","):
            begin = time.process_time()
            try:
                setting, model = METHODS[method](table)
                score = table.boxes(model.log_density, table.test[table.whole])
                cells = [model.cells(table, share) for share in SHARES]
            except Exception as error:  # a program that does not run is said to not run
                print(f"{name}: {method}: {type(error).__name__}: {error}", file=sys.stderr)
                continue
            cpu = time.process_time() - begin
            lines.append("\t".join([name, method, setting, *(f"{value:.4f}" for value in [score, *cells]), f"{cpu:.1f}"]))
            print(lines[-1], file=sys.stderr, flush=True)
            arguments.output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
