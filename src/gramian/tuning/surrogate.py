"""The Gaussian-process surrogate of the score, and the log expected improvement that chooses the next trial."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import erfcx, ndtr
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from gramian._arrays import Array, deviation
from gramian._threads import single_blas_thread
from gramian.tuning.space import Space

_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)
_N_CANDIDATES = 1024


class _MAPRegressor(GaussianProcessRegressor):
    """A GP whose hyper-parameters have Gaussian priors on their logarithms.

    Twenty trials do not settle a length scale a dimension: maximum likelihood then declares dimensions irrelevant.
    """

    prior_mean: Array
    prior_std: Array

    def log_marginal_likelihood(self, theta: Any = None, eval_gradient: bool = False, clone_kernel: bool = True) -> Any:
        found = super().log_marginal_likelihood(theta, eval_gradient, clone_kernel)
        if theta is None:
            return found
        away = (np.asarray(theta) - self.prior_mean) / self.prior_std
        if eval_gradient:
            return found[0] - 0.5 * away @ away, found[1] - away / self.prior_std
        return found - 0.5 * away @ away


@dataclass(frozen=True)
class Surrogate:
    """score = f(u) + ε with f a Matérn-5/2 Gaussian process, one length scale a coordinate of the unit cube."""

    regressor: Any
    shift: float
    scale: float

    @classmethod
    def fit(cls, points: Array, scores: Array, seed: int = 0) -> Surrogate:
        """Condition on trials; ``nan`` scores (failed trials) count as the worst one seen, so that they are avoided."""
        scores = winsorize(np.asarray(scores, dtype=float))
        shift, scale = float(scores.mean()), float(deviation(scores))
        scale = scale if scale > 0 else 1.0
        n_coordinates = points.shape[1]
        kernel = ConstantKernel(1.0, (1e-2, 1e2)) * Matern(
            np.full(n_coordinates, 0.5), (1e-2, 1e2), nu=2.5
        ) + WhiteKernel(1e-2, (1e-6, 1.0))
        regressor = _MAPRegressor(kernel, alpha=1e-10, n_restarts_optimizer=1, random_state=seed)
        length = np.log(0.5 * np.sqrt(max(n_coordinates, 1)))
        regressor.prior_mean = np.r_[0.0, np.full(n_coordinates, length), np.log(1e-3)]
        regressor.prior_std = np.r_[1.0, np.full(n_coordinates, 1.0), 2.0]
        with warnings.catch_warnings(), single_blas_thread():
            warnings.simplefilter("ignore")  # a hyper-parameter at its bound is no news to the user
            regressor.fit(points, (scores - shift) / scale)
        return cls(regressor, shift, scale)

    def predict(self, points: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of f, without the noise of a single trial."""
        mean, std = self._standard(points)
        return self.shift + self.scale * mean, self.scale * std

    def _standard(self, points: Array) -> tuple[Array, Array]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # variances a rounding error below zero are set to zero
            mean, std = self.regressor.predict(points, return_std=True)
        noise = self.regressor.kernel_.k2.noise_level
        return mean, np.sqrt(np.maximum(std**2 - noise, 1e-12))

    def best_mean(self) -> float:
        """The largest posterior mean at a trial: the incumbent, which a lucky noisy score does not inflate."""
        return float(self.predict(self.regressor.X_train_)[0].max())

    def log_improvement(self, points: Array, incumbent: float) -> Array:
        """log E[max(0, f(u) - incumbent)] at each row."""
        mean, std = self._standard(points)
        return np.log(std) + log_h((mean - (incumbent - self.shift) / self.scale) / std)

    def main_effects(self, space: Space, seed: int = 0, n_draws: int = 256) -> dict[str, float]:
        """Share of the variance of the mean surface that each parameter explains alone (first-order Sobol index).

        Var_j( E[f | u_j] ) / Var(f), by averaging over the same background points for every value of u_j.
        """
        rng = np.random.default_rng(seed)
        background = space.snap(rng.random((n_draws, space.width)))
        total = float(self._standard(background)[0].var())
        shares = {}
        for name, place in space.columns().items():
            levels = space.snap(rng.random((24, space.width)))[:, place]
            averages = []
            for level in levels:
                moved = background.copy()
                moved[:, place] = level
                averages.append(self._standard(space.snap(moved))[0].mean())
            shares[name] = float(np.var(averages)) / total if total > 0 else 0.0
        return shares


def winsorize(scores: Array) -> Array:
    """Scores with the far lower tail pulled in: how bad a bad trial is must not flatten the surface near the good ones."""
    seen = scores[np.isfinite(scores)]
    if seen.size == 0:
        return np.zeros_like(scores)
    best, middle = seen.max(), np.median(seen)
    floor = middle - 2.0 * (best - middle) if best > middle else seen.min()
    return np.maximum(np.where(np.isfinite(scores), scores, seen.min()), floor)


