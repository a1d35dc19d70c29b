"""The graph in an app: sync and async, inside and outside of a running loop, left early, asked wrongly."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from held import gate
from lab import QUESTION, Lab, lab, simple_research
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command
from pydantic import TypeAdapter, ValidationError

import deep_research
from deep_research.app.edits import EditRefused
from deep_research.app.embed import build_graph, thread_config
from deep_research.core.run.errors import SyncCallRefused, UnknownSetting
from deep_research.state import ResearchState

HANGS_AFTER = 60.0
"""Seconds after which a run that does not begin or end is taken to hang."""


def parts(run: Lab, message: Any = QUESTION, **settings: Any) -> list[Any]:
    given = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
    return list(run.graph.stream(given, thread_config("t"), context=run.context, version="v2", **settings))


@pytest.mark.parametrize("kind", ["memory", "file", "none"])
def test_a_plain_script_streams_with_any_checkpointer(tmp_path: Path, kind: str) -> None:
    savers = {"memory": InMemorySaver(), "file": tmp_path / "runs.sqlite", "none": None}
    run = lab(tmp_path, graph=build_graph(checkpointer=savers[kind]))
    nodes = [node for part in parts(run, stream_mode="updates") for node in part["data"]]
    assert (nodes[0], nodes[-1]) == ("begin", "verify_report")


async def test_sync_and_async_work_inside_a_running_loop(tmp_path: Path) -> None:
    for checkpointer in (InMemorySaver(), tmp_path / "runs.sqlite"):
        sync = lab(tmp_path, graph=build_graph(checkpointer=checkpointer))
        assert [part["type"] for part in parts(sync, stream_mode="updates")]
        assert sync.graph.get_state(thread_config("t")).values["report"]
        state = await lab(tmp_path, graph=sync.graph).ask()
        assert state.report


def test_pause_and_answer_work_in_a_plain_script(tmp_path: Path) -> None:
    run = lab(tmp_path, clarifier=["Which light?"], graph=build_graph(checkpointer=tmp_path / "runs.sqlite"))
    last = parts(run, stream_mode="updates")[-1]
    asked = last["data"]["__interrupt__"][0].value
    assert (asked["type"], asked["question"]) == ("clarification", "Which light?")
    parts(run, Command(resume="The Skerry Light"))
    state = run.graph.get_state(thread_config("t"))
    assert state.next == ()
    assert state.values["report"].text == "The Skerry Light was lit in 1844. [1]"
    history = list(run.graph.get_state_history(thread_config("t")))
    assert history[0].values["report"] == state.values["report"]
    assert len(history) > 5


def test_the_state_is_edited_by_the_json_that_shows_it_and_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    run = lab(tmp_path, graph=build_graph(checkpointer=tmp_path / "runs.sqlite"))
    place = thread_config("t")
    parts(run)
    before = run.graph.get_state(place).values
    shown = json.loads(TypeAdapter(ResearchState).dump_json(ResearchState(**before)))
    shown["plan"]["text"], shown["transcript"][0]["content"] = "1. Another", "Another thought"
    run.graph.update_state(place, shown)
    after = run.graph.get_state(place).values
    assert {name for name, value in after.items() if value != before[name]} == {"plan", "transcript"}
    assert after["plan"] == before["plan"].model_copy(update={"text": "1. Another"})
    assert after["transcript"][0].text == "Another thought"
    assert len(after["transcript"]) == len(before["transcript"]) > 1
    wide = {"scope": {"docs": ["/etc"]}}
    task = {"id": "t", "question_id": "q", "cycle": 0, "position": 0, "text": "?", "turn": 0, "seconds": 1}
    for wider in ({"run": shown["run"] | wide}, {"tasks": [{"date": "", "language": "", **task, **wide}]}):
        with pytest.raises(EditRefused, match="scope"):
            run.graph.update_state(place, wider)
    with pytest.raises(EditRefused, match=r"findings\.x: .* \(given: 'no finding'\)"):
        run.graph.update_state(place, {"findings": {"x": "no finding"}})
    assert run.graph.get_state(place).values == after


def test_invoke_returns_messages_and_report_alone(tmp_path: Path) -> None:
    run = lab(tmp_path)
    result = run.graph.invoke({"messages": [HumanMessage(QUESTION)]}, thread_config("t"), context=run.context)
    assert set(result) == {"messages", "report"}


@pytest.mark.fault(45)
def test_leaving_a_sync_stream_early_cancels_the_run(tmp_path: Path) -> None:
    began, ended, wait = gate()
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    run = lab(tmp_path, researcher=[wait, *simple_research()], graph=graph)
    stream = run.graph.stream(
        {"messages": [HumanMessage(QUESTION)]},
        thread_config("t"),
        context=run.context,
        stream_mode="custom",
        subgraphs=True,
        version="v2",
    )
    for part in stream:
        if part["data"]["type"] == "research_agent_start":
            break
    assert began.wait(HANGS_AFTER)
    stream.close()
    assert ended.wait(HANGS_AFTER)
    parts(run, None)
    assert run.graph.get_state(thread_config("t")).values["report"]


def test_the_settings_for_type_checkers_are_those_that_there_are() -> None:
    assert deep_research.Settings.__annotations__.keys() == deep_research.Context.model_fields.keys()


def test_an_unknown_setting_is_one_line_that_names_it(tmp_path: Path) -> None:
    # A type checker finds it as well: mypy complains of an `ignore` that nothing needs.
    with pytest.raises(UnknownSetting, match="modles"):
        deep_research.research(QUESTION, modles="extractive")  # type: ignore[call-arg]  # the mistake
    run = lab(tmp_path)
    with pytest.raises(UnknownSetting, match=r"^Wrong settings: modles: .* such setting \(did you mean models\?\)\.$"):
        list(run.graph.stream({"messages": [HumanMessage("x")]}, thread_config("t"), context={"modles": "extractive"}))
    with pytest.raises(UnknownSetting, match=r"limit max_cycles: .*\(given: 0\)"):
        run.graph.invoke({"messages": [HumanMessage("x")]}, context={"limits": {"max_cycles": 0}})
    mistaken: dict[str, Any]
    for mistaken, right in (({"model": "extractive"}, "models"), ({"limits": {"max_cycle": 4}}, "max_cycles")):
        with pytest.raises(ValidationError, match=rf"did you mean {right}\?"):
            deep_research.Context(**mistaken)


def test_the_package_lists_its_public_names() -> None:
    assert {*deep_research.__all__} <= {*dir(deep_research)}


async def test_a_saver_of_another_loop_is_refused_for_sync_calls_in_that_loop(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "own.sqlite")) as saver:
        run = lab(tmp_path, graph=build_graph(checkpointer=saver))
        assert (await run.ask()).report
        with pytest.raises(SyncCallRefused, match=r"async methods.*build_graph"):
            run.graph.get_state(thread_config("lab"))


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_one_line_is_enough_for_an_answer(tmp_path: Path, how: str) -> None:
    run = lab(tmp_path)
    given: deep_research.Settings = {
        "models": dict(run.models),
        "docs": [run.folder],
        "data_dir": tmp_path,
        "limits": {"whole_characters": 0},
    }
    if how == "async":
        answer = await deep_research.aresearch(QUESTION, **given)
    else:
        answer = await asyncio.to_thread(lambda: deep_research.research(QUESTION, **given))
    assert answer.report.text == "The Skerry Light was lit in 1844. [1]"
    assert [Path(source.location).name for source in answer.sources] == ["lighthouse.md"]
    assert answer.markdown.endswith("lighthouse.md>")
