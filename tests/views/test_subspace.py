"""The subspace of several views: whatever a row shows is a part of the whole, and trust divides noise."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.features import Nystroem
from gramian.kernels import RBF
from gramian.latent.gaussian import LatentGaussian
from gramian.solvers.eigh import Eigh
from gramian.views.noise import view_inputs
from gramian.views.specs import training_view
from gramian.views.subspace import ViewPart, ViewSubspace, with_trust
from gramian.views.view import ViewSample, ViewTable
from oracles import naive

RNG = np.random.default_rng(0)
Z = RNG.standard_normal((50, 2))
VIEWS = [Z @ RNG.standard_normal((2, d)) + s * RNG.standard_normal((50, d)) for d, s in ((4, 0.3), (3, 0.5))]
WEIGHTS = np.full(50, 1 / 50)
SCALES = np.array([2.0, 0.5])
SPECS = {"linear": "linear", "kernel": RBF(3.0), "features": Nystroem(RBF(3.0), 20, random_state=0)}


def fitted(spec, q=2):
    views = (training_view(spec, VIEWS[0], WEIGHTS), training_view("linear", VIEWS[1], WEIGHTS))
    sample = ViewSample(ViewTable(views, WEIGHTS, 50.0), SCALES, "dual")
    spectrum = Eigh().solve(sample.operator(), q)
    return sample, sample.subspace(spectrum), LatentGaussian(spectrum.eigenvalues, 0.05, sample.dim)


@pytest.fixture(scope="module", params=list(SPECS))
def model(request):
    return fitted(SPECS[request.param])


def test_linear_views_side_by_side_are_one_scaled_table():
    _, subspace, gaussian = fitted("linear")
    table = np.hstack([c * X for c, X in zip(SCALES, VIEWS)])
    mean, W = naive.ppca(table, 2, noise=0.05)[:2]
    for shown in ([0], [1], [0, 1]):
        seen = np.zeros((50, 2), dtype=bool)
        seen[:, shown] = True
        rows = table.copy()
        rows[:, np.repeat(~seen[0], [4, 3])] = np.nan
        views = [X if v in shown else None for v, X in enumerate(VIEWS)]
        posterior = subspace.posterior(gaussian, views, seen)
        for i in (0, 7):
            expected, covariance = naive.posterior(rows[i], mean, W, 0.05)
            assert_allclose(posterior.mean[i] @ posterior.mean[i], expected @ expected, rtol=1e-7)
            assert_allclose(np.linalg.eigvalsh(posterior.covariance), np.linalg.eigvalsh(covariance), rtol=1e-7)


def test_overlaps_of_the_views_sum_to_the_identity(model):
    _, subspace, _ = model
    assert_allclose(subspace.overlap_of([0, 1]), np.eye(2), atol=1e-8)
    for part in subspace.parts:
        assert_allclose(part.overlap, part.subspace.overlap(), atol=1e-12)
    assert subspace.seen_rank([0, 1]) == 2
    assert subspace.project(VIEWS).overlap is None
    assert_allclose(subspace.project([VIEWS[0], None]).overlap, subspace.parts[0].overlap)


def test_without_maps_it_sees_features_and_kernel_values_as_inputs(model):
    sample, subspace, _ = model
    rows = np.arange(50)
    behind = [view_inputs(view, rows, rows) for view in sample.table.views]
    assert_allclose(subspace.without_maps().project(behind).scores, subspace.project(VIEWS).scores, atol=1e-7)


def test_a_linear_view_decodes_to_inputs_with_its_loadings(model):
    _, subspace, gaussian = model
    part = subspace.parts[1]
    scores = gaussian.decode(np.eye(2))
    loadings = part.loadings(gaussian.gains)
    assert part.invertible
    assert not part.precomputed
    assert_allclose(part.decoded(scores) - part.decoded(np.zeros((1, 2))), loadings.T, atol=1e-10)
    assert_allclose(part.unscaled(scores), scores / SCALES[1])
    nothing = ViewPart.of(part.subspace, 0.0, 3.0)
    assert_allclose(nothing.decoded(scores), np.tile(VIEWS[1].mean(axis=0), (2, 1)), atol=1e-10)


def test_rows_that_show_different_views_are_answered_pattern_by_pattern(model):
    _, subspace, gaussian = model
    seen = np.ones((50, 2), dtype=bool)
    seen[:10, 0], seen[10:15, 1], seen[15] = False, False, False
    found = subspace.posterior(gaussian, VIEWS, seen)
    only = subspace.posterior(gaussian, [None, VIEWS[1][:10]], seen[:10])
    assert_allclose(found.mean[:10], only.mean)
    assert_allclose(found.covariance[3], only.covariance)
    assert_allclose(found.mean[15], 0.0)
    assert_allclose(found.covariance[15], np.eye(2))
    solved = {}
    for _ in range(2):
        again = subspace.posterior(gaussian, VIEWS, seen, solved)
        assert_allclose(again.mean, found.mean)
    assert len(solved) >= 3


def test_trust_divides_the_noise_of_what_is_shown(model):
    _, subspace, gaussian = model
    seen = subspace.project([None, VIEWS[1]])
    half = gaussian.posterior(with_trust(seen, 0.5)).mean
    assert_allclose(half, gaussian.posterior(subspace.trusting(1, 0.5).project([None, VIEWS[1]])).mean)
    # with the gains held, trust τ is the ridge σ²/τ
    gains = gaussian.gains
    expected = (seen.scores * gains) @ np.linalg.inv(seen.overlap * np.outer(gains, gains) + 2 * 0.05 * np.eye(2))
    assert_allclose(half, expected, atol=1e-9)
    assert with_trust(seen, 1.0) is seen
    assert_allclose(
        subspace.posterior(gaussian, VIEWS, np.tile([False, True], (50, 1)), trusts={(1,): 0.5}).mean, half, atol=1e-12
    )


def test_no_view_at_all_is_refused(model):
    with pytest.raises(ValueError, match="at least one"):
        ViewSubspace(model[1].parts).project([None, None])
