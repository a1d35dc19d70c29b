"""Progress of a run: lines in a pipe, a view on a terminal."""

from __future__ import annotations

import asyncio
import re
import threading
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from kit.model_calls import role_model
from kit.openai_server import Received, Reply, openai_server, say
from kit.runs import HandClock
from langchain_core.messages import HumanMessage
from rich.console import Console

from deep_research.app._live_view import LiveView
from deep_research.app._progress import PlainLines, ProgressView
from deep_research.core.events import packets as p
from deep_research.core.events.call import CallEvents
from deep_research.core.events.log import Emitter
from deep_research.core.events.packets import AnyPacket, Placement
from deep_research.core.settings.context import Context

TOP = Placement(turn_index=0)
AGENT = Placement(turn_index=1, tab_index=1)


def finished(tokens: int, usd: float) -> AnyPacket:
    counts: Any = {"input_tokens": tokens - 1, "cached_tokens": 0, "output_tokens": 1}
    return p.CallFinished(placement=TOP, role="writer", usd=usd, **counts)


def lines(capsys: pytest.CaptureFixture[str], *packets: AnyPacket) -> list[str]:
    """Lines that the packets print to a pipe."""
    feed(PlainLines(), *packets)
    return capsys.readouterr().err.splitlines()


def feed(view: ProgressView, *packets: AnyPacket) -> None:
    for packet in packets:
        view(packet)


def seen(*packets: AnyPacket) -> str:
    """The terminal view after the packets."""
    view, screen = LiveView(""), StringIO()
    feed(view, *packets)
    Console(file=screen, width=100).print(view)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("usd", "words"), [(0.0, "34 567 tokens"), (0.00000062, "34 567 tokens, $0.0000012")]
)
def test_the_costs_of_model_calls_are_added_up(
    capsys: pytest.CaptureFixture[str], usd: float, words: str
) -> None:
    calls = (finished(34_000, usd), finished(567, usd))
    stop = p.OverallStop(placement=TOP, stop_reason="user_cancelled", elapsed_seconds=1.0)
    assert lines(capsys, *calls, stop) == [f"spent: 2 model calls, {words}"]
    assert f"0 sources, {words}\n" in seen(*calls).replace(" \n", "\n")


def test_the_live_view_shows_the_report_as_it_is_written_and_fits_on_the_screen() -> None:
    words = {
        "step_id": "2",
        "title": "Its keeper",
        "task": "Who kept it?",
        "kind": "hybrid",
        "parent_id": "",
    }
    step = p.StepStarted.model_validate({"placement": AGENT, **words})
    plan: list[AnyPacket] = [
        p.PlanStart(placement=TOP),
        p.PlanDelta(placement=TOP, content="1. A light\n" * 40),
    ]
    report = p.MessageStart(placement=TOP, final_documents=[])
    deltas = [
        p.MessageDelta(placement=TOP, content=f"Sentence {number} of a long report. ")
        for number in range(400)
    ]
    for packets in (plan, [*plan, step], [*plan, step, report, *deltas], [report, *deltas]):
        view, screen = LiveView(""), StringIO()
        feed(view, *packets)
        Console(file=screen, width=60, height=20, force_terminal=True).print(view)
        assert len(screen.getvalue().splitlines()) <= 19
        assert ("Sentence 399" in screen.getvalue()) == (packets[-1] is deltas[-1])
        assert ("writing the report" in screen.getvalue()) == (packets[-1] is deltas[-1])


def test_a_delayed_call_is_shown_with_its_wait_and_its_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    delayed = p.CallDelayed(placement=TOP, seconds=12.4, reason="the provider asks to (429)")
    start = p.ResearchAgentStart(placement=AGENT, research_task="The light")
    inside = delayed.model_copy(
        update={"placement": AGENT.model_copy(update={"sub_turn_index": 0})}
    )
    words = "waiting 12 s: the provider asks to (429)"
    assert lines(capsys, delayed, inside) == [f"[0.1] {words}", f"[1.2] {words}"]
    assert words in seen(delayed)
    assert words not in seen(delayed, p.PlanStart(placement=TOP))
    assert f"● The light\n  {words}" in "\n".join(
        line.rstrip() for line in seen(start, inside).splitlines()
    )


async def settle(clock: HandClock, seconds: int) -> None:
    """Let the time pass second by second, so that the view can follow."""
    for _ in range(seconds):
        clock.time += 1
        for _ in range(5):
            await asyncio.sleep(0)


async def test_every_ten_seconds_a_line_says_what_the_run_is_waiting_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock, asked, may_answer = HandClock(), threading.Event(), threading.Event()
    lines, live, screen = PlainLines(clock=clock), LiveView(""), StringIO()

    def held(_: Received) -> Reply:
        asked.set()
        assert may_answer.wait(60)
        return say("It was lit in 1844.")

    async def work() -> None:
        await asyncio.sleep(0)
        lines(p.ResearchAgentTitle(placement=AGENT, title="The light"))
        await settle(clock, 8)
        assert capsys.readouterr().err == "[1.2] researching: The light\n"
        await settle(clock, 2)
        assert capsys.readouterr().err == "still running\n"
        context = Context(models="openai:fake-1", data_dir=tmp_path)
        events = CallEvents(Emitter(lambda _: None), AGENT.model_copy(update={"sub_turn_index": 0}))
        model = role_model("researcher", context, events)
        prompt = [HumanMessage("When was the light lit? " * 300)]
        call = asyncio.create_task(model.ainvoke(prompt))
        await asyncio.to_thread(asked.wait)
        await settle(clock, 30)
        words = r"waiting for the model's answer to 1[5-9]\d\d tokens \(researcher 2\)"
        assert re.fullmatch(rf"({words}\n){{3}}", capsys.readouterr().err)
        Console(file=screen, width=100).print(live)
        assert re.search(words, screen.getvalue())
        may_answer.set()
        await call
        await settle(clock, 10)
        assert capsys.readouterr().err == "still running\n"

    with openai_server(held) as server:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        await lines.during(work())
    await settle(clock, 20)
    assert capsys.readouterr().err == "", "nothing is printed when the work is over"


def test_typed_lines_are_passed_on_only_while_researchers_are_running() -> None:
    view = PlainLines()
    view.typed.append("Mind the gannets.")
    feed(
        view,
        p.PlanStart(placement=TOP),
        p.ResearchAgentStart(placement=AGENT, research_task="The light"),
    )
    assert view.steering() == ""
    feed(view, p.ResearchAgentTitle(placement=AGENT, title="The light"))
    assert (view.steering(), view.steering()) == ("Mind the gannets.", "")
    view.typed.append("And the terns.")
    feed(view, p.MessageStart(placement=TOP, final_documents=[], pre_answer_processing_seconds=1.0))
    assert (view.steering(), view.typed) == ("", ["And the terns."])
