"""PPCA with wild cells and wild rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_t

import gramian
from gramian import PPCA


def table(n=300, d=12, q=3, seed=0):
    rng = np.random.default_rng(seed)
    W = 2.0 * rng.standard_normal((d, q))
    return rng.standard_normal((n, q)) @ W.T + 0.5 * rng.standard_normal((n, d)), W


def angle(A, B):
    cosines = np.linalg.svd(np.linalg.qr(A)[0].T @ np.linalg.qr(B)[0], compute_uv=False)
    return np.degrees(np.arccos(min(cosines.min(), 1.0)))


@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_wild_rows_change_neither_q_nor_the_subspace(share):
    X, W = table()
    rng = np.random.default_rng(1)
    wild = rng.random(len(X)) < share
    X[wild] += 20.0 * rng.standard_normal((wild.sum(), 12))
    model = PPCA(robust="rows").fit(X)
    assert model.n_components_ == 3
    assert angle(W, model.loadings_) < 5.0
    assert model.row_weights_[wild].max() < model.row_weights_[~wild].min()
    assert not model.flags_.any()


@pytest.mark.parametrize("degrees", [2.0, 3.0])
def test_q_of_heavy_rows_is_the_true_one(degrees):
    X, _ = table(n=400)
    X /= np.sqrt(np.random.default_rng(2).gamma(degrees / 2, 2 / degrees, 400))[:, None]
    assert PPCA(robust="rows").fit(X).n_components_ == 3


def test_the_density_of_rows_is_that_of_the_t():
    X, _ = table()
    X /= np.sqrt(np.random.default_rng(2).gamma(1.5, 1 / 1.5, 300))[:, None]
    model = PPCA(3, robust="rows").fit(X)
    law = multivariate_t(model.mean_, model.get_covariance(), model.degrees_of_freedom_)
    assert_allclose(model.score_samples(X), law.logpdf(X), rtol=1e-9)
    assert_allclose(model.score(X), model.log_likelihoods_[-1], rtol=1e-9)


def test_deviations_of_filled_cells_grow_with_the_distance_of_their_row():
    X, _ = table()
    X /= np.sqrt(np.random.default_rng(2).gamma(1.5, 1 / 1.5, 300))[:, None]
    model = PPCA(3, robust="rows").fit(X)
    rows = np.vstack([model.mean_, model.mean_ + 40.0 * model.components_[0] * np.sqrt(model.explained_variance_[0])])
    rows[:, 0] = np.nan
    std = model.impute(rows, return_std=True, small_sample=False)[1][:, 0]
    assert std[1] > 3.0 * std[0]


@pytest.mark.parametrize("robust", ["cells", "auto"])
def test_where_no_cell_is_wild_it_is_the_old_model_bit_for_bit(robust):
    X = np.random.default_rng(0).uniform(size=(100, 5))
    plain, model = PPCA(2).fit(X), PPCA(2, robust=robust).fit(X)
    assert not model.flags_.any()
    assert_array_equal(model.components_, plain.components_)
    assert model.noise_variance_ == plain.noise_variance_


@pytest.mark.parametrize("robust", ["cells", "auto"])
def test_wild_cells_are_holes(robust, tmp_path):
    X, W = table()
    wild = np.random.default_rng(1).random(X.shape) < 0.02
    X[wild] += 30.0
    model = PPCA(3, robust=robust).fit(X)
    assert model.robust_ == "cells"
    assert model.flags_[wild].mean() > 0.97
    assert model.flags_[~wild].mean() < 0.01
    assert angle(W, model.loadings_) < 5.0
    assert (model.anomaly(X).wild_cells == model.flags_).mean() > 0.99
    gramian.save(model, tmp_path / "model.gramian")
    assert_array_equal(gramian.load(tmp_path / "model.gramian").flags_, model.flags_)


def test_rows_without_weight_take_no_part_and_have_no_flags():
    X, _ = table()
    X[0] = 1e6
    weights = np.ones(len(X))
    weights[0] = 0.0
    model = PPCA(3, robust="rows").fit(X, sample_weight=weights)
    assert model.row_weights_.shape == (300,)
    assert model.row_weights_[0] == 1.0


def test_words_for_what_cannot_be():
    X, _ = table()
    with pytest.raises(ValueError, match="robust='all' must be"):
        PPCA(robust="all").fit(X)
    with pytest.raises(ValueError, match="needs rows in memory"):
        PPCA(robust="rows").fit_batches([X[:100], X[100:]])


def test_anomalies_of_a_frame_with_categories_name_what_the_model_sees():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 1)) @ np.ones((1, 3)) + 0.2 * rng.standard_normal((100, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["kind"] = np.array(list("uvw"))[np.digitize(X[:, 0], [-0.5, 0.5])]
    frame.loc[4, "b"] = 50.0
    found = PPCA(1, robust="cells").fit(frame).anomaly(frame)
    assert len(found.columns) == found.wild_cells.shape[1] == found.contributions.shape[1]
    assert found.columns[:3] == ("a", "b", "c")
    assert found.wild_cells[4, 1]
