"""RELIABILITY rows KERN, for every model that takes a kernel."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.model_selection import cross_validate

from gramian import kernels
from gramian.exceptions import NumericalWarning
from reliability.cases import CASES, X

KERNEL_MODELS = {name: case for name, case in CASES.items() if "kernel" in case.make().get_params()}
each = pytest.mark.parametrize("case", KERNEL_MODELS.values(), ids=KERNEL_MODELS)
K = X @ X.T + np.eye(len(X))
BAD = {
    "a column too few": (K[:, :-1], r"square matrix.*\(40, 39\)"),
    "a column too many": (np.column_stack([K, K[:, 0]]), r"square matrix.*\(40, 41\)"),
    "half the columns": (K[:, :20], "square matrix"),
    "not symmetric": (K + np.triu(np.ones_like(K), 1), r"not symmetric: max \|K - K.T\| = 1"),
    "NaN": (np.where(np.eye(40) > 0, np.nan, K), "NaN"),
    "a negative diagonal": (K - 2 * np.diag(np.diagonal(K)), "negative diagonal"),
}


def finite(case, model, table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return all(np.isfinite(values.astype(float)).all() for values in case.outputs(model, table).values())


@each
@pytest.mark.parametrize("gram, words", BAD.values(), ids=BAD)
def test_kern_02_what_is_no_gram_matrix_is_named(case, gram, words):
    with pytest.raises(ValueError, match=words):
        case.fit(gram, kernel="precomputed")


@each
def test_kern_03_new_rows_need_a_column_per_training_row(case):
    model = case.fit(K, kernel="precomputed")
    with pytest.raises(ValueError, match="expecting 40 features"):
        getattr(model, case.methods[0])(K[:5, :30])


@each
def test_kern_04_folds_take_rows_and_columns_together(case):
    model = case.make(kernel="precomputed")
    assert model.__sklearn_tags__().input_tags.pairwise
    assert not case.make(kernel="rbf").__sklearn_tags__().input_tags.pairwise

    def answered(fitted, gram, y=None):
        return float(gram.shape == (20, 20) and np.isfinite(getattr(fitted, case.methods[0])(gram)).all())

    assert cross_validate(model, K, case.y, cv=2, scoring=answered)["test_score"].tolist() == [1.0, 1.0]


@each
@pytest.mark.parametrize("scale, words", [(1e-9, "too small"), (1e9, "too large")])
def test_kern_05_a_width_that_leaves_no_structure_is_told(case, scale, words):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?!.*no structure)")
        with pytest.warns(NumericalWarning, match=f"no structure.*{words}"):
            model = case.fit(X, kernel=kernels.RBF(scale))
    assert finite(case, model, X)


@each
def test_kern_06_every_point_twice_is_harmless(case):
    table = np.repeat(X[::2], 2, axis=0)
    assert finite(case, case.fit(table, kernel=kernels.RBF(1.0)), table)


@each
def test_kern_07_a_kernel_that_overflows_is_named_and_nothing_else_is_said(case):
    settings = {"standardize": False} if "standardize" in case.make().get_params() else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=r"kernel values not finite|[Rr]escale"):
            case.fit(1e40 * X, kernel=kernels.Polynomial(degree=10), **settings)


@each
def test_kern_08_the_cosine_of_a_zero_row_is_zero(case):
    table = X.copy()
    table[3] = 0.0
    assert finite(case, case.fit(table, kernel="cosine"), table)


@each
def test_kern_09_one_row_alone_is_answered_as_among_many(case):
    model = case.fit(X, kernel="rbf")
    new = X + 0.1
    together = case.outputs(model, new)
    alone = [case.outputs(model, row[None]) for row in new[:8]]
    for name, values in together.items():
        found = np.concatenate([one[name] for one in alone])
        assert_allclose(found, values[:8], rtol=1e-10, atol=1e-12 * max(1.0, float(np.abs(values).max())), err_msg=name)
