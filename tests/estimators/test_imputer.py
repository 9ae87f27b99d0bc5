"""LatentImputer: better than the mean or equal to it, calibrated, with any model that can fill."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import gramian
from gramian import (
    PPCA,
    DataWarning,
    LatentImputer,
    MultiViewRKM,
    NumericalWarning,
    PPCAMixture,
    RKMRegressor,
    load,
    save,
)
from gramian.evidence.cell_choice import choose_by_cells
from gramian.evidence.cell_scales import (
    column_scales,
    corrected_deviations,
    relative_sizes,
)
from gramian.evidence.cells import hidden_cells
from gramian.latent.small_sample import SmallSample, inflation
from oracles.tables import TABLES, with_holes

pd = pytest.importorskip("pandas")

X = TABLES["tall"]


def low_rank(n, d, q, noise, seed=0, holes=0.2):
    """A table, and the same with holes; ``noise`` is one number or one per column."""
    gen = np.random.default_rng(seed)
    whole = gen.standard_normal((n, q)) @ gen.standard_normal((q, d)) + noise * gen.standard_normal((n, d))
    whole = whole * gen.uniform(0.1, 100, d) + gen.uniform(-50, 50, d)
    return whole, np.where(gen.random((n, d)) < holes, np.nan, whole)


# ---------------------------------------------------------------- hidden cells


def test_hidden_cells_leave_every_row_and_column_enough_and_follow_content():
    table = with_holes(np.random.default_rng(0).standard_normal((30, 6)), 0.6)
    order = np.random.default_rng(1).permutation(30)
    for draw in range(5):
        hidden = hidden_cells(table, draw)
        seen = ~np.isnan(table)
        assert not (hidden & ~seen).any()
        assert ((seen & ~hidden).any(axis=1) == seen.any(axis=1)).all()
        assert (2 * hidden.sum(axis=0) <= seen.sum(axis=0)).all()
        assert ((seen & ~hidden).sum(axis=0) >= np.minimum(seen.sum(axis=0), 3)).all()
        assert (hidden_cells(table[order], draw) == hidden[order]).all()
    assert (hidden_cells(table, 0) != hidden_cells(table, 1)).any()


def test_predictions_of_hidden_cells_are_those_of_the_conditional_gaussian():
    from oracles.naive import conditional

    _, table = low_rank(60, 5, 2, 0.3)
    found = choose_by_cells(table, np.ones(60), 2, smallest=2).said(2)
    fit_rows = np.where(hidden_cells(table, 0), np.nan, table)
    model = PPCA(2, tol=1e-8).fit(fit_rows)
    hidden = hidden_cells(table, 0)
    exact = np.array(
        [
            conditional(row, model.mean_, model.loadings_, model.noise_variance_)[0][
                np.flatnonzero(np.isnan(row)) == j
            ][0]
            for i, row in enumerate(fit_rows)
            for j in np.flatnonzero(hidden[i])
        ]
    )
    mine = found.draws == 0
    spread = np.nanstd(table, axis=0)
    # rows come by rising hash there: compare as sets of (value, prediction)
    order, other = np.argsort(found.values[mine]), np.argsort(table[hidden])
    assert_allclose(found.values[mine][order], table[hidden][other], rtol=1e-9)
    columns = np.nonzero(hidden)[1][other]
    assert_allclose(found.means[mine][order] / spread[columns], exact[other] / spread[columns], atol=0.1)


@pytest.mark.parametrize(("n", "d", "q"), [(100, 8, 3), (30, 20, 4), (40, 60, 3), (60, 120, 3)])
def test_what_hidden_cells_choose_fills_like_the_truth_and_is_a_model_to_be_had_by_name(n, d, q):
    gen = np.random.default_rng(0)
    whole = gen.standard_normal((n, q)) @ gen.standard_normal((q, d)) + 0.3 * gen.standard_normal((n, d))
    table = with_holes(whole)
    holes = np.isnan(table)
    model = LatentImputer(standardize=False).fit(table)
    errors = [
        np.sqrt(np.mean((filled - whole)[holes] ** 2))
        for filled in (model.transform(table), LatentImputer(PPCA(q), standardize=False).fit_transform(table))
    ]
    assert errors[0] <= 1.05 * errors[1]
    assert model.selection_.candidates[0] == 0
    chosen = model.selection_.chosen
    assert chosen == {
        "n_components": model.estimator_.n_components_,
        "noise_variance": model.estimator_.noise_variance_,
    }
    assert chosen["n_components"] >= q
    named = LatentImputer(PPCA(**chosen, tol=1e-8), standardize=False, n_folds=None).fit_transform(table)
    assert_allclose(model.transform(table), named, atol=2e-2)


def test_where_no_few_components_explain_a_table_the_noise_keeps_many_and_shrinks_them():
    gen = np.random.default_rng(0)
    whole = gen.standard_normal((150, 12)) @ (gen.standard_normal((12, 12)) * 0.75 ** np.arange(12)[:, None])
    table = with_holes(whole, 0.1)
    holes, units = np.isnan(table), whole.std(axis=0)

    def error(filled):
        return np.sqrt(np.mean(((filled - whole) / units)[holes] ** 2))

    model = LatentImputer().fit(table)
    ours = error(model.transform(table))
    assert ours < 0.97 * min(error(LatentImputer(PPCA(q)).fit_transform(table)) for q in (1, 2, 3, 5, 8))
    assert "squared error of hidden cells" in model.explain()


def test_pure_noise_is_filled_with_column_means():
    table = with_holes(np.random.default_rng(0).standard_normal((150, 6)), 0.2)
    model = LatentImputer().fit(table)
    assert model.estimator_.n_components_ == 0
    assert_allclose(
        model.transform(table)[np.isnan(table)],
        np.broadcast_to(np.nanmean(table, axis=0), table.shape)[np.isnan(table)],
    )


# ---------------------------------------------------------------- the imputer


def test_observed_cells_stay_and_units_do_not_matter():
    whole, table = low_rank(120, 6, 2, 0.3)
    filled = LatentImputer(PPCA(2)).fit_transform(table)
    seen = ~np.isnan(table)
    assert (filled[seen] == table[seen]).all()
    factors = 10.0 ** np.arange(-3, 3)
    scaled = LatentImputer(PPCA(2)).fit_transform(table * factors)
    assert_allclose(scaled, filled * factors, rtol=1e-6)
    plain = LatentImputer(PPCA(2), standardize=False).fit_transform(table)
    assert_allclose(plain, PPCA(2).fit(table).impute(table))
    errors = [np.sqrt(np.mean(((f - whole) / whole.std(axis=0))[~seen] ** 2)) for f in (filled, plain)]
    assert errors[0] < errors[1]


def test_intervals_cover_in_the_noisiest_and_the_quietest_column():
    noise = np.array([0.05, 0.2, 0.5, 1.0, 2.0, 4.0])
    inside, count = np.zeros(6), np.zeros(6)
    for seed in range(6):
        whole, table = low_rank(300, 6, 2, noise, seed=seed)
        filled, std = LatentImputer().fit(table).impute(table, return_std=True)
        holes = np.isnan(table)
        inside += ((abs(filled - whole) <= 1.6449 * std) & holes).sum(axis=0)
        count += holes.sum(axis=0)
    assert 0.87 <= inside.sum() / count.sum() <= 0.93
    assert (inside / count >= 0.84).all()
    assert (inside / count <= 0.97).all()


def test_exact_structure_is_filled_exactly_with_a_deviation_that_covers():
    whole = np.random.default_rng(0).standard_normal((100, 3)) * [1.0, 10.0, 100.0]
    whole = np.column_stack([whole, whole.sum(axis=1), whole[:, 0] - whole[:, 2]])
    table = with_holes(whole, 0.05)
    filled, std = LatentImputer().fit(table).impute(table, return_std=True)
    holes = np.isnan(table)
    alone = holes & (holes.sum(axis=1) == 1)[:, None]
    assert_allclose((filled / whole.std(axis=0))[alone], (whole / whole.std(axis=0))[alone], atol=1e-3)
    assert (std[holes] > 0).all()
    assert (abs(filled - whole) <= 1.6449 * std)[alone].mean() > 0.9


def test_no_folds_is_the_model_as_it_is():
    _, table = low_rank(100, 5, 2, 0.3)
    model = LatentImputer(PPCA(2), standardize=False, n_folds=None).fit(table)
    assert (model.std_scales_ == 1).all()
    assert_allclose(model.impute(table, return_std=True)[1], PPCA(2).fit(table).impute(table, return_std=True)[1])


def test_order_copies_batches_and_dask_do_not_matter():
    da = pytest.importorskip("dask.array")
    _, table = low_rank(90, 6, 2, 0.3)
    weights = np.random.default_rng(0).integers(1, 3, 90)
    exact = LatentImputer().fit(table, sample_weight=weights)
    filled, std = exact.impute(table, return_std=True)
    batches = [(table[:40], weights[:40]), (table[40:], weights[40:])]
    lazy = LatentImputer().fit(da.from_array(table, chunks=(30, 6)), sample_weight=weights.astype(float))
    for model in (
        LatentImputer().fit(np.repeat(table, weights, axis=0)),
        LatentImputer().fit(table[::-1], sample_weight=weights[::-1]),
        LatentImputer().fit_batches(batches),
        lazy,
    ):
        again, same = model.impute(table, return_std=True)
        assert_allclose(again, filled, rtol=1e-6)
        assert_allclose(same, std, rtol=1e-6)
    answer = lazy.transform(da.from_array(table, chunks=(30, 6)))
    assert hasattr(answer, "compute")
    assert_allclose(answer.compute(), filled, rtol=1e-6)


@pytest.mark.parametrize(
    "estimator",
    [
        PPCAMixture(2, 1, random_state=0),
        MultiViewRKM(2),
        MultiViewRKM(2, views={"first": [0, 1, 2], "second": slice(3, 6)}),
    ],
    ids=["mixture", "one view", "two views"],
)
def test_other_models_fill_too_and_are_calibrated(estimator):
    whole, table = low_rank(150, 6, 2, 0.3)
    filled, std = LatentImputer(estimator).fit(table).impute(table, return_std=True)
    holes = np.isnan(table)
    mean = np.broadcast_to(np.nanmean(table, axis=0), table.shape)
    units = whole.std(axis=0)
    errors = [np.sqrt(np.mean(((f - whole) / units)[holes] ** 2)) for f in (filled, mean)]
    assert errors[0] < 0.8 * errors[1]
    assert 0.8 < (abs(filled - whole) <= 1.6449 * std)[holes].mean() < 0.98


def test_containers_dtypes_and_files(tmp_path):
    _, table = low_rank(60, 4, 1, 0.3)
    frame = pd.DataFrame(table, columns=list("abcd"))
    model = LatentImputer().fit(frame)
    filled, std = model.impute(frame, return_std=True)
    assert list(filled.columns) == list(std.columns) == list("abcd")
    assert LatentImputer().fit_transform(table.astype(np.float32)).dtype == np.float32
    save(model, tmp_path / "imputer.model")
    assert_allclose(load(tmp_path / "imputer.model").transform(frame), filled)
    assert model.explain().startswith(model.selection_.reason)


def test_bad_estimators_options_columns_and_rows_are_named():
    with pytest.raises(TypeError, match="cannot impute"):
        LatentImputer(RKMRegressor()).fit(X)
    with pytest.raises(ValueError, match="standardize="):
        LatentImputer(standardize="yes").fit(X)
    with pytest.raises(ValueError, match="n_folds="):
        LatentImputer(n_folds=1).fit(X)
    table = with_holes(X)
    table[:, 2] = np.nan
    with pytest.warns(DataWarning, match="no observed value in column"):
        assert LatentImputer().fit(table).transform(table).shape == (len(X), 5)
    with pytest.raises(ValueError, match="All cells of X are missing"):
        LatentImputer().fit(np.full((4, 3), np.nan))
    with pytest.warns(NumericalWarning, match="1 row"):
        LatentImputer().fit(np.vstack([with_holes(X), np.full((1, 6), np.nan)]))
    with pytest.raises(TypeError, match="PPCA"):
        LatentImputer(PPCAMixture(2)).fit_batches([X])


# ---------------------------------------------------------------- scales


def test_corrected_deviations_follow_the_formula():
    gen = np.random.default_rng(0)
    latents = gen.standard_normal((7, 2))
    counts = np.array([20.0, 50.0])
    factor, _ = inflation(counts, 2, latents)
    values, variances = gen.standard_normal(7), gen.random(7)
    law, columns = SmallSample(counts, 2), np.ones(7, dtype=int)
    found = corrected_deviations(values, np.zeros(7), variances, law, columns, (latents**2).sum(axis=1))
    assert_allclose(found, values / np.sqrt(variances * factor[:, 1]))


def test_a_column_without_hidden_cells_gets_the_scale_of_all():
    gen = np.random.default_rng(0)
    scales = column_scales(3.0 * gen.standard_normal(5000), np.repeat([0, 1], 2500), 3)
    assert_allclose(scales, 3.0, rtol=0.1)
    assert (column_scales(np.empty(0), np.empty(0, dtype=int), 2) == 1).all()


def test_few_hidden_cells_do_not_narrow_deviations_much_but_widen_them():
    at = np.full(50, 0.5 * 1.6448536269514722)  # the model's deviations are twice too wide on 50 cells
    none = np.zeros(50, dtype=int)
    assert_allclose(column_scales(at, none, 2)[1], 0.5 ** (50 / 70))
    assert_allclose(column_scales(4 * at, none, 2)[1], 2.0)
    assert_allclose(column_scales(np.repeat(at, 1000), np.repeat(none, 1000), 2)[1], 0.5, rtol=2e-3)


def test_relative_sizes_are_the_formula_of_empirical_bayes():
    gen = np.random.default_rng(4)
    columns = np.repeat([0, 1, 2], [5, 10, 20])
    sizes = np.abs(gen.standard_normal(35)) * np.repeat([0.2, 1.0, 3.0], [5, 10, 20])
    means = np.array([sizes[columns == j].mean() for j in range(3)])
    errors = ((sizes / means[columns] - 1) ** 2).sum() / 32 / np.array([5, 10, 20])
    logs = np.log(means) + errors / 2
    between = logs.var(ddof=1) - errors.mean()
    middle = np.average(logs, weights=1 / (between + errors))
    expected = np.exp(between / (between + errors) * (logs - middle))
    assert_allclose(relative_sizes(sizes, columns, 4), [*expected, 1.0])


def test_columns_that_differ_by_chance_alone_are_left_alike():
    gen = np.random.default_rng(0)
    columns = np.repeat(np.arange(8), 9)
    found = np.array([relative_sizes(np.abs(gen.standard_normal(72)), columns, 8) for _ in range(200)])
    assert np.abs(np.log(found)).mean() < 0.06  # each alone is off by 0.2
    assert (found == 1).all(axis=1).mean() > 0.3


def test_a_wild_cell_does_not_widen_its_column_beyond_reason():
    gen = np.random.default_rng(0)
    sizes, columns = np.abs(gen.standard_normal(40)), np.repeat([0, 1, 2, 3], 10)
    for wild in (1e12, np.inf):
        sizes[0] = wild
        assert relative_sizes(sizes, columns, 4).max() < 10


def test_columns_of_one_value_or_exact_are_no_trouble():
    columns = np.repeat([0, 1], 10)
    assert (relative_sizes(np.zeros(20), columns, 2) == 1).all()
    assert (relative_sizes(np.ones(20), np.zeros(20, dtype=int), 2) == 1).all()
    assert np.isfinite(np.log(column_scales(np.repeat([0.0, 1.0], 10), columns, 2))).all()


def test_hidden_cells_are_held_against_the_law_that_is_told(monkeypatch):
    """Not against that of the models without them: its factor for small samples is larger, and would be believed to be wrong."""
    from gramian.filling import calibration

    laws = []

    def spied(values, means, variances, law, *others):
        laws.append(law)
        return corrected_deviations(values, means, variances, law, *others)

    monkeypatch.setattr(calibration, "corrected_deviations", spied)
    _, table = low_rank(40, 12, 3, 0.5, seed=3)
    model = LatentImputer().fit(table)
    assert_allclose(laws[0].counts, (~np.isnan(table)).sum(axis=0))
    assert laws[0].n_components == model.estimator_.n_components_


def test_a_chosen_noise_above_the_last_chosen_axis_leaves_that_axis_out():
    from benchmarks.faults import X

    model = LatentImputer().fit(X.astype(np.float32))
    assert model.estimator_.n_components_ < model.selection_.chosen["n_components"]
    assert model.estimator_.noise_variance_ == model.selection_.chosen["noise_variance"]
    with pytest.raises(ValueError, match="Keep fewer components"):
        LatentImputer(PPCA(4, noise_variance=100.0), n_folds=None).fit(X)


@pytest.mark.filterwarnings("ignore::gramian.NumericalWarning")
def test_a_wild_cell_that_the_first_draw_hides_gives_the_others_no_noise_below_none():
    """In units of a table without its wild cell the smallest noise is none to a draw that shows it: EM would run to infinity."""
    gen = np.random.default_rng(331)
    offset = 10.0 ** gen.integers(2, 9)
    wild = offset + gen.standard_normal((23, 5)) @ gen.standard_normal((5, 8))
    wild += gen.choice([0, 1e-9, 0.1]) * gen.standard_normal((23, 8))
    wild[0, 0] = 1e12
    assert [bool(hidden_cells(wild, draw)[0, 0]) for draw in range(2)] == [True, False]
    model = LatentImputer(standardize=False).fit(wild)
    wild[-1, 1] = np.nan
    assert np.isfinite(model.transform(wild)).all()


def test_wild_cells_of_batches_are_those_of_memory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((120, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[3, 1] = X[50, 4] = X[90, 0] = 40.0
    X[7] = 60.0 * rng.standard_normal(6)  # wild as a whole
    memory = LatentImputer(margins=None).fit(X)
    batches = LatentImputer(margins=None).fit_batches([X[:50], X[50:]])
    assert memory.robust_ == batches.robust_ == "cells"
    assert memory.flags_[[3, 50, 90], [1, 4, 0]].all()
    assert memory.row_weights_[7] == 0
    np.testing.assert_allclose(batches.transform(X), memory.transform(X), rtol=1e-6)


def test_a_model_that_has_seen_wild_cells_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2)) @ rng.standard_normal((2, 5)) + 0.3 * rng.standard_normal((80, 5))
    X[3, 1], X[4, 2] = 40.0, np.nan
    model = LatentImputer().fit(X)
    assert model.robust_ == "cells"
    gramian.save(model, tmp_path / "model.gramian")
    np.testing.assert_allclose(gramian.load(tmp_path / "model.gramian").transform(X), model.transform(X))
