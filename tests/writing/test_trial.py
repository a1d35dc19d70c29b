"""A verifier's model is tried before it is believed, and given no more than it can do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls, units_shown
from kit.openai_server import Received, Reply, say, use
from kit.reports import BOTH, audited
from kit.runs import lab
from kit.wire import verified, wire_lab
from langchain_core.language_models import ModelProfile

from deep_research.core.writing.judging import TRIAL

RIGHT = {stated.says: "supported" if stated.is_right else "contradicted" for stated in TRIAL}
TEXT = " ".join(f"It was in 1844 that {who} lit the Skerry Light. [1]" for who in ("somebody", "they", "a crew"))
LINES = "\n\n".join(f"It was lit in 1844, as they say {number} times. [1]" for number in range(13, 33))


def judge(verdict: str) -> Callable[[Received], Reply]:
    """A judge whose verdict on the statements of the trial is always the same, or else right."""

    def answer(request: Received) -> Reply:
        units, _ = units_shown(request.prompt)
        if units[0]["says"] not in RIGHT:
            return verified(request)
        said = [{"unit": unit["unit"], "verdict": verdict or RIGHT[unit["says"]]} for unit in units]
        return use(("judge_units", {"verdicts": said}))

    return answer


@pytest.mark.parametrize("verdict", ["", "supported", "reasoning", "contradicted"])
async def test_a_judge_that_does_not_tell_right_from_wrong_supports_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    monkeypatch.delenv("DEEP_RESEARCH_TRUST_VERIFIER")
    trials = list[int]()
    with wire_lab(tmp_path, monkeypatch) as wire:
        wire.script.update(verifier=judge(verdict), writer=lambda _: say(TEXT))
        for _ in range(2):
            state = await wire.ask()
            assert state.report and state.report.audit
            assert (state.report.audit.is_unverified, "in a test" in state.messages[-1].text) == (bool(verdict),) * 2
            assert state.messages[-1].text.startswith("*Most of what this text states") == bool(verdict)
            assert {unit.shown for unit in state.report.verdicts} == {"not_verified" if verdict else "supported"}
            assert "*(not verified)*" not in state.messages[-1].text
            asked = [request for request in wire.models.requests if TRIAL[0].says in request.prompt]
            trials.append(len(asked))
    assert trials == [1, 1]
    offered = [json.dumps(request.json.get("tools", [])) for request in wire.models.requests]
    assert (sum("judge_units" in tools for tools in offered) == 1) == bool(verdict)
    [path] = tmp_path.rglob("models.json")
    [kept] = json.loads(path.read_text("utf-8")).values()
    assert kept["judges"] == (not verdict)


async def test_a_single_statement_that_no_source_says_is_marked_though_its_judge_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEP_RESEARCH_TRUST_VERIFIER")
    with wire_lab(tmp_path, monkeypatch) as wire:
        wrong = "The Skerry Light was lit for the first time in 1866. [1]"
        wire.script.update(verifier=judge("supported"), writer=lambda _: say(wrong))
        state = await wire.ask()
        assert state.report and {unit.shown for unit in state.report.verdicts} == {"not_verified"}
        assert "in 1866. [1] *(not verified)*" in state.messages[-1].text


async def test_a_small_window_is_given_few_statements_at_once(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"profile": ModelProfile(max_input_tokens=20_000), "allow_small_window": True}
    run = lab(tmp_path, writer=[LINES], researcher=BOTH, verify="check", **settings)
    await run.ask()
    sizes = [len(units_shown(asked.text)[0]) for asked in run.calls("verifier")]
    assert max(sizes) <= 8
    assert len(sizes) > 2


async def test_a_model_that_cannot_fill_in_the_form_is_given_fewer_statements(tmp_path: Path) -> None:
    def overwhelmed(messages: list[Any], _: Any) -> Any:
        text = messages[-1].text if '{"knowledge"' in messages[-1].text else messages[1].text
        return by_figures(text) if len(units_shown(text)[0]) <= 8 else calls(call("judge_units", verdicts="all"))

    model = ScriptedChatModel(replies={"": overwhelmed}, profile=ModelProfile(max_input_tokens=100_000))
    run = lab(tmp_path, writer=[LINES], researcher=BOTH, verify="check", verifier=model)
    state = await run.ask()
    assert state.report and {unit.shown for unit in state.report.verdicts} == {"marked"}
    assert (audited(state).marked, audited(state).not_verified) == (20, 0)
