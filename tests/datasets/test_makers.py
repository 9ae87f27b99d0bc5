"""The makers draw what they say, the same for the same seed."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from gramian import datasets

MAKERS = {
    "c_shapes": lambda seed: datasets.make_c_shapes(random_state=seed),
    "interlocked": lambda seed: datasets.make_c_shapes(interlocked=True, random_state=seed),
    "moons": lambda seed: datasets.make_moons(random_state=seed),
    "ellipsoids": lambda seed: datasets.make_ellipsoids(random_state=seed),
    "curved_clusters": lambda seed: datasets.make_curved_clusters(random_state=seed),
}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_same_seed_same_data_other_seed_other_data(maker):
    X, labels = maker(0)
    np.testing.assert_array_equal(X, maker(0)[0])
    assert not np.array_equal(X, maker(1)[0])
    assert len(X) == len(labels)
    assert np.isfinite(X).all()


def test_interlocked_shapes_cannot_be_split_by_a_line_and_do_not_touch():
    from sklearn.linear_model import LogisticRegression

    X, labels = datasets.make_c_shapes(400, interlocked=True, random_state=0)
    assert LogisticRegression(C=1e4, max_iter=1000).fit(X, labels).score(X, labels) < 1.0
    assert cdist(X[labels == 0], X[labels == 1]).min() > 0.5
    beside, labels = datasets.make_c_shapes(400, random_state=0)
    assert LogisticRegression(C=1e4, max_iter=1000).fit(beside, labels).score(beside, labels) == 1.0


def test_each_ellipsoid_is_flat_and_no_plane_holds_them_all():
    X, labels = datasets.make_ellipsoids(random_state=3)
    assert np.bincount(labels).tolist() == [140] * 5
    flat = [np.linalg.eigvalsh(np.cov(X[labels == k].T))[0] for k in range(5)]
    assert max(flat) < 0.06
    assert np.linalg.eigvalsh(np.cov(X.T))[0] > 1.0


def test_curved_clusters_are_curved_and_of_low_dimension():
    X, labels = datasets.make_curved_clusters(4000, noise=0.01, random_state=0)
    one = X[labels == 0]
    values = np.linalg.eigvalsh(np.cov(one.T))[::-1]
    assert values[15] > 100 * values[16]  # eight straight and eight bent directions, then noise


def test_sum_of_sines_is_the_formula():
    t = np.arange(500) / 100
    expected = np.sin(2 * np.pi * t) + 0.2 * np.sin(2 * np.pi * 20 * t)
    np.testing.assert_allclose(datasets.make_sum_of_sines(), expected, atol=1e-12)
    noisy = datasets.make_sum_of_sines(noise=0.1, random_state=0)
    assert 0.08 < np.std(noisy - expected) < 0.12
    with pytest.raises(ValueError, match="frequencies"):
        datasets.make_sum_of_sines(frequencies=(1.0,))


def test_mackey_glass_stays_in_its_known_range():
    series = datasets.make_mackey_glass(2000)
    assert 0.2 < series.min() < 0.6
    assert 1.2 < series.max() < 1.4


@pytest.mark.parametrize("mechanism", ["mcar", "mar", "block"])
@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.3, 0.6])
def test_make_missing_takes_the_fraction_asked_and_leaves_the_rest(mechanism, fraction):
    X = datasets.make_low_rank(2000, 8, random_state=0)
    holed = datasets.make_missing(X, fraction, mechanism=mechanism, random_state=0)
    assert abs(np.isnan(holed).mean() - fraction) < 0.02
    seen = ~np.isnan(holed)
    np.testing.assert_array_equal(holed[seen], X[seen])
    assert seen.any(axis=0).all()
    assert seen.any(axis=1).all()
    assert np.isfinite(X).all()


def test_mar_holes_follow_the_first_column_and_blocks_are_runs():
    X = datasets.make_low_rank(1000, 5, random_state=1)
    holed = datasets.make_missing(X, 0.3, mechanism="mar", random_state=0)
    assert not np.isnan(holed[:, 0]).any()
    counts = np.isnan(holed).sum(axis=1)
    assert np.corrcoef(np.argsort(np.argsort(X[:, 0])), counts)[0, 1] > 0.4
    holes = np.isnan(datasets.make_missing(X, 0.3, mechanism="block", random_state=0))
    starts = (holes & ~np.roll(holes, 1, axis=0)).sum(axis=0)
    assert (starts == 1).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: datasets.make_missing([[1.0, 2.0]], 1.0),
        lambda: datasets.make_missing([[1.0, 2.0]], mechanism="mnar"),
        lambda: datasets.make_missing([[1.0]], mechanism="mar"),
        lambda: datasets.make_c_shapes(True),
        lambda: datasets.make_c_shapes(radius=0),
        lambda: datasets.make_low_rank(rank=-1),
        lambda: datasets.make_ellipsoids(random_state="seed"),
    ],
)
def test_bad_arguments_are_refused(call):
    with pytest.raises(ValueError, match=r"must be|is not known|needs|cannot"):
        call()


def test_low_rank_has_its_rank():
    X = datasets.make_low_rank(40, 9, rank=4, noise=0.0, random_state=0)
    assert np.linalg.matrix_rank(X - X.mean(axis=0)) == 4
