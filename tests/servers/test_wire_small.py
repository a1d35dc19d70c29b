"""A model that seems to need it is asked for little at once: the program decides, the model notes
facts and writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit.openai_server import Received, Reply, say
from kit.wire import FACTS, Script, WireLab, Wires, noted, verified
from langgraph.checkpoint.memory import InMemorySaver
from test_wire_rungs import server

from deep_research.app.embed import build_graph
from deep_research.core.records.research import Strategy

LISTS, WRITES = (
    "Go through the results above and list every fact",
    "You answer a request from a list of facts",
)
SMALL: dict[str, Any] = {"window": 20_000, "allow_small_window": True}
DECIDES = (
    "You stand at the door",
    "You plan research",
    "You lead a research project",
    "You write the final answer",
)


def listed(request: Received) -> Reply:
    """A small model's list of facts."""
    return say(noted(request).text.replace("Found:", "-"))


def answer(request: Received) -> Reply:
    """A small model: it says what the facts say, and searches for the topic."""
    if WRITES in request.system:
        return say("So it is said: " + " ".join(re.findall(r"- (\S.*\[\d+\])", request.prompt)))
    return listed(request) if LISTS in request.prompt else verified(request)


def poet(request: Received) -> Reply:
    """A small model that calls no tool."""
    return (
        say("I am a poet.")
        if "save_word" in request.prompt or "judge_units" in request.prompt
        else answer(request)
    )


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    docs = tmp_path / "island"
    docs.mkdir()
    for name, fact in FACTS.items():
        (docs / f"{name}.md").write_text(f"# {name.title()}\n\n{fact}\n", "utf-8")
    return docs


@pytest.fixture
def small(wires: Wires, docs: Path) -> Wires:
    """Runs over these documents with a small model, which answers alike in all its roles."""

    @contextmanager
    def small_lab(
        reply: Script = answer, strategy: Strategy = "orchestrated", **given: Any
    ) -> Iterator[WireLab]:
        with wires(docs=docs, engines=(), small="auto", **(given or SMALL)) as wire:
            wire.script.update(dict.fromkeys(("trial", "finding", "researcher", "writer"), reply))
            yield replace(wire, graph=build_graph(strategy, checkpointer=InMemorySaver()))

    return small_lab


BOTH = pytest.mark.parametrize("strategy", ("orchestrated", "planned"))
"""A table over the web needs a model that can decide."""


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("strategy", "settings"),
    [
        ("orchestrated", {"tool_calls": "schema", "habit": server("tools")}),
        ("orchestrated", SMALL),
        ("planned", SMALL),
    ],
)
async def test_a_small_model_lists_facts_and_writes_but_decides_nothing(
    small: Wires, strategy: Strategy, settings: dict[str, Any]
) -> None:
    with small(strategy=strategy, **settings) as wire:
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert {verdict.shown for verdict in state.report.verdicts} == {"supported"}
        assert any("given small tasks" in notice for notice in state.run.notices)
        systems = " ".join(request.system for request in wire.models.requests)
        assert not [sign for sign in DECIDES if sign in systems]
        assert [LISTS in request.prompt for request in wire.models.requests].count(True) == len(
            state.findings
        )


@pytest.mark.sweep
@BOTH
async def test_a_small_model_without_tool_calls_still_lists_facts_and_writes(
    small: Wires, strategy: Strategy
) -> None:
    with small(poet, strategy, tool_calls="auto", trust_verifier=False, **SMALL) as wire:
        wire.script["verifier"] = poet
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert not [finding for finding in state.findings.values() if finding.ended == "failed"]


@pytest.mark.sweep
@BOTH
async def test_if_a_small_model_lists_no_facts_the_report_quotes(
    small: Wires, strategy: Strategy
) -> None:
    with small(lambda _: say("The sea is wide."), strategy) as wire:
        state = await wire.ask()
        assert state.report and all(
            FACTS[name] in state.report.text for name in ("light", "keeper")
        )
        assert "The sea is wide" not in state.report.text
        assert any("replaced by quotations" in notice for notice in state.run.notices)


async def test_a_text_that_repeats_endlessly_is_cut_to_one_repetition(small: Wires) -> None:
    def endless(request: Received) -> Reply:
        reply = answer(request)
        return say(reply.text + "\n  * and so on" * 1000) if WRITES in request.system else reply

    with small(endless) as wire:
        state = await wire.ask()
        assert state.report and all(fact in state.report.text for fact in FACTS.values())
        assert state.report.text.count("and so on") == 1
        assert not any("cut off" in notice for notice in state.run.notices)
        assert [WRITES in request.system for request in wire.models.requests].count(True) == 1


async def test_facts_with_figures_missing_from_the_answer_are_listed_below_it(
    small: Wires, docs: Path
) -> None:
    minutes = "# Minutes\n\nBy the council's records the Skerry Light was lit in 1845.\n"
    (docs / "minutes.md").write_text(minutes, "utf-8")

    def forgetful(request: Received) -> Reply:
        if WRITES not in request.system:
            return answer(request)
        [fact] = re.findall(
            r"- (The Skerry Light was lit for the first time.*\[\d+\])", request.prompt
        )
        return say(fact)

    with small(forgetful) as wire:
        state = await wire.ask()
        assert state.report and state.report.text.startswith(
            "The Skerry Light was lit for the first time in 1844. ["
        )
        assert "\n- Ada Moran kept the Skerry Light from 1901 to 1932. [" in state.report.text
