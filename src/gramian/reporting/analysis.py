"""What the report says about a table, computed: no pictures and no HTML here."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array
from gramian._content import content_sample
from gramian._progress import Progress
from gramian.estimators.imputer import LatentImputer
from gramian.estimators.outliers import LatentOutlierDetector
from gramian.estimators.ppca import PPCA
from gramian.evidence.cells import hidden_cells
from gramian.evidence.robustness import believe_cells
from gramian.io.table_model import TableModel
from gramian.policy import DEFAULTS, LOOK, PAGE
from gramian.reporting.associations import associations
from gramian.reporting.traits import Traits
from gramian.reporting.words import count
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table

FLAG_LEVEL = 0.99
CLUSTER_FEATURES = 200
WIDEST = 1000
"""Tables of more features are not fitted again to hide cells or rows: it would take too long."""
WEAK, FAIR, STRONG = 0.05, 0.3, 0.7
"""Shares of the variance of hidden cells that the others tell, from which structure is called weak, fair, strong."""


@dataclass(frozen=True)
class HiddenCells:
    """Cells of numbers that were hidden from the fit and then guessed; errors in units of the columns' spread."""

    n_cells: int
    error: float
    mean_error: float  # of filling with the column's mean
    coverage: float  # of the 90 % intervals

    @property
    def told(self) -> float:
        """The share of the variance of hidden cells that the cells beside them tell."""
        return 1 - (self.error / self.mean_error) ** 2 if self.mean_error > 0 else 0.0


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
    oddness: Array  # minus the score of each row under a model that has not seen it
    flags: Array
    full: Array
    std: Array
    rule: str
    robust: Any = "auto"  # what is believed: False, or "cells" where hidden cells say that some are wild
    held_out: HiddenCells | None = None
    clusters: Clusters | None = None
    target: list[str] | None = None
    fitted: TableModel | None = None
    notes: dict[str, list[str]] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)

    @cached_property
    def traits(self) -> Traits:
        """The features as readers know them."""
        return Traits.of(self.prepare)

    @cached_property
    def associations(self) -> tuple[Array, list[str]]:
        """How strongly any two columns go together, and their names."""
        return associations(self.table, self.prepare, np.where(self.wild, np.nan, self.X), PAGE.columns)

    @property
    def contradicted(self) -> Array:
        """The cells of numbers that the others of their row contradict [14]."""
        numbers = np.array([not self.prepare.categories[j] for j in self.prepare.owner])
        return self.anomaly.wild_cells & numbers

    @property
    def wild(self) -> Array:
        """Those that are not believed."""
        return self.contradicted & (self.robust == "cells")

    @property
    def holes(self) -> Array:
        """Which features of which rows are missing."""
        return np.isnan(self.X)

    @property
    def strength(self) -> str:
        """How much the columns tell about each other, in a word."""
        if self.held_out is None:
            return "unknown"
        told = self.held_out.told
        return "none" if told < WEAK else "weak" if told < FAIR else "fair" if told < STRONG else "strong"

    def row_name(self, row: int) -> str:
        """What a row is called: its names, or its line in the file; both where several rows have these names."""
        words = self._words(row)
        line = int(self.table.lines[row]) if len(self.table.lines) else row + 1
        if words and self._named[words] == 1:
            return words
        return f"line {line}: {words}" if words else f"line {line}"

    def _words(self, row: int) -> str:
        ids = [name for name in self.prepare.ids if name in self.table]
        values = [self.table[name][row] for name in ids[:2]]
        words = [
            str(int(v)) if isinstance(v, float) and v == int(v) else str(v) for v in values if v is not None and v == v
        ]
        return ", ".join(dict.fromkeys(words))

    @cached_property
    def _named(self) -> Counter[str]:
        """How many rows have each name."""
        return Counter(self._words(row) for row in range(self.table.n_rows))

    def note(self, section: str, text: str) -> None:
        """A remark for a section."""
        self.notes.setdefault(section, []).append(text)


