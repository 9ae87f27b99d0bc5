"""ZH table 1: errors of the limiting rule on the IDA benchmark, with parameters chosen as the paper says, jointly, and with a finite noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

from gramian import KernelPPCAClassifier
from gramian._arrays import Array
from gramian.classes.path import class_paths
from gramian.datasets import load_ida
from gramian.datasets.loaders import IDA_NAMES, data_file
from gramian.kernels import RBF
from gramian.papers._claim import IN_SHAPE, UNEXPECTED, Claim, Grid, Result, mean_and_spread
from gramian.plotting._canvas import BLUE, GREY, PALETTE, RED, legend, panels, plain

PRINTED = {
    "banana": (10.5, 0.4),
    "breast-cancer": (28.0, 4.7),
    "diabetis": (24.8, 1.9),
    "flare-solar": (34.8, 1.9),
    "german": (24.9, 2.2),
    "heart": (16.8, 3.4),
    "image": (2.8, 0.6),
    "ringnorm": (1.6, 0.1),
    "splice": (12.2, 0.8),
    "thyroid": (4.0, 2.0),
    "titanic": (22.6, 1.3),
    "twonorm": (2.6, 0.2),
    "waveform": (11.4, 0.5),
}
"""Set -> error in per cent and its deviation over the splits, as printed for the paper's classifier."""
QUICK = ("breast-cancer", "heart", "thyroid", "titanic", "twonorm")
WIDTHS = tuple(float(2 ** (k / 2 - 2)) for k in range(12))
"""Times the median distance between training rows: 0.25 to 11.3."""
COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 45, 70, 100, 140, 200)
NOISES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
CHOOSING = 5  # splits that parameters are chosen on, as in the paper
FIRST = 40  # the splits before were looked at while the classifier was developed
RULES = ("medians, as printed", "joint choice", "joint choice, finite noise")


@dataclass(frozen=True)
class Setting:
    """Width, number of components, noise (None: the limiting rule)."""

    width: float
    count: int
    noise: float | None = None

    def error(self, X: Array, y: Array, train: Array, test: Array) -> float:
        """Per cent of the test rows that the library's classifier gets wrong."""
        model = KernelPPCAClassifier(
            self.count, kernel=RBF(self.width), noise_variance=self.noise, standardize=False, approximation=None
        )
        return 100.0 * float(np.mean(model.fit(X[train], y[train]).predict(X[test]) != y[test]))

    def __str__(self) -> str:
        return f"{self.width:.3g}, {self.count}" + (f", {self.noise:g}" if self.noise is not None else "")


def accuracies(X: Array, y: Array, trains: Array, widths: list[float]) -> Array:
    """Cross-validated accuracy, (splits, widths, counts, 1 + noises): one decomposition per class, fold and width gives all rules."""
    rules = [(count, noise) for count in COUNTS for noise in (None, *NOISES)]
    found = np.zeros((len(trains), len(widths), len(rules)))
    for s, rows in enumerate(trains):
        labels, ones = y[rows], np.ones(len(rows))
        folds = list(StratifiedKFold(5, shuffle=True, random_state=s).split(rows, labels))
        for w, width in enumerate(widths):
            gram = RBF(width)(X[rows])
            for train, test in folds:
                one, other = (path.evidences(rules) for path in class_paths(gram, labels, ones, train, test, None))
                found[s, w] += ((other > one) == labels[test]).mean(axis=1) / len(folds)
    return found.reshape(len(trains), len(widths), len(COUNTS), -1)


def choices(found: Array, widths: list[float]) -> tuple[Setting, Setting, Setting]:
    """One setting per rule of `RULES`."""
    limit = found[..., 0]
    best = np.array([np.unravel_index(split.argmax(), split.shape) for split in limit])
    medians = Setting(float(np.median(np.take(widths, best[:, 0]))), int(np.median(np.take(COUNTS, best[:, 1]))))
    w, q = np.unravel_index(limit.mean(axis=0).argmax(), limit.shape[1:])
    joint = Setting(widths[w], COUNTS[q])
    w, q, v = np.unravel_index(found[..., 1:].mean(axis=0).argmax(), (*limit.shape[1:], len(NOISES)))
    return medians, joint, Setting(widths[w], COUNTS[q], NOISES[v])


