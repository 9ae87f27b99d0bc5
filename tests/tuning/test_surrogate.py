"""The surrogate and its acquisition."""

import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from gramian.tuning.backends import GPBackend, first_points, n_first
from gramian.tuning.space import Category, Integer, Real, Space
from gramian.tuning.surrogate import Surrogate, log_h, propose, winsorize
from gramian.tuning.trials import Trial


@pytest.mark.parametrize("z", [-30.0, -8.0, -1.5, -1.0, -0.999, 0.0, 2.0, 9.0])
def test_log_improvement_agrees_with_quadrature(z):
    # E max(0, z + ξ) = φ(z) ∫ exp(-ut)... written so that it does not underflow: ∫_0^∞ s exp(-s²/2 + sz) ds φ(z)
    value, _ = integrate.quad(lambda s: s * np.exp(-0.5 * s * s + s * z), 0, np.inf, epsabs=0, epsrel=1e-12, limit=500)
    np.testing.assert_allclose(log_h(np.array([z])), np.log(value) + norm.logpdf(z), rtol=1e-9, atol=1e-9)


def test_log_improvement_is_finite_and_increasing_everywhere():
    z = np.concatenate([-np.geomspace(1e9, 1e-3, 400), np.geomspace(1e-3, 1e3, 100)])
    values = log_h(z)
    assert np.isfinite(values).all()
    assert (np.diff(values) > 0).all()


def test_the_surrogate_interpolates_a_smooth_function_and_is_sure_where_it_was_seen():
    rng = np.random.default_rng(0)
    points = rng.random((40, 2))
    truth = np.sin(4 * points[:, 0]) + points[:, 1]
    surrogate = Surrogate.fit(points, truth)
    new = rng.random((50, 2)) * 0.8 + 0.1
    mean, std = surrogate.predict(new)
    assert np.abs(mean - np.sin(4 * new[:, 0]) - new[:, 1]).max() < 0.1
    assert surrogate.predict(points)[1].max() < std.max()


def test_failed_trials_count_as_the_worst_and_disasters_are_pulled_in():
    scores = np.array([1.0, 0.9, 0.8, np.nan, -1e9])
    tamed = winsorize(scores)
    assert np.isfinite(tamed).all()
    assert tamed[:3].tolist() == [1.0, 0.9, 0.8]
    assert -1.0 < tamed[3] <= 0.8
    assert -1.0 < tamed[4] < 0.8


def trial(number, point, score):
    return Trial(number, tuple(point), {}, score, 0.0, "complete", 0.0, {})


def test_the_search_finds_the_optimum_of_branin_where_random_search_does_not():
    space = Space({"x": Real(-5.0, 10.0), "y": Real(0.0, 15.0)}, {})

    def score(p):
        x, y = p["x"], p["y"]
        bowl = (y - 5.1 / (4 * np.pi**2) * x * x + 5 / np.pi * x - 6) ** 2
        return -(bowl + 10 * (1 - 1 / (8 * np.pi)) * np.cos(x) + 10 - 0.397887)

    found, random = [], []
    for seed in range(3):
        trials = []
        while len(trials) < 25:
            point = GPBackend().propose(space, trials, 1, seed, 25)[0]
            trials.append(trial(len(trials), point, score(space.decode(point))))
        found.append(max(t.score for t in trials))
        random.append(max(score(space.decode(u)) for u in np.random.default_rng(seed).random((25, 2))))
    assert np.median(found) > -0.3
    assert np.median(found) > np.median(random)


def test_no_point_is_proposed_twice_and_a_finite_space_is_exhausted():
    space = Space({"k": Category(("a", "b", "c")), "n": Integer(1.0, 4.0)}, {})
    trials = []
    for _ in range(30):
        points = GPBackend().propose(space, trials, 1, 0, 30)
        if not points:
            break
        trials.append(trial(len(trials), points[0], float(points[0][0])))
    assert len({t.point for t in trials}) == len(trials) == 12


def test_only_points_of_the_start_are_proposed_together_and_they_do_not_depend_on_how_many_are_asked_for():
    space = Space({"x": Real(0.0, 1.0)}, {})
    together = GPBackend().propose(space, [], 4, 0, 30)
    trials = []
    for point in together:
        np.testing.assert_array_equal(GPBackend().propose(space, trials, 1, 0, 30)[0], point)
        trials.append(trial(len(trials), point, -float((point[0] - 0.4) ** 2)))
    assert len(together) == 4
    trials += [trial(4 + i, [u], -((u - 0.4) ** 2)) for i, u in enumerate([0.1, 0.9])]
    assert len(GPBackend().propose(space, trials, 4, 0, 30)) == 1


def test_a_prior_pulls_the_proposal():
    points = np.linspace(0.05, 0.95, 6)[:, None]
    surrogate = Surrogate.fit(points, np.zeros(6))
    space = Space({"x": Real(0.0, 1.0, prior=(0.2, 0.03))}, {})
    chosen = propose(space, surrogate, points, np.random.default_rng(0), prior_weight=5.0)
    assert abs(chosen[0] - 0.2) < 0.1


def test_the_first_trials_are_the_centre_and_a_sobol_sequence():
    space = Space({"x": Real(0.0, 1.0), "y": Real(0.0, 1.0)}, {})
    points = first_points(space, 9, seed=3)
    np.testing.assert_array_equal(points[0], [0.5, 0.5])
    assert len(np.unique(np.floor(points[1:9] * 2), axis=0)) == 4  # one in every quadrant
    assert n_first(space, 3) == 3


def test_main_effects_find_the_parameter_that_matters():
    rng = np.random.default_rng(0)
    space = Space({"matters": Real(0.0, 1.0), "idle": Real(0.0, 1.0)}, {})
    points = rng.random((40, 2))
    shares = Surrogate.fit(points, np.sin(5 * points[:, 0])).main_effects(space)
    assert shares["matters"] > 0.8
    assert shares["idle"] < 0.1
