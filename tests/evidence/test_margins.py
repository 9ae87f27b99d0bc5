"""Which map a column gets, of the losses of its hidden cells."""

import numpy as np
import pytest

from gramian.evidence.margins import MarginLosses, best_kind
from gramian.policy import LOOK


def losses(level, n, n_draws):
    """Cells of column 1 among those of another, dealt to draws in turn."""
    columns, places = np.tile([1, 0], n), np.repeat(np.arange(n), 2)
    scores = np.where(columns == 1, level + 0.01 * np.sin(places), 9.0)
    return MarginLosses(columns, places % n_draws, scores, scores)


@pytest.mark.parametrize(
    "n, n_draws, kind",
    [(LOOK.fewest, 2, "log"), (LOOK.fewest, 1, "identity"), (LOOK.fewest - 1, 2, "identity")],
)
def test_a_clearly_better_map_is_taken_where_enough_cells_of_two_draws_say_so(n, n_draws, kind):
    assert best_kind(1, ["identity", "log"], [losses(2.0, n, n_draws), losses(1.0, n, n_draws)]) == kind


def test_a_column_that_may_have_no_map_and_one_whose_map_is_worse_keep_the_line():
    line = losses(2.0, LOOK.fewest, 2)
    assert best_kind(1, ["identity"], [line]) == "identity"
    assert best_kind(1, ["identity", "log"], [line, losses(3.0, LOOK.fewest, 2)]) == "identity"
