"""Views below the estimators: stacking, tables of views, projections of whatever is seen."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gramian import stack_views
from gramian.evidence.held_out import HeldOut
from gramian.evidence.limits import calibrated_std
from gramian.kernels import RBF
from gramian.latent.model import fit_latent_model
from gramian.operators.gram import DenseGram
from gramian.solvers import Eigh
from gramian.targets.path import held_out
from gramian.views.noise import fit_view_noises, scales_of, start_noises
from gramian.views.view import ExplicitView, KernelView, ViewSample, ViewTable, factor_views


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    K = RBF(1.5)(X)
    views = (KernelView(RBF(1.5), X, DenseGram(K)), ExplicitView(X[:, :1] + 7), ExplicitView(X @ np.ones((3, 2))))
    weights = rng.random(30) + 0.5
    return ViewTable(views, weights / weights.sum(), float(weights.sum()))


def test_stack_views_keeps_names_and_columns():
    table, columns = stack_views({"x": np.zeros((3, 2)), "y": np.ones((3, 1))})
    assert_array_equal(table, [[0, 0, 1]] * 3)
    assert columns == {"x": slice(0, 2), "y": slice(2, 3)}
    assert list(stack_views([np.zeros((2, 1)), np.zeros((2, 1))])[1]) == ["view0", "view1"]


@pytest.mark.parametrize("bad", [{}, None, "ab", {"x": None}, [np.zeros((2, 1)), np.zeros((3, 1))]])
def test_stack_views_refuses_what_it_cannot_stack(bad):
    with pytest.raises(ValueError, match=r"view|rows|None"):
        stack_views(bad)


def test_traces_are_the_variances_of_the_views(table):
    s = table.weights
    X = table.views[1].features
    assert_allclose(table.traces[1], s @ (X[:, 0] - s @ X[:, 0]) ** 2)
    K0 = table.views[0].raw.matrix
    assert_allclose(table.traces[0], s @ np.diag(K0) - s @ K0 @ s)


def test_overlaps_of_all_views_add_up_to_the_identity(table):
    sample = ViewSample(table, np.array([1.0, 2.0, 0.5]), "dual")
    model = fit_latent_model(sample, 4, Eigh(), 0.0)
    assert_allclose(sum(part.overlap for part in model.subspace.parts), np.eye(4), atol=1e-10)


def test_patterns_group_the_rows_that_show_the_same_views(table):
    sample = ViewSample(table, np.ones(3), "dual")
    model = fit_latent_model(sample, 4, Eigh(), 0.01)
    inputs = [table.views[0].points, table.views[1].features, table.views[2].features]
    rng = np.random.default_rng(1)
    seen = rng.random((30, 3)) < 0.6
    seen[3] = False
    posterior = model.subspace.posterior(model.gaussian, inputs, seen)
    for i in range(30):
        shown = [X[i : i + 1] if here else None for X, here in zip(inputs, seen[i])]
        if seen[i].any():
            one = model.gaussian.posterior(model.subspace.project(shown))
            assert_allclose(posterior.mean[i], one.mean[0], atol=1e-12)
            assert_allclose(posterior.covariance[i], one.covariance, atol=1e-12)
        else:
            assert_allclose(posterior.mean[i], 0)
            assert_allclose(posterior.covariance[i], np.eye(4))


def test_entries_of_a_linear_view_can_be_seen_one_by_one():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.standard_normal((40, 1))
    y = y + X[:, :1]
    n = np.full(40, 1 / 40)
    together = ViewTable((ExplicitView(X), ExplicitView(y)), n, 40.0)
    apart = ViewTable((*[ExplicitView(X[:, [j]]) for j in range(3)], ExplicitView(y)), n, 40.0)
    models = [
        fit_latent_model(ViewSample(t, np.ones(len(t.views)), "primal"), 2, Eigh(), "ml") for t in (together, apart)
    ]
    row = X[:5].copy()
    row[:, 1] = np.nan
    one = models[0].gaussian.posterior(models[0].subspace.project([row, None])).mean
    two = models[1].gaussian.posterior(models[1].subspace.project([row[:, [0]], None, row[:, [2]], None])).mean
    assert_allclose(one, two, atol=1e-10)


def test_noises_start_from_above(table):
    fit = fit_view_noises(table, 5, Eigh(), "dual")
    assert (fit.noise_variances < start_noises(table)).all()
    assert_allclose(scales_of(np.array([4.0, 0.0])), [0.5, 0.0])


def test_a_bare_subspace_projects_features_and_kernel_values(table):
    sample = ViewSample(table, np.ones(3), "dual")
    subspace = fit_latent_model(sample, 4, Eigh(), 0.0).subspace
    inputs = [table.views[0].points, table.views[1].features, None]
    raw = [table.views[0].raw.matrix, table.views[1].features, None]
    assert_allclose(subspace.without_maps().project(raw).scores, subspace.project(inputs).scores, atol=1e-10)


def test_held_out_predictions_have_not_seen_their_row():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 2)), rng.standard_normal((60, 1))  # nothing to learn
    table = ViewTable((ExplicitView(X), ExplicitView(y)), np.full(60, 1 / 60), 60.0)
    folds = HeldOut.of(X, 5)
    found = held_out(ViewSample(table, np.ones(2), "primal"), [2], Eigh(), folds, noise_variance=0.0)
    moved = y.copy()
    held = np.flatnonzero(folds.numbers == 0)
    moved[held[0]] += 100.0
    other = ViewTable((ExplicitView(X), ExplicitView(moved)), np.full(60, 1 / 60), 60.0)
    again = held_out(ViewSample(other, np.ones(2), "primal"), [2], Eigh(), folds, noise_variance=0.0, choose=False)
    plain = held_out(ViewSample(table, np.ones(2), "primal"), [2], Eigh(), folds, noise_variance=0.0, choose=False)
    assert_allclose(again.predictions[held], plain.predictions[held], atol=1e-10)
    assert found.error > 0.9


def test_folds_follow_the_rows_and_not_their_order():
    X = np.random.default_rng(0).standard_normal((20, 3))
    order = np.random.default_rng(1).permutation(20)
    assert_array_equal(HeldOut.of(X[order], 4).numbers, HeldOut.of(X, 4).numbers[order])
    twice = HeldOut.of(np.repeat(X, 2, axis=0), 4)
    assert_array_equal(twice.numbers[::2], twice.numbers[1::2])
    assert_array_equal(twice.distinct, HeldOut.of(X, 4).distinct)
    assert_array_equal(HeldOut.stretches(7, 3).numbers, [0, 0, 0, 1, 1, 2, 2])


def test_calibration_covers_nine_tenths_of_the_residuals():
    rng = np.random.default_rng(0)
    residuals = rng.standard_t(3, (2000, 2)) * [1.0, 5.0]
    weights = np.full(2000, 1 / 2000)
    std = calibrated_std(residuals, np.zeros(2000), weights, 2000.0)
    assert_allclose((np.abs(residuals) <= 1.6449 * std).mean(axis=0), 0.9, atol=2e-3)


def test_a_smooth_kernel_is_factored_to_rounding_and_a_rough_one_is_not():
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = ExplicitView(np.sin(X[:, :1]))
    weights = np.full(300, 1 / 300)
    smooth, rough = (
        ViewTable((KernelView(kernel, X, DenseGram(kernel(X))), y), weights, 300.0) for kernel in (RBF(3.0), RBF(0.05))
    )
    quick = factor_views(smooth)
    features = quick.views[0].features
    assert features.shape[1] < 150
    assert_allclose(features @ features.T, smooth.views[0].raw.to_dense(), atol=1e-13)
    assert_allclose(quick.dims, smooth.dims)
    assert_allclose(quick.traces, smooth.traces, rtol=1e-12)
    assert factor_views(rough) is None


def test_the_noises_of_factored_views_are_those_of_the_kernel():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 2))
    y = ExplicitView(np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((200, 1)))
    table = ViewTable((KernelView(RBF(2.0), X, DenseGram(RBF(2.0)(X))), y), np.full(200, 1 / 200), 200.0)
    dense = fit_view_noises(table, 12, Eigh(), "dual")
    quick = fit_view_noises(table, 12, Eigh(), "dual", working=factor_views(table))
    assert_allclose(quick.noise_variances, dense.noise_variances, rtol=1e-8)
    assert_allclose(quick.log_likelihoods, dense.log_likelihoods, rtol=1e-10)
    assert_allclose(quick.model.gaussian.eigenvalues, dense.model.gaussian.eigenvalues, rtol=1e-8)
