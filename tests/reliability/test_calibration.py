"""Simulation-based calibration, as much as CI has time for; ``python -m experiments.calibration`` does the whole."""

import numpy as np
import pytest
from experiments.calibration import calibration, coverage, histogram
from scipy import stats

# what, n, tables, and between what the coverage of 90 % intervals must lie: what is asked, and what few tables leave to chance
SIMULATED = [
    ("imputation known", 20, 40, (0.86, 0.95)),
    ("imputation known", 200, 10, (0.87, 0.93)),
    ("imputation unequal", 200, 6, (0.80, 0.98)),
    ("denoised", 50, 30, (0.87, 0.95)),
    ("views", 20, 30, (0.86, 0.94)),
    ("regression", 20, 30, (0.84, 0.97)),
    ("regression", 200, 4, (0.84, 0.97)),
    ("thirds", 200, 4, (0.80, 0.99)),
    ("latents", 60, 10, (0.87, 0.93)),
    ("forecasts", 60, 40, (0.74, 0.99)),  # one truth per series and step: a deviation of chance is 0.05
]


def simulated(what, n, n_tables, seed=1):
    return calibration(what, n, n_truths=10**9, seed=seed, most=n_tables)


@pytest.mark.parametrize("what, n, n_tables, limits", SIMULATED, ids=lambda one: str(one))
def test_ninety_per_cent_means_ninety(what, n, n_tables, limits):
    for part, found in simulated(what, n, n_tables).items():
        assert found["tables"] == n_tables
        assert limits[0] <= found["coverage"]["90%"] <= limits[1], part
        assert found["coverage"]["50%"] < found["coverage"]["80%"] <= found["coverage"]["95%"], part


def test_one_training_width_outside_intervals_still_cover():
    found = [part["coverage"]["90%"] for part in simulated("outside", 150, 4).values()]
    assert len(found) == 3
    assert np.mean(found) >= 0.8
    assert min(found) >= 0.4


@pytest.mark.parametrize("what", ["alarms PPCA", "alarms KernelPPCA"])
def test_few_rows_do_not_raise_alarms(what):
    for part, found in simulated(what, 20, 20).items():
        assert found["alarms"]["0.01"] <= 0.02, part
        assert found["alarms"]["0.05"] <= 0.08, part


def test_ranks_of_latents_are_uniform():
    found = simulated("latents", 60, 20, seed=2)["latents"]
    assert stats.chisquare(found["histogram"]).pvalue > 1e-3


def test_tables_are_drawn_until_there_are_truths_enough():
    found = calibration("latents", 50, n_truths=2500, most=100)["latents"]
    assert (found["tables"], found["truths"]) == (32, 2560)
    assert calibration("latents", 50, n_truths=1, most=100)["latents"]["tables"] == 30


def test_coverage_and_histogram_of_uniform_probabilities_are_flat():
    even = (np.arange(1000) + 0.5) / 1000
    assert [coverage(even, level) for level in (0.5, 0.9)] == [0.5, 0.9]
    assert histogram(even) == [100] * 10
    assert histogram(np.array([1.0])) == [0] * 9 + [1]
