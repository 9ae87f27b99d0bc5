"""A target view predicted from the others: the noises, how far to trust the inputs, and what errors to expect [8].

The likelihood spreads the noise of a kernel view over N directions and so trusts it too much: the φ of a new row has more
noise along the principal axes than training rows show. Cross-validation says how much. Dividing the trust in the input
views by κ predicts W_y(W_xᵀW_x + κσ²_xI)⁻¹W_xᵀφ, kernel ridge on the kept components and still the same Gaussian, and the
held-out residuals calibrate the intervals.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from gramian._arrays import Array, symmetrized
from gramian._progress import Progress
from gramian.latent.dimension import DEFAULT_FRACTION
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection
from gramian.latent.model import LatentModel, fit_latent_model
from gramian.latent.view_noise import bare, fit_view_noises, pinned, scales_of, view_inputs
from gramian.latent.views import ExplicitView, ViewSample, ViewSubspace, ViewTable, factored
from gramian.solvers.base import Solver
from gramian.solvers.eigh import Eigh
from gramian.solvers.spectrum import Spectrum

N_RIDGES = 49
"""Steps of the grid for κσ²: less than a factor of 2 each."""
RIDGE_RANGE = 1e-10
"""The smallest κσ², as a share of the largest gain."""
WORTH = 1.01
"""More components are taken where they lower the held-out error by more than this."""
FAINT = 1e-5
"""The weight of the target where components are counted: its own noise is large, so that the ECM weights it about as little."""
MOST_COMPONENTS = 600
"""A fractional n_components never grows beyond this."""
INTERVAL = 0.9
"""The level at which standard deviations are calibrated: 1.645 of them cover 90 % of the held-out residuals."""
UNCHECKED = 0.05
"""Where nothing can be held out the target keeps at least this share of its variance as noise: it may not be interpolated."""
FEWEST_ROWS = 10
"""Below so many rows nothing is held out."""


@dataclass(frozen=True)
class HeldOut:
    """Predictions of every row by a model that has not seen it."""

    predictions: Array  # (n, m)
    leverages: Array  # |E[z | x]|² / N, (n,)
    n_components: int
    ridge: float  # κσ², in units of the scaled views
    error: float  # weighted mean squared error over the variance of the target


@dataclass(frozen=True)
class TargetFit:
    """A fitted model whose last view is the target, with what held-out rows said about it."""

    model: LatentModel  # its subspace trusts the inputs as far as held-out rows allow
    noise_variances: Array
    std: Array  # (m,), of a prediction at z = 0
    held_out: HeldOut | None
    n_iter: int
    settled: bool
    total_weight: float

    @property
    def gaussian(self) -> LatentGaussian:
        return self.model.gaussian

    def posterior(self, seen: Projection) -> Posterior:
        """z given the inputs."""
        return self.gaussian.posterior(seen)

    def decode(self, latents: Array) -> Array:
        """E[y | z] = μ_y + W_y z."""
        return self.model.subspace.parts[-1].decoded(self.gaussian.decode(latents))

    def deviations(self, posterior: Posterior, usual: Array | None = None) -> Array:
        """Predictive standard deviations (n, m): wider where the latents are far out, since loadings are estimates too.

        ``usual`` is `usual_spread`, for calls that repeat it.
        """
        leverages = np.square(posterior.mean).sum(axis=1) / self.total_weight
        base = np.square(self.std)
        covariance = posterior.covariance
        usual = self.usual_spread if usual is None else usual
        extra = self._spread(covariance) - usual  # rows that miss an input know less
        return np.sqrt(np.maximum(base + np.maximum(extra, 0.0), 0.0) * (1.0 + leverages)[:, None])

    @property
    def usual_covariance(self) -> Array:
        """Cov[z | all inputs], shared by all rows that show them."""
        parts = self.model.subspace.parts[:-1]
        overlap = sum(part.trust * part.overlap for part in parts)
        q = self.gaussian.n_components
        nothing = Projection(np.zeros((1, q)), np.zeros(1), 0.0, np.asarray(overlap))
        return self.gaussian.posterior(nothing).covariance

    @property
    def usual_spread(self) -> Array:
        """diag(W_y Cov[z | all inputs] W_yᵀ), (m,)."""
        return self._spread(self.usual_covariance)

    def _spread(self, covariance: Array) -> Array:
        W = target_loadings(self.model.subspace, self.gaussian)
        if covariance.ndim == 2:
            return np.einsum("dp,pr,dr->d", W, covariance, W)
        return np.einsum("dp,npr,dr->nd", W, covariance, W, optimize=True)


def target_loadings(subspace: ViewSubspace, gaussian: LatentGaussian) -> Array:
    """W_y, (m, q)."""
    loadings = subspace.parts[-1].loadings(gaussian.gains)
    assert loadings is not None
    return loadings


@dataclass(frozen=True)
class Folds:
    """A fold for every row, and how many distinct rows each fold has: repeated rows count once, as weights do."""

    numbers: Array  # (n,)
    distinct: Array  # one a fold

    @property
    def usable(self) -> bool:
        return len(self.distinct) > 1 and int(self.distinct.sum()) >= FEWEST_ROWS

    @property
    def fewest_kept(self) -> int:
        """The distinct rows left when the largest fold is held out."""
        return int(self.distinct.sum() - self.distinct.max())

    @property
    def kept_share(self) -> float:
        """The share of the rows that a model of the cross-validation sees."""
        return 1.0 - 1.0 / len(self.distinct)


def dealt_folds(X: Array, n_folds: int) -> Folds:
    """Folds of the rows of X, equal rows in the same one: neither order nor repetition of rows matters.

    Rows are ranked along a fixed random direction and dealt out in a fixed random order.
    """
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(X.shape[1])
    # not BLAS: there a row's rounding may depend on its position, and equal rows would come apart
    ranks = np.einsum("ij,j->i", np.ascontiguousarray(X, dtype=np.float64), direction)
    _, inverse = np.unique(ranks, return_inverse=True)
    count = int(inverse.max()) + 1
    dealt = np.empty(count, dtype=int)
    dealt[rng.permutation(count)] = np.arange(count) % min(n_folds, count)
    return Folds(dealt[inverse.ravel()], np.bincount(dealt))


def block_folds(n_rows: int, n_folds: int) -> Folds:
    """Consecutive blocks of rows, for series."""
    numbers = np.arange(n_rows) * min(n_folds, n_rows) // max(n_rows, 1)
    return Folds(numbers, np.bincount(numbers))


# ---------------------------------------------------------------- fitting


def fit_target(
    table: ViewTable,
    n_components: int | float | None,
    solver: Solver,
    space: str,
    *,
    noise_variance: float | str,
    view_weights: Array,
    folds: Folds | None,
    robust: bool = False,
    tol: float = 1e-3,
    progress: Progress | None = None,
) -> TargetFit:
    """Fit all views together, and cross-validate the prediction of the last one.

    ``n_components`` as a fraction is the smallest q that explains it of the weighted variance, raised while more components
    lower the held-out error by more than 1 %; None is everything above a given noise, else 95 %. Only
    "per-view" noise chooses the trust in the inputs: any other noise is taken at its word.
    """
    sample = ViewSample(table, np.sqrt(view_weights), space)
    folds = folds if folds is not None and folds.usable and table.traces[-1] > 0 else None
    if noise_variance != "per-view":
        return _fit_shared(sample, n_components, solver, noise_variance, view_weights, folds)
    n_components = DEFAULT_FRACTION if n_components is None else n_components
    # a smooth kernel has few components above rounding: cross-validation and ECM then decompose matrices of that size
    working = factored(table) if space == "dual" and isinstance(solver, Eigh) else None
    quick = sample if working is None else ViewSample(working, sample.scales, "primal")
    with pinned(len(table.weights)):
        counting = sample if isinstance(n_components, int) else quick
        q = fit_latent_model(counting, n_components, solver, 0.0).gaussian.n_components
    floors = np.zeros(len(table.views))
    floors[-1] = UNCHECKED * table.traces[-1] / table.dims[-1]
    if folds is not None and q > 0:
        counted = replace(quick, scales=quick.scales * np.sqrt(_faint(len(table.views))))
        first = held_out(
            counted, _sizes(q, n_components, sample, folds), solver, folds, noise_variance=0.0, robust=robust
        )
        if first.n_components > q:  # all rows carry more components than the part that was kept
            q = min(round(first.n_components / folds.kept_share), sample.max_components, max(q, MOST_COMPONENTS))
        floors[-1] = first.error * table.traces[-1] / table.dims[-1]
    fitted = fit_view_noises(
        table, q, solver, space, tol=tol, floors=floors, guard=False, progress=progress, working=working
    )
    model, checked = fitted.model, None
    subspace: ViewSubspace = model.subspace
    if folds is not None and q > 0:
        scaled = replace(quick, scales=scales_of(fitted.noise_variances))
        checked = held_out(scaled, [q], solver, folds, noise_variance=1.0, robust=robust)
        for view in range(len(table.views) - 1):
            # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
            subspace = subspace.trusting(view, 1.0 / (folds.kept_share * checked.ridge))
        model = replace(model, subspace=subspace)
    return _with_std(
        table,
        TargetFit(
            model, fitted.noise_variances, np.empty(0), checked, fitted.n_iter, fitted.settled, table.total_weight
        ),
    )


def _fit_shared(
    sample: ViewSample,
    n_components: int | float | None,
    solver: Solver,
    noise_variance: float | str,
    view_weights: Array,
    folds: Folds | None,
) -> TargetFit:
    table = sample.table
    model = fit_latent_model(sample, n_components, solver, noise_variance, default_fraction=DEFAULT_FRACTION)
    noise, q = model.gaussian.noise_variance, model.gaussian.n_components
    checked = None
    if folds is not None and q > 0:
        checked = held_out(sample, [q], solver, folds, noise_variance=noise, choose=False)
    safe = np.where(view_weights > 0, view_weights, 1.0)
    noises = np.where(view_weights > 0, noise / safe, 0.0)
    return _with_std(
        table, TargetFit(model, noises, np.empty(0), checked, model.spectrum.n_iter, True, table.total_weight)
    )


def _with_std(table: ViewTable, fitted: TargetFit) -> TargetFit:
    """Held-out residuals say what to expect; without them the model does."""
    target = table.views[-1]
    assert isinstance(target, ExplicitView)
    if fitted.held_out is not None:
        checked = fitted.held_out
        residuals = target.features - checked.predictions
        std = calibrated_std(residuals, checked.leverages, table.weights, table.total_weight)
    else:
        std = np.sqrt(np.maximum(fitted.usual_spread, 0.0) + fitted.noise_variances[-1])
    return replace(fitted, std=std)


def _faint(n_views: int) -> Array:
    return np.append(np.ones(n_views - 1), FAINT)


def _sizes(q: int, n_components: int | float, sample: ViewSample, folds: Folds) -> list[int]:
    """Numbers of components to try: the one asked for, or from the fraction's upwards, half as many again each."""
    if isinstance(n_components, int):
        return [q]
    most = min(sample.max_components, folds.fewest_kept - 1, max(q, MOST_COMPONENTS))
    sizes = [q]
    while sizes[-1] < most:
        sizes.append(min(most, max(sizes[-1] + 1, int(1.5 * sizes[-1]))))
    return sizes


