"""Associations of any two columns, against what they are called where both are numbers, or both categories."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats.contingency import association as scipy_association

from gramian.reporting.associations import association, associations
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


def texts(values):
    out = np.empty(len(values), dtype=object)
    out[:] = [str(value) for value in values]
    return out


def columns(n=400):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 3, n)
    other = np.where(rng.random(n) < 0.6, kind, rng.integers(0, 3, n))
    size = kind + rng.standard_normal(n)
    return kind, other, size, -2 * size + rng.standard_normal(n)


def test_two_numbers_two_categories_and_one_of_each():
    kind, other, size, price = columns()
    days = texts([f"2020-{1 + i // 28 % 12:02d}-{1 + i % 28:02d}" for i in range(400)])
    made = [texts([f"k{i}" for i in kind]), texts([f"o{i}" for i in other]), size, price, days]
    table = Table(["kind", "other", "size", "price", "day"], made)
    prepare = Preprocessing.fit([table])
    R, names = associations(table, prepare, prepare.matrix(table), 60)
    assert names == ["kind", "other", "size", "price", "day"]
    assert_allclose(R, R.T)
    assert_allclose(R[2, 3], np.corrcoef(size, price)[0, 1], rtol=1e-9)
    counts = np.array([[np.sum((kind == a) & (other == b)) for b in range(3)] for a in range(3)])
    v = scipy_association(counts, method="cramer")
    assert_allclose(R[0, 1], np.sqrt(v**2 - 4 / 399 / 2), rtol=1e-6)  # without what chance gives
    within = sum(((size[kind == k] - size[kind == k].mean()) ** 2).sum() for k in range(3))
    ratio = 1 - within / ((size - size.mean()) ** 2).sum()
    assert_allclose(R[0, 2], np.sqrt(ratio - 2 / 399), rtol=1e-6)
    assert abs(R[0, 4]) < 0.2


def test_columns_without_a_common_row_or_without_spread_go_together_with_nothing():
    x = np.arange(8.0)[:, None]
    assert association(x, np.where(x < 4, np.nan, np.nan)) == 0
    assert association(x, np.ones((8, 1))) == 0
    assert association(np.ones((8, 2)), x) == 0
