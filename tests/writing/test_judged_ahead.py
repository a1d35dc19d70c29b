"""Statements are judged while the report is written and graded; the check asks only for what has
changed since."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls, units_shown
from kit.reports import BOTH, audited
from kit.runs import Lab, researched
from langchain_core.language_models import ModelProfile
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.errors import NodeCancelledError
from pydantic import PrivateAttr
from typing_extensions import override

from deep_research.core.writing._trial import QUOTATIONS_TRIAL, REASONING_TRIAL

PROFILE = ModelProfile(max_input_tokens=100_000)
# Questions state nothing, so they are not judged. They make a section long enough for a call, or half
# as long.
LONG = " ".join(f"Who knows more of the year {year}?" for year in range(1844, 1934))
HALF = LONG[: len(LONG) // 2].rpartition(" Who")[0]
FIRST = f"## The tower\n\nThe tower is 38 m tall, not more. [1]\n\n{LONG}\n\n"
SECOND = f"## The keeper\n\nMoran stayed until 1932, for long. [2]\n\n{LONG}\n\n"
END = "## In short\n\nIt is an old light with a faithful keeper."
CHECKLIST = "1. The light\n\n## Checklist\n- Its height"


class Writer(ScriptedChatModel):
    """Begins a section, and writes on only once the one before has been judged."""

    awaited: Sequence[str] = (FIRST + SECOND[:12], FIRST + SECOND + END[:12])
    """The beginnings of its text after each of which it waits until something has been judged."""
    stops: int = 0
    """How often it is stopped at the end of its text."""
    _judged: asyncio.Semaphore = PrivateAttr(default_factory=lambda: asyncio.Semaphore(0))

    def judged(self) -> None:
        """Let it write on."""
        self._judged.release()

    @override
    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **settings: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        text = ""
        awaited = [*self.awaited]
        async for chunk in super()._astream(messages, *args, **settings):
            yield chunk
            text += chunk.text
            if awaited and awaited[0] in text:
                awaited.pop(0)
                await asyncio.wait_for(self._judged.acquire(), 60)
        if self.stops:
            self.stops -= 1
            raise asyncio.CancelledError


class Verifier:
    """Judges by figures, and remembers what it was asked."""

    def __init__(self, writer: Writer, **form: Any) -> None:
        self.asked = list[list[str]]()
        self._writer = writer
        grades = [{"number": 1, "verdict": "answered"}]
        graded = calls(call("grade_report", **{"grades": grades, **form}))
        self.model = ScriptedChatModel(
            replies={"grade_report": graded, "": self._judge}, profile=PROFILE
        )

    def _judge(self, messages: list[BaseMessage], _: Any) -> Any:
        units, _sources = units_shown(messages[-1].text)
        self.asked.append([unit["says"] for unit in units])
        self._writer.judged()
        if units[0]["says"] == QUOTATIONS_TRIAL[0].says:
            return trial_passed(messages[-1].text)
        return by_figures(messages[-1].text)


def trial_passed(prompt: str) -> Any:
    """The right answers to the trial's statements."""
    _units, sources = units_shown(prompt)
    words = "\n".join(sources.values())
    verdicts = list[dict[str, Any]]()
    for number, statement in enumerate((*QUOTATIONS_TRIAL, *REASONING_TRIAL), 1):
        lines = [statement.calculation] if statement.calculation else []
        verdict = {"verdict": statement.verdicts[0], "words": words, "calculations": lines}
        verdicts.append({"unit": number, **verdict})
    return calls(call("judge_units", verdicts=verdicts))


async def ask(tmp_path: Path, verifier: Verifier, writer: Writer, **settings: Any) -> Lab:
    run = await researched(
        tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model, **settings
    )
    run.models["writer"] = writer
    state = await run.ask(None)
    assert state.report and state.report.text.startswith(FIRST.strip())
    return run


