"""Trials of a search, as records, as columns and as a checkpoint file."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

_FORMAT = "gramian-search"
_VERSION = 1


@dataclass(frozen=True)
class Trial:
    """One setting that was tried: where it is in the space, what it scored on the folds, or why it failed."""

    number: int
    point: tuple[float, ...]
    params: dict[str, Any]
    score: float
    std: float
    status: str
    seconds: float
    settled: dict[str, Any]
    """Parameters that the evaluation itself chose, such as q when all of them come from one decomposition."""
    error: str = ""
    error_type: str = ""


COLUMNS = ("number", "params", "score", "std", "status", "seconds")


def columns(trials: Sequence[Trial]) -> dict[str, list[Any]]:
    """The trials as a dict of columns, which ``pandas.DataFrame`` takes as it is."""
    return {name: [getattr(trial, name) for trial in trials] for name in COLUMNS}


def best_index(trials: Sequence[Trial]) -> int | None:
    """The first trial of the highest score, or None when all failed."""
    scores = np.array([trial.score for trial in trials], dtype=float)
    return int(np.nanargmax(scores)) if np.isfinite(scores).any() else None


# ---------------------------------------------------------------- the checkpoint


def write_checkpoint(path: Any, identity: dict[str, Any], seed: int, trials: Sequence[Trial]) -> None:
    """Write everything to a temporary file beside ``path``, then rename: a crash leaves the old file or the new one."""
    target = Path(os.fspath(path))
    body = {
        "format": _FORMAT,
        "version": _VERSION,
        "seed": seed,
        "identity": identity,
        "trials": [_plain(trial) for trial in trials],
    }
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name, suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(body, file, indent=1, allow_nan=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_checkpoint(path: Any, identity: dict[str, Any]) -> tuple[int, list[Trial]] | None:
    """Seed and trials (their ``params`` still to be decoded), or None where no file is.

    A file of another search (other data, space, objective, ...) is a ``ValueError`` that says what differs.
    """
    source = Path(os.fspath(path))
    if not source.exists():
        return None
    try:
        body = json.loads(source.read_text(encoding="utf-8"))
        if body["format"] != _FORMAT or body["version"] != _VERSION:
            raise ValueError("another format")
        seed, stored = int(body["seed"]), dict(body["identity"])
        trials = [_trial(row, number) for number, row in enumerate(body["trials"])]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"checkpoint={os.fspath(path)!r} is not a checkpoint of a search ({error}). Delete it or give another path."
        ) from error
    check_identity(
        stored, identity, f"checkpoint={os.fspath(path)!r} belongs to another search", "Delete it or give another path."
    )
    return seed, trials


def check_identity(stored: dict[str, Any], identity: dict[str, Any], what: str, remedy: str) -> None:
    """Trials may be continued only where their scores mean the same."""
    differing = [key for key in identity if stored.get(key) != identity[key]]
    if differing:
        raise ValueError(f"{what}: {', '.join(differing)} differ. {remedy}")


def _plain(trial: Trial) -> dict[str, Any]:
    return {
        "point": list(trial.point),
        "settled": trial.settled,
        "params": {
            name: value if isinstance(value, int | float | str | bool) else repr(value)
            for name, value in trial.params.items()
        },
        "score": trial.score if math.isfinite(trial.score) else None,
        "std": trial.std if math.isfinite(trial.std) else None,
        "status": trial.status,
        "seconds": trial.seconds,
        "error": trial.error,
        "error_type": trial.error_type,
    }


def _trial(row: dict[str, Any], number: int) -> Trial:
    return Trial(
        number=number,
        point=tuple(float(value) for value in row["point"]),
        params={},
        score=float("nan") if row["score"] is None else float(row["score"]),
        std=float("nan") if row["std"] is None else float(row["std"]),
        status=str(row["status"]),
        seconds=float(row["seconds"]),
        settled=dict(row["settled"]),
        error=str(row["error"]),
        error_type=str(row["error_type"]),
    )


def decode_points(trials: Sequence[Trial], space: Any) -> list[Trial]:
    """Trials read from a file, with their parameters decoded from their points."""
    for trial in trials:
        if len(trial.point) != space.width or not all(0.0 <= value <= 1.0 for value in trial.point):
            raise ValueError(
                f"trial {trial.number} of the checkpoint is not a point of the space. Delete the file or give another path."
            )
    return [replace(trial, params={**space.decode(trial.point), **trial.settled}) for trial in trials]
