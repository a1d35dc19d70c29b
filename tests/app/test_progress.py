"""What somebody sees who watches a run: lines in a pipe, a view on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from deep_research.app.live_view import LiveView
from deep_research.app.progress import PlainLines, Progress
from deep_research.core.records.sources import NotRead
from deep_research.core.run.events import packets as p
from deep_research.core.run.events import packets as sp
from deep_research.core.run.events.packets import AnyPacket, Document, Placement

TOP = Placement(turn_index=0)
AGENT = Placement(turn_index=1, tab_index=1)


def finished(tokens: int, usd: float = 0.0) -> AnyPacket:
    return p.CallFinished(
        placement=TOP, role="writer", input_tokens=tokens - 1, cached_tokens=0, output_tokens=1, usd=usd
    )


def stop() -> AnyPacket:
    return p.OverallStop(placement=TOP, stop_reason="user_cancelled", elapsed_seconds=1.0)


def lines(capsys: pytest.CaptureFixture[str], *packets: AnyPacket) -> list[str]:
    """What the packets print in a pipe."""
    told(PlainLines(""), *packets)
    return capsys.readouterr().err.splitlines()


def told(view: Progress, *packets: AnyPacket) -> None:
    for packet in packets:
        view(packet)


def seen(*packets: AnyPacket) -> str:
    """What the view on a terminal shows after the packets."""
    view, screen = LiveView(""), StringIO()
    told(view, *packets)
    Console(file=screen, width=100).print(view)
    return screen.getvalue()


@pytest.mark.parametrize(
    ("usd", "words"),
    [
        (0.0, "34 567 tokens"),
        (0.00000062, "34 567 tokens, $0.0000012"),
    ],
)
def test_what_the_models_cost_is_added_up(capsys: pytest.CaptureFixture[str], usd: float, words: str) -> None:
    calls = (finished(34_000, usd), finished(567, usd))
    assert lines(capsys, *calls, stop()) == [f"spent: 2 model calls, {words}"]
    assert f"0 sources, {words}\n" in seen(*calls).replace(" \n", "\n")


def test_on_a_terminal_the_words_that_are_written_are_shown_and_no_more_than_a_screen() -> None:
    plan: list[AnyPacket] = [p.PlanStart(placement=TOP), p.PlanDelta(placement=TOP, content="1. A light\n" * 40)]
    report = p.MessageStart(placement=TOP, final_documents=[])
    words = [p.MessageDelta(placement=TOP, content=f"Sentence {number} of a long report. ") for number in range(400)]
    for packets in (plan, [*plan, step_start()], [*plan, step_start(), report, *words], [report, *words]):
        view, screen = LiveView(""), StringIO()
        told(view, *packets)
        Console(file=screen, width=60, height=20, force_terminal=True).print(view)
        assert len(screen.getvalue().splitlines()) <= 19
        assert ("Sentence 399" in screen.getvalue()) == (packets[-1] is words[-1])
        assert ("writing the report" in screen.getvalue()) == (packets[-1] is words[-1])


def test_what_cannot_be_read_is_told_with_the_reason_and_stays_when_the_view_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unread = (NotRead(path="docs/a.pdf", reason="it is encrypted", code="encrypted"),)
    packet = p.DocumentsIndexed(placement=TOP, done=2, total=2, readable=4, unread_total=3, unread=unread)
    words = "documents indexed: 4 of 7; 3 could not be read: docs/a.pdf (it is encrypted), and 2 more: `deep-research"
    (line,) = lines(capsys, packet)
    assert line.startswith(words)
    with LiveView("") as view:
        view(packet)
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_call_that_waits_says_how_long_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    delayed = p.CallDelayed(placement=TOP, seconds=12.4, reason="the provider asks to (429)")
    start = p.ResearchAgentStart(placement=AGENT, research_task="The light")
    inside = delayed.model_copy(update={"placement": AGENT.model_copy(update={"sub_turn_index": 0})})
    words = "waiting 12 s: the provider asks to (429)"
    assert lines(capsys, delayed, inside) == [f"[0.1] {words}", f"[1.2] {words}"]
    assert words in seen(delayed)
    assert words not in seen(delayed, p.PlanStart(placement=TOP))
    assert f"● The light\n  {words}" in "\n".join(line.rstrip() for line in seen(start, inside).splitlines())


def step_start(tab: int = 1) -> AnyPacket:
    place = AGENT.model_copy(update={"tab_index": tab})
    return sp.StepStarted(
        placement=place, step_id="2", title="Its keeper", task="Who kept it?", kind="hybrid", parent_id=""
    )


def test_on_a_terminal_steps_are_shown_as_researchers_are() -> None:
    step, error = step_start(), p.PacketError(placement=AGENT, message="One search failed.")
    found = p.SearchToolDocuments(
        placement=AGENT.model_copy(update={"sub_turn_index": 1}),
        documents=[Document(document_id="d", title="Light", link="file:///light")],
    )
    looking = sp.Activity(placement=AGENT.model_copy(update={"sub_turn_index": 0}), text="Digging deeper", icon="globe")
    view = [line.rstrip() for line in seen(step_start(0), step, looking).splitlines()]
    assert view[2:] == ["● 2 Its keeper", "  starts", "● 2 Its keeper", "  Digging deeper"]
    assert "1 source" in seen(step, found)
    live = LiveView("")
    told(live, step, error)
    assert not live.researchers[1, 1].is_done, "a step goes on after an error"
    told(live, sp.StepDone(placement=AGENT, step_id="2", status="completed", reason=""))
    assert live.researchers[1, 1].is_done
