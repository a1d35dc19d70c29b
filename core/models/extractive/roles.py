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
from ..request import Facts, TaskFinding
from .choosing import Chooser
from .layout import laid_out, quotes_in, with_quotes
from .parts import Part, split
from .units import QuotableUnit, has_pronoun

Arguments: TypeAlias = dict[str, Any]

_TASK = re.compile(r"^(?P<text>.*?)\s+\((?P<place>\d+)/(?P<count>[1-9]\d*)(?:: (?P<context>.*))?\)$", re.DOTALL)
OF_QUESTION, OF_QUESTIONS, OF_BRIEF = 115, 140, 560
"""Words that answer a question, several questions together, and topics, unless the request states a length."""
FURTHER = 125
"""Words of what else leads to the answer, where it takes several documents."""
NEAREST = 2
"""Passages that are shown where there is no answer, so that the reader can judge how near they come."""
_LENGTH = re.compile(r"\b(\d{2,4})[- ]?(?:words?|wörter|worte|mots|palabras)\b", re.IGNORECASE)
MOST_REFUSALS = 2
"""Times that a task is handed out again after it was not carried out."""
SEARCHES = (tool_names.INTERNAL_SEARCH, tool_names.WEB_SEARCH)
MOST_CALLS, MOST_FOLLOWED, MOST_QUERIES, MOST_OPENED = 5, 2, 3, 3
QUERY_CHARACTERS = 4000
_CUT = re.compile(r"(?:…|\.\.\.|[^.!?。！？\"'”’»)\]|])\s*$")
_INNER_QUOTES = str.maketrans("", "", "“”")
WHICH = """I would be glad to look into this. Could you please tell me a little more?

1. Which subject, person, place or document is it about?
2. What would you like to know about it?

With this I can search for what you need."""


class ExtractiveCall(NamedTuple):
    """A tool call that the extractive model makes."""

    name: str
    arguments: Arguments


def tasks_of(parts: Sequence[Part]) -> list[str]:
    """Return the words of tasks: those of each part, its place, and what it is a part of."""
    contexts = [" ".join(part.context.split()) for part in parts]
    if len(parts) == 1 and not contexts[0]:
        return [parts[0].text]
    return [
        f"{part.text} ({place}/{len(parts)}{f': {context}' if context else ''})"
        for place, (part, context) in enumerate(zip(parts, contexts, strict=True), 1)
    ]


def read_task(words: str) -> Part:
    """Return the part that a task is for; words of anybody else are a request of their own."""
    found = _TASK.match(words)
    if not found:
        return Part(" ".join(words.split()))
    return Part(" ".join(found["text"].split()), found["context"] or "", int(found["place"]), int(found["count"]))


def clarify(facts: Facts) -> str | list[ExtractiveCall]:
    """Go on, unless the request names nothing that could be searched for."""
    return (
        [ExtractiveCall(tool_names.GENERATE_PLAN, {})]
        if any(map(str.isalnum, _specific_words(facts.request)))
        else WHICH
    )


