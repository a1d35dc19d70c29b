"""Check a report that was written elsewhere against the sources that it cites: the command `check`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from ..core.evidence.checking.proof import Known, has_something_to_look_up, not_stated
from ..core.evidence.checking.units import Unit, units_of
from ..core.evidence.citations.foreign import Target, read_foreign
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import plain_line, write_document
from ..core.evidence.memory.observations import source_notes
from ..core.library.library import Library
from ..core.models.resolve import check_models, is_extractive, load_models
from ..core.reading.documents.worker import parse
from ..core.records.report import ClaimCheck, Report, UnitVerdict
from ..core.records.sources import Source
from ..core.run.context import Context
from ..core.run.conversation import clean
from ..core.run.errors import ReportUnreadable
from ..core.run.settings import read_context
from .check_report import checked, run_for
from .endings import reports_errors, run_interruptibly
from .linked import with_links
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
"""What became of a statement. `no source`: it cites none, or a number that names none. Without a model, its numbers and
quotations are looked for."""
WRONG = ("contradicted", "not in the source", "numbers not found")


class Statement(NamedTuple):
    """A statement of the report and what its sources say of it."""

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
    statements: Sequence[Statement]
    sources: Sequence[Source]
    unread: Mapping[int, str]
    """Why a source could not be read, by its number."""

    @property
    def summary(self) -> str:
        """The counts, in words."""
        counts = Counter(one.outcome for one in self.statements)
        return "; ".join([counted(len(self.statements), "statement"), *(f"{n} {name}" for name, n in counts.items())])

    @property
    def is_wrong(self) -> bool:
        """Whether a source contradicts a statement that cites it, or does not say it."""
        return any(one.outcome in WRONG for one in self.statements)

    @property
    def notes(self) -> list[str]:
        """Which sources could not be read, and why; which were retracted or read as copies."""
        unread = [f"Not read: source {number}, {reason.rstrip('.')}." for number, reason in self.unread.items()]
        return [*source_notes(self.sources), *unread]

    def markdown(self) -> str:
        """Return the report with its marks, its sources, and a table of the verdicts."""
        words = labels(self.language_code)
        rows = [
            f"| {_cell(one.words)} | {one.outcome} | {', '.join(map(str, one.sources))} | {_cell(one.passage)} |"
            for one in self.statements
        ]
        table = ["## Verdicts", "", f"{self.summary}.", "", "| Statement | Verdict | Sources | Passage |"]
        document = write_document(self.report, self.sources, self.notes, words, was_researched=True)
        return clean("\n".join([document, "", *table, "|---|---|---|---|", *rows]))

    def data(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "report": self.report.text,
            "counts": Counter(one.outcome for one in self.statements),
            "statements": [one._asdict() for one in self.statements],
            "sources": [
                {**one.model_dump(include={"number", "title", "location"}), "not_read": self.unread.get(one.number, "")}
                for one in self.sources
            ],
        }


async def check_file(data: bytes, name: str, context: Context) -> CheckedFile:
    """Check a report in Markdown, HTML or Word format, by the ending of its `name`; raises `ReportUnreadable`."""
    foreign = read_foreign(await asyncio.to_thread(_markdown_of, data, name))
    if not foreign.text:
        raise ReportUnreadable(f"{name}: there is no text in it.")
    run = run_for(foreign.text, context)
    named = await asyncio.to_thread(_named_sources, foreign.targets, context)
    say(f"reading {counted(len(named), 'source')}")
    read, _ = await reread([*named.values()], context, run)
    known = {str(number): _as_read(read[one.key], one, number) for number, one in named.items()}
    texts = [text.text for one in read.values() for text in one.texts]
    keys = {number: str(number) for number in named}
    report = await checked(foreign.text, keys, known, texts, run, context)
    unread = {number: read[one.key].reason for number, one in named.items() if not read[one.key].texts}
    units = await asyncio.to_thread(units_of, foreign.text, keys)
    about = {str(number): Known(read[one.key].texts, f"{one.title} {one.date}") for number, one in named.items()}
    is_judged = not is_extractive("verifier", context)
    statements = [*_statements(units, report.verdicts, about, is_judged=is_judged)]
    report = _without_unread(report, {str(number) for number in unread}, labels(run.language_code).not_verified)
    return CheckedFile(report, run.language_code, statements, [*known.values()], unread)


def _markdown_of(data: bytes, name: str) -> str:
    kind = Path(name).suffix.lower()
    if kind in (".html", ".htm", ".docx"):
        return parse(with_links(data, kind), name).text
    return data.decode("utf-8", "replace")


def _named_sources(targets: Mapping[int, Target], context: Context) -> dict[int, Source]:
    """Return what the numbers name: pages of the web, and documents of the folders by their names."""
    documents = dict[str, Source]()
    if context.docs:
        library = Library(context)
        library.refresh()
        documents = {one.source.address: one.source for one in library.documents()}

    def source(number: int, target: Target) -> Source:
        if not target.address.startswith(("http://", "https://")):
            path = target.address.casefold().lstrip("./")
            found = next((one for key, one in documents.items() if f"/{key.casefold()}".endswith(f"/{path}")), None)
            if found:
                return found
        address, title = target.address, target.title or target.address
        return Source(key=address, title=title, location=address, address=address, kind="web", number=number)

    return {number: source(number, target) for number, target in sorted(targets.items())}


def _as_read(read: Reread, named: Source, number: int) -> Source:
    source = read.source if read.texts else named.model_copy(update={"failure": "not read"})
    return source.model_copy(update={"key": str(number), "number": number})


def _without_unread(report: Report, unread: set[str], not_verified: str) -> Report:
    """Return the report without marks on what rests on nothing but sources that could not be read."""
    mark, text, shift, claims = f" *({not_verified})*", report.text, 0, list[ClaimCheck]()
    for claim in report.claims:
        start, end = claim.start - shift, claim.end - shift
        if claim.passages and unread.issuperset(one.source for one in claim.passages):
            before, found, rest = text[start : end + len(mark)].partition(mark)
            text = f"{text[:start]}{before}{rest}{text[end + len(mark) :]}"
            shift, end = shift + len(found), min(end, start + len(before) + len(rest))
            claim = claim.model_copy(update={"verdict": "unchecked", "is_marked": False})
        claims.append(claim.model_copy(update={"start": start, "end": end}))
    return report.model_copy(update={"text": text, "claims": tuple(claims)})


def _statements(
    units: Sequence[Unit], verdicts: Sequence[UnitVerdict], sources: Mapping[str, Known], *, is_judged: bool
) -> Iterator[Statement]:
    for unit, verdict in zip(units, verdicts, strict=True):
        if verdict.shown != "reasoning":
            cited = {key: sources[key] for key in unit.sources}
            outcome = _outcome(unit, verdict, cited, is_judged=is_judged)
            yield Statement(verdict.text, outcome, tuple(map(int, cited)), verdict.words)


def _outcome(unit: Unit, verdict: UnitVerdict, cited: Mapping[str, Known], *, is_judged: bool) -> Outcome:
    if verdict.shown == "supported" or verdict.shown == "corrected":
        return verdict.shown
    if verdict.shown == "marked" and verdict.words:
        return "contradicted"
    if not cited:
        return "no source"
    if not any(one.texts for one in cited.values()):
        return "source not reachable"
    if not is_judged:
        if not has_something_to_look_up(unit):
            return "not verified"
        return "numbers not found" if not_stated(unit, cited) else "numbers found"
    return "not in the source" if verdict.shown == "marked" else "not verified"


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
    found = run_interruptibly(PlainLines().during(_checked_path(data, path, given)))
    ending = out.suffix.lower() if out else ""
    named = {".html": "html", ".htm": "html", ".json": "json"}.get(ending, "md")
    is_delivered = deliver(_content(found, output_format or named, path), out)
    say(f"{found.summary}.")
    return DONE if is_delivered and not found.is_wrong else FAILED


async def _checked_path(data: bytes, path: str, given: Mapping[str, Any]) -> CheckedFile:
    context = read_context({"verify": "check", **given})
    await load_models(context)
    for notice in check_models(("verifier",), context):
        say(f"Note: {notice}")
    if is_extractive("verifier", context):
        say("Note: no language model judges; numbers and quotations are looked for (--model).")
    return await check_file(data, path, context)


def _content(found: CheckedFile, output_format: str, path: str) -> str:
    if output_format == "json":
        return json.dumps(found.data(), ensure_ascii=False, indent=2)
    if output_format == "md":
        return found.markdown()
    from .exports.finished import Finished
    from .exports.page import report_page

    title = Path(path).stem if path != "-" else "Report"
    shown = Finished(title, title, "", found.language_code, found.report, found.sources, found.notes, (), True)
    return report_page(shown)
