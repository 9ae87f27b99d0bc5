"""Which kind of model fills a table best: PPCA, a mixture of them or a kernel model, judged on hidden cells [10, 18]."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import SmallestRows
from gramian.estimators.kernel_ppca import KernelPPCA
from gramian.estimators.ppca_mixture import PPCAMixture
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import hidden_cells
from gramian.evidence.selection import Selection, choose

N_DRAWS = 3
"""Draws of hidden cells; one that is better in all of them is better by more than a standard error."""
CHOOSING_ROWS = 400
"""Rows of a trial: with them all trials together take a few seconds, about as long as the choice of PPCA's noise on a table of 60 columns."""
MOST_ROWS, MOST_COLUMNS = 2000, 200
"""Larger tables are left to PPCA: a kernel model looks at all pairs of rows."""
CLUSTERS, ROWS_PER_CLUSTER, CLUSTERED_COLUMNS = (3, 6), 20, 50
"""Mixtures that are tried, the rows that each of their components needs, and up to how many columns."""
LINEAR = "PPCA"


@dataclass(frozen=True)
class FamilyChoice:
    """The selection, the chosen model (None: PPCA), and the scales of its standard deviations."""

    selection: Selection
    model: Any
    scales: Array


def candidates(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Models beside PPCA that a table of this size is worth, the simplest first.

    >>> list(candidates(300, 10)), list(candidates(50_000, 10))
    (['PPCAMixture(3)', 'PPCAMixture(6)', 'KernelPPCA'], [])
    """
    if n_rows > MOST_ROWS or n_columns > MOST_COLUMNS:
        return {}
    found: dict[str, Any] = {}
    for count in CLUSTERS:
        if n_columns <= CLUSTERED_COLUMNS and n_rows >= ROWS_PER_CLUSTER * count:
            found[f"PPCAMixture({count})"] = PPCAMixture(count, random_state=0)
    return {**found, "KernelPPCA": KernelPPCA(random_state=0)}


def choose_family(
    linear: Callable[[Array, Array], Any],
    fill: Callable[[Any, Array], tuple[Array, Array]],
    table: Array,
    weights: Array,
    least_std: float | Array,
) -> FamilyChoice | None:
    """The model whose squared error of hidden cells is best; PPCA unless another is better by more than one standard error.

    ``linear`` fits PPCA with what was settled of it to a table and weights, ``fill`` is a model's answer to a table. None where the table is
    too large for other models, or nothing can be hidden.
    """
    models = candidates(*table.shape)
    drawn = SmallestRows.of(table, weights, CHOOSING_ROWS)
    spread = np.nanstd(table, axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    names, scores, deviations = [LINEAR, *models], [], []
    for draw in range(N_DRAWS if models else 0):
        hidden = hidden_cells(drawn.rows, draw, drawn.hashes)
        if not hidden.any():
            continue
        shown = np.where(hidden, np.nan, drawn.rows)
        columns = hidden.nonzero()[1]
        row, beyond = [], {}
        for name in names:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit to all cells has its say
                try:
                    model = (
                        linear(shown, drawn.weights)
                        if name == LINEAR
                        else clone(models[name]).fit(shown, sample_weight=drawn.weights)
                    )
                    filled, std = fill(model, shown)
                except ValueError:  # too few cells for this model
                    row.append(-np.inf)
                    continue
            missed = (filled - drawn.rows)[hidden]
            row.append(-float(np.square(missed / unit[columns]).mean()))
            beyond[name] = (missed / np.maximum(std, least_std)[hidden], columns)
        scores.append(row)
        deviations.append(beyond)
    if len(scores) < 2:
        return None
    working = np.asarray(np.isfinite(scores).all(axis=0))
    if not working[0]:
        return None
    kept = [name for name, works in zip(names, working) if works]
    selection = choose(
        [{"estimator": name} for name in kept],
        np.array(scores)[:, working],
        what="model",
        score="squared error of hidden cells",
    )
    chosen = selection.chosen["estimator"]
    parts = [beyond[chosen] for beyond in deviations]
    values, columns = (np.concatenate(found) for found in zip(*parts))
    scales = column_scales(values, columns, table.shape[1])
    return FamilyChoice(selection, None if chosen == LINEAR else clone(models[chosen]), scales)
