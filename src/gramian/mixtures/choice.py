"""Mixtures of PPCA: the latents of the components, and the number of components, by rows or cells that were not fitted [10].

q is scored given responsibilities: each component is fitted to the training rows of a fold in proportion to them, for all q at once,
and the mixture's density of the held-out rows decides. With holes, a part of the observed cells is hidden, and the density of the hidden
cells decides. The number of components is scored by whole fits to the training rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gramian._arrays import Array, has_nan
from gramian._content import SmallestRows, cell_uniforms, content_folds, row_hashes
from gramian._progress import checkpoint
from gramian.evidence.selection import Evidence, Selection, choose, choose_by, without_evidence
from gramian.kernels import Precomputed
from gramian.latent.dimension import FLAT
from gramian.latent.gaussian import log_likelihoods_of_each_q
from gramian.latent.primal import predictive
from gramian.latent.units import Units
from gramian.mixtures.complete import weighted_spectrum
from gramian.mixtures.kernel_component import CONSTANT_FREE, DualRows
from gramian.mixtures.mixture import EMPTY, MixtureFit, log_terms, responsibilities_of
from gramian.mixtures.ppca_fit import fit_mixture
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Draw
from gramian.policy import LOOK
from gramian.solvers.eigh import Eigh

FEWEST_ROWS = 6
"""With fewer distinct rows per component nothing is held out, and each is a sphere."""
ROUNDS = 2
"""q is chosen for the clusters of k-means, and again for those of the EM with that q."""
WHOLE = 128
"""Up to so many columns every q is scored at once; beyond, the leading ones, twice as many until the best is passed."""
HIDDEN = 0.1
"""The share of observed cells that is hidden in tables with holes ..."""
DRAWS = 3
"""... and how often."""
ONE_BY_ONE = 4
"""With holes every q up to this is tried; then about half more each time, and the first that does worse ends the search: it costs most."""
PATIENCE = 2
"""Of the first ones so many must do worse than the best before the search ends."""
MOST_CLUSTERS = 10
CLUSTER_PATIENCE = 3
"""So many numbers of components in a row must do worse than the best before no more are tried."""
MOST_KERNEL_LATENTS = 20
SAFE = 1e-70, 1e70
"""Deviations whose fourth powers neither overflow nor vanish."""
LOOSE_TOL, LOOSE_STEPS = 1e-4, 50
"""The EM of a candidate need not be finished to be judged ..."""
LOOSE_TOL_WITH_HOLES = 1e-3
"""... and with holes, where its steps cost most, less so: the same q on six tables, at half the time where q is large."""


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
    if len(X) < FEWEST_ROWS * n_clusters:
        reason = f"q = 0: {len(X)} different rows are too few to hold any out from {n_clusters} components"
        return without_evidence(0, reason)
    if holes:
        return _by_hidden_cells(X, weights, n_clusters, shared, rng)
    table = MixtureTable.of(X, weights)
    start: Any = Draw.of(table, n_clusters).kmeans(n_clusters, 0, rng)
    values = table.scaled(X)
    shares = np.eye(n_clusters)[((values[:, None] - start.centers) ** 2).sum(axis=2).argmin(axis=1)]
    for last in [False] * (ROUNDS - 1) + [True]:
        found = latents_given(values, weights, shares)
        if last or n_clusters == 1:
            return found
        shares = fit_mixture(
            table, [found.chosen] * n_clusters, start, shared=shared, rng=rng, tol=LOOSE_TOL, max_iter=LOOSE_STEPS
        ).responsibilities
    raise AssertionError


def latents_given(values: Array, weights: Array, shares: Array) -> Selection:
    """One q for all components, from complete rows, their weights and their responsibilities (n, K)."""
    folds, fold = content_folds(values, LOOK.folds)
    d = values.shape[1]
    count = d if d <= WHOLE else WHOLE // 2
    while True:
        scores = [_held_out_scores(values, weights, shares, fold == f, count) for f in range(folds.n_folds)]
        most = min(len(row) for row in scores)
        table = np.array([row[:most] for row in scores])
        found = choose(range(most), table, np.array([float(weights[fold == f].sum()) for f in range(folds.n_folds)]))
        best = int(np.argmax(found.scores))
        if count >= d or most <= count or found.scores[best] - found.scores[-1] > found.errors[-1]:
            return found
        count = min(d, 2 * count)


def _held_out_scores(values: Array, weights: Array, shares: Array, out: Array, count: int) -> Array:
    """Mean log-likelihood of the held-out rows for q = 0, 1, ..., the smallest rank of a component but one."""
    d = values.shape[1]
    held = values[out]
    masses = weights[~out] @ shares[~out]
    terms, most = [], min(count, d - 1)
    for k in np.flatnonzero(masses > EMPTY * masses.sum()):
        part = weights[~out] * shares[~out, k]
        into = part > 1e-12 * part.max()
        mean, spectrum = weighted_spectrum(values[~out][into], part[into], count)
        rest = held - mean
        squares = (rest @ spectrum.eigenvectors) ** 2
        norms = np.einsum("nd,nd->n", rest, rest)
        # the values are scaled: their mean variance is 1
        found = log_likelihoods_of_each_q(spectrum.eigenvalues, spectrum.trace, d, squares, norms, floor=FLAT)
        most = min(most, found.shape[1] - 1)
        terms.append(np.log(masses[k] / masses.sum()) + found)
    return _mean_level([found[:, : most + 1] for found in terms], weights[out])


def _mean_level(terms: list[Array], weights: Array) -> Array:
    """Mean log Σ_k exp(terms_k) over the rows, for every q; terms are (n, q) per component."""
    stacked = np.stack(terms, axis=-1)
    levels = responsibilities_of(stacked.reshape(-1, stacked.shape[-1]))[1].reshape(stacked.shape[:2])
    return np.asarray(weights @ levels / weights.sum())


# ---------------------------------------------------------------- kernels


def choose_kernel_latents(gram: Array, weights: Array, shares: Array, fold: Array, noise_variance: float) -> Selection:
    """One q for all components of a kernel mixture, from the Gram matrix of some rows and their responsibilities [6, 10].

    Parameters
    ----------
    gram : array (n, n), K₀
    weights : raw weights (n,)
    shares : responsibilities (n, K)
    fold : the fold of each row
    noise_variance : ρ
    """
    scores = [_kernel_scores(gram, weights, shares, fold == f, noise_variance) for f in np.unique(fold)]
    most = min(len(row) for row in scores)
    sizes = np.array([float(weights[fold == f].sum()) for f in np.unique(fold)])
    return choose(range(most), np.array([row[:most] for row in scores]), sizes, score="held-out objective")


def _kernel_scores(gram: Array, weights: Array, shares: Array, out: Array, noise_variance: float) -> Array:
    """Mean objective of the held-out rows for q = 0, 1, ..., as many as all components have directions above the noise."""
    training = DualRows(Precomputed(), None, gram[np.ix_(~out, ~out)])
    masses = weights[~out] @ shares[~out]
    terms = []
    for k in np.flatnonzero(masses > EMPTY * masses.sum()):
        model = training.component(weights[~out] * shares[~out, k], MOST_KERNEL_LATENTS, noise_variance, Eigh())
        seen = model.subspace.project(gram[np.ix_(out, ~out)], np.diagonal(gram)[out])
        found = log_likelihoods_of_each_q(
            model.gaussian.eigenvalues,
            0.0,
            CONSTANT_FREE,
            seen.scores**2,
            seen.squared_norm,
            noise_variance=noise_variance,
        )
        # a component with fewer directions above the noise keeps those, whatever q
        short = MOST_KERNEL_LATENTS + 1 - found.shape[1]
        terms.append(np.log(masses[k] / masses.sum()) + np.pad(found, ((0, 0), (0, short)), mode="edge"))
    return _mean_level(terms, weights[out])


# ---------------------------------------------------------------- holes


def _by_hidden_cells(X: Array, weights: Array, n_clusters: int, shared: bool, rng: np.random.Generator) -> Selection:
    """Every q is an EM on a table some of whose cells are hidden, from one start per table."""
    unit = float(np.nanmax(np.abs(X - np.nanmean(X, axis=0)), initial=0.0))
    if unit > 0.0 and not SAFE[0] < unit < SAFE[1]:
        X = X / unit
    tables = [hidden for hidden in (_hidden_table(X, draw) for draw in range(DRAWS)) if hidden is not None]
    if not tables:
        return without_evidence(0, "q = 0: too few cells are observed to hide any")
    prepared = [MixtureTable.of(table, weights) for table, _ in tables]
    starts: list[Any] = [Draw.of(table, n_clusters).kmeans(n_clusters, 0, rng) for table in prepared]
    tried: list[int] = []
    scores: list[list[float]] = []
    best = 0
    for q in latents_to_try(min(X.shape[1] - 1, len(X) - 1)):
        row: list[float] = []
        for table, start, (values, hidden) in zip(prepared, starts, tables):
            checkpoint(f"{n_clusters} clusters, cells hidden")
            found = fit_mixture(
                table,
                [q] * n_clusters,
                start,
                shared=shared,
                rng=rng,
                tol=LOOSE_TOL_WITH_HOLES,
                max_iter=LOOSE_STEPS,
            )
            row.append(_hidden_score(X, values, hidden, weights, found))
            if q > ONE_BY_ONE and row[0] < scores[best][0] - float(np.ptp(scores[best])):
                break  # worse by more than draws differ: the others would say the same, and every further q costs more
        if len(row) < len(tables):
            break
        tried.append(q)
        scores.append(row)
        best = int(np.argmax([np.mean(one) for one in scores]))
        if len(scores) - 1 - best >= (PATIENCE if q <= ONE_BY_ONE else 1):
            break
    return choose(tried, np.array(scores).T, score="log-density of hidden cells")


def latents_to_try(most: int) -> Iterator[int]:
    """0, 1, 2, 3, 4, then in steps of about a half more.

    >>> list(latents_to_try(20))
    [0, 1, 2, 3, 4, 6, 9, 14, 20]
    """
    q = 0
    while q < most:
        yield q
        q = q + 1 if q < ONE_BY_ONE else (3 * q + 1) // 2
    yield most


def _hidden_table(X: Array, draw: int) -> tuple[Array, Array] | None:
    """The table with some observed cells hidden, and which; no column loses more than half of its cells, no row its last."""
    seen = ~np.isnan(X)
    hidden = seen & (cell_uniforms(row_hashes(X), X.shape[1], draw) < HIDDEN)
    hidden &= hidden.sum(axis=0) <= 0.5 * seen.sum(axis=0)
    hidden &= np.any(seen & ~hidden, axis=1, keepdims=True)
    return (np.where(hidden, np.nan, X), hidden) if hidden.any() else None


def _hidden_score(X: Array, table: Array, hidden: Array, weights: Array, found: MixtureFit[Any]) -> float:
    """Mean log predictive density of the hidden cells."""
    components, mixing = found.components, found.mixing
    rows = np.flatnonzero(hidden.any(axis=1))
    seen = [model.subspace.project(table[rows]) for model in components]
    shares = responsibilities_of(log_terms(components, mixing, seen))[0]
    cells, terms = hidden[rows], []
    for k in np.flatnonzero(mixing > 0):
        mean, variance = predictive(components[k], seen[k])
        gaps = (X[rows] - mean)[cells] ** 2
        spread = variance[cells]
        log_share = np.log(np.maximum(np.repeat(shares[:, k], cells.sum(axis=1)), 1e-300))
        terms.append(log_share - 0.5 * (np.log(2 * np.pi * spread) + gaps / spread))
    levels = responsibilities_of(np.column_stack(terms))[1]
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
    folds, fold = content_folds(X, LOOK.folds)
    held = [np.flatnonzero(fold == f) for f in range(folds.n_folds)]
    most = max(1, min(MOST_CLUSTERS, (len(X) - max(map(len, held), default=len(X))) // FEWEST_ROWS))
    if most == 1:
        return without_evidence(
            {"n_clusters": 1}, f"1 component: {len(X)} different rows are too few to hold any out from more"
        )
    losses: list[list[Array]] = []
    for K in range(1, most + 1):
        q = choose_latents(X, weights, K, shared, rng).chosen if n_components is None else n_components
        losses.append([_row_losses(X, weights, out, K, q, shared, rng) for out in held])
        evidence = Evidence.of_rows(
            [{"n_clusters": k + 1} for k in range(K)],
            [np.array(parts) for parts in zip(*losses)],
            [weights[out] for out in held],
            what="the mixture",
        )
        if K - 1 - int(evidence.scores.argmax()) >= CLUSTER_PATIENCE:
            break
    return choose_by(evidence)


def _row_losses(X: Array, weights: Array, out: Array, K: int, q: Any, shared: bool, rng: np.random.Generator) -> Array:
    """Minus the log-likelihood of each held-out row under a mixture of the others."""
    checkpoint(f"{K} clusters, rows held out")
    kept = np.ones(len(X), dtype=bool)
    kept[out] = False
    table = MixtureTable.of(X[kept], weights[kept])
    start = Draw.of(table, K).kmeans(K, 0, rng)
    found = fit_mixture(table, [q] * K, start, shared=shared, rng=rng, tol=LOOSE_TOL, max_iter=LOOSE_STEPS)
    seen = [model.subspace.project(X[out]) for model in found.components]
    return -responsibilities_of(log_terms(found.components, found.mixing, seen))[1]
