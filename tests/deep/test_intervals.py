"""Standard deviations of predicted views, from held-out rows."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian.deep.intervals import HeldOutError, covering_std, error_of, questions


def test_1_645_deviations_cover_ninety_per_cent_of_any_errors():
    errors = np.random.default_rng(0).standard_t(2, size=(2000, 3)) * [1.0, 10.0, 0.0]
    assert ((np.abs(errors) <= 1.6448536 * covering_std(errors)).mean(axis=0)[:2]) == pytest.approx(
        [0.9, 0.9], abs=2e-3
    )
    assert covering_std(errors)[2] == 0


def test_few_errors_give_their_root_mean_square():
    np.testing.assert_allclose(covering_std(np.array([[3.0], [4.0]])), [np.sqrt(12.5)])


def test_up_to_three_views_every_set_of_shown_views_is_measured():
    assert len(questions(3)) == 3 * 4
    assert ((), 0) in questions(2)
    assert len(questions(5)) == 5 * 6


def test_an_unmeasured_question_is_answered_by_the_largest_measured_subset():
    errors = [HeldOutError(shown, 0, np.ones(1), np.ones(1)) for shown in [(), (1,), (2,), (1, 2, 3)]]
    assert error_of(errors, (1, 2), 0).shown in [(1,), (2,)]
    assert error_of(errors, (1, 2, 3), 0).shown == (1, 2, 3)
    assert error_of(errors, (3,), 0).shown == ()
    assert error_of(errors, (1,), 2) is None
