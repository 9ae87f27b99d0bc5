"""What rows that a kernel model has not seen say of it: control limits, and errors of pre-images [10].

Everything here is computed on first need from rows drawn by content, so that it is the same whenever it is asked for, and after a
model has been saved and loaded. Each fold is held out once from a model of the same kernel, q and approximation.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import cell_uniforms, row_hashes, smallest_positions
from gramian._quantiles import weighted_quantile
from gramian.evidence.held_out import HeldOut
from gramian.evidence.limits import COVERING, Tally
from gramian.policy import DEFAULTS, LOOK, WAY_BACK


@dataclass(frozen=True)
class HeldOutRows:
    """Rows, or a Gram matrix with perhaps the rows behind it, that folds are cut from."""

    rows: Any  # (n, d), or None
    weights: Array
    gram: Array | None = None

    def smallest(self, most: int) -> HeldOutRows:
        """The at most so many distinct rows of smallest hash, weights of copies added up."""
        hashes = self.hashes()
        first = smallest_positions(hashes, most)
        _, inverse = np.unique(hashes, return_inverse=True)
        totals = np.bincount(inverse, self.weights)[: len(first)]
        gram = None if self.gram is None else self.gram[np.ix_(first, first)]
        return HeldOutRows(None if self.rows is None else self.rows[first], totals, gram)

    def n_distinct(self) -> int:
        """How many distinct rows there are."""
        return len(np.unique(self.hashes()))

    def hashes(self) -> Array:
        """Of the rows, or of the sorted kernel values where there are no rows: neither knows their order."""
        return row_hashes(np.sort(self.gram, axis=1) if self.rows is None and self.gram is not None else self.rows)

    def noisy_rows(self) -> list[Array]:
        """The rows with each of the policy's noises added: a noise that follows from what a row holds."""
        rows = np.asarray(self.rows, dtype=np.float64)
        unit = float(np.abs(rows).max(initial=0.0)) or 1.0  # squares of very large rows are no numbers
        spread = unit * float(np.sqrt((rows / unit).var(axis=0).mean())) or 1.0
        drawn = spread * ndtri(np.clip(cell_uniforms(self.hashes(), rows.shape[1], 0), 1e-12, 1 - 1e-12))
        return [rows + noise * drawn for noise in WAY_BACK.noises]

    def fits(self, model: Any) -> Iterator[tuple[Any, Array]]:
        """For each fold a model of the other rows, and which rows it has not seen; not where these are too few for a component."""
        for part in HeldOut.of(self.rows, hashes=self.hashes()):
            q = max(0, min(model.n_components_, len(part.kept) - 1 - int(model.center)))
            if q > 0 or model.n_components_ == 0:
                yield self._fit(model, part.kept, q), part.held

    def _fit(self, model: Any, kept: Array, q: int) -> Any:
        noise = 0.0 if model.noise_variance_ == 0 else "ml"
        part = clone(model).set_params(
            kernel=model.kernel_, n_components=q, noise_variance=noise, preimage="smoother", verbose=0, random_state=0
        )
        if part.n_landmarks is not None:
            part.set_params(n_landmarks=min(part.n_landmarks, len(kept)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a part of the rows may miss what the whole has: rank, structure
            if self.gram is None:
                return part.fit(self.rows[kept], sample_weight=self.weights[kept])
            inputs = None if self.rows is None else self.rows[kept]
            self_gram = self.gram[np.ix_(kept, kept)]
            part.fit(self_gram, sample_weight=self.weights[kept], inputs=inputs)
        part._held_columns = kept
        return part

    def seen_by(self, part: Any, out: Array) -> Any:
        """The projections of the held-out rows."""
        if self.gram is None:
            return part._project(self.rows[out])
        return part._project(self.gram[np.ix_(out, part._held_columns)], diagonal=self.gram[out, out])


@dataclass(frozen=True)
class HeldOutLimits:
    """T² and SPE of rows that their model has not seen, and the median SPE of these rows as they are and with noise added."""

    t2: Tally
    spe: Tally
    noisy: Array  # (1 + noises,), rising; (1,) where there are no rows to add noise to

    @classmethod
    def of(cls, model: Any, source: HeldOutRows) -> HeldOutLimits:
        source = source.smallest(LOOK.rows)
        t2, spe, weights = [np.empty(0)], [np.empty(0)], [np.empty(0)]
        shown = source.gram is None and not sparse.issparse(source.rows)
        noisy = source.noisy_rows() if shown else []
        farther: list[list[Array]] = [[np.empty(0)] for _ in noisy]
        for part, out in source.fits(model):
            seen = source.seen_by(part, out)
            t2.append(part._gaussian.t_squared(seen))
            spe.append(part._gaussian.residual(seen))
            weights.append(source.weights[out])
            for found, rows in zip(farther, noisy):
                found.append(part._gaussian.residual(part._project(rows[out])))
        total = np.concatenate(weights)
        values = [np.concatenate(found) for found in (spe, *farther)]
        medians = [weighted_quantile(found, total, 0.5) if len(found) else 0.0 for found in values]
        return cls(
            Tally.of(np.concatenate(t2), total, model.n_components_ or 1),
            Tally.of(values[0], total),
            np.maximum.accumulate(medians),
        )

    def noisy_rows(self, residuals: Array, shares: Array) -> tuple[Array, Array]:
        """Which rows carry noise, and for each of them how much of "denoise" to mix in, from the ``shares`` for the policy's noises.

        A row does that lies farther off than any of as many new rows would; all do that together lie farther off than chance explains.
        """
        each = 1.0 - (1.0 - WAY_BACK.usual) / max(len(residuals), 1)
        if self.spe.exceeded(residuals, WAY_BACK.usual):
            noisy, far = np.ones(len(residuals), dtype=bool), np.full(len(residuals), np.median(residuals))
        else:
            noisy = np.asarray(residuals > self.spe.limit(each))
            far = residuals[noisy]
        known, found = (np.log(np.maximum(part, np.finfo(float).tiny)) for part in (self.noisy, far))
        return noisy, np.interp(found, known, shares)


def held_out_std(model: Any, source: HeldOutRows, method: Any) -> Array:
    """Per column, the error of rows that their model has not seen, such that 1.645 of it cover 90 % of them, (d,) [12]."""
    source = source.smallest(LOOK.few)
    rows = np.asarray(source.rows, dtype=np.float64)
    errors, weights = [], []
    for part, out in source.fits(model):
        found = part._decoded(part._fitted_preimage(method), part._map_scores(source.seen_by(part, out)))
        errors.append(np.abs(found - rows[out]))
        weights.append(source.weights[out])
    if not errors:
        return rows.std(axis=0)
    misses, counts = np.concatenate(errors), np.concatenate(weights)
    return np.asarray(weighted_quantile(misses, counts, DEFAULTS.cover) / COVERING)
