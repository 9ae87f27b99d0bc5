"""Rows with holes of a mixture: the E-step is the density of what each row shows, the start rests on what components show."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from gramian import PPCAMixture
from gramian.latent.masked_em import Parameters
from gramian.latent.masked_table import masked_chunk
from gramian.mixtures import holes as mixture_holes
from gramian.mixtures.holes import HoleView, hole_sums, seen_columns
from gramian.mixtures.mixture import climb, nonempty
from gramian.mixtures.ppca_fit import gaussian_rows
from gramian.mixtures.rows import MixtureTable
from gramian.mixtures.start import Given
from gramian.policy import DEFAULTS
from gramian.rows import Block
from oracles import naive
from oracles.tables import TABLES, with_holes

X = with_holes(TABLES["tall"], 0.3)
RNG = np.random.default_rng(0)
START = nonempty(RNG.dirichlet(np.ones(2), len(X)))
WEIGHTS = RNG.uniform(0.5, 2.0, len(X))
MIXING = np.array([0.3, 0.7])


@pytest.fixture(scope="module")
def parameters():
    return Parameters(RNG.standard_normal((2, 6)), RNG.standard_normal((2, 6, 2)), np.array([0.5, 0.2]))


@pytest.fixture(scope="module")
def block():
    whole = Block(X, WEIGHTS)
    return Block(X, WEIGHTS, prepared=masked_chunk(whole, np.zeros(6), 1.0))


def textbook_terms(parameters):
    parts = zip(parameters.mean, parameters.loadings, parameters.noise_variance, MIXING)
    return np.column_stack([np.log(m) + naive.log_density(X, mu, W, s) for mu, W, s, m in parts])


def test_the_e_step_is_the_density_of_what_each_row_shows(parameters, block):
    terms = textbook_terms(parameters)
    sums = hole_sums(block, parameters, MIXING)
    shares = np.exp(terms - logsumexp(terms, axis=1, keepdims=True))
    assert_allclose(sums.level, WEIGHTS @ logsumexp(terms, axis=1))
    assert_allclose(sums.statistics.totals[-1], WEIGHTS @ shares)
    assert_allclose(HoleView(parameters, MIXING)(block), shares, atol=1e-10)


def test_systems_eliminated_in_groups_are_those_of_all_at_once(parameters, block, monkeypatch):
    whole = hole_sums(block, parameters, MIXING)
    monkeypatch.setattr(mixture_holes, "SIZES", replace(mixture_holes.SIZES, block=1))
    one_by_one = hole_sums(block, parameters, MIXING)
    assert_allclose(one_by_one.level, whole.level)
    assert_allclose(one_by_one.statistics.first, whole.statistics.first)
    assert_allclose(one_by_one.statistics.second, whole.statistics.second)


def test_columns_are_summed_over_the_cells_that_a_component_shows(block):
    found = seen_columns(block, lambda block: START)
    weights = START * WEIGHTS[:, None]
    seen = ~np.isnan(X)
    assert_allclose(found.counts, weights.T @ seen)
    assert_allclose(found.means, (weights.T @ np.nan_to_num(X)) / (weights.T @ seen))
    hidden = Block(X, WEIGHTS, prepared=masked_chunk(Block(np.full_like(X, np.nan), WEIGHTS), np.zeros(6), 1.0))
    assert_allclose(seen_columns(hidden, lambda block: START).means, 0.0)


def test_one_component_of_complete_rows_is_where_ppca_is():
    table = MixtureTable.of(with_holes(TABLES["tall"], 0.02), np.ones(60), np.ones((60, 1)))
    rows = gaussian_rows(table, [2], shared=False, rng=np.random.default_rng(0))
    assert rows.leaps
    ascent = climb(rows, Given(), tol=1e-10, max_iter=2000)
    model = rows.models(ascent.components.parameters, table.shift, table.scale)[0]
    noise = naive.ppca(TABLES["tall"], 2)[2]
    assert_allclose(model.gaussian.noise_variance, noise, rtol=0.05)
    assert (np.diff(ascent.levels) >= -1e-9 * abs(ascent.levels[-1])).all()


def test_components_start_at_the_means_of_their_cells_with_some_noise():
    table = MixtureTable.of(X, WEIGHTS, START)
    rows = gaussian_rows(table, [1, 1], shared=False, rng=np.random.default_rng(0))
    components, masses = rows.start(Given())
    weights = START * WEIGHTS[:, None]
    expected = (weights.T @ np.nan_to_num(X)) / (weights.T @ ~np.isnan(X))
    assert_allclose(components.parameters.mean * table.scale + table.shift, expected, atol=1e-10)
    assert_allclose(masses, weights.sum(axis=0))


def test_components_of_exact_rows_start_with_noise_all_the_same():
    rng = np.random.default_rng(0)
    exact = rng.standard_normal((60, 1)) @ np.ones((1, 4))
    exact[0, 0] = np.nan
    table = MixtureTable.of(exact, np.ones(60), nonempty(np.eye(2)[(exact[:, 1] > 0).astype(int)]))
    components, _ = gaussian_rows(table, [1, 1], shared=False, rng=rng).start(Given())
    assert_allclose(components.parameters.noise_variance.min(), DEFAULTS.noise_floor)


@pytest.mark.parametrize("robust", [False, "rows"])
def test_the_order_of_rows_changes_no_bit_of_a_mixture(robust):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((60, 5))
    X[rng.random(X.shape) < 0.25] = np.nan
    order = rng.permutation(len(X))
    model, other = (PPCAMixture(2, 1, robust=robust, random_state=0).fit(rows) for rows in (X, X[order]))
    assert np.array_equal(other.responsibilities_, model.responsibilities_[order])
    assert np.array_equal(other.means_, model.means_)
    assert other.log_likelihoods_.tolist() == model.log_likelihoods_.tolist()


@pytest.mark.parametrize("holes", [0.0, 0.2, 0.6])
@pytest.mark.parametrize("apart", [1.0, 30.0])
def test_components_that_a_bound_leaves_no_share_are_not_asked_and_nothing_changes(monkeypatch, holes, apart):
    rng = np.random.default_rng(3)
    mean, loadings = apart * rng.standard_normal((3, 12)), rng.standard_normal((3, 12, 8))
    rows = mean[rng.integers(3, size=200)] + np.einsum("nq,dq->nd", rng.standard_normal((200, 8)), loadings[0])
    rows[rng.random(rows.shape) < holes] = np.nan
    rows[7] = np.nan
    parameters, mixing = Parameters(mean, loadings, np.array([0.5, 1e-3, 2.0])), np.array([0.5, 0.5, 0.0])
    block = Block(rows, np.ones(200), prepared=masked_chunk(Block(rows, np.ones(200)), np.zeros(12), 1.0))
    found = hole_sums(block, parameters, mixing)
    terms = mixture_holes._posteriors(block.prepared, parameters, mixing)[1]
    monkeypatch.setattr(mixture_holes, "SIZES", replace(mixture_holes.SIZES, bounded=99))
    whole = hole_sums(block, parameters, mixing)
    every = mixture_holes._posteriors(block.prepared, parameters, mixing)[1]
    with np.errstate(divide="ignore"):
        bounds = mixture_holes._density_bounds(block.prepared, parameters) + np.log(mixing)
    assert (bounds[:, :2] >= every[:, :2] - 1e-6 * np.abs(every[:, :2])).all()
    assert_allclose(found.level, whole.level, rtol=1e-12)
    for name in ("second", "first", "totals", "square"):
        ours, theirs = getattr(found.statistics, name), getattr(whole.statistics, name)
        assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9 * np.abs(theirs).max())
    if apart > 1.0 and holes < 0.5:
        assert np.isneginf(terms[:, :2]).sum() > 100  # most rows are far from one of the two
