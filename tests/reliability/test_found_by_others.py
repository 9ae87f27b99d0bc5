"""Smallest forms of what an independent generator found, each kept: few rows, far rows, none, one at a time, extremes, memory, constants."""

import pickle
import re
import warnings
from functools import partial

import numpy as np
import pytest
from benchmarks.promises import outcome
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from gramian import (
    PPCA,
    DynamicPPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    PPCAMixture,
    RKMClassifier,
    RKMRegressor,
    kernels,
)
from gramian.exceptions import NumericalWarning
from gramian.features import RandomFourier
from gramian.kernels import RBF
from gramian.latent.gaussian import within_prior

X = np.random.default_rng(0).standard_normal((30, 4))
VIEWS = [X[:, :2], X[:, 2:]]


# ---------------------------------------------------------------- few rows


@pytest.mark.filterwarnings("ignore:The kept components explain all")
def test_limits_of_two_rows_of_a_kernel_model_are_said_to_be_unknown():
    with pytest.warns(NumericalWarning, match="unknown"):
        found = KernelPPCA(1).fit(X[:2]).anomaly(X[:2])
    assert (found.p_t2 == 1).all()
    assert (found.p_spe == 1).all()


@pytest.mark.parametrize("rows", [X[:, :1], X[:4, :1], X[:4]])
def test_limits_of_few_rows_and_of_one_column_are_finite(rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NumericalWarning)
        found = PPCA().fit(rows).anomaly(rows)
    assert np.isfinite(found.limit_t2)
    assert np.isfinite(found.limit_spe).all()
    assert not (found.spe > found.limit_spe).any()


@pytest.mark.parametrize("model", [PPCAMixture(5), KernelPPCAMixture(5)])
def test_more_clusters_than_distinct_rows_are_refused(model):
    with pytest.raises(ValueError, match=r"n_clusters=5.*distinct rows.*3"):
        model.fit(np.repeat(X[:3], 10, axis=0))


# ---------------------------------------------------------------- no rows


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_rows_of_views_are_answered_with_no_rows(kernel):
    model = MultiViewRKM(1, kernel=kernel, random_state=0).fit(VIEWS)
    none = [view[:0] for view in VIEWS]
    for method in ("transform", "scores", "residual", "score_samples"):
        assert len(getattr(model, method)(none)) == 0
    answers = (
        model.reconstruct(none),
        model.impute(none),
        model.inverse_transform(np.empty((0, 1))),
        model.sample(0),
        model.sample(latent=np.empty((0, 1))),
    )
    for views in answers:
        assert [view.shape for view in views] == [(0, 2), (0, 2)]


@pytest.mark.parametrize("model", [PPCA(2), KernelPPCA(2)])
def test_no_latents_are_answered_with_no_rows(model):
    assert model.fit(X).inverse_transform(np.empty((0, 2))).shape == (0, 4)


# ---------------------------------------------------------------- far rows

FAR = {
    "PPCA": (PPCA(2), None, ("transform", "scores", "score_samples", "residual", "posterior", "anomaly")),
    "PPCA, no noise": (PPCA(2, noise_variance=0.0), None, ("transform", "residual", "anomaly")),
    "linear": (KernelPPCA(2, kernel="linear"), None, ("transform", "center_kernel", "anomaly", "impute")),
    "polynomial": (
        KernelPPCA(2, kernel="polynomial"),
        None,
        ("transform", "center_kernel", "posterior", "reconstruct"),
    ),
    "cosine": (KernelPPCA(2, kernel="cosine"), None, ("transform", "residual", "mahalanobis", "anomaly")),
    "rbf": (KernelPPCA(2), None, ("transform", "anomaly", "impute")),
    "views": (MultiViewRKM(2, random_state=0), None, ("transform", "scores", "reconstruct", "impute", "posterior")),
    "regressor": (RKMRegressor(random_state=0), X.sum(axis=1), ("predict", "interval")),
    "RKMClassifier": (RKMClassifier(kernel="linear"), np.arange(30) % 2, ("predict", "predict_proba")),
    "classifier": (
        KernelPPCAClassifier(kernel="linear"),
        np.arange(30) % 2,
        ("predict", "decision_function", "predict_proba"),
    ),
    "detector": (LatentOutlierDetector(), None, ("predict", "decision_function", "anomaly")),
}


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.parametrize("name", FAR)
def test_rows_far_beyond_the_data_get_finite_answers_or_one_sentence(name):
    model, y, methods = FAR[name]
    model = model.fit(X, y) if y is not None else model.fit(X)
    for far in (1e3, 1e30, 1e150, 1e154, 1e200, 1e300):
        rows = X[:5].copy()
        rows[1] *= far
        for given in (rows, np.where(np.arange(4) == 2, np.nan, rows)):
            for method in methods:
                found = outcome(partial(_asked, model, method, given))
                assert found.promised, (method, far, found)


