"""A model that answers a request perfectly from what it is shown, and no more.

It is scripted from the gold, but hands in a fact only if the words that state it stand in the
request to it: what the program does not show is lost. With `planted`, it gets a share of its cells
wrong.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import Field
from typing_extensions import override

from deep_research_evaluation.tables.facts import (
    NOT_APPLICABLE,
    Entity,
    Fact,
    Stated,
    TableRequest,
    found_in,
)

_FENCED = re.compile(r"<(data-[0-9a-f]+)>\s*(\{.*?\})\s*</\1>", re.DOTALL)
_ROW = re.compile(r"^Row (\d+): (.+)\. Cells: (.+)\.$", re.MULTILINE)
_WAY = re.compile(r"Find the rows of a table: (.+)")
_PAIR = re.compile(r"(\d+)\. (.+)\n   (.+)")
_ADDRESS = re.compile(r"https?://\S+")
_LAST_DIGIT = re.compile(r"\d(?=\D*$)")
_MARKERS = re.compile(r"(?: ?\[\d+\])+")
_PLACE = re.compile(r"\[… (\d+)\]")
_CUT = re.compile(r"\s*\[…\]\s*$")
_OVER = "Your work is over"
_NEXT = "Next page"
_CHARACTERS_PER_TOKEN = 4
_SUMMARY = "The table below answers the request."
_SCALE = 10_000
_NOTHING = Fact(frozenset(), ())


class Shown(NamedTuple):
    """A result that the model was shown, with all parts of its text so far."""

    number: int
    title: str
    address: str
    text: str
    links: dict[str, str]
    """Addresses by their words."""
    read: int
    """Place up to which all of its text was shown."""
    characters: int
    """Length of its whole text; 0 if all of it was shown."""


class PerfectModel(BaseChatModel):
    """Plays all roles of the run of a request."""

    request: TableRequest
    planted: float = 0.0
    """Share of the cells, 0 to 1, in which it hands in a wrong value."""
    wrong: dict[tuple[str, str], str] = Field(default_factory=dict)
    """The wrong values that it has handed in, by the usual name of the row and the column."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @override
    def _resolve_model_profile(self) -> ModelProfile:
        return ModelProfile(max_input_tokens=200_000, tool_calling=True)

    @override
    def bind_tools(
        self, tools: Any, *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[Any, AIMessage]:
        """Return the same model with tools; see `BaseChatModel.bind_tools`."""
        forms = [convert_to_openai_tool(tool)["function"] for tool in tools]
        fields = {form["name"]: tuple(form["parameters"]["properties"]) for form in forms}
        return self.bind(offered=fields)

    @override
    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        *,
        offered: dict[str, tuple[str, ...]] | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        reply = self._reply(messages, offered or {})
        read = sum(len(message.text) for message in messages) // _CHARACTERS_PER_TOKEN
        written = (len(reply.text) + len(str(reply.tool_calls))) // _CHARACTERS_PER_TOKEN
        reply.usage_metadata = UsageMetadata(
            input_tokens=read, output_tokens=written, total_tokens=read + written
        )
        return ChatResult(generations=[ChatGeneration(message=reply)])

    def _reply(
        self, messages: Sequence[BaseMessage], offered: dict[str, tuple[str, ...]]
    ) -> AIMessage:
        last = messages[-1].text
        if "generate_report" in offered:
            if "cells" in offered["generate_report"]:
                return self._fill(messages, offered)
            return self._scout(messages)
        forms: Mapping[str, Callable[[], dict[str, Any]]] = {
            "generate_plan": lambda: {},
            "design_table": lambda: self.request.design,
            "name_ways": lambda: {"ways": []},
            "judge_pairs": lambda: {"same": list(self._same(last))},
            "judge_units": lambda: {"verdicts": list(self._verdicts(last))},
            "rewrite_sentences": lambda: {"sentences": list(_rewritten(last))},
        }
        for name, fields in forms.items():
            if name in offered:
                return _call(name, **fields())
        return AIMessage(_SUMMARY)

    def _scout(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Search for its list, open its pages and read them to their end, and hand in what they
        name."""
        [way] = _WAY.findall(messages[1].text)
        results = _results(messages)
        opened = _opened(messages)
        lists = self._lists(results, way)
        named = [address.rstrip(".,)") for address in _ADDRESS.findall(way)]
        if _OVER not in messages[-1].text:
            if not results and not opened:
                if named:
                    return _call("open_url", urls=named)
                return _call("web_search", queries=[way])
            action = _reading(lists, opened)
            if action:
                return action
        unread = [address for address in lists if address not in opened]
        further = [f"the next pages of the list: {address}" for address in unread]
        rows = list[dict[str, Any]]()
        rejected = list[dict[str, Any]]()
        own = list(filter(None, lists.values()))
        for entity in self.request.entities:
            row = _named_row(entity, own)
            if row is None:
                continue
            if entity.rejected_by and _where(entity.rejected_by, own):
                rejected.append({**row, "reason": "it does not meet a condition"})
            else:
                rows.append(row)
        return _call("generate_report", rows=rows, rejected=rejected, further=further)

    def _lists(self, results: Sequence[Shown], way: str) -> dict[str, Shown | None]:
        """Return the lists of the way to look that results show or link to, by address."""
        titles = {page.title for page in self.request.pages if page.is_list}
        wanted = way.casefold().removeprefix("the ")
        lists = dict[str, Shown | None]()
        for result in results:
            is_own = result.title in titles and result.title.casefold().startswith(wanted)
            if is_own or result.address in way:
                lists[result.address] = result
        for result in results:
            if _NEXT in result.links:
                lists.setdefault(result.links[_NEXT], None)
        by_address = {result.address: result for result in results}
        return {address: by_address.get(address) for address in lists}

    def _fill(
        self, messages: Sequence[BaseMessage], offered: dict[str, tuple[str, ...]]
    ) -> AIMessage:
        """Hand in the cells that results state; search once for those that none states."""
        results = _results(messages)
        opened = _opened(messages)
        cells = list[dict[str, Any]]()
        rejected = list[dict[str, Any]]()
        queries = list[str]()
        about = dict[str, Shown | None]()
        for number, name, columns in _ROW.findall(messages[1].text):
            entity = self._entity(name)
            if entity is None:
                continue
            if entity.rejected_by and _where(entity.rejected_by, results):
                reason = "it does not meet a condition"
                rejected.append({"row": int(number), "reason": reason})
            for column in columns.split("; "):
                entries = list(self._cells(entity, column, results))
                if not entries:
                    queries.append(f"{' '.join(entity.names[0])} {column}")
                    entries = [{"column": column, "value": "", "looked": "the pages on it"}]
                    about |= _pages_on(entity, results)
                for entry in entries:
                    cells.append({**entry, "row": int(number)})
        if _OVER not in messages[-1].text and queries:
            action = _reading(about, opened)
            if action:
                return action
            for tool in ("web_search", "internal_search"):
                if tool in offered and not _made(messages, tool):
                    return _call(tool, queries=queries[:3])
        return _call("generate_report", cells=cells, rejected=rejected)

    def _cells(
        self, entity: Entity, column: str, results: Sequence[Shown]
    ) -> Iterator[dict[str, Any]]:
        """Yield what results state on a cell."""
        if column in self.request.keys:
            position = self.request.keys.index(column)
            for name in entity.names:
                found = _where(" ".join(name), results)
                if found:
                    value = name[position]
                    yield {"column": column, "value": value, **found}
                    return
            return
        for stated in _fact(entity, column).stated:
            found = _where(stated.words, results)
            if not found:
                continue
            value = stated.value
            if self._is_planted(entity, column):
                value = self._wrong_value(entity, column, value)
            entry = {"column": column, "value": value, "unit": stated.unit, **found}
            yield entry if value else {**entry, "applies": False}

    def _is_planted(self, entity: Entity, column: str) -> bool:
        text = f"{entity.names[0]} {column}"
        drawn = int(hashlib.sha256(text.encode()).hexdigest(), 16) % _SCALE
        return drawn < self.planted * _SCALE

    def _wrong_value(self, entity: Entity, column: str, value: str) -> str:
        """Return a value that is not the right one: another last digit, or that of another row."""
        wrong = value
        last = _LAST_DIGIT.search(value)
        if last:
            digit = (int(last[0]) + 1) % 10
            wrong = f"{value[: last.start()]}{digit}{value[last.end() :]}"
        else:
            for other in self.request.entities:
                for stated in _fact(other, column).stated:
                    if stated.value and stated.value != value:
                        wrong = stated.value
        self.wrong[" ".join(entity.names[0]), column] = wrong
        return wrong

    def _entity(self, name: str) -> Entity | None:
        """Return what a row of this name is."""
        for entity in self.request.entities:
            if any(name in (" · ".join(key), " ".join(key)) for key in entity.names):
                return entity
        return None

    def _same(self, prompt: str) -> Iterator[int]:
        """Yield the numbers of the pairs that are the same."""
        for number, *shown in _PAIR.findall(prompt):
            first, second = (self._entity_in(words) for words in shown)
            if first is not None and first == second:
                yield int(number)

    def _entity_in(self, text: str) -> Entity | None:
        """Return what a text is about that begins with its name."""
        longest = 0
        found: Entity | None = None
        for entity in self.request.entities:
            for key in entity.names:
                for name in (" · ".join(key), " ".join(key), key[0]):
                    if text.startswith(name) and len(name) > longest:
                        longest = len(name)
                        found = entity
        return found

    def _verdicts(self, prompt: str) -> Iterator[dict[str, Any]]:
        """Yield a verdict on each unit by the passages that are shown."""
        knowledge = _knowledge(prompt)
        texts = dict[Any, str]()
        for source in knowledge.get("sources", ()):
            texts[source["source"]] = "\n".join(source["passages"])
        for unit in knowledge["units"]:
            cited = [texts[number] for number in unit.get("cites", ()) if number in texts]
            verdict = self._verdict(unit["says"], cited or list(texts.values()))
            yield {"unit": unit["unit"], **verdict}

    def _verdict(self, says: str, texts: Sequence[str]) -> dict[str, Any]:
        """Return the verdict on a unit: the head of the table, the label of a row, or a cell."""
        name, colon, value = says.rpartition(": ")
        subject, comma, column = name.rpartition(", ")
        if not colon:
            return {"verdict": "reasoning"}
        if not comma or column in self.request.keys:
            words = _first(value, texts)
            return {"verdict": "supported", "words": words} if words else {"verdict": "not_found"}
        entity = self._entity_in(subject)
        fact = _fact(entity, column.partition(" (")[0]) if entity else _NOTHING
        words = "\n".join(filter(None, (_first(stated.words, texts) for stated in fact.stated)))
        if not words:
            return {"verdict": "not_found"}
        own_words = {_whole(stated) or NOT_APPLICABLE for stated in fact.stated}
        if set(value.split("; ")) <= fact.expected | own_words:
            return {"verdict": "supported", "words": words}
        return {"verdict": "contradicted", "words": words, "right": "; ".join(sorted(own_words))}


def _fact(entity: Entity, column: str) -> Fact:
    return entity.facts.get(column, _NOTHING)


def _whole(stated: Stated) -> str:
    return f"{stated.value} {stated.unit}".strip()


def _first(words: str, texts: Iterable[str]) -> str:
    """Return words as they stand in the first text that has them."""
    return next(filter(None, (found_in(words, text) for text in texts)), "")


def _where(words: str, results: Iterable[Shown]) -> dict[str, Any]:
    """Return the number of the first result that has these words, and the words as it has them."""
    for result in results:
        found = found_in(words, result.text)
        if found:
            return {"document": result.number, "words": found}
    return {}


def _named_row(entity: Entity, results: Sequence[Shown]) -> dict[str, Any] | None:
    """Return a row as the first result names it, with its address; None if none does."""
    for key in entity.names:
        found = _where(" ".join(key), results)
        if not found:
            continue
        row = {"key": list(key), **found}
        for result in results:
            if result.number == found["document"] and key[0] in result.links:
                row["address"] = result.links[key[0]]
        return row
    return None


def _pages_on(entity: Entity, results: Sequence[Shown]) -> dict[str, Shown | None]:
    """Return the results whose titles name something, by address."""
    pages = dict[str, Shown | None]()
    for result in results:
        for key in entity.names:
            if found_in(" ".join(key), result.title):
                pages[result.address] = result
    return pages


def _reading(pages: dict[str, Shown | None], opened: dict[str, int]) -> AIMessage | None:
    """Return the call that opens the first unread page or reads on in one; None if all were
    read."""
    new = [address for address in pages if address not in opened]
    if new:
        return _call("open_url", urls=new)
    for address, page in pages.items():
        if page and opened[address] < page.read < page.characters:
            return _call("open_url", urls=[address], start=page.read)
    return None


def _results(messages: Sequence[BaseMessage]) -> list[Shown]:
    """Return all results that tools have shown, each with all parts of its text."""
    shown = dict[int, Shown]()
    for message in messages:
        if not isinstance(message, ToolMessage):
            continue
        for _, inner in _FENCED.findall(message.text):
            for result in json.loads(inner).get("results", ()):
                number = int(result["document"])
                links = {link.get("words", ""): link["address"] for link in result.get("links", ())}
                text = str(result["text"])
                characters = int(result.get("characters", 0))
                read = _read_up_to(text, characters)
                known = shown.get(number)
                if known:
                    text = f"{known.text}\n{text}"
                    links = known.links | links
                    read = max(read, known.read)
                shown[number] = Shown(
                    number,
                    result.get("title", ""),
                    result.get("address", ""),
                    text,
                    links,
                    read,
                    characters,
                )
    return list(shown.values())


def _read_up_to(text: str, characters: int) -> int:
    """Return the place up to which a part of a text shows all of it, after what was shown before.

    It is not beyond the real one: sentences that were shown before are left out of the part.
    """
    end = _CUT.search(text)
    if not end:
        return characters
    begun = _PLACE.match(text)
    if begun:
        return int(begun[1]) + end.start() - begun.end()
    gap = _PLACE.search(text) or end
    return gap.start()


def _opened(messages: Sequence[BaseMessage]) -> dict[str, int]:
    """Return the addresses that were opened, with the place from which each was read last."""
    opened = dict[str, int]()
    for message in messages:
        for made in message.tool_calls if isinstance(message, AIMessage) else ():
            for address in made["args"].get("urls", ()):
                opened[address] = int(made["args"].get("start", 0))
    return opened


def _made(messages: Sequence[BaseMessage], tool: str) -> bool:
    calls = [
        made["name"]
        for message in messages
        if isinstance(message, AIMessage)
        for made in message.tool_calls
    ]
    return tool in calls


def _knowledge(prompt: str) -> dict[str, Any]:
    shown, _ = json.JSONDecoder().raw_decode(prompt[prompt.index('{"knowledge"') :])
    knowledge: dict[str, Any] = shown["knowledge"]
    return knowledge


def _rewritten(prompt: str) -> Iterator[dict[str, Any]]:
    """Yield the sentences with the right words in place of the wrong ones."""
    for sentence in _knowledge(prompt)["sentences"]:
        text = sentence["sentence"]
        for part in sentence["wrong"]:
            if "right" in part and "words" in part:
                markers = "".join(_MARKERS.findall(part["words"]))
                text = text.replace(part["words"].strip(), f"{part['right']}{markers}", 1)
        yield {"number": sentence["number"], "text": text}


def _call(name: str, **arguments: Any) -> AIMessage:
    identifier = hashlib.sha256(json.dumps([name, arguments]).encode()).hexdigest()[:12]
    return AIMessage("", tool_calls=[tool_call(name=name, args=arguments, id=f"call-{identifier}")])
