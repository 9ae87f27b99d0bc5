"""EM by the holes: the likelihood of PX-EM, the moments of a dense oracle, and the same maximum in fewer steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.latent import hole_em, missing
from gramian.latent.hole_em import block_filled, covariance_of, filled_cells, refit
from gramian.latent.masked_em import Parameters
from gramian.latent.masked_table import Chunk
from gramian.latent.missing import MissingProblem, fit_missing
from gramian.policy import SIZES
from gramian.rows import ArrayRows, as_rows


def table(n=300, d=8, holes=0.2, seed=0):
    rng = np.random.default_rng(seed)
    X = np.cos(rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + rng.uniform(0, 6, d))
    X += 0.1 * rng.standard_normal((n, d))
    X[rng.random(X.shape) < holes] = np.nan
    return X


def filled(problem, point):
    return problem.rows.fold(block_filled, point.mean[0], covariance_of(point))


@pytest.mark.parametrize("holes", [0.05, 0.3, 0.7])
@pytest.mark.parametrize("q", [0, 1, 7])
def test_the_likelihood_is_that_of_the_latents(holes, q):
    X = table(holes=holes)
    X[3] = np.nan  # shows nothing, counts for nothing
    problem = MissingProblem.of(as_rows(X, np.arange(300) % 3 + 0.5))
    start = replace(problem.start(q), noise_variance=np.full(1, 0.1))
    assert_allclose(filled(problem, start).log_likelihood, problem.expectation(start).log_likelihood[0], rtol=1e-12)


def test_the_sums_are_those_of_each_row_conditioned_by_itself():
    X, weights = table(40), np.arange(40) % 3 + 1.0
    problem = MissingProblem.of(ArrayRows(X, weights, block_rows=13))
    start = problem.start(3)
    found = filled(problem, start)
    C, mean = covariance_of(start), start.mean[0]
    first, second = np.zeros(8), np.zeros((8, 8))
    for row, weight in zip((X - problem.shift) / problem.scale - mean, weights):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gain = np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, m)]).T
        row[m] = gain @ row[o]
        first += weight * row
        second += weight * np.outer(row, row)
        second[np.ix_(m, m)] += weight * (C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)])
    assert_allclose(found.first, first, atol=1e-10)
    assert_allclose(found.second, second, atol=1e-10)
    assert found.weight == weights.sum()


def test_the_parts_of_a_chunk_change_no_sum(monkeypatch):
    problem = MissingProblem.of(as_rows(table(700)))
    start = problem.start(3)
    monkeypatch.setattr(hole_em, "SIZES", replace(SIZES, tile=32))  # several parts
    found = filled(problem, start)
    monkeypatch.setattr(hole_em, "SIZES", replace(SIZES, tile=1400))
    whole = filled(problem, start)
    assert_allclose(found.second, whole.second, rtol=1e-12)
    assert_allclose(found.log_likelihood, whole.log_likelihood, rtol=1e-12)


def test_a_step_turns_its_axes_to_those_before():
    problem = MissingProblem.of(as_rows(table()))
    start = problem.start(4)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((4, 4)))[0]
    turned = replace(start, loadings=start.loadings @ turn)
    sums = filled(problem, start)
    assert_allclose(refit(sums, turned, True).loadings, refit(sums, start, True).loadings @ turn, atol=1e-10)


@pytest.mark.parametrize(("center", "noise"), [(True, None), (False, None), (True, 0.2)])
def test_both_ways_end_in_one_maximum_and_the_holes_need_fewer_steps(monkeypatch, center, noise):
    problem = MissingProblem.of(as_rows(table(600, 8) + 0.3), center=center, noise_variance=noise)
    start = problem.start(7)
    assert problem.by_holes(start)
    quick = problem.climb(start, 1e-7, 1000)
    monkeypatch.setattr(MissingProblem, "by_holes", lambda self, start: False)
    slow = problem.climb(start, 1e-7, 1000)
    assert quick.converged
    assert (np.diff(quick.levels) >= 0).all()
    assert_allclose(quick.levels[-1], slow.levels[-1], atol=1e-6 * problem.cells)
    assert_allclose(covariance_of(quick.point), covariance_of(slow.point), atol=2e-3)
    assert quick.n_evaluations < slow.n_evaluations


def test_where_little_noise_is_left_the_latents_take_over():
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 9))
    X = np.where(rng.random(exact.shape) < 0.1, np.nan, exact)
    problem = MissingProblem.of(as_rows(X))
    assert problem.by_holes(problem.start(4))
    fit = fit_missing(X, 4)
    assert fit.converged
    assert fit.noise_variance < 1e-8
    assert (np.diff(fit.log_likelihoods) >= 0).all()


@pytest.mark.parametrize(
    "q, holes, expected", [(2, 0.05, False), (3, 0.05, True), (6, 0.3, True), (6, 0.6, False), (8, 0.05, False)]
)
def test_the_holes_are_taken_where_they_are_few_beside_q(q, holes, expected):
    problem = MissingProblem.of(as_rows(table(holes=holes)))
    point = Parameters(np.zeros((1, 8)), np.zeros((1, 8, q)), np.ones(1))
    assert problem.by_holes(point) == expected
    assert replace(problem, noise_variance=0.1).by_holes(point) == expected
    assert not replace(problem, blocks=np.arange(8)).by_holes(point)


def test_a_fit_that_is_told_where_to_start_races_nothing_and_ends_in_the_same_place(monkeypatch):
    X = table()
    fit = fit_missing(X, 2, tol=1e-9)
    monkeypatch.setattr(missing, "with_random", None)
    again = fit_missing(X, 2, start=fit)
    assert again.n_iter <= 3
    assert_allclose(again.loadings, fit.loadings, atol=1e-4)
    assert_allclose(again.noise_variance, fit.noise_variance, rtol=1e-5)


def nearly_exact(noise, holes=0.1):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 12)) + noise * rng.standard_normal((300, 12))
    return np.where(rng.random(X.shape) < holes, np.nan, X)


@pytest.mark.parametrize("noise", [1e-2, 1e-3, 3e-4])
@pytest.mark.parametrize("holes", [0.1, 0.7])
def test_with_little_noise_the_likelihood_is_still_that_of_the_latents(noise, holes):
    problem = MissingProblem.of(as_rows(nearly_exact(noise, holes)))
    start = replace(problem.start(3), noise_variance=np.full(1, (noise / problem.scale) ** 2))
    by_holes, by_latents = filled(problem, start).log_likelihood, problem.expectation(start).log_likelihood[0]
    assert_allclose(by_holes, by_latents, rtol=1e-7)


def test_columns_that_nearly_determine_each_other_go_by_the_holes():
    problem = MissingProblem.of(as_rows(nearly_exact(1e-3)))
    start = problem.climb(problem.start(3), 1e-6, 1000).point
    start = replace(start, loadings=np.pad(start.loadings, ((0, 0), (0, 0), (0, 5))))
    assert start.noise_variance[0] < 1e-6
    assert problem.by_holes(start)


def test_rows_that_show_little_are_filled_as_any_row_is():
    X = table(200, 10, holes=0.7, seed=1)
    X[0, :] = np.nan
    chunk = Chunk.of(X.copy())
    W = np.random.default_rng(2).standard_normal((10, 4))
    C, mean = W @ W.T + 0.1 * np.eye(10), np.linspace(-1, 1, 10)
    residuals, variances = filled_cells(chunk, mean, C)
    for row, found, spread in zip(X, residuals, variances):
        o, m = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gain = np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, m)]).T
        assert_allclose(found[o], row[o] - mean[o], atol=1e-12)
        assert_allclose(found[m], gain @ (row[o] - mean[o]), atol=1e-10)
        assert_allclose(spread[m], np.diag(C[np.ix_(m, m)] - gain @ C[np.ix_(o, m)]), atol=1e-10)
        assert_allclose(spread[o], 0.0, atol=1e-10)
