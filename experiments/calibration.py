"""Whether 90 % means 90 %: simulated truths, the probability that each model gave them, rank histograms and coverage.

Run as ``python -m experiments.calibration [name ...] [--tables N]``: imputation (PPCA and LatentImputer), missing views, regression,
forecasts and latents, each at n = 20, 50, 200 and 1000. Every truth is drawn anew with every table. The rank of a truth is the
predictive probability below it: calibrated ones are uniform. What was found is printed and kept for docs/reliability.md.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from benchmarks._results import note, noted
from scipy import stats

from gramian import PPCA, LatentImputer, MultiViewRKM, RKMForecaster, RKMRegressor

SIZES = (20, 50, 200, 1000)
LEVELS = (0.5, 0.8, 0.9, 0.95)
BINS = 10
AHEAD = (1, 5, 20)


def low_rank(rng: np.random.Generator, n: int, d: int = 8, q: int = 2, noise: float = 0.5) -> Any:
    """Rows of a Gaussian latent model."""
    return rng.standard_normal((n, q)) @ rng.standard_normal((q, d)) + noise * rng.standard_normal((n, d))


def ranks(truth: Any, mean: Any, std: Any) -> Any:
    """The predictive probability below each truth."""
    return stats.norm.cdf((np.ravel(truth) - np.ravel(mean)) / np.ravel(std))


def ppca_cells(rng: np.random.Generator, n: int) -> Any:
    """Hidden cells, PPCA with the true q."""
    X = low_rank(rng, n)
    holes = rng.random(X.shape) < 0.1
    table = np.where(holes, np.nan, X)
    filled, std = PPCA(2).fit(table).impute(table, return_std=True)
    return ranks(X[holes], filled[holes], std[holes])


def imputer_cells(rng: np.random.Generator, n: int) -> Any:
    """Hidden cells, LatentImputer, which chooses q."""
    X = low_rank(rng, n)
    holes = rng.random(X.shape) < 0.1
    table = np.where(holes, np.nan, X)
    filled, std = LatentImputer().fit(table).impute(table, return_std=True)
    return ranks(X[holes], filled[holes], std[holes])


def views(rng: np.random.Generator, n: int) -> Any:
    """A whole view of new rows."""
    X = low_rank(rng, n + 50)
    model = MultiViewRKM(2, views={"a": list(range(4)), "b": list(range(4, 8))}).fit(X[:n])
    mean, std = model.predict_view({"a": X[n:, :4]}, "b", return_std=True)
    return ranks(X[n:, 4:], mean, std)


def regression(rng: np.random.Generator, n: int) -> Any:
    """Targets of new rows in range."""
    X = rng.uniform(-2, 2, (n + 50, 2))
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.3 * rng.standard_normal(n + 50)
    mean, std = RKMRegressor(random_state=0).fit(X[:n], y[:n]).predict(X[n:], return_std=True)
    return ranks(y[n:], mean, std)


def forecasts(rng: np.random.Generator, n: int) -> Any:
    """An AR(2) series, 1, 5 and 20 steps ahead."""
    noise = rng.standard_normal(n + 120)
    series = np.zeros(n + 120)
    for t in range(2, len(series)):
        series[t] = 0.6 * series[t - 1] + 0.25 * series[t - 2] + noise[t]
    series = series[100:]
    model = RKMForecaster(lags=4, season=None, random_state=0).fit(series[:n])
    grid = np.linspace(0.005, 0.995, 199)
    quantiles = np.asarray(model.predict_quantiles(list(AHEAD), grid.tolist()))
    pairs = zip(AHEAD, quantiles.T)
    return np.array([float(np.interp(series[n - 1 + step], law, grid, 0.0, 1.0)) for step, law in pairs])


def latents(rng: np.random.Generator, n: int) -> Any:
    """Latents of new rows with holes, by the model that made them (Stan's check)."""
    model = PPCA(2).fit(low_rank(rng, max(n, 50)))
    Z = rng.standard_normal((40, 2))
    X = Z @ model.loadings_.T + model.mean_ + np.sqrt(model.noise_variance_) * rng.standard_normal((40, 8))
    X[rng.random(X.shape) < 0.3] = np.nan
    draws = model.posterior(X).sample(199, random_state=rng)
    return ((draws < Z).sum(axis=0) + 0.5).ravel() / 200


SUBJECTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "imputation, q known": ppca_cells,
    "imputation, q chosen": imputer_cells,
    "missing views": views,
    "regression": regression,
    "forecasts": forecasts,
    "latents": latents,
}


def coverage(probabilities: Any, level: float) -> float:
    """The share of truths inside the central interval of that level."""
    return float(np.mean(np.abs(probabilities - 0.5) <= level / 2))


def histogram(probabilities: Any) -> list[int]:
    """How many truths fall into each tenth of the predictive distribution."""
    return np.bincount(np.minimum((probabilities * BINS).astype(int), BINS - 1), minlength=BINS).tolist()


def calibration(name: str, n: int, n_tables: int, seed: int = 0) -> dict[str, Any]:
    """Coverage and rank histogram over so many simulated tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = np.concatenate([SUBJECTS[name](np.random.default_rng([seed, n, k]), n) for k in range(n_tables)])
    return {
        "tables": n_tables,
        "truths": len(found),
        "coverage": {f"{level:.0%}": round(coverage(found, level), 3) for level in LEVELS},
        "histogram": histogram(found),
    }


def main() -> None:
    """Print and keep what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SUBJECTS), help=f"of {', '.join(SUBJECTS)}")
    parser.add_argument("--tables", type=int, default=40, help="tables at n = 20; fewer at larger n")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    options = parser.parse_args()
    for n in options.sizes:
        for name in options.names:
            start = time.process_time()
            # an answer per cell: a few large tables say as much as many small ones; a forecast says three numbers per series
            n_tables = (
                options.tables if name == "forecasts" else max(3, round(options.tables * min(1.0, 20 / n) ** 0.7))
            )
            found = calibration(name, n, n_tables)
            print(
                f"{name}, n = {n}: {found['coverage']} of {found['truths']}, {time.process_time() - start:.0f} s",
                flush=True,
            )
            note("calibration", {**noted().get("calibration", {}), f"{name}, n = {n}": found})


if __name__ == "__main__":
    main()
