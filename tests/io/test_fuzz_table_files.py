"""Mutated tables: read, or refused in one line that names the file.

Thousands of files are tried by ``python -m benchmarks.soak_table_files``.
"""

import numpy as np
import pytest
from benchmarks.soak_table_files import FILES, fuzz, mutated

from gramian.io.tables import read_table

pytest.importorskip("pyarrow")
pytest.importorskip("python_calamine")


@pytest.mark.parametrize("seed", range(2))
def test_mutated_tables_are_read_or_refused_in_one_line(seed):
    counts, broken = fuzz(200, seed=100 + seed)
    assert broken == []
    for name, found in counts.items():
        assert found["read"] > 0, name
        assert found["refused"] > 0, name


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_a_table_before_it_is_mutated(name, tmp_path):
    content = FILES[name]()
    (tmp_path / name).write_bytes(content)
    assert len(read_table(tmp_path / name).names) >= 3
    assert mutated(content, np.random.default_rng(0)) == mutated(content, np.random.default_rng(0))
    assert any(mutated(content, np.random.default_rng(seed)) != content for seed in range(3))


def test_reading_takes_bounded_memory():
    assert fuzz(40, seed=7, memory=True)[1] == []
