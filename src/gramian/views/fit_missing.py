"""Training views of which rows miss entries, or whole views: the EM of holes with views as blocks of columns [5, 8]."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._checks import check_n_components, check_seen
from gramian._content import row_hashes
from gramian._progress import Progress
from gramian.evidence.selection import Selection
from gramian.exceptions import warn
from gramian.policy import DEFAULTS, LOOK
from gramian.views.fit import (
    ViewFit,
    ViewOptions,
    cannot_miss,
    chosen_components,
    of_noise_fit,
    rule,
    with_selection,
)
from gramian.views.missing import PartialView, fit_missing_views
from gramian.views.noise import NoiseFit
from gramian.views.specs import choose_space, is_linear, training_view, weights_of_views
from gramian.views.tables import ViewRows
from gramian.views.view import ExplicitView, ViewSample, ViewTable

HOLES = "rows miss views, whose likelihood has no closed form"
NOT_SETTLED = "The EM for missing views did not converge in max_iter={} steps. Raise max_iter or tol."


def fit_missing_rows(rows: ViewRows, weights: Array, options: ViewOptions) -> ViewFit:
    """Maximum likelihood of all that the rows show, with one noise or one per view."""
    partials = []
    for v, (spec, view, name) in enumerate(zip(options.specs, rows.views, options.names)):
        shown = np.flatnonzero(rows.seen[:, v])
        check_shown(len(shown), name)
        if cannot_miss(spec):
            raise ValueError(f"View {name!r} has a precomputed kernel, which cannot miss rows at fit.")
        partials.append(PartialView(training_view(spec, view[shown], weights[shown]), shown, weights[shown]))
    check_seen(np.concatenate([~np.isnan(view).all(axis=0) for view in rows.views]))
    q, selection = options.n_components, None
    if q == "auto":
        q, selection = _chosen_components(rows, weights, options)
    q = check_n_components(q, rules=())
    widths = [p.view.features.shape[1] if isinstance(p.view, ExplicitView) else len(rows) for p in partials]
    check_rank(q, min(len(rows) - 1, sum(widths)))
    fitted = climb_views(partial(fit_missing_views, partials, weights), q, options)
    about = (float(weights.sum()), [p.view for p in partials], "em", HOLES, "EM over the observed views", HOLES)
    return with_selection(of_noise_fit(fitted, *about), selection)


def climb_views(fit: Callable[..., NoiseFit], q: int | float | None, options: ViewOptions) -> NoiseFit:
    """The EM of views with holes, with its bar, and a warning where it did not settle."""
    with Progress("EM", total=options.max_iter, verbose=options.verbose) as bar:
        fitted = fit(
            DEFAULTS.explained if q is None else q,
            shared=options.noise_variance == "ml",
            tol=options.tol,
            max_iter=options.max_iter,
            random_state=options.random_state,
            progress=bar,
        )
    if not fitted.settled:
        warn(NOT_SETTLED.format(options.max_iter), ConvergenceWarning)
    return fitted


def _chosen_components(rows: ViewRows, weights: Array, options: ViewOptions) -> tuple[Any, Selection]:
    """q chosen on the rows that show everything, where those are many; else on all rows, linear views filled with their means."""
    complete = np.flatnonzero(rows.complete_rows)
    if len(complete) < LOOK.fewest:
        if not all(is_linear(spec) for spec in options.specs):
            return None, rule("95 % of the variance, since few rows show all views")
        chosen, shares = ViewRows.of([_fill(view, weights) for view in rows.views]), weights
    else:
        chosen, shares = rows.take(complete), weights[complete]
    views = tuple(training_view(spec, view, shares) for spec, view in zip(options.specs, chosen.views))
    table = ViewTable(views, shares / shares.sum(), float(shares.sum()))
    beta = weights_of_views(options.view_weights, table, options.names)
    space, _ = choose_space("auto", table, options.names)
    return chosen_components(ViewSample(table, np.sqrt(beta), space), row_hashes(chosen.stacked), options)


def _fill(view: Array, weights: Array) -> Array:
    seen = ~np.isnan(view)
    return np.where(seen, view, weights @ np.where(seen, view, 0.0) / (weights @ seen))


def check_shown(count: int, name: Any) -> None:
    """A view that no two rows show cannot be learnt."""
    if count < 2:
        raise ValueError(f"View {name!r} is shown by {count} row. At least 2 rows must show it.")


def check_rank(q: Any, limit: int) -> None:
    """No more components than the views have directions."""
    if isinstance(q, int) and q > limit:
        raise ValueError(
            f"n_components={q} must be at most {limit}, the largest possible rank of these views. Lower it."
        )
