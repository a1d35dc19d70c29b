"""What the messages of a call hold: the question, the plan, the documents, the findings, what is known."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage

from ...run.conversation import mark_of
from ...run.plans import is_approval
from .follow_up import understood
from .pronouns import points_back
from .sentences import next_antecedent, split_sentences

REMINDER = "<reminder>"
FENCED = re.compile(r"<(data-[0-9a-f]+)>\s*(\{.*?\})\s*</\1>", re.DOTALL)
PLAN = re.compile(r"<plan>(.*?)</plan>", re.DOTALL)
STEP = re.compile(r"^\s*\d+[.)]\s+(.+?)\s*$", re.MULTILINE)
OUTDATED = "Outdated: "
"""What stands before a sentence of an outdated version."""
PENDING = "Not in force: "
"""The same for a draft, and for a version that is still to come."""
ABSENT = re.compile(r"Nothing was found on “([^”]+)”\.")
LANGUAGE = re.compile(r"^- Write in (.+)\.$", re.MULTILINE)
TABLE = re.compile(r"(?:^\|.*\|[ \t]*$\n?)+", re.MULTILINE)
ROW_MARKER = re.compile(r"\[(\d+)\]\s*\|[ \t]*$", re.MULTILINE)
HEADING = re.compile(r"^### (.*) \[(\d+)\]$", re.MULTILINE)
_ROUND = str.maketrans("[]", "()")
MARKERS = re.compile(r"((?:\s?\[\d+\])+)\.?")


class Document(NamedTuple):
    """A document that a tool has shown."""

    number: int
    """The number by which it is cited."""
    title: str
    address: str
    texts: tuple[str, ...]
    """Its excerpts, each once."""
    date: str = ""
    """Its date as it states it; may be empty."""
    superseded_by: int = 0
    """The number of the version that is in force; 0 if it is this one."""
    is_draft: bool = False
    """Whether it is a draft."""
    in_force_from: str = ""
    """From when on it is in force, if that is still to come."""

    @property
    def is_pending(self) -> bool:
        """Whether it is not in force yet, or may never be."""
        return self.is_draft or bool(self.in_force_from)


class Exchange(NamedTuple):
    """A tool call and the text that came back; empty as long as nothing has."""

    call: ToolCall
    reply: str


class Quotation(NamedTuple):
    """A sentence of a finding."""

    text: str
    numbers: tuple[int, ...]
    antecedent: str = ""
    """If it begins with a pronoun, the sentence before it that says what is meant."""


class Found(NamedTuple):
    """A finding, taken apart."""

    answer: tuple[Quotation, ...] = ()
    """The cited sentences of its first cited paragraph."""
    evidence: tuple[Quotation, ...] = ()
    """Those behind it."""
    tables: tuple[str, ...] = ()
    """Its tables, whose rows carry markers, too."""
    titles: Mapping[int, str] = MappingProxyType({})
    """The titles of documents by their numbers, as far as it tells them."""
    absent: tuple[str, ...] = ()
    """Names of which it says that nothing was found on them."""
    outdated: tuple[Quotation, ...] = ()
    """What it quotes from outdated versions."""
    pending: tuple[Quotation, ...] = ()
    """What it quotes from drafts, and from versions that are not in force yet."""


class Learned(NamedTuple):
    """Something that was learned, as a reminder tells it."""

    text: str
    document: int | None
    """Number of the document that says so; none for a thought."""


class Knowledge(NamedTuple):
    """What a reminder tells of the research so far; what it does not tell is empty."""

    task: str = ""
    title: str = ""
    learnings: tuple[Learned, ...] = ()
    gaps: tuple[str, ...] = ()
    """Open questions; the first has the number 1."""
    asked: tuple[str, ...] = ()
    """Queries so far."""
    candidates: tuple[tuple[int, int], ...] = ()
    """Numbers of learnings that seem to contradict each other."""


def is_reminder(message: BaseMessage) -> bool:
    """Whether a human message is an instruction of the program."""
    return isinstance(message, HumanMessage) and message.text.lstrip().startswith(REMINDER)


def question_in(messages: Sequence[BaseMessage]) -> str:
    """The user's words since the last report, with those before where they need them; or the task of a researcher."""
    words: list[str] = []
    earlier = ""
    is_about_plan = False
    for message in messages:
        if isinstance(message, AIMessage):
            is_about_plan = mark_of(message) == "plan"
            if mark_of(message) == "report":
                words, earlier = [], understood("\n".join(words), earlier)
        elif isinstance(message, HumanMessage) and not is_reminder(message):
            # A yes or no to the plan, or a plan of the user's own, is no part of the question.
            says_nothing_new = is_about_plan and (is_approval(message.text) or STEP.search(message.text))
            words += [] if says_nothing_new else [message.text.strip()]
    return understood("\n".join(words), earlier)


def plan_in(messages: Sequence[BaseMessage]) -> list[str]:
    """The steps of the plan that the system prompt or a reminder holds."""
    texts = [message.text for message in messages if isinstance(message, SystemMessage) or is_reminder(message)]
    plans = [match.group(1) for text in texts for match in PLAN.finditer(text)]
    return STEP.findall(plans[-1]) if plans else []


