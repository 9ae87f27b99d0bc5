"""One component of a kernel mixture: PPCA with responsibilities as weights, in dual and in feature coordinates."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._precision import ROUNDING
from gramian.features import Nystroem
from gramian.kernels import RBF, Linear, Precomputed
from gramian.latent.sample import DualSample
from gramian.mixtures.kernel_component import (
    CONSTANT_FREE,
    DualRows,
    FeatureRows,
    fit_component,
    least_diagonal,
    project_rows,
)
from gramian.operators.gram import DenseGram
from gramian.solvers.eigh import Eigh
from oracles import naive
from oracles.tables import TABLES

X = TABLES["tall"]
SHARES = np.random.default_rng(0).uniform(0.1, 1.0, len(X))


def feature_rows(kernel, table):
    feature_map = Nystroem(kernel, len(table)).fit(table)
    landmarks = feature_map.landmarks_
    return FeatureRows(feature_map, feature_map.transform(table), landmarks, feature_map.transform(landmarks))


@pytest.fixture(scope="module", params=["dual", "features"])
def rows(request):
    return DualRows(RBF(4.0), X, RBF(4.0)(X)) if request.param == "dual" else feature_rows(RBF(4.0), X)


def test_with_the_linear_kernel_a_component_is_weighted_ppca_above_the_noise():
    rows = DualRows(Linear(), X, X @ X.T)
    noise = 0.05
    model = rows.component(SHARES, 2, noise)
    values = np.linalg.eigvalsh(naive.covariance(X, SHARES)[1])[::-1]
    assert_allclose(model.gaussian.eigenvalues, values[:2], rtol=1e-9)
    mean, W = naive.ppca(X, 2, SHARES, noise=noise)[:2]
    # D = 0 leaves out the constant of the noise's space: -½ [Mahalanobis + log|M| - q log ρ]
    full = naive.log_density(X, mean, W, noise)
    found = model.gaussian.log_density(rows.training(model))
    assert_allclose(found - full, (found - full)[0], atol=1e-7)
    assert_allclose((found - full)[0], 0.5 * 6 * np.log(2 * np.pi * noise), atol=1e-7)
    assert model.gaussian.dim == CONSTANT_FREE == 0.0


def test_what_a_component_sees_of_training_rows_is_its_projection_of_them(rows):
    model = rows.component(SHARES, 3, 0.01)
    seen, expected = rows.training(model), model.subspace.project(X)
    assert_allclose(seen.scores, expected.scores, atol=1e-6)
    assert_allclose(seen.squared_norm, expected.squared_norm, atol=1e-6)


def test_all_components_see_new_rows_as_each_alone(rows):
    models = [rows.component(SHARES, 3, 0.01), rows.component(1.1 - SHARES, 2, 0.01)]
    for model, seen in zip(models, project_rows(models, X[:8] + 0.2)):
        alone = model.subspace.project(X[:8] + 0.2)
        assert_allclose(seen.scores, alone.scores, atol=1e-10)
        assert_allclose(seen.squared_norm, alone.squared_norm, atol=1e-10)


def test_features_of_all_landmarks_give_the_dual_component():
    dual, primal = DualRows(RBF(4.0), X, RBF(4.0)(X)), feature_rows(RBF(4.0), X)
    first, second = (part.component(SHARES, 3, 0.01) for part in (dual, primal))
    assert_allclose(first.gaussian.eigenvalues, second.gaussian.eigenvalues, rtol=1e-6)
    assert_allclose(np.abs(dual.training(first).scores), np.abs(primal.training(second).scores), atol=1e-5)
    assert_allclose(dual.mean_diagonal, primal.mean_diagonal, atol=1e-8)
    assert_allclose(dual.gram_of(np.arange(5)), primal.gram_of(np.arange(5)), atol=1e-8)


def test_directions_below_the_noise_are_dropped_and_a_fraction_takes_as_many_as_it_needs():
    sample = DualSample(Linear(), X, DenseGram(X @ X.T), np.full(60, 1 / 60), CONSTANT_FREE)
    values = np.linalg.eigvalsh(naive.covariance(X)[1])[::-1]
    between = 0.5 * (values[2] + values[3])
    assert len(fit_component(sample, 6, between).eigenvalues) == 3
    for fraction in (0.5, 0.9, 0.99):
        expected = int(np.searchsorted(np.cumsum(values) / values.sum(), fraction)) + 1
        assert len(fit_component(sample, fraction, 0.0).eigenvalues) == expected
    assert len(fit_component(sample, 0, 0.0).eigenvalues) == 0


def test_eigenpairs_continued_from_the_last_step_are_those_of_the_whole_decomposition():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((400, 4))
    rows = DualRows(RBF(2.0), table, RBF(2.0)(table))
    weights = rng.uniform(0.5, 1.0, 400)
    before = rows.component(weights, 4, 0.001, Eigh())
    found = rows.component(weights * 1.01 + 0.01, 4, 0.001, None, before)
    assert_allclose(
        found.gaussian.eigenvalues,
        rows.component(weights * 1.01 + 0.01, 4, 0.001, Eigh()).gaussian.eigenvalues,
        rtol=1e-6,
    )


def test_rows_of_negligible_weight_take_no_part(rows):
    weights = SHARES.copy()
    weights[:20] = 0.5 * ROUNDING * weights[20:].max()
    without = rows.component(np.where(weights < 1e-6, 0.0, weights), 3, 0.01)
    assert_allclose(rows.component(weights, 3, 0.01).gaussian.eigenvalues, without.gaussian.eigenvalues, rtol=1e-12)


def test_the_least_diagonal_leaves_no_component_a_negative_residual():
    gram = RBF(4.0)(X)
    rows = DualRows(Precomputed(), None, gram)
    models = [rows.component(SHARES, 3, 0.01), rows.component(1.1 - SHARES, 2, 0.01)]
    values = RBF(4.0)(X[:8] + 0.2, X)
    least = least_diagonal(models, values)
    residuals = np.array([m.gaussian.residual(s) for m, s in zip(models, project_rows(models, values, least))])
    assert_allclose(residuals.min(axis=0), 0.0, atol=1e-9)
    assert (least <= 1.0 + 1e-9).all()
    # what it is cancels between components
    terms = [[m.gaussian.log_density(s) for m, s in zip(models, project_rows(models, values, d))] for d in (least, 1.0)]
    assert_allclose(terms[0][0] - terms[0][1], terms[1][0] - terms[1][1], atol=1e-7)
