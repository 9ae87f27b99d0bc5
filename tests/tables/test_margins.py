"""Monotone maps of columns."""

import numpy as np
import pytest

from gramian.tables.margins import IDENTITY, Margins, log_margin, score_margin


@pytest.mark.parametrize("make", [log_margin, score_margin])
def test_maps_are_monotone_come_back_and_keep_mean_and_deviation(make):
    column = np.random.default_rng(0).lognormal(0, 1, 300)
    margin = make(column)
    np.testing.assert_allclose(margin.back(margin.into(column)), column, rtol=1e-9)
    assert (np.diff(margin.into(np.sort(column))) > 0).all()
    assert (np.diff(margin.back(np.linspace(-20, 20, 999))) >= 0).all()
    assert np.isfinite(margin.back(np.array([-50.0, 50.0]))).all()
    assert margin.into(column).mean() == pytest.approx(column.mean())
    assert margin.into(column).std() == pytest.approx(column.std())
    assert np.isnan(margin.into(np.array([np.nan]))).all()


def test_scores_are_normal_scores():
    from scipy.stats import norm, rankdata

    column = np.random.default_rng(1).exponential(1, 101)
    scores = score_margin(column).into(column)
    expected = norm.ppf((rankdata(column) - 0.5) / 101)
    assert np.corrcoef(scores, expected)[0, 1] == pytest.approx(1.0)


def test_zeros_and_rounded_values_come_back_as_such():
    rng = np.random.default_rng(2)
    column = np.r_[np.zeros(60), np.round(rng.lognormal(1, 1, 60))]
    margin = score_margin(column)
    drawn = margin.back(column.mean() + column.std() * rng.standard_normal(5000))
    assert 0.35 < (drawn == 0).mean() < 0.65
    assert drawn.min() >= 0


def test_moments_are_means_of_what_comes_back():
    rng = np.random.default_rng(3)
    margin = log_margin(rng.lognormal(0, 1, 400))
    mean, std = np.array([1.0, 2.0]), np.array([0.5, 1.0])
    m, s = margin.moments(mean, std)
    location, spread = (mean - margin.shift) / margin.scale, std / margin.scale
    np.testing.assert_allclose(m, np.exp(location + spread**2 / 2))
    np.testing.assert_allclose(s, m * np.sqrt(np.expm1(spread**2)), rtol=1e-6)
    low = margin.moments(mean, std, high=1.0)[0]
    assert (low <= 1.0).all()


def test_columns_without_a_law_of_their_own_are_not_touched():
    column = np.random.default_rng(4).lognormal(0, 1, 50)
    X = np.column_stack([column, column])
    margins = Margins((IDENTITY, log_margin(column)), np.zeros(2), np.full(2, np.inf))
    np.testing.assert_array_equal(margins.into(X)[:, 0], column)
    assert margins.own == [1]
    assert log_margin(np.r_[column, 0.0]) is None
    assert score_margin(column[:5]) is None
