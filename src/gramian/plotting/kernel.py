"""What kernel components look like in the plane of two-dimensional data ([ZH] figure 1)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array
from gramian._checks import check_count, check_table
from gramian._types import Table
from gramian.plotting._canvas import DIVERGING, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def kernel_components(
    model: BaseEstimator,
    X: Table,
    *,
    components: Iterable[int] = (0, 1),
    n_grid: int = 80,
    margin: float = 0.15,
    ax: Axes | None = None,
) -> Array:
    """Contours of equal principal scores over the plane, with the data: one panel per component ([ZH] figure 1) [1].

    Parameters
    ----------
    model : fitted KernelPPCA (or PPCA) on two columns
    X : array-like of shape (n_samples, 2)
        The points to draw; the plane is their bounding box with a margin.
    components : positions of the components, default the first two
    n_grid : int, default=80
        Points along each side of the grid.
    margin : float, default=0.15
        Of the box, as a share of its sides.
    ax : Axes (one component, or divided), array of Axes, Figure or SubFigure, optional

    Returns
    -------
    ndarray of matplotlib Axes, one per component

    Examples
    --------
    >>> from gramian import KernelPPCA, datasets, kernels, plotting
    >>> X, _ = datasets.make_c_shapes(100, random_state=0)
    >>> model = KernelPPCA(n_components=2, kernel=kernels.RBF(4.0)).fit(X)
    >>> plotting.kernel_components(model, X).shape
    (2,)
    """
    check_is_fitted(model)
    points = plane(X, "kernel_components")
    q = int(model.n_components_)
    chosen = [check_count("components", one, 0) for one in components]
    if not chosen or max(chosen) >= q:
        raise ValueError(f"components={chosen!r} must name at least one of the {q} components, counted from 0.")
    grid, across, up = mesh(points, check_count("n_grid", n_grid, 2), margin)
    scores = np.asarray(model.scores(grid), dtype=float)
    axes = panels(ax, (1, len(chosen)), (3.4 * len(chosen) + 0.2, 3.4), sharex=True, sharey=True).ravel()
    for one, component in zip(axes, chosen):
        values = scores[:, component].reshape(len(up), len(across))
        reach = float(np.abs(values).max()) or 1.0
        one.contourf(across, up, values, levels=np.linspace(-reach, reach, 19), cmap=DIVERGING, alpha=0.8)
        one.contour(
            across,
            up,
            values,
            levels=np.linspace(-reach, reach, 19),
            colors="black",
            linewidths=0.4,
            linestyles="solid",
            alpha=0.5,
        )
        one.plot(*points.T, "o", ms=2.5, mfc="black", mec="white", mew=0.3)
        one.set_title(f"component {component + 1}", fontsize="medium")
        one.set_aspect("equal")
    return axes


def plane(X: Table, what: str) -> Array:
    """X as points of the plane."""
    points = np.asarray(check_table(None, X, reset=False), dtype=float)
    if points.shape[1] != 2:
        raise ValueError(f"{what} draws over the plane: X must have 2 columns, got {points.shape[1]}.")
    return points


def mesh(points: Array, n_grid: int, margin: float) -> tuple[Array, Array, Array]:
    """A grid over the bounding box of ``points``: its points (row by row), and the coordinates across and up."""
    low, high = points.min(axis=0), points.max(axis=0)
    reach = np.where(high > low, high - low, 1.0)
    across, up = np.linspace(low - margin * reach, high + margin * reach, n_grid).T
    return np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2), across, up
