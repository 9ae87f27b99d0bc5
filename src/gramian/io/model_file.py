"""Model files: safetensors with a JSON manifest. Data only: loading one from a stranger can run no code.

Layout: 8 bytes with the header's length, the JSON header, the tensors. The header's ``__metadata__`` has one entry,
``gramian``: the manifest, itself JSON, with the format's name, a SHA-256 over the whole file (taken with the digits of
the checksum as zeros), the format's version, the versions of what wrote it, and the state of the model
(:mod:`gramian.io.encoder`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save as to_bytes

from gramian import __version__
from gramian._arrays import Array
from gramian.exceptions import ModelFileError
from gramian.io.atomic import atomic_path
from gramian.io.conformity import problem_of
from gramian.io.decoder import decode
from gramian.io.encoder import encode
from gramian.io.registry import check_whole
from gramian.io.strict_json import marks, parse
from gramian.io.tensors import places, read
from gramian.policy import FILES

FORMAT = "gramian model"
VERSION = 1

ZEROS = b"0" * 64

MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""``MIGRATIONS[v]`` turns a manifest of version v into one of version v + 1."""


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a model to one file: safetensors with a JSON manifest, no pickle.

    The file is written beside ``path`` and then put in its place, so that an earlier file is intact if anything fails.

    Parameters
    ----------
    model : estimator, kernel, feature map, solver or pre-image of gramian, fitted or not
    path : str or path
        Any suffix will do; ``.safetensors`` is usual.

    Returns
    -------
    None

    Raises
    ------
    ValueError
        If the model holds something that is not data: a callable kernel, a random generator, an object of another
        library.

    References
    ----------
    docs/model_files.md: what a model file holds.

    Examples
    --------
    >>> import tempfile, os
    >>> import numpy as np
    >>> from gramian import PPCA, load, save
    >>> model = PPCA(n_components=1).fit(np.random.default_rng(0).normal(size=(20, 3)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "model.safetensors")
    ...     save(model, file)
    ...     again = load(file)
    >>> bool((again.loadings_ == model.loadings_).all())
    True
    """
    tree, tensors = encode(model)
    check_whole(model, ValueError)
    if wrong := problem_of(model):
        raise ValueError(f"the model cannot be saved, because it is not as gramian made it: {wrong}.")
    manifest = {
        "format": FORMAT,
        "sha256": ZEROS.decode(),
        "version": VERSION,
        "written by": {"gramian": __version__, "numpy": np.__version__},
        "model": tree,
    }
    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False)
    content = to_bytes(tensors, metadata={"gramian": text})
    length = int.from_bytes(content[:8], "little")
    if length > FILES.header or marks(content[8 : 8 + length]) > FILES.values:
        raise ValueError(
            f"the model's description takes {length} bytes, above the {FILES.header} bytes or the {FILES.values} values that a model "
            "file can hold, so it cannot be saved."
        )
    digest = hashlib.sha256(content).hexdigest().encode()
    with atomic_path(path) as temporary:
        temporary.write_bytes(
            content.replace(ZEROS, digest, 1)
        )  # the first zeros are the manifest's: it leads the header


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote. The file's content decides, not its suffix.

    A file from a stranger can run no code and takes at most 256 MiB more memory than its own size.

    Parameters
    ----------
    path : str or path
        A file that `save` wrote.

    Returns
    -------
    The model, fitted if it was when it was saved.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, comes from a newer gramian, names a class that is not registered, holds
        a state that its class does not have, or is a pickle: those are refused by their first bytes and never parsed.
    OSError
        If the file cannot be read at all.

    References
    ----------
    docs/model_files.md: what a model file holds.

    Examples
    --------
    >>> import os
    >>> import tempfile
    >>> from gramian import load, save
    >>> from gramian.kernels import RBF
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(RBF(2.0), os.path.join(folder, "kernel.safetensors"))
    ...     again = load(os.path.join(folder, "kernel.safetensors"))
    ...
    >>> again
    RBF(length_scale=2.0)
    """
    with _one_door():
        manifest, tensors = _read(Path(path))
        model = decode(manifest["model"], tensors)
        check_whole(model)
        if wrong := problem_of(model):
            raise ModelFileError(f"the model file holds a state that its class does not have: {wrong}.")
        return model


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a model file after all checks, without building the model."""
    with _one_door():
        return _read(Path(path))[0]


@contextmanager
def _one_door() -> Iterator[None]:
    """Whatever a file can cause inside is a ``ModelFileError``; a file that cannot be read stays an ``OSError``."""
    try:
        yield
    except (ModelFileError, OSError):
        raise
    except Exception as error:
        said = str(error).encode("ascii", "backslashreplace").decode()[:200]
        raise ModelFileError(f"the model file cannot be loaded ({type(error).__name__}: {said}).") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    info = path.stat()
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        raise ModelFileError("a pipe or a device is not a model file: give the path of a file.")
    size = info.st_size
    with path.open("rb") as file:
        head = file.read(16)
        _check_magic(head, _last_byte(path, size), size)
        file.seek(8)
        header = file.read(int.from_bytes(head[:8], "little"))
        layout = parse(header, "header")
        if not isinstance(layout, dict):
            raise ModelFileError("the model file is damaged: its header is not a table of tensors.")
        known = places(layout, size - 8 - len(header))
        manifest = _parse_manifest(layout)
        claimed = str(manifest.get("sha256"))
        if not re.fullmatch("[0-9a-f]{64}", claimed):
            raise ModelFileError("the model file is damaged: its checksum is missing.")
        digest = hashlib.sha256(head[:8] + header.replace(claimed.encode(), ZEROS, 1))
        tensors = read(file, known, digest)
    if digest.hexdigest() != claimed:
        raise ModelFileError(
            f"checksum mismatch: the file says sha256 {claimed[:12]}..., its content gives "
            f"{digest.hexdigest()[:12]}.... The file is damaged."
        )
    return _migrate(manifest), tensors


# ---------------------------------------------------------------- checks, in the order in which they are made

_FOREIGN = {
    b"PK\x03\x04": "a zip archive (skops, NPZ or spreadsheet)",
    b"\x93NUMPY": "a NumPy array",
    b"PAR1": "a Parquet table",
    b"\x89HDF": "an HDF5 file",
}
_COMPRESSED = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ",
    b"\x5d\x00\x00",
    b"\x04\x22\x4d\x18",
    b"\x28\xb5\x2f\xfd",
    b"x\x01",
    b"x\x5e",
    b"x\x9c",
    b"x\xda",
    b"ZF",
)


def is_pickle(head: bytes, last: bytes = b"") -> bool:
    """Whether a file that starts with ``head`` (and ends with ``last``) is a pickle or what joblib makes of one."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"):
        return True
    if head.startswith(_COMPRESSED):
        return True  # joblib compresses pickles; nothing else compressed is a model either
    return last == b"." and head[:1] in (
        b"(",
        b"]",
        b"}",
        b")",
        b"c",
        b"I",
        b"L",
        b"F",
        b"S",
        b"V",
        b"N",
        b"K",
        b"J",
        b"X",
        b"G",
        b"]",
    )


