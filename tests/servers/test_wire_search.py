"""Whole runs whose search engine has no use for the key, is down, slow or finds nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import write_documents
from openai_server import Received, Reply, say, use
from search_api import KEY, Answer, closed_port, found, refused
from wire import (
    END,
    FACTS,
    Script,
    Wires,
    found_by,
    hand_out,
    is_right,
    search_for,
    searched,
    task_of,
    tool_results,
    wire_lab,
)
from wire_checks import all_faults

from deep_research.core.evidence.memory.observations import notes_of
from deep_research.core.run.errors import SearchFailed

Patch = pytest.MonkeyPatch


@pytest.mark.fault(24, 26)
@pytest.mark.parametrize(
    ("setting", "value"), [("TAVILY_API_KEY", "tvly-wrong"), ("TAVILY_BASE_URL", "http://127.0.0.1:9")]
)
async def test_a_web_that_cannot_be_searched_stops_the_run_and_nothing_more_is_spent(
    wires: Wires, monkeypatch: Patch, setting: str, value: str
) -> None:
    with wires() as wire:
        monkeypatch.setenv(setting, value)
        line = await wire.fail(SearchFailed)
        assert setting in line and KEY not in line + wire.everything(await wire.state())
        assert wire.asked() == {"clarifier": 1, "planner": 1, "orchestrator": 1, "researcher": 3}
        assert len(wire.engine.requests) <= 3
        assert wire.packets[-1]["message"] == line
        monkeypatch.setenv(setting, wire.engine.environment()[setting])
        assert is_right(wire, await wire.ask(None))
        # The decisions to search were taken already.
        assert wire.asked()["researcher"] == 6
        assert wire.asked()["orchestrator"] == 2


@pytest.mark.fault(24, 26)
async def test_with_documents_at_hand_the_run_goes_on_and_the_report_names_what_failed(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def both(request: Received) -> Reply:
        """A researcher that asks the web, and then the documents."""
        turns = [search_for("Skerry Light"), use(("internal_search", {"queries": ["Ada Moran"]})), END]
        return turns[len(tool_results(request))]

    def from_notes(request: Received) -> Reply:
        [_, internal] = tool_results(request)
        return say(f"Found: {internal['results'][0]['text'].splitlines()[-1]} [1]")

    script: dict[str, Script] = {
        "orchestrator": lambda request: END if "Found:" in request.prompt else hand_out("keeper"),
        "researcher": both,
        "finding": from_notes,
    }
    docs = write_documents(tmp_path / "docs")
    with wire_lab(tmp_path / "data", monkeypatch, script, docs=(docs,), limits={"whole_characters": 0}) as wire:
        monkeypatch.setenv("TAVILY_API_KEY", "tvly-wrong")
        state = await wire.ask()
        assert all_faults(wire.requests()) == []
        assert wire.requests("researcher")[0].tools[:3] == ["internal_search", "web_search", "open_url"]
        assert "TAVILY_API_KEY" in wire.requests("researcher")[1].prompt
    assert found_by(state)["keeper"].ended == "done"
    assert state.report and "from 1901 to 1932" in state.report.text and state.report.sources
    assert state.run and state.run.status == "completed_with_gaps"
    assert "TAVILY_API_KEY" in state.messages[-1].text.partition("## Notes")[2]


@pytest.mark.fault(26)
async def test_an_engine_that_goes_down_later_leaves_a_report_from_what_was_found(
    wires: Wires, monkeypatch: Patch
) -> None:
    def two_rounds(request: Received) -> Reply:
        rounds = [message for message in request.messages if message["role"] == "assistant"]
        if rounds:
            monkeypatch.setenv("TAVILY_BASE_URL", closed_port())
        return [hand_out("light"), hand_out("keeper", "harbour"), END][len(rounds)]

    with wires({"orchestrator": two_rounds}) as wire:
        state = await wire.ask()
        # Who cannot search any more writes nothing down.
        assert wire.asked()["finding"] == 1
        assert len(wire.of_type("error")) == 2
    assert [found_by(state)[task].ended for task in FACTS] == ["done", "failed", "failed"]
    assert state.report and state.report.text == f"{FACTS['light']} [1]"
    assert state.run and state.run.status == "completed_with_gaps"
    assert "Not researched to the end: harbour: Tavily cannot be reached" in state.messages[-1].text


@pytest.mark.fault(26, 27)
async def test_a_run_that_found_nothing_is_never_a_success(wires: Wires) -> None:
    """The engine works, and knows nothing; the model is told to use other words."""
    script: dict[str, Script] = {"finding": lambda _: say("Found: nothing at all."), "writer": lambda _: say("So.")}
    with wires(script) as wire:
        for name in FACTS:
            wire.engine.on(name, Answer())
        state = await wire.ask()
        assert "try other words" in wire.requests("researcher")[-1].prompt
        assert wire.packets[-1]["stop_reason"] == "completed_with_gaps"
    assert state.run and state.run.status == "completed_with_gaps"
    assert state.messages[-1].text.startswith("*No source was consulted")


@pytest.mark.fault(26, 27)
@pytest.mark.parametrize("answer", [refused(429, Retry_After="0"), refused(400), Answer(delay=60)])
async def test_a_search_that_failed_is_a_note_of_the_report(wires: Wires, answer: Answer) -> None:
    with wires(limits={"search_seconds": 1}) as wire:
        wire.engine.on("harbour", answer)
        state = await wire.ask()
    [note] = [note for note in notes_of(state) if note.startswith("A search failed: Tavily")]
    assert note.endswith("Not searched: 'harbour'.")
    assert f"- {note}" in state.messages[-1].text


@pytest.mark.fault(27, 28)
async def test_slow_busy_and_repetitive_answers_cost_no_more_than_themselves(wires: Wires) -> None:
    def patient(request: Received) -> Reply:
        """The light is asked for together with what never comes."""
        if task_of(request) != "light" or tool_results(request):
            return searched(request)
        return search_for("light", "the dark")

    with wires({"researcher": patient}, limits={"search_seconds": 1}) as wire:
        page = found(wire.web.url("/keeper"), "Keeper", FACTS["keeper"])
        wire.engine.on("the dark", Answer(delay=60))
        wire.engine.on("keeper", Answer([{**page, "url": f"{page['url']}{end}"} for end in ("", "#top", "?utm_id=1")]))
        harbour = Answer([found(wire.web.url("/harbour"), "Harbour", FACTS["harbour"])])
        wire.engine.on("harbour", refused(429, Retry_After="0"), harbour)
        assert is_right(wire, await wire.ask())
        by_task = {task_of(request): tool_results(request)[0] for request in wire.requests("finding")}
    assert "search_seconds" in by_task["light"]["problems"][0]
    assert [len(results["results"]) for results in by_task.values()] == [1, 1, 1]
