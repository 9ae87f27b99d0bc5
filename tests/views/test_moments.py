"""Views known by their moments: the decomposition, the noises and the subspace of the table behind them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._content import Folds
from gramian.latent.model import fit_latent_model
from gramian.rows import ArrayRows
from gramian.solvers import Eigh
from gramian.solvers.spectrum import positive_signs
from gramian.views.moments import MomentTable, MomentView, feature_sums
from gramian.views.noise import fit_view_noises
from gramian.views.view import ExplicitView, ViewTable

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((90, 2))
A = Z @ RNG.standard_normal((2, 5)) + 0.5 * RNG.standard_normal((90, 5)) + 3.0
B = Z @ RNG.standard_normal((2, 3)) + 0.2 * RNG.standard_normal((90, 3))
RAW = RNG.integers(1, 4, 90).astype(float)
NOTHING = Folds(0)


def features(block):
    return np.asarray(block.X, dtype=np.float64)


def tables():
    both = np.hstack([A, B])
    sums = ArrayRows(both, RAW, block_rows=23).fold(feature_sums, features, NOTHING, 8)
    views = (MomentView(slice(0, 5)), MomentView(slice(5, 8)))
    root = np.sqrt(RAW)[:, None]
    moments = MomentTable(views, sums, lambda axes, mean: positive_signs(root * (both - mean) @ axes))
    return moments, ViewTable((ExplicitView(A), ExplicitView(B)), RAW / RAW.sum(), RAW.sum())


def test_moments_say_what_the_table_says():
    moments, table = tables()
    assert (moments.n_rows, moments.total_weight, moments.widths) == (90, RAW.sum(), [5, 3])
    assert_allclose(moments.covariance, table.covariance, rtol=1e-10, atol=1e-12)
    assert_allclose(moments.traces, table.traces)
    assert_allclose(moments.dims, table.dims)
    assert_allclose(moments.sums.largest, abs(np.hstack([A, B])).max(axis=0))


@pytest.mark.parametrize("noise", [0.0, "ml"])
def test_a_model_of_moments_is_that_of_the_table_with_its_signs(noise):
    found, expected = (
        fit_latent_model(table.sample(np.array([1.0, 2.0]), "primal"), 3, Eigh(), noise) for table in tables()
    )
    assert_allclose(found.gaussian.eigenvalues, expected.gaussian.eigenvalues)
    for part, whole in zip(found.subspace.parts, expected.subspace.parts):
        assert_allclose(part.subspace.components, whole.subspace.components, atol=1e-9)
        assert_allclose(part.subspace.mean, whole.subspace.mean)


def test_the_noises_of_views_are_those_of_the_table():
    found, expected = (fit_view_noises(table, 2, Eigh(), "primal", tol=1e-6) for table in tables())
    assert_allclose(found.noise_variances, expected.noise_variances, rtol=1e-8)
    assert found.latents.shape == (0, 2)


def test_a_constant_view_has_no_variance():
    constant = np.column_stack([A, np.full(90, 1e6 / 3)])
    sums = ArrayRows(constant, RAW, block_rows=11).fold(feature_sums, features, NOTHING, 6)
    table = MomentTable(
        (MomentView(slice(0, 5)), MomentView(slice(5, 6))), sums, lambda axes, _: np.ones(axes.shape[1])
    )
    assert table.traces[1] == 0.0
