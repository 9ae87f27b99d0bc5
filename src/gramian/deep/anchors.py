"""Anchors: a kernel on top of an encoder, trained in the dual by mini-batches [11].

Every step encodes m anchor rows anew and sees a row x through k_M(x), whitened by the anchors' own Gram matrix:
f(x) = L⁻¹ k_M(x) with L Lᵀ = K_MM. Then f(x)ᵀf(y) is the kernel projected on the anchors, an m x m eigenproblem
stands for the N x N one, and running moments are those of whitened features: they stay of the kernel's size while the maps move.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from gramian._precision import HALF_DIGITS
from gramian.deep._torch import Module, Tensor, torch
from gramian.kernels import RBF, Cosine, Kernel, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, as_kernel


def _widths(kernel: Kernel, codes: Tensor) -> Any:
    """The length scale; "median" is that of the codes, so that the scale of the encoder does not matter."""
    scale = kernel.length_scale
    if isinstance(scale, str):
        distances = torch.pdist(codes)
        positive = distances[distances > 0]
        return positive.median() if len(positive) else torch.ones((), dtype=codes.dtype, device=codes.device)
    return torch.as_tensor(np.asarray(scale, dtype=np.float64), dtype=codes.dtype, device=codes.device)


def _squared_distances(A: Tensor, B: Tensor) -> Tensor:
    """Squared distances, with a gradient at zero distance."""
    return ((A**2).sum(1)[:, None] + (B**2).sum(1) - 2 * A @ B.T).clamp_min(0.0)


def _root(squares: Tensor) -> Tensor:
    return (squares + 1e-24).sqrt()


def _rbf(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    return torch.exp(-0.5 * _squared_distances(A / width, B / width))


def _laplacian(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    return torch.exp(-torch.cdist(A / width, B / width, p=1.0))


def _matern(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    r = _root(_squared_distances(A / width, B / width)) * float(np.sqrt(2 * kernel.nu))
    polynomial = {0.5: 1.0, 1.5: 1.0 + r, 2.5: 1.0 + r + r**2 / 3.0}[float(kernel.nu)]
    return polynomial * torch.exp(-r)


def _rational(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    return (1.0 + _squared_distances(A / width, B / width) / (2.0 * kernel.alpha)) ** -float(kernel.alpha)


def _linear(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    return A @ B.T


def _polynomial(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    gamma = 1.0 / A.shape[1] if kernel.gamma is None else float(kernel.gamma)
    return (gamma * (A @ B.T) + float(kernel.coef0)) ** int(kernel.degree)


def _cosine(kernel: Kernel, A: Tensor, B: Tensor, width: Tensor | float) -> Tensor:
    return torch.nn.functional.normalize(A) @ torch.nn.functional.normalize(B).T


TORCH_KERNELS: dict[type[Any], Callable[..., Tensor]] = {
    RBF: _rbf,
    Laplacian: _laplacian,
    Matern: _matern,
    RationalQuadratic: _rational,
    Linear: _linear,
    Polynomial: _polynomial,
    Cosine: _cosine,
}


def trained_kernel(kernel: Kernel) -> Kernel:
    """The kernel that a name or an object stands for, if it can be trained through."""
    found = as_kernel(kernel)
    if type(found) not in TORCH_KERNELS:
        names = ", ".join(cls.__name__ for cls in TORCH_KERNELS)
        raise ValueError(f"kernel={kernel!r} cannot stand on top of an encoder. Use one of {names}, or None.")
    if isinstance(getattr(found, "length_scale", None), str) and found.length_scale != "median":
        raise ValueError(f"kernel={kernel!r}: on top of an encoder length_scale is a number, an array or 'median'.")
    return found


def whiten_codes(kernel: Kernel, anchors: Tensor, codes: Tensor) -> Tensor:
    """f(x) = L⁻¹ k_M(x) for codes of rows, (n, m), in double precision inside."""
    anchors, rows = anchors.double(), codes.double()
    width = _widths(kernel, anchors) if hasattr(kernel, "length_scale") else None
    value = TORCH_KERNELS[type(kernel)]
    gram = value(kernel, anchors, anchors, width)
    gram = gram + HALF_DIGITS * gram.diagonal().mean() * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
    factor = torch.linalg.cholesky(gram)
    answer = torch.linalg.solve_triangular(factor, value(kernel, anchors, rows, width), upper=False).T
    return answer.to(codes.dtype)


class AnchoredEncoder(torch.nn.Module):
    """An encoder with a kernel on top: rows and anchors are encoded together, so that gradients reach both."""

    def __init__(self, inner: Module, kernel: Kernel, anchors: Tensor) -> None:
        super().__init__()
        self.inner = inner
        self.kernel = kernel
        self.register_buffer("anchors", anchors)

    def forward(self, x: Tensor) -> Tensor:
        codes = self.inner(torch.cat([self.anchors.to(x.dtype), x]))
        m = len(self.anchors)
        return whiten_codes(self.kernel, codes[:m], codes[m:])


class Whitening(torch.nn.Module):
    """The last layer of a frozen anchored encoder: the anchors' codes are fixed numbers."""

    def __init__(self, kernel: Kernel, n_anchors: int, n_codes: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.register_buffer("codes", torch.zeros(n_anchors, n_codes))

    def forward(self, codes: Tensor) -> Tensor:
        return whiten_codes(self.kernel, self.codes, codes)


@dataclass(frozen=True)
class Anchored:
    """The spec of a frozen encoder with a kernel on top."""

    inner: Annotated[Any, "object"]
    kernel: Annotated[Any, "Kernel"]
    n_anchors: Annotated[int, "count"]

    def check(self) -> None:
        """The inner spec's own check."""
        self.inner.check()

    def n_features(self, wiring: Any) -> int:
        return self.n_anchors

    def encoder(self, wiring: Any) -> list[Module]:
        """The inner layers, then the whitened kernel values."""
        n_codes = self.inner.n_features(wiring)
        return [*self.inner.encoder(wiring), Whitening(self.kernel, self.n_anchors, n_codes)]

    def decoder(self, wiring: Any) -> list[Module]:
        """An anchored encoder has no decoder of its own."""
        raise TypeError("Anchored describes encoders only.")
