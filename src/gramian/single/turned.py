"""Latents in turned coordinates, where a primal model has a ``rotation`` [20]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from gramian._arrays import Array, float_dtype
from gramian._checks import finite_answers
from gramian._types import Table
from gramian.latent.gaussian import Posterior, within_prior
from gramian.latent.rotation import Rotation
from gramian.rows import lazily
from gramian.single.answers import LatentModelMixin


class TurnedMixin(LatentModelMixin):
    """What goes out as a latent is turned, what comes in as one is turned back; all else is as ever."""

    rotation_: Annotated[Any, "maybe q q"]

    @property
    def factor_correlations_(self) -> Array:
        """How the turned latents correlate; only with a ``rotation`` [20]."""
        return self._turn().correlations

    def _turn(self) -> Rotation:
        return Rotation(np.asarray(self.rotation_))

    @lazily
    def transform(self, X: Table) -> Array:
        """The posterior mean E[z | x]: latent coordinates with prior N(0, I) [2], turned where there is a ``rotation`` [20].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> plain, turned = (PPCA(n_components=2, rotation=name).fit(X) for name in (None, "varimax"))
        >>> plain.transform(X).mean(axis=0).round(6) + 0.0
        array([0., 0.])
        >>> np.allclose(plain.transform(X) @ plain.loadings_.T, turned.transform(X) @ turned.loadings_.T)
        True
        """
        latents = super().transform(X)
        return self._turn().factors(latents).astype(latents.dtype, copy=False) if self._turns else latents

    @finite_answers
    def posterior(self, X: Table) -> Posterior:
        """z | x with ``.mean`` (n, q), ``.covariance`` (q, q), or (n, q, q) where rows miss entries, and ``.sample(n_draws)`` [2]; turned where
        there is a ``rotation`` [20].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows, with the columns of `fit`.

        Returns
        -------
        Posterior
            The law of the latents of each row.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import PPCA
        >>> X = load_iris().data
        >>> z = PPCA(n_components=2).fit(X).posterior(X[:5])
        >>> z.mean.shape, z.covariance.shape, z.sample(3).shape
        ((5, 2), (2, 2), (3, 5, 2))
        """
        found = super().posterior(X)
        if not self._turns:
            return found
        turn, dtype = self._turn(), found.mean.dtype
        return Posterior(
            turn.factors(found.mean).astype(dtype, copy=False),
            within_prior(found.covariance, turn.matrix).astype(dtype, copy=False),
        )

    @property
    def _turns(self) -> bool:
        return getattr(self, "rotation", None) is not None

    def _check_latents(self, Z: Table) -> Array:
        Z = super()._check_latents(Z)
        return self._turn().latents(Z).astype(float_dtype(Z), copy=False) if self._turns else Z
