"""Rules for q that need no held-out rows."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.decomposition._pca import _assess_dimension

from gramian._checks import check_n_components
from gramian.latent.dimension import above_noise, by_bic, by_evidence, for_fraction, free_parameters, minka_evidence

VALUES = np.array([5.0, 3.0, 1.0, 0.5, 0.5])


@pytest.mark.parametrize("fraction, q", [(0.4, 1), (0.5, 1), (0.75, 2), (0.8, 2), (0.95, 4), (0.96, 5)])
def test_the_smallest_q_that_explains_the_fraction_is_taken(fraction, q):
    assert for_fraction(VALUES, 10.0, fraction) == q


def test_a_fraction_that_these_eigenvalues_do_not_reach_is_not_answered():
    assert for_fraction(VALUES[:2], 10.0, 0.9) is None


def test_directions_above_a_noise_are_counted():
    assert above_noise(VALUES, 0.7) == 3
    assert above_noise(VALUES[:3], 0.7) is None  # more may follow


def test_free_parameters_are_those_of_the_theory_page():
    assert free_parameters(6, 2) == 6 * 2 - 1 + 1 + 6
    assert free_parameters(6, 2, noise=False, mean=False) == 11
    assert free_parameters(6, 6) == free_parameters(6, 5)


def test_evidence_chooses_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((80, 3)) @ rng.standard_normal((3, 9))
        X += 0.5 * np.random.default_rng(seed + 50).standard_normal((80, 9))
        values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
        assert by_evidence(values, 9, 80.0) == PCA("mle", svd_solver="full").fit(X).n_components_


def test_bic_finds_structure_and_nothing_in_noise():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 7)) * 2 + 0.3 * rng.standard_normal((500, 7))
    values = np.linalg.eigvalsh(np.cov(X.T, bias=True))[::-1]
    assert by_bic(values, values.sum(), 7, 500.0) == 2
    noise = np.linalg.eigvalsh(np.cov(rng.standard_normal((7, 500)), bias=True))[::-1]
    assert by_bic(noise, noise.sum(), 7, 500.0) == 0


@pytest.mark.parametrize("bad", [True, -1, 1.0, 0.0, "all", [2]])
def test_what_is_no_count_fraction_or_rule_is_refused(bad):
    with pytest.raises(ValueError, match="n_components"):
        check_n_components(bad)


def test_the_evidence_is_that_of_scikit_learn_up_to_what_the_rows_alone_say():
    n, d = 40, 6
    X = np.random.default_rng(0).standard_normal((n, d)) * np.sqrt([6.0, 4.0, 2.0, 0.5, 0.4, 0.3])
    variances = PCA().fit(X).explained_variance_
    differences = [minka_evidence(variances, q, d, n) - _assess_dimension(variances, q, n) for q in range(1, d)]
    assert differences == pytest.approx([differences[0]] * (d - 1), abs=1e-9)