def _asked(model, method, rows):
    return _arrays(getattr(model, method)(rows))


def _arrays(answer):
    if isinstance(answer, np.ndarray):
        return [answer]
    parts = answer if isinstance(answer, list | tuple) else vars(answer).values()
    return [part for part in parts if isinstance(part, np.ndarray)]


def test_a_far_row_with_a_hole_has_a_finite_decision():
    model = KernelPPCAClassifier(kernel="linear", random_state=0).fit(X, np.arange(30) % 2)
    row = 1e3 * X[1:2]
    row[:, 2] = np.nan
    assert np.isfinite(model.decision_function(row)).all()


# ---------------------------------------------------------------- one at a time


@pytest.mark.parametrize("options", [{"kernel": "laplacian"}, {"n_components": 25, "n_landmarks": 30}])
def test_a_far_row_has_the_same_random_features_alone_and_among_others(options):
    table = X.copy()
    table[:, 3] = table[:, 0] + 1e-6 * table[:, 3]
    options = {"n_components": 2, "n_landmarks": 50, **options}
    model = KernelPPCA(approximation="rff", random_state=0, **options).fit(np.vstack([table, table[::-1] + 0.1]))
    rows = np.random.default_rng(1).standard_normal((25, 4))
    rows[3] *= 1e9
    for method in ("transform", "residual", "score_samples"):
        alone, among = getattr(model, method)(rows[3:4])[0], getattr(model, method)(rows)[3]
        assert_allclose(alone, among, rtol=1e-9, atol=1e-9 * np.abs(among).max())


# ---------------------------------------------------------------- laws


def test_no_posterior_is_wider_than_the_prior():
    holes = np.where(np.random.default_rng(1).random((12, 1)) < 0.3, np.nan, np.round(X[:12, :1]))
    assert np.linalg.eigvalsh(KernelPPCA(1).fit(X[:, :1]).posterior(holes).covariance).max() <= 1.0
    wide = within_prior(np.array([[[1.0, 0.9], [0.9, 1.0]], [[0.5, 0.1], [0.1, 0.4]]]))
    assert np.linalg.eigvalsh(wide).max() <= 1.0
    assert_allclose(wide[1], [[0.5, 0.1], [0.1, 0.4]])


def test_the_median_of_an_even_number_of_distances_is_the_mean_of_the_middle_two():
    rows = np.array([[0.0], [1.0], [2.5], [6.0]])  # 1, 1.5, 2.5, 3.5, 5, 6
    assert KernelPPCA(1).fit(rows).kernel_.length_scale == pytest.approx(3.0, rel=1e-12)


@pytest.mark.parametrize("offset", [1e4, 1e6, 1e8])
def test_an_offset_costs_a_polynomial_of_degree_1_no_digits(offset):
    plain, moved = (KernelPPCA(3, kernel=kernels.Polynomial(degree=1)).fit(rows) for rows in (X, X + offset))
    assert_allclose(moved.explained_variance_, plain.explained_variance_, rtol=1e-6)


def test_weights_equal_repetition_with_em():
    weights = np.random.default_rng(1).integers(0, 4, 30)
    for q in (1, 2):
        weighted = PPCA(q, solver="em").fit(X, sample_weight=weights)
        repeated = PPCA(q, solver="em").fit(np.repeat(X, weights, axis=0))
        assert_allclose(weighted.get_covariance(), repeated.get_covariance(), atol=1e-9)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize("model", [KernelPPCAClassifier(), RKMClassifier()])
