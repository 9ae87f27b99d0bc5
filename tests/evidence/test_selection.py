"""The one standard error rule."""

import numpy as np
import pytest

from gramian.evidence import choose


def test_simplest_within_one_paired_standard_error_is_taken():
    base = np.array([[10.0], [20.0], [30.0]])  # folds differ a lot: unpaired errors would hide everything
    gains = np.array([[0.0, 1.0, 1.1], [0.0, 1.0, 0.9], [0.0, 1.0, 1.2]])
    assert choose([1, 2, 3], base + gains).chosen == 2


def test_a_clearly_better_candidate_wins():
    gains = np.array([[0.0, 1.0, 2.0], [0.0, 1.1, 2.1], [0.0, 0.9, 2.0]])
    selection = choose([1, 2, 3], gains)
    assert selection.chosen == 3
    assert selection.index == 2
    assert "best" in selection.reason


def test_one_dominating_fold_is_no_reason_to_stay_simple():
    # the mean of D always equals its standard error if one fold dominates; it must also win somewhere
    gains = np.array([[0.0, 100.0], [0.0, 1e-3], [0.0, 1e-3]])
    assert choose([0, 1], gains).chosen == 1


def test_folds_are_weighted_by_their_rows():
    gains = np.array([[0.0, 5.0], [0.0, -1.0], [0.0, -1.0]])
    assert choose([0, 1], gains, [100.0, 1.0, 1.0]).scores[1] > 0
    assert choose([0, 1], gains, [1.0, 100.0, 100.0]).chosen == 0


def test_of_scores_that_differ_by_rounding_the_simplest_is_taken():
    same = np.array([[-40.0, -13.3, -13.3], [-41.0, -12.1, -12.1], [-39.0, -14.7, -14.7]])
    same[:, 2] += 1e-14
    assert choose([1, 2, 3], same).chosen == 2
    assert choose([1, 2, 3], 1e-9 * same).chosen == 2
    same[:, 2] += 1e-9
    assert choose([1, 2, 3], same).chosen == 3


def test_failed_candidates_are_passed_over():
    gains = np.array([[np.nan, 1.0], [0.0, 1.0]])
    assert choose([0, 1], gains).chosen == 1
    with pytest.raises(ValueError, match="No candidate"):
        choose([0, 1], np.full((2, 2), -np.inf))


def test_scores_of_any_size_are_chosen_alike():
    """Powers of two change no digit, and squares of huge gaps do not overflow."""
    scores = np.array([[0.0, 1.0, 1.1], [0.1, 1.0, 0.9], [0.0, 1.0, 1.1]])
    plain = choose([1, 2, 3], scores)
    for unit in (2.0**-600, 2.0**800):
        found = choose([1, 2, 3], scores * unit)
        assert found.chosen == plain.chosen
        np.testing.assert_array_equal(found.errors, plain.errors * unit)


def test_what_is_behind_in_every_fold_is_not_as_good_however_unequal_the_folds():
    behind = np.array([0.001, 0.001, 0.001, 0.001, 1.0])
    weights = np.array([2.375, 2.375, 2.375, 2.375, 0.5])
    found = choose(["simple", "best"], np.column_stack([-behind, np.zeros(5)]), weights)
    assert weights @ behind / weights.sum() < found.errors[0]
    assert found.chosen == "best"


def test_a_fold_of_many_rows_outvotes_several_of_few():
    scores = np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert choose(["simple", "rich"], scores, [100.0, 1.0, 1.0]).chosen == "rich"
    assert choose(["simple", "rich"], scores, [1.0, 1.0, 1.0]).chosen == "simple"


def test_a_lone_candidate_is_told_as_the_only_one():
    assert choose([3], np.ones((3, 1))).reason.endswith("3: the only candidate")
