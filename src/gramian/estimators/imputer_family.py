"""Which kind of model fills a table best: PPCA, a mixture of them or a kernel model, judged on hidden cells [10, 18]."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._checks import is_auto
from gramian._content import SmallestRows
from gramian.estimators.kernel_ppca import KernelPPCA
from gramian.estimators.ppca_mixture import PPCAMixture
from gramian.evidence.cell_scales import column_scales
from gramian.evidence.cells import by_parts, hidden_cells
from gramian.evidence.selection import Selection, choose
from gramian.policy import JURY, LOOK

MOST_ROWS, MOST_COLUMNS = 2000, 200
"""Larger tables are left to PPCA: a kernel model looks at all pairs of rows."""
CLUSTERS, ROWS_PER_CLUSTER, CLUSTERED_COLUMNS = (3, 6), 20, 50
"""Mixtures that are tried, the rows that each of their components needs, and up to how many columns."""
LINEAR = "PPCA"


@dataclass(frozen=True)
class FamilyChoice:
    """The selection, the chosen model, fitted (None: PPCA), and the scales of its standard deviations."""

    selection: Selection
    model: Any
    scales: Array


def candidates(n_rows: int, n_columns: int) -> dict[str, Any]:
    """Models beside PPCA that a table of this size is worth, the simplest first.

    >>> list(candidates(300, 10)), list(candidates(50_000, 10))
    (['KernelPPCA', 'PPCAMixture(3)', 'PPCAMixture(6)'], [])
    """
    if n_rows > MOST_ROWS or n_columns > MOST_COLUMNS:
        return {}
    found: dict[str, Any] = {"KernelPPCA": KernelPPCA(random_state=0)}
    for count in CLUSTERS:
        if n_columns <= CLUSTERED_COLUMNS and n_rows >= ROWS_PER_CLUSTER * count:
            found[f"PPCAMixture({count})"] = PPCAMixture(count, random_state=0)
    return found


Said = tuple[Array, Array]
"""Means and standard deviations of the hidden cells of a draw."""


@dataclass(frozen=True)
class _Trial:
    """Some rows of a table, draws that hide cells of them, and what models say that have not seen these."""

    rows: SmallestRows
    hidden: list[Array]
    fill: Callable[[Any, Array], Said]

    def by_refits(self, fitted: Callable[[Array, Array], Any]) -> list[Said]:
        """A model for each draw."""
        found = []
        for hidden in self.hidden:
            shown = np.where(hidden, np.nan, self.rows.rows)
            means, deviations = self.fill(fitted(shown, self.rows.weights), shown)
            found.append((means[hidden], deviations[hidden]))
        return found

    def by_mixture(self, mixture: PPCAMixture) -> list[Said]:
        """As many latents as the first draw chooses, in all of them."""

        def fitted(shown: Array, weights: Array) -> Any:
            made = clone(mixture).fit(shown, sample_weight=weights)
            if is_auto(mixture.n_components):
                mixture.set_params(n_components=max(made.n_components_))
            return made

        mixture = clone(mixture)
        return self.by_refits(fitted)

    def by_kernel(self, model: KernelPPCA) -> list[Said]:
        """A kernel model hides the same cells to settle how it fills: what each draw says by the settings of the others. Nothing, where it fills as PPCA."""
        filling = model.fit(self.rows.rows, sample_weight=self.rows.weights)._filling()
        same = len(filling.held_out) == len(self.hidden) and all(
            np.array_equal(one.hidden, hidden) for one, hidden in zip(filling.held_out, self.hidden)
        )
        if not same or filling.shares[0] == 1.0:
            return []
        scales = [filling.scales[hidden.nonzero()[1]] for hidden in self.hidden]
        return [(one.means, scale * one.deviations) for one, scale in zip(filling.held_out, scales)]


def choose_family(
    linear: Callable[[Array, Array], Any],
    fill: Callable[[Any, Array], Said],
    table: Array,
    weights: Array,
    least_std: float | Array,
) -> FamilyChoice | None:
    """The model whose squared error of hidden cells is best; PPCA unless the kernel model is better by more than one standard error, or a mixture by two.

    ``linear`` fits PPCA with what was settled of it to a table and weights, ``fill`` is a model's answer to a table. None where the table is
    too large for other models, or nothing can be hidden.
    """
    models = candidates(*table.shape)
    if not models:
        return None
    drawn = SmallestRows.of(table, weights, LOOK.few)
    draws = (hidden_cells(drawn.rows, draw, drawn.hashes) for draw in range(LOOK.draws))
    trial = _Trial(drawn, [hidden for hidden in draws if hidden.any()], fill)
    if len(trial.hidden) < 2:
        return None
    spread = np.nanstd(table, axis=0)
    unit = np.where(spread > 0, spread, 1.0)
    least = np.broadcast_to(least_std, unit.shape)
    columns = [hidden.nonzero()[1] for hidden in trial.hidden]
    said: dict[str, list[Said]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit to all cells has its say
        for name in (LINEAR, *models):
            try:
                if name == LINEAR:
                    said[name] = trial.by_refits(linear)
                elif isinstance(models[name], PPCAMixture):
                    said[name] = trial.by_mixture(models[name])
                else:
                    said[name] = trial.by_kernel(models[name])
            except ValueError:  # too few cells for this model
                said[name] = []
    said = {name: answers for name, answers in said.items() if answers}
    if LINEAR not in said:
        return None
    missed = {
        name: [found - drawn.rows[hidden] for (found, _), hidden in zip(answers, trial.hidden)]
        for name, answers in said.items()
    }
    told = [
        by_parts(np.square(np.array(parts) / unit[at]), hidden)
        for *parts, at, hidden in zip(*missed.values(), columns, trial.hidden)
    ]
    losses, cells = (np.concatenate(part, axis=-1) for part in zip(*told))
    named = [{"estimator": name} for name in said]
    judged = partial(choose, named, -losses.T, cells, what="model", score="squared error of hidden cells")
    selection = judged()
    if isinstance(models.get(selection.chosen["estimator"]), PPCAMixture):
        # it corrects nothing: cells that no draw hid may be far off
        selection = judged(n_errors=JURY.clear)
    chosen = selection.chosen["estimator"]
    beyond = [part / np.maximum(std, least[at]) for part, (_, std), at in zip(missed[chosen], said[chosen], columns)]
    scales = column_scales(np.concatenate(beyond), np.concatenate(columns), table.shape[1])
    if chosen == LINEAR:
        return FamilyChoice(selection, None, scales)
    model = models[chosen]
    if not hasattr(model, "n_features_in_") or len(drawn.rows) < len(table):  # else it has seen all of them
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of clusters started again, say: nobody asked for this model, and hidden cells judge it
            model = clone(model).fit(table, sample_weight=weights)
    return FamilyChoice(selection, model, scales)
