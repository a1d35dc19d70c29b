"""Delivers a report: its packets and stream, its message in the conversation, and its audit."""

from __future__ import annotations

import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, RemoveMessage
from langgraph.config import get_config
from langgraph.graph.message import push_message
from typing_extensions import override

from ...state import ResearchState
from ..dialogue.conversation import Mark, mark_of, marked
from ..dialogue.transcripts import REASONING
from ..events.blocks import MessagePackets, ReportPackets
from ..events.call import ProseEvents
from ..events.log import Emitter
from ..events.packets import (
    OverallStop,
    Packet,
    Placement,
)
from ..evidence.checking.calculator import with_basis
from ..evidence.checking.source_text import SourceText
from ..evidence.citations.citing import (
    CitationStream,
    Cited,
    by_number,
    without_unknown,
)
from ..evidence.citations.labels import Labels, labels
from ..evidence.citations.markers import cited_calculations, with_calculations
from ..evidence.citations.rendering import (
    clean_for_draft,
    plain_citations,
    plain_line,
    source_list,
    title_line,
    warning_above,
    with_marks,
    without_marks,
    words_of_line,
)
from ..evidence.citations.sanitizing import sanitized
from ..evidence.memory.observations import ThreadDisputes, named_disputes
from ..evidence.text.similarity import reprints
from ..records.report import Audit, CitingText, ClaimCheck, Draft, Report
from ..records.research import Calculation, by_calculation_number, total
from ..records.sources import Source
from ..settings.context import Context
from ..store.pages import Pages
from ._continuation import Continuation
from ._titles import may_begin_with_title, split_title
from .blocks import changed_blocks
from .examination import Examined
from .notes import ReportNotes
from .versions import ThreadVersions, document_of, reader_of

_HEADING = re.compile(r"^#{1,3} ", re.MULTILINE)
"""The beginning of a section."""


class ReportEvents(ProseEvents):
    """Emits and keeps the report as it is streamed, with its citations resolved, across several
    model calls.

    Call `settle` after each call, so that text that the next one repeats is not shown twice, and
    `finish` at the end.
    """

    def __init__(self, state: ResearchState, emitter: Emitter, placement: Placement) -> None:
        super().__init__(emitter, placement)
        self._numbered = by_number(state.sources.values())
        self._title = title_line(state.title)
        self._seconds_before = state.run.active_seconds
        keys = {number: source.key for number, source in self._numbered.items()}
        self.citations = CitationStream(keys)
        self.message_id = _new_message_id()
        """Id of the report's message, used in LangGraph's `messages` mode too."""
        self.written = ""
        """The text as shown, with citations as `[n]`."""
        self.raw = ""
        """The model's text behind what was shown, before its citations were resolved."""
        self.draft = ""
        """Like `raw`, but including the heading of a section that has no words yet."""
        self._heading = ""
        self._seam = Continuation("")
        """Drops what the current call repeats of the text so far."""
        self.on_section: Callable[[str], None] | None = None
        """Called with the text so far, as in `raw`, whenever a section of it is complete."""
        self._section_end = 0
        """Length of the complete sections in `raw`."""
        self._beginning: str | None = ""
        """Words held back because they may be a title; None once the text has begun."""

    @override
    def start(self) -> Packet:
        packets = MessagePackets(self.placement)
        return packets.report_start(self._numbered.values(), self._seconds_before)

    @override
    def pass_on(self, words: str) -> None:
        self._take(self._seam.feed(words))

    def settle(self) -> None:
        """End a model call; the next one continues the text."""
        self._take(self._seam.finish())
        self._seam = Continuation(self.draft)

    def begin_section(self, heading: str) -> None:
        """Begin a section; its heading, as Markdown, is shown with its first words."""
        gap = ""
        if self.raw:
            line_breaks = len(self.raw) - len(self.raw.rstrip("\n"))
            gap = "\n" * max(0, 2 - line_breaks)
        self._heading = f"{gap}{heading}\n\n"
        self.draft = self.raw + self._heading
        self._seam = Continuation(self.draft)

    def finish(self) -> None:
        """Emit the buffered rest at the end of the report."""
        self._take(self._seam.finish())
        self._show(self.citations.finish())
        if self._beginning:
            words = self._beginning
            self._beginning = None
            self._show([words])

    def stream(self, words: str) -> None:
        """Stream words in LangGraph's `messages` mode.

        Version 3 events contain the whole draft instead.
        """
        if words and not get_config()["configurable"].get("__pregel_stream_messages_v2"):
            push_message(AIMessageChunk(content=words, id=self.message_id), state_key=None)

    def _take(self, words: str) -> None:
        """Add new words to the text and show them.

        The heading of a section that had no words so far is shown before them.
        """
        self.draft += words
        if self._heading and words.strip():
            words = self._heading + words.lstrip()
            self._heading = ""
        if words and not self._heading:
            self.raw += words
            self._show(self.citations.feed(words))
            if self.on_section:
                self._announce_sections(self.on_section)

    def _announce_sections(self, on_section: Callable[[str], None]) -> None:
        """Pass on the text above each new heading: several arrive at once from a model that does
        not stream, and in a stored answer."""
        for heading in _HEADING.finditer(self.raw, self._section_end + 1):
            self._section_end = heading.start()
            on_section(self.raw[: self._section_end])

    def _show(self, pieces: list[str | Cited]) -> None:
        packets = MessagePackets(self.placement)
        for piece in pieces:
            words = f"[{piece.number}]" if isinstance(piece, Cited) else piece
            words = self._without_title(words)
            if not words:
                continue
            if self._title and not self.written:
                self.stream(f"{self._title}\n\n")
            self.written += words
            self.stream(words)
            if isinstance(piece, Cited) and piece.is_first:
                self.emit(packets.citation(piece.number, piece.key))
            self.emit(packets.piece(words))

    def _without_title(self, words: str) -> str:
        """Return the next words to show, without a title at the beginning of the text.

        Whether other headings have its level is only known at the end; then it is shown after all.
        """
        if self._beginning is None:
            return words
        beginning = self._beginning + words
        if may_begin_with_title(beginning):
            self._beginning = beginning
            return ""
        self._beginning = None
        title, body = split_title(beginning)
        if title:
            self._title = title_line(title)
        return body


