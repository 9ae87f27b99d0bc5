"""How far the outcome of a decision moves when a tuned number of the policy is halved or doubled: ``python -m experiments.sensitivity [RECORD.FIELD ...] [--write]``.

Outcomes are measured on the tables, sets and series to decide on; several numbers in one field are changed together. A number that moves
nothing does not belong in the policy. With ``--write`` the rows measured go to their page, and the others stay as they stand there.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score, log_loss, roc_auc_score

from experiments._page import write_block
from experiments._tables import tables
from experiments.clusters import SHAPES
from experiments.coverage_of_pooled import BETA, _line, covers, least_squares, table_of
from experiments.forecast_competition import competition
from experiments.forecast_series import all_series
from experiments.generation import SETS, pair
from experiments.regression_table import SYNTHETIC, class_tables, real_tables, split
from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    RKMClassifier,
    RKMForecaster,
    RKMRegressor,
    fill,
)
from gramian import policy as numbers
from gramian.datasets import make_missing
from gramian.series.smoothing import Smoothing
from gramian.single.preimage_choice import energy_distance

PAGE = Path(__file__).parents[1] / "docs" / "choosing.md"
TABLES, GROSS = 40, 0.02


def likelihood_of_usual_rows() -> float:
    """Mean over tables of the log-likelihood per column of new usual rows, where 2 % of the rows fitted are gross."""
    found = []
    for table in islice((t for t in tables("decide", max_rows=400) if not t.holes), TABLES):
        rng = np.random.default_rng(0)
        X = (table.X - table.X.mean(axis=0)) / table.X.std(axis=0)
        X = X[rng.permutation(len(X))]
        half = len(X) // 2
        fit = X[:half].copy()
        gross = rng.random(half) < GROSS
        fit[gross] += 50.0 * rng.standard_normal((int(gross.sum()), X.shape[1]))
        model = PPCA().fit(fit)
        if model.noise_variance_ > 0:
            found.append(float(np.median(model.score_samples(X[half:]))) / X.shape[1])
    return float(np.mean(found))


def odd_rows_found() -> float:
    """Mean AUC of the detector on the problems to decide on, fitted to all rows."""
    with np.load(Path(os.environ["GRAMIAN_DATA"]) / "anomalies_adbench.npz") as data:
        names = [key[:-2] for key in data if key.endswith("_x") and int(key.split("_")[0]) % 4 == 0]
        found = [
            roc_auc_score(data[f"{n}_y"], -LatentOutlierDetector().fit(data[f"{n}_x"]).score_samples(data[f"{n}_x"]))
            for n in names
        ]
    return float(np.mean(found))


def clusters_found() -> float:
    """Mean adjusted Rand index of `KernelPPCAMixture("auto")` over the shapes of `experiments.clusters`."""
    found = []
    for make in SHAPES.values():
        X, y = make(3)
        found.append(adjusted_rand_score(y, KernelPPCAMixture("auto").fit_predict(X)))
    return float(np.mean(found))


def forecast_error() -> float:
    """Mean MASE of the first 60 series of every frequency of the competition to decide on, smoothed."""
    found = []
    for row in competition("decide", 60):
        smoothing = Smoothing((row.season,) if row.season > 1 else ())
        forecast = smoothing.forecast(row.past[None], len(row.future))[0]
        found.append(float(np.mean(np.abs(forecast - row.future)) / row.scale))
    return float(np.mean(found))


def windowed_error(fewest: int = 50) -> float:
    """Mean logarithm of the MASE of series to decide on: of the competition with so many and more values, and cycles."""
    found = []
    for row in [row for row in competition("decide", 40) if len(row.past) >= fewest][::4]:
        model = RKMForecaster(horizon=len(row.future), random_state=0).fit(row.indexed)
        found.append(float(np.mean(np.abs(model.predict(len(row.future)) - row.future)) / row.scale))
    for series in [series for series in all_series() if series.decides and series.cyclic]:
        values, steps = series.values.to_numpy(float), series.horizon
        past, future = values[:-steps], values[-steps:]
        error = np.abs(RKMForecaster(horizon=steps, random_state=0).fit(past).predict(steps) - future)
        found.append(float(np.mean(error) / np.mean(np.abs(np.diff(past)))))
    return float(np.mean(np.log(found)))


def interval_score() -> float:
    """Mean logarithm of the scaled interval score at 95 % of series of the competition to decide on."""
    found = []
    for row in competition("decide", 12):
        model = RKMForecaster(horizon=len(row.future), random_state=0).fit(row.indexed)
        low, high = (np.asarray(end) for end in model.predict_interval(len(row.future), level=0.95))
        missed = np.maximum(low - row.future, 0.0) + np.maximum(row.future - high, 0.0)
        found.append(np.log(np.mean(high - low + 40.0 * missed) / row.scale))
    return float(np.mean(found))


def class_loss() -> float:
    """Mean log-loss of `KernelPPCAClassifier` on sets of two classes, 150 rows each."""
    found = []
    for _, data in islice(class_tables(), 1, 7):
        model = KernelPPCAClassifier(random_state=0).fit(data.X[:150], data.y[:150])
        found.append(log_loss(data.y_test, model.predict_proba(data.X_test), labels=model.classes_))
    return float(np.mean(found))


def class_loss_with_holes() -> float:
    """Mean log-loss of `RKMClassifier` on sets of two classes, 150 rows each, a fifth of the cells missing."""
    found = []
    for _, data in islice(class_tables(), 1, 5):
        fit, new = (make_missing(X, 0.2, random_state=0) for X in (data.X[:150], data.X_test[:300]))
        model = RKMClassifier(random_state=0).fit(fit, data.y[:150])
        found.append(log_loss(data.y_test[:300], model.predict_proba(new), labels=model.classes_))
    return float(np.mean(found))


def regression_error() -> float:
    """Mean logarithm of the error of `RKMRegressor` over the deviation of the target."""
    sets = [make() for make in SYNTHETIC["decide"].values()] + [(X, y) for _, X, y in real_tables("decide", 8)]
    found = []
    for X, y in sets:
        data = split(X[:600], y[:600])
        error = RKMRegressor(random_state=0).fit(data.X, data.y).predict(data.X_test) - data.y_test
        found.append(
            0.5 * np.log(max(np.mean(np.square(error)) / np.var(data.y_test), 1e-4))
        )  # exact relations count alike
    return float(np.mean(found))


def complete_tables(most: int) -> Iterator[np.ndarray]:
    """Complete tables, columns in units, 300 rows at most."""
    found = (t.X[:, :12] for t in tables("decide", max_rows=300) if not t.holes and (t.X.std(axis=0) > 0).all())
    for X in islice(found, most):
        yield (X - X.mean(axis=0)) / X.std(axis=0)


def root_error(found: np.ndarray, X: np.ndarray, holes: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(found - X)[holes])))


def error_beside_categories() -> float:
    """Mean log ratio of the error of filled numbers with a category beside them, one at random and one that tells, to that without."""
    import pandas as pd

    found = []
    for X in complete_tables(5):
        rng = np.random.default_rng(0)
        shown = make_missing(X, 0.2, random_state=0)
        holes = np.isnan(shown)
        frame = pd.DataFrame(shown, columns=[f"x{j}" for j in range(X.shape[1])])
        alone = root_error(fill(frame).to_numpy(), X, holes)
        told = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 9)[1:-1]))
        for codes in (rng.integers(0, 12, len(X)), told):
            filled = fill(frame.assign(group=[f"g{code}" for code in codes])).to_numpy()[:, : X.shape[1]]
            found.append(np.log(root_error(filled.astype(float), X, holes) / alone))
    return float(np.mean(found))


def with_one_value(most: int) -> Iterator[np.ndarray]:
    """Tables in which one value fills half of a column."""
    return islice((X for X in complete_tables(1000) if (np.median(X, axis=0) == X).mean(axis=0).max() >= 0.5), most)


def error_beside_wild_cells(chosen: Callable[[int], Iterator[np.ndarray]] = complete_tables, most: int = 5) -> float:
    """Mean log ratio of the error of filled cells, where 2 % of the rows hold a slipped decimal point or nothing is wrong, to that of the clean table without `robust`."""
    found = []
    for X in chosen(most):
        rng = np.random.default_rng(0)
        shown = make_missing(X, 0.2, random_state=0)
        holes = np.isnan(shown)
        clean = root_error(LatentImputer(robust=False).fit_transform(shown), X, holes)
        spoilt = shown.copy()
        spoilt[rng.random(len(X)) < 0.02] *= 10.0
        for table in (shown, spoilt):
            rows = (table == shown) | holes
            filled = LatentImputer().fit(table).transform(np.where(rows, shown, np.nan))
            found.append(np.log(root_error(filled, X, holes) / clean))
    return float(np.mean(found))


def kernel_fills() -> float:
    """Mean log ratio of the error of cells that `KernelPPCA` fills to that of the mean."""
    found = []
    for X in complete_tables(4):
        shown = make_missing(X, 0.2, random_state=0)
        holes = np.isnan(shown)
        mean = root_error(np.where(holes, np.nanmean(shown, axis=0), X), X, holes)
        found.append(np.log(root_error(KernelPPCA(random_state=0).fit(shown).impute(shown), X, holes) / mean))
    return float(np.mean(found))


def denoised() -> float:
    """Mean error of noisy rows that `KernelPPCA().reconstruct` cleans, over the noise that was added."""
    found = []
    for X in (load_digits().data[:400] / 16.0, SETS["decide"]["breast cancer"](np.random.default_rng(0))[:400]):
        model = KernelPPCA(random_state=0).fit(X[:300])
        for noise in (0.2, 0.6, 1.5):
            added = noise * X.std() * np.random.default_rng(1).standard_normal(X[300:].shape)
            left = model.reconstruct(X[300:] + added) - X[300:]
            found.append(np.sqrt(np.mean(np.square(left)) / np.mean(np.square(added))))
    return float(np.mean(found))


def distance_of_samples() -> float:
    """Mean energy distance of samples of `KernelPPCA` to new rows."""
    found = []
    for name in ("breast cancer", "iris", "thyroid"):
        rng = np.random.default_rng(0)
        train, new = pair(SETS["decide"][name](rng), rng)
        found.append(energy_distance(KernelPPCA(random_state=0).fit(train[:300]).sample(500, random_state=0), new))
    return float(np.mean(found))


def pooled_cover(n: int = 40) -> float:
    """Share of 95 % intervals of a regression on completed tables that hold the truth, 20 % of the cells missing; 24 rows are too few for data augmentation."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        _, holed = table_of(n, 0.2, _line, rng)
        completed = LatentImputer().fit(holed).draws(holed, 10, random_state=rng)
        found.append(covers([least_squares(table[:, 0], table[:, 1:]) for table in completed], BETA))
    return float(np.mean(found))


