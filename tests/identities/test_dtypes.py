"""float32 rows give float32 arrays to read, draws, laws and probabilities; float64 rows give float64 ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import PPCA, KernelPPCA, KernelPPCAClassifier, KernelPPCAMixture, MultiViewRKM, PPCAMixture, RKMClassifier
from gramian.kernels import RBF

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(80, 6))
SHOWN = {
    "PPCA": (PPCA(2), ["mean_", "components_", "loadings_", "explained_variance_"]),
    "KernelPPCA": (KernelPPCA(2), ["eigenvectors_", "dual_coef_", "explained_variance_"]),
    "landmarks": (KernelPPCA(2, approximation="nystroem", n_landmarks=20), ["X_fit_", "explained_variance_"]),
    "PPCAMixture": (PPCAMixture(2, 1), ["means_", "loadings_", "noise_variances_", "responsibilities_"]),
    "standardised": (PPCAMixture(2, 1, standardize=True), ["means_", "loadings_"]),
    "KernelPPCAMixture": (KernelPPCAMixture(2, 2), ["X_fit_", "responsibilities_"]),
    "MultiViewRKM": (
        MultiViewRKM(2, views={"a": [0, 1, 2], "b": [3, 4, 5]}),
        ["latents_", "loadings_", "gamma_", "explained_variance_"],
    ),
    "AC": (MultiViewRKM(2, noise_variance=0.0, solver="stiefel", rotate=False), ["latents_", "loadings_", "gamma_"]),
}


def dtypes(value):
    values = value if isinstance(value, list | tuple) else [value]
    return {found.dtype for found in values if found.dtype.kind == "f"}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SHOWN)
def test_what_users_read_has_the_dtype_of_the_rows(name, dtype):
    model, attributes = SHOWN[name]
    rows = X.astype(dtype)
    model = model.fit(rows)
    shown = {attribute: getattr(model, attribute) for attribute in attributes}
    shown["sample"] = model.sample(3)
    shown["transform"] = model.transform(rows)
    if hasattr(model, "posterior"):
        law = model.posterior(rows)
        shown |= {"mean": law.mean, "covariance": law.covariance}
    if hasattr(model, "predict_proba"):
        shown["predict_proba"] = model.predict_proba(rows)
    assert {what: dtypes(value) for what, value in shown.items()} == {what: {np.dtype(dtype)} for what in shown}


@pytest.mark.parametrize(
    "model", [KernelPPCAClassifier(2, kernel=RBF(2.0), noise_variance=0.01), RKMClassifier(kernel="linear")]
)
def test_probabilities_of_float32_rows_are_float32(model):
    rows, y = X.astype(np.float32), (X[:, 0] > 0).astype(int)
    assert model.fit(rows, y).predict_proba(rows).dtype == np.float32


def test_a_mixture_is_the_same_for_any_order_of_the_rows_without_a_seed():
    order = rng.permutation(len(X))
    for model in (PPCAMixture(2), KernelPPCAMixture(2)):
        assert_allclose(model.fit(X).predict_proba(X), model.fit(X[order]).predict_proba(X), atol=1e-7)
        assert_allclose(model.fit(X).weights_, model.fit(X).weights_, rtol=0)