class Delivery:
    """The delivery of a draft or report to the user: packets, and its message in the conversation.

    `state` must be as the node leaves it: for the report, with the finished run.
    """

    def __init__(self, state: ResearchState, context: Context, pages: Pages) -> None:
        self._state = state
        self._words = labels(state.run.language_code)
        self._server_address = context.server_address
        self._thread = pages.thread
        self.reader = reader_of(context.server_address, pages.thread)

    def end_packets(self, *, was_checked: bool) -> list[Packet]:
        """Return the packets that end a run.

        They are the report if it differs from the streamed draft, notes, audit, and `stop`.
        `progress.turn` of the state must be the turn of the check.
        """
        state = self._state
        turn = state.progress.turn
        packets_of_report = ReportPackets(Placement(turn_index=turn))
        draft, report = state.draft, state.report
        assert draft is not None and report is not None
        packets: list[Packet] = []
        if (report.text, report.sources) != (draft.streamed, draft.streamed_sources):
            packets.append(_revision(packets_of_report, draft.streamed, report))
        report_notes = ReportNotes(state)
        notes = report_notes.lines()
        above = warning_above(
            report,
            self._words,
            was_researched=bool(state.sources),
            left_out=report_notes.left_out(),
        )
        if notes or above:
            packets.append(packets_of_report.notes(notes, above))
        if report.audit:
            packets.append(packets_of_report.audit(report.audit))
        if not packets and not was_checked:
            # Nothing was emitted in this turn.
            turn -= 1
        return [*packets, OverallStop.of(state.run, turn)]

    def revision(self, placement: Placement, before: str) -> Packet:
        """Return the packet with the draft, which replaces the text `before`."""
        draft = self._state.draft
        assert draft is not None
        return _revision(ReportPackets(placement), before, draft)

    def draft_message(self, draft: Draft, events: ReportEvents) -> AIMessage:
        """Return the draft as a message, with the id under which `events` streamed it."""
        thought = events.thoughts.strip() or self._state.progress.thought
        message = self._message(unchecked(draft), "draft", thought)
        return message.model_copy(update={"id": events.message_id})

    def stream_sources(self, draft: Draft, events: ReportEvents) -> None:
        """Stream the list of the sources that a draft has cited as it was streamed."""
        sources = [self._state.sources[key] for key in draft.streamed_sources]
        events.stream("\n\n" + source_list(sources, self._words, self.reader))

    def changed_draft_messages(self, draft: Draft) -> list[BaseMessage]:
        """Return the message with a changed draft, which replaces the old draft's message.

        Empty if there is none.
        """
        before = self._draft_message()
        if before is None:
            return []
        thought = str(before.additional_kwargs.get(REASONING, ""))
        message = self._message(unchecked(draft), "draft", thought)
        return [message.model_copy(update={"id": before.id})]

    def edited_draft_messages(self, draft: Draft) -> list[BaseMessage]:
        """Return the message with an edited report, which the checked one replaces."""
        replaced = self.changed_draft_messages(draft)
        if replaced:
            return replaced
        message = self._message(unchecked(draft), "draft", "")
        return [message.model_copy(update={"id": _new_message_id()})]

    def report_messages(self) -> list[BaseMessage]:
        """Return the update that adds the report to the conversation.

        The report replaces its draft, or comes last if the user has sent messages since the draft.
        """
        report = self._state.report
        assert report is not None
        draft = self._draft_message()
        if draft is None:
            # The run was stored by a version that did not add drafts as messages.
            return [self._message(report, "report", self._state.progress.thought)]
        thought = str(draft.additional_kwargs.get(REASONING, ""))
        message = self._message(report, "report", thought)
        if draft is self._state.messages[-1]:
            return [message.model_copy(update={"id": draft.id})]
        return [RemoveMessage(id=str(draft.id)), message]

    def _draft_message(self) -> BaseMessage | None:
        """Return the draft's message in the conversation, if there is one."""
        for message in reversed(self._state.messages):
            if mark_of(message) == "draft":
                return message
        return None

    def _message(self, report: Report, mark: Mark, thought: str) -> AIMessage:
        """Return a message of the kind `mark` with the report, notes and sources.

        `thought` is the model's reasoning.
        """
        finished = ThreadVersions(self._state).finished(report)
        document = document_of(finished, self._server_address, self._thread)
        more: dict[str, object] = {}
        if thought:
            more[REASONING] = thought
        is_edit = self._state.run.entry == "edit"
        return marked(document, mark, replaces=is_edit, **more)


