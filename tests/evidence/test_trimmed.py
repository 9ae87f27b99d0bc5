"""q where outliers may be among the rows."""

import numpy as np
import pytest

from gramian import PPCA
from gramian.evidence.trimmed import NOISE_FLOOR, TRIMMED_SHARE, choose_trimmed


def plane(n=150, d=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ (3 * rng.standard_normal((2, d))) + rng.standard_normal((n, d))


def test_a_wild_row_hardly_changes_the_dimension():
    X = plane()
    wild = 8 * np.random.default_rng(1).standard_normal((1, 8))
    assert choose_trimmed(X, 5).n_components == 2
    assert choose_trimmed(np.vstack([X, wild]), 5).n_components in (2, 3)


def test_noise_alone_needs_no_component():
    assert choose_trimmed(np.random.default_rng(0).standard_normal((200, 6)), 5).n_components == 0


def test_the_noise_does_not_vanish_where_columns_determine_each_other():
    X = plane(d=3)
    X = np.column_stack([X, X.sum(axis=1)])
    found = choose_trimmed(X, 5)
    assert found.n_components is None
    assert found.noise_variance == pytest.approx(NOISE_FLOOR * np.var(X, axis=0).mean(), rel=1e-6)
    model = PPCA(found.n_components, noise_variance=found.noise_variance).fit(X)
    assert np.isfinite(model.score_samples(X)).all()


def test_two_rows_cannot_be_held_out():
    assert choose_trimmed(np.eye(2), 5) is None


def test_constants_are_as_measured():
    assert TRIMMED_SHARE == 0.25
    assert NOISE_FLOOR == 1e-3