def cover_of_holes_that_follow() -> float:
    """Share of missing cells inside their 90 % intervals, where those of all columns but the first are missing by what the first holds."""
    inside = []
    for X in complete_tables(8):
        chance = 0.5 / (1.0 + np.exp(-2.0 * X[:, :1]))
        holes = np.random.default_rng(0).random(X.shape) < np.where(np.arange(X.shape[1]) > 0, chance, 0.0)
        filled, std = (
            LatentImputer().fit(np.where(holes, np.nan, X)).impute(np.where(holes, np.nan, X), return_std=True)
        )
        inside.append((np.abs(filled - X) <= 1.645 * std)[holes])
    return float(np.mean(np.concatenate(inside)))


MASE = "mean MASE of series, smoothed"
WINDOWED = "mean log MASE of longer series and cycles"
SCORE = "mean log scaled interval score of forecasts at 95 %"
WILD = "mean log error of filled cells beside slipped decimal points, and of clean tables"

JOBS: dict[tuple[str, str], tuple[Callable[[], float], str]] = {
    ("Jury", "fence"): (
        likelihood_of_usual_rows,
        "log-likelihood per column of new usual rows, 2 % gross rows in the fit",
    ),
    ("Jury", "clear"): (
        error_beside_categories,
        "mean log error of numbers with a useless and with a telling category",
    ),
    ("Look", "parts"): (class_loss_with_holes, "log-loss of RKMClassifier with holes"),
    **{("Detector", name): (odd_rows_found, "AUC of the detector") for name in ("refits", "width")},
    ("Defaults", "noise_floor"): (odd_rows_found, "AUC of the detector"),
    ("WayBack", "noises"): (denoised, "error of denoised rows over the noise"),
    ("WayBack", "widths"): (distance_of_samples, "energy distance of samples to new rows"),
    ("WayBack", "novelty"): (distance_of_samples, "energy distance of samples to new rows"),
    ("Filling", "widths"): (kernel_fills, "mean log error of cells filled by kernel models"),
    ("Filling", "penalties"): (kernel_fills, "mean log error of cells filled by kernel models"),
    ("Clusters", "strength"): (clusters_found, "adjusted Rand index of kernel mixtures on seven shapes"),
    **{("ClassRules", name): (class_loss, "log-loss of KernelPPCAClassifier") for name in ("width", "row_share")},
    **{("Targets", name): (regression_error, "mean log error of RKMRegressor") for name in ("margin", "far")},
    **{("Rates", name): (forecast_error, MASE) for name in ("drift", "evidence", "slope_spread", "season_spread")},
    ("Windows", "fewest"): (partial(windowed_error, 25), "mean log MASE of series of 25 and more values, and cycles"),
    **{("Windows", name): (windowed_error, WINDOWED) for name in ("odds", "power")},
    ("Rates", "spent"): (interval_score, SCORE),
    **{("Spread", name): (interval_score, SCORE) for name in ("belief", "wider")},
    **{
        ("DrawRule", name): (pooled_cover, "share of 95 % intervals that hold") for name in ("rows_per_column", "turns")
    },
    ("DrawRule", "steps"): (partial(pooled_cover, 24), "share of 95 % intervals that hold, 24 rows"),
    ("Filling", "bins"): (
        cover_of_holes_that_follow,
        "share of cells inside 90 % intervals, holes that follow a column",
    ),
    **{
        ("Robustness", name): (error_beside_wild_cells, WILD)
        for name in ("gain", "tail", "share", "thresholds", "noise", "spread", "doubt")
    },
    ("Robustness", "rare"): (
        partial(error_beside_wild_cells, with_one_value, 12),
        f"{WILD}; one value fills half of a column",
    ),
}


