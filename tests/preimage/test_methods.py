"""Each method against what it promises: formulas by hand, dense oracles, optimality, faults."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError

from gramian.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial, Precomputed
from gramian.policy import SIZES
from gramian.preimage import (
    MDS,
    PREIMAGES,
    Exact,
    FixedPoint,
    Gradient,
    KernelRidge,
    KernelSmoother,
    as_preimage,
    has_identity_features,
    preimage_for,
)


@pytest.fixture(scope="module")
def rows():
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    return np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle)])


@pytest.fixture(scope="module")
def kernel():
    return RBF(0.6)


@pytest.fixture(scope="module")
def gram(rows, kernel):
    return kernel(rows)


@pytest.fixture(scope="module")
def feature_points(gram):
    """Projections of the training rows on six principal components, as affine weights: what a model hands over."""
    n = len(gram)
    centring = np.eye(n) - 1.0 / n
    _, vectors = np.linalg.eigh(centring @ gram @ centring)
    V = vectors[:, -6:]
    return (1.0 / n + centring @ V @ V.T @ centring)[::4]


# ---------------------------------------------------------------- names


def test_names_stand_for_objects_and_options_reach_those_that_take_them():
    assert as_preimage("fixed_point", tol=1e-3, n_components=4).tol == 1e-3
    own = FixedPoint(tol=1e-2)
    assert as_preimage(own, tol=1e-3) is own
    assert own.tol == 1e-2


@pytest.mark.parametrize("bad", ["nearest", KernelSmoother, None, 3])
def test_what_is_no_preimage_is_refused_with_the_names(bad):
    with pytest.raises(ValueError, match=r"preimage=.*'smoother', 'fixed_point', 'mds', 'ridge', 'gradient'"):
        as_preimage(bad)


def test_linear_kernels_are_inverted_exactly_and_others_are_not_called_linear():
    assert has_identity_features(0.5 * Linear() + 2.0)
    assert has_identity_features(Linear() + Linear())
    assert not has_identity_features(Linear() + RBF(1.0))
    assert not has_identity_features(Linear() * Linear())
    assert has_identity_features(Polynomial(degree=1))
    assert not has_identity_features(Polynomial(degree=2))
    assert isinstance(preimage_for(Linear(), "mds"), Exact)
    assert isinstance(preimage_for(RBF(1.0), "mds"), MDS)


@pytest.mark.parametrize("name", PREIMAGES)
def test_transform_before_fit_says_so(name):
    with pytest.raises(NotFittedError):
        as_preimage(name).transform(np.ones((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_wrong_shapes_and_nan_are_named(name, rows, gram, kernel):
    fitted = as_preimage(name).fit(rows, gram, kernel=kernel, scores=rows[:, :1])
    with pytest.raises(ValueError, match=r"weights has shape \(2, 3\)"):
        fitted.transform(np.ones((2, 3)), gram[:2])
    with pytest.raises(ValueError, match="kernel_values has shape"):
        fitted.transform(gram[:2], gram[:3])
    with pytest.raises(ValueError, match="weights holds NaN"):
        fitted.transform(np.full((1, len(rows)), np.nan), gram[:1])


@pytest.mark.parametrize(
    "preimage, option",
    [
        (KernelSmoother(n_neighbors=0), "n_neighbors=0"),
        (MDS(n_neighbors=2.5), "n_neighbors=2.5"),
        (FixedPoint(tol=-1.0), "tol=-1.0"),
        (Gradient(max_iter=0), "max_iter=0"),
        (KernelRidge(penalty=-1.0), "penalty=-1.0"),
        (KernelRidge(length_scale=0.0), "length_scale=0.0"),
        (KernelRidge(n_centers=0), "n_centers=0"),
    ],
)
def test_bad_options_are_refused_in_fit(preimage, option, rows, gram, kernel):
    with pytest.raises(ValueError, match=option):
        preimage.fit(rows, gram, kernel=kernel, scores=rows[:, :1])


@pytest.mark.parametrize(
    "name, kernel",
    [
        ("fixed_point", Matern(1.0)),
        ("mds", RBF([1.0, 2.0, 3.0])),
        ("mds", Polynomial()),
        ("gradient", Laplacian(1.0)),
        ("gradient", Precomputed()),
        ("fixed_point", Precomputed()),
        ("exact", RBF(1.0)),
    ],
)
def test_a_kernel_that_the_method_cannot_use_is_refused_with_an_alternative(name, kernel, rows):
    with pytest.raises(
        ValueError, match=f"preimage='{name}' needs .*Use 'smoother'|preimage='{name}' needs .*or 'smoother'"
    ):
        as_preimage(name).fit(rows, kernel=kernel)


# ---------------------------------------------------------------- smoother


def test_the_smoother_is_the_clipped_average_of_the_largest_kernel_values(rows, gram, kernel, feature_points):
    values = feature_points @ gram
    found = KernelSmoother(n_neighbors=7).fit(rows, kernel=kernel).transform(feature_points, values)
    for answer, k in zip(found, values):
        chosen = np.argsort(-k)[:7]
        share = np.maximum(k[chosen], 0)
        assert_allclose(answer, share @ rows[chosen] / share.sum(), atol=1e-12)


def test_the_smoother_of_all_points_is_the_papers_formula_with_clipping_before_the_sum(rows, gram, kernel):
    weights = np.full((1, len(rows)), -0.5 / len(rows))
    weights[0, 0] = 1.5
    values = weights @ gram
    assert (values < 0).any()
    share = np.maximum(values, 0)
    expected = share @ rows / share.sum()
    assert_allclose(KernelSmoother(None).fit(rows, kernel=kernel).transform(weights, values), expected, atol=1e-12)


def test_where_no_kernel_value_is_positive_the_smoother_gives_the_nearest_row(rows, kernel):
    values = -np.ones((1, len(rows)))
    values[0, 17] = -0.5
    fitted = KernelSmoother().fit(rows, kernel=kernel)
    found, info = fitted.transform_with_info(np.zeros((1, len(rows))), values)
    assert_allclose(found, rows[17:18])
    assert info.fallback.all()
    assert info.converged.all()


def test_neighbours_are_near_in_feature_space_not_large(rows):
    """With a polynomial kernel the largest k(x, .) belong to the longest rows, not to the nearest."""
    X = np.vstack([rows, 50.0 * rows[:10]])
    kernel = Polynomial(degree=2)
    K0 = kernel(X)
    weights = np.eye(len(X))[:10]
    found = KernelSmoother(n_neighbors=3).fit(X, kernel=kernel).transform(weights, weights @ K0)
    assert np.linalg.norm(found - X[:10], axis=1).max() < 0.2
    assert_allclose(KernelSmoother(n_neighbors=3).fit(X, K0, kernel=kernel).transform(weights, weights @ K0), found)


def test_ties_are_broken_by_the_order_of_the_rows():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    found = KernelSmoother(2).fit(X, kernel=RBF(1.0)).transform(np.zeros((1, 4)), np.ones((1, 4)))
    assert_allclose(found, [[0.5]])


# ---------------------------------------------------------------- optimality


def _objective(kernel, rows, weights):
    return lambda x: float(kernel.diagonal(x[None])[0] - 2 * weights @ kernel(rows, x[None])[:, 0])


@pytest.mark.parametrize("method", [FixedPoint(tol=1e-9, max_iter=2000), Gradient(tol=1e-9, max_iter=2000)])
def test_iterations_end_where_scipy_ends(method, rows, gram, kernel, feature_points):
    fitted = method.fit(rows, gram, kernel=kernel)
    found, info = fitted.transform_with_info(feature_points, feature_points @ gram)
    assert info.converged.all()
    for answer, weights in zip(found, feature_points):
        objective = _objective(kernel, rows, weights)
        reference = minimize(objective, answer, method="BFGS", options={"gtol": 1e-10})
        assert objective(answer) <= reference.fun + 1e-10
        assert_allclose(answer, reference.x, atol=1e-4)


@pytest.mark.parametrize("method", ["fixed_point", "gradient"])
def test_iterations_are_never_worse_than_their_start(method, rows, gram, kernel, feature_points):
    values = feature_points @ gram
    start = KernelSmoother().fit(rows, kernel=kernel)
    fitted = as_preimage(method).fit(rows, gram, kernel=kernel)
    before = start.squared_error(start.transform(feature_points, values), feature_points, values)
    after = start.squared_error(fitted.transform(feature_points, values), feature_points, values)
    assert (after <= before + 1e-12).all()
    assert after.mean() < 0.96 * before.mean()


def test_mikas_step_does_not_move_a_fixed_point(rows, gram, kernel, feature_points):
    found = (
        FixedPoint(tol=1e-9, max_iter=1000).fit(rows, kernel=kernel).transform(feature_points, feature_points @ gram)
    )
    shares = feature_points * kernel(found, rows)
    inside = ((found > rows.min(axis=0)) & (found < rows.max(axis=0))).all(axis=1)
    assert inside.sum() > 3
    assert_allclose((shares @ rows / shares.sum(axis=1, keepdims=True))[inside], found[inside], atol=1e-6)


def test_several_starts_find_what_one_misses():
    X = np.array([[0.0], [0.2], [0.4], [10.0]])
    kernel = RBF(0.5)
    weights = np.array([[0.25, 0.25, 0.25, 0.9]])  # a low hill beside the three, and the top at the fourth
    one, several = (
        method.fit(X, kernel=kernel) for method in (Gradient(n_neighbors=None), FixedPoint(n_neighbors=None))
    )
    values = weights @ kernel(X)
    errors = [method.squared_error(method.transform(weights, values), weights, values)[0] for method in (one, several)]
    assert errors[1] < errors[0] - 0.1
    assert_allclose(several.transform(weights, values)[0, 0], 10.0, atol=1e-3)


def test_the_gradient_ends_at_the_bound_of_the_box_when_the_optimum_is_outside():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    kernel = Polynomial(degree=2, gamma=1.0)
    weights = np.array([[-3.0, 4.0, -1.0, 1.0]])  # beyond (1, 0) in feature space
    found, info = Gradient().fit(X, kernel=kernel).transform_with_info(weights, weights @ kernel(X))
    assert info.converged.all()
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert_allclose(found[0, 0], 1.0)


def test_few_steps_are_reported_as_not_converged(rows, gram, kernel, feature_points):
    for method in (FixedPoint(max_iter=1, tol=1e-12), Gradient(max_iter=1, tol=1e-12)):
        found, info = method.fit(rows, kernel=kernel).transform_with_info(feature_points, feature_points @ gram)
        assert not info.converged.any()
        assert np.isfinite(found).all()


def test_where_the_denominator_vanishes_the_smoother_answers_and_it_is_reported(rows, gram, kernel):
    far = np.vstack([-np.full(len(rows), 1.0 / len(rows)), np.zeros(len(rows)), np.eye(len(rows))[5]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # no 0/0 on the way
        found, info = FixedPoint().fit(rows, kernel=kernel).transform_with_info(far, far @ gram)
    smooth = KernelSmoother().fit(rows, kernel=kernel).transform(far, far @ gram)
    assert info.fallback.tolist() == [True, True, False]
    assert info.converged.tolist() == [False, False, True]
    assert_allclose(found[:2], smooth[:2])
    assert_allclose(found[2], rows[5], atol=1e-6)


@pytest.mark.parametrize("width", [1e-3, 0.05, 5.0, 1e3])
@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_any_width_gives_finite_answers_inside_the_box(name, width, rows):
    kernel = RBF(width)
    K0 = kernel(rows)
    rng = np.random.default_rng(0)
    weights = 1.0 / len(rows) + rng.normal(size=(30, len(rows))) * 10.0 ** rng.integers(-3, 4, size=(30, 1))
    fitted = as_preimage(name).fit(rows, K0, kernel=kernel, scores=rows[:, :2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fitted.transform(weights, weights @ K0)
    assert np.isfinite(found).all()
    assert (found >= rows.min(axis=0)).all()
    assert (found <= rows.max(axis=0)).all()


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_answers_do_not_depend_on_the_batch(name, rows, gram, kernel, feature_points):
    fitted = as_preimage(name).fit(rows, gram, kernel=kernel, scores=rows[:, :2])
    values = feature_points @ gram
    together = fitted.transform(feature_points, values)
    alone = np.vstack([fitted.transform(feature_points[[i]], values[[i]]) for i in range(len(values))])
    assert_allclose(alone, together, atol=1e-9)


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_chunks_make_no_difference(name, rows, gram, kernel, feature_points, monkeypatch):
    fitted = as_preimage(name).fit(rows, gram, kernel=kernel, scores=rows[:, :2])
    values = feature_points @ gram
    whole, report = fitted.transform_with_info(feature_points, values)
    monkeypatch.setattr("gramian.preimage.base.SIZES", replace(SIZES, chunk=32 * len(rows)))
    parts, reports = fitted.transform_with_info(feature_points, values)
    assert_allclose(parts, whole, atol=1e-9)
    assert (report.converged == reports.converged).all()
    assert len(reports.n_iter) == len(whole)


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_float32_rows_give_nearly_the_same_answers(name, rows, gram, kernel, feature_points):
    values = feature_points @ gram
    options = {"kernel": kernel, "scores": rows[:, :2]}
    wide = as_preimage(name).fit(rows, gram, **options).transform(feature_points, values)
    narrow = as_preimage(name).fit(rows.astype(np.float32), gram, **options).transform(feature_points, values)
    assert narrow.dtype == np.float32
    assert_allclose(narrow, wide, atol=1e-3)


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient", "exact"])
def test_sparse_rows_give_the_same_answers(name, rows, gram, kernel, feature_points):
    kernel = Linear() if name == "exact" else kernel
    values, thin = feature_points @ gram, sparse.csr_array(np.where(np.abs(rows) < 0.2, 0.0, rows))
    options = {"kernel": kernel, "scores": rows[:, :2]}
    first = as_preimage(name).fit(thin, gram, **options).transform(feature_points, values)
    second = as_preimage(name).fit(thin.toarray(), gram, **options).transform(feature_points, values)
    assert type(first) is np.ndarray
    assert_allclose(first, second, atol=1e-9)


@pytest.mark.parametrize("name", ["smoother", "fixed_point", "mds", "ridge", "gradient"])
def test_identical_rows_are_given_back(name):
    X = np.tile([[1.0, -2.0]], (5, 1))
    kernel = RBF(1.0)
    found = as_preimage(name).fit(X, kernel=kernel, scores=np.zeros((5, 0))).transform(np.eye(5), kernel(X))
    assert_allclose(found, X)


# ---------------------------------------------------------------- distances


def test_distances_from_the_kernel_place_an_image_that_is_no_training_row(rows, kernel):
    """For φ(y) itself, y in the neighbours' affine hull, the position is exact."""
    y = rows[:8].mean(axis=0)[None]
    K0 = kernel(rows)
    k = kernel(y, rows)
    weights = np.linalg.solve(K0 + 1e-12 * np.eye(len(K0)), k.T).T  # |Φγ|² = |φ(y)|² up to what lies outside the span
    found = MDS(n_neighbors=8).fit(rows, kernel=kernel).transform(weights, k)
    assert_allclose(found, y, atol=1e-2)


