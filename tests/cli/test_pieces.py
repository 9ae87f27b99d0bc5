"""What the command says of rows is summed up piece by piece: nothing of the length of a file stays in memory."""

import json
import weakref
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from gramian.cli._goodness import (
    CELLS,
    MOST_GROUPS,
    ClassTally,
    Digest,
    GroupTally,
    ValueTally,
    agreement,
    of_classes,
    of_values,
)
from gramian.cli._scores import ScoreTally
from gramian.io import table as io_table
from gramian.io.tables import TableWriter, read_table
from gramian.policy import FILES


def texts(values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def cuts(n, rng, pieces=7):
    return np.split(np.arange(n), np.sort(rng.integers(0, n, pieces - 1)))


def test_a_digest_answers_for_any_center_whatever_the_order():
    rng = np.random.default_rng(0)
    numbers = np.sort(np.concatenate([rng.standard_normal(40_000), 1e3 + rng.exponential(size=500)]))
    for given in (numbers, rng.permutation(numbers)):
        digest = Digest()
        for piece in np.array_split(given, 11):
            digest.add(piece)
        assert len(digest.counts) <= CELLS
        assert digest.counts.sum() == len(numbers)
        for center in (numbers.mean(), -0.3, 1e3):
            # the cell on both sides of a center is a share 1 / CELLS of the numbers; here one center lies in a wide gap
            assert digest.distance(center) == pytest.approx(np.abs(numbers - center).sum(), rel=1 / CELLS)
            assert digest.at_least(center) == pytest.approx(np.maximum(numbers, center).sum(), rel=1 / CELLS)


def test_values_in_pieces_are_compared_as_at_once():
    rng = np.random.default_rng(1)
    truth = 1e4 + rng.standard_normal(500)
    truth[::9] = np.nan
    mean = truth + 0.3 * rng.standard_normal(500)
    known = ~np.isnan(truth)
    tally = ValueTally(0.8)
    for part in cuts(500, rng):
        tally.add(truth[part], mean[part], mean[part] - 0.2, mean[part] + 0.2)
    whole = of_values(truth, mean, mean - 0.2, mean + 0.2, 0.8)
    assert tally.facts == pytest.approx(whole, rel=1e-9)
    centred = truth[known] - truth[known].mean()
    assert whole["R2"] == pytest.approx(1 - np.sum((truth - mean)[known] ** 2) / np.sum(centred**2), rel=1e-9)
    assert whole["mean error of the plain mean"] == pytest.approx(np.abs(centred).mean(), rel=1e-9)


def test_classes_in_pieces_are_compared_as_at_once():
    rng = np.random.default_rng(2)
    chances = rng.dirichlet(np.full(3, 0.05), size=600)  # many truths have next to no chance
    labels = np.array(["u", "v", "w"])
    truth = labels[rng.integers(0, 3, 600)]
    tally = ClassTally(labels, 0.9)
    for part in cuts(600, rng):
        tally.add(truth[part], chances[part])
    assert tally.facts == pytest.approx(of_classes(truth, labels, chances, 0.9), rel=1e-12)
    of_truth = chances[np.arange(600), np.searchsorted(labels, truth)]
    assert tally.facts["log-loss"] == pytest.approx(-np.log(np.maximum(of_truth, 1 / 6000)).mean(), rel=1e-12)


def test_agreement_is_the_adjusted_rand_index_and_many_values_are_no_groups():
    rng = np.random.default_rng(3)
    labels, values = rng.integers(0, 3, 300), rng.integers(0, 4, 300)
    tally = GroupTally()
    for part in cuts(300, rng):
        tally.add(labels[part], values[part])
    assert tally.agreement == pytest.approx(adjusted_rand_score(labels, values), rel=1e-12)
    assert agreement(labels, labels) == agreement(np.zeros(5), np.ones(5)) == 1.0
    assert agreement(np.zeros(MOST_GROUPS + 1), np.arange(MOST_GROUPS + 1.0)) is None


def test_scores_are_tallied_and_missing_ones_do_not_count():
    tally = ScoreTally(["log_likelihood", "flag"])
    tally.add([np.array([1.0, np.nan]), np.array([1.0, 0.0])])
    tally.add([np.array([2.0]), np.array([1.0])])
    assert (tally.flagged, tally.mean) == (2, 1.5)
    assert ScoreTally(["flag"]).mean is None


def test_a_parquet_file_takes_texts_after_a_piece_without_any(tmp_path):
    pytest.importorskip("pyarrow")
    with TableWriter(tmp_path / "t.parquet", ["n", "t"]) as out:
        out.write([np.array([1.0]), texts([None])])
        out.write([np.array([2.0]), texts(["because"])])
    assert read_table(tmp_path / "t.parquet")["t"].tolist() == [None, "because"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("command", "method", "options"),
    [
        ("transform", "transform", ()),
        ("score", "anomaly", ()),
        ("predict", "predict_proba", ("--model", "mixture", "--clusters", "2", "--components", "1")),
    ],
)
def test_pieces_are_written_and_let_go(gramian, table, tmp_path, monkeypatch, ending, command, method, options):
    if ending == "parquet":
        pytest.importorskip("pyarrow")
    gramian("fit", "full.csv", "-m", "m", "--no-check", *options)
    whole = gramian(command, "m", "full.csv", "-o", f"whole.{ending}", "--json")
    monkeypatch.setattr(io_table, "FILES", replace(FILES, batch=50))  # ten rows
    from gramian import PPCA, PPCAMixture

    model = PPCAMixture if options else PPCA
    original, alive, most = getattr(model, method), [], []

    def watched(self, X, *args, **kwargs):
        most.append(sum(ref() is not None for ref in alive))
        found = original(self, X, *args, **kwargs)
        alive.append(weakref.ref(found))
        return found

    monkeypatch.setattr(model, method, watched)
    pieces = gramian(command, "m", "full.csv", "-o", f"pieces.{ending}", "--json")
    assert len(most) == 8
    assert max(most) <= 1
    first, second = (read_table(tmp_path / f"{name}.{ending}") for name in ("whole", "pieces"))
    assert first.names == second.names
    for name in first.names:
        if first[name].dtype == object:
            assert first[name].tolist() == second[name].tolist()
        else:
            np.testing.assert_allclose(first[name], second[name], rtol=1e-9)
    before, after = json.loads(whole.out), json.loads(pieces.out)
    assert before["rows"] == after["rows"] == 80
    assert before.get("counts") == after.get("counts")
    assert before.get("flagged") == after.get("flagged")
    assert after.get("mean log-likelihood", 0.0) == pytest.approx(before.get("mean log-likelihood", 0.0), rel=1e-9)
