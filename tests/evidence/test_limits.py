"""Calibration of a target's deviations: the conformal level, the optimism of choices, the trust carried to all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtri

from gramian import KernelPPCA
from gramian.evidence.held_out import HeldOut
from gramian.evidence.limits import Tally, calibrated_std, less_optimistic
from gramian.exceptions import NumericalWarning
from gramian.solvers import Eigh
from gramian.targets.fit import fit_target
from gramian.views.view import ExplicitView, ViewTable

NORMAL = float(ndtri(0.95))


def test_the_conformal_level_counts_the_new_row():
    residuals = np.arange(1.0, 11.0)[:, None]
    weights = np.full(10, 0.1)
    # 0.9 (1 + 1/10) of ten residuals is the tenth; 0.9 alone would be the ninth
    assert_allclose(NORMAL * calibrated_std(residuals, np.zeros(10), weights, 10.0), [10.0])
    assert_allclose(NORMAL * calibrated_std(residuals, np.zeros(10), weights, 1e9), [9.0])


def test_residuals_are_taken_over_their_leverage():
    residuals, weights = np.full((20, 1), 3.0), np.full(20, 0.05)
    assert_allclose(NORMAL * calibrated_std(residuals, np.full(20, 0.44), weights, 20.0), [2.5])


def test_deviations_are_raised_for_the_choices_made_on_the_same_rows():
    assert_allclose(less_optimistic(np.array([1.0]), 20.0), [1.2])


def test_the_trust_of_all_rows_is_that_of_the_folds_less_the_rows_they_lack():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 4))
    y = X[:, :1] + 0.5 * rng.standard_normal((50, 1))
    table = ViewTable((ExplicitView(X), ExplicitView(y)), np.full(50, 0.02), 50.0)
    for n_folds in (2, 5):
        folds = HeldOut.of(X, n_folds)
        model = fit_target(table, 3, Eigh(), "primal", noise_variance="per-view", view_weights=np.ones(2), folds=folds)
        kept = 1.0 - 1.0 / n_folds
        assert_allclose(model.model.subspace.parts[0].trust, 1.0 / (kept * model.held_out.ridge))


@pytest.mark.parametrize("weight", [1e-200, 1e-320])
def test_weights_below_a_rounding_of_one_row_say_nothing(weight):
    """No NaN: such limits are unknown, as those of no rows are."""
    tally = Tally.of(np.arange(1.0, 21.0), np.full(20, weight))
    assert tally.limit(0.99) == np.inf
    assert (tally.p_values(np.array([0.5, 3.0, 1e9])) == 1.0).all()
    model = KernelPPCA(2, kernel="rbf").fit(
        np.random.default_rng(0).standard_normal((30, 4)), sample_weight=np.full(30, weight)
    )
    with pytest.warns(NumericalWarning, match="are unknown"):
        found = model.anomaly(np.ones((3, 4)))
    assert found.limit_spe == np.inf
    assert (found.p_spe == 1.0).all()
