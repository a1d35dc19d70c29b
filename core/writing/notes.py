"""Writes the notes below a report: what was not found, opened or verified, and what went wrong."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection, Iterable
from typing import NamedTuple

from ...state import ResearchState
from ..evidence.citations.citing import cited_numbers
from ..evidence.memory.learned import facts_of
from ..evidence.memory.observations import ResearchMemory
from ..records import tool_names
from ..records.plan import FINAL_CHECK, NOTHING_TO_THINK_OVER, Observation
from ..records.research import ON_OPEN_REQUIREMENT, Action, Finding, Run
from ..records.sources import NotRead

_LISTED = 20
"""Maximum number of failed searches, and of unread sources, named in the notes."""
_WORDS_NAMED = 5
"""Maximum number of words left out of web queries that are named in the notes."""
_LONGEST_TASK = 120
"""Maximum length of a task in a note, in characters."""
_CITES_NOTHING = "The report cites no source."
WITHHELD_REASON = "the provider of the model refuses such text"


class Missing(NamedTuple):
    """What is missing in a report; without any, its run has ended without gaps."""

    left_open: tuple[str, ...]
    """See `Audit.open_gaps`."""
    unfinished: tuple[str, ...]
    """See `Audit.unfinished`."""


class ReportNotes:
    """What the reader of a run's report is told below it: what is missing, and what went wrong."""

    def __init__(self, state: ResearchState) -> None:
        """`state`: the run's, as far as it has come."""
        self._state = state

    def lines(self) -> list[str]:
        """Return the notes below the report of the current question, each one sentence or more."""
        run = self._state.run
        report = self._state.report
        notes = list[str]()
        for assumption in run.assumptions:
            unasked = "No clarification was possible, so the question was taken as written."
            notes.append(f"{unasked} Left open: {assumption}")
        unfinished = self.unfinished()
        notes += unfinished
        if self._state.plan and self._state.plan.remark:
            notes.append(self._state.plan.remark)
        for step in self._state.steps:
            line = _line("Not done", step.title, step.reason)
            if step.status == "skipped" and line not in unfinished:
                notes.append(line)
        draft = self._state.draft
        missing = "Still open" if draft and draft.grades else "Not found"
        for gap in self.unanswered():
            # The reader is told once.
            if not draft or gap not in draft.named_gaps:
                notes.append(f"{missing}: {gap}")
        if report and self.gaps() == [_CITES_NOTHING]:
            notes.append(_CITES_NOTHING)
        notes += self.outline_deviations()
        not_researched = self.steps_not_researched()
        for part in self.left_out():
            reason = "Not researched" if part in not_researched else "Not in the report"
            notes.append(f"{reason}: {part}")
        if report and report.audit and report.audit.marked:
            marked = report.audit.marked
            notes.append(
                f"Statements marked as not verified: {marked}. No source fully supports them."
            )
        if report:
            for source in report.cited(self._state.sources):
                notes += source.notes
        notes += _redacted_notes(self._state.own_actions)
        notes += _tool_notes(self._state.own_actions)
        notes += self._search_notes()
        notes += run.notices
        unread = self.not_read()
        for failed in unread[:_LISTED]:
            notes.append(f"Not read: {failed.path} ({failed.reason.rstrip('.')}).")
        if len(unread) > _LISTED:
            notes.append(f"Not read: {len(unread) - _LISTED} more.")
        return notes

    def missing(self, cited: Collection[str]) -> Missing:
        """Return all that is missing in a report that cites these sources (keys)."""
        left_open = (*self.unanswered(), *self.outline_deviations(), *self.parts_left_out(cited))
        unfinished = self.unfinished()
        if not left_open and not unfinished and not cited:
            unfinished.append(_CITES_NOTHING)
        return Missing(left_open, tuple(unfinished))

    def unfinished(self) -> list[str]:
        """Return notes on what was not researched to the end: because of a limit, an error, or
        because there was nothing to think over."""
        notes = list[str]()
        if self._state.run.stop_reason:
            notes.append(_line("Research ended early", self._state.run.stop_reason))
        notes += self._research_gaps()
        for step in self._state.steps:
            if step.reason == NOTHING_TO_THINK_OVER:
                notes.append(_line("Not done", step.title, step.reason))
        return notes

    def _research_gaps(self) -> list[str]:
        """Return notes on tasks with errors or without an end, and on what was left out."""
        findings = self._state.own_findings
        notes = list[str]()
        reasons = set[str]()
        for finding in findings:
            if finding.ended != "done":
                reasons.add(finding.reason)
                notes.append(
                    _line("Not researched to the end", _shown(finding.task), finding.reason)
                )
        for finding in self._state.findings.values():
            if finding.is_withheld:
                notes.append(_line("Found, but left out", _shown(finding.task), WITHHELD_REASON))
        for finding in findings:
            if finding.withheld:
                results = "a result" if finding.withheld == 1 else f"{finding.withheld} results"
                notes.append(
                    _line("Left out", _shown(finding.task), f"{results}; {WITHHELD_REASON}")
                )
            if finding.left_out:
                names = ", ".join(finding.left_out)
                notes.append(_line("Left out", _shown(finding.task), f"{names}; {WITHHELD_REASON}"))
        for finding in findings:
            if finding.ended == "done" and finding.failures:
                failures = "; ".join(dict.fromkeys(finding.failures))
                notes.append(_line("Errors during the research", _shown(finding.task), failures))
        faults = set[str]()
        for finding in findings:
            for action in finding.actions:
                faults.add(action.fault)
        return [*notes, *sorted(faults - reasons - {""})]

    def unanswered(self) -> list[str]:
        """Return the checklist items that the report does not meet, and the gaps of the whole run
        that the editor has not closed.

        If it was not graded, all open gaps. The checklist is preferred to what researchers declare,
        since that goes beyond the request and repeats itself.
        """
        state = self._state
        if not state.draft or not state.draft.grades:
            return missing_of(state.run, state.findings.values(), state.memory.values())
        missing = dict[str, None]()
        for grade in state.draft.open_grades:
            missing.setdefault(grade.missing or grade.requirement)
        for gap in ResearchMemory(state.own_observations).declared_gaps():
            missing.setdefault(gap.text)
        return list(missing)

    def outline_deviations(self) -> list[str]:
        """Return how the headings of the report differ from the outline, a sentence each."""
        report = self._state.report
        return list(report.outline_deviations) if report else []

    def left_out(self) -> list[str]:
        """Return the parts of the question that the finished report leaves out; see
        `parts_left_out`.

        Runs of earlier versions, which did not look for them, have ended without gaps.
        """
        if not self._state.report or self._state.run.status == "completed":
            return []
        return self.parts_left_out(self._state.report.sources)

    def parts_left_out(self, cited: Collection[str]) -> list[str]:
        """Return the steps of the plan that nobody researched, and the tasks that the report does
        not use; `cited` as in `unused_tasks`."""
        return [*self.steps_not_researched(), *self.unused_tasks(cited)]

    def gaps(self) -> list[str]:
        """Return all that is missing in the finished report, as status, notes and exports count it;
        empty if there is no report."""
        report = self._state.report
        if report is None:
            return []
        if report.audit:
            return list(report.audit.gaps)
        if self._state.run.status == "completed":
            return []
        missing = self.missing(report.sources)
        return [*missing.left_open, *missing.unfinished]

    def steps_not_researched(self) -> list[str]:
        """Return the steps of the orchestrator's plan that no task researched.

        This is only known if each task is a step in the plan's words; a graded checklist is
        preferred. A typed plan gives the reason for each step that was skipped.
        """
        is_typed = bool(self._state.steps)
        is_graded = bool(self._state.draft and self._state.draft.grades)
        if self._state.plan is None or is_typed or is_graded:
            return []
        tasks = set[str]()
        for finding in self._state.own_findings:
            if not finding.is_analysis:
                tasks.add(finding.task)
        steps = [" ".join(step.split()) for step in self._state.plan.steps]
        if not tasks or not tasks.issubset(steps):
            return []
        missing = self.unanswered()
        not_researched = list[str]()
        for step in steps:
            if step not in tasks and step not in missing:
                not_researched.append(step)
        return not_researched

    def unused_tasks(self, cited: Collection[str]) -> list[str]:
        """Return the tasks of the current question of which no sentence of the report cites a
        source.

        `cited`: keys of the sources that the report cites. Tasks are those of researchers and the
        searches of a typed plan, each with its follow-ups. Left out are tasks that other notes
        name, tasks on open requirements, which are graded, those that fill a table, and those whose
        results may have no source: analyses, calculations, and calls of an app's tools.
        """
        by_topic = dict[str, list[Finding]]()
        for finding in self._state.own_findings:
            topic = finding.step.partition(".")[0] or finding.id
            is_on_requirement = finding.id.startswith(ON_OPEN_REQUIREMENT)
            is_cited_by_code = finding.is_analysis or bool(finding.handed_in)
            if not is_cited_by_code and not is_on_requirement:
                by_topic.setdefault(topic, []).append(finding)
        for step_id in self._steps_left_out():
            by_topic.pop(step_id, None)
        unused = list[list[Finding]]()
        for findings in by_topic.values():
            sources = set[str]()
            for finding in findings:
                sources |= self._cited_in(finding)
            may_lack_sources = not sources and any(map(_uses_other_tools, findings))
            if sources.isdisjoint(cited) and not may_lack_sources:
                unused.append(findings)
        if not unused:
            return []
        stated = self._learnings_stated(cited)
        named = self._tasks_named()
        tasks = dict[str, None]()
        for findings in unused:
            learnings = set[str]()
            for finding in findings:
                for learning in self._state.stated_in(finding):
                    learnings.add(learning.id)
            first = min(findings, key=lambda finding: len(finding.step))
            if learnings.isdisjoint(stated) and first.task not in named:
                tasks.setdefault(first.task)
        return list(tasks)

    def not_read(self) -> list[NotRead]:
        """Return the documents and pages that could not be read for the current question, each
        once."""
        unread = {file.path: file for file in self._state.run.not_read}
        for action in self._state.own_actions:
            for failed in action.not_read:
                unread[failed.path] = failed
        return list(unread.values())

    def _steps_left_out(self) -> list[str]:
        """Return the ids of the analyses of a typed plan, and of the steps that were added to
        it."""
        original = len(self._state.plan.steps) if self._state.plan else 0
        left_out_ids = list[str]()
        position = 0
        for step in self._state.steps:
            if step.parent:
                continue
            if position >= original or not step.requires_search:
                left_out_ids.append(step.id)
            position += 1
        return left_out_ids

    def _cited_in(self, finding: Finding) -> set[str]:
        """Return the keys of the sources that the text of a finding cites."""
        keys = {number: key for key, number in self._state.numbers.items()}
        return {keys[number] for number in cited_numbers(finding.numbered or "", keys)}

    def _learnings_stated(self, cited: Collection[str]) -> set[str]:
        """Return the ids of the learnings whose fact one of the cited sources states.

        The report may cite the source of another finding for a fact that several of them state.
        """
        stated = set[str]()
        for fact in facts_of(self._state.own_learnings):
            if not set(fact.sources).isdisjoint(cited):
                stated.update(learning.id for learning in fact.learnings)
        return stated

    def _tasks_named(self) -> set[str]:
        """Return the tasks of the current question that `unfinished` or `unanswered` names, in
        whichever words."""
        missing = self.unanswered()
        named = {*missing, *_explained_tasks(self._state.run, self._state.findings.values())}
        tasks = dict[str, str]()
        for finding in self._state.own_findings:
            # Only a finding without sources is explained by a gap that it has left.
            if not self._cited_in(finding):
                tasks[finding.step or finding.id] = finding.task
        of_tasks = list[Observation]()
        for noticed in self._state.own_observations:
            # The final check leaves gaps open on behalf of the whole run.
            if noticed.step != FINAL_CHECK:
                of_tasks.append(noticed)
        for gap in ResearchMemory(of_tasks).open_gaps():
            if gap.text in missing and gap.step in tasks:
                named.add(tasks[gap.step])
        return named

    def _search_notes(self) -> list[str]:
        """Return a note for each reason why searches failed, with all queries that failed for it,
        and for each engine that could search only in part."""
        # `unfinished` already has the failed steps of a typed plan, with their reasons.
        reported = set[str]()
        for finding in self._state.findings.values():
            reported.update(finding.failures)
        failures = dict[str, None]()
        for action in self._state.own_actions:
            for failure in action.broken:
                failures.setdefault(failure.rstrip("."))
        by_reason = dict[str, str]()
        for failure in failures:
            if failure in reported:
                continue
            reason, _, queries = failure.partition(" Not searched: ")
            if reason in by_reason:
                by_reason[reason] += f", {queries}"
            else:
                by_reason[reason] = failure
        notes = list[str]()
        for failure in list(by_reason.values())[:_LISTED]:
            notes.append(_line("A search failed", failure))
        partial = dict[str, None]()
        for action in self._state.own_actions:
            partial |= dict.fromkeys(action.partial)
        return [*notes, *list(partial)[:_LISTED]]


