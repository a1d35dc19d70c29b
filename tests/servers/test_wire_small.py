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


def poet(request: Received) -> Reply:
    """A small model that calls no tool."""
    return say("I am a poet.") if "save_word" in request.prompt or "judge_units" in request.prompt else answer(request)


def write_island(folder: Path) -> Path:
    docs = folder / "island"
    docs.mkdir()
    for name, fact in FACTS.items():
        (docs / f"{name}.md").write_text(f"# {name.title()}\n\n{fact}\n", "utf-8")
    return docs


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
@pytest.mark.parametrize("settings", [{"tool_calls": "schema"}, {"window": 20_000, "allow_small_window": True}])
async def test_a_small_model_notes_facts_and_writes_and_decides_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy, settings: dict[str, Any]
) -> None:
    docs = write_island(tmp_path)
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


SMALL: dict[str, Any] = {"engines": (), "small": "auto", "window": 20_000, "allow_small_window": True}


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
async def test_a_model_that_calls_no_tool_in_any_way_notes_facts_and_writes_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy
) -> None:
    docs = write_island(tmp_path)
    with wire_lab(tmp_path, monkeypatch, docs=docs, tool_calls="auto", trust_verifier=False, **SMALL) as wire:
        wire.graph = build_graph(strategy, checkpointer=InMemorySaver())
        wire.script.update(dict.fromkeys(("trial", "finding", "researcher", "verifier", "writer"), poet))
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert not [finding for finding in state.findings.values() if finding.ended == "failed"]


@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
async def test_a_small_model_that_notes_nothing_leaves_the_report_to_quotations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy
) -> None:
    docs = write_island(tmp_path)
    with wire_lab(tmp_path, monkeypatch, docs=docs, **SMALL) as wire:
        wire.graph = build_graph(strategy, checkpointer=InMemorySaver())
        silent = dict.fromkeys(("trial", "finding", "researcher", "writer"), lambda _: say("The sea is wide."))
        wire.script.update(silent)
        state = await wire.ask()
        assert state.report and all(FACTS[name] in state.report.text for name in ("light", "keeper"))
        assert "The sea is wide" not in state.report.text
        assert any("Quotations stand in" in notice for notice in state.run.notices)


async def test_a_text_that_repeats_itself_without_end_is_ended_and_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_island(tmp_path)
    loop = "\n  * and so on"

    def endless(request: Received) -> Reply:
        reply = answer(request)
        return say(f"{reply.text}{loop * 1000}") if WRITES in request.system else reply

    with wire_lab(tmp_path, monkeypatch, docs=docs, **SMALL) as wire:
        wire.script.update(trial=endless, finding=answer, researcher=answer, writer=endless)
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert state.report.text.count("and so on") == 1
        assert not any("cut off" in notice for notice in state.run.notices)
        assert [WRITES in one.system for one in wire.models.requests].count(True) == 1


async def test_facts_with_figures_that_the_answer_leaves_out_stand_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docs = write_island(tmp_path)
    (docs / "minutes.md").write_text(
        "# Minutes\n\nBy the council's records the Skerry Light was lit in 1845.\n", "utf-8"
    )

    def forgetful(request: Received) -> Reply:
        if WRITES not in request.system:
            return answer(request)
        [fact] = re.findall(r"- (The Skerry Light was lit for the first time.*\[\d+\])", request.prompt)
        return say(fact)

    with wire_lab(tmp_path, monkeypatch, docs=docs, **SMALL) as wire:
        wire.script.update(trial=forgetful, finding=answer, researcher=answer, writer=forgetful)
        state = await wire.ask()
        assert state.report and state.report.text.startswith("The Skerry Light was lit for the first time in 1844. [")
        assert "\n- Ada Moran kept the Skerry Light from 1901 to 1932. [" in state.report.text
