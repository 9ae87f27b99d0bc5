"""q and noise by hidden cells: fits that are only compared may be loose."""

import numpy as np
import pytest

from gramian.evidence import cells
from gramian.evidence.cell_choice import (
    choose_by_cells,
    choose_noise_by_cells,
    rows_within,
    takes_for_exact,
    with_column_noises,
    worth_it,
)
from gramian.evidence.cells import STANDS_OUT, standing_out
from gramian.evidence.selection import choose
from gramian.latent.missing import MissingFit, fit_missing
from gramian.policy import FILLING


def table(kind, n=150):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, 3))
    W = rng.standard_normal((3, 8))
    X = Z @ W if kind == "straight" else np.cos(Z @ W + rng.uniform(0, 6, 8))
    X = X + 0.3 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.15] = np.nan
    return X


@pytest.mark.parametrize("kind", ["straight", "curved"])
def test_fits_to_the_end_choose_the_same_q(monkeypatch, kind):
    X = table(kind)
    loose = choose_by_cells(X, np.ones(len(X)), 8).selection
    monkeypatch.setattr(cells, "LOOSE", 1e-8)
    monkeypatch.setattr(cells, "LOOSE_STEPS", 500)
    tight = choose_by_cells(X, np.ones(len(X)), 8).selection
    assert loose.chosen == tight.chosen
    np.testing.assert_allclose(loose.scores[:3], tight.scores[:3], rtol=0.02)


def test_the_noise_that_hidden_cells_prefer_is_that_of_fits_to_the_end(monkeypatch):
    X = table("curved")
    loose = choose_noise_by_cells(X, np.ones(len(X)), 7).selection
    monkeypatch.setattr(cells, "LOOSE", 1e-8)
    monkeypatch.setattr(cells, "NOISE_STEPS", 500)
    tight = choose_noise_by_cells(X, np.ones(len(X)), 7).selection
    assert loose.chosen["noise_variance"] == tight.chosen["noise_variance"]
    np.testing.assert_allclose(loose.scores[:2], tight.scores[:2], rtol=0.01)
    noises = [candidate["noise_variance"] for candidate in loose.candidates[1:]]
    assert noises == sorted(noises, reverse=True)
    counts = [candidate["n_components"] for candidate in loose.candidates[1:]]
    assert counts == sorted(counts)


def test_components_that_do_not_stand_out_of_the_noise_are_none():
    X = table("straight")
    noise = 0.5 * float(np.nanvar(X, axis=0).mean())
    fit = fit_missing(X, 7, noise_variance=noise)
    kept = standing_out(fit)
    assert kept.loadings.shape[1] <= 3
    lengths = np.square(fit.loadings).sum(axis=0)
    assert (lengths[kept.loadings.shape[1] :] <= STANDS_OUT * noise).all()


def test_columns_that_determine_each_other_are_left_no_noise():
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((120, 3)) * [1.0, 0.1, 0.01] @ rng.standard_normal((3, 6))
    X = np.where(rng.random(exact.shape) < 0.1, np.nan, exact)
    assert choose_noise_by_cells(X, np.ones(120), 5).selection.chosen == 3


def test_no_draw_hides_more_than_half_of_a_column_or_its_last_three_cells_or_the_last_of_a_row():
    X = np.random.default_rng(0).standard_normal((60, 6))
    X[4:, 0] = np.nan
    X[:, 1] = np.nan
    X[:2, 1] = 1.0
    for number in range(20):
        hidden = cells.hidden_cells(X, number, share=0.9)
        left = (~np.isnan(X) & ~hidden).sum(axis=0)
        seen = (~np.isnan(X)).sum(axis=0)
        assert (left >= np.minimum(seen, np.maximum(3, (seen + 1) // 2))).all()
        assert (~np.isnan(X) & ~hidden).any(axis=1).all()


def test_a_draw_hides_about_a_tenth_of_the_cells_and_draws_differ():
    X = np.random.default_rng(1).standard_normal((200, 8))
    first, second = (draw.hidden for draw in cells.hidden_draws(X, 2))
    assert 0.07 < first.mean() < 0.13
    assert (first & second).mean() < 0.03


def test_a_noise_of_each_column_is_taken_where_noises_differ_and_not_where_they_are_one():
    rng = np.random.default_rng(2)
    signal = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 12))
    for noises, kind in ((np.geomspace(0.2, 4.0, 12), str), (1.0, float)):
        X = signal + noises * rng.standard_normal(signal.shape)
        plain = choose_noise_by_cells(X, np.ones(300), 11)
        found = with_column_noises(plain, X, np.ones(300), 11)
        assert isinstance(found.selection.chosen["noise_variance"], kind)
        assert found.selection.candidates[: len(plain.selection.candidates)] == plain.selection.candidates
        assert found.said(found.selection.chosen) is not None
        if kind is float:
            assert found.selection.chosen == plain.selection.chosen


def test_a_column_with_next_to_no_noise_of_its_own_is_taken_for_exact():
    loadings = np.array([[1.0], [2.0], [0.0]])
    for noises, exact in (([0.1, 0.1, 0.1], False), ([0.1, 3e-6, 0.1], True), ([0.1, 5e-6, 1e-9], False)):
        model = MissingFit(np.zeros(3), loadings, np.array(noises), [], 0, True)
        assert takes_for_exact(model) is exact


@pytest.mark.parametrize("shape", [(64, 6830), (2000, 240), (5000, 30), (300, 20_000)])
def test_the_work_of_a_noise_is_bounded_whatever_the_width(shape):
    n, d = shape
    rows = rows_within(n, d, min(n, d) - 1)
    assert (
        rows * d * min(rows, d) <= 1.01 * FILLING.noise_work or rows == 38
    )  # at 20,000 columns: the square root of what is left
    assert rows <= min(n, 2000)


def test_the_simplest_candidate_that_is_next_to_as_good_is_worth_it():
    errors = [[-1.0, -0.502, -0.5], [-1.0, -0.503, -0.5]]
    assert choose([0, 1, 2], errors).chosen == 2
    assert worth_it(choose([0, 1, 2], errors)).chosen == 1
    assert worth_it(choose([0, 1, 2], [[-1.0, -0.8, -0.5]] * 2)).chosen == 2
