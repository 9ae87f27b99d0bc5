"""Files: model files that hold data and no code, tables in CSV, TSV, Excel, Parquet, NPY and NPZ, and mixed tables as
numbers."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "TablePreprocessor": "gramian.estimators.table_preprocessor",
    "Preprocessing": "gramian.tables.preprocessing",
    "ReadOptions": "gramian.io.table",
    "Table": "gramian.tables.table",
    "TableError": "gramian.tables.table",
    "TableModel": "gramian.io.table_model",
    "read_table": "gramian.io.tables",
    "write_table": "gramian.io.tables",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
