"""What the extractive model does in each role of a run, and how it lays out its quotes.

The planner splits the request into parts. The orchestrator assigns each part as a task to a researcher, which searches
for it, opens the pages whose excerpts were cut off, and quotes the answer. The writer puts the findings in the order of
the request.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

from ...evidence.citations.labels import Labels, labels_of_named
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, dates_in, tokens
from ...run import tool_names
from ..request import Facts, TaskFinding
from .choosing import Chooser
from .parts import Part, split_request, title_of
from .units import QuotableUnit, has_pronoun

ToolArguments: TypeAlias = dict[str, Any]

_TASK = re.compile(r"^(?P<text>.*?)\s+\((?P<position>\d+)/(?P<count>[1-9]\d*)(?:: (?P<context>.*))?\)$", re.DOTALL)
"""Matches a task written by `tasks_of`."""
_QUESTION_WORDS, _QUESTIONS_WORDS, _TOPICS_WORDS = 240, 140, 560
"""Words to quote for a single question, which may need several documents, for all of several questions, and for all
topics of a request."""
_MOST_ASSIGNMENTS = 2
"""How often a task is assigned before it is given up."""
_SEARCHES = (tool_names.INTERNAL_SEARCH, tool_names.WEB_SEARCH)
_MOST_OPENED = 3
"""Maximum pages to open in a call."""
_QUERY_CHARACTERS = 4000
_CUT = re.compile(r"(?:…|\.\.\.|[^.!?。！？\"'”’»)\]|])\s*$")
"""Matches the end of an excerpt that was cut off in mid-sentence."""
_INNER_QUOTES = str.maketrans("", "", "“”")
_FEW_WORDS = 4
"""Maximum words of a list item that is quoted together with the lead of its list."""
_QUOTE_END = re.compile(r"\[\d+\](?: \|)?$")
"""Matches the citation at the end of a quote; in a table, the last cell."""
_AFTER_CITATION = re.compile(r"(?<=\d\]) ")
_QUESTION_BACK = """I would be glad to look into this. Could you please tell me a little more?

1. Which subject, person, place or document is it about?
2. What would you like to know about it?

With this I can search for what you need."""


class ExtractiveCall(NamedTuple):
    """A tool call by the extractive model."""

    name: str
    arguments: ToolArguments


class _Quote(NamedTuple):
    """A quotable unit in the words in which a report or finding quotes it."""

    header: str
    """Header of its table; empty unless it is a table row with a header."""
    is_item: bool
    """Whether it is shown as a list item."""
    text: str
    """The unit with what is needed to understand it (sentence before, lead, heading) and its citation."""


def tasks_of(parts: Sequence[Part]) -> list[str]:
    """Return a task for each part: its text, and in brackets its position and context: `its wharf (2/3: On Osk)`."""
    tasks = list[str]()
    for position, part in enumerate(parts, 1):
        context = " ".join(part.context.split())
        if len(parts) == 1 and not context:
            tasks.append(part.text)
        else:
            tasks.append(f"{part.text} ({position}/{len(parts)}{f': {context}' if context else ''})")
    return tasks


def parse_task(words: str) -> Part:
    """Return the part of a task written by `tasks_of`; any other task, such as an edited step, is a part as a whole."""
    found = _TASK.match(words)
    if not found:
        return Part(" ".join(words.split()))
    return Part(" ".join(found["text"].split()), found["context"] or "", int(found["position"]), int(found["count"]))


def clarify(facts: Facts) -> str | list[ExtractiveCall]:
    """Return the call that starts research, or a question to the user if the request names nothing to search for."""
    is_specific = any(map(str.isalnum, _specific_words(facts.request)))
    return [ExtractiveCall(tool_names.GENERATE_PLAN, {})] if is_specific else _QUESTION_BACK


def look_up(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Return the call that searches once for all parts; if research is offered too, only for a single question."""
    parts = parts_of(facts)
    if tool_names.GENERATE_PLAN in tools and not (len(parts) == 1 and not parts[0].is_topic):
        return [ExtractiveCall(tool_names.GENERATE_PLAN, {})]
    queries = [queries_for(parse_task(task))[0] for task in _tasks(facts)]
    return [ExtractiveCall(tool_names.LOOK_UP, {"queries": queries})]


def plan(facts: Facts) -> str:
    """Return the subject of the request as title, and its parts as a numbered list."""
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(steps_of(facts), 1))
    return f"# {title_of(facts.request)}\n\n{steps}"


