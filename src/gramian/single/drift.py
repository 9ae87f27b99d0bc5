"""Drift of rows that come in order, for models that say how anomalous a row is [21]."""

from __future__ import annotations

from typing import Any

from gramian._checks import check_number
from gramian._types import Table
from gramian.latent.drift import Drift


class DriftMixin:
    """For estimators with ``anomaly``."""

    anomaly: Any

    def drift(self, X: Table, *, smoothing: float = 0.1, shift: float = 1.0, run_length: float = 1000.0) -> Drift:
        """Whether rows, in their order, drift away from the model: moving averages (EWMA) and sums (CUSUM) of T² and SPE [21].

        Fit on rows of an ordinary time, and give later ones here. A shift too small for the limits of single rows adds up over many.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows in the order in which they came.
        smoothing : float in (0, 1], default=0.1
            λ: the weight of the latest row in the moving averages.
        shift : float > 0, default=1.0
            The shift that sums find soonest, in standard deviations of the normal scores of T² and SPE.
        run_length : float > 2, default=1000
            The mean number of rows until a false alarm, of each of the four charts. It sets the limits.

        Returns
        -------
        Drift with ``.ewma_t2``, ``.ewma_spe``, ``.cusum_t2``, ``.cusum_spe``, ``.limit_ewma``, ``.limit_cusum``, ``.alarms``, ``.first``;
        ``plotting.drift`` draws it

        Examples
        --------
        >>> import numpy as np
        >>> from gramian import PPCA
        >>> from gramian.datasets import make_low_rank
        >>> X = make_low_rank(700, 8, rank=2, noise=0.5, random_state=0)
        >>> model = PPCA(n_components=2).fit(X[:500])
        >>> later = X[500:].copy()
        >>> later[100:, 3] += 0.7
        >>> found = model.drift(later)
        >>> found.first is not None and 100 <= found.first < 130
        True
        """
        check_number("smoothing", smoothing, 0.0, 1.0, open_low=True)
        check_number("shift", shift, 0.0, open_low=True)
        check_number("run_length", run_length, 2.0, open_low=True)
        found = self.anomaly(X)
        return Drift.of(found.p_t2, found.p_spe, smoothing, shift, run_length)
