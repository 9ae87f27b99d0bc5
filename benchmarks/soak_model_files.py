"""Model files from a stranger: mutate saved models of every estimator with a right checksum, load them, save them again, use what loads.

Run as ``python -m benchmarks.soak_model_files [number of files] [seed]``. First every attribute is left out and made None, and every
array gets a number that is far too large or too small; then come files with random mutations. Counts are printed: refused, loaded and used
without harm, and what should not be (another exception than promised, a silent NaN, a model that cannot be saved, more than 256 MiB above
the file's size).
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import re
import struct
import sys
import tempfile
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import gramian
from benchmarks._results import note
from gramian import ModelFileError, load, save
from gramian.features import FEATURE_MAPS
from gramian.kernels import RBF, Linear, Matern
from gramian.preimage import PREIMAGES

VIEWS = {"a": [0, 1], "b": [2, 3]}
MEMORY = 256 << 20
PROMISED = (ValueError, TypeError, MemoryError)  # ModelFileError and NotFittedError are ValueErrors


def data() -> tuple[Any, Any, Any]:
    """Rows, rows with holes, labels."""
    t = np.arange(24.0)
    X = np.column_stack(
        [np.sin(t), np.cos(t) + 0.1 * np.sin(5 * t), np.sin(t + 1) + 0.2 * np.cos(7 * t), 0.3 * np.cos(3 * t)]
    )
    holed = X.copy()
    holed[::5, 1] = np.nan
    return X, holed, np.where(X[:, 0] > 0, "up", "down")


def models() -> dict[str, Any]:
    """One small fitted model per estimator and per way of keeping state."""
    X, holed, y = data()
    kernel = {"kernel": RBF(1.0)}
    made = {
        "ppca": gramian.PPCA(2).fit(X),
        "ppca holes": gramian.PPCA(1, random_state=0).fit(holed),
        "ppca stream": gramian.PPCA(2).partial_fit(X),
        "kernel": gramian.KernelPPCA(2, **kernel).fit(X),
        "kernel sum": gramian.KernelPPCA(2, kernel=2.0 * Matern(1.5) + Linear(), noise_variance=0.01).fit(X),
        "nystroem": gramian.KernelPPCA(2, **kernel, approximation="nystroem", n_landmarks=8, random_state=0).fit(X),
        "rff": gramian.KernelPPCA(2, **kernel, approximation="rff", n_landmarks=8, random_state=0).fit(X),
        "mixture": gramian.PPCAMixture(2, 1, random_state=0).fit(X),
        "kernel mixture": gramian.KernelPPCAMixture(2, 1, **kernel, random_state=0).fit(X),
        "classifier": gramian.KernelPPCAClassifier(2, **kernel).fit(X, y),
        "views": gramian.MultiViewRKM(2, views=VIEWS).fit(X),
        "views dual": gramian.MultiViewRKM(2, views=VIEWS, **kernel).fit(X),
        "views mapped": gramian.MultiViewRKM(2, views=VIEWS, kernel=[FEATURE_MAPS["polynomial"](), Linear()]).fit(X),
        "regressor": gramian.RKMRegressor(**kernel, random_state=0).fit(X[:, :3], X[:, 3]),
        "rkm classifier": gramian.RKMClassifier(**kernel, random_state=0).fit(X, y),
        "forecaster": gramian.RKMForecaster(lags=4, random_state=0).fit(X[:, 0]),
        "dynamic": gramian.DynamicPPCA(1, random_state=0).fit(holed),
        "imputer": gramian.LatentImputer(gramian.PPCA(1, random_state=0)).fit(holed),
        "detector": gramian.LatentOutlierDetector(gramian.PPCA(1)).fit(X),
    }
    for name in PREIMAGES:
        if name != "exact":
            made[f"pre-image {name}"] = gramian.KernelPPCA(2, **kernel, preimage=name, random_state=0).fit(X)
    return made


def use(name: str, model: Any) -> None:
    """Call the main methods; a silent NaN is an ``AssertionError``."""
    X, holed, _ = data()
    rows = holed if name in ("ppca holes", "imputer") else X[:, :3] if name == "regressor" else X
    if name in ("forecaster", "dynamic"):
        _finite(model.predict(3))
        return
    methods = ("transform", "predict") if name != "rkm classifier" else ("predict_proba",)
    for method in (*methods, "reconstruct") if name.startswith("pre-image") else methods:
        if hasattr(model, method):
            _finite(getattr(model, method)(rows[:4] * 1.1))


def _finite(answer: Any) -> None:
    numbers = np.asarray(answer)
    assert numbers.dtype.kind not in "fc" or np.isfinite(numbers).all(), "a silent NaN"


# ---------------------------------------------------------------- a file in pieces, and together again


class Pieces:
    """The header, the manifest and the data of a model file, to be changed."""

    def __init__(self, content: bytes) -> None:
        length = int.from_bytes(content[:8], "little")
        self.header = json.loads(content[8 : 8 + length])
        self.manifest = json.loads(self.header["__metadata__"]["gramian"])
        self.data = bytearray(content[8 + length :])
        self.edit: Callable[[str], str] = lambda text: text

    @property
    def tensors(self) -> list[str]:
        """The names of the tensors."""
        return [name for name in self.header if name != "__metadata__"]

    def content(self) -> bytes:
        """A file with a checksum that is right again."""
        self.manifest["sha256"] = "0" * 64
        self.header["__metadata__"]["gramian"] = self.edit(json.dumps(self.manifest))
        text = json.dumps(self.header).encode()
        raw = struct.pack("<Q", len(text)) + text + bytes(self.data)
        return raw.replace(b"0" * 64, hashlib.sha256(raw).hexdigest().encode(), 1)


def spots(tree: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value of a JSON tree."""
    found, waiting = [], [tree]
    while waiting:
        node = waiting.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            found.append((node, key))
            if isinstance(node[key], dict | list):
                waiting.append(node[key])
    return found


