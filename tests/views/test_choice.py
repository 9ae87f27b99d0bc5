"""q and trusts of views by what held-out rows say."""

import numpy as np
import pytest

from gramian._content import content_folds
from gramian.solvers import Eigh
from gramian.views.choice import choose_by_rows, choose_ridge, choose_view_components, from_all_others
from gramian.views.folds import FoldedViews
from gramian.views.view import ExplicitView, ViewTable


def folds_of(views, most=6):
    n = len(views[0])
    table = ViewTable(tuple(ExplicitView(X) for X in views), np.full(n, 1 / n), float(n))
    return FoldedViews.of(table, content_folds(np.hstack(views), 5)[1]).folds(np.ones(len(views)), most, Eigh())


def made(n=200, shared=2, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, shared))
    return [z @ rng.standard_normal((shared, d)) + noise * rng.standard_normal((n, d)) for d in (6, 5)]


@pytest.mark.parametrize("noise", [None, 0.0], ids=["estimated", "none: AC"])
def test_the_number_of_shared_factors_is_found(noise):
    selection = choose_view_components(folds_of(made()), noise_variance=noise)
    assert selection.chosen == 2
    assert "error of held-out views" in selection.reason
    assert choose_by_rows(folds_of(made())) == 2


def test_every_view_is_asked_from_all_others():
    assert from_all_others(3) == [((1, 2), 0), ((0, 2), 1), ((0, 1), 2)]


def test_unrelated_views_take_one_component_and_no_trust():
    rng = np.random.default_rng(1)
    folds = folds_of([rng.standard_normal((80, 4)), rng.standard_normal((80, 3))])
    assert choose_view_components(folds).chosen == 1
    assert choose_ridge(folds, ((0,), 1), 2, 0.5) == float("inf")


def test_related_views_are_trusted_and_the_more_the_less_noise_they_have():
    ridges = [choose_ridge(folds_of(made(noise=noise), 2), ((0,), 1), 2, 0.01) for noise in (0.05, 1.0)]
    assert ridges[0] < ridges[1] < float("inf")


def test_of_ridges_nearly_as_good_the_largest_is_taken(monkeypatch):
    folds = folds_of(made(n=30, noise=1.5, seed=3), 2)
    monkeypatch.setattr("gramian.views.choice.SAFE_RIDGE", 0.0)
    best = choose_ridge(folds, ((0,), 1), 2, 0.01)
    monkeypatch.undo()
    ridge = choose_ridge(folds, ((0,), 1), 2, 0.01)
    assert best < ridge < float("inf")
    ridges = np.array([best, ridge])
    errors = np.array([fold.errors(((0,), 1), 2, ridges, 0.01) for fold in folds])
    gap = errors[:, 1] - errors[:, 0]
    assert 0 < gap.mean() < 0.6 * gap.std(ddof=1) / np.sqrt(len(gap))
