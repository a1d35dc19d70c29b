"""Changes a report block by block, as the user asks. All blocks that are not named stay as they
are."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_core.messages import HumanMessage
from pydantic import Field
from typing_extensions import override

from ..core.dialogue.conversation import Conversation
from ..core.dialogue.transcripts import estimated_tokens
from ..core.errors import ModelFailed, log_failure
from ..core.evidence.checking.calculator import with_basis
from ..core.evidence.citations.labels import labels
from ..core.evidence.citations.markers import cited_calculations
from ..core.evidence.citations.rendering import without_marks
from ..core.evidence.exclusion import ExcludedSources
from ..core.evidence.text.sentences import sentences_of
from ..core.models.resolve import RoleModels
from ..core.records.report import Draft, Grade, Report
from ..core.records.research import Calculation, by_calculation_number
from ..core.records.sources import Source
from ..core.writing.blocks import ReportBlock, report_blocks
from ..core.writing.calculating import CALCULATION_LINES, CalculatingForm, Calculations
from ..core.writing.forms import Filler
from ..core.writing.language import Language
from ..core.writing.versions import ThreadVersions
from ..prompts import fence, fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._draft_edits import EditedDraft, edited_draft, left_out_sentence, shown_block
from ._examining import UnreadPages, context_of_check, examination_of
from ._further_research import (
    each_topic_once,
    may_research,
    replaced_topics,
    replacing_tasks,
    settled_exclusions,
    tasks_waiting,
)
from ._losses import losses
from ._report_edit import ReportEdit
from .turn import NodeRuntime, Turn, begin_turn

_PASSAGES_CHARACTERS = 16_000
"""Maximum characters of the passages behind the report's citations that the writer is shown."""
_RECALLED_CHARACTERS = 12_000
"""Maximum characters of other passages of the thread's sources on the request."""
_ANSWER_SHARE = 0.5
"""Share of `form_tokens` that the text of a report, or a part of it, may take to be written anew in
one answer."""
_MESSAGES = 5
"""Maximum number of the user's earlier messages that the writer is shown."""
_NAMED = 5
"""Maximum number of lost figures, names and citations that a notice names."""
_NOT_REPLACED = "No other sources were searched for what was taken out"
_NOTHING_TO_REPLACE = "No statement of the report rested on the excluded sources alone."
_NO_MODEL = "that needs a language model (models)"
_NOTHING_TO_SEARCH = "there is nothing to search (docs, engine)"
_NOT_CHECKED = "The changes were not checked against the sources (verify)."
_NOUNS_CAPITALISED = frozenset({"de", "lb"})
"""Codes of the languages that capitalise all nouns."""


class EditReport(CalculatingForm):
    """Hand in the changes of the report."""

    calculations: list[str] = Field(
        default_factory=list,
        description="What to calculate, or to calculate again: you are then asked again, with the "
        "results. An earlier calculation is changed by its number, as `[calc 2] = 12000 € [3] - "
        "6000 € (request)`; the figures before its number in the report follow. Add a new one only "
        f"for a figure that is needed and that nobody has calculated. {CALCULATION_LINES}",
    )
    edits: list[ReportEdit]
    """The changes; empty if there is nothing to change."""
    title: str = ""
    """The new title of the report, only if it changes."""
    done: str = ""
    """One sentence for the user: what was changed."""
    tasks: list[str] = Field(default_factory=list)
    """What has to be found out before the report can be changed; usually empty."""
    language: str = ""
    """The language that the report is now in, only if it changes."""
    answered: list[int] = Field(default_factory=list)
    """Numbers of the open points that the changed report answers."""
    covers_all: bool = False
    """Whether most blocks of a long report have to change."""
    most_words: int = 0
    """The most words that the user now wants the whole report to have, or about how many; 0 if the user names no length of it."""  # noqa: E501
    fewest_words: int = 0
    """The fewest words that the user now wants it to have; 0 if the user names none."""


class EditTable(EditReport):
    """Hand in the changes of the report."""

    adds_to_table: bool = False
    """Whether the user wants further columns or rows of the table whose cells have to be found out, or its cells looked up again: researchers then do it, one for each row. Leave `edits` and `tasks` empty."""  # noqa: E501

    @classmethod
    @override
    def tool_name(cls) -> str:
        return EditReport.tool_name()


