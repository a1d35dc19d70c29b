"""Has the draft edited and graded: a model mends its faults, adds what the findings hold on open
requirements, and says how well it then meets the request's checklist. Prepares research on what
stays open."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator
from typing_extensions import override

from ..core.events.blocks import ReportPackets
from ..core.evidence.memory.observations import ResearchMemory, ThreadDisputes
from ..core.models.resolve import RoleModels
from ..core.records.plan import FINAL_CHECK, Observation
from ..core.records.report import Draft, Grade
from ..core.records.research import Finding, by_calculation_number
from ..core.records.sources import Dispute
from ..core.writing.basis import covers_gap
from ..core.writing.blocks import report_blocks
from ..core.writing.forms import Form
from ..prompts import fence, fenced_knowledge
from ..state import ResearchState, StateUpdate
from ._ahead import judged_ahead
from ._draft_edits import edited_draft, shown_block
from ._further_research import may_research, tasks_waiting
from ._report_edit import ReportEdit
from .turn import NodeRuntime, Turn, begin_turn

_NOT_GRADED = "{} gave no grades, so the report was not compared with the checklist of the request."
_NO_GRADE = "Not judged whether the report answers: {}"
"""Notice on a requirement that the verifier's model gave no grade."""
_SAID_ONCE = ("answered_gaps", "named_gaps", "named_disputes", "follow_ups")
"""Fields that a second form for a draft may leave empty, since the first had them."""
_MOST_FOLLOW_UPS = 3
_LONGEST_QUESTION = 200
"""Maximum characters of a question that the reader may ask next."""


class RequirementGrade(Form):
    """Whether the draft meets a requirement, as it is after the edits."""

    number: int
    """Number of the requirement."""
    verdict: Literal["answered", "partly", "not answered"]
    missing: str = ""
    """Unless it is answered: what the draft lacks, in a few words for its reader."""
    is_found: bool = False
    """Unless it is answered: whether the findings contain what the draft lacks."""
    task: str = ""
    """What to find out, in a sentence understandable on its own; empty if there is nothing to find out."""  # noqa: E501


# Nothing reads these two forms. They are asked for because a model that has to say what speaks
# against each conclusion, and what readers are not told of each unknown, finds more to mend.
class DoubtedConclusion(Form):
    """A conclusion of the draft, and what a critical reader would hold against it."""

    says: str
    """What it says, in a few words."""
    against: str = ""
    """What in the findings speaks against it, in a phrase; empty if nothing does."""


class Unknown(Form):
    """Something that is not known, and what the draft does not say of it."""

    says: str
    """What is not known, in a few words."""
    lacks: str = ""
    """What the reader is not told of it: how far it moves the answer, who can say it, and when; empty if nothing."""  # noqa: E501


class GradeReport(Form):
    """Hand in the edits of the draft, and the grades that it has with them."""

    conclusions: list[DoubtedConclusion] = Field(default_factory=list)
    """Each conclusion, recommendation and request of the draft as it is, in order, with what speaks against it."""  # noqa: E501
    unknowns: list[Unknown] = Field(default_factory=list)
    """What the draft calls unknown, and what it does not name of the gaps and of the open points of an analysis."""  # noqa: E501
    most_words: int = 0
    """The most words that the request allows, or about how many it wants; 0 if it names no length."""  # noqa: E501
    fewest_words: int = 0
    """The fewest words that the request wants, or about how many; 0 if it names no length."""
    surplus_words: int = 0
    """By how many words the draft is longer than `most_words`."""
    edits: list[ReportEdit] = Field(default_factory=list)
    """The changes of the draft; empty if there is nothing to mend."""
    grades: list[RequirementGrade]
    """One for each requirement, by its number."""
    title: str = ""
    """The new title, only if it changes."""
    answered_gaps: list[int] = Field(default_factory=list)
    """Numbers of the `gaps` that the draft answers, that move nothing, or that a grade names as missing."""  # noqa: E501
    named_gaps: list[int] = Field(default_factory=list)
    """Numbers of the other `gaps` of which the draft itself says that they are unknown, every part of them, in whichever words."""  # noqa: E501
    named_disputes: list[int] = Field(default_factory=list)
    """Numbers of the `disputes` of which the draft gives both sides, in whichever words; where the request asks for a length, also of those that are resolved and on whose right side the draft stands."""  # noqa: E501

    @field_validator("edits", mode="before")
    @classmethod
    def _valid(cls, given: object) -> list[ReportEdit]:
        """Leave out edits that are none, so that the grades beside them count."""
        valid = list[ReportEdit]()
        for edit in given if isinstance(given, list) else ():
            try:
                valid.append(ReportEdit.model_validate(edit))
            except ValidationError as error:
                logger = logging.getLogger(__name__)
                logger.info("An edit is dropped: %d faults", error.error_count())
        return valid


