"""The objective: three shares without a scale."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch: pip install 'gramian[deep]'")

from gramian import MultiViewRKM
from gramian.deep.frame import exact_moments, frame_of, principal_axes
from gramian.deep.objective import Completion, shares


def two_views(n=200, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    left = z @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((n, 4))
    right = 7.0 * (z @ rng.standard_normal((2, 3)) + 0.3 * rng.standard_normal((n, 3)))
    return left, right


def complete(features, widths, q=2, seen=None):
    moments = exact_moments(features, widths, seen)
    frame = frame_of(moments, principal_axes(moments.scaled_covariance(), q))
    return frame, Completion(frame, widths, torch.zeros(1, dtype=torch.float64))


def found(left, right, decoders, scale=1.0, seen=None):
    features = np.hstack([scale * left, right])
    _, completion = complete(features, [4, 3], seen=seen)
    rows = [torch.as_tensor(left), torch.as_tensor(right)]
    patterns = [((True, True), None)]
    if seen is not None:
        kinds, inverse = np.unique(seen, axis=0, return_inverse=True)
        patterns = [
            (tuple(bool(b) for b in kind), torch.as_tensor(np.flatnonzero(inverse.ravel() == i)))
            for i, kind in enumerate(kinds)
        ]
    variances = [float(view.var(axis=0).sum()) for view in (left, right)]
    return shares(rows, torch.as_tensor(features), patterns, completion, decoders, variances, cross=True)


def test_the_shares_of_identity_maps_are_those_of_the_linear_model():
    left, right = two_views()
    ours = found(left, right, [torch.nn.Identity(), torch.nn.Identity()])
    views = [left / np.sqrt(left.var(axis=0).sum()), right / np.sqrt(right.var(axis=0).sum())]
    plain = MultiViewRKM(2, noise_variance=0.0).fit(views)
    left_over = plain.residual(views).mean() / 2
    assert float(ours.rkm) == pytest.approx(left_over, rel=1e-9)
    assert float(ours.reconstruction) == pytest.approx(left_over, rel=1e-9)
    ml = MultiViewRKM(2, noise_variance="ml", n_folds=None).fit(views)
    cross = np.mean(
        [
            ((view - ml.predict_view([None if w == v else x for w, x in enumerate(views)], v)) ** 2).sum() / len(view)
            for v, view in enumerate(views)
        ]
    )
    assert float(ours.cross) == pytest.approx(cross, rel=1e-6)


@pytest.mark.parametrize("scale", [10.0, 1e-3])
def test_scaling_one_encoder_and_its_decoder_back_leaves_the_loss(scale):
    left, right = two_views()

    class Back(torch.nn.Module):
        def forward(self, f):
            return f / scale

    plain = found(left, right, [torch.nn.Identity(), torch.nn.Identity()]).loss(0.1, 1.0)
    scaled = found(left, right, [Back(), torch.nn.Identity()], scale=scale).loss(0.1, 1.0)
    assert float(scaled) == pytest.approx(float(plain), rel=1e-6)


def test_turning_the_frame_leaves_the_loss():
    left, right = two_views()
    features = np.hstack([left, right])
    moments = exact_moments(features, [4, 3])
    axes = principal_axes(moments.scaled_covariance(), 2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    answers = []
    for start in (axes, -axes, axes @ turn):
        completion = Completion(frame_of(moments, start), [4, 3], torch.zeros(1, dtype=torch.float64))
        decoders = [torch.nn.Identity(), torch.nn.Identity()]
        rows = [torch.as_tensor(left), torch.as_tensor(right)]
        answers.append(
            shares(
                rows, torch.as_tensor(features), [((True, True), None)], completion, decoders, [1.0, 1.0], True
            ).numbers()
        )
    np.testing.assert_allclose(answers[1], answers[0], rtol=1e-10)
    np.testing.assert_allclose(answers[2], answers[0], rtol=1e-10)


def test_what_a_row_does_not_show_is_not_looked_at():
    left, right = two_views()
    seen = np.ones((len(left), 2), dtype=bool)
    seen[::4, 1] = False
    other = right.copy()
    other[::4] = 1e3
    decoders = [torch.nn.Identity(), torch.nn.Identity()]
    variances = [float(left.var(axis=0).sum()), float(right.var(axis=0).sum())]
    kinds, inverse = np.unique(seen, axis=0, return_inverse=True)
    patterns = [
        (tuple(bool(b) for b in kind), torch.as_tensor(np.flatnonzero(inverse.ravel() == i)))
        for i, kind in enumerate(kinds)
    ]
    answers = []
    for shown in (right, other):
        features = np.hstack([left, shown])
        _, completion = complete(features, [4, 3], seen=seen)
        rows = [torch.as_tensor(left), torch.as_tensor(shown)]
        answers.append(
            shares(rows, torch.as_tensor(features), patterns, completion, decoders, variances, True).numbers()
        )
    np.testing.assert_array_equal(answers[0], answers[1])


def test_the_share_outside_the_frame_has_no_gradient_along_the_scale():
    left, right = two_views()
    factor = torch.ones(1, dtype=torch.float64, requires_grad=True)
    features = torch.cat([factor * torch.as_tensor(left), torch.as_tensor(right)], dim=1)
    _, completion = complete(np.hstack([left, right]), [4, 3])
    rows = [torch.as_tensor(left), torch.as_tensor(right)]
    decoders = [torch.nn.Identity(), torch.nn.Identity()]
    part = shares(rows, features, [((True, True), None)], completion, decoders, [1.0, 1.0], cross=False).rkm
    (slope,) = torch.autograd.grad(part, factor)
    assert abs(float(slope)) < 1e-12