def test_positions_are_the_least_squares_solution():
    from gramian.preimage.mds import positions

    rng = np.random.default_rng(0)
    neighbors = rng.normal(size=(4, 9, 3))
    points = rng.normal(size=(4, 3))
    squares = np.square(neighbors - points[:, None, :]).sum(axis=2)
    assert_allclose(positions(neighbors, squares), points, atol=1e-10)
    flat = neighbors.copy()
    flat[:, :, 2] = 1.5  # no spread in the last column: it stays with the neighbours
    squares = np.square(flat[:, :, :2] - points[:, None, :2]).sum(axis=2)
    assert_allclose(positions(flat, squares), np.column_stack([points[:, :2], np.full(4, 1.5)]), atol=1e-8)


# ---------------------------------------------------------------- ridge


def test_the_ridge_is_the_dense_formula(rows):
    """min over c and x̄ of |X - x̄ - R c|² + a cᵀRc, with R the kernel matrix of the scores."""
    scores, width, ridge = rows[:, :2], 0.8, 1e-2
    fitted = KernelRidge(penalty=ridge, length_scale=width).fit(rows, kernel=RBF(1.0), scores=scores)
    R = RBF(width)(scores)
    n = len(R)
    H = np.eye(n) - 1.0 / n
    c = np.linalg.lstsq(R @ H @ R + ridge * R, R @ H @ rows, rcond=None)[0]
    expected = rows.mean(axis=0) + H @ R @ c
    assert_allclose(
        fitted.transform(np.eye(n), np.eye(n)), np.clip(expected, rows.min(axis=0), rows.max(axis=0)), atol=1e-6
    )


