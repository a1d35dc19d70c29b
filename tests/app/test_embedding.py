"""The graph in an app: calls, settings, a first run, and the types that an app is checked against."""

from __future__ import annotations

import asyncio
import inspect
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from kit.runs import QUESTION, Lab, gate, lab, simple_research
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command
from pydantic import TypeAdapter, ValidationError

import deep_research
from deep_research import Context, Settings
from deep_research.app._edits import EditRefused
from deep_research.app.embed import ResearchGraph, build_graph, compile_graph, thread_config
from deep_research.core.errors import SyncCallRefused, UnknownSetting
from deep_research.core.store._packing import page_namespace
from deep_research.core.store.location import thread_id
from deep_research.state import ResearchState

HANGS_AFTER = 60.0
"""Seconds after which a run counts as hanging."""
ASKED: Any = {"messages": [HumanMessage(QUESTION)]}
FOREIGN = {"model": "gpt-5", "docz": 1, "thread_id": "t", "user_id": 7, "langgraph_mine": "x"}
"""Keys of LangGraph and of the app; some resemble ours."""
APP = """
import asyncio
from pathlib import Path
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.types import StateSnapshot

from deep_research import Answer, Context, Limits, aresearch, build_graph, deep_research_tool, packets, research

context = Context(docs=["documents"], models="extractive", limits={"max_cycles": 4})
other = Context(docs=[Path("documents")], limits=Limits(max_cycles=4))
docs: tuple[Path, ...] = context.docs
answer: Answer = research("When?", docs=["documents"], published_after="2024-01-01")
planned = research("When?", "planned", models={"writer": "openai:gpt-5-mini"}, clarify="off")
later: Answer = asyncio.run(aresearch("When?", docs="documents"))
tool = deep_research_tool(docs=["documents"], max_tool_calls=5)
for packet in packets(build_graph(), "When?", context=context):
    print(packet.placement.turn_index, answer.markdown, answer.sources[0].title)

graph = build_graph(checkpointer="runs.sqlite")
thread: RunnableConfig = {"configurable": {"thread_id": "light"}}
for part in graph.stream({"messages": []}, thread, context=context, stream_mode="custom", version="v2"):
    print(part["type"])
state: StateSnapshot = graph.get_state(thread)


async def main() -> None:
    async for part in graph.astream({"messages": []}, thread, stream_mode=["custom", "values"]):
        print(part)
    values: dict[str, Any] = await graph.ainvoke({"messages": []}, thread)
    state: StateSnapshot = await graph.aget_state(thread)
    print(values, state.next)
"""
WRONG = """
from deep_research import Context, aresearch, build_graph, research

Context(dosc=["documents"])
research("When?", clarify="never")
research("When?", modles="extractive")
build_graph().stream({"messages": []}, stream_mode="custum")
build_graph().aget_state({"configurable": {}}).values
"""


def parts(run: Lab, message: Any = QUESTION, **settings: Any) -> list[Any]:
    given = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
    return list(
        run.graph.stream(given, thread_config("t"), context=run.context, version="v2", **settings)
    )


async def test_sync_and_async_work_inside_a_running_loop(tmp_path: Path) -> None:
    for checkpointer in (InMemorySaver(), tmp_path / "runs.sqlite"):
        sync = lab(tmp_path, graph=build_graph(checkpointer=checkpointer))
        assert [part["type"] for part in parts(sync, stream_mode="updates")]
        assert sync.graph.get_state(thread_config("t")).values["report"]
        state = await lab(tmp_path, graph=sync.graph).ask()
        assert state.report


def test_a_plain_script_is_asked_and_answers_and_edits_the_state_as_json_but_not_wrongly(
    tmp_path: Path,
) -> None:
    run = lab(
        tmp_path,
        clarifier=["Which light?"],
        graph=build_graph(checkpointer=tmp_path / "runs.sqlite"),
    )
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
    before, config = state.values, thread_config("t")
    shown = json.loads(TypeAdapter(ResearchState).dump_json(ResearchState(**before)))
    shown["plan"]["text"], shown["transcript"][0]["content"] = "1. Another", "Another thought"
    run.graph.update_state(config, shown)
    after = run.graph.get_state(config).values
    known = ResearchState(**before)
    assert {name for name, value in after.items() if value != getattr(known, name)} == {
        "plan",
        "transcript",
    }
    assert after["plan"] == before["plan"].model_copy(update={"text": "1. Another"})
    assert after["transcript"][0].text == "Another thought"
    assert len(after["transcript"]) == len(before["transcript"]) > 1
    wide = {"scope": {"docs": ["/etc"]}}
    task = {
        "id": "t",
        "question_id": "q",
        "cycle": 0,
        "position": 0,
        "text": "?",
        "turn": 0,
        "seconds": 1,
    }
    for wider in (
        {"run": shown["run"] | wide},
        {"tasks": [{"date": "", "language": "", **task, **wide}]},
    ):
        with pytest.raises(EditRefused, match="scope"):
            run.graph.update_state(config, wider)
    with pytest.raises(EditRefused, match=r"findings\.x: .* \(given: 'no finding'\)"):
        run.graph.update_state(config, {"findings": {"x": "no finding"}})
    assert run.graph.get_state(config).values == after