async def test_a_section_is_judged_while_the_next_one_is_written_and_nothing_is_judged_twice(
    tmp_path: Path,
) -> None:
    writer = Writer(replies=[FIRST + SECOND + END], profile=PROFILE)
    verifier = Verifier(writer)
    run = await ask(tmp_path, verifier, writer)
    # The last call, that of the check, sees all that may rest on other statements.
    assert verifier.asked == [
        ["The tower is 38 m tall, not more."],
        ["Moran stayed until 1932, for long."],
        ["The tower", "The keeper", "In short", "It is an old light with a faithful keeper."],
    ]
    audit = audited(await run.state())
    assert (audit.supported, audit.marked) == (2, 0)


async def test_a_run_that_is_stopped_while_its_report_is_written_judges_no_section_twice(
    tmp_path: Path,
) -> None:
    writer = Writer(replies=[FIRST + SECOND + END] * 2, profile=PROFILE, stops=1)
    verifier = Verifier(writer)
    run = await researched(tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model)
    run.models["writer"] = writer
    with pytest.raises(NodeCancelledError):
        await run.ask(None)
    writer.judged()
    writer.judged()
    await run.ask(None)
    asked = [units for units in verifier.asked if units == ["The tower is 38 m tall, not more."]]
    assert (len(asked), len(writer.calls)) == (1, 2)


async def test_a_section_is_judged_with_what_its_writer_has_calculated(tmp_path: Path) -> None:
    lines = ["Twice the height: 38 m [1] * 2 = m"]
    section = f"## The tower\n\nTwice its height is 76 m. [calc 1] [1]\n\n{LONG}\n\n"
    replies = [calls(call("calculate", calculations=lines)), section + SECOND + END]
    writer = Writer(replies=replies, profile=PROFILE)
    verifier = Verifier(writer)
    run = await researched(tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model)
    run.models["writer"] = writer
    writer.judged()
    await run.ask(None)
    first = next(asked for asked in verifier.model.calls if "Twice its height" in asked.text)
    assert "38 m * 2 = 76 m" in first.text
    assert sum("Twice its height is 76 m" in str(units) for units in verifier.asked) == 1


async def test_short_sections_are_judged_together(tmp_path: Path) -> None:
    first, second = (section.replace(LONG, HALF) for section in (FIRST, SECOND))
    writer = Writer(
        replies=[first + second + END], profile=PROFILE, awaited=[first + second + END[:12]]
    )
    verifier = Verifier(writer)
    run = await researched(tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model)
    run.models["writer"] = writer
    await run.ask(None)
    together = ["The tower is 38 m tall, not more.", "Moran stayed until 1932, for long."]
    assert verifier.asked[0] == together
    assert len(verifier.asked) == 2


async def test_the_judge_is_tried_once_while_the_report_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEP_RESEARCH_TRUST_VERIFIER", raising=False)
    # It is stopped once the section is being judged, that is, after the trial.
    awaited = [FIRST + END[:6], FIRST + END[:12]]
    writer = Writer(replies=[FIRST + END] * 2, profile=PROFILE, awaited=awaited, stops=1)
    verifier = Verifier(writer)
    run = await researched(
        tmp_path,
        planner=[CHECKLIST],
        researcher=BOTH,
        verifier=verifier.model,
        data_dir=tmp_path / "data",
        trust_verifier=False,
    )
    run.models["writer"] = writer
    with pytest.raises(NodeCancelledError):
        await run.ask(None)
    writer.judged()
    writer.judged()
    state = await run.ask(None)
    trials = [units for units in verifier.asked if units[0] == QUOTATIONS_TRIAL[0].says]
    assert (verifier.asked[0], len(trials)) == (trials[0], 1)
    assert audited(state).judge_grade == "reasoning"


@pytest.mark.parametrize("settings", [{"verify": "off"}, {"limits": {"max_opinions": 0}}])
async def test_no_judge_is_tried_where_nothing_is_judged(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    writer = Writer(replies=["The tower is 38 m tall, not more. [1]"], profile=PROFILE, awaited=[])
    verifier = Verifier(writer)
    run = await researched(
        tmp_path,
        planner=[CHECKLIST],
        researcher=BOTH,
        verifier=verifier.model,
        data_dir=tmp_path / "data",
        trust_verifier=False,
        **settings,
    )
    run.models["writer"] = writer
    await run.ask(None)
    assert verifier.asked == []
