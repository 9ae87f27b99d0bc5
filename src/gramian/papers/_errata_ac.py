"""Misprints of Achten et al."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian import MultiViewRKM
from gramian._arrays import Array
from gramian.datasets import make_sum_of_sines
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint
from gramian.solvers import Stiefel

LAGS, LENGTH = 70, 1000
"""p and the length of the series in AC's table 4 (SantaFe)."""
FREE = Stiefel(tol=1e-9, max_iter=5000, rotate=False)
"""Algorithm 4 without its rotation."""


def _views(rng: np.random.Generator, n: int = 30) -> list[Array]:
    """Two centred views that share two latents."""
    Z = rng.normal(size=(n, 2))
    views = [Z @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d)) for d in (5, 4)]
    return [view - view.mean(axis=0) for view in views]


def _model(views: list[Array], q: int, **options: Any) -> MultiViewRKM:
    """AC's model of views: noise 0, in dual."""
    return MultiViewRKM(q, kernel="linear", space="dual", noise_variance=0.0, n_folds=None, **options).fit(views)


def figure_5(rng: np.random.Generator) -> Errors:
    """Gamma' of the library's Stiefel solution, turned by its eigenvectors O: against the eigenvalues."""
    views = _views(rng)
    values = np.linalg.eigvalsh(sum(view @ view.T for view in views))[::-1][:4]
    found = _model(views, 4, solver=FREE)
    O = np.linalg.eigh(found.gamma_)[1][:, ::-1]
    turned = _model(views, 4, solver=Stiefel(tol=1e-9, max_iter=5000))
    right = max(relative(O.T @ found.gamma_ @ O, np.diag(values)), relative(turned.gamma_, np.diag(values)))
    return relative(found.gamma_ @ O, np.diag(values)), right


def eq_16(rng: np.random.Generator) -> Errors:
    """A new point of which view 0 is missing: the dual answer against the features that the primal eq. 15 gives."""
    views = _views(rng)
    grams = [view @ view.T for view in views]
    values, vectors = np.linalg.eigh(sum(grams))
    H, gamma = vectors[:, -2:], np.diag(values[-2:])
    U = [view.T @ H for view in views]
    new = [rng.normal(size=view.shape[1]) for view in views]
    exact = views[0] @ U[0] @ np.linalg.solve(gamma - U[0].T @ U[0], U[1].T @ new[1])
    printed = grams[0] @ H @ np.linalg.solve(gamma - H.T @ grams[0] @ H, H.T @ (views[0] @ new[0]))
    answer = _model(views, 2, solver="eigh").predict_view([None, new[1][None]], 0)[0]
    return relative(printed, exact), relative(views[0] @ answer, exact)


def eq_12(rng: np.random.Generator) -> Errors:
    """Eq. 4 with the library's U_v = Phi_v^T H, H and Gamma put in, term by term."""
    views = _views(rng)
    model = _model(views, 3, solver=FREE)
    H, gamma = model.latents_, model.gamma_
    U = [np.sqrt(len(H)) * W for W in model.loadings_]
    exact = sum(
        0.5 * (u**2).sum() - np.einsum("ij,jk,ik->", view, u, H) + 0.5 * (view**2).sum() for u, view in zip(U, views)
    ) + 0.5 * np.einsum("ij,jk,ik->", H, gamma, H)
    rest = sum(-0.5 * np.trace(H.T @ view @ view.T @ H) + 0.5 * np.trace(view @ view.T) for view in views)
    # both against the part that is not shared, so that a large objective hides nothing; the rest is what the solver minimised
    part = exact - rest
    right = max(relative(0.5 * np.trace(gamma @ H.T @ H), part), relative(model.objectives_[-1], rest))
    return relative(0.5 * np.trace(H.T @ H), part), right


def windows(rng: np.random.Generator) -> Errors:
    """The rows of H for x_(l+1) = f(x_l, ..., x_(l-p)) on a series of 1000 values with p = 70."""
    series = make_sum_of_sines(LENGTH, noise=0.1, random_state=int(rng.integers(1000)))
    rows = np.lib.stride_tricks.sliding_window_view(series, LAGS + 2)  # x_(l-p), ..., x_l and x_(l+1)
    model = _model([rows[:, :-1] - rows[:, :-1].mean(axis=0), rows[:, -1:] - rows[:, -1:].mean(axis=0)], 4)
    count = LENGTH - (LAGS + 1)
    return relative(LENGTH, len(model.latents_)), relative(count, len(model.latents_))


AC = (
    Misprint("figure-5", "AC fig. 5", "Gamma = Gamma' O", "O^T Gamma' O", figure_5, "Against the eigenvalues, with O the eigenvectors of Gamma'."),
    Misprint(
        "eq-16", "AC eq. 16", "sum over w != v of k_v(x_v)", "of k_w(x_w)", eq_16,
        "Against the features that eq. 15 gives in primal. The printed sum needs the view that is missing.",
    ),
    Misprint(
        "eq-12", "AC eq. 12 (line before)", "1/2 tr(H^T H)", "1/2 tr(Gamma H^T H)", eq_12, "Eq. 4 with eq. 5 put in, at a solution that is not rotated."
    ),
    Misprint(
        "windows", "AC sec. 5", "K in R^(1000 x 1000), H in St(1000, s)", "929 windows: H in St(929, s)", windows,
        "The text's x_l, ..., x_(l-p) are p + 1 = 71 lags ('lag p' elsewhere), and l runs from p + 1 to T - 1 = 999.",
    ),
)  # fmt: skip