@pytest.mark.fault(45)
def test_leaving_a_sync_stream_early_cancels_the_run(tmp_path: Path) -> None:
    began, ended, wait = gate()
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    run = lab(tmp_path, researcher=[wait, *simple_research()], graph=graph)
    modes: Any = {"stream_mode": "custom", "subgraphs": True, "version": "v2"}
    # LangGraph annotates the stream as an iterator.
    stream: Any = run.graph.stream(ASKED, thread_config("t"), context=run.context, **modes)
    for part in stream:
        if part["data"]["type"] == "research_agent_start":
            break
    assert began.wait(HANGS_AFTER)
    stream.close()
    assert ended.wait(HANGS_AFTER)
    parts(run, None)
    assert run.graph.get_state(thread_config("t")).values["report"]


def test_an_unknown_setting_is_one_line_that_names_it(tmp_path: Path) -> None:
    # Type checkers find it too: mypy would report an unused `ignore`.
    with pytest.raises(UnknownSetting, match="modles"):
        deep_research.research(QUESTION, modles="extractive")  # type: ignore[call-arg]  # the mistake
    run = lab(tmp_path)
    with pytest.raises(
        UnknownSetting,
        match=r"^Wrong settings: modles: .* such setting \(did you mean models\?\)\.$",
    ):
        list(
            run.graph.stream(
                {"messages": [HumanMessage("x")]},
                thread_config("t"),
                context={"modles": "extractive"},
            )
        )
    with pytest.raises(UnknownSetting, match=r"limit max_cycles: .*\(given: 0\)"):
        run.graph.invoke({"messages": [HumanMessage("x")]}, context={"limits": {"max_cycles": 0}})
    mistaken: dict[str, Any]
    for mistaken, right in (
        ({"model": "extractive"}, "models"),
        ({"limits": {"max_cycle": 4}}, "max_cycles"),
    ):
        with pytest.raises(ValidationError, match=rf"did you mean {right}\?"):
            deep_research.Context(**mistaken)


async def test_sync_calls_are_refused_on_the_event_loop_of_the_checkpointer(tmp_path: Path) -> None:
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "own.sqlite")) as saver:
        run = lab(tmp_path, graph=build_graph(checkpointer=saver))
        assert (await run.ask()).report
        with pytest.raises(SyncCallRefused, match=r"async methods.*build_graph"):
            run.graph.get_state(thread_config("lab"))


@pytest.mark.sweep
@pytest.mark.parametrize("how", ["sync", "async"])
async def test_research_answers_a_question_in_one_call(tmp_path: Path, how: str) -> None:
    run = lab(tmp_path)
    given = deep_research.Settings(
        models=dict(run.models), docs=[run.folder], limits={"whole_characters": 0}
    )
    if how == "async":
        answer = await deep_research.aresearch(QUESTION, **given)
    else:
        answer = await asyncio.to_thread(lambda: deep_research.research(QUESTION, **given))
    assert answer.report.text == "The Skerry Light was lit in 1844. [1]"
    assert [Path(source.location).name for source in answer.sources] == ["lighthouse.md"]
    assert answer.markdown.endswith("lighthouse.md>")


@pytest.mark.fault(55)
@pytest.mark.behaviour("O-17", "O-18", "O-64")
async def test_the_plan_is_kept_word_for_word_and_page_texts_are_only_in_the_store(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, planner=["1. First thing\n2. Second thing"])
    state = await run.ask()
    assert state.plan and state.plan.steps == ("First thing", "Second thing")
    assert "1. First thing\n2. Second thing" in run.calls("orchestrator")[0].messages[0].text
    final = run.calls("writer")[0]
    assert "1. First thing\n2. Second thing" in final.messages[-1].text
    assert (final.tools, final.settings["max_tokens"], final.settings["tool_choice"]) == (
        ("calculate",),
        20_000,
        "auto",
    )
    assert state.report
    source = state.sources[state.report.sources[0]]
    item = await run.graph.page_store.aget(
        page_namespace(thread_id(run.thread)), source.content_hash
    )
    assert item and "stands 38 metres tall" in item.value["text"]
    assert "stands 38 metres tall" not in repr(state)


@dataclass
class Own:
    """The context of an app."""

    tenant: str = "a"


def settings(run: Lab) -> dict[str, Any]:
    return {
        "models": run.models,
        "docs": [str(run.folder)],
        **run.settings,
        "limits": {"whole_characters": 0},
    }


