"""Claims that take longer, in parts: tuned kernels on images, the choices behind ZH's table, trained maps."""

import numpy as np
import pytest

from gramian.papers import PAPERS, ac_trained, mm_kernels, zh_table
from gramian.papers._claim import NOT_RUN
from gramian.papers.ac_stiefel import gaps, views
from gramian.solvers.spectrum import Spectrum


def test_a_width_per_pixel_loses_to_one_width_and_one_width_is_no_better_than_clipped_pca():
    X, q, _ = mm_kernels.images(full=False)
    train, test = X[:100], X[100:400]
    found = mm_kernels.rebuilt(train, test, q, 8, seed=0)
    error = {name: np.mean((answer - test) ** 2) for name, answer in found.items()}
    pca, clipped, one, many = (error[name] for name in mm_kernels.METHODS)
    assert clipped < one < 1.1 * pca
    assert many > one


def test_medians_of_pairs_need_not_be_a_good_pair_and_the_joint_choice_is():
    widths = [1.0, 2.0, 3.0]
    found = np.zeros((5, 3, len(zh_table.COUNTS), 1 + len(zh_table.NOISES)))
    # two good pairs, narrow with many and wide with few components; each split prefers one of them by a little
    few, many = 1, 10
    found[:, 0, many, 0] = [0.90, 0.90, 0.90, 0.70, 0.70]
    found[:, 2, few, 0] = [0.89, 0.89, 0.89, 0.90, 0.90]
    found[:, 1, 5, 3] = 0.95
    medians, joint, finite = zh_table.choices(found, widths)
    assert (medians.width, medians.count) == (1.0, zh_table.COUNTS[many])
    assert (joint.width, joint.count, joint.noise) == (3.0, zh_table.COUNTS[few], None)
    assert (finite.width, finite.count, finite.noise) == (2.0, zh_table.COUNTS[5], zh_table.NOISES[2])


@pytest.mark.filterwarnings("ignore")
def test_the_errors_of_a_small_set_are_those_printed(data_file):
    data_file("ida_thyroid.npz")
    settings, errors = zh_table.run_set(zh_table.ida_split("thyroid"), 4)
    assert errors.shape == (3, 4)
    assert errors.mean(axis=1).max() < 4.0 + 2.0
    assert settings[1].noise is None
    assert settings[2].noise in zh_table.NOISES


def test_every_rule_of_the_fast_path_scores_as_the_classifier_does(rng):
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 2.0])
    y = np.repeat([0, 1], 20)
    found = zh_table.accuracies(X, y, np.arange(40)[None], [1.5])
    from sklearn.model_selection import StratifiedKFold

    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    setting = zh_table.Setting(1.5, 3)
    errors = [setting.error(X, y, train, test) for train, test in folds]
    assert found[0, 0, zh_table.COUNTS.index(3), 0] == pytest.approx(1 - np.mean(errors) / 100)


def test_the_papers_own_table_tops_three_and_equals_one():
    assert zh_table.tops({name: error for name, (error, _) in zh_table.PRINTED.items()}) == (3, 1)


def test_trained_maps_are_not_run_without_torch(monkeypatch):
    monkeypatch.setattr(ac_trained, "find_spec", lambda name: None)
    result = PAPERS["ac-trained-maps"].reproduce()
    assert result.verdict == f"{NOT_RUN}torch"
    assert "gramian[deep]" in result.words
    assert not PAPERS["ac-trained-maps"].as_expected(result)


def test_the_coupled_gap_is_never_negative_and_zero_at_the_solution(rng):
    parts = views(0.2)
    K = sum(view @ view.T for view in parts)
    values, vectors = np.linalg.eigh(K)
    solution = Spectrum(values[-3:], vectors[:, -3:], float(np.trace(K)), gamma=np.diag(values[-3:]))
    assert gaps(parts, solution)[0] == pytest.approx(0.0, abs=1e-12)
    H = np.linalg.qr(rng.normal(size=(len(K), 3)))[0]
    anywhere = gaps(parts, Spectrum(values[-3:], H, float(np.trace(K)), gamma=H.T @ K @ H))
    assert anywhere[0] > 1e-3
    assert anywhere[1] > 0