def language_in(messages: Sequence[BaseMessage]) -> str:
    """The name of the language that the system prompt asks for; empty if it asks for none."""
    texts = [message.text for message in messages if isinstance(message, SystemMessage)]
    return next((match.group(1) for text in texts if (match := LANGUAGE.search(text))), "")


def exchanges_in(messages: Sequence[BaseMessage]) -> list[Exchange]:
    """All tool calls so far, in order."""
    replies = {message.tool_call_id: message.text for message in messages if isinstance(message, ToolMessage)}
    calls = [call for message in messages if isinstance(message, AIMessage) for call in message.tool_calls]
    return [Exchange(call, replies.get(call["id"] or "", "")) for call in calls]


def documents_in(messages: Sequence[BaseMessage]) -> list[Document]:
    """The documents that tools have shown, by number."""
    found: dict[int, Document] = {}
    for result in _results(messages):
        number, text = int(result["document"]), str(result.get("text", ""))
        title, address, date = (str(result.get(name, "")) for name in ("title", "address", "date"))
        known = found.get(number) or Document(number, title, address, (), date)
        if text not in known.texts:
            known = known._replace(texts=(*known.texts, text))
        # A document that was opened is shown without what the search has told of it.
        found[number] = known._replace(
            superseded_by=int(result.get("superseded_by", 0)) or known.superseded_by,
            is_draft=bool(result.get("is_draft")) or known.is_draft,
            in_force_from=str(result.get("in_force_from", "")) or known.in_force_from,
        )
    return [found[number] for number in sorted(found)]


def findings_in(messages: Sequence[BaseMessage]) -> list[Found]:
    """The findings, in the order in which they came."""
    return [_found(message.text) for message in messages if isinstance(message, ToolMessage)]


def knowledge_in(messages: Sequence[BaseMessage]) -> Knowledge:
    """What the last reminder that tells of it says is known."""
    blocks = [
        json.loads(match.group(2))
        for message in messages
        if is_reminder(message)
        for match in FENCED.finditer(message.text)
    ]
    told: dict[str, Any] = next((block["knowledge"] for block in reversed(blocks) if "knowledge" in block), {})
    return Knowledge(
        told.get("task", ""),
        told.get("title", ""),
        tuple(Learned(learning["text"], learning.get("document")) for learning in told.get("learnings", ())),
        tuple(told.get("gaps", ())),
        tuple(told.get("asked", ())),
        tuple((one, other) for one, other in told.get("candidates", ())),
    )


def heading_of(number: int, title: str) -> str:
    """The line by which a finding tells the title of a document; its own brackets would pass for a citation."""
    return f"### {' '.join(title.translate(_ROUND).split())} [{number}]"


def _found(text: str) -> Found:
    tables = tuple(match.group().strip() for match in TABLE.finditer(text))
    titles = {int(match.group(2)): match.group(1) for match in HEADING.finditer(text)}
    lines = HEADING.sub("", TABLE.sub("", text)).splitlines()
    outdated, pending = (
        [line.removeprefix(mark) for line in lines if line.startswith(mark)] for mark in (OUTDATED, PENDING)
    )
    paragraphs = [tuple(_quotations(line)) for line in lines if not line.startswith((OUTDATED, PENDING))]
    answer, *evidence = [quoted for quoted in paragraphs if quoted] or [()]
    return Found(
        answer=answer,
        evidence=_flat(evidence),
        tables=tables,
        titles=titles,
        absent=tuple(ABSENT.findall(text)),
        outdated=_flat(map(_quotations, outdated)),
        pending=_flat(map(_quotations, pending)),
    )


def _flat(lines: Iterable[Iterable[Quotation]]) -> tuple[Quotation, ...]:
    return tuple(quotation for line in lines for quotation in line)


def quotations_of(said: Iterable[tuple[str, tuple[int, ...]]]) -> Iterator[Quotation]:
    """The sentences of texts that are said one behind the other, each with the numbers of its text.

    One that begins with a pronoun means what was said before it by the same document.
    """
    antecedent, before = "", tuple[int, ...]()
    for text, numbers in said:
        for sentence in filter(None, split_sentences(text)):
            antecedent = antecedent if numbers == before else ""
            yield Quotation(sentence, numbers, antecedent if points_back(sentence) else "")
            antecedent, before = next_antecedent(antecedent, sentence), numbers


def _quotations(line: str) -> Iterator[Quotation]:
    pieces = MARKERS.split(line)
    numbers = (tuple(map(int, re.findall(r"\d+", markers))) for markers in pieces[1::2])
    return quotations_of(zip(pieces[::2], numbers, strict=False))


def _results(messages: Sequence[BaseMessage]) -> Iterator[dict[str, Any]]:
    for message in messages:
        if isinstance(message, ToolMessage):
            for match in FENCED.finditer(message.text):
                yield from json.loads(match.group(2))["results"]
