"""Check a report that was written elsewhere against the sources that it cites: the command `check`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from ..core.evidence.checking.proof import Known, has_something_to_look_up, not_stated
from ..core.evidence.checking.units import ReportUnit, units_of
from ..core.evidence.citations.foreign import Target, read_foreign
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import plain_line, write_document
from ..core.evidence.memory.observations import source_notes
from ..core.library.library import Library
from ..core.models.resolve import check_models, is_extractive, load_models
from ..core.reading.documents.pool import shared_parser
from ..core.reading.records import Unreadable
from ..core.records.report import Report, UnitVerdict
from ..core.records.sources import Source
from ..core.run.context import Context
from ..core.run.conversation import clean
from ..core.run.errors import ReportUnreadable
from ..core.run.settings import read_context
from ..core.run.store.pages import Pages
from .check_report import checked, run_for
from .endings import reports_errors, run_interruptibly
from .progress import PlainLines
from .reread import Reread, reread
from .terminal import check_output, deliver, say
from .words import DONE, FAILED, counted

CheckFormat = Literal["md", "html", "json"]
Outcome = Literal[
    "supported",
    "corrected",
    "contradicted",
    "not in the source",
    "numbers found",
    "numbers not found",
    "source not reachable",
    "no source",
    "not verified",
]
"""What became of a statement. `source not reachable`: a source that it cites could not be read, and no other decides.
`no source`: it cites none, or a number that names none. Without a model, its numbers and quotations are looked for."""
WRONG = ("contradicted", "not in the source", "numbers not found")


class CheckedStatement(NamedTuple):
    """A statement of the report and the outcome of its check."""

    words: str
    outcome: Outcome
    sources: tuple[int, ...]
    """Numbers of the sources that it cites."""
    passage: str
    """The words that decide; empty if there are none."""


class CheckedFile(NamedTuple):
    """A report from elsewhere with its verdicts."""

    report: Report
    language_code: str
    statements: Sequence[CheckedStatement]
    sources: Sequence[Source]
    unread: Mapping[int, str]
    """Why a source could not be read, by its number."""

    @property
    def counts(self) -> dict[Outcome, int]:
        """How many statements have each outcome."""
        return Counter(one.outcome for one in self.statements)

    @property
    def summary(self) -> str:
        """The counts, in words."""
        counts = (f"{count} {outcome}" for outcome, count in self.counts.items())
        return "; ".join([counted(len(self.statements), "statement"), *counts])

    @property
    def is_wrong(self) -> bool:
        """Whether a source contradicts a statement that cites it, or does not say it."""
        return any(one.outcome in WRONG for one in self.statements)

    @property
    def notes(self) -> list[str]:
        """Which sources could not be read, and why; which were retracted or read as copies."""
        unread = [f"Not read: source {number}, {reason.rstrip('.')}." for number, reason in self.unread.items()]
        return [*source_notes(self.sources), *unread]

    def table(self, most: int = sys.maxsize) -> str:
        """Return the verdicts as a table in Markdown: all, or the first `most` with what is wrong before the rest."""
        shown: Sequence[CheckedStatement] = self.statements
        if len(shown) > most:
            shown = sorted(shown, key=lambda one: one.outcome not in WRONG)[:most]
        rows = [
            f"| {_cell(one.words)} | {one.outcome} | {', '.join(map(str, one.sources))} | {_cell(one.passage)} |"
            for one in shown
        ]
        return clean("\n".join(["| Statement | Verdict | Sources | Passage |", "|---|---|---|---|", *rows]))

    def markdown(self) -> str:
        """Return the report with its marks, its sources, and a table of the verdicts."""
        words = labels(self.language_code)
        document = write_document(self.report, self.sources, self.notes, words, was_researched=True)
        return f"{clean(document)}\n\n## Verdicts\n\n{self.summary}.\n\n{self.table()}"

    def data(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "report": self.report.text,
            "counts": self.counts,
            "statements": [one._asdict() for one in self.statements],
            "sources": [
                {**one.model_dump(include={"number", "title", "location"}), "not_read": self.unread.get(one.number, "")}
                for one in self.sources
            ],
        }


async def check_file(
    data: bytes, name: str, context: Context, on_notice: Callable[[str], None] = say, account: Pages | None = None
) -> CheckedFile:
    """Check a report in Markdown, HTML or Word format, by the ending of its `name`; raises `ReportUnreadable`.

    `on_notice` is called with what happens meanwhile and what the reader should know; `account`: see `checked`.
    """
    await load_models(context)
    for notice in check_models(("verifier",), context):
        on_notice(f"Note: {notice}")
    if not (is_judged := not is_extractive("verifier", context)):
        on_notice("Note: no language model judges; numbers and quotations are looked for (--model).")
    foreign = await asyncio.to_thread(lambda: read_foreign(_markdown_of(data, name, context)))
    if not foreign.text:
        raise ReportUnreadable(f"{name}: there is no text in it.")
    run = await asyncio.to_thread(run_for, foreign.text, context)
    named = await asyncio.to_thread(_named_sources, foreign.targets, context)
    on_notice(f"reading {counted(len(named), 'source')}")
    read, _ = await reread([*named.values()], context, run, on_notice)
    known = {str(number): _as_read(read[one.key], number) for number, one in named.items()}
    texts = {str(number): read[one.key].texts for number, one in named.items()}
    keys = {number: str(number) for number in named}
    kept = [one.text for some in texts.values() for one in some]
    report = await checked(foreign.text, keys, known, kept, run, context, account)
    units = await asyncio.to_thread(units_of, foreign.text, keys)
    sources = {key: Known(texts[key], f"{one.title} {one.date}") for key, one in known.items()}
    outcome = partial(_outcome, sources=sources, is_judged=is_judged)
    statements = [
        CheckedStatement(verdict.text, outcome(unit, verdict), tuple(map(int, unit.sources)), verdict.words)
        for unit, verdict in zip(units, report.verdicts, strict=True)
        if verdict.shown != "reasoning"
    ]
    unread = {number: read[one.key].reason for number, one in named.items() if not read[one.key].texts}
    return CheckedFile(report, run.language_code, statements, [*known.values()], unread)


def _markdown_of(data: bytes, name: str, context: Context) -> str:
    most, kind = context.limits.max_document_bytes, Path(name).suffix.lower()
    if len(data) > most:
        raise ReportUnreadable(f"{name}: it is larger than {most} bytes (limit max_document_bytes).")
    if kind not in (".html", ".htm", ".docx"):
        return data.decode("utf-8", "replace")
    try:
        return shared_parser(context.limits.parse_seconds, most).parse(data, Path(name).name, keeps_links=True).text
    except Unreadable as error:
        raise ReportUnreadable(f"{name}: it cannot be read: {error}.") from error


def _named_sources(targets: Mapping[int, Target], context: Context) -> dict[int, Source]:
    """Return what the numbers name: pages of the web, and documents of the folders by their names."""
    documents = dict[str, Source]()
    if context.docs:
        library = Library(context)
        library.refresh()
        documents = {unquote(one.source.location).casefold(): one.source for one in library.documents()}

    def source(number: int, target: Target) -> Source:
        if not target.address.startswith(("http://", "https://")):
            path = target.address.casefold().lstrip("./")
            if found := next((one for place, one in documents.items() if place.endswith(f"/{path}")), None):
                return found
        address, title = target.address, target.title or target.address
        return Source(key=address, title=title, location=address, address=address, kind="web", number=number)

    return {number: source(number, target) for number, target in sorted(targets.items())}


def _as_read(read: Reread, number: int) -> Source:
    failure = {} if read.texts else {"failure": "not read"}
    return read.source.model_copy(update={"key": str(number), "number": number, **failure})


def _outcome(unit: ReportUnit, verdict: UnitVerdict, *, sources: Mapping[str, Known], is_judged: bool) -> Outcome:
    if verdict.shown == "supported" or verdict.shown == "corrected":
        return verdict.shown
    if verdict.shown == "marked" and verdict.words:
        return "contradicted"
    if not unit.sources:
        return "no source"
    read = {key: sources[key] for key in unit.sources if sources[key].texts}
    is_looked_up = not is_judged and has_something_to_look_up(unit)
    if read and is_looked_up and not not_stated(unit, read):
        return "numbers found"
    if len(read) < len(unit.sources):
        return "source not reachable"
    wrong: Outcome = "not in the source" if verdict.shown == "marked" else "not verified"
    return "numbers not found" if is_looked_up else wrong


def _cell(words: str) -> str:
    return plain_line(words).replace("|", "\\|")


@reports_errors
def check_path(path: str, given: Mapping[str, Any], output_format: CheckFormat | None, out: Path | None) -> int:
    """Check the report in a file (`-`: standard input) and write it with its verdicts."""
    check_output(out)
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ReportUnreadable(f"{path}: {error.strerror or error}.") from error
    found = run_interruptibly(PlainLines().during(check_file(data, path, read_context({"verify": "check", **given}))))
    ending = out.suffix.lower() if out else ""
    named = {".html": "html", ".htm": "html", ".json": "json"}.get(ending, "md")
    is_delivered = deliver(_content(found, output_format or named, path), out)
    say(f"{found.summary}.")
    return DONE if is_delivered and not found.is_wrong else FAILED


def _content(found: CheckedFile, output_format: str, path: str) -> str:
    if output_format == "json":
        return json.dumps(found.data(), ensure_ascii=False, indent=2)
    return found.markdown() if output_format == "md" else html_of(found, path)


def html_of(found: CheckedFile, path: str) -> str:
    """Return a checked report as a page; `path` names its file, `-` none."""
    from .exports.finished import Finished
    from .exports.page import report_page

    title = Path(path).stem if path != "-" else "Report"
    shown = Finished(title, title, "", found.language_code, found.report, found.sources, found.notes, (), True)
    return report_page(shown)
