"""PPCA of a table with holes: how many components it can support, which q, and PX-EM to the maximum [5, 10]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import assert_all_finite

from gramian._arrays import Array, has_nan, is_sparse
from gramian._checks import check_seen, warn_of_empty_rows, warn_of_one_value
from gramian._precision import HALF_DIGITS
from gramian._progress import Progress
from gramian._types import Points, RandomState
from gramian.evidence.cell_choice import choose_by_cells
from gramian.evidence.selection import Selection, without_evidence
from gramian.exceptions import NumericalWarning, warn
from gramian.latent.dimension import free_parameters, lowest_of_valley
from gramian.latent.gaussian import noise_or_zero
from gramian.latent.masked_table import ColumnSums
from gramian.latent.missing import MissingFit, fit_missing
from gramian.latent.model import PrimalModel, warn_of_rank
from gramian.latent.primal import latent_model
from gramian.policy import LOOK
from gramian.rows import Rows
from gramian.rows.draws import smallest_rows

SPARSE = 0.8
"""Share of missing entries from which on the number of components is held to what the table can support."""


@dataclass(frozen=True)
class HoleFit:
    """What is asked of a fit to rows with holes.

    ``n_components`` is a count, "auto" or "bic"; with a number as ``noise_variance`` "auto" is the rule of "bic".
    """

    n_components: Any
    noise_variance: float | None  # None: maximum likelihood
    center: bool
    tol: float
    max_iter: int
    random_state: RandomState
    verbose: int
    names: Array | None = None  # of the columns, for messages
    per_column: bool = False  # whether each column has a noise of its own

    def fitted(
        self, rows: Rows, sums: ColumnSums, start: MissingFit | None = None
    ) -> tuple[PrimalModel, Selection | None]:
        """The model, and how q was chosen where it was; ``start`` is where PX-EM begins."""
        q = self.n_components
        if not takes_holes(q):
            raise ValueError(
                f"n_components={q!r} needs complete data and one noise, but X contains NaN or each column has its own. "
                "Use 'auto', an integer or 'bic'."
            )
        self._check_shown(sums)
        q, limit = self._allowed(q, sums, rows.n_columns)
        selection = None
        if q == "auto" and self.noise_variance is None:
            selection, start = self._chosen(rows, limit)
            q = min(int(selection.chosen), max(limit, 0))
        if start is not None and start.loadings.shape[1] != q:
            start = None
        with Progress("PX-EM", total=self.max_iter, verbose=self.verbose) as bar:
            found = self._climbed(rows, q, bar, start) if isinstance(q, int) else self._by_bic(rows, sums, limit, bar)
        if not found.converged:
            warn(
                f"PX-EM did not converge in max_iter={self.max_iter} steps. Raise max_iter, or tol={self.tol:g}.",
                ConvergenceWarning,
            )
        return model_of_missing(found, rows.n_columns), selection

    def _check_shown(self, sums: ColumnSums) -> None:
        """No column without a value; rows without one are dropped, and said, and so are columns of one value."""
        check_seen(sums.counts > 0, self.names)
        warn_of_empty_rows(sums.n_rows - sums.n_shown)
        warn_of_one_value(sums.one_value, self.names)

    def _allowed(self, q: Any, sums: ColumnSums, d: int) -> tuple[Any, int]:
        """``q`` as far as the rows support it, and how far that is."""
        limit = min(sums.n_shown - int(self.center), d)
        if isinstance(q, int) and q > limit:
            raise ValueError(
                f"n_components={q} must be at most {limit}, the largest possible rank for {sums.n_shown} samples and {d} features."
            )
        limit = min(limit, supported_components(sums))
        if isinstance(q, int) and q > limit:
            warn(
                f"With {1 - sums.counts.sum() / (sums.weight * d):.0%} of the entries missing, too few are observed together to support "
                f"n_components={q}: imputing by it would be worse than by column means. {limit} components are kept.",
                NumericalWarning,
            )
            q = limit
        return q, limit

    def _chosen(self, rows: Rows, limit: int) -> tuple[Selection, MissingFit | None]:
        """How q was chosen on hidden cells, and a model to start from."""
        drawn = smallest_rows(rows, LOOK.rows)
        shown = ~np.isnan(drawn.rows).all(axis=1)
        largest = max(1, min(limit, rows.n_columns - 1))
        blocks = self._blocks(rows)
        found = choose_by_cells(drawn.rows[shown], drawn.weights[shown], largest, center=self.center, blocks=blocks)
        if found is None:
            return without_evidence(1, "q = 1: too few cells are observed to hide any"), None
        return found.selection, found.start(min(int(found.selection.chosen), max(limit, 0)))

    def _blocks(self, rows: Rows) -> Array | None:
        """One block of columns per noise."""
        return np.arange(rows.n_columns) if self.per_column else None

    def _climbed(self, rows: Rows, q: int, bar: Progress, start: MissingFit | None = None) -> MissingFit:
        return fit_missing(
            rows,
            q,
            noise_variance=self.noise_variance,
            center=self.center,
            tol=self.tol,
            max_iter=self.max_iter,
            random_state=self.random_state,
            progress=bar,
            start=start,
            blocks=self._blocks(rows),
        )

    def _by_bic(self, rows: Rows, sums: ColumnSums, limit: int, bar: Progress) -> MissingFit:
        """The q of the smallest BIC, found by doubling and then halving the bracket: a fit costs too much to try every q.

        0 says that there is no structure above the noise.
        """
        d, total = rows.n_columns, sums.shown
        fits: dict[int, MissingFit] = {}

        def bic(q: int) -> float:
            if q not in fits:
                fits[q] = self._climbed(rows, q, bar)
            noise = float(np.mean(fits[q].noise_variance))
            spread = noise + float((fits[q].loadings ** 2).sum()) / d
            noises = d if self.per_column else int(self.noise_variance is None)
            count = free_parameters(d, q, noise=noises, mean=self.center)
            if noise <= HALF_DIGITS * spread:
                # columns that determine each other: so many components explain everything, unless there are too few cells to tell
                return -np.inf if float(sums.counts.sum()) > 2 * count else np.inf
            levels = fits[q].log_likelihoods
            level = levels[-1] if len(levels) else 0.0  # of constant columns there is nothing to climb, whatever q
            return -2 * total * level + count * float(np.log(total))

        best = lowest_of_valley(bic, min(limit, d - 1))
        return fits[best]


def takes_holes(n_components: Any) -> bool:
    """Whether so many components can be found in a table with holes: a share of its variance, and Minka's rule, need the whole."""
    return not (isinstance(n_components, float) or n_components == "mle")


