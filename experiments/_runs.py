"""Long runs, each kept in a JSON file when it has ended: a script that was cut, or several side by side, go on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gramian import load, save

Run = dict[str, float]
"""What a run found, and its CPU ``seconds``."""


def known_runs(file: Path | None) -> dict[str, Run]:
    """The runs that have ended."""
    return json.loads(file.read_text()) if file is not None and file.exists() else {}


def run_once(file: Path | None, key: str, run: Callable[[], Run]) -> Run:
    """What a run found, from the file where it is there; a run that is made now says so and is put there."""
    known = known_runs(file)
    if key in known:
        return known[key]
    begun = time.process_time()
    found = {**run(), "seconds": time.process_time() - begun}
    print(key, found, flush=True)
    if file is not None:
        file.write_text(json.dumps({**known_runs(file), key: found}, indent=1))
    return found


def kept_model(folder: Path | None, name: str, fit: Callable[[], Any]) -> Any:
    """A fitted model, from the folder where it is there; one that is fitted now is put there."""
    if folder is None:
        return fit()
    file = folder / f"{name}.safetensors"
    if not file.exists():
        save(fit(), file)
    return load(file)
