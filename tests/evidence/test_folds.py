"""Folds that a user hands in are the folds that decide."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_regression
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold

from gramian import (
    KernelPPCAClassifier,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    RKMClassifier,
    RKMRegressor,
)
from gramian._content import Folds, content_folds, row_hashes
from gramian.evidence.cells import hidden_draws
from gramian.evidence.folds import as_folds

X, y = load_iris(return_X_y=True)
MODELS = {
    "detector": (LatentOutlierDetector(standardize=False), None),
    "views": (MultiViewRKM(views={"a": [0, 1], "b": [2, 3]}), None),
    "regressor": (RKMRegressor(), X[:, 0] * 2 + X[:, 2]),
    "classifier": (RKMClassifier(), y),
    "rules": (KernelPPCAClassifier(), y),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_folds_given_are_those_that_decide(name):
    """Folds by content, handed in as pairs, give what the number gives; other folds give other losses."""
    model, target = MODELS[name]
    number = content_folds(X, 5)[1]
    pairs = [(np.flatnonzero(number != f), np.flatnonzero(number == f)) for f in range(5)]
    by_number, by_pairs = clone(model).fit(X, target), clone(model).set_params(n_folds=pairs).fit(X, target)
    np.testing.assert_allclose(by_pairs.evidence_.losses, by_number.evidence_.losses)
    other = clone(model).set_params(n_folds=KFold(4, shuffle=True, random_state=0)).fit(X, target)
    assert other.evidence_.losses.shape[1] == 4
    assert other.evidence_.choose() == other.selection_.chosen or name == "rules"
    assert not any(attribute == "_dealt" for attribute in vars(other))


def test_groups_stay_together():
    groups = np.arange(150) // 10
    folds = as_folds(GroupKFold(3).split(X, groups=groups), X)
    number = folds.assign(row_hashes(X))
    first = np.array([number[groups == g][0] for g in range(15)])
    copies = len(np.unique(row_hashes(X))) < 150  # equal rows of two groups go with the first
    assert (number == first[groups]).mean() > (0.98 if copies else 1.0)


def test_a_splitter_that_needs_labels_gets_them():
    folds = as_folds(StratifiedKFold(3), X, y)
    number = folds.assign(row_hashes(X))
    assert all(30 <= np.bincount(number[y == c]).sum() <= 50 for c in range(3))


@pytest.mark.parametrize(
    ("n_folds", "words"),
    [
        (ShuffleSplit(3, random_state=0), "does not part the rows"),
        ([(np.arange(100, 150), np.arange(100))], "holds out 100 of 150"),
        ([(np.arange(150), np.arange(10))], "does not part the rows"),
        ([(np.arange(10), np.arange(10, 200))] * 2, "names rows that X"),
        (1, "n_folds"),
        ("many", "n_folds"),
    ],
)
def test_folds_that_are_none_are_refused_with_words(n_folds, words):
    regressor = RKMRegressor(n_folds=n_folds)
    with pytest.raises(ValueError, match=words):
        regressor.fit(X, X[:, 0])
    assert not hasattr(regressor, "evidence_")


def test_leaking_folds_are_the_users_choice_and_show_in_the_evidence():
    """Near-copies of rows in other folds make losses small; folds that keep them together do not."""
    rng = np.random.default_rng(0)
    base, target = make_regression(60, 5, noise=30.0, random_state=0)
    rows = np.repeat(base, 3, axis=0) + 1e-3 * rng.standard_normal((180, 5))
    groups = np.repeat(np.arange(60), 3)
    target = np.repeat(target, 3)
    apart = RKMRegressor(n_folds=list(GroupKFold(5).split(rows, groups=groups))).fit(rows, target)
    leaking = RKMRegressor(n_folds=KFold(5, shuffle=True, random_state=0)).fit(rows, target)
    assert leaking.evidence_.losses.mean(axis=1).min() < 0.5 * apart.evidence_.losses.mean(axis=1).min()


def test_the_imputer_hides_cells_of_the_rows_of_each_fold():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((120, 5))
    number = np.arange(120) % 3
    draws = hidden_draws(X, Folds.given(row_hashes(X), number))
    assert [np.unique(number[draw.hidden.any(axis=1)]).tolist() for draw in draws] == [[0], [1], [2]]
    assert all(0.05 < draw.hidden.mean() < 0.15 for draw in draws)
    X[rng.random(X.shape) < 0.1] = np.nan
    model = LatentImputer(n_folds=KFold(4)).fit(X)
    assert model.evidence_.losses.shape[1] == 4
    pairs = LatentImputer(n_folds=list(KFold(4).split(X))).fit(X)
    np.testing.assert_array_equal(pairs.evidence_.losses, model.evidence_.losses)
