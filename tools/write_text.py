"""Writes the text of a report in as many calls as its model needs."""

from __future__ import annotations

import asyncio

from langchain_core.messages import AIMessage

from ..evidence.citations.numbering import by_number
from ..evidence.citations.outline import PlannedSection, read_outline
from ..models.ask import ask_model
from ..models.request import Request
from ..models.resolve import profile_of
from ..run.calls import broke_off, was_cut_off
from ..run.context import Context
from ..run.errors import DeepResearchError
from ..run.transcripts import CHARACTERS_PER_TOKEN
from ..state import ResearchState
from .report_prompt import Asked, report_request
from .report_teller import ReportTeller
from .write_unheard import write_unheard

CUT_OFF = "the report was cut off at the output limit (report_tokens, max_continuations)"
WORDS_PER_TOKEN = 0.5
"""Words that a token surely holds, whatever the language."""
LEAST_WORDS = 20
"""Words that a section is given at least."""


class TextWriter:
    """Has the report of a run written.

    A call that is cut off is continued. Where that cannot carry the whole report, because the model writes too little
    at once, an outline is made, and each of its sections is written by itself.
    """

    def __init__(self, state: ResearchState, context: Context, teller: ReportTeller) -> None:
        self._state, self._context, self._teller = state, context, teller
        self._is_answered = self._has_broken = False
        self.refused: set[str] = set()
        """Findings that the model was not let read (ids)."""
        self.shortened = 0
        """How many findings did not fit its window whole."""

    async def write(self) -> str:
        """Write it; returns what cut it off, empty if nothing did. Raises what fails before an answer has come."""
        try:
            return await self._write()
        except DeepResearchError as error:
            if not self._is_answered:
                raise
            # What was paid for is worth more than an error.
            return f"{CUT_OFF}, and going on with it failed: {str(error).rstrip('.')}"

    async def _write(self) -> str:
        limits, output = self._context.limits, profile_of("writer", self._context).output
        capacity = output * (1 + limits.max_continuations) if output else limits.report_tokens
        if capacity >= limits.report_tokens:
            if not await self._passage(Asked("report")):
                return ""
            capacity = len(self._teller.draft) // CHARACTERS_PER_TOKEN
            # Who has written as much as was allowed has said too much, and not been stopped too early.
            if capacity >= limits.report_tokens:
                return CUT_OFF
        return await self._write_by_section(capacity)

    async def _write_by_section(self, tokens: int) -> str:
        """Write what is missing part by part; `tokens` are those that all calls for one part can bring."""
        outline, is_whole = await self._outline()
        share = self._context.limits.report_tokens / (1 + len(outline))
        words = max(LEAST_WORDS, int(min(tokens, share) * WORDS_PER_TOKEN))
        first = Asked("continuation" if self._has_draft else "opening", outline=outline, most_words=words)
        cut = [await self._section(first)]
        cut += [await self._section(Asked("section", False, section, outline, words)) for section in outline]
        return CUT_OFF if any(cut) or not is_whole else ""

    async def _outline(self) -> tuple[list[PlannedSection], bool]:
        """The sections that are missing, and whether these are surely all; those of the plan if it is not written."""
        request = await self._request(Asked("outline"))
        known = by_number(self._state.sources.values())
        text, was_cut = await write_unheard(request, self._context, self._teller)
        most = self._context.limits.max_sections
        outline = read_outline(text.rpartition("\n")[0] if was_cut else text, known, most)
        if outline or self._has_draft or self._state.plan is None:
            return outline, not was_cut or len(outline) == most
        return [PlannedSection(step) for step in self._state.plan.steps], True

    async def _section(self, asked: Asked) -> bool:
        self._teller.begin_section(asked.section.heading if asked.section else "")
        was_cut = await self._passage(asked)
        self._teller.end_section(was_cut=was_cut)
        return was_cut

    async def _passage(self, asked: Asked) -> bool:
        """Have a part written; returns whether it is cut off, continued though it was as often as it may be.

        An empty answer is asked for once more, and one whose stream breaks is continued once in the whole report.
        """
        left = self._context.limits.max_continuations
        while True:
            draft = self._teller.draft
            answer = await self._ask(asked)
            is_empty = self._teller.draft == draft
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
        """One call; returns its answer, which may be broken off the first time."""
        request = (await self._request(asked))._replace(keeps_broken=not self._has_broken)
        try:
            reply = await ask_model(request, self._context, self._teller)
        finally:
            self._teller.settle()
        is_broken = broke_off(reply.message)
        self._has_broken |= is_broken
        self._is_answered |= self._has_draft and not is_broken
        self.refused |= set(reply.refused)
        self.shortened = max(self.shortened, reply.shortened)
        return reply.message

    @property
    def _has_draft(self) -> bool:
        return bool(self._teller.draft.strip())

    async def _request(self, asked: Asked) -> Request:
        """The call for a part; reading all findings for their citations takes a while."""
        return await asyncio.to_thread(
            report_request, self._state, self._context, asked, self._teller.draft, frozenset(self.refused)
        )
