"""Atomic files: a reader sees the old file or the whole new one, never a part."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

NO_ROOM = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}
"""What only a write can fail with."""


def _default_mode() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path in the folder of ``path`` that takes its place when the block ends well.

    On any error, Ctrl-C included, the temporary file is removed and what stood at ``path`` is left as it was.

    Examples
    --------
    >>> import tempfile
    >>> from gramian.io.atomic import atomic_path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "a.txt"
    ...     with atomic_path(target) as temporary:
    ...         _ = temporary.write_text("whole")
    ...     target.read_text()
    'whole'
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{os.fspath(path)} is a folder; give the name of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"the folder {target.parent} of {target.name} does not exist; create it first.")
    if target.is_symlink():
        target = target.resolve()  # the file behind a link is replaced, the link stays
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())  # the bytes before the name: a crash must not leave an empty file
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else _default_mode())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno in NO_ROOM and error.filename is None:
            error.filename = os.fspath(path)  # a write knows only its handle
        raise