async def edit_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Ask the writer's model for the changes that the user wants, and apply them to the report.

    If they need facts that nobody has found, tasks wait for research. What a table is to have in
    addition becomes a follow-up.
    """
    turn = await begin_turn(state, runtime)
    excluded = state.sources.keys() - turn.state.sources.keys()
    stored = state
    state = turn.state
    draft = state.draft
    assert draft is not None
    turn.announce("edit")
    editor = _Editor(turn, draft)
    without = ExcludedSources(excluded)
    if stored.base and without.have_part_in(stored.base):
        without = await editor.take_out(stored, stored.base, without)
    draft = editor.draft
    editor.replaced = await replaced_topics(turn, stored, draft, without)
    # Excluding sources needs no model.
    can_ask = not RoleModels(turn.context).is_extractive("writer")
    if editor.replaced and editor.may_research and can_ask:
        topics = editor.replaced[: turn.context.limits.max_plan_steps]
        return editor.waiting(replacing_tasks(topics, stored, draft))
    async with turn.paid():
        form = None
        if can_ask:
            form = await editor.ask()
        if isinstance(form, EditTable) and form.adds_to_table and editor.may_research:
            run = state.run.model_copy(update={"entry": "follow_up"})
            turn.apply(run=run)
            return {**turn.update(), "draft": None}
        if form and form.tasks and editor.may_research:
            return editor.waiting([(task, task) for task in form.tasks])
        changed = editor.draft
        if form:
            changed = await editor.changed(form)
        elif editor.calculations:
            editor.notices.append("Only figures that were calculated again have changed.")
            editor.note_calculated()
    editor.note_taken_out(changed, stored.sources)
    if not changed.text.strip():
        # Only excluded sources supported it.
        nothing = labels(state.run.language_code).no_citation
        changed = changed.model_copy(update={"text": nothing, "streamed": nothing})
    length_fault = _unmarked(changed).length_fault
    if length_fault:
        editor.notices.append(length_fault)
    changed = changed.model_copy(update={"findings": tuple(state.findings)})
    editor.note_replaced()
    update = turn.update(
        notices=(*state.run.notices, *editor.notices), done=editor.done, **editor.language
    )
    turn.apply(run=update["run"], draft=changed)
    update |= editor.found
    update["calculations"] = editor.calculations
    update["excluded"] = settled_exclusions(state.excluded)
    messages = await asyncio.to_thread(turn.delivery.edited_draft_messages, changed)
    turn.emit(turn.delivery.revision(turn.placement, draft.text))
    return {**update, "draft": changed, "messages": messages}


class _Editor:
    """Asks the writer's model for the changes of a report, as a draft."""

    def __init__(self, turn: Turn, draft: Draft) -> None:
        self._turn = turn
        self._state = turn.state
        self._use(draft)
        self.found = StateUpdate()
        """What was found out about the statements that cite excluded sources beside others."""
        self.calculations: Mapping[str, Calculation] = {}
        """The calculations that are new or have changed, by name."""
        self._calculations_before = turn.state.calculations
        self._calculating = Calculations(turn.calculator)
        self._followed: Mapping[str, Calculation] = {}
        """The calculations whose results the figures of the draft have."""
        self._room = int(turn.context.limits.form_tokens * _ANSWER_SHARE)
        self._values: dict[str, Any] = {}
        self._taken_out = ExcludedSources(()).only_they_support(draft)
        self._left = draft.text
        self._lost_topics: Sequence[str] = ()
        self._has_unchecked = False
        self.replaced: Sequence[str] = ()
        """On what the user wants other sources in place of excluded ones; see `replaced_topics`."""
        self.may_research = not self._state.own_findings and may_research(turn)
        """Whether facts that are missing can be looked up; once an edit."""
        self.notices: list[str] = []
        """Notices for the reader about the changes."""
        self.left_out: list[str] = []
        """Sentences for the user on changes that could not be made; the report has none of them."""
        self.language: dict[str, str] = {}
        """Fields of the run that change with the report's language."""

    @property
    def done(self) -> str:
        """What the user's edit has changed, and what was left out of it; empty if nothing is
        known."""
        return " ".join([*self.notices[:1], *self.left_out])

    def _use(self, draft: Draft) -> None:
        """Change this draft from now on."""
        self.draft = draft
        """The draft that is changed; see `take_out` and `ask_calculating`."""
        self._blocks = report_blocks(draft.text)

    @property
    def _is_long(self) -> bool:
        """Whether the user wants a report changed that is too long to be written in one answer."""
        return _tokens(self.draft.text) > self._room

    async def take_out(
        self, stored: ResearchState, base: Report, excluded: ExcludedSources
    ) -> ExcludedSources:
        """Take out of the draft what the sources that are left do not support, of the report `base`
        of the stored state; what nobody could check is marked.

        Returns the excluded sources, with the statements that cite others as well.
        """
        turn = self._turn
        pages = UnreadPages(turn)
        filler = Filler(context_of_check(turn), self._state.run, turn.events, turn.placement)
        async with turn.paid():
            unmarked = without_marks(self.draft.text)
            examination = await examination_of(turn, self.draft, unmarked, filler, pages)
            left = await examination.support_left(base, excluded)
        # What was judged is not judged again when the changed report is checked.
        verdicts = await asyncio.to_thread(examination.kept_verdicts)
        if verdicts:
            kept = await turn.pages.keep(verdicts)
            self.found["base"] = base.model_copy(update={"kept": kept})
        if pages.sources:
            self.found |= {"sources": pages.sources, "brief": turn.state.brief}
        self._state = turn.state
        draft = self.draft
        if left.unsupported:
            excluded = excluded.with_unproved(left.unsupported, base)
            remaining = await asyncio.to_thread(excluded.taken_out_of_state, stored)
            draft = remaining.draft or draft
        words = labels(self._state.run.language_code)
        text = await asyncio.to_thread(left.marked, draft.text, draft.keys, words)
        self._use(draft.model_copy(update={"text": text}))
        self._taken_out = await asyncio.to_thread(excluded.only_they_support, base)
        self._left = text
        topics = await asyncio.to_thread(excluded.lost_topics, base, text, excluded)
        self._lost_topics = each_topic_once(topics)
        self._has_unchecked = bool(left.unchecked)
        if left.note:
            self.notices.append(left.note)
        return excluded

    async def ask(self, **asked: Any) -> EditReport | None:
        """Have the model fill in the form; `asked` are further values of the prompt.

        It is asked again as long as it has something calculated; the figures of the draft then
        follow. Returns None if it cannot.
        """
        is_filled = True

        async def fill(*, results: str, is_last: bool) -> EditReport | None:
            nonlocal is_filled
            if not results:
                return await self._ask_once(**asked)
            await self._follow_results()
            self._values |= {"results": results, "is_last": is_last}
            again = await self._ask_once(**{"part": None, **asked})
            is_filled = again is not None
            return again

        form = await Calculations(self._calculating.calculator).ask(fill)
        if self._followed != self._calculating.changed:
            # The last answer has changed more.
            await self._follow_results()
        return form if is_filled else None

    async def _follow_results(self) -> None:
        """Let the figures of the draft follow the calculations that have changed."""
        calculator = await self._calculating.calculator()
        before = {**self._calculations_before, **self.calculations}
        self._followed = dict(calculator.changed)
        self.calculations = {
            key: _with_found(new, before.get(key)) for key, new in calculator.changed.items()
        }
        text = await asyncio.to_thread(calculator.with_new_results, self.draft.text, before)
        self._turn.apply(calculations={**before, **self.calculations})
        update = {"text": text, "streamed": text, "calculations": self._cited(text)}
        self._use(self.draft.model_copy(update=update))
        self._values |= self._shown_draft()

    def note_calculated(self) -> None:
        """Note for the reader which calculations have other results, and which could not be made
        anew."""
        before = self._calculations_before
        cited = cited_calculations(self.draft.text)
        # The thread may have a calculation twice; the reader knows the one that the report cites.
        by_value = dict[tuple[str, float], Calculation]()
        for key, calculation in self.calculations.items():
            if key in before and before[key].result != calculation.result:
                known = by_value.setdefault((calculation.name, calculation.value), calculation)
                if known.number not in cited:
                    by_value[calculation.name, calculation.value] = calculation
        changed = list[str]()
        for calculation in by_value.values():
            results = f"{before[calculation.key].result} → {calculation.result}"
            changed.append(f"{calculation.name}: {results}")
        if changed:
            self.notices.append(f"Calculated again: {'; '.join(changed)}.")
        for key, reason in self._calculating.failed.items():
            number = before[key].number
            self.notices.append(f"Calculation {number} could not be made anew: {reason}.")

    def waiting(self, tasks: Sequence[tuple[str, str]]) -> StateUpdate:
        """Return the update with which tasks, pairs of title and text, are researched first."""
        update = self._turn.update()
        waiting = tasks_waiting(self._turn, update["progress"], tasks, 1)
        return {**update, **self.found, **waiting, "draft": self.draft}

    def note_taken_out(self, changed: Draft, sources: Mapping[str, Source]) -> None:
        """Note for the reader first what was taken out of the report that is now `changed`;
        `sources` are those of the thread, by key, with the excluded ones."""
        note = self._taken_out.note(sources, is_mended=changed.text != self._left)
        if note:
            self.notices.insert(0, note)

    def note_replaced(self) -> None:
        """Note for the reader what was not searched for, although the user wants other sources."""
        turn = self._turn
        is_wanted = any(known.needs_replacement for known in self._state.excluded.values())
        if is_wanted and not self.replaced and not self._has_unchecked:
            self.notices.append(_NOTHING_TO_REPLACE)
        if not self.replaced:
            return
        if not self._state.own_findings:
            reason = self._state.run.stop_reason or turn.limit or _NOTHING_TO_SEARCH
            if RoleModels(turn.context).is_extractive("writer"):
                reason = _NO_MODEL
            self.notices.append(f"{_NOT_REPLACED}: {reason}.")
        for topic in self.replaced[turn.context.limits.max_plan_steps :]:
            self.notices.append(f"{_NOT_REPLACED} in the {topic} (max_plan_steps).")

    async def _ask_once(self, **asked: Any) -> EditReport | None:
        """Make one call for the form; `asked` are further values of the prompt.

        Returns None if it fails. If the first call of an edit fails, the run stops.
        """
        turn = self._turn
        if not self._values:
            self._values = await self._prompt_values()
        values = {"part": None, "refused": "", **self._values, **asked}
        form = EditReport
        if self._state.run.strategy == "table" and self.draft.columns:
            form = EditTable
        if asked:
            return await turn.filler.ask_if_possible(form, "writer", "edit_report", (), **values)
        try:
            return await turn.filler.ask(form, "writer", "edit_report", (), **values)
        except ModelFailed as error:
            if EditReport.tool_name() not in turn.filler.unfilled:
                raise
            # Asking once more would not help, and the thread should go on.
            log_failure(__name__, error, "The report is delivered unchanged")
            self.notices.append(f"The report was not changed. {error}")
            return None

    async def _prompt_values(self) -> dict[str, Any]:
        """Return the values of the prompt that are the same for all calls."""
        turn = self._turn
        state = self._state
        values: dict[str, Any] = {
            "instructions": turn.context.instructions,
            **self._shown_draft(),
            "sources": turn.basis.described_sources,
            "may_research": self.may_research,
            "is_long": self._is_long,
            "instruction": "",
            "said": "",
            "title": "",
            "passages": "",
            "knowledge": "",
            "fewest_words": self.draft.fewest_words,
            "most_words": self.draft.most_words,
            "open_points": "",
            "taken_out": "",
            "results": "",
            "is_last": False,
            "replaced": "",
        }
        if state.own_findings:
            findings = turn.basis.known_findings(turn.context.limits.memory_tokens)
            values["knowledge"] = fenced_knowledge(
                findings=findings, not_found=turn.basis.not_found
            )
        conversation = Conversation(state.messages)
        request = conversation.question
        standing = Conversation(ThreadVersions(state).standing_messages)
        earlier = standing.texts_of_user[: -len(conversation.question_texts)]
        numbered = list[str]()
        for number, grade in enumerate(self.draft.open_grades, 1):
            numbered.append(f"{number}. {_open_point(grade)}")
        values["request"] = request
        if state.brief.instruction != request:
            values["instruction"] = state.brief.instruction
        values["said"] = "\n".join(f"- {text}" for text in earlier[-_MESSAGES:])
        values["title"] = self.draft.title
        values["passages"] = await self._passages()
        values["open_points"] = fence("\n".join(numbered)) if numbered else ""
        if self._lost_topics:
            values["taken_out"] = fence("\n".join(f"- {topic}" for topic in self._lost_topics))
        if self.replaced:
            values["replaced"] = fence("\n".join(f"- {topic}" for topic in self.replaced))
        return values

    def _shown_draft(self) -> dict[str, Any]:
        """Return the values of the prompt that change with the draft."""
        return {
            "words": _unmarked(self.draft).words,
            "report": fenced_knowledge(report=list(map(shown_block, self._blocks))),
            "calculations": self._turn.basis.calculations,
        }

    async def _passages(self) -> str:
        """Return the passages behind the report's citations, and others on the request, fenced."""
        turn = self._turn
        numbers = self._state.numbers
        passages = defaultdict[int, list[str]](list)
        characters = _PASSAGES_CHARACTERS
        if self._state.base:
            for key, text in dict.fromkeys(_cited_passages(self._state.base)):
                characters -= len(text)
                if key in numbers and characters >= 0:
                    passages[numbers[key]].append(text)
        # The clarifier's words say what "it" and "there" mean.
        asked = (self._state.run.question, self._state.brief.instruction)
        wanted = ["\n".join(filter(None, asked))]
        if self._taken_out.statements:
            # The statements are shown to no model, but what other sources say in their place is.
            wanted.append("\n".join(self._taken_out.statements))
        for words in wanted:
            found = await turn.basis.passages_on(words, turn.pages, _RECALLED_CHARACTERS)
            for key, text in found:
                passages[numbers[key]].append(text)
        if not passages:
            return ""
        shown = list[dict[str, Any]]()
        for number, texts in sorted(passages.items()):
            shown.append({"source": number, "passages": _each_once(texts)})
        return fenced_knowledge(passages=shown)

    async def changed(self, form: EditReport) -> Draft:
        """Return the draft with the changes of a form.

        The model is asked once more about changes that cannot be made; what then cannot be made is
        left out.
        """
        edits = list(form.edits)
        if form.covers_all and (self._is_long or not edits):
            edits = await self._by_parts()
        edited = await asyncio.to_thread(self._edited, edits)
        left_out = [(edits[index], reason) for index, reason in edited.refused.items()]
        if edited.refused:
            refused = list[str]()
            for index, reason in edited.refused.items():
                refused.append(f"- {edits[index].model_dump_json(exclude_defaults=True)}: {reason}")
            again = await self.ask(refused=fence("\n".join(refused)))
            if again:
                kept = [edit for index, edit in enumerate(edits) if index not in edited.refused]
                # A model may hand in all of its changes again.
                new = [edit for edit in again.edits if edit not in kept]
                edits = [*kept, *new]
                edited = await asyncio.to_thread(self._edited, edits)
                mended = {edit.block for edit in new}
                left_out = [(edit, why) for edit, why in left_out if edit.block not in mended]
                left_out += [(edits[index], why) for index, why in edited.refused.items()]
        draft = self._with_title_and_grades(edited.draft, form)
        if form.language.strip():
            language = Language.named(form.language)
            self.language = {"language": language.name, "language_code": language.code}
        await asyncio.to_thread(self._note, form, edited, left_out)
        return draft

    def _cited(self, text: str) -> tuple[Calculation, ...]:
        """Return the calculations that a text cites, and those that they rest on."""
        return tuple(with_basis(cited_calculations(text), self._known_calculations))

    def _behind_calculations(self, draft: Draft) -> set[int]:
        """Return the numbers of the sources that a report lists for its calculations."""
        numbers = self._state.numbers
        listed = set[int]()
        for calculation in draft.calculations:
            listed.update(numbers[key] for key in calculation.sources if key in numbers)
        return listed

    @property
    def _known_calculations(self) -> dict[int, Calculation]:
        """The calculations of the thread as they are now, by number."""
        known = {**self._state.calculations, **self.calculations}
        return by_calculation_number(known.values())

    def _edited(self, edits: Sequence[ReportEdit]) -> EditedDraft:
        """Return the draft with the edits."""
        return edited_draft(self.draft, edits, self._state.sources, self._known_calculations)

    async def _by_parts(self) -> list[ReportEdit]:
        """Ask for the changes of a long report part by part."""
        edits = list[ReportEdit]()
        for part in _parts(self._blocks, self._room):
            form = await self.ask(part=part)
            if form is None:
                self.notices.append(f"Not changed: blocks {part[0]} to {part[1]} of the report.")
                continue
            for edit in form.edits:
                if part[0] <= edit.block <= part[1]:
                    edits.append(edit)
        return edits

    def _with_title_and_grades(self, draft: Draft, form: EditReport) -> Draft:
        """Return the draft with the form's title and length, and with the open points that it
        answers."""
        changes: dict[str, Any] = {}
        title = " ".join(form.title.split()).lstrip("# ")
        if title:
            changes["title"] = title
        if form.fewest_words > 0 or form.most_words > 0:
            changes["fewest_words"] = form.fewest_words
            changes["most_words"] = form.most_words
        grades = list[Grade]()
        number = 0
        for grade in draft.grades:
            if grade.is_open:
                number += 1
                if number in form.answered:
                    grade = Grade(requirement=grade.requirement, verdict="answered")
            grades.append(grade)
        return draft.model_copy(update={**changes, "grades": tuple(grades)})

    def _note(
        self, form: EditReport, edited: EditedDraft, left_out: Iterable[tuple[ReportEdit, str]]
    ) -> None:
        """Note for the reader what was changed, left out (edits with the reasons) and lost."""
        run = self._state.run
        done = " ".join(form.done.split())
        if done:
            self.notices.append(done)
        self.note_calculated()
        for task in form.tasks:
            self.notices.append(f"Not researched for this change: {task}")
        if self._turn.context.verify == "off":
            self.notices.append(_NOT_CHECKED)
        for edit, reason in left_out:
            if self._taken_out.statements:
                # The user has asked for no change in these words.
                break
            self.left_out.append(left_out_sentence(edit, reason, self._blocks))
        request = Conversation(self._state.messages).question
        fewest_words: int | None = 1
        if self.language:
            fewest_words = None
        elif run.language_code in _NOUNS_CAPITALISED:
            fewest_words = 2
        listed = self._behind_calculations(edited.draft)
        lost = losses(edited.replaced, edited.draft.text, request, fewest_words, listed)
        if lost:
            named = ", ".join(lost[:_NAMED])
            if len(lost) > _NAMED:
                named += f" and {len(lost) - _NAMED} more"
            self.notices.append(f"No longer in the report, but in the version before: {named}.")


