"""What only the user's documents say is not told to search engines, however a model goes about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from leaks import CHINESE, ENGLISH, SECRET, leaked, obedient
from openai_replies import Reply
from openai_server import Received, say
from planned_lab import plan, step
from planned_rules import facts, judged, queries, suggestion
from search_api import Answer as ApiAnswer
from search_api import SearchApi, found
from test_planned_web import on_the_web
from web import hostile_web
from wire import END, Script, hand_out, search_for, tool_results, wire_lab

from deep_research.evidence.memory.notes import notes_of
from deep_research.tools.read_documents import OPENING

pytestmark = pytest.mark.fault("R8")
QUESTION = "What does a bottling plant cost, and how do its patents differ?"
PUBLIC = "A bottling plant costs 20 million euros in Saxony; the unions of Rotterdam are strong."
LIMITS = {"max_queries": 200, "max_searches": 400, "max_iterations": 30}
RESULT = ApiAnswer([found("https://public.example/plant", "Plants", PUBLIC)])


def documents(folder: Path) -> tuple[Path, ...]:
    (folder / "docs").mkdir()
    (folder / "docs" / "memorandum.md").write_text(SECRET)
    return (folder / "docs",)


def said(request: Received) -> list[str]:
    return [problem for results in tool_results(request) for problem in results["problems"]]


def researcher(request: Received) -> Reply:
    """Searches for its task, which may be the words of a finding, then sends away all that it has read."""
    results, texts = tool_results(request), [str(m["content"]) for m in request.messages if m["role"] == "user"]
    task = next(text for text in texts if OPENING not in text).partition("\n\n")[0]
    turns = [search_for(task), search_for(*obedient()), END]
    return turns[min(sum(not each["results"] or "Plants" in str(each) for each in results), 2)]


def leading(request: Received) -> Reply:
    rounds = request.prompt.count("Found:")
    return END if rounds > 1 else hand_out(ENGLISH if rounds else QUESTION)


SCRIPT: dict[str, Script] = {
    "orchestrator": leading,
    "researcher": researcher,
    "finding": lambda _: say(f"Found: {ENGLISH} {CHINESE} [1]"),
    "planner": lambda _: say(f"1. {ENGLISH}"),
}


@pytest.mark.parametrize("whole", [0, 10_000])
async def test_an_obedient_researcher_sends_no_word_that_only_documents_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: int
) -> None:
    limits = {**LIMITS, "whole_characters": whole}
    with wire_lab(
        tmp_path / "data", monkeypatch, SCRIPT, docs=documents(tmp_path), limits=limits, verify="off"
    ) as wire:
        wire.engine.otherwise = RESULT
        state = await wire.ask(QUESTION)
        assert state.run
        assert QUESTION in wire.engine.queries
        assert not leaked(wire.engine.queries, QUESTION, PUBLIC, state.run.date)
        told = " ".join(problem for request in wire.requests("finding") for problem in said(request))
        assert "'Kestrel'" in told and "stand only in the user's documents" in told
        [note] = [note for note in notes_of(state) if "stand only in your documents" in note]
        assert note in state.messages[-1].text and "mix_private" in note


async def test_the_steps_of_a_plan_send_no_word_that_only_documents_say(tmp_path: Path, api: SearchApi) -> None:
    """A step's title, its task, its learnings and the step that follows from it all quote the document."""
    with hostile_web() as web:
        page = web.publish("/plant", f"<html><body><p>{PUBLIC}</p></body></html>")
        api.otherwise = ApiAnswer([found(page, "Plants", PUBLIC)])
        rules: dict[str, Any] = {
            "make_plan": plan(step(ENGLISH), step(CHINESE, after=(1,))),
            "choose_queries": queries(*obedient()),
            "record_learnings": facts(ENGLISH),
            "evaluate_outcome": judged(0.2, 0.2, suggestion(ENGLISH, "It is missing.")),
        }
        limits = {**LIMITS, "max_seconds_planned": 3000}
        run = on_the_web(tmp_path, web, rules, has_documents=True, limits=limits)
        (run.folder / "memorandum.md").write_text(SECRET)
        state = await run.ask(QUESTION)
    assert state.run
    assert QUESTION in api.queries
    assert not leaked(api.queries, QUESTION, PUBLIC, state.run.date)
    assert any("stand only in your documents" in note for note in notes_of(state))
