"""What the model does in each role of a run.

A request is taken apart by the planner. The orchestrator hands out a task for each part; a researcher searches for it,
opens what was cut off, and quotes what answers it. The writer puts the findings together, in the order asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple, TypeAlias

from ...evidence.citations.labels import Labels, labels_of_named
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, tokens
from ...run import tool_names
from ..request import Facts, Found
from .choosing import Chooser, Sentence
from .layout import Quoted, laid_out, quoted, read
from .parts import PASTED, Part, split
from .units import has_pronoun

OPEN_WORDS = 6
"""Words of the question that go into a query beside a name: more would drown it."""
_TASK = re.compile(r"^(?P<text>.*?)\s+\((?P<place>\d+)/(?P<count>\d+)(?:: (?P<context>.*))?\)$", re.DOTALL)
OF_QUESTION, OF_QUESTIONS, OF_BRIEF = 115, 140, 560
"""Words that answer a question, several questions together, and topics, unless the request states a length."""
FURTHER = 150
"""Words of what else leads to the answer, where it takes several documents."""
NEAREST = 2
"""Passages that are shown where there is no answer, so that the reader can judge how near they come."""
_LENGTH = re.compile(r"\b(\d{2,4})[- ]?(?:words?|wörter|worte|mots|palabras)\b", re.IGNORECASE)
MOST_REFUSALS = 2
"""Times that a task is handed out again after it was not carried out."""
SEARCHES = (tool_names.INTERNAL_SEARCH, tool_names.WEB_SEARCH)
MOST_CALLS = 5
MOST_FOLLOWED = 2
MOST_QUERIES = 3
MOST_OPENED = 3
QUERY_CHARACTERS = 4000
_CUT = re.compile(r"(?:…|\.\.\.|[^.!?。！？\"'”’»)\]|])\s*$")
_INNER_QUOTES = str.maketrans("", "", "“”")
WHICH = """I would be glad to look into this. Could you please tell me a little more?

1. Which subject, person, place or document is it about?
2. What would you like to know about it?

With this I can search for what you need."""


class Task(NamedTuple):
    """A part, and its place among the parts of the request."""

    part: Part
    place: int = 1
    total: int = 1


def task_for(part: Part, place: int, count: int) -> str:
    """Return the words of a task: those of the part, and what it is a part of."""
    context = " ".join(part.context.split())
    if count == 1 and not context:
        return part.text
    return f"{part.text} ({place}/{count}{f': {context}' if context else ''})"


def read_task(words: str) -> Task:
    """Return the part that a task is for; words of anybody else are a request of their own."""
    found = _TASK.match(words)
    text = found["text"] if found else words
    part = Part(" ".join(text.split()), (found["context"] or "") if found else "")
    return Task(part, int(found["place"]), int(found["count"])) if found else Task(part)


class Call(NamedTuple):
    """A tool call of the model's answer."""

    name: str
    arguments: dict[str, Any]


def clarify(facts: Facts) -> str | list[Call]:
    """Go on, unless the request names nothing that could be searched for."""
    words = [word for word in tokens(facts.request) if word not in STOP_WORDS | GENERIC_WORDS]
    return [Call(tool_names.GENERATE_PLAN, {})] if any(map(str.isalnum, words)) else WHICH


def look_up(facts: Facts, tools: Collection[str]) -> list[Call]:
    """Search for each part; where research is offered as well, only for a single question."""
    parts = parts_of(facts)
    if tool_names.GENERATE_PLAN in tools and not (len(parts) == 1 and parts[0].is_question):
        return [Call(tool_names.GENERATE_PLAN, {})]
    queries = [queries_for(read_task(task))[0] for task in _tasks(facts)]
    return [Call(tool_names.LOOK_UP, {"queries": queries})]


def plan(facts: Facts) -> str:
    """Number the parts of the request."""
    return "\n".join(f"{number}. {step}" for number, step in enumerate(steps_of(facts), 1))


