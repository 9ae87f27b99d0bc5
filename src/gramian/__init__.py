"""Probabilistic PCA in primal and in dual, as one library.

Everything is imported on first use (PEP 562), so `import gramian` and `gramian --help` cost nothing.
"""

from importlib import import_module
from typing import Any

from gramian._catalogue import ESTIMATORS

__version__ = "0.1.0"

_HOMES = {
    **{name: entry.home for name, entry in ESTIMATORS.items()},
    "BayesSearch": "gramian.tuning.search",
    "suggest": "gramian.tuning.suggest",
    "explore": "gramian.explorer",
    "save": "gramian.io.model_file",
    "load": "gramian.io.model_file",
    "stack_views": "gramian.views.view",
    "TablePreprocessor": "gramian.estimators.table_preprocessor",
    "fill": "gramian.first_lines",
    "odd_rows": "gramian.first_lines",
    "report": "gramian.first_lines",
    "compare_imputers": "gramian.estimators.comparison",
    "pool": "gramian.pooling",
    "DataWarning": "gramian.exceptions",
    "ModelFileError": "gramian.exceptions",
    "NumericalWarning": "gramian.exceptions",
}
_MODULES = ("kernels", "features", "solvers", "preimage", "datasets", "plotting", "testing")

__all__ = ["__version__", *_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"gramian.{name}")
    if name in _HOMES:
        value = getattr(import_module(_HOMES[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'gramian' has no attribute {name!r}")


def fill_tables() -> None:
    """Import what enters itself in tables of lower layers: the explicit features that kernels offer."""
    import_module("gramian.features")


def __dir__() -> list[str]:
    return sorted(__all__)
