"""One input view: the quick path of the target model against the general one, which decomposes at every step."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_friedman1

from gramian.evidence.held_out import HeldOut
from gramian.kernels import RBF
from gramian.latent.dimension import for_fraction
from gramian.operators.gram import DenseGram
from gramian.solvers import Eigh
from gramian.targets import fit as target_fit
from gramian.targets import single
from gramian.targets.axes import TargetAxes, target_inputs
from gramian.targets.fit import fit_target
from gramian.views.noise import ecm_rounds, mean_log_likelihood
from gramian.views.view import ExplicitView, KernelView, ViewTable


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


def fitted(table, X, q, n_folds, leaps=False):
    folds = None if n_folds is None else HeldOut.of(X, n_folds)
    space = "primal" if table.explicit and sum(table.widths) < len(X) else "dual"
    weights = 1.0 / table.traces
    return fit_target(
        table,
        q,
        Eigh(),
        space,
        noise_variance="per-view",
        view_weights=weights,
        folds=folds,
        robust=False,
        leaps=leaps,
    )


@pytest.mark.parametrize("kind", ["kernel", "smooth kernel", "linear", "wide"])
@pytest.mark.parametrize(
    ("m", "q", "n_folds", "weighted"), [(1, 0.9, 5, True), (2, 8, 3, False), (3, 6, 5, True), (1, 5, None, False)]
)
def test_the_quick_path_is_the_general_one(monkeypatch, kind, m, q, n_folds, weighted):
    X, table = table_of(60, kind, m, weighted)
    monkeypatch.setattr(single, "noise_of_each_q", lambda *_: np.zeros(1))  # both begin where the general one does
    quick = fitted(table, X, q, n_folds)
    monkeypatch.setattr(target_fit, "single_view", lambda *_: False)
    # the quick path counts components without the target: the limit of the general one's small weight
    monkeypatch.setattr(target_fit, "LEAST_NOISE", 1e-12)
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


@pytest.mark.parametrize("kind", ["kernel", "smooth kernel", "linear", "wide"])
@pytest.mark.parametrize(("m", "q"), [(1, 0.9), (2, 8), (3, 6)])
def test_the_noise_that_inputs_have_by_themselves_leads_to_the_same_optimum(monkeypatch, kind, m, q):
    X, table = table_of(60, kind, m, True)
    found = fitted(table, X, q, 5, leaps=True)
    monkeypatch.setattr(single, "noise_of_each_q", lambda *_: np.zeros(1))
    above = fitted(table, X, q, 5, leaps=True)
    assert found.n_iter <= above.n_iter
    assert_allclose(found.noise_variances, above.noise_variances, rtol=1e-3)  # where rounds end
    levels = [
        mean_log_likelihood(table.traces, table.dims, model.gaussian.eigenvalues, model.noise_variances)
        for model in (found, above)
    ]
    assert levels[0] >= levels[1] - 1e-6


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_leaps_end_no_lower_and_no_later_than_plain_rounds(monkeypatch, kind, quick):
    X, table = table_of(60, kind, 1, True)
    if not quick:
        monkeypatch.setattr(target_fit, "single_view", lambda *_: False)
    plain, leaping = (fitted(table, X, 6, None, leaps) for leaps in (False, True))

    def level(model):
        return mean_log_likelihood(table.traces, table.dims, model.gaussian.eigenvalues, model.noise_variances)

    assert leaping.settled
    assert leaping.n_iter < plain.n_iter
    assert level(leaping) >= level(plain) - 1e-9 * abs(level(plain))


def test_what_rests_at_its_bound_does_not_leap():
    met = []

    def step(noises):  # the first halves towards 1e-6, the second would fall through its bound
        met.append(noises)
        return np.array([1e-6 + 0.5 * noises[0], 1e-9]), -float(noises[0])

    noises, history, settled = ecm_rounds(step, np.ones(2), np.array([0.0, 0.1]), 1e-3, 50, True, None)
    assert settled
    assert noises[1] == 0.1
    assert all(point[1] == 0.1 for point in met[1:])
    assert len(history) < 15
    assert np.all(np.diff(history) >= 0)


@pytest.mark.parametrize("fraction", [0.2, 0.7, 0.95, 0.9999])
@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_a_fraction_is_counted_on_the_whole_spectrum(kind, m, fraction):
    _, table = table_of(60, kind, m, True)
    sample = table.sample(np.sqrt(1.0 / table.traces), "dual")
    exact = Eigh().solve(sample.operator(), 60)
    whole = target_inputs(sample, None, None).decomposed(np.arange(60))
    assert target_fit._count(sample, whole, fraction) == for_fraction(exact.eigenvalues, exact.trace, fraction)


@pytest.mark.parametrize("above", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("m", [1, 3])
def test_pairs_above_a_value_are_those_of_the_whole_spectrum(above, m):
    rng = np.random.default_rng(0)
    values = np.sort(rng.random(20) * 8)[::-1]
    latent = rng.standard_normal((50, 20))
    Y = latent[:, :m] + rng.standard_normal((50, m))
    axes = TargetAxes.of(values, np.sqrt(values)[:, None] * (latent.T @ Y) / 50, Y.T @ Y / 50, np.zeros(m))
    scales = np.array([0.7, 1.3])
    whole, part = axes.joint(scales, 20 + m), axes.joint(scales, 20 + m, above=above)
    kept = whole.values > above
    assert_allclose(part.values, whole.values[kept], rtol=1e-12)
    assert_allclose(np.square(part.shafts), np.square(whole.shafts[:, kept]), atol=1e-10)
