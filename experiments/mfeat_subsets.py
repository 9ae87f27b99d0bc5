"""Each view of the six-view numerals from one, two and five others, beside ridge and PLS: docs/mfeat.md.

Run with `python -m experiments.mfeat_subsets`, and `--write` for the page. Needs GRAMIAN_DATA.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV

from gramian import MultiViewRKM
from gramian.exceptions import NumericalWarning
from gramian.kernels import RBF, Linear

PAGE = Path(__file__).resolve().parents[1] / "docs" / "mfeat.md"
VIEWS = ("fou", "fac", "kar", "pix", "zer", "mor")
N_TRAIN, N_TEST, N_SPLITS = 300, 300, 1
HELD = 3
"""Every third training row is held out to choose settings."""
CANDIDATES: tuple[tuple[float | None, int, str], ...] = (
    (None, 40, "per-view"),
    (1.5, 60, "ml"),
    (1.5, 150, "ml"),
    (3.0, 60, "ml"),
    (3.0, 150, "ml"),
)
"""Width of the Gaussian kernels over the median distance (None: linear views only), components, noise."""
PLS_SIZES = (2, 4, 7, 11, 16, 22)

Views = dict[str, np.ndarray]
Task = tuple[str, tuple[str, ...]]
Predictor = Callable[[Views, Task], np.ndarray]


def tasks() -> list[Task]:
    """Every view from each single other one, from two pairs of others, and from all five."""
    found: list[Task] = []
    for i, target in enumerate(VIEWS):
        others = tuple(VIEWS[(i + k) % len(VIEWS)] for k in range(1, len(VIEWS)))
        found += [(target, (other,)) for other in others]
        found += [(target, others[:2]), (target, others[2:4]), (target, others)]
    return found


def split(seed: int) -> tuple[Views, Views]:
    """Training and test rows, columns standardised by the training rows."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "mfeat.npz", allow_pickle=False) as data:
        views = {name: data[name].astype(float) for name in VIEWS}
    order = np.random.default_rng(seed).permutation(len(views["mor"]))
    train, test = order[:N_TRAIN], order[N_TRAIN : N_TRAIN + N_TEST]
    first, second = {}, {}
    for name, X in views.items():
        shift, scale = X[train].mean(axis=0), X[train].std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        first[name], second[name] = (X[train] - shift) / scale, (X[test] - shift) / scale
    return first, second


def halves(train: Views) -> tuple[Views, Views]:
    """Rows to fit and rows to choose settings by."""
    held = np.arange(N_TRAIN) % HELD == 0
    return {name: X[~held] for name, X in train.items()}, {name: X[held] for name, X in train.items()}


def error(predicted: np.ndarray, truth: np.ndarray) -> float:
    """Mean squared error over the variance."""
    return float(np.square(predicted - truth).sum() / np.square(truth).sum())


def joined(views: Views, names: tuple[str, ...]) -> np.ndarray:
    return np.hstack([views[name] for name in names])


# ---------------------------------------------------------------- methods: training rows in, a predictor of any task out


def shown(views: Views, names: tuple[str, ...], curved: bool) -> Views:
    """Each view linearly and, if asked, once more behind a Gaussian kernel (its name with a star)."""
    given = {name: views[name] for name in names}
    return given | ({f"{name}*": views[name] for name in names} if curved else {})


def machine(train: Views, width: float | None, q: int, noise: str) -> MultiViewRKM:
    kernels: dict[str, Any] = {name: Linear() for name in VIEWS}
    if width is not None:
        kernels |= {f"{name}*": RBF(width * float(np.median(pdist(train[name])))) for name in VIEWS}
    model = MultiViewRKM(q, kernel=kernels, noise_variance=noise, view_weights="balanced")
    return model.fit(shown(train, VIEWS, width is not None))


def multiview(train: Views) -> Predictor:
    """A few machines, each fitted once for all tasks; held-out rows say which one answers a task."""
    kept, held = halves(train)
    trials = [machine(kept, *candidate) for candidate in CANDIDATES]
    models = [machine(train, *candidate) for candidate in CANDIDATES]

    def predict(test: Views, task: Task) -> np.ndarray:
        target, given = task
        errors = [
            error(model.predict_view(shown(held, given, width is not None), target), held[target])
            for model, (width, _, _) in zip(trials, CANDIDATES)
        ]
        best = int(np.argmin(errors))
        return np.asarray(models[best].predict_view(shown(test, given, CANDIDATES[best][0] is not None), target))

    return predict


def ridge(train: Views) -> Predictor:
    """Ridge regression fitted anew for each task, its penalty by leave-one-out."""
    penalties = np.geomspace(1.0, 1e5, 11)
    return lambda test, task: np.asarray(
        RidgeCV(penalties).fit(joined(train, task[1]), train[task[0]]).predict(joined(test, task[1]))
    )


