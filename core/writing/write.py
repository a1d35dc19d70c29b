"""Has models write reports, part by part if needed, and other prose; continues answers that are cut off."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from typing_extensions import override

from ...prompts import fence, fenced_knowledge, render_prompt
from ...state import ResearchState
from ..evidence.checking.proof import Known, with_found_citations
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.citations.markers import plain_prose
from ..evidence.memory.disputes import dispute_line, disputes_in_thread
from ..evidence.memory.observations import missing_of, open_gaps
from ..evidence.origin import origin_of
from ..evidence.text.continuation import Continuation, join_continuation, without_loop
from ..evidence.text.sentences import cited_sentences
from ..models.ask import Reply, ask_model
from ..models.ladder.reply import split_thoughts
from ..models.request import Request
from ..models.resolve import EXTRACTIVE, is_small, with_model
from ..run.context import Context
from ..run.conversation import text_only
from ..run.errors import DeepResearchError, log_failure
from ..run.events.call import CallEvents, ProseEvents, SilentEvents
from ..run.plan_text import split_plan
from ..run.store.pages import Pages
from ..run.transcripts import (
    CHARACTERS_PER_TOKEN,
    Shorten,
    findings_without_call,
    mark_withheld,
    research_calls,
    stream_broke_off,
    was_cut_off,
    with_findings,
)
from .basis import findings_for_writer, has_conclusions, source_texts, states_anything
from .facts import FACTS_AT_ONCE, SMALL_WRITER_NOTICE, facts_by_topic, omitted_facts
from .report import ReportEvents
from .turn import Turn

_EXTENTS = {
    "part": "read in part",
    "excerpt": "only a search excerpt was read",
    "not opened": "could not be opened, only a search excerpt was read",
}
_TITLE = 100
"""Maximum characters of a source's title."""
_CUT_OFF = "the report was cut off at the output limit (report_tokens)"
_UNCITED = "The report cites none of the sources that were read."
_STANDS_IN = (
    "The writer's model cited none of the sources that were read. Its report is replaced by quotations; another "
    "model may do better (models)."
)
_MOST_CONTINUATIONS = 4
"""How often a report or a finding is continued after it was cut off at the output limit."""
_LAST_CHARACTERS = 60
"""Number of characters from the end of a text to repeat to the model that continues it."""


class ReportPart(NamedTuple):
    """The part of the report to write in the next call."""

    kind: Literal["report", "continuation", "section"]
    """The whole report, the continuation of a cut-off text, or one section."""
    is_again: bool = False
    """Whether the last answer was empty."""
    heading: str = ""
    """Heading of the section to write or continue."""


def first_passages(text: str, share: float) -> str:
    """Shorten a result to about this share; keeps the first (best) passages, or the cited sentences of a finding."""
    if not text.startswith("<data-"):
        return cited_sentences(text, share)
    opening, *lines, closing = text.split("\n")
    room, kept = int(share * len(text)), list[str]()
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([opening, *kept, closing])


def describe_sources(state: ResearchState) -> str:
    """Return fenced text with a line on each source that findings cite: its title, date, kind and status."""
    text = "\n".join(finding.numbered or "" for finding in state.findings.values())
    learned = {learning.source for learning in state.learnings.values()}
    numbered = by_number(state.sources.values())
    cited = {*cited_numbers(text, numbered), *(number for number, source in numbered.items() if source.key in learned)}
    lines = list[str]()
    for number in sorted(cited):
        source = numbered[number]
        kind = origin_of(source)
        marks = (
            source.title[:_TITLE],
            urlsplit(source.key).hostname if source.kind == "web" else "",
            {"own": "the user's document", "other": ""}.get(kind, kind),
            source.date,
            f"on {source.period}" if source.period else "",
            "retracted" if source.is_retracted else "",
            "superseded" if source.superseded_by else "",
            "draft" if source.is_draft else "",
            f"in force from {source.in_force_from}" if source.in_force_from else "",
            _EXTENTS.get(source.extent, ""),
        )
        lines.append(f"[{number}] {'; '.join(filter(None, marks))}")
    return fence("\n".join(lines)) if lines else ""


