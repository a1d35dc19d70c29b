"""What is left out of a call that a provider's filter refuses, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from lab import REPORT, every_call_has_one_result, in_order, lab, many, research, search
from langchain_core.messages import BaseMessage

from deep_research.core.models.faults import AnswerRefused
from deep_research.core.run.transcripts import WITHHELD

POISON = "ferry sails twice"
Reply = Callable[[list[BaseMessage], dict[str, Any]], Any]
pytestmark = pytest.mark.fault(10)


def unless(words: str, reply: Any, *, results: int = 1) -> Reply:
    """A model that refuses whatever holds these words in its results, once there are so many of these."""

    def answer(messages: list[BaseMessage], _: dict[str, Any]) -> Any:
        texts = [message.text for message in messages if message.type == "tool"]
        return AnswerRefused() if len(texts) >= results and words in " ".join(texts) else reply

    return answer


def results_of(messages: Sequence[BaseMessage]) -> list[tuple[str, bool]]:
    """The results in the order in which they stand, and whether they are withheld."""
    return [(message.tool_call_id, message.text == WITHHELD) for message in messages if message.type == "tool"]  # type: ignore[attr-defined]


async def test_an_older_result_that_is_refused_stays_out_of_the_finding_too(tmp_path: Path) -> None:
    """The newer one is suspected first, and is shown again once it was cleared."""
    refusing = unless(POISON, REPORT, results=2)
    finding = unless(POISON, "Nothing was found.")
    run = lab(tmp_path, researcher=[search("Port Anlow ferry"), search("Ada Moran Tralee"), *[refusing] * 4, finding])
    state = await run.ask()
    last = run.calls("researcher")[-1].messages
    assert every_call_has_one_result(last)
    assert [is_out for _, is_out in results_of(last)] == [True, False, False], "the last one is that the end was noted"
    assert [type(message).__name__ for message in last[2:6]] == ["AIMessage", "ToolMessage"] * 2
    assert in_order(state)[0].withheld == 1
    assert "Left out: When was the Skerry Light lit? A result; the provider" in state.messages[-1].text


async def test_an_answer_that_was_refused_by_chance_withholds_nothing(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("task 0."), AnswerRefused(), REPORT], researcher=many(1))
    state = await run.ask()
    assert [finding.is_withheld for finding in in_order(state)] == [False]
    assert state.run and state.run.status == "completed"
