"""What a fitted model of views says of views: those that a row does not show, and all of them back from latents [4, 8]."""

from __future__ import annotations

from typing import Annotated, Any

from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, fitted_array
from gramian._checks import check_count, check_random_state, check_table, finite_answers
from gramian._types import RandomState, Table, Views
from gramian.latent.gaussian import noisy_rows
from gramian.rows import views_lazily
from gramian.single.input_law import InputLaw
from gramian.views.holes import filled_views, law_of_part
from gramian.views.latents import ViewLatents
from gramian.views.subspace import ViewSubspace
from gramian.views.tables import ViewLayout, ViewRows


class ViewPredictions(ViewLatents):
    """The methods of a model of views that go back to views. A subclass provides ``_layout``, ``_model`` and ``_answers``."""

    random_state: RandomState
    view_names_: Annotated[list[Any], "v"]
    noise_variances_: Annotated[Array, "+ v"]
    _layout: Annotated[ViewLayout, "its v"]

    @property
    def _subspace(self) -> ViewSubspace:
        return self._model.subspace

    def _rows(self, X: Views) -> ViewRows:
        """Views in the fitted order; entries of a linear view may be missing (not of the only view of a model without EM), those of a view
        with a kernel are at their means given the others."""
        check_is_fitted(self)
        rows = filled_views(self._layout.rows(self, X), self._view_law)
        alone = len(self.view_names_) == 1 and not isinstance(self.noise_variance, str)
        for v, part in enumerate(self._subspace.parts):
            if (alone or not part.invertible) and rows.views[v] is not None:
                rows.check_whole(v, self.view_names_[v])
        return rows

    def _view_law(self, v: int) -> InputLaw | None:
        """What the cells of a view with a kernel may be; None for linear views."""
        law = (self.__dict__.get("_view_laws") or [None] * len(self.view_names_))[v]
        part = self._subspace.parts[v]
        if law is not None or part.invertible or "_view_kept" not in self.__dict__:
            return law
        return self.__dict__["_view_kept"].get(f"law {v}", lambda: law_of_part(part.subspace))

    @views_lazily
    def predict_view(
        self,
        X: Views,
        view: Any,
        return_std: bool = False,
        n_draws: int | None = None,
        *,
        small_sample: bool = True,
        random_state: RandomState = None,
    ) -> Any:
        """A view from the others: E[φ_v | o] = μ_v + W_v E[z | o], mapped back to inputs [8].

        Parameters
        ----------
        X : table, list or dict of views
            Whatever other views are known; what is given of ``view`` itself is not looked at.
        view : name or position
        return_std : bool, default=False
            Also the predictive standard deviations, in the units of the inputs; 1.645 of them cover 90 %.
        n_draws : int, optional
            Draws from the same law in place of the mean, (n_draws, n_samples, number of columns).
        small_sample : bool, default=True
            Standard deviations from held-out rows, or widened for what few rows leave unknown, and rows beyond all held-out ones drawn
            back towards the mean [12]. False: mean and deviations of the fitted Gaussian.
        random_state : None, int, Generator or RandomState
            Of the draws; None: the estimator's own.

        Returns
        -------
        ndarray of shape (n_samples, number of columns of the view), or (mean, std), or draws
            Of frames a frame: the index of the rows given, and the names that the columns of the view had at `fit`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> petal, std = model.predict_view({"sepal": X[:3, :2]}, "petal", return_std=True)
        >>> petal.shape, std.shape
        ((3, 2), (3, 2))
        """
        check_is_fitted(self)
        layout = self._layout
        v = layout.position(view)
        given = self._rows(layout.without(X, v))
        rows, dtype, answers = given.without(v), given.dtype, self._answers
        if not return_std and n_draws is None:
            return layout.framed(X, v, answers.expected(rows, v, small_sample=small_sample).astype(dtype, copy=False))
        found = answers.predicted(rows, v, small_sample=small_sample)
        if n_draws is not None:
            rng = check_random_state(self.random_state if random_state is None else random_state)
            draws = answers.draws(found, v, check_count("n_draws", n_draws, 1), rng)
            return draws.astype(dtype, copy=False)
        mean, std = (layout.framed(X, v, part.astype(dtype, copy=False)) for part in (found.mean, found.std))
        return mean, std

    @views_lazily
    def impute(self, X: Views, return_std: bool = False, *, small_sample: bool = True) -> Any:
        """The views with what is missing at its expectation given what each row shows, in the container given; the rest untouched [8].

        With ``return_std`` also the predictive standard deviations, 0 where an entry was seen. Views that a row misses whole are
        answered as by `predict_view`.

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.
        return_std : bool, default=False
            Also return standard deviations.
        small_sample : bool, default=True
            Standard deviations with what few rows leave unknown [12]; False: those of the fitted Gaussian.

        Returns
        -------
        views in the container given, or (views, std)

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> import numpy as np
        >>> holes = X[:, 2:].copy()
        >>> holes[0] = np.nan
        >>> bool(np.isnan(model.impute({"sepal": X[:, :2], "petal": holes})["petal"]).any())
        False
        """
        rows = self._rows(X)
        answers, layout = self._answers, self._layout
        pairs = [answers.filled(rows, v, small_sample=small_sample) for v in range(len(self.view_names_))]
        filled, std = ([part.astype(rows.dtype, copy=False) for part in parts] for parts in zip(*pairs))
        full = layout.put_back(self, X, filled, self._with_filled)
        return (full, layout.put_back(self, X, std, self._with_spread)) if return_std else full

    @finite_answers
    def inverse_transform(self, Z: Table) -> Any:
        """Every view of the latents Z, E[φ_v | z] = μ_v + W_v z mapped back to inputs, in the container given to `fit` [4, 8].

        Linear views are exact; a feature map with an inverse is used; views with a kernel go through ``preimage``.

        Parameters
        ----------
        Z : array-like of shape (n, n_components_)
            Latent coordinates, one point per row.

        Returns
        -------
        views in the container of `fit`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.inverse_transform([[0.0, 0.0]])["petal"].shape
        (1, 2)
        """
        Z = self._check_latents(Z)
        latent = Z if self._rotation is None else Z @ self._rotation.T
        answers = self._answers
        views = [answers.inputs(v, latent).astype(Z.dtype, copy=False) for v in range(len(self.view_names_))]
        return self._layout.contain(views)

    @views_lazily
    def reconstruct(self, X: Views) -> Any:
        """Every view given the views shown: `inverse_transform` of `transform` [8].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing; NaN entries where a part of a linear view is.

        Returns
        -------
        views in the container of `fit`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> sorted(model.reconstruct({"sepal": X[:, :2]}))
        ['petal', 'sepal']
        """
        return self.inverse_transform(self.transform(X))

    @finite_answers
    def sample(self, n_samples: int = 1, *, latent: Table | None = None, random_state: RandomState = None) -> Any:
        """Draw all views of new rows, or (``latent=Z``) of given latents [2, 8].

        Linear views carry their noise; views with a kernel or a decoder are those of the noise-free feature point.

        Parameters
        ----------
        n_samples : int, default=1
            How many rows to draw.
        latent : array-like of shape (n, n_components_), optional
            Latents to start from; then one row is drawn for each of them.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        views in the container of `fit`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian import MultiViewRKM
        >>> X = load_iris().data
        >>> views = {"sepal": X[:, :2], "petal": X[:, 2:]}
        >>> model = MultiViewRKM(n_components=2, n_folds=None).fit(views)
        >>> model.sample(4, random_state=0)["sepal"].shape
        (4, 2)
        """
        check_is_fitted(self)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if latent is None:
            Z = rng.standard_normal((check_count("n_samples", n_samples), self.n_components_))
        else:
            Z = check_table(None, latent, reset=False, min_samples=0, name="latent")
            Z = Z if self._rotation is None else Z @ self._rotation.T
        answers, views = self._answers, []
        for v, part in enumerate(self._subspace.parts):
            rows = answers.inputs(v, Z)
            if part.invertible:
                rows = noisy_rows(rows, self.noise_variances_[v], rng)
            views.append(fitted_array(rows, vars(self).get("_dtype", "float64")))
        return self._layout.contain(views)
