"""Calibration of class evidence: the optimum of a general optimiser, in one vectorised run."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax

from gramian.classes.calibration import calibrate, soft_labels


def sample(n_classes, seed=0, n=150):
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_classes, size=n)
    evidence = 40.0 * (rng.normal(size=(3, n_classes, n)) + 1.2 * (np.arange(n_classes)[:, None] == codes))
    return evidence + 100.0 * rng.normal(size=n), codes, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("offsets", [True, False])
def test_scale_and_offsets_are_those_of_a_general_optimiser(n_classes, offsets):
    evidence, codes, weights = sample(n_classes)
    found = calibrate(evidence, codes, weights, offsets=offsets)
    targets = soft_labels(codes, weights, n_classes)
    for k in range(3):

        def loss(parameters, k=k):
            moved = np.exp(parameters[0]) * evidence[k] + np.append(0.0, parameters[1:])[:, None] * offsets
            return -float((targets * log_softmax(moved, axis=0)).sum(axis=0) @ weights)

        best = minimize(loss, np.append(np.log(0.02), np.zeros(n_classes - 1)), method="BFGS", options={"gtol": 1e-7})
        assert_allclose(found.scales[k], np.exp(best.x[0]), rtol=1e-3)
        assert_allclose(found.offsets[k], np.append(0.0, best.x[1:]) * offsets, atol=1e-3)


def test_classes_that_separate_perfectly_get_a_finite_scale_and_useless_evidence_almost_none():
    codes = np.repeat([0, 1], 50)
    perfect = np.where(np.arange(2)[:, None] == codes, 1.0, -1.0)
    useless = np.where(np.arange(2)[:, None] == np.tile([0, 1], 50), 1.0, -1.0)
    found = calibrate(np.stack([perfect, useless, -perfect]), codes, np.ones(100), offsets=True)
    shares = np.exp(found.log_probabilities(np.stack([perfect, useless, -perfect])))
    assert_allclose(shares[0, 0, 0], 51 / 52, atol=1e-4)
    assert_allclose(shares[1], 0.5, atol=1e-3)
    assert_allclose(shares[2], 0.5, atol=1e-3)  # evidence that is always wrong is not turned round


def test_multiplying_all_weights_changes_nothing():
    evidence, codes, weights = sample(3)
    one, ten = (calibrate(evidence, codes, factor * weights, offsets=True) for factor in (1, 10))
    assert_allclose(one.scales, ten.scales)
    assert_allclose(one.offsets, ten.offsets)
