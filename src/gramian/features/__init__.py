"""Feature maps: an explicit φ(x), one file each, and the table of their names."""

from __future__ import annotations

from inspect import signature
from typing import Any

from gramian._plug_ins import Rows
from gramian._types import RandomState
from gramian.features.base import FeatureMap
from gramian.features.identity import Identity
from gramian.features.nystroem import Nystroem
from gramian.features.polynomial import Polynomial
from gramian.features.random_fourier import RandomFourier
from gramian.features.with_inputs import WithInputs
from gramian.kernels.base import EXPLICIT_FEATURES, Kernel

_OWN: dict[str, type[FeatureMap]] = {
    "nystroem": Nystroem,
    "rff": RandomFourier,
    "polynomial": Polynomial,
    "identity": Identity,
    "with_inputs": WithInputs,
}
FEATURE_MAPS = Rows("features", _OWN)
"""What names of feature maps stand for. Other packages add rows by entry points of the group ``gramian.features``."""
EXPLICIT_FEATURES.update({name: made for name, made in FEATURE_MAPS.items() if made.size_parameter is not None})


def approximations(asked: str = "nystroem") -> tuple[str, ...]:
    """The names that ``approximation=`` accepts: maps of a kernel with a given number of landmarks or features [3].

    Parameters
    ----------
    asked : str
        A name that is looked for in other packages too.

    Returns
    -------
    tuple of str

    Examples
    --------
    >>> from gramian.features import approximations
    >>> approximations()
    ('nystroem', 'rff')
    """
    known = FEATURE_MAPS if asked in FEATURE_MAPS else _OWN
    return tuple(name for name, made in known.items() if made.size_parameter is not None)


def approximation_of(name: str, kernel: Kernel | str, count: int, random_state: RandomState = None) -> FeatureMap:
    """The feature map of that name for a kernel, with ``count`` landmarks or features [3].

    Parameters
    ----------
    name : {"nystroem", "rff"}
    kernel : Kernel or its name
    count : int
        Landmarks, or features.
    random_state : None, int, Generator or RandomState

    Returns
    -------
    FeatureMap

    Examples
    --------
    >>> from gramian.features import approximation_of
    >>> from gramian.kernels import RBF
    >>> type(approximation_of("nystroem", RBF(2.0), 10)).__name__
    'Nystroem'
    """
    made: Any = FEATURE_MAPS[name]
    options = {made.size_parameter: count, "random_state": random_state}
    return made(kernel, **{key: value for key, value in options.items() if key in signature(made).parameters})


def as_feature_map(feature_map: Any) -> FeatureMap:
    """The feature map that a name or an object stands for [1].

    Parameters
    ----------
    feature_map : str or FeatureMap

    Returns
    -------
    FeatureMap

    Examples
    --------
    >>> from gramian.features import as_feature_map
    >>> as_feature_map("identity")
    Identity()
    """
    if isinstance(feature_map, FeatureMap):
        return feature_map
    names = ", ".join(map(repr, FEATURE_MAPS))
    if isinstance(feature_map, str):
        if feature_map not in FEATURE_MAPS:
            raise ValueError(f"feature map {feature_map!r} is not known. Use one of {names}, or a feature map object.")
        return FEATURE_MAPS[feature_map]()
    raise TypeError(f"{feature_map!r} is no feature map. Use one of {names}, or an object of gramian.features.")


__all__ = [
    "FEATURE_MAPS",
    "FeatureMap",
    "Identity",
    "Nystroem",
    "Polynomial",
    "RandomFourier",
    "WithInputs",
    "approximation_of",
    "approximations",
    "as_feature_map",
]
