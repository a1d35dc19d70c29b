"""Exports a finished run in any format: Markdown, HTML, document, references or data."""

from __future__ import annotations

from pathlib import Path

from ..core.records.report import Report
from ..core.run.errors import UserMistake
from ..core.run.registered import EXPORTERS, load_registered, registered
from .exports.bibliography import bibtex, csl_json
from .exports.finished import finished_report
from .output import report_text, run_json
from .runs import StoredRun
from .settings import RunName
from .terminal import OutputUnusable
from .words import Evidence, ExportFormat

_SUFFIXES = {
    "": "md",
    ".bib": "bibtex",
    ".docx": "docx",
    ".htm": "html",
    ".html": "html",
    ".json": "json",
    ".markdown": "md",
    ".md": "md",
    ".pdf": "pdf",
    ".txt": "md",
}
_UNPRINTABLE = {"docx", "pdf"}


class NoReportYet(UserMistake):
    """The run has no report yet."""


def chosen_format(wanted: ExportFormat | None, path: Path | None) -> str:
    """Return the wanted format, or the one for the file's suffix, including formats from installed packages.

    Raises `OutputUnusable` for an unknown suffix, and for a binary format without a file.
    """
    suffix = path.suffix.lower() if path else ""
    chosen = wanted or _SUFFIXES.get(suffix)
    if chosen is None:
        others = {f".{name}": name for name in registered(EXPORTERS)}
        if suffix in others:
            return others[suffix]
        known = ", ".join([*filter(None, _SUFFIXES), *others])
        raise OutputUnusable(
            f"--out {str(path)!r}: unknown suffix; use one of {known}, or choose the format with --format"
        )
    if chosen in _UNPRINTABLE and path is None:
        raise OutputUnusable(f"--format {chosen} cannot be printed: name a file with --out FILE.{chosen}")
    return chosen


def check_format(export_format: str) -> None:
    """Raise `ExtraMissing` if a package for this format is missing; called before a run costs anything."""
    if export_format == "pdf":
        from .exports.page import check_pdf

        check_pdf()


def export_content(
    stored: StoredRun, export_format: str, name: RunName, evidence: Evidence | None = None
) -> str | bytes:
    """Return the report in a format, or the whole run as JSON; raises `NoReportYet` or `ExtraMissing`.

    `evidence` defaults to "full" for html, and to "short" for docx and pdf.
    """
    report_of(stored, name)
    if export_format == "md":
        return report_text(stored, "md")
    if export_format == "json":
        return run_json(stored)
    finished = finished_report(stored)
    # Imported where needed: these modules are slow to import.
    match export_format:
        case "bibtex":
            return bibtex(finished.cited)
        case "csl-json":
            return csl_json(finished.cited)
        case "docx":
            from .exports.word import report_docx

            return report_docx(finished, evidence or "short")
        case "pdf":
            from .exports.page import report_pdf

            return report_pdf(finished, evidence or "short")
        case "html":
            from .exports.page import report_page

            return report_page(finished, evidence or "full")
    written: str | bytes = load_registered(EXPORTERS, export_format)(finished)
    return written


def report_of(stored: StoredRun, name: RunName) -> Report:
    """Return the report of a run; raises `NoReportYet`, whose message says how to continue."""
    if stored.state.report:
        return stored.state.report
    if stored.status == "ended":
        raise NoReportYet(f"The run {name.thread!r} was closed without a report; ask it another question.")
    status = "it is waiting for an answer" if stored.asks else f"its status is {stored.status!r}"
    answer = " --answer TEXT" if stored.asks else ""
    raise NoReportYet(f"The run {name.thread!r} has no report yet: {status}. Resume: {name.command('resume')}{answer}")
