"""LatentGaussian: all the probability of the library, once. Projection: what it needs to know of a point."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from gramian._answers import Answer, Shown
from gramian._arrays import Array, lower_triangle, symmetric_part
from gramian._checks import check_count, check_random_state
from gramian._precision import EPS, LEAST_NOISE, ROUNDING, SEEN, TINY
from gramian._types import RandomState
from gramian.exceptions import NumericalWarning, warn
from gramian.policy import PAGE
from gramian.solvers.spectrum import Spectrum


@dataclass(frozen=True)
class Projection:
    """What the model sees of n points: t = Uₒᵀ(φ - μ)ₒ, g = |(φ - μ)ₒ|², |o| and the overlap G = UₒᵀUₒ [2].

    ``overlap`` is None when everything was seen (G = I), (q, q) when all points miss the same part, else (n, q, q);
    ``dim`` is a number, or one per point. ``log_volume`` is the logarithm of the unit in which what was seen is measured (a product over
    its columns), 0 where that is the unit of the data. ``sources`` are the rows themselves where features are explicit: parts of φ, each with
    its share of squares and the function of (rows, s) that gives its (φ - μ - Us)ₒ.
    """

    scores: Annotated[Array, "n q"]
    squared_norm: Annotated[Array, "n"]
    dim: Any
    overlap: Annotated[Array | None, "..."] = None
    log_volume: Any = 0.0
    patterns: tuple[Array, Array] | None = None  # the distinct overlaps, and which of them each point has
    sources: tuple[tuple[Callable[[Any, Array], Array], Any, float], ...] = ()

    def __getitem__(self, rows: Any) -> Projection:
        """The same for some of the points."""
        dim = self.dim[rows] if np.ndim(self.dim) else self.dim
        overlap = self.overlap[rows] if self.overlap is not None and self.overlap.ndim == 3 else self.overlap
        volume = self.log_volume[rows] if np.ndim(self.log_volume) else self.log_volume
        patterns = None if self.patterns is None else (self.patterns[0], self.patterns[1][rows])
        if patterns is not None and np.size(patterns[1]) <= len(patterns[0]):
            patterns = None
        sources = tuple((gaps, X[rows], share) for gaps, X, share in self.sources)
        return Projection(self.scores[rows], self.squared_norm[rows], dim, overlap, volume, patterns, sources)

    def distances(self, scores: Array, left: Array) -> Array:
        """|(φ - μ - Us)ₒ|², which is ``left`` by squared norms: by the rows themselves where that is a difference of nearly equal squares.

        So it is to the last digits of φ, not of |φ|², and does not hang on the rounding of scores. What those digits do not tell is 0.
        """
        lost = np.flatnonzero(left < LEAST_NOISE * self.squared_norm) if self.sources else ()
        if len(lost):
            sources = self[lost].sources
            found = sum(share * np.square(gaps(X, scores[lost])).sum(axis=1) for gaps, X, share in sources)
            unseen = np.square(8 * EPS * max(X.shape[1] for _, X, _ in sources)) * self.squared_norm[lost]
            left[lost] = np.where(found > unseen, found, 0.0)
        return np.maximum(left, 0.0)

    def of_overlaps(self, function: Callable[[Array], Any]) -> Any:
        """A function of stacked overlaps, or a tuple of such, asked once for each distinct one."""
        if self.patterns is None:
            return function(self.overlap)  # type: ignore[arg-type]
        distinct, codes = self.patterns
        found = function(distinct)
        return tuple(part[codes] for part in found) if isinstance(found, tuple) else found[codes]


@dataclass(frozen=True, repr=False)
class Posterior(Answer):
    """z | x ~ N(mean, covariance): one row per point; the covariance is shared (q, q) or one per point (n, q, q)."""

    mean: Annotated[Array, "n q"]
    covariance: Annotated[Array, "..."]

    def _shown(self) -> Shown:
        n, q = self.mean.shape
        std = np.sqrt(np.diagonal(np.asarray(self.covariance), axis1=-2, axis2=-1))
        first = np.broadcast_to(std, self.mean.shape)[: PAGE.fewest]
        rows = [
            (i, *(f"{m:.3g} ± {s:.2g}" for m, s in zip(means[: PAGE.components], deviations)))
            for i, (means, deviations) in enumerate(zip(self.mean, first))
        ]
        shared = "one covariance for all rows" if np.ndim(self.covariance) == 2 else "a covariance for each row"
        headline = f"{q} latents of {n} rows, {shared}; mean ± standard deviation of the first:"
        return Shown(headline, ("row", *(f"z{k}" for k in range(1, min(q, PAGE.components) + 1))), rows)

    def sample(self, n_draws: int = 1, random_state: RandomState = None) -> Array:
        """Draws of the latents, shape (n_draws, n, q)."""
        n_draws = check_count("n_draws", n_draws, 1)
        rng = check_random_state(random_state)
        root = square_root(np.asarray(self.covariance, dtype=np.float64))
        noise = rng.standard_normal((n_draws, *self.mean.shape))
        if root.ndim == 2:
            return self.mean + noise @ root.T
        return self.mean + np.einsum("nij,mnj->mni", root, noise)


def within_prior(covariance: Array, turn: Array | None = None) -> Array:
    """The covariances C (q, q) or (n, q, q) with no direction above the prior's 1: a posterior knows more, whatever rounding or a mean over draws says.

    With a ``turn`` T they are TᵀCT, where the prior is TᵀT.

    >>> import numpy as np
    >>> within_prior(np.array([[1.5, 0.0], [0.0, 0.5]]))
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    covariance = symmetric_part(np.asarray(covariance))
    below = 1.0 - 8 * covariance.shape[-1] * EPS  # so that the product, and who looks at it, may round
    suspect = np.square(covariance).sum(axis=(-2, -1)) > below  # else the largest eigenvalue is below it
    if suspect.any():
        covariance = _clip(covariance, suspect, below, turn is not None)
    return covariance if turn is None else symmetric_part(turn.T @ covariance @ turn)