def test_the_penalty_is_chosen_on_rows_that_the_components_have_not_seen():
    """New rows have smaller scores than the rows that formed the components; the choice must have seen that."""
    X = load_digits().data
    train, new, kernel = X[:150], X[150:350], RBF(20.0)
    K0, n = kernel(train), 150
    H = np.eye(n) - 1.0 / n
    values, vectors = np.linalg.eigh(H @ K0 @ H)
    V, L = vectors[:, -60:], values[-60:]
    axes = H @ V / np.sqrt(L)
    weights = 1.0 / n + (kernel(new, train) - K0.mean(axis=0)) @ axes @ axes.T

    def error(**options):
        fitted = KernelRidge(**options).fit(train, K0, kernel=kernel, scores=V * np.sqrt(L))
        return np.square(fitted.transform(weights, weights @ K0) - new).sum(axis=1).mean()

    widths = np.median(np.linalg.norm((V * np.sqrt(L))[:, None] - V * np.sqrt(L), axis=2)) * np.array([1.0, 2.0, 4.0])
    every = [error(penalty=a, length_scale=w) for a in np.logspace(-7, 0, 8) for w in widths]
    assert error() < 1.05 * min(every)
    assert max(every) > 1.3 * min(every)


def test_the_ridge_learns_a_smooth_curve_and_chooses_by_held_out_rows(rows):
    rng = np.random.default_rng(0)
    noisy = rows + 0.05 * rng.normal(size=rows.shape)
    scores = rows[:, :2]
    fitted = KernelRidge().fit(noisy, kernel=RBF(1.0), scores=scores)
    half_way = 0.5 * (np.eye(60) + np.roll(np.eye(60), 1, axis=1))
    found = fitted.transform(half_way, half_way)
    angle = np.linspace(0, 2 * np.pi, 60, endpoint=False) + np.pi / 60
    truth = np.column_stack([np.cos(angle), np.sin(angle), 0.3 * np.cos(2 * angle)])
    chosen = np.sqrt(np.square(found - truth).sum(axis=1).mean())
    assert chosen < 0.06  # less than the noise of one row, sqrt(3) * 0.05
    for penalty in (1e-10, 1.0):
        other = KernelRidge(penalty=penalty, length_scale=fitted.length_scale_).fit(
            noisy, kernel=RBF(1.0), scores=scores
        )
        assert other.held_out_error_ >= fitted.held_out_error_


