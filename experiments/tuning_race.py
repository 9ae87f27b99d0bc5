"""BayesSearch against random search and grid search at equal numbers of trials.

Six problems of gramian's own estimators, ten seeds each. A seed fixes the rows, the folds and the searches; all three methods
then maximise the very same function, with no fast path for any of them. Random search draws uniformly from the same space;
grid search spends its whole budget on one grid of (at most) 15 or 30 points, the middle of equal cells. Needs GRAMIAN_DATA.

    python experiments/tuning_race.py [--seeds 10] [--only laser] [--json FILE] [--figure docs/pictures/tuning_race.svg]
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from gramian import PPCA, KernelPPCA, KernelPPCAClassifier, RKMForecaster
from gramian.preimage import KernelSmoother
from gramian.tuning.backends import GPBackend
from gramian.tuning.defaults import usual_distance
from gramian.tuning.evaluation import Evaluation
from gramian.tuning.objectives import OBJECTIVES
from gramian.tuning.space import Category, Integer, Space, build_space
from gramian.tuning.trials import Trial

BUDGETS = (15, 30)


@dataclass(frozen=True)
class Problem:
    """A space and the function to maximise over it."""

    space: Space
    score: Callable[[dict], float]


def data(name: str) -> dict[str, np.ndarray]:
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / f"{name}.npz") as file:
        return {key: file[key] for key in file.files}


def problem(model, space, objective, X, y, folds, seed) -> Problem:
    evaluation = Evaluation(model, OBJECTIVES[objective], X, y, folds, {}, seed)

    def score(params: dict) -> float:
        outcome = evaluation(params)
        return float(np.mean(outcome.scores)) if outcome.scores and np.isfinite(outcome.scores).all() else float("nan")

    return Problem(build_space(space, model), score)


def mnist(seed: int) -> Problem:
    """Held-out images reconstructed through the kernel: width, q and the number of neighbours of the pre-image."""
    rng = np.random.default_rng(seed)
    table = data("mnist")["x_train"]
    X = table[rng.choice(len(table), 120, replace=False)] / 255.0
    middle = usual_distance(X)
    space = {
        "kernel__length_scale": ("log", middle / 20, middle * 20),
        "n_components": {"range": ("log", 1, 75), "integer": True},
        "preimage__n_neighbors": {"range": ("log", 1, 50), "integer": True},
    }
    folds = list(KFold(3, shuffle=True, random_state=seed).split(X))
    return problem(KernelPPCA(preimage=KernelSmoother()), space, "reconstruction", X, None, folds, seed)


def ida(name: str) -> Callable[[int], Problem]:
    """Classification on a training split of an IDA set: width, q and the noise of the class models.

    Sets of 400 training rows: on the smallest ones accuracy comes in steps so coarse that most searches tie.
    """

    def build(seed: int) -> Problem:
        table = data(f"ida_{name}")
        rows = table["regen_train"][seed]
        X, y = StandardScaler().fit_transform(table["x"][rows]), table["t"][rows]
        middle = usual_distance(X)
        space = {
            "kernel__length_scale": ("log", middle / 20, middle * 20),
            "n_components": {"range": ("log", 1, 40), "integer": True},
            "noise_variance": ("log", 1e-5, 1e-1),
        }
        folds = list(StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y))
        return problem(KernelPPCAClassifier(), space, "accuracy", X, y, folds, seed)

    return build


def laser(seed: int) -> Problem:
    """Forecasts of 20 steps from three rolling origins in 300 values of the laser series: lags, width and q (AC: no noise)."""
    series = data("santafe_laser")["a_cont"].astype(float)
    start = int(np.random.default_rng(seed).integers(len(series) - 300))
    y = series[start : start + 300]
    space = {
        "lags": {"range": ("log", 2, 40), "integer": True},
        "kernel__length_scale": ("log", 0.3, 30.0),
        "n_components": {"range": ("log", 1, 100), "integer": True},
    }
    folds = [(np.arange(o), np.arange(o, o + 20)) for o in range(240, 300, 20)]
    return problem(
        RKMForecaster(10, kernel="rbf", noise_variance=0.0, season=None, difference=0, transform=None),
        space,
        "forecast",
        y,
        None,
        folds,
        seed,
    )


def imputation(seed: int) -> Problem:
    """Hidden cells in 20 columns of metabolites, 5 % missing: q and the noise."""
    table = data("metabolite")
    X = np.random.default_rng(seed).permutation(table["incomplete"], axis=1)[:, :20]
    X = (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    space = {"n_components": {"range": ("log", 1, 18), "integer": True}, "noise_variance": ("log", 1e-3, 10.0)}
    folds = list(KFold(3, shuffle=True, random_state=seed).split(X))
    return problem(PPCA(tol=1e-4, max_iter=60), space, "reconstruction", X, None, folds, seed)


PROBLEMS = {
    "MNIST reconstruction": mnist,
    "banana": ida("banana"),
    "ringnorm": ida("ringnorm"),
    "waveform": ida("waveform"),
    "laser forecast": laser,
    "metabolite imputation": imputation,
}


def bayes(task: Problem, seed: int, n_trials: int) -> list[float]:
    trials: list[Trial] = []
    while len(trials) < n_trials:
        points = GPBackend().propose(task.space, trials, 1, seed, n_trials)
        if not points:
            break
        params = task.space.decode(points[0])
        score = task.score(params)
        trials.append(Trial(len(trials), tuple(points[0]), params, score, 0.0, "complete", 0.0, {}))
    return [trial.score for trial in trials]


def random(task: Problem, seed: int, n_trials: int) -> list[float]:
    draws = np.random.default_rng([seed, 99]).random((n_trials, task.space.width))
    return [task.score(task.space.decode(row)) for row in task.space.snap(draws)]


def grid(task: Problem, seed: int, n_trials: int) -> list[float]:
    """The largest grid of at most ``n_trials`` points with nearly equally many levels a dimension, in random order."""
    dimensions = list(task.space.dimensions.values())
    most = [
        d.width if isinstance(d, Category) else d.high - d.low + 1 if isinstance(d, Integer) else np.inf
        for d in dimensions
    ]
    levels = [1] * len(dimensions)
    while True:
        growable = [
            i
            for i in range(len(levels))
            if levels[i] < most[i] and np.prod(levels) // levels[i] * (levels[i] + 1) <= n_trials
        ]
        if not growable:
            break
        levels[min(growable, key=lambda i: levels[i])] += 1
    cells = [
        [np.eye(d.width)[i] for i in range(k)]
        if isinstance(d, Category)
        else [np.array([(i + 0.5) / k]) for i in range(k)]
        for d, k in zip(dimensions, levels)
    ]
    points = [np.concatenate(row) for row in product(*cells)]
    order = np.random.default_rng([seed, 98]).permutation(len(points))
    return [task.score(task.space.decode(points[i])) for i in order]


def best_so_far(scores: list[float], length: int) -> list[float]:
    """The best score after each trial; the last one is held where a finite space ended sooner."""
    values = np.maximum.accumulate(np.where(np.isfinite(scores), scores, -np.inf))
    return [float(v) for v in np.concatenate([values, np.full(length - len(values), values[-1])])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--only")
    parser.add_argument("--json", type=Path, help="results are kept here, and problems found in it are not run again")
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name, build in PROBLEMS.items():
        if name in results or (options.only and options.only not in name):
            continue
        started = time.process_time()
        runs = {"BayesSearch": [], "random": [], "grid": [], "grid at 15": []}
        for seed in range(options.seeds):
            task = build(seed)
            longest = BUDGETS[-1]
            runs["BayesSearch"].append(best_so_far(bayes(task, seed, longest), longest))
            runs["random"].append(best_so_far(random(task, seed, longest), longest))
            runs["grid"].append(best_so_far(grid(task, seed, longest), longest))
            runs["grid at 15"].append(max(grid(task, seed, BUDGETS[0]), key=lambda s: -np.inf if np.isnan(s) else s))
        results[name] = {**runs, "cpu_seconds": time.process_time() - started}
        print(name, f"{results[name]['cpu_seconds']:.0f} s of CPU", flush=True)
        if options.json:
            options.json.write_text(json.dumps(results))
    report(results)
    if options.figure:
        draw(results, options.figure)


def loss(scores: list) -> np.ndarray:
    """Minus the score; of accuracies, the error rate."""
    values = np.array(scores)
    return 1.0 - values if values.max() > 0 else -values


def report(results: dict) -> None:
    print("| problem (loss, median of seeds) | trials | BayesSearch | random | grid | seeds won against random, tied |")
    print("|---|---|---|---|---|---|")
    for name, runs in results.items():
        ours, theirs = loss(runs["BayesSearch"]), loss(runs["random"])
        for budget in BUDGETS:
            other = loss(runs["grid at 15"]) if budget == BUDGETS[0] else loss(runs["grid"])[:, -1]
            a, b = ours[:, budget - 1], theirs[:, budget - 1]
            won, tied = int((a < b).sum()), int((a == b).sum())
            print(
                f"| {name} | {budget} | {np.median(a):.4g} | {np.median(b):.4g} | {np.median(other):.4g} | {won}, {tied} of {len(a)} |"
            )


def draw(results: dict, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots(2, -(-len(results) // 2)).ravel()
    for ax, (name, runs) in zip(axes, results.items()):
        for method, colour in (("BayesSearch", "C0"), ("random", "0.5"), ("grid", "C1")):
            losses = loss(runs[method])
            steps = np.arange(1, losses.shape[1] + 1)
            low, middle, high = np.quantile(losses, [0.25, 0.5, 0.75], axis=0)
            ax.plot(steps, middle, color=colour, label=method)
            if method != "grid":
                ax.fill_between(steps, low, high, color=colour, alpha=0.15, lw=0)
        last = np.concatenate([loss(runs[m])[:, 5:].ravel() for m in ("BayesSearch", "random")])
        ax.set_ylim(last.min() - 0.05 * np.ptp(last), np.quantile(last, 0.97))
        if last.min() > 0 and np.quantile(last, 0.97) > 30 * last.min():
            ax.set_ylim(last.min() / 1.2, np.quantile(last, 0.97))
            ax.set_yscale("log")
        ax.set_title(name, fontsize=9)
        ax.set_xlabel("trials", fontsize=8)
        ax.tick_params(labelsize=7)
    axes[0].set_ylabel("best loss so far", fontsize=8)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    main()