VALUES = [None, True, 0, 1, -1, 3, 10**12, 2**70, 0.5, -1e300, 1e-320, "", "x", "rbf", "K", [], [1], {}, {"tuple": []}, {"again": 0},
          {"float": "nan"}, {"float": "inf"}, {"array": "t0"}, {"array": "t1", "order": "F"}, {"dict": [["a", 1]]},
          {"slice": [None, None, None]}, {"range": [0, 10**15, 1]}, {"dtype": "<f4"}, {"scalar": "<f8", "value": "000000000000f87f"},
          {"object": "kernels.RBF", "number": 777, "state": {}}, {"object": "PPCA", "number": 778, "state": {}}]  # fmt: skip


def change_value(pieces: Pieces, rng: np.random.Generator) -> None:
    """Another value somewhere in the model."""
    node, key = _pick(rng, spots(pieces.manifest["model"]))
    node[key] = copy.deepcopy(_pick(rng, VALUES))


def drop_value(pieces: Pieces, rng: np.random.Generator) -> None:
    """One value less."""
    node, key = _pick(rng, spots(pieces.manifest["model"]))
    del node[key]


def swap_values(pieces: Pieces, rng: np.random.Generator) -> None:
    """Two values in each other's place."""
    places = spots(pieces.manifest["model"])
    (a, i), (b, j) = _pick(rng, places), _pick(rng, places)
    with contextlib.suppress(KeyError, IndexError):
        a[i], b[j] = copy.deepcopy(b[j]), copy.deepcopy(a[i])


def rename_attribute(pieces: Pieces, rng: np.random.Generator) -> None:
    """An attribute under another name."""
    states = [node[key] for node, key in spots({"m": pieces.manifest["model"]}) if key == "state" and node[key]]
    state = _pick(rng, states)
    name = _pick(rng, list(state))
    state[_pick(rng, ["predict", "transform", "__class__", "fit", "extra", "_model", "mean_", "kept", name + "x"])] = (
        state.pop(name)
    )


def swap_tensors(pieces: Pieces, rng: np.random.Generator) -> None:
    """Two references to arrays exchanged."""
    places = [(node, key) for node, key in spots(pieces.manifest["model"]) if key == "array"]
    if places:
        (a, i), (b, j) = _pick(rng, places), _pick(rng, places)
        a[i], b[j] = b[j], a[i]