def look_up(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Search for each part; where research is offered as well, only for a single question."""
    parts = parts_of(facts)
    if tool_names.GENERATE_PLAN in tools and not (len(parts) == 1 and parts[0].is_question):
        return [ExtractiveCall(tool_names.GENERATE_PLAN, {})]
    return [
        ExtractiveCall(tool_names.LOOK_UP, {"queries": [queries_for(read_task(task))[0] for task in _tasks(facts)]})
    ]


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
    parts, specific = split(facts.request), _specific_words(facts.request)
    if facts.earlier and (len(specific) < 2 or (has_pronoun(facts.request) and len(specific) < 4)):
        parts = [part._replace(context=f"{part.context} {facts.earlier}".strip()) for part in parts]
    return parts


def _specific_words(request: str) -> list[str]:
    return [word for word in tokens(request) if word not in STOP_WORDS | GENERIC_WORDS]


def next_tasks(facts: Facts) -> list[ExtractiveCall]:
    """Hand out the tasks that are open, then have the report written."""
    # What is said meanwhile may change what a part is about, but not which part it is.
    done = {read_task(found.task).text for found in facts.findings}
    tried = [read_task(task).text for task in facts.tried]
    tasks = {read_task(task).text: task for task in _tasks(facts)}
    open_tasks = [tasks[text] for text in tasks if text not in done and tried.count(text) < MOST_REFUSALS]
    calls = [
        ExtractiveCall(tool_names.RESEARCH_AGENT, {"task": one, "title": one.partition(" (")[0]})
        for one in open_tasks[:3]
    ]
    return calls or [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def _tasks(facts: Facts) -> list[str]:
    # The user may have edited the plan.
    is_edited = facts.steps and [*facts.steps] != steps_of(facts)
    return tasks_of([read_task(step) for step in facts.steps] if is_edited else parts_of(facts))


def next_round(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Search with every search tool once, open what was cut off, follow names on the web; then write the finding."""
    searches = [name for name in SEARCHES if name in tools]
    used = [name for name, _ in facts.used if name in (*SEARCHES, tool_names.OPEN_URL)]
    part = read_task(facts.task)
    if searches and len(used) < MOST_CALLS:
        if tool_names.OPEN_URL in tools and used[-1:] != [tool_names.OPEN_URL] and (cut := _cut_off(facts)):
            return [ExtractiveCall(tool_names.OPEN_URL, {"urls": cut})]
        if unused := [name for name in searches if name not in used]:
            return [ExtractiveCall(unused[0], {"queries": queries_for(part)})]
        followed = sum(name in SEARCHES for name in used) - len(searches)
        if tool_names.WEB_SEARCH in searches and followed < MOST_FOLLOWED and (queries := _leads(facts, part)):
            return [ExtractiveCall(tool_names.WEB_SEARCH, {"queries": queries})]
    return [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def _cut_off(facts: Facts) -> list[str]:
    """Return the first pages of which only part was shown."""
    opened = {address for name, addresses in facts.used if name == tool_names.OPEN_URL for address in addresses}
    cut = [one for one in facts.documents if not one.is_whole and "://" in one.address and one.address not in opened]
    return [one.address for one in cut if all(_CUT.search(text) for text in one.texts)][:MOST_OPENED]


def _leads(facts: Facts, part: Part) -> list[str]:
    """Return new queries: each a name in what answers best so far, with the words of the question that are open."""
    asked = [query for name, inputs in facts.used if name in SEARCHES for query in inputs]
    chooser = Chooser(facts.documents, part)
    answer, _ = chooser.choose(OF_QUESTION, 0)
    found = {name: one for one in reversed(answer) for name in chooser.names[one]}
    queries = [" ".join([name, *chooser.open_words(one)]) for name, one in reversed(found.items())]
    return [query for query in queries if query not in asked][:MOST_QUERIES]


def queries_for(part: Part) -> list[str]:
    """Return what to search for: the part with what it is about, and by itself."""
    whole = part.context if part.text in part.context else f"{part.text} {part.context}"
    return list(dict.fromkeys(" ".join(text.split())[:QUERY_CHARACTERS] for text in (whole, part.text)))


def answer_to(facts: Facts) -> tuple[list[QuotableUnit], list[QuotableUnit], list[str]]:
    """Return the units that answer a task, further units that lead to it, and the names that no document holds."""
    part = read_task(facts.task)
    chooser, stated = Chooser(facts.documents, part), _LENGTH.search(f"{part.text} {part.context}")
    usual = OF_BRIEF if not part.is_question else OF_QUESTION if part.total == 1 else OF_QUESTIONS
    budget = (int(stated[1]) if stated else usual) // part.total
    answer, further = chooser.choose(budget, FURTHER if part.total == 1 else 0)
    # Of a topic, what comes nearest is what there is.
    return answer, further, chooser.missing(answer) if part.is_question or not answer else []


def write_finding(facts: Facts) -> str:
    """Quote what answers the task; or say that nothing does, and quote what comes nearest."""
    labels = labels_of_named(facts.language)
    answer, further, absent = answer_to(facts)
    first = _nothing_on(absent, labels) if absent else laid_out(answer, labels.source)
    heading, units = (labels.nearest, answer[:NEAREST]) if absent else (labels.related, further)
    return "\n\n".join([first, *([f"## {heading}", laid_out(units, labels.source)] if units else [])])


def write_report(facts: Facts) -> str:
    """Put the findings together: part by part, each thing once, and what was not found named at its place."""
    labels, findings = labels_of_named(facts.language), facts.findings
    if facts.documents:
        findings = tuple(TaskFinding(task, write_finding(facts._replace(task=task))) for task in _tasks(facts))
    found = [(read_task(one.task), one.text.split("\n\n")) for one in findings if one.text]
    found.sort(key=lambda one: one[0].place)
    firsts = [quotes_in(next((one for one in blocks if one[:1] != "#"), "")) for _, blocks in found]
    # No part loses its best answer to another one.
    leads = [(quotes[0], place) for place, quotes in enumerate(firsts) if quotes]
    if not leads:
        refusals = dict.fromkeys(blocks[0] for _, blocks in found) or [_nothing_on([facts.request], labels)]
        nearest = next((blocks[1:] for _, blocks in found if blocks[1:]), [])
        return "\n\n".join([f"{labels.unanswered} {' '.join(refusals)}", *nearest])
    report, quoted = list[str](), set[str]()
    for place, (part, blocks) in enumerate(found):
        # What comes nearest is shown only where nothing is answered.
        own, heading = ([], "") if firsts[place] else (blocks[:1], "")
        for block in blocks if not own else ():
            new = [one for one in quotes_in(block) if one not in quoted]
            new = [one for one in new if next((at for lead, at in leads if one in lead), place) == place]
            quoted.update(new)
            own += [heading, with_quotes(block, new)] if new else []
            heading = block if block.startswith("## ") else "" if new else heading
        title = part.text[:1].upper() + part.text[1:].rstrip(".")
        report += [f"## {title}", *own] if own and len(found) > 1 else own
    return "\n\n".join(filter(None, report))


def _nothing_on(names: Sequence[str], labels: Labels) -> str:
    quotes = (f"“{' '.join(name.translate(_INNER_QUOTES).split()).strip(' ?.!')}”" for name in names)
    return labels.nothing_on.format(names=", ".join(quotes))
