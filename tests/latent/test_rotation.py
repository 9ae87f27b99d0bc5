"""Rotations of loadings: the criterion's own optimum, factor_analyzer's where it is there, and the same law of rows."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from gramian import PPCA, load, save
from gramian.latent.rotation import ROTATIONS, Rotation, rotation_of

X = load_wine().data
X = (X - X.mean(axis=0)) / X.std(axis=0)
W = PPCA(n_components=3).fit(X).loadings_


def kaiser(loadings):
    return loadings / np.linalg.norm(W, axis=1, keepdims=True)


def varimax(loadings):
    return float((kaiser(loadings) ** 2).var(axis=0).sum())


def quartimin(loadings):
    squares = kaiser(loadings) ** 2
    return float(sum((squares[:, j] * squares[:, k]).sum() for j in range(squares.shape[1]) for k in range(j)))


def test_varimax_of_two_factors_is_the_best_angle():
    two = W[:, :2]
    rows = two / np.linalg.norm(two, axis=1, keepdims=True)
    angles = np.linspace(0, np.pi / 2, 2001)
    planes = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    best = max(((rows @ plane) ** 2).var(axis=0).sum() for plane in planes)
    turned = rotation_of(two, "varimax").loadings(two) / np.linalg.norm(two, axis=1, keepdims=True)
    assert ((turned**2).var(axis=0).sum()) >= best - 1e-9


@pytest.mark.parametrize(("method", "criterion"), [("varimax", lambda L: -varimax(L)), ("oblimin", quartimin)])
def test_no_small_turn_is_better(method, criterion):
    found = rotation_of(W, method)
    here = criterion(found.loadings(W))
    rng = np.random.default_rng(0)
    for _ in range(200):
        step = 0.03 * rng.standard_normal((3, 3))
        if method == "varimax":
            moved = found.matrix @ np.linalg.qr(np.eye(3) + step - step.T)[0]
        else:
            moved = found.matrix + step
            moved /= np.linalg.norm(moved, axis=0)
        assert criterion(Rotation(moved).loadings(W)) >= here - 1e-9


@pytest.mark.parametrize("method", ROTATIONS)
def test_factors_have_variance_one_and_varimax_ones_do_not_correlate(method):
    correlations = rotation_of(W, method).correlations
    np.testing.assert_allclose(np.diag(correlations), 1.0, atol=1e-10)
    off = np.abs(correlations - np.eye(3)).max()
    assert off < 1e-10 if method == "varimax" else off > 1e-3


def test_promax_is_least_squares_to_the_fourth_power_of_varimax():
    normal = rotation_of(W, "varimax").loadings(W) / np.linalg.norm(W, axis=1, keepdims=True)
    towards = np.linalg.lstsq(normal, normal * np.abs(normal) ** 3, rcond=None)[0]
    towards *= np.sqrt(np.diag(np.linalg.inv(towards.T @ towards)))
    theirs = (normal @ towards) * np.linalg.norm(W, axis=1, keepdims=True)
    np.testing.assert_allclose(
        np.sort(np.abs(rotation_of(W, "promax").loadings(W)), axis=None), np.sort(np.abs(theirs), axis=None), atol=1e-8
    )


@pytest.mark.parametrize("method", ROTATIONS)
def test_factor_analyzer_finds_the_same(method):
    peer = pytest.importorskip("factor_analyzer.rotator", reason="factor_analyzer is not installed")
    rows = kaiser(W) if method == "oblimin" else W  # there it does not bring rows to unit length itself
    theirs = peer.Rotator(method=method, max_iter=5000, tol=1e-12).fit_transform(rows)
    ours = rotation_of(rows, method).loadings(rows)
    overlap = np.abs(np.corrcoef(ours.T, theirs.T)[:3, 3:])
    matched = theirs[:, overlap.argmax(axis=1)]
    matched = matched * np.sign((matched * ours).sum(axis=0))
    np.testing.assert_allclose(ours, matched, atol=2e-4 if method == "oblimin" else 1e-6)


@pytest.mark.parametrize("method", ROTATIONS)
@pytest.mark.parametrize("holes", [False, True])
def test_the_law_of_rows_stays(method, holes):
    rows = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X) if holes else X
    plain, turned = (PPCA(n_components=3, rotation=name).fit(rows) for name in (None, method))
    np.testing.assert_allclose(turned.score_samples(rows), plain.score_samples(rows))
    np.testing.assert_allclose(turned.get_covariance(), plain.get_covariance())
    Z = turned.transform(rows)
    np.testing.assert_allclose(turned.inverse_transform(Z), plain.inverse_transform(plain.transform(rows)), atol=1e-9)
    np.testing.assert_allclose(Z @ turned.loadings_.T + turned.mean_, turned.reconstruct(rows), atol=1e-9)
    posterior, canonical = turned.posterior(rows), plain.posterior(rows)
    np.testing.assert_allclose(posterior.mean, Z)
    T = turned.rotation_
    np.testing.assert_allclose(posterior.covariance, T.T @ canonical.covariance @ T, atol=1e-12)
    phi = turned.factor_correlations_
    signal = turned.loadings_ @ phi @ turned.loadings_.T
    np.testing.assert_allclose(signal, plain.loadings_ @ plain.loadings_.T, atol=1e-9)
    latents = np.random.default_rng(1).standard_normal((4, 3))
    np.testing.assert_allclose(
        turned.sample(latent=latents @ T, random_state=0), plain.sample(latent=latents, random_state=0), atol=1e-9
    )


def test_streams_files_truncation_and_dtypes(tmp_path):
    turned = PPCA(n_components=3, rotation="oblimin").fit(X)
    streamed = PPCA(n_components=3, rotation="oblimin").partial_fit(X[:90]).partial_fit(X[90:])
    np.testing.assert_allclose(streamed.loadings_, turned.loadings_, atol=1e-8)
    save(turned, tmp_path / "turned.model")
    np.testing.assert_array_equal(load(tmp_path / "turned.model").transform(X), turned.transform(X))
    np.testing.assert_allclose(
        turned.truncate(2).loadings_, PPCA(n_components=2, rotation="oblimin").fit(X).loadings_, atol=1e-7
    )
    small = PPCA(n_components=3, rotation="oblimin").fit(X.astype(np.float32))
    assert small.loadings_.dtype == small.transform(X.astype(np.float32)).dtype == np.float32


def test_one_factor_is_not_turned_and_other_words_are_refused():
    np.testing.assert_allclose(
        PPCA(n_components=1, rotation="varimax").fit(X).loadings_, PPCA(n_components=1).fit(X).loadings_
    )
    with pytest.raises(ValueError, match=r"rotation='quartimax'.*varimax"):
        PPCA(rotation="quartimax").fit(X)
    with pytest.raises(AttributeError):
        PPCA(n_components=2).fit(X).factor_correlations_
