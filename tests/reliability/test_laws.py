"""Laws of the second soak: a short run of it, and the smallest forms of what it found."""

import warnings

import numpy as np
import pytest
from benchmarks.soak_laws import LAWS, Plan, WrongError, close, shrink, soak, tried

from gramian import PPCA, DynamicPPCA, LatentImputer, PPCAMixture

FOUND = {
    "an imputer starts from a model without noise": Plan(
        "seen cells", "LatentImputer", 20, 6, 1, -60, 3, "many holes", 471
    ),
    "series in Fortran order": Plan("containers", "DynamicPPCA", 20, 2, 1, -3, None, "constant column", 251),
    "a mixture with holes in Fortran order": Plan("containers", "PPCAMixture", 40, 6, 2, 0, 3, "many holes", 889),
    "names of clusters in another unit": Plan("units", "KernelPPCAMixture", 20, 3, 1, -9, 0, "few values", 300),
    "a width far from zero": Plan("units", "KernelPPCA", 13, 4, 3, 0, 8, "repeats", 800),
    "likelihood of one cell with little noise": Plan("conditioning", "PPCA", 40, 3, 2, 0, None, "many holes", 235),
    "the logarithm of one value": Plan("containers", "LatentImputer", 40, 4, 1, 0, None, "constant column", 0),
    "one value in a view": Plan("seen cells", "MultiViewRKM", 3, 9, 2, 3, 0, "few values", 637),
    "hashes of cells at the mean": Plan("row order", "LatentOutlierDetector", 13, 9, 1, -9, None, "few values", 176),
    "folds in Fortran order": Plan("containers", "LatentOutlierDetector", 40, 6, 3, 0, None, "few values", 45),
    "a leap to no point": Plan("cuts", "LatentImputer", 40, 6, 2, -9, None, "twin columns", 530),
    "rounding of a kernel": Plan("cuts", "RKMClassifier", 40, 9, 1, -3, 0, "zeros", 661),
    "the order of rows with holes": Plan("row order", "KernelPPCAClassifier", 8, 3, 1, 0, None, "holes", 298),
    "the order of rows with many holes": Plan("row order", "PPCA", 13, 9, 2, -3, None, "many holes", 393),
    "copies of rows with many holes": Plan("copies", "PPCA", 13, 9, 2, -3, None, "many holes", 96),
    "copies under a kernel with holes": Plan("copies", "KernelPPCA", 8, 9, 3, 0, None, "holes", 622),
    "names of clusters among ties": Plan("units", "PPCAMixture", 20, 4, 2, 9, 3, "few values", 603),
    "a column of one value has no unit": Plan("units", "KernelPPCA", 3, 3, 1, 0, None, "many holes", 1),
    "units of far rows": Plan("far rows", "LatentImputer", 2, 2, 1, 0, 8, "none", 0),
    "a series of one value but for rounding": Plan(
        "containers", "DynamicPPCA", 20, 4, 3, -60, None, "constant column", 425
    ),
    "a leap whose next step is no point": Plan("far rows", "MultiViewRKM", 8, 4, 3, 3, None, "many holes", 888),
    "laws of equal rows": Plan("copies", "KernelPPCA", 8, 9, 2, 0, None, "many holes", 541),
    "one row repeated": Plan("eigenvectors", "PPCA", 4, 4, 1, 0, None, "repeats", 323),
    "tails of far rows": Plan("far rows", "LatentImputer", 20, 4, 1, 0, None, "wild cell", 694),
    "hidden cells in another unit": Plan("units", "LatentImputer", 5, 9, 1, 0, None, "holes", 0),
    "latents of a view with little noise": Plan("cuts", "MultiViewRKM", 13, 6, 3, -3, 3, "many holes", 529),
    "rows with holes far from zero": Plan("cuts", "RKMRegressor", 4, 3, 2, 0, 8, "holes", 294),
    "the order of rows under a t": Plan("row order", "PPCA", 4, 2, 1, 3, None, "repeats", 0, 408556),
    "rows as far as each other": Plan("row order", "PPCAMixture", 40, 3, 1, -9, 0, "few values", 423),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_the_soak_found_holds_now(name):
    assert tried(FOUND[name]) == ""


def test_a_short_soak_finds_nothing():
    found = soak(10.0, seed=77, most=8 * len(LAWS), shrinking=False)
    assert found["causes"] == []
    assert sum(compared for _, compared, _ in found["by law"].values()) > 30


def test_a_broken_law_is_noticed_and_made_smaller(monkeypatch):
    """The law of eigenvectors, against a PPCA whose noise is off by a thousandth."""
    plan = Plan("eigenvectors", "PPCA", 40, 6, 2, 3, 3, "few values", 5)
    assert tried(plan) == ""
    right = PPCA.get_covariance
    monkeypatch.setattr(PPCA, "get_covariance", lambda self: right(self) * 1.001)
    words = tried(plan)
    assert "covariance: off by 0.001" in words
    small = shrink(plan, words)
    assert (small.scale, small.offset, small.flaw) == (0, None, "none")
    assert small.n <= plan.n


def test_numbers_that_differ_are_told_in_their_unit():
    close(np.array([1e9, 1.0]), np.array([1e9, 1.0 + 1e-3]), "far apart")
    with pytest.raises(WrongError, match=r"off by 0\.1"):
        close([1.1], [1.0], "near")
    with pytest.raises(WrongError, match="shape"):
        close([1.0], [[1.0]], "shape")


@pytest.mark.parametrize(
    "model", [DynamicPPCA(1, random_state=0), PPCAMixture(2, 1, random_state=0), LatentImputer(PPCA(1, random_state=0))]
)
def test_the_order_in_memory_is_not_a_matter_to_the_last_bit(model):
    X = np.random.default_rng(0).standard_normal((40, 4))
    X[np.random.default_rng(1).random(X.shape) < 0.2] = np.nan
    answers = []
    for rows in (X, np.asfortranarray(X)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = model.fit(rows)
        answers.append(fitted.impute(rows) if hasattr(fitted, "impute") else fitted.transform(rows))
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-9)
