"""DP figure 1: the input, feature, kernel and latent spaces and the maps between them, drawn from data, each path checked against the other."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_iris

from gramian import KernelPPCA
from gramian._arrays import Array
from gramian.kernels import RBF
from gramian.papers._claim import HOLDS, TIGHT, UNEXPECTED, Claim, Grid, Result, relative
from gramian.plotting._canvas import PALETTE, plain
from gramian.plotting._canvas import new_figure as figure_of
from gramian.preimage import FixedPoint, KernelSmoother

PRIMAL, DUAL, INPUT = "#1f5fa8", "#8a5a2b", "#2f7d4f"


def figure_1(full: bool, rng: np.random.Generator) -> Result:
    """Every closed path of the diagram, once through the features and once through the kernel."""
    rows, worst = [], 0.0
    for count in (50, 150) if full else (50,):
        X, labels = load_iris(return_X_y=True)
        X, labels = X[:: 150 // count], labels[:: 150 // count]
        model = KernelPPCA(2, kernel=RBF(2.0), solver="eigh").fit(X)
        features = _features(model.kernel_(X))
        paths = _paths(model, X, features) | _ways_back(X, rng)
        rows += [(count, name, error) for name, error in paths.items()]
        worst = max(worst, *paths.values())

    def draw() -> Any:
        return _diagram(model, X, labels, features)

    return Result(
        f"largest difference between two paths {worst:.0e}",
        HOLDS if worst < TIGHT else UNEXPECTED,
        "The diagram with iris in it (RBF kernel, two components). Features are made explicit as the columns of K^(1/2), so that the path through "
        "the feature space can be walked with matrices; the library walks the one through the kernel.",
        "",
        {"largest difference": worst},
        Grid(["rows", "path", "relative difference"], rows),
        draw,
    )


def _features(K: Array) -> Array:
    """Centred explicit features, one row per point, whose inner products are those of the centred kernel."""
    values, vectors = np.linalg.eigh(K)
    F = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(F - F.mean(axis=0))


def _paths(model: KernelPPCA, X: Array, F: Array) -> dict[str, float]:
    """Relative differences between a path through the features and the library's through the kernel."""
    W = F.T @ model.dual_coef_
    M = W.T @ W + model.noise_variance_ * np.eye(W.shape[1])
    z = np.linalg.solve(M, W.T @ F.T).T
    return {
        "input to kernel: k_c(x) = Phi_c^* phi_c(x)": relative(model.center_kernel(X), F @ F.T),
        "input to latent: M^-1 W^* phi_c against the posterior mean": relative(model.transform(X), z),
        "latent to kernel: Phi_c^* W z against K_c A z": relative(model.kernel_mean(z), z @ (F @ W).T),
        "latent to features: W z against Phi_c gamma(z)": relative(model.decode_weights(z) @ F, z @ W.T),
    }


def _ways_back(X: Array, rng: np.random.Generator) -> dict[str, float]:
    """Latents to inputs: eq. 19 with k = K0 (1/N + H A z), and Mika's fixed point, which must be one."""
    X = np.unique(X, axis=0)  # a pre-image keeps one of rows that are the same
    kernel, n = RBF(2.0), len(X)
    z = rng.normal(size=(8, 2))
    smoother = KernelPPCA(2, kernel=kernel, solver="eigh", preimage=KernelSmoother(None)).fit(X)
    K = kernel(X)
    gamma = 1.0 / n + z @ smoother.dual_coef_.T @ (np.eye(n) - 1.0 / n)
    k = np.maximum(gamma @ K, 0.0)
    fixed = KernelPPCA(2, kernel=kernel, solver="eigh", preimage=FixedPoint(tol=1e-8, max_iter=2000)).fit(X)
    found = fixed.inverse_transform(z)
    shares = gamma * kernel(found, X)
    inside = (np.abs(found - np.clip(found, X.min(axis=0) + 1e-9, X.max(axis=0) - 1e-9)) == 0).all(axis=1)
    again = shares @ X / shares.sum(axis=1, keepdims=True)
    return {
        "latent to input: eq. 19": relative(smoother.inverse_transform(z), k @ X / k.sum(axis=1, keepdims=True)),
        "latent to input: a fixed point": relative(again[inside], found[inside]) if inside.any() else 1.0,
        "latent to weights: gamma(z) = 1/N + H A z": relative(smoother.decode_weights(z), gamma),
    }


