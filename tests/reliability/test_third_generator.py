"""The smallest forms of what a third generator found, which went down the public contract line by line."""

import warnings
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from gramian import (
    PPCA,
    BayesSearch,
    DynamicPPCA,
    KernelPPCA,
    KernelPPCAClassifier,
    KernelPPCAMixture,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    RKMClassifier,
    RKMForecaster,
    RKMRegressor,
    TablePreprocessor,
    fill,
    pool,
)
from gramian.cli import main

RNG = np.random.default_rng


def run(*words):
    """What the command says, and that it said it without an exception."""
    found = CliRunner().invoke(main, list(map(str, words)))
    assert found.exception is None or isinstance(found.exception, SystemExit)
    return found


# ------------------------------------------------------------------ a row alone is filled as among others


def test_a_date_with_a_time_is_filled_alike_alone_and_among_others():
    size = RNG(0).normal(size=40)
    when = pd.Timestamp("2020-01-01 09:30") + pd.to_timedelta(np.round(100 * size), unit="h")
    frame = pd.DataFrame({"size": size, "when": when})
    frame.loc[0, "when"] = pd.NaT
    model = LatentImputer().fit(frame)
    every, alone = model.impute(frame), model.impute(frame.iloc[:1])
    assert every.loc[0, "when"] == alone.loc[0, "when"]
    assert every.loc[0, "when"] != every.loc[0, "when"].normalize()


def test_a_date_of_whole_days_stays_one_beside_rows_that_show_times():
    size = RNG(0).normal(size=40)
    frame = pd.DataFrame(
        {"size": size, "when": pd.Timestamp("2020-01-01") + pd.to_timedelta(np.round(9 * size), unit="D")}
    )
    frame.loc[0, "when"] = pd.NaT
    new = frame.iloc[:2].copy()
    new.loc[1, "when"] = pd.Timestamp("2020-01-01 12:34")
    filled = LatentImputer().fit(frame).impute(new).loc[0, "when"]
    assert filled == filled.normalize()


def test_decimals_have_the_digits_of_their_type_alone_and_among_others():
    x = RNG(0).normal(size=30).round(2)
    exact = [None, *(Decimal(f"{v:.2f}") for v in x[1:])]
    table = pa.table({"x": x, "exact": pa.array(exact, pa.decimal128(9, 2)), "word": ["a", "b"] * 15})
    model = LatentImputer().fit(table)
    every, alone = (model.impute(rows)["exact"][0].as_py() for rows in (table, table.slice(0, 1)))
    assert every == alone
    assert every.as_tuple().exponent == -2


# ------------------------------------------------------------------ answers, or words


@pytest.mark.parametrize("kind", ["arrow", "pandas"])
def test_whole_numbers_of_arrow_beyond_two_to_the_53_are_read(kind):
    big = [2**61 + 1, None, 2**60] * 8
    frame = pa.table({"big": big, "x": RNG(0).normal(size=24)})
    frame = frame if kind == "arrow" else frame.to_pandas(types_mapper=pd.ArrowDtype)
    filled = fill(frame)["big"]
    assert (filled.to_pylist() if kind == "arrow" else filled.tolist())[0] == 2**61 + 1


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame, lambda c: pa.table(c).to_batches()[0]])
def test_whole_numbers_without_holes_are_not_touched_by_models_of_numbers(kind):
    x = RNG(0).normal(size=20)
    x[3] = np.nan
    frame = kind({"big": 2**53 + 1 + 2 * np.arange(20), "x": x})
    filled = PPCA(1).fit(frame).impute(frame)
    assert type(filled) is type(frame)
    assert np.array_equal(np.asarray(filled["big"]), 2**53 + 1 + 2 * np.arange(20))
    assert np.isfinite(np.asarray(filled["x"], dtype=float)).all()


def test_views_that_no_row_shows_together_are_tied_by_lines():
    left = np.array([[np.nan, np.nan], [np.nan, np.nan], [4.0, 9.0], [36.0, 49.0]])
    with pytest.warns(ConvergenceWarning):
        model = MultiViewRKM(1, kernel="auto", max_iter=50).fit([left, left[::-1] ** 1.5])
    assert "too few rows show all views" in model.selection_.reason


