"""Kernel mixtures: continued eigenpairs are those of the whole decomposition, races keep the objective, the rescue fills empty components."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.datasets import make_c_shapes
from gramian.kernels import RBF
from gramian.mixtures import kernel_component
from gramian.mixtures.kernel_component import DualRows
from gramian.mixtures.kernel_fit import fit_kernel_mixture
from gramian.policy import MIXTURES
from gramian.solvers.eigh import Eigh

OPTIONS = {"tol": 1e-6, "max_iter": 60}


@pytest.fixture(scope="module")
def rows():
    X, _ = make_c_shapes(250, random_state=0)
    return DualRows(RBF(3.0), X, RBF(3.0)(X))


@pytest.fixture(scope="module")
def start(rows):
    return np.random.default_rng(0).dirichlet(np.ones(2), rows.size)


def test_continued_eigenpairs_give_the_mixture_of_whole_decompositions(rows, start, monkeypatch):
    monkeypatch.setattr(kernel_component, "DENSE_ROWS", 10)
    continued = fit_kernel_mixture(rows, [start], np.ones(rows.size), [5, 5], 0.01, **OPTIONS)
    whole = fit_kernel_mixture(rows, [start], np.ones(rows.size), [5, 5], 0.01, solver=Eigh(), **OPTIONS)
    assert (np.diff(continued.log_likelihoods) >= 0).all()
    n = min(len(continued.log_likelihoods), len(whole.log_likelihoods))
    assert_allclose(continued.log_likelihoods[:n], whole.log_likelihoods[:n], rtol=1e-9)
    assert_allclose(continued.responsibilities, whole.responsibilities, atol=1e-5)


@pytest.mark.parametrize("asked", [[3, 3], [0.9, 3]])
def test_the_winner_of_a_race_goes_on_as_if_it_had_been_alone(rows, start, asked):
    other = np.eye(2)[(rows.points[:, 0] > 0).astype(int)]
    ones = np.ones(rows.size)
    alone = [fit_kernel_mixture(rows, [one], ones, asked, 0.01, **OPTIONS) for one in (start, other)]
    raced = fit_kernel_mixture(rows, [start, other], ones, asked, 0.01, **OPTIONS)
    likelier = alone[1].objective > alone[0].objective + MIXTURES.clear_gain
    assert_allclose(raced.objective, alone[int(likelier)].objective, rtol=1e-4)
    assert (np.diff(raced.log_likelihoods) >= -1e-9 * np.abs(raced.log_likelihoods[:-1])).all()


def test_an_empty_component_is_given_half_of_another(rows):
    start = np.zeros((rows.size, 3))
    start[:, :2] = np.eye(2)[(rows.points[:, 0] > 0).astype(int)]
    weights = np.ones(rows.size)
    weights[:1] = 1e-14  # the only row of the third component weighs next to nothing
    start[0] = [0.0, 0.0, 1.0]
    found = fit_kernel_mixture(rows, [start], weights, [2, 2, 2], 0.01, **OPTIONS)
    assert found.n_rescued >= 1
    assert (found.mixing > 0.02).all()
