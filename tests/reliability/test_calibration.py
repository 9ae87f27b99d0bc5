"""Simulation-based calibration, as much as CI has time for; ``python -m experiments.calibration`` does the whole."""

import numpy as np
import pytest
from experiments.calibration import calibration, coverage, histogram
from scipy import stats

# what, n, tables, and between what the coverage of 90 % intervals must lie
SIMULATED = [
    ("imputation, q known", 20, 30, (0.86, 0.95)),
    ("imputation, q known", 200, 6, (0.87, 0.93)),
    ("missing views", 20, 20, (0.86, 0.94)),
    ("regression", 20, 30, (0.84, 0.97)),
    ("regression", 200, 3, (0.84, 0.97)),
    ("latents", 50, 10, (0.87, 0.93)),
]


@pytest.mark.parametrize("what, n, n_tables, limits", SIMULATED, ids=lambda one: str(one))
def test_ninety_per_cent_means_ninety(what, n, n_tables, limits):
    found = calibration(what, n, n_tables, seed=1)
    assert limits[0] <= found["coverage"]["90%"] <= limits[1]
    assert found["coverage"]["50%"] < found["coverage"]["80%"] < found["coverage"]["95%"]


def test_ranks_of_latents_are_uniform():
    found = calibration("latents", 50, 20, seed=2)
    assert stats.chisquare(found["histogram"]).pvalue > 1e-3


def test_coverage_and_histogram_of_uniform_probabilities_are_flat():
    even = (np.arange(1000) + 0.5) / 1000
    assert [coverage(even, level) for level in (0.5, 0.9)] == [0.5, 0.9]
    assert histogram(even) == [100] * 10
    assert histogram(np.array([1.0])) == [0] * 9 + [1]
