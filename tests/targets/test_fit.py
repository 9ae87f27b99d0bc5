"""Fitting a target model: what it is given decides the path, held-out rows decide trust and deviations."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.evidence.held_out import HeldOut
from gramian.evidence.limits import calibrated_std, less_optimistic
from gramian.policy import SIZES, TARGETS
from gramian.solvers import Eigh
from gramian.targets import fit as target_fit
from gramian.targets.fit import fit_target, single_view
from gramian.views.noise import fit_view_noises
from gramian.views.view import ExplicitView, ViewSample, ViewTable

RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 6)) * np.array([3, 2, 1, 1, 0.5, 0.5])
OTHER = RNG.standard_normal((90, 3))
Y = X[:, :1] + X[:, 4:5] + 0.4 * RNG.standard_normal((90, 1))
WEIGHTS = np.full(90, 1 / 90)


def table_of(*inputs):
    return ViewTable((*(ExplicitView(view) for view in inputs), ExplicitView(Y)), WEIGHTS, 90.0)


def fitted(table, q=4, **options):
    settings = {"noise_variance": "per-view", "view_weights": 1.0 / table.traces, "folds": HeldOut.of(X, 5)} | options
    return fit_target(table, q, Eigh(), "primal", **settings)


def test_trust_is_the_held_out_ridge_for_all_rows():
    for model in (fitted(table_of(X)), fitted(table_of(X, OTHER))):
        for part in model.model.subspace.parts[:-1]:
            assert_allclose(part.trust, 1.0 / (0.8 * model.held_out.ridge))
        assert model.model.subspace.parts[-1].trust == 1.0


def test_deviations_are_calibrated_on_held_out_residuals():
    model = fitted(table_of(X))
    residuals = Y - model.held_out.predictions
    expected = less_optimistic(calibrated_std(residuals, model.held_out.leverages, WEIGHTS, 90.0), 90.0)
    assert_allclose(model.std, expected)


def test_the_noise_of_the_target_is_at_least_its_held_out_error():
    model = fitted(table_of(X))
    # an interpolating fit would have driven it to zero
    free = fit_view_noises(table_of(X), 4, Eigh(), "primal").noise_variances
    assert model.noise_variances[-1] >= 0.9 * np.mean((Y - model.held_out.predictions) ** 2)
    assert model.noise_variances[-1] >= free[-1] * (1 - 1e-6)


def test_where_nothing_is_held_out_the_target_keeps_some_noise_and_the_model_says_what_to_expect():
    table = table_of(X)
    model = fitted(table, 6, folds=None)
    assert model.held_out is None
    assert model.noise_variances[-1] >= TARGETS.unchecked * table.traces[-1] * (1 - 1e-9)
    assert_allclose(model.std, np.sqrt(model.usual_spread + model.noise_variances[-1]))
    assert model.model.subspace.parts[0].trust == 1.0


def test_a_noise_that_is_given_is_taken_at_its_word():
    model = fitted(table_of(X), noise_variance=0.01)
    assert model.gaussian.noise_variance == 0.01
    assert model.model.subspace.parts[0].trust == 1.0
    assert model.held_out.ridge == 0.01


def test_a_fraction_grows_while_held_out_error_falls():
    table = table_of(X)
    found = fitted(table, 0.7, view_weights=np.array([1.0, 1e-3]))
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    fewest = int(np.searchsorted(np.cumsum(values) / values.sum(), 0.7)) + 1
    assert found.gaussian.n_components > fewest  # the target needs the fifth column, of little variance
    assert found.held_out.error < 0.1


def test_one_input_view_takes_the_quick_path_where_it_varies_and_is_small(monkeypatch):
    table = table_of(X)
    sample = ViewSample(table, np.ones(2), "primal")
    assert single_view(sample)
    assert not single_view(ViewSample(table_of(X, OTHER), np.ones(3), "primal"))
    constant = ViewTable((ExplicitView(np.ones((90, 2))), ExplicitView(Y)), WEIGHTS, 90.0)
    assert not single_view(ViewSample(constant, np.ones(2), "primal"))
    monkeypatch.setattr(target_fit, "SIZES", replace(SIZES, stored=5))
    assert not single_view(sample)


def test_local_errors_follow_the_inputs_only_where_asked():
    noisy = X[:, :1] + np.where(X[:, :1] > 0, 2.0, 0.05) * RNG.standard_normal((90, 1))
    table = ViewTable((ExplicitView(X), ExplicitView(noisy)), WEIGHTS, 90.0)
    assert fitted(table).spread is None
    model = fitted(table, local=True)
    assert model.spread is not None
    _, std = model.law([np.array([[3.0, 0, 0, 0, 0, 0], [-3.0, 0, 0, 0, 0, 0]])])
    assert std[0, 0] > 1.5 * std[1, 0]


@pytest.mark.parametrize("q", [1, 3])
def test_a_count_is_taken_as_asked(q):
    assert fitted(table_of(X), q).gaussian.n_components <= q
