"""PPCA as a user meets it: choices of q and noise, solvers, streams, containers, anomalies."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn.decomposition import PCA
from sklearn.decomposition._pca import _infer_dimension
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gramian import PPCA, LatentImputer, LatentOutlierDetector, NumericalWarning
from gramian.latent import dimension
from oracles.tables import TABLES, with_holes

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

X = TABLES["tall"]


# ---------------------------------------------------------------- n_components and noise


def test_a_fraction_takes_the_smallest_q_that_explains_it():
    ratios = PPCA(5).fit(X).explained_variance_ratio_.cumsum()
    for fraction in (0.3, 0.8, 0.95):
        q = PPCA(fraction).fit(X).n_components_
        assert ratios[q - 1] >= fraction
        assert q == 1 or ratios[q - 2] < fraction


def test_none_is_rank_minus_one_or_what_exceeds_the_noise():
    assert PPCA(None).fit(X).n_components_ == 5
    assert PPCA(None).fit(TABLES["wide"]).n_components_ == 10
    values = PPCA(5).fit(X).explained_variance_
    level = (values[1] + values[2]) / 2
    assert PPCA(noise_variance=level).fit(X).n_components_ == 2
    assert PPCA(noise_variance=level).fit(X).noise_variance_ == level


def test_mle_is_minkas_choice_as_in_scikit_learn(rng):
    data = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 12)) + 0.3 * rng.standard_normal((200, 12))
    assert PPCA("mle").fit(data).n_components_ == PCA("mle", svd_solver="full").fit(data).n_components_ == 4
    spectrum = np.sort(np.linalg.eigvalsh(np.cov(data.T)))[::-1]
    for scale in (1.0, 199 / 200):
        evidence = [dimension.minka_evidence(scale * spectrum, q, 12, 200) for q in range(1, 12)]
        assert int(np.argmax(evidence)) + 1 == _infer_dimension(spectrum, 200)


def test_bic_finds_the_dimension(rng):
    data = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 10)) + 0.2 * rng.standard_normal((300, 10))
    assert PPCA("bic").fit(data).n_components_ == 3
    assert PPCA("bic").fit(with_holes(data, 0.2)).n_components_ == 3
    bics = [PPCA(q).fit(data).bic(data) for q in range(1, 9)]
    assert int(np.argmin(bics)) + 1 == 3
    aics = [PPCA(q).fit(data).aic(data) for q in range(1, 9)]
    assert aics[2] < aics[1]


def test_free_parameters_count():
    assert dimension.free_parameters(10, 3) == 10 * 3 - 3 + 1 + 10
    model = PPCA(3).fit(X)
    assert_allclose(model.bic(X) - model.aic(X), dimension.free_parameters(6, 3) * (np.log(60) - 2))


@pytest.mark.parametrize("bad", [True, -1, 0.0, 1.0, 1.5, "best", [1], np.nan, np.inf])
def test_bad_n_components_are_named(bad):
    with pytest.raises(ValueError, match="n_components="):
        PPCA(bad).fit(X)


@pytest.mark.parametrize("q", [np.int64(2), np.uint8(2), 2])
def test_numpy_counts_are_counts(q):
    assert PPCA(q).fit(X).n_components_ == 2


def test_q_above_the_possible_rank_is_an_error_and_above_the_rank_a_warning(rng):
    with pytest.raises(ValueError, match="n_components=7"):
        PPCA(7).fit(X)
    with pytest.raises(ValueError, match="n_components=12"):
        PPCA(12).fit(TABLES["wide"])
    assert PPCA(12, center=False, noise_variance=0).fit(TABLES["wide"]).n_components_ == 12
    low = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 5))
    with pytest.warns(NumericalWarning, match="rank 2"):
        model = PPCA(4, noise_variance=0).fit(low)
    assert model.n_components_ == 2


def test_noise_above_the_last_eigenvalue_names_both_numbers():
    values = PPCA(3).fit(X).explained_variance_
    with pytest.raises(ValueError, match=r"noise_variance=100.*smallest kept eigenvalue"):
        PPCA(3, noise_variance=100).fit(X)
    PPCA(3, noise_variance=values[2]).fit(X)


def test_exact_low_rank_data_have_exactly_zero_noise(rng):
    low = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 6)) + 3.0
    with pytest.warns(NumericalWarning, match=r"exactly 0\.0"):
        model = PPCA(2).fit(low)
    assert model.noise_variance_ == 0.0
    assert_allclose(model.posterior(low).covariance, 0)
    assert_allclose(model.residual(low), 0, atol=1e-12)
    with pytest.raises(ValueError, match="residual"):
        model.score_samples(low)


# ---------------------------------------------------------------- solvers


@pytest.mark.parametrize("solver", ["eigh", "randomized", "em", "stiefel"])
@pytest.mark.parametrize("name", ["tall", "wide"])
def test_every_solver_finds_the_closed_form(solver, name):
    data = TABLES[name]
    exact = PPCA(2, solver="eigh").fit(data)
    found = PPCA(2, solver=solver, random_state=0, tol=1e-9, max_iter=5000).fit(data)
    assert_allclose(found.noise_variance_, exact.noise_variance_, rtol=1e-6)
    assert_allclose(np.linalg.svd(found.components_ @ exact.components_.T, compute_uv=False), 1, atol=1e-6)
    assert found.explain().startswith(type(found.solver_).__name__)


def test_em_reports_a_likelihood_that_never_falls_and_ends_at_the_closed_form():
    model = PPCA(2, solver="em", random_state=0).fit(X)
    assert (np.diff(model.log_likelihoods_) >= -1e-9 * abs(model.log_likelihoods_[1:])).all()
    assert_allclose(model.log_likelihoods_[-1], PPCA(2).fit(X).score(X), rtol=1e-6)
    assert model.converged_


def test_auto_says_what_it_chose_and_why():
    model = PPCA(2).fit(X)
    assert "Eigh" in model.explain()
    with pytest.raises(ValueError, match="solver="):
        PPCA(2, solver="magic").fit(X)


# ---------------------------------------------------------------- streams


@pytest.mark.parametrize("edges", [(30,), (1, 2, 3, 59), (10, 10, 40), ()])
def test_streams_equal_fit_whatever_the_batches(edges):
    data = X + 1e5
    parts = list(np.split(data, edges))
    exact = PPCA(2).fit(data)
    streamed = PPCA(2)
    for part in parts:
        streamed.partial_fit(part)
    gathered = PPCA(2).fit_batches(iter(parts))
    for model in (streamed, gathered):
        assert_allclose(model.mean_, exact.mean_, rtol=1e-12)
        assert_allclose(model.noise_variance_, exact.noise_variance_, rtol=1e-9)
        assert_allclose(model.components_, exact.components_, atol=1e-9)
        assert_allclose(model.transform(data), exact.transform(data), atol=1e-7)


def test_streams_refuse_holes_and_other_widths_and_stay_usable():
    model = PPCA(2).partial_fit(X[:30])
    with pytest.raises(ValueError, match="fit_batches"):
        model.partial_fit(with_holes(X))
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:, :3])
    model.partial_fit(X[30:])
    assert_allclose(model.noise_variance_, PPCA(2).fit(X).noise_variance_)

    def broken():
        yield X[:10]
        raise RuntimeError("disk")

    with pytest.raises(RuntimeError, match="disk"):
        model.fit_batches(broken())
    assert_allclose(model.noise_variance_, PPCA(2).fit(X).noise_variance_)


def test_fit_after_partial_fit_starts_anew():
    model = PPCA(2).partial_fit(X + 5)
    model.fit(X)
    assert_allclose(model.mean_, X.mean(axis=0))
    assert_allclose(model.partial_fit(X).mean_, X.mean(axis=0))


def test_arrow_and_polars_batches_stream():
    import pyarrow as pa

    exact = PPCA(2).fit(X)
    arrow = pa.table({f"x{j}": X[:, j] for j in range(6)}).to_batches(max_chunksize=20)
    assert_allclose(PPCA(2).fit_batches(arrow).noise_variance_, exact.noise_variance_)
    frames = pl.DataFrame(X).iter_slices(25)
    assert_allclose(PPCA(2).fit_batches(frames).noise_variance_, exact.noise_variance_)


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix])
@pytest.mark.parametrize("shape", [(80, 12), (12, 80)])
def test_sparse_tables_equal_dense_ones_without_densifying(make, shape, monkeypatch):
    table = sparse.random_array(shape, density=0.3, random_state=np.random.default_rng(0))
    dense = PPCA(2, solver="eigh").fit(table.toarray())
    found = PPCA(2, solver="eigh").fit(make(table))
    assert_allclose(found.noise_variance_, dense.noise_variance_, rtol=1e-8)
    assert_allclose(found.score_samples(make(table)), dense.score_samples(table.toarray()), rtol=1e-6)
    assert_allclose(found.transform(make(table)), dense.transform(table.toarray()), atol=1e-7)


def test_float32_is_kept_and_accurate():
    data = (X * 1e3 + 1e4).astype(np.float32)
    single, double = PPCA(2).fit(data), PPCA(2).fit(data.astype(np.float64))
    for method in ("transform", "scores", "score_samples", "reconstruct"):
        out = getattr(single, method)(data)
        assert out.dtype == np.float32
        reference = getattr(double, method)(data.astype(np.float64))
        assert_allclose(out, reference, rtol=1e-4, atol=1e-4 * abs(reference).max())
    assert np.isfinite(PPCA(2).fit(data * np.float32(1e26)).noise_variance_)


@pytest.mark.parametrize("offset", [1e8, 1e12])
def test_offsets_cost_no_more_digits_than_the_data_have(offset):
    shifted = X + offset
    exact = shifted - offset  # what float64 kept of the data
    assert_allclose(PPCA(2).fit(shifted).noise_variance_, PPCA(2).fit(exact).noise_variance_, rtol=1e-6)
    assert_allclose(PPCA(2).fit(shifted.T).noise_variance_, PPCA(2).fit(shifted.T - offset).noise_variance_, rtol=1e-5)


def test_frames_come_back_as_frames():
    holes = with_holes(X)
    frame = pd.DataFrame(holes, columns=list("abcdef"), index=np.arange(60) + 100)
    model = PPCA(2).fit(frame)
    filled, std = model.impute(frame, return_std=True)
    assert list(filled.columns) == list("abcdef")
    assert filled.index[0] == 100
    assert not filled.isna().any().any()
    assert (std.to_numpy()[~np.isnan(holes)] == 0).all()
    polars = pl.DataFrame(dict(zip("abcdef", holes.T)))
    assert_allclose(PPCA(2).fit(polars).impute(polars).to_numpy(), filled.to_numpy(), atol=1e-12)
    named = PPCA(2).fit(frame).set_output(transform="pandas").transform(frame)
    assert list(named.columns) == ["ppca0", "ppca1"]
    assert type(PPCA(2).fit(polars).set_output(transform="polars").transform(polars)) is pl.DataFrame


@pytest.mark.parametrize(
    "holes",
    [
        lambda A: np.ma.masked_invalid(A),
        lambda A: np.where(np.isnan(A), None, A.astype(object)),
        lambda A: pd.DataFrame(A).astype("Float64"),
        lambda A: pd.DataFrame(A).convert_dtypes(),
    ],
    ids=["masked", "None", "pd.NA", "converted"],
)
def test_every_mark_of_missing_means_the_same(holes):
    data = with_holes(X)
    assert_allclose(PPCA(2).fit(holes(data)).noise_variance_, PPCA(2).fit(data).noise_variance_)


def test_pipelines_and_searches():
    search = GridSearchCV(make_pipeline(StandardScaler(), PPCA()), {"ppca__n_components": [1, 2, 3]}).fit(X)
    assert search.best_params_["ppca__n_components"] in (1, 2, 3)
    filled = make_pipeline(LatentImputer(), StandardScaler()).fit_transform(with_holes(X))
    assert np.isfinite(filled).all()


# ---------------------------------------------------------------- missing entries


def test_a_column_with_nothing_observed_is_named():
    frame = pd.DataFrame(with_holes(X), columns=list("abcdef"))
    frame["c"] = np.nan
    with pytest.raises(ValueError, match="'c'"):
        PPCA(2).fit(frame)
    with pytest.raises(ValueError, match="observed"):
        PPCA(2).fit(np.full((5, 3), np.nan))


def test_em_that_stops_too_soon_says_so():
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        assert not PPCA(2, max_iter=2).fit(with_holes(X, 0.4)).converged_


def test_fractions_need_complete_data():
    with pytest.raises(ValueError, match="complete data"):
        PPCA(0.9).fit(with_holes(X))


def test_intervals_of_imputed_cells_are_calibrated(rng):
    """Nominal 90 % intervals cover 87 to 93 % of held-out cells, pooled over simulated tables."""
    inside = total = 0
    for _ in range(8):
        W = rng.standard_normal((2, 10))
        data = rng.standard_normal((150, 2)) @ W + 0.5 * rng.standard_normal((150, 10)) + rng.standard_normal(10)
        holes = rng.random(data.shape) < 0.2
        table = np.where(holes, np.nan, data)
        filled, std = PPCA(2).fit(table).impute(table, return_std=True)
        inside += int((abs(filled - data)[holes] <= 1.6449 * std[holes]).sum())
        total += int(holes.sum())
    assert total > 2000
    assert 0.87 <= inside / total <= 0.93


# ---------------------------------------------------------------- anomalies


def test_control_limits_hold_for_new_rows(rng):
    """At nominal 1 % with N = 40, new rows exceed T2 and SPE limits about 1 % of the time (THEORY 2: 0.9 and 1.3)."""
    over = np.zeros(2)
    n_new = 0
    W = rng.standard_normal((2, 8))
    for _ in range(150):

        def draw(n):
            return rng.standard_normal((n, 2)) @ W + 0.4 * rng.standard_normal((n, 8))

        found = PPCA(2).fit(draw(40)).anomaly(draw(200), level=0.99)
        over += [(found.t2 > found.limit_t2).sum(), (found.spe > found.limit_spe).sum()]
        n_new += 200
    assert 0.006 < over[0] / n_new < 0.014
    assert 0.008 < over[1] / n_new < 0.018


def test_p_values_are_uniform_for_the_model_and_agree_with_the_limits(rng):
    model = PPCA(2).fit(
        rng.standard_normal((5000, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((5000, 6))
    )
    new = model.sample(4000, random_state=0)
    found = model.anomaly(new, level=0.95)
    for p in (found.p_t2, found.p_spe):
        assert stats.kstest(p, "uniform").pvalue > 1e-3
    assert ((found.t2 > found.limit_t2) == (found.p_t2 < 0.05)).all()
    assert ((found.spe > found.limit_spe) == (found.p_spe < 0.05)).all()
    holed = model.anomaly(with_holes(new, 0.3), level=0.95)
    assert holed.limit_spe.shape == (4000,)
    seen = (~np.isnan(with_holes(new, 0.3))).sum(axis=1) > 2
    assert stats.kstest(holed.p_spe[seen], "uniform").pvalue > 1e-3


def test_contributions_are_the_fall_of_the_distance_without_the_entry():
    model = PPCA(2).fit(X)
    rows = with_holes(X, 0.2)[:10]
    found = model.anomaly(rows)
    for i in range(10):
        for j in range(6):
            without = rows[i].copy()
            without[j] = np.nan
            fall = model.mahalanobis(rows[i : i + 1])[0] - model.mahalanobis(without[None])[0]
            assert_allclose(found.contributions[i, j], fall, atol=1e-8)


def test_the_guilty_column_is_found():
    model = PPCA(2).fit(X)
    row = X[3].copy()
    row[4] += 5
    assert model.anomaly(row[None]).contributions[0].argmax() == 4
    assert model.anomaly(row[None]).flags[0]


def test_a_row_that_shows_no_more_than_q_entries_is_never_off_the_subspace():
    model = PPCA(3).fit(X)
    row = X[:1].copy()
    row[0, 3:] = np.nan
    found = model.anomaly(row)
    assert found.p_spe[0] == 1
    assert not found.spe[0] > found.limit_spe[0]


def test_limits_for_tails_that_are_not_flat():
    model = PPCA(1).fit(X)
    theta = np.sort(np.linalg.eigvalsh(np.cov(X.T, bias=True)))[::-1][1:]
    flat, box, jm = (model.anomaly(X, limits=kind).limit_spe for kind in ("flat", "box", "jackson-mudholkar"))
    t1, t2 = theta.sum(), (theta**2).sum()
    correction = 60 / 58 * (1 + 2 / 60)
    assert_allclose(box, t2 / t1 * stats.chi2(t1**2 / t2).ppf(0.99) * correction, rtol=1e-6)
    assert abs(jm / (box / correction) - 1) < 0.05
    assert flat != box
    with pytest.raises(ValueError, match="discarded spectrum"):
        PPCA(1).fit(with_holes(X)).anomaly(X, limits="box")


def test_outlier_detector_flags_the_share_asked_for(rng):
    detector = LatentOutlierDetector(PPCA(2), contamination=0.1).fit(X)
    assert (detector.predict(X) == -1).sum() == 6
    assert ((detector.decision_function(X) < 0) == (detector.predict(X) == -1)).all()
    noiseless = LatentOutlierDetector(PPCA(2, noise_variance=0), standardize=False, n_folds=None).fit(X)
    assert_allclose(noiseless.score_samples(X), -noiseless.estimator_.residual(X))
    assert detector.anomaly(X).t2.shape == (60,)


def test_small_things(rng):
    with pytest.raises(ValueError, match="columns"):
        PPCA(2).fit(X).inverse_transform(np.ones((3, 5)))
    with pytest.raises(ValueError, match="kind="):
        PPCA(2).fit(X).reconstruct(X, kind="median")
    with pytest.raises(ValueError, match="level="):
        PPCA(2).fit(X).anomaly(X, level=1.0)
    model = PPCA(2).fit(X)
    assert model.posterior(X[:3]).sample(5, random_state=0).shape == (5, 3, 2)
    assert_allclose(model.get_covariance() @ model.get_precision(), np.eye(6), atol=1e-9)
    assert PPCA(0).fit(X).transform(X).shape == (60, 0)
    assert_allclose(PPCA(0).fit(X).noise_variance_, X.var(axis=0).mean())


# ---------------------------------------------------------------- q by held-out evidence


def low_rank(n, d, q, noise=0.5, seed=0):
    gen = np.random.default_rng(seed)
    return gen.standard_normal((n, q)) @ gen.standard_normal((q, d)) * 2 + noise * gen.standard_normal((n, d)) + 1.0


STRUCTURED = {
    "exact rank": (low_rank(80, 10, 4, noise=0.0), 4),
    "a total column": (np.column_stack([low_rank(100, 5, 2), low_rank(100, 5, 2).sum(axis=1)]), 5),
    "one-hot columns": (np.eye(4)[np.arange(100) % 4], 3),
    "one-hot with a category seen once": (np.eye(4)[np.r_[np.zeros(50, int), np.ones(40, int), np.full(30, 2), 3]], 3),
    "wide": (low_rank(40, 60, 4, noise=0.0), 4),
}


@pytest.mark.parametrize(("n", "d", "q"), [(200, 10, 3), (30, 20, 4), (50, 100, 5), (12, 40, 2)])
def test_auto_finds_the_dimension_and_keeps_its_evidence(n, d, q):
    model = PPCA().fit(low_rank(n, d, q))
    selection = model.selection_
    assert model.n_components_ == selection.chosen == q
    assert selection.candidates[0] == 1
    assert len(selection.scores) == len(selection.errors) == len(selection.candidates)
    assert selection.errors[selection.scores.argmax()] == 0
    assert model.explain().startswith(selection.reason)
    assert not hasattr(PPCA(2).fit(low_rank(n, d, q)), "selection_")


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_pure_noise_has_one_component(holes, rng):
    table = rng.standard_normal((120, 8))
    assert PPCA().fit(with_holes(table, holes) if holes else table).n_components_ == 1


@pytest.mark.parametrize("name", STRUCTURED)
@pytest.mark.parametrize("rule", ["auto", "bic", None])
def test_every_rule_keeps_exact_structure_whole_and_says_so(name, rule):
    table, rank = STRUCTURED[name]
    with pytest.warns(NumericalWarning, match=r"exactly 0\.0"):
        model = PPCA(rule).fit(table)
    assert model.n_components_ == rank
    assert model.noise_variance_ == 0.0
    assert_allclose(model.reconstruct(table), table, atol=1e-6)


def test_auto_keeps_exact_structure_with_holes_whole():
    table = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(NumericalWarning, match=r"exactly 0\.0"):
        assert PPCA().fit(with_holes(table, 0.05)).n_components_ == 6


@pytest.mark.parametrize("rows", [[[1.0, 2.0, 3.0], [2.0, 5.0, 1.0]], [[1.0, 2.0, 3.0]] * 3 + [[2.0, 5.0, 1.0]] * 4])
def test_fewer_than_three_distinct_rows_take_the_95_percent_rule_and_say_so(rows):
    with pytest.warns(NumericalWarning):
        model = PPCA().fit(rows)
    assert model.n_components_ == 1
    assert "distinct rows" in model.selection_.reason


def test_auto_with_a_number_as_noise_is_the_rule_of_none():
    values = PPCA(5).fit(X).explained_variance_
    level = (values[1] + values[2]) / 2
    model = PPCA(noise_variance=level).fit(X)
    assert model.n_components_ == 2
    assert not hasattr(model, "selection_")


def test_auto_does_not_depend_on_order_batches_or_copies(rng):
    table = low_rank(90, 7, 3)
    weights = rng.integers(1, 4, 90)
    exact = PPCA().fit(table, sample_weight=weights)
    streamed = PPCA()
    for part, some in zip(np.split(table, 5), np.split(weights, 5)):
        streamed.partial_fit(part, sample_weight=some)
    batches = [(table[:50], weights[:50]), (table[50:], weights[50:])]
    for model in (
        PPCA().fit(np.repeat(table, weights, axis=0)),
        PPCA().fit(table[::-1], sample_weight=weights[::-1]),
        streamed,
        PPCA().fit_batches(batches),
        PPCA().fit_batches(iter(batches)),
        PPCA().fit_batches(lambda: iter([batches[1], (table[:0], weights[:0]), batches[0]])),
    ):
        assert model.n_components_ == exact.n_components_
        assert_allclose(model.selection_.scores, exact.selection_.scores, rtol=1e-9)
        assert_allclose(model.loadings_, exact.loadings_, atol=1e-9)


@pytest.mark.parametrize("q", ["auto", 2, "bic"])
def test_batches_with_holes_equal_fit(q):
    table = with_holes(low_rank(120, 6, 2), 0.2)
    exact = PPCA(q).fit(table)
    model = PPCA(q).fit_batches([table[:30], table[30:90], table[90:]])
    assert_allclose(model.loadings_, exact.loadings_, atol=1e-8)
    assert_allclose(model.noise_variance_, exact.noise_variance_, rtol=1e-8)
    with pytest.raises(ValueError, match="read only once"):
        PPCA(q).fit_batches(iter([table]))


def test_dask_rows_equal_fit():
    da = pytest.importorskip("dask.array")
    for table in (low_rank(80, 5, 2), with_holes(low_rank(80, 5, 2), 0.2)):
        exact, lazy = PPCA().fit(table), PPCA().fit(da.from_array(table, chunks=(30, 5)))
        assert_allclose(lazy.loadings_, exact.loadings_, atol=1e-8)


def test_large_tables_choose_from_leading_pairs(monkeypatch):
    from gramian.evidence import dimension as choosing

    table = low_rank(150, 100, 3)
    exact = PPCA().fit(table)
    monkeypatch.setattr(choosing, "WHOLE_SIZE", 20)
    monkeypatch.setattr(choosing, "SIZES", replace(choosing.SIZES, first_pairs=2))
    model = PPCA().fit(table)
    assert model.n_components_ == exact.n_components_ == 3
    assert_allclose(model.selection_.scores[:3], exact.selection_.scores[:3], rtol=1e-6)
    assert len(model.selection_.candidates) < len(exact.selection_.candidates)


# ---------------------------------------------------------------- what the fitted model offers


@pytest.mark.parametrize("noise", ["ml", 0.05])
@pytest.mark.parametrize("name", ["tall", "wide"])
def test_truncate_is_a_fit_with_fewer_components(noise, name):
    table = TABLES[name]
    long, exact = PPCA(3, noise_variance=noise).fit(table), PPCA(1, noise_variance=noise).fit(table)
    short = long.truncate(1)
    assert short.n_components == short.n_components_ == 1
    assert_allclose(short.score_samples(table), exact.score_samples(table), rtol=1e-9)
    assert_allclose(short.transform(table), exact.transform(table), atol=1e-9)
    assert_allclose(
        short.anomaly(table, limits="box").limit_spe, exact.anomaly(table, limits="box").limit_spe, rtol=1e-6
    )
    with pytest.raises(ValueError, match="n_components=4"):
        long.truncate(4)


def test_truncate_with_holes_keeps_the_axes_and_averages_the_rest_into_the_noise():
    table = with_holes(X)
    long = PPCA(3).fit(table)
    short = long.truncate(1)
    assert_allclose(short.components_, long.components_[:1])
    assert_allclose(np.trace(short.get_covariance()), np.trace(long.get_covariance()), rtol=1e-12)


@pytest.mark.parametrize("rows", ["complete", "holes"])
def test_q_equal_d_is_the_same_gaussian_as_q_one_less(rows):
    table = X if rows == "complete" else with_holes(X)
    full, less = PPCA(6).fit(X), PPCA(5).fit(X)
    assert full.n_components_ == 6
    assert full.noise_variance_ == 0.0
    assert_allclose(full.score_samples(table), less.score_samples(table), rtol=1e-9)
    assert_allclose(full.mahalanobis(table), less.mahalanobis(table), rtol=1e-9)
    assert_allclose(full.get_precision(), less.get_precision(), rtol=1e-7, atol=1e-9)
    assert_allclose(full.impute(with_holes(X)), less.impute(with_holes(X)), atol=1e-8)
    assert_allclose(full.anomaly(table).contributions, less.anomaly(table).contributions, rtol=1e-6, atol=1e-9)


def test_float32_rows_give_float32_attributes_and_draws():
    data = X.astype(np.float32)
    model = PPCA().fit(data)
    for name in ("mean_", "components_", "loadings_", "explained_variance_", "explained_variance_ratio_"):
        assert getattr(model, name).dtype == np.float32, name
    assert model.sample(3).dtype == np.float32
    assert model.posterior(data).mean.dtype == np.float32
    assert PPCA(2).fit(with_holes(X).astype(np.float32)).loadings_.dtype == np.float32
    assert PPCA(2).partial_fit(data).partial_fit(X).mean_.dtype == np.float64
    large = PPCA(2).fit(data * np.float32(1e26))
    assert large.explained_variance_.dtype == np.float64
    assert np.isfinite(large.explained_variance_).all()


def test_an_empty_row_is_dropped_with_a_warning():
    table = np.vstack([with_holes(X), np.full((2, 6), np.nan)])
    with pytest.warns(NumericalWarning, match="2 row"):
        model = PPCA(2).fit(table)
    assert_allclose(model.loadings_, PPCA(2).fit(table[:-2]).loadings_)
    assert model.n_samples_ == 60


# ---------------------------------------------------------------- small samples


def test_plug_in_deviations_are_the_conditional_gaussian_and_corrected_ones_follow_the_formula():
    table = with_holes(X, 0.2)
    model = PPCA(2).fit(table)
    _, plain = model.impute(table, return_std=True, small_sample=False)
    _, wide = model.impute(table, return_std=True)
    holes = np.isnan(table)
    counts = (~holes).sum(axis=0)
    nu = counts - 3
    latents = model.transform(table)
    leverage = (1 + (latents**2).sum(axis=1))[:, None] / counts
    factor = np.sqrt(counts / nu * (1 + leverage)) * stats.t.ppf(0.95, nu) / stats.norm.ppf(0.95)
    assert_allclose(wide[holes], (plain * factor)[holes], rtol=1e-9)
    assert (wide[~holes] == 0).all()


@pytest.mark.parametrize("n", [20, 50])
def test_intervals_cover_at_small_n(n):
    gen = np.random.default_rng(n)
    inside = plain = total = 0
    for _ in range(1600 // n):
        data = gen.standard_normal((n, 3)) @ gen.standard_normal((3, 10)) + 0.5 * gen.standard_normal((n, 10))
        holes = gen.random(data.shape) < 0.2
        table = np.where(holes, np.nan, data)
        model = PPCA(3).fit(table)
        for small in (True, False):
            filled, std = model.impute(table, return_std=True, small_sample=small)
            covered = int((abs(filled - data)[holes] <= 1.6449 * std[holes]).sum())
            inside, plain = (inside + covered, plain) if small else (inside, plain + covered)
        total += int(holes.sum())
    assert 0.87 <= inside / total <= 0.93
    assert plain < inside


def test_draws_carry_the_corrected_law():
    table = with_holes(X, 0.2)[:5]
    model = PPCA(2, random_state=0).fit(with_holes(X, 0.2))
    holes = np.isnan(table)
    for small in (True, False):
        filled, std = model.impute(table, return_std=True, small_sample=small)
        draws = model.impute(table, n_draws=4000, small_sample=small)
        inside = (abs(draws - filled) <= 1.6449 * np.where(holes, std, 1)).mean(axis=0)
        assert_allclose(inside[holes], 0.9, atol=0.03)


def test_denoised_rows_have_the_deviation_of_the_signal():
    model = PPCA(2).fit(X)
    rows, std = model.reconstruct(X, return_std=True, small_sample=False)
    W = model.loadings_
    assert_allclose(std[0] ** 2, np.diag(W @ model.posterior(X).covariance @ W.T), rtol=1e-9)
    assert_allclose(rows, model.reconstruct(X))
    assert (model.reconstruct(X, return_std=True)[1] > std).all()


def test_a_stream_whose_q_is_opened_later_takes_the_rule_of_shares():
    model = PPCA(2).partial_fit(np.random.default_rng(0).standard_normal((20, 4)))
    model.n_components = "auto"
    assert np.isfinite(model.transform(np.ones((1, 4)))).all()


@pytest.mark.parametrize("q", ["auto", 2, 0.9])
def test_squares_that_overflow_are_refused_before_q_is_chosen_by_them(q):
    rows = np.random.default_rng(0).standard_normal((58, 6)) * 10.0 ** np.arange(150, 156)
    with pytest.raises(ValueError, match="rescale it first"):
        PPCA(q).fit(rows)


@pytest.mark.filterwarnings("ignore")
def test_squares_whose_noise_has_no_inverse_are_refused():
    """Tiny columns of very different sizes, with holes: their noise would be a subnormal number."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) * [1e-155, 1e-149]
    X[rng.random(X.shape) < 0.3] = np.nan
    X = X[~np.isnan(X).all(axis=1)]
    with pytest.raises(ValueError, match="rescale it first"):
        PPCA(2).fit(X)
    model = PPCA(2).fit(1e5 * X)
    assert model.noise_variance_ == 0 or model.noise_variance_ >= np.finfo(float).tiny
    assert np.isfinite(model.transform(1e5 * X)).all()
    assert np.isfinite(model.impute(1e5 * X)).all()


