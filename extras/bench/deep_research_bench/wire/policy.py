"""Decides the fake model's answers from each request alone.

The offered tools and the earlier calls of a conversation determine the next step. Each text has a
marker such as `mk-c000012` ("made by call 12"), and each page one like `mk-p000123`: a later prompt
with that marker depends on that call, from which `figures` computes the critical path.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]

CHARACTERS_A_TOKEN = 4
MARKER = re.compile(r"mk-[cp]\d{6}")
REPORT_TOKENS = 800
NOTE_TOKENS = 300
STRING_TOKENS = 60
ROWS_A_SCOUT = 10
"""Rows of a table that a scout finds."""
_COLUMNS = ("a index", "b index", "c index", "d index")
"""Columns of a table beside the key, each with a fact of the row's page."""

_NUMBERED = re.compile(r"\[(\d{1,3})\]")
_TRIAL_OF_JUDGES = "The mill at Halbeck"
_TRIAL_VERDICTS: tuple[Json, ...] = (
    {"verdict": "supported", "words": "The mill ground 340 tonnes of rye in 1911."},
    {"verdict": "contradicted"},
    {"verdict": "supported", "words": "Its owner, Ilse Brandt, sold it to the parish in 1920."},
    {"verdict": "supported", "words": "The bridge is 84 metres long."},
    {"verdict": "contradicted"},
    {"verdict": "supported", "words": "Lorries may no longer use it."},
    {"verdict": "reasoning", "calculations": ["14 * 9000 = 126,000"]},
    {
        "verdict": "supported",
        "words": "| 2019 | 1,250 |\n| 2024 | 1,600 |",
        "calculations": ["(1600 - 1250) / 1250 = 28%"],
    },
    {"verdict": "advice"},
    {"verdict": "contradicted"},
)
"""The right verdicts in the trial that each judge has to pass once."""
_UNIT = re.compile(r'"unit": (\d+), "says": "((?:[^"\\]|\\.)*)"')
_FACT = re.compile(r"Fact (\d) of page (\d+): the (\w+) index was (\d+) in (\d{4})")
_CITED_FACT = re.compile(r"(Fact \d of page \d+: the \w+ index was \d+ in \d{4}) \[(\d+)\]")
_CELL = re.compile(r"(Page (\d+) on \w+), \w+ index: (\d+)")
_ROW = re.compile(r"Row 1: (Page (\d+) on (\w+))\. Cells")
_RESULT = re.compile(
    r'"document": (\d+)(?:(?!"document": ).)*?"address": "([^"]+?/page/(\d+))"', re.DOTALL
)
_TITLED = re.compile(
    r'"document": (\d+), "title": "(Page \d+ on \w+)", "address": "([^"]+?/page/\d+)"'
)
SEARCHES = ("web_search", "internal_search")
_TEXT = """the town keeps its surplus solar energy in large batteries and in warm water because the price of storage
    falls while demand in the evening grows and the grid pays well for power at night which makes each method worth a
    closer look"""


class Load(NamedTuple):
    """How much work the policy makes."""

    researchers: int
    """Researchers per round; for a table its rows, a multiple of ten."""
    rounds: int
    searches: int
    """Searches per researcher."""
    fetches: int
    """Pages opened after each search; 0 for none."""


class Answer(NamedTuple):
    """The model's answer to a request: a text, or tool calls."""

    text: str | None
    tool_calls: Sequence[tuple[str, str]] = ()
    """Name and arguments (JSON) of each call."""

    @property
    def characters(self) -> int:
        """Characters that the model writes."""
        return len(self.text or "") + sum(
            len(name) + len(arguments) for name, arguments in self.tool_calls
        )

    @property
    def kind(self) -> str:
        """Its first tool, with the first argument; empty without one."""
        for name, arguments in self.tool_calls:
            return f"{name} {next(iter(json.loads(arguments)), '')}"
        return ""


