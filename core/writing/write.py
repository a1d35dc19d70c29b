"""Has models write reports, part by part if needed, and other prose.

Continues answers that are cut off.
"""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, Protocol

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage
from typing_extensions import override

from ...prompts import fence, render_prompt
from ..dialogue.conversation import Conversation
from ..dialogue.plan_text import PlanText
from ..dialogue.transcripts import Finish, Transcript
from ..errors import DeepResearchError, log_failure
from ..events.call import CallEvents, ProseEvents, SilentEvents
from ..evidence.checking.calculator import Calculator
from ..evidence.checking.proof import Known
from ..evidence.checking.verification import ShownSources
from ..evidence.citations.citing import by_number, cited_numbers
from ..evidence.citations.markers import cited_calculations, plain_prose
from ..evidence.citations.rendering import clean_prose
from ..evidence.text.sentences import cited_sentences
from ..models.ask import Reply, Withheld, ask_model, without_thoughts
from ..models.request import Request
from ..models.resolve import RoleModels
from ..records.report import word_count
from ..records.research import Calculation
from ..settings.context import Context, Role
from ..store.pages import Pages
from ._continuation import Continuation, join_continuation
from ._fact_lists import FACTS_AT_ONCE, SMALL_WRITER_NOTICE, facts_by_topic, omitted_facts
from ._outline import Outline
from .basis import ReportBasis
from .calculating import CALCULATE_SCHEMA, Calculations, has_calculations
from .notes import WITHHELD_REASON
from .report import ReportEvents

_CUT_OFF = "the report was cut off at the output limit (report_tokens)"
_UNCITED = "The report cites none of the sources that were read."
_STANDS_IN = (
    "{} cited none of the sources that were read. Its report is replaced by quotations; another "
    "model may do better (models)."
)
_MOST_CONTINUATIONS = 4
"""How often a report or a finding is continued after it was cut off at the output limit."""
_LEAST_KEPT = 0.75
"""Share of its words that a text has to keep when its headings are changed."""
_LAST_CHARACTERS = 60
"""Number of characters from the end of a text to repeat to the model that continues it."""


class MakeRequest(Protocol):
    """Returns a request to a role's model, with the facts of the run."""

    def __call__(self, role: Role, messages: Sequence[AnyMessage], **fields: Any) -> Request:
        """`fields`: further fields of the request."""


class ReportPart(NamedTuple):
    """The part of the report to write in the next call."""

    kind: Literal["report", "continuation", "section"]
    """The whole report, the continuation of a cut-off text, or one section."""
    is_again: bool = False
    """Whether the last answer was empty."""
    heading: str = ""
    """Heading of the section to write or continue."""
    about: str = ""
    """What the user's outline says on the section; may be empty."""


def first_passages(text: str, share: float) -> str:
    """Shorten a result to about this share of its length.

    Keeps the first (best) passages, or the cited sentences of a finding.
    """
    if not text.startswith("<data-"):
        return cited_sentences(text, share)
    opening, *lines, closing = text.split("\n")
    room = int(share * len(text))
    kept = list[str]()
    for line in lines:
        room -= len(line) + 1
        if room < 0:
            break
        kept.append(line)
    return "\n".join([opening, *kept, closing])


def _fenced_lines(lines: Sequence[str]) -> str:
    """Return fenced text with these lines; an empty text if there are none."""
    return fence("\n".join(lines)) if lines else ""


