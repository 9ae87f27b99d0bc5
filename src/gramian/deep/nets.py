"""Networks as data: a spec says the shape, a `Net` is a spec with its weights, and both go into model files.

`NETS` is the table of names. A new net is a frozen dataclass with ``encoder`` and ``decoder`` and a row in the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any
from weakref import WeakKeyDictionary

import numpy as np

from gramian._arrays import Array
from gramian._checks import check_choice, check_count
from gramian.deep._torch import Module, Tensor, torch

ACTIVATIONS = {
    "relu": torch.nn.ReLU,
    "gelu": torch.nn.GELU,
    "silu": torch.nn.SiLU,
    "tanh": torch.nn.Tanh,
}


@dataclass(frozen=True)
class Wiring:
    """What a spec must know to be built: numbers of columns, and the shape of a picture where there is one."""

    n_columns: Annotated[int, "count"]
    n_features: Annotated[int, "count"]
    image_shape: Annotated[tuple[int, ...] | None, "*: count"] = None


# ---------------------------------------------------------------- specs


@dataclass(frozen=True)
class MLP:
    """Fully connected layers with an activation between them.

    Parameters
    ----------
    hidden : tuple of int, default=(256,)
        Widths from the rows to the features; the decoder has them in reverse.
    activation : {"relu", "gelu", "silu", "tanh"}, default="gelu"

    Examples
    --------
    >>> from gramian.deep import nets
    >>> nets.MLP(hidden=(32, 16))
    MLP(hidden=(32, 16), activation='gelu')
    """

    hidden: Annotated[tuple[int, ...], "*: count"] = (256,)
    activation: str = "gelu"

    def check(self) -> None:
        """Refuse widths that are no counts and unknown activations."""
        if isinstance(self.hidden, str) or not hasattr(self.hidden, "__iter__"):
            raise ValueError(f"hidden={self.hidden!r} must be a tuple of widths, such as (256,).")
        for width in self.hidden:
            check_count("hidden", width, 1)
        check_choice("activation", self.activation, tuple(ACTIVATIONS))

    def n_features(self, wiring: Wiring) -> int:
        return wiring.n_features

    def encoder(self, wiring: Wiring) -> list[Module]:
        """Layers from a row to its features [11].

        Parameters
        ----------
        wiring : Wiring
            Sizes of the rows and features.

        Returns
        -------
        list of torch modules

        Examples
        --------
        >>> from gramian.deep.nets import MLP
        >>> from gramian.deep.wiring import Wiring
        >>> net, wiring = MLP((8,)), Wiring(n_columns=4, n_features=3)
        >>> len(net.encoder(wiring)) > 1
        True
        """
        return _dense([wiring.n_columns, *self.hidden, wiring.n_features], self.activation)

    def decoder(self, wiring: Wiring) -> list[Module]:
        """Layers from features to a row [11].

        Parameters
        ----------
        wiring : Wiring
            Sizes of the rows and features.

        Returns
        -------
        list of torch modules

        Examples
        --------
        >>> from gramian.deep.nets import MLP
        >>> from gramian.deep.wiring import Wiring
        >>> net, wiring = MLP((8,)), Wiring(n_columns=4, n_features=3)
        >>> len(net.decoder(wiring)) > 1
        True
        """
        return _dense([wiring.n_features, *reversed(tuple(self.hidden)), wiring.n_columns], self.activation)


@dataclass(frozen=True)
class Conv:
    """Convolutions that halve a picture each, then one fully connected layer; the decoder mirrors them.

    Parameters
    ----------
    channels : tuple of int, default=(16, 32)
    activation : {"relu", "gelu", "silu", "tanh"}, default="gelu"

    Examples
    --------
    >>> from gramian.deep import nets
    >>> nets.Conv(channels=(8, 16))
    Conv(channels=(8, 16), activation='gelu')
    """

    channels: Annotated[tuple[int, ...], "*: count"] = (16, 32)
    activation: str = "gelu"

    def check(self) -> None:
        """Refuse channels that are no counts and unknown activations."""
        if isinstance(self.channels, str) or not hasattr(self.channels, "__iter__") or not len(tuple(self.channels)):
            raise ValueError(f"channels={self.channels!r} must be a tuple of at least one count, such as (16, 32).")
        for count in self.channels:
            check_count("channels", count, 1)
        check_choice("activation", self.activation, tuple(ACTIVATIONS))

    def n_features(self, wiring: Wiring) -> int:
        return wiring.n_features

    def _sizes(self, wiring: Wiring) -> list[tuple[int, int, int]]:
        """(channels, height, width) before and after every convolution."""
        sizes = [picture_shape(wiring)]
        for count in self.channels:
            _, height, width = sizes[-1]
            sizes.append((int(count), -(-height // 2), -(-width // 2)))
        return sizes

    def encoder(self, wiring: Wiring) -> list[Module]:
        """Layers from a row to its features [11].

        Parameters
        ----------
        wiring : Wiring
            Sizes of the rows and features.

        Returns
        -------
        list of torch modules

        Examples
        --------
        >>> from gramian.deep.nets import Conv
        >>> from gramian.deep.wiring import Wiring
        >>> net, wiring = Conv((4,)), Wiring(n_columns=64, n_features=3, image_shape=(1, 8, 8))
        >>> len(net.encoder(wiring)) > 1
        True
        """
        sizes = self._sizes(wiring)
        layers: list[Module] = [torch.nn.Unflatten(1, sizes[0])]
        for (before, _, _), (after, _, _) in pairwise(sizes):
            layers += [torch.nn.Conv2d(before, after, 3, stride=2, padding=1), ACTIVATIONS[self.activation]()]
        return [*layers, torch.nn.Flatten(), torch.nn.Linear(math.prod(sizes[-1]), wiring.n_features)]

    def decoder(self, wiring: Wiring) -> list[Module]:
        """Layers from features to a row [11].

        Parameters
        ----------
        wiring : Wiring
            Sizes of the rows and features.

        Returns
        -------
        list of torch modules

        Examples
        --------
        >>> from gramian.deep.nets import Conv
        >>> from gramian.deep.wiring import Wiring
        >>> net, wiring = Conv((4,)), Wiring(n_columns=64, n_features=3, image_shape=(1, 8, 8))
        >>> len(net.decoder(wiring)) > 1
        True
        """
        sizes = self._sizes(wiring)[::-1]
        activation = ACTIVATIONS[self.activation]
        layers: list[Module] = [
            torch.nn.Linear(wiring.n_features, math.prod(sizes[0])),
            activation(),
            torch.nn.Unflatten(1, sizes[0]),
        ]
        for i, (before, after) in enumerate(pairwise(sizes)):
            even = tuple(1 - size % 2 for size in after[1:])
            layers.append(torch.nn.ConvTranspose2d(before[0], after[0], 3, stride=2, padding=1, output_padding=even))
            if i < len(sizes) - 2:
                layers.append(activation())
        return [*layers, torch.nn.Flatten()]


@dataclass(frozen=True)
class Identity:
    """Features that are the inputs themselves: a linear view, in double precision.

    Examples
    --------
    >>> from gramian.deep import nets
    >>> nets.Identity()
    Identity()
    """

    def check(self) -> None:
        """Nothing can be wrong."""

    def n_features(self, wiring: Wiring) -> int:
        return wiring.n_columns

    def encoder(self, wiring: Wiring) -> list[Module]:
        """No layer."""
        return []

    def decoder(self, wiring: Wiring) -> list[Module]:
        """No layer; the features must be as many as the columns."""
        if wiring.n_features != wiring.n_columns:
            raise ValueError(
                f"decoder='identity' needs as many features as columns, got {wiring.n_features} features for "
                f"{wiring.n_columns} columns. Use decoder='mlp', or encoder='identity' too."
            )
        return []


NETS: dict[str, type[Any]] = {"mlp": MLP, "conv": Conv, "identity": Identity}
SPECS = (MLP, Conv, Identity)


def as_spec(net: Any, name: str, hidden: tuple[int, ...]) -> Any:
    """The spec that a name or a spec stands for; ``hidden`` is what the plain name "mlp" takes."""
    if isinstance(net, str):
        check_choice(name, net, tuple(NETS))
        net = MLP(hidden=tuple(hidden)) if net == "mlp" else NETS[net]()
    if not isinstance(net, SPECS):
        names = ", ".join(map(repr, NETS))
        raise TypeError(
            f"{name}={net!r} is no net. Use one of {names}, a spec (nets.MLP, nets.Conv), a torch module, or a list or dict "
            "with one per view."
        )
    net.check()
    return net


def _dense(widths: list[int], activation: str) -> list[Module]:
    layers: list[Module] = []
    for before, after in pairwise(widths):
        layers += [torch.nn.Linear(int(before), int(after)), ACTIVATIONS[activation]()]
    return layers[:-1]


def picture_shape(wiring: Wiring) -> tuple[int, int, int]:
    """(channels, height, width) of a row."""
    shape = wiring.image_shape
    if shape is None:
        raise ValueError(
            f"A 'conv' net needs image_shape=(height, width) or (channels, height, width) for the {wiring.n_columns} columns."
        )
    full = tuple(check_count("image_shape", size, 1) for size in shape)
    full = (1, *full) if len(full) == 2 else full
    if len(full) != 3 or math.prod(full) != wiring.n_columns:
        raise ValueError(
            f"image_shape={shape!r} does not fit {wiring.n_columns} columns. Give (height, width) or (channels, height, width) "
            "whose product is the number of columns of the view."
        )
    return full


# ---------------------------------------------------------------- modules


class Affine(torch.nn.Module):
    """x -> (x - shift) / scale, or back: fixed numbers, so that nets see and make rows of unit mean variance; one copy, not two."""

    def __init__(self, shift: Array, scale: float, back: bool) -> None:
        super().__init__()
        self.register_buffer("shift", torch.as_tensor(np.asarray(shift), dtype=torch.float32))
        self.register_buffer("scale", torch.as_tensor(float(scale), dtype=torch.float32))
        self.back = back

    def forward(self, x: Tensor) -> Tensor:
        return (x * self.scale).add_(self.shift) if self.back else (x - self.shift).div_(self.scale)


def build(
    spec: Any, role: str, wiring: Wiring, shift: Array | None = None, scale: float = 1.0, seed: int | None = None
) -> Module:
    """The module of a spec: fixed scaling and the spec's layers, with weights drawn by ``seed``."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0 if seed is None else seed)
        layers = spec.encoder(wiring) if role == "encoder" else spec.decoder(wiring)
    if not layers:
        return torch.nn.Sequential()
    affine = Affine(np.zeros(wiring.n_columns) if shift is None else shift, scale, back=role == "decoder")
    return torch.nn.Sequential(*([affine, *layers] if role == "encoder" else [*layers, affine]))


