"""Anomaly: T², SPE, their p-values and control limits, and the columns responsible [2]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from scipy import special

from gramian._answers import Answer, Shown
from gramian._arrays import Array
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.policy import PAGE


@dataclass(frozen=True, repr=False)
class Anomaly(Answer):
    """How far rows lie along (T²) and off (SPE) the principal subspace.

    ``p_t2``, ``p_spe`` are the chances of a larger value for a new row of the model; ``limit_t2``, ``limit_spe`` the values
    exceeded by a share ``1 - level`` of new rows (``limit_spe`` has one entry per row where rows miss entries);
    ``contributions`` (n, d) is how much the Mahalanobis distance would fall if that entry were missing. ``wild_cells`` (n, d), where the
    model has columns: which cells the others of their row contradict [14]. ``columns``: their names, where the fit knew them.
    """

    t2: Array
    spe: Array
    p_t2: Array
    p_spe: Array
    limit_t2: float
    limit_spe: Any
    contributions: Array
    level: float
    wild_cells: Array | None = None
    columns: tuple[str, ...] = ()

    @property
    def flags(self) -> Array:
        """Rows beyond either limit."""
        return (self.p_t2 < 1 - self.level) | (self.p_spe < 1 - self.level)

    def _shown(self) -> Shown:
        """How many rows are flagged, and the oddest."""
        chance, flags = np.minimum(self.p_t2, self.p_spe), self.flags
        oddest = np.argsort(chance, kind="stable")[: PAGE.fewest]
        rows = [
            (
                int(i),
                float(self.t2[i]),
                float(self.spe[i]),
                float(chance[i]),
                "yes" if flags[i] else "no",
                self._blamed(i),
            )
            for i in oddest
        ]
        headline = f"{int(flags.sum())} of {len(self.t2)} rows beyond the {100 * self.level:g} % limits; the oddest:"
        return Shown(headline, ("row", "T²", "SPE", "chance", "odd", "column that tells most"), rows)

    def _blamed(self, row: int) -> str:
        """The column that tells most of a row: its name, or its position; none where the model knows no columns."""
        shares = np.nan_to_num(self.contributions[row])
        if not len(shares):
            return "-"
        j = int(shares.argmax())
        return self.columns[j] if len(self.columns) == len(shares) else str(j)


class Law(Protocol):
    """A distribution of numbers above 0. `scipy.stats` has them too, at the price of a slow import."""

    def sf(self, x: Any) -> Any:
        """The chance of a larger value."""

    def ppf(self, level: float) -> Any:
        """The value that a share ``level`` lies below."""


@dataclass(frozen=True)
class ChiSquared:
    """χ² with ``freedom``."""

    freedom: Any

    def sf(self, x: Any) -> Any:
        return special.chdtrc(self.freedom, np.maximum(x, 0.0))

    def ppf(self, level: float) -> Any:
        return 2 * special.gammaincinv(np.asarray(self.freedom) / 2, level)


@dataclass(frozen=True)
class FRatio:
    """F: the ratio of two mean squares, with their degrees of freedom."""

    above: Any
    below: Any

    def sf(self, x: Any) -> Any:
        return special.fdtrc(self.above, self.below, np.maximum(x, 0.0))

    def ppf(self, level: float) -> Any:
        return special.fdtri(self.above, self.below, level)


@dataclass(frozen=True)
class Tail:
    """θ_k = Σ_{p>q} l_p^k of the discarded spectrum: what the limits need when the tail is not flat [2]."""

    theta1: Annotated[float, "nonnegative"]
    theta2: float
    theta3: float

    @classmethod
    def of(cls, matrix: Array, eigenvalues: Array) -> Tail | None:
        """From the covariance matrix, without its discarded eigenpairs; None where cubes leave the range of float64."""
        with np.errstate(over="ignore", invalid="ignore"):
            square = matrix @ matrix
            powers = (np.trace(matrix), np.trace(square), np.vdot(square, matrix))
            left = [float(p - (eigenvalues**k).sum()) for k, p in enumerate(powers, start=1)]
        return cls(*(max(theta, 0.0) for theta in left)) if np.isfinite(left).all() else None

    def flatness(self, n_values: float, freedom: float) -> float:
        """Box's freedom θ₁² / θ₂ of what was discarded, as a share of that of as many equal values: at most 1.

        Samples make eigenvalues unequal: with ``freedom`` rows behind it, θ₂ is too large by θ₁² / freedom (and a little), and that is taken off.

        >>> Tail(3.0, 3.0, 3.0).flatness(3, 1e9), round(Tail(3.0, 5.0, 9.0).flatness(3, 1e9), 3)
        (1.0, 0.6)
        """
        if not freedom > 2 or not n_values > 1:
            return 1.0
        total = self.theta1 * self.theta1
        square = (self.theta2 - total / freedom) * freedom**2 / ((freedom - 1) * (freedom + 2))
        return float(np.clip(total / square / n_values, 1.0 / n_values, 1.0)) if square > 0 else 1.0

    def with_values(self, eigenvalues: Array) -> Tail:
        """With some more eigenvalues discarded."""
        powers = (self.theta1, self.theta2, self.theta3)
        return Tail(*(p + float((eigenvalues**k).sum()) for k, p in enumerate(powers, start=1)))


def t2_law(n_components: int, weight: float) -> tuple[Law, float]:
    """T² of new rows: q(N+1)/(N-q) F(q, N-q), as (distribution, scale) [2]."""
    q, n = n_components, weight
    if q == 0 or n <= q + 1:
        return ChiSquared(max(q, 1)), 1.0
    return FRatio(q, n - q), q * (n + 1) / (n - q)


def spe_law(
    gaussian: LatentGaussian, dim: Any, weight: float, tail: Tail | None, limits: str, held_out: float | None = None
) -> tuple[Law, Any]:
    """SPE of new rows as (distribution, scale) [2].

    The noise corrected for N times an F with the freedom that the noise was estimated with, both as far as the discarded eigenvalues are
    equal; or Box's chi² for a tail that is not flat.
    ``held_out`` is the mean SPE of held-out rows, where it was measured: it takes the place of the corrected noise.
    """
    q, n = gaussian.n_components, weight
    correction = n / (n - 1 - q) * (1 + (q + 1) / n) if n > q + 1 else 1.0
    if limits == "box" and tail is not None and tail.theta2 > 0:
        share = (np.asarray(dim) - q) / (gaussian.dim - q)  # a part of the columns sees a part of the tail
        freedom = np.maximum(tail.theta1 * tail.theta1 / tail.theta2 * share, 1e-9)
        return ChiSquared(freedom), tail.theta2 / tail.theta1 * correction
    freedom = np.maximum(np.asarray(dim, dtype=float) - q, 1e-9)
    # without noise every distance is an anomaly; only rounding is tolerated
    rounding = 1e-12 * float(gaussian.eigenvalues.sum())
    noise = max(gaussian.noise_variance, rounding, np.finfo(float).tiny) * correction
    if held_out is not None and gaussian.noise_variance > 0 and gaussian.dim > q:
        noise = max(held_out / (gaussian.dim - q), gaussian.noise_variance)
    estimated = max(n - 1 - q, 1.0) * max(gaussian.dim - q, 1.0)
    flat = 1.0 if tail is None else tail.flatness(gaussian.dim - q, n - 1 - q)
    return FRatio(freedom * flat, estimated * flat), noise * freedom


def jackson_mudholkar(tail: Tail, level: float) -> float:
    """The Jackson-Mudholkar limit of SPE at ``level``."""
    t1, t2, t3 = tail.theta1, tail.theta2, tail.theta3
    if t1 <= 0 or t2 <= 0:
        return 0.0
    h = 1 - 2 * t1 * t3 / (3 * t2**2)
    c = special.ndtri(level)
    return float(t1 * (c * np.sqrt(2 * t2 * h**2) / t1 + t2 * h * (h - 1) / t1**2 + 1) ** (1 / h))


def anomaly_of(
    gaussian: LatentGaussian,
    seen: Projection,
    contributions: Array,
    *,
    weight: float,
    level: float,
    tail: Tail | None = None,
    limits: str = "flat",
    held_out: float | None = None,
) -> Anomaly:
    """T², SPE and what they mean for rows that the model sees as ``seen``."""
    t2, spe = gaussian.t_squared(seen), gaussian.residual(seen)
    t2_dist, t2_scale = t2_law(gaussian.n_components, weight)
    spe_dist, spe_scale = spe_law(gaussian, seen.dim, weight, tail, limits, held_out)
    off = (
        np.asarray(seen.dim) > gaussian.n_components
    )  # a row that shows no more than q entries cannot be off the subspace
    spe = np.where(off, spe, 0.0)  # what is left of it is rounding
    p_spe = np.where(off, spe_dist.sf(spe / spe_scale), 1.0)
    limit_spe: Any = np.where(off, spe_scale * spe_dist.ppf(level), 0.0)
    if limits == "jackson-mudholkar" and tail is not None:
        limit_spe = jackson_mudholkar(tail, level)
    if gaussian.n_components == 0:
        p_t2, limit_t2 = np.ones_like(t2), 0.0
    else:
        p_t2, limit_t2 = t2_dist.sf(t2 / t2_scale), float(t2_scale * t2_dist.ppf(level))
    return Anomaly(t2, spe, p_t2, p_spe, limit_t2, _scalar(limit_spe), contributions, level)


def join_anomalies(places: Sequence[Array], parts: Sequence[Anomaly]) -> Anomaly:
    """What was found of groups of rows, in the order of the rows, whose ``places`` are given."""
    order = np.argsort(np.concatenate(places))
    spans = [(part, len(part.t2)) for part in parts]
    columns: dict[str, Any] = {
        name: np.concatenate([np.broadcast_to(getattr(part, name), n) for part, n in spans])[order]
        for name in ("t2", "spe", "p_t2", "p_spe", "limit_spe")
    }
    if all(np.ndim(part.limit_spe) == 0 for part in parts):
        columns["limit_spe"] = parts[0].limit_spe  # one for all rows
    contributions = np.concatenate([part.contributions for part in parts])[order]
    return Anomaly(**columns, limit_t2=parts[0].limit_t2, contributions=contributions, level=parts[0].level)


def _scalar(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value


def contributions_of(gaussian: LatentGaussian, seen: Projection, centred: Array, components: Array) -> Array:
    """(eⱼᵀC⁻¹r)² / (eⱼᵀC⁻¹eⱼ): the fall of the Mahalanobis distance were column j missing.

    At zero noise the distance is infinite off the subspace, and the squared residuals take its place.
    ``centred`` is x - μ with zeros where entries are missing; what is returned there has no meaning.
    """
    gaussian, seen = gaussian.with_noise(seen)
    components = components[: gaussian.n_components]
    noise = gaussian.noise_variance
    if noise <= 0:
        latent_scores = seen.scores if seen.overlap is None else gaussian.complete_scores(seen)
        return (centred - latent_scores @ components) ** 2
    gains = gaussian.gains
    if seen.overlap is None:
        shrink = gains**2 / gaussian.eigenvalues
        residuals = (centred - (seen.scores * shrink) @ components) / noise
        precision = (1 - np.einsum("qj,qj,q->j", components, components, shrink)) / noise
        return residuals**2 / precision
    inverse, _ = seen.of_overlaps(gaussian._inverse)
    inner = np.broadcast_to(inverse, (len(centred), *inverse.shape[-2:])) * np.outer(gains, gains)
    residuals = (centred - np.einsum("nij,nj->ni", inner, seen.scores) @ components) / noise
    precision = (1 - np.einsum("nij,id,jd->nd", inner, components, components, optimize=True)) / noise
    return residuals**2 / np.where(precision > 0, precision, np.inf)
