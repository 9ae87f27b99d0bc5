"""A way to run the command in this process, and small tables to run it on."""

import io
import sys

import numpy as np
import pytest

from gramian.cli import main
from gramian.io.tables import write_table


class Ran:
    """What a run left: its exit code and what it said."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}\n--- out\n{self.out}--- err\n{self.err}"


@pytest.fixture
def gramian(capsys, monkeypatch, tmp_path):
    """Run `gramian` with these arguments in the temporary folder."""
    monkeypatch.chdir(tmp_path)

    def run(*args, stdin=b""):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as exit_:
            main([str(arg) for arg in args])
        captured = capsys.readouterr()
        return Ran(exit_.value.code, captured.out, captured.err)

    return run


@pytest.fixture
def rows():
    """Low-rank rows with a name for each."""
    rng = np.random.default_rng(0)
    return 10 + rng.normal(size=(80, 2)) @ rng.normal(size=(2, 5)) * [1, 2, 3, 4, 50] + 0.2 * rng.normal(size=(80, 5))


@pytest.fixture
def table(tmp_path, rows):
    """full.csv: five columns of numbers."""
    path = tmp_path / "full.csv"
    write_table(path, list("abcde"), list(rows.T), digits=17)
    return path


@pytest.fixture
def holes(tmp_path, rows):
    """holes.csv: the same with one cell in ten missing."""
    path = tmp_path / "holes.csv"
    X = rows.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    write_table(path, list("abcde"), list(X.T), digits=17)
    return path
