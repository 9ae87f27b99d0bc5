"""Training views of which rows miss entries, or whole views: the EM of holes with views as blocks of columns [5, 8]."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._progress import Progress
from gramian.estimators._view_fit import ViewFit, ViewOptions, cannot_miss, of_noise_fit
from gramian.estimators._view_specs import training_view
from gramian.estimators._view_tables import ViewRows
from gramian.latent.dimension import DEFAULT_FRACTION, check_n_components
from gramian.latent.view_noise import PartialView, fit_missing_views
from gramian.latent.views import ExplicitView


def fit_missing_rows(rows: ViewRows, weights: Array, options: ViewOptions) -> ViewFit:
    """Maximum likelihood of all that the rows show, with one noise or one per view."""
    q = check_n_components(None if options.n_components == "auto" else options.n_components, rules=())
    partials = []
    for v, (spec, view, name) in enumerate(zip(options.specs, rows.views, options.names)):
        shown = np.flatnonzero(rows.seen[:, v])
        if len(shown) < 2:
            raise ValueError(f"View {name!r} is shown by {len(shown)} row. At least 2 rows must show it.")
        if cannot_miss(spec):
            raise ValueError(f"View {name!r} has a precomputed kernel, which cannot miss rows at fit.")
        partials.append(PartialView(training_view(spec, view[shown], weights[shown]), shown, weights[shown]))
    widths = [p.view.features.shape[1] if isinstance(p.view, ExplicitView) else len(rows) for p in partials]
    limit = min(len(rows) - 1, sum(widths))
    if isinstance(q, int) and q > limit:
        raise ValueError(
            f"n_components={q} must be at most {limit}, the largest possible rank of these views. Lower it."
        )
    with Progress("EM", total=options.max_iter, verbose=options.verbose) as bar:
        fitted = fit_missing_views(
            partials,
            rows.seen,
            weights,
            DEFAULT_FRACTION if q is None else q,
            shared=options.noise_variance == "ml",
            tol=options.tol,
            max_iter=options.max_iter,
            progress=bar,
        )
    if not fitted.settled:
        warnings.warn(
            f"The EM for missing views did not converge in max_iter={options.max_iter} steps. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=4,
        )
    reason = "rows miss views, whose likelihood has no closed form"
    about = (float(weights.sum()), [p.view for p in partials], "em", reason, "EM over the observed views", reason)
    return of_noise_fit(fitted, *about)
