"""What the extractive model does in each role of a run, and how it lays out its quotes.

The planner splits the request into parts. The orchestrator assigns each part as a task to a
researcher, which searches for it, opens the pages whose excerpts were cut off, and quotes the
answer. The writer puts the findings in the order of the request.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple, TypeAlias

from ...dialogue.conversation import QUERY_CHARACTERS
from ...evidence.citations.labels import Labels
from ...evidence.text.words import GENERIC_WORDS, STOP_WORDS, dates_in, tokens
from ...records import tool_names
from ..request import Facts, ShownDocument, TaskFinding
from ._choosing import Chooser, best_text
from ._parts import Part, split_request, title_of
from ._units import QuotableUnit, has_pronoun

ToolArguments: TypeAlias = dict[str, Any]

_TASK = re.compile(
    r"^(?P<text>.*?)\s+\((?P<position>\d+)/(?P<count>[1-9]\d*)(?:: (?P<context>.*))?\)$", re.DOTALL
)
"""Matches a task written by `tasks_of`."""
_JOINT = "; "
"""Separates the parts of a request in a step that joins several."""
_QUESTION_WORDS, _QUESTIONS_WORDS, _TOPICS_WORDS = 240, 140, 560
"""Words to quote for a single question, which may need several documents, for all of several
questions, and for all topics of a request."""
_MOST_TASKS = 3
"""Maximum tasks to assign at once."""
_MOST_ASSIGNMENTS = 2
"""How often a task is assigned before it is given up."""
_SEARCHES = (tool_names.INTERNAL_SEARCH, tool_names.WEB_SEARCH)
_MOST_OPENED = 3
"""Maximum pages to open in a call."""
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
    """The unit with what is needed to understand it (sentence before, lead, heading) and its
    citation."""


def tasks_of(parts: Sequence[Part]) -> list[str]:
    """Return a task for each part, with its position and context: `its wharf (2/3: On Osk)`."""
    tasks = list[str]()
    for position, part in enumerate(parts, 1):
        context = " ".join(part.context.split())
        if len(parts) == 1 and not context:
            tasks.append(part.text)
        else:
            note = f"{position}/{len(parts)}"
            if context:
                note += f": {context}"
            tasks.append(f"{part.text} ({note})")
    return tasks


def parse_task(words: str) -> Part:
    """Return the part of a task written by `tasks_of`.

    Any other task, such as an edited step, is a part as a whole.
    """
    found = _TASK.match(words)
    if not found:
        return Part(" ".join(words.split()))
    text = " ".join(found["text"].split())
    return Part(text, found["context"] or "", int(found["position"]), int(found["count"]))


def clarify(facts: Facts) -> str | list[ExtractiveCall]:
    """Return the call that starts research; a question back if the request names no subject."""
    if not any(map(str.isalnum, _specific_words(facts.request))):
        return _QUESTION_BACK
    return [ExtractiveCall(tool_names.GENERATE_PLAN, {})]


def look_up(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Return the call that searches once for all parts.

    If research is offered too, only for a single question.
    """
    parts = parts_of(facts)
    is_one_question = len(parts) == 1 and not parts[0].is_topic
    if tool_names.GENERATE_PLAN in tools and not is_one_question:
        return [ExtractiveCall(tool_names.GENERATE_PLAN, {})]
    queries = list[str]()
    for task in _tasks(facts):
        queries.append(queries_for(parse_task(task))[0])
    return [ExtractiveCall(tool_names.LOOK_UP, {"queries": queries})]


def plan(facts: Facts) -> str:
    """Return the subject of the request as title, and its parts as a numbered list."""
    lines = [f"# {title_of(facts.request)}", ""]
    for number, step in enumerate(steps_of(facts), 1):
        lines.append(f"{number}. {step}")
    return "\n".join(lines)


def steps_of(facts: Facts) -> list[str]:
    """Return the texts of the parts as at most `most_steps` steps of a plan."""
    texts = [" ".join(part.text.split()) for part in parts_of(facts)]
    per_step = math.ceil(len(texts) / facts.most_steps)
    starts = range(0, len(texts), per_step)
    return [_JOINT.join(texts[start : start + per_step]) for start in starts]


def parts_of_task(task: str, facts: Facts) -> list[Part]:
    """Return the parts of the request that a task has: several if a step of the plan joins them
    (see `steps_of`)."""
    part = parse_task(task)
    known = dict[str, Part]()
    for known_part in parts_of(facts):
        known[" ".join(known_part.text.split())] = known_part
    texts = part.text.split(_JOINT)
    if len(texts) > 1 and known.keys() >= set(texts):
        return [known[text] for text in texts]
    return [part]


def parts_of(facts: Facts) -> list[Part]:
    """Return the parts of the request.

    One that is unclear without the previous question gets it as context.
    """
    parts = split_request(facts.request)
    specific = len(_specific_words(facts.request))
    is_unclear = specific < 2 or (specific < 4 and has_pronoun(facts.request))
    if not facts.earlier or not is_unclear:
        return parts
    with_earlier = list[Part]()
    for part in parts:
        context = f"{part.context} {facts.earlier}".strip()
        with_earlier.append(part._replace(context=context))
    return with_earlier


