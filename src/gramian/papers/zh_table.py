"""ZH table 1: errors of the limiting rule on the IDA benchmark, with parameters chosen as the paper says, jointly, and with a finite noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
from gramian.papers._stand_ins import Split, breiman
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
OTHERS = {
    "banana": (11.5, 10.8),
    "breast-cancer": (26.0, 25.8),
    "diabetis": (23.5, 23.2),
    "flare-solar": (32.4, 33.2),
    "german": (23.6, 23.7),
    "heart": (16.0, 16.1),
    "image": (3.0, 3.3),
    "ringnorm": (1.7, 1.5),
    "splice": (10.9, 10.5),
    "thyroid": (4.8, 4.2),
    "titanic": (22.4, 23.2),
    "twonorm": (3.0, 2.6),
    "waveform": (9.9, 9.9),
}
"""Set -> error of the SVM and of KFD in per cent, which the paper prints from another one."""
MADE = ("twonorm", "ringnorm")
"""Sets that anyone can make: where the files are missing."""
QUICK = ("breast-cancer", "heart", "thyroid", "titanic", "twonorm")
WIDTHS = tuple(float(2 ** (k / 2 - 2)) for k in range(12))
"""Times the median distance between training rows: 0.25 to 11.3."""
COUNTS = (0, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 45, 70, 100, 140, 200)
NOISES = (1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
CHOOSING = 5  # splits that parameters are chosen on
FIRST = 40  # the splits before were looked at while the classifier was developed
RULES = ("medians over five splits", "joint choice", "joint choice, finite noise")


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


def ida_split(name: str) -> Split:
    """A set of the IDA benchmark with regenerated splits; the first ones were looked at in development, and do not count."""
    data = load_ida(name)
    trains, tests = data.regen_train, data.regen_test
    first = FIRST if len(trains) > FIRST else CHOOSING
    order = [*range(CHOOSING), *range(first, len(trains))]
    return Split(data.data, (data.target > 0).astype(int), trains[order], tests[order])


def run_set(split: Split, n_splits: int) -> tuple[tuple[Setting, Setting, Setting], Array]:
    """The chosen settings, and the errors of every rule on splits that took no part, (rules, splits)."""
    X, y, trains, tests = split.X, split.y, split.trains, split.tests
    median = float(RBF("median").resolve(X[trains[0]]).length_scale)
    widths = [median * factor for factor in WIDTHS]
    settings = choices(accuracies(X, y, trains[:CHOOSING], widths), widths)
    splits = range(CHOOSING, min(CHOOSING + n_splits, len(trains)))
    return settings, np.array([[setting.error(X, y, trains[s], tests[s]) for s in splits] for setting in settings])


def tops(errors: Mapping[str, float]) -> tuple[int, int]:
    """On how many sets these errors are below those printed of SVM and KFD, and on how many more they equal the better of the two."""
    best = {name: min(OTHERS[name]) for name in errors}
    below = sum(round(error, 1) < best[name] for name, error in errors.items())
    return below, sum(round(error, 1) == best[name] for name, error in errors.items())


def table_1(full: bool, rng: np.random.Generator) -> Result:
    """Errors over splits, by rule; the original splits are not to be had, so regenerated ones of the same sizes are used."""
    names = [name for name in (IDA_NAMES if full else QUICK) if _there(name)]
    return _table({name: ida_split(name) for name in names}, 60 if full else 10)


def table_1_made(full: bool, rng: np.random.Generator) -> Result:
    """The same on the two sets that are made by a formula."""
    count = 30 if full else 5
    found = _table({name: breiman(name, CHOOSING + count) for name in MADE}, count)
    return replace(found, stand_in="twonorm and ringnorm, made by Breiman's formulas, for the files ida_*.npz")


def _table(splits: Mapping[str, Split], n_splits: int) -> Result:
    names = list(splits)
    found = {name: run_set(split, n_splits) for name, split in splits.items()}
    means = {name: errors.mean(axis=1) for name, (_, errors) in found.items()}
    rows = [
        (
            name,
            "{} ± {}".format(*PRINTED[name]),
            *OTHERS[name],
            *(mean_and_spread(line, 1) for line in errors),
            *map(str, settings),
        )
        for name, (settings, errors) in found.items()
    ]
    better = sum(bool(mean[1] <= mean[0]) for mean in means.values())
    near = {rule: sum(_near(name, mean[r]) for name, mean in means.items()) for r, rule in enumerate(RULES)}
    average = np.mean(list(means.values()), axis=0)
    printed = float(np.mean([PRINTED[name][0] for name in names]))
    printed_tops = tops({name: error for name, (error, _) in PRINTED.items()})
    our_tops = tops({name: float(mean[2]) for name, mean in means.items()})

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
        f"mean error {average[0]:.1f} % with medians, {average[1]:.1f} % with the joint choice, {average[2]:.1f} % with a finite noise; printed {printed:.1f} %; "
        f"at most one printed deviation above print: {near[RULES[1]]} and {near[RULES[2]]} of {len(names)} sets by the last two",
        IN_SHAPE if near[RULES[1]] >= 0.6 * len(names) and average[1] <= average[0] + 0.3 else UNEXPECTED,
        "The paper chooses width and number of components by cross-validation as Mika et al. did, who took the best of each of five splits and the medians of both. Medians of pairs need not be "
        "a good pair: choosing both together, by the mean accuracy over the same folds, is no worse on "
        f"{better} of {len(names)} sets. At most one printed deviation above the printed error: "
        f"{', '.join(f'{rule} {count}' for rule, count in near.items())}, of {len(names)}. The paper says that its classifier tops four of thirteen sets: by its own table it is the best on "
        f"{printed_tops[0]}, and level with KFD on {printed_tops[1]} (twonorm). Ours with a finite noise is below both columns on {our_tops[0]} of these {len(names)}, level on {our_tops[1]}. "
        "Errors are of splits that took no part in any choice (image and splice have 20 splits in all, which were looked at in development).",
        f"deviations over up to {n_splits} splits; widths 0.25 to 11.3 times the median distance, up to {COUNTS[-1]} components",
        {
            "medians": float(average[0]),
            "joint": float(average[1]),
            "finite noise": float(average[2]),
            "joint is no worse": float(better),
            "near by the joint choice": float(near[RULES[1]]),
            "near with a finite noise": float(near[RULES[2]]),
            "sets": float(len(names)),
            "tops, as printed": float(printed_tops[0]),
        },
        Grid(
            [
                "set", "printed", "SVM, printed", "KFD, printed", *RULES,
                *(f"width, q{', noise' * (r == 2)}: {rule}" for r, rule in enumerate(RULES)),
            ],
            rows,
        ),
        draw,
    )  # fmt: skip


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
        "errors of 1.6 to 34.8 % on 13 sets; tops SVM and KFD on four",
        table_1,
        IN_SHAPE,
        tuple(f"ida_{name}.npz" for name in QUICK),
        table_1_made,
    )
]
