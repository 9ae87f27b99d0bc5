"""Tables of low rank, and holes made in tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_choice, check_count, check_number, check_random_state, check_table
from gramian._types import RandomState

MECHANISMS = ("mcar", "mar", "block")


def make_low_rank(
    n_samples: int = 200, n_features: int = 10, *, rank: int = 3, noise: float = 0.1, random_state: RandomState = None
) -> Array:
    """Rows of the model itself: x = μ + Wz + ε with standard normal W, z, μ and ε of standard deviation ``noise`` [2].

    Parameters
    ----------
    n_samples : int, default=200
    n_features : int, default=10
    rank : int, default=3
        q.
    noise : float, default=0.1
        Standard deviation of ε.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.datasets import make_low_rank
    >>> X = make_low_rank(50, 6, rank=2, noise=0.0, random_state=0)
    >>> int(np.linalg.matrix_rank(X - X.mean(axis=0)))
    2
    """
    n_samples = check_count("n_samples", n_samples, 1)
    n_features = check_count("n_features", n_features, 1)
    rank = check_count("rank", rank, 0)
    noise = check_number("noise", noise, 0.0)
    rng = check_random_state(random_state)
    loadings, mean = rng.standard_normal((rank, n_features)), rng.standard_normal(n_features)
    X = rng.standard_normal((n_samples, rank)) @ loadings + mean
    return X + noise * rng.standard_normal(X.shape)


def make_missing(X: Any, fraction: float = 0.2, *, mechanism: str = "mcar", random_state: RandomState = None) -> Array:
    """A copy of X with about ``fraction`` of its cells set to NaN; no row and no column loses all of its cells [5].

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    fraction : float in [0, 1), default=0.2
    mechanism : {"mcar", "mar", "block"}
        "mcar": every cell alike. "mar": the first column stays, and the larger its value (by rank), the more of the
        other cells are missing. "block": runs of consecutive rows are missing together, a column at a time, as
        when a sensor fails.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    Examples
    --------
    >>> import numpy as np
    >>> from gramian.datasets import make_low_rank, make_missing
    >>> X = make_missing(make_low_rank(random_state=0), 0.3, random_state=0)
    >>> round(float(np.isnan(X).mean()), 1)
    0.3
    """
    table = check_table(None, X, reset=False, missing=True)
    fraction = check_number("fraction", fraction, 0.0, 1.0, open_high=True)
    check_choice("mechanism", mechanism, MECHANISMS)
    rng = check_random_state(random_state)
    n, d = table.shape
    if mechanism == "mcar":
        holes = rng.random((n, d)) < fraction
    elif mechanism == "mar":
        holes = _at_random(table[:, 0], d, fraction, rng)
    else:
        holes = _blocks(n, d, fraction, rng)
    holes |= np.isnan(table)
    for row in np.flatnonzero(holes.all(axis=1)):
        holes[row, rng.integers(d)] = False
    for column in np.flatnonzero(holes.all(axis=0)):
        holes[rng.integers(n), column] = False
    return np.where(holes, table.dtype.type(np.nan), table)


def _at_random(driver: Array, d: int, fraction: float, rng: np.random.Generator) -> Array:
    """Missing with a probability that rises with the rank of the first column, which is always seen."""
    if d < 2:
        raise ValueError(f"mechanism='mar' needs at least 2 columns, got {d}: one stays observed and drives the rest.")
    n = len(driver)
    rank = (np.argsort(np.argsort(driver, kind="stable")) + 0.5) / n
    wanted = min(fraction * d / (d - 1), 0.99)
    # linear in the rank with mean ``wanted``; above one half what stays is linear, so that it is a probability
    chance = 2 * wanted * rank if wanted <= 0.5 else 1 - 2 * (1 - wanted) * (1 - rank)
    holes = rng.random((n, d)) < chance[:, None]
    holes[:, 0] = False
    return holes


def _blocks(n: int, d: int, fraction: float, rng: np.random.Generator) -> Array:
    """One run of missing rows a column, of length fraction · n (rounded at random), from a random place, wrapping."""
    lengths = np.floor(fraction * n + rng.random(d)).astype(int)
    starts = rng.integers(n, size=d)
    return (np.arange(n)[:, None] - starts) % n < np.minimum(lengths, n - 1)