def scaled(value: Any, factor: float) -> Any:
    """A number, or several, multiplied; whole numbers stay whole, and 1 at least."""
    if isinstance(value, tuple):
        return tuple(scaled(one, factor) for one in value)
    return max(1, round(factor * value)) if isinstance(value, int) else factor * value


def measured(record: object, name: str, factor: float, job: Callable[[], float]) -> float:
    """The outcome with one number multiplied, wherever the record is known."""
    changed = replace(record, **{name: scaled(getattr(record, name), factor)})
    constant = next(key for key, value in vars(numbers).items() if value is record)
    known = [module for key, module in sys.modules.items() if key.startswith("gramian") and hasattr(module, constant)]
    with ExitStack() as stack:
        for module in known:
            stack.enter_context(mock.patch.object(module, constant, changed))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        try:
            return job()
        except (ValueError, IndexError):  # twice a share may be more than everything
            return float("nan")


def tuned() -> Iterator[tuple[object, str]]:
    """Every number that was tuned on data; those that only decide how an answer is reached are timed by `benchmarks.sweep_solvers`."""
    for record in numbers.POLICIES:
        for name, entry in type(record).__dataclass_fields__.items():
            if entry.metadata["set_by"].startswith("experiments."):
                yield record, name


def line(record: object, name: str) -> str:
    """A row of the table."""
    owner = type(record).__name__
    job, words = JOBS[owner, name]
    found = [measured(record, name, factor, job) for factor in (0.5, 1.0, 2.0)]
    return (
        f"| {owner}.{name} | {words} | "
        + " | ".join(f"{value:.4f}" if np.isfinite(value) else "-" for value in found)
        + " |"
    )


def main(wanted: list[str], write: bool) -> None:
    standing = dict(re.findall(r"^(\| (\w+\.\w+) \|.*)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))
    standing = {name: row for row, name in standing.items()}
    rows = ["| number | outcome | half | as it is | double |", "|---|---|---|---|---|"]
    for record, name in tuned():
        key = f"{type(record).__name__}.{name}"
        if not wanted or key in wanted:
            standing[key] = line(record, name)
            print(standing[key], flush=True)
        if key in standing:
            rows.append(standing[key])
        if write:
            write_block(PAGE, "sensitivity", [*rows, *(standing[k] for k in later(key) if k in standing)])


def later(key: str) -> list[str]:
    """The numbers behind one, so that a run that is ended keeps their rows."""
    every = [f"{type(record).__name__}.{name}" for record, name in tuned()]
    return every[every.index(key) + 1 :]


if __name__ == "__main__":
    main([word for word in sys.argv[1:] if not word.startswith("--")], "--write" in sys.argv)
