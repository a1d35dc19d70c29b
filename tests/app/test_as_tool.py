"""The whole research inside another agent: report, thread, packets, limit, and how it ends."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.models import HeardCalls, ScriptedChatModel, call, calls
from kit.packets import faults_before_stop
from kit.runs import QUESTION, REPORT, Lab, gate, lab, search
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from deep_research import build_graph, deep_research_tool
from deep_research.app.stream import read_packet

ASKED = {"messages": [HumanMessage("Tell me of the light.")]}
CALLER = {"configurable": {"thread_id": "caller"}}


def tool_of(run: Lab, **settings: Any) -> BaseTool:
    """The tool with the models, documents and settings of a lab."""
    own = {**run.settings, "limits": run.context.limits}
    return deep_research_tool(
        **{"models": dict(run.models), "docs": [run.folder], **own, **settings}
    )


def agent(
    tool: BaseTool, questions: Sequence[str] = (QUESTION,), saver: InMemorySaver | None = None
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """A small agent that calls the tool for each of the questions in one message, and then is done."""
    asked = calls(
        *(
            call(tool.name, id=f"ask-{number}", question=text)
            for number, text in enumerate(questions, 1)
        )
    )
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
    """The answers of the tool; checks that the agent has finished after them."""
    assert state["messages"][-1].text == "Done."
    return [message for message in state["messages"] if isinstance(message, ToolMessage)]


async def run_agent(graph: Any, how: str, config: Any = CALLER) -> dict[str, Any]:
    """Run the agent, `sync` or `async`."""
    return await (
        asyncio.to_thread(graph.invoke, ASKED, config)
        if how == "sync"
        else graph.ainvoke(ASKED, config)
    )


@pytest.mark.behaviour("A-82")
async def test_packets_and_usage_are_sent_under_the_call(tmp_path: Path) -> None:
    *nested, done = [
        part async for part in agent(tool_of(lab(tmp_path))).astream(ASKED, stream_mode="custom")
    ]
    assert {(part["type"], part["tool_call_id"]) for part in nested} == {("deep_research", "ask-1")}
    *packets, stop = [read_packet(part["packet"]) for part in nested]
    assert faults_before_stop(packets, is_whole=True) == []
    assert (stop.type, stop.placement.turn_index) == ("stop", packets[-1].placement.turn_index)
    roles = ["clarifier", "planner", "orchestrator", "researcher", "writer", "verifier"]
    assert [used["role"] for used in done.pop("usage")] == roles
    assert done == {
        "type": "tool_done",
        "tool_call_id": "ask-1",
        "name": "deep_research_tool",
        "tool_calls": 1,
        "status": "completed",
    }


@pytest.mark.sweep
@pytest.mark.behaviour("A-81")
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_the_caller_gets_the_report_and_its_callbacks_see_the_research_but_only_the_answer_is_stored(
    tmp_path: Path, how: str
) -> None:
    saver, heard, run = InMemorySaver(), HeardCalls(), lab(tmp_path)
    graph = agent(tool_of(run), saver=saver)
    seen = {"callbacks": [heard], "tags": ["of-caller"], "metadata": {"team": "lights"}}
    [answer] = answers(await run_agent(graph, how, {**CALLER, **seen}))
    result = answer.artifact
    assert answer.text.startswith("The Skerry Light was lit in 1844. [1]\n\n## Sources\n\n- [1] ")
    assert (answer.status, answer.name, result["report"]) == (
        "success",
        "deep_research_tool",
        answer.text,
    )
    assert [(source["n"], source["title"]) for source in result["sources"]] == [(1, "Skerry Light")]
    assert result["sources"][0]["location"] in answer.text
    assert (result["tool_calls"], result["status"]) == (1, "completed")
    made = {role: len(model.calls) for role, model in run.models.items()}
    assert {used["role"]: used["calls"] for used in result["usage"]} == made
    assert all(used["input_tokens"] > 0 and used["usd"] == 0 for used in result["usage"])
    kept = [entry.config["configurable"] for entry in saver.list(None)]
    assert {(config["thread_id"], config["checkpoint_ns"]) for config in kept} == {("caller", "")}
    assert len(kept) == 5
    # Callbacks of the caller see the research too, with the caller's tags and the research's own
    # thread.
    assert len(heard.models) == 2 + sum(made.values())
    assert all(
        "of-caller" in tags and metadata["team"] == "lights" for tags, metadata in heard.models
    )
    assert [metadata["thread_id"] == "caller" for _, metadata in heard.models].count(True) == 2
    [stored] = answers(graph.get_state(CALLER).values)  # type: ignore[arg-type]  # a dict is as good a config
    assert stored.artifact == json.loads(json.dumps(result)) == result


@pytest.mark.slow
@pytest.mark.behaviour("A-81")
async def test_the_51st_call_of_a_tool_is_refused(tmp_path: Path) -> None:
    endless = [search(f"Skerry Light {number}") for number in range(51)]
    run = lab(
        tmp_path,
        researcher=[*endless, REPORT, "It was lit in 1844. [1]"],
        limits={"max_iterations": 60},
    )
    [answer] = answers(await agent(tool_of(run)).ainvoke(ASKED))
    assert (answer.artifact["tool_calls"], answer.artifact["status"]) == (50, "completed_with_gaps")
    results = [
        message.text
        for message in run.calls("researcher")[-1].messages
        if isinstance(message, ToolMessage)
    ]
    refused = [
        number
        for number, text in enumerate(results, 1)
        if "no tool calls are left (max_tool_calls)" in text
    ]
    assert refused == [51]


@pytest.mark.behaviour("A-83")
async def test_the_tool_makes_the_same_model_calls_as_the_graph(tmp_path: Path) -> None:
    plain, inside = lab(tmp_path, clarify="assume"), lab(tmp_path)
    state = await plain.ask()
    [answer] = answers(await agent(tool_of(inside)).ainvoke(ASKED))
    assert answer.text == state.messages[-1].text
    for role in plain.models:
        # Fence names are derived from the question's id.
        first, other = (
            [re.sub(r"data-\w+", "data", c.text) for c in made.calls(role)]
            for made in (plain, inside)
        )
        assert first == other


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_outside_a_graph_the_answer_is_plain_text(tmp_path: Path, how: str) -> None:
    tool = tool_of(lab(tmp_path), models="extractive")
    for given in ({"question": "When was the Skerry Light lit?"}, "When was the Skerry Light lit?"):
        text = (
            await asyncio.to_thread(tool.invoke, given)
            if how == "sync"
            else await tool.ainvoke(given)
        )
        assert "1844. [1]" in text and "\n[1]: <file://" in text
    text = await asyncio.to_thread(tool.invoke, " ") if how == "sync" else await tool.ainvoke(" ")
    assert "The research failed: " in text


@pytest.mark.fault(48)
@pytest.mark.parametrize(
    ("how", "question", "script", "settings", "words"),
    [
        ("sync", QUESTION, {}, {"docs": ["/nowhere"]}, "/nowhere"),
        ("async", "  ", {}, {}, "The question is empty"),
        ("async", QUESTION, {"planner": ["", ""]}, {}, "plan"),
    ],
)
async def test_a_failure_is_one_line(
    tmp_path: Path,
    how: str,
    question: str,
    script: dict[str, Any],
    settings: dict[str, Any],
    words: str,
) -> None:
    tool = tool_of(lab(tmp_path, **script), **settings)
    [answer] = answers(await run_agent(agent(tool, [question]), how))
    assert answer.status == "error"
    assert answer.text.startswith("The research failed: ") and words in answer.text
    assert len(answer.text.splitlines()) == 1
    assert (answer.artifact["status"], answer.artifact["report"]) == ("failed", "")


async def test_a_clarifying_question_is_returned_with_the_thread_on_which_to_answer(
    tmp_path: Path,
) -> None:
    run, saver = lab(tmp_path, clarifier=["Which light?"]), InMemorySaver()
    [answer] = answers(await agent(tool_of(run, clarify="ask", checkpointer=saver)).ainvoke(ASKED))
    assert (answer.text, answer.artifact["status"]) == ("Which light?", "waiting_for_user")
    run.graph, run.thread, run.books = (
        build_graph(checkpointer=saver),
        answer.artifact["thread"],
        None,
    )
    assert (await run.ask("The Skerry Light.")).report


@pytest.mark.fault(45)
async def test_cancelling_the_agent_cancels_the_research(tmp_path: Path) -> None:
    began, ended, wait = gate()
    graph = agent(tool_of(lab(tmp_path, researcher=[wait])))
    running = asyncio.create_task(graph.ainvoke(ASKED))
    await asyncio.to_thread(began.wait, 60.0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await asyncio.to_thread(ended.wait, 60.0)