def _clip(covariance: Array, suspect: Array, below: float, turns: bool) -> Array:
    """The suspect ones with no eigenvalue above ``below``; a diagonal that is not turned may show ones."""
    seen = covariance[suspect].astype(np.float64)
    values, vectors = np.linalg.eigh(seen)
    turned = (seen * ~np.eye(values.shape[-1], dtype=bool)).any(
        axis=(-2, -1)
    )  # a diagonal shows its variances themselves
    above = values[..., -1] > np.where(turned | turns, below, 1.0)
    clipped = (vectors * np.minimum(values, below)[..., None, :]) @ vectors.swapaxes(-1, -2)
    out = covariance.copy()
    out[suspect] = np.where(above[..., None, None], symmetric_part(clipped), seen)
    return out


def signal_variance(loadings: Array, covariance: Array) -> Array:
    """diag(W Cov Wᵀ): the variance of each coordinate of Wz, (d,), or (n, d) for one covariance per point.

    >>> import numpy as np
    >>> W, cov = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> signal_variance(W, cov)
    array([7., 1.])
    """
    if (
        covariance.ndim == 2 or 2 * len(covariance) <= loadings.shape[1]
    ):  # W ⊗ W alone would be larger than what it is multiplied by
        return np.asarray(np.maximum(((loadings @ covariance) * loadings).sum(axis=-1), 0.0))
    lower, other = lower_triangle(loadings.shape[1])
    products = loadings[:, lower] * loadings[:, other] * np.where(lower == other, 1.0, 2.0)
    return np.asarray(np.maximum(covariance[..., lower, other] @ products.T, 0.0))


def drawn_rows(mean: Array, loadings: Array, latents: Array, noise_variance: Any, rng: np.random.Generator) -> Array:
    """μ + Wz + ε for latents (..., q): draws (..., d); the noise is one number or one per column [2]."""
    return noisy_rows(latents @ loadings.T + mean, noise_variance, rng)


def noisy_rows(rows: Array, noise_variance: Any, rng: np.random.Generator) -> Array:
    """The rows with ε ~ N(0, σ²) on every entry; the noise is one number or one per column [2]."""
    return np.asarray(rows + np.sqrt(noise_variance) * rng.standard_normal(rows.shape))