class TextWriter:
    """Has the writer's model write the report of a run; continues answers that are cut off."""

    def __init__(
        self,
        basis: ReportBasis,
        context: Context,
        events: ReportEvents,
        make_request: MakeRequest,
        passages: str,
        make_calculator: Callable[[], Awaitable[Calculator]] | None = None,
    ) -> None:
        """`make_request` adds the facts of the run to a request.

        `passages` is fenced text with the passages behind the findings, or empty. `make_calculator`
        is None if the writer may not calculate.
        """
        self._basis = basis
        self._state = basis.state
        self._context = context
        self._events = events
        self._make_request = make_request
        self._passages = passages
        self._outline = basis.outline(context)
        self._is_quick = self._state.run.is_quick
        self._facts: dict[str, list[str]] = {}
        if RoleModels(self._context).is_small("writer") and not self._is_quick:
            self._facts = facts_by_topic(self._basis)
        self._calculations = Calculations(make_calculator) if make_calculator else None
        self._results = list[AnyMessage]()
        """What the writer has had calculated: its calls, and the results."""
        self._prompts: dict[tuple[ReportPart, str, frozenset[str]], list[AnyMessage]] = {}
        """The messages of requests, by part, text before it, and findings that were refused."""
        self._is_answered = False
        # A broken stream is continued once; a quick answer is never continued.
        self._has_broken = self._is_quick
        self.refused: set[str] = set()
        """Ids of the findings that the provider's filter refused."""
        self._is_quoted = False
        self.notices: list[str] = []
        """Notices for the reader about how the report was written."""
        self.shortened = 0
        """Number of findings shortened to fit the window."""

    async def write(self) -> str:
        """Write the report; return why it is cut off, or an empty text.

        Raises only if a call fails before any was answered.
        """
        try:
            if self._is_quick:
                answer = await self._ask(ReportPart("report"))
                was_cut = Finish.of(answer).was_cut_off
            elif self._facts:
                was_cut = await self._write_from_facts()
            else:
                was_cut = await self._write_part(ReportPart("report"))
        except DeepResearchError as error:
            if not self._is_answered:
                raise
            log_failure(__name__, error, "The report was cut off, and continuing it failed")
            # Keep the part that was paid for.
            return f"{_CUT_OFF}, and continuing it failed: {str(error).rstrip('.')}"
        return _CUT_OFF if was_cut else ""

    async def cited(self, pages: Pages) -> str:
        """Return the written text with all citations as `[n]`.

        `pages` has the sources' stored texts. If the text has no citations, add those of sources
        that say the same, ask the model once more, or use quotations instead.
        """
        known = by_number(self._state.sources.values())
        # A thought without an opening tag is recognised only at its end, when its words were
        # already streamed.
        text = without_thoughts(self._events.raw)
        text = clean_prose(text, known)
        if not known or cited_numbers(text, known) or cited_calculations(text):
            return text
        if not self._is_quick and not self._basis.has_findings(self.refused):
            return text
        texts = await self._basis.texts(pages)
        shown = dict[int, Known]()
        for number, source in known.items():
            shown[number] = Known(texts[source.key], source.about)
        text = await asyncio.to_thread(ShownSources(shown).with_found_citations, text)
        if cited_numbers(text, known):
            return text
        if not self._is_quick:
            request = await self._request(ReportPart("report"), "")
            text = await ask_to_cite(request, text, known, self._context, self._events)
        if cited_numbers(text, known):
            return text
        # The extractive model's report consists of quotations.
        context = RoleModels(self._context).without_model("writer")
        request = await asyncio.to_thread(self._report_request, ReportPart("report"), "", "")
        request = request._replace(tools=())
        quoted = (await write_silently(request, context, self._events)).text
        if not cited_numbers(quoted, known):
            self.notices = [*self.notices, _UNCITED]
            return text
        self._is_quoted = True
        stands_in = _STANDS_IN.format(RoleModels(self._context).subject("writer"))
        self.notices = [*self.notices, stands_in]
        return quoted

    async def in_outline(self, text: str) -> str:
        """Return the written text with the sections of the outline.

        If its headings differ from those, the writer is asked once for a version with these. The
        text stays as it is if that version is no better, much shorter, or lacks a source that the
        text cites.
        """
        outline = self._outline
        if outline is None or self._facts or self._is_quoted:
            return text
        deviations = await asyncio.to_thread(outline.deviations, text)
        if not deviations:
            return text
        reminder = render_prompt(
            "_keep_outline", "reminder", deviations=deviations, outline=outline.text
        )
        request = await self._request(ReportPart("report"), "")
        known = by_number(self._state.sources.values())
        new = await ask_for_version(request, text, reminder, known, self._context, self._events)
        is_shorter = word_count(new) < _LEAST_KEPT * word_count(text)
        if is_shorter or not set(cited_numbers(text, known)).issubset(cited_numbers(new, known)):
            return text
        left = await asyncio.to_thread(outline.deviations, new)
        return new if len(left) < len(deviations) else text

    async def _write_from_facts(self) -> bool:
        """Have a small model write from lists of facts; return whether the report is cut off.

        It writes an answer from all facts, followed by a section per topic if there are many facts,
        or else by a list of those that the answer omits.
        """
        self.notices = [SMALL_WRITER_NOTICE]
        if self._outline:
            return await self._write_sections(self._outline)
        was_cut = await self._write_part(ReportPart("report"))
        count = sum(map(len, self._facts.values()))
        if len(self._facts) > 1 and count > FACTS_AT_ONCE:
            for topic in self._facts:
                self._events.begin_section(f"## {topic}")
                was_section_cut = await self._write_part(ReportPart("section", heading=topic))
                was_cut = was_cut or was_section_cut
            return was_cut
        omitted = omitted_facts(self._facts, self._events.raw)
        known = by_number(self._state.sources.values())
        if omitted and cited_numbers(self._events.raw, known):
            self._events.pass_on(f"\n\n{omitted}")
            self._events.settle()
        return was_cut

    async def _write_sections(self, outline: Outline) -> bool:
        """Have a small model write each section of an outline from all facts; return whether one is
        cut off."""
        was_cut = False
        headings = list[str]()
        for index, section in enumerate(outline.sections):
            headings.append(section.line)
            if outline.only_holds_others(index):
                continue
            self._events.begin_section("\n\n".join(headings))
            headings = []
            part = ReportPart("section", heading=section.words, about=section.body)
            was_section_cut = await self._write_part(part)
            was_cut = was_cut or was_section_cut
        return was_cut

    async def _write_part(self, part: ReportPart) -> bool:
        """Write a part; return whether it is cut off even after all continuations.

        An empty answer is retried once; a broken stream is continued once per report.
        """
        left = _MOST_CONTINUATIONS
        while True:
            draft = self._events.draft
            answer = await self._ask(part)
            is_empty = self._events.draft == draft
            if self._may_calculate and has_calculations(answer):
                await self._calculate(answer)
                if not is_empty:
                    part = part._replace(kind="continuation", is_again=False)
                continue
            if is_empty and part.kind != "continuation" and not part.is_again:
                part = part._replace(is_again=True)
                continue
            if not Finish.of(answer).broke_off:
                if not Finish.of(answer).was_cut_off or not left:
                    return Finish.of(answer).was_cut_off
                left -= 1
            if not is_empty:
                part = part._replace(kind="continuation", is_again=False)

    @property
    def calculations(self) -> Mapping[str, Calculation]:
        """The calculations of the writer, by name."""
        return self._calculations.changed if self._calculations else {}

    @property
    def _may_calculate(self) -> bool:
        """Whether the writer may have something calculated, which takes a further call."""
        return self._calculations is not None and not self._calculations.is_over

    async def _calculate(self, answer: AIMessage) -> None:
        """Carry out the calculations that the writer calls for; it then writes on."""
        assert self._calculations
        # Its text stands in the draft.
        call = answer.model_copy(update={"content": ""})
        self._results += await self._calculations.answered(call, self._results)

    async def _ask(self, part: ReportPart) -> AIMessage:
        """Make one call and return its answer.

        The first answer whose stream breaks off is kept, others raise.
        """
        request = (await self._request(part))._replace(keeps_broken=not self._has_broken)
        try:
            reply = await ask_model(request, self._context, self._events)
        finally:
            self._events.settle()
        is_broken = Finish.of(reply.message).broke_off
        self._has_broken |= is_broken
        self._is_answered |= bool(self._events.draft.strip()) and not is_broken
        self.refused |= set(reply.refused)
        titles = {source.number: source.title for source in self._state.sources.values()}
        left_out = ", ".join(Withheld.of(reply.reduced, titles).titles)
        if left_out:
            self.notices = [*self.notices, f"Left out: {left_out}; {WITHHELD_REASON}."]
        self.shortened = max(self.shortened, reply.shortened)
        return reply.message

    async def _request(self, part: ReportPart, draft: str | None = None) -> Request:
        """Return the request for a part that follows `draft`, by default the text so far."""
        if self._facts and part.kind != "continuation":
            return await asyncio.to_thread(self._facts_request, part)
        if draft is None:
            draft = self._events.draft
        passages = self._passages
        if self.refused:
            # A filter that refused a finding would refuse its passages too.
            passages = ""
        # In a thread, because it parses the citations of all findings.
        return await asyncio.to_thread(self._report_request, part, draft, passages)

    def _facts_request(self, part: ReportPart) -> Request:
        """Return the request to a small model for the report or a section.

        The report is written from all facts, a section from those on its topic.
        """
        state = self._state
        run = state.run
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
            about=part.about,
            request=run.question,
            again=part.is_again,
        )
        conversation = self._opening()
        if len(conversation) == 1:
            # The reminder has the request.
            conversation = []
        messages = [SystemMessage(system), *conversation, HumanMessage(reminder)]
        return self._writer_request(messages, cited_sentences)

    def _opening(self) -> list[AnyMessage]:
        """Return the conversation before the research, as text."""
        messages = self._state.messages
        opening = self._state.progress.opening or len(messages)
        return Conversation(messages[:opening]).for_models()

    def _writer_request(
        self, messages: Sequence[AnyMessage], shorten: Callable[[str, float], str]
    ) -> Request:
        calculating = dict[str, Any]()
        if self._calculations is not None:
            calculating["tools"] = [CALCULATE_SCHEMA]
            calculating["tool_choice"] = "auto" if self._may_calculate else "none"
            calculating["shows_text"] = True
        return self._make_request(
            "writer",
            [*messages, *self._results],
            shorten=shorten,
            max_tokens=self._context.limits.report_tokens,
            is_long=True,
            **calculating,
        )

    def _report_request(self, part: ReportPart, draft: str, passages: str) -> Request:
        """Return the request for a part of the report that follows the text `draft`.

        `passages` as in `__init__`. The same request begins with the same words, also if it is made
        again with results, so that providers cache it.
        """
        asked = (part, draft, frozenset(self.refused))
        if asked not in self._prompts:
            self._prompts[asked] = self._report_messages(part, draft, passages)
        shorten = first_passages if self._is_quick else cited_sentences
        return self._writer_request(self._prompts[asked], shorten)

    def _report_messages(self, part: ReportPart, draft: str, passages: str) -> list[AnyMessage]:
        """Return the messages of the request for a part of the report."""
        state = self._state
        run = state.run
        transcript = Transcript(state.transcript, self._basis.findings(self.refused))
        system = render_prompt(
            "write_report",
            "system",
            is_quick=run.is_quick,
            date=run.date,
            language=run.language,
            instructions=self._context.instructions,
            outline=self._outline.text if self._outline else "",
            may_calculate=self._calculations is not None,
        )
        messages = [
            SystemMessage(system),
            *self._opening(),
            *transcript.earlier(),
            *transcript.research(),
        ]
        if state.progress.opening:
            # What the user has said since the plan was last revised.
            later = Conversation(state.messages[state.progress.seen_messages :])
            messages += later.for_models()
        if draft:
            messages.append(AIMessage(draft))
        messages.append(HumanMessage(self._reminder(part, draft, passages)))
        return messages

    def _reminder(self, part: ReportPart, draft: str, passages: str) -> str:
        basis = self._basis
        state = self._state
        run = state.run
        # The plan may have been adapted since it was shown.
        plan = "\n".join(f"{step.id}. {step.title}" for step in state.steps)
        requirements = ""
        if state.plan:
            asked = list(state.plan.requirements)
            if not asked:
                plan = plan or PlanText.read(state.plan.text).steps
            if self._outline:
                # The system message has its sections.
                asked = [words for words in asked if words not in self._outline.requirements]
            requirements = "\n".join(f"- {words}" for words in asked)
        summary = state.brief.summary
        if summary.strip() == run.question:
            summary = ""
        return render_prompt(
            "write_report",
            "reminder",
            asked=part.kind,
            again=part.is_again,
            last_words=last_words(draft),
            request=run.question,
            stop_reason=run.stop_reason,
            has_findings=basis.has_findings(self.refused),
            is_quick=run.is_quick,
            outline=self._outline is not None,
            assumptions=run.assumptions,
            plan=plan,
            requirements=requirements,
            has_analysis=basis.has_conclusions,
            has_unproved=basis.has_unproved,
            summary=summary,
            passages=passages,
            sources=basis.described_sources,
            calculations=basis.calculations,
            gaps=_fenced_lines(basis.missing),
            earlier_gaps=_fenced_lines(basis.earlier_gaps),
            contradictions=_fenced_lines(basis.disputes),
        )


