"""How a fit went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian.plotting._canvas import BLUE, GREY, label, legend, plain, single, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def em_trace(model: BaseEstimator, *, ax: Axes | None = None, name: str | None = None) -> Any:
    """The mean log-likelihood after each EM step: it never falls [5].

    Called again with the same ``ax``, a second model's trace is added in the next colour of the axes.

    Parameters
    ----------
    model : model fitted by EM: PPCA on data with holes or with ``solver="em"``, a mixture
    ax : matplotlib Axes, optional
    name : for the legend

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_missing(load_iris().data, 0.2, random_state=0)
    >>> ax = plotting.em_trace(PPCA(n_components=2).fit(X))
    >>> ax.get_xlabel()
    'step'
    """
    check_is_fitted(model)
    trace = np.asarray(getattr(model, "log_likelihoods_", []), dtype=float)
    if not trace.size:
        raise ValueError(
            f"This {type(model).__name__} was fitted in closed form: there is no trace. EM runs on data with holes, in mixtures and with solver='em'."
        )
    ax = plain(single(ax))
    drawn = len(ax.lines)
    colour: dict[str, Any] = {"color": BLUE} if not drawn else {}
    steps = np.arange(1, len(trace) + 1)
    (line,) = ax.plot(
        steps, trace, marker="o" if len(trace) <= 60 else None, ms=3.5, label=label(name or "log-likelihood"), **colour
    )
    converged = getattr(model, "converged_", None)
    end = "converged" if converged else "stopped at max_iter" if converged is not None else "end"
    ax.annotate(
        f"{end} after {len(trace)}",
        (steps[-1], trace[-1]),
        (0, -8),
        textcoords="offset points",
        ha="right",
        va="top",
        fontsize="small",
        color=line.get_color() if drawn else GREY,
    )
    ax.set(xlabel="step", ylabel="mean log-likelihood per row")
    if not drawn:
        _to_gain(ax, steps, trace)
    ax.ticklabel_format(axis="y", useOffset=False)
    whole_ticks(ax.xaxis)
    if name is not None:
        legend(ax)
    return ax


def _to_gain(ax: Axes, steps: Any, trace: Any) -> None:
    """Inside the picture, what is still to gain after each step, on a logarithmic axis: the last steps are seen there."""
    gains = trace[-1] - trace[:-1]
    shown = gains > 0
    if shown.sum() < 4:
        return
    inner = plain(ax.inset_axes((0.42, 0.16, 0.55, 0.52)))
    inner.semilogy(steps[:-1][shown], gains[shown], color=BLUE, marker="o", ms=2.5, lw=1)
    inner.set_title("still to gain", fontsize="small", loc="left")
    inner.tick_params(labelsize="small")
    whole_ticks(inner.xaxis)