def _check_magic(head: bytes, last: bytes, size: int) -> None:
    if size == 0:
        raise ModelFileError("the file is empty, not a model file.")
    length = int.from_bytes(head[:8], "little")
    looks_right = len(head) > 8 and head[8:9] == b"{"
    if not looks_right and is_pickle(head, last):
        raise ModelFileError("pickle files are not loaded: they can run code. Save models with gramian.save.")
    if not looks_right:
        kind = next((what for magic, what in _FOREIGN.items() if head.startswith(magic)), "not a model file")
        raise ModelFileError(f"the file is {kind}: a model file written by gramian.save is expected.")
    if length > FILES.header or length > size - 8:
        raise ModelFileError(
            f"the file is truncated or damaged: its header claims {length} bytes, the file has {size}."
        )


def _last_byte(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(size - 1, 0))
        return file.read(1)


def _parse_manifest(layout: dict[str, Any]) -> dict[str, Any]:
    metadata = layout.get("__metadata__")
    text = metadata.get("gramian") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("the file is a safetensors file without gramian's manifest, not a model file of gramian.")
    manifest = parse(text, "manifest")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or "model" not in manifest:
        raise ModelFileError("the model file is damaged: its manifest is not that of a gramian model.")
    return manifest


def _migrate(manifest: dict[str, Any]) -> dict[str, Any]:
    version = manifest.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"the model file has no valid format version ({str(version)[:20]}).")
    if version > VERSION:
        writer = manifest.get("written by")
        by = f" by gramian {str(writer.get('gramian'))[:20]}" if isinstance(writer, dict) else ""
        raise ModelFileError(
            f"the model file has format version {version}, written{by}; this gramian ({__version__}) reads "
            f"up to {VERSION}. Upgrade gramian."
        )
    while version < VERSION:
        manifest = MIGRATIONS[version](manifest)
        version += 1
    return manifest