# ---------------------------------------------------------------- cross-validation


def held_out(
    sample: ViewSample,
    sizes: list[int],
    solver: Solver,
    folds: Folds,
    *,
    noise_variance: float,
    choose: bool = True,
    robust: bool = False,
) -> HeldOut:
    """Cross-validated predictions of the target view at the best of the ``sizes`` and, if they may be chosen, ridges κσ².

    The best has the least squared error, or (``robust``) the least absolute error, which rare jumps do not decide.
    """
    target = sample.table.views[-1]
    assert isinstance(target, ExplicitView)
    n, m = target.features.shape
    ridges = None if choose else np.array([noise_variance])
    predictions = leverages = np.empty(0)
    with pinned(n):
        for fold in range(len(folds.distinct)):
            held, kept = np.flatnonzero(folds.numbers == fold), np.flatnonzero(folds.numbers != fold)
            part = replace(sample, table=sample.table.take(kept))
            spectrum = kept_spectrum(part, max(sizes), solver, noise_variance)
            subspace = bare(part.subspace(spectrum))
            gaussian = LatentGaussian(spectrum.eigenvalues, noise_variance, part.dim)
            seen = subspace.project([*[view_inputs(view, held, kept) for view in sample.table.views[:-1]], None])
            W = target_loadings(subspace, gaussian)
            mean = target.take(kept).mean(part.table.weights)
            if ridges is None:
                ridges = ridge_grid(gaussian)
            if predictions.size == 0:
                predictions = np.empty((len(sizes), len(ridges), n, m))
                leverages = np.empty((len(sizes), len(ridges), n))
            for k, size in enumerate(sizes):
                offsets, squares = ridge_predictions(gaussian, seen, W, size, ridges)
                predictions[k][:, held] = mean + offsets
                leverages[k][:, held] = squares / part.table.total_weight
    assert ridges is not None
    residuals = predictions - target.features
    squares = np.einsum("n,krnm->kr", sample.table.weights, np.square(residuals))
    errors = np.einsum("n,krnm->kr", sample.table.weights, np.abs(residuals)) if robust else squares
    best_of_size = errors.min(axis=1)
    k = int(np.flatnonzero(best_of_size <= WORTH * best_of_size.min())[0])  # the fewest components that do
    r = int(np.flatnonzero(errors[k] <= best_of_size[k] * (1 + 1e-9))[-1])  # of equals the largest ridge
    variance = float(sample.table.traces[-1]) or 1.0
    return HeldOut(predictions[k, r], leverages[k, r], sizes[k], float(ridges[r]), float(squares[k, r]) / variance)


