"""suggest: the right kind of model for data whose kind is known."""

import numpy as np
import pytest
from sklearn.datasets import make_swiss_roll

from gramian import PPCA, KernelPPCA, suggest
from gramian._content import row_hashes, smallest_positions
from gramian.evidence.held_out import HeldOut
from gramian.tuning.objectives import denoising


@pytest.fixture(scope="module")
def linear():
    rng = np.random.default_rng(0)
    return rng.standard_normal((200, 3)) @ rng.standard_normal((3, 10)) + 0.2 * rng.standard_normal((200, 10))


def test_linear_data_get_a_linear_model_with_its_dimension(linear):
    proposal = suggest(linear)
    assert (proposal.kernel, proposal.length_scale, proposal.n_components) == ("linear", None, 3)
    assert isinstance(proposal.estimator, PPCA)


def test_a_curved_sheet_gets_a_kernel_narrower_than_the_sheet():
    X, _ = make_swiss_roll(300, random_state=0)
    proposal = suggest(X)
    assert proposal.kernel == "rbf"
    assert isinstance(proposal.estimator, KernelPPCA)
    assert 1.0 < proposal.width == proposal.length_scale < 15.0
    proposal.estimator.fit(X)


def test_missing_cells_get_the_model_that_takes_them(linear):
    holes = np.where(np.random.default_rng(1).random(linear.shape) < 0.1, np.nan, linear)
    proposal = suggest(holes)
    assert isinstance(proposal.estimator, PPCA)
    assert proposal.n_components == 3
    assert "missing" in " ".join(proposal.reasons)


def test_noise_is_said_to_be_noise():
    proposal = suggest(np.random.default_rng(0).standard_normal((150, 5)))
    assert proposal.kernel == "linear"
    assert "hardly any structure" in " ".join(proposal.reasons)


def test_of_many_rows_some_are_drawn_by_what_they_hold(linear):
    tall = np.tile(linear, (4, 1)) + 0.01 * np.random.default_rng(0).standard_normal((800, 10))
    proposal = suggest(tall)
    assert "500 of 800 rows" in proposal.reasons[0]
    assert repr(suggest(tall[::-1])) == repr(proposal)


def test_the_linear_candidate_is_ppca(linear):
    """Its losses are those of PPCA fitted without each fold, asked for held-out rows to which noise was added."""
    rows = linear[smallest_positions(row_hashes(linear), len(linear))]
    selection = suggest(linear).selection
    number = next(n for n, candidate in enumerate(selection.candidates) if candidate["kernel"] == "linear")
    q = selection.candidates[number]["n_components"]
    wanted = [-denoising(PPCA(q).fit(rows[part.kept]), rows[part.held]) for part in HeldOut.of(rows)]
    np.testing.assert_allclose(selection.evidence.losses[number], wanted, rtol=1e-6)


def test_the_text_shows_the_model_and_its_reasons(linear):
    text = repr(suggest(linear))
    assert text.startswith("Proposal(kernel='linear', n_components=3)")
    assert "PPCA(n_components=3)" in text
    assert text.count("\n  - ") >= 3


def test_one_dominating_column_is_pointed_out(linear):
    assert "scaling" in " ".join(suggest(linear * np.r_[1e4, np.ones(9)]).reasons)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones((30, 3)), "equal"),
        (np.full((30, 3), np.nan), "without a single value"),
        (np.ones((3, 3)), "minimum of 6"),
        (np.array([["a", "b"]] * 10), "convert string"),
        (np.r_[np.full((1, 3), np.inf), np.eye(10, 3)], "infinity"),
    ],
)
def test_what_cannot_be_modelled_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        suggest(X)
