"""Tables whose truth is known, and the predictive probability below each truth: what experiments/calibration.py counts.

Each function draws a table of n rows with a generator and gives, by name, probabilities that are uniform where the model is calibrated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from gramian import PPCA, KernelPPCA, LatentImputer, MultiViewRKM, RKMForecaster, RKMRegressor

Ranked = Callable[[np.random.Generator, int], dict[str, Any]]

NEW_ROWS = 50
HORIZONS = (1, 5, 20)
UNEQUAL = np.array([0.2, 0.35, 0.5, 0.5, 0.65, 0.8, 1.0, 1.5])
"""Noise per column where columns are not alike."""
SHAPES = {"a sine": lambda x: np.sin(6 * x), "a line": lambda x: 2 * x, "a parabola": lambda x: (2 * x - 1) ** 2}


def low_rank(rng: np.random.Generator, n: int, d: int = 8, q: int = 2, noise: Any = 0.5) -> Any:
    """Rows of a Gaussian latent model."""
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d))


def ranks(truth: Any, mean: Any, std: Any) -> Any:
    """The predictive probability below each truth."""
    return stats.norm.cdf((np.ravel(truth) - np.ravel(mean)) / np.ravel(std))


def cells(make: Callable[[], Any], name: str) -> Ranked:
    """Hidden cells."""

    def drawn(rng: np.random.Generator, n: int) -> dict[str, Any]:
        X = low_rank(rng, n)
        holes = rng.random(X.shape) < 0.1
        table = np.where(holes, np.nan, X)
        filled, std = make().fit(table).impute(table, return_std=True)
        return {name: ranks(X[holes], filled[holes], std[holes])}

    return drawn


def unequal_cells(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Hidden cells of columns whose noise differs: those of the quietest and of the noisiest."""
    X = low_rank(rng, n, noise=UNEQUAL)
    holes = rng.random(X.shape) < 0.1
    table = np.where(holes, np.nan, X)
    filled, std = LatentImputer().fit(table).impute(table, return_std=True)
    return {
        f"imputation, {name} column": ranks(X[holes[:, j], j], filled[holes[:, j], j], std[holes[:, j], j])
        for name, j in (("quietest", 0), ("noisiest", -1))
    }


def odd_holes(holes: Callable[[np.random.Generator, Any], Any], name: str, tails: bool = False) -> Ranked:
    """Hidden cells of a table where ``holes`` says which, or whose noise has heavy tails; by an imputer that knows neither."""

    def drawn(rng: np.random.Generator, n: int) -> dict[str, Any]:
        X = low_rank(rng, n, noise=0.0 if tails else 0.5)
        if tails:
            X += 0.5 / np.sqrt(3.0) * rng.standard_t(3, X.shape)
        hidden = holes(rng, X)
        table = np.where(hidden, np.nan, X)
        filled, std = LatentImputer().fit(table).impute(table, return_std=True)
        return {f"imputation, {name}": ranks(X[hidden], filled[hidden], std[hidden])}

    return drawn


def at_random(rng: np.random.Generator, X: Any) -> Any:
    """One cell in ten."""
    return rng.random(X.shape) < 0.1


def by_seen_cells(rng: np.random.Generator, X: Any) -> Any:
    """Of all columns but the first two, where those two are large: missing at random, given what was seen."""
    push = (X[:, :2] / X[:, :2].std(axis=0)).sum(axis=1)
    hidden = rng.random(X.shape) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * push[:, None]))
    hidden[:, :2] = False
    return hidden


def by_themselves(rng: np.random.Generator, X: Any) -> Any:
    """Where the missing value itself is large: no method can know."""
    return rng.random(X.shape) < 1.0 / (1.0 + np.exp(2.5 - 2.0 * X / X.std(axis=0)))


def wild_rows(rng: np.random.Generator, X: Any) -> Any:
    """One cell in ten of the usual rows, after one row in twenty is thrown far off."""
    wild = rng.random(len(X)) < 0.05
    X[wild] += 8.0 * rng.standard_normal((int(wild.sum()), X.shape[1]))
    return at_random(rng, X) & ~wild[:, None]


