"""Settings that stand in LangGraph's `configurable`: read as those of `context`, also in a node of another graph."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab import QUESTION, Lab, lab
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore

from deep_research import Context
from deep_research.app.embed import build_graph, compile_graph
from deep_research.core.run.errors import UnknownSetting

ASKED: Any = {"messages": [HumanMessage(QUESTION)]}
FOREIGN = {"model": "gpt-5", "docz": 1, "thread_id": "t", "user_id": 7, "langgraph_mine": "x"}
"""Keys of LangGraph and of the app, some of which are like ours."""


@dataclass
class Own:
    """The context of an app."""

    tenant: str = "a"


def settings(run: Lab) -> dict[str, Any]:
    return {"models": run.models, "docs": [str(run.folder)], **run.settings, "limits": {"whole_characters": 0}}


def parent(child: Any) -> CompiledStateGraph[Any, Any, Any, Any]:
    graph = StateGraph(MessagesState, context_schema=Own)
    graph.add_node("research", child)
    graph.add_edge(START, "research")
    return graph.compile()


@pytest.mark.parametrize("kind", ["graph", "plain", "node"])
async def test_settings_are_read_beside_the_keys_of_others(tmp_path: Path, kind: str) -> None:
    run = lab(tmp_path)
    graphs: dict[str, Any] = {
        "graph": build_graph,
        "plain": lambda: compile_graph("orchestrated").copy({"store": InMemoryStore()}),
        "node": lambda: parent(build_graph()),
    }
    context: Any = {"context": Own()} if kind == "node" else {}
    state = await graphs[kind]().ainvoke(ASKED, {"configurable": {**FOREIGN, **settings(run)}}, **context)
    assert state["messages"][-1].text.startswith("The Skerry Light was lit in 1844. [1]")
    assert "lighthouse.md" in state["messages"][-1].text


def test_what_stands_in_both_has_to_be_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # What comes from the environment is given in neither.
    monkeypatch.setenv("DEEP_RESEARCH_LANGUAGE", "French")
    run, graph = lab(tmp_path), build_graph()
    both: RunnableConfig = {"configurable": {**settings(run), "language": "English"}}
    state = graph.invoke(ASKED, both, context=Context(docs=[run.folder]))
    assert "## Sources" in state["messages"][-1].text
    with pytest.raises(UnknownSetting, match=r"^docs: `context` and `configurable` give different values"):
        graph.invoke(ASKED, both, context=Context(docs=[tmp_path]))
    with pytest.raises(UnknownSetting, match=r"^Wrong settings: verify: .*given: 'maybe'"):
        graph.invoke(ASKED, {"configurable": {"verify": "maybe"}}, context={"docs": [run.folder]})


async def test_the_clients_of_a_server_can_only_narrow_what_its_operator_allows(tmp_path: Path) -> None:
    run = lab(tmp_path)
    # So LangGraph's server marks a run; there its clients fill `configurable`.
    served = {"graph_id": "parent", "assistant_id": "a", "mcp": {"x": {"command": str(tmp_path / "never")}}}
    with pytest.raises(UnknownSetting, match=r"docs: .* is none of the folders and files that may be searched"):
        configurable = {**served, "docs": [str(run.folder)]}
        await parent(build_graph()).ainvoke(ASKED, {"configurable": configurable}, context=Own())
