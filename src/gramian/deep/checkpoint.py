"""Checkpoints of a training run: arrays and JSON in one file, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from gramian._arrays import Array
from gramian.exceptions import ModelFileError
from gramian.io.atomic import atomic_path

KIND = "gramian training run 1"


def write_checkpoint(path: str | os.PathLike[str], arrays: dict[str, Array], facts: dict[str, Any]) -> None:
    """Put the arrays and the facts (JSON) in the file."""
    from safetensors.numpy import save_file

    with atomic_path(path) as temporary:
        save_file(
            {name: np.array(array, order="C") for name, array in arrays.items()},
            os.fspath(temporary),
            metadata={"kind": KIND, "facts": json.dumps(facts)},
        )


def read_checkpoint(path: str | os.PathLike[str]) -> tuple[dict[str, Array], dict[str, Any]] | None:
    """What `write_checkpoint` put there; None where there is no file."""
    from safetensors import SafetensorError, safe_open

    if not Path(path).exists():
        return None
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("kind") != KIND:
                raise ModelFileError(
                    f"checkpoint={os.fspath(path)!r} is not a checkpoint of DeepRKM. Name another file."
                )
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(metadata["facts"])  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, json.JSONDecodeError) as error:
        raise ModelFileError(
            f"checkpoint={os.fspath(path)!r} cannot be read ({error}). Delete it, or name another file."
        ) from error
