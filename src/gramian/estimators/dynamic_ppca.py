"""DynamicPPCA: probabilistic PCA of series, whose latents move [5, 8]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _get_feature_names

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_number, check_random_state, is_auto
from gramian._types import RandomState
from gramian.evidence import choose
from gramian.evidence.selection import Selection
from gramian.exceptions import warn
from gramian.latent.dynamic import (
    DynamicModel,
    autoregression,
    canonical,
    fit_dynamic,
    kalman_filter,
    usual_variances,
)
from gramian.latent.missing import fit_missing
from gramian.series.dynamic_answers import DynamicAnswers, check_size
from gramian.series.series import as_series
from gramian.series.stretches import N_STRETCHES
from gramian.series.time_index import describe_index, is_pandas
from gramian.single.answers import atomic, forget


class DynamicPPCA(DynamicAnswers):
    """Several series at once: y_t = μ + Wz_t + ε_t, with latents that follow their own past [5, 8].

    PPCA of the rows where latents do not move (``order=0``). Where they do, what was seen of some series at the newest times says
    something of the others (`nowcast`), and of the future of all (`predict`). Exact maximum likelihood by EM with the Kalman filter and
    smoother; gaps of any shape are passed over exactly. The first state has the stationary law, so series with a trend are differenced first.

    Parameters
    ----------
    n_components : int or "auto", default="auto"
        Latents. "auto": of 1 to 6, the fewest that say each next row of the last two fifths as well as the best.
    order : int, default=1
        How many past latents the next one depends on; 0: none.
    noise_variance : {"per-column", "ml"}, default="per-column"
        One noise for each series, or one for all, as in :class:`PPCA`; ``order=0`` with "ml" is PPCA.
    standardize : bool, default=True
        Divide series by their standard deviation first; answers are in units of the series.
    tol : float, default=1e-3
        EM stops when a step raises the log-likelihood by less than this times the root of the number of seen values.
    max_iter : int, default=500
    random_state : int, Generator or RandomState, optional
        For the start where rows have gaps.

    Attributes
    ----------
    n_components_ : int
    mean_ : ndarray of shape (n_series,)
    loadings_ : ndarray of shape (n_series, n_components_)
        In units of the series; columns are orthogonal in units of the model.
    transition_ : ndarray of shape (order, n_components_, n_components_)
    state_noise_ : ndarray of shape (n_components_, n_components_)
        Covariance of what moves the latents; their stationary variance is I.
    noise_variance_ : float or ndarray of shape (n_series,)
    selection_ : Selection
        Only where ``n_components="auto"``.
    log_likelihoods_ : ndarray
        One per step of EM, in units of the model; it never falls.

    References
    ----------
    docs/theory.md, sections 5 (EM) and 8 (views, forecasting).

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import DynamicPPCA
    >>> rng = np.random.default_rng(0)
    >>> factor = np.zeros(200)
    >>> for t in range(1, 200):
    ...     factor[t] = 0.9 * factor[t - 1] + rng.standard_normal()
    >>> Y = np.outer(factor, [1.0, -1.0, 0.5]) + 0.3 * rng.standard_normal((200, 3))
    >>> Y[-1, 1:] = np.nan
    >>> model = DynamicPPCA(1).fit(Y)
    >>> bool(abs(model.nowcast()[-1, 1] + factor[-1]) < 1)
    True
    """

    n_iter_: int
    _index: Annotated[dict[str, Any] | None, ""]
    selection_: Selection
    n_components_: Annotated[int, "=q"]
    log_likelihoods_: Annotated[Array, "*"]
    _scale: Annotated[Array, "++ d"]
    _seed: Annotated[int, "count"]

    def __init__(
        self,
        n_components: int | str = "auto",
        *,
        order: int = 1,
        noise_variance: str = "per-column",
        standardize: bool = True,
        tol: float = 1e-3,
        max_iter: int = 500,
        random_state: RandomState = None,
    ) -> None:
        self.n_components = n_components
        self.order = order
        self.noise_variance = noise_variance
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # ------------------------------------------------------------ fitting

    @atomic
    def fit(self, Y: Any) -> DynamicPPCA:
        """Fit to series [5, 10].

        Parameters
        ----------
        Y : array-like of shape (n_times, n_series)
            One row per time, equally spaced, oldest first; NaN marks what was not seen. A pandas index is continued by the forecasts.

        Returns
        -------
        DynamicPPCA

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> DynamicPPCA(2).fit(Y).loadings_.shape
        (4, 2)
        """
        check_choice("noise_variance", self.noise_variance, ("per-column", "ml"))
        check_count("order", self.order, 0)
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, 0.0)
        if not isinstance(self.standardize, bool | np.bool_):
            raise ValueError(f"standardize={self.standardize!r} must be True or False.")
        self._seed = int(check_random_state(self.random_state).integers(2**31))
        rows = self._checked(Y)
        forget(self)
        T, d = rows.shape
        if not is_auto(self.n_components):
            check_count("n_components", self.n_components, 1)
            if int(self.n_components) > min(d, T - 1):
                raise ValueError(
                    f"n_components={self.n_components} is too many for {T} rows of {d} series: at most {min(d, T - 1)}."
                )
        self._index = describe_index(Y)
        self._columns = [str(column) for column in Y.columns] if is_pandas(Y) else None
        self._scale = _spread(rows) if self.standardize else np.ones(d)
        scaled = rows / self._scale
        q = self._chosen(scaled) if is_auto(self.n_components) else int(self.n_components)
        model, history, converged = self._fitted(scaled, q, self.max_iter)
        if not converged:
            warn(f"EM did not converge in max_iter={self.max_iter} steps. Raise max_iter or tol.", ConvergenceWarning)
        model = canonical(model)
        self._rows, self.n_series_, self.n_components_ = rows, d, q
        self.log_likelihoods_, self.n_iter_ = history, max(1, len(history) - 1)
        self.mean_ = model.mean * self._scale
        self.loadings_ = model.loadings * self._scale[:, None]
        self.transition_, self.state_noise_ = model.transition, model.state_noise
        noise = model.noise * self._scale**2
        self.noise_variance_ = noise if self.noise_variance == "per-column" or self.standardize else float(noise[0])
        return self

    def _checked(self, Y: Any) -> Array:
        rows, single = as_series(Y, "Y")
        if single:
            raise ValueError("Y is one series. Give a table with one column per series, or use RKMForecaster.")
        if rows.shape[1] < 2 or len(rows) < self.order + 3:
            raise ValueError(f"Y has shape {rows.shape}: at least 2 series and {self.order + 3} times are needed.")
        _get_feature_names(Y)  # refuses names of which some are texts
        check_size(rows)
        rows = np.ascontiguousarray(rows)  # sums in one order, whatever the memory's
        few = np.flatnonzero((~np.isnan(rows)).sum(axis=0) < 2)
        if len(few):
            raise ValueError(f"Series {int(few[0])} has fewer than two observed values. Leave it out.")
        return rows

    def _fitted(self, scaled: Array, q: int, max_iter: int) -> tuple[DynamicModel, Array, bool]:
        """The model of so many latents, from PPCA's with the regression of its latents on those before."""
        q = min(q, scaled.shape[1])
        isotropic = self.noise_variance == "ml"
        kept = scaled[~np.isnan(scaled).all(axis=1)]
        first = fit_missing(kept, min(q, scaled.shape[1] - 1), tol=1e-6, max_iter=1000, random_state=self._seed)
        loadings = np.zeros((scaled.shape[1], q))
        loadings[:, : first.loadings.shape[1]] = first.loadings
        least = 1e-6 * float(usual_variances(scaled).mean())
        noise = np.full(scaled.shape[1], max(float(first.noise_variance), least))
        still = DynamicModel(np.array(first.mean), loadings, np.zeros((0, q, q)), np.eye(q), noise)
        start = still if self.order == 0 else self._moving(still, scaled)
        if self.order == 0 and isotropic:
            return still, kalman_filter(still, scaled).log_likelihoods.sum(keepdims=True), True
        return fit_dynamic(start, scaled, isotropic=isotropic, tol=self.tol, max_iter=max_iter)

    def _moving(self, still: DynamicModel, scaled: Array) -> DynamicModel:
        """Latents that do not move, and then half of what their own past says of them."""
        q, p = still.n_components, self.order
        transition = 0.5 * autoregression(kalman_filter(still, scaled).mean, p)
        largest = DynamicModel(still.mean, still.loadings, transition, np.eye(q), still.noise).largest_root
        transition = transition * (min(1.0, 0.9 / max(largest, 0.9)) ** np.arange(1, p + 1))[:, None, None]
        return DynamicModel(still.mean, still.loadings, transition, np.eye(q), still.noise)

    def _chosen(self, scaled: Array, *, most: int = 6, steps: int = 30) -> int:
        """How many latents, by the log-density of the last rows given those before them under a model of the first rows.

        Of 1 to ``most``; a trial has so many ``steps`` of EM, which make nearly all of the difference.
        """
        T, d = scaled.shape
        begin = max(self.order + 3, int(0.6 * T))
        counts = list(range(1, min(most, d - 1, begin - 2) + 1))
        edges = np.linspace(begin, T, N_STRETCHES + 1).astype(int)
        scores = np.full((N_STRETCHES, len(counts)), -np.inf)
        seen = (~np.isnan(scaled)).sum(axis=1)
        for column, q in enumerate(counts):
            if ((~np.isnan(scaled[:begin])).sum(axis=0) < 2).any():
                break
            model = self._fitted(scaled[:begin], q, min(steps, self.max_iter))[0]
            found = kalman_filter(model, scaled).log_likelihoods
            for fold in range(N_STRETCHES):
                part = slice(edges[fold], edges[fold + 1])
                scores[fold, column] = found[part].sum() / max(1, seen[part].sum())
        if not np.isfinite(scores).all():
            return 1
        self.selection_ = choose(counts, scores)
        return int(self.selection_.chosen)


def _spread(rows: Array) -> Array:
    spread = np.nanstd(rows, axis=0)
    size = np.nanmax(np.abs(rows), axis=0)
    return np.where(spread > 64 * np.finfo(float).eps * size, spread, 1.0)
