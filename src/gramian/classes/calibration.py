"""From evidence for classes to probabilities that agree with held-out rows: a scale, and an offset per class [7, 10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array
from gramian.policy import SIZES


@dataclass(frozen=True)
class Calibration:
    """p(c | row) = softmax(scale · evidence_c + offset_c), one scale and one set of offsets per candidate."""

    scales: Array  # (K,)
    offsets: Array  # (K, C)

    def log_probabilities(self, evidence: Array) -> Array:
        """log p(c | row) from evidence (K, C, n)."""
        return _log_softmax(self.scales[:, None, None] * evidence + self.offsets[:, :, None])


def calibrate(evidence: Array, codes: Array, weights: Array, *, offsets: bool) -> Calibration:
    """The scale (and offsets) under which held-out labels are most probable, for K candidates at once.

    The labels are softened as Platt does, so that classes which separate perfectly still get a finite scale.

    Parameters
    ----------
    evidence : ndarray of shape (K, C, n)
        What each candidate says for each class of each held-out row; only differences within a row matter.
    codes, weights : ndarray of shape (n,)
    offsets : bool
        Whether classes may be moved against each other; else all offsets are 0.
    """
    n_candidates, n_classes, n_rows = evidence.shape
    targets = soft_labels(codes, weights, n_classes)
    size = max(1, SIZES.chunk // 8 // max(1, n_rows * n_classes))
    parts = [
        _newton(evidence[first : first + size], targets, weights, offsets) for first in range(0, n_candidates, size)
    ]
    return Calibration(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def soft_labels(codes: Array, weights: Array, n_classes: int) -> Array:
    """Labels as probabilities (C, n): (n_c + 1) / (n_c + 2) for a row's own class, the rest shared by the others.

    n_c is the class's share of the weight times the number of (distinct) rows, so that counting all rows twice changes nothing.
    """
    own = np.bincount(codes, weights, minlength=n_classes)[codes] * (len(codes) / weights.sum())
    targets = np.tile(1.0 / ((own + 2.0) * max(n_classes - 1, 1)), (n_classes, 1))
    targets[codes, np.arange(len(codes))] = (own + 1.0) / (own + 2.0)
    return targets


def _newton(evidence: Array, targets: Array, weights: Array, offsets: bool) -> tuple[Array, Array]:
    """Scales (K,) and offsets (K, C). Candidates that have converged are left alone."""
    u = evidence - evidence.mean(axis=1, keepdims=True)
    unit = np.median(u.max(axis=1) - u.min(axis=1), axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    u /= unit[:, None, None]
    n_candidates, n_classes, _ = u.shape
    share = weights / weights.sum()
    scale, shift = np.ones(n_candidates), np.zeros((n_candidates, n_classes))
    going = np.arange(n_candidates)
    loss, p = _loss(u, scale, shift, targets, share)
    # Newton's method needs five to ten.
    for _ in range(25):
        step = _step(u, p, targets, share, offsets)
        size = np.ones(len(going))
        for _ in range(8):
            # Of the unit of evidence: as good as "the evidence says nothing", and still a number to divide by.
            new_scale = np.maximum(scale[going] - size * step[:, 0], 1e-4)
            new_shift = shift[going] - size[:, None] * step[:, 1:]
            new_loss, new_p = _loss(u, new_scale, new_shift, targets, share)
            worse = new_loss > loss[going] + 1e-12
            if not worse.any():
                break
            size = np.where(worse, 0.25 * size, size)
        better = going[~worse]
        gain = np.where(worse, 0.0, loss[going] - new_loss)
        scale[better], shift[better], loss[better] = new_scale[~worse], new_shift[~worse], new_loss[~worse]
        # Nats per row that a step must still gain.
        kept = gain > 1e-7
        if not kept.any():
            break
        if not kept.all():
            u, new_p, going = u[kept], new_p[kept], going[kept]
        p = new_p
    return scale / unit, shift


def _loss(u: Array, scale: Array, shift: Array, targets: Array, share: Array) -> tuple[Array, Array]:
    logs = _log_softmax(scale[:, None, None] * u + shift[:, :, None])
    return -np.tensordot(logs, targets * share, axes=2), np.exp(logs)


def _log_softmax(values: Array) -> Array:
    """In place, over the classes."""
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))
    return values


def _step(u: Array, p: Array, targets: Array, share: Array, offsets: bool) -> Array:
    """Newton's step for (scale, offsets); the first class's offset stays 0."""
    n_candidates, n_classes, _ = u.shape
    error = p - targets
    weighted = p * share
    products = weighted * u
    mean = (p * u).sum(axis=1)
    slope = np.einsum("kcn,kcn,n->k", error, u, share)
    spread = np.einsum("kcn,kcn->k", products, u) - np.square(mean) @ share
    step = np.zeros((n_candidates, 1 + n_classes))
    if not offsets:
        step[:, 0] = slope / np.maximum(spread, 1e-12)
        return step
    hessian = np.empty((n_candidates, n_classes, n_classes))
    hessian[:, 0, 0] = spread
    cross = (products.sum(axis=2) - np.einsum("kcn,kn->kc", weighted, mean))[:, 1:]
    hessian[:, 0, 1:], hessian[:, 1:, 0] = cross, cross
    hessian[:, 1:, 1:] = -weighted[:, 1:] @ p[:, 1:].transpose(0, 2, 1)
    diagonal = np.arange(1, n_classes)
    hessian[:, diagonal, diagonal] += weighted.sum(axis=2)[:, 1:]
    hessian[:, np.arange(n_classes), np.arange(n_classes)] += 1e-9
    gradient = np.column_stack([slope, (error @ share)[:, 1:]])
    found = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    step[:, 0], step[:, 2:] = found[:, 0], found[:, 1:]
    return step
