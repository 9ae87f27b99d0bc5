"""Inputs along their own axes: the joint spectrum of inputs and target is that of the whole matrix, in either coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.evidence.held_out import HeldOut
from gramian.kernels import RBF
from gramian.operators.gram import DenseGram
from gramian.solvers import Eigh
from gramian.targets.axes import FeatureInputs, GramInputs, TargetAxes, joint_spectrum, target_inputs
from gramian.views.view import ExplicitView, FactoredView, KernelView, ViewSample, ViewTable

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 5)) @ RNG.standard_normal((5, 5)) + 100.0
Y = np.column_stack([X[:, 0] - X[:, 1], X[:, 2]]) + 0.3 * RNG.standard_normal((40, 2))
WEIGHTS = RNG.uniform(0.5, 2.0, 40)
WEIGHTS /= WEIGHTS.sum()
SCALES = np.array([0.7, 1.9])
ROWS = np.arange(40)


def covariance_of(rows):
    s = WEIGHTS[rows] / WEIGHTS[rows].sum()
    both = np.hstack([SCALES[0] * X, SCALES[1] * Y])[rows]
    centred = both - s @ both
    return centred.T @ (s[:, None] * centred)


@pytest.fixture(scope="module", params=["features", "gram"])
def inputs(request):
    if request.param == "gram":
        return GramInputs(X @ X.T, Y, WEIGHTS)
    return FeatureInputs(X, Y, WEIGHTS, HeldOut.of(X, 4), 1e-12)


def test_the_arrowhead_has_the_spectrum_of_the_joint_covariance(inputs):
    pairs = inputs.decomposed(ROWS).axes.joint(SCALES, 7)
    expected = np.linalg.eigvalsh(covariance_of(ROWS))[::-1]
    assert_allclose(pairs.values, expected[: len(pairs.values)], rtol=1e-6)
    again = inputs.decomposed(ROWS).axes.joint(SCALES, 7, vectors=False)
    assert_allclose(again.values, pairs.values)
    assert again.shafts is None


def test_scores_are_along_the_principal_axes_of_the_rows_that_were_kept(inputs):
    kept = ROWS[10:]
    parts = (
        GramInputs(X @ X.T, Y, WEIGHTS).decomposed(kept)
        if isinstance(inputs, GramInputs)
        else FeatureInputs(X[10:], Y[10:], WEIGHTS[10:] / WEIGHTS[10:].sum(), None, 1e-12).decomposed(np.arange(30))
    )
    rows = ROWS[:10] if isinstance(inputs, GramInputs) else np.arange(30)
    table = X if isinstance(inputs, GramInputs) else X[10:]
    s = WEIGHTS[kept] / WEIGHTS[kept].sum()
    centred = X[kept] - s @ X[kept]
    values, vectors = np.linalg.eigh(centred.T @ (s[:, None] * centred))
    assert_allclose(parts.axes.values, values[::-1], rtol=1e-6)
    expected = (table[rows] - s @ X[kept]) @ vectors[:, ::-1]
    assert_allclose(np.abs(parts.scores(rows)), np.abs(expected), atol=1e-5)
    assert_allclose(parts.axes.mean, s @ Y[kept])


def test_the_moments_without_a_fold_are_those_of_its_complement():
    folds = HeldOut.of(X, 4)
    whole = FeatureInputs(X, Y, WEIGHTS, folds, 1e-12)
    kept = np.flatnonzero(folds.numbers != 1)
    part = whole.decomposed(kept, without=1)
    fresh = FeatureInputs(X[kept], Y[kept], WEIGHTS[kept] / WEIGHTS[kept].sum(), None, 1e-12).decomposed(
        np.arange(len(kept))
    )
    assert_allclose(part.axes.values, fresh.axes.values, rtol=1e-8)
    assert_allclose(np.abs(part.axes.cross), np.abs(fresh.axes.cross), atol=1e-8)
    assert_allclose(part.axes.mean, fresh.axes.mean)


def test_directions_in_which_the_target_does_not_vary_are_left_out():
    labels = np.eye(2)[np.arange(10) % 2]  # two columns, one direction
    covariance = np.cov(labels.T, bias=True)
    axes = TargetAxes.of(np.ones(3), np.ones((3, 2)), covariance, labels.mean(axis=0))
    assert axes.directions.shape == (2, 1)
    assert_allclose(axes.target, [[0.5]])
    nothing = TargetAxes.of(np.ones(3), np.zeros((3, 2)), np.zeros((2, 2)), np.zeros(2))
    assert nothing.directions.shape == (2, 1)


@pytest.mark.parametrize("kind", ["primal", "dual features", "kernel"])
def test_the_joint_spectrum_is_what_a_solver_finds_of_the_sample(kind):
    view = KernelView(RBF(20.0), X, DenseGram(RBF(20.0)(X))) if kind == "kernel" else ExplicitView(X)
    table = ViewTable((view, ExplicitView(Y)), WEIGHTS, 40.0)
    sample = ViewSample(table, SCALES, "primal" if kind == "primal" else "dual")
    inputs = target_inputs(sample, None, None)
    assert isinstance(inputs, FeatureInputs if kind == "primal" else GramInputs)
    whole = inputs.decomposed(ROWS)
    found = joint_spectrum(sample, whole, whole.axes.joint(SCALES, 4))
    exact = Eigh().solve(sample.operator(), 4)
    assert_allclose(found.eigenvalues, exact.eigenvalues, rtol=1e-6)
    assert_allclose(np.abs(found.eigenvectors.T @ exact.eigenvectors), np.eye(4), atol=1e-5)
    assert_allclose(found.trace, exact.trace, rtol=1e-8)


def test_a_factored_view_is_taken_as_features():
    table = ViewTable((ExplicitView(X), ExplicitView(Y)), WEIGHTS, 40.0)
    sample = ViewSample(table, SCALES, "dual")
    assert isinstance(target_inputs(sample, FactoredView(X), None), FeatureInputs)
