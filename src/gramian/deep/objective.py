"""The objective in three shares of variance, each written once [11].

    L = reconstruction + a (1 - tr UᵀCU / tr C) + b cross

`reconstruction` is what decoders miss of each view behind the frame, `cross` what they miss of it when only the other views
are shown; both over the variance of the view. Shares have no scale: no weight makes features shrink or grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.deep._torch import Module, Tensor, torch
from gramian.deep.frame import Frame

Pattern = tuple[bool, ...]


class Completion:
    """Features of all views given those of some: U Uᵀ where all are shown, else E[φ | φ_o] of section 8."""

    def __init__(self, frame: Frame, widths: list[int], like: Tensor) -> None:
        self._frame = frame
        self._stops = np.cumsum([0, *widths])
        self._to = {"dtype": like.dtype, "device": like.device}
        self.mean = torch.as_tensor(frame.mean, **self._to)
        self.scales = torch.as_tensor(frame.scales, **self._to)
        self.axes = torch.as_tensor(np.ascontiguousarray(frame.axes), **self._to)
        self._known: dict[Pattern, tuple[Tensor, Tensor]] = {}

    def part(self, v: int) -> slice:
        """The features of view v."""
        return slice(int(self._stops[v]), int(self._stops[v + 1]))

    def scaled(self, features: Tensor) -> Tensor:
        """Centred features, every view divided by the root of its own trace."""
        return (features - self.mean) / self.scales

    def of_view(self, scaled: Tensor, shown: Pattern, v: int) -> Tensor:
        """The features of view v, in their own units, given the views shown."""
        gain, back = self._gains(shown)
        part = self.part(v)
        return self.mean[part] + self.scales[part] * ((scaled @ gain) @ back[:, part])

    def _gains(self, shown: Pattern) -> tuple[Tensor, Tensor]:
        """(D, q) and (q, D) with E[φ | φ_o] = φ @ gain @ back; features that are not shown get no weight."""
        if shown not in self._known:
            if all(shown):
                self._known[shown] = (self.axes, self.axes.T)
            else:
                W = self._frame.loadings
                here = np.repeat(shown, np.diff(self._stops))[:, None] * W
                M = here.T @ here + self._frame.noise * np.eye(W.shape[1])
                gain = np.linalg.solve(M, here.T).T
                self._known[shown] = (
                    torch.as_tensor(np.ascontiguousarray(gain), **self._to),
                    torch.as_tensor(np.ascontiguousarray(W.T), **self._to),
                )
        return self._known[shown]


@dataclass(frozen=True)
class Shares:
    """The three shares of a batch, unweighted."""

    reconstruction: Any
    rkm: Any
    cross: Any

    def loss(self, rkm_weight: float, cross_weight: float) -> Any:
        """L."""
        return self.reconstruction + rkm_weight * self.rkm + cross_weight * self.cross

    def numbers(self) -> Array:
        """Reconstruction, rkm and cross as plain numbers."""
        return np.array([float(torch.as_tensor(part).detach()) for part in (self.reconstruction, self.rkm, self.cross)])


def rkm_share(features: Tensor, completion: Completion, n_views: int) -> Any:
    """1 - tr(UᵀCU) / tr C of complete rows, every view divided by the root of its own trace in these rows."""
    centred = features - features.mean(dim=0)
    total: Any = torch.zeros_like(completion.axes[:1]).sum()
    scores: Any = 0.0
    for v in range(n_views):
        part = centred[:, completion.part(v)]
        trace = (part**2).sum()
        if float(trace.detach()) > 0:
            scores = scores + (part / trace.sqrt()) @ completion.axes[completion.part(v)]
            total = total + 1.0
    explained = (scores**2).sum() if not isinstance(scores, float) else total
    return 1.0 - explained / total if float(total.detach()) > 0 else total


def shares(
    rows: list[Tensor],
    features: Tensor,
    patterns: list[tuple[Pattern, Any]],
    completion: Completion,
    decoders: list[Module],
    variances: list[float],
    cross: bool,
) -> Shares:
    """The three shares of rows with their features.

    Parameters
    ----------
    rows : list of tensors (n, d_v)
    features : tensor (n, D)
    patterns : list of (which views are shown, positions of these rows or None for all rows)
    completion : Completion
    decoders : list of modules
    variances : list of float
        tr Cov(x_v).
    cross : bool
        Whether to compute the cross share.
    """
    scaled = completion.scaled(features)
    n_views = len(rows)
    zero = torch.zeros((), dtype=features.dtype, device=features.device)
    own: list[Any] = []
    others: list[Any] = []
    for v in range(n_views):
        asked: dict[bool, list[tuple[Tensor, Tensor]]] = {
            False: [],
            True: [],
        }  # crosswise: features to decode, their rows
        for shown, positions in patterns:
            if not shown[v]:
                continue
            seen = scaled if positions is None else scaled[positions]
            truth = rows[v] if positions is None else rows[v][positions]
            asked[False].append((completion.of_view(seen, shown, v), truth))
            hidden = tuple(here and w != v for w, here in enumerate(shown))
            if cross and any(hidden):
                asked[True].append((completion.of_view(seen, hidden, v), truth))
        counts = [sum(len(truth) for _, truth in pairs) for pairs in asked.values()]
        if not counts[0]:
            continue
        # both questions in one pass of the decoder
        decoded = decoders[v](_stack([piece for pairs in asked.values() for piece, _ in pairs]))
        for pairs, answer, found in zip(asked.values(), decoded.split(counts), (own, others)):
            if pairs:
                truth = _stack([truth for _, truth in pairs])
                found.append(torch.nn.functional.mse_loss(answer, truth, reduction="sum") / (len(truth) * variances[v]))
    complete = [positions for shown, positions in patterns if all(shown)]
    whole = features if complete and complete[0] is None else (features[complete[0]] if complete else features[:0])
    return Shares(
        torch.stack(own).mean() if own else zero,
        rkm_share(whole, completion, n_views) if len(whole) > 1 else zero,
        torch.stack(others).mean() if others else zero,
    )


def _stack(parts: list[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(parts)
