"""What "auto" tried, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian.plotting._canvas import BLUE, GREY, label, legend, plain, single

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def selection(model: BaseEstimator, *, ax: Axes | None = None) -> Any:
    """The held-out score of every candidate with its error, the best and the one taken [10].

    Parameters
    ----------
    model : fitted model of which something was "auto"
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import PPCA, plotting
    >>> ax = plotting.selection(PPCA().fit(load_iris().data))
    >>> ax.get_ylabel()
    'held-out score'
    """
    check_is_fitted(model)
    found = getattr(model, "selection_", None)
    if found is None:
        raise ValueError(
            f"{type(model).__name__} has no selection_: nothing was chosen by held-out evidence. Fit it with n_components='auto'."
        )
    scores = np.asarray(found.scores, dtype=float)
    errors = np.asarray(found.errors, dtype=float)
    if any(isinstance(candidate, dict) for candidate in found.candidates):
        return _list_candidates(found, scores, errors, single(ax, (7.0, 1.2 + 0.26 * len(scores))))
    ax = plain(single(ax))
    counts = all(isinstance(candidate, int | np.integer) for candidate in found.candidates)
    places = np.array(found.candidates, dtype=float) if counts else np.arange(len(found.candidates), dtype=float)
    fine = np.isfinite(scores) & np.isfinite(errors)
    ax.errorbar(places[fine], scores[fine], errors[fine], fmt="o-", ms=4, lw=1, color=BLUE, ecolor=GREY, capsize=2)
    best, taken = int(np.argmax(scores)), found.index
    ax.axhline(scores[best], color=GREY, lw=0.8, ls=":", label="best")
    if np.isfinite(scores[taken]):
        ax.plot(places[taken], scores[taken], "o", ms=9, mfc="none", color="C3", label=f"taken: {label(found.chosen)}")
    ends = _ends(scores, errors)
    if ends is not None:
        ax.set_ylim(*ends)
    if not counts:
        ax.set_xticks(places, [label(candidate) for candidate in found.candidates], rotation=60, ha="right")
    ax.set_xlabel("number of components" if counts else "candidate")
    ax.set_ylabel("held-out score")
    legend(ax)
    return ax


def _ends(scores: Array, errors: Array) -> tuple[float, float] | None:
    """The part of the scores that is worth a look: candidates far below say nothing about those at the top."""
    best = scores.max()
    usual = max(float(np.median(errors[np.isfinite(errors)])), 1e-12)
    near = scores[np.isfinite(scores) & (scores >= best - 10 * usual)]
    if near.size < 2:
        return None
    room = max(float(best - near.min()), 1e-12)
    return best - 1.2 * room, best + 0.15 * room


def _list_candidates(found: Any, scores: Array, errors: Array, ax: Axes) -> Axes:
    """Candidates that need words, one below the other, the best first; what lies beyond the left end stands there as a triangle."""
    plain(ax)
    order = np.argsort(-np.where(np.isfinite(scores), scores, -np.inf), kind="stable")
    rows = np.arange(len(order))
    scores, errors = scores[order], errors[order]
    low, high = _ends(scores, errors) or (scores[0] - 1.0, scores[0] + 0.15)
    inside = scores >= low
    ax.errorbar(scores[inside], rows[inside], xerr=errors[inside], fmt="o", ms=4, color=BLUE, ecolor=GREY, capsize=2)
    ax.plot(np.full((~inside).sum(), low), rows[~inside], "<", ms=5, color=GREY)
    ax.axvline(scores[0], color=GREY, lw=0.8, ls=":", label="best")
    taken = int(np.flatnonzero(order == found.index)[0])
    ax.plot(max(scores[taken], low), rows[taken], "o", ms=9, mfc="none", color="C3", label="taken")
    ax.set_xlim(low - 0.03 * (high - low), high)
    ax.set_yticks(rows, [label(_words(found.candidates[i]), 60) for i in order])
    ax.invert_yaxis()
    ax.set_xlabel("held-out score")
    legend(ax, ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return ax


def _words(candidate: Any) -> str:
    """The entries of a candidate that say something in few words: none that is None, nothing, or several numbers."""
    if not isinstance(candidate, dict):
        return str(candidate)
    said = {name: value for name, value in candidate.items() if value and not isinstance(value, tuple)}
    return ", ".join(f"{name} {value}" for name, value in said.items())
