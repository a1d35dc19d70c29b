"""Has a report, or a part of it, written in as many calls as its model needs."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from ...prompts import fence, render
from ...state import ResearchState
from ..evidence.checking.proof import Known
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.citations.markers import plain_prose
from ..evidence.memory.observations import contradiction_line, missing_of, open_gaps
from ..evidence.origin import origin_of
from ..evidence.text.continuation import join_continuation
from ..evidence.text.repetition import without_loop
from ..evidence.text.sentences import cited_sentences
from ..models.ask import ask_model
from ..models.ladder.reply import split
from ..models.request import Request
from ..models.resolve import EXTRACTIVE, is_small, with_model
from ..records.research import Finding
from ..records.sources import Source
from ..run.context import Context
from ..run.conversation import text_only
from ..run.errors import DeepResearchError
from ..run.events.call import CallEvents, SilentEvents
from ..run.logs import log_failure
from ..run.plan_text import split_plan
from ..run.store.pages import Pages
from ..run.transcripts import (
    broke_off,
    earlier_findings,
    mark_withheld,
    research_calls,
    was_cut_off,
    with_findings,
)
from .attribution import with_found_citations
from .basis import disagreement_in_thread, report_basis, source_texts
from .facts import facts_of_run
from .from_facts import AT_ONCE, NOTICE, facts_by_topic, facts_request, left_out
from .report import ReportEvents

_SEEN = {
    "part": "read in part",
    "excerpt": "only a search excerpt was read",
    "not opened": "could not be opened, only a search excerpt was read",
}
TITLE = 100
"""Characters of a source's title."""


CUT_OFF = "the report was cut off at the output limit (report_tokens, max_continuations)"
UNCITED = "The report names none of the sources that were read."
STANDS_IN = (
    "The writer's model named none of the sources that were read. Quotations stand in for its report; another "
    "model may do better (models)."
)
LAST_CHARACTERS = 60
"""How much of a text a model is reminded of that is to continue it."""


class Asked(NamedTuple):
    """What is to be written now."""

    part: Literal["report", "continuation", "section"]
    """The whole report, the continuation of one that was cut off, or one section."""
    is_again: bool = False
    """Whether the last answer was empty."""
    heading: str = ""
    """Heading of the section that is written, or continued."""


def report_request(
    state: ResearchState, context: Context, asked: Asked, draft: str, refused: Collection[str], passages: str = ""
) -> Request:
    """Return the call that writes this part after the `draft`; findings that were `refused` (ids) are withheld.

    `passages` are those that the findings rest on, as they are shown.
    """
    run, limits = state.run, context.limits
    findings = {**state.findings, **mark_withheld(state.findings, refused)}
    system = render(
        "write_report",
        "system",
        date=run.date,
        language=run.language,
        instructions=context.instructions,
        is_quick=run.is_quick,
    )
    partial = [AIMessage(draft)] if draft else []
    progress = state.progress
    messages = [
        SystemMessage(system),
        *text_only(state.messages[: progress.opening or len(state.messages)]),
        *(report_basis(state, refused) if state.has_typed_plan else earlier_findings(findings, run.id)),
        *with_findings(research_calls(state.transcript), findings),
        *(text_only(state.messages[progress.seen_messages :]) if progress.opening else []),
        *partial,
        HumanMessage(_reminder(state, asked, draft, passages, has_findings=_has_findings(state, findings.values()))),
    ]
    facts = facts_of_run(state, context)
    shorten = first_passages if run.is_quick else cited_sentences
    return Request("writer", run.id, messages, shorten, max_tokens=limits.report_tokens, facts=facts, is_long=True)


def first_passages(text: str, share: float) -> str:
    """Return fenced passages up to about this share of the text, the best of which come first.

    Of a finding, its first sentences with a citation are returned.
    """
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


def _reminder(state: ResearchState, asked: Asked, draft: str, passages: str, *, has_findings: bool) -> str:
    run, pairs = state.run, disagreement_in_thread(state)
    missing = missing_of(run, state.findings.values(), state.memory.values())
    earlier = [gap.text for gap in open_gaps(state.memory.values()) if gap.question_id != run.id]
    return render(
        "write_report",
        "reminder",
        asked=asked.part,
        again=asked.is_again,
        last_words=last_words(draft),
        request=run.question,
        stop_reason=run.stop_reason,
        has_findings=has_findings,
        is_quick=run.is_quick,
        assumptions=run.assumptions,
        # The plan may have been adapted since it was shown.
        plan="\n".join(f"{step.id}. {step.title}" for step in state.steps)
        or (split_plan(state.plan.text).steps if state.plan else ""),
        requirements="\n".join(f"- {one}" for one in state.plan.requirements) if state.plan else "",
        has_analysis=state.has_typed_plan,
        summary=state.brief.summary if state.has_typed_plan and state.brief.summary.strip() != run.question else "",
        passages=passages,
        sources=describe_sources(state),
        gaps=fence("\n".join(missing)) if missing else "",
        earlier_gaps=fence("\n".join(earlier)) if earlier else "",
        contradictions=fence("\n".join(map(contradiction_line, pairs))) if pairs else "",
    )


