"""The one-file HTML report about a table, or about a fitted model."""

from typing import Any

__all__ = ["write_model_report", "write_report"]


def __getattr__(name: str) -> Any:
    if name in __all__:  # on first use: commands need no pages for the limits of odd rows
        from gramian.reporting import report

        return getattr(report, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
