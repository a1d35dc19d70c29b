"""What the fake model answers, decided from each request alone.

Nothing here knows the prompts of any agent. The tools that are offered and the calls that a conversation holds already
tell what comes next, so one policy drives any agent that delegates, searches, reads and reports. Each text has a marker
such as `mk-c000012` ("made by call 12"), and each page `mk-p000123`: a later prompt that holds a marker depends on that
call, from which `figures` builds the chain of calls that no schedule can shorten.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

CHARACTERS_A_TOKEN = 4
MARKER = re.compile(r"mk-[cp]\d{6}")
REPORT_TOKENS = 800
NOTE_TOKENS = 300
STRING_TOKENS = 60

_ADDRESS = re.compile(r"https?://[^\s\]\)\"'<>,\\]+")
_NUMBERED = re.compile(r"\[(\d{1,3})\]")
_FACT = re.compile(r"Fact (\d) of page (\d+): the (\w+) index was (\d+) in (\d{4})")
_CITED_FACT = re.compile(r"(Fact \d of page \d+: the \w+ index was \d+ in \d{4}) \[(\d+)\]")
_RESULT = re.compile(r'"document": (\d+)(?:(?!"document": ).)*?"address": "([^"]+?/page/(\d+))"', re.DOTALL)
_ROLES = {
    "think": re.compile(r"think|reflect"),
    "finish": re.compile(r"complete|finish|done|submit|final|generate_report|write_report"),
    "delegate": re.compile(r"research|delegate|subagent|sub_agent|^task$"),
    "search": re.compile(r"(?<!re)search|tavily|^query"),
    "fetch": re.compile(r"fetch|extract|scrape|visit|browse|read_page|open_url|read_url"),
}
_TRUE = re.compile(r"complete|sufficient|enough|done|finished|valid|supported|pass")
_WORDS = """the town keeps its surplus solar energy in large batteries and in warm water because the price of storage
    falls while demand in the evening grows and the grid pays well for power at night which makes each method worth a
    closer look"""


@dataclass(frozen=True)
class Load:
    """How much work the policy makes."""

    researchers: int = 3
    """Researchers that are sent out in one round."""
    rounds: int = 2
    searches: int = 2
    """Searches of each researcher."""
    fetches: int = 5
    """Pages that are opened after each search; 0: none."""


@dataclass
class Answer:
    """What the model answers to one request."""

    kind: str
    """`struct`, `think`, `delegate`, `search`, `fetch`, `finish`, `plan`, `note` or `report`."""
    text: str | None = None
    tool_calls: list[tuple[str, str]] = field(default_factory=list)
    """Name and arguments (JSON) of each call."""

    @property
    def characters(self) -> int:
        """Characters that the model writes."""
        return len(self.text or "") + sum(len(name) + len(arguments) for name, arguments in self.tool_calls)


def text_of(message: Json) -> str:
    """The words of a message and of its tool calls."""
    content = message.get("content") or ""
    if not isinstance(content, str):
        content = "".join(part.get("text", "") if isinstance(part, dict) else str(part) for part in content)
    calls = (call["function"] for call in message.get("tool_calls") or [])
    return content + "".join(call["name"] + (call.get("arguments") or "") for call in calls)


def filler(tokens: int, offset: int = 0) -> str:
    """So many tokens of words; English, so that no agent takes them for another language."""
    vocabulary, words, size = _WORDS.split(), list[str](), 0
    while size < tokens * CHARACTERS_A_TOKEN:
        words.append(vocabulary[(offset + len(words)) % len(vocabulary)])
        size += len(words[-1]) + 1
    return " ".join(words)


def answer(load: Load, call: int, body: Json) -> Answer:
    """The answer to the request with this number."""
    messages: list[Json] = body["messages"]
    functions = {tool["function"]["name"]: tool["function"].get("parameters") or {} for tool in body.get("tools") or []}
    writer = _Writer(load, call, messages)
    schema = _schema(body)
    if schema is not None:
        return Answer("struct", json.dumps(writer.filled(schema)))
    if set(functions) == {"generate_plan"}:
        # The way out of a clarification: all is clear.
        return Answer("struct", tool_calls=[("generate_plan", "{}")])
    if len(functions) == 1 and (form := writer.form(*functions)):
        return Answer(form[0], tool_calls=[(*functions, json.dumps(form[1]))])
    system = text_of(messages[0]) if messages[0]["role"] == "system" else ""
    if not functions and system.startswith("You plan research"):
        lines = range(load.researchers * min(load.rounds, 2))
        return Answer("plan", "\n".join(f"{n + 1}. {writer.marker} {filler(15, n)}" for n in lines))
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and (name := choice.get("function", choice).get("name")) in functions:
        return Answer("struct", tool_calls=[(name, json.dumps(writer.filled(functions[name])))])
    if functions and choice != "none" and (act := _act(writer, functions, choice)):
        return act
    is_last = "write the final answer of a research project" in system
    is_note = any(message["role"] == "tool" for message in messages) and not is_last
    return Answer("note", writer.report(NOTE_TOKENS)) if is_note else Answer("report", writer.report(REPORT_TOKENS))


def _schema(body: Json) -> Json | None:
    wanted = body.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        return dict(wanted["json_schema"].get("schema") or {})
    return {"properties": {"answer": {"type": "string"}}} if wanted.get("type") == "json_object" else None


def _role(name: str) -> str:
    return next((role for role, pattern in _ROLES.items() if pattern.search(name.lower())), "other")


def _act(writer: _Writer, functions: Mapping[str, Json], choice: object) -> Answer | None:
    """The next tool call of an agent that has several tools: thinks, delegates, reads, searches, finishes."""
    load, roles = writer.load, dict[str, str]()
    for name in functions:
        roles.setdefault(_role(name), name)
    turns = [
        {_role(call["function"]["name"]) for call in message.get("tool_calls") or []} for message in writer.messages
    ]
    made = {role: sum(role in turn for turn in turns) for role in _ROLES}

    def one(role: str, **arguments: Any) -> Answer:
        filled = writer.filled(functions[roles[role]]) | arguments
        return Answer(role, tool_calls=[(roles[role], json.dumps(filled))])

    if "think" in roles and not made["think"]:
        return one("think")
    if "delegate" in roles and made["delegate"] < load.rounds:
        parameters, calls = functions[roles["delegate"]], []
        for agent in range(load.researchers):
            task = f"{writer.marker} topic round {made['delegate']} agent {agent}: {filler(STRING_TOKENS, agent)}"
            filled = {
                key: task if isinstance(value, str) else value for key, value in writer.filled(parameters).items()
            }
            calls.append((roles["delegate"], json.dumps(filled)))
        return Answer("delegate", tool_calls=calls)
    if "fetch" in roles and load.fetches and (found := _found(writer.messages, turns)):
        keys = [key for key in functions[roles["fetch"]].get("properties", {}) if "url" in key.lower()]
        return one("fetch", **{(keys or ["urls"])[0]: found[: load.fetches]})
    if "search" in roles and made["search"] < load.searches:
        query = f"{writer.marker} {writer.topic} search {made['search']} query 0"
        filled = writer.filled(functions[roles["search"]])
        asked = {key: [query] if isinstance(filled[key], list) else query for key in filled if "quer" in key.lower()}
        return one("search", **asked)
    if "finish" in roles:
        lists = [key for key, value in writer.filled(functions[roles["finish"]]).items() if isinstance(value, list)]
        return one("finish", **{key: [] for key in lists})
    return one(next(iter(roles))) if choice in ("required", "any") else None


def _found(messages: Sequence[Json], turns: Sequence[set[str]]) -> list[str]:
    """The addresses that the latest search has brought; none if they were opened already."""
    last = max((place for place, turn in enumerate(turns) if turn & {"search", "fetch"}), default=None)
    if last is None or "search" not in turns[last]:
        return []
    results = (text_of(message) for message in messages[last:] if message["role"] == "tool")
    return [address for text in results for _, address, _ in _RESULT.findall(text)]


class _Writer:
    """Writes the texts of one answer."""

    def __init__(self, load: Load, call: int, messages: list[Json]) -> None:
        self.load, self.messages = load, messages
        self.marker = f"mk-c{call:06d}"
        self._prompt = "\n".join(map(text_of, messages))

    @property
    def topic(self) -> str:
        """A name for this conversation, the same whenever it is held."""
        first = next((text_of(message) for message in self.messages if message["role"] == "user"), "")
        return "t" + hashlib.sha256(MARKER.sub("", first).encode()).hexdigest()[:8]

    def report(self, tokens: int) -> str:
        """Sentences with citations: facts of the prompt as far as there are any, and then words."""
        facts, sources = self._facts(), self._sources()
        listing = "" if _RESULT.search(self._prompt) else "\n".join(f"[{n}] Page {n}: {u}" for n, u in sources if u)
        body, size = [f"# Report {self.marker}\n"], 0
        while size < tokens * CHARACTERS_A_TOKEN - len(listing) or len(body) <= min(len(sources), 3):
            place = len(body) - 1
            number, sentence = facts[place] if place < len(facts) else ("", filler(18, place).capitalize())
            if not number and sources:
                number = sources[place % len(sources)][0]
            body.append(sentence + (f" [{number}]" if number else "") + ("." if place % 5 else ".\n\n## Section\n"))
            size += len(body[-1]) + 1
        return " ".join(body) + (f"\n\n### Sources\n{listing}" if listing else "")

    def _sources(self) -> list[tuple[str, str]]:
        """Number and address of what may be cited."""
        numbered = dict.fromkeys((number, address) for number, address, _ in _RESULT.findall(self._prompt))
        if numbered:
            return [*numbered]
        addresses = dict.fromkeys(one.rstrip(".;:") for one in _ADDRESS.findall(self._prompt) if "/page/" in one)
        if addresses:
            return [(str(number), address) for number, address in enumerate(addresses, 1)][:40]
        return [(number, "") for number in dict.fromkeys(_NUMBERED.findall(self._prompt))]

    def _facts(self) -> list[tuple[str, str]]:
        """Number of the source and sentence of each fact in the prompt, one of each source in turn."""
        numbers = {page: number for number, _, page in _RESULT.findall(self._prompt)}
        if not numbers and (cited := _CITED_FACT.findall(self._prompt)):
            return [*dict.fromkeys((number, fact) for fact, number in cited)]
        numbers = numbers or {address.rsplit("/", 1)[-1]: number for number, address in self._sources() if address}
        by_page: dict[str, dict[str, None]] = {}
        for match in _FACT.finditer(self._prompt):
            if match[2] in numbers:
                by_page.setdefault(match[2], {})[match[0]] = None
        facts = {page: [*found] for page, found in by_page.items()}
        return [(numbers[page], found[n]) for n in range(5) for page, found in facts.items() if n < len(found)]

    def filled(self, schema: Json, name: str = "", kinds: Json | None = None, place: int = 0) -> Any:
        """A sensible value for a JSON schema."""
        kinds = schema.get("$defs") or schema.get("definitions") or {} if kinds is None else kinds
        if "$ref" in schema:
            return self.filled(kinds.get(schema["$ref"].rsplit("/", 1)[-1], {}), name, kinds, place)
        for options in (schema.get(key) for key in ("anyOf", "oneOf", "allOf")):
            if options:
                return self.filled(next(one for one in options if one.get("type") != "null"), name, kinds, place)
        if "const" in schema or schema.get("enum"):
            return schema.get("const") or schema["enum"][0]
        kind = schema.get("type")
        kind = next((one for one in kind if one != "null"), "string") if isinstance(kind, list) else kind
        if kind == "object" or "properties" in schema:
            return {key: self.filled(one, key, kinds) for key, one in (schema.get("properties") or {}).items()}
        if kind == "array":
            few = (
                1
                if "quer" in name.lower()
                else self.load.fetches or 1
                if "url" in name.lower()
                else self.load.researchers
            )
            count = max(schema.get("minItems", 1), min(few, schema.get("maxItems", few)))
            return [self.filled(schema.get("items") or {}, name.rstrip("s"), kinds, one) for one in range(count)]
        if kind == "boolean":
            return bool(_TRUE.search(name.lower()))
        if kind in ("integer", "number"):
            return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        return self._string(name.lower(), place)[: schema.get("maxLength")]

    def _string(self, name: str, place: int) -> str:
        if "url" in name or "link" in name:
            addresses = [address for _, address in self._sources() if address]
            return addresses[place % len(addresses)] if addresses else "http://127.0.0.1/page/0"
        if "quer" in name:
            return f"{self.marker} {self.topic} query {place}"
        if re.search(r"title|name|label|^id$", name):
            return f"{self.marker} title {place}"
        if re.search(r"report|answer|finding|markdown|content|notes", name):
            return self.report(NOTE_TOKENS)
        return f"{self.marker} {filler(STRING_TOKENS, place)}"

    def form(self, name: str) -> tuple[str, Json] | None:
        """Kind and arguments for a form of the planned strategy; none for another tool."""
        if name == "make_plan":
            return "delegate", {"steps": [*self._steps()]}
        if name == "record_round":
            return "search", self._round()
        if name in ("update_plan", "record_inconsistencies", "rewrite_sentences"):
            return "struct", {"inconsistencies": []} if name == "record_inconsistencies" else {}
        return None

    def _round(self) -> Json:
        """What is handed in after each search, and what is searched for next."""
        made = [message for message in self.messages if message["role"] == "tool"]
        queries = [f"{self.marker} {self.topic} search {len(made)} query 0"]
        if not made:
            return {"next_queries": queries}
        is_complete, words = len(made) >= self.load.searches, f"{self.marker} {filler(30)}"
        facts = _Writer(self.load, 0, made[-1:])._facts()[:5]
        learnings = [
            {"text": f"{fact}." if place else f"{fact} ({self.marker}).", "document": int(number)}
            for place, (number, fact) in enumerate(facts)
        ]
        judged = {
            "is_complete": is_complete,
            "reasoning": words,
            "insights": [words],
            "completeness": 1.0,
            "quality": 0.9,
        }
        return {"learnings": learnings, **judged, **({} if is_complete else {"next_queries": queries})}

    def _steps(self) -> Iterable[Json]:
        many = self.load.researchers
        for turn in range(self.load.rounds):
            before = [(turn - 1) * many + number + 1 for number in range(many)] if turn else []
            for agent in range(many):
                task = f"{self.marker} topic round {turn} agent {agent}: {filler(STRING_TOKENS, agent)}"
                flags = {"requires_search": True, "requires_previous": bool(before), "depends_on": before}
                yield {"title": f"Topic {turn} {agent}", "description": "What is to be known.", "task": task, **flags}
