"""The transformer for data frames does what the command line does with files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from gramian import PPCA, LatentImputer, load, save
from gramian.io import Preprocessing, TablePreprocessor, read_table

pd = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    size = rng.normal(size=60)
    return pd.DataFrame(
        {
            "when": pd.date_range("2024-01-01", periods=60),
            "size": np.where(rng.random(60) < 0.1, np.nan, size),
            "mass": 2 * size + rng.normal(size=60),
            "kind": np.where(size > 0.5, "large", np.where(size < -0.5, "tiny thing", "other")),
            "level": pd.Categorical(
                np.array(["lo", "mid", "hi"])[rng.integers(3, size=60)], ["lo", "mid", "hi"], ordered=True
            ),
            "good": size > 0,
            "note": [f"row {i} was seen" for i in range(60)],
        }
    )


def test_file_and_notebook_agree_to_the_last_bit(frame, tmp_path):
    frame.drop(columns="level").to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    from_file = Preprocessing.fit([table])
    notebook = TablePreprocessor().fit(frame.drop(columns="level"))
    assert notebook.preprocessing_.features == from_file.features
    assert np.array_equal(notebook.transform(frame), from_file.matrix(table), equal_nan=True)
    assert notebook.carried_ == from_file.ids == ["when", "note"]


def test_none_is_a_word_among_words_in_a_notebook_as_in_a_file(tmp_path):
    frame = pd.DataFrame({"pain": ["none", "mild", "severe", "none"] * 5, "dose": [1.0, 2.5, 3.0, 4.0] * 5})
    frame.to_csv(tmp_path / "t.csv", index=False)
    made = TablePreprocessor().fit(frame).preprocessing_
    assert (
        made.categories
        == Preprocessing.fit([read_table(tmp_path / "t.csv")]).categories
        == [["none", "mild", "severe"], []]
    )
    numbers = TablePreprocessor().fit({"a": [1.0, "None", 3.0, 4.0], "b": [1.0, 2.0, 0.0, 5.0]})
    assert numbers.preprocessing_.categories == [[], []]


@pytest.mark.parametrize("container", ["pandas", "polars", "dict", "array"])
def test_every_container_gives_the_same_features(frame, container):
    plain = frame[["size", "mass", "kind", "good"]]
    expected = TablePreprocessor().fit_transform(plain)
    if container == "polars":
        other = pytest.importorskip("polars").DataFrame({name: plain[name].tolist() for name in plain}, strict=False)
    else:
        other = {"pandas": plain, "dict": dict(plain.items()), "array": plain.to_numpy(dtype=object)}[container]
    assert_allclose(TablePreprocessor().fit_transform(other), expected)


def test_ordered_categories_are_ranks_and_come_back(frame):
    prepare = TablePreprocessor().fit(frame)
    assert prepare.categories_["level"] == ["lo", "mid", "hi"]
    assert "level" in prepare.get_feature_names_out()
    back = prepare.inverse_transform(np.nan_to_num(prepare.transform(frame)), like=frame)
    assert (back["level"] == frame["level"].astype(str)).all()
    assert (back["kind"] == frame["kind"]).all()
    assert_allclose(back["mass"], frame["mass"])


def test_relabelled_categories_give_the_same_answers(frame):
    """Contrasts are symmetric: which category is called what must not matter."""
    renamed = frame.assign(
        kind=frame["kind"].map({"large": "a", "other": "b", "tiny thing": "c"}).map({"a": "z", "b": "x", "c": "y"})
    )
    answers = []
    for each in (frame, renamed):
        prepare = TablePreprocessor(drop=["level"]).fit(each)
        X = prepare.transform(each)
        full, std = PPCA(2).fit(X).impute(X, return_std=True)
        answers.append((prepare.inverse_transform(full)["size"], prepare.spread(std)["size"]))
    assert_allclose(answers[0], answers[1], rtol=1e-6)


def test_no_column_is_a_function_of_the_others():
    rng = np.random.default_rng(0)
    table = {"a": rng.normal(size=200), "k": rng.choice(list("abcd"), 200), "m": rng.choice(list("uvw"), 200)}
    X = TablePreprocessor().fit_transform(table)
    assert np.linalg.matrix_rank(X) == X.shape[1] == 1 + 3 + 2
    features = np.array([1, 3, 3, 3, 2, 2])  # of the column that each feature belongs to
    assert np.linalg.eigvalsh(np.cov((np.sqrt(features) * X).T))[0] > 0.5
    variances = X.var(axis=0)
    assert_allclose([variances[0], variances[1:4].sum(), variances[4:].sum()], 1.0)  # one unit of variance per column


def test_unknown_categories_are_missing_or_an_error(frame):
    prepare = TablePreprocessor(drop=["level"]).fit(frame)
    strange = frame.assign(kind="never seen")
    assert np.isnan(prepare.transform(strange)[:, 2:4]).all()
    with pytest.raises(ValueError, match="'never seen' was not seen"):
        prepare.set_params(unknown="error").transform(strange)
    with pytest.raises(ValueError, match="unknown='x' must be one of"):
        TablePreprocessor(unknown="x").fit(frame)
    with pytest.raises(ValueError, match="'nope'"):
        TablePreprocessor(drop=["nope"]).fit(frame)


def test_it_stands_before_any_model_in_a_pipeline_and_is_saved(frame, tmp_path):
    pipe = make_pipeline(TablePreprocessor(), LatentImputer(), PPCA(2)).fit(frame)
    assert np.isfinite(pipe.transform(frame)).all()
    assert clone(pipe[0]).get_params() == pipe[0].get_params()
    save(pipe[0], tmp_path / "p")
    assert np.array_equal(load(tmp_path / "p").transform(frame), pipe[0].transform(frame), equal_nan=True)
    named = TablePreprocessor().set_output(transform="pandas").fit_transform(frame)
    assert list(named.columns) == pipe[0].get_feature_names_out().tolist()


def test_probabilities_of_imputed_categories_are_proper(frame):
    holes = frame.copy()
    holes.loc[::5, "kind"] = None
    prepare = TablePreprocessor().fit(holes)
    full = LatentImputer().fit_transform(prepare.transform(holes))
    chances = prepare.probabilities(full)["kind"]
    assert_allclose(chances.sum(axis=1), 1)
    values = prepare.categories_["kind"]
    assert prepare.inverse_transform(full)["kind"].tolist() == [values[k] for k in chances.argmax(axis=1)]
