"""Traits: what contrasts of categories say, in the words of the table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian import PPCA
from gramian.reporting.traits import Traits
from gramian.reporting.words import extrapolated_columns, of_extrapolated
from gramian.tables.preprocessing import Preprocessing
from gramian.tables.table import Table


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=120)
    size = kind + 0.4 * rng.normal(size=120)
    words = np.empty(120, dtype=object)
    words[:] = np.array(["ash", "beech", "fir", "oak"])[kind]
    flag = np.empty(120, dtype=object)
    flag[:] = np.where(size > 1, "yes", "no")
    return Table(["size", "tree", "tall"], [size, words, flag])


def test_traits_are_the_standardised_indicators_of_the_values(table):
    prepare = Preprocessing.fit([table])
    traits = Traits.of(prepare)
    assert traits.names == ["size", "tree=ash", "tree=beech", "tree=fir", "tree=oak", "tall=yes"]
    assert traits.labels == ["size", "ash", "beech", "fir", "oak", "tall=yes"]
    found = prepare.matrix(table) @ traits.matrix
    for name in ("ash", "fir"):
        indicator = (table["tree"] == name).astype(float)
        assert_allclose(
            found[:, traits.names.index(f"tree={name}")], (indicator - indicator.mean()) / indicator.std(), atol=1e-12
        )
    assert_allclose(found[:, 0], prepare.matrix(table)[:, 0])


def test_correlations_with_components_are_those_of_draws_of_the_model(table):
    prepare = Preprocessing.fit([table])
    traits = Traits.of(prepare)
    model = PPCA(2).fit(prepare.matrix(table))
    rng = np.random.default_rng(1)
    z = rng.normal(size=(200_000, 2))
    rows = z @ model.loadings_.T + np.sqrt(model.noise_variance_) * rng.normal(
        size=(len(z), prepare.matrix(table).shape[1])
    )
    drawn = np.corrcoef((rows @ traits.matrix).T, z.T)[: len(traits.names), len(traits.names) :]
    assert_allclose(traits.correlations(model), drawn, atol=0.01)
    name, step = traits.leading(model, 0, most=1)[0]
    assert abs(step) == np.abs(traits.loadings(model)[:, 0]).max()
    assert name in traits.names


def test_cells_filled_far_from_all_that_was_seen_are_counted_by_column(table):
    prepare = Preprocessing.fit([table])
    full = np.zeros((3, len(prepare.features)))
    full[:, 0] = [5.1, -7.0, 2.0]
    holes = np.array([[True, True, False], [True, False, False], [True, False, False]])
    counts = extrapolated_columns(prepare, full, holes)
    assert counts == {"size": 2}
    assert "(more than 5 standard deviations from the mean of the column): 2 cells of 'size'." in of_extrapolated(
        counts
    )
    assert extrapolated_columns(prepare, full, np.zeros_like(holes)) == {}
    assert extrapolated_columns(Preprocessing.fit([table], standardize=False), full, holes) == {}


def test_components_in_words_have_the_signs_of_their_loadings(table):
    prepare = Preprocessing.fit([table])
    traits = Traits.of(prepare)
    model = PPCA(2).fit(prepare.matrix(table))
    for piece, (name, value) in zip(traits.in_words(model, 1).split("; "), traits.leading(model, 1), strict=True):
        assert piece == f"{'+' if value > 0 else '−'}\u00a0{name}"