class Net:
    """A trained net as data: the spec, what it was built for, and its weights by name.

    It is called on tensors as a torch module is, and has the module's methods (``parameters()``, ``state_dict()``);
    ``module`` is the module itself, in double precision: answers then do not depend on how rows are batched.

    Examples
    --------
    >>> import torch
    >>> from gramian.deep import nets
    >>> net = nets.Net.of(nets.MLP(hidden=(3,)), "encoder", nets.Wiring(4, 2))
    >>> tuple(net(torch.zeros(5, 4, dtype=torch.float64)).shape)
    (5, 2)
    """

    spec: Annotated[Any, "object"]
    role: Annotated[str, ""]
    wiring: Annotated[Wiring, ""]
    arrays: Annotated[dict[str, Array], ""]

    def __init__(self, spec: Any, role: str, wiring: Wiring, arrays: dict[str, Array]) -> None:
        self.spec = spec
        self.role = role
        self.wiring = wiring
        self.arrays = arrays

    @classmethod
    def of(cls, spec: Any, role: str, wiring: Wiring, module: Module | None = None) -> Net:
        """The net of a module that was built from the spec; None: with fresh weights."""
        module = build(spec, role, wiring) if module is None else module
        arrays = {
            name: np.array(value.detach().cpu().numpy(), dtype=np.float32)
            for name, value in module.state_dict().items()
        }
        return cls(spec, role, wiring, arrays)

    @property
    def module(self) -> Module:
        """The torch module, built when first asked for."""
        if self not in _MODULES:
            built = build(self.spec, self.role, self.wiring)
            built.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in self.arrays.items()})
            _MODULES[self] = built.double().eval()
        return _MODULES[self]

    @property
    def n_features(self) -> int:
        return int(self.spec.n_features(self.wiring))

    def _wrong_state(self) -> str | None:
        """What does not fit together in a net that was read from a file; nothing is allocated to find it."""
        from gramian.deep.anchors import Anchored  # it builds on this module

        core = self.spec.inner if isinstance(self.spec, Anchored) else self.spec
        if not isinstance(core, SPECS) or self.role not in ("encoder", "decoder"):
            return f"a {self.role!r} with the spec {self.spec!r} is no net"
        if not isinstance(self.arrays, dict):
            return "the weights are no dict"
        widths = getattr(core, "hidden", getattr(core, "channels", ()))
        n_weights = sum(np.size(held) for held in self.arrays.values())
        if len(widths) > len(self.arrays) or (not isinstance(core, Identity) and self.wiring.n_columns > n_weights):
            return f"the weights are too few for {self.spec!r}"
        try:
            self.spec.check()
            with torch.device("meta"):
                layers = build(self.spec, self.role, self.wiring)
        except (ValueError, TypeError, RuntimeError, OverflowError) as error:
            return f"the spec {self.spec!r} cannot be built ({error})"
        expected = {name: tuple(value.shape) for name, value in layers.state_dict().items()}
        if {name: np.shape(held) for name, held in self.arrays.items()} != expected:
            return f"the weights do not have the shapes of {self.spec!r}"
        for name, held in self.arrays.items():
            if not isinstance(held, np.ndarray) or held.dtype.kind != "f" or not np.isfinite(held).all():
                return f"the weights {name!r} are not finite numbers"
        return None

    def __call__(self, x: Tensor) -> Tensor:
        return self.module(x)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("spec", "role", "wiring", "arrays"):
            raise AttributeError(name)
        return getattr(self.module, name)

    def __repr__(self) -> str:
        return f"Net({self.spec!r}, {self.role!r}, {self.wiring.n_columns} columns, {self.n_features} features)"


_MODULES: WeakKeyDictionary[Net, Module] = WeakKeyDictionary()

__all__ = ["MLP", "NETS", "Conv", "Identity", "Net", "Wiring", "as_spec", "build"]