def outline_deviations(state: ResearchState) -> list[str]:
    """Return how the headings of the report differ from the outline, a sentence each."""
    return list(state.report.outline_deviations) if state.report else []


def missing_of(run: Run, findings: Iterable[Finding], memory: Iterable[Observation]) -> list[str]:
    """Return the open gaps of a question in order, except tasks that `unfinished` reports."""
    of_question = [observation for observation in memory if observation.question_id == run.id]
    explained = _explained_tasks(run, findings)
    missing = list[str]()
    for gap in ResearchMemory(of_question).open_gaps():
        if gap.text not in explained:
            missing.append(gap.text)
    return missing


def _explained_tasks(run: Run, findings: Iterable[Finding]) -> set[str]:
    """Return the tasks of a question that `unfinished` reports with a reason."""
    explained = set[str]()
    for finding in findings:
        has_reason = finding.ended != "done" or finding.is_withheld or finding.failures
        if finding.question_id == run.id and has_reason:
            explained.add(finding.task)
    return explained


def _uses_other_tools(finding: Finding) -> bool:
    """Whether a finding may rest on results without a source: of calculations or an app's tools."""
    return any(action.tool not in tool_names.OURS for action in finding.actions)


def asked_notes(names: Iterable[str]) -> list[str]:
    """Return a note that names the services asked for copies and retractions (`names`).

    Empty if there are none.
    """
    named = ", ".join(dict.fromkeys(names))
    if not named:
        return []
    return [f"Asked for open or archived copies and for retractions: {named} (open_copies)."]