def analyse(
    table: Table,
    prepare: Preprocessing,
    *,
    n_components: Any = None,
    random_state: int = 0,
    fitted: TableModel | None = None,
    verbose: int = 0,
) -> Analysis:
    """Fit what the report needs, or take it from a fitted model. Warnings become remarks of the report; ``verbose`` shows progress."""
    X = prepare.matrix(table)
    with Progress("report", total=5, verbose=verbose) as bar:
        return _analyse(table, prepare, X, n_components, random_state, fitted, bar)


def _analyse(
    table: Table,
    prepare: Preprocessing,
    X: Array,
    n_components: Any,
    random_state: int,
    fitted: TableModel | None,
    bar: Progress,
) -> Analysis:
    known = _subspace_of(fitted)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if known is None:
            q = (
                n_components if n_components is not None else "auto" if X.shape[1] > 1 else 0
            )  # one column has no latent
            model = PPCA(q, random_state=random_state).fit(X)
            chosen = getattr(model, "selection_", None)
            holes = "hidden cells" if np.isnan(X).any() else "the likelihood of held-out rows"
            rule = "as asked" if chosen is None else holes
        else:
            model, rule = known, "of the fitted model"
        anomaly = model.anomaly(X, level=FLAG_LEVEL)
    bar.step(done="model")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the table has to say was said by the fit
        oddness, flags = _odd_rows(X, anomaly, fitted if known is not None else None, model if known is None else None)
        bar.step(done="odd rows")
        full, std, robust = _impute(model, X)
        bar.step(done="holes")
    analysis = Analysis(table, prepare, X, model, model.transform(X), anomaly, oddness, flags, full, std, rule, robust)
    said = {" ".join(str(w.message).split()) for w in caught if not issubclass(w.category, DeprecationWarning)}
    analysis.warnings = sorted(said)
    analysis.fitted = fitted
    analysis.target = _target(table, prepare)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # candidates that lose need not have converged
        analysis.held_out = _held_out(analysis)
        bar.step(done="trust")
        analysis.clusters = _clusters(analysis, random_state)
        bar.step(done="clusters")
    return analysis


def _odd_rows(X: Array, anomaly: Any, fitted: TableModel | None, model: PPCA | None) -> tuple[Array, Array]:
    """How odd each row is, and which are odd: as `LatentOutlierDetector` and ``gramian score`` say, by models that have not seen it."""
    detector = None if fitted is None else fitted.detector
    scores: Array = np.empty(0)
    try:
        if detector is None:
            detector = LatentOutlierDetector(contamination=1 - FLAG_LEVEL, standardize=False)
            scores = detector._fit(X, known=model)
    except ValueError:  # too few rows to hold any out
        return -np.log(np.maximum(np.minimum(anomaly.p_t2, anomaly.p_spe), 1e-300)), anomaly.flags
    scores = (
        scores if len(scores) == len(X) else detector.score_samples(X)
    )  # rows that show nothing have none of the fit
    return -scores, scores < detector.limit(FLAG_LEVEL)


def _subspace_of(fitted: TableModel | None) -> PPCA | None:
    """The linear model of a fitted model, where it is one."""
    if fitted is None:
        return None
    inner = getattr(fitted.estimator, "estimator_", fitted.estimator)
    return inner if isinstance(inner, PPCA) else None


def _imputer(model: PPCA, robust: Any = "auto") -> LatentImputer:
    """What fills holes with as many components as the model has, its intervals held to their promise on hidden cells."""
    return LatentImputer(PPCA(int(model.n_components_)), standardize=False, robust=robust)


def _impute(model: PPCA, X: Array) -> tuple[Array, Array, Any]:
    """The table without holes, the standard deviations of what was filled, and which cells are believed ("auto": not asked)."""
    if not np.isnan(X).any():
        rows = content_sample(X, LOOK.rows)
        kind = believe_cells(rows, np.ones(len(rows)), "auto").kind if 1 < X.shape[1] <= WIDEST else "auto"
        return X, np.zeros_like(X), kind
    filler = _imputer(model).fit(content_sample(X, LOOK.rows)) if X.shape[1] <= WIDEST else model
    full, std = filler.impute(X, return_std=True)
    return np.asarray(full), np.asarray(std), getattr(filler, "robust_", "auto")


