"""Whole runs of the table strategy with scripted models, over a small folder of documents."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator, Sequence
from inspect import isawaitable
from pathlib import Path
from typing import Any

from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from deep_research.app.embed import build_graph
from deep_research.core.evidence.text.numbers import numbers_in
from deep_research.core.evidence.text.words import dates_in
from deep_research.core.records import tool_names
from deep_research.core.store._serializer import StrictSerializer
from kit.models import ScriptedChatModel, call, calls, judged, units_shown
from kit.runs import CLEAR, Lab, WatchedSaver, lab, search, written

QUESTION = "All lighthouses of the Anlow coast, with height, year and keeper."
LIGHTS = {
    "skerry_md": "# Skerry Light\n\nThe Skerry Light was lit for the first time in 1844. It stands 38 metres tall. "
    "Ada Moran was its keeper.\n",
    "anvil_md": "# Anvil Light\n\nThe Anvil Light was lit for the first time in 1861. It stands 21.5 metres tall.\n",
    "list_md": "# Lighthouses of the Anlow coast\n\n- Skerry Light, lit in 1844\n- Anvil Light, lit in 1861\n"
    "- Skerry Lt., lit in 1844\n- Port Anlow beacon, a beacon without a lantern\n",
}
COLUMNS: Sequence[dict[str, Any]] = (
    {"name": "Light", "is_key": True},
    {"name": "Height", "kind": "number", "unit": "m"},
    {"name": "Lit", "kind": "date"},
    {"name": "Keeper"},
)
FENCED = re.compile(r"<(data-[0-9a-f]+)>\s*(\{.*?\})\s*</\1>", re.DOTALL)
AGAIN = "These cells were not found on the pages that name the rows"
"""Words of each task that looks for cells once more."""
SCOUT = "Find the rows of a table"
"""What the task of each scout begins with."""


def design(**changes: Any) -> AIMessage:
    """The design of the table of lighthouses, with these fields changed."""
    fields: dict[str, Any] = {
        "title": "Lighthouses of the Anlow coast",
        "row": "one lighthouse",
        "rules": ["has a lantern"],
        "columns": list(COLUMNS),
        "ways": ["the list of lighthouses"],
    }
    return calls(call("design_table", **{**fields, **changes}))


def shown(messages: Sequence[BaseMessage]) -> dict[int, str]:
    """The texts of all results that a researcher was shown, by their numbers."""
    texts: dict[int, str] = {}
    for message in messages:
        if not isinstance(message, ToolMessage):
            continue
        for _, inner in FENCED.findall(message.text):
            for result in json.loads(inner).get("results", []):
                number = int(result["document"])
                texts[number] = f"{texts.get(number, '')}\n{result['text']}"
    return texts


def document_with(words: str, messages: Sequence[BaseMessage]) -> int:
    """The number of the first result that has these words; 0 if there is none."""
    return next((number for number, text in shown(messages).items() if words in text), 0)


def row(name: str, words: str = "", **more: Any) -> dict[str, Any]:
    """A row as a scout hands it in."""
    return {"key": [name], "words": words or name, **more}


def cell(column: str, value: str, words: str = "", **more: Any) -> dict[str, Any]:
    """A cell as a researcher hands it in."""
    return {"column": column, "value": value, "words": words or value, **more}


def handed_in(**arguments: Any) -> Callable[..., AIMessage]:
    """What a scout or a researcher hands in, with the numbers of the results that have the words of
    each entry."""

    def hand_in(messages: Sequence[BaseMessage], _: Any) -> AIMessage:
        numbered: dict[str, Any] = {}
        for name, entries in arguments.items():
            if isinstance(entries, list) and entries and isinstance(entries[0], dict):
                entries = [
                    {"document": document_with(str(entry.get("words", "\0")), messages), **entry}
                    for entry in entries
                ]
            numbered[name] = entries
        return calls(call(tool_names.GENERATE_REPORT, **numbered))

    return hand_in


def rows(*found: dict[str, Any], **more: Any) -> Callable[..., AIMessage]:
    """What a scout hands in."""
    return handed_in(rows=list(found), **more)


def cells(*found: dict[str, Any], **more: Any) -> Callable[..., AIMessage]:
    """What a researcher of rows hands in."""
    return handed_in(cells=list(found), **more)


def researching(query: str, hand_in: Callable[..., Any]) -> Callable[..., Any]:
    """A scout or a researcher that searches once, and then hands in; it can be asked again."""

    def reply(messages: Sequence[BaseMessage], settings: Any) -> Any:
        for message in messages:
            for made in message.tool_calls if isinstance(message, AIMessage) else ():
                if made["name"] == tool_names.INTERNAL_SEARCH:
                    return hand_in(messages, settings)
        return search(query)

    return reply


SKERRY = researching(
    "Skerry Light height keeper",
    cells(
        cell("Light", "Skerry Light"),
        cell("Height", "38 metres", "It stands 38 metres tall."),
        cell("Lit", "1844", "The Skerry Light was lit for the first time in 1844."),
        cell("Keeper", "Ada Moran", "Ada Moran was its keeper."),
    ),
)
ANVIL = researching(
    "Anvil Light height keeper",
    cells(
        cell("Light", "Anvil Light"),
        cell("Height", "21.5", "It stands 21.5 metres tall.", unit="metres"),
        cell("Lit", "1861", "The Anvil Light was lit for the first time in 1861."),
        cell("Keeper", "", looked="its page"),
    ),
)
BEACON = row("Port Anlow beacon", reason="it has no lantern")
LISTED = rows(row("Skerry Light"), row("Anvil Light"), row("Skerry Lt."), rejected=[BEACON])
SCOUTED = researching("lighthouses of the Anlow coast", LISTED)
NO_KEEPER = researching("keeper of the Anvil Light", cells(cell("Keeper", "", looked="everywhere")))
"""A researcher that looks once more for the keeper of the Anvil Light."""


def by_values(prompt: str) -> AIMessage:
    """A unit is supported by the line of a source that states its numbers and dates, in whatever form;
    a cited unit that no line states is contradicted."""
    units, said = units_shown(prompt)
    verdicts = list[str | tuple[str, str]]()
    for unit in units:
        own = [said[number] for number in unit.get("cites", ()) if number in said]
        lines = [line for text in own for line in re.split(r"(?<=[.!?])\s+|\n", text)]
        wanted = values_in(unit["says"].rpartition(": ")[2])
        words = [line for line in lines if wanted <= values_in(line)]
        if not wanted:
            value = unit["says"].rpartition(": ")[2]
            words = [line for line in lines if value in line]
        if words:
            verdicts.append(("supported", words[0]))
        else:
            verdicts.append("contradicted" if own else "reasoning")
    return judged(*verdicts)


def values_in(text: str) -> set[float | str]:
    """The dates of a text, and the values of the numbers beside them."""
    values: set[float | str] = set()
    rest = text
    for day in reversed(list(dates_in(text))):
        values.add(day.iso)
        rest = rest[: day.start] + rest[day.end :]
    return values | {number.value for number in numbers_in(rest)}


def value_judge() -> ScriptedChatModel:
    """A verifier that judges by values, as often as it is asked."""
    return ScriptedChatModel(
        replies={"judge_units": lambda messages, _: by_values(messages[-1].text)},
        profile=ModelProfile(max_input_tokens=100_000),
    )


SUMMARY = "Two lighthouses stand on the coast; the Skerry Light is the taller one."
USUAL: dict[str, Any] = {
    "clarifier": CLEAR,
    "planner": {"design_table": design()},
    "orchestrator": {
        "name_ways": calls(call("name_ways", ways=[])),
        "judge_pairs": calls(call("judge_pairs", same=[1])),
    },
    "researcher": {
        SCOUT: SCOUTED,
        "Row 1: Skerry Light": SKERRY,
        "Row 1: Anvil Light": ANVIL,
        AGAIN: NO_KEEPER,
    },
    "writer": SUMMARY,
}
"""The scripts of a run without trouble."""


def scripts(role: str, **changes: Any) -> dict[str, Any]:
    """The usual scripts of a role, with these keys changed."""
    return {**USUAL[role], **changes}


def table_lab(tmp_path: Path, **settings: Any) -> Lab:
    """A thread of the table graph over the documents on lighthouses; scripts as for `lab`."""
    graph = build_graph("table", checkpointer=WatchedSaver(serde=StrictSerializer()))
    run = lab(tmp_path, graph=graph, **{**USUAL, **settings})
    run.folder = written(tmp_path.parent / "lights", LIGHTS)
    return run


ASKING = "asking"
"""Name of the asyncio task that is cancelled when a run is killed."""


def killing(replies: Any, numbers: Iterator[int], at: int) -> Any:
    """The script of a role, during whose call with this number the run is killed."""
    if isinstance(replies, dict):
        return {key: killing(reply, numbers, at) for key, reply in replies.items()}

    async def reply(*asked: Any) -> Any:
        if next(numbers) == at:
            next(task for task in asyncio.all_tasks() if task.get_name() == ASKING).cancel()
            await asyncio.Event().wait()
        said = replies(*asked) if callable(replies) else replies
        return await said if isawaitable(said) else said

    return reply
