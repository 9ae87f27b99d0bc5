"""Clusters with their own shapes: two Cs, two moons, ellipsoids, curved clusters in many dimensions."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_count, check_flag, check_number, check_random_state
from gramian._types import RandomState

CENTRES = np.array([[0.0, 0.0, 0.0], [5.0, 1.0, -1.0], [-1.0, 5.0, 2.0], [-4.5, -2.5, -2.0], [2.0, -5.0, 2.5]])
"""Where the five ellipsoids lie."""
SPREADS = np.array([1.4, 0.8, 0.19])
"""Standard deviations along the axes of an ellipsoid: a flat one, that two components describe."""


def make_c_shapes(
    n_samples: int = 200,
    *,
    interlocked: bool = False,
    radius: float = 7.0,
    noise: float = 0.5,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Two C-shapes in the plane, side by side as in figure 1(d) of [ZH], or one hooked into the other [6].

    Parameters
    ----------
    n_samples : int, default=200
        Points in all; half of them (rounded up) belong to the first shape.
    interlocked : bool, default=False
        False: the shapes stand side by side and open to the right. True: the second opens to the left, and the ends of
        each lie inside the other.
    radius : float, default=7
        Of the circles that the shapes are parts of.
    noise : float, default=0.5
        Standard deviation of the points about the shape.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    labels : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from gramian.datasets import make_c_shapes
    >>> X, labels = make_c_shapes(100, interlocked=True, random_state=0)
    >>> X.shape, labels.sum()
    ((100, 2), np.int64(50))
    """
    n_samples = check_count("n_samples", n_samples, 2)
    interlocked = check_flag("interlocked", interlocked)
    radius = check_number("radius", radius, 0.0, open_low=True)
    noise = check_number("noise", noise, 0.0)
    rng = check_random_state(random_state)
    labels = np.repeat([0, 1], [n_samples - n_samples // 2, n_samples // 2])
    angle = np.pi * rng.uniform(0.4, 1.6, n_samples)  # from the middle of the opening, which is 40 % of a turn
    if interlocked:
        # the second is turned by half a turn and moved into the opening of the first, one of its arms inside it
        angle = angle + np.pi * labels
        centres = radius * np.array([[0.0, 0.0], [0.6, 0.8]])
    else:
        centres = radius * np.array([[0.0, 0.0], [2.2, 0.0]])
    X = radius * np.column_stack([np.cos(angle), np.sin(angle)]) + centres[labels]
    X += noise * rng.standard_normal(X.shape)
    return X, labels


def make_moons(n_samples: int = 200, *, noise: float = 0.05, random_state: RandomState = None) -> tuple[Array, Array]:
    """Two half circles of radius 1, each with an end inside the other: scikit-learn's two moons with noise [6].

    Parameters
    ----------
    n_samples : int, default=200
    noise : float, default=0.05
        Standard deviation of the points about the half circles.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    labels : ndarray of shape (n_samples,)

    Examples
    --------
    >>> from gramian.datasets import make_moons
    >>> make_moons(60, random_state=0)[0].shape
    (60, 2)
    """
    n_samples = check_count("n_samples", n_samples, 2)
    noise = check_number("noise", noise, 0.0)
    rng = check_random_state(random_state)
    labels = np.repeat([0, 1], [n_samples - n_samples // 2, n_samples // 2])
    angle = rng.uniform(0.0, np.pi, n_samples)
    upper = np.column_stack([np.cos(angle), np.sin(angle)])
    X = np.where(labels[:, None] == 0, upper, np.array([1.0, 0.5]) - upper)
    return X + noise * rng.standard_normal(X.shape), labels


def make_ellipsoids(n_samples: int = 700, *, random_state: RandomState = None) -> tuple[Array, Array]:
    """Five flat ellipsoids in 3-D, each with its own centre and orientation: the data of table 2 in [MM] [6].

    Two components describe each of them (what is left has variance 0.19²), and no plane describes all.

    Parameters
    ----------
    n_samples : int, default=700
    random_state : None, int, Generator or RandomState

    Returns
    -------
    X : ndarray of shape (n_samples, 3)
    labels : ndarray of shape (n_samples,)
        0 to 4, as equal in number as can be.

    Examples
    --------
    >>> from gramian.datasets import make_ellipsoids
    >>> X, labels = make_ellipsoids(random_state=0)
    >>> X.shape, int(labels.max())
    ((700, 3), 4)
    """
    n_samples = check_count("n_samples", n_samples, 5)
    rng = check_random_state(random_state)
    rotations = [_rotation(rng, 3) for _ in CENTRES]
    labels = np.arange(n_samples) % len(CENTRES)
    rng.shuffle(labels)
    points = rng.standard_normal((n_samples, 3)) * SPREADS
    X = np.einsum("nij,nj->ni", np.array(rotations)[labels], points) + CENTRES[labels]
    return X, labels


def make_curved_clusters(
    n_samples: int = 1000,
    n_features: int = 64,
    *,
    n_clusters: int = 10,
    intrinsic_dim: int = 8,
    curvature: float = 0.5,
    noise: float = 0.1,
    random_state: RandomState = None,
) -> tuple[Array, Array]:
    """Clusters on curved surfaces of low dimension: x = c + A z + curvature · B (z² - 1) + noise, z ~ N(0, I).

    The data of the benchmarks: 10 clusters of intrinsic dimension 8 in 64 columns.

    Parameters
    ----------
    n_samples, n_features : int
    n_clusters : int, default=10
    intrinsic_dim : int, default=8
        The dimension of z.
    curvature : float, default=0.5
        0 gives flat clusters.
    noise : float, default=0.1
    random_state : None, int, Generator or RandomState

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    labels : ndarray of shape (n_samples,)

    References
    ----------
    docs/benchmarks.md: where these data are used.

    Examples
    --------
    >>> from gramian.datasets import make_curved_clusters
    >>> X, labels = make_curved_clusters(500, random_state=0)
    >>> X.shape, len(set(labels.tolist()))
    ((500, 64), 10)
    """
    n_samples = check_count("n_samples", n_samples, 1)
    n_features = check_count("n_features", n_features, 1)
    n_clusters = check_count("n_clusters", n_clusters, 1)
    intrinsic_dim = check_count("intrinsic_dim", intrinsic_dim, 1)
    curvature = check_number("curvature", curvature)
    noise = check_number("noise", noise, 0.0)
    rng = check_random_state(random_state)
    labels = rng.integers(n_clusters, size=n_samples)
    X = noise * rng.standard_normal((n_samples, n_features))
    for cluster in range(n_clusters):
        centre = 2.0 * rng.standard_normal(n_features) / np.sqrt(2.0)
        straight, bent = rng.standard_normal((2, intrinsic_dim, n_features)) / np.sqrt(intrinsic_dim)
        rows = np.flatnonzero(labels == cluster)
        z = rng.standard_normal((len(rows), intrinsic_dim))
        X[rows] += centre + z @ straight + curvature * (z**2 - 1) @ bent
    return X, labels


def _rotation(rng: np.random.Generator, size: int) -> Array:
    """A rotation drawn uniformly (QR of a Gaussian matrix, signs made canonical)."""
    Q, R = np.linalg.qr(rng.standard_normal((size, size)))
    return Q * np.sign(R.diagonal())
