"""KernelPPCA as a user meets it: kernels, q and noise, memory, approximations, generation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_digits, make_moons
from sklearn.decomposition import KernelPCA
from sklearn.gaussian_process import kernels as gp
from sklearn.model_selection import GridSearchCV, cross_val_score

from gramian import KernelPPCA, LatentImputer, NumericalWarning, kernels
from gramian.exceptions import NumericalWarning as Warned
from gramian.preimage import KernelSmoother
from oracles.tables import TABLES

X = TABLES["tall"]
MOONS = make_moons(150, noise=0.05, random_state=0)[0]


def test_defaults_explain_95_percent():
    model = KernelPPCA().fit(X)
    assert model.explained_variance_ratio_.sum() >= 0.95
    assert model.explained_variance_ratio_[:-1].sum() < 0.95
    assert isinstance(model.kernel_, kernels.RBF)
    assert isinstance(model.kernel_.length_scale, float)


def test_q_from_noise_and_both_given():
    values = KernelPPCA(10).fit(X).explained_variance_
    level = (values[3] + values[4]) / 2
    assert KernelPPCA(noise_variance=level).fit(X).n_components_ == 4
    assert KernelPPCA(2, noise_variance=level).fit(X).noise_variance_ == level
    with pytest.raises(ValueError, match="smallest kept eigenvalue"):
        KernelPPCA(8, noise_variance=level).fit(X)
    assert KernelPPCA(0.8).fit(X).explained_variance_ratio_.sum() >= 0.8


@pytest.mark.parametrize("q", [60, 100])
def test_q_above_n_minus_one_is_an_error(q):
    with pytest.raises(ValueError, match=f"n_components={q}"):
        KernelPPCA(q).fit(X)
    assert KernelPPCA(60, center=False, noise_variance=0, kernel=kernels.RBF(0.5)).fit(X).n_components_ == 60


def test_linear_kernel_warns_beyond_its_rank():
    with pytest.warns(NumericalWarning, match="rank 6"):
        assert KernelPPCA(10, kernel="linear", noise_variance=0).fit(X).n_components_ == 6


@pytest.mark.parametrize(
    "kernel",
    [
        "rbf",
        "linear",
        "laplacian",
        "matern",
        "cosine",
        "rational_quadratic",
        kernels.RBF(2.0) + kernels.Linear(),
        2.0 * kernels.RBF(1.0) * kernels.Polynomial(2),
        gp.RBF(2.0) + gp.DotProduct(),
        lambda A, B: np.exp(-0.1 * ((A[:, None] - B[None]) ** 2).sum(-1)),
    ],
    ids=lambda kernel: "function" if callable(kernel) and not hasattr(kernel, "get_params") else str(kernel),
)
def test_every_kind_of_kernel_fits_and_scores(kernel):
    model = KernelPPCA(3, kernel=kernel, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X + 0.1)).all()
    assert np.isfinite(model.sample(3, random_state=0)).all()
    assert_allclose(model.transform(X), model.fit_transform(X), atol=1e-8)


def test_indefinite_kernels_follow_one_rule_for_every_q():
    kernel = kernels.Sigmoid(gamma=0.5, coef0=-1.0)
    K = kernel(X)
    values = np.linalg.eigvalsh((np.eye(60) - 1 / 60) @ K @ (np.eye(60) - 1 / 60) / 60)[::-1]
    assert values[-1] < -1e-3 * values[0]
    for q in (1, 2, 5, 8):
        with pytest.warns(NumericalWarning, match="indefinite"):
            model = KernelPPCA(q, kernel=kernel).fit(X)
        kept = np.maximum(values, 0)
        assert_allclose(model.explained_variance_, kept[:q], rtol=1e-8)
        assert_allclose(model.noise_variance_, kept[q:].sum() / (60 - q), rtol=1e-8)


@pytest.mark.parametrize(("scale", "words"), [(1e-4, "too small"), (1e9, "too large")])
def test_kernels_without_structure_are_told(scale, words):
    with pytest.warns(Warned, match=f"no structure.*{words}|rank"):
        model = KernelPPCA(2, kernel=kernels.RBF(scale)).fit(X)
    assert np.isfinite(model.transform(X)).all()


def test_duplicate_points_are_harmless():
    model = KernelPPCA(3).fit(np.repeat(X, 2, axis=0))
    assert_allclose(model.score_samples(X[:3]), model.score_samples(X[:3]))
    assert (model.explained_variance_ > 0).all()


def test_overflowing_kernels_are_refused():
    with pytest.raises(ValueError, match="kernel values not finite"):
        KernelPPCA(2, kernel=kernels.Polynomial(degree=100, gamma=1.0)).fit(X * 1e4)


class WholeGram(KernelSmoother):
    """A pre-image that asks for the Gram matrix of all points."""

    needs_gram = True


def test_memory_is_refused_before_it_is_allocated():
    with pytest.raises(MemoryError, match=r"krylov"):
        KernelPPCA(2, solver="eigh", memory_limit=6000).fit(X)
    KernelPPCA(2, solver="krylov", memory_limit=6000).fit(X)  # what was advised fits
    with pytest.raises(MemoryError, match=r"^((?!krylov).)*$"):  # here it would not
        KernelPPCA(2, solver="eigh", memory_limit=1000).fit(X)
    with pytest.raises(MemoryError, match="on 60 points"):
        KernelPPCA(2, kernel=kernels.RBF(1.0), preimage=WholeGram(), memory_limit=20_000).fit(X)
    big = np.random.default_rng(0).standard_normal((3000, 3))
    model = KernelPPCA(2, memory_limit=20_000_000, kernel=kernels.RBF(2.0), random_state=0).fit(big)
    assert type(model.solver_).__name__ == "Krylov"


def test_what_cannot_take_holes_points_to_the_imputer():
    data = X.copy()
    data[0, 0] = np.nan
    with pytest.raises(ValueError, match="LatentImputer"):
        KernelPPCA(2, approximation="rff").fit(data)
    from sklearn.pipeline import make_pipeline

    assert make_pipeline(LatentImputer(), KernelPPCA(2)).fit_transform(data).shape == (60, 2)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((3, 4)), "square"),
        (np.array([[1.0, 0.5], [0.1, 1.0]]), "max .K - K.T. = 0.4"),
        (np.array([[1.0, np.nan], [np.nan, 1.0]]), "NaN"),
        (np.array([[-1.0, 0.0], [0.0, 1.0]]), "negative diagonal"),
    ],
)
def test_bad_gram_matrices_are_refused(K, words):
    with pytest.raises(ValueError, match=words):
        KernelPPCA(1, kernel="precomputed").fit(K)


def test_precomputed_needs_the_right_columns_and_is_sliced_in_cross_validation():
    K = kernels.RBF(2.0)(X)
    with pytest.raises(ValueError, match="features"):
        KernelPPCA(2, kernel="precomputed").fit(K).transform(K[:, :5])

    def latent_spread(model, K_test, y=None):
        return float(model.transform(K_test).var())

    assert np.isfinite(cross_val_score(KernelPPCA(2, kernel="precomputed"), K, scoring=latent_spread, cv=3)).all()


def test_centring_uses_training_means_only():
    model = KernelPPCA(3).fit(X)
    new = X[:10] + 0.3
    one_by_one = np.vstack([model.center_kernel(row[None]) for row in new])
    assert_allclose(one_by_one, model.center_kernel(new), atol=1e-12)
    assert_allclose(np.vstack([model.transform(row[None]) for row in new]), model.transform(new), atol=1e-12)


def test_length_scale_in_a_search():
    grid = {"kernel__length_scale": [0.5, 2.0], "n_components": [1, 2]}
    search = GridSearchCV(KernelPPCA(kernel=kernels.RBF()), grid, cv=3).fit(X)
    assert search.best_params_["kernel__length_scale"] in (0.5, 2.0)


@pytest.mark.parametrize("approximation", ["nystroem", "rff"])
def test_approximations_have_every_method_they_promise(approximation):
    model = KernelPPCA(3, kernel=kernels.RBF(2.0), approximation=approximation, n_landmarks=40, random_state=0).fit(X)
    exact = KernelPPCA(3, kernel=kernels.RBF(2.0)).fit(X)
    assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=0.6)
    assert np.isfinite(model.score_samples(X)).all()
    assert model.sample(5, random_state=0).shape == (5, 6)
    assert model.reconstruct(X).shape == X.shape
    if approximation == "rff":
        for method, argument in (
            ("center_kernel", X),
            ("kernel_mean", np.zeros((1, 3))),
            ("decode_weights", np.zeros((1, 3))),
        ):
            with pytest.raises(ValueError, match="random features"):
                getattr(model, method)(argument)
        with pytest.raises(ValueError, match="random features"):
            model.sample_kernel(2)
    else:
        assert model.X_fit_.shape == (40, 6)
        assert model.center_kernel(X).shape == (60, 40)
        Z = model.transform(X)
        assert_allclose(model.sample_kernel(latent=Z, random_state=0).shape, (60, 40))


def test_sparse_rows_are_taken():
    table = sparse.random_array((50, 20), density=0.3, random_state=np.random.default_rng(0), format="csr")
    model = KernelPPCA(3).fit(table)
    dense = KernelPPCA(3).fit(table.toarray())
    assert_allclose(abs(model.transform(table)), abs(dense.transform(table.toarray())), atol=1e-8)
    with pytest.raises(ValueError, match="sparse"):
        model.sample(2)


def test_generation_stays_near_the_data_and_denoises():
    model = KernelPPCA(8, kernel=kernels.RBF(0.4), random_state=0).fit(MOONS)
    far = np.sqrt(((model.sample(200, noise=False)[:, None] - MOONS[None]) ** 2).sum(-1).min(axis=1))
    assert np.median(far) < 0.15
    noisy = MOONS + 0.15 * np.random.default_rng(0).standard_normal(MOONS.shape)
    before = ((noisy - MOONS) ** 2).sum()
    after = ((model.reconstruct(noisy, kind="projection") - MOONS) ** 2).sum()
    assert after < before


@pytest.mark.parametrize("components", [(0, 1), (0, 0), (0, -1), (0, "1")])
def test_a_grid_needs_two_latent_coordinates_that_are_there(components):
    with pytest.raises(ValueError, match="two of the 1 latent"):
        KernelPPCA(1).fit(MOONS).latent_grid(components=components)


def test_latent_grid_and_interpolation():
    digits = load_digits(n_class=2).data[:120] / 16
    model = KernelPPCA(2, kernel=kernels.RBF(3.0), random_state=0).fit(digits)
    assert model.inverse_transform(model.latent_grid(4)).shape == (16, 64)
    path = model.interpolate(digits[0], digits[1], n_steps=5)
    assert path.shape == (5, 64)
    rows, info = model.inverse_transform(model.transform(digits[:3]), return_info=True)
    assert rows.shape == (3, 64)
    assert np.all(info.converged)


def test_a_plug_in_preimage_follows_the_protocol():
    class Nearest:
        def get_params(self, deep=False):
            return {}

        def fit(self, X, K0, *, kernel, scores):
            assert K0.shape == (len(X), len(X))
            assert len(scores) == len(X)
            self.X = X
            return self

        def transform(self, weights, kernel_values):
            assert weights.shape == kernel_values.shape
            return self.X[kernel_values.argmax(axis=1)]

    model = KernelPPCA(4, preimage=Nearest()).fit(X)
    assert any((model.inverse_transform(model.transform(X[:1])) == row).all() for row in X)
    with pytest.raises(ValueError, match="preimage"):
        KernelPPCA(2, preimage="magic").fit(X)


def test_noise_dim_forms():
    rank = KernelPPCA(2, kernel="linear", noise_dim="rank").fit(X)
    assert_allclose(rank.noise_variance_, KernelPPCA(2, kernel="linear", noise_dim=6).fit(X).noise_variance_)
    assert_allclose(KernelPPCA(2).fit(X).noise_variance_, KernelPPCA(2, noise_dim=60).fit(X).noise_variance_)
    with pytest.raises(ValueError, match="noise_dim"):
        KernelPPCA(2, noise_dim="all").fit(X)


def test_solvers_agree_with_eigh_on_digits():
    digits = load_digits().data[:700] / 16
    k = kernels.RBF(4.0)
    exact = KernelPPCA(6, kernel=k, solver="eigh").fit(digits)
    theirs = KernelPCA(6, kernel="rbf", gamma=1 / 32, eigen_solver="dense").fit(digits)
    assert_allclose(exact.explained_variance_ * 700, theirs.eigenvalues_, rtol=1e-10)
    for solver, rtol in (("krylov", 1e-8), ("auto", 1e-8), ("em", 1e-5)):
        found = KernelPPCA(6, kernel=k, solver=solver, random_state=0).fit(digits)
        assert_allclose(found.explained_variance_, exact.explained_variance_, rtol=rtol)
        assert found.residual_norm_ < 1e-2


def test_float32_comes_back_as_float32():
    data = X.astype(np.float32)
    model = KernelPPCA(3).fit(data)
    for method in ("transform", "scores", "score_samples", "reconstruct", "center_kernel"):
        assert getattr(model, method)(data).dtype == np.float32
    assert_allclose(model.transform(data), KernelPPCA(3).fit(X).transform(X), rtol=1e-3, atol=1e-3)
