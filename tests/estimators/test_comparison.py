"""Imputers are compared on cells that none of them saw."""

import json

import numpy as np
import pytest

from gramian import compare_imputers
from gramian.exceptions import DataWarning

pd = pytest.importorskip("pandas")


def frame(seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 5)) + noise * rng.standard_normal((120, 5))
    found = pd.DataFrame(X, columns=list("abcde")).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    return found.mask(rng.random(found.shape) < 0.05)


def test_a_table_of_three_rows_is_not_judged():
    with pytest.warns(DataWarning, match="nothing was judged"):
        found = compare_imputers({"a": [1.0, 2.0, 3.5], "b": [2.1, np.nan, 7.0]})
    assert np.isnan(found["error"]).all()


def test_a_low_rank_table_is_filled_better_than_by_means_and_the_best_stands_first():
    found = compare_imputers(frame(), n_draws=2)
    assert isinstance(found, pd.DataFrame)
    assert found.error.is_monotonic_increasing
    by_name = found.set_index("imputer")
    assert by_name.error["LatentImputer"] < 0.6 * by_name.error["mean"]
    assert by_name.interval_score["LatentImputer"] < 0.7 * by_name.interval_score["mean"]
    assert by_name.wrong["LatentImputer"] < by_name.wrong["mean"]
    assert (by_name.cpu >= 0).all()


def test_noise_is_filled_by_nobody_better_than_by_means():
    X = np.random.default_rng(0).standard_normal((100, 4))
    by_name = compare_imputers(X, n_draws=2).set_index("imputer")
    assert by_name.error["LatentImputer"] < 1.1 * by_name.error["mean"]
    assert by_name.wrong.isna().all()


def test_the_command_compares_and_writes_a_page_and_draws(tmp_path):
    from click.testing import CliRunner

    from gramian.cli import main

    frame().to_csv(tmp_path / "t.csv", index=False)
    done = CliRunner().invoke(main, ["compare", str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.html"), "--json"])
    assert done.exit_code == 0, done.output
    assert {row["imputer"] for row in json.loads(done.stdout)["imputers"]} >= {"mean", "LatentImputer"}
    assert "<svg" in (tmp_path / "o.html").read_text()
    done = CliRunner().invoke(
        main, ["impute", str(tmp_path / "t.csv"), "-o", str(tmp_path / "full.csv"), "--draws", "3"]
    )
    assert done.exit_code == 0, done.output
    tables = [pd.read_csv(tmp_path / f"full_{k}.csv") for k in (1, 2, 3)]
    seen = frame().notna().to_numpy()
    for table in tables:
        assert not table.isna().any().any()
        assert (table.kind[seen[:, 5]].to_numpy() == frame().kind[seen[:, 5]].to_numpy()).all()
    assert (tables[0].a != tables[1].a).any()