class WrittenText(NamedTuple):
    """A text written by a model."""

    text: str
    was_cut: bool
    """Whether it is cut off even after all continuations."""


async def write_silently(request: Request, context: Context, events: CallEvents) -> WrittenText:
    """Return the model's text without emitting it, continuing it if it is cut off.

    Adds costs to the bill of `events`. Raises the error of a failed call.
    """
    quiet = SilentEvents(events.emitter, events.placement)
    quiet.bill = events.bill
    text = ""
    was_cut = True
    for _ in range(1 + _MOST_CONTINUATIONS):
        messages = list(request.messages)
        if text:
            messages += go_on(text)
        reply = await ask_model(request._replace(messages=messages), context, quiet)
        text = join_continuation(text, reply.message.text)
        was_cut = Finish.of(reply.message).was_cut_off
        if not was_cut:
            break
    return WrittenText(text, was_cut)


async def ask_to_cite(
    request: Request, text: str, known: Collection[int], context: Context, events: CallEvents
) -> str:
    """Ask once for a version of `text` that cites sources (`known` numbers).

    Returns `text` if that fails.
    """
    reminder = render_prompt("_cite", "reminder")
    cited = await ask_for_version(request, text, reminder, known, context, events)
    return cited if cited_numbers(cited, known) else text