def supported_components(sums: ColumnSums) -> int:
    """How many components a very sparse table can support.

    A row that shows m entries says m - 1 things about the loadings. Where more than `SPARSE` is missing and there are fewer
    than five such things per loading, the maximum of the likelihood imputes worse than the column mean (measured).
    """
    d = len(sums.counts)
    cells = float(sums.counts.sum())
    if cells > (1 - SPARSE) * sums.weight * d:
        return d
    return int((cells - sums.shown) // (5 * d))


def model_of_missing(fitted: MissingFit, n_features: int) -> PrimalModel:
    """The canonical model of what PX-EM found, tiny noise set to exactly zero; with one per column none is."""
    loadings, noise = fitted.loadings, fitted.noise_variance
    if np.ndim(noise) == 0:
        spread = float((loadings**2).sum()) / n_features + noise
        noise = noise_or_zero(noise, spread, told=loadings.shape[1] < n_features)
    elif not np.any(noise):  # every column constant
        noise = 0.0
    if np.ndim(noise) == 0 and noise == 0:  # then nothing holds up axes that are rounding alone
        lengths = np.square(loadings).sum(axis=0)
        loadings = loadings[:, lengths > 4 * max(n_features, 8) * np.finfo(float).eps * lengths.max(initial=0.0)]
        warn_of_rank(fitted.loadings.shape[1], loadings.shape[1])
    model = latent_model(fitted.mean, loadings, noise)
    history = np.asarray(fitted.log_likelihoods)
    spectrum = replace(model.spectrum, n_iter=fitted.n_iter, converged=fitted.converged, log_likelihoods=history)
    return replace(model, spectrum=spectrum)


def check_finite_or_missing(X: Points) -> None:
    """Raise ValueError if an entry is infinite."""
    with np.errstate(over="ignore", invalid="ignore"):  # infinities of both signs are refused, not warned of
        assert_all_finite(X.data if sparse.issparse(X) else X, allow_nan=True, estimator_name="PPCA", input_name="X")


def has_holes(X: Points) -> bool:
    """Whether any entry is NaN."""
    values = X.data if is_sparse(X) else X
    holes = has_nan(values)
    if holes and sparse.issparse(X):
        raise ValueError("Sparse X contains NaN. Missing values need a dense table: use '.toarray()'.")
    return holes