def _with_found(new: Calculation, before: Calculation | None) -> Calculation:
    """Return a calculation with the result that the findings have, from how it was before."""
    if before is None:
        return new
    found = before.found or before.result
    return new.model_copy(update={"found": found if found != new.result else ""})


def _tokens(text: str) -> int:
    return estimated_tokens([HumanMessage(text)])


def _unmarked(draft: Draft) -> Draft:
    """Return the draft without the marks of the check, which are no words of the report."""
    return draft.model_copy(update={"text": without_marks(draft.text)})


def _open_point(grade: Grade) -> str:
    """Return a requirement that the report leaves open, with what is missing."""
    return ": ".join(filter(None, (grade.requirement, grade.missing)))


def _each_once(passages: Sequence[str]) -> list[str]:
    """Return the passages of a source, in the same order, without the sentences that a longer one
    of them has as well; tables stay whole."""
    kept = dict[int, str]()
    for index in sorted(range(len(passages)), key=lambda index: -len(passages[index])):
        passage = passages[index]
        sentences = [sentence.raw for sentence in sentences_of(passage)]
        known = set[str]()
        for other in kept.values():
            known.update(sentence for sentence in sentences if sentence in other)
        if known and "\n|" not in passage:
            passage = "\n".join(sentence for sentence in sentences if sentence not in known)
        if not known.issuperset(sentences):
            kept[index] = passage
    return [kept[index] for index in sorted(kept)]


def _cited_passages(report: Report) -> Iterable[tuple[str, str]]:
    """Yield source key and text of the passages that the statements of a report cite."""
    for claim in report.claims:
        for passage in claim.passages:
            if passage.quote:
                yield passage.source, passage.quote


def _parts(blocks: Sequence[ReportBlock], room: int) -> list[tuple[int, int]]:
    """Return the first and last block of the parts of a report, of at most `room` tokens each.

    A part is a section or several, if these are not too long; a longer block is a part of its own.
    """
    parts = list[tuple[int, int]]()
    first, size = 1, 0
    for block in blocks:
        length = _tokens(block.text)
        begins_section = block.kind == "heading" and size > room // 2
        if block.number > first and (begins_section or size + length > room):
            parts.append((first, block.number - 1))
            first, size = block.number, 0
        size += length
    if blocks:
        parts.append((first, len(blocks)))
    return parts
