"""Tables in the shapes that find errors."""

import numpy as np

rng = np.random.default_rng(7)


def _low_rank(n, d, q, noise=0.3):
    return rng.standard_normal((n, q)) @ (
        rng.standard_normal((q, d)) * np.linspace(2, 1, q)[:, None]
    ) + noise * rng.standard_normal((n, d))


TABLES = {
    "tall": _low_rank(60, 6, 2),
    "square": _low_rank(8, 8, 2),
    "one more row": _low_rank(9, 8, 2),
    "wide": _low_rank(12, 40, 3),
    "offset 1e8": _low_rank(60, 5, 2) + 1e8,
    "constant column": np.column_stack([_low_rank(30, 4, 2), np.full(30, 0.1)]),
    "three rows": _low_rank(3, 5, 1),
}


def with_holes(X, share=0.2, seed=0):
    """X with entries missing completely at random; every row and column keeps at least one."""
    gen = np.random.default_rng(seed)
    mask = gen.random(X.shape) < share
    mask[np.arange(len(X)), gen.integers(X.shape[1], size=len(X))] = False
    mask[gen.integers(len(X), size=X.shape[1]), np.arange(X.shape[1])] = False
    return np.where(mask, np.nan, X)
