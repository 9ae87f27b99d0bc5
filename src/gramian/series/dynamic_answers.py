"""What a fitted DynamicPPCA says: latents, gaps, the newest rows and the next ones [5, 8]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from scipy.stats import norm
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_number, check_scale, finite_answers
from gramian._types import Table
from gramian.latent.dynamic import DynamicModel, forecast_laws, kalman_filter, kalman_smoother, row_variance
from gramian.series.series import as_series, check_steps
from gramian.series.time_index import describe_index, dress, is_pandas, last_index, wrap_forecasts, wrong_index
from gramian.single.answers import BaseEstimator


class DynamicAnswers(BaseEstimator):
    """The methods of `DynamicPPCA` that answer from the Kalman filter and smoother. A subclass provides what `fit` keeps."""

    mean_: Annotated[Array, "d"]
    loadings_: Annotated[Array, "d q"]
    transition_: Annotated[Array, "% p q q"]
    state_noise_: Annotated[Array, "% q q"]
    noise_variance_: Annotated[Any, "scales"]
    n_series_: Annotated[int, "=d"]
    _rows: Annotated[Array, "~ 1* d"]
    _index: Any
    _columns: Annotated[list[str] | None, ""]

    @property
    def _model(self) -> DynamicModel:
        check_is_fitted(self, "loadings_")
        noise = np.broadcast_to(self.noise_variance_, self.mean_.shape)
        return DynamicModel(self.mean_, self.loadings_, self.transition_, self.state_noise_, np.array(noise))

    def _own_rows(self, Y: Table | None) -> Array:
        check_is_fitted(self, "loadings_")
        if Y is None:
            return self._rows
        rows, _ = as_series(Y, "Y")
        if rows.shape[1] != self.n_series_:
            raise ValueError(f"Y has {rows.shape[1]} series, but the model was fitted to {self.n_series_}.")
        check_size(rows)
        return rows

    def score(self, Y: Table) -> float:
        """The log-likelihood of all rows, in units of the series [5].

        Parameters
        ----------
        Y : array-like of shape (n_times, n_series)
            NaN where not seen.

        Returns
        -------
        float

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> model = DynamicPPCA(1).fit(Y)
        >>> bool(model.score(Y) > model.score(2 * Y))
        True
        """
        return float(kalman_filter(self._model, self._own_rows(Y)).log_likelihoods.sum())

    @finite_answers
    def smooth(self, Y: Table | None = None, return_std: bool = False) -> Any:
        """E[z_t | all rows], from the Kalman smoother [5].

        Parameters
        ----------
        Y : array-like of shape (n_times, n_series), optional
            None: the rows that were fitted.
        return_std : bool, default=False

        Returns
        -------
        latents : ndarray of shape (n_times, n_components_)
        std : ndarray of shape (n_times, n_components_), only with ``return_std``

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> DynamicPPCA(2).fit(Y).smooth().shape
        (60, 2)
        """
        model = self._model
        law = kalman_smoother(model, kalman_filter(model, self._own_rows(Y)))
        q = model.n_components
        latents = law.mean[:, :q]
        if not return_std:
            return latents
        return latents, np.sqrt(np.diagonal(law.covariance[:, :q, :q], axis1=1, axis2=2))

    def _wrong_state(self) -> str | None:
        """What a model file may not say: an index that is none."""
        return wrong_index(vars(self).get("_index"))

    @finite_answers
    def impute(self, Y: Any = None, return_std: bool = False) -> Any:
        """The rows with their gaps filled, each from all that was seen before, then and later [5].

        Parameters
        ----------
        Y : array-like of shape (n_times, n_series), optional
            None: the rows that were fitted.
        return_std : bool, default=False

        Returns
        -------
        filled : as ``Y``
        std : as ``Y``, only with ``return_std``
            0 where seen.

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> Y[30, 2] = np.nan
        >>> bool(np.isfinite(DynamicPPCA(1).fit(Y).impute()).all())
        True
        """
        rows = self._own_rows(Y)
        found = self._filled(rows)
        if is_pandas(Y):
            found = tuple(dress(table, Y.index, Y.columns, None) for table in found)
        return found if return_std else found[0]

    def _filled(self, rows: Array) -> tuple[Array, Array]:
        model = self._model
        law = kalman_smoother(model, kalman_filter(model, rows))
        q = model.n_components
        holes = np.isnan(rows)
        guess = model.mean + law.mean[:, :q] @ model.loadings.T
        variance = row_variance(model, law.covariance[:, :q, :q]) + model.noise
        return np.where(holes, guess, rows), np.where(holes, np.sqrt(variance), 0.0)

    @finite_answers
    def nowcast(self, Y: Any = None, return_std: bool = False) -> Any:
        """The newest rows, complete: those from the first on after which some series was never seen again; at least the last [5].

        Parameters
        ----------
        Y : array-like of shape (n_times, n_series), optional
            None: the rows that were fitted.
        return_std : bool, default=False

        Returns
        -------
        rows : ndarray or DataFrame of shape (n_newest, n_series)
            What was seen as it is, the rest as what was seen of the others, and of the past, says.
        std : as ``rows``, only with ``return_std``

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> Y[-2:, 2] = np.nan
        >>> DynamicPPCA(1).fit(Y).nowcast().shape
        (2, 4)
        """
        rows = self._own_rows(Y)
        seen = ~np.isnan(rows)
        behind = np.where(seen.any(axis=0), seen[::-1].argmax(axis=0), 0)
        count = max(1, int(behind.max()))
        found = tuple(table[-count:] for table in self._filled(rows))
        described = self._index if Y is None else describe_index(Y)
        if described is not None:
            index = last_index(described, count)
            found = tuple(dress(table, index, self._columns, None) for table in found)
        return found if return_std else found[0]

    def _ahead(self, steps: int | Sequence[int], Y: Table | None) -> tuple[Array, Array, Array]:
        wanted = check_steps(steps)
        model = self._model
        law = kalman_filter(model, self._own_rows(Y))
        means, stds = forecast_laws(model, law.mean[-1], law.covariance[-1], int(wanted.max()))
        if not np.isfinite(means).all():
            raise ValueError("The forecasts leave the range of float64. Rescale the series and fit again.")
        return wanted, means[wanted - 1], stds[wanted - 1]

    @finite_answers
    def predict(self, steps: int | Sequence[int], Y: Table | None = None) -> Any:
        """Forecast the next rows [8].

        Parameters
        ----------
        steps : int, or list of positive ints
            How many rows, or which (1 is the next).
        Y : array-like of shape (n_times, n_series), optional
            Go on from these rows; None: from those that were fitted.

        Returns
        -------
        ndarray or DataFrame of shape (n_steps, n_series)

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> DynamicPPCA(1).fit(Y).predict(3).shape
        (3, 4)
        """
        wanted, means, _ = self._ahead(steps, Y)
        return means if Y is not None else wrap_forecasts(means, self._index, wanted, self._columns, None)

    @finite_answers
    def predict_interval(
        self, steps: int | Sequence[int], level: float = 0.9, Y: Table | None = None
    ) -> tuple[Any, Any]:
        """The ends of the central intervals that hold the next rows with probability ``level`` [8].

        Parameters
        ----------
        steps, Y
            As in `predict`.
        level : float, default=0.9

        Returns
        -------
        lower, upper : as `predict`

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import DynamicPPCA
        >>> Y = np.random.default_rng(0).standard_normal((60, 4))
        >>> lower, upper = DynamicPPCA(1).fit(Y).predict_interval(3)
        >>> bool((lower < upper).all())
        True
        """
        level = check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
        wanted, means, stds = self._ahead(steps, Y)
        reach = norm.ppf(0.5 + level / 2) * stds
        ends = means - reach, means + reach
        if Y is not None:
            return ends
        low, high = (wrap_forecasts(end, self._index, wanted, self._columns, None) for end in ends)
        return low, high


def check_size(rows: Array) -> None:
    """Refuse magnitudes that cannot be squared."""
    check_scale(float(np.nanmax(np.abs(rows), initial=0.0)), "Y")
