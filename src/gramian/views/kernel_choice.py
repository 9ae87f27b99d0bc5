"""Whether views are tied by straight lines alone or by curves too: by the error of views that were held out [8, 10]."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import is_auto
from gramian._content import row_hashes, smallest_positions
from gramian.evidence.selection import Selection, choose, without_evidence
from gramian.features import WithInputs
from gramian.kernels import RBF
from gramian.kernels._scales import median_distance
from gramian.policy import LOOK
from gramian.views.choice import from_all_others
from gramian.views.fit import ViewOptions, fit_views
from gramian.views.tables import ViewRows
from gramian.views.trusts import held_out_views

TOO_FEW = "too few rows show all views to hold any out"
LINEAR = "linear"


def choose_view_kernels(
    rows: ViewRows, weights: Array, options: ViewOptions, preimage: Any, widths: Sequence[float] = (2.0, 1.0, 0.5)
) -> tuple[list[Any], Selection]:
    """A kernel or feature map for each view that is left open, and the evidence.

    The open views are linear, or have their inputs beside Gaussian features (`WithInputs`), whose widths are multiples of the median distance
    between the rows of each view. Every candidate is fitted to at most `LOOK.rows` rows that show everything, and each view is predicted from
    all others for rows that were held out. The loss is the squared error in the units of the inputs over the variance of the view, mean
    over the views.
    """
    open_views = [v for v, spec in enumerate(options.specs) if is_auto(spec)]

    def specs_of(made: Sequence[Any]) -> list[Any]:
        found = list(options.specs)
        for v, spec in zip(open_views, made):
            found[v] = spec
        return found

    straight = specs_of([LINEAR] * len(open_views))
    if len(options.specs) < 2:
        return straight, _without(options, straight, "there is no other view that it could predict")
    shown = np.flatnonzero(rows.complete_rows & (weights > 0))
    if len(shown) < 2:
        return straight, _without(options, straight, TOO_FEW)
    shown = shown[smallest_positions(row_hashes(rows.take(shown).stacked), LOOK.rows)]
    some, shares = rows.take(shown), weights[shown]
    open_noise = isinstance(options.noise_variance, str)
    asked = options if open_noise else replace(options, noise_variance="per-view", n_components="auto")
    tried, losses = [], []
    for specs in [straight, *(specs_of(curved) for curved in _curved_maps(some, open_views, widths))]:
        loss = _losses(some, shares, replace(asked, specs=specs, space="auto", solver="auto", verbose=0), preimage)
        if loss is not None:
            tried.append(specs)
            losses.append(loss)
    if not losses:
        return straight, _without(options, straight, TOO_FEW)
    selection = choose(
        [_words(options, specs) for specs in tried], -np.array(losses).T, what="kernel", score="error of held-out views"
    )
    return tried[selection.index], selection


def _curved_maps(rows: ViewRows, open_views: Sequence[int], widths: Sequence[float]) -> list[list[Any]]:
    """The maps of the open views at each width, the widest first."""
    middles = [median_distance(np.asarray(rows.views[v], dtype=np.float64)) for v in open_views]
    return [[WithInputs(RBF(float(f"{width * middle:.6g}"))) for middle in middles] for width in widths]


def _losses(rows: ViewRows, weights: Array, options: ViewOptions, preimage: Any) -> Array | None:
    """The error of each fold; None where nothing can be held out, or nothing can be fitted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what matters is said of the fit to all rows
        try:
            fitted = fit_views(rows, weights, np.arange(len(rows)), options)
        except (ValueError, np.linalg.LinAlgError):
            return None
        held = held_out_views(
            rows,
            weights,
            fitted.model,
            n_folds=options.n_folds or LOOK.folds,
            preimage=preimage,
            names=options.names,
            built=fitted.views,
        )
        if held is None:
            return None
        found = []
        for answers in held.answers(from_all_others(len(options.names))):
            variance = held.variance(answers.question[1])
            if variance > 0:
                found.append(answers.losses / variance)
    return np.mean(found, axis=0) if found else None


def _words(options: ViewOptions, specs: list[Any]) -> dict[str, Any]:
    """A candidate as a parameter of the model."""
    kernel = LINEAR if all(spec == LINEAR for spec in specs) else dict(zip(options.names, specs))
    return {"kernel": kernel}


def _without(options: ViewOptions, specs: list[Any], why: str) -> Selection:
    return without_evidence(_words(options, specs), f"kernel linear: {why}")