@pytest.mark.sweep
@pytest.mark.parametrize("kind", ["graph", "plain", "node"])
async def test_settings_in_configurable_are_read_and_the_keys_of_others_are_ignored(
    tmp_path: Path, kind: str
) -> None:
    graph: Any = build_graph()
    run, context = lab(tmp_path), dict[str, Any]()
    if kind == "plain":
        graph = compile_graph("orchestrated").copy({"store": InMemoryStore()})
    elif kind == "node":
        parent, context = StateGraph(MessagesState, context_schema=Own), {"context": Own()}
        parent.add_node("research", graph)
        parent.add_edge(START, "research")
        graph = parent.compile()
    state = await graph.ainvoke(ASKED, {"configurable": {**FOREIGN, **settings(run)}}, **context)
    assert state["messages"][-1].text.startswith("The Skerry Light was lit in 1844. [1]")
    assert "lighthouse.md" in state["messages"][-1].text


def test_context_and_configurable_must_not_contradict_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Values from the environment count as given in neither.
    monkeypatch.setenv("DEEP_RESEARCH_LANGUAGE", "French")
    run, graph = lab(tmp_path), build_graph()
    both: RunnableConfig = {"configurable": {**settings(run), "language": "English"}}
    state = graph.invoke(ASKED, both, context=Context(docs=[run.folder]))
    assert "## Sources" in state["messages"][-1].text
    with pytest.raises(
        UnknownSetting, match=r"^docs: `context` and `configurable` give different values"
    ):
        graph.invoke(ASKED, both, context=Context(docs=[tmp_path]))
    with pytest.raises(UnknownSetting, match=r"^Wrong settings: verify: .*given: 'maybe'"):
        graph.invoke(ASKED, {"configurable": {"verify": "maybe"}}, context={"docs": [run.folder]})


UNTYPED = """[mypy]
strict = true
[mypy-deep_research.*]
follow_imports = silent
[mypy-IPython.*,PIL.*,_pytest.*,anyio.*,babel.*,click.*,cryptography.*,httpx.*,idna.*,jinja2.*,\
langchain_text_splitters.*,langgraph.checkpoint.postgres.*,langgraph.store.postgres.*,langgraph_sdk.*,langsmith.*,\
markdown_it.*,matplotlib.*,numpy.*,openai.*,opentelemetry.*,platformdirs.*,prompt_toolkit.*,psycopg.*,psycopg_pool.*,\
requests.*,rich.*,starlette.*,tenacity.*,tornado.*,websockets.*,\
deep_research.core.evidence.*,deep_research.core.library.*,deep_research.core.models.*,deep_research.core.reading.*,\
deep_research.core.store.*,deep_research.core.writing.*,deep_research.nodes.*,deep_research.tools.*]
follow_imports = skip
follow_imports_for_stubs = true
"""
"""Settings of mypy: an app's types do not depend on these packages and rooms, which take most of
the time; `make check` finds errors in ours."""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_an_app_passes_strict_type_checks_and_wrong_settings_are_found(
    tmp_path: Path, cache: pytest.Cache
) -> None:
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "wrong.py").write_text(WRONG)
    (tmp_path / "mypy.ini").write_text(UNTYPED)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        "mypy.ini",
        "--cache-dir",
        str(cache.mkdir("mypy")),
        "--python-executable",
        sys.executable,
        "app.py",
        "wrong.py",
    ]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    errors = [
        line.partition(" error: ")[::2] for line in result.stdout.splitlines() if " error: " in line
    ]
    assert [(position, words.split(";")[0].split("  ")[0]) for position, words in errors] == [
        ("wrong.py:4:", 'Unexpected keyword argument "dosc" for "Context"'),
        (
            "wrong.py:5:",
            'Argument "clarify" to "research" has incompatible type "Literal[\'never\']"',
        ),
        ("wrong.py:6:", 'Unexpected keyword argument "modles" for "research"'),
        (
            "wrong.py:7:",
            'Argument "stream_mode" to "stream" of "Pregel" has incompatible type '
            "\"Literal['custum']\"",
        ),
        ("wrong.py:8:", '"Coroutine[Any, Any, StateSnapshot]" has no attribute "values"'),
    ], result.stdout


async def test_a_graph_has_no_store_of_its_own_where_a_server_lends_one(tmp_path: Path) -> None:
    graph = build_graph()
    # LangGraph's development server refuses a graph that has either.
    assert graph.store is None and graph.checkpointer is None
    assert graph.with_config({"tags": ["mine"]}).page_store is graph.page_store
    lent = InMemoryStore()
    served = graph.copy({"store": lent, "checkpointer": InMemorySaver()})
    state = await lab(tmp_path, graph=served).ask()
    assert state.report and lent.list_namespaces(prefix=()) and served.page_store is lent
    memory = graph.page_store
    assert isinstance(memory, InMemoryStore) and not memory.list_namespaces(prefix=())


@pytest.mark.parametrize("name", ["stream", "astream", "invoke", "aget_state", "update_state"])
def test_the_methods_of_a_graph_show_the_parameters_of_langgraphs_own(name: str) -> None:
    own, theirs = getattr(ResearchGraph, name), getattr(CompiledStateGraph, name)
    assert inspect.signature(own) == inspect.signature(theirs)
    assert own.__doc__ == theirs.__doc__


def test_the_settings_for_type_checkers_are_the_fields_of_the_context() -> None:
    assert Settings.__annotations__.keys() == Context.model_fields.keys()
