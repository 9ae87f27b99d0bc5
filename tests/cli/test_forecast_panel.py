"""gramian forecast --id --time: many series, one below the other."""

import numpy as np
import pytest
from click.testing import CliRunner

from gramian.cli import main

pd = pytest.importorskip("pandas")


def table(path):
    rng = np.random.default_rng(0)
    parts = [
        pd.DataFrame(
            {
                "store": name,
                "day": pd.date_range("2024-01-01", periods=n).strftime("%Y-%m-%d"),
                "sold": 50 + rng.standard_normal(n).cumsum(),
            }
        )
        for name, n in (("north", 40), ("south", 25))
    ]
    pd.concat(parts).to_csv(path, index=False)


def run(*arguments):
    return CliRunner().invoke(main, ["forecast", *arguments])


def test_each_series_goes_on(tmp_path):
    table(tmp_path / "sales.csv")
    out = tmp_path / "next.csv"
    done = run(str(tmp_path / "sales.csv"), "--id", "store", "--time", "day", "--steps", "3", "-o", str(out))
    assert done.exit_code == 0, done.output
    found = pd.read_csv(out)
    assert list(found.columns) == ["store", "day", "mean", "lower", "upper"]
    assert list(found.day[:3]) == ["2024-02-10", "2024-02-11", "2024-02-12"]
    assert list(found.day[3:]) == ["2024-01-26", "2024-01-27", "2024-01-28"]
    assert ((found.lower <= found["mean"]) & (found["mean"] <= found.upper)).all()


def test_nothing_more_need_be_said(tmp_path):
    table(tmp_path / "sales.csv")
    done = run(str(tmp_path / "sales.csv"), "--id", "store", "--time", "day")
    assert done.exit_code == 0, done.output
    rows = [line.split(",") for line in done.stdout.splitlines() if line.startswith(("store,", "north,", "south,"))]
    assert rows[0] == ["store", "day", "mean", "lower", "upper"]
    assert rows[1][1] == "2024-02-10"
    assert len({len([row for row in rows if row[0] == name]) for name in ("north", "south")}) == 1
    one = run(str(tmp_path / "sales.csv"), "--target", "sold")
    assert one.exit_code == 0, one.output
    assert "sold_lower" in one.stdout
    assert "gramian forecast --id store --time day" in one.stderr


def test_a_table_without_ids_is_refused(tmp_path):
    table(tmp_path / "sales.csv")
    done = run(str(tmp_path / "sales.csv"), "--time", "day", "--steps", "3", "-o", str(tmp_path / "next.csv"))
    assert done.exit_code != 0
    assert "--id" in done.output
