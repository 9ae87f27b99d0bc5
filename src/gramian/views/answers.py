"""What a fitted model of views answers: latents, densities and other views, for rows that show whatever they show [2, 8, 12]."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian.exceptions import NumericalWarning, warn
from gramian.kernels import Precomputed
from gramian.latent.gaussian import LatentGaussian, Posterior, Projection, noisy_rows, signal_variance
from gramian.latent.small_sample import draw_factors, inflation
from gramian.preimage import inputs_of, preimage_for, warn_unsettled
from gramian.views.subspace import ViewPart, ViewSubspace
from gramian.views.tables import ViewRows
from gramian.views.view import ExplicitView, KernelView, View

Trust = tuple[list[Any], Any, float, Array]
"""Names of the views shown, the name of the view they predict, the trust, and the standard deviations of the view's columns."""


@dataclass(frozen=True)
class Prediction:
    """A view of some rows: its mean, the latents it came from, and standard deviations (n, d) under the law asked for."""

    mean: Array
    std: Array
    posterior: Posterior
    degrees: Array | None  # of freedom of the Student law, one per column; None: normal


@dataclass(frozen=True)
class ViewAnswers:
    """A fitted model with what its views are called and what held-out rows said of them."""

    subspace: ViewSubspace
    gaussian: LatentGaussian
    names: Sequence[Any]
    noise_variances: Array
    counts: Sequence[Array]  # raw weight of the rows that showed each column, one array per view
    trusts: Sequence[Trust]
    preimages: Sequence[Any]
    input_std: Sequence[Array | None]  # of what decoding leaves of training rows, for views that are not linear
    total_weight: float
    reaches: Sequence[float] = ()  # how far the latents of held-out rows went, one per trust

    # ------------------------------------------------------------ rows

    def patterns(self, rows: ViewRows, verb: Callable[[Projection], Array]) -> Array:
        """``verb`` of the rows that show the same views, put together."""
        for part in self.subspace.parts:
            if part.precomputed:
                raise ValueError(
                    "With a precomputed kernel k(y, y) is not known, so there are no distances and densities."
                )
        parts = [(where, verb(seen)) for where, seen in self.subspace.patterns(rows.views, rows.seen)]
        if not parts:  # no rows
            none = Projection(np.empty((0, self.gaussian.n_components)), np.empty(0), self.gaussian.dim)
            parts = [(np.arange(0), verb(none))]
        out = np.empty((len(rows), *parts[0][1].shape[1:]))
        for where, values in parts:
            out[where] = values
        return out.astype(rows.dtype, copy=False)

    def log_density(self, rows: ViewRows) -> Array:
        """log p of what each row shows; scaling view v by c_v costs log c_v per entry that was seen."""
        shift = np.zeros(len(rows))
        for part, view, here in zip(self.subspace.parts, rows.views, rows.seen.T):
            if part.scale > 0 and view is not None:
                entries = (~np.isnan(view)).sum(axis=1) if part.invertible else part.dim * here
                shift += np.log(part.scale) * entries
        return (self.patterns(rows, self.gaussian.log_density) + shift).astype(rows.dtype, copy=False)

    def posterior(self, rows: ViewRows, view: int | None = None) -> Posterior:
        """z given what each row shows; to predict a view, with the trust that held-out rows allow."""
        if self.gaussian.noise_variance == 0:
            self._warn_singular(rows.seen)
        trusts = {} if view is None else {shown: trust[2] for shown, trust in self._known(rows, view).items()}
        return self.subspace.posterior(self.gaussian, rows.views, rows.seen, trusts=trusts)

    def expected(self, rows: ViewRows, v: int, *, small_sample: bool) -> Array:
        """View v given the others: the mean of `predicted`, without its deviations."""
        known = self._known(rows, v) if small_sample else {}
        return self.inputs(v, self._within_reach(rows, self.posterior(rows, v).mean, known))

    def _known(self, rows: ViewRows, v: int) -> dict[tuple[int, ...], Trust]:
        """What held-out rows said of the questions that the rows ask."""
        found = {shown: self._trust(shown, v) for shown in _shown_sets(rows.seen)}
        return {shown: trust for shown, trust in found.items() if trust is not None}

    def _within_reach(self, rows: ViewRows, latents: Array, known: dict[tuple[int, ...], Trust]) -> Array:
        """Latents, those beyond all held-out rows drawn back towards 0."""
        latents = latents.copy()
        if len(self.reaches):
            for shown, trust in known.items():
                where = _showing(rows.seen, shown)
                reach = next(r for r, one in zip(self.reaches, self.trusts) if one is trust)
                latents[where] = drawn_back(latents[where], reach)
        return latents

    def _trust(self, shown: tuple[int, ...], view: int) -> Trust | None:
        names = [self.names[w] for w in shown]
        return nearest_trust(self.trusts, names, self.names[view], len(self.names)) if shown else None

    def _warn_singular(self, seen: Array) -> None:
        """Without noise, views that do not determine all components leave the rest at the prior: say so [8]."""
        for shown in _shown_sets(seen):
            if not shown or len(shown) == len(self.names):
                continue
            rank = self.subspace.seen_rank(shown)
            if rank < self.gaussian.n_components:
                warn(
                    f"The views {[self.names[w] for w in shown]!r} determine {rank} of the {self.gaussian.n_components} components and "
                    "the noise is 0, so the system of AC eq. 15 is singular; the other components are left at their prior. Use "
                    f"noise_variance='ml' or 'per-view', or at most n_components={rank}.",
                    NumericalWarning,
                )

    # ------------------------------------------------------------ views

    def inputs(self, v: int, latents: Array) -> Array:
        """Inputs of view v of latents (..., q): exact where it is linear, else through its decoder or pre-image."""
        scores = self.gaussian.decode(latents.reshape(-1, latents.shape[-1]))
        rows = decoded_inputs(self.subspace.parts[v], scores, self.preimages[v], self.names[v])
        return rows.reshape(*latents.shape[:-1], rows.shape[-1])

    def predicted(self, rows: ViewRows, v: int, *, small_sample: bool) -> Prediction:
        """View v given the others, with standard deviations: held-out ones where there are, else those of the law [8, 12].

        A prediction whose question was asked at fit has the standard deviation s of the held-out residuals, times √(1 + |E z|²/N),
        and wider where a row shows less than the rows of that question. Latents beyond those of all held-out rows are drawn back towards
        0, and what that moves is added to the deviation. Else, and with ``small_sample=False`` (the plug-in law),
        diag(W_v Cov[z | o] W_vᵀ) + σ²_v.
        """
        posterior = self.posterior(rows, v)
        known = self._known(rows, v) if small_sample else {}
        straight = posterior.mean
        posterior = replace(posterior, mean=self._within_reach(rows, straight, known))
        mean = self.inputs(v, posterior.mean)
        linear = self.subspace.parts[v].invertible
        variance = self._plug_in(v, posterior) if linear else self._decoded_variance(v, posterior, mean)
        variance = np.broadcast_to(variance, mean.shape).copy()
        degrees = None
        leverage = np.square(posterior.mean).sum(axis=1)[:, None] / self.total_weight
        asked = np.zeros(len(mean), dtype=bool)
        for shown, trust in known.items():
            where = _showing(rows.seen, shown)
            usual = self._usual(trust, v) if linear else np.inf
            extra = np.maximum(variance[where] - usual, 0.0)
            variance[where] = (np.square(trust[3]) + extra) * (1.0 + leverage[where])
            asked |= where
        moved = (posterior.mean != straight).any(axis=1)
        if moved.any():
            variance[moved] += np.square(self.inputs(v, straight[moved]) - mean[moved])
        if small_sample and not asked.all():
            factor, degrees = inflation(self.counts[v], self.gaussian.n_components, posterior.mean[~asked])
            variance[~asked] *= factor
        return Prediction(mean, np.sqrt(variance), posterior, degrees if not asked.any() else None)

    def filled(self, rows: ViewRows, v: int, *, small_sample: bool) -> tuple[Array, Array]:
        """View v with what was not seen at its expectation, and standard deviations that are 0 where it was seen.

        Entries of a row that shows a part of the view are given all that the row shows; whole views as `predicted`.
        """
        found = self.predicted(rows.without(v), v, small_sample=small_sample)
        values, std = found.mean.copy(), found.std.copy()
        view = rows.views[v]
        if view is None:
            return values, std
        if self.subspace.parts[v].invertible:
            posterior = self.posterior(rows)
            variance = np.broadcast_to(self._plug_in(v, posterior), values.shape)
            if small_sample:
                variance = variance * inflation(self.counts[v], self.gaussian.n_components, posterior.mean)[0]
            partly = rows.seen[:, v]
            values[partly] = self.inputs(v, posterior.mean)[partly]
            std[partly] = np.sqrt(variance)[partly]
        seen = ~np.isnan(view)
        return np.where(seen, view, values), np.where(seen, 0.0, std)

    def draws(self, found: Prediction, v: int, n_draws: int, rng: np.random.Generator) -> Array:
        """(n_draws, n, d) draws of view v: posterior draws of the latents, decoded, with the residual that the law leaves."""
        latents = found.posterior.sample(n_draws, rng)
        rows = self.inputs(v, latents)
        part = self.subspace.parts[v]
        if part.invertible:
            plug_in = np.sqrt(self._plug_in(v, found.posterior))
            rows = noisy_rows(rows, self.noise_variances[v], rng)
            ratio = found.std / np.where(plug_in > 0, plug_in, 1.0)
            deviations = (rows - found.mean) * ratio
            return found.mean + deviations * draw_factors(found.degrees, deviations.shape, rng)
        left = np.maximum(np.square(found.std) - np.square(rows - found.mean).mean(axis=0), 0.0)
        return noisy_rows(rows, left, rng)

    def _plug_in(self, v: int, posterior: Posterior) -> Array:
        """diag(W_v Cov[z | o] W_vᵀ) + σ²_v of a linear view."""
        loadings = self.subspace.loadings_of(v, self.gaussian.gains)
        return signal_variance(loadings, posterior.covariance) + self.noise_variances[v]

    def _usual(self, trust: Trust, v: int) -> Array:
        """The plug-in variance of rows that show all of the views of a question."""
        given = [list(self.names).index(name) for name in trust[0]]
        shown = self.subspace.overlap_of(given)
        nothing = Projection(np.zeros((1, self.gaussian.n_components)), np.zeros(1), 0.0, trust[2] * shown)
        return self._plug_in(v, self.gaussian.posterior(nothing))

    def _decoded_variance(self, v: int, posterior: Posterior, mean: Array) -> Array:
        """The spread of decoded posterior draws, and what decoding leaves of training rows."""
        # Draws whose spread is the standard deviation of a view behind a pre-image or decoder where nothing was held out.
        draws = self.inputs(v, posterior.sample(64, np.random.default_rng(0)))
        left = self.input_std[v] if len(self.input_std) > v else None
        return np.square(draws - mean).mean(axis=0) + (0.0 if left is None else np.square(left))


