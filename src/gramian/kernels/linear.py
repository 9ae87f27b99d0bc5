"""The linear kernel: kernel models with it are the primal ones."""

from __future__ import annotations

from gramian.kernels._dot import DotProduct


class Linear(DotProduct):
    """k(x, y) = xᵀy.

    Examples
    --------
    >>> from gramian.kernels import Linear
    >>> Linear()([[1.0, 2.0], [0.0, 1.0]])
    array([[5., 2.],
           [2., 1.]])
    """