def log_h(z: Array) -> Array:
    """log(φ(z) + z Φ(z)), which is log E[max(0, z + ξ)] of a standard normal ξ, without cancellation in either tail.

    Far below zero φ + zΦ = φ(z) (1 - |z| R(|z|)) with the Mills ratio R(x) = √(π/2) erfcx(x/√2), and beyond
    |z| ~ 1e4, where that difference cancels too, φ(z)/z².

    Examples
    --------
    >>> import numpy as np
    >>> [float(v) for v in np.round(log_h(np.array([0.0, -10.0, -1e6])), 3)]
    [-0.919, -55.553, -500000000028.55]
    """
    z = np.asarray(z, dtype=float)
    out = np.empty_like(z)
    near = z > -1.0
    out[near] = np.log(np.exp(-0.5 * z[near] ** 2 - _HALF_LOG_2PI) + z[near] * ndtr(z[near]))
    far = -z[~near]
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log1p(-far * np.sqrt(np.pi / 2.0) * erfcx(far / np.sqrt(2.0)))
    left = np.where(far > 1e4, -2.0 * np.log(far), left)
    out[~near] = -0.5 * far**2 - _HALF_LOG_2PI + left
    return out


def propose(
    space: Space, surrogate: Surrogate, taken: Array, rng: np.random.Generator, prior_weight: float = 0.0
) -> Array | None:
    """The untried point of largest log expected improvement (plus the weighted log-prior), or None when none is left.

    Candidates are random, from the prior, and near the best trials; the best few are climbed with L-BFGS-B along the
    coordinates that are not one-hot, then moved to the nearest point that stands for parameters.
    """
    incumbent = surrogate.best_mean()

    def merit(points: Array) -> Array:
        return surrogate.log_improvement(points, incumbent) + prior_weight * space.log_prior(points)

    candidates = _candidates(space, surrogate, rng)
    free = is_new(candidates, taken)
    if not free.any():
        free = is_new(candidates, taken, 1e-9)  # a space of many whole numbers, nearly exhausted
    candidates = candidates[free]
    if len(candidates) == 0:
        return None
    with single_blas_thread():
        values = merit(candidates)
        order = np.argsort(-values, kind="stable")[:4]
        climbed = [_climb(merit, candidates[i], space.continuous()) for i in order]
        climbed_points = space.snap(np.array(climbed))
        climbed_points = climbed_points[is_new(climbed_points, taken)]
        final = np.vstack([candidates[order], climbed_points])
        return np.asarray(final[int(np.argmax(merit(final)))])


def _candidates(space: Space, surrogate: Surrogate, rng: np.random.Generator) -> Array:
    width = space.width
    spread = rng.random((_N_CANDIDATES, width))
    best = surrogate.regressor.X_train_[np.argsort(-surrogate.regressor.y_train_, kind="stable")[:5]]
    size = 10.0 ** rng.uniform(-2.5, -0.5, (_N_CANDIDATES, 1))
    moved = rng.random((_N_CANDIDATES, width)) < max(0.5, 1.0 / max(width, 1))
    near = best[rng.integers(len(best), size=_N_CANDIDATES)] + moved * size * rng.standard_normal(
        (_N_CANDIDATES, width)
    )
    one_hot = ~space.continuous()
    jump = rng.random((_N_CANDIDATES, 1)) < 0.2  # a category changes by a new draw, never by a small step
    near[:, one_hot] = np.where(jump, spread[:, one_hot], near[:, one_hot])
    points = [space.snap(spread), space.from_uniform(rng.random((_N_CANDIDATES // 2, width))), space.snap(near)]
    if space.n_points() <= _N_CANDIDATES:
        points.append(_all_points(space))
    return np.unique(np.vstack(points), axis=0)


def _all_points(space: Space) -> Array:
    """Every point of a finite space."""
    from itertools import product

    from gramian.tuning.space import Category, Integer

    levels = []
    for dimension in space.dimensions.values():
        if isinstance(dimension, Category):
            levels.append([np.eye(dimension.width)[i] for i in range(dimension.width)])
        else:
            assert isinstance(dimension, Integer)
            levels.append([dimension.encode(value) for value in dimension.values()])
    return space.snap(np.array([np.concatenate(row) for row in product(*levels)]))


# in unit coordinates; one step of an integer range with 500 values
def is_new(points: Array, taken: Array, near: float = 2e-3) -> Array:
    """Which rows are not a trial already, nor so near to one that they would tell nothing new."""
    if len(taken) == 0 or len(points) == 0:
        return np.ones(len(points), dtype=bool)
    return np.asarray(cdist(points, taken).min(axis=1) > near)


def _climb(merit: Any, start: Array, free: Array) -> Array:
    """L-BFGS-B on the free coordinates; the gradient's forward differences are one batch of predictions."""
    columns = np.flatnonzero(free)
    if columns.size == 0:
        return start

    def negative(inner: Array) -> tuple[float, Array]:
        batch = np.repeat(start[None], columns.size + 1, axis=0)
        batch[:, columns] = inner
        # of the forward differences, in unit coordinates
        steps = np.where(inner > 0.5, -1e-6, 1e-6)  # inside the box
        batch[1 + np.arange(columns.size), columns] += steps
        values = -merit(batch)
        return float(values[0]), (values[1:] - values[0]) / steps

    found = minimize(
        negative,
        start[columns],
        jac=True,
        method="L-BFGS-B",
        bounds=[(0.0, 1.0)] * columns.size,
        options={"maxiter": 40},
    )
    end = start.copy()
    end[columns] = found.x
    return end
