"""What the model on frozen maps answers: latents, distances, densities, and views back from latents [8, 11]."""

from __future__ import annotations

from typing import Any

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._types import Table, Views
from gramian.estimators._view_tables import ViewLayout
from gramian.estimators.multiview import MultiViewRKM


class FrozenAnswers(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """The methods of `DeepRKM` that its ``model_`` answers, on views that were checked under the estimator's own name."""

    model_: MultiViewRKM
    _layout: ViewLayout

    def _given(self, X: Views) -> Any:
        """X as a list of views, which ``model_`` takes too; a table is checked under this estimator's name."""
        check_is_fitted(self)
        return list(self._layout.rows(self, X).views)

    def transform(self, X: Views) -> Array:
        """The posterior mean E[z | whatever views a row shows] [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.transform(X).shape
        (150, 2)
        """
        return self._asked("transform", X)

    def _asked(self, method: str, X: Views) -> Any:
        return getattr(self.model_, method)(self._given(X))

    def posterior(self, X: Views) -> Any:
        """z given the views shown, with ``.mean``, ``.covariance`` and ``.sample(n_draws)`` [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        Posterior
            The law of the latents of each row.

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.posterior(X[:5]).mean.shape
        (5, 2)
        """
        return self.model_.posterior(self._given(X))

    def scores(self, X: Views) -> Array:
        """The principal scores of the concatenated features; unseen ones at their expectation.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples, n_components_)

        References
        ----------
        [8] docs/theory.md, section 8: views (AC), and what the papers do not say.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.scores(X).shape
        (150, 2)
        """
        return self._asked("scores", X)

    def residual(self, X: Views) -> Array:
        """Squared distance of the features shown to the principal subspace.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples,)

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.residual(X).shape
        (150,)
        """
        return self._asked("residual", X)

    def mahalanobis(self, X: Views) -> Array:
        """The squared Mahalanobis distance of the features shown.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples,)

        References
        ----------
        [2] docs/theory.md, section 2: the Gaussian latent model.
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.mahalanobis(X).shape
        (150,)
        """
        return self._asked("mahalanobis", X)

    def score_samples(self, X: Views) -> Array:
        """The log-density of each row's *features*: ranks rows under one model, never compares two fits [11].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        ndarray of shape (n_samples,)

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.score_samples(X).shape
        (150,)
        """
        return self._asked("score_samples", X)

    def score(self, X: Views, y: object = None) -> float:
        """As ``model_.score``: a density of features, not comparable between fits. Compare fits by ``scoring="reconstruction"``.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.
        y : ignored

        Returns
        -------
        float

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> isinstance(model.score(X), float)
        True
        """
        return float(self.model_.score(self._given(X)))

    def inverse_transform(self, Z: Table) -> Any:
        """Every view of the latents Z through its decoder, in the container given to `fit`.

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        views, in the container given to `fit`

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.inverse_transform([[0.0, 0.0]]).shape
        (1, 4)
        """
        check_is_fitted(self)
        return self.model_.inverse_transform(Z)

    def reconstruct(self, X: Views) -> Any:
        """Every view given the views shown: `inverse_transform` of `transform`.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        views, in the container given to `fit`

        References
        ----------
        [11] docs/theory.md, section 11: trained maps (AC algorithms 3 and 4), as they work.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.reconstruct(X).shape
        (150, 4)
        """
        return self.inverse_transform(self.transform(X))
