"""Starts of kernel mixtures: graphs of neighbours, their cuts, and that no attempt repeats another."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.datasets import make_c_shapes
from gramian.kernels import RBF
from gramian.mixtures import kernel_kmeans
from gramian.mixtures.kernel_component import DualRows
from gramian.mixtures.kernel_kmeans import Neighbours, graph_cut, graph_start, graph_starts


@pytest.fixture(scope="module")
def rows():
    X, _ = make_c_shapes(80, random_state=0)
    return DualRows(RBF(3.0), X, RBF(3.0)(X))


def test_neighbours_are_those_of_all_distances(rows, monkeypatch):
    monkeypatch.setattr(kernel_kmeans, "SIZES", replace(kernel_kmeans.SIZES, chunk=8000))  # several chunks
    found = Neighbours.of(rows.gram, 6)
    squares = 2.0 - 2.0 * rows.gram
    np.fill_diagonal(squares, np.inf)
    assert_allclose(found.squares, np.sort(squares, axis=1)[:, :6], atol=1e-12)
    assert_allclose(np.take_along_axis(squares, found.near, axis=1), found.squares, atol=1e-12)
    assert Neighbours.of(rows.gram[:4, :4], 10).near.shape == (4, 3)


def test_edges_have_a_width_per_row_or_one_for_all(rows):
    found = Neighbours.of(rows.gram, 12)
    scale = found.squares[:, 6]
    own, one = found.graph(7).toarray(), found.graph_of_one_width(2.0).toarray()
    assert_allclose(own, own.T)
    assert_allclose(one, one.T)
    i, j = 5, found.near[5, 3]
    assert_allclose(own[i, j], np.exp(-found.squares[5, 3] / np.sqrt(scale[i] * scale[j])))
    assert_allclose(one[i, j], np.exp(-2.0 * found.squares[5, 3] / np.median(found.squares[:, 9])))


def test_graphs_that_agree_are_one_start_and_attempts_never_repeat_one(rows, monkeypatch):
    n = rows.size
    X, _ = make_c_shapes(random_state=0)
    clear = DualRows(RBF(3.0), X, RBF(3.0)(X))
    assert len(graph_starts(clear, np.ones(len(X)), 2, np.random.default_rng(0))) == 1
    seen = []

    def noted(edges, weights, n_clusters, rng):
        seen.append((edges.nnz, round(float(edges.sum()), 9)))
        return rng.integers(0, n_clusters, edges.shape[0])

    monkeypatch.setattr(kernel_kmeans, "graph_cut", noted)
    lengths = [len(graph_starts(rows, np.ones(n), 2, np.random.default_rng(1), t)) for t in range(8)]
    assert lengths == [3, 1] * 4
    assert len(seen) == len(set(seen)) == 12


def test_one_start_is_the_first_of_several_and_tiny_samples_have_one(rows):
    n = rows.size
    several = graph_starts(rows, np.ones(n), 2, np.random.default_rng(0))
    np.testing.assert_array_equal(graph_start(rows, np.ones(n), 2, np.random.default_rng(0)), several[0])
    few = DualRows(rows.kernel, rows.points[:2], rows.gram[:2, :2])
    assert graph_starts(few, np.ones(2), 3, np.random.default_rng(0))[0].shape == (2, 3)


def test_a_large_graph_is_cut_as_a_small_one(rows, monkeypatch):
    graph = Neighbours.of(rows.gram, 10).graph(10)
    dense = graph_cut(graph, np.ones(rows.size), 2, np.random.default_rng(0))
    monkeypatch.setattr(kernel_kmeans, "SIZES", replace(kernel_kmeans.SIZES, dense=10))
    sparse = graph_cut(graph, np.ones(rows.size), 2, np.random.default_rng(0))
    assert max((dense == sparse).mean(), (dense != sparse).mean()) == 1.0