def _diagram(model: KernelPPCA, X: Array, labels: Array, F: Array) -> Any:
    figure = figure_of((10.4, 6.0))
    figure.set_layout_engine("none")
    places = {
        "input": ((0.03, 0.30, 0.24, 0.40), INPUT, "input space X: two columns of iris"),
        "features": ((0.38, 0.56, 0.27, 0.38), PRIMAL, "feature space H_E: three leading axes"),
        "kernel": ((0.38, 0.06, 0.27, 0.38), DUAL, "kernel space E: k_c of three flowers"),
        "latent": ((0.75, 0.30, 0.23, 0.40), DUAL, "latent space L: E[h | x], and N(0, I)"),
    }
    axes = {}
    for name, (box, colour, title) in places.items():
        axes[name] = figure.add_axes(box, projection="3d" if name == "features" else None)
        axes[name].set_title(title, fontsize=9, color=colour)
        axes[name].tick_params(labelsize=6)
    colours = np.array(PALETTE)[labels]
    axes["input"].scatter(X[:, 2], X[:, 3], s=12, c=colours, lw=0)
    U, sizes, _ = np.linalg.svd(F, full_matrices=False)
    axes["features"].scatter(*(U[:, :3] * sizes[:3]).T, s=10, c=colours, lw=0)
    axes["features"].set(xticklabels=[], yticklabels=[], zticklabels=[])
    kernel = model.center_kernel(X)
    for label in np.unique(labels):
        axes["kernel"].plot(kernel[np.flatnonzero(labels == label)[0]], color=PALETTE[label], lw=1.1)
    axes["kernel"].set_xlabel("training point", fontsize=7)
    latents = model.transform(X)
    axes["latent"].scatter(*latents.T, s=12, c=colours, lw=0)
    turn = np.linspace(0, 2 * np.pi, 100)
    for radius in (1.0, 2.0):
        axes["latent"].plot(radius * np.cos(turn), radius * np.sin(turn), color="0.75", lw=0.8)
    axes["latent"].set_aspect("equal")
    for name in ("input", "kernel", "latent"):
        plain(axes[name])
    arrows = (
        ((0.27, 0.60), (0.38, 0.72), "φ", PRIMAL, (0.0, 0.035)),
        ((0.27, 0.40), (0.37, 0.27), "k_c", DUAL, (-0.005, -0.045)),
        ((0.50, 0.54), (0.50, 0.49), "Φ_c*", PRIMAL, (-0.03, -0.012)),
        ((0.54, 0.49), (0.54, 0.54), "Φ_c", DUAL, (0.028, -0.012)),
        ((0.66, 0.74), (0.75, 0.64), "M⁻¹W*", PRIMAL, (0.015, 0.04)),
        ((0.74, 0.59), (0.65, 0.69), "W", PRIMAL, (-0.02, -0.035)),
        ((0.66, 0.26), (0.74, 0.36), "M⁻¹A*", DUAL, (0.025, -0.045)),
        ((0.75, 0.41), (0.66, 0.31), "K_c A", DUAL, (-0.025, 0.02)),
    )
    for begin, end, text, colour, shift in arrows:
        axes["input"].annotate(
            "",
            end,
            begin,
            xycoords="figure fraction",
            textcoords="figure fraction",
            arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.6},
            annotation_clip=False,
        )
        figure.text(
            (begin[0] + end[0]) / 2 + shift[0], (begin[1] + end[1]) / 2 + shift[1], text, color=colour, ha="center"
        )
    return list(axes.values())


CLAIMS = [
    Claim("dp-figure-1", "DP", "the spaces and the maps between them", "a diagram that commutes", figure_1),
]
