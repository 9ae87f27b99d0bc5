"""The pre-image contract: what the rest of gramian relies on, as one function that anyone can run."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian.kernels import Linear, as_kernel
from gramian.preimage import as_preimage, has_identity_features
from gramian.testing.kernel_contract import _close, _require


def check_preimage(preimage: Any, X: Any, *, kernel: Any = "rbf", tolerance: float = 1e-4) -> None:
    """Run the contract on a pre-image with rows and a kernel it can take; an `AssertionError` says what is broken.

    Checked are: parameters (`get_params`, `clone`, pickle), that `fit` returns the object, shapes and dtypes, that answers
    are finite and within the scale of the data however far the feature point lies, that they are the same twice and do
    not depend on their company, that ``X`` and the arguments are left as they were, exactness on the linear kernel where
    the object says ``exact_on_linear``, and that training points are reproduced where it says ``reproduces_training``.

    Parameters
    ----------
    preimage : pre-image or its name
        What is checked; it is cloned, not changed. It needs no more than ``fit(X, K0, *, kernel, scores)`` and
        ``transform(weights, kernel_values)``.
    X : array of shape (n, d)
        At least 8 distinct rows.
    kernel : Kernel or its name, default="rbf"
        A kernel that the method takes.
    tolerance : float, default=1e-4
        For training points given back, as a fraction of the data's spread.

    Returns
    -------
    None
        Or an `AssertionError`.

    References
    ----------
    docs/add_a_preimage.md.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.testing import check_preimage
    >>> check_preimage("fixed_point", np.random.default_rng(0).normal(size=(30, 2)))
    """
    X = np.array(X, dtype=np.float64)
    _require(X.ndim == 2 and X.shape[0] >= 8, f"give check_preimage at least 8 rows, got shape {X.shape}")
    kernel = as_kernel(kernel).resolve(X)
    unfitted = clone(as_preimage(preimage))
    parameters = repr(unfitted.get_params())
    spread = float(np.linalg.norm(X - X.mean(axis=0), axis=1).max())
    K0 = np.asarray(kernel(X), dtype=np.float64)
    scores = _scores(K0)
    weights = _weights(len(X))
    before = X.copy(), weights.copy()

    fitted = clone(unfitted)
    _require(fitted.fit(X, K0, kernel=kernel, scores=scores) is fitted, "fit must return the object itself")
    _require(repr(fitted.get_params()) == parameters, "fit must not change the parameters")
    found = fitted.transform(weights, weights @ K0)
    _require(
        found.shape == (len(weights), X.shape[1]), f"transform has shape {found.shape}, expected (points, columns)"
    )
    _require(found.dtype == np.float64, f"answers for float64 rows must be float64, got {found.dtype}")
    _require(bool(np.isfinite(found).all()), "answers must be finite")
    _require(fitted.transform(weights[:0], weights[:0] @ K0).shape == (0, X.shape[1]), "no points must give no rows")
    _close(fitted.transform(weights, weights @ K0), found, 0.0, "the same question asked twice")
    _close(
        clone(unfitted).fit(X, K0, kernel=kernel, scores=scores).transform(weights, weights @ K0),
        found,
        0.0,
        "a second fit",
    )
    _close(pickle.loads(pickle.dumps(fitted)).transform(weights, weights @ K0), found, 0.0, "answers after pickling")
    alone = np.vstack([fitted.transform(row[None], row[None] @ K0) for row in weights[:5]])
    _close(alone, found[:5], tolerance, "answers point by point")
    _require(bool((before[0] == X).all() and (before[1] == weights).all()), "X and the arguments must not be changed")

    single = clone(unfitted).fit(X.astype(np.float32), K0, kernel=kernel, scores=scores)
    _require(single.transform(weights, weights @ K0).dtype == np.float32, "answers for float32 rows must be float32")

    if hasattr(fitted, "transform_with_info"):
        rows, info = fitted.transform_with_info(weights, weights @ K0)
        _close(rows, found, 0.0, "transform_with_info against transform")
        _require(np.shape(info.converged) == (len(weights),), "info.converged must have one entry per point")

    for label, far in _far_points(K0, weights):
        answers = fitted.transform(far, far @ K0)
        _require(bool(np.isfinite(answers).all()), f"answers for {label} must be finite")
        if has_identity_features(kernel):
            continue  # far in feature space is far among the inputs
        farthest = float(np.linalg.norm(answers - X.mean(axis=0), axis=1).max())
        _require(
            farthest <= 10 * spread, f"answers for {label} are {farthest:.3g} from the mean, the data {spread:.3g}"
        )

    if getattr(fitted, "reproduces_training", False):
        answers = fitted.transform(np.eye(len(X)), K0)
        _require(
            float(np.abs(answers - X).max()) <= tolerance * spread,
            f"training points come back with an error of {np.abs(answers - X).max():.3g}",
        )
    if getattr(fitted, "exact_on_linear", False):
        linear = clone(unfitted).fit(X, X @ X.T, kernel=Linear(), scores=_scores(X @ X.T))
        _close(linear.transform(weights, weights @ X @ X.T), weights @ X, 1e-10, "the linear kernel against Σᵢ γᵢxᵢ")


def _scores(K0: Array) -> Array:
    """The two leading principal scores of the training rows."""
    means = K0.mean(axis=0)
    values, vectors = np.linalg.eigh(K0 - means - means[:, None] + means.mean())
    return np.asarray(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0.0)))


def _weights(n_rows: int) -> Array:
    """Affine weights that a model could hand over: near the mean, at a row, between rows, with negative entries."""
    rng = np.random.default_rng(0)
    mixed = rng.dirichlet(np.full(n_rows, 0.3), size=4)
    outward = np.eye(n_rows)[:3] + 0.3 * (np.eye(n_rows)[:3] - 1.0 / n_rows)
    return np.vstack([np.full((1, n_rows), 1.0 / n_rows), np.eye(n_rows)[:2], mixed, outward])


def _far_points(K0: Array, weights: Array) -> list[tuple[str, Array]]:
    n_rows = len(K0)
    mean = np.full(n_rows, 1.0 / n_rows)
    return [
        ("a feature point at 1000 times the distance", mean + 1000.0 * (weights - mean)),
        ("a feature point on the other side of the mean", mean - 5.0 * (weights - mean)),
        ("the origin of feature space", np.zeros((1, n_rows))),
        ("a feature point with only negative kernel values", -np.full((1, n_rows), 1.0 / n_rows)),
    ]