async def ask_for_version(
    request: Request,
    text: str,
    reminder: str,
    known: Collection[int],
    context: Context,
    events: CallEvents,
) -> str:
    """Ask once for another version of `text`, as `reminder` says, with citations as `[n]`.

    Returns `text` if that fails or the version is cut off. `known`: numbers of the sources.
    """
    messages = [*request.messages, AIMessage(text), HumanMessage(reminder)]
    try:
        again = await write_silently(
            request._replace(messages=messages, tool_choice="none"), context, events
        )
    except DeepResearchError as error:
        log_failure(__name__, error, "Asking for another version of a text failed")
        return text
    return text if again.was_cut else plain_prose(again.text.strip(), known)


def last_words(text: str) -> str:
    """Return the end of a text that a model has to continue, starting at a word."""
    if len(text) <= _LAST_CHARACTERS:
        return text
    end = text[-_LAST_CHARACTERS:]
    _, _, whole_words = end.partition(" ")
    return whole_words or end


def go_on(text: str) -> list[AnyMessage]:
    """Return the messages that make a model continue its text."""
    return [
        AIMessage(text),
        HumanMessage(render_prompt("_continue", "reminder", last_words=last_words(text))),
    ]


class ContinuedEvents(ProseEvents):
    """Emits prose as it is written, without what a continuation repeats."""

    seam: Continuation | None = None
    """Drops what a continuation repeats; None while nothing is continued."""

    @abstractmethod
    def show(self, words: str) -> None:
        """Emit the next words."""

    @override
    def pass_on(self, words: str) -> None:
        new = self.seam.feed(words) if self.seam else words
        if new:
            self.show(new)


async def ask_for_prose(request: Request, context: Context, events: ContinuedEvents) -> Reply:
    """Return the model's answer, streamed to `events`.

    If its stream breaks off, continue it once.
    """
    begun = await ask_model(request._replace(keeps_broken=True), context, events)
    if not Finish.of(begun.message).broke_off:
        return begun
    text = begun.message.text
    seam = events.seam = Continuation(text)
    messages = [*request.messages, *go_on(text)]
    rest = await ask_model(request._replace(messages=messages), context, events)
    events.seam = None
    events.pass_on(seam.finish())
    whole = join_continuation(text, rest.message.text)
    message = rest.message.model_copy(update={"content": whole})
    refused = tuple({*begun.refused, *rest.refused})
    reduced = (*begun.reduced, *rest.reduced)
    return rest._replace(message=message, refused=refused, reduced=reduced)
