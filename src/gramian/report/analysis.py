"""What the report says about a table, computed: no pictures and no HTML here."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.estimators.ppca import PPCA
from gramian.io.preprocessing import Preprocessing
from gramian.io.table import Table

LEVEL = 0.9
HELD_OUT = 0.05
HELD_OUT_CELLS = 100_000
CHOICE_CELLS = 100_000
CLUSTER_FEATURES = 200
CLUSTER_ROWS = 20_000
MAX_CLUSTERS = 6
ODD_ROWS = 10
SHOWN_CELLS = 25


@dataclass
class HeldOut:
    """Cells that were hidden from the fit and then imputed, for several q: the error in units of the columns'
    spread."""

    candidates: list[int]
    errors: list[float]
    chosen: int
    mean_error: float  # of filling with the column's mean
    coverage: float  # of the 90 % intervals at the chosen q
    n_cells: int


@dataclass
class Clusters:
    """The mixture with the smallest BIC."""

    model: Any
    labels: Array
    candidates: list[int]
    bics: list[float]


@dataclass
class Analysis:
    """Everything that the report says."""

    table: Table
    prepare: Preprocessing
    X: Array
    model: PPCA
    latents: Array
    anomaly: Any
    flags: Array
    full: Array
    std: Array
    rule: str
    held_out: HeldOut | None = None
    clusters: Clusters | None = None
    target: list[str] | None = None
    notes: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @property
    def holes(self) -> Array:
        """Which features of which rows are missing."""
        return np.isnan(self.X)

    def row_name(self, row: int) -> str:
        """What a row is called: its names, or its line in the file."""
        ids = [name for name in self.prepare.ids if name in self.table]
        values = [self.table[name][row] for name in ids[:2]]
        words = [
            str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in values if v is not None and v == v
        ]
        line = int(self.table.lines[row]) if len(self.table.lines) else row + 1
        return ", ".join(words) if words else f"line {line}"

    def note(self, section: str, text: str) -> None:
        """A remark for a section."""
        self.notes.setdefault(section, []).append(text)


def analyse(table: Table, prepare: Preprocessing, *, n_components: Any = None, random_state: int = 0) -> Analysis:
    """Fit what the report needs. Warnings become remarks of the report."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        X = prepare.matrix(table)
        q, rule = dimension(X, n_components, random_state)
        model = PPCA(q, random_state=random_state).fit(X)
        anomaly = model.anomaly(X, level=0.99)
        full, std = model.impute(X, return_std=True)
        flags = (anomaly.p_t2 < 0.01) | (anomaly.p_spe < 0.01)
        analysis = Analysis(table, prepare, X, model, model.transform(X), anomaly, flags, full, std, rule)
    said = {
        " ".join(str(warning.message).split())
        for warning in caught
        if not issubclass(warning.category, DeprecationWarning)
    }
    analysis.warnings = sorted(said)
    analysis.target = _target(table, prepare)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates that lose need not have converged
        analysis.held_out = _held_out(analysis, random_state)
        analysis.clusters = _clusters(analysis, random_state)
    return analysis


