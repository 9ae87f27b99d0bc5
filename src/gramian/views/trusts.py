"""How far the views shown can be trusted, and what error to expect, asked of held-out rows [8, 10, 12].

Dividing the trust in the views o by κ predicts W_v(Σ W_wᵀW_w + κσ²I)⁻¹ Σ W_wᵀφ_w: ridge regression of view v on the views o within
the kept components, in the same Gaussian. All questions share one decomposition per fold. The residuals of the held-out rows, in the units
of the inputs, are the standard deviations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count
from gramian._content import row_hashes, smallest_positions
from gramian._precision import ROUNDING
from gramian._types import Views
from gramian.evidence.held_out import HeldOut
from gramian.evidence.limits import calibrated_std
from gramian.policy import JURY, LOOK
from gramian.single.answers import atomic, chosen_solver
from gramian.solvers import as_solver
from gramian.views.answers import Trust, decoded_inputs, fitted_preimage
from gramian.views.choice import choose_ridge, from_all_others
from gramian.views.fit import choice_rows
from gramian.views.folds import FoldedViews, Question
from gramian.views.noise import pin_threads
from gramian.views.predictions import ViewPredictions
from gramian.views.specs import fitted_view
from gramian.views.subspace import ViewModel
from gramian.views.tables import ViewLayout, ViewRows
from gramian.views.view import ViewTable


@dataclass(frozen=True)
class HeldOutTrusts:
    """The trusts of the questions asked, and the reach of each: how far from 0 the latents of new rows are believed.

    That is as far as those of held-out rows went, over the root of the share of the view's variance that was left unexplained there: a
    relation that is nearly exact is followed far beyond the rows.
    """

    trusts: list[Trust]
    reaches: list[float]


class TrustedViews(ViewPredictions):
    """What a model of views keeps of held-out rows, asked at `fit` or by `calibrate`."""

    n_folds: int | None
    preimage: Any
    _model: Annotated[ViewModel, "its q v"]
    trusts_: list[Trust]
    _reaches: list[float]

    def _wrong_state(self) -> str | None:
        """What a model file may not say: a table without the columns of its views, trusts of other views, or of other columns; a
        number of reaches that is not theirs."""
        state = vars(self)
        if state.get("_container") not in (None, "dict", "list") and state.get("_columns") is None:
            return "_columns is missing, and the views are those of a table"
        trusts = state.get("trusts_", [])
        for given, view, _, std in trusts:
            if view not in self.view_names_ or any(name not in self.view_names_ for name in given):
                return "trusts_ are about views that there are not"
            width = self._layout.widths[list(self.view_names_).index(view)]
            if std.shape != (width,) or not np.isfinite(std).all():
                return "trusts_ have standard deviations that are not those of a view"
        return None if len(state.get("_reaches", ())) in (0, len(trusts)) else "_reaches are not those of trusts_"

    def _calibrates(self, layout: ViewLayout) -> bool:
        return self.n_folds is not None and len(layout.names) > 1 and isinstance(self.noise_variance, str)

    def _keep_trusts(self, found: HeldOutTrusts | None) -> None:
        self.trusts_: list[Trust] = [] if found is None else found.trusts
        self._reaches: list[float] = [] if found is None else found.reaches

    @atomic
    def calibrate(self, X: Views, questions: Any = None, *, n_folds: int = 5) -> Self:
        """Learn from held-out rows how far `predict_view` may trust the views shown; `fit` does so unless ``n_folds=None`` [8, 10].

        The likelihood understates the noise along the principal axes. For each question, "view v from the views o", the noise of
        the views o is divided by the trust of the least cross-validated error: ridge regression within the kept components, in
        the same Gaussian. The held-out residuals, in the units of the inputs, also give the standard deviations: 1.645 of them cover
        90 %. Only `predict_view` changes; latents and densities stay those of the model.

        Parameters
        ----------
        X : table, list or dict of views
            The training views; rows that miss an entry are left out.
        questions : list of (given, view), optional
            ``given`` is the view shown, or a list of them. None: those that `fit` asks, every view from every set of others (of more
            than four views: from all others and from each alone).
        n_folds : int, default=5

        Returns
        -------
        MultiViewRKM
            With ``trusts_``, a list of (given, view, trust, std).

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import MultiViewRKM
        >>> rng = np.random.default_rng(0)
        >>> z = rng.standard_normal((60, 1))
        >>> views = {name: z + rng.standard_normal((60, 20)) for name in ("a", "b")}
        >>> model = MultiViewRKM(10, noise_variance="ml", n_folds=None).fit(views).calibrate(views)
        >>> [(given, view, trust < 1) for given, view, trust, _ in model.trusts_]
        [(['b'], 'a', True), (['a'], 'b', True)]
        """
        check_is_fitted(self)
        check_count("n_folds", n_folds, 2)
        if self._gaussian.noise_variance == 0:
            raise ValueError(
                "calibrate divides the noise of views, but noise_variance is 0. Use noise_variance='ml', 'per-view' or a number."
            )
        rows = self._rows(X)
        asked = None if questions is None else [asked_question(question, self._layout) for question in questions]
        found = self._held_out(rows, np.ones(len(rows)), asked, n_folds)
        if found is None:
            raise ValueError(
                f"calibrate needs at least {JURY.fewest_rows} distinct rows that show all views, got "
                f"{int(rows.complete_rows.sum())}. Give more rows."
            )
        self._keep_trusts(found)
        return self

    def _held_out(self, rows: ViewRows, weights: Array, asked: Any, n_folds: int, built: Any = None) -> Any:
        parts = self._model.subspace.parts
        targets = [v for v, part in enumerate(parts) if not part.precomputed]
        asked = questions_of(targets, len(parts)) if asked is None else asked
        held = held_out_views(
            rows,
            weights,
            self._model,
            n_folds=n_folds,
            preimage=self.preimage,
            names=self.view_names_,
            built=built,
        )
        return None if held is None or not asked else held_out_trusts(held, asked)


def questions_of(targets: Sequence[int], n_views: int) -> list[Question]:
    """What `fit` asks about the views ``targets``."""
    # Beyond so many views only a view from all others is asked.
    if n_views > 12:
        return [question for question in from_all_others(n_views) if question[1] in targets]
    # Up to so many views every question is asked at fit; beyond, a view from all others and from each other view alone.
    sizes = range(1, n_views) if n_views <= 4 else (1, n_views - 1)
    return [
        (given, v)
        for v in targets
        for size in sizes
        for given in combinations([w for w in range(n_views) if w != v], size)
    ]


def asked_question(question: Any, layout: ViewLayout) -> Question:
    """Positions of the views shown, in their order, and of the one to be predicted, from a pair that a user gave."""
    if not isinstance(question, list | tuple) or len(question) != 2:
        raise ValueError(
            f"questions holds {question!r}, which is not a pair (given, view): the views shown, and the view they predict."
        )
    given, view = question
    shown = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]  # a name is one view
    positions = tuple(sorted({layout.position(w) for w in shown}))
    v = layout.position(view)
    if not positions or v in positions:
        raise ValueError(f"View {layout.names[v]!r} must be predicted from other views, at least one.")
    return positions, v


@dataclass(frozen=True)
class HeldOutAnswers:
    """What the models of the folds answered to one question, fold after fold."""

    question: Question
    ridge: float
    residuals: list[Array]  # in the units of the inputs, (n, d_v)
    reach: list[Array]  # |z|² of the latents behind the answers
    weights: list[Array]  # of the rows held out
    kept: list[float]  # the weight of the rows that each model has seen

    @property
    def losses(self) -> Array:
        """Mean squared error of each fold."""
        found = [weights @ np.square(left).sum(axis=1) for left, weights in zip(self.residuals, self.weights)]
        return np.array(found) / [float(weights.sum()) for weights in self.weights]


@dataclass(frozen=True)
class HeldOutViews:
    """Complete rows of all views dealt to folds, and the model that each fold is asked for: scales of the views, q, one noise."""

    table: ViewTable
    inputs: Sequence[Array]
    fold: Array
    scales: Array
    n_components: int
    noise_variance: float
    preimage: Any
    names: Sequence[Any]
    folded: FoldedViews | None = None  # folds of more rows than these, by their moments

    def variance(self, v: int) -> float:
        """Of the inputs of a view, summed over its columns."""
        shares = self.table.weights / self.table.weights.sum()
        return float(shares @ np.square(self.inputs[v] - shares @ self.inputs[v]).sum(axis=1))

    def answers(self, questions: Sequence[Question]) -> Iterator[HeldOutAnswers]:
        """Of each question, view by view."""
        table, fold = self.table, self.fold
        folded = self.folded
        if folded is None:
            folded = FoldedViews.of(table, fold, exact=any(view.points is not None for view in table.views))
        width = sum(table.widths) if folded.moments is not None else len(fold)
        solver, _ = chosen_solver(as_solver("auto"), width, self.n_components)
        looked_at = np.ones(len(fold), dtype=bool)
        if len(fold) > LOOK.drawn:
            hashes = row_hashes(np.hstack(self.inputs))
            looked_at = hashes <= hashes[smallest_positions(hashes, LOOK.drawn)].max()  # with all copies
        folded = replace(folded, looked_at=looked_at)
        with pin_threads(len(fold)):
            folds = folded.folds(self.scales, self.n_components, solver)
            kept = [np.flatnonzero(looked_at[part.held]) for part in folds]
            seen = [part.projections(folded.table) for part in folds]
            for target in dict.fromkeys(v for _, v in questions):
                back = [part.kept if folded.moments is None else part.kept[looked_at[part.kept]] for part in folds]
                view = table.views[target]
                methods = [
                    None if view.points is None else fitted_preimage(view.take(rows), self.preimage) for rows in back
                ]
                for given in [given for given, v in questions if v == target]:
                    ridge = choose_ridge(folds, (given, target), self.n_components, self.noise_variance)
                    found = HeldOutAnswers((given, target), ridge, [], [], [], [])
                    for part, rows, shown, method in zip(folds, kept, seen, methods):
                        if not len(rows):
                            continue
                        latents = part.latents([view[rows] for view in shown], given, ridge, self.noise_variance)
                        gains = np.sqrt(np.maximum(part.eigenvalues - self.noise_variance, 0.0))
                        guess = decoded_inputs(part.subspace.parts[target], latents * gains, method, self.names[target])
                        found.residuals.append(self.inputs[target][part.held[rows]] - guess)
                        found.reach.append(np.square(latents).sum(axis=1))
                        found.weights.append(table.weights[part.held[rows]])
                        found.kept.append(table.total_weight - part.weight)
                    yield found

    @property
    def kept_share(self) -> float:
        """The share of the rows that the model of a fold has seen."""
        return 1.0 - 1.0 / len(np.unique(self.fold)) if self.folded is None else self.folded.held_out.kept_share


def held_out_views(
    rows: ViewRows,
    weights: Array,
    model: ViewModel,
    *,
    n_folds: Any,
    preimage: Any,
    names: Sequence[Any],
    built: Any = None,
) -> HeldOutViews | None:
    """The rows that show everything, held out from a fitted model; None where those are too few, or the model has no noise.

    ``built`` are the training views behind the model, where the rows are those that it was fitted to.
    """
    parts, gaussian = model.subspace.parts, model.gaussian
    complete = np.flatnonzero(rows.complete_rows)
    if gaussian.n_components == 0 or gaussian.noise_variance == 0 or len(complete) < JURY.fewest_rows:
        return None
    if built is None or len(complete) < len(rows):
        rows, weights = rows.take(complete), weights[complete]
        built = [fitted_view(part.subspace, view) for part, view in zip(parts, rows.views)]
    hashes = row_hashes(rows.stacked)
    table = ViewTable(tuple(built), weights / weights.sum(), float(weights.sum()))
    chosen = choice_rows(table, hashes)
    held_out = HeldOut.of(None, n_folds, hashes=hashes[chosen])
    if not held_out.usable:
        return None
    if len(chosen) < len(hashes):
        table, rows = table.take(chosen), rows.take(chosen)
    scales = np.array([part.scale for part in parts])
    inputs = [np.asarray(view, dtype=np.float64) for view in rows.views]
    return HeldOutViews(
        table, inputs, held_out.numbers, scales, gaussian.n_components, gaussian.noise_variance, preimage, names
    )


def held_out_trusts(held: HeldOutViews, questions: Sequence[Question]) -> HeldOutTrusts:
    """The trust and the standard deviations of each question."""
    found = HeldOutTrusts([], [])
    total, names = held.table.total_weight, held.names
    for answers in held.answers(questions):
        given, target = answers.question
        left, shares = np.concatenate(answers.residuals), np.concatenate(answers.weights)
        leverages = [squares / kept for squares, kept in zip(answers.reach, answers.kept)]
        std = calibrated_std(left, np.concatenate(leverages), shares, total)
        spread = held.variance(target)
        unexplained = min(float(shares @ np.square(left).sum(axis=1) / shares.sum() / (spread or 1.0)), 1.0)
        # the ridge of kernel regression is κσ²N: with all rows in, κ is smaller
        trust = held.noise_variance / (held.kept_share * answers.ridge)
        found.trusts.append(([names[w] for w in given], names[target], float(trust), std))
        reach = max(float(np.sqrt(squares.max())) for squares in answers.reach)
        found.reaches.append(reach / max(unexplained, ROUNDING) ** 0.5)
    return found