def kept_spectrum(sample: ViewSample, size: int, solver: Solver, noise_variance: float) -> Spectrum:
    """The leading components of the rows that were kept, above the noise and the rounding."""
    count = min(size, sample.max_components)
    spectrum = solver.solve(sample.operator(), count, dim=sample.dim, noise_variance=noise_variance)
    least = max(noise_variance, sample.rank_tol * float(spectrum.eigenvalues.max(initial=0.0)))
    return spectrum.leading(int((spectrum.eigenvalues > least).sum()))


def ridge_grid(gaussian: LatentGaussian) -> Array:
    """From where the inputs are believed to the last digit to where they are not believed at all."""
    largest = float(np.square(gaussian.gains).max(initial=0.0)) or 1.0
    return np.geomspace(RIDGE_RANGE * largest, 3.0 * largest, N_RIDGES)


def ridge_predictions(
    gaussian: LatentGaussian, seen: Projection, W: Array, size: int, ridges: Array
) -> tuple[Array, Array]:
    """W_y(ΔGΔ + κσ²I)⁻¹Δt for every ridge, (r, n, m), and |z|², (r, n), with the leading ``size`` components."""
    gains = gaussian.gains[:size]
    q = len(gains)
    overlap = np.eye(q) if seen.overlap is None else seen.overlap[:size, :size]
    values, axes = np.linalg.eigh(symmetrized(overlap * np.outer(gains, gains)))
    values = np.maximum(values, 0.0)
    turned = (seen.scores[:, :size] * gains) @ axes
    known = np.maximum(values + ridges[:, None], np.finfo(float).tiny)
    z = turned[None] / known[:, None, :]
    if (ridges == 0).any():  # without noise, directions that no input shows stay at their prior
        z[ridges == 0] *= values > 1e-10 * float(gaussian.eigenvalues.max(initial=0.0))
    return z @ (W[:, :size] @ axes).T, np.square(z).sum(axis=2)


# ---------------------------------------------------------------- calibration


def calibrated_std(residuals: Array, leverages: Array, weights: Array, total_weight: float) -> Array:
    """s such that the 90 % normal interval with s√(1 + |z|²/N) covers 90 % of the held-out residuals (conformally)."""
    scaled = np.abs(residuals) / np.sqrt(1.0 + leverages)[:, None]
    level = min(1.0, INTERVAL * (1.0 + 1.0 / total_weight))
    return np.array([weighted_quantile(column, weights, level) for column in scaled.T]) / float(
        ndtri(0.5 + INTERVAL / 2)
    )


def weighted_quantile(values: Array, weights: Array, level: float) -> float:
    """The smallest value with at least ``level`` of the weight at or below it."""
    order = np.argsort(values, kind="stable")
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(share, level - 1e-9)), len(values) - 1)])