def _shown_sets(seen: Array) -> list[tuple[int, ...]]:
    """The different sets of views that rows show, as positions."""
    return [tuple(int(v) for v in np.flatnonzero(pattern)) for pattern in np.unique(seen, axis=0)]


def _showing(seen: Array, shown: tuple[int, ...]) -> Array:
    """The rows that show exactly these views."""
    return np.asarray((seen == np.isin(np.arange(seen.shape[1]), shown)).all(axis=1))


# ---------------------------------------------------------------- what held-out rows said


def nearest_trust(trusts: Sequence[Trust], given: Sequence[Any], view: Any, n_views: int) -> Trust | None:
    """What was asked about this view with these views shown.

    Where the view was also asked from all others (as `fit` does), other sets of views take the trust of the set most like them: most
    in common, then fewest others. A list of questions of a user's own stands for those alone.
    """
    about = [trust for trust in trusts if trust[1] == view]
    shown = set(given)
    for trust in about:
        if set(trust[0]) == shown:
            return trust
    if not any(len(trust[0]) == n_views - 1 for trust in about):
        return None
    return max(about, key=lambda trust: (len(shown & set(trust[0])), -len(set(trust[0]) - shown)))


def drawn_back(latents: Array, reach: float) -> Array:
    """Latents farther from 0 than the reach R, brought to the length R² / |z|: off the data the answer returns to the mean [12].

    Nobody has seen how a trend goes on beyond all rows.
    """
    far = np.sqrt(np.square(latents).sum(axis=1))
    return latents * np.square(np.minimum(1.0, reach / np.where(far > 0, far, 1.0)))[:, None]