def test_a_column_of_a_view_that_no_row_shows_is_named():
    right = RNG(0).normal(size=(4, 2))
    right[:, 1] = np.nan
    with pytest.raises(ValueError, match="no observed value in column 4"):
        MultiViewRKM().fit([RNG(1).normal(size=(4, 3)), right])


@pytest.mark.parametrize("method", ["scores", "score_samples", "transform", "residual"])
def test_views_before_fit_say_so(method):
    with pytest.raises(NotFittedError):
        getattr(MultiViewRKM(), method)(np.ones((2, 2)))


@pytest.mark.parametrize("method", ["transform", "inverse_transform", "probabilities", "spread"])
def test_the_table_preprocessor_before_fit_says_so(method):
    with pytest.raises(NotFittedError):
        getattr(TablePreprocessor(), method)(np.ones((1, 2)))


@pytest.mark.parametrize("method", ["score_samples", "mahalanobis", "residual", "anomaly"])
def test_what_is_no_table_is_refused_by_kernel_models_in_words(method):
    model = KernelPPCA(2).fit(RNG(0).normal(size=(12, 2)))
    for X in (None, "rows", 3.0):
        with pytest.raises((ValueError, TypeError), match=r"\w+ \w+ \w+"):
            getattr(model, method)(X)


@pytest.mark.parametrize("weight", [np.inf, np.nan, 1e308])
def test_weights_without_a_finite_sum_are_refused_by_name(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        KernelPPCA(1).fit(RNG(0).normal(size=(12, 2)), sample_weight=weight)


@pytest.mark.parametrize("classifier", [RKMClassifier, KernelPPCAClassifier])
def test_labels_of_several_kinds_are_refused_by_name(classifier):
    with pytest.raises(TypeError, match="y mixes labels of several types: int, str"):
        classifier().fit(RNG(0).normal(size=(12, 2)), np.array(["a", 1] * 6, dtype=object))


def test_a_linear_kernel_with_holes_and_a_ridge_draws_samples():
    X = RNG(0).normal(size=(30, 3)) @ RNG(1).normal(size=(3, 6))
    X[::4, 0] = np.nan
    drawn = KernelPPCA(2, kernel="linear", preimage="ridge").fit(X).sample(3, random_state=0)
    assert drawn.shape == (3, 6)
    assert np.isfinite(drawn).all()


def test_far_rows_of_a_tiny_column_are_answered():
    X = np.add.outer(np.arange(10.0), np.arange(3.0)) * [1e-300, 1.0, 1.0]
    model = RKMRegressor(kernel="cosine", approximation="nystroem", standardize=True).fit(X, RNG(0).normal(size=10))
    assert np.isfinite(model.latents(np.full((1, 3), 1e50))).all()


@pytest.mark.parametrize("series", [np.zeros(8), 1e-140 * np.arange(8.0), 1e100 * np.arange(8.0) % 3e100])
def test_gaps_of_series_of_any_size_are_filled_in_silence(series):
    y = series.copy()
    y[3] = np.nan
    filled, std = RKMForecaster(season=None, random_state=0).fit(y).impute(return_std=True)
    assert np.isfinite(filled).all()
    assert np.isfinite(std).all()
    assert np.array_equal(np.delete(filled, 3), np.delete(series, 3))


def test_a_season_that_leaves_nothing_is_named():
    y = np.full((12, 2), np.nan)
    y[:4] = RNG(0).normal(size=(4, 2))
    with pytest.raises(ValueError, match="season"):
        RKMForecaster(lags=2, season=4, transform=None, kernel="linear").fit(y)


def test_pooled_fits_that_are_sure_and_disagree_have_no_end():
    fits = [SimpleNamespace(coef_=[v, 0.0], df_resid=5) for v in (1.0, 2.0)]
    pooled = pool(fits, covariances=[np.zeros((2, 2))] * 2)
    lower, upper = pooled.interval()
    assert lower.tolist() == [-np.inf, 0.0]
    assert upper.tolist() == [np.inf, 0.0]
    assert pooled.p_values.tolist() == [1.0, 1.0]


# ------------------------------------------------------------------ the command


def test_latents_of_clusters_without_components_and_of_forecasts(tmp_path):
    table, model = tmp_path / "t.csv", tmp_path / "m.model"
    table.write_text("c\n42.5\n64.5\n")
    assert run("fit", table, "-m", model, "--model", "mixture", "-q").exit_code == 0
    found = run("transform", model, table, "-o", tmp_path / "z.csv")
    assert found.exit_code == 0
    assert "2 rows x 0 latent" in found.output
    table.write_text("c\n" + "\n".join(map(str, range(30))))
    assert run("fit", table, "-m", model, "--model", "forecast", "-fq").exit_code == 0
    assert "no latent coordinates" in run("transform", model, table, "-o", tmp_path / "y.csv").output


def test_the_one_column_of_a_tsv_keeps_its_commas(tmp_path):
    table = tmp_path / "t.tsv"
    table.write_text("colour\nred\nblue, sky\ngreen\n\nred\nblue, sky\ngreen\nred\n")
    assert run("impute", table, "-o", tmp_path / "full.tsv").exit_code == 0
    assert "blue, sky" in (tmp_path / "full.tsv").read_text().split("\n")


@pytest.fixture(autouse=True)
def silence():
    """A warning of NumPy, or any other that is not promised, is a failure."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


# ------------------------------------------------------------------ frames of numbers with a flag among them


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_codes_of_missing_are_told_of_their_column_where_a_flag_stands_before_it(kind):
    rng = RNG(3)
    code = rng.integers(0, 9, 60).astype(float)
    code[::5] = -999.0
    frame = kind({"share": rng.random(60), "flag": rng.random(60) < 0.5, "code": code, "other": rng.normal(size=60)})
    with pytest.warns(UserWarning, match="-999"):
        filled = LatentImputer().fit(frame).impute(frame)
    values = np.asarray(filled["code"], dtype=float)
    assert np.array_equal(values[code != -999], code[code != -999])
    assert (values[code == -999] > -100).all()
    assert np.array_equal(np.asarray(filled["other"], dtype=float), np.asarray(frame["other"], dtype=float))


def test_an_array_in_the_place_of_a_frame_with_an_empty_column_is_answered():
    frame = pd.DataFrame({"x": RNG(0).normal(size=20), "word": ["u", "v"] * 10, "empty": [None] * 20})
    assert LatentImputer().fit(frame).impute(np.zeros((2, 3), dtype=object)).shape == (2, 2)


def test_a_column_of_arrow_that_holds_nothing_is_kept_as_zeros():
    frame = pd.DataFrame({"x": RNG(0).normal(size=20), "word": ["u", "v"] * 10, "empty": [None] * 20})
    frame = frame.convert_dtypes(dtype_backend="pyarrow")
    assert str(frame["empty"].dtype) == "null[pyarrow]"
    assert (LatentImputer(keep_empty_features=True).fit(frame).impute(frame)["empty"] == 0).all()


def test_codes_of_missing_are_found_in_their_column_wherever_it_stands():
    rng = RNG(0)
    code = rng.integers(0, 9, 60).astype(float)
    code[::5] = -999.0
    frame = pd.DataFrame({"a": rng.normal(size=60), "code": code, "b": rng.normal(size=60), "word": ["u", "v"] * 30})
    with pytest.warns(UserWarning, match="-999"):
        model = LatentImputer().fit(frame)
    turned = frame[["word", "code", "b", "a"]]
    pd.testing.assert_frame_equal(model.impute(turned)[list(frame)], model.impute(frame))
    new = frame.iloc[:1].assign(a=-999.0, code=-999.0)
    filled = model.impute(new)
    assert filled.loc[0, "a"] == -999.0
    assert filled.loc[0, "code"] > -100


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, dict, lambda c: np.column_stack(list(c.values()))])
def test_a_mean_that_fills_a_column_has_no_codes_of_missing_in_it(kind):
    rng = RNG(0)
    code = rng.integers(0, 9, 60).astype(float)
    code[::5], code[1::11] = -999.0, np.nan
    with pytest.warns(UserWarning, match="-999"):
        filled = fill(kind({"code": code, "other": rng.normal(size=60)}))
    values = np.asarray(filled[:, 0] if isinstance(filled, np.ndarray) else filled["code"], dtype=float)
    seen = code >= 0
    assert np.array_equal(values[seen], code[seen])
    assert set(values[~seen]) <= set(np.arange(9.0))


def test_draws_of_a_table_of_exact_lines_are_finite():
    X = np.add.outer(np.arange(20.0), np.arange(4.0))
    X[7] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = LatentImputer().fit(X).draws(X, 2, random_state=0)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_ends_of_intervals_and_draws_stay_within_what_a_type_of_whole_numbers_holds(library):
    rng = RNG(0)
    small = [None if i % 5 == 0 else int(v) for i, v in enumerate(rng.choice([0, 1, 250, 255], 40))]
    size, word = rng.normal(size=40), ["u", "v"] * 20
    frame = {
        "pandas": lambda: pd.DataFrame({"small": pd.array(small, dtype="UInt8"), "size": size, "word": word}),
        "polars": lambda: pl.DataFrame({"small": pl.Series(small, dtype=pl.UInt8), "size": size, "word": word}),
        "pyarrow": lambda: pa.table({"small": pa.array(small, pa.uint8()), "size": size, "word": word}),
    }[library]()
    model = LatentImputer(bounds=None).fit(frame)
    for found in (*model.interval(frame, 0.999), *model.draws(frame, 3, random_state=0)):
        values = np.asarray(found["small"], dtype=float)
        assert ((values >= 0) & (values <= 255)).all()


# ------------------------------------------------------------------ rows against squares


def line_with_little_noise():
    """Rows about a line, whose squared distances to it are the last five digits of their squares."""
    return 1e5 * RNG(0).normal(size=(30, 1)) @ np.array([[3.0, 1.0, -2.0, 1.0, 5.0]]) + RNG(1).normal(size=(30, 5))


@pytest.mark.parametrize("hole", [False, True])
def test_distances_of_rows_near_the_subspace_are_those_of_the_rows(hole):
    X = line_with_little_noise()
    model = PPCA(1).fit(X)
    if hole:
        X[0, 1] = np.nan
    U, seen = model.components_, ~np.isnan(X[0])
    centred = (X[0] - model.mean_)[seen]
    left = centred - U[:, seen].T @ np.linalg.lstsq(U[:, seen].T, centred, rcond=None)[0]
    assert model.residual(X[:1])[0] == pytest.approx(left @ left, rel=1e-9)
    loadings = model.loadings_.reshape(5, -1)[seen]
    latent = np.linalg.lstsq(
        np.vstack([loadings / np.sqrt(model.noise_variance_), np.eye(1)]),
        np.append(centred / np.sqrt(model.noise_variance_), 0.0),
        rcond=None,
    )[0]
    away = centred - loadings @ latent
    expected = away @ away / model.noise_variance_ + latent @ latent
    assert model.mahalanobis(X[:1])[0] == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("hole", [False, True])
@pytest.mark.parametrize("method", ["residual", "mahalanobis", "score_samples"])
def test_views_of_next_to_no_noise_answer_one_row_as_among_others(method, hole):
    X = line_with_little_noise()
    ask = getattr(MultiViewRKM(1, n_folds=None).fit([X[:, :2], X[:, 2:]]), method)
    if hole:
        X[3, 4] = np.nan
    views = [X[:, :2], X[:, 2:]]
    among, alone = ask(views), np.concatenate([ask([view[i : i + 1] for view in views]) for i in range(len(X))])
    assert np.allclose(alone, among, rtol=1e-9, atol=1e-9 * np.abs(among).max())


@pytest.mark.filterwarnings("ignore::gramian.exceptions.NumericalWarning")
def test_a_row_within_the_subspace_has_no_residual():
    X = RNG(0).normal(size=(20, 1)) @ np.array([[1.0, 3.0, 7.0]])
    assert (PPCA(1).fit(X).residual(1e7 * X[:4]) == 0).all()


# ------------------------------------------------------------------ numbers near the ends of what floats hold


def test_neighbours_whose_distances_are_small_numbers_make_a_graph():
    X = 1e-140 * RNG(0).normal(size=(48, 3)) * [1.0, 1e-4, 1e-6]
    labels = KernelPPCAMixture(2, kernel="linear", random_state=0).fit(X).predict(X)
    assert np.array_equal(
        labels, KernelPPCAMixture(2, kernel="linear", random_state=0).fit(2.0**460 * X).predict(2.0**460 * X)
    )


def test_the_level_of_a_tiny_series_moves_by_the_logarithm_of_its_unit():
    Y = np.cumsum(RNG(0).normal(size=(43, 3)), axis=0) * [1.0, 1e-2, 1e-10]
    small = 2.0**-484
    one, other = (DynamicPPCA(1, random_state=0).fit(rows).score(rows) for rows in (Y, small * Y))
    assert abs(other - one - Y.size * 484 * np.log(2.0)) < 1e-9 * abs(other)


def test_a_detector_of_numbers_whose_squares_overflow_says_so():
    X = 1e150 * RNG(0).normal(size=(57, 3))
    X[0, 0] = 1e168
    with pytest.raises(ValueError, match="rescale"):
        LatentOutlierDetector(standardize=False).fit(X)


@pytest.mark.parametrize("method", ["interval", "draws"])
def test_cells_beside_the_largest_number_are_filled_or_refused(method):
    column = 1e11 + 1e3 * np.array([1.2574, -2.2873, -0.0495, -0.0793, -0.0448, 0.9223, -0.0402, 0.255])
    model = LatentImputer(KernelPPCA(1, random_state=0), standardize=True).fit(np.column_stack([column, 100 * column]))
    try:
        answer = getattr(model, method)(np.full((1, 2), np.finfo(float).max))
    except ValueError as refused:
        assert "finite" in str(refused) or "rescale" in str(refused) or "large" in str(refused)
    else:
        assert all(np.isfinite(part).all() for part in answer)


# ------------------------------------------------------------------ order, folds, sizes, types


def test_no_more_cells_are_hidden_than_there_are_rows():
    X = RNG(0).normal(size=(12, 3)) + RNG(1).normal(size=(12, 1))
    X[0, 0] = np.nan
    many, rows = (LatentImputer(n_folds=k).fit(X).impute(X) for k in (10**9, 12))
    assert np.array_equal(many, rows)


class Ruler(PPCA):
    def score(self, X, y=None):
        return 1e200 * self.n_components


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_search_takes_scores_of_any_size():
    search = BayesSearch(Ruler(), {"n_components": (1, 4)}, scoring=lambda m, X, y=None: m.score(X), n_trials=4, cv=2)
    search.set_params(random_state=0).fit(RNG(0).normal(size=(20, 6)))
    assert search.best_params_ == {"n_components": 4}
    assert sum(search.importance().values()) == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize("kind", [pa.table, pd.DataFrame, pl.DataFrame])
def test_flags_and_decimals_without_holes_are_not_touched_by_models_of_numbers(kind):
    x = [None, *RNG(0).normal(size=19).tolist()]
    cells = {"flag": [True, False] * 10, "price": [Decimal(k) / 4 for k in range(20)]}
    frame = kind({**cells, "x": x})
    filled = PPCA(1).fit(frame).impute(frame)
    for name, told in cells.items():
        found = filled[name].to_pylist() if kind is pa.table else list(filled[name])
        assert found == told
        assert all(isinstance(cell, Decimal if name == "price" else bool | np.bool_) for cell in found)
