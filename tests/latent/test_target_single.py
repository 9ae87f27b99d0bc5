"""One input view: the quick path of the target model against the general one, which decomposes at every step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from gramian.kernels import RBF
from gramian.latent import target_fit
from gramian.latent.target_fit import fit_target
from gramian.latent.target_folds import dealt_folds
from gramian.latent.views import ExplicitView, KernelView, ViewTable
from gramian.operators.gram import DenseGram
from gramian.solvers import Eigh


def table_of(n, kind, m, weighted):
    X, y = make_friedman1(n, random_state=0)
    X = (X - 0.5) * np.sqrt(12)
    Y = {1: y[:, None], 2: np.eye(2)[(y > 14).astype(int)], 3: np.column_stack([y, X[:, 0], y * X[:, 1]])}[m]
    view = {
        "kernel": lambda: KernelView(RBF(3.0), X, DenseGram(RBF(3.0)(X))),
        "smooth kernel": lambda: KernelView(RBF(3.0), X[:, :2], DenseGram(RBF(3.0)(X[:, :2]))),
        "linear": lambda: ExplicitView(X),
        "wide": lambda: ExplicitView(np.hstack([X, np.cos(np.outer(X[:, 0], np.arange(2 * n)))])),
    }[kind]()
    raw = np.random.default_rng(1).integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return X, ViewTable((view, ExplicitView(Y)), raw / raw.sum(), float(raw.sum()))


def fitted(table, X, q, n_folds):
    folds = None if n_folds is None else dealt_folds(X, n_folds)
    space = "primal" if table.explicit and sum(table.widths) < len(X) else "dual"
    weights = 1.0 / table.traces
    return fit_target(
        table, q, Eigh(), space, noise_variance="per-view", view_weights=weights, folds=folds, robust=False
    )


@pytest.mark.parametrize("kind", ["kernel", "smooth kernel", "linear", "wide"])
@pytest.mark.parametrize(
    ("m", "q", "n_folds", "weighted"), [(1, 0.9, 5, True), (2, 8, 3, False), (3, 6, 5, True), (1, 5, None, False)]
)
def test_the_quick_path_is_the_general_one(monkeypatch, kind, m, q, n_folds, weighted):
    X, table = table_of(60, kind, m, weighted)
    quick = fitted(table, X, q, n_folds)
    monkeypatch.setattr(target_fit, "single_view", lambda *_: False)
    # the quick path counts components without the target: the limit of the general one's small weight
    monkeypatch.setattr(target_fit, "FAINT", 1e-12)
    slow = fitted(table, X, q, n_folds)
    assert quick.gaussian.n_components == slow.gaussian.n_components
    assert quick.n_iter == slow.n_iter
    assert_allclose(quick.noise_variances, slow.noise_variances, rtol=1e-8)
    assert_allclose(quick.gaussian.eigenvalues, slow.gaussian.eigenvalues, rtol=1e-8)
    if n_folds is not None:
        assert_allclose(quick.held_out.predictions, slow.held_out.predictions, atol=1e-6)
        assert_allclose(quick.held_out.leverages, slow.held_out.leverages, atol=1e-6)
        assert_allclose(quick.held_out.ridge, slow.held_out.ridge, rtol=1e-8)
    assert_allclose(quick.std, slow.std, rtol=1e-6)
    inputs = [table.views[0].points if kind.endswith("kernel") else table.views[0].features]
    assert_allclose(quick.predict(inputs)[0], slow.predict(inputs)[0], atol=1e-6)
