"""Misprints of Achten et al."""

from __future__ import annotations

import numpy as np

from gramian._arrays import Array
from gramian.papers._claim import relative
from gramian.papers._misprint import Errors, Misprint


def _views(rng: np.random.Generator, n: int = 30) -> list[Array]:
    """Two centred views that share two latents."""
    Z = rng.normal(size=(n, 2))
    views = [Z @ rng.normal(size=(2, d)) + 0.3 * rng.normal(size=(n, d)) for d in (5, 4)]
    return [view - view.mean(axis=0) for view in views]


def figure_5(rng: np.random.Generator) -> Errors:
    """Gamma' of a rotated solution, turned back: against the eigenvalues."""
    views = _views(rng)
    K = sum(view @ view.T for view in views)
    values, vectors = np.linalg.eigh(K)
    H, wanted = vectors[:, -4:], np.diag(values[-4:])
    O = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    gamma = (H @ O.T).T @ K @ (H @ O.T)
    return relative(gamma @ O, wanted), relative(O.T @ gamma @ O, wanted)


def eq_16(rng: np.random.Generator) -> Errors:
    """A new point of which view 0 is missing: the dual answer against the features that the primal eq. 15 gives."""
    views = _views(rng)
    grams = [view @ view.T for view in views]
    values, vectors = np.linalg.eigh(sum(grams))
    H, gamma = vectors[:, -2:], np.diag(values[-2:])
    U = [view.T @ H for view in views]
    new = [rng.normal(size=view.shape[1]) for view in views]
    phi = U[0] @ np.linalg.solve(gamma - U[0].T @ U[0], U[1].T @ new[1])
    exact = views[0] @ phi

    def answer(k: Array) -> Array:
        return np.asarray(grams[0] @ H @ np.linalg.solve(gamma - H.T @ grams[0] @ H, H.T @ k))

    return relative(answer(views[0] @ new[0]), exact), relative(answer(views[1] @ new[1]), exact)


def eq_12(rng: np.random.Generator) -> Errors:
    """Eq. 4 with U_v = Phi_v^T H put in, term by term, for any H and Gamma."""
    views = _views(rng)
    n, s = len(views[0]), 3
    H = rng.normal(size=(n, s))
    root = rng.normal(size=(s, s))
    gamma = root @ root.T + np.eye(s)
    U = [view.T @ H for view in views]
    exact = sum(
        0.5 * (u**2).sum() - np.einsum("ij,jk,ik->", view, u, H) + 0.5 * (view**2).sum() for u, view in zip(U, views)
    ) + 0.5 * np.einsum("ij,jk,ik->", H, gamma, H)
    grams = [view @ view.T for view in views]
    rest = sum(-0.5 * np.trace(H.T @ K @ H) + 0.5 * np.trace(K) for K in grams)
    # both against the part that is not shared, so that a large objective hides nothing
    part = exact - rest
    return relative(0.5 * np.trace(H.T @ H), part), relative(0.5 * np.trace(gamma @ H.T @ H), part)


AC = (
    Misprint("figure-5", "AC fig. 5", "Gamma = Gamma' O", "O^T Gamma' O", figure_5, "Against the eigenvalues, with O a random rotation."),
    Misprint(
        "eq-16", "AC eq. 16", "sum over w != v of k_v(x_v)", "of k_w(x_w)", eq_16,
        "Against the features that eq. 15 gives in primal. The printed sum needs the view that is missing.",
    ),
    Misprint(
        "eq-12", "AC eq. 12 (line before)", "1/2 tr(H^T H)", "1/2 tr(Gamma H^T H)", eq_12, "Eq. 4 with eq. 5 put in, for random H and Gamma."
    ),
)  # fmt: skip
