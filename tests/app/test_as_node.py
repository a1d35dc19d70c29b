"""The graph as a node of another graph, called inside a node, and in an entrypoint."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, Literal

import pytest
from lab import CLEAR, QUESTION, REPORT, Lab, lab, research, search
from langchain_core.messages import AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command

from deep_research.app.embed import build_graph
from deep_research.core.run.context import Context
from deep_research.graph.orchestrated import build_orchestrated_graph

Way = Literal["node", "called", "entrypoint"]
THREAD = RunnableConfig(configurable={"thread_id": "parent"})
ASKED = "Which light is meant?"
TURNS: tuple[Any, ...] = (QUESTION, Command(resume="The Skerry Light"), "And who kept it?")
"""An unclear question, the answer to the question back, and a second question."""
WAYS: tuple[Way, ...] = ("node", "called", "entrypoint")
COMBINATIONS = [
    (way, is_sync, saver, number % 2 == 0)
    for number, (way, is_sync, saver) in enumerate(product(WAYS, (False, True), ("memory", "sqlite")))
]


@dataclass
class Tenant:
    """The context of an app of its own."""

    name: str


def scripted(tmp_path: Path) -> Lab:
    """Models that ask back once, and then answer two questions."""
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
async def opened_saver(kind: str, path: Path, *, is_sync: bool) -> AsyncIterator[BaseCheckpointSaver[Any]]:
    """A saver as the app that has the parent graph would open it."""
    if kind == "memory":
        yield InMemorySaver()
    elif is_sync:
        connection = sqlite3.connect(path, check_same_thread=False)
        yield SqliteSaver(connection)
        connection.close()
    else:
        async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
            yield saver


def parent_of(graph: Any, way: Way, *, is_sync: bool, **given: Any) -> Any:
    """A graph of another app that has the research done in this way."""
    if way == "entrypoint":
        return workflow_of(graph, is_sync=is_sync, **given)
    builder = StateGraph(MessagesState, context_schema=Context)

    async def ask(state: MessagesState) -> Any:
        return await graph.ainvoke({"messages": state["messages"]})

    def ask_and_wait(state: MessagesState) -> Any:
        return graph.invoke({"messages": state["messages"]})

    called: Any = ask_and_wait if is_sync else ask
    builder.add_node("research", graph if way == "node" else called)
    builder.add_edge(START, "research")
    return builder.compile(**given)


def workflow_of(graph: Any, *, is_sync: bool, **given: Any) -> Any:
    """The same in LangGraph's functional API."""

    @entrypoint(**given, context_schema=Context)
    async def workflow(asked: dict[str, Any], *, previous: list[AnyMessage] | None) -> list[AnyMessage]:
        state = await graph.ainvoke({"messages": [*(previous or []), *asked["messages"]]})
        messages: list[AnyMessage] = state["messages"]
        return messages

    @entrypoint(**given, context_schema=Context)
    def waiting_workflow(asked: dict[str, Any], *, previous: list[AnyMessage] | None) -> list[AnyMessage]:
        messages: list[AnyMessage] = graph.invoke({"messages": [*(previous or []), *asked["messages"]]})["messages"]
        return messages

    return waiting_workflow if is_sync else workflow


async def turn(parent: Any, message: Any, run: Lab, *, is_sync: bool) -> tuple[Any, list[str]]:
    """The last value of the parent after one turn, and the types of the packets."""
    asked = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
    settings = {"context": run.context, "stream_mode": ["custom", "values"], "subgraphs": True, "version": "v2"}
    if is_sync:
        parts = list(parent.stream(asked, THREAD, **settings))
    else:
        parts = [part async for part in parent.astream(asked, THREAD, **settings)]
    packets = [part["data"]["type"] for part in parts if part["type"] == "custom"]
    return [part["data"] for part in parts if part["type"] == "values" and not part["ns"]][-1], packets


def texts(value: Any) -> list[str]:
    messages = value["messages"] if isinstance(value, dict) else value
    return [message.text for message in messages]


