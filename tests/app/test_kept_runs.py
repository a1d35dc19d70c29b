"""What was paid for is kept, however a run is stopped in its middle."""

from __future__ import annotations

import json
import resource
from functools import partial
from pathlib import Path

import pytest
from command import desk_in
from lab import lab
from langgraph.store.memory import InMemoryStore
from openai_replies import fail
from wire import QUESTION
from wire_desk import wire_desk

from deep_research.app.embed import build_graph, thread_id
from deep_research.app.runs import KEY, Notes
from deep_research.app.stream import packets
from deep_research.core.run.store.pages import page_namespace

pytestmark = pytest.mark.slow


@pytest.mark.fault(24)
def test_a_new_run_whose_account_is_empty_at_its_plan_is_kept_and_says_why_and_how_to_go_on(tmp_path: Path) -> None:
    with wire_desk(tmp_path, planner=lambda _: fail(402, "no credit")) as wire:
        ended = wire.desk.call("ask", QUESTION, "--thread", "poor", "--yes")
        assert ended.code == 1
        assert ended.err.splitlines()[-1].endswith("The run is kept; go on: deep-research resume poor")
        assert " failed " in wire.desk.call("runs").out
        page = wire.desk.call("show", "poor", "--data-dir", str(wire.desk.data)).out
        assert "\nStatus    failed: The planner's model 'fake-1' cannot be used: no credit is left" in page
        assert f"\nGo on     deep-research resume poor --data-dir {wire.desk.data}\n" in page
        assert "no credit is left" in json.loads(wire.desk.call("show", "poor", "--format", "json").out)["failure"]
        again = wire.desk.call("resume", "poor")
        assert (again.code, again.err.splitlines()[-1]) == (1, ended.err.splitlines()[-1])
        assert wire.desk.call("resume", "poor", "--model", "extractive").code == 0
        page = wire.desk.call("show", "poor").out
        assert "no credit" not in page and "Go on " not in page


@pytest.mark.parametrize("size", [300_000, 600_000])
def test_a_run_for_which_there_is_no_more_space_is_kept_and_its_exit_code_says_so(tmp_path: Path, size: int) -> None:
    with wire_desk(tmp_path) as wire:
        limit = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))
        ended = wire.desk.run("ask", QUESTION, "--thread", "light", preexec_fn=limit)
        assert (ended.code, ended.out) == (1, "")
        line = ended.err.splitlines()[-1]
        assert line.startswith("Error: The ") and "disk I/O error" in line
        assert line.endswith(" The run is kept; go on: deep-research resume light")
        assert "1844" in wire.desk.call("resume", "light").out


def test_a_run_keeps_what_its_call_gave_and_nothing_of_the_environment(tmp_path: Path) -> None:
    desk, follow_up = desk_in(tmp_path), "Who kept the Skerry Light, and where was she born?"
    short, long = {"DEEP_RESEARCH_QUESTION_CHARACTERS": "20"}, {"DEEP_RESEARCH_QUESTION_CHARACTERS": "2000"}
    start = ("ask", "Skerry Light lit?", "--docs", str(desk.docs), "--yes")
    assert desk.call(*start, "--thread", "by variable", **short).code == 0
    assert "Tralee" in desk.call("ask", follow_up, "--thread", "by variable", **long).out
    assert desk.call(*start, "--thread", "by option", "--limit", "question_characters=20", **long).code == 0
    refused = desk.call("ask", follow_up, "--thread", "by option", **long)
    assert (refused.code, "at most 20 are accepted" in refused.err) == (2, True)
    other = {"DEEP_RESEARCH_MODELS": "gpt-nonsense", "DEEP_RESEARCH_DOCS": "nowhere"}
    assert desk.call(*start, "--thread", "model", DEEP_RESEARCH_MODELS="extractive").code == 0
    assert "Unknown model 'gpt-nonsense'" in desk.call("ask", follow_up, "--thread", "model", **other).err
    assert desk.call("ask", follow_up, "--thread", "model", "--model", "extractive", **other).code == 0
    assert desk.call("ask", "And its tide?", "--thread", "model", **other).code == 0


@pytest.mark.fault(45)
@pytest.mark.parametrize("after", ["deep_research_plan_start", "search_tool_start", "intermediate_report_start"])
@pytest.mark.behaviour("O-87")
def test_a_run_that_is_left_at_any_packet_goes_on_from_there(tmp_path: Path, after: str) -> None:
    graph = build_graph(checkpointer=tmp_path / "runs.sqlite")
    for number in range(3):
        context = lab(tmp_path).context
        for packet in packets(graph, "When was it lit?", f"left {number}", context=context):
            if packet.type == after:
                break
        last = list(packets(graph, None, f"left {number}", context=lab(tmp_path).context))[-1]
        # The script begins anew with the resumed run, so a researcher may search more often than it is told to.
        assert getattr(last, "stop_reason", "").startswith("completed")


@pytest.mark.fault(44)
async def test_a_run_goes_on_whose_settings_hold_one_that_there_is_no_more() -> None:
    store = InMemoryStore()
    kept = {"embeddings": True, "language": "de", "limits": {"gone": 1, "max_cycles": 3}}
    await store.aput(page_namespace(thread_id("light")), KEY, {"json": json.dumps(kept)}, index=False)
    assert await Notes(store, "light").choices({"window": "9000"}) == {
        "language": "de",
        "window": "9000",
        "limits": {"max_cycles": 3},
    }