def known_findings(state: ResearchState, tokens: int) -> str:
    """Return the question's findings, shortened to `tokens` in all, and what was not found, as fenced JSON."""
    own = [finding for finding in state.own_findings if finding.text]
    room = tokens * CHARACTERS_PER_TOKEN // max(1, len(own))
    texts = [finding.numbered or finding.text for finding in own if not finding.is_withheld]
    shown = [text if len(text) <= room else cited_sentences(text, room / len(text)) for text in texts]
    # The orchestrator's list of gaps may be less precise than those of the researchers.
    not_found = [
        *missing_of(state.run, own, state.memory.values()),
        *(gap for finding in own for gap in finding.missing),
    ]
    return fenced_knowledge(findings=shown, not_found=list(dict.fromkeys(not_found)))


class TextWriter:
    """Has the writer's model write the report of a run; continues answers that are cut off."""

    def __init__(self, turn: Turn, events: ReportEvents, passages: str) -> None:
        """`passages` is fenced text with the passages behind the findings, or empty."""
        self._turn, self._events, self._passages = turn, events, passages
        self._state, self._context = turn.state, turn.context
        self._is_quick = self._state.run.is_quick
        self._facts: dict[str, list[str]] = {}
        if is_small("writer", self._context) and not self._is_quick:
            self._facts = facts_by_topic(self._state)
        # A broken stream is continued once; a quick answer is never continued.
        self._is_answered, self._has_broken = False, self._is_quick
        self.refused: set[str] = set()
        """Ids of the findings that the provider's filter refused."""
        self.notices: list[str] = []
        """Notices for the reader about how the report was written."""
        self.shortened = 0
        """Number of findings shortened to fit the window."""

    async def write(self) -> str:
        """Write the report; return why it is cut off, or "". Raises only if a call fails before any was answered."""
        try:
            if self._is_quick:
                return _CUT_OFF if was_cut_off(await self._ask(ReportPart("report"))) else ""
            if self._facts:
                return await self._write_from_facts()
            return _CUT_OFF if await self._write_part(ReportPart("report")) else ""
        except DeepResearchError as error:
            if not self._is_answered:
                raise
            log_failure(__name__, error, "The report was cut off, and continuing it failed")
            # Keep the part that was paid for.
            return f"{_CUT_OFF}, and continuing it failed: {str(error).rstrip('.')}"

    async def cited(self, pages: Pages) -> str:
        """Return the written text with all citations as `[n]`; `pages` has the sources' stored texts.

        If it has none, add citations of sources that say the same, ask the model once more, or use quotations instead.
        """
        known = by_number(self._state.sources.values())
        # A thought without an opening tag is recognised only at its end, when its words were already streamed.
        text = without_loop(plain_prose(split_thoughts(self._events.raw).text.strip(), known))
        if not known or cited_numbers(text, known) or not (self._is_quick or self._has_findings):
            return text
        texts = await source_texts(self._state.sources, [source.key for source in known.values()], pages)
        shown = {number: Known(texts[source.key], f"{source.title} {source.date}") for number, source in known.items()}
        text = await asyncio.to_thread(with_found_citations, text, shown)
        if cited_numbers(text, known):
            return text
        if not self._is_quick:
            text = await ask_to_cite(
                await self._request(ReportPart("report"), ""), text, known, self._context, self._events
            )
        if cited_numbers(text, known):
            return text
        # The extractive model's report consists of quotations.
        context = with_model("writer", EXTRACTIVE, self._context)
        request = await asyncio.to_thread(self._report_request, ReportPart("report"), "", "")
        quoted = (await write_silently(request, context, self._events)).text
        stands_in = bool(cited_numbers(quoted, known))
        self.notices = [*self.notices, _STANDS_IN if stands_in else _UNCITED]
        return quoted if stands_in else text

    async def _write_from_facts(self) -> str:
        """Have a small model write from lists of facts; return why the report is cut off, or an empty text.

        It writes an answer from all facts, followed by a section per topic if there are many facts, or else by a list
        of those that the answer omits.
        """
        self.notices = [SMALL_WRITER_NOTICE]
        has_sections = len(self._facts) > 1 and sum(map(len, self._facts.values())) > FACTS_AT_ONCE
        cut_off = [await self._write_part(ReportPart("report"))]
        for topic in self._facts if has_sections else ():
            self._events.begin_section(topic)
            cut_off.append(await self._write_part(ReportPart("section", heading=topic)))
        omitted = "" if has_sections else omitted_facts(self._facts, self._events.raw)
        if omitted and cited_numbers(self._events.raw, by_number(self._state.sources.values())):
            self._events.pass_on(f"\n\n{omitted}")
            self._events.settle()
        return _CUT_OFF if any(cut_off) else ""

    async def _write_part(self, part: ReportPart) -> bool:
        """Write a part; return whether it is cut off even after all continuations.

        An empty answer is retried once; a broken stream is continued once per report.
        """
        left = _MOST_CONTINUATIONS
        while True:
            draft = self._events.draft
            answer = await self._ask(part)
            is_empty = self._events.draft == draft
            if is_empty and part.kind != "continuation" and not part.is_again:
                part = part._replace(is_again=True)
                continue
            if not stream_broke_off(answer):
                if not was_cut_off(answer) or not left:
                    return was_cut_off(answer)
                left -= 1
            if not is_empty:
                part = part._replace(kind="continuation", is_again=False)

    async def _ask(self, part: ReportPart) -> AIMessage:
        """Make one call and return its answer; the first answer whose stream breaks off is kept, others raise."""
        request = (await self._request(part))._replace(keeps_broken=not self._has_broken)
        try:
            reply = await ask_model(request, self._context, self._events)
        finally:
            self._events.settle()
        is_broken = stream_broke_off(reply.message)
        self._has_broken |= is_broken
        self._is_answered |= bool(self._events.draft.strip()) and not is_broken
        self.refused |= set(reply.refused)
        self.shortened = max(self.shortened, reply.shortened)
        return reply.message

    async def _request(self, part: ReportPart, draft: str | None = None) -> Request:
        """Return the request for a part that follows `draft`, by default the text so far."""
        draft = self._events.draft if draft is None else draft
        if self._facts and part.kind != "continuation":
            return await asyncio.to_thread(self._facts_request, part)
        # A filter that refused a finding would refuse its passages too.
        passages = "" if self.refused else self._passages
        # In a thread, because it parses the citations of all findings.
        return await asyncio.to_thread(self._report_request, part, draft, passages)

    def _facts_request(self, part: ReportPart) -> Request:
        """Return the request to a small model for the report from all facts, or for a section from those on a topic."""
        state, run = self._state, self._state.run
        lines = self._facts.get(part.heading) or chain.from_iterable(self._facts.values())
        system = render_prompt(
            "_write_from_facts",
            "system",
            date=run.date,
            language=run.language,
            instructions=self._context.instructions,
        )
        reminder = render_prompt(
            "_write_from_facts",
            "reminder",
            facts=fence("\n".join(lines)),
            heading=part.heading,
            request=run.question,
            again=part.is_again,
        )
        conversation = text_only(state.messages[: state.progress.opening or len(state.messages)])
        earlier = conversation if len(conversation) > 1 else []
        messages = [SystemMessage(system), *earlier, HumanMessage(reminder)]
        return self._writer_request(messages, cited_sentences)

    def _writer_request(self, messages: Sequence[AnyMessage], shorten: Shorten) -> Request:
        max_tokens = self._context.limits.report_tokens
        return self._turn.request("writer", messages, shorten=shorten, max_tokens=max_tokens, is_long=True)

    def _report_request(self, part: ReportPart, draft: str, passages: str) -> Request:
        """Return the request for a part of the report that follows the text `draft`; `passages` as in `__init__`."""
        state, run, progress = self._state, self._state.run, self._state.progress
        findings = findings_for_writer(state, self.refused)
        values = {"date": run.date, "language": run.language, "instructions": self._context.instructions}
        messages = [
            SystemMessage(render_prompt("write_report", "system", is_quick=run.is_quick, **values)),
            *text_only(state.messages[: progress.opening or len(state.messages)]),
            *findings_without_call(findings, state.transcript),
            *with_findings(research_calls(state.transcript), findings),
            *(text_only(state.messages[progress.seen_messages :]) if progress.opening else []),
            *([AIMessage(draft)] if draft else []),
            HumanMessage(self._reminder(part, draft, passages)),
        ]
        return self._writer_request(messages, first_passages if run.is_quick else cited_sentences)

    def _reminder(self, part: ReportPart, draft: str, passages: str) -> str:
        state, run = self._state, self._state.run
        disputes = [dispute_line(dispute, state.numbers) for dispute in disputes_in_thread(state)]
        missing = missing_of(run, state.findings.values(), state.memory.values())
        earlier = [gap.text for gap in open_gaps(state.memory.values()) if gap.question_id != run.id]
        return render_prompt(
            "write_report",
            "reminder",
            asked=part.kind,
            again=part.is_again,
            last_words=last_words(draft),
            request=run.question,
            stop_reason=run.stop_reason,
            has_findings=self._has_findings,
            is_quick=run.is_quick,
            assumptions=run.assumptions,
            # The plan may have been adapted since it was shown.
            plan="\n".join(f"{step.id}. {step.title}" for step in state.steps)
            or (split_plan(state.plan.text).steps if state.plan else ""),
            requirements="\n".join(f"- {requirement}" for requirement in state.plan.requirements) if state.plan else "",
            has_analysis=has_conclusions(state),
            summary="" if state.brief.summary.strip() == run.question else state.brief.summary,
            passages=passages,
            sources=describe_sources(state),
            gaps=fence("\n".join(missing)) if missing else "",
            earlier_gaps=fence("\n".join(earlier)) if earlier else "",
            contradictions=fence("\n".join(disputes)) if disputes else "",
        )

    @property
    def _has_findings(self) -> bool:
        """Whether the research has found anything to write about."""
        findings = {**self._state.findings, **mark_withheld(self._state.findings, self.refused)}
        return any(states_anything(self._state, finding) for finding in findings.values())