class CleanReport(NamedTuple):
    """A report as a model wrote it, cleaned, and divided into its title and text."""

    title: str
    """Empty if it has none."""
    text: str
    cited: Mapping[int, str]
    """Keys of the sources that it cites, by number."""
    removed_markers: int
    calculations: tuple[Calculation, ...]
    """The calculations that it cites, and those that they rest on."""


def clean_report(
    written: str, sources: Mapping[str, Source], calculations: Iterable[Calculation] = ()
) -> CleanReport:
    """Return a model's report as a draft takes it; see `clean_for_draft`. `calculations` are those
    of the thread."""
    known = by_calculation_number(calculations)
    with_known, removed = with_calculations(written, {number: number for number in known})
    cleaned, cited, removed_markers = clean_for_draft(with_known, sources)
    title, text = split_title(cleaned)
    used = tuple(with_basis(cited_calculations(text), known))
    return CleanReport(title, text, cited, removed_markers + removed, used)


def new_draft(state: ResearchState, events: ReportEvents, written: str) -> Draft:
    """Return the draft of a text that was written from the state, and streamed to `events`."""
    report = clean_report(written, state.sources, state.calculations.values())
    streamed = dict(sorted(events.citations.cited.items()))
    return Draft(
        text=report.text,
        sources=tuple(report.cited.values()),
        numbers=tuple(report.cited),
        calculations=report.calculations,
        streamed=events.written,
        streamed_sources=tuple(streamed.values()),
        removed_markers=report.removed_markers,
        findings=tuple(state.findings),
        title=report.title,
    )


def _revision(packets: ReportPackets, before: str, after: CitingText) -> Packet:
    """Return the packet with a report that replaces the text `before`."""
    text = plain_citations(after.text)
    return packets.revised(text, after.keys, changed_blocks(plain_citations(before), text))


def _new_message_id() -> str:
    return f"report-{uuid.uuid4()}"


