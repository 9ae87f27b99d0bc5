"""Samples: the same spectrum and subspace from moments, from a table, and through the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.kernels import Linear
from gramian.latent.sample import DualSample, MomentSample, TableSample, primal_sample
from gramian.operators.gram import DenseGram
from gramian.solvers.eigh import Eigh
from oracles import naive
from oracles.tables import TABLES

WEIGHTS = np.random.default_rng(0).integers(1, 4, 60).astype(float)


@pytest.mark.parametrize("name, kind", [("tall", MomentSample), ("wide", TableSample), ("square", MomentSample)])
def test_a_table_goes_by_its_smaller_side(name, kind):
    X = TABLES[name]
    sample = primal_sample(X, np.ones(len(X)))
    assert isinstance(sample, kind)
    found = Eigh().solve(sample.operator(), 2).eigenvalues
    assert_allclose(found, np.linalg.eigvalsh(naive.covariance(X)[1])[::-1][:2], rtol=1e-9)


def test_moments_table_and_kernel_give_the_same_projections():
    X = TABLES["tall"]
    weights = WEIGHTS / WEIGHTS.sum()
    samples = {
        "moments": primal_sample(X, WEIGHTS),
        "table": TableSample(X, weights),
        "dual": DualSample(Linear(), X, DenseGram(X @ X.T), weights, dim=6.0),
    }
    seen = {
        name: sample.subspace(Eigh().solve(sample.operator(), 2)).project(X[:7]) for name, sample in samples.items()
    }
    for name in ("table", "dual"):
        assert_allclose(np.abs(seen[name].scores), np.abs(seen["moments"].scores), atol=1e-8)
        assert_allclose(seen[name].squared_norm, seen["moments"].squared_norm, atol=1e-8)


@pytest.mark.parametrize("center, most", [(True, 11), (False, 12)])
def test_centring_takes_one_direction(center, most):
    assert primal_sample(TABLES["wide"], np.ones(12), center).max_components == most
