"""Rows from batches: any cut, any form, the same sums; clear errors that name the batch."""

import numpy as np
import pytest

from gramian._content import content_folds
from gramian.operators.moments import Moments
from gramian.rows import ArrayRows, BatchRows
from gramian.rows.draws import dealt_folds, fold_moments, smallest_rows


def moments(block):
    return Moments.of(block.X, block.weights)


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((100, 3)) + 5


def cuts(X, kind):
    pieces = [X[:0], *np.array_split(X, 7), X[:0]]
    if kind == "list":
        return pieces
    if kind == "function":
        return lambda: iter(pieces)
    if kind == "weights":
        return [(piece, np.ones(len(piece))) for piece in pieces]
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        return [pd.DataFrame(piece, columns=list("abc")) for piece in pieces]
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(X, schema=list("abc"))
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: X[:, j] for j, name in enumerate("abc")})
    if kind == "arrow":
        return table
    if kind == "record batches":
        return table.to_batches(max_chunksize=13)
    assert kind == "duckdb"
    duckdb = pytest.importorskip("duckdb")
    return duckdb.from_arrow(table)


@pytest.mark.parametrize(
    "kind", ["list", "function", "weights", "pandas", "polars", "arrow", "record batches", "duckdb"]
)
def test_any_source_gives_the_moments_of_all_rows_in_every_pass(X, kind):
    rows = BatchRows.of(cuts(X, kind))
    whole = Moments.of(X)
    for _ in range(2):
        found = rows.fold(moments)
        np.testing.assert_allclose(found.scatter, whole.scatter, rtol=1e-12)
        assert found.weight == 100
    assert rows.n_columns == 3
    assert rows.feature_names == (list("abc") if kind not in ("list", "function", "weights") else None)


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_files_are_read_in_every_pass(X, tmp_path, suffix):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=list("abc"))
    path = tmp_path / f"rows{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    np.testing.assert_allclose(BatchRows.of(path).fold(moments).mean, X.mean(axis=0))


def test_draws_do_not_depend_on_the_cut(X):
    X = np.vstack([X, X[:10]])
    order = np.random.default_rng(1).permutation(110)
    shuffled = BatchRows.of(np.array_split(X[order], 9))
    whole = ArrayRows(X, np.ones(110))
    folds, fold = content_folds(X, 4)
    np.testing.assert_array_equal(dealt_folds(shuffled, 4).ranked, folds.ranked)
    np.testing.assert_array_equal(smallest_rows(shuffled, 12).rows, smallest_rows(whole, 12).rows)
    parts = shuffled.fold(fold_moments, folds)
    for index in range(4):
        np.testing.assert_allclose(parts.without(index).scatter, Moments.of(X[fold != index]).scatter, rtol=1e-10)
    np.testing.assert_allclose(parts.total.mean, X.mean(axis=0))


def test_a_one_shot_iterator_is_refused_with_the_function_form(X):
    with pytest.raises(ValueError, match="function that opens"):
        BatchRows.of(iter([X]))


@pytest.mark.parametrize(
    "bad, words",
    [
        (lambda X: X[:, :2], "Batch 2 has 2 columns"),
        (lambda X: X.astype(str), "Batch 2: could not convert string"),
        (lambda X: (X, -np.ones(len(X))), "Batch 2: sample_weight has negative"),
        (lambda X: (X, X, X, X), "Batch 2: a batch of 4 parts"),
    ],
)
def test_a_bad_batch_is_named_by_its_number(X, bad, words):
    rows = BatchRows.of([X, bad(X)])
    with pytest.raises((ValueError, TypeError), match=words):
        rows.fold(moments)


def test_no_rows_at_all_is_a_clear_error(X):
    with pytest.raises(ValueError, match="no rows"):
        BatchRows.of([X[:0]])
    with pytest.raises(TypeError, match="must be a list"):
        BatchRows.of(3.0)


def test_targets_come_with_their_rows(X):
    rows = BatchRows.of([(X[:40], X[:40, 0]), (X[40:], X[40:, 0], np.full(60, 2.0))], with_target=True)
    product = rows.fold(lambda block: (block.weights * block.target) @ block.X)
    weights = np.repeat([1.0, 2.0], [40, 60])
    np.testing.assert_allclose(product, (weights * X[:, 0]) @ X)
    with pytest.raises(ValueError, match="y has 3"):
        BatchRows.of([(X, X[:3, 0])], with_target=True)