def steps_of(facts: Facts) -> list[str]:
    """Return the texts of the parts as steps of a plan, several in each step if there are more than `most_steps`."""
    texts = [" ".join(part.text.split()) for part in parts_of(facts)]
    each = math.ceil(len(texts) / facts.most_steps)
    return ["; ".join(texts[start : start + each]) for start in range(0, len(texts), each)]


def parts_of(facts: Facts) -> list[Part]:
    """Return the parts of the request; one that is unclear without the previous question gets it as context."""
    parts, specific = split_request(facts.request), _specific_words(facts.request)
    if facts.earlier and (len(specific) < 2 or (has_pronoun(facts.request) and len(specific) < 4)):
        parts = [part._replace(context=f"{part.context} {facts.earlier}".strip()) for part in parts]
    return parts


def _specific_words(request: str) -> list[str]:
    """Return the words of a request that are neither function words nor generic ones such as "report"."""
    return [word for word in tokens(request) if word not in STOP_WORDS | GENERIC_WORDS]


def next_tasks(facts: Facts) -> list[ExtractiveCall]:
    """Return calls that assign the open tasks, at most three; if none is open, the call that requests the report."""
    # Compare only the texts of the parts: later messages may change their contexts.
    done = {parse_task(found.task).text for found in facts.findings}
    tried = [parse_task(task).text for task in facts.tried]
    tasks = {parse_task(task).text: task for task in _tasks(facts)}
    open_tasks = [tasks[text] for text in tasks if text not in done and tried.count(text) < _MOST_ASSIGNMENTS]
    calls = [
        ExtractiveCall(tool_names.RESEARCH_AGENT, {"task": task, "title": task.partition(" (")[0]})
        for task in open_tasks[:3]
    ]
    return calls or [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def _tasks(facts: Facts) -> list[str]:
    """Return a task for each part of the request, or for each step if the user has edited the plan."""
    is_edited = facts.steps and [*facts.steps] != steps_of(facts)
    return tasks_of([parse_task(step) for step in facts.steps] if is_edited else parts_of(facts))


def next_round(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Return the researcher's next call: a search, pages to open, or the end of the research.

    It searches once with each tool, and opens pages whose excerpts were cut off.
    """
    used = [name for name, _ in facts.used]
    if tool_names.OPEN_URL in tools and used[-1:] != [tool_names.OPEN_URL]:
        opened = {address for name, addresses in facts.used if name == tool_names.OPEN_URL for address in addresses}
        pages = [page for page in facts.documents if not page.is_whole and "://" in page.address]
        cut = [page.address for page in pages if all(_CUT.search(text) for text in page.texts)]
        if urls := [address for address in cut if address not in opened]:
            return [ExtractiveCall(tool_names.OPEN_URL, {"urls": urls[:_MOST_OPENED]})]
    for name in _SEARCHES:
        if name in tools and name not in used:
            return [ExtractiveCall(name, {"queries": queries_for(parse_task(facts.task))})]
    return [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def queries_for(part: Part) -> list[str]:
    """Return search queries for a part: with its context, and alone."""
    whole = part.context if part.text in part.context else f"{part.text} {part.context}"
    return list(dict.fromkeys(" ".join(text.split())[:_QUERY_CHARACTERS] for text in (whole, part.text)))


def answer_to(facts: Facts) -> list[QuotableUnit]:
    """Return the units that answer the task; empty if no document was found."""
    part = parse_task(facts.task)
    words = _QUESTION_WORDS
    if part.is_topic:
        words = _TOPICS_WORDS
    elif part.total > 1:
        words = _QUESTIONS_WORDS
    return Chooser(facts.documents, part).choose(words // part.total)


def write_finding(facts: Facts) -> str:
    """Return the quotes that answer the task; if nothing was found, a note that names it."""
    labels = labels_of_named(facts.language)
    return laid_out(answer_to(facts), labels.source) or _nothing_on([parse_task(facts.task).text], labels)


def write_report(facts: Facts) -> str:
    """Return the findings in the order of the parts, each quote once, with a note for each part without an answer."""
    labels, findings = labels_of_named(facts.language), facts.findings
    if facts.documents:
        findings = tuple(TaskFinding(task, write_finding(facts._replace(task=task))) for task in _tasks(facts))
    found = [(parse_task(finding.task), finding.text.split("\n\n")) for finding in findings if finding.text]
    found.sort(key=lambda part_and_blocks: part_and_blocks[0].position)
    if not any(quotes_in(block) for _, blocks in found for block in blocks):
        notes = dict.fromkeys(blocks[0] for _, blocks in found) or [_nothing_on([facts.request], labels)]
        return f"{labels.unanswered} {' '.join(notes)}"
    # A quote that leads a part is shown there, even if an earlier part has it too.
    leads = [next((quote for block in blocks for quote in quotes_in(block)), "") for _, blocks in found]
    report, quoted = list[str](), set[str]()
    for (part, blocks), lead in zip(found, leads, strict=True):
        own = list[str]()
        for block in blocks:
            quotes = quotes_in(block)
            new = [quote for quote in quotes if quote not in quoted and (quote == lead or quote not in leads)]
            quoted.update(new)
            # A block without quotes is the note that nothing was found.
            own.append(with_quotes(block, new) if quotes else block)
        own = [block for block in own if block]
        if own and len(found) > 1:
            report.append(f"## {part.text[:1].upper()}{part.text[1:].rstrip('.')}")
        report += own
    return "\n\n".join(report)


def _nothing_on(names: Sequence[str], labels: Labels) -> str:
    """Return the note that the documents say nothing about these names or questions."""
    quotes = (f"“{' '.join(name.translate(_INNER_QUOTES).split()).strip(' ?.!')}”" for name in names)
    return labels.nothing_on.format(names=", ".join(quotes))


def laid_out(chosen: Sequence[QuotableUnit], source: str) -> str:
    """Return the units as Markdown with a citation after each; `source` is the header of the citations in a table."""
    blocks, quotes = list[str](), _quotes(chosen)
    for (header, is_item), group in groupby(quotes, key=lambda quote: (quote.header, quote.is_item)):
        texts = [quote.text for quote in group]
        if header:
            rule = f"|{' --- |' * (header.count(' | ') + 2)}"
            blocks.append("\n".join([f"| {header} | {source} |", rule, *(f"| {text} |" for text in texts)]))
        else:
            blocks.append("\n".join(f"- {text}" for text in texts) if is_item and quotes[1:] else " ".join(texts))
    return "\n\n".join(blocks)


def quotes_in(block: str) -> list[str]:
    """Return the quotes in a block that `laid_out` made, with their citations; empty for headings and notes."""
    return [piece for piece in _pieces(block) if _QUOTE_END.search(piece)]


def with_quotes(block: str, wanted: Collection[str]) -> str:
    """Return a block without the quotes that are not wanted; empty if none is wanted."""
    kept = [piece for piece in _pieces(block) if piece in wanted or not _QUOTE_END.search(piece)]
    return ("\n" if "\n" in block else " ").join(kept) if wanted else ""


def _pieces(block: str) -> list[str]:
    """Return the lines of a list or table, or the sentences of a paragraph."""
    return block.split("\n") if "\n" in block else _AFTER_CITATION.split(block)


def _quotes(chosen: Sequence[QuotableUnit]) -> list[_Quote]:
    """Return the units as they are shown, each text of a document once."""
    found, said = list[_Quote](), set[tuple[int, str]]()
    for unit in chosen:
        text, number = unit.text, unit.number
        if unit.cells:
            cells = (*unit.cells, *("" for _ in unit.header))[: len(unit.header)]
            header = " | ".join(unit.header)
            found.append(_Quote(header, False, f"{' | '.join(cells)} {'| ' if header else ''}[{number}]"))
            continue
        if (number, text) in said:
            continue
        if unit.meant and (number, unit.meant) not in said:
            found.append(_Quote("", False, f"{unit.meant} [{number}]"))
        said |= {(number, unit.meant), (number, text)}
        is_item = unit.kind != "sentence"
        if is_item and unit.lead and len(text.split()) <= _FEW_WORDS:
            text = f"{unit.lead} {text}"
        outer, _, heading = unit.heading.rpartition(" › ")
        # The innermost heading says what a record line is about; other units need it if it has a date.
        is_dated = any(len(date.iso) > len("2024") for date in dates_in(heading))
        is_named = (is_dated or (unit.kind == "record" and outer)) and (number, heading) not in said
        if heading and (is_named or not any(map(str.isalpha, text))):
            text = f"{heading}: {text}"
            said.add((number, heading))
        found.append(_Quote("", is_item, f"{text} [{number}]"))
    return found
