"""The one-file HTML report about a table."""

from gramian.report.report import write_report

__all__ = ["write_report"]
