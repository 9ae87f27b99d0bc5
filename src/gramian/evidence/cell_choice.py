"""q of a table with holes, its noise, or a noise of each column, on cells that were hidden from it [10]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._content import Folds
from gramian._progress import checkpoint
from gramian.evidence.cell_scales import LEAST_STD
from gramian.evidence.cells import LOOSE_STEPS, CellDraw, HiddenPredictions, cell_draws
from gramian.evidence.held_out import ends, ladder
from gramian.evidence.selection import Evidence, Selection, choose, choose_by
from gramian.latent.missing import MissingFit
from gramian.policy import FILLING, JURY, LOOK

LARGEST_NOISE, NOISE_RATIO, N_NOISES = 2.0, 0.25, 11
"""Noises that are tried, of the mean variance: the largest is the simplest, as the fewest components stand out of it."""
NEGLIGIBLE = 0.01
"""Of the squared error: a smaller noise that gains less is not worth it, unless it leaves none at all."""


@dataclass(frozen=True)
class CellChoice:
    """The selection, what the models of each candidate said of the hidden cells, and those models, one per draw."""

    selection: Selection
    predictions: list[HiddenPredictions]
    models: list[list[MissingFit | None]]

    def said(self, candidate: Any) -> HiddenPredictions | None:
        """What the models of a candidate said of the hidden cells."""
        tried = self.selection.candidates
        return self.predictions[tried.index(candidate)] if candidate in tried else None

    def start(self, candidate: Any) -> MissingFit | None:
        """A model for a fit of the candidate to start from; None where it left no noise."""
        tried = self.selection.candidates
        model = self.models[tried.index(candidate)][0] if candidate in tried else None
        return model if model is not None and np.all(model.noise_variance > 0) else None


def choose_by_cells(
    X: Array,
    weights: Array,
    largest: int,
    *,
    smallest: int = 1,
    noise_variance: Any = None,
    center: bool = True,
    n_draws: int | Folds = LOOK.folds,
    blocks: Array | None = None,
    by_error: bool = False,
) -> CellChoice | None:
    """The smallest q whose density of hidden cells is within one standard error (paired over draws) of the best; None if none can be hidden.

    ``largest`` bounds the candidates. Each model starts from the one before it. ``blocks`` (d,): each block of columns has its own noise.
    ``by_error``: their squared error decides.
    """
    draws = cell_draws(X, weights, n_draws, noise_variance, center, blocks)
    if len(draws) < 2:
        return None
    search = _Search(draws, by_error, "q")
    for q in ladder(smallest, largest):
        if search.ends_with(q, [draw.at(q) for draw in draws]):
            break
    return search.choice


def choose_noise_by_cells(
    X: Array,
    weights: Array,
    largest: int,
    *,
    center: bool = True,
    n_draws: int | Folds = LOOK.folds,
) -> CellChoice | None:
    """The largest noise whose squared error of hidden cells is within one standard error of the best; None if none can be hidden.

    The model of a noise has the components that stand out of it, at most ``largest``: many weak ones are kept where they help and all
    are shrunk, which tables that no few components explain prefer to a q of maximum likelihood. Candidates are 0 (the column means), then
    {"n_components", "noise_variance"}. Where the smallest noise is taken columns nearly determine each other: if what stands out
    of it leaves no noise at all, that is tried too.
    """
    n, d = X.shape
    n_rows = rows_within(n, d, max(largest, 1))
    largest = min(largest, n_rows - int(center), max(int(FILLING.noise_work / (n_rows * d)), 1))
    draws = cell_draws(X, weights, n_draws, None, center, None, n_rows)
    if len(draws) < 2:
        return None
    unit = draws[0].problem.scale ** 2
    search = _Search(draws, True, "model")
    search.ends_with(0, [draw.at(0) for draw in draws])
    q = 0
    for k in range(N_NOISES):
        noise = float(f"{LARGEST_NOISE * NOISE_RATIO**k * unit:.3g}")
        said = [draw.at_noise(noise, largest) for draw in draws]
        model = draws[0].model
        q = 0 if model is None else model.loadings.shape[1]
        if q and search.ends_with({"n_components": q, "noise_variance": noise}, said):
            return search.choice
    if search.selection.index == len(search.tried) - 1:
        for draw in draws:
            draw.parameters = None
        first = draws[0].at(q)
        if draws[0].ended:
            search.ends_with(q, [first, *(draw.at(q) for draw in draws[1:])])
            return search.choice
    return replace(search.choice, selection=worth_it(search.selection))


def with_column_noises(
    choice: CellChoice,
    X: Array,
    weights: Array,
    largest: int,
    *,
    center: bool = True,
    n_draws: int | Folds = LOOK.folds,
) -> CellChoice:
    """The choice, or a model with a noise of each column where that fills the same hidden cells better by more than two standard errors.

    Few factors with noises of their own then stand in the place of many weak components. A model that takes a column for exact is no candidate, and ends
    the search, as more factors do the same: its column was drawn to a factor of its own, which says nothing of other rows. More factors than
    (d - q)² >= d + q has are not told by a covariance. Where the steps of a candidate are much work nothing is tried.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((500, 4)) @ rng.standard_normal((4, 20)) + np.geomspace(0.3, 3.0, 20) * rng.standard_normal((500, 20))
    >>> X /= X.std(axis=0)
    >>> with_column_noises(choose_noise_by_cells(X, np.ones(500), 19), X, np.ones(500), 19).selection.chosen
    {'n_components': 4, 'noise_variance': 'per-column'}
    """
    n, d = X.shape
    n_rows = rows_within(n, d, max(largest, 1))
    largest = min(largest, int(d + 0.5 - np.sqrt(2 * d + 0.25)))
    if choice.selection.chosen == 0 or largest < 1 or n_rows * d * largest * LOOSE_STEPS > FILLING.noise_work:
        return choice
    draws = cell_draws(X, weights, n_draws, None, center, np.arange(d), n_rows)
    search = _Search(draws, True, "model")
    for q in ladder(1, largest, 0.5):
        # a column without noise, which ends the search, divides by it
        with np.errstate(over="ignore", invalid="ignore"):
            said = [draw.at(q) for draw in draws]
        if not all(one is not None and np.isfinite(one.means).all() for one in said):
            break
        candidate = {"n_components": q, "noise_variance": "per-column"}
        if any(takes_for_exact(draw.model) for draw in draws) or search.ends_with(candidate, said):
            break
    plain = choice.selection.evidence
    if not search.tried or plain is None or plain.losses.shape[1] != len(draws):
        return choice
    found = search.choice
    losses = np.stack([plain.losses[choice.selection.index], search.evidence.losses[found.selection.index]])
    pair = choose(["one", "per-column"], -losses.T, plain.weights, n_errors=JURY.clear)
    evidence = replace(
        plain, candidates=plain.candidates + search.tried, losses=np.vstack([plain.losses, search.evidence.losses])
    )
    chosen, reason = choice.selection.chosen, choice.selection.reason
    if pair.chosen == "per-column":
        chosen, gain = found.selection.chosen, 1.0 - float(pair.scores[1] / pair.scores[0])
        reason = (
            f"a noise of each column, q = {chosen['n_components']}: {gain:.1%} less {plain.loss} than one noise, "
            f"by more than {JURY.clear:g} standard errors"
        )
    selection = replace(choose_by(evidence), chosen=chosen, reason=reason)
    return CellChoice(selection, choice.predictions + found.predictions, choice.models + found.models)


def takes_for_exact(model: MissingFit | None) -> bool:
    """Whether a column is left with next to no noise."""
    if model is None:
        return False
    noise = np.broadcast_to(model.noise_variance, len(model.mean))
    return bool((noise < LEAST_STD**2 * (noise + np.square(model.loadings).sum(axis=1))).any())


def rows_within(n: int, d: int, q: int) -> int:
    """So many rows that the work, rows times columns times components (no more than rows), is bounded; n where these are few.

    >>> rows_within(100, 10, 9), rows_within(5000, 10, 9)
    (100, 2000)
    """
    most = FILLING.noise_work / d
    return int(min(n, LOOK.rows, max(most / q, np.sqrt(most), LOOK.fewest)))


def worth_it(selection: Selection) -> Selection:
    """The selection, or the simplest candidate whose error is within `NEGLIGIBLE` of the best: EM is very slow where hardly any noise is left.

    >>> from gramian.evidence.selection import choose
    >>> worth_it(choose([0, 1, 2], [[-1.0, -0.502, -0.5], [-1.0, -0.503, -0.5]])).chosen
    1
    """
    first = int((selection.scores >= (1 + NEGLIGIBLE) * selection.scores.max()).argmax())
    if first >= selection.index:
        return selection
    reason = selection.reason + f", and within {NEGLIGIBLE:.0%} of its error already {selection.candidates[first]}"
    return replace(selection, chosen=selection.candidates[first], reason=reason)


@dataclass
class _Search:
    """Candidates as they come, simplest first, until the jury's patience ends."""

    draws: list[CellDraw]
    by_error: bool
    what: str
    tried: list[Any] = field(default_factory=list)
    scores: list[Array] = field(default_factory=list)  # of each candidate, one per draw
    predictions: list[HiddenPredictions] = field(default_factory=list)
    models: list[list[MissingFit | None]] = field(default_factory=list)

    @property
    def evidence(self) -> Evidence:
        sizes = np.array([draw.weights[draw.where[0]].sum() for draw in self.draws])
        loss = "squared error of hidden cells" if self.by_error else "log predictive density of hidden cells"
        return Evidence(list(self.tried), -np.array(self.scores), sizes, self.what, loss)

    @property
    def selection(self) -> Selection:
        return choose_by(self.evidence)

    @property
    def choice(self) -> CellChoice:
        return CellChoice(self.selection, self.predictions, self.models)

    def ends_with(self, candidate: Any, found: Sequence[HiddenPredictions | None]) -> bool:
        """Take in what the models of a candidate said; whether the search is over."""
        checkpoint(f"hidden cells, {candidate}")
        parts = [part for part in found if part is not None]
        if len(parts) < len(found):
            return True
        self.tried.append(candidate)
        self.scores.append(np.array([part.score(self.by_error) for part in parts]))
        self.predictions.append(reduce(add, parts))
        self.models.append([draw.model for draw in self.draws])
        return ends(self.evidence)