def denoised(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Rows without their noise."""
    W = rng.standard_normal((2, 8))
    clean = rng.standard_normal((n + NEW_ROWS, 2)) @ W
    X = clean + 0.5 * rng.standard_normal(clean.shape)
    mean, std = PPCA(2).fit(X[:n]).reconstruct(X[n:], return_std=True)
    return {"denoised rows": ranks(clean[n:], mean, std)}


def views(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """A whole view of new rows."""
    X = low_rank(rng, n + NEW_ROWS)
    model = MultiViewRKM(2, views={"a": list(range(4)), "b": list(range(4, 8))}).fit(X[:n])
    mean, std = model.predict_view({"a": X[n:, :4]}, "b", return_std=True)
    return {"missing views": ranks(X[n:, 4:], mean, std)}


def regression(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Targets of new rows in range."""
    X = rng.uniform(-2, 2, (n + NEW_ROWS, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(len(X))
    mean, std = RKMRegressor(random_state=0).fit(X[:n], y[:n]).predict(X[n:], return_std=True)
    return {"regression": ranks(y[n:], mean, std)}


def outside(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Targets of rows up to one training width outside, on both sides."""
    found = {}
    for name, shape in SHAPES.items():
        inside, new = rng.uniform(0, 1, (n, 1)), rng.uniform(0, 1, (NEW_ROWS, 1))
        new = np.where(np.arange(NEW_ROWS)[:, None] % 2, 1 + new, -new)
        y, truth = (shape(x[:, 0]) + 0.1 * rng.standard_normal(len(x)) for x in (inside, new))
        mean, std = RKMRegressor(random_state=0).fit(inside, y).predict(new, return_std=True)
        found[f"regression, one width outside, {name}"] = ranks(truth, mean, std)
    return found


def thirds(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Targets of new rows where the noise grows ninefold, in thirds of the range."""
    inside, new = rng.uniform(0, 1, (n, 1)), rng.uniform(0, 1, (3 * NEW_ROWS, 1))
    y, truth = (np.sin(6 * x[:, 0]) + (0.05 + 0.4 * x[:, 0]) * rng.standard_normal(len(x)) for x in (inside, new))
    mean, std = RKMRegressor(random_state=0).fit(inside, y).predict(new, return_std=True)
    below, where = ranks(truth, mean, std), np.floor(3 * new[:, 0])
    return {f"regression, {name} third": below[where == k] for k, name in enumerate(("quiet", "middle", "noisy"))}


def forecasts(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """An AR(2) series, some steps ahead."""
    noise = rng.standard_normal(n + 120)
    series = np.zeros(n + 120)
    for t in range(2, len(series)):
        series[t] = 0.6 * series[t - 1] + 0.25 * series[t - 2] + noise[t]
    series = series[100:]
    model = RKMForecaster(lags=4, season=None, random_state=0).fit(series[:n])
    grid = np.linspace(0.005, 0.995, 199)
    laws = np.asarray(model.predict_quantiles(list(HORIZONS), grid.tolist())).T
    return {
        f"forecasts, {h} ahead": np.array([np.interp(series[n - 1 + h], law, grid, 0.0, 1.0)])
        for h, law in zip(HORIZONS, laws, strict=True)
    }


def latents(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Latents of new rows with holes, by the model that made them (Stan's check)."""
    model = PPCA(2).fit(low_rank(rng, max(n, 50)))
    Z = rng.standard_normal((40, 2))
    X = Z @ model.loadings_.T + model.mean_ + np.sqrt(model.noise_variance_) * rng.standard_normal((40, 8))
    X[rng.random(X.shape) < 0.3] = np.nan
    draws = model.posterior(X).sample(199, random_state=rng)
    return {"latents": ((draws < Z).sum(axis=0) + 0.5).ravel() / 200}


def alarms(make: Callable[[], Any], name: str) -> Ranked:
    """p-values of new rows that are no anomaly."""

    def drawn(rng: np.random.Generator, n: int) -> dict[str, Any]:
        X = low_rank(rng, n + NEW_ROWS)
        found = make().fit(X[:n]).anomaly(X[n:])
        return {f"SPE, {name}": np.asarray(found.p_spe), f"T², {name}": np.asarray(found.p_t2)}

    return drawn


SIZES = (20, 50, 200, 1000)
SMALL = (20, 60, 200)
INTERVALS: dict[str, tuple[Ranked, tuple[int, ...]]] = {
    "imputation known": (cells(lambda: PPCA(2), "imputation, q known"), SIZES),
    "imputation chosen": (cells(LatentImputer, "imputation, q chosen"), SIZES),
    "imputation unequal": (unequal_cells, SIZES),
    "holes by seen cells": (odd_holes(by_seen_cells, "holes where other cells are large"), SIZES[:3]),
    "holes by themselves": (odd_holes(by_themselves, "holes where the cell itself is large"), SIZES[1:3]),
    "heavy tails": (odd_holes(at_random, "noise of heavy tails (t, 3 degrees)", tails=True), SIZES[:3]),
    "wild rows": (odd_holes(wild_rows, "one row in twenty wild"), SIZES[1:3]),
    "denoised": (denoised, SIZES),
    "views": (views, SIZES),
    "regression": (regression, SIZES),
    "outside": (outside, (150,)),
    "thirds": (thirds, (200, 1000)),
    "forecasts": (forecasts, SMALL),
    "latents": (latents, SMALL),
}
"""What is simulated, and at which numbers of rows."""
ALARMS: dict[str, tuple[Ranked, tuple[int, ...]]] = {
    "alarms PPCA": (alarms(lambda: PPCA(2), "PPCA"), SMALL),
    "alarms KernelPPCA": (alarms(lambda: KernelPPCA(2), "KernelPPCA"), SMALL),
}
