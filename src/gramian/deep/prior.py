"""The prior over latents that `DeepRKM.sample` draws from: a mixture, since N(0, I) has room where there are no rows [6, 11]."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._content import smallest_positions
from gramian.estimators.ppca_mixture import PPCAMixture
from gramian.exceptions import NumericalWarning

PRIOR_CLUSTERS, PRIOR_COMPONENTS, PRIOR_ROWS = 32, 6, 5000
"""The mixture over latents that `sample` draws from: clusters, components of each, rows that it is fitted to."""
PRIOR_TOL = 1e-4
ROWS_PER_CLUSTER = 40
"""A cluster of that mixture has at least this many rows on average."""


def fitted_prior(latents: Array, hashes: Array) -> PPCAMixture:
    """The mixture over the latents of training rows, of unit variance each; rows are drawn by their hashes."""
    Z = latents * np.sqrt(len(latents))
    if len(Z) == len(hashes):
        Z = Z[smallest_positions(hashes, PRIOR_ROWS)]
    Z = Z[:PRIOR_ROWS]
    n, q = Z.shape
    clusters = max(1, min(PRIOR_CLUSTERS, n // ROWS_PER_CLUSTER))
    prior = PPCAMixture(clusters, n_components=max(0, min(PRIOR_COMPONENTS, q - 1)), tol=PRIOR_TOL, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where it stands after 200 steps is a prior too
        warnings.simplefilter("ignore", NumericalWarning)
        return prior.fit(np.asarray(Z, dtype=np.float64))