def partial_least_squares(train: Views) -> Predictor:
    """PLS fitted anew for each task, its number of components on held-out rows."""
    kept, held = halves(train)

    def predict(test: Views, task: Task) -> np.ndarray:
        target, given = task
        X, Y = joined(kept, given), kept[target]
        sizes = [size for size in PLS_SIZES if size <= X.shape[1]]
        trial = PLSRegression(sizes[-1]).fit(X, Y)
        scores, unit = trial.transform(joined(held, given)), Y.std(axis=0, ddof=1)
        errors = []
        for size in sizes:  # the first components of a larger model are the smaller model
            guess = scores[:, :size] @ trial.y_loadings_[:, :size].T * np.where(unit > 0, unit, 1.0)
            errors.append(error(guess + Y.mean(axis=0), held[target]))
        model = PLSRegression(sizes[int(np.argmin(errors))]).fit(joined(train, given), train[target])
        return np.asarray(model.predict(joined(test, given)))

    return predict


METHODS: dict[str, Callable[[Views], Predictor]] = {
    "MultiViewRKM": multiview,
    "ridge": ridge,
    "PLS": partial_least_squares,
}
Errors = dict[str, dict[Task, list[float]]]


# ---------------------------------------------------------------- tables


def measured(n_splits: int) -> tuple[Errors, dict[str, float]]:
    errors: Errors = {method: {task: [] for task in tasks()} for method in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for seed in range(n_splits):
        train, test = split(seed)
        for method, fit in METHODS.items():
            begin = time.process_time()
            predict = fit(train)
            for task in tasks():
                errors[method][task].append(error(predict(test, task), test[task[0]]))
            seconds[method] += time.process_time() - begin
            means = [np.mean([errors[method][t][-1] for t in tasks() if len(t[1]) == k]) for k in (1, 2, 5)]
            print(
                f"split {seed} {method:14s} from one, two, five:",
                np.round(means, 3),
                f"{seconds[method]:.0f} s",
                flush=True,
            )
    return errors, seconds


def table(title: str, n_given: int, errors: Errors) -> list[str]:
    lines = [f"## {title}", "", "| missing view | " + " | ".join(METHODS) + " |", "|---" * (len(METHODS) + 1) + "|"]
    overall = []
    for target in VIEWS:
        chosen = [task for task in tasks() if task[0] == target and len(task[1]) == n_given]
        cells = [float(np.mean([errors[method][task] for task in chosen])) for method in METHODS]
        overall.append(cells)
        best = min(cells)
        lines.append(f"| {target} | " + " | ".join(f"**{c:.3f}**" if c == best else f"{c:.3f}" for c in cells) + " |")
    lines.append("| *mean* | " + " | ".join(f"*{c:.3f}*" for c in np.mean(overall, axis=0)) + " |")
    return [*lines, ""]


def page(errors: Errors, seconds: dict[str, float], n_splits: int) -> list[str]:
    return [
        "# A missing view, measured",
        "",
        "Written by `python -m experiments.mfeat_subsets --write`.",
        "",
        "Six views of 2000 handwritten numerals (UCI Multiple Features): Fourier coefficients, profile correlations, Karhunen-Loève",
        f"coefficients, pixel averages, Zernike moments, morphology. {N_TRAIN} rows train and {N_TEST} test; splits: {n_splits}. Every view is",
        "predicted from each single other view, from two pairs of others, and from all five. Errors are mean squared errors over the",
        "variance of the missing view's standardised columns: 1 is as good as the mean, smaller is better.",
        "",
        f"`MultiViewRKM` is {len(CANDIDATES)} models (linear views; linear views and the same behind Gaussian kernels), fitted once for all",
        "tasks, of which held-out training rows choose one a task. The others are fitted anew for every missing view and set of given",
        "ones: ridge regression with its penalty by leave-one-out, PLS with its number of components on the same held-out rows.",
        "",
        *table("From all five others", 5, errors),
        *table("From two others, mean over two pairs", 2, errors),
        *table("From one other, mean over the five", 1, errors),
        "CPU seconds, choosing included: " + ", ".join(f"{method} {s:.0f}" for method, s in seconds.items()) + ".",
        "",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--splits", type=int, default=N_SPLITS)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    if "GRAMIAN_DATA" not in os.environ:
        print("Set GRAMIAN_DATA to the folder that holds mfeat.npz.", file=sys.stderr)
        return 2
    with warnings.catch_warnings():
        # a noise that collapses is bounded, and held-out rows judge the model anyway
        warnings.simplefilter("ignore", NumericalWarning)
        errors, seconds = measured(given.splits)
    text = page(errors, seconds, given.splits)
    print("\n".join(text))
    if given.write:
        PAGE.write_text("\n".join(text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
