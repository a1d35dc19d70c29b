"""Clients that read LangGraph's `messages` mode, or its `values`, end with one report, whatever
happens to the run."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from kit.planned import plan, planned_lab, step
from kit.runs import REPORT, Lab, lab, research
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage
from langgraph.types import Command

from deep_research.core.dialogue.conversation import mark_of

THREAD: Any = {"configurable": {"thread_id": "chat"}}
QUESTION = "When was the Skerry Light lit?"
FIRST = "The Skerry Light, so its own page tells, was lit for the first time in 1844. [1]"
AGAIN = "In 1844 the Skerry Light was lit for the first time, as its own page says. [1]"


def orchestrated(tmp_path: Path, **settings: Any) -> Lab:
    return lab(
        tmp_path,
        planner=["1. When"],
        orchestrator=[research("When was it lit?"), REPORT, REPORT],
        writer=[FIRST, AGAIN],
        **settings,
    )


def planned(tmp_path: Path, **settings: Any) -> Lab:
    written = iter([FIRST, AGAIN])
    rules = {
        "make_plan": plan(step("Skerry Light"), step("Judge it", search=False)),
        "report": lambda _: next(written),
    }
    return planned_lab(tmp_path, rules, **settings)


@dataclass
class Client:
    """A chat client: it merges the streamed chunks by message id, and also takes the messages of
    the state."""

    merged: dict[str | None, str] = field(default_factory=dict)
    """The streamed texts by message id."""
    values: list[AnyMessage] = field(default_factory=list)
    """The messages of the latest state."""
    nodes: set[str] = field(default_factory=set)
    """The nodes that streamed."""

    async def read(self, run: Lab, message: Any, config: Any = None, **settings: Any) -> None:
        """Read the stream of a run, including inner graphs, until it ends or stops."""
        given = {"messages": [HumanMessage(message)]} if isinstance(message, str) else message
        stream: AsyncIterator[Any] = run.graph.astream(
            given,
            config or THREAD,
            context=run.context,
            stream_mode=["messages", "values"],
            subgraphs=True,
            **settings,
        )
        async for inner, mode, part in stream:
            if mode == "values" and not inner:
                self.values[:] = part["messages"]
            elif mode == "messages":
                said, about = part
                before = self.merged.get(said.id, "") if isinstance(said, AIMessageChunk) else ""
                self.merged[said.id] = before + said.text
                self.nodes.add(about["langgraph_node"])

    def reports(self, mark: str = "report") -> list[AnyMessage]:
        return [message for message in self.values if mark_of(message) == mark]

    def has_one_report(self, words: str) -> bool:
        """Whether the stream and the state show one and the same report, and it is the last
        message."""
        [report] = self.reports()
        assert self.values[-1] is report and report.text.startswith(words), report.text
        assert self.reports("draft") == []
        [(key, streamed)] = self.merged.items()
        return key == report.id and streamed.startswith(words) and "[1]: <file:" in streamed


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("make", [orchestrated, planned])
@pytest.mark.parametrize("verify", ["repair", "off"])
async def test_the_report_is_one_message_under_the_id_of_its_stream(
    tmp_path: Path, make: Any, verify: str
) -> None:
    run, chat = make(tmp_path, verify=verify), Client()
    await chat.read(run, QUESTION)
    assert chat.has_one_report(FIRST)
    assert chat.nodes == {"write_report"}, "no internal call is streamed"


@pytest.mark.sweep
@pytest.mark.parametrize("make", [orchestrated, planned])
async def test_a_run_stopped_between_writing_and_checking_ends_with_one_report(
    tmp_path: Path, make: Any
) -> None:
    run, chat = make(tmp_path), Client()
    await chat.read(run, QUESTION, interrupt_before=["verify_report"])
    [draft] = chat.reports("draft")
    # The links can be followed while the report is checked.
    assert chat.merged[draft.id].strip() == draft.text and "[1]: <file:" in draft.text
    assert chat.reports() == []
    await chat.read(run, None)
    assert chat.has_one_report(FIRST)


@pytest.mark.sweep
@pytest.mark.parametrize("make", [orchestrated, planned])
async def test_refresh_in_a_chat_client_writes_the_report_again(tmp_path: Path, make: Any) -> None:
    run, chat = make(tmp_path), Client()
    await chat.read(run, QUESTION)
    # As Agent Chat UI does it: from the parent of the first checkpoint that holds the message.
    states = [state async for state in run.graph.aget_state_history(THREAD)]
    holding = [
        state
        for state in states
        if chat.values[-1].id in [message.id for message in state.values["messages"]]
    ]
    refreshed = Client()
    await refreshed.read(run, None, holding[-1].parent_config)
    assert refreshed.has_one_report(AGAIN)
    assert refreshed.values[-1].id != chat.values[-1].id, "two branches, two messages"


async def test_a_message_sent_between_writing_and_checking_comes_before_the_report(
    tmp_path: Path,
) -> None:
    run, chat = orchestrated(tmp_path), Client()
    await chat.read(run, QUESTION, interrupt_before=["verify_report"])
    await chat.read(run, Command(update={"messages": [HumanMessage("Hurry up.")]}))
    assert [said.text for said in chat.values[:-1] if isinstance(said, HumanMessage)] == [
        QUESTION,
        "Hurry up.",
    ]
    [report] = chat.reports()
    assert chat.values[-1] is report and chat.reports("draft") == []


async def test_a_question_asked_before_the_check_leaves_no_draft_behind(tmp_path: Path) -> None:
    run, chat = orchestrated(tmp_path), Client()
    await chat.read(run, QUESTION, interrupt_before=["verify_report"])
    await chat.read(run, "And say it in one sentence.")
    assert [
        said.text.partition("\n")[0] for said in chat.values if isinstance(said, AIMessage)
    ] == [AGAIN]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol")
async def test_the_event_stream_of_version_3_has_the_report_once(tmp_path: Path) -> None:
    run = orchestrated(tmp_path)
    given = {"messages": [HumanMessage(QUESTION)]}
    stream = await run.graph.astream_events(given, THREAD, context=run.context, version="v3")
    [words] = [await said.text async for said in stream.messages]
    assert words.startswith(FIRST) and "[1]: <file:" in words
