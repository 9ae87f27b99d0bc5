"""Anchors: a kernel on top of an encoder, by mini-batches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian import KernelPPCA
from gramian.deep.anchors import TORCH_KERNELS, trained_kernel, whiten_codes
from gramian.deep.frame import exact_moments, frame_of, principal_axes
from gramian.kernels import RBF, Cosine, Laplacian, Linear, Matern, Periodic, Polynomial, RationalQuadratic

KERNELS = [
    RBF(1.5),
    RBF(np.array([1.0, 2.0, 0.5])),
    Laplacian(2.0),
    Matern(1.5, nu=0.5),
    Matern(1.5, nu=1.5),
    Matern(1.5, nu=2.5),
    RationalQuadratic(1.5, alpha=2.0),
    Linear(),
    Polynomial(2, gamma=0.5, coef0=1.0),
    Polynomial(3),
    Cosine(),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kernels_for_training_are_the_librarys(kernel):
    rng = np.random.default_rng(0)
    A, B = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    width = torch.as_tensor(np.asarray(getattr(kernel, "length_scale", 1.0)))
    ours = TORCH_KERNELS[type(kernel)](kernel, torch.as_tensor(A), torch.as_tensor(B), width)
    np.testing.assert_allclose(ours.numpy(), kernel(A, B), rtol=1e-9, atol=1e-12)


def rows(n=200):
    rng = np.random.default_rng(0)
    return np.tanh(rng.standard_normal((n, 2)) @ rng.standard_normal((2, 5)))


def subspace_error(X, m, q=3):
    """sin² of the largest angle between the anchored and the exact dual's scores of all rows."""
    kernel = RBF(2.0)
    features = whiten_codes(kernel, torch.as_tensor(X[:m]), torch.as_tensor(X)).numpy()
    moments = exact_moments(features, [m])
    axes = frame_of(moments, principal_axes(moments.scaled_covariance(), q)).axes
    ours = np.linalg.qr((features - features.mean(axis=0)) @ axes)[0]
    exact = np.linalg.qr(KernelPPCA(q, kernel=kernel, noise_variance=0.0, solver="eigh").fit(X).scores(X))[0]
    return 1 - np.linalg.svd(ours.T @ exact, compute_uv=False).min() ** 2


def test_as_many_anchors_as_rows_are_the_exact_dual():
    assert subspace_error(rows(), 200) < 1e-12


def test_a_tenth_of_the_rows_as_anchors_ends_in_the_same_subspace():
    assert subspace_error(rows(1000), 100) < 1e-5


def test_the_median_width_follows_the_scale_of_the_codes():
    X = torch.as_tensor(rows(50))
    plain = whiten_codes(RBF("median"), X[:20], X)
    torch.testing.assert_close(whiten_codes(RBF("median"), 100 * X[:20], 100 * X), plain, atol=1e-6, rtol=1e-6)


def test_gradients_reach_rows_and_anchors():
    X = torch.as_tensor(rows(30)).requires_grad_()
    whiten_codes(RBF("median"), X[:10], X).square().sum().backward()
    assert torch.isfinite(X.grad).all()
    assert (X.grad.abs().sum(dim=1) > 0).all()


@pytest.mark.parametrize(
    "kernel", [Periodic(1.0, 1.0), lambda x, y: x @ y.T, RBF("local")], ids=["periodic", "callable", "local"]
)
def test_kernels_that_cannot_be_trained_through_are_refused(kernel):
    with pytest.raises(ValueError, match="on top of an encoder"):
        trained_kernel(kernel)
