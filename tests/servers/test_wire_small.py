"""A model that seems to need it is asked for little at once: the program decides, the model notes facts and writes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from openai_server import Received, Reply, say
from test_wire_rungs import server
from wire import FACTS, tool_results, verified, wire_lab

from deep_research.app.embed import build_graph
from deep_research.core.records.research import Strategy

LISTS, WRITES = "Go through the results above and list every fact", "You answer a request from a list of facts"
DECIDES = ("You stand at the door", "You plan research", "You lead a research project", "You write the final answer")


def listed(request: Received) -> Reply:
    """A small model's list of facts."""
    found = {fact: one["document"] for each in tool_results(request) for one in each["results"]
             for fact in FACTS.values() if fact in one["text"]}  # fmt: skip
    return say("\n".join(f"- {fact} [{number}]" for fact, number in found.items()))


def answer(request: Received) -> Reply:
    """A small model: it says what the facts say, and searches for the topic."""
    if WRITES in request.system:
        return say("So it is said: " + " ".join(re.findall(r"- (\S.*\[\d+\])", request.prompt)))
    return listed(request) if LISTS in request.prompt else verified(request)


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
@pytest.mark.parametrize("settings", [{"tool_calls": "schema"}, {"window": 20_000, "allow_small_window": True}])
async def test_a_small_model_notes_facts_and_writes_and_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy, settings: dict[str, Any]
) -> None:
    docs = tmp_path / "island"
    docs.mkdir()
    for name, fact in FACTS.items():
        (docs / f"{name}.md").write_text(f"# {name.title()}\n\n{fact}\n", "utf-8")
    habit = server("tools") if "tool_calls" in settings else None
    with wire_lab(tmp_path, monkeypatch, habit=habit, docs=docs, engines=(), small="auto", **settings) as wire:
        wire.graph = build_graph(strategy, checkpointer=InMemorySaver())
        wire.script.update(trial=answer, finding=answer, researcher=answer, writer=answer)
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert {one.shown for one in state.report.verdicts} == {"supported"}
        assert any("asked for little at once" in notice for notice in state.run.notices)
        systems = " ".join(request.system for request in wire.models.requests)
        assert not [sign for sign in DECIDES if sign in systems]
        assert [LISTS in one.prompt for one in wire.models.requests].count(True) == len(state.findings)
