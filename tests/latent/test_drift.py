"""Drift: run lengths against tables of the literature and simulation, alarms after a shift, forgetting."""

import numpy as np
import pytest

from gramian import PPCA, KernelPPCA
from gramian.datasets import make_low_rank
from gramian.latent.drift import Chart, Drift, normal_scores


@pytest.mark.parametrize(
    ("slack", "limit", "run_length"), [(0.5, 4.0, 335.37), (0.5, 5.0, 930.89), (0.25, 8.0, 736.78)]
)
def test_run_lengths_of_cusums_are_those_of_the_tables(slack, limit, run_length):
    assert Chart(1.0, 1.0, slack).run_length(limit) == pytest.approx(run_length, rel=2e-3)


def test_a_moving_average_of_the_last_row_alone_is_a_limit_of_single_rows():
    chart = Chart(0.0, 1.0, 0.0)
    assert chart.run_length(2.0) == pytest.approx(1 / 0.022750131948179195)


@pytest.mark.parametrize("chart", [Chart(0.8, 0.2, 0.0), Chart(1.0, 1.0, 0.5)])
def test_limits_have_the_run_length_that_was_asked_for(chart):
    limit = chart.limit(60.0)
    assert chart.run_length(limit) == pytest.approx(60.0, rel=1e-4)
    rng = np.random.default_rng(0)
    lengths = [np.argmax(np.append(chart.path(rng.standard_normal(700)), np.inf) > limit) + 1 for _ in range(600)]
    assert np.mean(lengths) == pytest.approx(60.0, abs=4 * np.std(lengths) / np.sqrt(len(lengths)))


@pytest.mark.parametrize("make", [lambda: PPCA(n_components=2), lambda: KernelPPCA(n_components=4, random_state=0)])
def test_a_shift_that_no_row_tells_raises_an_alarm(make):
    X = make_low_rank(500, 6, rank=2, noise=0.5, random_state=3)
    model = make().fit(X[:300])
    quiet, moved = X[300:], X[300:].copy()
    moved[100:, 2] += 2.0
    found = model.drift(moved, run_length=5000)
    before = model.drift(quiet, run_length=5000)
    assert isinstance(found, Drift)
    assert before.alarms[:100].sum() == found.alarms[:100].sum()
    assert found.alarms[150:].mean() > 0.5 > before.alarms.mean()
    assert "first alarm" in repr(found)


def test_rows_that_say_nothing_leave_the_charts_at_zero():
    found = Drift.of(np.ones(5), np.full(5, 0.9), 0.1, 1.0, 100.0)
    assert not found.alarms.any()
    assert found.first is None
    assert "no alarm in 5 rows" in repr(found)
    assert np.isfinite(normal_scores(np.array([0.0, 1e-320, 1.0]))).all()


@pytest.mark.parametrize("wrong", [{"smoothing": 0.0}, {"smoothing": 1.5}, {"shift": 0.0}, {"run_length": 1.0}])
def test_wrong_numbers_are_refused(wrong):
    X = make_low_rank(50, 4, rank=1, random_state=0)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        PPCA(n_components=1).fit(X).drift(X, **wrong)


def test_forgetting_is_weights_that_fade():
    X = make_low_rank(90, 5, rank=2, noise=0.3, random_state=0)
    X[60:] += 2.0
    streamed = PPCA(n_components=2)
    for part in np.split(X, 3):
        streamed.partial_fit(part, forgetting=0.5)
    weighted = PPCA(n_components=2).fit(X, sample_weight=np.repeat([0.25, 0.5, 1.0], 30))
    np.testing.assert_allclose(streamed.mean_, weighted.mean_)
    np.testing.assert_allclose(streamed.get_covariance(), weighted.get_covariance())
    assert streamed.n_samples_ == pytest.approx(52.5)


def test_forgetting_with_a_q_that_is_open():
    X = make_low_rank(400, 6, rank=3, noise=0.2, random_state=0)
    X[:200] = np.random.default_rng(0).standard_normal((200, 6))
    streamed, remembering = PPCA(), PPCA()
    for part in np.split(X, 8):
        streamed.partial_fit(part, forgetting=0.1)
        remembering.partial_fit(part)
    assert streamed.n_components_ == 3 < remembering.n_components_
    with pytest.raises(ValueError, match="forgetting"):
        streamed.partial_fit(X, forgetting=1.5)