def describe_sources(state: ResearchState) -> str:
    """Return what a reader should know of each source that findings cite: its title, its date, and what it is worth."""
    text = "\n".join(finding.numbered or "" for finding in state.findings.values())
    learned = {one.source for one in state.learnings.values()}
    numbered = by_number(state.sources.values())
    cited = {*cited_numbers(text, numbered), *(number for number, one in numbered.items() if one.key in learned)}
    lines = [f"[{number}] {_describe(numbered[number])}" for number in sorted(cited)]
    return fence("\n".join(lines)) if lines else ""


def _describe(source: Source) -> str:
    kind = origin_of(source)
    marks = (
        {"own": "the user's document", "other": ""}.get(kind, kind),
        source.date,
        f"on {source.period}" if source.period else "",
        "retracted" if source.is_retracted else "",
        "superseded" if source.superseded_by else "",
        "draft" if source.is_draft else "",
        f"in force from {source.in_force_from}" if source.in_force_from else "",
        _SEEN.get(source.extent, ""),
    )
    host = urlsplit(source.key).hostname if source.kind == "web" else ""
    return "; ".join(filter(None, (source.title[:TITLE], host, *marks)))


def _has_findings(state: ResearchState, findings: Iterable[Finding]) -> bool:
    if state.has_typed_plan:
        return bool(state.learnings)
    return any(finding.text and not finding.is_withheld for finding in findings)


class TextWriter:
    """Has the report of a run written; a call that is cut off is continued."""

    def __init__(self, state: ResearchState, context: Context, events: ReportEvents, passages: str) -> None:
        self._state, self._context, self._events, self._passages = state, context, events, passages
        self._is_quick = state.run.is_quick
        self._facts = facts_by_topic(state) if is_small("writer", context) and not self._is_quick else {}
        # What breaks is continued once, but by a further call.
        self._is_answered, self._has_broken = False, self._is_quick
        self.refused: set[str] = set()
        """Findings that the model was not let read (ids)."""
        self.notices: list[str] = []
        """What the reader has to know of how the report was written."""
        self.shortened = 0
        """How many findings did not fit its window whole."""

    async def write(self) -> str:
        """Write it; return what cut it off, empty if nothing did. Raises what fails before an answer has come."""
        try:
            return await self._write()
        except DeepResearchError as error:
            if not self._is_answered:
                raise
            log_failure(__name__, error, "The report was cut off, and going on with it failed")
            # What was paid for is worth more than an error.
            return f"{CUT_OFF}, and going on with it failed: {str(error).rstrip('.')}"

    async def cited(self, known: Mapping[int, Source], pages: Pages) -> str:
        """Return what was written, with all its citations as `[n]`; `known` are the sources by their numbers.

        A text without citations gets those of the sources that say the same, or is requested once more.
        """
        # That the report begins within a thought shows when the thought ends, after its words were streamed.
        text = without_loop(plain_prose(split(self._events.raw).text.strip(), known))
        state, refused = self._state, frozenset(self.refused)
        findings = {**state.findings, **mark_withheld(state.findings, refused)}.values()
        if not known or cited_numbers(text, known) or not (self._is_quick or _has_findings(state, findings)):
            return text
        texts = await source_texts(state.sources, [one.key for one in known.values()], pages)
        shown = {number: Known(texts[one.key], f"{one.title} {one.date}") for number, one in known.items()}
        text = await asyncio.to_thread(with_found_citations, text, shown)
        if cited_numbers(text, known):
            return text
        if not self._is_quick:
            text = await ask_to_cite(await self._request(Asked("report"), ""), text, known, self._context, self._events)
        if cited_numbers(text, known):
            return text
        quoted = await self._quoted()
        stands_in = bool(cited_numbers(quoted, known))
        self.notices = [*self.notices, STANDS_IN if stands_in else UNCITED]
        return quoted if stands_in else text

    async def _quoted(self) -> str:
        """Return a report of quotations, as it is written without a language model."""
        context = with_model("writer", EXTRACTIVE, self._context)
        request = await asyncio.to_thread(
            report_request, self._state, context, Asked("report"), "", frozenset(self.refused)
        )
        return (await write_silently(request, context, self._events)).text

    async def _write(self) -> str:
        if self._is_quick:
            return CUT_OFF if was_cut_off(await self._ask(Asked("report"))) else ""
        if self._facts:
            return await self._write_from_facts()
        return CUT_OFF if await self._passage(Asked("report")) else ""

    async def _write_from_facts(self) -> str:
        """Write the answer from all facts; below it, a section on each topic of many, or those left out."""
        self.notices = [NOTICE]
        is_much = len(self._facts) > 1 and sum(map(len, self._facts.values())) > AT_ONCE
        cut = [await self._passage(Asked("report"))]
        for topic in self._facts if is_much else ():
            self._events.begin_section(topic)
            cut.append(await self._passage(Asked("section", heading=topic)))
        rest = "" if is_much else left_out(self._facts, self._events.raw)
        if rest and cited_numbers(self._events.raw, by_number(self._state.sources.values())):
            self._events.pass_on(f"\n\n{rest}")
            self._events.settle()
        return CUT_OFF if any(cut) else ""

    async def _passage(self, asked: Asked) -> bool:
        """Have a part written; return whether it is still cut off after all continuations.

        An empty answer is asked for once more, and one whose stream breaks is continued once in the whole report.
        """
        left = self._context.limits.max_continuations
        while True:
            draft = self._events.draft
            answer = await self._ask(asked)
            is_empty = self._events.draft == draft
            if is_empty and asked.part != "continuation" and not asked.is_again:
                asked = asked._replace(is_again=True)
                continue
            if not broke_off(answer):
                if not was_cut_off(answer) or not left:
                    return was_cut_off(answer)
                left -= 1
            if not is_empty:
                asked = asked._replace(part="continuation", is_again=False)

    async def _ask(self, asked: Asked) -> AIMessage:
        """Make one call; return its answer, which may be broken off the first time."""
        request = (await self._request(asked))._replace(keeps_broken=not self._has_broken)
        try:
            reply = await ask_model(request, self._context, self._events)
        finally:
            self._events.settle()
        is_broken = broke_off(reply.message)
        self._has_broken |= is_broken
        self._is_answered |= self._has_draft and not is_broken
        self.refused |= set(reply.refused)
        self.shortened = max(self.shortened, reply.shortened)
        return reply.message

    @property
    def _has_draft(self) -> bool:
        return bool(self._events.draft.strip())

    async def _request(self, asked: Asked, draft: str | None = None) -> Request:
        """Return the call for a part; reading all findings for their citations takes a while."""
        draft = self._events.draft if draft is None else draft
        state, context = self._state, self._context
        if self._facts and asked.part != "continuation":
            return await asyncio.to_thread(facts_request, state, context, asked.heading, is_again=asked.is_again)
        # What a filter refused to read in a finding, it would refuse in its passages.
        passages = "" if self.refused else self._passages
        return await asyncio.to_thread(report_request, state, context, asked, draft, frozenset(self.refused), passages)


