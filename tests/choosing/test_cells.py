"""q by hidden cells: fits that are only compared may be loose."""

import numpy as np
import pytest

from gramian.choosing import cells
from gramian.choosing.cells import choose_by_cells


def table(kind, n=150):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 3))
    W = rng.standard_normal((3, 8))
    X = Z @ W if kind == "straight" else np.cos(Z @ W + rng.uniform(0, 6, 8))
    X = X + 0.3 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


def test_the_loose_fits_are_as_documented():
    assert (cells.LOOSE, cells.LOOSE_STEPS) == (1e-2, 5)
    assert (cells.ALMOST_NONE, cells.TIGHT, cells.TIGHT_STEPS) == (1e-4, 1e-6, 100)
    assert (cells.N_DRAWS, cells.SHARE, cells.MOST_ROWS, cells.EVERY, cells.PATIENCE) == (5, 0.1, 2000, 6, 2)


@pytest.mark.parametrize("kind", ["straight", "curved"])
def test_fits_to_the_end_choose_the_same_q(monkeypatch, kind):
    X = table(kind)
    loose = choose_by_cells(X, np.ones(len(X)), 8).selection
    monkeypatch.setattr(cells, "LOOSE", 1e-8)
    monkeypatch.setattr(cells, "LOOSE_STEPS", 500)
    tight = choose_by_cells(X, np.ones(len(X)), 8).selection
    assert loose.chosen == tight.chosen
    np.testing.assert_allclose(loose.scores[:3], tight.scores[:3], rtol=0.02)
