"""What tags say of holes and sparse tables is what `fit` does, for parameters that change it too."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from gramian import (
    PPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    PPCAMixture,
    RKMClassifier,
    RKMRegressor,
    features,
    kernels,
)

MODELS = [
    PPCA(),
    PPCA(2),
    PPCA(0.9),
    PPCA("mle"),
    PPCA("bic"),
    PPCA(2, noise_variance=0.1),
    PPCA(0.9, noise_variance=0.01),
    *(KernelPPCA(2, kernel=kernel) for kernel in ("linear", "rbf", "laplacian", "periodic", "cosine", "polynomial")),
    KernelPPCA(2, kernel=kernels.RBF(1.0) + kernels.Laplacian(1.0)),
    KernelPPCA(2, approximation="nystroem", n_landmarks=20),
    PPCAMixture(2, 1, random_state=0),
    KernelPPCAMixture(2, 1, random_state=0),
    KernelPPCAClassifier(),
    LatentImputer(),
    LatentImputer(PPCA(2)),
    LatentOutlierDetector(),
    LatentOutlierDetector(PPCA(0.9)),
    LatentOutlierDetector(KernelPPCA(2)),
    MultiViewRKM(2),
    MultiViewRKM(2, noise_variance=0.0),
    MultiViewRKM(2, noise_variance="ml"),
    MultiViewRKM(2, kernel="rbf"),
    RKMRegressor(2),
    RKMClassifier(2),
    features.Nystroem(n_landmarks=20),
    features.Nystroem(kernels.Laplacian(1.0), n_landmarks=20),
]


def fits(model, X):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, np.arange(X.shape[0]) % 2)
    except (ValueError, TypeError):
        return False
    return True


@pytest.mark.parametrize("model", MODELS, ids=lambda one: " ".join(repr(one).split()))
def test_tags_are_what_fit_does(model):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4))
    X[:, 2:] += X[:, :2]
    holes = np.where(rng.random(X.shape) < 0.05, np.nan, X)
    thin = sparse.csr_array(np.where(rng.random(X.shape) < 0.5, X, 0.0))
    tags = model.__sklearn_tags__().input_tags
    assert fits(model, X)
    assert (tags.allow_nan, tags.sparse) == (fits(model, holes), fits(model, thin))
