"""Normal laws cut to intervals."""

import numpy as np
from scipy.stats import truncnorm

from gramian.latent.interval import Interval


def test_moments_of_cut_normals_are_those_of_scipy():
    rng = np.random.default_rng(0)
    mean, std = rng.normal(0, 3, (60, 1)), rng.uniform(0.2, 3, (60, 1))
    low = np.where(rng.random((60, 1)) < 0.5, -np.inf, rng.normal(-1, 1, (60, 1)))
    high = np.where(np.isinf(low), rng.normal(0, 2, (60, 1)), low + rng.uniform(0.1, 3, (60, 1)))
    m, v = Interval(low, high).moments(mean, std**2)
    oracle = truncnorm((low - mean) / std, (high - mean) / std, loc=mean, scale=std)
    np.testing.assert_allclose(m, oracle.mean(), atol=1e-7)
    np.testing.assert_allclose(v, oracle.var(), rtol=1e-4, atol=1e-7)
    draws = np.stack([Interval(low, high).draws(mean, std, rng) for _ in range(50)])
    assert (draws >= low).all()
    assert (draws <= high).all()
