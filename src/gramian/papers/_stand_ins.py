"""Data that stand in for files which are not there: bundled with scikit-learn, or made by the formulas that made the originals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

from gramian._arrays import Array


def zeros_and_ones() -> tuple[Array, Array]:
    """The zeros and ones of scikit-learn's digits, 360 pictures of 8 x 8 in [0, 1], and which they are."""
    digits = load_digits()
    own = digits.target <= 1
    return digits.data[own] / 16.0, digits.target[own]


def laser_like(n: int = 1100) -> Array:
    """The intensity x² of the Lorenz system, to which far-infrared lasers such as Santa Fe's are equivalent, in the range 2 to 255."""

    def slope(p: Array) -> Array:
        x, y, z = p
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    step, every = 0.01, 8
    point, found = np.array([1.0, 1.0, 20.0]), []
    for k in range((n + 100) * every):
        a = slope(point)
        b = slope(point + 0.5 * step * a)
        c = slope(point + 0.5 * step * b)
        d = slope(point + step * c)
        point = point + step / 6.0 * (a + 2 * b + 2 * c + d)
        if k % every == 0:
            found.append(point[0] ** 2)
    series = np.array(found[100:])
    return 2.0 + 253.0 * (series - series.min()) / (series.max() - series.min())


@dataclass(frozen=True)
class Split:
    """Rows, their classes 0 and 1, and the rows of each training and test set."""

    X: Array
    y: Array
    trains: Array
    tests: Array


def breiman(name: str, n_splits: int) -> Split:
    """Breiman's twonorm or ringnorm, as IDA has them (20 columns, 400 training rows), with 2,000 test rows."""
    rng = np.random.default_rng(7)
    n, d, a = 7400, 20, 2.0 / np.sqrt(20.0)
    y = rng.integers(0, 2, n)
    noise = rng.standard_normal((n, d))
    X = noise + a * (2 * y - 1)[:, None] if name == "twonorm" else np.where(y[:, None] == 0, 2.0 * noise, noise + a)
    orders = np.array([rng.permutation(n)[:2400] for _ in range(n_splits)])
    return Split(X, y, orders[:, :400], orders[:, 400:])