def change_numbers(pieces: Pieces, rng: np.random.Generator) -> None:
    """Eight bytes of the data: NaN, infinity, huge, tiny, negative, random."""
    at = 8 * int(rng.integers(0, max(len(pieces.data) // 8, 1)))
    value = _pick(rng, [np.nan, np.inf, -np.inf, 1e308, 1e-310, -1.0, 0.0, float(rng.normal())])
    pieces.data[at : at + 8] = struct.pack("<d", value)[: len(pieces.data) - at]


def reshape_tensor(pieces: Pieces, rng: np.random.Generator) -> None:
    """Another shape, dtype or place of a tensor."""
    entry = pieces.header[_pick(rng, pieces.tensors)]
    shape, size = entry["shape"], int(np.prod(entry["shape"]))
    which = int(rng.integers(5))
    if which == 0:
        entry["shape"] = shape[::-1]
    elif which == 1:
        entry["shape"] = _pick(rng, [[size], [size, 1], [1, size], [1] * 40, [-1], [2**62, 4], "x", [1.5], None])
    elif which == 2:
        entry["dtype"] = _pick(rng, ["F32", "I64", "U8", "BOOL", "BF16", "C64", "", None, 3, "F65"])
    elif which == 3:
        entry["data_offsets"] = _pick(rng, [[0, 8], [8, 0], [-8, 8], [0, 2**63], [0], "x", [0, 1.5], [0, 10**400]])
    else:
        entry["data_offsets"] = [offset + 8 for offset in entry["data_offsets"]]


def nest(pieces: Pieces, rng: np.random.Generator) -> None:
    """A deep or a wide value."""
    node, key = _pick(rng, spots(pieces.manifest["model"]))
    deep: Any = []
    for _ in range(int(rng.integers(1, 300))):
        deep = [deep] if rng.random() < 0.5 else {"tuple": [deep]}
    node[key] = deep if rng.random() < 0.5 else [[]] * int(rng.integers(1, 3000))


def edit_text(pieces: Pieces, rng: np.random.Generator) -> None:
    """JSON that is not strict: NaN, a number beyond floats, keys twice, a surrogate, half a text."""
    edits: list[Callable[[str], str]] = [
        lambda text: re.sub(r": \d+\.\d+", ": NaN", text, count=1),
        lambda text: re.sub(r": \d+\.\d+", ": 1e999", text, count=1),
        lambda text: text.replace('"number": 0', '"number": 0, "number": 0', 1),
        lambda text: text.replace('"state": {', '"state": {"x_": 1, "x_": 2, ', 1),
        lambda text: text.replace('"PPCA"', '"\\ud800"', 1),
        lambda text: text[: len(text) // 2],
        lambda text: text + "]",
    ]
    pieces.edit = _pick(rng, edits)


MUTATIONS = (change_value, change_value, change_value, drop_value, swap_values, rename_attribute, swap_tensors, change_numbers,
             reshape_tensor, nest, edit_text)  # fmt: skip


def _pick(rng: np.random.Generator, items: Any) -> Any:
    return items[int(rng.integers(len(items)))]


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """The file with one to three mutations, or with raw bytes changed."""
    if rng.random() < 0.1:
        raw = bytearray(content)
        for _ in range(int(rng.integers(1, 4))):
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        return bytes(raw[: int(rng.integers(len(raw)))] if rng.random() < 0.3 else raw)
    pieces = Pieces(content)
    for _ in range(int(rng.integers(1, 4))):
        try:
            _pick(rng, MUTATIONS)(pieces, rng)
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            break  # an earlier mutation took away what this one needs
    return pieces.content()


EXTREMES = (1e308, -1e308, 1e200, 5e-324)


def without_each_attribute(content: bytes, value: tuple[Any, ...] = ()) -> Iterator[tuple[str, bytes]]:
    """The file without each attribute of each object, or with another ``value`` of it; of objects in a list one for all."""
    done = set()
    for path in _attributes(Pieces(content).manifest["model"]):
        where = ".".join("[]" if isinstance(key, int) else key for key in path)
        if where in done:
            continue
        done.add(where)
        pieces = Pieces(content)
        node = pieces.manifest["model"]
        for key in path[:-1]:
            node = node[key]
        if value:
            node[path[-1]] = value[0]
        else:
            del node[path[-1]]
        yield where, pieces.content()


def _attributes(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the attributes of all objects of a JSON tree stand."""
    if not isinstance(tree, dict | list):
        return
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        if key == "state" and isinstance(tree[key], dict):
            yield from ((*path, key, name) for name in tree[key])
        yield from _attributes(tree[key], (*path, key))


def with_extreme_numbers(content: bytes, quick: bool = False) -> Iterator[tuple[str, bytes]]:
    """The file with the first, the middle or the last number of each array of float64 far too large or too small; or one of these."""
    for name in Pieces(content).tensors:
        entry = Pieces(content).header[name]
        start, stop = entry["data_offsets"]
        if entry["dtype"] != "F64" or stop == start:
            continue
        for at in {start} if quick else {start, start + 8 * ((stop - start) // 16), stop - 8}:
            for value in EXTREMES[:1] if quick else EXTREMES:
                pieces = Pieces(content)
                pieces.data[at : at + 8] = struct.pack("<d", value)
                yield f"{name} at {at - start}: {value}", pieces.content()


def systematic(content: bytes, quick: bool = False) -> Iterator[tuple[str, bytes]]:
    """All files that differ from this one in one place, in these three ways."""
    yield from ((f"without {where}", changed) for where, changed in without_each_attribute(content))
    yield from ((f"None at {where}", changed) for where, changed in without_each_attribute(content, (None,)))
    yield from with_extreme_numbers(content, quick)


def swept(chosen: dict[str, Any], memory: bool = False, quick: bool = False) -> tuple[Counter[str], list[str]]:
    """Counts of what became of the `systematic` changes of some models, and a line for each that broke a promise."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        for name, model in chosen.items():
            save(model, path)
            for where, changed in systematic(path.read_bytes(), quick):
                path.write_bytes(changed)
                outcome = _outcome(name, path, memory)
                counts[outcome.partition(":")[0]] += 1
                if outcome.startswith("BROKEN"):
                    broken.append(f"{name}, {where}: {outcome}")
    return counts, broken


def fuzz(
    n_files: int,
    seed: int = 0,
    chosen: dict[str, Any] | None = None,
    memory: bool = False,
    say: Callable[[str], None] = lambda line: None,
) -> tuple[Counter[str], list[str]]:
    """Counts of what became of ``n_files`` mutated files, and a line for each that broke a promise."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        originals = {}
        for name, model in (chosen or models()).items():
            save(model, path)
            originals[name] = path.read_bytes()
        for number in range(n_files):
            name = list(originals)[number % len(originals)]
            path.write_bytes(mutated(originals[name], np.random.default_rng([seed, number])))
            outcome = _outcome(name, path, memory)
            counts[outcome.partition(":")[0]] += 1
            if outcome.startswith("BROKEN"):
                broken.append(f"{name}, file {number} of seed {seed}: {outcome}")
                say(broken[-1])
            if (number + 1) % 1000 == 0:
                say(f"{number + 1} files: {dict(counts)}")
    return counts, broken


def _outcome(name: str, path: Path, memory: bool) -> str:
    if memory:
        tracemalloc.start()
    try:
        model = load(path)
    except ModelFileError:
        model = None
    except Exception as error:
        return f"BROKEN load: {type(error).__name__}: {error}"
    finally:
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        tracemalloc.stop()
    if peak > path.stat().st_size + MEMORY:
        return f"BROKEN memory: {peak >> 20} MiB"
    if model is None:
        return "refused"
    try:
        save(model, path)
        load(path)
    except Exception as error:
        return f"BROKEN save: {type(error).__name__}: {str(error)[:120]}"
    try:
        use(name, model)
    except PROMISED as error:
        return f"loaded, then {type(error).__name__}"
    except Exception as error:
        return f"BROKEN use: {type(error).__name__}: {str(error)[:120]}"
    return "loaded, finite answers"


def main() -> None:
    """Print the counts."""
    given = [int(word) for word in sys.argv[1:]]
    n_files, seed = (*given, *(2000, 0)[len(given) :])
    start = time.process_time()
    known, wrong = swept(models(), memory=True)
    print(f"{sum(known.values())} files changed in one place each: {dict(known)}", *wrong, sep="\n", flush=True)
    counts, broken = fuzz(n_files, seed, memory=True, say=lambda line: print(line, flush=True))
    seconds = time.process_time() - start
    print(f"{n_files} mutated model files, seed {seed}, {seconds:.0f} s of CPU, {len(broken)} broken promises")
    for outcome, count in counts.most_common():
        print(f"{count:8d}  {outcome}")
    note(
        "model files",
        {
            "files": n_files,
            "seed": seed,
            "CPU seconds": round(seconds),
            "outcomes": dict(counts),
            "broken": wrong + broken,
            "changed in one place": dict(known),
        },
    )


if __name__ == "__main__":
    main()