class WrittenText(NamedTuple):
    """A text by a model, and whether it was cut off."""

    text: str
    was_cut: bool
    """Whether it is cut off, continued though it was as often as it may be."""


async def write_silently(request: Request, context: Context, events: CallEvents) -> WrittenText:
    """Return what the model writes, continued where it is cut off, without emitting it.

    Its costs go on the bill of `events`. Raises what a failed call raises.
    """
    quiet, text, was_cut = SilentEvents(events.emitter, events.placement), "", True
    quiet.bill = events.bill
    for _ in range(1 + context.limits.max_continuations):
        messages = [*request.messages, *(go_on(text) if text else ())]
        reply = await ask_model(request._replace(messages=messages), context, quiet)
        text = join_continuation(text, reply.message.text)
        was_cut = was_cut_off(reply.message)
        if not was_cut:
            break
    return WrittenText(text, was_cut)


async def ask_to_cite(request: Request, text: str, known: Collection[int], context: Context, events: CallEvents) -> str:
    """Request a text once more that cites none of the `known` sources; return the answer if it cites, else the text.

    The answer is not emitted.
    """
    messages = [*request.messages, AIMessage(text), HumanMessage(render("_cite", "reminder"))]
    try:
        again = await write_silently(request._replace(messages=messages, tool_choice="none"), context, events)
    except DeepResearchError as error:
        log_failure(__name__, error, "A text that cites nothing stays so: asking once more failed")
        return text
    cited = plain_prose(again.text.strip(), known)
    return cited if cited_numbers(cited, known) and not again.was_cut else text


def last_words(text: str) -> str:
    """Return the end of a text that a model is to continue, from a whole word on."""
    end = text[-LAST_CHARACTERS:]
    return end if len(text) <= LAST_CHARACTERS else end.partition(" ")[2] or end


def go_on(text: str) -> list[AnyMessage]:
    """Return the messages that have a model continue its text."""
    return [AIMessage(text), HumanMessage(render("_continue", "reminder", last_words=last_words(text)))]