def test_a_class_per_row_is_answered_without_a_guess_of_scikit_learn(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", NumericalWarning)
        assert len(model.fit(X, np.arange(30)).predict(X)) == 30


@pytest.mark.parametrize(
    "function", [lambda A, B: A @ B.T, lambda A, B: np.exp(-((A[:, None] - B[None]) ** 2).sum(-1))]
)
def test_a_callable_that_cannot_take_sparse_rows_is_told_so(function):
    with pytest.raises(TypeError, match="sparse"):
        KernelPPCA(2, kernel=function).fit(sparse.csr_array(X))


def test_a_callable_that_takes_sparse_rows_is_used():
    model = KernelPPCA(2, kernel=lambda A, B: (A @ B.T).toarray()).fit(sparse.csr_array(X))
    assert_allclose(model.explained_variance_, KernelPPCA(2, kernel=lambda A, B: A @ B.T).fit(X).explained_variance_)


# ---------------------------------------------------------------- memory


def test_krylov_works_within_a_small_memory():
    rows = np.random.default_rng(0).standard_normal((1200, 5))
    small = KernelPPCA(2, solver="krylov", memory_limit=400_000).fit(rows)
    assert_allclose(small.explained_variance_, KernelPPCA(2, solver="krylov").fit(rows).explained_variance_, rtol=1e-7)


def test_advice_about_memory_is_true():
    rows = np.random.default_rng(0).standard_normal((1200, 5))
    with pytest.raises(MemoryError) as refused:
        KernelPPCA(2, solver="eigh", memory_limit=1_000_000).fit(rows)
    advised = [name for name in ("krylov", "em", "stiefel") if f"solver={name!r}" in str(refused.value)]
    assert advised
    for name in advised:
        KernelPPCA(2, solver=name, memory_limit=1_000_000).fit(rows)
    with pytest.raises(MemoryError) as refused:
        KernelPPCA(2, solver="krylov", memory_limit=10_000).fit(rows)
    assert "solver='krylov'" not in str(refused.value).partition("Use")[2]


# ---------------------------------------------------------------- constants


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.filterwarnings("ignore")
def test_a_column_constant_among_its_seen_cells_is_filled_with_exactly_that(seed):
    rng = np.random.default_rng(seed)
    table = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((40, 5))
    constant = [0.1, 1 / 3, -7.3e-5, 1e6 + 0.1][seed]
    table[:, seed] = constant
    table[rng.random(table.shape) < 0.2] = np.nan
    table[0] = np.where(np.isnan(table[0]), constant, table[0])
    holes = np.isnan(table[:, seed])
    filled = [
        PPCA(2).fit(table).impute(table),
        PPCAMixture(2, 1, random_state=0).fit(table).impute(table),
        KernelPPCA(2).fit(table).impute(table),
        LatentImputer().fit_transform(table),
        LatentImputer(KernelPPCA(2)).fit_transform(table),
        LatentImputer().fit_batches([table[:10], table[10:]]).transform(table),
        *LatentImputer().fit(table).draws(table, m=2, random_state=0),
    ]
    for one in filled:
        assert (np.asarray(one)[holes, seed] == constant).all()


def test_a_limit_of_memory_may_be_a_text():
    rows = np.random.default_rng(3).standard_normal((600, 3))
    said = KernelPPCA(2, solver="krylov", memory_limit="1MB", random_state=0).fit(rows)
    assert_allclose(
        said.transform(rows[:5]),
        KernelPPCA(2, solver="krylov", memory_limit=10**6, random_state=0).fit(rows).transform(rows[:5]),
    )
    for wrong in ("much", "-1MB", "0", "1 XB", ""):
        with pytest.raises(ValueError, match="memory_limit"):
            KernelPPCA(2, memory_limit=wrong).fit(rows)


@pytest.mark.parametrize(
    "options", [{}, {"solver": "krylov"}, {"solver": "eigh", "n_components": 80}, {"approximation": "nystroem"}]
)
def test_what_a_refusal_for_memory_advises_is_enough(options):
    """With q open too: the number of components and the bytes that it names are those at which the fit goes through."""
    rows = np.random.default_rng(3).standard_normal((2000, 3))

    def asked(**more):
        return KernelPPCA(**{**options, "memory_limit": 300_000, "random_state": 0, **more})

    with pytest.raises(MemoryError, match="may be used") as refused:
        asked().fit(rows)
    fewer = re.search(r"(solver='krylov' with )?n_components=(\d+) or fewer", str(refused.value))
    least = re.search(r"memory_limit to (\d+) bytes", str(refused.value))
    solver = {"solver": "krylov"} if fewer[1] else {}
    assert asked(n_components=int(fewer[2]), **solver).fit(rows).n_components_ == int(fewer[2])
    with pytest.raises(MemoryError, match="may be used"):
        asked(n_components=int(fewer[2]) + 1, **solver).fit(rows)
    asked(memory_limit=int(least[1]), **({"solver": "krylov"} if options.get("solver") == "eigh" else {})).fit(rows)


# ---------------------------------------------------------------- extremes

EXTREME = [
    PPCA(),
    PPCA(1, center=False),
    PPCA(solver="em"),
    PPCAMixture(random_state=0),
    KernelPPCA(),
    KernelPPCA(kernel="linear"),
    KernelPPCA(kernel="polynomial"),
    KernelPPCA(kernel="cosine"),
    KernelPPCA(2, approximation="rff", n_landmarks=10, random_state=0),
]


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("model", EXTREME, ids=repr)
def test_extreme_scales_are_fitted_or_refused_in_words_without_a_warning_of_numpy(model, holes):
    for scale in (1e-310, 1e-165, 1e150, 1e160, 1e200, 1e307):
        rows = np.where(holes & (X > 1.2), np.nan, scale * X)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NumericalWarning)
            warnings.simplefilter("error", RuntimeWarning)
            try:
                model.fit(rows)
            except ValueError as refused:
                assert type(refused) is ValueError  # no LinAlgError
                continue
        values = [value for value in vars(model).values() if isinstance(value, np.ndarray | float)]
        assert all(np.isfinite(value).all() for value in values)


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("model", [PPCA(2), PPCA(1, center=False), KernelPPCA(2, kernel="linear")])
def test_a_table_whose_squares_vanish_is_no_constant_table(model, holes):
    with pytest.raises(ValueError, match="rescale"):
        model.fit(np.where(holes & (X > 1.2), np.nan, 1e-165 * X))


