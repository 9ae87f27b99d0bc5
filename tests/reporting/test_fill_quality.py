"""What hidden cells say of a filling, column by column, and the columns that the mean fills as well."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import LatentImputer
from gramian.evidence.cells import hidden_cells
from gramian.policy import LOOK
from gramian.reporting.fill_quality import ColumnQuality, Means, fill_quality, quality_lines, unhelped_columns
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    z = rng.standard_normal(120)
    words = np.where(z + 0.1 * rng.standard_normal(120) > 0, "high", "low").astype(object)
    columns = [z, 3 * z + 0.2 * rng.standard_normal(120), words, rng.standard_normal(120)]
    columns[1][:10] = np.nan
    return Table(["a", "b", "word", "noise"], columns)


def test_errors_are_those_of_cells_that_the_imputer_has_not_seen(table):
    prepare = Preprocessing.fit([table])
    X = prepare.matrix(table)
    found = fill_quality(prepare, X)
    squares, plain, wrong = [], [], []
    first = np.searchsorted(prepare.owner, np.arange(4))
    for draw in range(LOOK.draws):
        hidden = hidden_cells(X[:, first], draw)
        masked = np.where(hidden[:, prepare.owner], np.nan, X)
        full = LatentImputer(standardize=False).fit_transform(masked)
        rows = hidden[:, 0]
        squares += ((full - X)[rows, 0] ** 2).tolist()
        plain += ((X[rows, 0] - np.nanmean(masked[:, 0])) ** 2).tolist()
        wrong += (prepare.columns(full)[2] != table["word"])[hidden[:, 2]].tolist()
    assert_allclose(found["a"].error, np.sqrt(np.mean(squares)) * prepare.scale[0], rtol=1e-9)
    assert_allclose(found["a"].mean_error, np.sqrt(np.mean(plain)) * prepare.scale[0], rtol=1e-9)
    assert_allclose(found["word"].error, np.mean(wrong))
    assert found["a"].ratio < 0.3
    assert found["word"].ratio < 0.5
    assert found["noise"].ratio > 0.9
    assert found["a"].inside > 0.75


def test_what_the_mean_fills_as_well_is_filled_with_the_mean(table):
    prepare = Preprocessing.fit([table])
    X = prepare.matrix(table)
    found = {"b": ColumnQuality("b", 9, 2.0, 1.0, 0.9), "a": ColumnQuality("a", 9, 0.5, 1.0, 0.9)}
    assert unhelped_columns(found) == ["b"]
    means = Means.of(X, found)
    full, std = means.put(prepare, X, np.full(X.shape, 7.0), np.full(X.shape, 0.1))
    holes = np.isnan(X)
    assert_allclose(full[holes], np.nanmean(X[:, 1]), atol=1e-12)
    assert_allclose(std[holes], np.nanstd(X[:, 1]))
    assert (full[~holes] == 7).all()


def test_lines_name_what_nothing_helps():
    found = {"b": ColumnQuality("b", 9, 2.0, 1.0, 0.9), "a": ColumnQuality("a", 9, 0.5, 1.0, 0.9)}
    found["c"] = ColumnQuality("c", 9, 1.1, 1.0, 1.0, "commonest value")
    lines = "\n".join(quality_lines(found, {"a": 3, "b": 1, "c": 2}))
    assert "b   2.00   90 %  nothing helps: filled with the mean" in lines
    assert "c   1.10  100 %  nothing helps: filled with the commonest value" in lines
    assert "a   0.50   90 %" in lines
    assert quality_lines(found, {"a": 0, "b": 0}) == []


def test_a_table_of_few_rows_is_not_judged():
    table = Table(["a", "b"], [np.arange(9.0), np.arange(9.0)])
    prepare = Preprocessing.fit([table])
    assert fill_quality(prepare, prepare.matrix(table)) == {}