def _specific_words(request: str) -> list[str]:
    """Return the words of a request except function words and generic ones such as "report"."""
    return [word for word in tokens(request) if word not in STOP_WORDS | GENERIC_WORDS]


def next_tasks(facts: Facts) -> list[ExtractiveCall]:
    """Return calls that assign the open tasks, at most `_MOST_TASKS`.

    If none is open, the call that requests the report.
    """
    # Compare only the texts of the parts: later messages may change their contexts.
    done = set[str]()
    for finding in facts.findings:
        done.add(parse_task(finding.task).text)
    assigned = Counter[str]()
    for task in facts.tried:
        assigned[parse_task(task).text] += 1
    tasks = {parse_task(task).text: task for task in _tasks(facts)}
    open_tasks = list[str]()
    for text, task in tasks.items():
        if text not in done and assigned[text] < _MOST_ASSIGNMENTS:
            open_tasks.append(task)
    calls = list[ExtractiveCall]()
    for task in open_tasks[:_MOST_TASKS]:
        title = task.partition(" (")[0]
        calls.append(ExtractiveCall(tool_names.RESEARCH_AGENT, {"task": task, "title": title}))
    return calls or [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def _tasks(facts: Facts) -> list[str]:
    """Return a task for each part of the request, or for each step of a plan the user has
    edited."""
    is_edited = facts.steps and list(facts.steps) != steps_of(facts)
    parts = list(map(parse_task, facts.steps)) if is_edited else parts_of(facts)
    return tasks_of(parts)


def next_round(facts: Facts, tools: Collection[str]) -> list[ExtractiveCall]:
    """Return the researcher's next call: a search, pages to open, or the end of the research.

    It searches once with each tool, and opens pages whose excerpts were cut off.
    """
    used = [name for name, _ in facts.used]
    if tool_names.OPEN_URL in tools and used[-1:] != [tool_names.OPEN_URL]:
        urls = _cut_pages(facts)
        if urls:
            return [ExtractiveCall(tool_names.OPEN_URL, {"urls": urls[:_MOST_OPENED]})]
    for name in _SEARCHES:
        if name in tools and name not in used:
            return [ExtractiveCall(name, {"queries": queries_for(parse_task(facts.task))})]
    return [ExtractiveCall(tool_names.GENERATE_REPORT, {})]


def _cut_pages(facts: Facts) -> list[str]:
    """Return the addresses of unopened web pages whose excerpts were all cut off."""
    opened = set[str]()
    for name, inputs in facts.used:
        if name == tool_names.OPEN_URL:
            opened.update(inputs)
    cut = list[str]()
    for page in facts.documents:
        is_readable = not page.is_whole and "://" in page.address and page.address not in opened
        if is_readable and all(map(_CUT.search, page.texts)):
            cut.append(page.address)
    return cut


def queries_for(part: Part) -> list[str]:
    """Return search queries for a part: with its context, and alone."""
    whole = part.context
    if part.text not in part.context:
        whole = f"{part.text} {part.context}"
    queries = [" ".join(text.split())[:QUERY_CHARACTERS] for text in (whole, part.text)]
    return list(dict.fromkeys(queries))


def answer_to(part: Part, documents: Sequence[ShownDocument]) -> list[QuotableUnit]:
    """Return the units of the documents that answer a part; empty if no document was found."""
    words = _QUESTION_WORDS
    if part.is_topic:
        words = _TOPICS_WORDS
    elif part.total > 1:
        words = _QUESTIONS_WORDS
    return Chooser(documents, part).choose(words // part.total)


def write_finding(facts: Facts) -> str:
    """Return the quotes that answer the task; if nothing was found, a note that names it."""
    labels = Labels.named(facts.language)
    part = parse_task(facts.task)
    quotes = laid_out(answer_to(part, facts.documents), labels.source)
    return quotes or _nothing_on([part.text], labels)


def write_report(facts: Facts) -> str:
    """Return the findings in the order of the parts, with notes on missing answers.

    A quote is shown once, unless a part would be left without one.
    """
    labels = Labels.named(facts.language)
    findings = list(facts.findings)
    if facts.documents:
        findings.clear()
        for task in _tasks(facts):
            findings.append(TaskFinding(task, write_finding(facts._replace(task=task))))
    answers = list[_Answer]()
    for finding in findings:
        if finding.text:
            answers.append(_Answer(parse_task(finding.task), finding.text.split("\n\n")))
    answers.sort(key=lambda answer: answer.part.position)
    # A quote that leads a part is shown there, even if an earlier part has it too.
    leads_of = list[list[str]]()
    leads = set[str]()
    for answer in answers:
        leads_of.append(_leads(answer, facts))
        leads.update(leads_of[-1])
    if not leads:
        notes = dict[str, None]()
        for answer in answers:
            notes.setdefault(answer.blocks[0])
        shown_notes = list(notes) or [_nothing_on([facts.request], labels)]
        return f"{labels.unanswered} {' '.join(shown_notes)}"
    report = list[str]()
    quoted = set[str]()
    for (part, blocks), own_leads in zip(answers, leads_of, strict=True):
        wanted = set[str]()
        for quote in chain.from_iterable(map(quotes_in, blocks)):
            if quote not in quoted and (quote in own_leads or quote not in leads):
                wanted.add(quote)
        if not wanted or len(own_leads) > 1:
            wanted.update(own_leads)
        quoted |= wanted
        shown = list[str]()
        for block in blocks:
            # A block without quotes is the note that nothing was found.
            shown.append(with_quotes(block, wanted) if quotes_in(block) else block)
        shown = list(filter(None, shown))
        if shown and len(answers) > 1:
            report.append(f"## {part.text[:1].upper()}{part.text[1:].rstrip('.')}")
        report += shown
    return "\n\n".join(report)


class _Answer(NamedTuple):
    """The answer to a part of the request."""

    part: Part
    blocks: list[str]
    """The blocks of its finding, as `laid_out` made them."""


def _leads(answer: _Answer, facts: Facts) -> list[str]:
    """Return the quotes that lead the parts of an answer, the best for each."""
    quotes = list(chain.from_iterable(map(quotes_in, answer.blocks)))
    leads = list[str]()
    for part in parts_of_task(answer.part.text, facts):
        lead = best_text(part, quotes)
        if lead:
            leads.append(lead)
    return leads


def _nothing_on(names: Sequence[str], labels: Labels) -> str:
    """Return the note that the documents say nothing about these names or questions."""
    quoted = list[str]()
    for name in names:
        words = " ".join(name.translate(_INNER_QUOTES).split())
        quoted.append(f"“{words.strip(' ?.!')}”")
    return labels.nothing_on.format(names=", ".join(quoted))


def laid_out(chosen: Sequence[QuotableUnit], source: str) -> str:
    """Return the units as Markdown with a citation after each.

    `source` is the header of the citations in a table.
    """
    quotes = _quotes(chosen)
    blocks = list[str]()
    for (header, is_item), group in groupby(
        quotes, key=lambda quote: (quote.header, quote.is_item)
    ):
        texts = [quote.text for quote in group]
        if header:
            columns = header.count(" | ") + 2
            lines = [f"| {header} | {source} |", f"|{' --- |' * columns}"]
            for text in texts:
                lines.append(f"| {text} |")
            blocks.append("\n".join(lines))
        elif is_item and len(quotes) > 1:
            blocks.append("\n".join(f"- {text}" for text in texts))
        else:
            blocks.append(" ".join(texts))
    return "\n\n".join(blocks)


def quotes_in(block: str) -> list[str]:
    """Return the quotes in a block that `laid_out` made, with their citations.

    Empty for headings and notes.
    """
    return list(filter(_QUOTE_END.search, _pieces(block)))


def with_quotes(block: str, wanted: Collection[str]) -> str:
    """Return a block without the quotes that are not wanted; empty if none is wanted."""
    if not wanted:
        return ""
    kept = list[str]()
    for piece in _pieces(block):
        if piece in wanted or not _QUOTE_END.search(piece):
            kept.append(piece)
    separator = "\n" if "\n" in block else " "
    return separator.join(kept)


def _pieces(block: str) -> list[str]:
    """Return the lines of a list or table, or the sentences of a paragraph."""
    return block.split("\n") if "\n" in block else _AFTER_CITATION.split(block)


def _quotes(chosen: Sequence[QuotableUnit]) -> list[_Quote]:
    """Return the units as they are shown, each text of a document once."""
    quotes = list[_Quote]()
    shown = set[tuple[int, str]]()
    for unit in chosen:
        text = unit.text
        number = unit.number
        if unit.cells:
            quotes.append(_row_quote(unit))
            continue
        if (number, text) in shown:
            continue
        if unit.meant and (number, unit.meant) not in shown:
            quotes.append(_Quote("", False, f"{unit.meant} [{number}]"))
        shown |= {(number, unit.meant), (number, text)}
        is_item = unit.kind != "sentence"
        if is_item and unit.lead and len(text.split()) <= _FEW_WORDS:
            text = f"{unit.lead} {text}"
        outer, _, heading = unit.heading.rpartition(" › ")
        # The innermost heading says what a record line is about; other units need it if it has a
        # date.
        is_dated = any(len(date.iso) > len("2024") for date in dates_in(heading))
        is_about_heading = is_dated or (unit.kind == "record" and outer)
        is_new = (number, heading) not in shown
        has_words = any(map(str.isalpha, text))
        if heading and ((is_about_heading and is_new) or not has_words):
            text = f"{heading}: {text}"
            shown.add((number, heading))
        quotes.append(_Quote("", is_item, f"{text} [{number}]"))
    return quotes


def _row_quote(unit: QuotableUnit) -> _Quote:
    """Return the quote of a table row: as many cells as its header has, and the citation."""
    columns = len(unit.header)
    cells = [*unit.cells, *[""] * columns][:columns]
    header = " | ".join(unit.header)
    text = f"{' | '.join(cells)} "
    if header:
        text += "| "
    return _Quote(header, False, f"{text}[{unit.number}]")
