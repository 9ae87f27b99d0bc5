"""Do pooled 95 % intervals of regression coefficients cover 95 %? Least squares and logit on tables with holes that depend on what is seen.

``python -m experiments.coverage_of_pooled [repeats]`` prints one line per sample size, share of holes and analysis.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np

from gramian import LatentImputer, pool

SIZES, SHARES, D, M = (40, 100, 400), (0.2, 0.4), 5, 20


def table_of(n, share, rng):
    """y and four inputs of two factors and noise; y depends on them linearly, a binary outcome by logit. Holes at random given x4, which is seen."""
    inputs = rng.standard_normal((n, 2)) @ FACTORS + 0.7 * rng.standard_normal((n, D - 1))
    y = inputs @ BETA + rng.standard_normal(n)
    full = np.column_stack([y, inputs])
    chance = share * 2 / (1 + np.exp(-full[:, -1:]))
    holes = rng.random(full.shape) < np.clip(chance, 0, 0.9)
    holes[:, -1] = False
    return full, np.where(holes, np.nan, full)


FACTORS = np.random.default_rng(7).standard_normal((2, D - 1))
BETA = np.array([0.5, -0.5, 0.3, 0.0])


def logit_of(full, rng):
    chance = 1 / (1 + np.exp(-(full[:, 1:] @ BETA)))
    return (rng.random(len(full)) < chance).astype(float)


def covers(fits, truth):
    lower, upper = pool(fits).interval(0.95)
    return (lower[1:] <= truth) & (truth <= upper[1:])


@dataclass(frozen=True)
class Fit:
    """What `gramian.pool` asks of a fit."""

    params: np.ndarray
    covariance: np.ndarray
    df_resid: float

    def cov_params(self) -> np.ndarray:
        return self.covariance


def least_squares(y, inputs) -> Fit:
    """Ordinary least squares with a constant."""
    A = np.column_stack([np.ones(len(y)), inputs])
    inverse = np.linalg.inv(A.T @ A)
    coefficients = inverse @ A.T @ y
    df = len(y) - A.shape[1]
    return Fit(coefficients, inverse * float(np.square(y - A @ coefficients).sum()) / df, df)


def logit(label, inputs, steps: int = 30) -> Fit:
    """Logistic regression with a constant, by Newton's steps."""
    A = np.column_stack([np.ones(len(label)), inputs])
    coefficients = np.zeros(A.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-A @ coefficients))
        inverse = np.linalg.inv((A.T * (chance * (1 - chance))) @ A)
        coefficients = coefficients + inverse @ A.T @ (label - chance)
    if not np.isfinite(coefficients).all() or np.abs(coefficients).max() > 20:
        raise ValueError("the classes are separated")
    return Fit(coefficients, inverse, len(label) - A.shape[1])


def main(repeats: int = 200) -> None:
    warnings.simplefilter("ignore")
    for n in SIZES[: int(sys.argv[2]) if len(sys.argv) > 2 else 3]:
        for share in SHARES:
            rng = np.random.default_rng(n + int(100 * share))
            linear, binary, seconds = [], [], 0.0
            for _ in range(repeats if n < 400 else repeats // 2):
                full, holed = table_of(n, share, rng)
                start = time.process_time()
                tables = LatentImputer().fit(holed).draws(holed, M, random_state=rng)
                seconds += time.process_time() - start
                linear.append(covers([least_squares(t[:, 0], t[:, 1:]) for t in tables], BETA))
                label = logit_of(full, rng)
                if n > 40:
                    both = np.column_stack([label, holed[:, 1:]])
                    tables = LatentImputer().fit(both).draws(both, M, random_state=rng)
                    try:
                        fits = [logit(label, t[:, 1:]) for t in tables]
                        binary.append(covers(fits, BETA))
                    except (np.linalg.LinAlgError, ValueError):
                        continue
            told = f"{np.mean(binary):.3f}" if binary else "-"
            print(
                f"n={n} holes={share:.0%} least squares {np.mean(linear):.3f} logit {told} CPU {seconds / len(linear):.3f} s",
                flush=True,
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