def draft_of(report: Report, words: Labels, findings: Iterable[str]) -> Draft:
    """Return a finished report as a draft that can be edited, with its marks.

    What it leaves open is among its grades, also if that is no item of a checklist. `words` are the
    labels of its language, `findings` the ids of the findings that were known when it was written.
    """
    text = report.checked_text
    foreword = afterword = ""
    for block in report.house_words:
        if report.text.startswith(block):
            foreword = _house_text(block, words)
        else:
            afterword = _house_text(block, words)
    return Draft(
        text=text,
        named_disputes=tuple(dispute.claims for dispute in named_disputes(report)),
        sources=report.sources,
        numbers=report.numbers,
        calculations=report.calculations,
        fewest_words=report.fewest_words,
        most_words=report.most_words,
        columns=report.columns,
        blanks=report.blanks,
        streamed=text,
        streamed_sources=report.sources,
        removed_markers=0,
        grades=report.all_grades,
        findings=tuple(findings),
        title=report.title,
        foreword=foreword,
        afterword=afterword,
    )


def unchecked(draft: Draft) -> Report:
    """Return the draft as a report without checks, without citations that name no source."""
    return Report(
        text=sanitized(without_unknown(draft.text)),
        sources=draft.sources,
        numbers=draft.numbers,
        calculations=draft.calculations,
        columns=draft.columns,
        blanks=draft.blanks,
        grades=draft.grades,
        follow_ups=draft.follow_ups,
    )


def with_house_words(report: Report, draft: Draft, words: Labels) -> Report:
    """Return the report with the draft's foreword above its text, and the afterword below."""
    above = house_block(draft.foreword, words)
    below = house_block(draft.afterword, words)
    return with_house_blocks(report, above, below)


def house_block(words: str, labels: Labels) -> str:
    """Return the publisher's own words, plain text, as a Markdown quotation that says whose they
    are; empty if there are none."""
    lines = list[str]()
    for line in words.strip().splitlines():
        lines.append(f"> {plain_line(line)}".rstrip())
    if not lines:
        return ""
    first = lines[0].removeprefix("> ")
    return "\n".join([f"> **{labels.house_words}:** {first}", *lines[1:]])


def _house_text(block: str, labels: Labels) -> str:
    """Return the plain text of a quotation by `house_block`."""
    lines = [line.removeprefix(">").strip() for line in block.splitlines()]
    text = "\n".join(lines).removeprefix(f"**{labels.house_words}:**").strip()
    return words_of_line(text)


def with_house_blocks(report: Report, above: str, below: str) -> Report:
    """Return the report between these blocks of the publisher's words, in Markdown; each may be
    empty."""
    if not above and not below:
        return report
    offset = len(f"{above}\n\n") if above else 0
    return report.model_copy(
        update={
            "text": "\n\n".join(filter(None, (above, report.text, below))),
            "claims": _moved(report.claims, -offset),
            "house_words": tuple(filter(None, (above, below))),
        }
    )


def audited_report(
    state: ResearchState,
    examined: Examined,
    texts: Mapping[str, Sequence[SourceText]],
    failures: Sequence[str],
    *,
    names_contradictions: bool = False,
) -> Report:
    """Return the examined report with its marks and audit.

    `failures`: forms that models did not fill in. With `names_contradictions`, the mark of a
    contradicted statement says what its sources say. The text of a run whose report has a title
    begins with it.
    """
    words = labels(state.run.language_code)
    cited = list[Source]()
    for number, key in examined.keys.items():
        cited.append(state.sources[key].model_copy(update={"number": number}))
    contradicted = examined.contradicted if names_contradictions else {}
    text, claims = with_marks(examined.text, examined.claims, words, cited, contradicted)
    examined = examined._replace(claims=claims)
    audit = _audit_of(state, examined, texts, failures)
    claims = _with_independence(claims, organisations(state.sources.values(), audit.reprints))
    title = ""
    is_title_marked = False
    before = title_line(state.title)
    if before:
        # The title is printed above the text.
        heading, _, body = text.partition("\n\n")
        is_title_marked = any(claim.is_marked for claim in claims if claim.start < len(heading))
        heading = without_marks(heading)
        if heading != sanitized(before):
            title = words_of_line(heading.removeprefix("# ").strip())
        claims = _moved(claims, len(text) - len(body))
        text = body
    return Report(
        text=text,
        title=title,
        is_title_marked=is_title_marked,
        sources=tuple(examined.keys.values()),
        numbers=tuple(examined.keys),
        calculations=_cited_calculations(text, state),
        claims=claims,
        verdicts=examined.verdicts,
        audit=audit,
        grades=state.draft.grades if state.draft else (),
        follow_ups=state.draft.follow_ups if state.draft else (),
        outline_deviations=tuple(ReportNotes(state).outline_deviations()),
    )


