"""The frame: running moments, and three ways to keep their principal axes."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian.deep.frame import FRAMES, CayleyAdam, RunningMoments, as_frame, exact_moments, frame_of, principal_axes
from gramian.operators.moments import Moments


def features(n=512, seed=0):
    """Features with a gap after three components, far from the origin."""
    rng = np.random.default_rng(seed)
    scale = np.array([3.0, 2.5, 2.0, *([0.3] * 9)])
    turn = np.linalg.qr(rng.standard_normal((12, 12)))[0]
    return (rng.standard_normal((n, 12)) * scale) @ turn + 5.0


def lost(C, axes, q=3):
    """The share of the leading variance that the axes miss."""
    best = np.linalg.eigvalsh(C)[::-1][:q].sum()
    return 1 - np.trace(axes.T @ C @ axes) / best


def epochs(F, batch, n_epochs, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(n_epochs):
        order = rng.permutation(len(F))
        for start in range(0, len(F), batch):
            yield F[order[start : start + batch]]


def test_moments_without_forgetting_are_the_exact_merge():
    F = features()
    running = RunningMoments([12], forgetting=1.0)
    for batch in epochs(F, 100, 1):
        running.update(batch)
    truth = Moments.of(F)
    np.testing.assert_allclose(running.mean, truth.mean, rtol=1e-12)
    np.testing.assert_allclose(running.covariance, truth.covariance(), rtol=1e-10, atol=1e-12)


def test_rows_that_miss_a_view_add_what_they_show():
    F = features()
    seen = np.ones((len(F), 2), dtype=bool)
    seen[::3, 1] = False
    hidden = F.copy()
    hidden[::3, 7:] = 1e6  # must not be looked at
    moments = exact_moments(hidden, [7, 5], seen)
    shown = F[seen[:, 1]]
    np.testing.assert_allclose(moments.mean[:7], F[:, :7].mean(axis=0))
    np.testing.assert_allclose(moments.mean[7:], shown[:, 7:].mean(axis=0))
    np.testing.assert_allclose(moments.covariance[7:, 7:], np.cov(shown[:, 7:].T, bias=True))
    np.testing.assert_allclose(moments.covariance[:7, :7], np.cov(F[:, :7].T, bias=True))


def test_the_running_covariance_ends_in_the_exact_subspace():
    F = features()
    running = RunningMoments([12])
    for batch in epochs(F, 64, 20):
        running.update(batch)
    exact = exact_moments(F, [12]).scaled_covariance()
    assert lost(exact, principal_axes(running.scaled_covariance(), 3)) < 1e-4


@pytest.mark.parametrize("batch", [512, 64], ids=["full batch", "batches of 64"])
def test_a_rotated_stiefel_frame_is_the_eigendecomposition(batch):
    F = features()
    running, way = RunningMoments([12]), CayleyAdam(3)
    steps = list(epochs(F, batch, 300 if batch == 512 else 60))
    for i, rows in enumerate(steps):
        running.update(rows)
        way.step(running.scaled_covariance(), 1.0 - i / len(steps))
    exact = exact_moments(F, [12])
    found = frame_of(exact, way.axes).eigenvalues
    truth = np.linalg.eigvalsh(exact.scaled_covariance())[::-1][:3]
    assert np.abs(found - truth).max() < 1e-4 * truth[0]


def test_power_iteration_follows_the_eigenvectors():
    C = exact_moments(features(), [12]).scaled_covariance()
    way = FRAMES["power"](3)
    start = np.linalg.qr(np.random.default_rng(3).standard_normal((12, 3)))[0]
    way.restore({"axes": start})
    for _ in range(30):
        axes = way.step(C)
    assert lost(C, axes) < 1e-10


def test_cayley_adam_ends_where_geoopt_ends():
    geoopt = pytest.importorskip("geoopt", reason="geoopt is a test oracle only")
    import torch

    C = exact_moments(features(), [12]).scaled_covariance()
    n_steps = 400
    way = CayleyAdam(3)
    for i in range(n_steps):
        way.step(C, 1.0 - i / n_steps)
    start = CayleyAdam(3)
    start.step(C, 1e-12)
    matrix = torch.as_tensor(C)
    point = geoopt.ManifoldParameter(torch.as_tensor(start.axes.copy()), manifold=geoopt.Stiefel())
    optimiser = geoopt.optim.RiemannianAdam([point], lr=0.05)
    for i in range(n_steps):
        optimiser.param_groups[0]["lr"] = 0.05 * (1.0 - i / n_steps)
        optimiser.zero_grad()
        (-0.5 * torch.trace(point.T @ matrix @ point)).backward()
        optimiser.step()
    ours = np.trace(way.axes.T @ C @ way.axes)
    theirs = np.trace(point.detach().numpy().T @ C @ point.detach().numpy())
    assert abs(ours - theirs) < 1e-3 * theirs


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_goes_on_from_its_state(name):
    F = features()
    moments = exact_moments(F[:100], [12])
    one, other = FRAMES[name](3), FRAMES[name](3)
    for _ in range(3):
        one.step(moments.scaled_covariance(), 0.5)
    other.restore(one.state())
    later = exact_moments(F, [12]).scaled_covariance()
    np.testing.assert_array_equal(one.step(later, 0.5), other.step(later, 0.5))


def test_the_frame_is_decomposed_up_to_128_features_and_iterated_beyond():
    assert type(as_frame("auto", 128, 2)) is FRAMES["eigh"]
    assert type(as_frame("auto", 129, 2)) is FRAMES["power"]
    with pytest.raises(ValueError, match="frame='qr'"):
        as_frame("qr", 10, 2)
