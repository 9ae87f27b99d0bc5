"""Model files: safetensors with a JSON manifest. Data only: loading one from a stranger can run no code.

Layout: 8 bytes with the header's length, the JSON header, the tensors. The header's ``__metadata__`` has one entry,
``gramian``: the manifest, itself JSON, with the format's name, a SHA-256 over the whole file (taken with the digits of
the checksum as zeros), the format's version, the versions of what wrote it, and the state of the model
(:mod:`gramian.io.encoding`).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from gramian import __version__
from gramian.exceptions import ModelFileError
from gramian.io.atomic import atomic_path
from gramian.io.encoding import decode, encode

FORMAT = "gramian model"
VERSION = 1
MAX_HEADER = 100_000_000  # safetensors' own limit
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

    Raises
    ------
    ValueError
        If the model holds something that is not data: a callable kernel, a random generator, an object of another
        library.

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
    manifest = {
        "format": FORMAT,
        "sha256": ZEROS.decode(),
        "version": VERSION,
        "written by": {"gramian": __version__, "numpy": np.__version__},
        "model": tree,
    }
    text = json.dumps(manifest, ensure_ascii=True, allow_nan=False)
    content = to_bytes(tensors, metadata={"gramian": text})
    if int.from_bytes(content[:8], "little") > MAX_HEADER:
        raise ValueError(
            f"the model's description takes {len(text)} bytes, above the {MAX_HEADER} that a model file can "
            "hold, so it cannot be saved."
        )
    digest = hashlib.sha256(content).hexdigest().encode()
    with atomic_path(path) as temporary:
        temporary.write_bytes(
            content.replace(ZEROS, digest, 1)
        )  # the first zeros are the manifest's: it leads the header


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that :func:`save` wrote. The file's content decides, not its suffix.

    Raises
    ------
    ModelFileError
        If the file is not a model file, is damaged, comes from a newer gramian, names a class that is not registered,
        or is a
        pickle: those are refused by their first bytes and never parsed.
    OSError
        If the file cannot be read at all.
    """
    manifest, tensors = _read(Path(path))
    return decode(manifest["model"], tensors)


def read_manifest(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The manifest of a model file after all checks, without building the model."""
    return _read(Path(path))[0]


def _read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(16)
        _check_magic(head, _last_byte(path, size), size)
        header = head[8:] + file.read(int.from_bytes(head[:8], "little") - len(head[8:]))
        layout = _parse_header(header)
        _check_sizes(layout, size - 8 - len(header))
        manifest = _parse_manifest(layout)
        _check_digest(file, head[:8], header, str(manifest.get("sha256")))
    try:
        with safe_open(str(path), framework="numpy") as opened:
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, ValueError, TypeError) as error:
        raise ModelFileError(f"the model file's tensors cannot be read ({error}).") from error
    return _migrated(manifest), tensors


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
    if length > MAX_HEADER or length > size - 8:
        raise ModelFileError(
            f"the file is truncated or damaged: its header claims {length} bytes, the file has {size}."
        )


def _last_byte(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        file.seek(max(size - 1, 0))
        return file.read(1)


def _parse_header(header: bytes) -> dict[str, Any]:
    try:
        layout = json.loads(header)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"the model file is damaged: its header is not JSON ({type(error).__name__}).") from error
    if not isinstance(layout, dict):
        raise ModelFileError("the model file is damaged: its header is not a table of tensors.")
    return layout


def _check_sizes(layout: dict[str, Any], available: int) -> None:
    """Every tensor inside the file, before anything is allocated for it."""
    try:
        ends = [0, *(int(entry["data_offsets"][1]) for name, entry in layout.items() if name != "__metadata__")]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError("the model file is damaged: a tensor without its place.") from error
    if max(ends) != available:
        raise ModelFileError(
            f"the file is truncated or damaged: its tensors claim {max(ends)} bytes, the file has {available} for them."
        )


def _parse_manifest(layout: dict[str, Any]) -> dict[str, Any]:
    metadata = layout.get("__metadata__")
    text = metadata.get("gramian") if isinstance(metadata, dict) else None
    if not isinstance(text, str):
        raise ModelFileError("the file is a safetensors file without gramian's manifest, not a model file of gramian.")
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"the model file is damaged: its manifest is not JSON ({type(error).__name__})."
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or "model" not in manifest:
        raise ModelFileError("the model file is damaged: its manifest is not that of a gramian model.")
    return manifest


def _check_digest(file: Any, length: bytes, header: bytes, claimed: str) -> None:
    if len(claimed) != 64:
        raise ModelFileError("the model file is damaged: its checksum is missing.")
    digest = hashlib.sha256(length + header.replace(claimed.encode(), ZEROS, 1))
    while block := file.read(1 << 20):
        digest.update(block)
    if digest.hexdigest() != claimed:
        raise ModelFileError(
            f"checksum mismatch: the file says sha256 {claimed[:12]}..., its content gives "
            f"{digest.hexdigest()[:12]}.... The file is damaged."
        )


def _migrated(manifest: dict[str, Any]) -> dict[str, Any]:
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
