"""Rows that show no value: dropped from every fit, said once, and the model is that of the other rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_iris

from gramian import PPCA, LatentImputer, LatentOutlierDetector, MultiViewRKM, PPCAMixture
from gramian.datasets import make_missing
from gramian.exceptions import NumericalWarning

VIEWS = {"sepal": slice(0, 2), "petal": slice(2, 4)}
MODELS = {
    "ppca": (PPCA(2), "score_samples"),
    "ppca, q chosen": (PPCA(), "score_samples"),
    "mixture": (PPCAMixture(2, 1, random_state=0), "score_samples"),
    "mixture, q chosen": (PPCAMixture(2, random_state=0), "score_samples"),
    "views": (MultiViewRKM(1, views=VIEWS), "transform"),
    "imputer": (LatentImputer(), "transform"),
    "imputer by a mixture": (LatentImputer(PPCAMixture(2, 1, random_state=0)), "transform"),
    "detector": (LatentOutlierDetector(), "score_samples"),
    "detector by a mixture": (LatentOutlierDetector(PPCAMixture(2, 1, random_state=0)), "score_samples"),
}


@pytest.fixture(scope="module")
def table():
    return make_missing(load_iris().data, 0.1, random_state=0)


@pytest.mark.parametrize("place", ["in memory", "in batches"])
@pytest.mark.parametrize("name", MODELS)
def test_rows_without_a_value_are_dropped_and_said_once(name, place, table):
    model, answer = MODELS[name]
    if place == "in batches" and (not hasattr(model, "fit_batches") or name == "imputer by a mixture"):
        pytest.skip("is fitted to tables in memory")
    holed = np.insert(table, [0, 40, 40, 150], np.nan, axis=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = clone(model).fit(holed) if place == "in memory" else clone(model).fit_batches([holed[:50], holed[50:]])
    empty = [w for w in said if "4 row" in str(w.message)]
    assert len(empty) == 1
    assert empty[0].category is NumericalWarning
    assert empty[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clone(model).fit(table)
    assert_allclose(getattr(found, answer)(table), getattr(expected, answer)(table), rtol=1e-6, atol=1e-6)
