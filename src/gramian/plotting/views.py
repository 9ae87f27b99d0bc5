"""Several views: what each says, and how well one is predicted from the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_number
from gramian.plotting._canvas import BLUE, GREY, PALETTE, label, legend, plain, single, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HATCHES = ("", "///", "...", "xxx", "\\\\\\", "ooo", "---", "+++")


def view_contributions(model: BaseEstimator, *, max_components: int = 20, ax: Axes | None = None) -> Any:
    """The share of each component that lies in each view: the squared length of its axis there [8].

    A component of one colour belongs to one view alone; one that mixes them is what the views have in common.

    Parameters
    ----------
    model : fitted MultiViewRKM
    max_components : int, default=20
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import MultiViewRKM, plotting
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((100, 2))
    >>> views = {"left": z @ rng.standard_normal((2, 5)), "right": z @ rng.standard_normal((2, 3))}
    >>> ax = plotting.view_contributions(MultiViewRKM(n_components=2).fit(views))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['right', 'left']
    """
    shares = shares_of(model)[:, : check_count("max_components", max_components, 1)]
    ax = plain(single(ax))
    places = np.arange(1, shares.shape[1] + 1)
    base = np.zeros(shares.shape[1])
    for v, (name, share) in enumerate(zip(model.view_names_, shares)):
        style: dict[str, Any] = {
            "color": PALETTE[v % len(PALETTE)],
            "hatch": HATCHES[v % len(HATCHES)],
            "edgecolor": "white",
        }
        ax.bar(places, share, bottom=base, width=0.85, lw=0, label=label(name), **style)
        base = base + share
    whole_ticks(ax.xaxis)
    cut = f" (the first {max_components} of {model.n_components_})" if model.n_components_ > max_components else ""
    ax.set(xlabel=f"component{cut}", ylabel="share of the component", ylim=(0, 1))
    legend(ax, loc="center left", bbox_to_anchor=(1.0, 0.5), reverse=True)
    return ax


def shares_of(model: BaseEstimator) -> Array:
    """diag(UᵥᵀUᵥ), one row per view: the squared lengths of the unit axes' parts, which sum to one over the views."""
    check_is_fitted(model)
    parts = getattr(getattr(getattr(model, "_model", None), "subspace", None), "parts", None)
    if parts is None:
        raise TypeError(f"{type(model).__name__} has no views. Give a fitted MultiViewRKM.")
    rotation = getattr(model, "_rotation", None)
    overlaps = [part.overlap if rotation is None else rotation.T @ part.overlap @ rotation for part in parts]
    shares = np.array([np.diagonal(overlap) for overlap in overlaps])
    return shares / shares.sum(axis=0)


def view_prediction(
    model: BaseEstimator,
    views: Any,
    view: Any,
    truth: Any,
    *,
    column: int = 0,
    level: float = 0.9,
    column_name: Any = None,
    ax: Axes | None = None,
) -> Any:
    """One column of a view as predicted from the other views against the truth, with intervals where the view has them [8].

    Parameters
    ----------
    model : fitted MultiViewRKM; or a regressor with ``predict(X, return_std=True)``, and then ``view=None``
    views : what ``predict_view`` (or ``predict``) takes: the other views
    view : name or position of the predicted view, None for a regressor
    truth : array-like of shape (n_samples, number of columns of the view), or (n_samples,)
    column : int, default=0
        Of the view.
    level : float in (0, 1), default=0.9
    column_name : what the column is
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import MultiViewRKM, plotting
    >>> rng = np.random.default_rng(0)
    >>> z = rng.standard_normal((100, 2))
    >>> left = z @ rng.standard_normal((2, 5)) + 0.1 * rng.standard_normal((100, 5))
    >>> right = z @ rng.standard_normal((2, 3)) + 0.1 * rng.standard_normal((100, 3))
    >>> model = MultiViewRKM(2, noise_variance="per-view").fit({"left": left, "right": right})
    >>> ax = plotting.view_prediction(model, {"left": left}, "right", right)
    >>> ax.get_xlabel()
    'true right: column 0'
    """
    check_is_fitted(model)
    check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
    mean, std = predict_columns(model, views, view)
    if check_count("column", column, 0) >= mean.shape[1]:
        raise ValueError(f"column={column} is not among the {mean.shape[1]} columns of the view.")
    actual = np.asarray(truth, dtype=float).reshape(len(mean), -1)
    if actual.shape[1] != mean.shape[1]:
        raise ValueError(f"truth has {actual.shape[1]} columns, but the view has {mean.shape[1]}.")
    x, y = actual[:, column], mean[:, column]
    known = np.isfinite(x)
    ax = plain(single(ax, (4.8, 4.4)))
    ends = [float(min(x[known].min(), y.min())), float(max(x[known].max(), y.max()))]
    ax.plot(ends, ends, color=GREY, lw=1, ls="--", zorder=1)
    said = f"{int(known.sum())} rows"
    if std is not None:
        reach = stats.norm.ppf((1 + level) / 2) * std[:, column]
        ax.errorbar(x, y, reach, fmt="none", ecolor=BLUE, alpha=0.25, lw=0.8, zorder=2)
        inside = float(np.mean(np.abs(x - y)[known] <= reach[known]))
        said += f"; {100 * inside:.0f} % inside the {100 * level:g} % intervals"
    ax.scatter(x, y, s=12, color=BLUE, lw=0, alpha=0.8, zorder=3)
    residual, total = float(((x - y)[known] ** 2).mean()), float(x[known].var())
    ax.set_title(said + (f"; R² = {1 - residual / total:.2f}" if total > 0 else ""), fontsize="small")
    name = target_name(model, view, mean.shape[1], column, column_name)
    ax.set(xlabel=f"true {name}", ylabel=f"predicted {name}")
    return ax


def predict_columns(model: BaseEstimator, views: Any, view: Any) -> tuple[Array, Array | None]:
    """The mean and, where there is one, the standard deviation of every column."""
    if view is None:
        answer = model.predict(views, return_std=True)
    else:
        answer = model.predict_view(views, view, return_std=True)
    mean, std = (None if part is None else np.asarray(part, dtype=float) for part in answer)
    assert mean is not None
    mean = mean.reshape(len(mean), -1)
    return mean, None if std is None else np.broadcast_to(std.reshape(len(mean), -1), mean.shape)


def target_name(model: BaseEstimator, view: Any, n_columns: int, column: int, given: Any) -> str:
    """What is predicted, for the axes."""
    if given is not None:
        return label(given)
    if view is None:
        return "value" if n_columns == 1 else f"value {column}"
    name = label(model.view_names_[view] if isinstance(view, int) and view not in model.view_names_ else view)
    return name if n_columns == 1 else f"{name}: column {column}"
