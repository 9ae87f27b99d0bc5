"""The latent map: where rows lie, how surely, and what the axes mean."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_number
from gramian._types import Table
from gramian.plotting._canvas import GREY, RED, colour_points, column_names, plain, single

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_ELLIPSES = 200


def latent_scatter(
    model: BaseEstimator,
    X: Table,
    labels: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    level: float = 0.9,
    ellipses: bool = True,
    label_name: str = "",
    ax: Axes | None = None,
) -> Any:
    """The posterior means of two latent coordinates, with the ellipses that hold each latent with probability ``level`` [2].

    Rows that miss entries have wider ellipses. A model of one component is drawn over the row numbers, with bars.

    Parameters
    ----------
    model : fitted model with ``posterior``, or with ``transform`` (then without ellipses)
    X : what the model's ``transform`` takes
    labels : array-like of shape (n_samples,), optional
        Colours: classes (text, or at most ten whole numbers) or measurements.
    components : pair of ints, default=(0, 1)
    level : float in (0, 1), default=0.9
    ellipses : bool, default=True
        At most 200 are drawn (50 where all are alike), of rows spread evenly.
    label_name : what the labels are, for the legend or the colour bar
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from gramian import PPCA, plotting
    >>> X, y = load_iris(return_X_y=True)
    >>> ax = plotting.latent_scatter(PPCA(n_components=2).fit(X), X, y)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('latent 1', 'latent 2')
    """
    check_is_fitted(model)
    check_number("level", level, 0.0, 1.0, open_low=True, open_high=True)
    mean, covariance = latents(model, X)
    ax = plain(single(ax, (5.6, 4.4)))
    if mean.shape[1] < 2:
        return strip(ax, mean, covariance if ellipses else None, labels, level, label_name)
    first, second = pair(components, mean.shape[1])
    points = mean[:, [first, second]]
    colours = colour_points(ax, points, labels, name=label_name)
    if ellipses and covariance is not None:
        shapes = np.broadcast_to(covariance, (len(points), *covariance.shape[-2:]))[:, [first, second]][
            :, :, [first, second]
        ]
        # Ellipses of complete rows are all alike: some suffice.
        draw_ellipses(ax, points, shapes, level, colours, 50 if covariance.ndim == 2 else MAX_ELLIPSES)
    ax.axhline(0, color=GREY, lw=0.5, zorder=0)
    ax.axvline(0, color=GREY, lw=0.5, zorder=0)
    ax.set(xlabel=f"latent {first + 1}", ylabel=f"latent {second + 1}")
    return ax


def latents(model: BaseEstimator, X: Table) -> tuple[Array, Array | None]:
    """Posterior means (n, q), and covariances where the model has them."""
    if hasattr(model, "posterior"):
        posterior = model.posterior(X)
        return np.asarray(posterior.mean, dtype=float), np.asarray(posterior.covariance, dtype=float)
    return np.asarray(model.transform(X), dtype=float), None


def pair(components: tuple[int, int], available: int) -> tuple[int, int]:
    """Two distinct positions below ``available``."""
    first, second = (check_count("components", one, 0) for one in components)
    if max(first, second) >= available or first == second:
        raise ValueError(f"components={components!r} must be two different numbers below {available}.")
    return first, second


def draw_ellipses(ax: Axes, points: Array, shapes: Array, level: float, colours: Array, count: int) -> None:
    """The ellipses {z : (z - mean)ᵀ Cov⁻¹ (z - mean) <= chi²₂(level)}, pale, behind the points."""
    from matplotlib.collections import EllipseCollection

    rows = np.unique(np.linspace(0, len(points) - 1, min(len(points), count)).astype(int))
    values, vectors = np.linalg.eigh(shapes[rows])
    widths = 2 * np.sqrt(np.maximum(values, 0.0) * stats.chi2(2).ppf(level))
    angles = np.degrees(np.arctan2(vectors[:, 1, 1], vectors[:, 0, 1]))
    ax.add_collection(
        EllipseCollection(
            widths[:, 1],
            widths[:, 0],
            angles,
            units="xy",
            offsets=points[rows],
            transOffset=ax.transData,
            facecolors=np.column_stack([colours[rows], np.full(len(rows), 0.1 if len(rows) <= 20 else 0.0)]),
            edgecolors=np.column_stack([colours[rows], np.full(len(rows), np.clip(12 / len(rows), 0.12, 0.6))]),
            linewidths=0.8,
            zorder=1,
        )
    )
    reach = np.sqrt(np.einsum("nii->ni", shapes[rows]) * stats.chi2(2).ppf(level))
    ax.update_datalim(np.vstack([points[rows] - reach, points[rows] + reach]))
    ax.autoscale_view()


def strip(ax: Axes, mean: Array, covariance: Array | None, labels: Any, level: float, name: str) -> Any:
    """One latent coordinate over the row numbers."""
    values = mean[:, 0] if mean.shape[1] else np.zeros(len(mean))
    places = np.arange(len(values))
    if covariance is not None and mean.shape[1]:
        spread = np.sqrt(np.broadcast_to(covariance[..., 0, 0], values.shape)) * stats.norm.ppf((1 + level) / 2)
        ax.errorbar(places, values, spread, fmt="none", ecolor=GREY, alpha=0.4, lw=0.8, zorder=1)
    colour_points(ax, np.column_stack([places, values]), labels, name=name)
    ax.set(xlabel="row", ylabel="latent 1")
    return ax


def biplot(
    model: BaseEstimator,
    X: Table,
    labels: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    feature_names: Iterable[Any] | None = None,
    max_arrows: int = 12,
    label_name: str = "",
    ax: Axes | None = None,
) -> Any:
    """Rows as points and columns as arrows: an arrow points where its column grows, as far as the two latents move it [2].

    The arrows are the rows of W in units of each column's standard deviation under the model, so their squared length is the
    share of the column's variance that the two latents explain; the circle is a share of one.

    Parameters
    ----------
    model : fitted PPCA
    X : array-like of shape (n_samples, n_features)
    labels : array-like of shape (n_samples,), optional
    components : pair of ints, default=(0, 1)
    feature_names : names of the columns; default those of the fitted data frame, or their numbers
    max_arrows : int, default=12
        Only the longest are drawn.
    label_name : what the labels are
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from gramian import PPCA, plotting
    >>> wine = load_wine(as_frame=True)
    >>> X = (wine.data - wine.data.mean()) / wine.data.std()
    >>> ax = plotting.biplot(PPCA(n_components=2).fit(X), X, wine.target, max_arrows=5)
    >>> [text.get_text() for text in ax.texts if text.get_text()][:2]
    ['flavanoids', 'total_phenols']
    """
    check_is_fitted(model)
    loadings = np.asarray(getattr(model, "loadings_", np.empty(0)), dtype=object)
    if loadings.ndim != 2 or loadings.shape[1] < 2:
        raise TypeError(
            f"biplot needs loadings of at least two components. {type(model).__name__} has none: fit PPCA with n_components of 2 or more."
        )
    W = loadings.astype(float)
    first, second = pair(components, W.shape[1])
    variances = (W**2).sum(axis=1) + model.noise_variance_
    arrows = W[:, [first, second]] / np.sqrt(np.where(variances > 0, variances, 1.0))[:, None]
    ax = single(ax, (6.6, 5.0))
    points = np.asarray(model.transform(X), dtype=float)[:, [first, second]]
    plain(ax)
    colour_points(ax, points, labels, name=label_name, size=10)
    extent = 0.95 * float(np.abs(points).max(initial=0.0)) or 1.0
    names = column_names(model, len(W), feature_names)
    order = np.argsort(-(arrows**2).sum(axis=1), kind="stable")[: check_count("max_arrows", max_arrows, 1)]
    angle = np.linspace(0, 2 * np.pi, 200)
    ax.plot(extent * np.cos(angle), extent * np.sin(angle), color=GREY, lw=0.6, ls=":", zorder=1)
    taken: list[tuple[float, float]] = []
    for j in order:
        tip = extent * arrows[j]
        ax.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={"arrowstyle": "-|>", "color": RED, "lw": 1.2, "shrinkA": 0, "shrinkB": 0},
            zorder=4,
        )
        ax.annotate(
            names[j],
            free_place(tip, taken, 0.07 * extent),
            ha="left" if tip[0] >= 0 else "right",
            va="center",
            fontsize="small",
            color="black",
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5},
        )
    ax.set(xlabel=f"latent {first + 1}", ylabel=f"latent {second + 1}")
    ax.set(xlim=(-1.6 * extent, 1.6 * extent), ylim=(-1.2 * extent, 1.2 * extent))
    ax.set_aspect("equal")
    return ax


def free_place(tip: Array, taken: list[tuple[float, float]], height: float) -> tuple[float, float]:
    """A place for a name beyond the tip of its arrow, moved up or down until no other name on that side is in its way."""
    side = 1.0 if tip[0] >= 0 else -1.0
    x, y = float(1.04 * tip[0]), float(1.04 * tip[1])
    step = height if y >= 0 else -height
    while any(other_side == side and abs(other - y) < height for other_side, other in taken):
        y += 0.25 * step
    taken.append((side, y))
    return x, y
