"""Simulation-based calibration, as much as CI has time for; ``python -m experiments.calibration`` does the whole."""

import numpy as np
import pytest
from experiments.calibration import calibration, coverage, histogram
from scipy import stats

ASKED = (0.87, 0.93)
"""Of 90 % intervals, at every number of rows."""
ASKED_OF_PARTS = (0.85, 0.95)
"""Of the quietest and the noisiest column, of thirds of a range and of forecasts, each by itself."""
EXACT = (0.9, 0.9)
"""Where the model that made the truths is the one that is asked: nothing is left but chance."""
# what, n, tables, and between what the coverage of 90 % intervals must lie but for chance
SIMULATED = [
    ("imputation known", 20, 300, ASKED),
    ("imputation known", 200, 60, ASKED),
    ("imputation chosen", 20, 60, (0.84, 0.94)),  # q is chosen
    ("imputation unequal", 20, 60, ASKED_OF_PARTS),
    ("imputation unequal", 50, 30, ASKED_OF_PARTS),
    ("imputation unequal", 200, 20, ASKED_OF_PARTS),
    ("denoised", 20, 60, ASKED),
    ("denoised", 50, 60, ASKED),
    ("views", 20, 60, ASKED),
    ("regression", 20, 60, (0.84, 0.94)),  # q is chosen
    ("regression", 200, 16, ASKED),
    ("thirds", 200, 12, ASKED_OF_PARTS),
    ("latents", 60, 400, EXACT),
    ("forecasts", 60, 80, ASKED_OF_PARTS),
]


def chance(share, n_truths):
    """Two standard errors of a share among so many truths, √(p (1 - p) / n) each."""
    return 2 * np.sqrt(share * (1 - share) / n_truths)


def within(share, n_truths, asked):
    """Whether a share found among so many truths can be one of those asked: it lies no more than chance beyond them."""
    low, high = asked
    return low - chance(low, n_truths) <= share <= high + chance(high, n_truths)


def simulated(what, n, n_tables, seed=1):
    return calibration(what, n, n_truths=10**9, seed=seed, most=n_tables)


@pytest.mark.parametrize("what, n, n_tables, asked", SIMULATED, ids=lambda one: str(one))
def test_ninety_per_cent_means_ninety(what, n, n_tables, asked):
    for part, found in simulated(what, n, n_tables).items():
        assert found["tables"] == n_tables
        assert within(found["coverage"]["90%"], found["truths"], asked), (part, found)
        assert found["coverage"]["50%"] < found["coverage"]["80%"] <= found["coverage"]["95%"], part


def test_what_is_found_may_lie_beyond_what_is_asked_by_chance_alone():
    assert within(0.9, 10**9, ASKED)
    assert within(0.86, 500, ASKED)
    assert not within(0.86, 5000, ASKED)
    assert within(0.95, 200, ASKED)
    assert not within(0.95, 2000, ASKED)
    assert not within(0.90, 10**6, (0.92, 0.93))


def test_one_training_width_outside_intervals_still_cover():
    found = [part["coverage"]["90%"] for part in simulated("outside", 150, 4).values()]
    assert len(found) == 3
    assert np.mean(found) >= 0.8
    assert min(found) >= 0.4


@pytest.mark.parametrize("what", ["alarms PPCA", "alarms KernelPPCA"])
def test_few_rows_do_not_raise_alarms(what):
    for part, found in simulated(what, 20, 20).items():
        assert found["alarms"]["0.01"] <= 0.02, part
        assert within(found["alarms"]["0.05"], found["truths"], (0.0, 0.06)), (part, found)


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
