"""Packed files: gzip and zstd streams and zip members, unpacked within bounds.

A file that unpacks to much more than its size is a mistake or an attack. It is refused before memory is spent on it:
beyond ``FILES.spare`` bytes nothing may unpack to more than ``FILES.unpacked`` times its packed size. Real tables pack 3 to 50 times.
"""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from gramian.policy import FILES

MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
SUFFIXES = {".gz": "gzip", ".zst": "zstd"}
_BLOCK = 1 << 18


class PackingError(ValueError):
    """A packed stream that is damaged, or that unpacks to far more than a table would."""


def most_bytes(packed: int) -> int:
    """How many bytes so many packed bytes may become."""
    return max(FILES.spare, FILES.unpacked * packed)


def too_large(packed: int) -> PackingError:
    """The refusal."""
    return PackingError(
        f"it unpacks to more than {most_bytes(packed) // 2**20} MB, over {FILES.unpacked} times its size, as no table does. "
        "If it is meant so, unpack it first and give the unpacked file."
    )


class Unpacked(io.RawIOBase):
    """A stream that is unpacked as it is read, and refuses to go on beyond the bound."""

    def __init__(self, stream: Any, size: int, file: BinaryIO, fail: Callable[[str], Exception]) -> None:
        self._stream, self._size, self._file, self._fail, self._count = stream, size, file, fail, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read(len(buffer))
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise self._fail(f"the packed file is damaged or cut ({str(error)[:80]}).") from error
        self._count += len(data)
        if self._count > most_bytes(self._size):
            raise self._fail(str(too_large(self._size)))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def open_unpacked(packing: str, file: BinaryIO, size: int, fail: Callable[[str], Exception]) -> BinaryIO:
    """A stream of the unpacked bytes of ``file``; what is wrong with it is raised as ``fail(words)``."""
    if packing == "gzip" and _claim(file) > most_bytes(size):
        with file:  # is it so? it is counted before a line is read
            file = io.BytesIO(file.read())
        whole = _reader(packing, file, size, fail)
        while whole.read(_BLOCK):
            pass
        file.seek(0)
    return _reader(packing, file, size, fail)


def _reader(packing: str, file: BinaryIO, size: int, fail: Callable[[str], Exception]) -> BinaryIO:
    stream = gzip.GzipFile(fileobj=file) if packing == "gzip" else _arrow().CompressedInputStream(file, "zstd")
    return io.BufferedReader(Unpacked(stream, size, file, fail), _BLOCK)


def _claim(file: BinaryIO) -> int:
    """What the last four bytes of a gzip file say that it unpacks to. Who lies there is found out while reading."""
    file.seek(max(file.seek(0, io.SEEK_END) - 4, 0))
    size = int.from_bytes(file.read(4), "little")
    file.seek(0)
    return size


def open_packed(packing: str, path: Any) -> BinaryIO:
    """A stream that packs what is written to it into the file at ``path``."""
    if packing == "gzip":
        file = open(path, "wb")  # noqa: SIM115 - closed with the stream
        stream = gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
        stream.myfileobj = file  # type: ignore[assignment]  # closed with the stream; neither name nor time is written
        return stream  # type: ignore[return-value]
    packer: BinaryIO = _arrow().CompressedOutputStream(str(path), "zstd")
    return packer


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(
            "zstd files need pyarrow: pip install 'gramian[io]', or unpack the file first (zstd -d FILE)."
        ) from error
    return pyarrow


def check_members(archive: zipfile.ZipFile, file: BinaryIO, size: int) -> None:
    """Refuse an archive whose members unpack beyond the bound, whatever its directory claims.

    A small archive cannot: deflate packs at most 1032 times. Of a larger one the members are unpacked once, and
    counted.
    """
    if sum(entry.file_size for entry in archive.infolist()) > most_bytes(size):
        raise too_large(size)
    if 1032 * size <= FILES.spare:
        return
    room = most_bytes(size)
    for entry in archive.infolist():
        if entry.compress_type == zipfile.ZIP_DEFLATED:
            room -= _inflated_size(file, entry, room)
            if room < 0:
                raise too_large(size)


def _inflated_size(file: BinaryIO, entry: zipfile.ZipInfo, room: int) -> int:
    """How many bytes a deflated member becomes; stops above ``room``."""
    file.seek(entry.header_offset)
    head = file.read(30)
    if len(head) < 30:
        raise PackingError("the archive is damaged or cut.")
    file.seek(int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little"), 1)
    machine, left, count = zlib.decompressobj(-15), entry.compress_size, 0
    while left > 0 and not machine.eof and count <= room:
        block = file.read(min(_BLOCK, left))
        if not block:
            break
        left -= len(block)
        try:
            while block and count <= room:
                count += len(machine.decompress(block, _BLOCK))
                block = machine.unconsumed_tail
        except zlib.error as error:
            raise PackingError(f"the archive's member {entry.filename[:60]!r} is damaged.") from error
    return count