@pytest.mark.parametrize(("way", "is_sync", "saver", "has_store"), COMBINATIONS)
async def test_it_asks_back_resumes_and_takes_a_second_turn_within_another_graph(
    tmp_path: Path, way: Way, is_sync: bool, saver: str, has_store: bool
) -> None:
    run = scripted(tmp_path)
    async with opened_saver(saver, tmp_path / "parent.sqlite", is_sync=is_sync) as checkpointer:
        given = {"checkpointer": checkpointer, "store": InMemoryStore() if has_store else None}
        # For each turn a process of its own could be at work.
        parents = [parent_of(build_graph(), way, is_sync=is_sync, **given) for _ in TURNS]
        _, packets = await turn(parents[0], TURNS[0], run, is_sync=is_sync)
        assert {"message_delta", "stop"} <= set(packets)
        snapshot = parents[0].get_state(THREAD) if is_sync else await parents[0].aget_state(THREAD)
        assert [one.value["question"] for one in snapshot.interrupts] == [ASKED]
        value, packets = await turn(parents[1], TURNS[1], run, is_sync=is_sync)
        assert texts(value)[-1].startswith("The Skerry Light was lit in 1844. [1]\n\n## Sources")
        assert {"research_agent_start", "citation_info", "stop"} <= set(packets)
        value, _ = await turn(parents[2], TURNS[2], run, is_sync=is_sync)
        assert texts(value)[-1].startswith("Ada Moran kept the Skerry Light. [1]\n\n## Sources")
        assert len(texts(value)) == 2 * len(TURNS)
    assert run.all_used()


async def test_a_node_that_keeps_its_state_follows_up_on_what_it_found(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    parent = parent_of(build_graph(checkpointer=True), "node", is_sync=False, checkpointer=InMemorySaver())
    for message in TURNS:
        await turn(parent, message, run, is_sync=False)
    kept = await parent.aget_state({"configurable": {"thread_id": "parent", "checkpoint_ns": "research"}})
    assert kept.values["run"].entry == "follow_up"
    assert {"Skerry Light", "Ada Moran"} <= {source.title for source in kept.values["sources"].values()}


async def test_the_state_of_a_waiting_node_is_read_through_its_parent(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    parent = parent_of(build_graph(), "node", is_sync=False, checkpointer=InMemorySaver())
    await turn(parent, QUESTION, run, is_sync=False)
    snapshot = await parent.aget_state(THREAD, subgraphs=True)
    assert snapshot.tasks[0].state.values["run"].status == "waiting"


async def test_the_builders_graph_is_a_node_as_it_is(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    parent = parent_of(build_orchestrated_graph().compile(), "node", is_sync=False, checkpointer=InMemorySaver())
    for message in TURNS:
        value, _ = await turn(parent, message, run, is_sync=False)
    assert texts(value)[-1].startswith("Ada Moran kept the Skerry Light. [1]\n\n## Sources")


async def test_a_node_keeps_page_texts_in_its_own_file_where_its_parent_has_no_store(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    async with opened_saver("sqlite", tmp_path / "parent.sqlite", is_sync=False) as checkpointer:
        parent = parent_of(graph, "node", is_sync=False, checkpointer=checkpointer)
        for message in TURNS[:2]:
            value, _ = await turn(parent, message, run, is_sync=False)
    assert texts(value)[-1].startswith("The Skerry Light was lit in 1844. [1]")
    assert graph.store and "1844" in str(await graph.store.asearch(("parent", "pages")))


@pytest.mark.parametrize("way", WAYS)
async def test_the_log_of_a_nested_run_is_whole_when_its_turn_ends(tmp_path: Path, way: Way) -> None:
    run, store = scripted(tmp_path), InMemoryStore()
    parent = parent_of(build_graph(), way, is_sync=False, checkpointer=InMemorySaver(), store=store)
    await turn(parent, QUESTION, run, is_sync=False)
    notes = [item.value for item in await store.asearch(("parent", "pages"), limit=100)]
    logged = [packet["type"] for note in notes for packet in note.get("packets", ())]
    assert "message_delta" in logged and logged[-1] == "stop"
    assert not any(note.get("words") for note in notes)


async def test_without_a_checkpointer_a_node_states_its_assumptions(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    value, _ = await turn(parent_of(build_graph(), "node", is_sync=False), QUESTION, run, is_sync=False)
    assert ASKED in texts(value)[-1]


async def test_called_in_a_node_it_takes_settings_beside_the_context_of_the_parent(tmp_path: Path) -> None:
    run = scripted(tmp_path)
    graph = build_graph()

    async def ask(state: MessagesState) -> Any:
        return await graph.ainvoke({"messages": state["messages"]}, context=run.context)

    builder = StateGraph(MessagesState, context_schema=Tenant)
    builder.add_node("research", ask)
    builder.add_edge(START, "research")
    state = await builder.compile().ainvoke({"messages": [HumanMessage(QUESTION)]}, context=Tenant("a"))
    assert texts(state)[-1].startswith("The Skerry Light was lit in 1844. [1]")