def run_set(name: str, n_splits: int) -> tuple[tuple[Setting, Setting, Setting], Array]:
    """The chosen settings, and the errors of every rule on splits that took no part, (rules, splits)."""
    data = load_ida(name)
    X, y = data.data, (data.target > 0).astype(int)
    trains, tests = data.regen_train, data.regen_test
    median = float(RBF("median").resolve(X[trains[0]]).length_scale)
    widths = [median * factor for factor in WIDTHS]
    settings = choices(accuracies(X, y, trains[:CHOOSING], widths), widths)
    first = FIRST if len(trains) > FIRST else CHOOSING
    splits = range(first, min(first + n_splits, len(trains)))
    return settings, np.array([[setting.error(X, y, trains[s], tests[s]) for s in splits] for setting in settings])


def table_1(full: bool, rng: np.random.Generator) -> Result:
    """Errors over splits, by rule; the original splits are not to be had, so regenerated ones of the same sizes are used."""
    names = [name for name in (IDA_NAMES if full else QUICK) if _there(name)]
    found = {name: run_set(name, 60 if full else 10) for name in names}
    means = {name: errors.mean(axis=1) for name, (_, errors) in found.items()}
    rows = [
        (name, "{} ± {}".format(*PRINTED[name]), *(mean_and_spread(line, 1) for line in errors), *map(str, settings))
        for name, (settings, errors) in found.items()
    ]
    better = sum(bool(mean[1] <= mean[0]) for mean in means.values())
    near = {rule: sum(_near(name, mean[r]) for name, mean in means.items()) for r, rule in enumerate(RULES)}
    average = np.mean(list(means.values()), axis=0)
    printed = float(np.mean([PRINTED[name][0] for name in names]))

    def draw() -> Any:
        ax = panels(None, (1, 1), (8.0, 0.36 * len(names) + 1.3))[0, 0]
        places = np.arange(len(names))
        ax.errorbar(
            [PRINTED[name][0] for name in names],
            places,
            xerr=[PRINTED[name][1] for name in names],
            fmt="o",
            color=GREY,
            ms=5,
            label="printed",
        )
        for r, (rule, colour) in enumerate(zip(RULES, (RED, BLUE, PALETTE[2]))):
            line = [found[name][1][r] for name in names]
            ax.errorbar(
                [e.mean() for e in line],
                places + 0.18 * (r + 1),
                xerr=[e.std() for e in line],
                fmt="o",
                color=colour,
                ms=4,
                lw=0.9,
                label=rule,
            )
        plain(ax).set(
            yticks=places + 0.27, yticklabels=names, xlabel="test error, per cent (mean, deviation over splits)"
        )
        ax.invert_yaxis()
        legend(ax)
        return ax

    return Result(
        f"mean error {average[0]:.1f} % with medians, {average[1]:.1f} % with the joint choice, {average[2]:.1f} % with a finite noise; printed {printed:.1f} %",
        IN_SHAPE if near[RULES[1]] >= 0.6 * len(names) and average[1] <= average[0] + 0.3 else UNEXPECTED,
        "The paper takes the best width and number of components of each of five splits, and the medians of both. Medians of pairs need not be a "
        "good pair: choosing both together, by the mean accuracy over the same folds, is no worse on "
        f"{better} of {len(names)} sets. At most one printed deviation above the printed error: "
        f"{', '.join(f'{rule} {count}' for rule, count in near.items())}, of {len(names)}. Errors are of splits that took no part in any choice"
        " (image and splice have 20 splits in all, which were looked at in development).",
        f"deviations over {'up to 60' if full else '10'} splits; widths 0.25 to 11.3 times the median distance, up to {COUNTS[-1]} components",
        {
            "medians": float(average[0]),
            "joint": float(average[1]),
            "finite noise": float(average[2]),
            "joint is no worse": float(better),
            "sets": float(len(names)),
        },
        Grid(
            ["set", "printed", *RULES, *(f"width, q{', noise' * (r == 2)}: {rule}" for r, rule in enumerate(RULES))],
            rows,
        ),
        draw,
    )


def _near(name: str, error: float) -> bool:
    """Whether an error is at most one printed deviation above the printed error."""
    printed, spread = PRINTED[name]
    return bool(error <= printed + spread)


def _there(name: str) -> bool:
    try:
        data_file(f"ida_{name}.npz")
    except FileNotFoundError:
        return False
    return True


CLAIMS = [
    Claim(
        "zh-table-1",
        "ZH",
        "classification errors on the IDA benchmark",
        "errors of 1.6 to 34.8 % on 13 sets, parameters by medians over five splits",
        table_1,
        IN_SHAPE,
        tuple(f"ida_{name}.npz" for name in QUICK),
    )
]
