"""Reports and findings whose stream breaks are continued once after the words that arrived; no call is repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import pytest
from kit.openai_server import Received, Reply
from kit.wire import FACTS, REPORT, found_by, is_right, noted, task_of, wire_lab, written

from deep_research.core.run.errors import ModelFailed
from deep_research.core.run.spending import total
from deep_research.core.writing.write import last_words

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
Answer = Callable[[Received], Reply]
WITHOUT_TROUBLE = {"clarifier": 1, "planner": 1, "orchestrator": 2, "researcher": 6, "finding": 3, "writer": 1}


class Break(NamedTuple):
    """Where a stream breaks: after so many pieces, of which the first has no words."""

    after: int
    ending: Literal["cut", "broken", "reset"] = "reset"


FIRST_BYTE, MIDDLE = Break(0), Break(9)


def breaking(answer: Answer, *breaks: Break) -> Answer:
    """A role whose first streams break; asked to continue, it sends the rest of its text."""
    left = iter(breaks)

    def reply(request: Received) -> Reply:
        good = answer(request)
        begun = request.messages[-2]
        if begun["role"] == "assistant" and "It ends with: " in str(request.messages[-1]):
            assert good.text.startswith(begun["content"])
            # The rest begins with the last words that had arrived, as models are told.
            known = begun["content"]
            good = replace(good, text=good.text[len(known) - len(last_words(known)) :])
        end = next(left, None)
        return replace(good, ending=end.ending, after=end.after) if end else good

    return reply


def one_task(answer: Answer, *breaks: Break) -> Answer:
    """Findings of which only that on the keeper breaks."""
    broken = breaking(answer, *breaks)
    return lambda request: broken(request) if task_of(request) == "keeper" else answer(request)


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83", "O-86")
@pytest.mark.parametrize("end", [Break(1), Break(2), Break(9, "cut")])
async def test_a_finding_and_a_report_whose_streams_break_are_completed_by_one_more_call_each(
    tmp_path: Path, monkeypatch: Patch, end: Break
) -> None:
    script = {"finding": one_task(noted, end), "writer": breaking(written, end)}
    with wire_lab(tmp_path, monkeypatch, script) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"finding": 4, "writer": 2}
        keeper = found_by(state)["keeper"]
        assert (keeper.ended, keeper.reason, keeper.text) == ("done", "", f"Found: {FACTS['keeper']} [1]")
        shown = defaultdict[int, str](str)
        for packet in wire.of_type("intermediate_report_delta"):
            shown[packet["placement"]["tab_index"]] += packet["content"]
        assert sorted(shown.values()) == sorted(finding.text for finding in state.findings.values())
        assert "".join(packet["content"] for packet in wire.of_type("message_delta")) == REPORT
        reasons = [packet["reason"] for packet in wire.of_type("call_continued")]
        assert reasons == [f"the connection to {urlsplit(wire.models.url).netloc} broke"] * 2 * (end.after > 1)
        assert len(wire.of_type("call_delayed")) == 2 * (end.after < 2)
        # Half an answer is paid as well.
        assert total(state.spending).calls == len(wire.requests()) - 2 * (end.after < 2)


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-86")
@pytest.mark.parametrize(
    ("breaks", "what"), [((MIDDLE, Break(3, "cut")), "broke"), ((FIRST_BYTE, FIRST_BYTE, FIRST_BYTE), "failed")]
)
async def test_a_report_that_breaks_twice_stops_the_run_and_is_all_that_a_resumed_run_repeats(
    tmp_path: Path, monkeypatch: Patch, breaks: tuple[Break, ...], what: str
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"writer": breaking(written, *breaks)}) as wire:
        line = await wire.fail(ModelFailed)
        assert f"the connection to {urlsplit(wire.models.url).netloc} {what}" in line and "writer" in line
        assert "OPENAI_BASE_URL" not in line and "setting" not in line
        assert wire.asked() == WITHOUT_TROUBLE | {"writer": len(breaks)}
        stop = wire.packets[-1]
        assert (stop["stop_reason"], stop["message"], stop["is_resumable"]) == ("failed", line, True)
        assert wire.types().count("stop") == 1
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"writer": len(breaks) + 1}
        assert total(state.spending).calls == len(wire.requests()) - breaks.count(FIRST_BYTE)


@pytest.mark.fault(5, 6, logs="WARNING core.models.ask")
async def test_a_finding_that_breaks_twice_is_replaced_by_excerpts_and_gives_the_reason(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"finding": one_task(noted, Break(4), Break(3))}) as wire:
        state = await wire.ask()
        assert wire.asked() == WITHOUT_TROUBLE | {"finding": 4}
        keeper = found_by(state)["keeper"]
        assert (keeper.ended, keeper.text) == ("partial", f"{FACTS['keeper']} [1]")
        assert f"the connection to {urlsplit(wire.models.url).netloc} broke" in keeper.reason
        assert "OPENAI_BASE_URL" not in keeper.reason
        assert state.run and state.run.status == "completed_with_gaps"
