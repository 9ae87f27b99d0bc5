"""A file that is larger than what may be used: memory does not grow with the number of rows (P22, at 200 MB)."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
try:
    from benchmarks import large_files
finally:
    sys.path.pop(0)

pytest.importorskip("pyarrow", reason="the extra [io] is not installed")


@pytest.mark.slow
@pytest.mark.parametrize("work", large_files.WORK)
def test_a_file_with_holes_of_200_mb_stays_below_a_gigabyte(work, tmp_path, monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])  # where the module of the sub-process is found
    found = large_files.run(200 * 2**20, 2**30, tmp_path, (work,))
    assert found[work][1] < 2**30


def test_the_file_has_the_rows_and_holes_that_it_says(tmp_path):
    from pyarrow import parquet

    count = large_files.make_file(tmp_path / "t.parquet", 160_000)
    table = parquet.read_table(tmp_path / "t.parquet")
    assert (table.num_rows, table.num_columns) == (count, large_files.COLUMNS) == (1000, 20)
    share = sum(column.null_count for column in table.columns) / table.num_rows / table.num_columns
    assert share == pytest.approx(large_files.SHARE, abs=0.01)
    assert [large_files.bytes_of(text) for text in ("4GB", "200MB", "17")] == [2**32, 200 * 2**20, 17]
