"""`KernelPPCAMixture(n_clusters="auto")`: the clusters that models of different rows agree on."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons
from sklearn.metrics import adjusted_rand_score

from gramian import KernelPPCAMixture
from gramian.mixtures.cluster_strength import ClusterRows


def blobs(k, n=20, seed=0):
    rng = np.random.default_rng(seed)
    centers = 12 * np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(k) / k])
    return np.vstack([center + rng.standard_normal((n, 2)) for center in centers]), np.repeat(np.arange(k), n)


def test_strength_is_the_share_of_pairs_kept_together():
    labels, others = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    rows = ClusterRows(np.eye(6), np.ones(6), np.arange(6, dtype=np.uint64), 0.01)
    pairs = [others[i] == others[j] for i in range(3) for j in range(3)]
    assert_allclose(rows.strength(labels, others, 2), np.mean(pairs))
    assert rows.strength(labels, labels, 2) == 1.0
    assert rows.strength(labels, labels, 3) == 0.0  # a cluster without rows


def test_names_of_clusters_do_not_matter():
    labels, others = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([1, 1, 2, 0, 0, 0, 0])
    rows = ClusterRows(np.eye(7), np.arange(1.0, 8.0), np.arange(7, dtype=np.uint64), 0.01)
    found = [rows.strength(labels, np.array(names)[others], 3) for names in permutations(range(3))]
    assert_allclose(found, found[0])


@pytest.mark.parametrize("k", [1, 3, 5])
def test_blobs_are_counted(k):
    X, y = blobs(k, 100 // k)
    model = KernelPPCAMixture("auto", 2).fit(X)
    assert model.selection_.chosen == {"n_clusters": k}
    assert len(model.weights_) == k
    assert adjusted_rand_score(y, model.predict(X)) > 0.95


def test_moons_are_two_clusters():
    X, y = make_moons(160, noise=0.05, random_state=0)
    model = KernelPPCAMixture("auto", standardize="auto").fit(X)
    assert adjusted_rand_score(y, model.predict(X)) > 0.95
    assert model.evidence_.choose() == {"n_clusters": 2}


def test_neither_order_nor_repetition_matters():
    X, _ = blobs(2)
    order = np.random.default_rng(1).permutation(len(X))
    once = KernelPPCAMixture("auto", 1).fit(X)
    again = KernelPPCAMixture("auto", 1).fit(np.vstack([X[order], X]))
    assert_allclose(again.selection_.scores, once.selection_.scores, atol=1e-9)


def test_batches_count_too():
    X, _ = blobs(3, 20)
    model = KernelPPCAMixture("auto", 1, approximation="nystroem", n_landmarks=30)
    whole = model.fit(X).selection_.chosen
    assert whole == model.fit_batches([X[:25], X[25:]]).selection_.chosen == {"n_clusters": 3}


def test_few_rows_are_one_cluster():
    assert KernelPPCAMixture("auto").fit(blobs(2, 4)[0]).selection_.chosen == {"n_clusters": 1}


@pytest.mark.parametrize("options", [{"n_components": [1, 2]}, {"init": np.full((40, 2), 0.5)}])
def test_what_names_the_clusters_does_not_go_with_auto(options):
    with pytest.raises(ValueError, match="n_clusters='auto' does not go with"):
        KernelPPCAMixture("auto", **options).fit(blobs(2)[0])


@pytest.mark.parametrize("seed", [0, 3, 7])
def test_a_long_gaussian_is_one_cluster_though_its_halves_are_stable(seed):
    rng = np.random.default_rng(seed)
    axes = rng.standard_normal((3, 3)) * np.geomspace(1.0, 0.1, 3)
    model = KernelPPCAMixture("auto", random_state=0).fit(rng.standard_normal((60, 3)) @ axes)
    assert model.selection_.chosen == {"n_clusters": 1}