def _cited_calculations(text: str, state: ResearchState) -> tuple[Calculation, ...]:
    """Return the calculations of the draft that a text still cites, and those that they rest on."""
    known = by_calculation_number(state.draft.calculations if state.draft else ())
    return tuple(with_basis(cited_calculations(text), known))


def organisations(sources: Iterable[Source], reprints: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the organisation behind each source, by source key.

    Sources that reprint each other (`reprints`: groups of keys) count as one organisation.
    """
    by_key = {source.key: source.organisation for source in sources}
    for group in reprints:
        owners = set(map(by_key.__getitem__, by_key.keys() & group))
        for key, owner in by_key.items():
            if owner in owners:
                by_key[key] = min(owners)
    return by_key


def _audit_of(
    state: ResearchState,
    report: Examined,
    texts: Mapping[str, Sequence[SourceText]],
    failures: Sequence[str],
) -> Audit:
    """Return the audit of an examined report.

    `texts` are by source key; `state` must include all costs of the run.
    """
    draft = state.draft
    assert draft is not None
    cited = [state.sources[key] for key in report.keys.values()]
    read_texts = dict[str, str]()
    for source in cited:
        stored = texts.get(source.key)
        if stored:
            read_texts[source.key] = stored[0].text
    groups = reprints(read_texts)
    shown = Counter(unit.shown for unit in report.verdicts)
    claims_marked = 0
    for claim in report.claims:
        if claim.is_marked:
            claims_marked += 1
    unopened = [source for source in cited if not source.content_hash]
    corrected_markers = 0
    for finding in state.own_findings:
        corrected_markers += finding.corrected_markers
    consulted = list[str]()
    for action in state.own_actions:
        consulted += action.found
    consulted += report.keys.values()
    spent = total(state.spending)
    notes = ReportNotes(state)
    missing = notes.missing(report.keys.values())
    return Audit(
        checked=shown.total(),
        supported=shown["supported"],
        corrected=shown["corrected"],
        marked=claims_marked,
        not_verified=max(0, shown["marked"] + shown["not_verified"] - claims_marked),
        reasoning=shown["reasoning"],
        removed_markers=draft.removed_markers,
        corrected_markers=corrected_markers,
        sources_read=_read_sources(state.sources, consulted),
        sources_cited=len(cited),
        independent_sources=len({*organisations(cited, groups).values()}),
        excerpts_cited=len(unopened),
        reprints=tuple(groups),
        judge_grade=report.grade,
        disagreements=tuple(ThreadDisputes(state).citing(report.keys.values())),
        open_gaps=missing.left_open,
        unfinished=missing.unfinished,
        not_read=tuple(notes.not_read()),
        model_calls=spent.calls,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        usd=spent.usd,
        seconds=state.run.active_seconds,
        failures=tuple(failures),
    )


def _moved(claims: Iterable[ClaimCheck], size: int) -> tuple[ClaimCheck, ...]:
    """Return the claims behind the first `size` characters of a text, for the text without them.

    A negative size is the number of characters that are put in front of the text.
    """
    moved = list[ClaimCheck]()
    for claim in claims:
        if claim.start >= size:
            update = {"start": claim.start - size, "end": claim.end - size}
            moved.append(claim.model_copy(update=update))
    return tuple(moved)


def _with_independence(
    claims: Iterable[ClaimCheck], owners: Mapping[str, str]
) -> tuple[ClaimCheck, ...]:
    """Return the claims with `independent` set: how many organisations support each.

    `owners` are the organisations by source key.
    """
    counted = list[ClaimCheck]()
    for claim in claims:
        supporting = set[str]()
        for passage in claim.passages:
            if passage.verdict == "supported":
                supporting.add(owners[passage.source])
        counted.append(claim.model_copy(update={"independent": len(supporting)}))
    return tuple(counted)


def _read_sources(sources: Mapping[str, Source], found: Iterable[str]) -> int:
    """Return the number of sources in `sources` that have a key in `found` and whose text was
    read."""
    known = {*found} & sources.keys()
    return len([key for key in known if sources[key].content_hash])
