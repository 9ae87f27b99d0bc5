"""Sets of pictures for experiments on the way back, in [0, 1]: rows to train on, and new ones."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from gramian.datasets import load_mnist, load_olivetti_faces

Pair = tuple[np.ndarray, np.ndarray]


def digits(rng: np.random.Generator, n_train: int = 1000) -> Pair:
    """scikit-learn's, 8 x 8."""
    X = load_digits().data / 16.0
    X = X[rng.permutation(len(X))]
    return X[:n_train], X[n_train : n_train + 700]


def like_usps(rng: np.random.Generator, n_train: int = 1000) -> Pair:
    """MNIST, padded and averaged to the 16 x 16 pixels of USPS."""
    data = load_mnist()
    train = data.data[rng.permutation(len(data.data))[:n_train]]
    new = data.data_test[rng.permutation(len(data.data_test))[:500]]
    return _pooled(np.pad(_images(train / 255.0, 28), ((0, 0), (2, 2), (2, 2)))), _pooled(
        np.pad(_images(new / 255.0, 28), ((0, 0), (2, 2), (2, 2)))
    )


def faces(rng: np.random.Generator, n_train: int = 320) -> Pair:
    """Olivetti, 32 x 32; two pictures of each person are new."""
    data = load_olivetti_faces()
    X = _pooled(_images(data.data / 255.0, 64))
    held = np.concatenate([rng.choice(np.flatnonzero(data.target == s), 2, False) for s in np.unique(data.target)])
    return np.delete(X, held, axis=0)[:n_train], X[held]


def _images(rows: np.ndarray, side: int) -> np.ndarray:
    return rows.reshape(-1, side, side)


def _pooled(images: np.ndarray) -> np.ndarray:
    """Means of 2 x 2 pixels, as rows."""
    n, side = len(images), images.shape[1] // 2
    return images.reshape(n, side, 2, side, 2).mean(axis=(2, 4)).reshape(n, -1)
