"""Rows that show nothing and columns that show one value are said, by every model that takes holes."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

from gramian import PPCA, LatentImputer, LatentOutlierDetector, MultiViewRKM, NumericalWarning, PPCAMixture
from gramian.views import survey as _view_survey

pd = pytest.importorskip("pandas")

VIEWS = {"a": [0, 1, 2], "b": [3, 4, 5]}
MODELS = {
    "PPCA": lambda: PPCA(2),
    "LatentImputer": LatentImputer,
    "LatentImputer of a mixture": lambda: LatentImputer(PPCAMixture(2, 1, random_state=0)),
    "LatentOutlierDetector": lambda: LatentOutlierDetector(n_folds=None),
    "PPCAMixture": lambda: PPCAMixture(2, 1, random_state=0),
    "MultiViewRKM": lambda: MultiViewRKM(2, views=VIEWS),
}


def table():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 6))
    X[:, 3:] += X[:, :3]
    return np.where(rng.random(X.shape) < 0.1, np.nan, X)


def said(fit):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        fit()
    return [str(one.message) for one in heard if issubclass(one.category, NumericalWarning)]


@pytest.mark.parametrize("name", MODELS)
def test_a_row_without_a_value_is_said_once(name):
    X = table()
    X[5] = np.nan
    words = [message for message in said(lambda: MODELS[name]().fit(X)) if message.startswith("1 row")]
    assert len(words) == 1


@pytest.mark.parametrize("seen", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_a_column_that_shows_one_value_is_said_once(name, seen):
    X = table()
    X[:, 2] = np.nan
    X[:seen, 2] = 0.1
    words = [message for message in said(lambda: MODELS[name]().fit(X)) if "one value only in column 2" in message]
    assert len(words) == 1


@pytest.mark.parametrize("name", MODELS)
def test_a_constant_column_with_few_holes_and_a_column_of_two_values_are_not_said(name):
    X = table()
    X[:, 2] = 3.0
    X[::3, 2] = np.nan
    X[:, 4] = np.nan
    X[:4, 4] = [1.0, 2.0, 1.0, 2.0]
    assert not [message for message in said(lambda: MODELS[name]().fit(X)) if "one value only" in message]


@pytest.mark.parametrize("name", ["PPCA", "PPCAMixture", "LatentImputer", "MultiViewRKM"])
def test_batches_say_it_as_tables_do(name, monkeypatch):
    monkeypatch.setattr(_view_survey, "LOOK", replace(_view_survey.LOOK, rows=10))
    X = table()
    X[:, 2] = np.nan
    X[[1, 40], 2] = 7.0
    words = [
        message for message in said(lambda: MODELS[name]().fit_batches([X[:30], X[30:]])) if "one value" in message
    ]
    assert len(words) == 1


def test_columns_are_named_where_they_have_names():
    frame = pd.DataFrame(table(), columns=list("uvwxyz"))
    frame["w"] = np.nan
    frame.loc[3, "w"] = 1.0
    with pytest.warns(NumericalWarning, match="one value only in column 'w'"):
        PPCA(2).fit(frame)


def test_a_fold_that_takes_the_last_values_of_a_column_is_told_as_it_is():
    X = table()
    X[:, 2] = np.nan
    X[1, 2] = 3.0
    with pytest.raises(ValueError, match="Column 2 of X shows so few values"):
        LatentOutlierDetector().fit(X)
