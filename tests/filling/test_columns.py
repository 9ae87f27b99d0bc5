"""Completed tables hold possible values, honest probabilities, and draws that carry the uncertainty of the parameters."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.impute import SimpleImputer

from gramian import (
    PPCA,
    DataWarning,
    LatentImputer,
    LatentOutlierDetector,
    MultiViewRKM,
    PPCAMixture,
    load,
    pool,
    save,
)
from gramian.tables.chances import Chances

pd = pytest.importorskip("pandas")


def latent_table(n=200, d=5, seed=0, noise=0.5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + noise * rng.standard_normal((n, d)), rng


def holed(X, rng, share=0.2):
    return np.where(rng.random(X.shape) < share, np.nan, X)


def test_no_impossible_value_is_written_in_means_intervals_and_draws():
    X, rng = latent_table()
    X = np.column_stack(
        [np.round(np.exp(X[:, 0])), 1 / (1 + np.exp(-3 * X[:, 1])), np.exp(X[:, 2]), X[:, 3], X[:, 4] > 0]
    )
    table = holed(X, rng)
    model = LatentImputer().fit(table)
    for full in (model.transform(table), *model.interval(table), *model.draws(table, 3, random_state=0)):
        assert (full[:, [0, 1, 2, 4]] >= 0).all()
        assert (full[:, [1, 4]] <= 1).all()
        assert (full[:, [0, 4]] % 1 == 0).all()
    lower, upper = model.interval(table)
    at = np.isnan(table)
    assert (lower <= upper).all()
    assert_allclose(lower[~at], table[~at])
    inside = ((lower <= X) & (upper >= X))[at].mean()
    assert 0.85 < inside < 0.99
    free = LatentImputer(bounds=None).fit(table).transform(table)
    assert (free[:, 0] % 1 != 0).any()


def test_bounds_of_ones_own():
    X, rng = latent_table()
    table = holed(X, rng)
    table[:, :2] = np.clip(table[:, :2], -1, 0.9)
    frame = pd.DataFrame(table, columns=list("abcde"))
    full = LatentImputer(bounds={"a": (-1, 1), "b": (None, 0.99)}).fit(frame).transform(frame)
    assert full.a.between(-1, 1).all()
    assert (full.b <= 0.99).all()
    with pytest.raises(ValueError, match="but the column holds"):
        LatentImputer(bounds={"a": (0, 1)}).fit(frame)
    with pytest.raises(ValueError, match="'z'"):
        LatentImputer(bounds={"z": (0, 1)}).fit(frame)
    with pytest.raises(ValueError, match="low < high"):
        LatentImputer(bounds={"a": (1, 0)}).fit(frame)
    with pytest.raises(ValueError, match="bounds="):
        LatentImputer(bounds="tight").fit(frame)


def test_indicators_and_empty_columns_are_scikit_learns():
    X, rng = latent_table(60, 4)
    table = holed(X, rng)
    table[:, 3] = X[:, 3]
    table = np.insert(table, 2, np.nan, axis=1)
    frame = pd.DataFrame(table, columns=list("abcde"))
    for keep in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = SimpleImputer(add_indicator=True, keep_empty_features=keep).fit(table)
            expected = theirs.transform(table)
        with pytest.warns(DataWarning, match="no observed value"):
            ours = LatentImputer(add_indicator=True, keep_empty_features=keep).fit(table)
        full = ours.transform(table)
        assert full.shape == expected.shape
        assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
        assert_allclose(full[:, -4:], expected[:, -4:])
        with pytest.warns(DataWarning, match="'c'"):
            framed = LatentImputer(add_indicator=True, keep_empty_features=keep).fit_transform(frame)
        names = list("abcde") if keep else list("abde")
        assert list(framed.columns) == [*names, *(f"missingindicator_{name}" for name in "abcd")]
        assert_allclose(framed.to_numpy(dtype=float), full)


@pytest.mark.parametrize("container", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("keep", [False, True])
def test_a_column_of_text_without_a_value_does_not_stop_a_fill(container, keep):
    library = pytest.importorskip(container)
    X, _ = latent_table(60, 2)
    columns = {"a": [None, *X[1:, 0].tolist()], "b": X[:, 1].tolist(), "void": [None] * 60, "number": [None] * 60}
    if container == "pandas":
        frame = pd.DataFrame(columns).astype({"void": "string", "number": "float64"})
    elif container == "polars":
        frame = library.DataFrame(columns, schema_overrides={"void": library.String, "number": library.Float64})
    else:
        types = {"a": "float64", "b": "float64", "void": "string", "number": "float64"}
        frame = library.table(columns, schema=library.schema(list(types.items())))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LatentImputer(keep_empty_features=keep).fit(frame)
        full = model.transform(frame)
    table = full if container == "pandas" else full.to_pandas()
    assert list(table.columns) == (["a", "b", "void", "number"] if keep else ["a", "b"])
    assert list(model.get_feature_names_out()) == list(table.columns)
    assert not table[["a", "b"]].isna().any().any()
    if keep:
        assert (table["number"] == 0).all()
        assert table["void"].isna().all()


@pytest.mark.parametrize("container", ["polars", "pyarrow"])
def test_new_rows_whose_column_has_no_type_are_filled(container):
    library = pytest.importorskip(container)
    make = library.DataFrame if container == "polars" else library.table
    X, _ = latent_table(60, 3)
    kinds = np.where(X[:, 2] > 0, "u", "v").tolist()
    model = LatentImputer().fit(make({"a": X[:, 0], "b": X[:, 1], "kind": kinds}))
    nothing = [None] * 4
    full = model.transform(make({"a": nothing, "b": X[:4, 1], "kind": nothing})).to_pandas()
    assert not full.isna().any().any()
    assert set(full["kind"]) <= {"u", "v"}


def mixed(n=300, seed=0, levels=4):
    X, rng = latent_table(n, 4, seed)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.array(list("uvwxyz"))[
        np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n), np.linspace(-1.5, 1.5, levels - 1))
    ]
    frame["noise"] = np.array(list("pqr"))[rng.integers(3, size=n)]
    truth = frame.copy()
    for name in ("kind", "noise", "a"):
        frame.loc[rng.random(n) < 0.25, name] = None
    return frame, truth


def test_probabilities_beat_the_shares_where_the_table_knows_and_equal_them_where_not(tmp_path):
    frame, truth = mixed()
    model = LatentImputer().fit(frame)
    for name, much in (("kind", 0.8), ("noise", 1.03)):
        at = frame[name].isna().to_numpy()
        values = model.categories_[name]
        codes = truth[name].map(values.index).to_numpy()[at]
        chances = model.predict_proba(frame, name)
        assert_allclose(chances.sum(axis=1), 1)
        assert set(np.unique(chances[~at])) == {0.0, 1.0}
        shares = frame[name].value_counts(normalize=True)[values].to_numpy()
        ours = -np.log(chances[at][np.arange(at.sum()), codes]).mean()
        assert ours < much * -np.log(shares[codes]).mean()
    save(model, tmp_path / "model")
    assert_allclose(load(tmp_path / "model").predict_proba(frame, "kind"), model.predict_proba(frame, "kind"))
    with pytest.raises(ValueError, match="'kind', 'noise'"):
        model.predict_proba(frame, "a")


def test_useless_probabilities_are_the_shares():
    rng = np.random.default_rng(0)
    places, codes = rng.standard_normal((200, 1)), (rng.random(200) < 0.8).astype(int)
    left = np.full(200, 0.1)
    found = Chances.of(np.r_[places, [[0.0]]], np.r_[left, 0.2], codes, 2)
    shares = (np.bincount(codes) + 0.5) / 201
    held = found.held_to(found.evidence(places, left), codes)
    assert_allclose(held(rng.standard_normal((5, 1)), left[:5]), np.tile(shares, (5, 1)))


def test_noise_is_seldom_taken_for_evidence():
    taken = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        codes = rng.permutation(60) % 2
        found = Chances.of(np.r_[rng.standard_normal((60, 1)), [[0.0]]], np.r_[np.full(60, 0.2), 0.4], codes, 2)
        evidence = found.evidence(rng.standard_normal((60, 1)), np.full(60, 0.2))
        taken += found.held_to(evidence, codes).weight < 1
    assert taken <= 5  # two standard errors are passed by chance once in forty


def test_a_category_between_two_others_is_told():
    rng = np.random.default_rng(0)
    size = rng.uniform(0, 3, 300)
    frame = pd.DataFrame({"a": size + 0.1 * rng.standard_normal(300), "b": size + 0.1 * rng.standard_normal(300)})
    truth = pd.Series(np.array(["small", "medium", "large"])[size.astype(int)])
    frame["kind"] = truth.mask(rng.random(300) < 0.2)
    at = frame["kind"].isna()
    model = LatentImputer().fit(frame)
    assert (model.transform(frame)["kind"] == truth)[at].mean() > 0.9
    chances = model.predict_proba(frame, "kind")[at & (truth == "medium")]
    assert chances[:, model.categories_["kind"].index("medium")].mean() > 0.7


def test_the_fewer_cells_a_row_shows_the_nearer_its_probabilities_are_to_the_shares():
    X, rng = latent_table(400, 6)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    truth = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.3, 0.7]))
    frame["kind"] = pd.Series(np.array(list("uvw"))[truth]).mask(np.arange(400) % 10 == 0)
    model = LatentImputer().fit(frame[:300])
    losses, shares = [], frame["kind"][:300].value_counts(normalize=True)[list("uvw")].to_numpy()
    for n_shown in (0, 1, 2, 4, 6):
        new = frame[300:].assign(kind=frame["kind"][:1].reindex(frame.index[300:]))
        for row in new.index:
            new.loc[row, list(rng.permutation(list("abcdef"))[n_shown:])] = np.nan
        chances = model.predict_proba(new, "kind")
        losses.append(-np.log(chances[np.arange(100), truth[300:]]).mean())
    plain = -np.log(shares[truth[300:]]).mean()
    assert losses[0] < 1.05 * plain
    assert losses[2] < losses[0]
    assert losses[-1] < 0.7 * plain


def test_a_category_of_many_levels_weighs_no_more_than_a_number():
    X, rng = latent_table(200, 6)
    frame = pd.DataFrame(holed(X, rng), columns=list("abcdef"))
    wide = frame.assign(label=np.array([f"v{k}" for k in range(37)])[rng.integers(37, size=len(X))])
    at = frame.isna().to_numpy()
    alone, beside = (LatentImputer().fit(f).transform(f)[list("abcdef")].to_numpy()[at] for f in (frame, wide))
    errors = [np.sqrt(np.square(found - X[at]).mean()) for found in (alone, beside)]
    assert errors[1] < 1.1 * errors[0]
    model = LatentImputer().fit(wide)
    features = model._coded(wide, False, True)
    totals = np.bincount(model._coding.owner, np.nanvar(features, axis=0))
    assert_allclose(totals, 1, rtol=1e-9)


@pytest.mark.parametrize("estimator", [None, PPCAMixture(2, 1, random_state=0)])
def test_draws_keep_what_was_seen_and_differ_where_it_was_not(estimator):
    frame, _ = mixed(120)
    tables = LatentImputer(estimator).fit(frame).draws(frame, 4, random_state=0)
    again = LatentImputer(estimator).fit(frame).draws(frame, 4, random_state=0)
    seen = frame.notna()
    for table, same in zip(tables, again):
        assert table.equals(same)
        assert not table.isna().any().any()
        assert table.dtypes.equals(frame.dtypes)
        assert table.where(seen).equals(frame.where(seen))
    for name in ("a", "kind", "noise"):
        assert any((tables[0][name] != other[name]).any() for other in tables[1:])


def test_the_mean_of_drawn_cells_carries_the_error_of_the_mean_that_they_were_drawn_about():
    rng = np.random.default_rng(0)
    table = rng.standard_normal((200, 3))
    table[:100, 0] = np.nan
    model = LatentImputer(PPCA(0)).fit(table)
    means = np.array(model.draws(table, 200, random_state=0))[:, :100, 0].mean(axis=1)
    deviation = np.nanstd(table[:, 0])
    # 100 independent draws about a mean that 100 cells tell
    assert_allclose(means.std(), deviation * np.sqrt(1 / 100 + 1 / 100), rtol=0.15)


def test_rows_that_were_not_fitted_are_drawn_too():
    X, rng = latent_table(40)
    table = holed(X, rng, 0.3)
    drawn = LatentImputer(PPCA(2)).fit(table).draws(table[:5], 3, random_state=0)
    assert len(drawn) == 3
    assert not np.isnan(drawn[0]).any()


def test_flags_are_those_of_the_columns_of_the_frame():
    X, _ = latent_table(200, 6, noise=0.3)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame.insert(1, "kind", np.array(list("uvwx"))[np.digitize(X[:, 0], [-1, 0, 1])])
    frame.insert(0, "name", [f"row number {i}" for i in range(200)])
    frame.loc[3, "c"], frame.loc[17, "f"] = 60.0, -45.0
    wild = [(3, "c"), (17, "f")]
    views = {"left": ["a", "kind", "b"], "right": list("cdef")}
    models = (
        PPCA(2, robust="cells"),
        PPCAMixture(1, 2, robust="cells"),
        LatentImputer(robust="cells"),
        LatentOutlierDetector(robust="cells"),
        MultiViewRKM(2, views=views, robust="cells", n_folds=None),
    )
    for model in models:
        flags = model.fit(frame).flags_
        assert flags.shape == frame.shape
        assert set(wild) <= {(int(i), frame.columns[j]) for i, j in np.argwhere(flags)}
        assert flags.sum() < 8
        assert model.row_weights_.shape == (200,)
    table = np.insert(X, 2, np.nan, axis=1)
    table[3, 0] = 60.0
    with pytest.warns(DataWarning, match="no observed value"):
        flags = LatentImputer(robust="cells").fit(table).flags_
    assert flags.shape == table.shape
    assert flags[3, 0]
    assert not flags[:, 2].any()


def test_pooled_intervals_are_wider_than_those_of_one_filled_table():
    sm = pytest.importorskip("statsmodels.api")
    X, rng = latent_table(80)
    table = holed(X, rng, 0.3)
    tables = LatentImputer().fit(table).draws(table, 10, random_state=0)
    pooled = pool([sm.OLS(t[:, 0], sm.add_constant(t[:, 1:])).fit() for t in tables])
    one = LatentImputer().fit_transform(table)
    single = sm.OLS(one[:, 0], sm.add_constant(one[:, 1:])).fit()
    assert (pooled.std > single.bse).all()
    assert ((pooled.fraction_missing > 0) & (pooled.fraction_missing < 1)).all()


def test_flags_of_a_frame_are_of_its_columns():
    rng = np.random.default_rng(0)
    z = rng.standard_normal((150, 2))
    frame = pd.DataFrame(z @ rng.standard_normal((2, 5)) + 0.2 * rng.standard_normal((150, 5)), columns=list("abcde"))
    frame.insert(2, "kind", np.where(z[:, 0] > 0.5, "high", np.where(z[:, 0] < -0.5, "low", "middle")))
    frame.loc[7, "c"] += 60
    frame.loc[3, "a"] = np.nan
    model = LatentImputer().fit(frame)
    assert model.flags_.shape == frame.shape
    assert [(int(i), frame.columns[j]) for i, j in np.argwhere(model.flags_)] == [(7, "c")]
