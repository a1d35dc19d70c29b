"""Parses and writes the text of a plan: a heading, numbered steps, and a checklist for the report.

The orchestrated strategy uses the text as it is (`read_plan`). The planned strategy writes its
typed steps as text for the user (`plan_text`), and parses the text again if the user has edited it
(`read_steps`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from textwrap import shorten
from typing import NamedTuple

from ..records.plan import PlanStep
from ..records.research import Plan

PLAN_TITLE_CHARACTERS = 100
MOST_REQUIREMENTS = 20
"""Maximum items of a checklist."""
_CHECKLIST = "Checklist"
"""Heading of the checklist if code writes it; models may write it in another language."""
_HEADING = re.compile(r"^\s*#{1,6}\s+(.+?)[\s#*]*$")
_NUMBERED = re.compile(r"^\s*(?:\*\*)?\d{1,2}[.)、．](?:\*\*)?\s*(?=\S)")
"""Beginning of a numbered step as models write it."""
_BULLET = re.compile(r"^\s*[-*•]\s+(?=\S)")
_ENTRY = re.compile(r"^\s*(?:\*\*)?(\d{1,2})[.)](?:\*\*)?\s*")
"""Beginning of a step in the format of `plan_text`, with its number."""
_REMARK = re.compile(r"\((?:thought alone)?(?:; )?(?:builds on [\d., ]+)?\)$")
"""What `plan_text` writes after the task of an analysis, or of a step with dependencies."""
_NUMBER = re.compile(r"\d+(?:\.\d+)*")
"""Number of a step, such as `2` or `2.1`."""


class PlanParts(NamedTuple):
    """The parts of a plan's text."""

    title: str
    """Text of the heading above the steps; empty if there is none."""
    steps: str
    """The lines with the steps."""
    checklist: str
    """The heading and items of the checklist, as written; empty if there is none."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """The items of the checklist, at most `MOST_REQUIREMENTS`."""
        return tuple(_items(self.checklist, _BULLET)[:MOST_REQUIREMENTS])


def split_plan(text: str) -> PlanParts:
    """Split the text of a plan into its parts.

    The title is a heading in the first line; the checklist begins at the last heading, if bullets
    without numbers follow it.
    """
    lines = text.strip().splitlines()
    headings = [index for index, line in enumerate(lines) if _HEADING.match(line)]
    title = ""
    if headings[:1] == [0]:
        title = shorten(
            _HEADING.sub(r"\1", lines[headings.pop(0)]).strip("* "),
            PLAN_TITLE_CHARACTERS,
            placeholder="…",
        )
    below = headings[-1] if headings else len(lines)
    items = [line for line in lines[below + 1 :] if line.strip()]
    if not items or not _BULLET.match(items[0]) or any(map(_NUMBERED.match, items)):
        below = len(lines)
    return PlanParts(
        title, "\n".join(lines[bool(title) : below]).strip(), "\n".join(lines[below:]).strip()
    )


def join_plan(parts: PlanParts) -> str:
    """Return the text of a plan with these parts."""
    title = f"# {parts.title}" if parts.title else ""
    return "\n\n".join(filter(None, (title, parts.steps, parts.checklist)))


def read_plan(text: str, max_steps: int) -> Plan:
    """Parse the text of a plan: numbered steps, else bullets, else one step.

    The text stays as written, unless it has more than `max_steps` steps: then the rest of them is
    left out.
    """
    parts = split_plan(text)
    steps = (
        _items(parts.steps, _NUMBERED)
        or _items(parts.steps, _BULLET)
        or [" ".join(parts.steps.split())]
    )
    if left_out := max(0, len(steps) - max_steps):
        steps = steps[:max_steps]
        listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, 1))
        text = join_plan(parts._replace(steps=listed))
    return Plan(
        text=text.strip(),
        title=parts.title,
        steps=tuple(steps),
        requirements=parts.requirements,
        left_out=left_out,
    )


def plan_text(steps: Sequence[PlanStep], title: str = "", requirements: Sequence[str] = ()) -> str:
    """Write steps as the text of a plan: each has a numbered line with its title, then its task and
    dependencies."""
    entries: list[str] = []
    for number, step in enumerate(steps, 1):
        thought = "" if step.requires_search else "thought alone"
        builds_on = f"builds on {', '.join(step.depends_on)}" if step.depends_on else ""
        remarks = "; ".join(filter(None, (thought, builds_on)))
        remark = f" ({remarks})" if remarks else ""
        entries.append(f"{number}. {step.title}\n   {' '.join(step.task.split())}{remark}")
    items = "\n".join(f"- {' '.join(item.split())}" for item in requirements if item.strip())
    checklist = f"## {_CHECKLIST}\n\n{items}" if items else ""
    return join_plan(PlanParts(title, "\n".join(entries), checklist))


def read_steps(text: str, most: int) -> list[PlanStep]:
    """Parse at most `most` steps from a text in the format of `plan_text`, as edited by the user.

    The steps are numbered anew; their dependencies are the steps that have those numbers in the
    text. A title with no task below it also becomes the task.
    """
    # The number of each entry as written, and its lines; text before the list is also an entry.
    entries: list[tuple[str, list[str]]] = []
    for line in filter(str.strip, split_plan(text).steps.splitlines()):
        found = _ENTRY.match(line)
        if found or not entries:
            entries.append(
                (
                    found.group(1) if found else "",
                    [line[found.end() :].strip() if found else line.strip()],
                )
            )
        else:
            entries[-1][1].append(line.strip())
    steps: list[PlanStep] = []
    ids: dict[str, str] = {}
    for number, lines in [entry for entry in entries if entry[1][0]][:most]:
        title, task = lines[0], " ".join(lines[1:]) or lines[0]
        remark = _REMARK.search(task)
        suffix = remark.group() if remark else ""
        task = task.removesuffix(suffix).strip() or title
        builds_on = _NUMBER.findall(suffix.partition("builds on")[2])
        steps.append(
            PlanStep(
                id=str(len(steps) + 1),
                title=title.removesuffix(suffix).strip()[:80] or task[:80],
                task=task,
                requires_search="thought alone" not in suffix,
                depends_on=tuple(ids[known] for known in builds_on if known in ids),
            )
        )
        ids[number] = steps[-1].id
    return steps


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