def _redacted_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note that names the words left out of web queries; empty if there are none."""
    redacted = dict[str, str]()
    for action in actions:
        for word in action.redacted:
            redacted[word.casefold()] = word
    if not redacted:
        return []
    words = list(redacted.values())
    named = ", ".join(words[:_WORDS_NAMED])
    if len(words) > _WORDS_NAMED:
        named += f" and {len(words) - _WORDS_NAMED} more"
    return [
        f"Web searches left out words that are only in your documents: {named}. "
        "To search the web for such words, use them in the question, or set mix_private."
    ]


def _tool_notes(actions: Iterable[Action]) -> list[str]:
    """Return a note for each tool and kind of error that it raised."""
    failures = Counter[tuple[str, str]]()
    for action in actions:
        for kind in action.failed:
            failures[action.tool, kind] += 1
    notes = list[str]()
    for (tool, kind), count in failures.items():
        times = "once" if count == 1 else f"{count} times"
        notes.append(f"The tool {tool} failed {times} ({kind}).")
    return notes


def _shown(task: str) -> str:
    """Return a researcher's task as a note names it; its orders fill a paragraph."""
    return textwrap.shorten(task, _LONGEST_TASK, placeholder=" …")


def _line(*parts: str) -> str:
    """Return a note: its parts without final punctuation, joined with colons, and a full stop."""
    text = ""
    for part in parts:
        part = part.rstrip(" .:")
        if not text:
            text = part
        elif text.endswith(("?", "!")):
            text += f" {part[:1].upper()}{part[1:]}"
        else:
            text += f": {part}"
    return text if text.endswith(("?", "!")) else f"{text}."
