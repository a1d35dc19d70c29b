"""The graph as a node of another graph, called inside a node, and in an entrypoint."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from kit.runs import CLEAR, QUESTION, REPORT, Lab, lab, research, search
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.core.settings.context import Context

Way = Literal["node", "called", "entrypoint"]
THREAD = RunnableConfig(configurable={"thread_id": "parent"})
ASKED = "Which light is meant?"
TURNS: tuple[Any, ...] = (QUESTION, Command(resume="The Skerry Light"), "And who kept it?")
"""Messages of three turns: an unclear question, the answer to the clarifying question, a second
question."""


def scripted(tmp_path: Path) -> Lab:
    """Models that ask one clarifying question and then answer two questions."""
    return lab(
        tmp_path,
        clarifier=[ASKED, CLEAR],
        planner=["1. The light", "1. The keeper"],
        orchestrator=[research("The light."), REPORT, research("The keeper."), REPORT],
        researcher={
            "The light.": [search("Skerry Light"), REPORT, "It was lit in 1844. [1]"],
            "The keeper.": [search("Ada Moran keeper"), REPORT, "Ada Moran kept it. [1]"],
        },
        writer=["The Skerry Light was lit in 1844. [1]", "Ada Moran kept the Skerry Light. [1]"],
    )


@asynccontextmanager
async def opened_saver(path: Path, *, is_sync: bool) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """Checkpointer as the app that owns the parent graph opens it."""
    if is_sync:
        connection = sqlite3.connect(path, check_same_thread=False)
        yield SqliteSaver(connection)
        connection.close()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver


def parent_of(graph: Any, way: Way, *, is_sync: bool, **given: Any) -> Any:
    """Graph of another app that runs the research as a node, by a call, or in an entrypoint."""

    async def ask(state: MessagesState) -> Any:
        return await graph.ainvoke({"messages": state["messages"]})

    def ask_and_wait(state: MessagesState) -> Any:
        return graph.invoke({"messages": state["messages"]})

    async def workflow(
        asked: dict[str, Any], *, previous: list[AnyMessage] | None
    ) -> list[AnyMessage]:
        return list((await ask({"messages": [*(previous or []), *asked["messages"]]}))["messages"])

    def waiting_workflow(
        asked: dict[str, Any], *, previous: list[AnyMessage] | None
    ) -> list[AnyMessage]:
        return list(ask_and_wait({"messages": [*(previous or []), *asked["messages"]]})["messages"])

    if way == "entrypoint":
        functional = entrypoint(**given, context_schema=Context)
        return functional(waiting_workflow) if is_sync else functional(workflow)
    called: Any = ask_and_wait if is_sync else ask
    builder = StateGraph(MessagesState, context_schema=Context)
    builder.add_node("research", graph if way == "node" else called)
    builder.add_edge(START, "research")
    return builder.compile(**given)


async def turn(parent: Any, message: Any, run: Lab, *, is_sync: bool) -> tuple[Any, list[str]]:
    """The last value of the parent after one turn, and the types of the packets."""
    asked = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
    settings = {
        "context": run.context,
        "stream_mode": ["custom", "values"],
        "subgraphs": True,
        "version": "v2",
    }
    if is_sync:
        parts = list(parent.stream(asked, THREAD, **settings))
    else:
        parts = [part async for part in parent.astream(asked, THREAD, **settings)]
    packets = [part["data"]["type"] for part in parts if part["type"] == "custom"]
    return [part["data"] for part in parts if part["type"] == "values" and not part["ns"]][
        -1
    ], packets


def texts(value: Any) -> list[str]:
    messages = value["messages"] if isinstance(value, dict) else value
    return [message.text for message in messages]


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("way", "is_sync", "has_store"),
    [
        ("node", False, True),
        ("node", True, False),
        ("called", True, False),
        ("entrypoint", False, True),
    ],
)
async def test_the_graph_takes_turns_inside_another_graph(
    tmp_path: Path, way: Way, is_sync: bool, has_store: bool
) -> None:
    run = scripted(tmp_path)
    async with opened_saver(tmp_path / "parent.sqlite", is_sync=is_sync) as checkpointer:
        given = {"checkpointer": checkpointer, "store": InMemoryStore() if has_store else None}
        # Each turn may run in another process.
        parents = [parent_of(build_graph(), way, is_sync=is_sync, **given) for _ in TURNS]
        _, packets = await turn(parents[0], TURNS[0], run, is_sync=is_sync)
        assert {"message_delta", "stop"} <= set(packets)
        snapshot = parents[0].get_state(THREAD) if is_sync else await parents[0].aget_state(THREAD)
        assert [interrupt.value["question"] for interrupt in snapshot.interrupts] == [ASKED]
        value, packets = await turn(parents[1], TURNS[1], run, is_sync=is_sync)
        assert texts(value)[-1].startswith("The Skerry Light was lit in 1844. [1]\n\n## Sources")
        assert {"research_agent_start", "citation_info", "stop"} <= set(packets)
        value, _ = await turn(parents[2], TURNS[2], run, is_sync=is_sync)
        assert texts(value)[-1].startswith("Ada Moran kept the Skerry Light. [1]\n\n## Sources")
        assert len(texts(value)) == 2 * len(TURNS)
    assert run.all_used()
