"""Control limits: p-values that hold for new rows, at small n and where too many components were kept."""

import numpy as np
import pytest
from scipy import stats

from gramian import PPCA
from gramian.evidence.few_rows import held_out_distance
from gramian.latent.anomaly import ChiSquared, FRatio, spe_law, t2_law
from gramian.latent.gaussian import LatentGaussian
from gramian.policy import LOOK


def draw(n, d, q, rng):
    W = 2 * rng.standard_normal((d, q))
    return [rng.standard_normal((rows, q)) @ W.T + rng.standard_normal((rows, d)) for rows in (n, 400)]


@pytest.mark.parametrize(
    "n, d, q, kept", [(20, 10, 3, 3), (20, 10, 3, 6), (20, 5, 2, 4), (40, 10, 3, 3), (100, 10, 3, 3)]
)
def test_at_most_two_per_cent_of_new_rows_are_below_a_p_value_of_one(n, d, q, kept):
    rng = np.random.default_rng(n + d + kept)
    spe, t2 = [], []
    for _ in range(80):
        X, new = draw(n, d, q, rng)
        found = PPCA(kept).fit(X).anomaly(new)
        spe.append((found.p_spe < 0.01).mean())
        t2.append((found.p_t2 < 0.01).mean())
    assert 0.003 < np.mean(spe) < 0.02
    assert np.mean(t2) < 0.02


def test_held_out_distance_is_that_of_models_without_the_fold():
    rng = np.random.default_rng(0)
    X, _ = draw(30, 6, 2, rng)
    from gramian._content import content_folds

    _, fold = content_folds(X, 2 * LOOK.folds)
    expected = np.concatenate([PPCA(2).fit(X[fold != f]).residual(X[fold == f]) for f in range(2 * LOOK.folds)]).mean()
    assert held_out_distance(X, np.ones(30), 2) == pytest.approx(expected, rel=1e-9)
    assert held_out_distance(X[:2], np.ones(2), 1) is None
    weights = np.arange(30) % 3 + 1.0
    repeated = np.repeat(X, weights.astype(int), axis=0)
    assert held_out_distance(X, weights, 2) == pytest.approx(held_out_distance(repeated, np.ones(len(repeated)), 2))


def test_laws_are_those_of_the_theory_page():
    gaussian = LatentGaussian(np.array([4.0, 2.0]), 0.5, 7.0)
    law, scale = spe_law(gaussian, 7, 50.0, None, "flat")
    correction = 50 / 47 * (1 + 3 / 50)
    assert scale == pytest.approx(0.5 * correction * 5)
    assert law.sf(1.7) == pytest.approx(stats.f(5, 47 * 5).sf(1.7))
    held_scale = spe_law(gaussian, 7, 50.0, None, "flat", held_out=5.0)[1]
    assert held_scale == pytest.approx(5.0)
    law, scale = t2_law(2, 50.0)
    assert scale == pytest.approx(2 * 51 / 48)
    assert law.sf(3.0) == pytest.approx(stats.f(2, 48).sf(3.0))


def test_a_tail_whose_cubes_overflow_is_left_out_in_silence():
    X = np.random.default_rng(0).standard_normal((50, 3)) * 1e120
    model = PPCA(1).fit(X)
    assert np.isfinite(model.score(X))
    assert model.anomaly(X).p_spe.shape == (50,)
    with pytest.raises(ValueError, match="discarded spectrum"):
        model.anomaly(X, limits="box")


@pytest.mark.parametrize("freedom", [1e-9, 0.5, 1, 7, 400.0])
def test_laws_are_those_of_scipy(freedom):
    x, levels = np.array([-1.0, 0.0, 1e-300, 0.3, 2.0, 50.0, 1e6]), (0.01, 0.5, 0.99, 1 - 1e-9)
    for ours, theirs in (
        (ChiSquared(freedom), stats.chi2(freedom)),
        (FRatio(freedom, 12.0), stats.f(freedom, 12.0)),
        (FRatio(np.array([freedom, 3.0])[:, None], 300.0), stats.f(np.array([freedom, 3.0])[:, None], 300.0)),
    ):
        np.testing.assert_allclose(ours.sf(x), theirs.sf(x), rtol=1e-12)
        for level in levels:
            np.testing.assert_allclose(ours.ppf(level), theirs.ppf(level), rtol=1e-9)
