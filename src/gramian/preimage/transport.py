"""The pre-image for samples: the model's Gaussian law of scores is carried to the law of the rows."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from scipy.spatial.distance import pdist, squareform
from scipy.special import ndtri

from gramian._arrays import Array
from gramian._checks import check_count
from gramian._content import row_hashes, smallest_positions
from gramian.policy import LOOK
from gramian.preimage.base import PreImage, PreImageInfo, fitted_rows
from gramian.preimage.smoother import nearest

BLUR = 10.0
"""The width ε of the choice between rows, in squared distances to the nearest row."""
ROUNDS, STEPS = 8, 12


class Transport(PreImage):
    """x = Σᵢ pᵢ xᵢ over near rows, p from the scores t by p ∝ exp((tᵀtᵢ - |tᵢ|²/2 + bᵢ) / ε) [4].

    A Gaussian draw in feature space is nearest to the outermost rows far too often: samples crowd at the ends of a curved
    set. Prices b make up for that: under the model's own law N(0, Λ) of scores every row is chosen as often as it occurs
    (semi-discrete optimal transport with squared distances in feature space, entropic width ε). They are found once, in `fit`.
    Meant for samples: for reconstruction the smoother, which has no prices, is nearer.

    Parameters
    ----------
    n_neighbors : int, default=10
        How many rows are averaged.

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.preimage import Transport
    >>> t = np.linspace(-1, 1, 50)[:, None]
    >>> carried = Transport(n_neighbors=2).fit(t**3, t @ t.T, kernel="precomputed", scores=t)
    >>> weights = np.eye(50)[[9, 40]].mean(axis=0)[None]  # half way between two scores, at 0
    >>> bool(abs(carried.transform(weights, weights)[0, 0]) < 0.05)
    True
    """

    n_neighbors: Annotated[int | None, "natural"]
    centers_: Annotated[Array, "maybe #n *"]
    prices_: Annotated[Array, "maybe m"]
    half_norms_: Annotated[Array, "maybe m"]
    blur_: Annotated[float, "maybe above zero"]

    prepared = ("scores_", "centers_", "half_norms_", "blur_", "prices_")

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def prepare(self, K0: Array | None, scores: Array | None) -> None:
        check_count("n_neighbors", self.n_neighbors, 1)
        if scores is None:
            raise ValueError("preimage='transport' needs the scores of the rows. Use 'smoother', which does not.")
        self.scores_ = np.asarray(scores, dtype=np.float64)
        weights = np.ones(len(self.scores_)) if self.row_weights_ is None else self.row_weights_
        variances = (weights / weights.sum()) @ self.scores_**2
        self.centers_ = smallest_positions(row_hashes(self.X_), LOOK.gram)
        centers = self.scores_[self.centers_]
        self.half_norms_ = 0.5 * np.einsum("mq,mq->m", centers, centers)
        self.blur_ = BLUR * _nearest_square(centers)
        # the sign of an axis is a convention: draws take that of the third moment, which the rows decide
        unit = np.abs(self.scores_).max(axis=0, initial=0.0)  # cubes of large scores overflow
        signs = np.where(weights @ (self.scores_ / np.where(unit > 0, unit, 1.0)) ** 3 < 0, -1.0, 1.0)
        # Draws of the law that the prices are found on.
        draws = even_normals(2048, centers.shape[1]) * (signs * np.sqrt(variances))
        share = weights[self.centers_] / weights[self.centers_].sum()
        self.prices_ = balanced_prices((draws @ centers.T - self.half_norms_) / self.blur_, share) * self.blur_

    inverts_scores = True

    def invert_scores(self, scores: Array, values: Array) -> tuple[Array, PreImageInfo]:
        centers = self.scores_[self.centers_]
        closeness = scores @ centers.T - self.half_norms_ + self.prices_
        chosen = nearest(closeness, None, self.n_neighbors)
        near = np.take_along_axis(closeness, chosen, axis=1)
        shares = np.exp((near - near[:, :1]) / self.blur_)
        shares /= shares.sum(axis=1, keepdims=True)
        rows = fitted_rows(self.X_, self.centers_[chosen])
        return np.einsum("nk,nkd->nd", shares, rows), PreImageInfo.closed_form(len(values))


def even_normals(n_draws: int, n_columns: int) -> Array:
    """Standard normal draws, even in the first columns (a Sobol sequence), which carry nearly all of the variance."""
    even = min(n_columns, 50)
    plain = np.random.default_rng(0).standard_normal((n_draws, n_columns - even))
    if even == 0:
        return plain
    from scipy.stats import qmc  # half of the time of importing the kernel models, for those who draw

    points = qmc.Sobol(even, seed=np.random.default_rng(0)).random(n_draws)
    return np.hstack([ndtri(np.clip(points, 1e-12, 1 - 1e-12)), plain])


def balanced_prices(closeness: Array, share: Array) -> Array:
    """b such that the softmax over rows of ``closeness`` + b (draws, rows) gives each row its ``share`` on average.

    Sinkhorn's iteration with the prices taken into the exponent every few steps, so that nothing vanishes.
    """
    prices = np.zeros(closeness.shape[1])
    for _ in range(ROUNDS):
        kernel = closeness + prices
        kernel -= kernel.max(axis=1, keepdims=True)
        np.exp(kernel, out=kernel)
        factors = np.ones(len(prices))
        for _ in range(STEPS):
            per_draw = 1.0 / (len(kernel) * (kernel @ factors))
            got = np.maximum(per_draw @ kernel, np.finfo(float).tiny)
            change = np.clip(share / (got * factors), 1e-6, 1e6)
            factors *= change
        prices += np.log(factors)
        prices -= prices.max()
        # Prices are found when no row gets more or less than its share by this factor (log scale).
        if np.abs(np.log(change)).max() <= 0.02:
            break
    return prices


def _nearest_square(centers: Array) -> float:
    """The median squared distance to the nearest other centre; 1 where all are one."""
    if len(centers) < 2 or centers.shape[1] == 0:
        return 1.0
    squares = squareform(pdist(centers, "sqeuclidean"))
    np.fill_diagonal(squares, np.inf)
    found = float(np.median(squares.min(axis=1)))
    return found if found > 0 else max(float(np.square(centers).sum(axis=1).mean()), np.finfo(float).tiny)


__all__ = ["Transport", "balanced_prices"]