def test_three_rows_are_too_few_for_the_limits_of_a_kernel_model():
    with pytest.warns(NumericalWarning, match="unknown"):
        found = KernelPPCA().fit(X[:3]).anomaly(X)
    assert (found.p_t2 == 1).all()


@pytest.mark.parametrize("degree", [2, 3])
def test_an_offset_before_a_polynomial_is_named_and_no_length_scale(degree):
    with pytest.warns(NumericalWarning) as said:
        KernelPPCA(3, kernel=kernels.Polynomial(degree=degree)).fit(X + 1e8)
    words = " ".join(str(one.message) for one in said)
    assert "sees an offset" in words
    assert "length scale" not in words


def test_weights_equal_repetition_of_rows_with_holes_in_a_kernel_model():
    rows = np.where(np.random.default_rng(0).random((4, 9)) < 0.4, np.nan, np.random.default_rng(1).random((4, 9)))
    twice = KernelPPCA(1).fit(np.repeat(rows, 2, axis=0))
    weighed = KernelPPCA(1).fit(rows, sample_weight=np.full(4, 2.0))
    assert_allclose(weighed.explained_variance_, twice.explained_variance_, rtol=1e-9)


def test_a_posterior_of_ill_conditioned_rows_is_symmetric_and_within_the_prior():
    covariance = np.array([[0.6, 0.49 + 1e-11], [0.49, 0.4]])
    values = np.linalg.eigvalsh(within_prior(covariance))
    assert values.max() <= 1.0
    assert (within_prior(covariance) == within_prior(covariance).T).all()


@pytest.mark.parametrize("rotation", ["varimax", "promax"])
def test_a_posterior_that_knows_nothing_is_within_the_prior_in_turned_coordinates_too(rotation):
    X = np.random.default_rng(90).standard_normal((40, 3)) @ np.diag([3.0, 2.0, 1.0])
    model = PPCA(3, rotation=rotation).fit(X)
    unseen = model.posterior(np.full((1, 3), np.nan)).covariance.reshape(3, 3)
    T = model.rotation_
    assert np.linalg.eigvalsh(T.T @ T - unseen).min() >= 0.0


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("center", [True, False])
def test_equal_rows_have_a_law_of_heavy_tails_without_a_warning_of_numpy(d, center):
    X = np.full((20, d), 3.1 if center else 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NumericalWarning)
        model = PPCA(1, robust="rows", center=center).fit(X)
    assert (model.mean_ == X[0]).all()
    assert (model.row_weights_ == 1.0).all()


