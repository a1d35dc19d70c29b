"""The export formats: one record for each, our own and those that installed packages register.

The command line, the server, the web page and the docs read these records, so a format is named
nowhere else. Writers are imported on first use, because most of them import slow libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ...core.records.report import Report
    from ...core.records.sources import Source
    from ..runs import StoredRun
    from ..words import EvidenceShown


class ExportFormat(NamedTuple):
    """A format in which a finished run is exported."""

    name: str
    """Its name for `--format` and for the server's routes."""
    label: str
    """Its name for readers, on the web page and in help texts."""
    suffixes: tuple[str, ...]
    """Endings of file names, such as `.html`, that choose this format; files that the server sends
    have the first."""
    media_type: str
    writer: str
    """Its function as `module:function`, where `.module` is a module of this folder.

    The function takes a `Finished` report and returns text or bytes.
    """
    takes_run: bool = False
    """Whether the writer takes the whole `StoredRun` instead of the report."""
    evidence: EvidenceShown | None = None
    """Verdicts that it shows by default; the writer takes them as its second argument. None: it
    shows none."""
    check: str = ""
    """A function, written like `writer`, that raises `ExtraMissing` if a library is missing; empty
    if none can be."""

    def check_libraries(self) -> None:
        """Raise `ExtraMissing`, whose message says what to install, if the format cannot be written
        here."""
        if self.check:
            _load(self.check)()

    def write(self, stored: StoredRun, evidence: EvidenceShown | None = None) -> str | bytes:
        """Return a run, which must have a report, in this format; raises `ExtraMissing`.

        `evidence` replaces the default amount of verdicts; it has no effect on formats that show
        none.
        """
        writer: Callable[..., str | bytes] = _load(self.writer)
        if self.takes_run:
            return writer(stored)
        from .finished import finished_report

        finished = finished_report(stored)
        if self.evidence is None:
            return writer(finished)
        return writer(finished, evidence or self.evidence)


FORMATS: tuple[ExportFormat, ...] = (
    ExportFormat(
        "md",
        "Markdown",
        (".md", ".markdown", ".txt"),
        "text/markdown",
        "..output:run_markdown",
        takes_run=True,
    ),
    ExportFormat(
        "json",
        "All data (JSON)",
        (".json",),
        "application/json",
        "..output:run_json",
        takes_run=True,
    ),
    ExportFormat(
        "html", "Web page", (".html", ".htm"), "text/html", "._page:report_page", evidence="full"
    ),
    ExportFormat(
        "docx",
        "Word",
        (".docx",),
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "._word:report_docx",
        evidence="short",
    ),
    ExportFormat(
        "pdf",
        "PDF",
        (".pdf",),
        "application/pdf",
        "._page:report_pdf",
        evidence="short",
        check="._page:check_pdf",
    ),
    ExportFormat("csv", "Table (CSV)", (".csv",), "text/csv", "._sheets:report_csv"),
    ExportFormat(
        "xlsx",
        "Tables (Excel)",
        (".xlsx",),
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "._sheets:report_xlsx",
    ),
    ExportFormat(
        "bibtex", "BibTeX", (".bib",), "application/x-bibtex", "._bibliography:report_bibtex"
    ),
    ExportFormat(
        "csl-json",
        "Citations (CSL JSON)",
        (".csl.json",),
        "application/vnd.citationstyles.csl+json",
        "._bibliography:report_csl_json",
    ),
)
"""Our formats, in the order in which they are offered; the first is the default."""


def export_formats() -> Mapping[str, ExportFormat]:
    """Return all formats by name, ours first; blocks on the first call, which looks up the
    installed packages.

    A package cannot replace one of our formats.
    """
    # Imported here, like `mimetypes` below, because it would slow down `--help`.
    from ...core.settings.installed import EXPORTERS

    formats = {export_format.name: export_format for export_format in FORMATS}
    for name, entry in EXPORTERS.entries.items():
        formats.setdefault(name, _registered_format(name, f"{entry.module}:{entry.attr}"))
    return formats


def chosen_format(wanted: str | None, path: Path | None) -> ExportFormat:
    """Return the format named `wanted`, or else the one for the suffix of the file; without both,
    the default.

    Raises `UnknownSetting` for an unknown suffix.
    """
    if wanted:
        return export_formats()[wanted]
    if path is None or not path.suffix:
        return FORMATS[0]
    chosen = _format_of_file(path.name)
    if chosen:
        return chosen
    known = list[str]()
    for export_format in export_formats().values():
        known += export_format.suffixes
    # Imported here, because it would slow down `--help`.
    from ...core.errors import UnknownSetting

    raise UnknownSetting(
        f"--out {str(path)!r}: unknown suffix; use one of {', '.join(known)}, or choose the format "
        "with --format"
    )


def _format_of_file(file_name: str) -> ExportFormat | None:
    """Return the format for the ending of a file name, the longest if several fit; None if none
    fits."""
    formats = dict[str, ExportFormat]()
    for export_format in export_formats().values():
        for suffix in export_format.suffixes:
            formats.setdefault(suffix, export_format)
    endings = [suffix for suffix in formats if file_name.lower().endswith(suffix)]
    return formats[max(endings, key=len)] if endings else None


def unrun_page(
    title: str, language_code: str, report: Report, cited: Sequence[Source], notes: Sequence[str]
) -> str:
    """Return a checked report that no run has written as an HTML page; `cited` are its sources."""
    # Slow to import, like the writers.
    from ._page import report_page
    from .finished import Finished

    finished = Finished(
        title=title,
        question=title,
        date="",
        language_code=language_code,
        report=report,
        cited=cited,
        notes=notes,
        contradictions=(),
        was_researched=True,
        sources={},
    )
    return report_page(finished)


def _registered_format(name: str, writer: str) -> ExportFormat:
    """Return the format that an installed package registers under a suffix."""
    import mimetypes

    suffix = f".{name.lower()}"
    media_type, _ = mimetypes.guess_type(f"report{suffix}")
    return ExportFormat(name, name, (suffix,), media_type or "application/octet-stream", writer)


def _load(reference: str) -> Any:
    """Import and return the object `module:name`; a module that begins with a dot is relative to
    this folder."""
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(module, __package__))
