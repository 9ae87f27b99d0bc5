"""The public contract: names, defaults and lazy imports, as the API page fixes them."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gramian

REQUIRED = object()
TARGET = {
    "n_components": 0.95,
    "kernel": "auto",
    "noise_variance": "per-view",
    "view_weights": "balanced",
    "standardize": "auto",
    "approximation": "auto",
    "n_landmarks": None,
    "n_folds": 5,
}
SIGNATURES = {
    "PPCA": {
        "n_components": "auto",
        "noise_variance": "ml",
        "center": True,
        "solver": "auto",
        "tol": 1e-6,
        "max_iter": 1000,
        "random_state": None,
        "verbose": 0,
    },
    "KernelPPCA": {
        "n_components": "auto",
        "kernel": "rbf",
        "noise_variance": "ml",
        "noise_dim": None,
        "center": True,
        "solver": "auto",
        "approximation": None,
        "n_landmarks": None,
        "preimage": "auto",
        "memory_limit": None,
        "tol": 5e-5,
        "max_iter": 1000,
        "random_state": None,
        "verbose": 0,
    },
    "PPCAMixture": {
        "n_clusters": 2,
        "n_components": "auto",
        "noise": "separate",
        "init": "kmeans",
        "weights_init": None,
        "means_init": None,
        "n_init": 1,
        "standardize": False,
        "tol": 1e-6,
        "max_iter": 200,
        "random_state": None,
        "verbose": 0,
    },
    "KernelPPCAMixture": {
        "n_clusters": 2,
        "n_components": "auto",
        "kernel": "auto",
        "noise_variance": 0.01,
        "standardize": False,
        "init": "kernel_kmeans",
        "n_init": 1,
        "approximation": None,
        "n_landmarks": None,
        "preimage": "smoother",
        "tol": 1e-4,
        "max_iter": 200,
        "random_state": None,
        "verbose": 0,
    },
    "KernelPPCAClassifier": {
        "n_components": "auto",
        "kernel": "auto",
        "noise_variance": "auto",
        "priors": None,
        "n_clusters": 1,
        "standardize": "auto",
        "approximation": "auto",
        "n_landmarks": None,
        "n_folds": 5,
        "random_state": None,
    },
    "MultiViewRKM": {
        "n_components": "auto",
        "kernel": "linear",
        "views": None,
        "space": "auto",
        "solver": "auto",
        "rotate": True,
        "noise_variance": "per-view",
        "view_weights": None,
        "n_folds": 5,
        "tol": 1e-6,
        "max_iter": 1000,
        "random_state": None,
        "verbose": 0,
    },
    "RKMRegressor": TARGET,
    "RKMClassifier": TARGET,
    "RKMForecaster": {
        "lags": "auto",
        "n_components": 0.95,
        "season": "auto",
        "difference": "auto",
        "transform": "auto",
        "kernel": "auto",
        "noise_variance": "per-view",
        "standardize": True,
        "strategy": "recursive",
    },
    "DynamicPPCA": {"n_components": "auto", "order": 1},
    "LatentImputer": {"estimator": None, "standardize": "auto", "n_folds": 5},
    "LatentOutlierDetector": {"estimator": None, "contamination": 0.01, "standardize": "auto", "n_folds": 5},
    "BayesSearch": {
        "estimator": REQUIRED,
        "space": None,
        "scoring": None,
        "cv": 5,
        "n_trials": 50,
        "n_jobs": None,
        "timeout": None,
        "backend": "gp",
        "warm_start": False,
        "checkpoint": None,
        "random_state": None,
        "verbose": 0,
    },
}
POSITIONAL = {
    "PPCA": 1,
    "KernelPPCA": 1,
    "PPCAMixture": 2,
    "KernelPPCAMixture": 2,
    "KernelPPCAClassifier": 1,
    "MultiViewRKM": 1,
    "RKMRegressor": 1,
    "RKMForecaster": 2,
    "DynamicPPCA": 1,
    "BayesSearch": 2,
}
METHODS = {
    "PPCA": "fit partial_fit fit_batches transform inverse_transform scores posterior reconstruct impute sample score_samples score mahalanobis residual get_covariance get_precision aic bic anomaly truncate explain",
    "KernelPPCA": "fit fit_batches transform anomaly truncate explain scores posterior score_samples score mahalanobis residual inverse_transform reconstruct sample center_kernel kernel_mean sample_kernel decode_weights",
    "PPCAMixture": "fit fit_batches predict predict_proba score_samples score sample reconstruct transform impute bic aic",
    "KernelPPCAMixture": "fit fit_batches predict predict_proba score_samples score sample reconstruct transform",
    "KernelPPCAClassifier": "predict decision_function predict_proba",
    "MultiViewRKM": "transform posterior predict_view inverse_transform sample explain calibrate impute",
    "RKMRegressor": "predict",
    "RKMClassifier": "predict predict_proba",
    "RKMForecaster": "fit predict predict_interval predict_quantiles sample_paths impute explain",
    "DynamicPPCA": "fit smooth predict predict_interval nowcast score impute",
    "LatentOutlierDetector": "predict decision_function score_samples",
}
KERNELS = {
    "RBF": {"length_scale": 1.0},
    "Linear": {},
    "Polynomial": {"degree": 3, "gamma": None, "coef0": 1},
    "Laplacian": {"length_scale": 1.0},
    "Matern": {"length_scale": 1.0, "nu": 1.5},
    "RationalQuadratic": {"length_scale": 1.0, "alpha": 1},
    "Periodic": {},
    "Cosine": {},
    "Sigmoid": {"gamma": None, "coef0": 1},
    "Precomputed": {},
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_constructors_have_the_promised_names_and_defaults(name):
    parameters = inspect.signature(getattr(gramian, name)).parameters
    for parameter, default in SIGNATURES[name].items():
        found = parameters[parameter].default
        assert default is REQUIRED or found == default, parameter
    positional = [p for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if name in POSITIONAL:
        assert len(positional) == POSITIONAL[name]


@pytest.mark.parametrize("name", METHODS)
def test_models_have_the_promised_methods(name):
    made = getattr(gramian, name)
    for method in METHODS[name].split():
        assert callable(getattr(made, method)), method


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_have_the_promised_parameters(name):
    parameters = inspect.signature(getattr(gramian.kernels, name)).parameters
    for parameter, default in KERNELS[name].items():
        assert parameters[parameter].default == default


def test_importing_gramian_imports_nothing_heavy():
    code = (
        "import gramian, sys; from gramian import PPCA, KernelPPCA, BayesSearch, RKMForecaster, save; "
        "print([m for m in ('torch', 'dask', 'optuna', 'matplotlib', 'starlette', 'flask', 'sktime', 'jinja2') if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )
    bare = "import gramian, sys; print([m for m in ('numpy', 'scipy', 'sklearn') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", bare], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="Magic"):
        gramian.Magic
    assert set(SIGNATURES) <= set(dir(gramian))


def test_only_gramian_deep_imports_torch():
    root = Path(gramian.__file__).parent
    imports = re.compile(r"^\s*(import|from) torch\b", re.MULTILINE)
    found = [path.relative_to(root) for path in root.rglob("*.py") if imports.search(path.read_text(encoding="utf-8"))]
    assert found == [Path("deep/_torch.py")]
