"""Views that are data frames are paired by their indexes, never by position alone."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import MultiViewRKM

pandas = pytest.importorskip("pandas")


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((40, 2))
    index = [f"r{i}" for i in range(40)]
    left = pandas.DataFrame(z @ rng.standard_normal((2, 3)), index=index, columns=list("abc"))
    right = pandas.DataFrame(z @ rng.standard_normal((2, 2)) + 0.1 * rng.standard_normal((40, 2)), index=index)
    return left, right.rename(columns=str)


def test_frames_in_another_order_are_aligned(views):
    left, right = views
    shuffled = right.sample(frac=1, random_state=0)
    same = MultiViewRKM(2).fit({"left": left, "right": right})
    found = MultiViewRKM(2).fit({"left": left, "right": shuffled})
    assert_allclose(found.loadings_[1], same.loadings_[1], rtol=1e-9)
    assert_allclose(
        found.transform({"left": left, "right": shuffled}), same.transform({"left": left, "right": right}), rtol=1e-9
    )


def test_frames_of_other_rows_are_refused(views):
    left, right = views
    with pytest.raises(ValueError, match="do not name the same rows"):
        MultiViewRKM(2).fit({"left": left, "right": right.set_axis([f"s{i}" for i in range(40)])})
    with pytest.raises(ValueError, match="do not name the same rows"):
        MultiViewRKM(2).fit([left, right.set_axis(["r0"] * 40)])


def test_arrays_and_equal_indexes_are_paired_as_they_stand(views):
    left, right = views
    by_position = MultiViewRKM(2).fit([left.to_numpy(), right.to_numpy()])
    assert_allclose(MultiViewRKM(2).fit([left, right]).loadings_[0], by_position.loadings_[0])
    assert_allclose(MultiViewRKM(2).fit([left.to_numpy(), right]).loadings_[0], by_position.loadings_[0])
