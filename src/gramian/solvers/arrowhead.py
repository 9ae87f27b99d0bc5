"""Eigenpairs of a diagonal matrix with a few more rows and columns: the secular equation where there is one, else dense [13]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

from gramian._arrays import Array
from gramian._precision import EPS, HALF_DIGITS, TINY
from gramian.solvers.turned import Reflected


@dataclass(frozen=True)
class ArrowheadPairs:
    """Leading eigenpairs of [[diag(poles), B], [Bᵀ, C]], largest first."""

    values: Array  # (q,)
    tips: Array  # (m, q): the last rows of the eigenvectors
    shafts: Any  # (k, q): the first rows, where asked for, or `Shafts`

    def leading(self, count: int) -> ArrowheadPairs:
        """The first ``count`` of them."""
        shafts = self.shafts
        if shafts is not None:
            shafts = replace(shafts, count=count) if isinstance(shafts, Shafts) else shafts[:, :count]
        return ArrowheadPairs(self.values[:count], self.tips[:, :count], shafts)


@dataclass(frozen=True)
class Shafts:
    """The first rows of the leading eigenvectors, (k, q), for products with a few columns or rows: they are not formed."""

    parts: Reflected
    poles: int  # as many as were decomposed
    count: int  # q
    tail: Array  # (k - near, r): the axes that stand for the last poles; without columns where none were drawn together
    __array_ufunc__ = None

    def __matmul__(self, block: Array) -> Array:
        return _spread((self.parts @ block)[: self.poles], self.tail)

    def __rmatmul__(self, rows: Array) -> Array:
        near = rows.shape[1] - len(self.tail)
        gathered = np.hstack([rows[:, :near], rows[:, near:] @ self.tail])
        beyond = np.zeros((len(self.parts.values) - self.poles, len(rows)))
        return self.parts.turned(np.vstack([gathered.T, beyond]), self.count).T


def arrowhead_pairs(
    poles: Array,
    border: Array,
    corner: Array,
    count: int,
    vectors: bool = True,
    formed: bool = True,
    above: float = 0.0,
) -> ArrowheadPairs:
    """The ``count`` leading eigenpairs of [[diag(poles), border], [borderᵀ, corner]]; poles fall.

    One more row costs O(k count) by the secular equation x - c - Σ b_i²/(x - d_i) = 0, several are solved densely. Shafts that are not
    ``formed`` are known by their products. Pairs are exact to rounding if their value is at least ``above``: poles well below
    that are then drawn together.
    """
    m = border.shape[1]
    count = min(count, len(poles) + m)
    if count == 0:
        return ArrowheadPairs(np.empty(0), np.empty((m, 0)), np.empty((len(poles), 0)) if vectors else None)
    poles, border, tail = _drawn_together(poles, border, above)
    found = _pairs(poles, border, corner, min(count, len(poles) + m), vectors, formed)
    if isinstance(found.shafts, Shafts):
        return replace(found, shafts=replace(found.shafts, tail=tail))
    return replace(found, shafts=_spread(found.shafts, tail)) if vectors else found


def _drawn_together(poles: Array, border: Array, above: float) -> tuple[Array, Array, Array]:
    """Poles and border with the last poles, which lie below all values asked for, seen through few axes, and these axes.

    An eigenvector has (l - d_i)⁻¹ b_i times its tips there. Of 1/(l - d) over d in [0, p] a Chebyshev series gains a factor x + √(x² - 1)
    per term, x = 2l/p - 1: the terms that 64 bits can hold, times b, span all of it. As many poles as leave the fewest rows are taken.
    """
    k, m = border.shape
    below = poles[poles < (1 - HALF_DIGITS) * above]
    x = 2 / np.maximum(below / above, EPS) - 1
    terms = np.ceil(-np.log(EPS) / np.log(x + np.sqrt(np.square(x) - 1))).astype(int)
    sizes = k - len(below) + np.arange(len(below)) + m * terms
    first = int(sizes.argmin()) if len(below) else 0
    if not len(below) or sizes[first] >= k:
        return poles, border, np.empty((0, 0))
    near = k - len(below) + first
    angles = np.arccos(np.clip(2 * poles[near:] / max(poles[near], TINY) - 1, -1.0, 1.0))
    series = np.cos(angles[:, None] * np.arange(terms[first]))
    tail = np.linalg.qr((series[:, :, None] * border[near:, None, :]).reshape(len(angles), -1))[0]
    values, axes = np.linalg.eigh((tail.T * poles[near:]) @ tail)
    tail = tail @ axes[:, ::-1]
    return np.append(poles[:near], values[::-1]), np.vstack([border[:near], tail.T @ border[near:]]), tail


def _spread(shafts: Array, tail: Array) -> Array:
    """Rows for all poles from those that were decomposed."""
    near = len(shafts) - tail.shape[1]
    return np.vstack([shafts[:near], tail @ shafts[near:]]) if tail.size else shafts


def _pairs(poles: Array, border: Array, corner: Array, count: int, vectors: bool, formed: bool) -> ArrowheadPairs:
    m = border.shape[1]
    if m == 1:
        return _secular(poles, border[:, 0], float(corner[0, 0]), count, vectors)
    k = len(poles)
    matrix = np.zeros((k + m, k + m))
    matrix[np.arange(k), np.arange(k)] = poles
    matrix[:k, k:], matrix[k:, :k], matrix[k:, k:] = border, border.T, corner
    if 3 * count < k + m:
        values, axes = linalg.eigh(matrix, subset_by_index=(k + m - count, k + m - 1), check_finite=False)
        values, axes = values[::-1], axes[:, ::-1]
        return ArrowheadPairs(values, axes[k:], axes[:k] if vectors else None)
    parts = Reflected.of(matrix)
    if vectors and formed:
        axes = parts.leading(count)
        return ArrowheadPairs(parts.values[:count], axes[k:], axes[:k])
    tips = parts.turned(np.eye(k + m, m, -k), count).T
    return ArrowheadPairs(parts.values[:count], tips, Shafts(parts, k, count, np.empty((0, 0))) if vectors else None)


def _secular(poles: Array, border: Array, corner: float, count: int, vectors: bool) -> ArrowheadPairs:
    k = len(poles)
    border, turns = _merge(poles, border)
    scale = max(float(np.abs(poles).max(initial=0.0)), abs(corner))
    alive = np.abs(border) > EPS * scale * 1e-2
    roots, slopes, gaps = secular_roots(poles[alive], np.square(border[alive]), corner, count)
    values = np.concatenate([roots, poles[~alive]])
    order = np.argsort(-values, kind="stable")[:count]
    tips = np.concatenate([1.0 / np.sqrt(slopes), np.zeros(k - int(alive.sum()))])[order]
    if not vectors:
        return ArrowheadPairs(values[order], tips[None], None)
    shafts = np.zeros((k, len(values)))
    shafts[np.ix_(alive, np.arange(len(roots)))] = (border[alive] / gaps / np.sqrt(slopes)[:, None]).T
    shafts[np.flatnonzero(~alive), len(roots) + np.arange(k - int(alive.sum()))] = 1.0
    shafts = shafts[:, order]
    for i, cosine, sine in reversed(turns):
        upper, lower = shafts[i].copy(), shafts[i + 1].copy()
        shafts[i], shafts[i + 1] = cosine * upper + sine * lower, cosine * lower - sine * upper
    return ArrowheadPairs(values[order], tips[None], shafts)


def _merge(poles: Array, border: Array) -> tuple[Array, list[tuple[int, float, float]]]:
    """Equal poles are turned so that only one of them is bound to the border."""
    near = 8 * EPS * float(np.abs(poles).max(initial=0.0))
    turns = []
    border = border.copy()
    for i in np.flatnonzero(poles[:-1] - poles[1:] <= near):
        length = float(np.hypot(border[i], border[i + 1]))
        if length > 0:
            turns.append((int(i), float(border[i + 1]) / length, float(border[i]) / length))
            border[i], border[i + 1] = 0.0, length
    return border, turns


def secular_roots(poles: Array, squares: Array, corner: float, count: int) -> tuple[Array, Array, Array]:
    """The ``count`` largest roots of f(x) = x - c - Σ w_i/(x - d_i), f' there, and x - d_i to full relative precision.

    Poles fall strictly and all w_i are positive, so that one root lies between any two neighbouring poles and one beyond each end.
    A step fits C - p/(x - a) - r/(x - b) to f and f', with a, b the poles around the root and the weight of the nearer one as it is.
    """
    k = len(poles)
    if k == 0:
        return np.array([corner])[:count], np.ones(min(1, count)), np.empty((min(1, count), 0))
    n = min(count, k + 1)
    # never so little that the ends of the outer brackets are rounded to the poles themselves
    size = max(float(np.abs(poles).max()), abs(corner))
    reach = max(float(np.sqrt(squares.sum())), 8 * EPS * size)
    low = np.append(poles, min(float(poles[-1]), corner) - reach)[:n]
    high = np.concatenate([[max(float(poles[0]), corner) + reach], poles])[:n]
    low_weight, high_weight = np.append(squares, 0.0)[:n], np.concatenate([[0.0], squares])[:n]
    middle = 0.5 * (low + high)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        at_middle = middle - corner - np.reciprocal(middle[:, None] - poles) @ squares
        left = at_middle >= 0  # the root is nearer to the lower pole
        left[0] = True
        if n == k + 1:
            left[k] = False
        origin = np.where(left, low, high)
        a, b = low - origin, high - origin
        distances = origin[:, None] - poles
        lo, hi = np.where(left, 0.0, a), np.where(left, b, 0.0)
        inner = (np.arange(n) > 0) & (np.arange(n) < k)
        half = 0.5 * (high - low)
        lo = np.where(inner & ~left, -half, lo)
        hi = np.where(inner & left, half, hi)
        steps = 0.5 * (lo + hi)
        slopes = np.ones(n)
        active = np.arange(n)
        for _ in range(80):  # some ten are usual: a step converges quadratically
            delta = steps[active]
            inverse = np.reciprocal(distances[active] + delta[:, None])
            x = origin[active] + delta
            value = x - corner - inverse @ squares
            terms = np.abs(x) + abs(corner) + np.abs(inverse) @ squares
            slope = 1.0 + np.square(inverse, out=inverse) @ squares
            slopes[active] = slope
            lo[active] = np.where(value < 0, delta, lo[active])
            hi[active] = np.where(value < 0, hi[active], delta)
            width = hi[active] - lo[active]
            done = (np.abs(value) <= 4 * EPS * terms) | (width <= 4 * EPS * np.abs(delta)) | (value == 0)
            steps[active] = np.where(
                done, delta, _fitted_root(delta, value, slope, active, left, a, b, low_weight, high_weight)
            )
            outside = ~done & ~((steps[active] > lo[active]) & (steps[active] < hi[active]))
            halved = 0.5 * (lo[active] + hi[active])
            steps[active] = np.where(outside, halved, steps[active])
            active = active[~done]
            if not len(active):
                break
    return origin + steps, slopes, distances + steps[:, None]


def _fitted_root(
    delta: Array,
    value: Array,
    slope: Array,
    active: Array,
    left: Array,
    a: Array,
    b: Array,
    low_weight: Array,
    high_weight: Array,
) -> Array:
    """The root of C - p/(y - a) - r/(y - b) with the value and slope of f, y from the nearer pole on."""
    near_low, a, b = left[active], a[active], b[active]
    p_fixed, r_fixed = low_weight[active], high_weight[active]
    to_a, to_b = delta - a, delta - b
    p = np.where(near_low, p_fixed, np.maximum(slope - r_fixed / to_b**2, 0.0) * to_a**2)
    r = np.where(near_low, np.maximum(slope - p_fixed / to_a**2, 0.0) * to_b**2, r_fixed)
    level = value + p / to_a + r / to_b
    linear = level * (a + b) + p + r
    constant = level * a * b + p * b + r * a
    root = np.sqrt(np.maximum(linear**2 - 4 * level * constant, 0.0))
    pivot = 0.5 * (linear + np.where(linear < 0, -root, root))
    first, second = constant / pivot, pivot / level
    low_end, high_end = np.where(near_low, 0.0, a), np.where(near_low, b, 0.0)
    return np.where((first > low_end) & (first < high_end), first, second)
