"""Held-out predictions over ridges: each is that of a model refitted without its fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian._precision import SEEN
from gramian.evidence.held_out import HeldOut
from gramian.latent.gaussian import LatentGaussian, Projection
from gramian.policy import TARGETS
from gramian.solvers import Eigh
from gramian.targets.path import held_out, kept_spectrum, ridge_predictions, ridges_of_gains
from gramian.views.subspace import N_RIDGES, ridges_up_to
from gramian.views.view import ExplicitView, ViewSample, ViewTable
from oracles import naive

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 4))
Y = X[:, :1] - X[:, 1:2] + 0.3 * RNG.standard_normal((60, 1))
WEIGHTS = np.full(60, 1 / 60)
SCALES = np.array([1.5, 2.0])
NOISE = 0.1
SAMPLE = ViewSample(ViewTable((ExplicitView(X), ExplicitView(Y)), WEIGHTS, 60.0), SCALES, "primal")


def refitted(kept, held, q, ridge):
    """Principal components of the scaled table without the fold, then ridge on what the inputs show."""
    table = np.hstack([SCALES[0] * X, SCALES[1] * Y])
    mean, W = naive.ppca(table[kept], q, noise=NOISE)[:2]
    A = W[:4]
    z = np.linalg.solve(A.T @ A + ridge * np.eye(q), A.T @ (table[held, :4] - mean[:4]).T).T
    return (mean[4:] + z @ W[4:].T) / SCALES[1], np.square(z).sum(axis=1) / len(kept)


def test_every_prediction_is_by_a_model_that_has_not_seen_the_row():
    folds = HeldOut.of(X, 5)
    found = held_out(SAMPLE, [3], Eigh(), folds, noise_variance=NOISE)
    for fold in range(5):
        held, kept = np.flatnonzero(folds.numbers == fold), np.flatnonzero(folds.numbers != fold)
        expected, leverages = refitted(kept, held, 3, found.ridge)
        assert_allclose(found.predictions[held], expected, atol=1e-8)
        assert_allclose(found.leverages[held], leverages, atol=1e-8)
    assert_allclose(found.error, np.mean((Y - found.predictions) ** 2) / Y.var(), rtol=1e-8)


def test_the_ridge_is_the_best_of_the_grid_and_the_noise_where_none_may_be_chosen():
    folds = HeldOut.of(X, 5)
    chosen = held_out(SAMPLE, [3], Eigh(), folds, noise_variance=NOISE)
    fixed = held_out(SAMPLE, [3], Eigh(), folds, noise_variance=NOISE, choose=False)
    assert fixed.ridge == NOISE
    assert chosen.error <= fixed.error + 1e-12
    largest = ridges_up_to(4.0)
    assert_allclose([largest[0], largest[-1], len(largest)], [4.0 * SEEN, 12.0, N_RIDGES])
    assert_allclose(ridges_of_gains(LatentGaussian(np.array([4.1, 1.0]), 0.1, 5.0)), largest)


def test_the_fewest_components_within_one_percent_of_the_least_error_are_taken():
    rng = np.random.default_rng(1)
    plain = rng.standard_normal((200, 4)) * np.array([4.0, 2.0, 1.0, 1.0])
    folds = HeldOut.of(plain, 5)
    taken = set()
    for column, noise in ((0, 8.0), (0, 0.5), (1, 1.0), (3, 0.5)):
        target = plain[:, column : column + 1] + noise * rng.standard_normal((200, 1))
        table = ViewTable((ExplicitView(plain), ExplicitView(target)), np.full(200, 1 / 200), 200.0)
        sample = ViewSample(table, np.array([1.0, 1e-3]), "primal")
        sizes = [1, 2, 3, 4]
        errors = [held_out(sample, [size], Eigh(), folds, noise_variance=0.0).error for size in sizes]
        expected = next(size for size, error in zip(sizes, errors) if error <= TARGETS.improvement * min(errors))
        assert held_out(sample, sizes, Eigh(), folds, noise_variance=0.0).n_components == expected
        taken.add(expected)
    assert len(taken) > 2


def test_robust_choices_do_not_follow_rare_jumps():
    jumpy = Y.copy()
    jumpy[::15] += 60.0
    table = ViewTable((ExplicitView(X), ExplicitView(jumpy)), WEIGHTS, 60.0)
    sample = ViewSample(table, SCALES, "primal")
    folds = HeldOut(np.arange(60) % 5, np.full(5, 12), np.ones(60))
    plain, robust = (held_out(sample, [4], Eigh(), folds, noise_variance=0.0, robust=r) for r in (False, True))
    assert np.abs(jumpy - robust.predictions).mean() <= np.abs(jumpy - plain.predictions).mean()


@pytest.mark.parametrize("overlap", [None, np.diag([0.5, 0.8, 0.0])], ids=["all seen", "a part"])
def test_ridge_predictions_are_the_posterior_where_the_ridge_is_the_noise(overlap):
    gaussian = LatentGaussian(np.array([3.0, 2.0, 1.0]), NOISE, 6.0)
    seen = Projection(RNG.standard_normal((7, 3)), np.ones(7), 4.0, overlap)
    W = RNG.standard_normal((2, 3))
    z = gaussian.posterior(
        Projection(seen.scores, seen.squared_norm, 4.0, np.eye(3) if overlap is None else overlap)
    ).mean
    found, squares = ridge_predictions(gaussian, seen, W, 3, np.array([NOISE, 5.0]))
    assert_allclose(found[0], z @ W.T, atol=1e-12)
    assert_allclose(squares[0], np.square(z).sum(axis=1))
    assert (squares[1] < squares[0]).all()
    nothing, _ = ridge_predictions(gaussian, seen, W, 3, np.array([0.0]))
    assert np.isfinite(nothing).all()


def test_components_of_kept_rows_are_above_the_noise():
    spectrum = kept_spectrum(SAMPLE, 5, Eigh(), 2.0)
    values = np.linalg.eigvalsh(naive.covariance(np.hstack([SCALES[0] * X, SCALES[1] * Y]))[1])[::-1]
    assert_allclose(spectrum.eigenvalues, values[values > 2.0])
