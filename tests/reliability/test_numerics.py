"""RELIABILITY rows NUM and MISS for the single Gaussians, by identities, properties and simulation."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from gramian import PPCA, KernelPPCA, RKMRegressor, kernels
from oracles.tables import TABLES, with_holes

X = TABLES["tall"]
q_models = {
    "PPCA": lambda: PPCA(2),
    "KernelPPCA": lambda: KernelPPCA(2, kernel=kernels.RBF(3.0)),
    "KernelPPCA linear": lambda: KernelPPCA(2, kernel="linear", noise_dim=6),
}
each = pytest.mark.parametrize("make", q_models.values(), ids=q_models)


@each
def test_num_11_duplicated_rows_change_nothing(make):
    single, double = make().fit(X), make().fit(np.repeat(X, 2, axis=0))
    assert_allclose(double.explained_variance_, single.explained_variance_, rtol=1e-9)
    if isinstance(single, PPCA):
        assert_allclose(double.noise_variance_, single.noise_variance_, rtol=1e-9)
        assert_allclose(double.loadings_, single.loadings_, atol=1e-9)
    assert_allclose(double.scores(X), single.scores(X), atol=1e-8)


@given(seed=st.integers(0, 1000), scale=st.floats(1e-3, 1e3), shift=st.floats(-100, 100))
def test_num_12_likelihood_is_equivariant(seed, scale, shift):
    gen = np.random.default_rng(seed)
    data = gen.standard_normal((25, 2)) @ gen.standard_normal((2, 5)) + 0.3 * gen.standard_normal((25, 5))
    rotation = np.linalg.qr(gen.standard_normal((5, 5)))[0]
    base = PPCA(2).fit(data)
    moved = PPCA(2).fit(scale * data @ rotation + shift)
    expected = base.score_samples(data) - 5 * np.log(scale)
    assert_allclose(moved.score_samples(scale * data @ rotation + shift), expected, rtol=1e-6, atol=1e-6)
    cosines = np.linalg.svd(moved.components_ @ (base.components_ @ rotation).T, compute_uv=False)
    assert_allclose(cosines, 1, atol=1e-8)
    rows, columns = gen.permutation(25), gen.permutation(5)
    permuted = PPCA(2).fit(data[rows][:, columns])
    assert_allclose(permuted.score_samples(data[:, columns]), base.score_samples(data), rtol=1e-8)


def test_num_13_signs_are_deterministic():
    for table in (X, -X, TABLES["wide"]):
        components = PPCA(2).fit(table).components_
        assert (np.take_along_axis(components, np.abs(components).argmax(axis=1)[:, None], 1) > 0).all()
        vectors = KernelPPCA(3, kernel=kernels.RBF(3.0)).fit(table).eigenvectors_
        assert (np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], 0) > 0).all()


def test_num_15_a_condition_of_1e16_is_solved():
    gen = np.random.default_rng(0)
    basis = np.linalg.qr(gen.standard_normal((8, 8)))[0]
    data = gen.standard_normal((50, 8)) * np.logspace(0, -8, 8) @ basis
    model = PPCA(3).fit(data)
    C = np.cov(data.T, bias=True)
    V, L = model.components_.T, model.explained_variance_
    ratio = np.linalg.norm(C @ V - V * L, 2) / (8 * np.finfo(float).eps * np.linalg.norm(C, 2))
    assert ratio < 30
    assert np.isfinite(model.score_samples(data)).all()


@given(seed=st.integers(0, 10_000), share=st.floats(0.05, 0.6), q=st.integers(1, 3))
def test_num_17_the_likelihood_never_falls(seed, share, q):
    gen = np.random.default_rng(seed)
    data = with_holes(
        gen.standard_normal((30, 2)) @ gen.standard_normal((2, 6)) + 0.4 * gen.standard_normal((30, 6)), share, seed
    )
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        history = PPCA(q, max_iter=60).fit(data).log_likelihoods_
    assert (np.diff(history) >= -1e-9 * np.abs(history[1:]).clip(1)).all()


def test_num_19_em_ends_at_the_closed_form():
    exact = PPCA(2).fit(X)
    found = PPCA(2, solver="em", random_state=0).fit(X)
    assert_allclose(found.noise_variance_, exact.noise_variance_, rtol=1e-6)
    assert_allclose(np.linalg.svd(found.components_ @ exact.components_.T, compute_uv=False), 1, atol=1e-6)


def test_miss_06_no_holes_through_the_missing_path_is_the_closed_form():
    from gramian.latent.missing import fit_missing

    exact, found = PPCA(2).fit(X), fit_missing(X, 2)
    assert_allclose(found.noise_variance, exact.noise_variance_, rtol=1e-6)
    assert_allclose(found.loadings @ found.loadings.T, exact.loadings_ @ exact.loadings_.T, atol=1e-5)
    assert_allclose(found.mean, exact.mean_, atol=1e-6)


@pytest.mark.parametrize("share", [0.9, 0.99])
@pytest.mark.filterwarnings("ignore")
def test_miss_05_almost_everything_missing_is_not_worse_than_the_mean(share):
    gen = np.random.default_rng(0)
    data = gen.standard_normal((300, 3)) @ gen.standard_normal((3, 20)) + 0.5 * gen.standard_normal((300, 20))
    table = with_holes(data, share)
    filled = PPCA(2).fit(table).impute(table)
    holes = np.isnan(table)
    means = np.where(holes, np.nanmean(table, axis=0), data)
    assert np.isfinite(filled).all()
    assert ((filled - data)[holes] ** 2).mean() <= 1.05 * ((means - data)[holes] ** 2).mean()


def test_miss_10_values_missing_not_at_random_run():
    table = np.where(X > 1.5, np.nan, X)
    assert np.isfinite(PPCA(2).fit(table).impute(table)).all()


def test_posteriors_are_calibrated_by_simulation():
    """Stan's check: ranks of the true latent among posterior draws are uniform when truth is drawn from the prior."""
    gen = np.random.default_rng(0)
    model = PPCA(2).fit(X)
    Z = gen.standard_normal((1500, 2))
    rows = Z @ model.loadings_.T + model.mean_ + np.sqrt(model.noise_variance_) * gen.standard_normal((1500, 6))
    rows = with_holes(rows, 0.3)
    draws = model.posterior(rows).sample(99, random_state=1)
    ranks = (draws < Z).sum(axis=0)
    for component in range(2):
        counts = np.bincount(ranks[:, component] // 10, minlength=10)
        assert stats.chisquare(counts).pvalue > 1e-3


@given(n=st.integers(2, 12), d=st.integers(1, 12), seed=st.integers(0, 100))
def test_eigenvalues_are_sorted_and_positive_and_likelihoods_finite(n, d, seed):
    data = np.random.default_rng(seed).standard_normal((n, d))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PPCA().fit(data)
    assert (np.diff(model.explained_variance_) <= 1e-12).all()
    assert (model.explained_variance_ >= 0).all()
    if model.noise_variance_ > 0:
        assert np.isfinite(model.score(data))


@pytest.mark.slow
def test_scale_07_two_gigabytes_stream_through_a_small_process():
    code = """
import resource, numpy as np
from gramian import PPCA
PPCA(3).fit(np.random.default_rng(0).standard_normal((100, 50)))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
gen = np.random.default_rng(0)
PPCA(3).fit_batches(gen.standard_normal((20_000, 50)) for _ in range(250))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert grown * 1024 < 256 * 2**20 * 1.3


@pytest.mark.parametrize("spread", [3.7e-150, 3.7e-147])
def test_inputs_whose_smallest_ridges_have_no_inverse_are_refused(spread):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) * [5e-6 * spread, spread]
    with pytest.raises(ValueError, match="rescale it first"):
        RKMRegressor(0.9, standardize=False).fit(X, rng.standard_normal(30))
