"""Mixtures of PPCA: the latents of the components, and the number of components, by rows or cells that were not fitted [10].

q is scored given responsibilities: each component is fitted to the training rows of a fold in proportion to them, for all q at once,
and the mixture's density of the held-out rows decides. With holes, a part of the observed cells is hidden, and the density of the hidden
cells decides. The number of components is scored by whole fits to the training rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from gramian._arrays import Array, has_nan
from gramian._content import SmallestRows
from gramian._precision import ROUNDING, SEEN
from gramian._progress import checkpoint
from gramian.evidence.cells import HiddenDraw, hidden_draws
from gramian.evidence.held_out import HeldOut, Part, ladder
from gramian.evidence.selection import Selection, choose, choose_by, without_evidence
from gramian.kernels import Precomputed
from gramian.latent.gaussian import log_likelihoods_of_each_q
from gramian.latent.masked_em import predicted_cells
from gramian.latent.masked_table import Chunk
from gramian.latent.units import Units
from gramian.mixtures.complete import weighted_spectrum
from gramian.mixtures.holes import posterior_groups
from gramian.mixtures.kernel_component import CONSTANT_FREE, DualRows
from gramian.mixtures.mixture import MixtureFit, log_terms, responsibilities_of
from gramian.mixtures.ppca_fit import fit_mixture
from gramian.mixtures.rows import MixtureTable, shares_of_block
from gramian.mixtures.start import Draw, Given
from gramian.policy import JURY, LOOK, MIXTURES
from gramian.solvers.eigh import Eigh

WHOLE = 128
"""Up to so many columns every q is scored at once; beyond, the leading ones, twice as many until the best is passed."""
ONE_BY_ONE = 4
"""With holes every q up to this is tried; then about half more each time, and the first that does worse ends the search: it costs most."""
SAFE = 1e-70, 1e70
"""Deviations whose fourth powers neither overflow nor vanish."""
LOOSE_TOL, LOOSE_STEPS = 1e-4, 50
"""The EM of a candidate need not be finished to be judged ..."""


def choose_latents(X: Array, weights: Array, n_clusters: int, shared: bool, rng: np.random.Generator) -> Selection:
    """One q for all components, by held-out rows, or by hidden cells where there are holes; 0 is a candidate.

    Parameters
    ----------
    X : array (n, d), NaN where not observed
    weights : raw weights (n,)
    n_clusters : int
    shared : whether all components have one noise
    rng : draws the seeds of k-means
    """
    holes = has_nan(X)
    drawn = SmallestRows.of(X, weights, LOOK.rows if holes else LOOK.drawn)
    X, weights = drawn.rows, drawn.weights
    if len(X) < MIXTURES.fewest * n_clusters:
        reason = f"q = 0: {len(X)} different rows are too few to hold any out from {n_clusters} components"
        return without_evidence(0, reason)
    if holes:
        return _by_hidden_cells(X, weights, n_clusters, shared, rng)
    table = MixtureTable.of(X, weights)
    start: Any = Draw.of(table, n_clusters).kmeans(n_clusters, 0, rng)
    values = table.scaled(X)
    shares = np.eye(n_clusters)[((values[:, None] - start.centers) ** 2).sum(axis=2).argmin(axis=1)]
    # q is chosen for the clusters of k-means, and again for those of the EM with that q.
    for last in [False] * (2 - 1) + [True]:
        found = latents_given(values, weights, shares)
        if last or n_clusters == 1:
            return found
        shares = fit_mixture(
            table, [found.chosen] * n_clusters, start, shared=shared, rng=rng, tol=LOOSE_TOL, max_iter=LOOSE_STEPS
        ).responsibilities
    raise AssertionError


def latents_given(values: Array, weights: Array, shares: Array) -> Selection:
    """One q for all components, from complete rows, their weights and their responsibilities (n, K)."""
    held_out = HeldOut.of(values, weights=weights)
    d = values.shape[1]
    count = d if d <= WHOLE else WHOLE // 2
    while True:
        losses = held_out.each(partial(_losses_of_each_q, values, weights, shares, count))
        most = min(map(len, losses))
        found = choose_by(held_out.evidence(range(most), [rows[:most] for rows in losses]))
        best = int(np.argmax(found.scores))
        if count >= d or most <= count or found.scores[best] - found.scores[-1] > found.errors[-1]:
            return found
        count = min(d, 2 * count)


def _losses_of_each_q(values: Array, weights: Array, shares: Array, count: int, part: Part) -> Array:
    """Minus the log-likelihood of each row held out, (q, n), for q = 0, 1, ..., the smallest rank of a component but one."""
    d = values.shape[1]
    masses = weights[part.kept] @ shares[part.kept]
    terms, most = [], min(count, d - 1)
    for k in np.flatnonzero(masses > SEEN * masses.sum()):
        mass = weights[part.kept] * shares[part.kept, k]
        into = mass > 1e-12 * mass.max()
        mean, spectrum = weighted_spectrum(values[part.kept][into], mass[into], count)
        rest = values[part.held] - mean
        squares = (rest @ spectrum.eigenvectors) ** 2
        norms = np.einsum("nd,nd->n", rest, rest)
        # the values are scaled: their mean variance is 1
        found = log_likelihoods_of_each_q(spectrum.eigenvalues, spectrum.trace, d, squares, norms, floor=ROUNDING)
        most = min(most, found.shape[1] - 1)
        terms.append(np.log(masses[k] / masses.sum()) + found)
    return _joint_losses([found[:, : most + 1] for found in terms])


def _joint_losses(terms: list[Array]) -> Array:
    """-log Σ_k exp(terms_k) of each row, for every q, (q, n); terms are (n, q) per component."""
    stacked = np.stack(terms, axis=-1)
    return -responsibilities_of(stacked.reshape(-1, stacked.shape[-1]))[1].reshape(stacked.shape[:2]).T


# ---------------------------------------------------------------- kernels


def choose_kernel_latents(
    gram: Array, weights: Array, shares: Array, held_out: HeldOut, noise_variance: float
) -> Selection:
    """One q for all components of a kernel mixture, from the Gram matrix of some rows and their responsibilities [6, 10].

    Parameters
    ----------
    gram : array (n, n), K₀
    weights : raw weights (n,)
    shares : responsibilities (n, K)
    held_out : the rows by their folds
    noise_variance : ρ
    """
    losses = held_out.each(partial(_kernel_losses, gram, weights, shares, noise_variance))
    return choose_by(held_out.evidence(range(len(losses[0])), losses, loss="held-out objective"))


def _kernel_losses(gram: Array, weights: Array, shares: Array, noise_variance: float, part: Part) -> Array:
    """Minus the objective of each row held out, (q, n), for q = 0, 1, ..., as many as any component may have."""
    kept, out = part.kept, part.held
    training = DualRows(Precomputed(), None, gram[np.ix_(kept, kept)])
    masses = weights[kept] @ shares[kept]
    terms = []
    for k in np.flatnonzero(masses > SEEN * masses.sum()):
        model = training.component(weights[kept] * shares[kept, k], 20, noise_variance, Eigh())
        seen = model.subspace.project(gram[np.ix_(out, kept)], np.diagonal(gram)[out])
        found = log_likelihoods_of_each_q(
            model.gaussian.eigenvalues,
            0.0,
            CONSTANT_FREE,
            seen.scores**2,
            seen.squared_norm,
            noise_variance=noise_variance,
        )
        # a component with fewer directions above the noise keeps those, whatever q
        short = 20 + 1 - found.shape[1]
        terms.append(np.log(masses[k] / masses.sum()) + np.pad(found, ((0, 0), (0, short)), mode="edge"))
    return _joint_losses(terms)


# ---------------------------------------------------------------- holes


def _by_hidden_cells(X: Array, weights: Array, n_clusters: int, shared: bool, rng: np.random.Generator) -> Selection:
    """Every q is an EM on a table some of whose cells are hidden, from one start per table."""
    unit = float(np.nanmax(np.abs(X - np.nanmean(X, axis=0)), initial=0.0))
    if unit > 0.0 and not SAFE[0] < unit < SAFE[1]:
        X = X / unit
    tables = hidden_draws(X)
    if not tables:
        return without_evidence(0, "q = 0: too few cells are observed to hide any")
    prepared = []
    for draw in tables:
        table = MixtureTable.of(draw.table, weights)
        start = Draw.of(table, n_clusters).kmeans(n_clusters, 0, rng)
        shares = np.concatenate(table.rows.map(shares_of_block, start))  # once, for every q
        prepared.append(MixtureTable.of(draw.table, weights, shares))
    tried: list[int] = []
    scores: list[list[float]] = []
    best = 0
    for q in ladder(0, min(X.shape[1] - 1, len(X) - 1), 0.5):
        row: list[float] = []
        for table, draw in zip(prepared, tables):
            checkpoint(f"{n_clusters} clusters, cells hidden")
            found = fit_mixture(
                table,
                [q] * n_clusters,
                Given(),
                shared=shared,
                rng=rng,
                tol=10 * LOOSE_TOL,
                max_iter=LOOSE_STEPS,
            )
            row.append(_hidden_score(X, draw, weights, table, found))
            if q > ONE_BY_ONE and row[0] < scores[best][0] - float(np.ptp(scores[best])):
                break  # worse by more than draws differ: the others would say the same, and every further q costs more
        if len(row) < len(tables):
            break
        tried.append(q)
        scores.append(row)
        best = int(np.argmax([np.mean(one) for one in scores]))
        if len(scores) - 1 - best >= (JURY.patience if q <= ONE_BY_ONE else 1):
            break
    return choose(tried, np.array(scores).T, score="log-density of hidden cells")


def _hidden_score(X: Array, draw: HiddenDraw, weights: Array, table: MixtureTable, found: MixtureFit[Any]) -> float:
    """Mean log predictive density of the hidden cells."""
    mixing, rows = found.mixing, np.flatnonzero(draw.hidden.any(axis=1))
    parameters = table.parameters(found.components)
    chunk, cells, terms = Chunk.of(table.scaled(draw.table[rows])), draw.hidden[rows], []
    groups = posterior_groups(chunk, parameters)
    with np.errstate(divide="ignore"):
        levels = np.concatenate([part.log_density for part, _ in groups]).T + np.log(mixing)
    shares = np.repeat(responsibilities_of(levels)[0], cells.sum(axis=1), axis=0)
    for part, group in groups:
        for mean, variance, share in zip(*predicted_cells(part, parameters[group]), shares.T[group]):
            gaps, spread = table.scaled(X[rows])[cells] - mean[cells], variance[cells]
            terms.append(np.log(np.maximum(share, 1e-300)) - 0.5 * (np.log(2 * np.pi * spread) + gaps**2 / spread))
    levels = responsibilities_of(np.column_stack(terms))[1] - np.log(table.scale)
    return float(np.average(levels, weights=np.repeat(weights[rows], cells.sum(axis=1))))


# ---------------------------------------------------------------- the number of components


def choose_clusters(X: Array, weights: Array, n_components: Any, shared: bool) -> Selection:
    """K = 1 to 10 (as far as it gets better) by the held-out log-likelihood of rows, with the q (or fraction) given, or that chosen for each K if it is None.

    Where q is open rows are judged in units of their columns, and seeds come from nowhere else: the same table has the same number of clusters,
    whatever its units, whoever asks.
    """
    drawn = SmallestRows.of(X, weights, LOOK.rows)
    X, weights = drawn.rows, drawn.weights
    X = Units.of(X, weights).into(X) if n_components is None else X
    rng = np.random.default_rng(0)
    held_out = HeldOut.of(X, weights=weights)
    most = min(MIXTURES.most, held_out.fewest_kept // MIXTURES.fewest)
    if most <= 1:
        return without_evidence(
            {"n_clusters": 1}, f"1 component: {len(X)} different rows are too few to hold any out from more"
        )
    family = MixtureFamily(X, weights, n_components, shared, rng)
    candidates = [{"n_clusters": k} for k in range(1, most + 1)]
    return choose_by(held_out.table(family, candidates, what="number of clusters", patience=True))


@dataclass
class MixtureFamily:
    """Mixtures of 1, 2, ... components, each fitted to the rows kept; q (or a fraction), or None: chosen for each number of components."""

    X: Array
    weights: Array
    n_components: Any
    shared: bool
    rng: np.random.Generator
    latents: dict[int, Any] = field(default_factory=dict)

    def path(self, part: Part) -> MixturePath:
        table = MixtureTable.of(self.X[part.kept], self.weights[part.kept])
        return MixturePath(self, table, min(MIXTURES.fewest / len(part.kept), 0.5))

    def q(self, n_clusters: int) -> Any:
        """The latents of each component."""
        if self.n_components is not None:
            return self.n_components
        if n_clusters not in self.latents:
            X, weights = self.X, self.weights
            if has_nan(X):  # each q is an EM per draw of hidden cells, for each number of components
                few = SmallestRows.of(X, weights, LOOK.few)
                X, weights = few.rows, few.weights
            found = choose_latents(X, weights, n_clusters, self.shared, self.rng)
            self.latents[n_clusters] = found.chosen
        return self.latents[n_clusters]


@dataclass(frozen=True)
class MixturePath:
    """The rows kept, and mixtures of them.

    A mixture of K > 1 components holds the share ``rest``, that of a few rows, for the Gaussian of all: a row that its components all but exclude
    is then no more than a row that they do not explain, and does not own the mean.
    """

    family: MixtureFamily
    table: MixtureTable
    rest: float

    def losses(self, held: Array, candidates: Sequence[Any]) -> Array:
        """Minus the log-likelihood of each row held out."""
        return np.array([self._of(held, candidate["n_clusters"]) for candidate in candidates])

    @cached_property
    def everyone(self) -> MixtureFit[Any]:
        """The Gaussian of all rows kept."""
        return self._fitted(1)

    def _of(self, held: Array, K: int) -> Array:
        checkpoint(f"{K} clusters, rows held out")
        found = self.everyone if K == 1 else self._fitted(K)
        X = self.family.X[held]
        terms = log_terms(found.components, found.mixing, [model.subspace.project(X) for model in found.components])
        if K > 1:
            alone = self.everyone.components
            others = log_terms(alone, np.ones(1), [alone[0].subspace.project(X)])
            terms = np.hstack([np.log1p(-self.rest) + terms, np.log(self.rest) + others])
        return -responsibilities_of(terms)[1]

    def _fitted(self, K: int) -> MixtureFit[Any]:
        shared, rng, q = self.family.shared, self.family.rng, self.family.q(K)
        start = Draw.of(self.table, K).kmeans(K, 0, rng)
        return fit_mixture(self.table, [q] * K, start, shared=shared, rng=rng, tol=LOOSE_TOL, max_iter=LOOSE_STEPS)