def test_with_holes_and_no_noise_axes_of_rounding_are_none():
    """As without holes: there is one axis where one column varies; a second would have a variance of rounding to divide by."""
    gen = np.random.default_rng(0)
    X = np.column_stack([np.full(24, 1.5), np.round(gen.standard_normal(24))]) * 1e-140
    X[0, 1] = 1e-130
    X[3, 1] = np.nan
    with pytest.warns(NumericalWarning, match="n_components=2 exceeds the numerical rank 1"):
        model = PPCA(2).fit(X)
    assert model.n_components_ == 1
    for method in ("transform", "residual", "reconstruct", "impute"):
        assert np.isfinite(getattr(model, method)(X)).all()


def test_the_steps_with_holes_are_told(rng):
    X = rng.normal(size=(150, 8))  # no structure: slow
    X[rng.random(X.shape) < 0.3] = np.nan
    loose, tight = (PPCA(2, tol=tol).fit(X) for tol in (1e-2, 1e-12))
    assert tight.n_iter_ == len(tight.log_likelihoods_) > loose.n_iter_ == len(loose.log_likelihoods_) > 5
    assert (np.diff(tight.log_likelihoods_) >= 0).all()
    assert tight.log_likelihoods_[0] < tight.log_likelihoods_[-1]
    assert_allclose(tight.log_likelihoods_[-1], tight.score(X), rtol=1e-9)
    assert PPCA(2, max_iter=50).fit(X).n_iter_ <= 50


