"""Statements are judged while the report is written and graded; the check asks only for what has
changed since."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from kit.models import QUESTIONS, ScriptedChatModel, by_figures, call, calls, units_shown
from kit.reports import BOTH, audited
from kit.runs import HandClock, Hanging, Lab, researched
from langchain_core.language_models import ModelProfile
from langchain_core.messages import BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGenerationChunk
from langgraph.errors import NodeCancelledError
from pydantic import PrivateAttr
from typing_extensions import override

from deep_research.core.errors import KeyRefused
from deep_research.core.writing._trial import QUOTATIONS_TRIAL, REASONING_TRIAL

PROFILE = ModelProfile(max_input_tokens=100_000)
BUDGET = UsageMetadata(input_tokens=1_000_000, output_tokens=1, total_tokens=1_000_001)
"""Of an answer that uses up the budget."""
HALF = QUESTIONS[: len(QUESTIONS) // 2].rpartition(" Who")[0]
"""Questions for two sections that are long enough only together."""
FIRST = f"## The tower\n\nThe tower is 38 m tall, not more. [1]\n\n{QUESTIONS}\n\n"
SECOND = f"## The keeper\n\nMoran stayed until 1932, for long. [2]\n\n{QUESTIONS}\n\n"
END = "## In short\n\nIt is an old light with a faithful keeper."
WHOLE = f"""{FIRST}{SECOND}## The harbour

Moran came there in 1901, not before. [2]