def test_a_latent_that_is_nothing_but_rounding_does_not_move_the_others():
    rng = np.random.default_rng(601)
    rows = rng.standard_normal((8, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((8, 6)) + 1e3
    rows[rng.random(rows.shape) < 0.6] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = DynamicPPCA(3, random_state=0).fit(rows)
    assert np.isfinite(model.state_noise_).all()
    assert np.linalg.eigvalsh(model.state_noise_).min() >= 0
    assert np.isfinite(model.impute(rows)).all()


def test_new_rows_of_a_model_with_a_component_too_few_are_seldom_called_odd():
    """At n = 20 the chosen q is often 1 where 2 are true: what is discarded is then unequal (6 % below .01, were it taken as equal)."""
    rng = np.random.default_rng(11)
    shares = []
    for _ in range(60):
        rows = rng.standard_normal((320, 2)) @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((320, 6))
        shares.append((PPCA(1).fit(rows[:20]).anomaly(rows[20:]).p_spe < 0.01).mean())
    assert np.mean(shares) <= 0.03


def test_a_mixture_fills_a_column_of_one_value_with_it_to_the_last_digit():
    rng = np.random.default_rng(795)
    rows = rng.standard_normal((4, 2)) @ rng.standard_normal((2, 4)) + 0.3 * rng.standard_normal((4, 4))
    rows[[0, 2, 3], 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one value, of no noise, of steps
        filled = PPCAMixture(2, 1, random_state=0).fit(rows).impute(rows)
    assert (filled[:, 1] == rows[1, 1]).all()


def test_cells_whose_squares_overflow_are_wild_without_a_warning():
    model = LatentImputer(robust="cells").fit(np.vstack([X, 1e3 * X[:1]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        far = np.where(np.arange(4) == 2, np.nan, 1e200 * X[:3])
        filled = model.transform(far)
    assert (filled[:, [0, 1, 3]] == far[:, [0, 1, 3]]).all()
    assert_allclose(filled[:, 2], model.transform(np.full((3, 4), np.nan))[:, 2])  # nothing of the row is believed


@pytest.mark.parametrize("model", [PPCA(1), KernelPPCA(1), LatentImputer(PPCA(1))], ids=lambda one: type(one).__name__)
def test_a_polars_frame_of_as_many_rows_as_columns_is_not_turned(model):
    pl = pytest.importorskip("polars")
    rows = X[:4]
    frame = pl.DataFrame(rows, schema=list("abcd"), orient="row")
    fitted = model.fit(frame)
    filled = fitted.transform(frame) if isinstance(model, LatentImputer) else fitted.impute(frame)
    assert_allclose(np.asarray(filled), rows)


# ---------------------------------------------------------------- batches

STREAMED = {
    "random features": KernelPPCA(3, approximation="rff", n_landmarks=30, random_state=0),
    "landmarks": KernelPPCA(3, approximation="nystroem", n_landmarks=30, random_state=0),
    "kernel mixture": KernelPPCAMixture(2, n_components=2, approximation="nystroem", n_landmarks=30, random_state=0),
    "views": MultiViewRKM(2, views={"a": [0, 1], "b": [2, 3]}, n_folds=None, random_state=0),
    "views by maps": MultiViewRKM(
        2,
        views={"a": [0, 1], "b": [2, 3]},
        kernel=[RandomFourier(RBF(1.0), 20, random_state=0), "linear"],
        n_folds=None,
        random_state=0,
    ),
    "regressor": RKMRegressor(n_components=3, approximation="nystroem", n_landmarks=30, random_state=0),
}


@pytest.mark.parametrize("name", STREAMED)
def test_batches_leave_nothing_of_the_size_of_the_table_and_their_cuts_are_no_matter(name):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((8000, 4))
    target = rows[:, 0] + 0.1 * rng.standard_normal(8000)

    def fitted(*edges):
        pieces = [slice(a, b) for a, b in zip((0, *edges), edges)]
        source = [(rows[piece], target[piece]) if name == "regressor" else rows[piece] for piece in pieces]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(STREAMED[name]).fit_batches(source)

    def answers(model):
        return model.predict(rows[:50]) if name == "regressor" else model.transform(rows[:50])

    half, whole = fitted(1500, 4000), fitted(1500, 8000)
    assert len(pickle.dumps(whole)) < 1.02 * len(pickle.dumps(half))
    assert_allclose(answers(fitted(1, 4000, 8000)), answers(whole), rtol=1e-9, atol=1e-9)


def test_draws_of_a_mixture_of_float32_rows_are_float32():
    rows = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32)
    assert PPCAMixture(2, 1, random_state=0).fit(rows).sample(3, random_state=0)[0].dtype == np.float32
