"""Rows to features and back, and rows of latents: `DeepRKM.encode`, `decode`, `sample`, `traverse` [11]."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_number, check_random_state
from gramian._types import RandomState, Views
from gramian.deep.intake import split_views
from gramian.views.predictions import ViewPredictions


class DecodedLatents(ViewPredictions):
    """The methods of `DeepRKM` that `MultiViewRKM` has not, or not so: its encoders and decoders, and draws from its prior."""

    maps_: Annotated[list[Any], "v: object"]
    prior_: Any
    _dtype: Annotated[str, "dtype"]

    def encode(self, X: Views) -> Any:
        """Features of every view: one array for one view, else in the container given to `fit` (a list for a table) [11].

        Parameters
        ----------
        X : table, list or dict of views
            None, or NaN rows, where a view is missing.

        Returns
        -------
        features: an array, or in the container given to `fit`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.encode(X).shape[0]
        150
        """
        rows = self._rows(X)
        found = []
        for v, feature_map in enumerate(self.maps_):
            features = np.full((len(rows), feature_map.dim), np.nan, dtype=rows.dtype)
            if rows.seen[:, v].any():
                features[rows.seen[:, v]] = feature_map.transform(rows.views[v][rows.seen[:, v]])
            found.append(features)
        return self._listed_or_one(found)

    def decode(self, F: Any) -> Any:
        """Rows of features, the inverse of `encode` as far as the decoders are [11].

        Parameters
        ----------
        F : features, as `encode` gives them

        Returns
        -------
        views: an array, or in the container given

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.decode(model.encode(X)).shape
        (150, 4)
        """
        check_is_fitted(self)
        if len(self.maps_) == 1 and not isinstance(F, list | dict):
            F = [F]
        parts = [F[name] for name in self._layout.names] if isinstance(F, dict) else list(F)
        if len(parts) != len(self.maps_):
            raise ValueError(f"Expected the features of {len(self.maps_)} views, got {len(parts)}.")
        return self._listed_or_one([feature_map.decode(f) for feature_map, f in zip(self.maps_, parts)])

    def _listed_or_one(self, parts: list[Array]) -> Any:
        if self._layout.kind == "dict":
            return dict(zip(self._layout.names, parts))
        return parts[0] if len(parts) == 1 and self._layout.kind == "table" else parts

    def sample(
        self, n_samples: int = 1, prior: str = "mixture", *, latent: Any = None, random_state: RandomState = None
    ) -> Any:
        """New rows: latents through the decoders, without noise [11].

        Parameters
        ----------
        n_samples : int, default=1
        prior : {"mixture", "normal"}, default="mixture"
            A mixture fitted to the training latents, or N(0, I).
        latent : array of shape (n, n_components_), optional
            Decode these instead.
        random_state : None, int, Generator or RandomState
            None uses the estimator's own.

        Returns
        -------
        views, in the container given to `fit`

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.sample(4, random_state=0).shape
        (4, 4)
        """
        check_is_fitted(self)
        check_choice("prior", prior, ("mixture", "normal"))
        if latent is not None:
            return self.inverse_transform(latent)
        count = check_count("n_samples", n_samples, 1)
        rng = check_random_state(self.random_state if random_state is None else random_state)
        if prior == "mixture":
            Z = np.asarray(self.prior_.sample(count, random_state=rng)[0])
        else:
            Z = rng.standard_normal((count, self.model_.n_components_))
        return self.inverse_transform(Z.astype(self._dtype, copy=False))

    def traverse(self, n: int = 9, scale: float = 3.0) -> Any:
        """Rows along each latent axis, from -scale to scale with the others at 0 [11].

        Parameters
        ----------
        n : int, default=9
            Steps on an axis.
        scale : float, default=3.0

        Returns
        -------
        ndarray of shape (n_components_, n, columns), or a list with one per view

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from gramian.deep import DeepRKM
        >>> X = load_iris().data.astype("float32")
        >>> model = DeepRKM(n_components=2, max_epochs=2, random_state=0).fit(X)
        >>> model.traverse(5).shape
        (2, 5, 4)
        """
        check_is_fitted(self)
        count = check_count("n", n, 1)
        q = int(self.model_.n_components_)
        steps = np.linspace(-1.0, 1.0, count) * check_number("scale", scale, 0.0)
        Z = (np.eye(q)[:, None, :] * steps[None, :, None]).reshape(q * count, q)
        views = split_views(self._layout, self.inverse_transform(Z.astype(self._dtype, copy=False)))
        found = [np.asarray(view).reshape(q, count, -1) for view in views]
        if len(found) == 1:
            return found[0]
        return found
