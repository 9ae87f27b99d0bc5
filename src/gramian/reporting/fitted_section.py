"""About a model that was fitted before: what it is, how good it is, and what it says of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.io.table_model import TableModel
from gramian.policy import DEFAULTS, PAGE
from gramian.reporting.analysis import WEAK, Analysis
from gramian.reporting.blocks import Card, Cards, Drawing, Grid, Note, Section, Text, shorten
from gramian.reporting.row_drawings import row_map, spectrum
from gramian.reporting.traits import Traits
from gramian.reporting.words import FACTS, count, percent, plural

HEADING = "The fitted model"


def of_table(analysis: Analysis) -> Section | None:
    """What the fitted model says of the rows of the table."""
    fitted = analysis.fitted
    if fitted is None:
        return None
    section = Section(HEADING, [_facts(fitted)])
    if fitted.kind == "classifier":
        section.add(*_confusion(analysis, fitted))
    elif fitted.kind == "regressor":
        section.add(*_against_truth(analysis, fitted))
    elif fitted.kind in ("mixture", "kernel-mixture"):
        labels = np.asarray(fitted.estimator.predict(analysis.X)) + 1
        sizes = np.unique(labels, return_counts=True)
        section.add(Grid(["cluster", "rows"], [[int(k), int(n)] for k, n in zip(*sizes)]))
    return section


def _facts(fitted: TableModel) -> Grid:
    rows = [[FACTS.get(name, name), _value(v)] for name, v in fitted.facts.items()]
    return Grid([f"{fitted.kind} model", "value"], rows, "Held-out: on rows that models like it have not seen.")


def _value(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_value(item) for item in value[:12])
    return f"{value:.4g}" if isinstance(value, float) else shorten(str(value), 80)


def _confusion(analysis: Analysis, fitted: TableModel) -> list[Any]:
    """Which classes are taken for which."""
    target = fitted.preprocessing.target
    if target is None or target not in analysis.table:
        return [Note("The table does not have the target: there is nothing to compare with.")]
    truth = np.array([str(value) for value in analysis.table[target].tolist()])
    said = np.array([str(label) for label in fitted.estimator.predict(analysis.X)])
    labels = [str(label) for label in fitted.estimator.classes_]
    if len(labels) > PAGE.rows:
        return [Text(f"{100 * np.mean(said == truth):.1f} % of the {count(len(truth))} rows are classified right.")]
    rows = [[label, *(int(((truth == label) & (said == other)).sum()) for other in labels)] for label in labels]
    caption = f"True classes down, predicted ones across: {100 * np.mean(said == truth):.1f} % right. Rows that the model was fitted on count too."
    return [Grid([f"{shorten(target, 20)}, taken for", *(shorten(label, 20) for label in labels)], rows, caption)]


def _against_truth(analysis: Analysis, fitted: TableModel) -> list[Any]:
    """Predictions over the truth."""
    prepare = fitted.preprocessing
    if prepare.target is None or prepare.target not in analysis.table:
        return [Note("The table does not have the target: there is nothing to compare with.")]
    truth: Array = np.asarray(analysis.table[prepare.target], dtype=float)
    unit, shift = prepare.target_scale, prepare.target_mean
    mean = np.ravel(fitted.estimator.predict(analysis.X)) * unit + shift
    lower, upper = (np.ravel(end) * unit + shift for end in fitted.estimator.interval(analysis.X, DEFAULTS.cover))
    rows = np.flatnonzero(~np.isnan(truth))[:1200]
    outside = (truth < lower) | (truth > upper)
    names = [shorten(analysis.row_name(int(i)), 60) for i in rows]
    name = shorten(prepare.target, 24)
    picture = row_map(
        np.column_stack([mean, truth])[rows], names, None, outside[rows], (f"{name}, predicted", f"{name}, true")
    )
    words = f"Rings: outside the {100 * DEFAULTS.cover:.0f} % interval. Rows that the model was fitted on count too."
    return [Drawing(picture, words)]


def of_model(fitted: TableModel) -> list[Section]:
    """The page of a model alone, without a table."""
    prepare, estimator = fitted.preprocessing, getattr(fitted.estimator, "estimator_", fitted.estimator)
    good = {name: value for name, value in fitted.facts.items() if name.startswith(("held-out", "agreement"))}
    cards = [
        Card("Model", fitted.kind, f"{type(fitted.estimator).__name__} of {plural(prepare.n_rows, 'row')}."),
        Card("Columns", count(len(prepare.names)), f"{plural(len(prepare.features), 'feature')} after coding."),
    ]
    shown = [(name, value) for name, value in good.items() if "share inside" not in name and "error" not in name][:1]
    shown += [(name, value) for name, value in good.items() if "share inside" in name][:1]
    cards += [
        Card(
            name[:1].upper() + name[1:],
            _value(value),
            f"On rows that models like it have not seen.{_hardly(name, value)}",
        )
        for name, value in shown
    ]
    first = Section("At a glance", [Cards(cards)])
    if not good:
        first.add(
            Note(
                "How good the model is on rows it has not seen was not kept in the file: fit it with this version, or give a table."
            )
        )
    sections = [first, Section(HEADING, [_facts(fitted)])]
    loadings = getattr(estimator, "loadings_", None)
    if isinstance(loadings, np.ndarray) and loadings.ndim == 2 and loadings.shape[1]:
        sections.append(_components(estimator, Traits.of(prepare)))
    kinds = [
        [shorten(name), f"{len(values)} values" if values else "number"]
        for name, values in zip(prepare.names, prepare.categories)
    ]
    means = [
        [*row, None if values else float(prepare.mean[j]), None if values else float(prepare.scale[j])]
        for row, values, j in zip(kinds, prepare.categories, np.searchsorted(prepare.owner, np.arange(len(kinds))))
    ]
    sections.append(Section("The columns", [Grid(["column", "kind", "mean", "std"], means[:60])]))
    return sections


def _hardly(name: str, value: float) -> str:
    """Honest words where a model knows next to nothing."""
    return " That is hardly better than the plain mean." if "R2" in name and value < WEAK else ""


def _components(estimator: Any, traits: Traits) -> Section:
    section = Section("Structure and noise")
    section.add(
        Drawing(
            spectrum(estimator.explained_variance_, float(estimator.noise_variance_)),
            "Variance along each direction, and the noise.",
        )
    )
    rows = []
    for k in range(min(estimator.loadings_.shape[1], PAGE.components)):
        rows.append(
            [f"z{k + 1}", percent(float(estimator.explained_variance_ratio_[k])), traits.in_words(estimator, k)]
        )
    return section.add(Grid(["component", "share of variance", "columns that move most with it"], rows))
