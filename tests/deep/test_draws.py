"""Rows held out of training are drawn by content: copies go together, order does not matter."""

import numpy as np
from numpy.testing import assert_array_equal

from gramian.deep.draws import hashes_of_views, held_out_rows

RNG = np.random.default_rng(0)
VIEWS = [RNG.standard_normal((50, 3)), RNG.standard_normal((50, 2))]
SEEN = np.ones((50, 2), dtype=bool)


def test_the_hash_of_a_row_is_over_the_views_that_it_shows():
    whole = hashes_of_views(VIEWS, SEEN)
    assert len(np.unique(whole)) == 50
    partly = SEEN.copy()
    partly[0, 1] = False
    changed = [VIEWS[0], VIEWS[1] + 1.0]
    one, other = hashes_of_views(VIEWS, partly), hashes_of_views(changed, partly)
    assert one[0] == other[0] != whole[0]
    assert (one[1:] != other[1:]).all()


def test_copies_are_held_out_together_and_order_does_not_matter():
    hashes = hashes_of_views(VIEWS, SEEN)
    order = RNG.permutation(100)
    twice = np.concatenate([hashes, hashes])[order]
    held = held_out_rows(twice, 0.2)
    assert len(held) == 20
    assert_array_equal(np.unique(twice[held]), np.unique(hashes[held_out_rows(hashes, 0.2)]))
    assert held_out_rows(hashes[:4], 0.5).size == 0
    assert held_out_rows(hashes[:5], 0.01).size == 1