def steps_of(facts: Facts) -> list[str]:
    """Return the parts as steps; where there may not be as many, several of them make one."""
    texts = [" ".join(part.text.split()) for part in parts_of(facts)]
    each = -(-len(texts) // facts.most_steps)
    return ["; ".join(texts[start : start + each]) for start in range(0, len(texts), each)]


def parts_of(facts: Facts) -> list[Part]:
    """Return the parts of the request, with the question before it where it is not understood without."""
    parts = split(facts.request)
    if facts.earlier and _needs_earlier(facts.request):
        parts = [part._replace(context=f"{part.context} {facts.earlier}".strip()) for part in parts]
    return parts


def next_tasks(facts: Facts) -> list[Call]:
    """Hand out the tasks that are open, then have the report written."""
    # What is said meanwhile may change what a part is about, but not which part it is.
    done = {read_task(found.task).part.text for found in facts.findings}
    tried = [read_task(task).part.text for task in facts.tried]
    tasks = {read_task(task).part.text: task for task in _tasks(facts)}
    open_tasks = [tasks[text] for text in tasks if text not in done and tried.count(text) < MOST_REFUSALS]
    calls = [Call(tool_names.RESEARCH_AGENT, {"task": task}) for task in open_tasks[:3]]
    return calls or [Call(tool_names.GENERATE_REPORT, {})]


def _tasks(facts: Facts) -> list[str]:
    parts = parts_of(facts)
    if [*facts.steps] != steps_of(facts) and facts.steps:
        # The user has edited the plan.
        parts = [read_task(step).part for step in facts.steps]
    return [task_for(part, place, len(parts)) for place, part in enumerate(parts, 1)]


def next_round(facts: Facts, tools: Collection[str]) -> list[Call]:
    """Search with every search tool once, open what was cut off, follow names on the web; then write the finding."""
    searches = [name for name in SEARCHES if name in tools]
    used = [name for name, _ in facts.used if name in (*SEARCHES, tool_names.OPEN_URL)]
    task = read_task(facts.task)
    if searches and len(used) < MOST_CALLS:
        if tool_names.OPEN_URL in tools and used[-1:] != [tool_names.OPEN_URL] and (cut := _cut_off(facts)):
            return [Call(tool_names.OPEN_URL, {"urls": cut})]
        if unused := [name for name in searches if name not in used]:
            return [Call(unused[0], {"queries": queries_for(task)})]
        followed = sum(name in SEARCHES for name in used) - len(searches)
        if tool_names.WEB_SEARCH in searches and followed < MOST_FOLLOWED and (queries := _leads(facts, task)):
            return [Call(tool_names.WEB_SEARCH, {"queries": queries})]
    return [Call(tool_names.GENERATE_REPORT, {})]


def _leads(facts: Facts, task: Task) -> list[str]:
    """Return new queries: each a name in what answers best so far, with the words of the question that are open."""
    asked = [query for name, inputs in facts.used if name in SEARCHES for query in inputs]
    chooser = Chooser(facts.documents, task.part)
    found = {name: one for one in reversed(chooser.answer(OF_QUESTION)) for name in chooser.names_in(one)}
    queries = [" ".join([name, *chooser.open_words(one)[:OPEN_WORDS]]) for name, one in reversed(found.items())]
    return [query for query in queries if query not in asked][:MOST_QUERIES]


def queries_for(task: Task) -> list[str]:
    """Return what to search for: the part with what it is about, and by itself."""
    part = task.part
    whole = part.context if part.text in part.context else f"{part.text} {part.context}"
    texts = (whole, part.text) if part.context else (part.text,)
    return list(dict.fromkeys(" ".join(text.split())[:QUERY_CHARACTERS] for text in texts))


def write_finding(facts: Facts) -> str:
    """Quote what answers the task; or say that nothing does, and quote what comes nearest."""
    labels, task = labels_of_named(facts.language), read_task(facts.task)
    chooser = Chooser(facts.documents, task.part)
    answer, further = choose(chooser, task)
    # Of a topic, what comes nearest is what there is.
    if absent := chooser.missing(answer) if task.part.is_question or not answer else []:
        blocks = [_nothing_on(absent, labels)]
        return "\n\n".join([*blocks, *_section(labels.nearest, answer[:NEAREST], labels)])
    blocks = [laid_out(quoted(answer), labels.source)]
    return "\n\n".join([*blocks, *_section(labels.related, further, labels)])


def choose(chooser: Chooser, task: Task) -> tuple[list[Sentence], list[Sentence]]:
    """Return what answers a task, and what else leads to it."""
    part = task.part
    if len(part.text.split()) > PASTED:
        return chooser.one_of_each(OF_BRIEF), []
    stated = _LENGTH.search(f"{part.text} {part.context}")
    usual = OF_BRIEF if not part.is_question else OF_QUESTION if task.total == 1 else OF_QUESTIONS
    budget = (int(stated[1]) if stated else usual) // task.total
    if not part.is_question:
        return chooser.topic(budget), []
    answer = chooser.answer(budget)
    return answer, chooser.further(answer, FURTHER) if task.total == 1 else []


def write_report(facts: Facts) -> str:
    """Put the findings together: part by part, each thing once, and what was not found named at its place."""
    labels, findings = labels_of_named(facts.language), facts.findings
    if facts.documents:
        findings = tuple(Found(task, write_finding(facts._replace(task=task))) for task in _tasks(facts))
    found = [(read_task(one.task), *read(one.text)) for one in _in_order(findings)]
    if not any(units for _, said, sections in found if not said for _, units in sections):
        return _no_answer(facts, [said for _, said, _ in found if said], [s for _, _, s in found], labels)
    has_headings = len(found) > 1 and not all(task.part.is_question for task, _, _ in found)
    quotes = [one for _, said, sections in found if not said for _, units in sections for one in units]
    homes = _homes([sections for _, said, sections in found if not said])
    told: set[str] = set()
    blocks: list[str] = []
    for task, said, sections in found:
        text = task.part.text
        if has_headings:
            blocks.append(f"## {text[:1].upper()}{text[1:].rstrip('.')}")
        if said:
            blocks.append(said)
            continue
        for heading, units in sections:
            new = [one for one in units if one.text not in told and not _is_held(one, quotes)]
            new = [one for one in new if homes[one.text] is sections]
            told.update(one.text for one in new)
            if new:
                blocks += [*([f"## {heading}"] if heading else []), laid_out(new, labels.source)]
    return "\n\n".join(_without_empty_sections(blocks))


Sections: TypeAlias = list[tuple[str, list[Quoted]]]
"""What a finding quotes, below headings."""


def _homes(findings: Sequence[Sections]) -> dict[str, Sections]:
    """Return for each quotation the finding that it leads, else the first with it: no part loses its best answer."""
    found = [
        (place > 0, number, unit.text, sections)
        for number, sections in enumerate(findings)
        for place, unit in enumerate(unit for _, units in sections for unit in units)
    ]
    return {text: sections for _, _, text, sections in sorted(found, key=lambda one: one[:2], reverse=True)}


def _is_held(unit: Quoted, quotes: Sequence[Quoted]) -> bool:
    """Return whether a longer quote of the same document holds this one."""
    return any(one.number == unit.number and one.text != unit.text and unit.text in one.text for one in quotes)


def _no_answer(
    facts: Facts, said: Sequence[str], found: Sequence[Sequence[tuple[str, list[Quoted]]]], labels: Labels
) -> str:
    nearest = [one for sections in found for _, units in sections for one in units][:NEAREST]
    sought = said or [_nothing_on([facts.request], labels)]
    blocks = [f"{labels.unanswered} {' '.join(dict.fromkeys(sought))}"]
    return "\n\n".join([*blocks, *([f"## {labels.nearest}", laid_out(nearest, labels.source)] if nearest else [])])


def _without_empty_sections(blocks: Sequence[str]) -> list[str]:
    following = [*blocks[1:], "## "]
    return [
        one
        for one, after in zip(blocks, following, strict=True)
        if not (one.startswith("## ") and after.startswith("## "))
    ]


def _section(heading: str, units: Sequence[Sentence], labels: Labels) -> list[str]:
    return [f"## {heading}", laid_out(quoted(units), labels.source)] if units else []


def _nothing_on(names: Sequence[str], labels: Labels) -> str:
    quotes = (f"“{' '.join(name.translate(_INNER_QUOTES).split()).strip(' ?.!')}”" for name in names)
    return labels.nothing_on.format(names=", ".join(quotes))


def _in_order(findings: Sequence[Found]) -> list[Found]:
    """By the place of their parts in the request."""
    return sorted((one for one in findings if one.text), key=lambda one: read_task(one.task).place)


def _cut_off(facts: Facts) -> list[str]:
    """Return the first pages of which only part was shown."""
    opened = {address for name, addresses in facts.used if name == tool_names.OPEN_URL for address in addresses}
    cut = [one for one in facts.documents if not one.is_whole and "://" in one.address and one.address not in opened]
    cut = [one for one in cut if all(_CUT.search(text) for text in one.texts)]
    return [one.address for one in cut][:MOST_OPENED]


def _needs_earlier(request: str) -> bool:
    """Whether a request has no words of its own, or speaks of somebody or something by a pronoun alone."""
    words = [word for word in tokens(request) if word not in STOP_WORDS | GENERIC_WORDS]
    return len(words) < 2 or (has_pronoun(request) and len(words) < 4)
