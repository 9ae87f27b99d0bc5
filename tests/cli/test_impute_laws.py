"""gramian impute: possible values, bounds, limits of detection, and the numbers of the data frame."""

import numpy as np
import pytest
from click.testing import CliRunner

from gramian import LatentImputer
from gramian.cli import main

pd = pytest.importorskip("pandas")


def table(seed=0, n=120):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    level = np.exp(z + 0.3 * rng.standard_normal(n)).round(4)
    children = np.round(np.exp(z + 0.7))
    frame = pd.DataFrame({"level": level, "children": children, "score": (z + 0.3 * rng.standard_normal(n)).round(4)})
    frame["kind"] = np.where(z + 0.3 * rng.standard_normal(n) > 0, "hi", "lo")
    holes = rng.random(frame.shape) < 0.12
    holes[:, 0] = False
    return frame.mask(holes)


def run(*words):
    found = CliRunner().invoke(main, ["impute", *map(str, words)], catch_exceptions=False)
    assert found.exit_code == 0, found.output
    return found


def test_the_command_writes_the_numbers_of_the_imputer_of_the_frame(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "in.csv", index=False)
    run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--digits", 17)
    expected, found = LatentImputer().fit(frame).transform(frame), pd.read_csv(tmp_path / "out.csv")
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=1e-9)


def test_no_impossible_value_is_written(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "in.csv", index=False)
    run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--std", tmp_path / "std.csv")
    found = pd.read_csv(tmp_path / "out.csv")
    assert (found["children"] % 1 == 0).all()
    assert (found["children"] >= 0).all()


def test_bounds_of_the_command(tmp_path):
    frame = table()
    frame.to_csv(tmp_path / "in.csv", index=False)
    top = float(frame["score"].max())
    run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", "--bounds", f"score=-9:{top}", "--bounds", "children=0:")
    assert pd.read_csv(tmp_path / "out.csv")["score"].max() <= top
    wrong = CliRunner().invoke(
        main, ["impute", str(tmp_path / "in.csv"), "-o", str(tmp_path / "o.csv"), "--bounds", "a"]
    )
    assert wrong.exit_code != 0
    assert "age=0:120" in wrong.output + (wrong.stderr if wrong.stderr_bytes else "")


@pytest.mark.parametrize("draws", [None, 2])
def test_cells_below_a_limit_are_filled_below_it(tmp_path, draws):
    frame = table()
    below = (frame["level"] < 0.5).to_numpy()
    frame["level"] = frame["level"].astype(object).mask(below, "<0.5")
    frame.to_csv(tmp_path / "in.csv", index=False)
    more = [] if draws is None else ["--draws", draws]
    run(tmp_path / "in.csv", "-o", tmp_path / "out.csv", *more)
    for name in ["out.csv"] if draws is None else ["out_1.csv", "out_2.csv"]:
        found = pd.read_csv(tmp_path / name)["level"]
        assert found[below].between(0, 0.5).all()
        np.testing.assert_allclose(found[~below], frame["level"][~below].astype(float))
