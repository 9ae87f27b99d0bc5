"""Identities of section 8: the four algorithms, AC's equations, the conditional Gaussian, ECM and EM."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from gramian import MultiViewRKM, RKMForecaster, features, kernels
from gramian.datasets import make_sum_of_sines
from gramian.papers._recursion import forecast
from gramian.views.missing import PartialView, fit_missing_views
from gramian.views.view import ExplicitView

ALGORITHMS = [(space, solver) for space in ("primal", "dual") for solver in ("eigh", "stiefel")]


@pytest.fixture(scope="module")
def views():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((40, 3)) * [3.0, 2.0, 1.0]
    made = {name: z @ rng.standard_normal((3, d)) for name, d in (("a", 6), ("b", 4), ("c", 2), ("d", 3))}
    return {name: X + 0.2 * rng.standard_normal(X.shape) + 5.0 for name, X in made.items()}


def centred(views):
    return [X - X.mean(axis=0) for X in views.values()]


def fitted(views, space="auto", solver="eigh", **options):
    given = {
        "n_components": 3,
        "noise_variance": 0.0,
        "n_folds": None,
        "tol": 1e-13,
        "max_iter": 20000,
        "random_state": 0,
    }
    options = given | options
    return MultiViewRKM(space=space, solver=solver, **options).fit(views)


@pytest.mark.parametrize(("space", "solver"), ALGORITHMS)
def test_the_four_algorithms_agree(views, space, solver):
    exact, model = fitted(views, "dual"), fitted(views, space, solver)
    assert_allclose(model.eigenvalues_, exact.eigenvalues_, rtol=1e-10)
    assert_allclose(model.latents_, exact.latents_, atol=1e-8)
    shown = {name: X for name, X in views.items() if name != "c"}
    assert_allclose(model.predict_view(shown, "c"), exact.predict_view(shown, "c"), atol=1e-7)
    for found, right in zip(model.loadings_, exact.loadings_):
        assert_allclose(found, right, atol=1e-7)


@pytest.mark.parametrize("space", ["primal", "dual"])
def test_an_unrotated_stiefel_solution_is_a_rotation_of_the_eigendecomposition(views, space):
    exact, model = fitted(views, space), fitted(views, space, "stiefel", rotate=False)
    off_diagonal = model.gamma_ - np.diag(np.diag(model.gamma_))
    assert np.abs(off_diagonal).max() > 1e-2 * exact.eigenvalues_[0]
    assert_allclose(model.latents_.T @ model.latents_, np.eye(3), atol=1e-10)
    # AC figure 5, corrected: OᵀΓ'O is diagonal (THEORY 9)
    O = np.linalg.eigh(model.gamma_)[1][:, ::-1]
    assert_allclose(O.T @ model.gamma_ @ O, np.diag(exact.eigenvalues_), atol=1e-6 * exact.eigenvalues_[0])
    shown = {"a": views["a"], "d": views["d"]}
    assert_allclose(model.predict_view(shown, "b"), exact.predict_view(shown, "b"), atol=1e-7)
    assert_allclose(model.transform(views), np.sqrt(40) * model.latents_, atol=1e-7)
    assert_allclose(model.inverse_transform(model.transform(views))["a"], exact.reconstruct(views)["a"], atol=1e-7)


def test_gamma_is_diagonal_when_rotated(views):
    model = fitted(views, "dual", "stiefel")
    assert_allclose(model.gamma_, np.diag(model.eigenvalues_))


@pytest.mark.parametrize("space", ["primal", "dual"])
def test_training_latents_are_those_of_ac(views, space):
    model, Phi = fitted(views, space), np.hstack(centred(views))
    values = np.linalg.eigvalsh(Phi @ Phi.T)[::-1][:3]
    assert_allclose(model.eigenvalues_, values)
    assert_allclose(model.latents_.T @ model.latents_, np.eye(3), atol=1e-12)
    assert_allclose(Phi @ Phi.T @ model.latents_, model.latents_ * model.eigenvalues_, atol=1e-9)
    assert_allclose(model.transform(views), np.sqrt(40) * model.latents_, atol=1e-10)
    for W, X in zip(model.loadings_, centred(views)):
        assert_allclose(np.sqrt(40) * W, X.T @ model.latents_, atol=1e-10)  # U_v = Φ_vᵀH


def test_prediction_is_equation_15_and_equation_16(views):
    model = fitted(views)
    U = [np.sqrt(40) * W for W in model.loadings_]
    X = centred(views)
    v, others = 2, [0, 1, 3]
    h = np.linalg.solve(model.gamma_ - U[v].T @ U[v], sum(U[w].T @ X[w].T for w in others))
    primal = (U[v] @ h).T
    H, K = model.latents_, [x @ x.T for x in X]
    # AC eq. 16, corrected: the sum is over k_w (THEORY 9)
    k_v = K[v] @ H @ np.linalg.solve(model.gamma_ - H.T @ K[v] @ H, H.T @ sum(K[w] for w in others))
    assert_allclose(X[v] @ primal.T, k_v, atol=1e-10 * np.abs(k_v).max())
    shown = {name: views[name] for name in ("a", "b", "d")}
    assert_allclose(model.predict_view(shown, "c") - views["c"].mean(axis=0), primal, atol=1e-10)


@pytest.mark.parametrize("noise", ["ml", "per-view", 0.05])
@pytest.mark.parametrize("shown", [("a",), ("b", "d"), ("a", "b", "d")])
def test_with_noise_prediction_is_the_conditional_gaussian(views, noise, shown):
    model = fitted(views, noise_variance=noise)
    names, X = list(views), views
    W = np.vstack(model.loadings_)
    widths = [views[name].shape[1] for name in names]
    noise_diagonal = np.repeat(model.noise_variances_, widths)
    C = W @ W.T + np.diag(noise_diagonal)
    columns = dict(zip(names, np.split(np.arange(sum(widths)), np.cumsum(widths)[:-1])))
    o, t = np.concatenate([columns[name] for name in shown]), columns["c"]
    gain = C[np.ix_(t, o)] @ np.linalg.inv(C[np.ix_(o, o)])
    observed = np.hstack([X[name] - X[name].mean(axis=0) for name in shown])
    mean, std = model.predict_view({name: X[name] for name in shown}, "c", return_std=True, small_sample=False)
    assert_allclose(mean, observed @ gain.T + X["c"].mean(axis=0), atol=1e-8)
    variance = np.diag(C[np.ix_(t, t)] - gain @ C[np.ix_(o, t)])
    assert_allclose(std, np.broadcast_to(np.sqrt(variance), std.shape), atol=1e-8)


def test_likelihood_of_seen_views_is_that_of_the_dense_gaussian(views):
    model = fitted(views, noise_variance="per-view")
    W, widths = np.vstack(model.loadings_), [X.shape[1] for X in views.values()]
    C = W @ W.T + np.diag(np.repeat(model.noise_variances_, widths))
    Phi = np.hstack(centred(views))
    oracle = stats.multivariate_normal(np.zeros(15), C)
    assert_allclose(model.score_samples(views), oracle.logpdf(Phi), rtol=1e-9)
    part = stats.multivariate_normal(np.zeros(6), C[:6, :6])
    shown = {"a": views["a"], "b": np.full_like(views["b"], np.nan)}
    assert_allclose(model.score_samples(shown), part.logpdf(Phi[:, :6]), rtol=1e-9)


def test_per_view_noise_climbs_the_likelihood_to_a_stationary_point(views):
    model = fitted(views, noise_variance="per-view", tol=1e-16)
    assert (np.diff(model.log_likelihoods_) > -1e-9).all()
    Phi, widths = np.hstack(centred(views)), [X.shape[1] for X in views.values()]

    def log_likelihood(noises):
        # the best loadings for given noises are the closed form on scaled views
        scale = np.repeat(1 / np.sqrt(noises), widths)
        values, vectors = np.linalg.eigh((Phi * scale).T @ (Phi * scale) / 40)
        U, l = vectors[:, ::-1][:, :3], values[::-1][:3]
        C = (U * (l - 1)) @ U.T + np.eye(15)
        return stats.multivariate_normal(np.zeros(15), C).logpdf(Phi * scale).mean() + np.log(scale).sum()

    best = log_likelihood(model.noise_variances_)
    assert_allclose(model.log_likelihoods_[-1], best, rtol=1e-6)
    for v in range(4):
        for factor in (0.95, 1.05):
            moved = model.noise_variances_.copy()
            moved[v] *= factor
            assert log_likelihood(moved) < best


@pytest.mark.parametrize("noise", ["ml", "per-view"])
def test_primal_and_dual_agree_with_noise(views, noise):
    primal, dual = (fitted(views, space, noise_variance=noise) for space in ("primal", "dual"))
    assert_allclose(primal.noise_variances_, dual.noise_variances_, rtol=1e-8)
    assert_allclose(primal.transform(views), dual.transform(views), atol=1e-8)


@pytest.mark.parametrize("noise", ["ml", "per-view"])
def test_em_without_missing_views_is_the_closed_form(views, noise):
    closed = fitted(views, noise_variance=noise, tol=1e-16)
    n = 40
    partials = [PartialView(ExplicitView(X), np.arange(n), np.ones(n)) for X in views.values()]
    em = fit_missing_views(partials, np.ones(n), 3, shared=noise == "ml", tol=1e-13, max_iter=5000)
    assert (np.diff(em.log_likelihoods) > -1e-10).all()
    assert_allclose(em.noise_variances, closed.noise_variances_, rtol=1e-3)
    assert_allclose(em.log_likelihoods[-1], closed.score(views), rtol=1e-6)


@pytest.mark.parametrize("noise", ["ml", "per-view"])
def test_em_with_missing_views_never_falls_and_reaches_the_observed_likelihood(views, noise):
    rng = np.random.default_rng(3)
    holed = {name: X.copy() for name, X in views.items()}
    for X in holed.values():
        X[rng.random(len(X)) < 0.3] = np.nan
    model = fitted(holed, noise_variance=noise, tol=1e-9)
    assert (np.diff(model.log_likelihoods_) > -1e-9 * np.abs(model.log_likelihoods_[:-1])).all()
    assert model.converged_
    assert_allclose(model.score(holed), model.log_likelihoods_[-1], rtol=1e-6)


def test_em_in_the_dual_is_em_in_the_primal(views):
    # a polynomial kernel of degree 1 without offset is the linear one, but goes through kernel values
    holed = {name: X - X.mean(axis=0) for name, X in views.items()}
    holed["b"][:10] = np.nan
    linear = fitted(holed, noise_variance="ml", tol=1e-10)
    implicit = {name: kernels.Linear() for name in holed}
    implicit["a"] = kernels.Polynomial(degree=1, gamma=1.0, coef0=0.0)
    both = fitted(holed, kernel=implicit, noise_variance="ml", tol=1e-10)
    shown = {"a": holed["a"]}
    # D differs between the two (d and N), so the noise does; the predictions of a dominant signal agree closely
    assert_allclose(both.predict_view(shown, "c"), linear.predict_view(shown, "c"), atol=0.15)


def test_explicit_features_agree_in_primal_and_dual():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 2))
    views = {"x": X, "y": np.sin(X[:, :1])}
    maps = {"x": features.RandomFourier(kernels.RBF(1.0), 30, random_state=0), "y": "linear"}
    primal, dual = (
        MultiViewRKM(10, kernel=maps, space=space, solver="eigh", noise_variance=0.0).fit(views)
        for space in ("primal", "dual")
    )
    assert primal.loadings_[0].shape == dual.loadings_[0].shape == (30, 10)
    assert_allclose(primal.loadings_[0], dual.loadings_[0], atol=1e-10)
    new = {"x": rng.standard_normal((7, 2))}
    assert_allclose(primal.predict_view(new, "y"), dual.predict_view(new, "y"), atol=1e-10)


PLAIN = {"season": None, "difference": 0, "transform": None}
"""AC's model of the series as it is."""


