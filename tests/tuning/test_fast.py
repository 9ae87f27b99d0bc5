"""Fast paths give the scores of refitting."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

from gramian import BayesSearch, KernelPPCA
from gramian.kernels import RBF
from gramian.tuning.evaluation import Evaluation
from gramian.tuning.fast import counts_of, parsimonious
from gramian.tuning.space import build_space

SPACES = {
    "rbf": {"kernel__length_scale": ("log", 0.5, 20.0), "n_components": (1, 30)},
    "matern": {"kernel__length_scale": ("log", 0.5, 20.0), "n_components": [2, 5, 20]},
    "laplacian": {"kernel__length_scale": ("log", 5.0, 200.0), "n_components": (1, 10)},
    "polynomial": {"kernel__degree": (1, 4), "n_components": (1, 25)},
    "width only": {"kernel__length_scale": ("log", 0.5, 20.0)},
    "kernels": {"kernel": ["rbf", "linear"], "kernel__length_scale": ("log", 0.5, 20.0), "n_components": (1, 30)},
}


def refitted(search, X, y=None):
    """Mean scores of the same trials by fitting every one on every fold."""
    plan = search._plan(X, y, {})
    naive = Evaluation(plan.estimator, plan.objective, X, y, plan.folds, {}, None)
    return [np.mean(naive(params).scores) for params in search.trials_["params"]]


@pytest.mark.parametrize("scoring", ["reconstruction", "kernel_error", "denoising"])
@pytest.mark.parametrize("case", SPACES)
def test_shared_decompositions_give_the_scores_of_refitting(case, scoring):
    X = load_digits().data[:90] / 16.0
    kernel = case if case in ("rbf", "matern", "laplacian", "polynomial") else "rbf"
    search = BayesSearch(
        KernelPPCA(None, kernel=kernel, preimage="smoother"),
        SPACES[case],
        scoring=scoring,
        cv=2,
        n_trials=4,
        random_state=0,
    ).fit(X)
    assert search._plan(X, None, {}).fast is not None
    np.testing.assert_allclose(search.trials_["score"], refitted(search, X), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        KernelPPCA(center=False, preimage="smoother"),
        KernelPPCA(noise_variance=1e-3, preimage="smoother"),
        KernelPPCA(noise_dim=64, preimage="smoother"),
        KernelPPCA(preimage="ridge"),
        KernelPPCA(preimage="mds"),
    ],
    ids=repr,
)
def test_the_models_own_options_are_kept(model):
    X = load_digits().data[:80] / 16.0
    space = {"kernel__length_scale": ("log", 2.0, 20.0), "n_components": [2, 6]}
    search = BayesSearch(model, space, cv=2, n_trials=3, random_state=0).fit(X)
    assert search._plan(X, None, {}).fast is not None
    np.testing.assert_allclose(search.trials_["score"], refitted(search, X), rtol=1e-7)


def test_q_is_settled_by_the_trial_and_is_the_smallest_as_good_as_the_best_of_its_width():
    X = load_digits().data[:90] / 16.0
    space = {"kernel__length_scale": ("log", 0.5, 20.0), "n_components": (1, 12)}
    search = BayesSearch(KernelPPCA(), space, scoring="kernel_error", cv=3, n_trials=3, random_state=0).fit(X)
    plan = search._plan(X, None, {})
    naive = Evaluation(plan.estimator, plan.objective, X, None, plan.folds, {}, None)
    for params, score in zip(search.trials_["params"], search.trials_["score"]):
        every = {q: np.array(naive({**params, "n_components": q}).scores) for q in range(1, 13)}
        top = max(every, key=lambda q: every[q].mean())
        behind = {q: every[top] - every[q] for q in every}
        as_good = [q for q in every if behind[q].mean() <= behind[q].std(ddof=1) / np.sqrt(3) + 1e-12]
        assert params["n_components"] == min(as_good)
        assert score == pytest.approx(every[min(as_good)].mean())


def test_a_smaller_model_is_kept_only_while_the_difference_drowns_in_the_folds():
    rising = {1: [0.1, 0.2, 0.3], 2: [0.2, 0.3, 0.4], 3: [0.201, 0.299, 0.402]}
    assert parsimonious(rising) == 2
    assert parsimonious({1: [0.0, 1.0], 5: [0.1, 1.1]}) == 5
    assert parsimonious({4: [1.0]}) == 4


def test_more_components_than_a_fold_allows_are_left_out():
    X = load_iris().data[:20]
    search = BayesSearch(
        KernelPPCA(), {"kernel__length_scale": ("log", 0.5, 5.0), "n_components": (1, 200)}, cv=2, n_trials=3
    ).fit(X)
    assert all(params["n_components"] <= 9 for params in search.trials_["params"])


@pytest.mark.parametrize(
    ("model", "space"),
    [
        (KernelPPCA(preimage="smoother", approximation="nystroem", n_landmarks=20), {"n_components": (1, 5)}),
        (KernelPPCA(preimage="smoother", solver="krylov"), {"n_components": (1, 5)}),
        (KernelPPCA(preimage="smoother"), {"n_components": (1, 5), "noise_variance": [0.0, "ml"]}),
        (KernelPPCA(preimage="smoother"), {"n_components": [0.5, 0.9]}),
    ],
)
def test_what_a_fast_path_does_not_cover_is_refitted(model, space):
    X = load_iris().data
    search = BayesSearch(model, space, cv=2, n_trials=3, random_state=0).fit(X)
    assert search._plan(X, None, {}).fast is None
    assert np.isfinite(search.best_score_)


def test_weights_are_not_lost_to_a_fast_path():
    X = load_iris().data
    weights = np.r_[np.ones(75), np.full(75, 1e-6)]
    space = {"kernel__length_scale": ("log", 0.5, 5.0)}
    model = KernelPPCA(2, preimage="smoother")
    search = BayesSearch(model, space, cv=2, n_trials=2, random_state=0).fit(X, sample_weight=weights)
    expected = KernelPPCA(2, kernel=RBF(search.best_params_["kernel__length_scale"])).fit(X, sample_weight=weights)
    np.testing.assert_allclose(search.best_estimator_.explained_variance_, expected.explained_variance_)


@pytest.mark.parametrize("peak", [1, 2, 17, 40, 99, 100])
def test_the_ladder_of_a_range_comes_near_to_every_count_without_looking_at_all(peak):
    looked = counts_of(build_space({"n_components": (1, 100)}, KernelPPCA()))
    assert min(abs(np.log(q / peak)) for q in looked) < 0.12
    assert len(looked) < 25


def test_all_counts_of_a_list_are_tried():
    listed = [9, 11, 13, 14, 16, 18, 21, 23, 26, 29, 31, 33, 34, 38, 41, 42, 45, 50]
    assert counts_of(build_space({"n_components": listed}, KernelPPCA())) == listed
    assert counts_of(build_space({"kernel__length_scale": ("log", 0.5, 2.0)}, KernelPPCA(kernel=RBF(1.0)))) is None


def test_impossible_counts_are_passed_over():
    X = load_iris().data[:30]
    space = {"kernel__length_scale": ("log", 0.5, 5.0), "n_components": (1, 100)}
    search = BayesSearch(KernelPPCA(), space, cv=3, n_trials=2, random_state=0).fit(X)
    assert search.best_params_["n_components"] < 20
    space["n_components"] = (50, 100)
    with pytest.raises(ValueError, match="n_components"):
        BayesSearch(KernelPPCA(), space, cv=3, n_trials=2, random_state=0).fit(X)