class GradeFirstDraft(GradeReport):
    """Hand in the edits of the draft, and the grades that it has with them."""

    follow_ups: list[str] = Field(default_factory=list)
    """Up to three short questions that this reader would ask next, from figures, disputes or limits of the draft; none that was looked for in vain."""  # noqa: E501

    @classmethod
    @override
    def tool_name(cls) -> str:
        return GradeReport.tool_name()

    @field_validator("follow_ups", mode="before")
    @classmethod
    def _texts(cls, given: object) -> list[str]:
        """Leave out what is no text, so that the grades beside it count."""
        items = given if isinstance(given, list) else []
        return [words for words in items if isinstance(words, str)]


async def grade_report(state: ResearchState, runtime: NodeRuntime) -> StateUpdate:
    """Have the verifier's model edit and grade the draft.

    If limits allow, prepare research on requirements that stay open. After it the draft is edited
    and graded once more, with what was found; without anything new it stays as it is.
    """
    turn = await begin_turn(state, runtime)
    state = turn.state
    limits = turn.context.limits
    before = state.draft
    assert before is not None
    requirements = state.plan.requirements if state.plan else ()
    if not limits.checklist_rounds or not _to_grade(requirements, before.grades):
        return {}
    if before.grades and not _has_new_findings(state.findings.values(), before):
        # These faults were left for this turn.
        return turn.costs(notices=(*state.run.notices, *_remaining_faults(before)))
    if not turn.is_capable("verifier"):
        return {}
    turn.announce("grade")
    async with turn.paid():
        judging = asyncio.create_task(judged_ahead(turn, before))
        try:
            edited = await _Editor(turn, before, requirements).edit()
            judged = await judging
        finally:
            judging.cancel()
    if edited is None:
        not_graded = _NOT_GRADED.format(RoleModels(turn.context).subject("verifier"))
        update = turn.update(notices=(*state.run.notices, not_graded))
        return {**update, "draft": judged}
    draft, form = edited
    draft = draft.model_copy(update={"kept": judged.kept, "judge_calls": judged.judge_calls})
    is_researched = False
    if draft.rounds < limits.checklist_rounds:
        is_researched = bool(_open_tasks(draft)) and may_research(turn)
    if is_researched:
        draft = draft.model_copy(update={"rounds": draft.rounds + 1})
    faults = [] if is_researched else _remaining_faults(draft)
    packets = ReportPackets(turn.placement)
    turn.emit(packets.grades(draft.grades, is_researched=is_researched))
    update = turn.update(notices=(*state.run.notices, *faults))
    if is_researched:
        update |= tasks_waiting(turn, update["progress"], _open_tasks(draft), draft.rounds)
    update |= {"draft": draft, "memory": _closed_gaps(turn, form.answered_gaps)}
    if (draft.title, draft.text) != (before.title, before.text):
        turn.apply(run=update["run"], draft=draft)
        turn.emit(turn.delivery.revision(turn.placement, before.text))
        update["messages"] = await asyncio.to_thread(turn.delivery.changed_draft_messages, draft)
    return update


def _remaining_faults(draft: Draft) -> list[str]:
    """Return notices for the reader on what the draft is not judged on, and on its length."""
    faults = list[str]()
    for grade in draft.grades:
        if grade.verdict == "not judged":
            faults.append(_NO_GRADE.format(grade.requirement))
    if draft.length_fault:
        faults.append(draft.length_fault)
    return faults


def _has_new_findings(findings: Iterable[Finding], draft: Draft) -> bool:
    """Whether anything was found that the draft was not written from."""
    new = [finding for finding in findings if finding.id not in draft.findings]
    return any(finding.text for finding in new)