def test_sum_of_sines_is_forecast_to_ten_digits_by_all_algorithms():
    series = make_sum_of_sines(500)
    for space, solver in ALGORITHMS:
        found = forecast(series[:400], 100, 40, 4, space=space, solver=solver, tol=1e-14, max_iter=20000)
        assert np.abs(found - series[400:]).max() < (1e-10 if solver == "eigh" else 1e-4), (space, solver)


def test_without_the_rescaling_of_ac_figure_7_forecasts_learn_nothing():
    series = make_sum_of_sines(500)
    model = RKMForecaster(40, 4, kernel="linear", noise_variance=0.0, view_weights=None, standardize=False, **PLAIN)
    model.fit(series[:400])
    right = model.predict(100)
    target = model._members[0].model.target
    gaussian, parts = target.gaussian, target.model.subspace.parts
    U = [part.subspace.components.T for part in parts]  # Ũ, orthonormal: step 6 of algorithm 1 left out
    gamma = np.diag(360 * gaussian.eigenvalues)
    window = series[360:400].copy()
    wrong = []
    for _ in range(100):
        h = np.linalg.solve(gamma - U[1].T @ U[1], U[0].T @ (window - parts[0].subspace.mean))
        wrong.append(float((U[1] @ h)[0]))
        window = np.append(window[1:], wrong[-1])
    assert np.var(wrong) < 1e-4 * np.var(series[400:])
    assert_allclose(right, series[400:], atol=1e-10)
