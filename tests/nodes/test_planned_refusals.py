"""Results that a provider's content filter refuses are left out of a planned run, and the report says so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import Reply, fail
from kit.planned import REPORT, RULES, Asked, Rule
from kit.runs import QUESTION, write_documents
from kit.wire import form_server
from langgraph.checkpoint.memory import InMemorySaver

from deep_research.app.embed import build_graph, thread_config
from deep_research.app.stream import apackets
from deep_research.core.run.context import Context
from deep_research.core.run.events.packets import AnyPacket
from deep_research.core.run.limits import Limits
from deep_research.state import ResearchState

BLOCKED = fail(400, "Filtered due to the content management policy", code="content_filter")


async def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rules: Mapping[str, Rule]
) -> tuple[list[AnyPacket], ResearchState]:
    """Packets and state of a run over a real socket."""
    graph = build_graph("planned", checkpointer=InMemorySaver())
    with form_server(rules) as (server, _):
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        given: Any = {"models": "openai:fake-1", "tool_calls": "native", "engines": (), "data_dir": tmp_path / "data"}
        documents = (write_documents(tmp_path / "docs"),)
        context = Context(docs=documents, limits=Limits(whole_characters=0), **given)
        packets = [packet async for packet in apackets(graph, QUESTION, "light", context=context)]
        values = (await graph.aget_state(thread_config("light"))).values
    return packets, ResearchState(**values)


def blocked(word: str, form: str, answer: Any = None) -> dict[str, Rule]:
    """Refuse the form as long as its prompt contains results with this word."""

    def rule(asked: Asked) -> Any | Reply:
        shown = any(word in message.text for message in asked.messages if message.type == "tool")
        return BLOCKED if shown else answer or RULES[form](asked)

    return {form: rule}


@pytest.mark.behaviour("A-84")
@pytest.mark.fault(10)
async def test_refused_results_are_reported_and_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packets, state = await run(tmp_path, monkeypatch, blocked("38 metres", "record_learnings"))
    errors = [getattr(packet, "message", "") for packet in packets if packet.type == "error"]
    assert any("record_round was filled in without some results" in error for error in errors)
    assert any("without some results" in failure for finding in state.findings.values() for failure in finding.failures)
    assert state.report and state.report.text


@pytest.mark.behaviour("A-84")
@pytest.mark.fault(10)
async def test_what_the_writer_may_not_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, state = await run(tmp_path, monkeypatch, blocked("Ada Moran", "report", REPORT))
    assert state.run and state.run.status == "completed_with_gaps"
    assert "Found, but left out: What 'Ada Moran' says" in state.messages[-1].text
