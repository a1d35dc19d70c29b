"""Checks reports from elsewhere: against the sources they cite (the `check` command), or against
texts that an app passes (`check_report`)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote

from ..core.concurrency import in_pieces
from ..core.dialogue.conversation import safe_text
from ..core.errors import ReportUnreadable
from ..core.evidence.checking.proof import Known, not_stated
from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.checking.units import ReportUnit, report_units
from ..core.evidence.citations.foreign import NotUnderstood, Target, read_foreign
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.rendering import plain_line, write_document
from ..core.evidence.citations.sanitizing import sanitized
from ..core.library.library import Library
from ..core.models.resolve import RoleModels
from ..core.reading.documents.pool import Parser
from ..core.reading.documents.records import Unreadable, readable_suffixes
from ..core.records.report import Report, UnitVerdict
from ..core.records.research import Spent
from ..core.records.sources import Source, text_hash
from ..core.settings.context import Context
from ..core.writing.report import with_house_blocks
from ._endings import run_interruptibly
from ._progress import PlainLines
from ._source_check import (
    SourceReading,
    begin_check,
    current_texts,
    load_verifier,
    messages_of,
    run_for_check,
    texts_at_hand,
)
from ._terminal import check_output, deliver, say
from .words import DONE, FAILED, UNCLEAR, counted

CheckFormat = Literal["md", "html", "json"]
StatementOutcome = Literal[
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
"""Verdict on a statement.