def dimension(X: Array, n_components: Any = None, random_state: int = 0) -> tuple[Any, str]:
    """The q that was asked for, else the best one; and by which rule, in words.

    The rule is BIC. With fewer than two rows a column that would take nearly all directions, since the likelihood of
    the last ones has no bound;
    then it is the likelihood of held-out rows. With holes every q costs an EM, so that large tables choose it on some
    of their rows.
    """
    if n_components not in (None, "bic"):
        return n_components, "as asked"
    if min(X.shape[1], X.shape[0] - 1) < 2:
        return 0, "nothing to choose"
    if n_components is None and len(X) < 2 * X.shape[1]:
        return _by_held_out_rows(X, random_state), "the likelihood of held-out rows"
    rows = max(CHOICE_CELLS // X.shape[1], 50)
    if rows >= len(X) or not np.isnan(X).any():
        return "bic", "the Bayesian information criterion"
    some = X[np.random.default_rng([random_state, 20011]).choice(len(X), rows, replace=False)]
    some = some[:, ~np.isnan(some).all(axis=0)]
    chosen = PPCA("bic", tol=1e-4, random_state=random_state).fit(some).n_components_
    return chosen, f"the Bayesian information criterion on {rows} rows"


def _by_held_out_rows(X: Array, random_state: int, n_folds: int = 5) -> int:
    """The q whose model gives held-out rows the largest mean likelihood."""
    n_folds = min(n_folds, len(X))
    fold = np.random.default_rng([random_state, 20012]).permutation(len(X)) % n_folds
    largest = min(X.shape[1] - 1, int((fold != 0).sum()) - 2)
    candidates = [q for q in (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64) if q <= max(largest, 1)]
    totals = np.zeros(len(candidates))
    for k in range(n_folds):
        train, test = X[fold != k], X[fold == k]
        seen = ~np.isnan(train).all(axis=0)  # a column that only held-out rows show has no model
        for i, q in enumerate(candidates):
            totals[i] += _held_out_likelihood(train[:, seen], test[:, seen], q, random_state)
        if k == 0 and len(candidates) > 6:
            # the first fold shows the shape: q far beyond its best are not worth the time
            keep = int(np.argmax(totals)) + 3
            candidates, totals = candidates[:keep], totals[:keep]
    return candidates[int(np.argmax(totals))]


def _held_out_likelihood(train: Array, test: Array, q: int, random_state: int) -> float:
    """Of the rows of ``test`` under a model of ``train``; minus infinity where there is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a candidate need not converge to be told from a better one
        try:
            fitted = PPCA(q, tol=1e-4, max_iter=100, random_state=random_state).fit(train)
            return float(np.sum(fitted.score_samples(test)))
        except ValueError:
            return -np.inf  # more components than the rows support, or no noise left


def _target(table: Table, prepare: Preprocessing) -> list[str] | None:
    if prepare.target is None or prepare.target not in table:
        return None
    column = table[prepare.target]
    if column.dtype == object:
        return ["missing" if value is None else str(value) for value in column]
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) > 12:
        edges = np.nanquantile(column, [0.25, 0.5, 0.75])
        words = [f"< {edges[0]:.3g}", f"< {edges[1]:.3g}", f"< {edges[2]:.3g}", f">= {edges[2]:.3g}"]
        return ["missing" if v != v else words[int(np.searchsorted(edges, v, side="right"))] for v in column]
    return ["missing" if v != v else f"{v:g}" for v in column]


def _held_out(analysis: Analysis, random_state: int) -> HeldOut | None:
    """Hide cells, fit without them, impute them: how good the imputations are, and for which q."""
    X, q = analysis.X, analysis.model.n_components_
    limit = min(X.shape[1] - 1, X.shape[0] - 2)
    if limit < 1 or len(X) < 20:
        analysis.note("model", "The table is too small to hide cells and see how well they are guessed.")
        return None
    if X.shape[1] > 1000:
        analysis.note(
            "model", f"With {X.shape[1]} features hiding cells and guessing them takes too long; it is left out."
        )
        return None
    # a stream of its own: people punch holes with default_rng(0) too, and hidden cells must not fall into them
    rng = np.random.default_rng([random_state, 20010])
    rows = np.arange(len(X))
    most = max(20, HELD_OUT_CELLS // X.shape[1])
    if len(X) > most:
        rows = np.sort(rng.choice(len(X), most, replace=False))
        analysis.note("model", f"Hidden cells are taken from {most} of the {len(X)} rows.")
    truth = X[rows]
    seen = ~np.isnan(truth)
    hidden = seen & (rng.random(truth.shape) < HELD_OUT)
    hidden[:, (seen & ~hidden).sum(axis=0) < 2] = False  # a column must keep something
    if hidden.sum() < 10:
        return None
    masked = np.where(hidden, np.nan, truth)
    centre = np.nanmean(masked, axis=0)
    mean_error = float(np.sqrt(np.mean((truth - centre)[hidden] ** 2)))
    around = (1, 2, 3, q // 2, q - 1, q, q + 1, q + 2) if q <= 12 else (1, 2, 4, 8, q // 2, q)
    candidates = sorted({c for c in around if 1 <= c <= limit})
    errors: list[float] = []
    coverage = np.nan
    chosen = q if q in candidates else candidates[0]
    for candidate in candidates:
        fitted = PPCA(candidate, tol=1e-4, max_iter=100, random_state=random_state).fit(masked)
        guessed, spread = fitted.impute(masked, return_std=True)
        errors.append(float(np.sqrt(np.mean((guessed - truth)[hidden] ** 2))))
        if candidate == chosen:
            coverage = _covered(truth, guessed, spread, hidden, LEVEL)
    return HeldOut(candidates, errors, chosen, mean_error, coverage, int(hidden.sum()))


def _covered(truth: Array, guessed: Array, spread: Array, hidden: Array, level: float) -> float:
    return float(np.mean(np.abs(truth - guessed)[hidden] <= interval_factor(level) * spread[hidden]))


def interval_factor(level: float) -> float:
    """Half the width of a Gaussian interval, in standard deviations."""
    from scipy.stats import norm

    return float(norm.ppf(0.5 + level / 2))


def _clusters(analysis: Analysis, random_state: int) -> Clusters | None:
    """Mixtures of 1 to 6 components, the one with the smallest BIC."""
    from gramian.estimators.ppca_mixture import PPCAMixture

    X = analysis.X
    if X.shape[1] < 2 or X.shape[1] > CLUSTER_FEATURES or len(X) < 30:
        why = "fewer than 30 rows" if len(X) < 30 else f"{X.shape[1]} feature(s)"
        analysis.note(
            "clusters",
            f"Clusters are looked for in tables of 30 rows or more and 2 to {CLUSTER_FEATURES} features; "
            f"this one has {why}.",
        )
        return None
    rows = X
    if len(X) > CLUSTER_ROWS:
        rows = X[np.random.default_rng(random_state).choice(len(X), CLUSTER_ROWS, replace=False)]
        analysis.note("clusters", f"The mixtures are fitted to {CLUSTER_ROWS} of the {len(X)} rows.")
    q = max(1, min(analysis.model.n_components_, 3, X.shape[1] - 1))
    found: list[tuple[int, float, Any]] = []
    for count in range(1, MAX_CLUSTERS + 1):
        try:
            mixture = PPCAMixture(
                count, q, n_init=2 if len(rows) < 1000 else 1, tol=1e-5, random_state=random_state
            ).fit(rows)
            found.append((count, float(mixture.bic(rows)), mixture))
        except ValueError:
            break  # too few rows for so many components
    if not found:
        analysis.note("clusters", "The mixture could not be fitted to this table.")
        return None
    best = min(found, key=lambda item: item[1])[2]
    return Clusters(best, best.predict(X), [count for count, _, _ in found], [bic for _, bic, _ in found])


# ---------------------------------------------------------------- small tables


def missing_patterns(analysis: Analysis, most: int = 6) -> list[tuple[str, int]]:
    """The commonest combinations of missing columns, with how many rows have them."""
    by_column = column_holes(analysis)
    counts: Counter[tuple[int, ...]] = Counter(tuple(np.flatnonzero(row)) for row in by_column[by_column.any(axis=1)])
    names = analysis.prepare.names
    return [(", ".join(names[j] for j in pattern), count) for pattern, count in counts.most_common(most)]


def column_holes(analysis: Analysis) -> Array:
    """Holes by column of the table: the indicators of a text column are missing together."""
    first = np.searchsorted(analysis.prepare.owner, np.arange(len(analysis.prepare.names)))
    return analysis.holes[:, first]


def leading_features(analysis: Analysis, component: int, most: int = 4) -> list[tuple[str, float]]:
    """The features with the largest loadings on a component, with their correlation to it."""
    loadings = analysis.model.loadings_[:, component]
    order = np.argsort(-np.abs(loadings))[:most]
    return [(analysis.prepare.features[j], float(loadings[j])) for j in order]
