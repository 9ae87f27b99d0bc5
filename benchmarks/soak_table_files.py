"""Table files from a stranger: CSV, gzip, NPY, NPZ, Parquet and a workbook with random mutations, read, and now and then imputed.

Run as ``python -m benchmarks.soak_table_files [number of files] [seed]``. A file is read as a table, or refused by one exception of a
promised type in one line, within 256 MiB above its size; the command line ends with an answer or with one line. Everything else is broken.
"""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import time
import tracemalloc
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._results import note
from benchmarks.soak_tables import called
from gramian.io.tables import read_table

MEMORY = 256 << 20
"""Bytes above the size of a file that reading it may take."""
EVERY = 20
"""Of so many files one goes through the command line too."""
PIECES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b'"', b"'", b",", b";", b"\t", b"\n", b"\r\n", b"\r", b"\n\n", b" ", b"|", b"#", b"=", b"-", b"{", b"(", b"inf",
    b"nan", b"NA", b"1e400", b"-1e-400", b"1,5", b"1.5.2", b"0x1F", b"9" * 400, b"2024-02-30", b"12:61", b"=1+1", b"\xe4\xf6", b"a" * 3000,
    b"\xe2\x80\xae", b"\xf0\x9f\x98\x80", b"PK\x03\x04", b"PAR1", b"\x93NUMPY", b"\x1f\x8b", b"(1000000000000, 3)", b"|O", b"<f8", b"</row>",
)  # fmt: skip


def text(delimiter: str = ",", decimal: str = ".") -> bytes:
    """Numbers, holes, dates, times and words."""
    rng = np.random.default_rng(0)
    lines = [delimiter.join(["id", "when", "size", '"the price"', "kind", "share"])]
    for i in range(30):
        numbers = [f"{value:.3f}".replace(".", decimal) for value in rng.standard_normal(3)]
        cells = [
            str(i),
            f"2024-01-{i % 28 + 1:02d}",
            numbers[0],
            "" if i % 7 == 0 else numbers[1],
            "ab"[i % 2],
            numbers[2] + "%",
        ]
        lines.append(delimiter.join(cells))
    return "\n".join([*lines, ""]).encode()


def workbook() -> bytes:
    """The least that a workbook is."""
    cell = '<c r="{}{}"><v>{}</v></c>'
    rows = "".join(
        f'<row r="{i}">' + "".join(cell.format("ABC"[j], i, (i * 7 + j * 3) % 11) for j in range(3)) + "</row>"
        for i in range(1, 20)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    members = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="a" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{rows}</sheetData></worksheet>',
    }
    return _archive({name: content.encode() for name, content in members.items()})


def _archive(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def _npy(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def _npz() -> bytes:
    file = io.BytesIO()
    rng = np.random.default_rng(1)
    np.savez_compressed(file, X=rng.standard_normal((20, 3)), y=np.arange(20))
    return file.getvalue()


def _parquet() -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    rng = np.random.default_rng(2)
    columns = {
        "a": rng.standard_normal(40),
        "b": arrow.array([None, 1.5] * 20),
        "c": ["x", "y"] * 20,
        "d": np.arange(40),
    }
    file = io.BytesIO()
    parquet.write_table(arrow.table(columns), file)
    return file.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "t.csv": text,
    "semicolons.csv": lambda: text(";", ","),
    "t.tsv": lambda: text("\t"),
    "t.csv.gz": lambda: gzip.compress(text(), mtime=0),
    "t.npy": lambda: _npy(np.random.default_rng(0).standard_normal((12, 3))),
    "t.npz": _npz,
    "t.parquet": _parquet,
    "t.xlsx": workbook,
}


def mutated(content: bytes, rng: np.random.Generator) -> bytes:
    """One to three changes: bytes set, cut out, written twice, moved, pieces put in; of a packed file those of what it holds, half of the time."""
    if content[:2] == b"\x1f\x8b" and rng.random() < 0.5:
        return gzip.compress(mutated(gzip.decompress(content), rng), mtime=0)
    if content[:2] == b"PK" and rng.random() < 0.5:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        name = list(members)[int(rng.integers(len(members)))]
        return _archive({**members, name: mutated(members[name], rng)})
    raw = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(raw) + 1))
        to = min(at + int(rng.integers(1, 60)), len(raw))
        kind = int(rng.integers(6))
        if kind == 0 and at < len(raw):
            raw[at] = int(rng.integers(256))
        elif kind == 1:
            raw[at:at] = PIECES[int(rng.integers(len(PIECES)))]
        elif kind == 2:
            del raw[at:to]
        elif kind == 3:
            raw[at:at] = raw[at:to] * int(rng.integers(1, 5))
        elif kind == 4:
            raw[at:to] = PIECES[int(rng.integers(len(PIECES)))]
        elif rng.random() < 0.2:
            del raw[at:]
    return bytes(raw)


def fuzz(
    n_files: int, seed: int = 0, memory: bool = False, say: Callable[[str], None] = lambda line: None
) -> tuple[dict[str, Counter[str]], list[str]]:
    """Counts of what became of ``n_files`` mutated files by kind, and a line for each that broke a promise."""
    originals = {name: make() for name, make in FILES.items()}
    counts: dict[str, Counter[str]] = {name: Counter() for name in originals}
    broken: list[str] = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(n_files):
            name = list(originals)[number % len(originals)]
            path = Path(folder) / name
            path.write_bytes(mutated(originals[name], np.random.default_rng([seed, number])))
            outcome = _outcome(path, memory)
            if number // len(originals) % EVERY == 0 and not outcome.startswith("BROKEN"):
                became = called([["impute", name, "-o", "o.csv"]], Path(folder))
                outcome = outcome if became.promised else f"BROKEN impute: {became.words}"
            counts[name][outcome.partition(":")[0]] += 1
            if outcome.startswith("BROKEN"):
                broken.append(f"{name}, file {number} of seed {seed}: {outcome}")
                say(broken[-1])
    return counts, broken


def _outcome(path: Path, memory: bool) -> str:
    if memory:
        tracemalloc.start()
    try:
        read_table(path)
        outcome = "read"
    except (ValueError, OSError) as error:  # a TableError is a ValueError
        words = str(error)
        plain = "\n" not in words and path.name in words and not isinstance(error, UnicodeError)
        outcome = "refused" if plain else f"BROKEN words: {type(error).__name__}: {words[:200]!r}"
    except Exception as error:
        outcome = f"BROKEN read: {type(error).__name__}: {str(error)[:200]}"
    finally:
        peak = tracemalloc.get_traced_memory()[1] if memory else 0
        tracemalloc.stop()
    return f"BROKEN memory: {peak >> 20} MiB" if peak > path.stat().st_size + MEMORY else outcome


def main() -> None:
    """Print the counts."""
    given = [int(word) for word in sys.argv[1:]]
    n_files, seed = (*given, *(4000, 0)[len(given) :])
    start = time.process_time()
    counts, broken = fuzz(n_files, seed, memory=True, say=lambda line: print(line, flush=True))
    seconds = time.process_time() - start
    print(f"{n_files} mutated table files, seed {seed}, {seconds:.0f} s of CPU, {len(broken)} broken promises")
    for name, found in counts.items():
        print(f"{name:15s} {dict(found)}")
    note(
        "table files",
        {
            "files": n_files,
            "seed": seed,
            "CPU seconds": round(seconds),
            "outcomes": {name: dict(found) for name, found in counts.items()},
            "broken": broken,
        },
    )


if __name__ == "__main__":
    main()