`source not reachable`: a cited source could not be read, and the others neither support nor
contradict the statement. `no source`: it cites nothing that is understood. `numbers found`,
`numbers not
found`: without a model, only its numbers and quotations were looked up in the sources.
"""
MOST_CHARACTERS = 300_000
"""Maximum length of a report from elsewhere, in characters of Markdown."""
MOST_STATEMENTS = 2_000
"""Maximum number of statements of a report from elsewhere; long reports have 300 to 500."""
_WRONG = ("contradicted", "not in the source", "numbers not found")
_NO_ADDRESS = "the report names neither a web address nor a file for it"
_NO_FOLDER = "it is a file: name the folder with --docs"
_NO_FILE = "no such file was found in the documents"
_FORMATS: Mapping[str, CheckFormat] = {".html": "html", ".htm": "html", ".json": "json"}
"""Output format by the suffix of the output file; otherwise Markdown."""


class ReportFile(NamedTuple):
    """A report from elsewhere, as it was read from a file."""

    text: str
    """Markdown without the source list, with all citations as `[n]`."""
    targets: Mapping[int, Target]
    """The cited sources, by number."""
    statements: Sequence[ReportUnit]
    """What is checked, in the order of the text; the keys of sources are their numbers."""
    not_understood: Sequence[NotUnderstood] = ()
    """What looks like a citation but names no known source."""
    above: str = ""
    """Words of its publisher above the text, in Markdown, which are not checked; empty if there are
    none."""
    below: str = ""
    """The same, below the text."""

    @classmethod
    async def read(cls, data: bytes, name: str, context: Context) -> ReportFile:
        """Read a report in Markdown, HTML or Word, depending on the suffix of its file `name`;
        raises `ReportUnreadable`, also for one that is too long."""
        markdown = await asyncio.to_thread(_markdown_of, data, name, context)
        if len(markdown) > MOST_CHARACTERS:
            raise ReportUnreadable(
                f"{name}: the report has {len(markdown)} characters; at most {MOST_CHARACTERS} are "
                "checked. Check its parts one by one."
            )
        foreign = await asyncio.to_thread(read_foreign, markdown, readable_suffixes())
        text, above, below = foreign.divided()
        if not text:
            raise ReportUnreadable(f"{name}: the file contains no text.")
        keys = {number: str(number) for number in foreign.targets}
        statements = await asyncio.to_thread(report_units, text, keys)
        if len(statements) > MOST_STATEMENTS:
            raise ReportUnreadable(
                f"{name}: the report has {len(statements)} statements; at most {MOST_STATEMENTS} "
                "are checked. Check its parts one by one."
            )
        return cls(text, foreign.targets, statements, foreign.not_understood, above, below)

    async def check(
        self,
        context: Context,
        on_notice: Callable[[str], None] = say,
        request: str = "",
        on_costs: Callable[[Mapping[str, Spent]], None] = lambda _: None,
    ) -> CheckedFile:
        """Check the report; raises `QuestionRefused` for a `request` that is too long.

        `on_notice` receives lines on the progress and warnings. `request` is what the report was
        asked for, empty if unknown. `on_costs` receives the cost of each call, also if the check
        fails or is cancelled.
        """
        asked = messages_of(request, context)
        await load_verifier(context, on_notice)
        is_judged = not RoleModels(context).is_extractive("verifier")
        if not is_judged:
            on_notice(
                "Note: without a language model (--model), only numbers and quotations are looked "
                "up."
            )
        run = await asyncio.to_thread(run_for_check, self.text, context, asked)
        unknown = {marker.number: marker.reason for marker in self.not_understood}
        named = await asyncio.to_thread(_named_sources, self.targets, unknown, context)
        on_notice(f"reading {counted(len(named.keys() - unknown.keys()), 'source')}")
        keys = {number: found.source.key for number, found in named.items()}
        sources = {found.source.key: found.source for found in named.values()}
        read_sources = current_texts(context, run, on_notice)
        check = await begin_check(self.text, keys, sources, read_sources, run, context, asked)
        try:
            checked = await check.report(names_contradictions=True)
        finally:
            on_costs(check.costs)
        known = dict[str, Known]()
        for number, key in keys.items():
            if number not in unknown:
                known[key] = _known(check.readings[key])

        def statement(pair: tuple[ReportUnit, UnitVerdict]) -> CheckedStatement:
            unit, verdict = pair
            outcome = _outcome(unit, verdict, sources=known, is_judged=is_judged)
            cited = tuple(int(key) for key in unit.sources if key in known)
            return CheckedStatement(
                verdict.text, outcome, cited, verdict.words, verdict.after, verdict.reason
            )

        stated = list[tuple[ReportUnit, UnitVerdict]]()
        for unit, verdict in zip(self.statements, checked.verdicts, strict=True):
            if verdict.shown != "reasoning":
                stated.append((unit, verdict))
        statements = await in_pieces(statement, stated)
        read = list[Source]()
        unread = dict[int, str]()
        for number, key in keys.items():
            reading = check.readings[key]
            read.append(reading.source)
            if not reading.texts and number not in unknown:
                unread[number] = named[number].reason or reading.reason
        whole = with_house_blocks(checked, sanitized(self.above), sanitized(self.below))
        return CheckedFile(whole, run.language_code, statements, read, unread, self.not_understood)


class SourceDocument(NamedTuple):
    """A source of a report."""

    title: str
    text: str
    """The full text."""
    date: str = ""
    """An ISO date or the beginning of one, such as `2024-05`; may be empty."""


class CheckedStatement(NamedTuple):
    """A statement of the report with its verdict."""

    words: str
    outcome: StatementOutcome
    sources: tuple[int, ...]
    """Numbers of the cited sources."""
    passage: str
    """The words that the verdict is based on, of sources or of the request; empty if there are
    none."""
    after: str = ""
    """If it was corrected: what it says now; empty if it was taken out."""
    reason: str = ""
    """If it was corrected: why."""


class CheckedFile(NamedTuple):
    """A report from elsewhere, checked against its sources."""

    report: Report
    language_code: str
    """Language of the report (ISO 639-1)."""
    statements: Sequence[CheckedStatement]
    sources: Sequence[Source]
    unread: Mapping[int, str]
    """Why a source could not be read, by the number of the source."""
    not_understood: Sequence[NotUnderstood] = ()
    """What looks like a citation but names no known source."""

    @property
    def counts(self) -> dict[StatementOutcome, int]:
        """Number of statements per verdict."""
        return Counter(statement.outcome for statement in self.statements)

    @property
    def summary(self) -> str:
        """The counts, in words."""
        parts = [counted(len(self.statements), "statement")]
        for outcome, count in self.counts.items():
            parts.append(f"{count} {outcome}")
        if self.not_understood:
            parts.append(f"{counted(len(self.not_understood), 'citation')} not understood")
        if self.is_uncited:
            parts.append("no citation found")
        return "; ".join(parts)

    @property
    def is_wrong(self) -> bool:
        """Whether a cited source contradicts a statement, or does not say it."""
        return any(statement.outcome in _WRONG for statement in self.statements)

    @property
    def is_uncited(self) -> bool:
        """Whether it has statements, and nothing in it was understood as a citation."""
        return bool(self.statements) and not any(unit.sources for unit in self.statements)

    @property
    def is_unclear(self) -> bool:
        """Whether a statement was left open since its sources could not be read, or a citation was
        not understood."""
        is_open = any(unit.outcome == "source not reachable" for unit in self.statements)
        return is_open or bool(self.not_understood) or self.is_uncited

    @property
    def exit_code(self) -> int:
        """Exit code of `check`: what is wrong comes before what is unclear."""
        if self.is_wrong:
            return FAILED
        return UNCLEAR if self.is_unclear else DONE

    @property
    def notes(self) -> list[str]:
        """Notes on sources that were retracted, read as copies, or could not be read, and on
        citations that were not understood."""
        notes = list[str]()
        for source in self.sources:
            notes += source.notes
        for number, reason in self.unread.items():
            notes.append(f"Not read: source {number}, {reason.rstrip('.')}.")
        for marker in self.not_understood:
            notes.append(f"Citation not understood: {marker.words}, {marker.reason}.")
        if self.is_uncited:
            notes.append("Nothing in this report was understood as a citation.")
        return notes

    def table(self, most: int = sys.maxsize) -> str:
        """Return at most `most` verdicts as a Markdown table; if some are left out, wrong
        statements come first."""
        shown: Sequence[CheckedStatement] = self.statements
        if len(shown) > most:
            shown = sorted(shown, key=lambda statement: statement.outcome not in _WRONG)[:most]
        rows = ["| Statement | Verdict | Sources | Passage |", "|---|---|---|---|"]
        for statement in shown:
            numbers = ", ".join(map(str, statement.sources))
            words = _cell(statement.words)
            passage = statement.passage
            if statement.outcome == "corrected":
                words += f" → {_cell(statement.after) or '∅'}"
                passage = statement.reason
            rows.append(f"| {words} | {statement.outcome} | {numbers} | {_cell(passage)} |")
        return safe_text("\n".join(rows))

    def markdown(self) -> str:
        """Return the report as Markdown, with unsupported statements marked, its sources and a
        table of verdicts."""
        words = labels(self.language_code)
        document = write_document(self.report, self.sources, self.notes, words, was_researched=True)
        return f"{safe_text(document)}\n\n## Verdicts\n\n{self.summary}.\n\n{self.table()}"

    def html(self, path: str) -> str:
        """Return the report as an HTML page, titled after its file (`-`: standard input)."""
        from .exports.formats import unrun_page

        title = Path(path).stem if path != "-" else "Report"
        return unrun_page(title, self.language_code, self.report, self.sources, self.notes)

    def data(self) -> dict[str, Any]:
        """Return the report and its verdicts as JSON data."""
        reasons = {marker.number: marker.reason for marker in self.not_understood}
        reasons |= self.unread
        sources = list[dict[str, Any]]()
        for source in self.sources:
            fields = source.model_dump(include={"number", "title", "location"})
            fields["not_read"] = reasons.get(source.number, "")
            sources.append(fields)
        return {
            "report": self.report.text,
            "counts": self.counts,
            "statements": [statement._asdict() for statement in self.statements],
            "sources": sources,
            "not_understood": [marker._asdict() for marker in self.not_understood],
        }


async def check_file(
    data: bytes,
    name: str,
    context: Context,
    on_notice: Callable[[str], None] = say,
    request: str = "",
) -> CheckedFile:
    """Check a report in Markdown, HTML or Word, depending on the suffix of its file `name`: see
    `ReportFile`."""
    report = await ReportFile.read(data, name, context)
    return await report.check(context, on_notice, request)


def _markdown_of(data: bytes, name: str, context: Context) -> str:
    """Return a report as Markdown with its links; raises `ReportUnreadable`."""
    most = context.limits.max_document_bytes
    if len(data) > most:
        raise ReportUnreadable(
            f"{name}: it is larger than {most} bytes (limit max_document_bytes)."
        )
    if Path(name).suffix.lower() not in (".html", ".htm", ".docx"):
        return data.decode("utf-8", "replace")
    try:
        parser = Parser.of_files(context.limits.parse_seconds, most)
        return parser.parse(data, Path(name).name, keeps_links=True).text
    except Unreadable as error:
        raise ReportUnreadable(f"{name}: it cannot be read: {error}.") from error


class _NamedSource(NamedTuple):
    """A cited source, before it is read."""

    source: Source
    """Its key is its number."""
    reason: str = ""
    """Why it cannot be read; empty if that can be tried."""


def _named_sources(
    targets: Mapping[int, Target], unknown: Mapping[int, str], context: Context
) -> dict[int, _NamedSource]:
    """Return the cited sources by number: web pages, and files that are looked up in
    `context.docs`. `unknown`: why a citation is not understood, by the number in its place."""
    documents = _Documents(context)
    named = dict[int, _NamedSource]()
    for number, target in sorted(targets.items()):
        address = target.address
        title = unknown.get(number) or target.title or address
        source = Source(key=address, title=title, location=address, address=address, kind="web")
        reason = ""
        if not address:
            reason = _NO_ADDRESS
        elif not address.startswith(("http://", "https://")):
            found = documents.find(target.names or (address,))
            if isinstance(found, Source):
                source = found
            else:
                reason = found
        # Two numbers may name the same source.
        update = {"key": str(number), "number": number}
        named[number] = _NamedSource(source.model_copy(update=update), reason)
    return named


class _Documents:
    """The files in the folders of `context.docs`, by the ends of their paths."""

    def __init__(self, context: Context) -> None:
        self._by_ending = dict[str, dict[str, Source | str]]()
        self._has_folder = bool(context.docs)
        if not context.docs:
            return
        library = Library(context)
        status = library.refresh()
        for unread in status.left_out:
            self._add(unread.path, f"it cannot be read: {unread.reason}")
        for document in library.documents():
            self._add(unquote(document.source.location), document.source)

    def _add(self, path: str, found: Source | str) -> None:
        ending = ""
        for part in reversed(_plain_path(path).split("/")):
            ending = f"{part}/{ending}" if ending else part
            self._by_ending.setdefault(ending, {})[path] = found

    def find(self, names: Sequence[str]) -> Source | str:
        """Return the file with the longest of these names that exists, or why it cannot be read.

        Of a path that does not exist here, the end counts.
        """
        if not self._has_folder:
            return _NO_FOLDER
        endings = set[str]()
        for name in names:
            parts = _plain_path(name).split("/")
            endings.update("/".join(parts[start:]) for start in range(len(parts)))
        known = [ending for ending in endings if ending in self._by_ending]
        if not known:
            return _NO_FILE
        return _only(self._by_ending[max(known, key=len)])


def _plain_path(path: str) -> str:
    """Return a path in a form in which spellings of the same one are equal."""
    parts = unquote(path).replace("\\", "/").casefold().split("/")
    return "/".join(part for part in parts if part not in ("", ".", ".."))


def _only(found: Mapping[str, Source | str]) -> Source | str:
    """Return the file, or why it is not clear which one is meant."""
    if len(found) > 1:
        return f"{len(found)} files have this name: the report has to name the folder, too"
    return next(iter(found.values()))


def _known(reading: SourceReading) -> Known:
    """Return what a source says, for looking up numbers and quotations in it."""
    return Known(reading.texts, reading.source.about)


def _outcome(
    unit: ReportUnit, verdict: UnitVerdict, *, sources: Mapping[str, Known], is_judged: bool
) -> StatementOutcome:
    """Return the verdict to show on a part of the report; `sources` are those that are understood,
    by key, and `is_judged`: a model made the `verdict` of the check."""
    if verdict.shown == "supported" or verdict.shown == "corrected":
        return verdict.shown
    if verdict.is_contradicted:
        return "contradicted"
    cited = [key for key in unit.sources if key in sources]
    if not cited:
        return "no source"
    read = {key: sources[key] for key in cited if sources[key].texts}
    is_looked_up = not is_judged and unit.can_be_looked_up
    if read and is_looked_up and not not_stated(unit, read):
        return "numbers found"
    if len(read) < len(unit.sources):
        return "source not reachable"
    if is_looked_up:
        return "numbers not found"
    return "not in the source" if verdict.shown == "marked" else "not verified"


def _cell(words: str) -> str:
    """Return a text for a cell of a Markdown table."""
    return plain_line(words).replace("|", "\\|")


def check_path(
    path: str,
    request: str,
    output_format: CheckFormat | None,
    out: Path | None,
    given: Mapping[str, Any],
) -> int:
    """Check the report in a file (`-`: standard input) with the given settings, and print it with
    its verdicts or write it to `out`; `request` is what the report was asked for, empty if
    unknown."""
    check_output(out)
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise ReportUnreadable(f"{path}: {error.strerror or error}.") from error
    work = check_file(data, path, Context.read(given), request=request)
    checked = run_interruptibly(PlainLines().during(work))
    if output_format is None and out:
        output_format = _FORMATS.get(out.suffix.lower())
    match output_format:
        case "json":
            content = json.dumps(checked.data(), ensure_ascii=False, indent=2)
        case "html":
            content = checked.html(path)
        case _:
            content = checked.markdown()
    is_delivered = deliver(content, out)
    say(f"{checked.summary}.")
    for marker in checked.not_understood:
        say(safe_text(f"Citation not understood: {marker.words}, {marker.reason}."))
    return checked.exit_code if is_delivered else FAILED


async def check_report(
    text: str, sources: Mapping[int, SourceDocument], context: Context, request: str = ""
) -> Report:
    """Check a report against its sources; correct it too if `context.verify` is "repair".

    `text` is Markdown with citations `[n]`, without a list of sources; `sources` is keyed by n.
    `request` is what the report was asked for, empty if unknown: the report may use and calculate
    with the user's figures. In the returned report, the keys of sources are these numbers as
    strings. Raises `QuestionRefused` if the request is too long.
    """
    asked = messages_of(request, context)
    known = dict[str, Source]()
    texts = dict[str, list[SourceText]]()
    for number, source in sources.items():
        key = str(number)
        content_hash = text_hash(source.text)
        texts[key] = [SourceText(content_hash, source.text)]
        known[key] = Source(
            key=key,
            title=source.title,
            location=key,
            address=key,
            kind="document",
            date=source.date,
            content_hash=content_hash,
            number=number,
        )
    keys = {number: str(number) for number in sources}
    run = await asyncio.to_thread(run_for_check, text, context, asked)
    check = await begin_check(text, keys, known, texts_at_hand(texts), run, context, asked)
    return await check.report()