def text_of(message: Json) -> str:
    """Return the words of a message and of its tool calls."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") for part in content)
    return content + "".join(f"{name}{arguments}" for name, arguments in _calls(message))


def _calls(message: Json) -> list[tuple[str, str]]:
    functions = [call["function"] for call in message.get("tool_calls") or []]
    return [(function["name"], function.get("arguments") or "") for function in functions]


def filler(tokens: int, offset: int = 0) -> str:
    """Return English words of this many tokens."""
    vocabulary, words, size = _TEXT.split(), list[str](), 0
    while size < tokens * CHARACTERS_A_TOKEN:
        words.append(vocabulary[(offset + len(words)) % len(vocabulary)])
        size += len(words[-1]) + 1
    return " ".join(words)


def answer(load: Load, call: int, body: Json) -> Answer:
    """Return the answer to the request with this number."""
    turn = _Turn(load, call, body["messages"])
    tools = {tool["function"]["name"]: tool["function"] for tool in body.get("tools") or []}
    offered = list(tools)
    handed_in = tools.get("generate_report", {}).get("parameters", {}).get("properties", {})
    if "rows" in handed_in:
        return _called([turn.scouted()])
    if "cells" in handed_in:
        return _called([("generate_report", {"cells": [*turn.cells()]})])
    may_write = offered in ([], ["calculate"])
    if may_write or body.get("tool_choice") == "none":
        return Answer(turn.text())
    calls = [(offered[0], turn.form(offered[0]))] if len(offered) == 1 else turn.next_calls(offered)
    # A researcher's finding stands before the call that ends its research.
    has_finding = "web_search" in offered and calls[0][0] == "generate_report"
    return _called(calls, turn.text() if has_finding else None)


def _called(calls: Sequence[tuple[str, Json]], text: str | None = None) -> Answer:
    return Answer(text, [(name, json.dumps(arguments)) for name, arguments in calls])


class _Turn:
    """A turn of the model in a conversation."""

    def __init__(self, load: Load, call: int, messages: list[Json]) -> None:
        self._load, self._messages = load, messages
        self._marker = f"mk-c{call:06d}"
        self._prompt = "\n".join(map(text_of, messages))
        first = next((text_of(message) for message in messages if message["role"] == "user"), "")
        # A stable name for this conversation.
        self._topic = "t" + hashlib.sha256(MARKER.sub("", first).encode()).hexdigest()[:8]

    def text(self) -> str:
        """Return a plan, a finding or a report."""
        system = text_of(self._messages[0])
        if system.startswith("You plan research"):
            lines = range(self._load.researchers * min(self._load.rounds, 2))
            return "\n".join(
                f"{number + 1}. {self._marker} {filler(15, number)}" for number in lines
            )
        is_finding = any(message["role"] == "tool" for message in self._messages)
        return self._report(NOTE_TOKENS if is_finding else REPORT_TOKENS)

    def form(self, name: str) -> Json:
        """Return the arguments of the only offered tool."""
        match name:
            case "design_table":
                return self._design()
            case "make_plan":
                return {"steps": [*self._steps()]}
            case "record_round":
                return self._round()
            case "record_contradictions":
                return {"contradictions": []}
            case "record_analysis":
                return {
                    "statements": [f"{self._marker} {filler(20, number)}." for number in range(3)]
                }
            case "judge_units":
                return {"verdicts": [*self._verdicts()]}
        return {}

    def _design(self) -> Json:
        ways = range(self._load.researchers // ROWS_A_SCOUT)
        columns: list[Json] = [{"name": "Page", "is_key": True}]
        columns += [{"name": name, "kind": "number"} for name in _COLUMNS]
        return {
            "row": "one page",
            "columns": columns,
            "ways": [f"{self._marker} part {number}" for number in ways],
        }

    def scouted(self) -> tuple[str, Json]:
        """Return the next call of a scout: it searches once, and hands in what was found."""
        if not any(message["role"] == "tool" for message in self._messages):
            return "web_search", {"queries": [self._query(0)]}
        rows = list[Json]()
        for number, title, address in _TITLED.findall(self._prompt):
            words = {"document": int(number), "words": title, "address": address}
            rows.append({"key": [title], **words})
        return "generate_report", {"rows": rows[:ROWS_A_SCOUT]}

    def cells(self) -> Iterable[Json]:
        """Yield what the page of a row says, which was opened before."""
        row = _ROW.search(self._prompt)
        facts = [fact for fact in _facts(self._prompt) if row and f"of page {row[2]}:" in fact[1]]
        for column, (number, words) in zip(_COLUMNS, facts, strict=False):
            value = _FACT.search(words)
            if value:
                stated = {"value": value[4], "document": int(number), "words": words}
                yield {"column": column, **stated}
        if row and facts:
            yield {"column": "Page", "value": row[1], "document": int(facts[0][0]), "words": row[1]}

    def _verdicts(self) -> Iterable[Json]:
        """Yield a verdict on each unit: facts of pages are quoted, filler needs no source."""
        asked = text_of(self._messages[-1])
        if _TRIAL_OF_JUDGES in asked:
            for number, verdict in enumerate(_TRIAL_VERDICTS, 1):
                yield {"unit": number, **verdict}
            return
        for number, says in _UNIT.findall(asked):
            fact = _FACT.search(says)
            cell = _CELL.search(says)
            if cell:
                stated = rf"Fact \d of page {cell[2]}: the \w+ index was {cell[3]} in \d{{4}}"
                fact = re.search(stated, asked)
            if fact:
                yield {"unit": int(number), "verdict": "supported", "words": fact[0]}
            else:
                yield {"unit": int(number), "verdict": "reasoning"}

    def next_calls(self, offered: Sequence[str]) -> list[tuple[str, Json]]:
        """Return the next calls of an agent that has several tools: it delegates or searches, with
        a thought beside its first task or second search, and finishes."""
        made = Counter(
            name for message in self._messages for name in {name for name, _ in _calls(message)}
        )
        is_lead, tools = "research_agent" in offered, [name for name in SEARCHES if name in offered]
        thought: list[tuple[str, Json]] = []
        if not made["think_tool"]:
            thought = [("think_tool", {"reasoning": f"{self._marker} {filler(STRING_TOKENS)}"})]
        if is_lead and (number := made["research_agent"]) < self._load.rounds:
            agents = range(self._load.researchers)
            tasks = [("research_agent", {"task": self._task(number, agent)}) for agent in agents]
            return [*thought, *tasks]
        if not is_lead and self._load.fetches and (found := self._unopened()):
            return [("open_url", {"urls": found[: self._load.fetches]})]
        number = sum(made[name] for name in tools)
        if not is_lead and number < self._load.searches:
            search = (tools[number % len(tools)], {"queries": [self._query(number)]})
            return [*thought, search] if number else [search]
        return [("generate_report", {"missing": []})]

    def _task(self, number: int, agent: int) -> str:
        return f"{self._marker} topic round {number} agent {agent}: {filler(STRING_TOKENS, agent)}"

    def _query(self, number: int) -> str:
        return f"{self._marker} {self._topic} search {number} query 0"

    def _unopened(self) -> list[str]:
        """Return the result addresses of the latest search; empty if they were opened already."""
        turns = [{name for name, _ in _calls(message)} for message in self._messages]
        last = max(
            (index for index, turn in enumerate(turns) if turn & {*SEARCHES, "open_url"}), default=0
        )
        if "web_search" not in turns[last]:
            return []
        return [
            address
            for text in map(text_of, self._messages[last:])
            for _, address, _ in _RESULT.findall(text)
        ]

    def _report(self, tokens: int) -> str:
        """Return sentences with citations: first the facts of the prompt, then filler."""
        facts, numbers = _facts(self._prompt), self._numbers()
        body, size = [f"# Report {self._marker}\n"], 0
        while size < tokens * CHARACTERS_A_TOKEN or len(body) <= min(len(numbers), 3):
            index = len(body) - 1
            number, sentence = (
                facts[index] if index < len(facts) else ("", filler(18, index).capitalize())
            )
            number = number or (numbers[index % len(numbers)] if numbers else "")
            body.append(
                sentence
                + (f" [{number}]" if number else "")
                + ("." if index % 5 else ".\n\n## Section\n")
            )
            size += len(body[-1]) + 1
        return " ".join(body)

    def _numbers(self) -> list[str]:
        """Return the source numbers that may be cited."""
        results = (number for number, *_ in _RESULT.findall(self._prompt))
        return [*dict.fromkeys(results)] or [*dict.fromkeys(_NUMBERED.findall(self._prompt))]

    def _round(self) -> Json:
        """Return the finding after each search, the pages to open, and the next query."""
        results = [message for message in self._messages if message["role"] == "tool"]
        query = {"next_queries": [self._query(len(results))]}
        if not results:
            return query
        is_complete, words = len(results) >= self._load.searches, f"{self._marker} {filler(30)}"
        if self._load.fetches:
            found = [address for _, address, _ in _RESULT.findall(text_of(results[-1]))]
            query["open_next"] = found[: self._load.fetches]
        learnings = [
            {"text": f"{fact}." if index else f"{fact} ({self._marker}).", "document": int(number)}
            for index, (number, fact) in enumerate(_facts(text_of(results[-1]))[:5])
        ]
        judged = {
            "is_complete": is_complete,
            "reasoning": words,
            "completeness": 1.0,
            "quality": 0.9,
        }
        return {
            "learnings": learnings,
            "insights": [words],
            **judged,
            **({} if is_complete else query),
        }

    def _steps(self) -> Iterable[Json]:
        many = self._load.researchers
        for number in range(self._load.rounds):
            before = [(number - 1) * many + agent + 1 for agent in range(many)] if number else []
            for agent in range(many):
                flags: Json = {
                    "requires_search": True,
                    "requires_previous": bool(before),
                    "depends_on": before,
                }
                yield {
                    "title": f"Topic {number} {agent}",
                    "task": self._task(number, agent),
                    **flags,
                }


def _facts(text: str) -> list[tuple[str, str]]:
    """Return source number and sentence of each fact in a text, alternating between sources."""
    numbers = {page: number for number, _, page in _RESULT.findall(text)}
    if not numbers:
        return [*dict.fromkeys((number, fact) for fact, number in _CITED_FACT.findall(text))]
    by_page: dict[str, dict[str, None]] = {}
    for match in _FACT.finditer(text):
        if match[2] in numbers:
            by_page.setdefault(match[2], {})[match[0]] = None
    facts = {page: [*found] for page, found in by_page.items()}
    return [
        (numbers[page], found[index])
        for index in range(5)
        for page, found in facts.items()
        if index < len(found)
    ]
