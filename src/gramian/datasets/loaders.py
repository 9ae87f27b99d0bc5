"""Real data from the folder named by the environment variable ``GRAMIAN_DATA``; none of it ships with the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from gramian._checks import check_choice

VARIABLE = "GRAMIAN_DATA"
HOW = "docs/data.md says how to make it"
IDA_NAMES = (
    "banana",
    "breast-cancer",
    "diabetis",
    "flare-solar",
    "german",
    "heart",
    "image",
    "ringnorm",
    "splice",
    "thyroid",
    "titanic",
    "twonorm",
    "waveform",
)


def data_file(name: str) -> Path:
    """The path of a file in the folder named by ``GRAMIAN_DATA``; `FileNotFoundError` names both where it is absent.

    Parameters
    ----------
    name : str
        A file name, such as "mnist.npz".

    Returns
    -------
    pathlib.Path

    References
    ----------
    docs/data.md: how to make each file.

    Examples
    --------
    >>> import os, tempfile
    >>> from pathlib import Path
    >>> from unittest.mock import patch
    >>> from gramian.datasets import data_file
    >>> with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, {"GRAMIAN_DATA": folder}):
    ...     _ = Path(folder, "mine.npz").write_bytes(b"")
    ...     found = data_file("mine.npz").name
    ...
    >>> found
    'mine.npz'
    """
    folder = os.environ.get(VARIABLE)
    if not folder:
        raise FileNotFoundError(
            f"{name} is needed, but the environment variable {VARIABLE} is not set. Set it to the file's folder; {HOW}."
        )
    path = Path(folder) / name
    if not path.is_file():
        raise FileNotFoundError(
            f"{name} is not in the folder {folder!r} named by the environment variable {VARIABLE}; {HOW}."
        )
    return path


def _arrays(name: str) -> dict[str, Any]:
    with np.load(data_file(name), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def load_ida(name: str) -> Bunch:
    """One of the 13 sets of the IDA benchmark (Rätsch, Onoda & Müller 2001).

    Parameters
    ----------
    name : str
        "banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart", "image", "ringnorm", "splice",
        "thyroid", "titanic", "twonorm" or "waveform".

    Returns
    -------
    Bunch
        ``data``, ``target`` (-1 or 1), and splits as row numbers, one split per row: ``official_train``,
        ``official_test`` (of the benchmark), ``regen_train``, ``regen_test`` (drawn anew, same sizes).

    References
    ----------
    G. Rätsch, T. Onoda and K.-R. Müller, "Soft margins for AdaBoost", 2001.
    """
    check_choice("name", name, IDA_NAMES)
    arrays = _arrays(f"ida_{name}.npz")
    splits = {key: value.astype(np.int64) for key, value in arrays.items() if key.endswith(("_train", "_test"))}
    return Bunch(data=arrays["x"], target=arrays["t"].astype(np.int64), **splits)


def load_mnist() -> Bunch:
    """MNIST digits 0-255, rows of 784, without 3 and 8: ``data``, ``target``, ``data_test``, ``target_test``;
    ``first100`` and ``first100_target`` are the first hundred of the original order, all digits."""
    arrays = _arrays("mnist.npz")
    return Bunch(
        data=arrays["x_train"],
        target=arrays["y_train"],
        data_test=arrays["x_test"],
        target_test=arrays["y_test"],
        first100=arrays["x_first100"],
        first100_target=arrays["y_first100"],
    )


def load_metabolite() -> Bunch:
    """Metabolites in the cold: ``data`` (154 x 52, 5 % NaN), ``complete``, ``row_names``, ``column_names``."""
    arrays = _arrays("metabolite.npz")
    return Bunch(
        data=arrays["incomplete"],
        complete=arrays["complete"],
        row_names=arrays["row_names"],
        column_names=arrays["column_names"],
    )


def load_mfeat() -> Bunch:
    """Six views of 2000 handwritten numerals: ``views`` (a dict: fou, fac, kar, pix, zer, mor) and ``target``."""
    arrays = _arrays("mfeat.npz")
    names = ("fou", "fac", "kar", "pix", "zer", "mor")
    return Bunch(views={name: arrays[name].astype(np.float64) for name in names}, target=arrays["y"])


def load_laser() -> Bunch:
    """Santa Fe series A: ``train`` (1000) and ``test`` (the next 100), and ``series``, all 10093 values."""
    arrays = _arrays("santafe_laser.npz")
    series = np.concatenate([arrays["a_dat"], arrays["a_cont"]]).astype(np.float64)
    return Bunch(train=arrays["train"], test=arrays["test"], series=series)


def load_sum_of_sines() -> Bunch:
    """The series of `make_sum_of_sines` as stored: ``series``, ``train`` (400), ``test`` (100)."""
    return Bunch(**_arrays("sum_of_sines.npz"))


def load_mackey_glass() -> Bunch:
    """Two chaotic series of 5000 values: ``tau17`` and ``tau30``."""
    return Bunch(**_arrays("mackey_glass.npz"))


def load_sunspots() -> Bunch:
    """Yearly sunspot activity: ``series`` and ``year``, 1700 to 2008."""
    arrays = _arrays("sunspots_yearly.npz")
    return Bunch(series=arrays["sunactivity"], year=arrays["year"])


def load_etth1() -> Bunch:
    """Electricity transformers, hourly: ``data`` (17420 x 7), ``feature_names``, ``start``, ``step_seconds``."""
    arrays = _arrays("etth1.npz")
    return Bunch(
        data=arrays["values"],
        feature_names=arrays["columns"],
        start=str(arrays["start"]),
        step_seconds=int(arrays["step_seconds"]),
    )


def load_helix() -> Bunch:
    """A noisy helix: ``data`` (1000 x 3)."""
    return Bunch(data=_arrays("helix.npz")["x"])


def load_wine() -> Bunch:
    """UCI wine: ``data`` (178 x 13), ``target``, ``feature_names``."""
    arrays = _arrays("wine.npz")
    return Bunch(data=arrays["x"], target=arrays["y"], feature_names=arrays["names"])


def load_khan() -> Bunch:
    """Gene expression of four tumours: ``data`` (63 x 2308), ``target``, ``data_test`` (20 rows), ``target_test``."""
    arrays = _arrays("khan_srbct.npz")
    return Bunch(
        data=arrays["x_train"], target=arrays["y_train"], data_test=arrays["x_test"], target_test=arrays["y_test"]
    )


def load_olivetti_faces() -> Bunch:
    """Forty faces ten times: ``data`` (400 x 4096, bytes, 64 x 64 row by row) and ``target`` (the subject)."""
    arrays = _arrays("olivetti_faces.npz")
    return Bunch(data=arrays["x"], target=arrays["subject"])


def load_covertype() -> Bunch:
    """Forest cover: ``data`` (581012 x 10, numbers), ``wilderness``, ``soil``, ``target``, ``feature_names``."""
    arrays = _arrays("covertype.npz")
    return Bunch(
        data=arrays["x_num"],
        wilderness=arrays["wilderness"],
        soil=arrays["soil"],
        target=arrays["y"],
        feature_names=arrays["num_names"],
    )
