"""Expected kernel values of rows that are laws, against many draws and the kernel itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gramian.kernels import RBF, Constant, Laplacian, Linear, Matern, Periodic, Polynomial
from gramian.kernels.expected import Expected, as_laws

CLOSED = {
    "rbf": RBF(1.5),
    "rbf, a scale per column": RBF(np.array([1.0, 2.0, 3.0])),
    "linear": Linear(),
    "quadratic": Polynomial(degree=2, gamma=0.5),
    "cubic": Polynomial(degree=3, gamma=0.5, coef0=0.3),
    "sum": 0.5 * RBF(1.0) + Linear() + Constant(0.2),
}
DRAWN = {"laplacian": Laplacian(3.0), "matern": Matern(2.0), "product": RBF(2.0) * Linear()}


@pytest.fixture
def laws():
    rng = np.random.default_rng(0)
    means = rng.standard_normal((6, 3))
    variances = np.where(rng.random((6, 3)) < 0.4, rng.uniform(0.1, 0.6, (6, 3)), 0.0)
    variances[0] = 0.0
    return means, variances


def by_many_draws(kernel, means, variances, n=4000):
    rng = np.random.default_rng(1)
    total, own = np.zeros((6, 6)), np.zeros(6)
    for _ in range(n):
        left, right = (means + np.sqrt(variances) * rng.standard_normal(means.shape) for _ in range(2))
        total += kernel(left, right)
        own += kernel.diagonal(left)
    return total / n, own / n


def test_a_far_mean_of_an_unsure_cell_takes_no_digits_of_the_others():
    """Laws of huge variance have far means: a row's value is exact, and the same alone and among others."""
    known, unsure = np.array([[0.0, 1.0], [3e9, 2.0]]), np.array([[1e8, 1.5]])
    variance = np.array([[1e16, 0.0]])
    share = 1 / (1 + 1e16)
    exact = np.sqrt(share) * np.exp(-0.5 * share * (known[:, 0] - 1e8) ** 2 - 0.5 * (known[:, 1] - 1.5) ** 2)
    values = Expected(RBF(1.0))(as_laws(known), as_laws(unsure, variance))
    assert_allclose(values[:, 0], exact, rtol=1e-12)
    assert_allclose(Expected(RBF(1.0))(as_laws(known[:1]), as_laws(unsure, variance)), values[:1], rtol=1e-12)


@pytest.mark.parametrize("kernel", CLOSED.values(), ids=CLOSED)
def test_closed_forms_agree_with_many_draws(kernel, laws):
    drawn, own = by_many_draws(kernel, *laws)
    size = np.abs(drawn).max()
    assert_allclose(kernel.expected(*laws, *laws), drawn, atol=0.04 * size)
    assert_allclose(kernel.expected_diagonal(*laws), own, atol=0.04 * np.abs(own).max())


@pytest.mark.parametrize("kernel", DRAWN.values(), ids=DRAWN)
def test_few_draws_are_near_many(kernel, laws):
    drawn, own = by_many_draws(kernel, *laws, n=1000)
    gap = np.abs(kernel.expected(*laws, *laws) - drawn).mean()
    assert gap < 0.6 * np.abs(kernel(laws[0], laws[0]) - drawn).mean() + 0.02 * np.abs(drawn).mean()
    assert np.abs(kernel.expected_diagonal(*laws) - own).mean() < 0.3 * np.abs(own).mean()


@pytest.mark.parametrize("kernel", [*CLOSED.values(), *DRAWN.values(), Periodic(1.0, 2.0)], ids=repr)
def test_known_rows_have_the_kernel_itself(kernel, laws):
    means, none = laws[0], np.zeros_like(laws[0])
    assert_allclose(kernel.expected(means, none, means, none), kernel(means), rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.expected_diagonal(means, none), kernel.diagonal(means), rtol=1e-12)


@pytest.mark.parametrize("kernel", [*CLOSED.values(), *DRAWN.values()], ids=repr)
def test_the_gram_matrix_of_laws_is_symmetric_and_semidefinite_with_its_own_diagonal(kernel, laws):
    rows = as_laws(*laws)
    gram = Expected(kernel)(rows)
    assert_allclose(gram, gram.T, rtol=1e-14)
    assert_allclose(np.diagonal(gram), kernel.expected_diagonal(*laws), rtol=1e-14)
    assert np.linalg.eigvalsh(gram)[0] > -1e-10 * np.trace(gram)


def test_a_row_is_known_again_and_another_of_the_same_means_is_not(laws):
    rows = as_laws(*laws)
    kernel = Expected(RBF(1.0))
    assert_allclose(np.diagonal(kernel(rows, rows.copy())), 1.0)
    other = as_laws(laws[0], 1.1 * laws[1])
    uncertain = laws[1].any(axis=1)
    assert (np.diagonal(kernel(rows, other))[uncertain] < 1.0).all()
    assert_allclose(kernel(np.vstack([rows, rows]))[:6, 6:], kernel(rows))


def test_tiles_and_resolve_follow_the_kernel_inside(laws):
    rows = as_laws(*laws)
    kernel = Expected(RBF("median")).resolve(rows)
    assert kernel.kernel.length_scale == RBF("median").resolve(laws[0]).length_scale
    tile = kernel.tiles(rows, rows)
    assert_allclose(tile(slice(1, 4), slice(2, 6)), kernel(rows)[1:4, 2:6], rtol=1e-14)
