"""Every estimator of the library, and its peers, with a way to fit it and the methods that take rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import gramian

LATENT = ("transform", "score_samples", "mahalanobis", "residual", "reconstruct")


@dataclass(frozen=True)
class Subject:
    """How an estimator is made, what target it needs ("", "number" or "class"), and which of its methods take rows."""

    name: str
    make: Callable[..., Any]
    methods: tuple[str, ...]
    target: str = ""
    holes: bool = False
    options: dict[str, Any] = field(default_factory=dict)

    def built(self, **more: Any) -> Any:
        """A fresh model."""
        return self.make(**{**self.options, **more})

    def fitted(self, X: Any, y: Any = None, **more: Any) -> Any:
        """A fresh model, fitted; ``y`` is left out where it takes none."""
        model = self.built(**more)
        if self.target:
            return model.fit(X, y)
        one_series = self.name == "RKMForecaster" and isinstance(X, np.ndarray) and X.ndim == 2
        return model.fit(X[:, 0] if one_series else X)

    def answers(self, model: Any, X: Any) -> Iterator[Any]:
        """What its methods say about rows."""
        for method in self.methods:
            yield model.predict(3) if self.name == "RKMForecaster" else getattr(model, method)(X)


def _of(name: str, methods: tuple[str, ...], target: str = "", holes: bool = False, **options: Any) -> Subject:
    return Subject(name, getattr(gramian, name), methods, target, holes, options)


OURS = {
    subject.name: subject
    for subject in (
        _of("PPCA", (*LATENT, "impute"), holes=True, n_components=2, random_state=0),
        _of("KernelPPCA", (*LATENT, "impute"), holes=True, n_components=2, random_state=0),
        _of(
            "PPCAMixture",
            ("predict", "predict_proba", "score_samples", "transform", "reconstruct", "impute"),
            holes=True,
            n_clusters=2,
            n_components=1,
            random_state=0,
        ),
        _of(
            "KernelPPCAMixture",
            ("predict", "predict_proba", "score_samples", "reconstruct"),
            holes=True,
            n_clusters=2,
            n_components=2,
            kernel="rbf",
            random_state=0,
        ),
        _of(
            "KernelPPCAClassifier",
            ("predict", "decision_function", "predict_proba"),
            "class",
            holes=True,
            random_state=0,
        ),
        _of("MultiViewRKM", ("transform",), holes=True, n_components=2, random_state=0),
        _of("RKMRegressor", ("predict",), "number", holes=True, random_state=0),
        _of("RKMClassifier", ("predict", "predict_proba"), "class", holes=True, random_state=0),
        _of("RKMForecaster", ("predict",), holes=True, lags=4, random_state=0),
        _of("LatentImputer", ("transform",), holes=True),
        _of("LatentOutlierDetector", ("predict", "decision_function", "score_samples"), holes=True, contamination=0.1),
        _of("DynamicPPCA", ("smooth", "impute", "nowcast", "score"), holes=True, n_components=1, random_state=0),
    )
}


class _VBPCA:
    """vbpca-py behind fit and transform."""

    def __init__(self, n_components: int = 2) -> None:
        from vbpca_py import VBPCA

        self.model = VBPCA(n_components=n_components)

    def fit(self, X: Any) -> _VBPCA:
        self.model.fit(np.asarray(X).T)
        return self

    def transform(self, X: Any) -> Any:
        return self.model.transform(np.asarray(X).T)


class _PPCARs:
    """ppca-rs behind fit and transform."""

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, X: Any) -> _PPCARs:
        from ppca_rs import Dataset, PPCATrainer

        self.model = PPCATrainer(Dataset(np.asarray(X))).train(state_size=self.n_components, n_iters=30, quiet=True)
        return self

    def transform(self, X: Any) -> Any:
        from ppca_rs import Dataset

        return self.model.extrapolate(Dataset(np.asarray(X))).numpy()


class _PyPPCA:
    """pyppca behind fit and transform."""

    def __init__(self, n_components: int = 2) -> None:
        self.n_components = n_components

    def fit(self, X: Any) -> _PyPPCA:
        from pyppca import ppca

        self.found = ppca(np.array(X, dtype=float), self.n_components, False)
        return self

    def transform(self, X: Any) -> Any:
        return self.found[-1]


def peers() -> dict[str, Subject]:
    """What can be imported of the peers."""
    from importlib.util import find_spec

    from sklearn.decomposition import PCA, KernelPCA
    from sklearn.mixture import GaussianMixture

    found = [
        Subject("scikit-learn PCA", PCA, ("transform", "score_samples"), options={"n_components": 2}),
        Subject("scikit-learn KernelPCA", KernelPCA, ("transform",), options={"n_components": 2, "kernel": "rbf"}),
        Subject(
            "scikit-learn GaussianMixture",
            GaussianMixture,
            ("predict_proba", "score_samples"),
            options={"n_components": 2},
        ),
    ]
    for module, name, make in (
        ("ppca_rs", "ppca-rs", _PPCARs),
        ("vbpca_py", "vbpca-py", _VBPCA),
        ("pyppca", "pyppca", _PyPPCA),
    ):
        if find_spec(module):
            found.append(Subject(name, make, ("transform",), holes=True))
    return {subject.name: subject for subject in found}
