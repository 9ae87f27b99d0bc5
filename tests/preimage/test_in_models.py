"""Pre-images inside KernelPPCA: reports, far points, landmarks, saved models, a method of one's own."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from gramian import PPCA, KernelPPCA
from gramian.datasets import make_moons
from gramian.kernels import RBF, Polynomial
from gramian.preimage import FixedPoint, Gradient, KernelRidge, KernelSmoother

METHODS = ["smoother", "fixed_point", "mds", "ridge", "gradient"]


@pytest.fixture(scope="module")
def rows():
    return make_moons(160, noise=0.05, random_state=0)[0]


@pytest.fixture(scope="module")
def fresh():
    return make_moons(60, noise=0.05, random_state=1)[0]


@pytest.mark.parametrize("method", METHODS)
def test_new_rows_are_reconstructed_with_a_fifth_of_their_spread_at_most(method, rows, fresh):
    model = KernelPPCA(12, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows)
    errors = np.sqrt(np.square(model.reconstruct(fresh, kind="projection") - fresh).sum(axis=1).mean())
    assert errors < 0.2 * np.sqrt(fresh.var(axis=0).sum())


# the ridge knows where scores lie, not where data lie: it gives much of the noise back
DENOISED = {"smoother": 0.5, "fixed_point": 0.5, "mds": 0.5, "ridge": 0.9, "gradient": 0.5}


@pytest.mark.parametrize("method, share", DENOISED.items(), ids=DENOISED)
def test_denoising_moves_rows_towards_the_curve(method, share, rows):
    clean = make_moons(80, noise=0.0, random_state=2)[0]
    noisy = clean + 0.15 * np.random.default_rng(0).normal(size=clean.shape)
    model = KernelPPCA(8, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows)
    reference = make_moons(2000, noise=0.0, random_state=3)[0]

    def off_curve(X):
        return float(np.square(X[:, None, :] - reference).sum(axis=2).min(axis=1).mean())

    assert off_curve(model.reconstruct(noisy)) < share * off_curve(noisy)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("approximation", [None, "nystroem", "rff"])
def test_points_far_outside_the_data_get_finite_answers_inside_its_box(method, approximation, rows):
    """KERN-12."""
    model = KernelPPCA(
        5,
        kernel=RBF(0.5),
        preimage=method,
        approximation=approximation,
        n_landmarks=80 if approximation else None,
        random_state=0,
    ).fit(rows)
    far = np.array([[1e3, -1e3], [1e6, 0.0], [8.0, 8.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = [
            model.reconstruct(far),
            model.inverse_transform(1e4 * np.eye(5)),
            model.inverse_transform(-50.0 * np.ones((1, 5))),
        ]
    for answers in found:
        assert np.isfinite(answers).all()
        assert (answers >= rows.min(axis=0)).all()
        assert (answers <= rows.max(axis=0)).all()


@pytest.mark.parametrize("method", METHODS)
def test_landmarks_serve_as_well_as_rows(method, rows, fresh):
    whole = KernelPPCA(8, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows)
    few = KernelPPCA(
        8, kernel=RBF(0.5), preimage=method, approximation="nystroem", n_landmarks=120, random_state=0
    ).fit(rows)
    gap = np.sqrt(np.square(whole.reconstruct(fresh) - few.reconstruct(fresh)).sum(axis=1).mean())
    assert gap < 0.15


def test_failures_are_counted_in_a_warning_and_reported(rows):
    model = KernelPPCA(5, kernel=RBF(0.5), preimage=FixedPoint(max_iter=1, tol=1e-14)).fit(rows)
    with pytest.warns(ConvergenceWarning, match="20 of 20 pre-images did not converge"):
        _, info = model.inverse_transform(model.transform(rows[:20]), return_info=True)
    assert not info.converged.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _, info = (
            model.set_params(preimage="fixed_point")
            .fit(rows)
            .inverse_transform(model.transform(rows[:20]), return_info=True)
        )
    assert info.converged.all()
    assert not info.fallback.any()


@pytest.mark.parametrize("method", METHODS)
def test_on_the_linear_kernel_every_method_is_the_primal_inverse(method, fresh, rows):
    X = np.column_stack([rows, rows @ [1.0, -0.5], np.sin(rows[:, 0])])
    dual = KernelPPCA(2, kernel="linear", solver="eigh", noise_dim=4, preimage=method).fit(X)
    primal = PPCA(2).fit(X)
    assert_allclose(dual.reconstruct(X), primal.reconstruct(X), atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_float32_models_answer_in_float32(method, rows):
    model = KernelPPCA(4, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows.astype(np.float32))
    answers = model.reconstruct(rows[:5].astype(np.float32))
    assert answers.dtype == np.float32
    wide = KernelPPCA(4, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows)
    assert_allclose(answers, wide.reconstruct(rows[:5]), atol=2e-2)


@pytest.mark.parametrize("method", [KernelSmoother(), KernelRidge(penalty=1e-2, length_scale=1.0)], ids=repr)
def test_a_precomputed_kernel_with_inputs_answers_as_the_kernel_itself(method, rows):
    kernel = RBF(0.5)
    named = KernelPPCA(4, kernel=kernel, solver="eigh", preimage=method).fit(rows)
    given = KernelPPCA(4, kernel="precomputed", solver="eigh", preimage=method).fit(kernel(rows), inputs=rows)
    Z = named.transform(rows[:7])
    assert_allclose(given.inverse_transform(Z), named.inverse_transform(Z), atol=1e-8)


def test_samples_of_the_smoother_with_few_neighbours_keep_more_of_the_variance(rows):
    def kept(preimage):
        model = KernelPPCA(10, kernel=RBF(0.5), preimage=preimage, random_state=0).fit(rows)
        return model.sample(400).var(axis=0).sum() / rows.var(axis=0).sum()

    assert kept("smoother") > 1.5 * kept(KernelSmoother(n_neighbors=None))


def test_the_gradient_serves_kernels_that_others_cannot(rows):
    model = KernelPPCA(5, kernel=Polynomial(degree=3), solver="eigh", preimage=Gradient(max_iter=2000)).fit(rows)
    errors = np.square(model.reconstruct(rows, kind="projection") - rows).sum(axis=1).mean()
    assert errors < 0.02 * rows.var(axis=0).sum()


class Nearest(BaseEstimator):
    """The protocol and nothing more."""

    def fit(self, X, K0, *, kernel, scores):
        assert K0.shape == (len(X), len(X))
        assert scores.shape[0] == len(X)
        self.X_ = X
        return self

    def transform(self, weights, kernel_values):
        return self.X_[kernel_values.argmax(axis=1)]


@pytest.mark.parametrize("approximation", [None, "nystroem"])
def test_an_object_of_ones_own_needs_only_the_two_verbs(approximation, rows):
    model = KernelPPCA(5, kernel=RBF(0.5), preimage=Nearest(), approximation=approximation, random_state=0).fit(rows)
    answers = model.inverse_transform(model.transform(rows[:9]))
    assert {tuple(row) for row in answers} <= {tuple(row) for row in rows}


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_answers_the_same(method, rows, tmp_path):
    from gramian import load, save

    model = KernelPPCA(4, kernel=RBF(0.5), preimage=method, random_state=0).fit(rows)
    save(model, tmp_path / "model.gram")
    assert_allclose(load(tmp_path / "model.gram").reconstruct(rows[:9]), model.reconstruct(rows[:9]), rtol=0, atol=0)