class WrittenText(NamedTuple):
    """A text written by a model."""

    text: str
    was_cut: bool
    """Whether it is cut off even after all continuations."""


async def write_silently(request: Request, context: Context, events: CallEvents) -> WrittenText:
    """Return the model's text without emitting it, continuing it if it is cut off.

    Adds costs to the bill of `events`. Raises the error of a failed call.
    """
    quiet, text, was_cut = SilentEvents(events.emitter, events.placement), "", True
    quiet.bill = events.bill
    for _ in range(1 + _MOST_CONTINUATIONS):
        messages = [*request.messages, *(go_on(text) if text else ())]
        reply = await ask_model(request._replace(messages=messages), context, quiet)
        text = join_continuation(text, reply.message.text)
        was_cut = was_cut_off(reply.message)
        if not was_cut:
            break
    return WrittenText(text, was_cut)


async def ask_to_cite(request: Request, text: str, known: Collection[int], context: Context, events: CallEvents) -> str:
    """Ask once for a version of `text` that cites sources (`known` numbers); return `text` if that fails."""
    messages = [*request.messages, AIMessage(text), HumanMessage(render_prompt("_cite", "reminder"))]
    try:
        again = await write_silently(request._replace(messages=messages, tool_choice="none"), context, events)
    except DeepResearchError as error:
        log_failure(__name__, error, "A text has no citations, and asking for them failed")
        return text
    cited = plain_prose(again.text.strip(), known)
    return cited if cited_numbers(cited, known) and not again.was_cut else text


