"""KernelPPCA of rows with holes: identities with PPCA and with complete rows, laws, filling and files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits, load_iris, make_moons

from gramian import PPCA, KernelPPCA, load, save
from gramian.datasets import make_missing
from gramian.kernels import RBF, Laplacian, Polynomial
from gramian.kernels.expected import Expected
from gramian.single.input_law import InputLaw

IRIS = load_iris().data[::2]
HOLES = make_missing(IRIS, 0.15, random_state=0)
VERBS = ("transform", "scores", "score_samples", "mahalanobis", "residual")


def rows_with_and_without():
    some = np.isnan(HOLES).any(axis=1)
    return some, ~some


@pytest.mark.parametrize("verb", VERBS)
def test_a_linear_kernel_is_ppca_with_holes(verb):
    kernel = KernelPPCA(2, kernel="linear", noise_dim=4).fit(HOLES)
    primal = PPCA(2).fit(HOLES)
    found, expected = getattr(kernel, verb)(HOLES), getattr(primal, verb)(HOLES)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert_allclose(kernel.noise_variance_, primal.noise_variance_)
    assert_allclose(kernel.explained_variance_, primal.explained_variance_)


@pytest.mark.parametrize("noise_dim", [None, 4])
def test_a_linear_kernel_fills_as_ppca_whatever_the_dimension_of_the_noise(noise_dim):
    kernel = KernelPPCA(2, kernel="linear", noise_dim=noise_dim).fit(HOLES)
    for found, expected in zip(
        kernel.impute(HOLES, return_std=True), PPCA(2).fit(HOLES).impute(HOLES, return_std=True)
    ):
        assert_allclose(found, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("verb", [*VERBS, "impute"])
def test_a_linear_model_of_complete_rows_sees_holes_as_ppca_does(verb):
    kernel, primal = KernelPPCA(2, kernel="linear", noise_dim=4).fit(IRIS), PPCA(2).fit(IRIS)
    found, expected = getattr(kernel, verb)(HOLES), getattr(primal, verb)(HOLES)
    if verb in ("transform", "scores"):
        signs = np.sign((found * expected).sum(axis=0))
        expected = expected * signs
    assert_allclose(found, expected, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", Polynomial(degree=2)], ids=repr)
def test_complete_rows_are_bit_for_bit_as_before_beside_rows_with_holes(kernel):
    model = KernelPPCA(3, kernel=kernel).fit(IRIS)
    whole = rows_with_and_without()[1]
    for verb in VERBS:
        assert_array_equal(getattr(model, verb)(HOLES)[whole], getattr(model, verb)(HOLES[whole]))


@pytest.mark.parametrize(
    "options", [{}, {"approximation": "nystroem", "n_landmarks": 40}, {"approximation": "rff"}], ids=repr
)
def test_every_method_of_a_model_of_complete_rows_takes_holes(options):
    model = KernelPPCA(3, random_state=0, preimage="smoother", **options).fit(IRIS)
    for verb in (*VERBS, "reconstruct", "impute"):
        assert np.isfinite(getattr(model, verb)(HOLES)).all()
    found = model.anomaly(HOLES)
    assert np.isfinite(found.spe).all()
    assert (found.contributions[np.isnan(HOLES)] == 0).all()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": Laplacian(3.0)},
        {"approximation": "nystroem", "n_landmarks": 40},
        {"kernel": "linear"},
        {"center": False},
    ],
    ids=repr,
)
def test_a_fit_to_holes_answers_and_is_saved(options, tmp_path):
    model = KernelPPCA(3, random_state=0, preimage="smoother", **options).fit(HOLES)
    for verb in (*VERBS, "reconstruct", "impute"):
        assert np.isfinite(getattr(model, verb)(HOLES)).all()
        assert np.isfinite(getattr(model, verb)(IRIS[:5])).all()
    assert model.X_fit_.shape == (40 if "n_landmarks" in options else len(IRIS), 4)
    assert not np.isnan(model.X_fit_).any()
    assert np.isfinite(model.sample(4, random_state=0)).all()
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    for verb in ("transform", "impute", "score_samples"):
        assert_allclose(getattr(again, verb)(HOLES), getattr(model, verb)(HOLES), rtol=1e-12)


def test_the_expected_projection_is_the_mean_over_draws():
    model = KernelPPCA(3, kernel=RBF(2.0)).fit(IRIS)
    rows = HOLES[np.isnan(HOLES).any(axis=1)][:5]
    means, variances = model._input_law()(rows)
    rng = np.random.default_rng(0)
    draws = [model._project(means + np.sqrt(variances) * rng.standard_normal(means.shape)) for _ in range(3000)]
    found = model._project(rows)
    assert_allclose(found.scores, np.mean([draw.scores for draw in draws], axis=0), atol=0.02)
    assert_allclose(found.squared_norm, np.mean([draw.squared_norm for draw in draws], axis=0), atol=0.02)


def test_the_posterior_of_a_row_with_holes_is_wider():
    model = KernelPPCA(3).fit(HOLES)
    some, whole = rows_with_and_without()
    covariance = model.posterior(HOLES).covariance
    widths = np.trace(covariance, axis1=1, axis2=2)
    assert_allclose(widths[whole], widths[whole][0])
    assert (widths[some] >= widths[whole][0]).all()
    assert widths[some].mean() > 1.1 * widths[whole][0]


def test_points_are_laws_under_the_expected_kernel():
    model = KernelPPCA(3).fit(HOLES)
    assert isinstance(model._model.subspace.kernel, Expected)
    assert isinstance(model.kernel_, RBF)
    means, variances = model._law(HOLES)
    assert_allclose(model._model.subspace.points, np.hstack([means, variances]))
    assert_array_equal(variances > 0, np.isnan(HOLES))


def test_filling_beats_the_linear_model_on_digits_and_keeps_what_it_promises():
    X = load_digits().data[:300]
    X = X[:, X.std(axis=0) > 0.5]
    table = make_missing(X, 0.2, random_state=0)
    holes = np.isnan(table)
    filled, std = KernelPPCA().fit(table).impute(table, return_std=True)
    linear = PPCA().fit(table).impute(table)
    error, before = (np.square((found - X)[holes]).mean() for found in (filled, linear))
    assert error < 0.85 * before
    assert 0.86 < (np.abs(filled - X)[holes] < 1.645 * std[holes]).mean() < 0.95
    assert_array_equal(filled[~holes], X[~holes])
    assert (std[~holes] == 0).all()


def test_hidden_cells_choose_the_law_alone_where_the_kernel_adds_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2)) @ rng.standard_normal((2, 8)) + 0.3 * rng.standard_normal((150, 8))
    table = make_missing(X, 0.15, random_state=1)
    holes = np.isnan(table)
    model = KernelPPCA().fit(table)
    law = np.square((model._law(table)[0] - X)[holes]).mean()
    assert np.square((model.impute(table) - X)[holes]).mean() < 1.05 * law


def test_integer_weights_equal_repeated_rows_with_holes():
    weights = np.random.default_rng(0).integers(1, 3, len(HOLES))
    weighted = KernelPPCA(3, kernel=RBF(2.0)).fit(HOLES, sample_weight=weights)
    repeated = KernelPPCA(3, kernel=RBF(2.0)).fit(np.repeat(HOLES, weights, axis=0))
    for verb in ("score_samples", "impute"):
        assert_allclose(getattr(weighted, verb)(HOLES), getattr(repeated, verb)(HOLES), rtol=1e-6)


def test_empty_rows_are_dropped_and_empty_columns_refused():
    table = HOLES.copy()
    table[3] = np.nan
    with pytest.warns(UserWarning, match="show no value"):
        assert len(KernelPPCA(2).fit(table).X_fit_) == len(table) - 1
    table = HOLES.copy()
    table[:, 1] = np.nan
    with pytest.raises(ValueError, match="column"):
        KernelPPCA(2).fit(table)


def test_a_failed_fit_leaves_the_model_and_a_new_fit_forgets_the_law():
    model = KernelPPCA(2).fit(HOLES)
    law = model._law
    with pytest.raises(ValueError, match="column"):
        model.fit(np.full((5, 4), np.nan))
    assert model._law is law
    assert "_law" not in vars(model.fit(IRIS))


def test_frames_and_float32_come_back_as_they_were():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(HOLES, columns=list("abcd"))
    filled, std = KernelPPCA(2).fit(frame).impute(frame, return_std=True)
    assert list(filled.columns) == list(std.columns) == list("abcd")
    assert KernelPPCA(2).fit(HOLES.astype(np.float32)).impute(HOLES.astype(np.float32)).dtype == np.float32


def test_precomputed_and_sparse_rows_have_no_cells_to_fill():
    from scipy import sparse

    gram = RBF(1.0)(IRIS)
    with pytest.raises(ValueError, match="impute needs"):
        KernelPPCA(2, kernel="precomputed").fit(gram).impute(gram)
    with pytest.raises(ValueError, match="Sparse X contains NaN"):
        KernelPPCA(2).fit(sparse.csr_array(np.nan_to_num(HOLES, nan=np.nan)))


def test_the_law_follows_the_seen_cells_and_gives_draws_about_its_means():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    table = X.copy()
    table[::7, 1] = np.nan
    law = InputLaw.of(table, np.ones(len(table)))
    means, variances = law(table)
    assert_array_equal(means[~np.isnan(table)], table[~np.isnan(table)])
    draws = law.draws(table)
    assert_allclose(draws.mean(axis=0), means, atol=1e-12)
    assert (draws[:, ~np.isnan(table)] == table[~np.isnan(table)]).all()
    spread = draws.var(axis=0)[np.isnan(table)]
    assert_allclose(spread.mean(), variances[np.isnan(table)].mean(), rtol=0.3)
