"""Views side by side: columns say where each is, and what cannot stand side by side is refused by name."""

import numpy as np
import pytest

from gramian._checks import check_same_rows
from gramian.views.stack import stack_views

LEFT, RIGHT = np.arange(8.0).reshape(4, 2), -np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("views, names", [({"a": LEFT, 2: RIGHT}, ["a", 2]), ([LEFT, RIGHT], ["view0", "view1"])])
def test_columns_give_each_view_back(views, names):
    table, columns = stack_views(views)
    assert list(columns) == names
    for view, where in zip((LEFT, RIGHT), columns.values()):
        np.testing.assert_array_equal(table[:, where], view)


@pytest.mark.parametrize(
    "views, words",
    [([], "needs a dict or a list"), ({"a": None}, "'a' is None"), ({"a": LEFT, "b": RIGHT[:3]}, "'a': 4, 'b': 3")],
    ids=["nothing", "unknown width", "other rows"],
)
def test_what_cannot_be_stacked_is_said(views, words):
    with pytest.raises(ValueError, match=words):
        stack_views(views)


def test_the_number_of_rows_that_views_share():
    assert check_same_rows({"a": LEFT, "b": RIGHT}) == 4
