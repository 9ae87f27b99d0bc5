"""USERS: what users of neighbouring libraries ask for, each a small acceptance test."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.decomposition import PCA

from gramian import PPCA, KernelPPCA, LatentOutlierDetector, MultiViewRKM, NumericalWarning, PPCAMixture, kernels
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]


def test_kernel_pca_of_80000_points_is_refused_with_words_or_done_without_the_matrix():
    """scikit-learn #19479, #18013, #9690: unable to allocate 95.6 GiB."""
    tall = np.random.default_rng(0).standard_normal((4000, 2))
    with pytest.raises(MemoryError, match=r"MiB.*krylov"):
        KernelPPCA(2, solver="eigh", memory_limit=50 * 2**20).fit(tall)
    model = KernelPPCA(2, kernel=kernels.RBF(1.0), solver="krylov", memory_limit=50 * 2**20, random_state=0).fit(tall)
    assert model.residual_norm_ < 1e-3


def test_nystroem_has_an_error_estimate():
    feature_map = kernels.RBF(2.0).nystroem(X, 20, random_state=0)
    assert 0 <= feature_map.approximation_error(X) < 1


def test_ppca_matches_tipping_and_bishop_whatever_the_solver():
    """scikit-learn #10137, #8541: noise differs between solvers."""
    exact = PPCA(2, solver="eigh").fit(X).noise_variance_
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    assert_allclose(exact, values[2:].mean())
    for solver in ("randomized", "em", "auto"):
        assert_allclose(PPCA(2, solver=solver, random_state=0).fit(X).noise_variance_, exact, rtol=1e-6)


def test_zero_noise_and_wide_data_are_handled():
    """scikit-learn #8544, #13898, #8541."""
    wide = TABLES["wide"]
    assert np.isfinite(PPCA(2).fit(wide).score(wide))
    full = PPCA(6).fit(X)  # the full Gaussian: no noise is left, and it has its density all the same
    assert full.noise_variance_ == 0.0
    np.testing.assert_allclose(full.score_samples(X), PPCA(5).fit(X).score_samples(X))
    flat = X[:, :2] @ np.arange(12.0).reshape(2, 6)
    with pytest.warns(NumericalWarning, match="noise"):
        singular = PPCA(2).fit(flat)
    with pytest.raises(ValueError, match="residual"):
        singular.score_samples(flat)


def test_rows_with_nan_can_be_fitted_transformed_and_scored():
    """statsmodels #4592, #6483; MultivariateStats.jl #138."""
    holes = with_holes(X)
    model = PPCA(2).fit(holes)
    for method in ("transform", "scores", "score_samples", "mahalanobis", "residual", "reconstruct", "impute"):
        assert np.isfinite(getattr(model, method)(with_holes(X, seed=5))).all()


def test_near_full_rank_warns_instead_of_crashing_and_has_an_inverse():
    """pcaMethods #17, #19."""
    model = PPCA(5).fit(X)
    assert_allclose(model.inverse_transform(model.transform(X)), model.reconstruct(X))
    holes = with_holes(X, 0.1)
    assert np.isfinite(PPCA(5).fit(holes).inverse_transform(np.zeros((1, 5)))).all()


def test_kernel_inverse_keeps_the_mean_and_frozen_parameters():
    """scikit-learn #16654, #18902, #26280, #13099."""
    shifted = X + 100.0
    model = KernelPPCA(3, kernel=kernels.Polynomial(degree=2)).fit(shifted - 100)
    assert model.kernel_.gamma == 1 / 6
    assert model.kernel.gamma is None
    back = KernelPPCA(5, kernel=kernels.RBF(3.0)).fit(shifted).reconstruct(shifted)
    assert_allclose(back.mean(axis=0), shifted.mean(axis=0), atol=0.5)


@pytest.mark.parametrize("preimage", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
@pytest.mark.parametrize("approximation", [None, "nystroem"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_preimage_works_for_every_feature_map(preimage, approximation):
    """smile #123, MultivariateStats.jl #125, scikit-learn #19971."""
    model = KernelPPCA(
        4, kernel=kernels.RBF(3.0), preimage=preimage, approximation=approximation, n_landmarks=30, random_state=0
    ).fit(X)
    rows, info = model.inverse_transform(model.transform(X[:5]), return_info=True)
    assert np.isfinite(rows).all()
    assert info is not None


def test_gaussian_mixture_with_missing_data():
    """scikit-learn #9268, #4513: q = d - 1 is the full-covariance mixture."""
    rng = np.random.default_rng(0)
    data = np.vstack([rng.standard_normal((60, 3)), rng.standard_normal((60, 3)) + 6])
    model = PPCAMixture(2, 2, random_state=0).fit(with_holes(data, 0.1))
    labels = model.predict(with_holes(data, 0.1))
    assert len(set(labels[:60])) == 1
    assert labels[0] != labels[-1]


def test_centring_can_be_switched_off():
    """scikit-learn #10605, dask-ml #734."""
    model = PPCA(2, center=False).fit(X + 3)
    assert_allclose(model.mean_, 0)
    second = (X + 3).T @ (X + 3) / len(X)
    assert_allclose(model.explained_variance_, np.linalg.eigvalsh(second)[::-1][:2])
    assert KernelPPCA(2, center=False).fit(X).transform(X).shape == (60, 2)


def test_sample_weights_everywhere():
    """scikit-learn #24079, prince #160."""
    weights = np.linspace(0.1, 2, 60)
    for model in (PPCA(2), KernelPPCA(2), PPCAMixture(2, 1, random_state=0), MultiViewRKM(2)):
        assert model.fit(X, sample_weight=weights) is model


def test_kernel_anomalies_come_from_q_components_only():
    """pyod #370, #730."""
    detector = LatentOutlierDetector(KernelPPCA(3, kernel=kernels.RBF(3.0)), contamination=0.05).fit(X)
    assert detector.predict(X.mean(axis=0, keepdims=True) + 50)[0] == -1
    assert detector.estimator_.mahalanobis(X).shape == (60,)


def test_kernel_models_choose_q_by_a_fraction_and_tell_what_is_explained():
    """cuml #4957."""
    model = KernelPPCA(0.9).fit(X)
    ratios = np.linalg.eigvalsh(model.center_kernel(X))[::-1]
    assert_allclose(model.explained_variance_ratio_, (ratios / ratios.sum())[: model.n_components_], rtol=1e-6)


def test_fit_transform_equals_transform():
    """scikit-learn #12140, #12141."""
    for model in (PPCA(2), KernelPPCA(2), KernelPPCA(2, kernel="cosine")):
        assert_allclose(model.fit_transform(X), model.transform(X), atol=1e-8)
    assert_allclose(abs(PPCA(2).fit(X).scores(X)), abs(PCA(2).fit_transform(X)), atol=1e-9)


def test_unseen_rows_with_missing_views_are_the_main_interface():
    """MOFA2 #110, gpytorch #2122, GPflow #286; mvlearn #178, #253: custom kernels a view, out-of-sample centring."""
    model = MultiViewRKM(2, kernel=[kernels.RBF(2.0), kernels.Linear()], noise_variance="ml").fit([X[:, :3], X[:, 3:]])
    new = X[:4] + 0.1
    assert np.isfinite(model.transform([new[:, :3], None])).all()
    assert model.predict_view([new[:, :3], None], 1).shape == (4, 3)
    assert_allclose(
        model.transform([new[:1, :3], new[:1, 3:]]), model.transform([new[:, :3], new[:, 3:]])[:1], atol=1e-10
    )
