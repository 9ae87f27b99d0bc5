"""Subspaces behind feature maps: they see features as primal subspaces do, and tell their points by weights over rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from gramian.features import Nystroem, RandomFourier
from gramian.kernels import RBF, Linear
from gramian.latent.feature_subspace import AnchoredSubspace, MappedSubspace, NystroemSubspace, RandomFeatureSubspace
from gramian.latent.sample import DualSample, primal_sample
from gramian.latent.subspace import KernelSubspace, Subspace
from gramian.operators.centering import Centering
from gramian.operators.gram import DenseGram
from gramian.solvers.eigh import Eigh
from oracles.tables import TABLES

X = TABLES["tall"]
WEIGHTS = np.full(len(X), 1 / len(X))
VERBS = [name for protocol in (Subspace, KernelSubspace) for name in vars(protocol) if not name.startswith("_")]


def primal_of(features, q=3):
    sample = primal_sample(features, np.ones(len(features)))
    spectrum = Eigh().solve(sample.operator(), q).signed()
    return sample.subspace(spectrum), spectrum


@pytest.fixture(scope="module")
def landmarks():
    feature_map = Nystroem(RBF(4.0), len(X)).fit(X)
    features = feature_map.transform(X)
    points = feature_map.landmarks_
    return NystroemSubspace(feature_map, primal_of(features)[0], points, feature_map.transform(points))


@pytest.fixture(scope="module")
def random_features():
    feature_map = RandomFourier(RBF(4.0), 200, random_state=0).fit(X)
    features = feature_map.transform(X)
    primal, spectrum = primal_of(features)
    vectors = (features - primal.mean) @ primal.components.T / np.sqrt(len(X) * spectrum.eigenvalues)
    axes = Centering(WEIGHTS).apply(vectors) / np.sqrt(spectrum.eigenvalues)
    return RandomFeatureSubspace(feature_map, primal, X, features, WEIGHTS, axes)


@pytest.fixture(scope="module")
def anchored():
    feature_map = RandomFourier(RBF(4.0), 30, random_state=0).fit(X)
    return AnchoredSubspace(feature_map, primal_of(feature_map.transform(X))[0], X, feature_map.transform(X))


def test_with_every_row_a_landmark_the_subspace_is_the_dual_one(landmarks):
    sample = DualSample(RBF(4.0), X, DenseGram(RBF(4.0)(X)), WEIGHTS, dim=60.0)
    dual = sample.subspace(Eigh().solve(sample.operator(), 3).signed())
    found, expected = landmarks.project(X[:9] + 0.1), dual.project(X[:9] + 0.1)
    assert_allclose(np.abs(found.scores), np.abs(expected.scores), atol=1e-6)
    signs = np.sign((found.scores * expected.scores).sum(axis=0))
    scores = np.random.default_rng(0).standard_normal((4, 3))
    order = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in landmarks.points]
    assert_allclose(landmarks.kernel_values(scores), dual.kernel_values(scores * signs)[:, order], atol=1e-6)
    assert_allclose(landmarks.center_scores(scores), dual.center_scores(scores * signs)[:, order], atol=1e-6)
    assert_allclose(landmarks.center_rows(X[:4]), dual.center_rows(X[:4])[:, order], atol=1e-6)
    assert_allclose(landmarks.point_scores(), dual.point_scores()[order] * signs, atol=1e-6)


@pytest.mark.parametrize("name", ["landmarks", "random_features", "anchored"])
def test_weights_over_the_points_give_the_feature_point(name, request):
    subspace = request.getfixturevalue(name)
    scores = np.random.default_rng(0).standard_normal((4, 3))
    assert_allclose(
        subspace.embed(scores) @ subspace.point_features, subspace.coordinates(scores), atol=1e-6, rtol=1e-6
    )
    assert_allclose(subspace.coordinates(scores), subspace.primal.mean + scores @ subspace.primal.components)


@pytest.mark.parametrize("name", ["landmarks", "random_features", "anchored"])
def test_every_verb_of_the_contract_is_there_and_several_see_as_one_by_one(name, request):
    subspace = request.getfixturevalue(name)
    assert [verb for verb in VERBS if not hasattr(subspace, verb)] == []
    together = subspace.project_with([subspace.take(2)], X[:7])
    assert_allclose(together[0].scores, subspace.project(X[:7]).scores)
    assert_allclose(together[1].scores, subspace.project(X[:7]).scores[:, :2])
    assert_allclose(together[1].squared_norm, together[0].squared_norm)
    assert subspace.spans_kernel_space == (name == "landmarks")
    assert (subspace.sees_entries, subspace.takes_kernel_values, subspace.gram) == (False, False, None)
    assert subspace.inputs(np.zeros((1, 3))) is None
    assert_allclose(subspace.without_map().project(subspace.features(X[:3])).scores, subspace.project(X[:3]).scores)


@pytest.mark.parametrize("name", ["landmarks", "random_features", "anchored"])
def test_unit_noise_has_the_kernel_of_the_features_as_covariance(name, request):
    subspace = request.getfixturevalue(name)
    drawn = subspace.unit_noise(4000, np.random.default_rng(0))
    gram = subspace.point_features @ subspace.point_features.T
    assert_allclose(drawn.values.T @ drawn.values / 4000, gram, atol=0.12)
    assert_allclose(drawn.scores.T @ drawn.scores / 4000, np.eye(3), atol=0.12)
    assert_allclose(drawn.weights @ gram, drawn.values, atol=1e-5)
    assert_allclose(drawn.centred, drawn.values - (drawn.values - drawn.centred)[:, :1], atol=1e-9)


def test_without_rows_random_features_project_alike(random_features):
    slim = random_features.without_rows()
    assert (slim.size, len(slim.points), len(slim.axes)) == (0, 0, 0)
    assert_allclose(slim.project(X[:5]).scores, random_features.project(X[:5]).scores)


def test_a_map_that_inverts_itself_leads_back_to_inputs():
    scaler = StandardScaler().fit(X)
    primal, _ = primal_of(scaler.transform(X), q=6)
    mapped = MappedSubspace(scaler, primal)
    assert_allclose(mapped.inputs(mapped.project(X).scores), X, atol=1e-9)
    assert_allclose(mapped.overlap(), np.eye(6), atol=1e-12)
    assert mapped.without_rows() is mapped
    assert mapped.take(2).loadings(np.ones(2)).shape == (6, 2)


def test_the_linear_kernel_on_landmarks_is_the_table_itself():
    feature_map = Nystroem(Linear(), len(X)).fit(X - X.mean(axis=0))
    features = feature_map.transform(X - X.mean(axis=0))
    assert_allclose(features @ features.T, (X - X.mean(axis=0)) @ (X - X.mean(axis=0)).T, atol=1e-6)
