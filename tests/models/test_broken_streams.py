"""Reports and findings whose stream breaks: what came is continued once, and no answer is paid for again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import pytest
from kit.openai_server import Received, Reply, say
from kit.planned import REPORT as PLANNED_REPORT
from kit.planned import Asked, planned_lab
from kit.wire import FACTS, REPORT, form_server, found_by, is_right, noted, task_of, wire_lab, written

from deep_research.core.run.context import ROLES
from deep_research.core.run.errors import ModelFailed
from deep_research.core.run.spending import total
from deep_research.core.writing.write import last_words

pytestmark = pytest.mark.slow

Patch = pytest.MonkeyPatch
Answer = Callable[[Received], Reply]
WITHOUT_TROUBLE = {"clarifier": 1, "planner": 1, "orchestrator": 2, "researcher": 6, "finding": 3, "writer": 1}


class Break(NamedTuple):
    """Where a stream ends too early; its first piece has no words."""

    after: int
    ending: Literal["cut", "broken", "reset"] = "reset"


FIRST_BYTE, MIDDLE = Break(0), Break(9)
EVERYWHERE = [FIRST_BYTE, Break(1), Break(2), MIDDLE, Break(9, "cut"), Break(9, "broken")]


def breaking(answer: Answer, *breaks: Break) -> Answer:
    """Answers whose first streams break; a begun text is continued."""
    left = iter(breaks)

    def reply(request: Received) -> Reply:
        good = answer(request)
        begun = request.messages[-2]
        if begun["role"] == "assistant" and "It ends with: " in str(request.messages[-1]):
            assert good.text.startswith(begun["content"])
            good = replace(good, text=from_last_words(good.text, begun["content"]))
        end = next(left, None)
        return replace(good, ending=end.ending, after=end.after) if end else good

    return reply


def from_last_words(text: str, begun: str) -> str:
    """The rest of a text, beginning with the last words of its known part."""
    return text[len(begun) - len(last_words(begun)) :]


def one_task(answer: Answer, *breaks: Break) -> Answer:
    """The finding on the keeper breaks; all others come whole."""
    broken = breaking(answer, *breaks)
    return lambda request: broken(request) if task_of(request) == "keeper" else answer(request)


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83", "O-86")
@pytest.mark.parametrize("end", EVERYWHERE)
async def test_a_report_whose_stream_breaks_is_made_whole_by_one_more_call(
    tmp_path: Path, monkeypatch: Patch, end: Break
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"writer": breaking(written, end)}) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"writer": 2}
        shown = "".join(packet["content"] for packet in wire.of_type("message_delta"))
        assert shown == REPORT
        continued = wire.of_type("call_continued")
        assert len(continued) == (end.after > 1)
        assert len(wire.of_type("call_delayed")) == (end.after < 2)
        assert all(
            packet["reason"] == f"the connection to {urlsplit(wire.models.url).netloc} broke" for packet in continued
        )
        # Half an answer is paid as well.
        assert total(state.spending).calls == len(wire.requests()) - (end.after < 2)


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83", "O-86")
@pytest.mark.parametrize("end", [FIRST_BYTE, MIDDLE, Break(9, "cut")])
async def test_a_finding_whose_stream_breaks_is_made_whole_by_one_more_call(
    tmp_path: Path, monkeypatch: Patch, end: Break
) -> None:
    with wire_lab(tmp_path, monkeypatch, {"finding": one_task(noted, end)}) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"finding": 4}
        keeper = found_by(state)["keeper"]
        assert (keeper.ended, keeper.reason, keeper.text) == ("done", "", f"Found: {FACTS['keeper']} [1]")
        assert findings_shown(wire.packets) == sorted(finding.text for finding in state.findings.values())
        assert len(wire.of_type("call_continued")) == (end.after > 1)


def findings_shown(packets: list[dict[str, Any]]) -> list[str]:
    """The findings as they were streamed, one a researcher."""
    shown = defaultdict[int, str](str)
    for packet in packets:
        if packet["type"] == "intermediate_report_delta":
            shown[packet["placement"]["tab_index"]] += packet["content"]
    return sorted(shown.values())


@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-86")
@pytest.mark.parametrize(
    ("breaks", "what"), [((MIDDLE, Break(3, "cut")), "broke"), ((FIRST_BYTE, FIRST_BYTE, FIRST_BYTE), "failed")]
)
async def test_a_report_that_breaks_again_stops_a_run_that_only_writes_when_it_goes_on(
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
async def test_a_finding_that_breaks_twice_is_replaced_by_what_was_read_and_says_what_broke(
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


@pytest.mark.fault(5, 6)
@pytest.mark.parametrize("breaks", [1, 2])
async def test_a_planned_report_is_continued_once_and_what_the_steps_have_learned_is_not_paid_again(
    tmp_path: Path, monkeypatch: Patch, breaks: int
) -> None:
    ends = iter([Break(2), Break(2)][:breaks])

    def report(asked: Asked) -> Reply:
        end = next(ends, None)
        begun = asked.messages[-2].text if "It ends with: " in asked.reminder else ""
        rest = say(from_last_words(PLANNED_REPORT, begun))
        return replace(rest, ending=end.ending, after=end.after) if end else rest

    with form_server({"report": report}) as (server, forms):
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        run = planned_lab(tmp_path, tool_calls="native", window=100_000)
        run.models = dict.fromkeys(ROLES, "openai:fake-1")  # type: ignore[arg-type]  # a name is a model as well
        if breaks > 1:
            with pytest.raises(ModelFailed, match=r"the connection to 127\.0\.0\.1:\d+ broke"):
                await run.ask()
            assert run.types().count("stop") == 0
            paid = forms.paid.copy()
            state = await run.ask(None)
            assert [key[0] for key in (forms.paid - paid).elements() if key[0] != "judge_units"] == ["report"]
        else:
            state = await run.ask()
            assert run.words("message_delta").strip() == PLANNED_REPORT
        assert state.report and state.report.text == PLANNED_REPORT
        assert run.types().count("call_continued") == 1
        assert sum(count for key, count in forms.paid.items() if key[0] == "report") == breaks + 1
        assert (run.types().count("stop"), run.types()[-1]) == (1, "stop")
