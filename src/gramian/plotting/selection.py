"""What "auto" tried, and what it took."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

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

    References
    ----------
    [10] docs/theory.md, section 10: choosing, by what was not seen.

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
    ax = plain(single(ax))
    scores = np.asarray(found.scores, dtype=float)
    errors = np.asarray(found.errors, dtype=float)
    counts = all(isinstance(candidate, int | np.integer) for candidate in found.candidates)
    places = np.array(found.candidates, dtype=float) if counts else np.arange(len(found.candidates), dtype=float)
    fine = np.isfinite(scores) & np.isfinite(errors)
    ax.errorbar(places[fine], scores[fine], errors[fine], fmt="o-", ms=4, lw=1, color=BLUE, ecolor=GREY, capsize=2)
    best, taken = int(np.argmax(scores)), found.index
    ax.axhline(scores[best], color=GREY, lw=0.8, ls=":", label="best")
    if np.isfinite(scores[taken]):
        ax.plot(places[taken], scores[taken], "o", ms=9, mfc="none", color="C3", label=f"taken: {label(found.chosen)}")
    low = scores[fine & (scores >= scores[best] - 10 * max(np.median(errors[fine]), 1e-12))]
    if low.size > 1:  # candidates far below say nothing about those at the top
        room = max(scores[best] - low.min(), 1e-12)
        ax.set_ylim(scores[best] - 1.2 * room, scores[best] + 0.15 * room)
    if not counts:
        ax.set_xticks(places, [label(candidate) for candidate in found.candidates], rotation=60, ha="right")
    ax.set_xlabel("number of components" if counts else "candidate")
    ax.set_ylabel("held-out score")
    legend(ax)
    return ax
