"""Mixtures: q and K by held-out rows and hidden cells, right on data whose structure is known."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from gramian._content import content_folds
from gramian.evidence.held_out import HeldOut, Part
from gramian.kernels import RBF
from gramian.mixtures import choice as mixtures
from gramian.mixtures.choice import (
    MixtureFamily,
    choose_clusters,
    choose_kernel_latents,
    choose_latents,
    latents_given,
)
from gramian.policy import LOOK, MIXTURES


def clusters(n=400, d=6, K=2, q=2, seed=0, apart=6.0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % K
    X = 0.3 * rng.standard_normal((n, d))
    for k in range(K):
        rows = labels == k
        X[rows] += 2.0 * rng.standard_normal((rows.sum(), q)) @ np.linalg.qr(rng.standard_normal((d, q)))[0].T
        X[rows] += apart * rng.standard_normal(d)
    return X, labels


@pytest.mark.parametrize("q", [0, 1, 2])
@pytest.mark.parametrize("share", [0.0, 0.2], ids=["complete", "holes"])
def test_the_true_number_of_latents_is_found(q, share):
    X, _ = clusters(q=q)
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    found = choose_latents(X, np.ones(len(X)), 2, False, np.random.default_rng(0))
    assert found.chosen == q
    assert found.candidates[0] == 0


def test_scores_are_held_out_densities_of_the_explicit_mixture():
    X, labels = clusters(n=90, d=3, q=1)
    X = X / X.std()
    shares = np.eye(2)[labels]
    fold = content_folds(X, 5)[1]
    found = latents_given(X, np.ones(90), shares)
    level = 0.0
    for f in range(5):
        terms = []
        for k in range(2):
            rows = X[(fold != f) & (labels == k)]
            values, vectors = np.linalg.eigh(np.cov(rows.T, bias=True))
            noise = values[:2].mean()
            W = vectors[:, 2:] * np.sqrt(values[2] - noise)
            density = multivariate_normal(rows.mean(axis=0), W @ W.T + noise * np.eye(3))
            terms.append(np.log(len(rows) / (fold != f).sum()) + density.logpdf(X[fold == f]))
        level += logsumexp(terms, axis=0).sum() / 90
    assert_allclose(-found.evidence.rows()[1].mean(), level, rtol=1e-9)


def test_wide_tables_are_scored_by_their_leading_axes_until_the_best_is_passed(monkeypatch):
    X, labels = clusters(n=200, d=40, q=3)
    every = latents_given(X, np.ones(200), np.eye(2)[labels])
    monkeypatch.setattr(mixtures, "WHOLE", 8)
    some = latents_given(X, np.ones(200), np.eye(2)[labels])
    assert some.chosen == every.chosen == 3
    assert len(some.candidates) < len(every.candidates)
    assert_allclose(some.scores, every.scores[: len(some.scores)], rtol=1e-9)


def test_repeated_rows_and_their_order_do_not_matter():
    X, _ = clusters(n=120)
    weights = np.random.default_rng(0).integers(1, 4, 120)
    order = np.random.default_rng(1).permutation(int(weights.sum()))
    one = choose_latents(X, weights.astype(float), 2, False, np.random.default_rng(0))
    other = choose_latents(
        np.repeat(X, weights, axis=0)[order], np.ones(len(order)), 2, False, np.random.default_rng(0)
    )
    assert_allclose(one.scores, other.scores, rtol=1e-6)


def test_too_few_rows_make_spheres_and_say_so():
    X = np.random.default_rng(0).standard_normal((9, 3))
    found = choose_latents(X, np.ones(9), 2, False, np.random.default_rng(0))
    assert found.chosen == 0
    assert "too few" in found.reason
    assert choose_clusters(X, np.ones(9), None, False).chosen["n_clusters"] == 1


@pytest.mark.parametrize("K", [1, 3])
def test_the_true_number_of_clusters_is_found(K):
    X, _ = clusters(n=240, K=K, q=1)
    found = choose_clusters(X, np.ones(240), 1, False)
    assert found.chosen == {"n_clusters": K}
    assert [candidate["n_clusters"] for candidate in found.candidates] == list(range(1, len(found.candidates) + 1))
    assert K < len(found.candidates) <= MIXTURES.most


def test_a_row_between_the_clusters_costs_no_more_than_one_that_they_do_not_explain():
    X, _ = clusters(q=1)
    X[-1] = X.mean(axis=0)
    held = np.arange(300, 400)
    path = MixtureFamily(X, np.ones(400), 1, False, np.random.default_rng(0)).path(Part(0, np.arange(300), held))
    alone, two = path.losses(held, [{"n_clusters": 1}, {"n_clusters": 2}])
    most = np.log(300 / MIXTURES.fewest)
    assert (two <= alone + most + 1e-9).all()
    assert_allclose(two[-1], alone[-1] + most, atol=1e-6)
    assert two[:-1].mean() < alone[:-1].mean() - 1


@pytest.mark.parametrize(("n", "d"), [(60, 3), (150, 5), (300, 20)])
def test_one_gaussian_is_one_cluster(n, d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (rng.standard_normal((d, d)) * np.geomspace(1.0, 0.1, d))
    assert choose_clusters(X, np.ones(n), None, False).chosen == {"n_clusters": 1}


def test_latents_of_a_kernel_mixture_are_those_that_held_out_rows_call_for():
    rng = np.random.default_rng(0)
    line = np.linspace(0.0, 6.0, 120)
    X = np.column_stack([line, 0.02 * rng.standard_normal(120)])
    curved = choose_kernel_latents(RBF(1.0)(X), np.ones(120), np.ones((120, 1)), HeldOut.of(X), 0.01)
    flat = choose_kernel_latents(RBF(50.0)(X), np.ones(120), np.ones((120, 1)), HeldOut.of(X), 0.01)
    assert curved.chosen >= 4
    assert flat.chosen <= 1


@pytest.mark.parametrize(("draws_differ_by", "fits_beyond"), [(0.1, 1), (9.0, 3)])
def test_with_holes_the_first_large_q_that_does_worse_ends_the_search(monkeypatch, draws_differ_by, fits_beyond):
    """The largest candidates cost most: one beyond the best is enough, and one draw of it where it is worse by more than draws differ."""
    X = np.random.default_rng(0).standard_normal((60, 16))
    X[::3, 0] = np.nan
    fits = []

    def fitted(table, asked, *args, **kwargs):
        fits.append(asked[0])
        return asked[0]

    def score(X, values, hidden, weights, q):
        return -abs(q - 6.0) - draws_differ_by * (len(fits) % LOOK.draws)

    monkeypatch.setattr(mixtures, "fit_mixture", fitted)
    monkeypatch.setattr(mixtures, "_hidden_score", score)
    found = choose_latents(X, np.ones(60), 2, False, np.random.default_rng(0))
    assert found.chosen == 6  # of 0, 1, 2, 3, 4, 6, 9, 14, 15
    assert [fits.count(q) for q in (6, 9, 13)] == [LOOK.draws, fits_beyond, 0]
