"""The feature-map contract: what the rest of gramian relies on, as one function that anyone can run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from gramian.features import FeatureMap, as_feature_map
from gramian.testing.kernel_contract import _close, _importable, _require


def check_feature_map(feature_map: Any, X: Any, *, kernel: Any = None, tolerance: float = 1e-10) -> None:
    """Run the contract on a feature map with rows it can take; an `AssertionError` says which promise is broken.

    Checked are: parameters (`get_params`, `clone`, pickle), that `fit` returns the map and `transform` needs it, ``dim`` and dtype,
    that a row's features do not depend on its company, that the same seed gives the same features, the inverse where there is
    one, and φ(x)ᵀφ(y) against ``kernel`` where one is given.

    Parameters
    ----------
    feature_map : FeatureMap or its name
        What is checked; it is cloned, not changed.
    X : array of shape (n, d)
        At least 4 rows.
    kernel : Kernel, optional
        The (resolved) kernel whose values the features should reproduce within ``tolerance`` of the largest.
    tolerance : float, default=1e-10
        See ``kernel``.

    Returns
    -------
    None
        Or an `AssertionError`.

    References
    ----------
    docs/add_a_kernel.md.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import features, kernels
    >>> from gramian.testing import check_feature_map
    >>> X = np.random.default_rng(0).normal(size=(12, 3))
    >>> check_feature_map(features.Polynomial(2, gamma=0.5), X, kernel=kernels.Polynomial(2, gamma=0.5))
    """
    X = np.asarray(X, dtype=np.float64)
    _require(X.ndim == 2 and X.shape[0] >= 4, f"give check_feature_map at least 4 rows, got shape {X.shape}")
    unfitted = clone(as_feature_map(feature_map))
    _require(isinstance(unfitted, FeatureMap), "clone must give a FeatureMap")
    try:
        unfitted.transform(X)
    except NotFittedError:
        pass
    else:
        raise AssertionError("transform before fit must raise NotFittedError.")
    if "random_state" in unfitted.get_params():
        unfitted.set_params(random_state=0)
    parameters = repr(unfitted.get_params())
    fitted = clone(unfitted)
    _require(fitted.fit(X) is fitted, "fit must return the map itself")
    _require(repr(fitted.get_params()) == parameters, "fit must not change the parameters")
    features = fitted.transform(X)
    _require(fitted.n_features_in_ == X.shape[1], "n_features_in_ must be the number of columns")
    _require(
        features.shape == (len(X), fitted.dim), f"transform has shape {features.shape}, dim says {(len(X), fitted.dim)}"
    )
    _require(bool(np.isfinite(features).all()), "features must be finite")
    _require(features.dtype == np.float64, f"features of float64 rows must be float64, got {features.dtype}")
    single = fitted.transform(X.astype(np.float32))
    _require(single.dtype == np.float32, f"features of float32 rows must be float32, got {single.dtype}")
    _close(np.vstack([fitted.transform(row[None, :]) for row in X[:4]]), features[:4], 1e-10, "features row by row")
    _close(clone(unfitted).fit(X).transform(X), features, 1e-12, "features of a second fit with the same seed")
    if _importable(type(fitted)):
        _close(pickle.loads(pickle.dumps(fitted)).transform(X), features, 0.0, "features after pickling")
    if fitted.invertible:
        _close(fitted.inverse_transform(features), X, 1e-10, "inverse_transform(transform(X)) against X")
    if kernel is not None:
        _close(features @ features.T, kernel(X), tolerance, "φ(x)ᵀφ(y) against the kernel")
