#!/usr/bin/env python3
"""scikit-learn's imputers on the masked tables of `experiments -- impute`.

usage: impute.py LEARN.csv MASKED.csv METHOD FILLED.csv

METHOD is `mean` (SimpleImputer), `iterative` (IterativeImputer with its defaults: Bayesian ridge regression) or `neighbours`
(KNNImputer on standardised columns). It learns from LEARN.csv, fills the empty cells of MASKED.csv and writes FILLED.csv; the
last line that it prints is the number of CPU seconds. It needs numpy and scikit-learn.
"""
import sys
import time
import warnings

import numpy as np


def imputer(method):
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

    return {
        "mean": SimpleImputer(keep_empty_features=True),
        "iterative": IterativeImputer(random_state=0, keep_empty_features=True),
        "neighbours": KNNImputer(keep_empty_features=True),
    }[method]


def main():
    learn, masked, method, filled = sys.argv[1:]
    warnings.filterwarnings("ignore")
    read = lambda path: np.genfromtxt(path, delimiter=",", skip_header=1, ndmin=2)
    table, rows = read(learn), read(masked)
    with open(masked, encoding="utf-8") as lines:
        header = lines.readline().strip()
    started = time.process_time()
    # a common scale changes nothing for the regressions, and is what neighbours need
    mean, scale = np.nanmean(table, axis=0), np.nanstd(table, axis=0)
    scale[scale == 0] = 1
    if method != "neighbours":
        mean, scale = np.zeros_like(mean), np.ones_like(scale)
    found = imputer(method).fit((table - mean) / scale).transform((rows - mean) / scale) * scale + mean
    spent = time.process_time() - started
    np.savetxt(filled, found, delimiter=",", header=header, comments="", fmt="%.17g")
    print(spent)


if __name__ == "__main__":
    main()
