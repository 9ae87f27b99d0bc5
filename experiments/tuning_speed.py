"""How much the fast paths save: a table of widths and q, scored by refitting every cell and by sharing.

Refitting fits every width, q and fold on its own; sharing fits once a width and fold, and cuts.
Both give the same scores. Process time on one thread, the two interleaved width by width, so that a busy machine hurts both.

    python experiments/tuning_speed.py [--rows 300]
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import StratifiedKFold

from gramian import BayesSearch, KernelPPCA
from gramian.tuning.defaults import usual_distance
from gramian.tuning.evaluation import Evaluation

WIDTHS = np.geomspace(0.25, 4.0, 6)
COUNTS = [1, 2, 3, 5, 7, 10, 14, 20, 28, 40]


def race(scoring: str, X) -> None:
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, load_digits().target[: len(X)]))
    middle = usual_distance(X)
    space = {"kernel__length_scale": ("log", middle / 10, middle * 10), "n_components": COUNTS}
    model = KernelPPCA(preimage="smoother")  # "auto" would be chosen anew by every fit
    search = BayesSearch(model, space, scoring=scoring, cv=folds)
    shared = search._plan(X, None, {}).fast
    alone = Evaluation(model, shared.objective, X, None, folds, {}, None)
    seconds, gap = np.zeros(2), 0.0
    for factor in WIDTHS:
        params = {"kernel__length_scale": float(factor * middle)}
        started = time.process_time()
        outcome = shared(params)
        seconds[0] += time.process_time() - started
        started = time.process_time()
        scores = {q: np.mean(alone({**params, "n_components": q}).scores) for q in COUNTS}
        seconds[1] += time.process_time() - started
        gap = max(gap, abs(max(scores.values()) - np.mean(outcome.scores)))
    cells = len(WIDTHS) * len(COUNTS)
    print(
        f"| KernelPPCA, {scoring} | {len(X)} | {cells} settings x {len(folds)} folds | {seconds[1]:.1f} s | {seconds[0]:.2f} s "
        f"| {seconds[1] / seconds[0]:.1f} | {gap:.1e} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="*", default=[300, 900])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    X = load_digits().data / 16.0
    print("| trials of | rows | table | refitting | sharing | ratio | largest difference of best scores |")
    print("|---|---|---|---|---|---|---|")
    for n in options.rows:
        race("reconstruction", X[:n])
        race("kernel_error", X[:n])


if __name__ == "__main__":
    main()
