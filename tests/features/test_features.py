"""Feature maps keep their contract and reproduce the kernels they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from gramian import features, kernels
from gramian.features import FEATURE_MAPS, Identity, Nystroem, RandomFourier, as_feature_map
from gramian.features.random_fourier import draw_frequencies
from gramian.kernels import RBF, Laplacian, Linear, Matern
from gramian.testing import check_feature_map


def rows(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


MAPS = {
    "rff": RandomFourier(n_features=50),
    "rff, odd and orthogonal": RandomFourier(Matern(2.0), n_features=51, orthogonal=True),
    "rff, laplacian": RandomFourier("laplacian", n_features=20, orthogonal=True),
    "nystroem": Nystroem(n_landmarks=20),
    "nystroem, sum": Nystroem(RBF("median") + Linear(), n_landmarks=20),
    "nystroem, more landmarks than rows": Nystroem(Matern(1.0), n_landmarks=1000),
    "polynomial": features.Polynomial(),
    "polynomial, homogeneous": features.Polynomial(2, coef0=0.0),
    "identity": Identity(),
    "inputs beside curves": features.WithInputs(Matern(1.0), n_landmarks=20),
}


@pytest.mark.parametrize("feature_map", MAPS.values(), ids=MAPS)
def test_feature_map_keeps_the_contract(feature_map):
    check_feature_map(feature_map, rows())


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_feature_map_of_the_table_keeps_the_contract(name):
    check_feature_map(name, rows())


def test_inputs_beside_curves_are_the_features_of_a_sum_of_kernels():
    X = rows(40)
    variance = X.var(axis=0).sum()
    kernel = kernels.Scaled(Linear(), 1 / variance) + RBF(2.0)
    check_feature_map(features.WithInputs(RBF(2.0), n_landmarks=40), X, kernel=kernel, tolerance=1e-8)


def test_contract_finds_wrong_features():
    with pytest.raises(AssertionError, match="against the kernel"):
        check_feature_map(features.Polynomial(3, gamma=0.4), rows(), kernel=kernels.Polynomial(3, gamma=0.5))

    class Forgetful(Identity):
        def _features(self, X):
            return X + X.mean()

    with pytest.raises(AssertionError, match="row by row"):
        check_feature_map(Forgetful(), rows())


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("gamma", [None, 0.7])
@pytest.mark.parametrize("coef0", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("d", [1, 4])
def test_polynomial_features_are_the_polynomial_kernel(degree, gamma, coef0, d):
    X, Y = rows(d=d), rows(20, d=d, seed=1)
    feature_map = features.Polynomial(degree, gamma, coef0).fit(X)
    found = feature_map.transform(X) @ feature_map.transform(Y).T
    assert_allclose(found, kernels.Polynomial(degree, gamma, coef0)(X, Y), rtol=1e-11, atol=1e-12)


def test_absurd_polynomial_features_are_refused_before_allocation():
    with pytest.raises(MemoryError, match="GB"):
        features.Polynomial(8).fit(rows(5, 500))
    feature_map = features.Polynomial(4).fit(rows(5, 60))  # 635376 features
    with pytest.raises(MemoryError, match="GB"):
        feature_map.transform(np.broadcast_to(rows(1, 60), (10**6, 60)))


@pytest.mark.parametrize(
    ("parameters", "name"), [({"degree": 0}, "degree"), ({"gamma": -1.0}, "gamma"), ({"coef0": -1.0}, "coef0")]
)
def test_bad_parameter_of_polynomial_features_is_refused(parameters, name):
    with pytest.raises(ValueError, match=name):
        features.Polynomial(**parameters).fit(rows())


KERNELS = [RBF(1.5), Matern(1.0, nu=0.5), kernels.Polynomial(3), RBF(1.0) + Linear(), kernels.Periodic(1.0, 3.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nystroem_with_all_rows_is_the_kernel(kernel):
    X = rows()
    feature_map = Nystroem(kernel, n_landmarks=60, random_state=0).fit(X)
    F = feature_map.transform(X)
    assert_allclose(F @ F.T, kernel(X), rtol=0, atol=1e-9 * kernel(X).max())
    assert feature_map.approximation_error(X) < 1e-9 * kernel(X).max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_nystroem_is_exact_at_landmarks_and_the_textbook_formula_elsewhere(kernel):
    X = rows(200)
    feature_map = kernel.nystroem(X, 25, random_state=0)
    landmarks = feature_map.landmarks_
    assert landmarks.shape == (25, 3)
    F = feature_map.transform(X)
    cross = kernel(X, landmarks)
    textbook = cross @ np.linalg.pinv(kernel(landmarks), rcond=1e-12, hermitian=True) @ cross.T
    scale = kernel(X).max()
    assert_allclose(F @ F.T, textbook, rtol=0, atol=1e-7 * scale)
    at = feature_map.transform(landmarks)
    assert_allclose(at @ at.T, kernel(landmarks), rtol=0, atol=1e-10 * scale)
    error = feature_map.approximation_error(X)
    assert_allclose(error, (kernel.diagonal(X) - np.diagonal(textbook)).mean(), rtol=1e-4, atol=1e-7 * scale)


def test_landmark_weights_give_back_the_feature_point():
    X = rows(200)
    feature_map = RBF(1.0).nystroem(X, 30, random_state=0)
    F = feature_map.transform(X[:10])
    weights = feature_map.landmark_weights(F)
    assert weights.shape == (10, 30)
    # Φ_m γ = f: its kernel values with any y are f·φ(y), whose part outside the landmarks is not seen
    assert_allclose(weights @ RBF(1.0)(feature_map.landmarks_, X), F @ feature_map.transform(X).T, atol=1e-10)
    assert_allclose(weights @ feature_map.transform(feature_map.landmarks_), F, atol=1e-7)


def test_nystroem_error_falls_with_the_landmarks():
    X = rows(400)
    errors = [RBF(1.0).nystroem(X, m, random_state=0).approximation_error(X) for m in (10, 40, 160)]
    assert errors[0] > errors[1] > errors[2] >= 0


def test_nystroem_leaves_out_rows_without_weight():
    X = rows(30)
    X[10:] += 100.0
    weights = np.r_[np.ones(10), np.zeros(20)]
    feature_map = Nystroem("rbf", n_landmarks=20, random_state=0).fit(X, sample_weight=weights)
    assert {tuple(row) for row in feature_map.landmarks_} == {tuple(row) for row in X[:10]}
    assert feature_map.kernel_.length_scale == RBF("median").resolve(X[:10]).length_scale


def test_nystroem_of_repeated_rows_has_the_rank_as_its_dimension():
    X = np.repeat(rows(5), 4, axis=0)
    feature_map = Nystroem(RBF(1.0), n_landmarks=20).fit(X)
    assert feature_map.dim == 5
    F = feature_map.transform(X)
    assert_allclose(F @ F.T, RBF(1.0)(X), atol=1e-10)


@pytest.mark.parametrize("n_landmarks", [7, 100])
def test_nystroem_of_repeated_rows_equals_that_of_weighted_rows(n_landmarks):
    X = rows(40)
    weights = np.random.default_rng(0).integers(1, 4, 40)
    weighted = Nystroem("rbf", n_landmarks, random_state=0).fit(X, sample_weight=weights)
    repeated = np.random.default_rng(1).permutation(np.repeat(X, weights, axis=0))
    assert_allclose(
        Nystroem("rbf", n_landmarks, random_state=0).fit(repeated).transform(X), weighted.transform(X), atol=1e-7
    )


def test_nystroem_takes_sparse_rows():
    X = sparse.csr_array(sparse.random_array((80, 40), density=0.2, random_state=np.random.default_rng(0)))
    found = Nystroem(RBF(1.0), 20, random_state=0).fit(X).transform(X)
    dense = Nystroem(RBF(1.0), 20, random_state=0).fit(X.toarray()).transform(X.toarray())
    assert_allclose(found @ found.T, dense @ dense.T, atol=1e-9)
    with pytest.raises(TypeError, match="toarray"):
        Nystroem("laplacian").fit(X)


def test_nystroem_refuses_what_it_cannot_use():
    with pytest.raises(ValueError, match="n_landmarks"):
        Nystroem(n_landmarks=0).fit(rows())
    with pytest.raises(ValueError, match="precomputed"):
        Nystroem("precomputed").fit(np.eye(3))
    with pytest.raises(ValueError, match="not known"):
        Nystroem("gauss").fit(rows())
    with pytest.raises(ValueError, match="kernel values not finite"):
        Nystroem(kernels.Polynomial(10)).fit(1e4 * rows())


SPECTRAL = [RBF(1.5), RBF([1.0, 2.0, 3.0]), Matern(1.5, nu=0.5), Matern(1.5, nu=1.5), Matern([1.0, 2.0, 3.0], nu=2.5)]
SPECTRAL += [Laplacian(2.0), Laplacian([1.0, 2.0, 3.0])]


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("kernel", SPECTRAL, ids=repr)
def test_random_fourier_features_tend_to_the_kernel(kernel, orthogonal):
    X = rows(30)
    feature_map = RandomFourier(kernel, 40001, orthogonal=orthogonal, random_state=0).fit(X)
    F = feature_map.transform(X)
    assert F.shape == (30, 40001)
    # a mean of 20001 cosines has a standard error of at most 0.005; 870 entries, so 5 of them
    assert_allclose(F @ F.T, kernel(X), rtol=0, atol=0.025)


def test_orthogonal_features_have_less_error():
    X = rows(40, 10)
    kernel = RBF(4.0)
    errors = {
        orthogonal: np.mean(
            [
                np.square(F @ F.T - kernel(X)).mean()
                for F in (RandomFourier(kernel, 40, orthogonal, seed).fit_transform(X) for seed in range(30))
            ]
        )
        for orthogonal in (False, True)
    }
    assert errors[True] < 0.8 * errors[False]


def test_orthogonal_frequencies_are_orthogonal_normals():
    rng = np.random.default_rng(0)
    frequencies = draw_frequencies(RBF(1.0), 5, 5000, True, rng)
    block = frequencies[:, :5]
    products = block.T @ block
    assert_allclose(products, np.diag(np.diagonal(products)), atol=1e-12)
    assert_allclose(frequencies @ frequencies.T / 5000, np.eye(5), atol=0.1)


def test_even_features_have_unit_norm():
    F = RandomFourier("rbf", 100, random_state=0).fit_transform(rows())
    assert_allclose(np.square(F).sum(axis=1), 1.0)


@pytest.mark.parametrize("kernel", ["linear", "periodic", "cosine", RBF() + RBF(), lambda X, Y: X @ Y.T])
def test_kernels_without_a_known_density_are_refused(kernel):
    with pytest.raises(ValueError, match="Use RBF, Matern or Laplacian"):
        RandomFourier(kernel).fit(rows())


def test_random_features_of_a_kernel_are_ready_for_any_width():
    feature_map = RBF(1.5).random_features(4000, random_state=0)
    for X in (rows(20, 3), rows(20, 5)):
        F = feature_map.transform(X)
        assert_allclose(F @ F.T, RBF(1.5)(X), atol=0.1)
        assert_array_equal(F, feature_map.transform(X))
        assert_array_equal(F[:5], feature_map.transform(X[:5]))
    assert feature_map.fit(rows()).transform(rows()).shape == (60, 4000)
    with pytest.raises(ValueError, match="median"):
        RBF("median").random_features(10)
    with pytest.raises(ValueError, match="random_state"):
        RBF(1.0).random_features(10, random_state=-1)


def test_random_fourier_features_of_sparse_rows():
    X = sparse.random_array((30, 20), density=0.3, random_state=np.random.default_rng(0), format="csr")
    feature_map = RandomFourier(RBF(1.0), 50, random_state=0).fit(X)
    assert_allclose(feature_map.transform(X), feature_map.transform(X.toarray()), atol=1e-12)


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_columns_are_counted_and_names_are_given(name):
    feature_map = as_feature_map(name).fit(rows())
    assert len(feature_map.get_feature_names_out()) == feature_map.dim
    with pytest.raises(ValueError, match=r"2 features, but .* is expecting 3"):
        feature_map.transform(rows(d=2))
    with pytest.raises(NotFittedError):
        clone(feature_map).transform(rows())


@pytest.mark.parametrize("name", FEATURE_MAPS)
def test_failed_fit_leaves_the_map_as_it_was(name):
    X = rows()
    feature_map = as_feature_map(name).fit(X)
    before = feature_map.transform(X)
    with pytest.raises(ValueError):
        feature_map.fit(np.full((5, 2), np.nan))
    with pytest.raises(ValueError, match="sample_weight"):
        feature_map.fit(rows(d=2), sample_weight=-np.ones(60))
    assert_array_equal(feature_map.transform(X), before)


def test_unknown_feature_map_lists_the_names():
    with pytest.raises(ValueError, match="'nystroem', 'rff', 'polynomial', 'identity'"):
        as_feature_map("fourier")
    with pytest.raises(TypeError, match="no feature map"):
        as_feature_map(3)


@parametrize_with_checks([Nystroem(n_landmarks=20), RandomFourier(n_features=20), features.Polynomial(2), Identity()])
def test_feature_maps_pass_the_common_checks(estimator, check):
    check(estimator)