She counted 77 ships.
"""
PARTS = [
    ["The tower is 38 m tall, not more."],
    ["Moran stayed until 1932, for long."],
    ["Moran came there in 1901, not before."],
    ["The tower", "The keeper", "The harbour", "She counted 77 ships."],
]
"""What each call is asked: two beside the writer, one beside the editor, and the check."""
CHECKLIST = "1. The light\n\n## Checklist\n- Its height"


class Writer(ScriptedChatModel):
    """Begins a section, and writes on only once the one before has been judged."""

    chunk_characters: int = 60
    """Putting many small chunks together would take longer than all else in these runs."""
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

    def __init__(self, writer: Writer, dear: int = 0, **form: Any) -> None:
        """`dear`: number of the call to judge whose answer uses up the budget; the writer is then
        not told what is judged."""
        self.asked = list[list[str]]()
        self.held_units = list[str]()
        """The units that are judged in vain once."""
        self.hanging = Hanging()
        self._writer = writer
        self._dear = dear
        grades = [{"number": 1, "verdict": "answered"}]
        graded = calls(call("grade_report", **{"grades": grades, **form}))
        self.model = ScriptedChatModel(
            replies={"grade_report": graded, "": self._judge}, profile=PROFILE
        )

    async def _judge(self, messages: list[BaseMessage], _: Any) -> Any:
        units, _sources = units_shown(messages[-1].text)
        self.asked.append([unit["says"] for unit in units])
        if units[0]["says"] == QUOTATIONS_TRIAL[0].says:
            self._writer.judged()
            return trial_passed(messages[-1].text)
        if self.asked[-1] == self.held_units:
            self.held_units = []
            self._writer.judged()
            await self.hanging()
        verdicts = by_figures(messages[-1].text)
        if not self._dear:
            self._writer.judged()
        elif len(self.asked) == self._dear:
            verdicts.usage_metadata = BUDGET
        return verdicts


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


@pytest.mark.sweep
@pytest.mark.parametrize(("hung", "paid"), [(0, 1), (2, 3)])
async def test_a_run_that_is_stopped_while_a_section_is_judged_ahead_repeats_only_that_call(
    tmp_path: Path, hung: int, paid: int
) -> None:
    """Beside the writer or the editor, whose answers are there."""
    writer = Writer(replies=[WHOLE], profile=PROFILE)
    verifier = Verifier(writer)
    run = await researched(
        tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model, verify="check"
    )
    run.models["writer"] = writer
    verifier.held_units = PARTS[hung]
    asking = asyncio.create_task(run.ask(None))
    await verifier.hanging.is_begun.wait()
    while len(paid_by(run, "verifier")) < paid or not paid_by(run, "writer"):
        await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    state = await run.ask(None)
    assert sorted(verifier.asked) == sorted([*PARTS, PARTS[hung]])
    asked_to_grade = [asked for asked in verifier.model.calls if "grade_report" in asked.tools]
    assert (len(writer.calls), len(asked_to_grade)) == (1, 1)
    assert (audited(state).supported, audited(state).marked) == (3, 1)
    assert state.report and state.report.text.startswith(FIRST.strip())


async def test_a_section_is_judged_with_what_its_writer_has_calculated(tmp_path: Path) -> None:
    lines = ["Twice the height: 38 m [1] * 2 = m"]
    section = f"## The tower\n\nTwice its height is 76 m. [calc 1] [1]\n\n{QUESTIONS}\n\n"
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
    first, second = (section.replace(QUESTIONS, HALF) for section in (FIRST, SECOND))
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


async def untried(tmp_path: Path, verifier: Verifier, writer: Writer, **settings: Any) -> Lab:
    """A run before its report, whose verifier has not been tried."""
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
    return run


async def test_the_judge_is_tried_once_while_the_report_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DEEP_RESEARCH_TRUST_VERIFIER", raising=False)
    # It is stopped once the section is being judged, that is, after the trial.
    awaited = [FIRST + END[:6], FIRST + END[:12]]
    writer = Writer(replies=[FIRST + END] * 2, profile=PROFILE, awaited=awaited, stops=1)
    verifier = Verifier(writer)
    run = await untried(tmp_path, verifier, writer)
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
    run = await untried(tmp_path, verifier, writer, **settings)
    await run.ask(None)
    assert verifier.asked == []


async def test_a_verifier_whose_key_is_refused_costs_no_written_report(tmp_path: Path) -> None:
    writer = Writer(replies=[FIRST + SECOND + END], profile=PROFILE)
    verifier = Verifier(writer)
    run = await researched(tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model)
    run.models["writer"] = writer
    writer.judged()
    writer.judged()
    run.models["verifier"] = ScriptedChatModel(
        replies={"": KeyRefused("The key was refused.")}, profile=PROFILE
    )
    with pytest.raises(KeyRefused):
        await run.ask(None)
    run.models["verifier"] = verifier.model
    state = await run.ask(None)
    assert (audited(state).supported, len(writer.calls)) == (2, 1)


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("last", [1, 2, 3, 4])
async def test_a_budget_that_ends_while_statements_are_judged_leaves_the_others_unchecked(
    tmp_path: Path, last: int
) -> None:
    """After its last call the limit is used up: beside the writer, beside the editor, or in the
    check, which would have the ships corrected."""
    limits = {"max_tokens": 500_000}
    writer = Writer(replies=[WHOLE], profile=PROFILE)
    verifier = Verifier(writer, dear=last)
    run = await researched(
        tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model, limits=limits
    )
    run.models["writer"] = writer

    async def let_write_on() -> None:
        for number in (1, 2):
            while len(paid_by(run, "verifier")) < min(number, last):
                await asyncio.sleep(0)
            writer.judged()

    state, _ = await asyncio.gather(run.ask(None), let_write_on())
    assert verifier.asked == PARTS[:last]
    audit = audited(state)
    supported = min(last, 3)
    assert (audit.supported, audit.not_verified + audit.marked) == (supported, 4 - supported)
    assert audit.corrected == 0
    assert state.run and state.run.status == "completed_with_gaps"
    note = "Not all statements of this report were checked: the limit max_tokens was reached"
    assert note in state.messages[-1].text
    assert state.report and state.report.text.startswith(FIRST.strip())


async def test_time_that_ends_while_statements_are_judged_leaves_none_unchecked(
    tmp_path: Path,
) -> None:
    clock = HandClock()
    writer = Writer(replies=[WHOLE], profile=PROFILE)
    verifier = Verifier(writer)
    settings: Any = {"clock": clock, "verify": "check"}
    run = await researched(
        tmp_path, planner=[CHECKLIST], researcher=BOTH, verifier=verifier.model, **settings
    )
    run.models["writer"] = writer
    replies: Any = verifier.model.replies
    replies[""] = clock.after(2000, replies[""])
    state = await run.ask(None)
    assert verifier.asked == PARTS
    assert (audited(state).supported, audited(state).not_verified) == (3, 0)
    assert state.run and state.run.active_seconds > run.context.limits.max_seconds
    assert not state.run.stop_reason


def paid_by(run: Lab, role: str) -> list[dict[str, Any]]:
    return [call for call in run.of_type("call_finished") if call["role"] == role]
