"""LatentImputer(estimator="auto"): PPCA, mixtures and the kernel model before one jury of hidden cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from gramian import LatentImputer, load, save
from gramian.datasets import make_missing
from gramian.estimators import imputer_family
from gramian.estimators.imputer_family import MOST_COLUMNS, MOST_ROWS, candidates
from gramian.evidence.selection import choose_by


def spiral(n=300):
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.5, 3, n) * np.pi
    rows = np.column_stack([angle * np.cos(angle), angle * np.sin(angle), angle])
    return rows + 0.1 * rng.standard_normal(rows.shape)


def test_a_curved_table_is_not_left_to_ppca(tmp_path):
    X = spiral()
    table = make_missing(X, 0.2, random_state=1)
    holes = np.isnan(table)
    model = LatentImputer("auto").fit(table)
    filled, std = model.impute(table, return_std=True)
    error, linear = (np.square((found - X)[holes]).mean() for found in (filled, LatentImputer().fit_transform(table)))
    assert error < 0.5 * linear
    assert model.model_selection_.chosen != {"estimator": "PPCA"}
    assert model.selection_ is model.model_selection_
    assert model.model_selection_.reason in model.explain()
    assert 0.8 < (np.abs(filled - X)[holes] < 1.645 * std[holes]).mean() < 0.97
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").transform(table), filled, rtol=1e-9)
    assert_array_equal(clone(model).fit(table).transform(table), filled)


def test_a_linear_table_stays_with_ppca_and_is_filled_as_by_default():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 6)) + 0.2 * rng.standard_normal((120, 6))
    table = make_missing(X, 0.15, random_state=0)
    model = LatentImputer("auto").fit(table)
    assert model.model_selection_.chosen == {"estimator": "PPCA"}
    assert_array_equal(model.transform(table), LatentImputer().fit_transform(table))


@pytest.mark.parametrize("error, chosen", [(0.8, "PPCA"), (0.5, "PPCAMixture(3)")])
def test_a_mixture_must_be_clearly_better(error, chosen, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    table = make_missing(X, 0.2, random_state=0)
    trial = imputer_family._Trial

    def said(self, mixture):
        """The truth, with noise that makes the squared error this share of that of the mean."""
        draws = np.random.default_rng(1)
        truths = [self.rows.rows[hidden] for hidden in self.hidden]
        return [(x + np.sqrt(error) * draws.permutation(x), np.ones(len(x))) for x in truths]

    monkeypatch.setattr(trial, "by_mixture", said)
    monkeypatch.setattr(trial, "by_kernel", lambda self, model: [])
    model = LatentImputer("auto").fit(table)
    selection = model.model_selection_
    assert choose_by(selection.evidence).chosen == {
        "estimator": "PPCAMixture(3)"
    }  # one standard error would do elsewhere
    assert selection.chosen == {"estimator": chosen}


def test_large_tables_have_no_other_candidates_and_the_default_asks_no_family():
    assert not candidates(MOST_ROWS + 1, 5)
    assert not candidates(100, MOST_COLUMNS + 1)
    assert list(candidates(100, 60)) == ["KernelPPCA"]
    table = make_missing(spiral(60), 0.1, random_state=0)
    assert not hasattr(LatentImputer().fit(table), "model_selection_")


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="estimator="):
        LatentImputer("best").fit(spiral(30))


def test_rows_with_twins_are_filled_by_a_kernel():
    rng = np.random.default_rng(0)
    half = rng.standard_normal((80, 8))
    X = np.vstack([half, half]) + 0.1 * rng.standard_normal((160, 8))
    table = make_missing(X, 0.15, random_state=0)
    hidden = np.isnan(table)
    model = LatentImputer("auto").fit(table)
    assert model.selection_.chosen["estimator"] == "KernelPPCA"
    error, plain = (np.square((one.transform(table) - X)[hidden]).mean() for one in (model, LatentImputer().fit(table)))
    assert error < 0.75 * plain
