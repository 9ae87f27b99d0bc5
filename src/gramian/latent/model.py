"""LatentModel: a subspace with its Gaussian; `fit_latent_model` makes one from any sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Generic

import numpy as np

from gramian._arrays import Array
from gramian._checks import COMPONENT_RULES
from gramian._types import DType
from gramian.exceptions import NumericalWarning, warn
from gramian.kernels.base import Kernel
from gramian.kernels.gram_checks import warn_of_negative
from gramian.latent import dimension
from gramian.latent.gaussian import LatentGaussian, resolve_noise
from gramian.latent.sample import DualSample, Sample
from gramian.latent.subspace import DualSubspace, KernelSubspace, PrimalSubspace, Space
from gramian.operators.base import SelfAdjoint
from gramian.operators.gram import DenseGram
from gramian.policy import SIZES
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum


@dataclass(frozen=True)
class LatentModel(Generic[Space]):
    """Where the model lives (``subspace``), its probability (``gaussian``) and how it was found (``spectrum``)."""

    subspace: Annotated[Space, "its q d v"]
    gaussian: Annotated[LatentGaussian, "its q"]
    spectrum: Annotated[Spectrum, "its q"]


PrimalModel = LatentModel[PrimalSubspace]
"""A model whose axes are known in coordinates."""
KernelModel = LatentModel[KernelSubspace]
"""A model whose feature points are weights over known rows."""
DualModel = LatentModel[DualSubspace]
"""A kernel model of all its rows."""


def fit_latent_model(
    sample: Sample[Space],
    n_components: Any,
    solver: Solver,
    noise_variance: float | str = "ml",
    *,
    default_fraction: float | None = None,
    weight: float = 1.0,
) -> LatentModel[Space]:
    """Solve, choose q and the noise, and put the pieces together [2].

    ``n_components`` None means: above the given noise, else ``default_fraction`` of the variance, else rank - 1. Where explicit columns
    depend on each other exactly, None and the rules take the whole rank: there is no noise to separate structure from.
    ``weight`` (the number of rows) matters to the rules "bic" and "mle".
    """
    fixed = None if isinstance(noise_variance, str) else float(noise_variance)
    spectrum = settled_spectrum(sample, n_components, solver, fixed, default_fraction=default_fraction, weight=weight)
    noise = resolve_noise(noise_variance, spectrum, sample.dim)
    spectrum = spectrum.signed()
    return LatentModel(sample.subspace(spectrum), LatentGaussian(spectrum.eigenvalues, noise, sample.dim), spectrum)


def settled_spectrum(
    sample: Sample[Any],
    n_components: Any,
    solver: Solver,
    fixed: float | None,
    *,
    default_fraction: float | None = None,
    weight: float = 1.0,
) -> Spectrum:
    """As many eigenpairs as there are components, counted as `fit_latent_model` does; ``fixed`` is a given noise."""
    operator = sample.operator()
    if isinstance(n_components, int):
        return _count(sample, operator, solver, n_components, fixed)
    return _open_ended(sample, operator, solver, n_components, fixed, default_fraction, weight)


def _count(sample: Sample[Any], operator: SelfAdjoint, solver: Solver, q: int, fixed: float | None) -> Spectrum:
    if q > sample.max_components:
        raise ValueError(
            f"n_components={q} must be at most {sample.max_components}, the largest possible rank for this number of samples and "
            "features. Lower n_components."
        )
    spectrum = _solve(sample, operator, solver, q, fixed)
    rank = _rank(spectrum, sample)
    warn_of_rank(q, rank)
    return spectrum.leading(rank)


def warn_of_rank(q: int, rank: int) -> None:
    """Say that the data have no q components, where that is so."""
    if rank < q:
        warn(
            f"n_components={q} exceeds the numerical rank {rank} of the data; {rank} components are kept.",
            NumericalWarning,
        )


def _open_ended(
    sample: Sample[Any],
    operator: SelfAdjoint,
    solver: Solver,
    rule: Any,
    fixed: float | None,
    default_fraction: float | None,
    weight: float,
) -> Spectrum:
    """Enough of the spectrum to apply the rule; grown by doubling where the whole would be wasteful."""
    most = sample.max_components
    whole = (
        operator.size <= SIZES.whole
        or rule in COMPONENT_RULES
        or (rule is None and fixed is None and default_fraction is None)
    )
    count = most if whole else min(most, 64)
    while True:
        spectrum = _solve(sample, operator, solver, count, fixed)
        spectrum = spectrum.leading(_rank(spectrum, sample))
        q = _choice(spectrum, rule, fixed, default_fraction, int(sample.dim), weight)
        if whole and fixed is None and default_fraction is None and not isinstance(rule, float):
            rank = len(spectrum.eigenvalues)
            q = rank if 0 < rank < getattr(sample, "full_rank", rank) else q
        exhausted = count >= most or len(spectrum.eigenvalues) < count
        if q is not None or exhausted:
            return spectrum.leading(len(spectrum.eigenvalues) if q is None else q)
        count = min(most, 2 * count)


def _choice(
    spectrum: Spectrum, rule: Any, fixed: float | None, default_fraction: float | None, n_features: int, weight: float
) -> int | None:
    values = spectrum.eigenvalues
    if rule == "bic":
        return dimension.by_bic(values, spectrum.trace, n_features, weight)
    if rule == "mle":
        return dimension.by_evidence(values, n_features, weight)
    if rule is None and fixed is not None and fixed > 0:
        return dimension.above_noise(values, fixed)
    fraction = rule if rule is not None else default_fraction
    if fraction is not None:
        return dimension.for_fraction(values, spectrum.trace, fraction)
    # rank - 1 keeps one direction for the noise; when the noise is fixed at zero nothing need be kept back
    return len(values) if fixed == 0 else max(1, len(values) - 1) if len(values) else 0


def _rank(spectrum: Spectrum, sample: Sample[Any]) -> int:
    values = spectrum.eigenvalues
    largest = max(float(values[0]), 0.0) if values.size else 0.0
    return int((values > max(sample.rank_tol * largest, sample.rank_floor)).sum()) if largest > 0 else 0


def _solve(sample: Sample[Any], operator: SelfAdjoint, solver: Solver, count: int, fixed: float | None) -> Spectrum:
    """The solver's answer; for kernels that may be indefinite, the one rule of the library, whatever q.

    Negative eigenvalues count as no variance, in the spectrum and in the trace, and are warned of. That needs the whole
    spectrum, so up to `SIZES.factored` rows such kernels are decomposed densely; beyond, the trace is taken as it is.
    """
    if sample.positive_semidefinite or operator.size > SIZES.factored:
        return solver.solve(operator, count, dim=sample.dim, noise_variance=fixed)
    spectrum = Eigh().solve(operator, operator.size)
    mean_diagonal, dtype = getattr(sample, "mean_diagonal", 0.0), getattr(sample, "given_dtype", np.float64)
    warn_of_negative(spectrum.eigenvalues, mean_diagonal, dtype)
    kept = np.maximum(spectrum.eigenvalues, 0.0)
    return replace(spectrum, eigenvalues=kept, trace=float(kept.sum())).leading(count)


def warn_if_indefinite(kernel: Kernel, gram: Array, weights: Array, dtype: DType) -> bool:
    """The same rule for a model that decomposes parts of one Gram matrix; ``dtype`` is that of what was given. Whether it warned."""
    if kernel.positive_semidefinite or len(gram) > SIZES.factored:
        return False
    sample = DualSample(kernel, None, DenseGram(gram), weights / weights.sum(), 0.0, given_dtype=dtype)
    values = np.linalg.eigvalsh(sample.operator().to_dense())
    return warn_of_negative(values, sample.mean_diagonal, dtype)
