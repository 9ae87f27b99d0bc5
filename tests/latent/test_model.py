"""A sample, a count and a noise make a model; what cannot be is said."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import NumericalWarning
from gramian.latent.model import fit_latent_model
from gramian.latent.sample import primal_sample
from gramian.policy import SIZES
from gramian.solvers.eigh import Eigh
from oracles import naive
from oracles.tables import TABLES

X = TABLES["tall"]
SAMPLE = primal_sample(X, np.ones(60))


def test_the_maximum_likelihood_model_is_tipping_and_bishops():
    model = fit_latent_model(SAMPLE, 2, Eigh())
    mean, W, noise, values, _ = naive.ppca(X, 2)
    assert model.gaussian.noise_variance == pytest.approx(noise)
    assert_allclose(model.gaussian.eigenvalues, values)
    loadings = model.subspace.loadings(model.gaussian.gains)
    assert_allclose(loadings @ loadings.T, W @ W.T, atol=1e-9)
    assert_allclose(model.subspace.mean, mean)


class Asked(Eigh):
    """Eigh that notes how many pairs it was asked for."""

    def __init__(self):
        self.counts = []

    def solve(self, operator, n_components, **options):
        self.counts.append(n_components)
        return super().solve(operator, n_components, **options)


def test_an_open_choice_of_a_wide_table_doubles_until_it_is_settled(monkeypatch):
    monkeypatch.setattr("gramian.latent.model.SIZES", replace(SIZES, whole=4))
    wide = primal_sample(np.random.default_rng(0).standard_normal((300, 200)), np.ones(300))
    solver = Asked()
    found = fit_latent_model(wide, 0.8, solver)
    assert solver.counts == [64, 128]
    assert 64 < found.gaussian.n_components < 128
    assert found.gaussian.n_components == fit_latent_model(wide, 0.8, Eigh()).gaussian.n_components


@pytest.mark.parametrize("rule, noise, q", [(0.9, "ml", None), (None, 0.2, None), ("bic", "ml", 2), (None, "ml", 5)])
def test_open_rules_settle_q(rule, noise, q):
    model = fit_latent_model(SAMPLE, rule, Eigh(), noise, weight=60.0)
    values = np.linalg.eigvalsh(naive.covariance(X)[1])[::-1]
    if rule == 0.9:
        q = int((np.cumsum(values) < 0.9 * values.sum()).sum()) + 1
    elif noise == 0.2:
        q = int((values > 0.2).sum())
    assert model.gaussian.n_components == q


@pytest.mark.filterwarnings("ignore:The kept components explain all")
def test_more_components_than_there_can_be_is_an_error_and_than_there_are_a_warning():
    with pytest.raises(ValueError, match="at most 6"):
        fit_latent_model(SAMPLE, 7, Eigh())
    flat = primal_sample(X[:, :2] @ np.arange(8.0).reshape(2, 4), np.ones(60))
    with pytest.warns(NumericalWarning, match="numerical rank 2"):
        assert fit_latent_model(flat, 3, Eigh()).gaussian.n_components == 2