def last_words(text: str) -> str:
    """Return the end of a text that a model has to continue, starting at a word."""
    end = text[-_LAST_CHARACTERS:]
    return end if len(text) <= _LAST_CHARACTERS else end.partition(" ")[2] or end


def go_on(text: str) -> list[AnyMessage]:
    """Return the messages that make a model continue its text."""
    return [AIMessage(text), HumanMessage(render_prompt("_continue", "reminder", last_words=last_words(text)))]


class ContinuedEvents(ProseEvents):
    """Emits prose as it is written, without what a continuation repeats."""

    seam: Continuation | None = None
    """Drops what a continuation repeats; None while nothing is continued."""

    @abstractmethod
    def show(self, words: str) -> None:
        """Emit the next words."""

    @override
    def pass_on(self, words: str) -> None:
        if new := self.seam.feed(words) if self.seam else words:
            self.show(new)


async def ask_for_prose(request: Request, context: Context, events: ContinuedEvents) -> Reply:
    """Return the model's answer, streamed to `events`; if its stream breaks off, it is continued once."""
    begun = await ask_model(request._replace(keeps_broken=True), context, events)
    if not stream_broke_off(begun.message):
        return begun
    text = begun.message.text
    seam = events.seam = Continuation(text)
    rest = await ask_model(request._replace(messages=[*request.messages, *go_on(text)]), context, events)
    events.seam = None
    events.pass_on(seam.finish())
    whole = rest.message.model_copy(update={"content": join_continuation(text, rest.message.text)})
    return rest._replace(message=whole, refused=tuple({*begun.refused, *rest.refused}))
