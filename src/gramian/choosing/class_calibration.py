"""From evidence for classes to probabilities that held-out rows bear out: a scale, and an offset per class [7, 10]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gramian._arrays import Array

STEPS = 25
"""Newton's method needs five to ten."""
HALVINGS = 8
CONVERGED = 1e-7
"""Nats per row that a step must still gain."""
LEAST_SCALE = 1e-4
"""Of the unit of evidence: as good as "the evidence says nothing", and still a number to divide by."""
AT_ONCE = 1 << 21
"""Entries (candidates x rows x classes) that are worked on together."""


@dataclass(frozen=True)
class Calibration:
    """p(c | row) = softmax(scale · evidence_c + offset_c), one scale and one set of offsets per candidate."""

    scales: Array  # (K,)
    offsets: Array  # (K, C)

    def log_probabilities(self, evidence: Array) -> Array:
        """log p(c | row) from evidence (K, n, C)."""
        return _log_softmax(self.scales[:, None, None] * evidence + self.offsets[:, None, :])


def calibrated(evidence: Array, codes: Array, weights: Array, *, offsets: bool) -> Calibration:
    """The scale (and offsets) under which held-out labels are most probable, for K candidates at once.

    The labels are softened as Platt does, so that classes which separate perfectly still get a finite scale.

    Parameters
    ----------
    evidence : ndarray of shape (K, n, C)
        What each candidate says for each class of each held-out row; only differences within a row matter.
    codes, weights : ndarray of shape (n,)
    offsets : bool
        Whether classes may be moved against each other; else all offsets are 0.
    """
    n_candidates, n_rows, n_classes = evidence.shape
    targets = softened(codes, weights, n_classes)
    size = max(1, AT_ONCE // max(1, n_rows * n_classes))
    parts = [
        _newton(evidence[first : first + size], targets, weights, offsets) for first in range(0, n_candidates, size)
    ]
    return Calibration(np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts]))


def softened(codes: Array, weights: Array, n_classes: int) -> Array:
    """Labels as probabilities: (n_c + 1) / (n_c + 2) for a row's own class, the rest shared by the others.

    n_c is the class's share of the weight times the number of (distinct) rows, so that counting all rows twice changes nothing.
    """
    own = np.bincount(codes, weights, minlength=n_classes)[codes] * (len(codes) / weights.sum())
    targets = np.repeat((1.0 / ((own + 2.0) * max(n_classes - 1, 1)))[:, None], n_classes, axis=1)
    targets[np.arange(len(codes)), codes] = (own + 1.0) / (own + 2.0)
    return targets


def _newton(evidence: Array, targets: Array, weights: Array, offsets: bool) -> tuple[Array, Array]:
    centred = evidence - evidence.mean(axis=2, keepdims=True)
    unit = np.median(np.ptp(centred, axis=2), axis=1)
    unit = np.where(unit > 0, unit, 1.0)
    u = centred / unit[:, None, None]
    n_candidates, _, n_classes = u.shape
    share = weights / weights.sum()
    scale, shift = np.ones(n_candidates), np.zeros((n_candidates, n_classes))
    open_ = np.arange(n_candidates)
    loss, probabilities = _loss(u, scale, shift, targets, share)
    for _ in range(STEPS):
        step = _step(u[open_], probabilities, targets, share, offsets)
        size = np.ones(len(open_))
        for _ in range(HALVINGS):
            new_scale = np.maximum(scale[open_] - size * step[:, 0], LEAST_SCALE)
            new_shift = shift[open_] - size[:, None] * step[:, 1:]
            new_loss, new_probabilities = _loss(u[open_], new_scale, new_shift, targets, share)
            worse = new_loss > loss[open_] + 1e-12
            if not worse.any():
                break
            size = np.where(worse, 0.25 * size, size)
        better = ~worse
        gain = np.where(better, loss[open_] - new_loss, 0.0)
        done = open_[better]
        scale[done], shift[done], loss[done] = new_scale[better], new_shift[better], new_loss[better]
        going = gain > CONVERGED
        if not going.any():
            break
        open_, probabilities = open_[going], new_probabilities[going]
    return scale / unit, shift


def _loss(u: Array, scale: Array, shift: Array, targets: Array, share: Array) -> tuple[Array, Array]:
    logs = _log_softmax(scale[:, None, None] * u + shift[:, None, :])
    return -np.tensordot(logs, targets * share[:, None], axes=2), np.exp(logs)


def _log_softmax(values: Array) -> Array:
    """In place, over the last axis."""
    values -= values.max(axis=-1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=-1, keepdims=True))
    return values


def _step(u: Array, p: Array, targets: Array, share: Array, offsets: bool) -> Array:
    """Newton's step for (scale, offsets); the first class's offset stays 0."""
    n_candidates, _, n_classes = u.shape
    error = p - targets
    mean = np.einsum("knc,knc->kn", p, u)
    slope = np.einsum("knc,knc->kn", error, u) @ share
    spread = (np.einsum("knc,knc,knc->kn", p, u, u) - mean**2) @ share
    step = np.zeros((n_candidates, 1 + n_classes))
    if not offsets:
        step[:, 0] = slope / np.maximum(spread, 1e-12)
        return step
    weighted = p * share[:, None]
    hessian = np.empty((n_candidates, n_classes, n_classes))
    hessian[:, 0, 0] = spread
    cross = np.einsum("knc,knc->kc", weighted, u - mean[:, :, None])[:, 1:]
    hessian[:, 0, 1:], hessian[:, 1:, 0] = cross, cross
    hessian[:, 1:, 1:] = -np.einsum("kni,knj->kij", weighted[:, :, 1:], p[:, :, 1:], optimize=True)
    diagonal = np.arange(1, n_classes)
    hessian[:, diagonal, diagonal] += weighted.sum(axis=1)[:, 1:]
    hessian[:, np.arange(n_classes), np.arange(n_classes)] += 1e-9
    gradient = np.column_stack([slope, (share @ error)[:, 1:]])
    found = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
    step[:, 0], step[:, 2:] = found[:, 0], found[:, 1:]
    return step
