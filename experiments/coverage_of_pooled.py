"""Do pooled 95 % intervals cover 95 %? Least squares, logit and Cox on tables with holes that depend on what is seen.

``python -m experiments.coverage_of_pooled [repeats] [--write]`` prints one line per sample size (half of the repeats at 400 rows), share of holes and analysis, beside the intervals of the complete
tables (what chance does), with the CPU of twenty draws beside twenty `IterativeImputer` with posterior draws. With ``peer`` tables of 40 rows are pooled over those twenty, too. With ``real`` the tables are rows drawn
from real tables to decide on, as if each were a population, and the analysis is the regression of one column on three others.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from experiments._page import write_block
from gramian import LatentImputer, pool

PAGE, BLOCK = Path(__file__).parents[1] / "docs" / "multiple_imputation.md", "coverage"
SIZES, SHARES, M = (40, 100, 400), (0.2, 0.4), 20
BETA = np.array([0.5, -0.5, 0.3, 0.0])
FACTORS = np.random.default_rng(7).standard_normal((2, len(BETA)))


@dataclass(frozen=True)
class Fit:
    """What `gramian.pool` asks of a fit."""

    params: np.ndarray
    covariance: np.ndarray
    df_resid: float

    def cov_params(self) -> np.ndarray:
        return self.covariance


def least_squares(y: np.ndarray, inputs: np.ndarray) -> Fit:
    """Ordinary least squares with a constant, which comes last."""
    A = np.column_stack([inputs, np.ones(len(y))])
    inverse = np.linalg.inv(A.T @ A)
    coefficients = inverse @ A.T @ y
    df = len(y) - A.shape[1]
    return Fit(coefficients, inverse * float(np.square(y - A @ coefficients).sum()) / df, df)


def logit(label: np.ndarray, inputs: np.ndarray, steps: int = 30) -> Fit:
    """Logistic regression with a constant, which comes last, by Newton's steps."""
    A = np.column_stack([inputs, np.ones(len(label))])
    coefficients = np.zeros(A.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-A @ coefficients))
        inverse = np.linalg.inv((A.T * (chance * (1 - chance))) @ A)
        coefficients = coefficients + inverse @ A.T @ (label - chance)
        if not np.isfinite(coefficients).all() or np.abs(coefficients).max() > 20:
            raise ValueError("the classes are separated")
    return Fit(coefficients, inverse, len(label) - A.shape[1])


def cox(survival: np.ndarray, inputs: np.ndarray, steps: int = 15) -> Fit:
    """Cox's regression by Newton's steps; ``survival`` holds times and whether they are ends, no two times are equal."""
    order = np.argsort(-survival[:, 0])
    X, ends = inputs[order], survival[order, 1] > 0.5
    beta = np.zeros(X.shape[1])
    for _ in range(steps):
        risk = np.exp(X @ beta)
        total = np.cumsum(risk)
        first = np.cumsum(risk[:, None] * X, axis=0) / total[:, None]
        second = np.cumsum(risk[:, None, None] * X[:, :, None] * X[:, None, :], axis=0) / total[:, None, None]
        information = (second - first[:, :, None] * first[:, None, :])[ends].sum(axis=0)
        beta = beta + np.linalg.solve(information, (X - first)[ends].sum(axis=0))
        if not np.isfinite(beta).all() or np.abs(beta).max() > 20:
            raise ValueError("the times are separated")
    return Fit(beta, np.linalg.inv(information), float(ends.sum()) - X.shape[1])


