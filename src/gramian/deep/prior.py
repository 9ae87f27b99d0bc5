"""The prior over latents that `DeepRKM.sample` draws from: a mixture, since N(0, I) has room where there are no rows [6, 11]."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from gramian._arrays import Array
from gramian._content import smallest_positions
from gramian.estimators.ppca_mixture import PPCAMixture
from gramian.exceptions import NumericalWarning


def fitted_prior(
    latents: Array,
    hashes: Array,
    *,
    max_rows: int = 5000,
    max_clusters: int = 32,
    cluster_rows: int = 40,
    max_components: int = 6,
) -> PPCAMixture:
    """The mixture over the latents of training rows, of unit variance each; rows are drawn by their hashes.

    A cluster has at least ``cluster_rows`` rows on average.
    """
    Z = latents * np.sqrt(len(latents))
    if len(Z) == len(hashes):
        Z = Z[smallest_positions(hashes, max_rows)]
    Z = Z[:max_rows]
    n, q = Z.shape
    clusters = max(1, min(max_clusters, n // cluster_rows))
    prior = PPCAMixture(clusters, n_components=max(0, min(max_components, q - 1)), tol=1e-4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where it stands after 200 steps is a prior too
        warnings.simplefilter("ignore", NumericalWarning)
        return prior.fit(np.asarray(Z, dtype=np.float64))
