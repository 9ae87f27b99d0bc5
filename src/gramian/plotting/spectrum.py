"""How much structure there is: eigenvalues against the noise, variance explained, held-out likelihood over q."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count
from gramian._types import RandomState, Table
from gramian.plotting._canvas import BLUE, GREY, PALE, RED, legend, plain, single, whole_ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scree(
    model: BaseEstimator, X: Table | None = None, *, log: bool | None = None, max_bars: int = 50, ax: Axes | None = None
) -> Any:
    """The eigenvalues l₁ ≥ l₂ ≥ ... and the noise floor σ² that stands for all the others [2] [1].

    In a model with a noise level a view they are those of views scaled to unit noise, and the floor is one [8].

    Parameters
    ----------
    model : fitted model of one Gaussian
    X : array-like of complete rows, optional
        Also draws the eigenvalues of their covariance that a `PPCA` has discarded: the floor is their mean.
    log : bool, optional
        Logarithmic scale; by default where the eigenvalues span more than a factor of 100.
    max_bars : int, default=50
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gramian import PPCA, plotting
    >>> X = load_wine().data
    >>> ax = plotting.scree(PPCA(n_components=3).fit((X - X.mean(0)) / X.std(0)))
    >>> len(ax.patches)
    3
    """
    kept = eigenvalues_of(model)
    max_bars = check_count("max_bars", max_bars, 1)
    noise = floor_of(model)
    others = np.empty(0) if X is None else discarded_eigenvalues(model, X)
    ax = plain(single(ax))
    shown, hidden = kept[:max_bars], others[: max(0, max_bars - len(kept))]
    places = np.arange(1, len(shown) + len(hidden) + 1)
    ax.bar(places[: len(shown)], shown, color=BLUE, width=0.8, label="kept")
    if len(hidden):
        ax.bar(places[len(shown) :], hidden, color=PALE, width=0.8, label="discarded")
    if noise:
        ax.axhline(noise, color=RED, lw=1.5, label=f"noise floor σ² = {noise:.3g}")
    drawn = np.concatenate([shown, hidden, [noise] if noise else []])
    positive = drawn[drawn > 0]
    # Eigenvalues that span more than this factor are drawn on a logarithmic scale.
    if log or (log is None and positive.size and positive.max() > 100.0 * positive.min()):
        ax.set_yscale("log")
        ax.set_ylim(bottom=0.5 * positive.min() if positive.size else None)
    whole_ticks(ax.xaxis)
    cut = f" (the first {max_bars} of {len(kept) + len(others)})" if len(kept) + len(others) > max_bars else ""
    ax.set(xlabel=f"component{cut}", ylabel="variance", xlim=(0.4, len(places) + 0.6))
    if noise or len(hidden):
        legend(ax)
    return ax


def eigenvalues_of(model: BaseEstimator) -> Array:
    """The eigenvalues a model keeps."""
    check_is_fitted(model)
    values = getattr(model, "explained_variance_", None)
    if values is None:
        raise TypeError(
            f"{type(model).__name__} has no explained_variance_. Give a model of one Gaussian, such as PPCA."
        )
    return np.asarray(values, dtype=float)


def floor_of(model: BaseEstimator) -> float:
    """σ² in the units of the eigenvalues: with one noise per view these are of views scaled to unit noise."""
    fitted = getattr(model, "_model", None)
    return float(model.noise_variance_ if fitted is None else fitted.gaussian.noise_variance)


def discarded_eigenvalues(model: BaseEstimator, X: Table) -> Array:
    """The eigenvalues of the covariance of X (complete rows) behind the ones that a `PPCA` keeps."""
    from gramian.estimators.ppca import PPCA

    if not isinstance(model, PPCA):
        raise TypeError(f"X= goes with PPCA only: {type(model).__name__} does not work on the covariance of X.")
    everything = PPCA(noise_variance=0.0, center=model.center, solver="eigh").fit(X)
    return np.asarray(everything.explained_variance_[model.n_components_ :], dtype=float)


def cumulative_variance(model: BaseEstimator, *, marks: Iterable[float] = (0.9, 0.95), ax: Axes | None = None) -> Any:
    """The share of the variance that the first q components explain [1].

    Parameters
    ----------
    model : fitted model of one Gaussian
    marks : shares at which a thin line is drawn, and the number of components that reach it written
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gramian import PPCA, plotting
    >>> X = load_wine().data
    >>> ax = plotting.cumulative_variance(PPCA(None).fit((X - X.mean(0)) / X.std(0)))
    >>> [text.get_text() for text in ax.texts]
    ['90 %: 8', '95 %: 10']
    """
    eigenvalues_of(model)
    shares = np.concatenate([[0.0], np.cumsum(model.explained_variance_ratio_)])
    ax = plain(single(ax))
    ax.plot(np.arange(len(shares)), shares, color=BLUE, marker="o" if len(shares) <= 40 else None, ms=4)
    for mark in marks:
        reached = int(np.searchsorted(shares, mark - 1e-12))
        if reached < len(shares):
            ax.plot([0, reached, reached], [mark, mark, 0], color=GREY, lw=0.8, ls="--", zorder=1)
            ax.annotate(
                f"{100 * mark:g} %: {reached}",
                (reached, mark),
                (4, -4),
                textcoords="offset points",
                va="top",
                fontsize="small",
            )
    whole_ticks(ax.xaxis)
    ax.set(xlabel="number of components q", ylabel="share of the variance", ylim=(0, 1.02), xlim=(0, None))
    return ax


def heldout_curve(
    model: BaseEstimator,
    X: Table,
    *,
    n_components: Iterable[int] | None = None,
    cv: int = 5,
    random_state: RandomState = 0,
    ax: Axes | None = None,
) -> Any:
    """The mean log-likelihood of held-out rows for each q, with its standard error: what likelihood on training rows cannot tell [10].

    Parameters
    ----------
    model : PPCA, KernelPPCA or another model with ``n_components`` and ``score``
        Clones of it are fitted; whether it is fitted itself does not matter, but where it is, its q is marked.
    X : array-like of shape (n_samples, n_features)
    n_components : the q to try, by default up to 12 of them between 1 and what the folds allow
    cv : int, default=5
        Number of folds.
    random_state : seed of the folds
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from gramian import PPCA, datasets, plotting
    >>> X = datasets.make_low_rank(200, 8, rank=3, random_state=0)
    >>> ax = plotting.heldout_curve(PPCA(), X)
    >>> [text.get_text() for text in ax.get_legend().get_texts() if "best" in text.get_text()]
    ['best: q = 3']
    """
    table = X.iloc if hasattr(X, "iloc") else np.asarray(X)
    size = np.shape(X)
    folds = KFold(check_count("cv", cv, 2), shuffle=True, random_state=random_state)
    parts = list(folds.split(np.empty(size[0])))
    fewest = min(len(train) for train, _ in parts)
    limit = fewest - 2 if hasattr(model, "kernel") else min(fewest - 2, size[1] - 1)
    tried = (
        spread_numbers(limit)
        if n_components is None
        else sorted({check_count("n_components", q, 0) for q in n_components})
    )
    scores = np.array(
        [
            [clone(model).set_params(n_components=q).fit(table[train]).score(table[test]) for train, test in parts]
            for q in tried
        ]
    )
    mean, error = scores.mean(axis=1), scores.std(axis=1, ddof=1) / np.sqrt(len(parts))
    best = int(np.argmax(mean))
    ax = plain(single(ax))
    ax.fill_between(tried, mean - error, mean + error, color=BLUE, alpha=0.2, lw=0, label="± 1 standard error")
    ax.plot(tried, mean, color=BLUE, marker="o", ms=4, label=f"mean of {len(parts)} folds")
    ax.plot(tried[best], mean[best], "o", ms=9, mfc="none", mec=RED, mew=1.8, label=f"best: q = {tried[best]}")
    own = getattr(model, "n_components_", None)
    if own is not None:
        ax.axvline(own, color=GREY, lw=1, ls="--", label=f"this model: q = {own}")
    whole_ticks(ax.xaxis)
    ax.set(xlabel="number of components q", ylabel="held-out log-likelihood per row")
    legend(ax)
    return ax


def spread_numbers(limit: int, count: int = 12) -> list[int]:
    """At most ``count`` whole numbers from 1 to ``limit``, all of them where they are few, else denser at the small end."""
    if limit < 1:
        raise ValueError("There are too few rows or columns for more than one choice of n_components.")
    if limit <= count:
        return list(range(1, limit + 1))
    return sorted({int(q) for q in np.round(np.geomspace(1, limit, count))})
