"""SQUAREM: never below plain EM, at the same maximum, in fewer E-steps [13]."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.latent.missing import MissingProblem
from gramian.latent.squarem import Squarem, leap
from gramian.rows import as_rows


def curved(n=300, d=12, holes=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.cos(rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + rng.uniform(0, 6, d))
    X += 0.1 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < holes] = np.nan
    return X


def climbs(X, q, **options):
    """The same problem climbed with leaps and by plain PX-EM."""
    fast = MissingProblem.of(as_rows(X), **options)
    start = fast.start(q)
    return fast.climb(start, 1e-6, 1000), replace(fast, leaps=False).climb(start, 1e-6, 3000), fast


@pytest.mark.parametrize("options", [{}, {"center": False}, {"noise_variance": 0.05}, {"blocks": np.arange(12) % 3}])
def test_leaps_end_where_plain_em_ends_in_fewer_e_steps_and_never_fall(options):
    fast, slow, problem = climbs(curved(), 5, **options)
    assert fast.converged
    assert (np.diff(fast.levels) >= 0).all()
    assert fast.levels[-1] >= slow.levels[-1] - 1e-6 * problem.cells
    assert fast.n_evaluations < 0.7 * slow.n_evaluations
    for point in (fast.point, slow.point):
        assert_allclose(
            point.loadings[0] @ point.loadings[0].T, slow.point.loadings[0] @ slow.point.loadings[0].T, atol=5e-3
        )


def test_a_leap_along_one_geometric_series_lands_on_its_limit():
    limit, step = np.array([3.0, -1.0]), np.array([2.0, 5.0])
    p0, p1, p2 = ([limit + step * 0.9**k] for k in range(3))
    point, rate = leap(p0, p1, p2)
    assert_allclose(point[0], limit, atol=1e-9)
    assert_allclose(rate, 0.9)


def test_steps_that_do_not_shrink_are_not_extrapolated():
    assert leap([np.zeros(1)], [np.ones(1)], [np.array([3.0])])[0] is None
    assert leap([np.zeros(1)], [np.ones(1)], [np.array([2.0])])[0] is None  # v = 0


@pytest.mark.parametrize("barrier", [0.5, 0.01])
def test_a_leap_below_the_first_step_is_not_taken(barrier):
    """A level that punishes what lies beyond a barrier: EM stays before it, leaps would not."""

    def level(x):
        return float(-abs(x[0]) - (1e6 if x[0] < barrier else 0.0))

    em = Squarem(
        evaluate=lambda x: x,
        level=level,
        step=lambda sums, x: np.maximum(0.5 * x, barrier + 0.05 * (x - barrier)),
        coordinates=lambda x: [x],
        at=lambda x, parts: parts[0],
    )
    found = em.climb(np.array([8.0]), tolerance=1e-9, max_iter=200)
    assert found.point[0] >= barrier
    assert (np.diff(found.levels) >= 0).all()


def test_a_point_that_ends_the_climb_is_returned_without_being_evaluated():
    em = Squarem(
        evaluate=lambda x: x,
        level=lambda sums: -float(sums[0]),
        step=lambda sums, x: 0.5 * x,
        coordinates=lambda x: [x],
        at=lambda x, parts: parts[0],
        ends=lambda x: bool(x[0] < 0.3),
    )
    found = em.climb(np.array([1.0]), tolerance=0.0, max_iter=50)
    assert found.converged
    assert found.point[0] == 0.25