def test_the_ridge_needs_neither_scores_nor_gram(rows, gram, kernel, feature_points):
    first = KernelRidge().fit(rows, gram, kernel=kernel).transform(feature_points, feature_points @ gram)
    second = KernelRidge().fit(rows, kernel=kernel).transform(feature_points, feature_points @ gram)
    assert_allclose(first, second)
    assert np.sqrt(np.square(first - rows[::4]).sum(axis=1).mean()) < 0.3


# ---------------------------------------------------------------- any kernel


@pytest.mark.parametrize("name", ["smoother", "ridge"])
@pytest.mark.parametrize("kernel", [Laplacian(1.0), Cosine(), Polynomial(), Precomputed()], ids=repr)
def test_smoother_and_ridge_take_any_kernel(name, kernel, rows):
    K0 = RBF(0.6)(rows) if isinstance(kernel, Precomputed) else kernel(rows)
    fitted = clone(as_preimage(name)).fit(rows, None, kernel=kernel, scores=rows[:, :2])
    found = fitted.transform(np.eye(len(rows)), K0)
    assert np.sqrt(np.square(found - rows).sum(axis=1).mean()) < 0.5


def test_the_error_in_feature_space_is_the_dense_formula(rows, gram, kernel, feature_points):
    fitted = KernelSmoother().fit(rows, kernel=kernel)
    values = feature_points @ gram
    answers = fitted.transform(feature_points, values)
    K = kernel(np.vstack([answers, rows]))
    n = len(answers)
    for i, weights in enumerate(feature_points):
        c = np.concatenate([-np.eye(n)[i], weights])
        assert_allclose(fitted.squared_error(answers, feature_points, values)[i], c @ K @ c, atol=1e-12)
