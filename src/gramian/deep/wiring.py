"""From what a user says of encoders and decoders to modules, and from trained modules back to data."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from gramian._arrays import Array
from gramian._content import smallest_positions
from gramian.deep._torch import Module, Tensor, torch
from gramian.deep.anchors import Anchored, AnchoredEncoder, trained_kernel
from gramian.deep.intake import per_view
from gramian.deep.nets import Net, Wiring, as_spec, build
from gramian.deep.torch_map import TorchMap
from gramian.features.base import FeatureMap


class FixedMap(torch.nn.Module):
    """A fitted feature map as a module without parameters."""

    def __init__(self, feature_map: Any) -> None:
        super().__init__()
        self.feature_map = feature_map

    def forward(self, x: Tensor) -> Tensor:
        rows = x.detach().cpu().numpy().astype(np.float64)
        return torch.as_tensor(np.asarray(self.feature_map.transform(rows)), dtype=x.dtype, device=x.device)


@dataclass
class ViewNets:
    """The modules of one view, what they were made from (None: given as modules), and the variance of the view."""

    encoder: Module
    decoder: Module
    encoder_spec: Any
    decoder_spec: Any
    wiring: Wiring
    variance: float

    def frozen(self, rows: Array) -> TorchMap:
        """The trained map, on the CPU, fitted to the rows of the view."""
        for module in (self.encoder, self.decoder):
            module.to("cpu").eval()
        return TorchMap(self._frozen_encoder(), self._frozen_decoder()).fit(rows)

    def _frozen_encoder(self) -> Any:
        if isinstance(self.encoder, FixedMap):
            return self.encoder.feature_map
        if isinstance(self.encoder, AnchoredEncoder) and self.encoder_spec is not None:
            with torch.no_grad():
                codes = self.encoder.inner(self.encoder.anchors.float())
            spec = Anchored(self.encoder_spec, self.encoder.kernel, len(codes))
            inner = Net.of(self.encoder_spec, "encoder", self.wiring, self.encoder.inner)
            last = len(self.encoder.inner) or 1  # the affine layer stands first even where the inner net has none
            arrays = dict(inner.arrays) or {
                "0.shift": np.zeros(self.wiring.n_columns, np.float32),
                "0.scale": np.ones((), np.float32),
            }
            arrays[f"{last}.codes"] = np.array(codes.numpy(), dtype=np.float32)
            return Net(spec, "encoder", self.wiring, arrays)
        if self.encoder_spec is None:
            return copy.deepcopy(self.encoder)
        return Net.of(self.encoder_spec, "encoder", self.wiring, self.encoder)

    def _frozen_decoder(self) -> Any:
        if self.decoder_spec is None:
            return copy.deepcopy(self.decoder)
        wiring = Wiring(self.wiring.n_columns, self._n_decoded(), self.wiring.image_shape)
        return Net.of(self.decoder_spec, "decoder", wiring, self.decoder)

    def _n_decoded(self) -> int:
        with torch.no_grad():
            return int(self.encoder(torch.zeros(1, self.wiring.n_columns)).shape[1])


def built_nets(
    model: Any, names: list[Any], views: list[Array], seen: Array, train: Array, hashes: Array, seed: int
) -> list[ViewNets]:
    """The modules of every view of an unfitted `DeepRKM`, with weights drawn by ``seed``."""
    encoders = per_view(names, "encoder", model.encoder)
    decoders = per_view(names, "decoder", model.decoder)
    kernels = per_view(names, "kernel", model.kernel)
    shapes = per_view(names, "image_shape", model.image_shape)
    found = []
    for v, view in enumerate(views):
        rows = np.asarray(view[train[seen[train, v]]], dtype=np.float64)
        if not len(rows):
            rows = np.asarray(view[seen[:, v]], dtype=np.float64)
        shift, trace = rows.mean(axis=0), float(rows.var(axis=0).sum())
        scale = float(np.sqrt(trace / rows.shape[1])) if trace > 0 else 1.0
        wiring = Wiring(int(view.shape[1]), int(model.n_features), shapes[v])
        encoder, spec = _encoder(encoders[v], wiring, model.hidden, shift, scale, seed + 2 * v, view[seen[:, v]])
        if kernels[v] is not None:
            anchors = _anchors(view, seen[:, v], train, hashes, model.n_anchors)
            encoder = AnchoredEncoder(
                encoder, trained_kernel(kernels[v]), torch.as_tensor(anchors, dtype=torch.float32)
            )
        decoder, decoder_spec = _decoder(decoders[v], encoder, wiring, model.hidden, shift, scale, seed + 2 * v + 1)
        found.append(ViewNets(encoder, decoder, spec, decoder_spec, wiring, trace if trace > 0 else 1.0))
    return found


def _encoder(
    given: Any, wiring: Wiring, hidden: Any, shift: Array, scale: float, seed: int, rows: Array
) -> tuple[Module, Any]:
    if isinstance(given, torch.nn.Module):
        return copy.deepcopy(given).float(), None
    if isinstance(given, FeatureMap):
        fixed = clone(given)
        if "random_state" in fixed.get_params() and fixed.random_state is None:
            fixed.set_params(random_state=seed)
        return FixedMap(fixed.fit(rows)), None
    if isinstance(given, Net):
        return copy.deepcopy(given.module).float(), given.spec
    spec = as_spec(given, "encoder", hidden)
    return build(spec, "encoder", wiring, shift, scale, seed), spec


def _decoder(
    given: Any, encoder: Module, wiring: Wiring, hidden: Any, shift: Array, scale: float, seed: int
) -> tuple[Module, Any]:
    if isinstance(given, torch.nn.Module):
        return copy.deepcopy(given).float(), None
    if isinstance(given, Net):
        return copy.deepcopy(given.module).float(), given.spec
    spec = as_spec(given, "decoder", hidden)
    encoder.eval()
    with torch.no_grad():
        features = encoder(torch.zeros(2, wiring.n_columns))
    if features.ndim != 2:
        raise ValueError(f"The encoder gives {tuple(features.shape)} for 2 rows. It must give (rows, features).")
    return build(
        spec, "decoder", Wiring(wiring.n_columns, features.shape[1], wiring.image_shape), shift, scale, seed
    ), spec


def _anchors(view: Array, seen: Array, train: Array, hashes: Array, n_anchors: int | None) -> Array:
    """The training rows of smallest hash that show the view."""
    rows = train[seen[train]]
    most = 256 if n_anchors is None else int(n_anchors)
    return np.asarray(view[rows[smallest_positions(hashes[rows], most)]], dtype=np.float64)