def test_minkas_rule_on_a_wide_table_advises_auto(rng):
    with pytest.raises(ValueError, match="Use 'auto'"):
        PPCA("mle").fit(rng.normal(size=(10, 20)))


def test_the_objective_of_the_stiefel_solver_is_kept(rng, tmp_path):
    from gramian import load, save

    X = rng.normal(size=(40, 5)) * [3.0, 2.0, 1.0, 1.0, 1.0]
    model = PPCA(2, solver="stiefel").fit(X)
    best = 0.5 * (X.var(axis=0).sum() - model.explained_variance_.sum())
    assert_allclose(model.objectives_[-1], best, rtol=1e-8)
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").objectives_, model.objectives_)
    assert not hasattr(PPCA(2).fit(X), "objectives_")


def test_many_rows_with_holes_among_them_are_as_odd_as_each_alone():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((9000, 2)) @ rng.standard_normal((2, 6)) + 0.2 * rng.standard_normal((9000, 6))
    X[rng.random(X.shape) < 0.05] = np.nan
    model = PPCA(2).fit(X[:500])
    found = model.anomaly(X)
    rows = np.r_[0:40, 4090:4110, 8960:9000]
    few = model.anomaly(X[rows])
    for name in ("t2", "spe", "p_t2", "p_spe", "limit_spe", "contributions"):
        assert_allclose(getattr(found, name)[rows], getattr(few, name), rtol=1e-9, atol=1e-12)
    assert found.limit_t2 == few.limit_t2
    complete = model.anomaly(np.nan_to_num(X))
    assert np.ndim(complete.limit_spe) == 0
