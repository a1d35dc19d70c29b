"""What somebody sees who watches a run: lines in a pipe, a view on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from deep_research.app.live_view import LiveView
from deep_research.app.progress import Costs, PlainLines, Progress
from deep_research.app.words import counted
from deep_research.run import packets as p
from deep_research.run.money import dollars
from deep_research.run.packets import AnyPacket, Placement

TOP = Placement(turn_index=0)
AGENT = Placement(turn_index=1, tab_index=1)


def finished(tokens: int, usd: float = 0.0) -> AnyPacket:
    return p.CallFinished(
        placement=TOP, role="writer", input_tokens=tokens - 1, cached_tokens=0, output_tokens=1, usd=usd
    )


def stop() -> AnyPacket:
    return p.OverallStop(placement=TOP, stop_reason="completed", elapsed_seconds=1.0)


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
        (0.06, "34 567 tokens, $0.12"),
        (0.0002, "34 567 tokens, $0.0004"),
        (0.00000062, "34 567 tokens, $0.0000012"),
    ],
)
def test_what_the_models_cost_is_added_up(capsys: pytest.CaptureFixture[str], usd: float, words: str) -> None:
    calls = (finished(34_000, usd), finished(567, usd))
    assert lines(capsys, *calls, stop()) == [f"spent: 2 model calls, {words}"]
    assert f"0 sources, {words}\n" in seen(*calls).replace(" \n", "\n")


def test_on_a_terminal_what_was_spent_stays_when_the_view_goes(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveView("") as view:
        told(view, finished(1000, 0.06), stop())
    assert "spent: 1 model call, 1 000 tokens, $0.06" in capsys.readouterr().err


def test_nothing_is_said_of_documents_before_there_are_any() -> None:
    assert "documents" not in seen(p.ChatHeartbeat(placement=TOP, elapsed_seconds=1.0))
    assert "1 of 4 documents indexed" in seen(p.DocumentsIndexed(placement=TOP, done=1, total=4))


@pytest.mark.parametrize(
    ("usd", "words"),
    [(0.0, "$0.00"), (12.345, "$12.35"), (0.01, "$0.01"), (0.0099, "$0.0099"), (0.001, "$0.001"), (2e-7, "$0.0000002")],
)
def test_little_money_is_not_taken_for_none(usd: float, words: str) -> None:
    assert dollars(usd) == words


@pytest.mark.parametrize(
    ("count", "noun", "words"),
    [(0, "source", "0 sources"), (1, "source", "1 source"), (1, "search", "1 search"), (3, "search", "3 searches")],
)
def test_one_is_no_plural(count: int, noun: str, words: str) -> None:
    assert counted(count, noun) == words


def test_a_run_without_calls_has_no_bill(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines(capsys, p.PlanStart(placement=TOP), stop()) == []
    assert "tokens" not in seen(stop())
    assert str(Costs()) == "0 tokens"


def test_a_run_that_begins_tells_its_name_and_what_to_know_before_any_packet(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for view in (PlainLines("Run light"), LiveView("Run light")):
        assert capsys.readouterr().err == "", "a call that is refused has not begun"
        view.begin(["No price is set."])
        assert capsys.readouterr().err == "Run light\nNote: No price is set.\n"


def test_a_search_without_results_is_not_told_as_a_number_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    searched = p.SearchToolDocuments(placement=AGENT, documents=[])
    assert lines(capsys, searched) == ["[1.2] found nothing"]


def test_a_call_that_waits_says_how_long_and_why(capsys: pytest.CaptureFixture[str]) -> None:
    delayed = p.CallDelayed(placement=TOP, seconds=12.4, reason="the provider asks to (429)")
    start = p.ResearchAgentStart(placement=AGENT, research_task="The light")
    inside = delayed.model_copy(update={"placement": AGENT.model_copy(update={"sub_turn_index": 0})})
    words = "waiting 12 s: the provider asks to (429)"
    assert lines(capsys, delayed, inside) == [f"[0.1] {words}", f"[1.2] {words}"]
    assert words in seen(delayed)
    assert words not in seen(delayed, p.PlanStart(placement=TOP))
    assert f"● The light\n  {words}" in "\n".join(line.rstrip() for line in seen(start, inside).splitlines())


def test_a_plan_is_shown_in_whatever_turn_it_stands(capsys: pytest.CaptureFixture[str]) -> None:
    for turn in (0, 1):
        place = Placement(turn_index=turn)
        plan: list[AnyPacket] = [
            p.PlanStart(placement=place),
            p.PlanDelta(placement=place, content="1. Li"),
            p.PlanDelta(placement=place, content="ght\n"),
        ]
        assert lines(capsys, *plan, p.SectionEnd(placement=place)) == ["plan:", "1. Light"]
        assert "1. Light" in seen(*plan)