class _Editor:
    """Asks the verifier's model for the edits and the grades of a draft."""

    def __init__(self, turn: Turn, before: Draft, requirements: Sequence[str]) -> None:
        """`before` is the draft so far."""
        self._turn = turn
        self._before = before
        self._requirements = requirements
        self._calculations = by_calculation_number(turn.state.calculations.values())
        self._disputes = ThreadDisputes(turn.state).citing(before.sources)
        # Rendered once, so that the second request begins like the first.
        self._values = self._common_values()

    async def edit(self) -> tuple[Draft, GradeReport] | None:
        """Return the draft with the edits of the model's form and with its grades, and the form.

        The model is asked once more if at least half of its edits cannot be made, the draft is
        still too long, or a requirement has no grade. Edits that cannot be made are left out.
        Returns None if it gives no grades.
        """
        draft = self._before
        form = await self._ask(draft)
        if form is None:
            return None
        if not draft.grades:
            asked = {"fewest_words": form.fewest_words, "most_words": form.most_words}
            draft = draft.model_copy(update=asked)
        draft, left_out = await self._edited(draft, form)
        is_too_long = bool(draft.length_fault) and draft.surplus_words > 0
        is_mostly_left_out = bool(left_out) and len(left_out) * 2 >= len(form.edits)
        ungraded = self._ungraded(form)
        if is_mostly_left_out or is_too_long or ungraded:
            again = await self._ask(draft, is_again=True, left_out=left_out, ungraded=ungraded)
            if again:
                form = _completed(form, again)
                draft, _ = await self._edited(draft, again)
        return self._graded(draft, form), form

    async def _edited(self, draft: Draft, form: GradeReport) -> tuple[Draft, list[str]]:
        """Return the draft with the edits of a form, and for the model those that were left out."""
        edited = await asyncio.to_thread(
            edited_draft, draft, form.edits, self._turn.state.sources, self._calculations
        )
        left_out = list[str]()
        for index, reason in edited.refused.items():
            edit = form.edits[index]
            left_out.append(f"- {edit.model_dump_json(exclude_defaults=True)}: {reason}")
            logger = logging.getLogger(__name__)
            logger.info("An edit of the draft is left out: %s of block %d", edit.kind, edit.block)
        if edited.draft.text != draft.text:
            draft = edited.draft
        title = " ".join(form.title.split()).lstrip("# ")
        if title and draft.title:
            draft = draft.model_copy(update={"title": title})
        return draft, left_out

    def _graded(self, draft: Draft, form: GradeReport) -> Draft:
        """Return the edited draft with the grades of a form."""
        named = [*draft.named_disputes]
        for number, dispute in enumerate(self._disputes, 1):
            if number in form.named_disputes:
                named.append(dispute.claims)
        gaps = [gap.text for gap in _declared_gaps(self._turn, form.named_gaps)]
        grades = _merged(self._requirements, draft.grades, form.grades)
        changes = {
            "grades": tuple(grades),
            "named_gaps": (*draft.named_gaps, *gaps),
            "named_disputes": tuple(named),
            "findings": tuple(self._turn.state.findings),
            "follow_ups": self._follow_ups(form, grades) or draft.follow_ups,
        }
        return draft.model_copy(update=changes)

    def _follow_ups(self, form: GradeReport, grades: Sequence[Grade]) -> tuple[str, ...]:
        """Return the questions of a form that the reader may ask next, without those on what was
        looked for in vain."""
        if not isinstance(form, GradeFirstDraft):
            return ()
        missing = self._turn.basis.not_found
        for grade in grades:
            if grade.verdict != "answered":
                missing.append(grade.missing or grade.requirement)
        questions = dict[str, None]()
        for words in form.follow_ups:
            question = " ".join(words.split())
            is_open = any(covers_gap(question, gap) for gap in missing)
            if question and len(question) <= _LONGEST_QUESTION and not is_open:
                questions.setdefault(question)
        return tuple(questions)[:_MOST_FOLLOW_UPS]

    async def _ask(
        self,
        draft: Draft,
        *,
        is_again: bool = False,
        left_out: Sequence[str] = (),
        ungraded: Sequence[int] = (),
    ) -> GradeReport | None:
        """Have the model fill in the form for a draft; None if it cannot.

        `is_again`: the draft has the edits of a first form, but for those that are `left_out`;
        requirements with the numbers `ungraded` had no grade in it.
        """
        blocks = list(map(shown_block, report_blocks(draft.text)))
        return await self._turn.filler.ask_if_possible(
            GradeReport if self._before.grades else GradeFirstDraft,
            "verifier",
            "grade_report",
            [],
            **self._values,
            is_first=not self._before.grades,
            is_again=is_again,
            title=draft.title,
            report=fenced_knowledge(report=blocks),
            words=draft.words,
            characters=len(draft.text),
            most_words=draft.most_words,
            surplus_words=draft.surplus_words,
            sections=_lengths(self._turn, draft),
            left_out=fence("\n".join(left_out)) if left_out else "",
            ungraded=", ".join(map(str, ungraded)),
        )

    def _ungraded(self, form: GradeReport) -> list[int]:
        """Return the numbers of the requirements that have no grade, from a form or earlier."""
        merged = _merged(self._requirements, self._before.grades, form.grades)
        not_judged = {grade.requirement for grade in merged if grade.verdict == "not judged"}
        asked = _to_grade(self._requirements, self._before.grades)
        return [number for number, text in enumerate(asked, 1) if text in not_judged]

    def _common_values(self) -> dict[str, Any]:
        """Return the values of the prompt that are the same for both requests."""
        turn = self._turn
        requirements = list[str]()
        to_grade = _to_grade(self._requirements, self._before.grades)
        for number, text in enumerate(to_grade, 1):
            requirements.append(f"{number}. {text}")
        findings = turn.basis.known_findings(turn.context.limits.memory_tokens)
        gaps = list[dict[str, Any]]()
        for number, text in enumerate(turn.basis.not_found, 1):
            gaps.append({"number": number, "question": text})
        return {
            "request": turn.state.run.question,
            "instructions": turn.context.instructions,
            "knowledge": fenced_knowledge(findings=findings),
            "calculations": turn.basis.calculations,
            "gaps": fenced_knowledge(gaps=gaps),
            "disputes": fenced_knowledge(disputes=_as_entries(self._disputes, turn.state)),
            "requirements": fence("\n".join(requirements)),
        }


