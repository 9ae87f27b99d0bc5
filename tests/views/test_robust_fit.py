"""Wild rows and wild cells of linear views."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import subspace_angles

from gramian import MultiViewRKM, load, save


def views(n=200, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    loadings = [rng.standard_normal((2, 6)), 3.0 * rng.standard_normal((2, 4))]
    noises = [0.2, 1.0]
    made = [z @ W + s * rng.standard_normal((n, W.shape[1])) for W, s in zip(loadings, noises)]
    return {"a": made[0], "b": made[1]}, np.vstack([W.T for W in loadings])


def angle(model, truth):
    return np.rad2deg(subspace_angles(np.vstack(model.loadings_), truth).max())


def test_wild_rows_do_not_turn_the_subspace(tmp_path):
    X, truth = views()
    rng = np.random.default_rng(1)
    for view in X.values():
        view[:20] += 8.0 * view.std() * rng.standard_normal(view[:20].shape)
    plain = MultiViewRKM(2, n_folds=None).fit(X)
    model = MultiViewRKM(2, n_folds=None, robust="rows").fit(X)
    assert angle(model, truth) < 5.0 < angle(plain, truth)
    assert model.robust_ == "rows"
    assert model.degrees_of_freedom_ >= 2.0
    assert model.row_weights_[:20].max() < model.row_weights_[20:].min()
    assert_allclose(model.noise_variances_[1] / model.noise_variances_[0], 25.0, rtol=0.3)
    save(model, tmp_path / "views.safetensors")
    assert_array_equal(load(tmp_path / "views.safetensors").transform(X), model.transform(X))


def test_the_fit_is_that_of_the_t_of_all_columns():
    from gramian.latent.missing import fit_missing
    from gramian.latent.student import fit_student

    X, _ = views()
    X = {
        name: view / np.sqrt(np.random.default_rng(2).gamma(1.5, 1 / 1.5, len(view)))[:, None]
        for name, view in X.items()
    }
    model = MultiViewRKM(2, n_folds=None, robust="rows", tol=1e-10, max_iter=5000).fit(X)
    table, blocks = np.hstack(list(X.values())), np.repeat([0, 1], [6, 4])
    fit = fit_student(table, fit_missing(table, 2), blocks=blocks, tol=1e-10)
    assert_allclose(model.noise_variances_, fit.model.noise_variance, rtol=2e-2)
    assert_allclose(model.row_weights_, fit.row_weights, rtol=2e-2)
    W = np.vstack(model.loadings_)
    assert_allclose(W @ W.T, fit.model.loadings @ fit.model.loadings.T, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("robust", ["cells", "auto"])
@pytest.mark.parametrize("container", ["dict", "list", "table"])
def test_wild_cells_are_holes_in_any_container(robust, container):
    X, truth = views()
    X["a"][[3, 50, 70], [1, 2, 3]] = 80.0
    given = {"dict": X, "list": list(X.values()), "table": np.hstack(list(X.values()))}[container]
    spec = {"a": slice(0, 6), "b": slice(6, 10)} if container == "table" else None
    model = MultiViewRKM(2, views=spec, n_folds=None, robust=robust).fit(given)
    assert model.robust_ == "cells"
    assert angle(model, truth) < 8.0
    flags = model.flags_
    flags = (
        np.hstack(list(flags.values())) if container == "dict" else np.hstack(flags) if container == "list" else flags
    )
    assert {(3, 1), (50, 2), (70, 3)} <= set(map(tuple, np.argwhere(flags)))
    assert flags.sum() < 10


def test_where_nothing_is_wild_auto_is_the_old_model_bit_for_bit():
    X, _ = views()
    old, new = (MultiViewRKM(2, n_folds=None, robust=robust).fit(X) for robust in (False, "auto"))
    assert new.robust_ is False
    assert_array_equal(old.transform(X), new.transform(X))


def test_words_for_what_cannot_be():
    X, _ = views(60)
    with pytest.raises(ValueError, match="needs linear views, but view 'a'"):
        MultiViewRKM(2, kernel={"a": "rbf", "b": "linear"}, robust="rows").fit(X)
    with pytest.raises(ValueError, match=r"'ml' or 'per-view', not 0\.0"):
        MultiViewRKM(2, noise_variance=0.0, robust="cells").fit(X)
    with pytest.raises(ValueError, match="rows in memory"):
        MultiViewRKM(2, robust="rows").fit_batches([X])
    with pytest.raises(ValueError, match="robust=True"):
        MultiViewRKM(2, robust=True).fit(X)
