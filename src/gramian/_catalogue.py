"""The estimators of the library: one row each. Public names, model files and the words of the command line follow from it.

Pure data, so that ``import gramian`` and ``gramian --help`` cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """Where an estimator lives, and what else is to be known before it is imported.

    Attributes
    ----------
    home : str
        The module.
    word : str or None
        What ``gramian fit --model`` calls it; None where the command line has no use for it.
    batches_with_holes : bool
        Whether rows that pass by in batches may miss entries; rows in memory may in every model.
    target : bool
        Whether it needs a column to predict.
    """

    home: str
    word: str | None = None
    batches_with_holes: bool = False
    target: bool = False


ESTIMATORS: dict[str, Entry] = {
    "PPCA": Entry("gramian.estimators.ppca", "ppca", batches_with_holes=True),
    "KernelPPCA": Entry("gramian.estimators.kernel_ppca", "kernel"),
    "PPCAMixture": Entry("gramian.estimators.ppca_mixture", "mixture", batches_with_holes=True),
    "KernelPPCAMixture": Entry("gramian.estimators.kernel_mixture", "kernel-mixture"),
    "KernelPPCAClassifier": Entry("gramian.estimators.classifier", "classifier", target=True),
    "RKMRegressor": Entry("gramian.estimators.rkm", "regressor", target=True),
    "MultiViewRKM": Entry("gramian.estimators.multiview", "views", batches_with_holes=True),
    "RKMForecaster": Entry("gramian.estimators.forecaster", "forecast", batches_with_holes=True),
    "DynamicPPCA": Entry("gramian.estimators.dynamic_ppca", batches_with_holes=True),
    "RKMClassifier": Entry("gramian.estimators.rkm_classifier", target=True),
    "LatentImputer": Entry("gramian.estimators.imputer", batches_with_holes=True),
    "LatentOutlierDetector": Entry("gramian.estimators.outliers"),
}


def words() -> tuple[str, ...]:
    """The kinds of models that the command line fits."""
    return tuple(entry.word for entry in ESTIMATORS.values() if entry.word)


def name_of_word(word: str) -> str:
    """The estimator that a word of the command line stands for."""
    return next(name for name, entry in ESTIMATORS.items() if entry.word == word)


def entry_of_word(word: str) -> Entry:
    """Its row."""
    return ESTIMATORS[name_of_word(word)]