Analysis = Callable[[np.ndarray, np.ndarray], Fit]
Outcome = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _line(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (inputs @ BETA + rng.standard_normal(len(inputs)))[:, None]


def _label(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return (rng.random(len(inputs)) < 1 / (1 + np.exp(-inputs @ BETA))).astype(float)[:, None]


def _survival(inputs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Times of a constant hazard, a third of them cut off, and whether they are ends."""
    life, watched = rng.exponential(np.exp(-inputs @ BETA)), rng.exponential(2.0, len(inputs))
    return np.column_stack([np.minimum(life, watched), life <= watched])


ANALYSES: dict[str, tuple[Outcome, Analysis]] = {
    "least squares": (_line, lambda y, inputs: least_squares(y[:, 0], inputs)),
    "logit": (_label, lambda y, inputs: logit(y[:, 0], inputs)),
    "Cox": (_survival, cox),
}


def table_of(n: int, share: float, outcome: Outcome, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """An outcome and four inputs of two factors and noise, complete and with holes: in all inputs but the last, and in a numeric outcome, more of them where the last is large."""
    inputs = rng.standard_normal((n, 2)) @ FACTORS + 0.7 * rng.standard_normal((n, len(BETA)))
    full = np.column_stack([outcome(inputs, rng), inputs])
    holes = rng.random(full.shape) < np.clip(share * 2 / (1 + np.exp(-full[:, -1:])), 0, 0.9)
    holes[:, -1] = False
    if outcome is not _line:
        holes[:, : -len(BETA)] = False
    return full, np.where(holes, np.nan, full)


def covers(fits: list[Fit], truth: np.ndarray) -> np.ndarray:
    lower, upper = pool(fits).interval(0.95)
    k = len(truth)
    return (lower[:k] <= truth) & (truth <= upper[:k])


@dataclass
class Tally:
    """Which intervals cover: pooled, and those of complete tables; CPU of fits and of draws."""

    pooled: list[np.ndarray]
    complete: list[np.ndarray]
    fitting: float = 0.0
    drawing: float = 0.0

    def add(
        self, full: np.ndarray, holed: np.ndarray, k: int, analysis: Analysis, truth: np.ndarray, seed: int
    ) -> None:
        """One table, whose first columns but the last k are the outcome; nothing where the analysis of a table fails."""
        start = time.process_time()
        model = LatentImputer().fit(holed)
        middle = time.process_time()
        tables = model.draws(holed, M, random_state=seed)
        self.fitting, self.drawing = self.fitting + middle - start, self.drawing + time.process_time() - middle
        try:
            fits, whole = [analysis(t[:, :-k], t[:, -k:]) for t in tables], analysis(full[:, :-k], full[:, -k:])
        except (np.linalg.LinAlgError, ValueError):
            return
        self.pooled.append(covers(fits, truth))
        self.complete.append(covers([whole, whole], truth))


def simulated_lines(repeats: int) -> list[str]:
    """The table of the page."""
    lines = [
        "| rows | holes | analysis | pooled intervals cover | of complete tables | CPU of fit, of 20 draws | of 20 IterativeImputers |",
        "|---|---|---|---|---|---|---|",
    ]
    for n in SIZES:
        for share in SHARES:
            for name, (outcome, analysis) in ANALYSES.items():
                tally, times = Tally([], []), repeats if n < max(SIZES) else repeats // 2
                for repeat in range(times):
                    rng = np.random.default_rng([n, int(100 * share), repeat])
                    full, holed = table_of(n, share, outcome, rng)
                    tally.add(full, holed, len(BETA), analysis, BETA, repeat)
                start = time.process_time()
                IterativeImputer(sample_posterior=True, random_state=0).fit_transform(holed)
                peer = M * (time.process_time() - start)
                lines.append(
                    f"| {n} | {share:.0%} | {name} | {np.mean(tally.pooled):.3f} | {np.mean(tally.complete):.3f} | "
                    f"{tally.fitting / times:.3f}, {tally.drawing / times:.3f} s | {peer:.1f} s |"
                )
                print(lines[-1], len(tally.pooled), flush=True)
    return lines


def peer_lines(repeats: int, n: int = 40) -> None:
    """Small tables once more, beside twenty `IterativeImputer` with posterior draws, pooled by the same rules."""
    print("| rows | holes | analysis | tables | ours cover | twenty IterativeImputers' | of complete tables |")
    for share in SHARES:
        for name, (outcome, analysis) in ANALYSES.items():
            ours, theirs = Tally([], []), []
            for repeat in range(repeats):
                full, holed = table_of(n, share, outcome, np.random.default_rng([n, int(100 * share), repeat]))
                k = len(BETA)
                drawn = [
                    IterativeImputer(sample_posterior=True, random_state=seed).fit_transform(holed) for seed in range(M)
                ]
                try:
                    found = covers([analysis(t[:, :-k], t[:, -k:]) for t in drawn], BETA)
                except (np.linalg.LinAlgError, ValueError):
                    continue
                theirs.append(found)
                ours.add(full, holed, k, analysis, BETA, repeat)
            cells = " | ".join(f"{np.mean(each):.3f}" for each in (ours.pooled, theirs, ours.complete))
            print(f"| {n} | {share:.0%} | {name} | {len(theirs)} | {cells} |", flush=True)


def real_lines(repeats: int, n: int = 100) -> None:
    """Rows of real tables, drawn with replacement: the regression of all rows is the truth."""
    from experiments._tables import tables

    for table in tables("decide", min_rows=300, min_columns=4):
        X = table.X[~np.isnan(table.X).any(axis=1)][:, :5]
        if len(X) < 300 or np.linalg.cond(np.corrcoef(X.T)) > 1e3:
            continue
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        k = X.shape[1] - 1
        truth = least_squares(X[:, 0], X[:, 1:]).params[:k]
        tally = Tally([], [])
        for repeat in range(repeats):
            rng = np.random.default_rng(repeat)
            full = X[rng.integers(len(X), size=n)]
            holes = rng.random(full.shape) < np.clip(0.4 / (1 + np.exp(-full[:, -1:])), 0, 0.9)
            holes[:, -1] = False
            tally.add(full, np.where(holes, np.nan, full), k, ANALYSES["least squares"][1], truth, repeat)
        print(f"{table.name:40} {np.mean(tally.pooled):.3f} complete {np.mean(tally.complete):.3f}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    given = [int(word) for word in sys.argv[1:] if word.isdigit()]
    if "real" in sys.argv:
        real_lines(*given[:1] or [40])
        return
    if "peer" in sys.argv:
        peer_lines(*given[:1] or [60])
        return
    lines = simulated_lines(*given[:1] or [400])
    if "--write" in sys.argv:
        write_block(PAGE, BLOCK, lines)


if __name__ == "__main__":
    main()
