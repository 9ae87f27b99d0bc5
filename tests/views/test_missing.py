"""Rows that miss views or entries: the EM of holes with views as blocks is the dual EM written out view by view."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import features
from gramian.kernels import RBF
from gramian.views.missing import PartialView, fit_missing_views
from gramian.views.specs import training_view
from oracles import views as oracle

KINDS = {"linear": "linear", "kernel": RBF(2.0), "features": features.Nystroem(RBF(2.0), 12, random_state=0)}


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((70, 2))
    sizes = (("a", 6, 0.3), ("b", 4, 0.6), ("c", 3, 0.1))
    made = [z @ rng.standard_normal((2, d)) + s * rng.standard_normal((70, d)) + 3.0 for _, d, s in sizes]
    made[1][40:] = np.nan
    made[2][:20] = np.nan
    return made


def parts_of(cls, views, spec, weights):
    parts = []
    for v, X in enumerate(views):
        rows = np.flatnonzero(~np.isnan(X).all(axis=1))
        parts.append(cls(training_view(spec if v == 0 else "linear", X[rows], weights[rows]), rows, weights[rows]))
    return parts


@pytest.mark.parametrize("shared", [True, False], ids=["one noise", "one per view"])
@pytest.mark.parametrize("kind", KINDS)
def test_views_as_blocks_of_columns_are_the_dual_em(views, kind, shared):
    weights = np.random.default_rng(1).integers(1, 3, 70).astype(float)
    seen = np.array([~np.isnan(X).all(axis=1) for X in views]).T
    options = {"shared": shared, "max_iter": 5000}
    slow = oracle.fit_missing_views(
        parts_of(oracle.PartialView, views, KINDS[kind], weights), seen, weights, 2, tol=1e-13, **options
    )
    quick = fit_missing_views(parts_of(PartialView, views, KINDS[kind], weights), weights, 2, tol=1e-9, **options)
    assert quick.log_likelihoods[-1] >= slow.log_likelihoods[-1] - 1e-7
    assert_allclose(quick.noise_variances, slow.noise_variances, rtol=1e-4)
    assert_allclose(quick.latents, slow.latents, atol=1e-4)
    assert_allclose(quick.model.gaussian.eigenvalues, slow.model.gaussian.eigenvalues, rtol=1e-4)
    for found, expected, X in zip(quick.model.subspace.parts, slow.model.subspace.parts, views):
        assert_allclose(found.overlap, expected.overlap, atol=1e-4)
        assert_allclose(found.project(X[20:40]).scores, expected.project(X[20:40]).scores, atol=1e-3)


def test_a_fraction_of_the_variance_is_that_of_the_views_with_means_in_their_holes(views):
    weights = np.ones(70)
    parts = parts_of(PartialView, views, "linear", weights)
    counts = [
        fit_missing_views(parts, weights, share, shared=False, tol=1e-4, max_iter=300).model.gaussian.n_components
        for share in (0.3, 0.9)
    ]
    assert counts[0] < counts[1]


def test_the_columns_of_a_kernel_view_have_its_gram_matrix_and_as_many_dimensions_as_rows(views):
    partial = parts_of(PartialView, views, RBF(3.0), np.ones(70))[0]
    assert_allclose(partial.columns @ partial.columns.T, RBF(3.0)(views[0]), atol=1e-10)
    assert partial.columns.shape == (70, 70)


def test_a_constant_view_has_no_noise_and_no_say():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 1)) @ np.ones((1, 3)) + 0.1 * rng.standard_normal((30, 3))
    X[4, 1] = np.nan
    rows = np.arange(30)
    parts = [
        PartialView(training_view("linear", Y, np.ones(30)), rows, np.ones(30)) for Y in (X, np.full((30, 2), 5.0))
    ]
    found = fit_missing_views(parts, np.ones(30), 1, shared=False, tol=1e-6, max_iter=500)
    assert found.noise_variances[1] == 0.0
    assert found.model.subspace.parts[1].scale == 0.0
    assert_allclose(found.model.subspace.parts[1].decoded(np.ones((2, 1))), 5.0)
