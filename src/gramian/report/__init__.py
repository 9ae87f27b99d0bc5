"""The one-file HTML report about a table, or about a fitted model."""

from gramian.report.report import write_model_report, write_report

__all__ = ["write_model_report", "write_report"]
