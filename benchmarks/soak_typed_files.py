"""Model files by a second mutator: live models with values of other kinds, swapped parts, cycles and deep nests, written with a right checksum.

Run as ``python -m benchmarks.soak_typed_files [number of files] [seed]``. First every attribute of every object is left out and made None, then
come values changed at random. :mod:`benchmarks.soak_model_files` changes the text and the bytes of a
file; this one changes the objects themselves, so that every file is well-formed and only its state is wrong. What loads is saved again
and asked everything that its class can be asked.
"""

from __future__ import annotations

import contextlib
import copy
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._results import note
from benchmarks.promises import EXCEPTIONS, NEVER, Endless, within
from benchmarks.soak_model_files import Pieces, data, models
from gramian import ModelFileError, kernels, load, save
from gramian.io.declarations import ATOMS, own_attributes
from gramian.io.encoder import encode
from gramian.latent.anomaly import Anomaly

SECONDS = 20.0
ROW_METHODS = ("transform", "predict", "predict_proba", "decision_function", "score_samples", "residual", "mahalanobis", "reconstruct",
               "impute", "posterior", "anomaly", "interval", "nowcast", "smooth")  # fmt: skip


# ---------------------------------------------------------------- what a model can be asked


def questions(name: str, model: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Everything that a model of that name can be asked, one call at a time."""
    X, holed, _ = data()
    rows = holed if name in ("ppca holes", "imputer", "dynamic") else X[:, :3] if name == "regressor" else X
    yield "repr", lambda: repr(model)
    yield "get_params", lambda: str(model.get_params())
    if name in ("forecaster", "dynamic"):
        yield "predict", lambda: model.predict(3)
        if name == "forecaster":
            yield "predict_interval", lambda: model.predict_interval(3)
            yield "sample_paths", lambda: model.sample_paths(3, 2)
            return
    for method in ROW_METHODS:
        if hasattr(type(model), method) and not (name == "dynamic" and method == "predict"):
            yield method, lambda method=method: getattr(model, method)(rows[:4] * 1.1)
    if hasattr(type(model), "sample"):
        yield "sample", lambda: model.sample(2, random_state=0)
    if hasattr(type(model), "inverse_transform") and hasattr(type(model), "transform"):
        yield "inverse_transform", lambda: model.inverse_transform(model.transform(rows[:3]))
    if hasattr(type(model), "get_feature_names_out"):
        yield "get_feature_names_out", lambda: model.get_feature_names_out()


def numbers(answer: Any) -> Iterator[Any]:
    """The arrays of numbers in an answer."""
    if isinstance(answer, np.ndarray | np.generic | float):
        if np.asarray(answer).dtype.kind in "fc":
            yield np.asarray(answer)
    elif isinstance(answer, list | tuple):
        for part in answer:
            yield from numbers(part)
    elif hasattr(answer, "__dict__") and type(answer).__module__.startswith("gramian"):
        for part in vars(answer).values():
            yield from numbers(part)


# ---------------------------------------------------------------- places in a model, and other values for them


def places(model: Any) -> list[tuple[Any, Any]]:
    """(container, key) of every value inside a model: attributes, items of lists and dicts."""
    found, waiting, seen = [], [model], {id(model)}
    while waiting:
        node = waiting.pop()
        inside = (
            dict(enumerate(node))
            if isinstance(node, list)
            else node
            if isinstance(node, dict)
            else own_attributes(node)
        )
        for key, value in list(inside.items()):
            found.append((node, key))
            if not isinstance(value, (*ATOMS, tuple)) and not sparse.issparse(value) and id(value) not in seen:
                seen.add(id(value))
                waiting.append(value)
    return found


def at(place: tuple[Any, Any]) -> Any:
    """What stands there."""
    node, key = place
    return node[key] if isinstance(node, list | dict) else own_attributes(node)[key]


def put(place: tuple[Any, Any], value: Any) -> None:
    """Another value there, past any property."""
    node, key = place
    if isinstance(node, list | dict):
        node[key] = value
    elif hasattr(node, "__dict__"):
        node.__dict__[key] = value
    else:
        object.__setattr__(node, key, value)


def other_kinds(rng: np.random.Generator) -> Any:
    """A value of some kind."""
    shape = tuple(rng.integers(0, 5, int(rng.integers(0, 4))))
    pool = (None, True, 0, 1, -1, 3, 2**40, 0.5, -1e300, 1e-320, "", "auto", "rbf", [], (), {}, [0, 1], (1.0, 2.0), {"a": 1}, [None], [[]],
            slice(None), range(3), np.dtype("<f4"), np.float32(2.0), np.int64(5), np.array(["a", "b"]), np.array(["a", "b"], dtype=object),
            rng.standard_normal(shape), rng.standard_normal(shape).astype(np.float32), rng.integers(-5, 60, shape), np.ones(shape, dtype=bool),
            sparse.csr_array(np.eye(3)), kernels.RBF(1.0), kernels.Linear() + kernels.RBF())  # fmt: skip
    return pool[int(rng.integers(len(pool)))]


def other_array(value: Any, rng: np.random.Generator) -> Any:
    """An array of other numbers, another shape or another dtype."""
    changes: list[Callable[[Any], Any]] = [
        lambda a: a.T,
        lambda a: a[:-1],
        lambda a: a[..., :-1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[..., None],
        lambda a: a.ravel(),
        lambda a: a[::-1],
        lambda a: -a,
        lambda a: 0 * a,
        lambda a: a.astype(np.float32),
        lambda a: a.astype(np.int64),
        lambda a: a > 0,
        lambda a: a.astype(np.float64) * 1e200,
        lambda a: a.astype(np.float64) * 1e-200,
        lambda a: np.full(a.shape, np.nan),
        lambda a: a[:0],
        lambda a: a.astype(str),
        lambda a: a.astype(str).astype(object),
        lambda a: a.tolist(),
        lambda a: a.flat[0] if a.size else 0.0,
    ]
    with np.errstate(all="ignore"):
        try:
            return changes[int(rng.integers(len(changes)))](np.asarray(value))
        except (ValueError, TypeError, IndexError):  # text has no sign, one number no last column
            return None


def other_number(value: Any, rng: np.random.Generator) -> Any:
    """Another number, or the same of another kind."""
    pool = (
        -value,
        0,
        value + 1,
        value * 1e6,
        10**9,
        str(value),
        float(value),
        np.float64(value),
        [value],
        np.array([value]),
        np.nan,
        np.inf,
    )
    return pool[int(rng.integers(len(pool)))]


def mutate(model: Any, rng: np.random.Generator) -> str:
    """Change one value of a model in place; what was done, in words."""
    everywhere = places(model)
    place = everywhere[int(rng.integers(len(everywhere)))]
    value, ways = at(place), ["kind", "kind", "swap", "swap", "cycle", "nest", "drop", "move"]
    if isinstance(value, np.ndarray):
        ways += ["array"] * 8
    if isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool):
        ways += ["number"] * 6
    way = ways[int(rng.integers(len(ways)))]
    if way == "kind":
        put(place, other_kinds(rng))
    elif way == "array":
        put(place, other_array(value, rng))
    elif way == "number":
        put(place, other_number(value, rng))
    elif way == "swap":  # with a value of the same kind
        alike = [other for other in everywhere if type(at(other)) is type(value)]
        other = alike[int(rng.integers(len(alike)))]
        there = at(other)
        put(other, value)
        put(place, there)
    elif way == "move":  # anything from anywhere
        put(place, at(everywhere[int(rng.integers(len(everywhere)))]))
    elif way == "cycle":
        put(place, model if rng.random() < 0.5 else place[0])
    elif way == "nest":
        for _ in range(int(rng.integers(1, 60))):
            value = [value] if rng.random() < 0.5 else (value,)
        put(place, value)
    elif isinstance(place[0], dict | list):
        del place[0][place[1]]
    elif hasattr(place[0], "__dict__"):
        del place[0].__dict__[place[1]]
    owner = type(place[0]).__name__
    return f"{way} at {owner}.{place[1]}" if isinstance(place[1], str) else f"{way} in a {owner}"


def written(model: Any, template: bytes) -> bytes:
    """A file of a model as it is, without the checks of `save`."""
    from safetensors.numpy import save as to_bytes

    tree, tensors = encode(model)
    pieces = Pieces(to_bytes(tensors, metadata={"gramian": "{}"}))
    pieces.manifest = {**Pieces(template).manifest, "model": tree}
    return pieces.content()


# ---------------------------------------------------------------- what becomes of a file


def outcome(name: str, path: Path) -> tuple[str, str]:
    """Refused, answers, said later, or a broken promise; and where it stood."""
    try:
        with within(SECONDS):
            model = load(path)
    except ModelFileError:
        return "refused", ""
    except BaseException as error:
        return "BROKEN load", f"{type(error).__name__}: {error}"
    try:
        save(model, path)
        load(path)
    except Exception as error:
        return "BROKEN save", f"{type(error).__name__}: {str(error)[:120]}"
    said = ""
    for method, question in questions(name, model):
        try:
            with within(SECONDS):
                answer = question()
        except (Endless, Exception) as error:
            words = f"{method}: {type(error).__name__}: {str(error)[:120]} ({_where(error)})"
            if not isinstance(error, EXCEPTIONS) or isinstance(error, NEVER):
                return "BROKEN use", words
            said = said or words
            continue
        # limits that are not known are said to be infinite
        unknown = isinstance(answer, Anomaly) and np.all(answer.limit_spe == np.inf) and (answer.p_spe == 1).all()
        if not unknown and not all(np.isfinite(part).all() for part in numbers(answer)):
            return "BROKEN use", f"{method}: a silent NaN"
    return ("loaded, one method said no", said) if said else ("loaded, finite answers", "")


def _where(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/gramian/" in f.filename]
    return f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""


def omissions(chosen: dict[str, Any] | None = None) -> tuple[Counter[str], list[str]]:
    """Every attribute of every object in the models, left out and made None: counts of what became of the files, and the broken promises."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    seen: set[tuple[str, str, Any]] = set()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        for name, live in (chosen or models()).items():
            save(live, path)
            template, innate = path.read_bytes(), outcome(name, path)
            for number, (node, key) in enumerate(places(live)):
                # the same attribute of another pre-image is told apart by its own class
                known = (name.partition(" ")[0] if name.startswith("pre-image") else name, type(node).__name__, key)
                if isinstance(node, list) or known in seen:
                    continue
                seen.add(known)
                for way in ("drop", "none"):
                    model = copy.deepcopy(live)
                    place = places(model)[number]
                    if way == "none":
                        put(place, None)
                    elif isinstance(place[0], dict):
                        del place[0][key]
                    elif hasattr(place[0], "__dict__"):
                        place[0].__dict__.pop(key, None)
                    else:
                        continue
                    try:
                        path.write_bytes(written(model, template))
                    except (ValueError, RecursionError, TypeError, AttributeError):
                        counts["cannot be written"] += 1
                        continue
                    kind, words = outcome(name, path)
                    if (kind, words) == innate:
                        kind = "loaded, finite answers"
                    counts[kind] += 1
                    if kind.startswith("BROKEN"):
                        broken.append(f"{name}, {way} at {type(node).__name__}.{key}: {kind}: {words}")
    return counts, broken


def fuzz(
    n_files: int, seed: int = 0, chosen: dict[str, Any] | None = None, say: Callable[[str], None] = lambda line: None
) -> tuple[Counter[str], list[str], list[str]]:
    """Counts of what became of ``n_files`` mutated files, a line for each that broke a promise, and one for each that spoke later."""
    counts: Counter[str] = Counter()
    broken: list[str] = []
    late: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        path = Path(folder) / "m"
        live = chosen or models()
        templates, innate = {}, {}
        for name, model in live.items():
            save(model, path)
            templates[name] = path.read_bytes()
            innate[name] = outcome(name, path)
        for number in range(n_files):
            rng = np.random.default_rng([seed, number])
            name = list(live)[number % len(live)]
            model = copy.deepcopy(live[name])
            done = mutate(model, rng)
            content = None
            with contextlib.suppress(ValueError, RecursionError, TypeError, AttributeError):
                content = written(model, templates[name])
            if content is None:
                counts["cannot be written"] += 1
                continue
            path.write_bytes(content)
            kind, words = outcome(name, path)
            if (kind, words) == innate[name]:
                kind = "loaded, finite answers"
            counts[kind] += 1
            line = f"{name}, file {number} of seed {seed}, {done}: {kind}: {words}"
            if kind.startswith("BROKEN"):
                broken.append(line)
                say(line)
            elif words:
                late.append(line)
    return counts, broken, late


def main() -> None:
    """Print the counts."""
    given = [int(word) for word in sys.argv[1:]]
    n_files, seed = (*given, *(2640, 0)[len(given) :])
    start = time.process_time()
    missing, wrong = omissions()
    print(f"attributes left out or None: {dict(missing)}", *wrong, sep="\n", flush=True)
    counts, broken, _ = fuzz(n_files, seed, say=lambda line: print(line, flush=True))
    seconds = time.process_time() - start
    print(
        f"{n_files} mutated models, seed {seed}, {seconds:.0f} s of CPU, {len(broken)} broken promises, {dict(counts)}"
    )
    note(
        "typed files",
        {
            "files": n_files,
            "seed": seed,
            "CPU seconds": round(seconds),
            "outcomes": dict(counts),
            "broken": wrong + broken,
            "left out": dict(missing),
        },
    )


if __name__ == "__main__":
    main()
