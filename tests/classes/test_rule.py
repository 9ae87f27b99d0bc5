"""The candidates of classification rules, the walk over widths, and the choice."""

import numpy as np
import pytest

from gramian.classes import rule as class_rule
from gramian.classes.calibration import Calibration
from gramian.classes.rule import Scored, choose_rule, distance_to_usual, walked_widths


@pytest.mark.parametrize("peak", [1 / 16, 0.2, 0.5, 1.0, 3.0, 8.0])
def test_the_walk_ends_at_the_top_of_a_hill_and_asks_once_per_width(peak):
    asked = []

    def score(factor):
        asked.append(factor)
        return -abs(np.log(factor / peak))

    seen = walked_widths(score)
    assert len(asked) == len(set(asked)) == len(seen)
    assert abs(np.log2(class_rule.top_width(seen) / peak)) <= 0.6


def test_the_walk_stops_at_the_extremes():
    assert min(walked_widths(lambda factor: -factor)) == 2.0**-5
    assert max(walked_widths(lambda factor: factor)) == 2.0**4


def test_distance_to_the_usual_rule():
    assert distance_to_usual(0.6, (None, 2e-2), 2.0) == pytest.approx(0.0)
    assert distance_to_usual(1.2, (None, 1e-3), 1.0) == pytest.approx(2.0)
    assert distance_to_usual(None, (0.9, None), 1.0) == 3.0


def grid(likelihoods, accuracies=None):
    n = np.shape(likelihoods)[1]
    accuracies = np.full(np.shape(likelihoods), 0.5) if accuracies is None else accuracies
    return Scored(np.array(likelihoods), np.array(accuracies), Calibration(np.arange(float(n)), np.zeros((n, 2))))


def test_of_candidates_that_folds_cannot_tell_apart_the_first_in_order_is_taken():
    scores = grid([[-0.5, -0.4, -0.9], [-0.4, -0.45, -0.9], [-0.5, -0.42, -0.9]])
    chosen = choose_rule([scores], [["a", "b", "c"]], np.array([1.0, 2.0, 0.0]), np.ones(3), what="rule")
    assert chosen.selection.chosen == "a"
    assert chosen.selection.candidates == ["a", "b", "c"]  # told in the order of the grid
    assert chosen.selection.scores.argmax() == 1
    assert chosen.calibration.scales[0] == 0.0
    assert chosen.log_loss == pytest.approx(1.4 / 3)
    clear = grid([[-0.5, -0.4, -0.9], [-0.5, -0.4, -0.9], [-0.51, -0.4, -0.9]])
    assert choose_rule([clear], [["a", "b", "c"]], np.arange(3.0), np.ones(3), what="rule").selection.chosen == "b"
