"""Gram operators: stored, tiled, summed, centred; all of them the dense matrix."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from gramian._threads import single_blas_thread
from gramian.kernels import RBF, Laplacian, Linear, Polynomial
from gramian.operators import gram
from gramian.operators.centering import Centering
from gramian.operators.gram import CenteredGram, DenseGram, LazyGram, SumGram


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(gram, "SIZES", replace(gram.SIZES, tile=48))


N = 131  # no multiple of a tile
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
WEIGHTS = RNG.random(N) / N
WEIGHTS /= WEIGHTS.sum()
BLOCK = RNG.normal(size=(N, 7))


def raws():
    kernel = RBF(1.3)
    return {
        "dense": DenseGram(kernel(X)),
        "kept": LazyGram(kernel, X),
        "recomputed": LazyGram(kernel, X, memory=0),
        "recomputed, no factors": LazyGram(Laplacian(2.0), X, memory=0),
        "recomputed, sparse rows": LazyGram(Polynomial(2), sparse.csr_array(X), memory=0),
        "sum": SumGram([LazyGram(kernel, X), DenseGram(Linear()(X))], [0.5, 2.0]),
    }


def dense_of(name):
    return {
        "recomputed, no factors": Laplacian(2.0)(X),
        "recomputed, sparse rows": Polynomial(2)(X),
        "sum": 0.5 * RBF(1.3)(X) + 2.0 * X @ X.T,
    }.get(name, RBF(1.3)(X))


@pytest.mark.parametrize("name", raws())
def test_products_are_those_of_the_dense_matrix_in_the_dtype_of_the_block(name):
    raw, exact = raws()[name], dense_of(name)
    scale = np.abs(exact @ BLOCK).max()
    for dtype, tolerance in [(np.float32, 1e-5), (np.float64, 1e-13), (np.float32, 1e-5), (np.float64, 1e-13)]:
        image = raw @ BLOCK.astype(dtype)
        assert image.dtype == dtype
        np.testing.assert_allclose(image, exact @ BLOCK, atol=tolerance * scale)


@pytest.mark.parametrize("name", raws())
def test_diagonal_columns_and_dense_form_agree(name):
    raw, exact = raws()[name], dense_of(name)
    chosen = np.array([3, 100, 7])
    np.testing.assert_allclose(raw.diagonal(), np.diagonal(exact), rtol=1e-12)
    np.testing.assert_allclose(raw.columns(chosen), exact[:, chosen], atol=1e-12)
    np.testing.assert_allclose(raw.columns(chosen, rows=slice(5, 60)), exact[5:60, chosen], atol=1e-12)
    np.testing.assert_allclose(raw.columns(chosen, rows=chosen), exact[np.ix_(chosen, chosen)], atol=1e-12)
    assert raw.columns(chosen, np.float32).dtype == np.float32
    dense = raw.to_dense()
    np.testing.assert_allclose(dense, exact, atol=1e-12)
    np.testing.assert_array_equal(dense, dense.T)
    dense[0, 0] = 9.0  # a new array, not the operator's own
    np.testing.assert_allclose(raw.to_dense(), exact, atol=1e-12)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_do_not_change_the_product(monkeypatch, threads):
    monkeypatch.setattr(gram, "thread_count", lambda: threads)
    raw = LazyGram(RBF(1.3), X, memory=0)
    first = raw @ BLOCK
    np.testing.assert_array_equal(raw @ BLOCK, first)  # the same number of threads, the same bits
    np.testing.assert_allclose(first, RBF(1.3)(X) @ BLOCK, rtol=1e-12, atol=1e-12)


class CountingRBF(RBF):
    """RBF that counts its tiles."""

    count = 0

    def profile(self, products):
        type(self).count += 1
        return super().profile(products)


def test_tiles_are_kept_only_within_the_memory():
    n_tiles = 3 * 4 // 2
    for memory, products, expected in [(None, 4, n_tiles), (0, 4, 4 * n_tiles), (8 * N * N, 4, n_tiles)]:
        CountingRBF.count = 0
        raw = LazyGram(CountingRBF(1.3), X, memory)
        for _ in range(products):
            raw @ BLOCK
        assert CountingRBF.count == expected


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("name", ["dense", "recomputed", "sum"])
def test_centred_gram_is_its_definition(name, center):
    centering = Centering(WEIGHTS, center)
    J = (np.eye(N) - (np.outer(WEIGHTS, np.ones(N)) if center else 0)) @ np.diag(np.sqrt(WEIGHTS))
    K0 = dense_of(name)
    K = J.T @ K0 @ J
    operator = CenteredGram(raws()[name], centering)
    np.testing.assert_allclose(operator @ BLOCK, K @ BLOCK, atol=1e-14)
    assert (operator @ BLOCK.astype(np.float32)).dtype == np.float32
    assert operator.trace() == pytest.approx(np.trace(K), rel=1e-12)
    np.testing.assert_allclose(operator.raw_mean, K0 @ WEIGHTS if center else 0 * WEIGHTS, atol=1e-13)
    np.testing.assert_allclose(CenteredGram(raws()[name], centering).to_dense(), K, atol=1e-15)
    np.testing.assert_allclose(CenteredGram(raws()[name], centering).raw_mean, operator.raw_mean, atol=1e-14)


def test_mean_rides_on_the_first_float64_product():
    CountingRBF.count = 0
    operator = CenteredGram(LazyGram(CountingRBF(1.3), X, memory=0), Centering(WEIGHTS))
    operator @ BLOCK
    tiles = CountingRBF.count
    operator.trace()
    assert CountingRBF.count == tiles
    np.testing.assert_allclose(operator.raw_mean, RBF(1.3)(X) @ WEIGHTS, atol=1e-14)


@pytest.mark.parametrize("center", [True, False])
def test_sketch_is_nystroem(center):
    operator = CenteredGram(raws()["recomputed"], Centering(WEIGHTS, center))
    values, vectors = operator.sketch(10, np.random.default_rng(0))
    exact = np.linalg.eigh(operator.to_dense())
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-3)
    np.testing.assert_allclose(values[:3], exact[0][::-1][:3], rtol=0.05)
    assert np.linalg.svd(vectors[:, :3].T @ exact[1][:, :-6:-1], compute_uv=False).min() > 0.95


def test_sketch_draws_no_row_without_weight():
    weights = np.where(np.arange(N) < 60, 1 / 60, 0.0)
    values, _ = CenteredGram(raws()["kept"], Centering(weights)).sketch(5, np.random.default_rng(0))
    exact = np.linalg.eigvalsh(CenteredGram(LazyGram(RBF(1.3), X[:60]), Centering(np.full(60, 1 / 60))).to_dense())
    np.testing.assert_allclose(values, exact[::-1][:5], rtol=1e-2)


def test_one_row_and_one_tile_work():
    with single_blas_thread():
        raw = LazyGram(RBF(1.0), X[:1])
        np.testing.assert_allclose(raw @ np.ones((1, 2)), 1.0)
        assert CenteredGram(raw, Centering(np.ones(1))).trace() == pytest.approx(0.0, abs=1e-15)
