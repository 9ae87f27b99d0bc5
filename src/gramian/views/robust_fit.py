"""What a model of linear views believes of its rows: which cells are wild, how much each row counts [8, 14]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.evidence.robustness import Robust, believe_cells
from gramian.latent.missing import MissingFit
from gramian.latent.student import fit_student
from gramian.latent.units import Units
from gramian.single.robust_fit import RobustFit
from gramian.views.specs import is_linear
from gramian.views.tables import ViewRows


def believed_views(rows: ViewRows, weights: Array, n_components: Any, noise_variance: Any, kind: str) -> Robust:
    """Flags and weights of all columns side by side; rows of positive weight that show something.

    Cells are judged in units of their columns, under one noise. Rows are weighed in the units of the views, by the multivariate t with the
    noise that was asked for: a noise per view, one for all, or a number.
    """
    X = np.asarray(rows.stacked, dtype=np.float64)
    found = believe_cells(X, weights, "auto" if kind == "auto" else "cells")
    if kind != "rows":
        return replace(found, row_weights=np.maximum(found.row_weights, np.finfo(float).eps))
    wild = found.all_flags(X)
    units = Units.of(np.where(wild, np.nan, X), weights)
    found, model = RobustFit(units.into(X), weights, n_components, None, True).rows(wild)
    widths = _widths(rows)
    per_view = noise_variance == "per-view"
    blocks = np.repeat(np.arange(len(widths)), widths) if per_view else None
    noises = np.broadcast_to(model.noise_variance, X.shape[1]) * units.scale**2
    noise = np.array([part.mean() for part in split_views(noises, rows)]) if per_view else float(noises.mean())
    start = MissingFit(units.back(model.mean[None])[0], model.loadings * units.scale[:, None], noise, [], 0, True)
    fixed = None if isinstance(noise_variance, str) or noise_variance == 0 else float(noise_variance)
    fit = fit_student(X, start, weights=weights, noise_variance=fixed, blocks=blocks)
    return replace(found, row_weights=fit.row_weights, degrees_of_freedom=fit.degrees_of_freedom)


def without_cells(rows: ViewRows, flags: Array) -> ViewRows:
    """The rows with holes in the place of flagged cells."""
    parts = zip(split_views(flags, rows), rows.views)
    return ViewRows.of([np.where(part, np.nan, view) for part, view in parts])


def split_views(columns: Array, rows: ViewRows) -> list[Array]:
    """What belongs to each view of an array whose last axis has the columns of all views."""
    return np.split(columns, np.cumsum(_widths(rows))[:-1], axis=-1)


def _widths(rows: ViewRows) -> list[int]:
    return [view.shape[1] for view in rows.views]


def check_robust_views(robust: Any, specs: Sequence[Any], names: Sequence[Any], noise_variance: Any) -> None:
    """Linear views only, and a noise that goes with holes."""
    for spec, name in zip(specs, names):
        if not is_linear(spec):
            raise ValueError(
                f"robust={robust!r} needs linear views, but view {name!r} has a kernel or a feature map. Use robust=False, or kernel='linear'."
            )
    if robust != "rows" and not isinstance(noise_variance, str):
        raise ValueError(
            f"robust={robust!r} takes wild cells as holes, which needs noise_variance='ml' or 'per-view', not {noise_variance!r}."
        )
