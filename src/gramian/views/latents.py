"""What a fitted model of views says of rows, whatever views they show: latents, distances, densities [2, 8]."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, fitted_array
from gramian._checks import finite_answers
from gramian._types import Views
from gramian.latent.gaussian import Posterior, within_prior
from gramian.rows import views_lazily
from gramian.single.answers import LatentModelMixin
from gramian.tables.front_door import TakesFrames
from gramian.views.answers import ViewAnswers
from gramian.views.subspace import ViewModel
from gramian.views.tables import ViewRows


class NoDensityError(ValueError, AttributeError):
    """There is no density without noise: raises ValueError when called, and hasattr() says False."""


def score_samples(model: Any, X: Any) -> Array:
    """The log-likelihood of what each row shows."""
    return np.asarray(model._answers.log_density(model._rows(X)))


_lazy_density = views_lazily(score_samples)


class ViewLatents(TakesFrames, LatentModelMixin):
    """The methods of `MultiViewRKM` that go from views to latents. A subclass provides ``_rows(X)`` and ``_answers``."""

    noise_variance: Any
    noise_variance_: Annotated[float, "nonnegative"]
    _model: ViewModel
    _rotation: Annotated[Array | None, "% q q"]

    @property
    def _answers(self) -> ViewAnswers:
        raise TypeError(f"{type(self).__name__} does not say what answers.")

    def _rows(self, X: Views) -> ViewRows:
        raise TypeError(f"{type(self).__name__} does not say how to check views.")

    def _turned(self, latent: Array) -> Array:
        return latent if self._rotation is None else latent @ self._rotation

    @views_lazily
    def transform(self, X: Views) -> Array:
        """The posterior mean E[z | whatever a row shows] [8]; rows that show nothing get the prior mean 0.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.transform({"sepal": X[:, :2]}).shape
        (150, 2)
        """
        rows = self._rows(X)
        return self._turned(self._answers.posterior(rows).mean).astype(rows.dtype, copy=False)

    @finite_answers
    def posterior(self, X: Views) -> Posterior:
        """z given what is shown, ``.mean`` (n, q), ``.covariance`` (q, q) or (n, q, q), ``.sample(n_draws)`` [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        Posterior
            The law of the latents of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> z = model.posterior({"petal": X[:5, 2:]})
        >>> z.mean.shape, z.sample(3).shape
        ((5, 2), (3, 5, 2))
        """
        rows = self._rows(X)
        found = self._answers.posterior(rows)
        mean, covariance = self._turned(found.mean), within_prior(found.covariance, self._rotation)
        return Posterior(fitted_array(mean, rows.dtype), fitted_array(covariance, rows.dtype))

    @views_lazily
    def scores(self, X: Views) -> Array:
        """The principal scores t = Uᵀ(φ - μ) of the concatenated (scaled) views; unseen ones at their expectation [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.scores(views).shape
        (150, 2)
        """
        return self._answers.patterns(self._rows(X), self._gaussian.complete_scores)

    @views_lazily
    def residual(self, X: Views) -> Array:
        """Squared distance of the views shown to the principal subspace, in units of the scaled views [2] [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> bool((model.residual(views) >= 0).all())
        True
        """
        return self._answers.patterns(self._rows(X), self._gaussian.residual)

    @views_lazily
    def mahalanobis(self, X: Views) -> Array:
        """The squared Mahalanobis distance of the views shown [2] [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.mahalanobis(views).shape
        (150,)
        """
        return self._answers.patterns(self._rows(X), self._gaussian.mahalanobis)

    @property
    def score_samples(self) -> Any:
        """``score_samples(X)``: the log-likelihood of what each row shows [2, 8]; there is none at zero noise."""
        try:
            if "_model" in vars(self):
                self._gaussian.require_noise("score_samples")
            elif not isinstance(self.noise_variance, str) and self.noise_variance == 0:
                raise ValueError(
                    "score_samples needs noise, but noise_variance=0. Use residual(X), or another noise_variance."
                )
        except ValueError as error:
            raise NoDensityError(str(error)) from None
        return partial(_lazy_density, self)

    def score(self, X: Views, y: object = None) -> float:
        """The mean log-likelihood of the rows; at zero noise, where there is none, minus the mean squared residual [2, 8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.
        y : ignored

        Returns
        -------
        float
            Larger is better.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> bool(model.score(views) > MultiViewRKM(n_components=1, n_folds=None).fit(views).score(views))
        True
        """
        check_is_fitted(self)
        if not self._gaussian.has_density:
            return -float(np.mean(self.residual(X), dtype=np.float64))
        return float(np.mean(self.score_samples(X), dtype=np.float64))
