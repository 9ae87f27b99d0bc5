"""TorchMap: torch modules as a feature map with an inverse, usable wherever a feature map is."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from gramian._arrays import Array, row_chunks
from gramian._checks import check_finite, check_table
from gramian._types import Points
from gramian.deep._torch import torch
from gramian.deep.nets import Net
from gramian.features.base import FeatureMap


def _has_decoder(self: TorchMap) -> bool:
    return self.decoder is not None


class TorchMap(FeatureMap):
    """φ(x) by a torch module, and back by another [11].

    The modules are used as they are: ``fit`` only looks at the number of columns. Nets made from specs answer in double
    precision, other modules in that of their parameters; rows are taken in batches, without gradients.

    Parameters
    ----------
    encoder : torch module, `nets.Net` or feature map
        Takes a tensor (n, columns) and gives (n, features). A feature map of `gramian.features` is fitted to the rows.
    decoder : torch module or `nets.Net`, optional
        Takes (n, features) and gives (n, columns); without it there is no ``inverse_transform``.

    Attributes
    ----------
    dim : int
        The number of features.

    References
    ----------
    [11] docs/theory.md, section 11.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from gramian import MultiViewRKM
    >>> from gramian.deep import TorchMap
    >>> _ = torch.manual_seed(0)
    >>> X = np.random.default_rng(0).standard_normal((50, 3))
    >>> net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh())
    >>> TorchMap(net).fit_transform(X).shape
    (50, 8)
    >>> MultiViewRKM(2, kernel=TorchMap(net), noise_variance="ml").fit(X).transform(X).shape
    (50, 2)
    """

    map_: Any
    encoder: Annotated[Any, "object"]
    decoder: Annotated[Any, "maybe object"]
    dim_: Annotated[int, "count"]
    n_features_in_: Annotated[int, "count"]

    def __init__(self, encoder: Any, decoder: Any = None) -> None:
        self.encoder = encoder
        self.decoder = decoder

    @property
    def invertible(self) -> bool:
        """Whether there is a decoder."""
        return self.decoder is not None

    @property
    def dim(self) -> int:
        check_is_fitted(self)
        return int(self.dim_)

    def _fit(self, X: Points, weights: Array) -> None:
        for name in ("encoder", "decoder"):
            module = getattr(self, name)
            allowed = callable(module) or (name == "decoder" and module is None)
            if not allowed and not (name == "encoder" and isinstance(module, FeatureMap)):
                raise TypeError(f"{name}={module!r} must be a torch module: something to call on a tensor.")
        if isinstance(self.encoder, FeatureMap):
            self.map_ = clone(self.encoder).fit(X, sample_weight=weights)
        found = self._encoded(X[:2])
        if found.ndim != 2:
            raise ValueError(
                f"The encoder gave an array of shape {found.shape} for {len(X[:2])} rows. It must give (rows, features): end it "
                "with torch.nn.Flatten()."
            )
        self.dim_ = int(found.shape[1])

    def _features(self, X: Points) -> Array:
        return check_finite(self._encoded(X), "features of the encoder")

    def _encoded(self, X: Points) -> Array:
        if isinstance(self.encoder, FeatureMap):
            return np.asarray(self.map_.transform(X), dtype=np.float64)
        return apply_module(self.encoder, X)

    @available_if(_has_decoder)
    def inverse_transform(self, F: Any) -> Array:
        """ψ(f): rows of the features F (n, dim) [11].

        Parameters
        ----------
        F : array-like of shape (n_samples, dim)

        Returns
        -------
        ndarray of shape (n_samples, n_features_in_)

        Examples
        --------
        >>> import numpy as np, torch
        >>> from gramian.deep import TorchMap
        >>> X = np.zeros((4, 3))
        >>> phi = TorchMap(torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)).fit(X)
        >>> phi.inverse_transform(np.zeros((4, 2))).shape
        (4, 3)
        """
        check_is_fitted(self)
        F = check_table(None, F, reset=False, name="F")
        if F.shape[1] != self.dim:
            raise ValueError(f"F has {F.shape[1]} columns, but the encoder makes {self.dim} features.")
        return check_finite(apply_module(self.decoder, F), "rows of the decoder").astype(F.dtype, copy=False)

    def encode(self, X: Points) -> Array:
        """The features of rows: `transform` [11].

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, dim)

        Examples
        --------
        >>> import numpy as np, torch
        >>> from gramian.deep import TorchMap
        >>> X = np.zeros((4, 3))
        >>> phi = TorchMap(torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)).fit(X)
        >>> phi.encode(X).shape
        (4, 2)
        """
        return self.transform(X)

    @available_if(_has_decoder)
    def decode(self, F: Any) -> Array:
        """The rows of features: `inverse_transform` [11].

        Parameters
        ----------
        F : array-like of shape (n_samples, dim)
            Features.

        Returns
        -------
        ndarray of shape (n_samples, n_features_in_)

        Examples
        --------
        >>> import numpy as np, torch
        >>> from gramian.deep import TorchMap
        >>> X = np.zeros((4, 3))
        >>> phi = TorchMap(torch.nn.Linear(3, 2), torch.nn.Linear(2, 3)).fit(X)
        >>> phi.decode(np.zeros((4, 2))).shape
        (4, 3)
        """
        return self.inverse_transform(F)


def apply_module(module: Any, X: Points, batch_rows: int = 2048) -> Array:
    """A module's answer to the rows of X, in batches and without gradients, as float64."""
    module = module.module if isinstance(module, Net) else module
    first = next(iter(module.parameters()), None) if hasattr(module, "parameters") else None
    if first is None and hasattr(module, "buffers"):
        first = next(iter(module.buffers()), None)
    dtype = torch.float64 if first is None or not first.is_floating_point() else first.dtype
    device = "cpu" if first is None else first.device
    training = bool(getattr(module, "training", False))
    if training:
        module.eval()
    try:
        with torch.inference_mode():
            parts = [
                module(torch.as_tensor(np.ascontiguousarray(X[rows])).to(device=device, dtype=dtype))
                .to(device="cpu", dtype=torch.float64)
                .numpy()
                for rows in row_chunks(len(X), batch_rows)
            ]
    finally:
        if training:
            module.train()
    return np.concatenate(parts)
