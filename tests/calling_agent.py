"""A small agent that calls the whole research as its tool."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from lab import QUESTION, Lab
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from scripted import ScriptedChatModel, call, calls

from deep_research import deep_research_tool

ASKED = {"messages": [HumanMessage("Tell me of the light.")]}
CALLER = {"configurable": {"thread_id": "caller"}}


def tool_of(run: Lab, **settings: Any) -> BaseTool:
    """The tool with the models, documents and settings of a lab."""
    own = {**run.settings, "limits": run.context.limits}
    return deep_research_tool(**{"models": dict(run.models), "docs": [run.folder], **own, **settings})


def agent(
    tool: BaseTool, questions: Sequence[str] = (QUESTION,), saver: InMemorySaver | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A small agent that calls the tool for each of the questions in one message, and then is done."""
    asked = calls(*(call(tool.name, id=f"ask-{number}", question=text) for number, text in enumerate(questions, 1)))
    model = ScriptedChatModel(replies=[asked, "Done."]).bind_tools([tool])

    def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("think", think)
    graph.add_node("tools", ToolNode([tool]))
    graph.add_edge(START, "think")
    graph.add_conditional_edges("think", tools_condition)
    graph.add_edge("tools", "think")
    return graph.compile(checkpointer=saver)


def answers(state: dict[str, Any]) -> list[ToolMessage]:
    """What the tool answered, after which the agent went on."""
    assert state["messages"][-1].text == "Done."
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


async def run_agent(graph: Any, how: str, config: Any = CALLER) -> dict[str, Any]:
    """Run the agent, `sync` or `async`."""
    if how == "sync":
        state = await asyncio.to_thread(graph.invoke, ASKED, config)
    else:
        state = await graph.ainvoke(ASKED, config)
    assert isinstance(state, dict)
    return state
