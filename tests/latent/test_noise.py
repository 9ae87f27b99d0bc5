"""The noise variance: maximum likelihood or given, and one rule for zero."""

import numpy as np
import pytest

from gramian import NumericalWarning
from gramian.latent.noise import maximum_likelihood, resolve_noise, zeroed
from gramian.solvers.spectrum import Spectrum

SPECTRUM = Spectrum(np.array([4.0, 2.0]), np.eye(5)[:, :2], 9.0)


def test_the_trace_alone_gives_the_noise():
    assert maximum_likelihood(SPECTRUM, 5) == pytest.approx(3.0 / 3)
    assert maximum_likelihood(SPECTRUM, 2) == 0.0


def test_a_given_noise_is_taken_at_its_word_up_to_the_last_eigenvalue():
    assert resolve_noise(1.5, SPECTRUM, 5) == 1.5
    with pytest.raises(ValueError, match=r"3 exceeds .* 2"):
        resolve_noise(3.0, SPECTRUM, 5)


def test_noise_below_a_trillionth_of_the_mean_variance_is_zero():
    assert zeroed(2e-12, 1.0, told=True) == 2e-12
    with pytest.warns(NumericalWarning, match=r"exactly 0\.0"):
        assert zeroed(0.5e-12, 1.0, told=True) == 0.0
    assert zeroed(0.5e-12, 1.0, told=False) == 0.0
