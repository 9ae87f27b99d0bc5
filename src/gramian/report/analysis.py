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
CLUSTER_FEATURES = 200
CLUSTER_ROWS = 20_000
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
    """The mixture that held-out rows prefer; ``scores`` are their mean log-likelihoods, one per number of clusters."""

    model: Any
    labels: Array
    candidates: list[int]
    scores: list[float]


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
        q = n_components if n_components is not None else "auto" if X.shape[1] > 1 else 0  # one column has no latent
        model = PPCA(q, random_state=random_state).fit(X)
        chosen = getattr(model, "selection_", None)
        rule = (
            "as asked" if chosen is None else "hidden cells" if np.isnan(X).any() else "the likelihood of held-out rows"
        )
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
    """The mixture that held-out rows prefer."""
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
    try:
        best = PPCAMixture("auto", tol=1e-5, random_state=random_state).fit(rows)
    except ValueError:
        analysis.note("clusters", "The mixture could not be fitted to this table.")
        return None
    candidates = [c["n_clusters"] if isinstance(c, dict) else c for c in best.selection_.candidates]
    return Clusters(best, best.predict(X), candidates, best.selection_.scores.tolist())


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
