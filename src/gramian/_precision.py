"""What counts as rounding: a handful of tolerances, all relative, that every room shares."""

from __future__ import annotations

import numpy as np

EPS = float(np.finfo(np.float64).eps)
TINY = float(np.finfo(np.float64).tiny)
ROUNDING = 1e-12
"""Below this share of the largest (or of the mean) a value is rounding: an eigenvalue, a noise, a direction, an asymmetry of our own."""
SEEN = 1e-10
"""Directions of an inverse below this share of the largest were not seen."""
HALF_DIGITS = 1e-8
"""Half of the digits: what users hand in (a symmetric or positive matrix) and what an iteration reaches is held to it."""
SINGLE = 2e-6
"""Relative residual that products in float32 reach with certainty."""
LEAST_NOISE = 1e-6
"""The least noise, as a share of the variance, where none at all would make the likelihood endless or rounding look wild."""
