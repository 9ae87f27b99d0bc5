"""The policy says why, its page is what it says, and its rules do what they say."""

import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from benchmarks.mutations import MUTATIONS
from numpy.testing import assert_allclose

import gramian
from gramian import PPCA, LatentOutlierDetector
from gramian.evidence import selection
from gramian.evidence.selection import votes
from gramian.policy import DEFAULTS, JURY, LOOK, rows_of_page

pd = pytest.importorskip("pandas")
ROOT = Path(__file__).parents[1]


def test_every_number_has_a_unit_and_a_reason_and_the_page_shows_it():
    rows = rows_of_page()
    assert rows
    assert all(unit and why.endswith(".") for *_, unit, why, _ in rows)
    page = runpy.run_path(str(ROOT / "docs" / "make_policy.py"))["page"]()
    assert (ROOT / "docs" / "policy.md").read_text() == page, "run python docs/make_policy.py"


def test_a_number_set_by_a_script_names_one_that_is_there():
    scripts = {set_by for *_, set_by in rows_of_page() if set_by}
    assert all((ROOT / f"{script.replace('.', '/')}.py").exists() for script in scripts)


def test_the_fence_lets_gaussian_rows_vote_and_wild_ones_not():
    rng = np.random.default_rng(0)
    usual = 0.5 * rng.chisquare(10, 400)
    assert votes(usual, np.ones(400)).mean() > 0.99
    wild = np.concatenate([usual, np.full(80, 1e4)])  # one row in six
    assert votes(wild, np.ones(480))[:400].mean() > 0.99
    assert not votes(wild, np.ones(480))[400:].any()


@pytest.mark.parametrize(("fence", "kept"), [(0.1, False), (1e9, True)])
def test_the_fence_is_what_decides_who_votes(monkeypatch, fence, kept):
    monkeypatch.setattr(selection, "JURY", replace(JURY, fence=fence))
    losses = np.concatenate([np.linspace(0.0, 1.0, 20), [3.0]])
    assert votes(losses, np.ones(21))[-1] == kept


def test_of_fewer_rows_than_quartiles_need_all_vote():
    assert votes(np.array([0.0, 1.0, 1e6]), np.ones(3)).all()
    assert JURY.fewest_rows > 3


def test_one_row_that_moves_a_column_alone_does_not_make_the_others_infinitely_likely():
    X = np.random.default_rng(0).standard_normal((200, 3)) @ np.ones((3, 6))
    X += 1e-9 * np.random.default_rng(1).standard_normal(X.shape)
    model = LatentOutlierDetector(standardize=False).fit(X)
    assert model.estimator_.noise_variance_ >= 0.5 * DEFAULTS.noise_floor * X.var(axis=0).mean()


def test_choices_look_at_the_rows_of_smallest_hash_only(monkeypatch):
    import gramian.evidence.tables as tables

    X = np.random.default_rng(0).standard_normal((300, 400))
    whole = PPCA().fit(X)
    monkeypatch.setattr(tables, "LOOK", replace(LOOK, rows=60))
    part = PPCA().fit(X)
    assert part.evidence_.rows().shape[1] == 60 < whole.evidence_.rows().shape[1] == 300
    assert part.evidence_.losses.shape[1] == LOOK.folds


def test_beside_exact_structure_a_small_difference_is_no_outlier():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 6))
    model = LatentOutlierDetector(standardize=False).fit(X)
    near = X[:50] + 1e-4 * rng.standard_normal((50, 6))
    assert (model.predict(near) == 1).mean() > 0.9
    assert (model.predict(X[:50] + 3.0 * rng.standard_normal((50, 6))) == -1).mean() > 0.9


def test_outliers_that_were_fitted_do_not_hide_each_other():
    rng = np.random.default_rng(0)
    usual = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((300, 8))
    odd = usual[:30] + 4.0 * rng.standard_normal((30, 3)) @ rng.standard_normal(
        (3, 8)
    )  # fitted, they have axes of their own
    X = np.vstack([usual, odd])
    scores = LatentOutlierDetector(contamination=0.1).fit(X).score_samples(X)
    assert (scores[300:, None] < scores[None, :300]).mean() > 0.99


def imputed(frame):
    return gramian.LatentImputer().fit(frame).impute(frame)


# with these seeds the category helps a little on hidden cells, by luck
@pytest.mark.parametrize("seed, fill", [(2, gramian.fill), (3, imputed), (5, imputed)])
def test_a_category_that_tells_nothing_changes_no_number(seed, fill):
    rng = np.random.default_rng(seed)
    whole = rng.standard_normal((50, 1)) + rng.standard_normal((50, 4))
    frame = pd.DataFrame(np.where(rng.random(whole.shape) < 0.15, np.nan, whole), columns=list("abcd"))
    grouped = frame.assign(group=rng.choice(list("uvwxyz"), 50))
    assert_allclose(fill(grouped)[list("abcd")], fill(frame), rtol=0, atol=1e-13)  # up to the rounding of units


def test_a_category_that_tells_takes_part():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 80)
    whole = rng.standard_normal((80, 1)) + 0.5 * rng.standard_normal((80, 4)) + 6.0 * np.eye(4)[group]
    holes = rng.random(whole.shape) < 0.15
    frame = pd.DataFrame(np.where(holes, np.nan, whole), columns=list("abcd"))
    with_group = frame.assign(group=np.array(list("uvwx"))[group])
    errors = [
        np.square(gramian.fill(table)[list("abcd")].to_numpy() - whole)[holes].mean() for table in (frame, with_group)
    ]
    assert errors[1] < 0.2 * errors[0]


def test_every_number_tuned_on_data_has_its_sensitivity_on_the_page():
    page = (ROOT / "docs" / "choosing.md").read_text()
    tuned = [f"{record}.{name}" for record, name, *_, set_by in rows_of_page() if set_by.startswith("experiments.")]
    assert [name for name in tuned if f"| {name} |" not in page] == [], (
        "run python -m experiments.sensitivity NAME --write"
    )


def test_every_rule_that_is_broken_on_purpose_stands_in_the_source():
    source = ROOT / "src" / "gramian"
    assert [it.says for it in MUTATIONS if (source / it.file).read_text().count(it.before) != 1] == []