def _target(table: Table, prepare: Preprocessing) -> list[str] | None:
    if prepare.target is None or prepare.target not in table:
        return None
    column = table[prepare.target]
    if column.dtype == object:
        words = ["missing" if value is None else str(value) for value in column]
        common = {word for word, _ in Counter(words).most_common(7)}
        return words if len(set(words)) <= 8 else [word if word in common else "others" for word in words]
    distinct = np.unique(column[~np.isnan(column)])
    if len(distinct) > 8:
        edges = np.nanquantile(column, [0.25, 0.5, 0.75])
        words = [f"< {edges[0]:.3g}", f"< {edges[1]:.3g}", f"< {edges[2]:.3g}", f">= {edges[2]:.3g}"]
        return ["missing" if v != v else words[int(np.searchsorted(edges, v, side="right"))] for v in column]
    return ["missing" if v != v else f"{v:g}" for v in column]


def first_features(prepare: Preprocessing) -> Array:
    """The first feature of each column: the features of a text column are missing together."""
    return np.searchsorted(prepare.owner, np.arange(len(prepare.names)))


def _held_out(analysis: Analysis) -> HiddenCells | None:
    """Hide cells of numbers, fit without them, guess them: how far to trust what is filled."""
    X, prepare = analysis.X, analysis.prepare
    if X.shape[1] < 2 or len(X) < 20:
        analysis.note("trust", "The table is too small to hide cells and see how well they are guessed.")
        return None
    if X.shape[1] > WIDEST:
        analysis.note(
            "trust", f"With {count(X.shape[1])} features, hiding cells and guessing them takes too long: left out."
        )
        return None
    X = content_sample(X, LOOK.rows)
    if len(X) < len(analysis.X):
        analysis.note("trust", f"The hidden cells are taken from {count(len(X))} of the {count(len(analysis.X))} rows.")
    first = first_features(prepare)
    hidden = hidden_cells(X[:, first], 0)
    numbers = np.array([not values for values in prepare.categories])
    hidden[:, ~numbers] &= not numbers.any()  # intervals are of numbers; categories count where there is nothing else
    everywhere = hidden[:, prepare.owner]
    if hidden.sum() < 10:
        analysis.note("trust", "Too few cells can be hidden to see how well they are guessed.")
        return None
    masked = np.where(everywhere, np.nan, X)
    try:
        guessed, spread = _imputer(analysis.model, analysis.robust).fit(masked).impute(masked, return_std=True)
    except ValueError:
        analysis.note("trust", "The model could not be fitted without the hidden cells.")
        return None
    off = np.abs(guessed - X)[everywhere]
    inside = off <= interval_factor(DEFAULTS.cover) * spread[everywhere]
    plain = (X - np.nanmean(masked, axis=0))[everywhere]
    rms = [float(np.sqrt(np.mean(error**2))) for error in (off, plain)]
    return HiddenCells(int(hidden.sum()), rms[0], rms[1], float(inside.mean()))


def interval_factor(level: float) -> float:
    """Half the width of a Gaussian interval, in standard deviations."""
    return float(ndtri(0.5 + level / 2))


def _clusters(analysis: Analysis, random_state: int) -> Clusters | None:
    """The mixture that held-out rows prefer; of a large table fitted to a part of its rows."""
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
    try:
        best = PPCAMixture(n_clusters="auto", random_state=random_state).fit(content_sample(X, LOOK.drawn))
    except ValueError:
        analysis.note("clusters", "The mixture could not be fitted to this table.")
        return None
    selection = best.selection_
    candidates = [candidate["n_clusters"] for candidate in selection.candidates]
    return Clusters(best, best.predict(X), candidates, selection.scores.tolist())


# ---------------------------------------------------------------- small tables


def missing_patterns(analysis: Analysis, most: int = 6) -> list[tuple[str, int]]:
    """The commonest combinations of missing columns, with how many rows have them."""
    by_column = column_holes(analysis)
    counts: Counter[tuple[int, ...]] = Counter(tuple(np.flatnonzero(row)) for row in by_column[by_column.any(axis=1)])
    names = analysis.prepare.names
    return [(", ".join(names[j] for j in pattern), count) for pattern, count in counts.most_common(most)]


def column_holes(analysis: Analysis) -> Array:
    """Holes by column of the table."""
    return analysis.holes[:, first_features(analysis.prepare)]