def log_likelihoods_of_each_q(
    eigenvalues: Array,
    trace: float,
    dim: float,
    squared_scores: Array,
    squared_norm: Any,
    *,
    noise_variance: float | None = None,
    floor: float = 0.0,
) -> Array:
    """Mean log-likelihood of rows under the models of q = 0, 1, ..., r leading components, all at once [10].

    The models have the eigenvalues l_1 >= ... >= l_r of the rows that they were fitted to, whose total variance is ``trace``, and
    their maximum-likelihood noise (or ``noise_variance``). The rows that are scored enter by their mean squared scores
    s_p = mean t_p² (r,) and their mean squared norm mean |φ - μ|², both about the mean of the fitted rows:

        log p(q) = -½ [ D log 2π + Σ_{p<=q} log l_p + (D-q) log σ²_q + Σ_{p<=q} s_p / l_p + (g - Σ_{p<=q} s_p) / σ²_q ]

    With s = l and g = trace these are the maximised log-likelihoods of the fitted rows. ``floor`` bounds l and σ² from below. Where the
    noise is 0 the value is -inf; q = D has none of its own and equals q = D - 1. Squared scores (n, r) and norms (n,) give one
    log-likelihood per row, (n, r + 1).

    >>> import numpy as np
    >>> l = np.array([3.0, 1.0])
    >>> log_likelihoods_of_each_q(l, 5.0, 3, l, 5.0).round(3)
    array([-5.023, -4.806, -4.806])
    """
    noise = noise_of_each_q(eigenvalues, trace, dim) if noise_variance is None else noise_variance
    noise = np.maximum(np.broadcast_to(np.asarray(noise, dtype=np.float64), len(eigenvalues) + 1), floor)
    q = np.arange(len(eigenvalues) + 1)
    seen = SeenByEachQ.of(np.maximum(eigenvalues, floor), squared_scores, squared_norm)
    levels = seen.log_density(q, noise, dim)
    levels[..., noise <= 0] = -np.inf
    whole = np.flatnonzero(dim - q <= 0)
    if whole.size and noise_variance is None:  # the full Gaussian
        levels[..., whole] = -0.5 * (dim * np.log(2 * np.pi) + seen.inside[..., whole])
    levels[np.isnan(levels)] = -np.inf
    return levels


