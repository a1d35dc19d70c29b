"""A finished run in each format: as text, page, document, references or data."""

from __future__ import annotations

from pathlib import Path

from ..core.run.errors import UserMistake
from ..core.run.registered import EXPORTERS, load_registered, registered
from .exports.bibliography import bibtex, csl_json
from .exports.finished import finished_report
from .output import report_text, run_json
from .run_name import RunName
from .runs import StoredRun
from .terminal import OutputUnusable
from .words import Evidence, ExportFormat, Format

_SUFFIXES: dict[str, ExportFormat] = {
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
    """The run has not come to its report."""


def chosen_format(wanted: ExportFormat | None, path: Path | None) -> str:
    """Return the format that is asked for, else that of the file's name, which without an ending is Markdown.

    An ending that no format of ours has may be that of one that an installed package registers.

    Raises `OutputUnusable` for an unknown ending, and where a format that cannot be printed has no file.
    """
    suffix = path.suffix.lower() if path else ""
    chosen: str | None = wanted or _SUFFIXES.get(suffix)
    if chosen is None and suffix[1:] in registered(EXPORTERS):
        return suffix[1:]
    if chosen is None:
        known = ", ".join([*filter(None, _SUFFIXES), *(f".{name}" for name in registered(EXPORTERS))])
        raise OutputUnusable(
            f"--out {str(path)!r}: no format has this ending; these are known: {known}; or choose by --format"
        )
    if chosen in _UNPRINTABLE and path is None:
        raise OutputUnusable(f"--format {chosen} is not for printing: name a file with --out FILE.{chosen}")
    return chosen


def check_format(export_format: str) -> None:
    """Raise `ExtraMissing` if a format cannot be written here, before a run is paid for."""
    if export_format == "pdf":
        from .exports.page import check_pdf

        check_pdf()


def export_content(
    stored: StoredRun, export_format: str, name: RunName, evidence: Evidence | None = None
) -> str | bytes:
    """Return the report in a format, or the whole run as JSON; raises `NoReportYet`, or `ExtraMissing`.

    Without `evidence`, a page shows it in full, and what is for paper in short.
    """
    if stored.state.report is None:
        raise no_report_yet(stored, name)
    # What writes a page or a document takes long to import, and other formats do without it.
    match export_format:
        case "md":
            return report_text(stored, "md")
        case "json":
            return run_json(stored)
        case "bibtex":
            return bibtex(finished_report(stored).cited)
        case "csl-json":
            return csl_json(finished_report(stored).cited)
        case "docx":
            from .exports.word import report_docx

            return report_docx(finished_report(stored), evidence or "short")
        case "pdf":
            from .exports.page import report_pdf

            return report_pdf(finished_report(stored), evidence or "short")
        case "html":
            from .exports.page import report_page

            return report_page(finished_report(stored), evidence or "full")
    written: str | bytes = load_registered(EXPORTERS, export_format)(finished_report(stored))
    return written


def answer_content(stored: StoredRun, wanted: Format | None, path: Path | None, name: RunName) -> str | bytes:
    """Return the report for who has asked: in the wanted format, else as `export` would write the file."""
    if wanted == "json" or (stored.state.report and (wanted or path is None)):
        return report_text(stored, wanted or "md")
    return export_content(stored, chosen_format(None, path), name)


def no_report_yet(stored: StoredRun, name: RunName) -> NoReportYet:
    """Return the error for a run without a report, with how it stands and how it is resumed."""
    if stored.status == "ended":
        return NoReportYet(f"The run {name.thread!r} was ended without a report; put another question to it.")
    stands = "it waits for an answer" if stored.asks else f"its status is {stored.status!r}"
    answer = " --answer TEXT" if stored.asks else ""
    return NoReportYet(f"The run {name.thread!r} has no report yet: {stands}. Go on: {name.command('resume')}{answer}")