# ---------------------------------------------------------------- back to inputs [4]


def fitted_preimage(view: View, preimage: Any, scores: Array | None = None) -> Any:
    """The pre-image of a view over its rows; None where the view itself or its feature map leads back to inputs."""
    if view.points is None:
        return None
    few: View = view.anchors
    scores = scores if few is view else None
    view = few
    feature_map = view.feature_map if isinstance(view, ExplicitView) else None
    kernel: Any = view.kernel if isinstance(view, KernelView) else getattr(feature_map, "kernel_", Precomputed())
    method = preimage_for(kernel, preimage)
    method = clone(method) if hasattr(method, "get_params") else method
    uniform = np.full(view.n_rows, 1 / view.n_rows)
    gram = view.gram(uniform).to_dense() if getattr(method, "needs_gram", True) else None
    return method.fit(view.points, gram, kernel=kernel, scores=scores)


def decoded_inputs(part: ViewPart, scores: Array, method: Any, name: Any) -> Array:
    """Inputs of a view from principal scores (n, q)."""
    subspace: Any = part.subspace
    unscaled = part.unscaled(scores)
    inputs = subspace.inputs(unscaled)
    if inputs is not None:
        return inputs
    if method is None:
        raise ValueError(f"View {name!r} has a precomputed kernel, so there are no inputs to map back to.")
    weights, values = subspace.embed(unscaled), subspace.kernel_values(unscaled)
    rows, info = inputs_of(method, weights, values)
    warn_unsettled(info, of=f" of view {name!r}")
    return np.asarray(rows, dtype=np.float64)