def _closed_gaps(turn: Turn, numbers: Iterable[int]) -> dict[str, Observation]:
    """Return the observations, by key, that close the declared gaps which the gaps shown under
    these numbers contain."""
    state = turn.state
    memory = ResearchMemory(state.own_observations)
    closed = dict[str, Observation]()
    for declared in _declared_gaps(turn, numbers):
        # Nothing that the final check has said is later.
        for gap in memory.closing(declared, state.progress.cycle, FINAL_CHECK, 0):
            closed[gap.key] = gap
    return closed


def _declared_gaps(turn: Turn, numbers: Iterable[int]) -> list[Observation]:
    """Return the declared gaps which the gaps shown under these numbers contain."""
    all_declared = ResearchMemory(turn.state.own_observations).declared_gaps()
    declared = list[Observation]()
    for number, text in enumerate(turn.basis.not_found, 1):
        if number in numbers:
            declared += [gap for gap in all_declared if covers_gap(text, gap.text)]
    return declared


def _as_entries(disputes: Iterable[Dispute], state: ResearchState) -> list[dict[str, Any]]:
    """Return disputes as JSON entries, numbered from 1, with the numbers of their sources."""
    entries = list[dict[str, Any]]()
    for number, dispute in enumerate(disputes, 1):
        sources = [state.numbers.get(key) for key in dispute.sources]
        entries.append({"number": number, "claims": dispute.claims, "sources": sources})
    return entries


def _lengths(turn: Turn, draft: Draft) -> str:
    """Return the number of words of each section as fenced text; empty without an outline."""
    outline = turn.basis.outline(turn.context)
    lengths = outline.section_lengths(draft.text) if outline else []
    return fence("\n".join(lengths)) if lengths else ""


def _completed(first: GradeReport, again: GradeReport) -> GradeReport:
    """Return the second form for a draft, with what only the first says of it."""
    update: dict[str, Any] = {"grades": [*first.grades, *again.grades]}
    for name in _SAID_ONCE:
        # Only the first form for a report has follow-ups.
        if hasattr(first, name):
            update[name] = getattr(again, name) or getattr(first, name)
    return again.model_copy(update=update)


def _merged(
    requirements: Sequence[str], known: Iterable[Grade], given: Sequence[RequirementGrade]
) -> list[Grade]:
    """Return a grade for each requirement: from the model's form (`given`), else from `known`; else
    it is "not judged".

    Numbers in `given` count from 1 in the order of `_to_grade`; the last grade of a number counts.
    """
    grades = {grade.requirement: grade for grade in known}
    asked = _to_grade(requirements, grades.values())
    for grade in given:
        if not 0 < grade.number <= len(asked):
            continue
        requirement = asked[grade.number - 1]
        if grade.verdict == "answered":
            grades[requirement] = Grade(requirement=requirement, verdict="answered")
        else:
            grades[requirement] = Grade(
                requirement=requirement,
                verdict=grade.verdict,
                missing=" ".join(grade.missing.split()),
                task=" ".join(grade.task.split()),
                is_found=grade.is_found,
            )
    merged = list[Grade]()
    for text in dict.fromkeys(requirements):
        merged.append(grades.get(text) or Grade(requirement=text, verdict="not judged"))
    return merged


def _to_grade(requirements: Sequence[str], known: Iterable[Grade]) -> list[str]:
    """Return the requirements to grade: all of them the first time, later only open ones."""
    answered = {grade.requirement for grade in known if grade.verdict == "answered"}
    return [
        requirement for requirement in dict.fromkeys(requirements) if requirement not in answered
    ]


def _open_tasks(draft: Draft) -> list[tuple[str, str]]:
    """Return (requirement, task) pairs for open requirements that need research.

    A task of several requirements is paired with the first.
    """
    requirements = dict[str, str]()
    for grade in reversed(draft.open_grades):
        if grade.task and not grade.is_found:
            requirements[grade.task] = grade.requirement
    tasks = list[tuple[str, str]]()
    for task, requirement in reversed(requirements.items()):
        tasks.append((requirement, task))
    return tasks
