"""Every estimator of the library with a way to fit it: the table that the reliability tests run over."""

from dataclasses import dataclass, field

import numpy as np

import gramian

rng = np.random.default_rng(3)
LABELS = np.repeat([0, 1], 20)
X = (
    rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5))
    + 0.3 * rng.standard_normal((40, 5))
    + 2.0 * LABELS[:, None]
)
TARGET = X @ np.array([1.0, -0.5, 0.3, 0.0, 0.2]) + 0.1 * rng.standard_normal(40)


@dataclass(frozen=True)
class Case:
    """An estimator's name, its settings, its target, and the methods that take rows."""

    name: str
    options: dict = field(default_factory=dict)
    y: np.ndarray | None = None
    methods: tuple = ()
    missing: bool = False
    sparse: bool = False

    def make(self, **more):
        return getattr(gramian, self.name)(**{**self.options, **more})

    def fit(self, table, **more):
        model = self.make(**more)
        return model.fit(table) if self.y is None else model.fit(table, self.y)

    def outputs(self, model, table):
        """What every method gives, by name."""
        return {method: np.asarray(getattr(model, method)(table)) for method in self.methods}


MODEL = ("transform", "scores", "score_samples", "mahalanobis", "residual", "reconstruct")
CASES = {
    case.name: case
    for case in (
        Case("PPCA", {"n_components": 2}, methods=(*MODEL, "impute"), missing=True, sparse=True),
        Case(
            "KernelPPCA", {"n_components": 2, "random_state": 0}, methods=(*MODEL, "impute"), missing=True, sparse=True
        ),
        Case(
            "PPCAMixture",
            {"n_clusters": 2, "n_components": 1, "random_state": 0},
            methods=("predict", "predict_proba", "score_samples", "transform", "reconstruct", "impute"),
            missing=True,
        ),
        Case(
            "KernelPPCAMixture",
            {"n_clusters": 2, "n_components": 2, "kernel": "rbf", "random_state": 0},
            methods=("predict", "predict_proba", "score_samples", "transform", "reconstruct"),
            missing=True,
        ),
        Case(
            "KernelPPCAClassifier",
            {"random_state": 0},
            y=LABELS,
            methods=("predict", "decision_function", "predict_proba"),
            missing=True,
        ),
        Case("MultiViewRKM", {"n_components": 2, "noise_variance": "ml"}, methods=("transform",), missing=True),
        Case("RKMRegressor", {}, y=TARGET, methods=("predict",), missing=True),
        Case("RKMClassifier", {}, y=LABELS, methods=("predict", "predict_proba"), missing=True),
        Case("LatentImputer", {}, methods=("transform",), missing=True),
        Case(
            "LatentOutlierDetector",
            {"contamination": 0.1},
            methods=("predict", "decision_function", "score_samples"),
            missing=True,
        ),
    )
}
