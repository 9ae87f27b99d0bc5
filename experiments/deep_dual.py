"""AC's open question, mini-batches in the dual: subspace error against kernel values computed, for six methods.

Run with ``OMP_NUM_THREADS=1 python -m experiments.deep_dual`` (``--write`` for docs/deep.md and its picture). Fixed maps: 2,000
rows, an RBF kernel, q = 5; the error is the sine of the largest angle to the exact dual's subspace, the price is counted in passes: N² kernel
values each. The last method is for trained maps, where landmarks (anchors) are re-encoded at every step.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from experiments._page import write_block
from gramian.kernels import RBF
from gramian.solvers.stiefel import cayley_adam

PAGE = Path(__file__).resolve().parents[1] / "docs" / "deep.md"
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "deep_dual.png"
N, Q, BATCH, PASSES = 2000, 5, 100, 25
Curve = list[tuple[float, float]]


def problem() -> tuple[np.ndarray, np.ndarray]:
    """The centred Gram matrix over N, and its leading eigenvectors."""
    rng = np.random.default_rng(0)
    X = np.tanh(rng.standard_normal((N, 3)) @ rng.standard_normal((3, 8))) + 0.1 * rng.standard_normal((N, 8))
    K = RBF("median").resolve(X)(X)
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    return K / N, np.linalg.eigh(K)[1][:, ::-1][:, :Q]


def angle(exact: np.ndarray, found: np.ndarray) -> float:
    """The sine of the largest angle between two subspaces."""
    basis = np.linalg.qr(found)[0]
    return float(np.linalg.norm(exact - basis @ (basis.T @ exact), 2))


def batches(rng: np.random.Generator) -> Iterator[np.ndarray]:
    while True:
        yield from np.array_split(rng.permutation(N), N // BATCH)


def start() -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(1).standard_normal((N, Q)))[0]


def cayley(K: np.ndarray, exact: np.ndarray) -> Curve:
    """Full-batch Cayley-Adam: AC algorithm 4 as printed, one pass per step."""
    axes, momentum, second, curve = start(), np.zeros((N, Q)), 0.0, []
    for step in range(1, PASSES + 1):
        axes, momentum, second = cayley_adam(axes, K @ axes, momentum, second, step, 4.0)
        axes = np.linalg.qr(axes)[0]
        curve.append((float(step), angle(exact, axes)))
    return curve


def stochastic(K: np.ndarray, exact: np.ndarray) -> Curve:
    """Columns of a batch stand for all: K A ≈ (N / m) K[:, B] A[B]; a falling rate."""
    axes, curve, seen = start(), [], 0
    stream = batches(np.random.default_rng(2))
    scale = np.linalg.norm(K, 2)
    for step in range(PASSES * N // BATCH):
        rows = next(stream)
        image = (N / len(rows)) * K[:, rows] @ axes[rows]
        axes = np.linalg.qr(axes + (4.0 / (1 + 0.05 * step)) * image / scale)[0]
        seen += len(rows)
        if step % 10 == 9:
            curve.append((seen / N, angle(exact, axes)))
    return curve


def variance_reduced(K: np.ndarray, exact: np.ndarray) -> Curve:
    """The same with a full image kept from an earlier frame (VR-PCA): it converges linearly."""
    axes, curve, price = start(), [], 0.0
    stream = batches(np.random.default_rng(3))
    scale = np.linalg.norm(K, 2)
    while price < PASSES:
        anchor, image = axes, K @ axes
        price += 1.0
        for _ in range(N // BATCH):
            rows = next(stream)
            left, _, right = np.linalg.svd(anchor.T @ axes)
            turn = left @ right
            change = (N / len(rows)) * K[:, rows] @ (axes[rows] - anchor[rows] @ turn)
            axes = np.linalg.qr(axes + 4.0 * (image @ turn + change) / scale)[0]
            price += len(rows) / N
        curve.append((price, angle(exact, axes)))
    return curve


def krylov(K: np.ndarray, exact: np.ndarray) -> Curve:
    """Streamed block Krylov: one pass over the kernel per block."""
    basis, curve = start(), []
    block = basis
    for step in range(1, 11):
        block = K @ block
        block = block - basis @ (basis.T @ block)
        block = np.linalg.qr(block - basis @ (basis.T @ block))[0]
        basis = np.hstack([basis, block])
        # in a streamed run the product is kept from the next pass
        vectors = np.linalg.eigh(basis.T @ (K @ basis))[1]
        curve.append((float(step + 1), angle(exact, basis @ vectors[:, ::-1][:, :Q])))
    return curve


def power(K: np.ndarray, exact: np.ndarray) -> Curve:
    """Orthogonal iteration: one pass per step."""
    axes, curve = start(), []
    for step in range(1, PASSES + 1):
        axes = np.linalg.qr(K @ axes)[0]
        curve.append((float(step), angle(exact, axes)))
    return curve


def landmarks(K: np.ndarray, exact: np.ndarray) -> Curve:
    """Anchors: m columns of the kernel, whitened; an m x m eigenproblem."""
    curve, order = [], np.random.default_rng(4).permutation(N)
    for m in (20, 50, 100, 200, 400, 800, 1600):
        rows = np.sort(order[:m])
        values, vectors = np.linalg.eigh(K[np.ix_(rows, rows)])
        kept = values > 1e-12 * values.max()
        features = K[:, rows] @ (vectors[:, kept] / np.sqrt(values[kept]))
        axes = np.linalg.eigh(features.T @ features)[1][:, ::-1][:, :Q]
        curve.append((m / N, angle(exact, features @ axes)))
    return curve


METHODS = {
    "Cayley-Adam, full batch (AC algorithm 4)": cayley,
    "mini-batches of columns": stochastic,
    "mini-batches, variance reduced": variance_reduced,
    "orthogonal iteration": power,
    "block Krylov, streamed": krylov,
    "landmarks (anchors)": landmarks,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table and the picture into docs/deep.md")
    arguments = parser.parse_args()
    K, exact = problem()
    curves = {name: method(K, exact) for name, method in METHODS.items()}
    lines = ["| method | error after about 1 pass | after about 7 | at the end (passes) |", "|---|---|---|---|"]
    for name, curve in curves.items():
        at = {goal: min(curve, key=lambda point, goal=goal: abs(point[0] - goal)) for goal in (1.0, 7.0)}
        near = [f"{at[goal][1]:.1e} ({at[goal][0]:.2g})" for goal in (1.0, 7.0)]
        lines.append(f"| {name} | {near[0]} | {near[1]} | {curve[-1][1]:.1e} ({curve[-1][0]:.3g}) |")
    print("\n".join(lines))
    if arguments.write:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
        for name, curve in curves.items():
            price, error = zip(*curve)
            axes.loglog(price, np.maximum(error, 1e-13), marker=".", label=name)
        axes.set(xlabel="passes: kernel values computed / N²", ylabel="sine of the largest angle to the exact subspace")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
        figure.savefig(PICTURE, dpi=110)
        write_block(PAGE, "dual", lines)


if __name__ == "__main__":
    main()