@dataclass(frozen=True)
class SeenByEachQ:
    """Rows as the models of q = 0, 1, ..., r leading components see them, all at once: running sums over the axes [10]."""

    inside: Array  # Σ_{p<=q} log l_p + t_p² / l_p, (..., r + 1)
    left: Array  # |φ - μ|² - Σ_{p<=q} t_p²

    @classmethod
    def of(cls, eigenvalues: Array, squared_scores: Array, squared_norm: Any) -> SeenByEachQ:
        """From t_p² (..., r) and |φ - μ|² (...)."""
        left = np.maximum(np.asarray(squared_norm)[..., None] - _sums_of_each_q(squared_scores), 0.0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return cls(_sums_of_each_q(np.log(eigenvalues) + squared_scores / eigenvalues), left)

    def log_density(self, q: Any, noise: Any, dim: float) -> Array:
        """log p of each row under the model of one q, or of all of them; -inf or NaN where next to no noise is left."""
        left, inside = (self.left, self.inside) if np.ndim(q) else (self.left[..., q], self.inside[..., q])
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            levels = np.asarray(left / noise)
            levels += (dim - q) * np.log(noise) + dim * np.log(2 * np.pi)
            levels += inside
        levels *= -0.5
        return levels


def _sums_of_each_q(terms: Array) -> Array:
    """Σ_{p<=q} of the last axis, for q = 0, 1, ..., r."""
    sums = np.zeros((*terms.shape[:-1], terms.shape[-1] + 1))
    np.cumsum(terms, axis=-1, out=sums[..., 1:])
    return sums


def noise_of_each_q(eigenvalues: Array, trace: float, dim: float) -> Array:
    """σ² = (tr - Σ_{p<=q} l_p) / (D - q) of q = 0, 1, ..., r; 0 where q reaches D [2]."""
    left = trace - np.concatenate([[0.0], np.cumsum(eigenvalues)])
    rest = dim - np.arange(len(eigenvalues) + 1)
    return np.where(rest > 0, np.maximum(left, 0.0) / np.where(rest > 0, rest, 1.0), 0.0)


class NoiseAboveError(ValueError):
    """A given noise above the smallest kept eigenvalue; ``above``: how many eigenvalues are above it."""

    def __init__(self, noise: float, smallest: float, above: int) -> None:
        super().__init__(
            f"noise_variance={noise:g} exceeds the smallest kept eigenvalue {smallest:g}. "
            f"Keep fewer components ({above} eigenvalues are above {noise:g}) or lower the noise."
        )
        self.above = above


def maximum_likelihood(spectrum: Spectrum, dim: float) -> float:
    """σ² = (tr K - Σ l) / (D - q): needs the trace only, so it serves every solver."""
    return float(noise_of_each_q(spectrum.eigenvalues, spectrum.trace, dim)[-1])


def resolve_noise(noise_variance: float | str, spectrum: Spectrum, dim: float) -> float:
    """The noise of a model with these components: ML, or the number given; tiny ones become exactly 0.0."""
    q = len(spectrum.eigenvalues)
    given = not isinstance(noise_variance, str)
    noise = float(noise_variance) if given else maximum_likelihood(spectrum, dim)
    if given and q and noise > spectrum.eigenvalues[-1]:
        raise NoiseAboveError(noise, float(spectrum.eigenvalues[-1]), int((spectrum.eigenvalues > noise).sum()))
    return noise_or_zero(noise, spectrum.trace / dim if dim else 0.0, told=not given and q < dim)


def noise_or_zero(noise: float, mean_variance: float, *, told: bool) -> float:
    """``noise``, or exactly 0.0 (with a warning) when it is below 1e-12 of the mean variance, or so small that 1 / noise overflows."""
    if noise > max(ROUNDING * mean_variance, TINY):
        return noise
    if told:
        warn(
            "The kept components explain all of the variance: the noise variance is set to exactly 0.0, so there is no density "
            "(use residual). Lower n_components to keep some noise.",
            NumericalWarning,
        )
    return 0.0


def square_root(covariance: Array) -> Array:
    """R with R Rᵀ = covariance, for singular ones too (batched)."""
    values, vectors = np.linalg.eigh(symmetric_part(covariance))
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


@dataclass(frozen=True)
class LatentGaussian:
    """φ = μ + Wz + ε, z ~ N(0, I), ε ~ N(0, σ²I_D), W = U(Λ - σ²I)^½ ([TB] eq. 7) [2].

    Knows Λ, σ² and D, and sees points only through a :class:`Projection`.
    """

    eigenvalues: Annotated[Array, "+ q"]  # Λ
    noise_variance: Annotated[float, "nonnegative"]  # σ²
    dim: float  # D, the dimension that the noise lives in

    @property
    def n_components(self) -> int:
        return len(self.eigenvalues)

    @property
    def gains(self) -> Array:
        """Δ = (Λ - σ²)^½: from latents to scores."""
        return np.sqrt(np.maximum(self.eigenvalues - self.noise_variance, 0.0))

    @property
    def shrinkage(self) -> Array:
        """1 - σ²/l: what the posterior leaves of each score."""
        safe = np.where(self.eigenvalues > 0, self.eigenvalues, np.inf)
        return np.maximum(1.0 - self.noise_variance / safe, 0.0)

    @property
    def has_density(self) -> bool:
        """With noise, or without it as the full Gaussian (q = D) of a regular covariance."""
        return self.noise_variance > 0 or self._is_full

    @property
    def _is_full(self) -> bool:
        return self.n_components == self.dim > 0 and bool((self.eigenvalues > 0).all())

    def with_noise(self, seen: Projection) -> tuple[LatentGaussian, Projection]:
        """The same Gaussian with its last component, of q = D, as the noise: densities of what was seen need some [2]."""
        if self.noise_variance > 0 or not self._is_full:
            return self, seen
        overlap = None if seen.overlap is None else seen.overlap[..., :-1, :-1]
        last = float(self.eigenvalues[-1])
        patterns = None if seen.patterns is None else (seen.patterns[0][..., :-1, :-1], seen.patterns[1])
        part = replace(seen, scores=seen.scores[:, :-1], overlap=overlap, patterns=patterns)
        return LatentGaussian(self.eigenvalues[:-1], last, self.dim), part

    # ------------------------------------------------------------ latents

    def posterior(self, seen: Projection, solved: tuple[Array, Array] | None = None) -> Posterior:
        """E[z | o] = Mₒ⁻¹ Δ Uₒᵀ(φ - μ)ₒ and Cov = σ² Mₒ⁻¹ with Mₒ = ΔGΔ + σ²I; Mₒ = Λ when all is seen [2].

        ``solved`` is `_inverse` of the same overlap, for calls that repeat it.
        """
        if seen.overlap is None:
            keep = self.eigenvalues > 0
            safe = np.where(keep, self.eigenvalues, 1.0)
            return Posterior(seen.scores * (self.gains / safe), np.diag(np.minimum(self.noise_variance / safe, 1.0)))
        inverse, covariance = seen.of_overlaps(self._inverse) if solved is None else solved
        return Posterior(self._latent(seen, inverse), covariance)

    def _latent(self, seen: Projection, inverse: Array) -> Array:
        """E[z | o] by Mₒ⁻¹, refined by what it leaves: an inverse has the rounding of its largest entries, 1 / σ², in all directions."""
        targets = seen.scores * self.gains
        latent = _apply(inverse, targets)
        return latent + _apply(inverse, targets - self._signal(seen, latent) - self.noise_variance * latent)

    def _signal(self, seen: Projection, latent: Array) -> Array:
        """ΔGΔ z."""
        return _apply(np.asarray(seen.overlap), latent * self.gains) * self.gains

    def decode(self, latent: Array) -> Array:
        """The scores of W z: from latents to coordinates along the principal axes."""
        return latent * self.gains

    def complete_scores(self, seen: Projection) -> Array:
        """E[t | o] = Uₒᵀrₒ + (I - G) Δ E[z | o]: the scores, what was not seen filled by its expectation [2]."""
        if seen.overlap is None:
            return seen.scores
        decoded = self.decode(self.posterior(seen).mean)
        return seen.scores + decoded - _apply(seen.overlap, decoded)

    # ------------------------------------------------------------ distances and densities

    def mahalanobis(self, seen: Projection) -> Array:
        """(φ - μ)ᵀ(WWᵀ + σ²I)⁻¹(φ - μ) over what was seen ([ZH] eq. 12): |φ - μ - Wz|²/σ² + |z|² at z = E[z | o], where it is least and rounding of z costs nothing [2]."""
        self.require_noise("mahalanobis")
        self, seen = self.with_noise(seen)
        if seen.overlap is None:
            return self.t_squared(seen) + self.residual(seen) / self.noise_variance
        latent = self._latent(seen, seen.of_overlaps(self._inverse)[0])
        toward = self._signal(seen, latent) - 2.0 * seen.scores * self.gains
        left = seen.squared_norm + np.einsum("ni,ni->n", latent, toward)
        left = seen.distances(self.decode(latent), left)
        return left / self.noise_variance + np.einsum("ni,ni->n", latent, latent)

    def log_density(self, seen: Projection) -> Array:
        """log p of what was seen, with q x q systems only [2]."""
        self.require_noise("score_samples")
        self, seen = self.with_noise(seen)
        q = self.n_components
        if seen.overlap is None:
            log_det = np.log(self.eigenvalues).sum()
            dim = self.dim
        else:
            log_det = seen.of_overlaps(lambda G: np.linalg.slogdet(self._precision(G))[1]) if q else 0.0
            dim = seen.dim
        log_noise = (dim - q) * np.log(self.noise_variance)
        return -0.5 * (dim * np.log(2 * np.pi) + log_det + log_noise + self.mahalanobis(seen)) - seen.log_volume

    def precision(self, components: Array) -> Array:
        """C⁻¹ = (I - U(1 - σ²Λ⁻¹)Uᵀ) / σ² (Woodbury), for orthonormal rows ``components`` (q, d)."""
        self.require_noise("get_precision")
        if self.noise_variance == 0:  # the last component of q = D is the noise
            last = float(self.eigenvalues[-1])
            return LatentGaussian(self.eigenvalues[:-1], last, self.dim).precision(components[:-1])
        noise = self.noise_variance
        precision = -(components.T * self.shrinkage) @ components / noise
        precision.flat[:: len(precision) + 1] += 1 / noise
        return np.asarray(precision)

    def residual(self, seen: Projection) -> Array:
        """Squared distance of what was seen to the principal subspace: g - tᵀG⁺t ([ZH] eq. 13) [2]."""
        nearest = seen.scores
        if seen.overlap is not None:
            nearest = _apply(seen.of_overlaps(lambda G: np.linalg.pinv(G, rcond=SEEN, hermitian=True)), seen.scores)
        return seen.distances(nearest, seen.squared_norm - np.einsum("ni,ni->n", seen.scores, nearest))

    def t_squared(self, seen: Projection) -> Array:
        """T² = Σ t²/l; over a part, E[z]ᵀ Cov(E[z])⁻¹ E[z] with Cov(E[z]) = I - σ²Mₒ⁻¹: chi² of the seen rank [2]."""
        if seen.overlap is None:
            safe = np.where(self.eigenvalues > 0, self.eigenvalues, np.inf)
            return np.einsum("ni,ni,i->n", seen.scores, seen.scores, 1.0 / safe)
        posterior = self.posterior(seen)
        inverse = seen.of_overlaps(self._inverse_spread)
        return np.einsum("ni,ni->n", posterior.mean, _apply(inverse, posterior.mean))

    def _inverse_spread(self, overlap: Array) -> Array:
        """(I - σ²Mₒ⁻¹)⁺."""
        spread = np.eye(self.n_components) - self._inverse(overlap)[1]
        return np.asarray(np.linalg.pinv(symmetric_part(spread), rcond=SEEN, hermitian=True))

    def require_noise(self, method: str) -> None:
        """Densities need noise: without it the model is a subspace, and the distance to it is `residual`."""
        if not self.has_density:
            raise ValueError(
                f"{method} needs a positive noise variance, but noise_variance_ is 0.0 (plain PCA): the density is degenerate. "
                "Use residual(X), the squared distance to the subspace, or fit fewer components."
            )

    # ------------------------------------------------------------ q x q systems

    def _precision(self, overlap: Array) -> Array:
        """Mₒ = ΔGΔ + σ²I."""
        gains = self.gains
        return overlap * np.outer(gains, gains) + self.noise_variance * np.eye(len(gains))

    def _inverse(self, overlap: Array) -> tuple[Array, Array]:
        """Mₒ⁻¹ and σ²Mₒ⁻¹. At zero noise their limits: the pseudo-inverse, and the prior on what was not seen."""
        precision = self._precision(overlap)
        if self.noise_variance > 0:
            with suppress(np.linalg.LinAlgError):  # a noise that rounding has lost is as good as none
                inverse = np.linalg.inv(precision)
                return inverse, self.noise_variance * inverse
        values, vectors = np.linalg.eigh(symmetric_part(precision))
        scale = float(self.eigenvalues.max(initial=0.0))
        known = values > SEEN * scale
        weights = np.where(known, 1.0 / np.where(known, values, 1.0), 0.0)
        inverse = (vectors * weights[..., None, :]) @ vectors.swapaxes(-1, -2)
        unseen = (vectors * (~known).astype(float)[..., None, :]) @ vectors.swapaxes(-1, -2)
        return inverse, unseen


def _apply(matrices: Array, rows: Array) -> Array:
    """Each row times its own symmetric matrix, or all times one."""
    return rows @ matrices if matrices.ndim == 2 else np.einsum("nij,nj->ni", matrices, rows)
