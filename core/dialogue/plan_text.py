"""Parses and writes the text of a plan: a heading, numbered steps, and a checklist for the report.

The orchestrated strategy uses the text as it is (`PlanText.plan`). The planned strategy writes its
typed steps as text for the user (`plan_of_steps`), and parses the text again if the user has edited
it (`PlanText.typed_steps`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten
from typing import NamedTuple, Self

from ..records.plan import PlanStep
from ..records.research import Plan

_TITLE_CHARACTERS = 100
MOST_REQUIREMENTS = 20
"""Maximum items of a checklist that a model or the user has written."""
_CHECKLIST = "Checklist"
"""Heading of the checklist if code writes it; models may write it in another language."""
_HEADING = re.compile(r"^\s*#{1,6}\s+(.+?)[\s#*]*$")
_NUMBERED = re.compile(r"^\s*(?:\*\*)?\d{1,2}[.)、．](?:\*\*)?\s*(?=\S)")
"""Beginning of a numbered step as models write it."""
_BULLET = re.compile(r"^\s*[-*•]\s+(?=\S)")
_ENTRY = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)](?:\*\*)?\s*")
"""Beginning of a step in the format of `plan_of_steps`, with its number."""
_REMARK = re.compile(r"\((?:thought alone)?(?:; )?(?:builds on [\d., ]+)?\)$")
"""What `plan_of_steps` writes after the task of an analysis, or of a step with dependencies."""
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
"""Number of a step, such as `2` or `2.1`."""


class PlanText(NamedTuple):
    """The text of a plan and its parts."""

    text: str
    """The whole text, as written."""
    title: str
    """Text of the heading above the steps; empty if there is none."""
    steps: str
    """The lines with the steps."""
    checklist: str
    """The heading and items of the checklist, as written; empty if there is none."""

    @classmethod
    def read(cls, text: str) -> Self:
        """Split the text of a plan into its parts.

        The title is a heading in the first line; the checklist begins at the last heading, if
        bullets without numbers follow it.
        """
        lines = text.strip().splitlines()
        headings: list[int] = []
        for index, line in enumerate(lines):
            if _HEADING.match(line):
                headings.append(index)
        title = ""
        if headings and headings[0] == 0:
            heading = _HEADING.sub(r"\1", lines[0]).strip("* ")
            title = shorten(heading, _TITLE_CHARACTERS, placeholder="…")
            headings.pop(0)
        checklist_start = len(lines)
        if headings and _begins_with_bullets(lines[headings[-1] + 1 :]):
            checklist_start = headings[-1]
        # A title that is empty once it is stripped stays among the steps.
        steps_start = 1 if title else 0
        return cls(
            text=text,
            title=title,
            steps="\n".join(lines[steps_start:checklist_start]).strip(),
            checklist="\n".join(lines[checklist_start:]).strip(),
        )

    def completed_from(self, earlier: PlanText) -> PlanText:
        """Return this plan with the title and the checklist of an earlier one if it lacks them."""
        title = self.title or earlier.title
        checklist = self.checklist or earlier.checklist
        return PlanText.read(_joined(title, self.steps, checklist))

    def plan(self, max_steps: int, max_requirements: int = MOST_REQUIREMENTS) -> Plan:
        """Return the plan: its steps are numbered steps, else bullets, else one step.

        The text stays as written, unless it has more than `max_steps` steps: then the rest of them
        is left out. The checklist has at most `max_requirements` items.
        """
        text = self.text
        steps = _items(self.steps, _NUMBERED) or _items(self.steps, _BULLET)
        if not steps:
            steps = [" ".join(self.steps.split())]
        left_out = max(0, len(steps) - max_steps)
        if left_out:
            steps = steps[:max_steps]
            listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
            text = _joined(self.title, listed, self.checklist)
        return Plan(
            text=text.strip(),
            title=self.title,
            steps=tuple(steps),
            requirements=tuple(_items(self.checklist, _BULLET)[:max_requirements]),
            left_out=left_out,
        )

    def typed_steps(self, most: int) -> list[PlanStep]:
        """Return at most `most` steps of a text in the format of `plan_of_steps`, as edited by the
        user.

        The steps are numbered anew; their dependencies are the steps that have those numbers in the
        text. A title with no task below it also becomes the task.
        """
        steps: list[PlanStep] = []
        # The ids of the steps by their numbers in the text.
        ids: dict[str, str] = {}
        for entry in _entries(self.steps):
            if not entry.title or len(steps) == most:
                continue
            task = " ".join(entry.lines) or entry.title
            remark = _REMARK.search(task)
            suffix = remark.group() if remark else ""
            task = task.removesuffix(suffix).strip() or entry.title
            title = entry.title.removesuffix(suffix).strip() or task
            depends_on: list[str] = []
            for number in _NUMBER.findall(suffix.partition("builds on")[2]):
                if number in ids:
                    depends_on.append(ids[number])
            step_id = str(len(steps) + 1)
            step = PlanStep(
                id=step_id,
                title=title[:80],
                task=task,
                requires_search="thought alone" not in suffix,
                depends_on=tuple(depends_on),
            )
            steps.append(step)
            ids[entry.number] = step_id
        return steps


def plan_of_steps(
    steps: Sequence[PlanStep],
    title: str = "",
    requirements: Sequence[str] = (),
    left_out: int = 0,
) -> Plan:
    """Return the plan of typed steps, requirements of the report, and `left_out` further steps.

    In its text, each step has a numbered line with its title, then its task and dependencies.
    """
    title = " ".join(title.split())[:_TITLE_CHARACTERS]
    items = list(filter(str.strip, requirements))
    entries: list[str] = []
    for number, step in enumerate(steps, 1):
        remarks: list[str] = []
        if not step.requires_search:
            remarks.append("thought alone")
        if step.depends_on:
            remarks.append(f"builds on {', '.join(step.depends_on)}")
        entry = f"{number}. {step.title}\n   {' '.join(step.task.split())}"
        if remarks:
            entry += f" ({'; '.join(remarks)})"
        entries.append(entry)
    checklist = ""
    if items:
        checklist = f"## {_CHECKLIST}\n\n{_bullets(items)}"
    return Plan(
        text=_joined(title, "\n".join(entries), checklist),
        title=title,
        steps=tuple(step.title for step in steps),
        requirements=tuple(items),
        left_out=left_out,
    )


def with_requirements(plan: Plan, added: Sequence[str]) -> Plan:
    """Return the plan with these items at the end of its text and of its checklist."""
    heading = "\n"
    if not PlanText.read(plan.text).checklist:
        heading = f"\n\n## {_CHECKLIST}\n\n"
    return plan.model_copy(
        update={
            "text": f"{plan.text}{heading}{_bullets(added)}",
            "requirements": (*plan.requirements, *added),
        }
    )


def _bullets(items: Sequence[str]) -> str:
    """Return a list with these items."""
    return "\n".join(f"- {' '.join(item.split())}" for item in items)


def _joined(title: str, steps: str, checklist: str) -> str:
    """Return the text of a plan with these parts."""
    heading = f"# {title}" if title else ""
    return "\n\n".join(filter(None, (heading, steps, checklist)))


def _begins_with_bullets(lines: Sequence[str]) -> bool:
    """Whether the lines begin with a bullet, and none of them is a numbered step."""
    items = [line for line in lines if line.strip()]
    return bool(items and _BULLET.match(items[0])) and not any(map(_NUMBERED.match, items))


class _Entry(NamedTuple):
    """An entry of a list of steps, as written."""

    number: str
    """Its number; empty for text before the list."""
    title: str
    """Its first line without the number."""
    lines: list[str]
    """Its further lines."""


def _entries(text: str) -> list[_Entry]:
    """Return the entries of a list of steps; text before the list is also an entry."""
    entries: list[_Entry] = []
    for line in text.splitlines():
        if not line.strip():
            continue
        start = _ENTRY.match(line)
        if start:
            entries.append(_Entry(start.group(1), line[start.end() :].strip(), []))
        elif entries:
            entries[-1].lines.append(line.strip())
        else:
            entries.append(_Entry("", line.strip(), []))
    return entries


def _items(text: str, mark: re.Pattern[str]) -> list[str]:
    """Return the entries of a list whose first lines begin with `mark`; other lines continue the
    entry above."""
    items: list[str] = []
    for line in text.splitlines():
        if mark.match(line):
            items.append(mark.sub("", line).strip().strip("*").strip())
        elif items and line.strip():
            items[-1] = f"{items[-1]} {line.strip()}"
    return items
