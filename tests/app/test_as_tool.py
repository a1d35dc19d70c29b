"""The whole research inside another agent: its report, its thread, its packets, its limit."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from calling_agent import ASKED, CALLER, agent, answers, run_agent, tool_of
from lab import REPORT, lab, search
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from packet_check import faults_before_stop
from traceable import quotations, stands_in_its_file

from deep_research import deep_research_tool
from deep_research.app.stream import read_packet


@pytest.mark.behaviour("A-81")
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_an_agent_gets_the_report_and_what_it_took(tmp_path: Path, how: str) -> None:
    run = lab(tmp_path)
    [answer] = answers(await run_agent(agent(tool_of(run)), how))
    result = answer.artifact
    assert answer.text.startswith("The Skerry Light was lit in 1844. [1]\n\n## Sources\n\n- [1] ")
    assert (answer.status, answer.name, result["report"]) == ("success", "deep_research_tool", answer.text)
    assert [(source["n"], source["title"]) for source in result["sources"]] == [(1, "Skerry Light")]
    assert result["sources"][0]["location"] in answer.text
    assert (result["tool_calls"], result["status"]) == (1, "completed")
    made = {role: len(model.calls) for role, model in run.models.items()}
    assert {used["role"]: used["calls"] for used in result["usage"]} == made
    assert all(used["input_tokens"] > 0 and used["usd"] == 0 for used in result["usage"])
    assert json.loads(json.dumps(result)) == result


@pytest.mark.behaviour("A-81")
def test_a_plan_can_be_executed_inside_an_agent_as_well(tmp_path: Path) -> None:
    tool = tool_of(lab(tmp_path), models="extractive", strategy="planned")
    parts: Any = list(agent(tool).stream(ASKED, stream_mode=["custom", "values"]))
    custom = [part for mode, part in parts if mode == "custom"]
    [answer] = answers(parts[-1][1])
    assert all(map(stands_in_its_file, quotations(answer.text)))
    assert answer.artifact["sources"] and answer.artifact["status"].startswith("completed")
    assert {"step_started", "step_done"} <= {part["packet"]["type"] for part in custom[:-1]}
    searches = [part for part in custom[:-1] if part["packet"]["type"] == "search_tool_queries_delta"]
    assert answer.artifact["tool_calls"] == sum(len(part["packet"]["queries"]) for part in searches)


@pytest.mark.behaviour("A-82")
async def test_what_happens_is_told_under_the_call_and_then_what_it_took(tmp_path: Path) -> None:
    *nested, done = [part async for part in agent(tool_of(lab(tmp_path))).astream(ASKED, stream_mode="custom")]
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


@pytest.mark.behaviour("A-82")
async def test_what_two_calls_at_once_tell_can_be_told_apart(tmp_path: Path) -> None:
    tool = tool_of(lab(tmp_path), models="extractive")
    graph = agent(tool, ["When was the Skerry Light lit?", "Where was Ada Moran born?"])
    parts: dict[str, list[Any]] = {"custom": [], "values": []}
    async for mode, part in graph.astream(ASKED, stream_mode=["custom", "values"]):
        parts[str(mode)].append(part)
    custom, [*_, state] = parts["custom"], parts["values"]
    first, second = answers(state)
    assert "1844" in first.text and "Tralee" in second.text
    assert first.artifact["thread"] != second.artifact["thread"]
    for answer in (first, second):
        own = [part for part in custom if part["tool_call_id"] == answer.tool_call_id]
        assert [part["type"] for part in own[-2:]] == ["deep_research", "tool_done"]
        assert own[-1]["tool_calls"] == answer.artifact["tool_calls"]


class Heard(BaseCallbackHandler):
    """Notes the tags and metadata of the chat models that a caller's callbacks hear of."""

    def __init__(self) -> None:
        self.models: list[tuple[Any, Any]] = []

    def on_chat_model_start(self, *_: Any, **known: Any) -> None:
        self.models.append((known["tags"], known["metadata"]))


@pytest.mark.behaviour("A-81")
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_the_caller_sees_the_research_and_keeps_nothing_of_it_but_the_answer(tmp_path: Path, how: str) -> None:
    saver, heard, run = InMemorySaver(), Heard(), lab(tmp_path)
    graph = agent(tool_of(run), saver=saver)
    seen = {"callbacks": [heard], "tags": ["of-caller"], "metadata": {"team": "lights"}}
    state = await run_agent(graph, how, {**CALLER, **seen})
    [answer] = answers(state)
    kept = [entry.config["configurable"] for entry in saver.list(None)]
    assert {(place["thread_id"], place["checkpoint_ns"]) for place in kept} == {("caller", "")}
    assert len(kept) == 5
    # What watches the caller sees the research as well, under the caller's tags and the research's own thread.
    assert len(heard.models) == 2 + sum(len(model.calls) for model in run.models.values())
    assert all("of-caller" in tags and metadata["team"] == "lights" for tags, metadata in heard.models)
    assert [metadata["thread_id"] == "caller" for _, metadata in heard.models].count(True) == 2
    [stored] = answers(graph.get_state(CALLER).values)  # type: ignore[arg-type]  # a dict is as good a config
    assert stored.artifact == answer.artifact


@pytest.mark.behaviour("A-81")
async def test_the_51st_call_of_a_tool_is_refused(tmp_path: Path) -> None:
    endless = [search(f"Skerry Light {number}") for number in range(51)]
    run = lab(tmp_path, researcher=[*endless, REPORT, "It was lit in 1844. [1]"], limits={"max_iterations": 60})
    [answer] = answers(await agent(tool_of(run)).ainvoke(ASKED))
    assert (answer.artifact["tool_calls"], answer.artifact["status"]) == (50, "completed_with_gaps")
    results = [message.text for message in run.calls("researcher")[-1].messages if isinstance(message, ToolMessage)]
    refused = [number for number, text in enumerate(results, 1) if "no tool calls are left (max_tool_calls)" in text]
    assert refused == [51]


@pytest.mark.behaviour("A-83")
async def test_the_tool_is_another_way_into_the_very_same_graph(tmp_path: Path) -> None:
    plain, inside = lab(tmp_path, clarify="assume"), lab(tmp_path)
    state = await plain.ask()
    [answer] = answers(await agent(tool_of(inside)).ainvoke(ASKED))
    assert answer.text == state.messages[-1].text
    for role in plain.models:
        # The names of fences come from the question's id.
        one, other = ([re.sub(r"data-\w+", "data", c.text) for c in made.calls(role)] for made in (plain, inside))
        assert one == other


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_outside_of_a_graph_the_answer_is_plain_text_and_nobody_is_told(tmp_path: Path, how: str) -> None:
    tool = tool_of(lab(tmp_path), models="extractive")
    for given in ({"question": "When was the Skerry Light lit?"}, "When was the Skerry Light lit?"):
        text = await asyncio.to_thread(tool.invoke, given) if how == "sync" else await tool.ainvoke(given)
        assert "1844. [1]" in text and "\n[1]: <file://" in text


def test_a_model_is_asked_for_nothing_but_the_question() -> None:
    tool = deep_research_tool(name="look_into")
    assert tool.name == "look_into"
    assert list(tool.tool_call_schema.model_json_schema()["properties"]) == ["question"]  # type: ignore[union-attr]
