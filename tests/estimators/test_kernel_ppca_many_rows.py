"""`KernelPPCA()` of many rows: q is that of the rows looked at, and landmarks stand for the kernel where an exact fit would take minutes."""

import warnings

import numpy as np
from numpy.testing import assert_allclose

from gramian import KernelPPCA, load, save
from gramian.policy import LOOK


def ring(n, seed=0):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0, 2 * np.pi, n)
    return np.column_stack([np.cos(angle), np.sin(angle)]) + 0.1 * rng.standard_normal((n, 2))


def test_q_of_more_rows_is_the_q_that_was_chosen():
    model = KernelPPCA().fit(ring(LOOK.rows + 300))
    assert model.n_components_ == model.selection_.chosen
    exact = KernelPPCA(model.n_components_).fit(ring(LOOK.rows + 300))
    largest = exact.explained_variance_[0]
    assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-8, atol=1e-8 * largest)


def test_landmarks_stand_for_the_kernel_beyond_what_pays(tmp_path):
    X = ring(LOOK.drawn + 50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = KernelPPCA().fit(X)
    assert len(model.X_fit_) == LOOK.rows
    assert "landmarks (Nystroem)" in model.explain()
    asked = KernelPPCA(approximation="nystroem", n_landmarks=LOOK.rows).fit(X)
    assert_allclose(model.transform(X[:20]), asked.transform(X[:20]), atol=1e-9)
    assert np.square(model.reconstruct(X[:50]) - X[:50]).mean() < 0.02
    save(model, tmp_path / "model.gramian")
    assert_allclose(load(tmp_path / "model.gramian").score_samples(X[:5]), model.score_samples(X[:5]))


def test_what_is_given_is_exact():
    X = ring(LOOK.drawn + 50)
    assert len(KernelPPCA(2).fit(X).X_fit_) == len(X)
