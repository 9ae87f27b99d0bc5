"""Tables that need no look by scikit-learn pass at once; everything else is checked as before, with the same answers."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from gramian import _checks
from gramian._checks import check_table

pd = pytest.importorskip("pandas")

X = np.arange(12.0).reshape(4, 3)
HOLES = np.where(X == 4, np.nan, X)

TABLES = {
    "float64": X,
    "float32": X.astype(np.float32),
    "columns in order": np.asfortranarray(X),
    "read only": np.lib.stride_tricks.as_strided(X, writeable=False),
    "integers": X.astype(int),
    "half precision": X.astype(np.float16),
    "big endian": X.astype(">f8"),
    "list": X.tolist(),
    "matrix of one row": X[:1],
    "no rows": X[:0],
    "no columns": X[:, :0],
    "vector": X[0],
    "holes": HOLES,
    "infinite": np.where(X == 4, np.inf, X),
    "sum overflows": np.full((4, 3), 1e308),
    "sparse": sparse.csr_array(X),
    "masked": np.ma.masked_equal(X, 4.0),
    "frame": pd.DataFrame(X, columns=list("abc")),
    "fewer columns": X[:, :2],
}


def outcome(table, seen=None, **options):
    """What a check returns, sets and says."""
    estimator = BaseEstimator()
    if seen is not None:
        check_table(estimator, seen, reset=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = check_table(estimator, table, **options)
        except (TypeError, ValueError) as error:
            found = (type(error), str(error))
    dense = found.toarray() if sparse.issparse(found) else found
    return (
        getattr(found, "dtype", None),
        repr(dense),
        found is table,
        {name: list(np.ravel(value)) for name, value in vars(estimator).items()},
        [(warning.category, str(warning.message)) for warning in caught],
    )


@pytest.mark.parametrize("seen", [None, X, pd.DataFrame(X, columns=list("abc"))], ids=["new", "plain", "named"])
@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize(
    "options",
    [{}, {"missing": True}, {"ensure_all_finite": False, "accept_sparse": True, "min_samples": 0}, {"min_samples": 2}],
    ids=["finite", "holes", "anything", "two rows"],
)
@pytest.mark.parametrize("name", TABLES)
def test_the_short_way_answers_as_the_long_one(monkeypatch, name, options, reset, seen):
    short = outcome(TABLES[name], seen, reset=reset, **options)
    monkeypatch.setattr(_checks, "_is_ready", lambda *arguments: False)
    assert short == outcome(TABLES[name], seen, reset=reset, **options)


@pytest.mark.parametrize("table", [X, X.astype(np.float32)])
def test_a_plain_table_is_not_handed_to_scikit_learn(monkeypatch, table):
    monkeypatch.setattr(_checks, "validate_data", lambda *arguments, **options: pytest.fail("looked at"))
    estimator = BaseEstimator()
    assert check_table(estimator, table, reset=True) is table
    assert check_table(estimator, table[1:], reset=False).base is not None
