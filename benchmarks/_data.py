"""Data of the benchmarks: curved clusters where no other is named, and MNIST."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np


def curved_clusters(n: int, d: int = 64, n_clusters: int = 10, intrinsic: int = 8, seed: int = 0) -> np.ndarray:
    """Clusters on curved patches of dimension ``intrinsic`` in R^d, with a little noise."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, d))
    labels = rng.integers(n_clusters, size=n)
    for label in range(n_clusters):
        rows = np.flatnonzero(labels == label)
        inner = rng.normal(size=(len(rows), intrinsic))
        straight, bent = rng.normal(size=(2, intrinsic, d)) / np.sqrt(intrinsic)
        X[rows] = 1.4 * rng.normal(size=d) + inner @ straight + np.sin(1.5 * inner) @ bent
    return X + 0.05 * rng.normal(size=X.shape)


def gamma_of(X: np.ndarray) -> float:
    """1 / (d var): scikit-learn's "scale"."""
    return 1.0 / (X.shape[1] * float(X.var()))


def length_scale_of(X: np.ndarray) -> float:
    """The same width as a length scale: exp(-|x - y|² / 2ℓ²) = exp(-γ|x - y|²)."""
    return float(np.sqrt(0.5 / gamma_of(X)))


def mnist(n: int) -> np.ndarray | None:
    """The first digits of MNIST in [0, 1], or None where the data folder is not there."""
    path = Path(os.environ.get("GRAMIAN_DATA", "")) / "mnist.npz"
    return np.load(path, allow_pickle=False)["x_train"][:n] / 255.0 if path.is_file() else None
