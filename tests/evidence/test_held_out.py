"""Rows dealt to folds: by content, or in stretches; the table of losses and where a search ends."""

from itertools import pairwise

import numpy as np
from numpy.testing import assert_array_equal

from gramian.evidence.held_out import HeldOut, ladder


def test_folds_follow_contents_and_not_places():
    X = np.random.default_rng(0).standard_normal((23, 3))
    order = np.random.default_rng(1).permutation(23)
    folds = HeldOut.of(X, 5)
    assert_array_equal(HeldOut.of(X[order], 5).numbers, folds.numbers[order])
    assert_array_equal(HeldOut.of(X.astype(np.float32), 5).numbers, folds.numbers)
    assert folds.distinct.max() - folds.distinct.min() <= 1
    assert folds.fewest_kept == 23 - 5


def test_copies_share_a_fold_and_count_once():
    X = np.repeat(np.arange(12.0)[:, None], 3, axis=0)
    folds = HeldOut.of(X, 4)
    assert (folds.numbers[::3] == folds.numbers.reshape(12, 3).T).all()
    assert_array_equal(folds.distinct, [3, 3, 3, 3])
    assert folds.usable


def test_too_few_distinct_rows_are_no_folds():
    assert not HeldOut.of(np.zeros((30, 2)), 5).usable
    assert not HeldOut.of(np.arange(9.0)[:, None], 5).usable
    assert HeldOut.of(np.arange(10.0)[:, None], 5).usable


def test_blocks_are_stretches():
    assert_array_equal(HeldOut.stretches(7, 3).numbers, [0, 0, 0, 1, 1, 2, 2])


class Constant:
    """Candidates are numbers; the loss of a row is its distance to the number."""

    def __init__(self, values):
        self.values, self.fits = values, []

    def path(self, part):
        self.fits.append(part.number)
        return self

    def losses(self, held, candidates):
        return np.array([np.abs(self.values[held] - candidate) for candidate in candidates])


def test_the_table_holds_the_loss_of_every_row_under_models_that_have_not_seen_it():
    values = np.random.default_rng(0).standard_normal(40)
    held_out = HeldOut.of(values[:, None])
    family = Constant(values)
    evidence = held_out.table(family, [0.0, 5.0], what="place", loss="distance")
    order = np.concatenate([part.held for part in held_out])
    assert_array_equal(evidence.rows(), np.abs(values[order] - np.array([[0.0], [5.0]])))
    assert family.fits == [0, 1, 2, 3, 4]
    assert evidence.choose() == 0.0
    assert sorted(order) == list(range(40))


def test_a_search_ends_when_candidates_are_clearly_worse_and_not_before():
    values = np.random.default_rng(1).standard_normal(60) + 3.0
    held_out, family = HeldOut.of(values[:, None]), Constant(values)
    tried = held_out.table(family, range(100), patience=True)
    assert tried.choose() == 3
    assert 5 <= len(tried.candidates) < 10
    assert len(family.fits) == 5  # one path per fold, whatever the number of candidates
    level = held_out.table(Constant(values), [3.0, 3.0, 3.0, 3.0], patience=True)
    assert len(level.candidates) == 4  # equals are not worse


def test_no_fold_is_judged_by_models_of_itself():
    X = np.random.default_rng(2).standard_normal((50, 2))
    for part in HeldOut.of(np.vstack([X, X[:10]])):
        rows = np.vstack([X, X[:10]])
        assert not set(map(tuple, rows[part.kept])) & set(map(tuple, rows[part.held]))


def test_the_ladder_climbs_from_the_smallest_to_the_largest():
    for smallest, largest, step in [(0, 0, 0.25), (1, 7, 0.25), (3, 200, 0.5), (0, 128, 1.0), (5, 2, 0.5)]:
        found = ladder(smallest, largest, step)
        assert found[0] == smallest
        assert found[-1] == max(smallest, largest)
        assert (np.diff(found) > 0).all()
        assert all(b <= max(a + 1, (1 + step) * a) for a, b in pairwise(found))
    assert len(ladder(0, 10_000)) < 50  # what is tried grows with the logarithm
