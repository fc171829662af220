"""Tables and figures from saved results; nothing here trains."""

from lupi.report.claims import JudgedClaim, describe_claims, kept_claims
from lupi.report.table import ExperimentTable, build_tables, to_markdown, to_terminal
from lupi.report.write import write_report

__all__ = [
    "ExperimentTable",
    "JudgedClaim",
    "build_tables",
    "describe_claims",
    "kept_claims",
    "to_markdown",
    "to_terminal",
    "write_report",
]
