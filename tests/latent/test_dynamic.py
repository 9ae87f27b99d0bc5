"""DynamicPPCA: PPCA where nothing moves, statsmodels' likelihood, monotone EM, nowcasts, containers, files, faults."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from gramian import PPCA, DynamicPPCA, load, save
from gramian.latent import dynamic
from gramian.latent.dynamic import DynamicModel, canonical, kalman_filter, kalman_smoother

pd = pytest.importorskip("pandas")


def panel(T=150, d=5, q=1, root=0.85, seed=0):
    rng = np.random.default_rng(seed)
    z = np.zeros((T, q))
    for t in range(1, T):
        z[t] = root * z[t - 1] + np.sqrt(1 - root**2) * rng.standard_normal(q)
    return 2.0 + z @ rng.standard_normal((q, d)) * 2 + 0.5 * rng.standard_normal((T, d))


def ragged(seed=0):
    Y = panel(seed=seed)
    Y[np.random.default_rng(seed).random(Y.shape) < 0.1] = np.nan
    Y[-2:, 3:] = np.nan
    return Y


def dense_law(model, T):
    """Mean and covariance of all rows laid out after each other."""
    step, _ = model.companion
    k, q = len(step), model.n_components
    states = np.zeros((T, T, k, k))
    covariance = model.stationary
    for t in range(T):
        states[t, t] = covariance
        for s in range(t + 1, T):
            states[s, t] = step @ states[s - 1, t]
            states[t, s] = states[s, t].T
    z = states[:, :, :q, :q].transpose(0, 2, 1, 3).reshape(T * q, T * q)
    W = np.kron(np.eye(T), model.loadings)
    return np.tile(model.mean, T), W @ z @ W.T + np.diag(np.tile(model.noise, T)), W, z


@pytest.mark.parametrize("order", [0, 1, 2])
def test_filter_and_smoother_are_the_gaussian_of_all_rows(order):
    rng = np.random.default_rng(order)
    d, q, T = 4, 2, 6
    transition = 0.3 * rng.standard_normal((order, q, q))
    root = rng.standard_normal((q, q))
    model = DynamicModel(
        rng.standard_normal(d), rng.standard_normal((d, q)), transition, root @ root.T, 0.1 + rng.random(d)
    )
    rows = rng.standard_normal((T, d))
    rows[rng.random(rows.shape) < 0.3] = np.nan
    rows[2] = np.nan
    mean, covariance, W, z = dense_law(model, T)
    seen = ~np.isnan(rows.ravel())
    left = (rows.ravel() - mean)[seen]
    S = covariance[np.ix_(seen, seen)]
    expected = -0.5 * (seen.sum() * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + left @ np.linalg.solve(S, left))
    filtered = kalman_filter(model, rows)
    assert_allclose(filtered.log_likelihoods.sum(), expected, rtol=1e-10)
    law = kalman_smoother(model, filtered)
    gain = (z @ W.T)[:, seen] @ np.linalg.inv(S)
    assert_allclose(law.mean[:, :q].ravel(), gain @ left, atol=1e-9)
    posterior = z - gain @ (W @ z)[seen]
    for t in range(T):
        part = slice(t * q, (t + 1) * q)
        assert_allclose(law.covariance[t, :q, :q], posterior[part, part], atol=1e-9)
    turned = canonical(model)
    assert_allclose(kalman_filter(turned, rows).log_likelihoods.sum(), expected, rtol=1e-9)
    assert_allclose(turned.stationary[:q, :q], np.eye(q), atol=1e-9)


def test_latents_that_do_not_move_are_ppcas():
    Y = panel(q=2)
    own = DynamicPPCA(2, order=0, noise_variance="ml", standardize=False).fit(Y)
    ppca = PPCA(2).fit(Y)
    assert_allclose(own.loadings_, ppca.loadings_, atol=1e-8)
    assert_allclose(own.score(Y), ppca.score(Y) * len(Y), rtol=1e-9)
    assert_allclose(own.smooth(), ppca.transform(Y), atol=1e-7)


def test_the_likelihood_is_that_of_statsmodels():
    sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    Y = ragged()
    model = DynamicPPCA(1, standardize=False).fit(Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = sm.tsa.DynamicFactor(Y - model.mean_, k_factors=1, factor_order=1)
        unit = np.sqrt(model.state_noise_[0, 0])  # theirs has factors of noise one
        params = np.r_[model.loadings_[:, 0] * unit, model.noise_variance_, model.transition_.ravel()]
        assert_allclose(model.score(Y), peer.loglike(params), atol=1e-6)
        fitted = peer.fit(disp=0, maxiter=500)
    close = DynamicPPCA(1, standardize=False, tol=1e-8, max_iter=2000).fit(Y)
    assert close.score(Y) > fitted.llf - 0.1


@pytest.mark.parametrize("noise", ["ml", "per-column"])
@pytest.mark.parametrize("order", [1, 2])
def test_em_never_falls(noise, order):
    history = DynamicPPCA(2, order=order, noise_variance=noise).fit(ragged()).log_likelihoods_
    assert (np.diff(history) >= 0).all()
    assert len(history) > 2


def test_a_known_transition_is_found():
    assert abs(DynamicPPCA(1).fit(panel(T=600)).transition_[0, 0, 0] - 0.85) < 0.08


def test_what_was_seen_of_some_series_moves_the_others():
    errors, carried = [], []
    for seed in range(15):
        Y = panel(T=120, root=0.6, seed=seed)
        truth = Y[-1, 3:].copy()
        Y[-1, 3:] = np.nan
        model = DynamicPPCA(1).fit(Y)
        found, std = model.nowcast(return_std=True)
        assert found.shape == (1, 5)
        assert_allclose(found[-1, :3], Y[-1, :3])
        assert (std[-1, :3] == 0).all()
        assert (std[-1, 3:] > 0).all()
        errors.append(np.abs(found[-1, 3:] - truth))
        carried.append(np.abs(Y[-2, 3:] - truth))
    assert np.mean(errors) < 0.7 * np.mean(carried)


def test_intervals_cover():
    inside = []
    for seed in range(30):
        Y = panel(T=160, seed=seed)
        low, high = DynamicPPCA(1).fit(Y[:150]).predict_interval(10, level=0.9)
        inside.append((low <= Y[150:]) & (Y[150:] <= high))
    assert 0.82 < np.mean(inside) < 0.96


def test_how_many_is_chosen_on_later_rows():
    model = DynamicPPCA().fit(panel(T=300, d=8, q=2))
    assert model.n_components_ == 2
    assert model.selection_.chosen == 2


def test_frames_files_and_clones(tmp_path):
    Y = pd.DataFrame(ragged(), index=pd.period_range("2010-01", periods=150, freq="M"), columns=list("abcde"))
    model = DynamicPPCA(1).fit(Y)
    ahead = model.predict(2)
    assert list(ahead.columns) == list("abcde")
    assert list(ahead.index) == list(pd.period_range("2022-07", periods=2, freq="M"))
    now = model.nowcast()
    assert now.index[-1] == Y.index[-1]
    assert_allclose(now.to_numpy()[-1, 0], Y.to_numpy()[-1, 0])
    assert model.predict([2]).index[0] == ahead.index[1]
    assert list(model.impute(Y).columns) == list("abcde")
    save(model, tmp_path / "m")
    again = load(tmp_path / "m")
    pd.testing.assert_frame_equal(again.predict(3), model.predict(3))
    assert again.score(Y) == model.score(Y)
    assert_allclose(clone(model).fit(Y).loadings_, model.loadings_)


def test_units_do_not_matter_where_columns_are_standardised():
    Y = ragged()
    factors = np.array([1e-3, 1.0, 10.0, 1e4, 1.0])
    one, other = DynamicPPCA(1).fit(Y), DynamicPPCA(1).fit(Y * factors)
    assert_allclose(other.predict(4), one.predict(4) * factors, rtol=1e-6)


@pytest.mark.parametrize(
    "params",
    [
        {"n_components": 9},
        {"n_components": 0},
        {"order": -1},
        {"noise_variance": "x"},
        {"standardize": 2},
        {"tol": -1.0},
    ],
)
def test_bad_parameters_are_refused(params):
    with pytest.raises(ValueError, match=next(iter(params))):
        DynamicPPCA(**params).fit(panel())


def test_bad_tables_are_refused():
    with pytest.raises(ValueError, match="one series"):
        DynamicPPCA().fit(np.arange(20.0))
    bad = panel()
    bad[1:, 2] = np.nan
    with pytest.raises(ValueError, match="Series 2"):
        DynamicPPCA().fit(bad)
    with pytest.raises(ValueError, match="3 series"):
        DynamicPPCA(1).fit(panel()).score(panel()[:, :3])


def test_so_little_noise_that_the_system_is_singular_in_floating_point_still_has_an_inverse():
    """log |I + C P| = log(1 + 2e20) of C = 1e20 (1 1ᵀ) and P = I; and (I + C P)⁻¹ takes the direction of ones away."""
    inverse, volume = dynamic._inverse_and_volume(np.full((2, 2), 1e20), np.eye(2))
    assert_allclose(volume, np.log1p(2e20))
    assert_allclose(inverse, [[0.5, -0.5], [-0.5, 0.5]], atol=1e-12)


def test_a_series_of_one_value_but_for_rounding_has_the_noise_of_a_usual_one():
    Y = 1e-60 * np.random.default_rng(425).standard_normal((20, 4))
    Y[:, 0] = 1.5e-60
    Y[1, 0] = np.nextafter(1.5e-60, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that EM ends late is said, and is not what is asked
        model = DynamicPPCA(3, random_state=0).fit(Y)
    assert model.noise_variance_[0] > 1e-60 * np.square(Y[:, 0]).mean()
    assert np.isfinite(model.smooth(Y)).all()


@pytest.mark.filterwarnings("error")
def test_equal_rows_next_to_zero_have_a_noise():
    model = DynamicPPCA(1, standardize=False).fit(np.full((8, 2), [9.99999374e-145, 9.99999605e-145]))
    assert (np.asarray(model.noise_variance_) > 0).all()
    assert np.isfinite(model.predict(2)).all()
