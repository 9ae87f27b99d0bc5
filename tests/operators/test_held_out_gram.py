"""Blocks of one Gram matrix against the rows behind it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.operators.centering import Centering
from gramian.operators.gram import HeldOutGram


@pytest.mark.parametrize("center", [True, False])
def test_blocks_are_those_of_the_rows_themselves(center, rng):
    X, weights = rng.standard_normal((30, 4)) + 3, rng.uniform(0.5, 2.0, 30)
    kept, held = np.arange(0, 30, 2), np.arange(1, 20, 3)
    gram = X @ X.T
    before = gram.copy()
    block = HeldOutGram.of(gram, weights, kept, held, center)
    s = weights[kept] / weights[kept].sum()
    mean = center * (s @ X[kept])
    rows = np.sqrt(s)[:, None] * (X[kept] - mean)
    assert_allclose(block.matrix, rows @ rows.T, atol=1e-12)
    assert_allclose(block.shown, rows @ (X[held] - mean).T, atol=1e-12)
    assert_allclose(block.squared_norms, ((X[held] - mean) ** 2).sum(axis=1), atol=1e-12)
    assert_allclose(gram, before, atol=0)


@pytest.mark.parametrize("center", [True, False])
def test_a_gram_matrix_is_centred_in_its_place(center, rng):
    raw, s = rng.standard_normal((12, 12)), rng.random(12)
    raw, s = raw @ raw.T, s / s.sum()
    centering = Centering(s, center)
    expected = centering.transpose(centering.transpose(raw).T).T
    given = raw.copy()
    found, mean = centering.gram(given)
    assert found is given
    assert_allclose(found, expected, atol=1e-12)
    assert_allclose(mean, raw @ s if center else 0.0, atol=1e-12)
