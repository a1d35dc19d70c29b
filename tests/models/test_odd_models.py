"""Whole runs with models that loop, think aloud, break off or have small windows, or whose results
are refused."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import pytest
from kit.engines import Answer, found
from kit.models import calls
from kit.openai_server import Received, Reply, fail
from kit.runs import (
    PLAN,
    REPORT,
    every_call_has_one_result,
    in_order,
    lab,
    many,
    research,
    results,
    search,
    think,
)
from kit.wire import FACTS, Wires, found_by, is_right, noted, task_of, written
from kit.wire import REPORT as WHOLE
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Command

from deep_research.core.dialogue.transcripts import (
    MOST_GAPS,
    REASONING,
    withheld_result,
)
from deep_research.core.errors import ModelFailed
from deep_research.core.models._faults import AnswerRefused
from deep_research.core.records.research import total
from deep_research.core.writing.write import last_words

POISON = "ferry sails twice"
Script = Callable[[list[BaseMessage], dict[str, Any]], Any]


@pytest.mark.fault(17)
async def test_an_identical_call_is_not_made_a_third_time(tmp_path: Path) -> None:
    run = lab(tmp_path, researcher=[*[search("Skerry Light")] * 3, "It was lit in 1844. [1]"])
    finding = in_order(await run.ask())[0]
    assert [action.inputs for action in finding.actions] == [("Skerry Light",)] * 2
    assert (finding.ended, finding.numbered) == ("done", "It was lit in 1844. [1]")
    assert "made 2 times before" in "".join(results(run.calls("researcher")[-1].messages).values())


@pytest.mark.fault(18, "R13", logs="WARNING nodes.turn")
async def test_a_researcher_that_never_ends_writes_when_its_searches_and_rounds_are_used_up(
    tmp_path: Path,
) -> None:
    endless = [search(f"Skerry Light {number}") for number in range(3)]
    limits = {"max_searches": 1, "max_iterations": 3}
    finding = in_order(
        await lab(tmp_path, researcher=[*endless, "Lit in 1844. [1]"], limits=limits).ask()
    )[0]
    assert (finding.ended, finding.numbered) == ("partial", "Lit in 1844. [1]")
    assert "max_iterations" in finding.reason
    assert [bool(action.found) for action in finding.actions] == [True, False, False]
    assert "max_searches" in finding.actions[1].problems[0]


@pytest.mark.fault(19, logs="INFO nodes.orchestrate")
async def test_ending_without_research_is_questioned_once_and_then_stated_in_the_report(
    tmp_path: Path,
) -> None:
    run = lab(tmp_path, orchestrator=[REPORT, think(), REPORT], writer=["No source was consulted."])
    state = await run.ask()
    assert state.run and state.run.status == "completed_with_gaps"
    assert "no source was consulted" in run.calls("writer")[0].messages[-1].text
    assert "no source" in state.messages[-1].text.lower()


@pytest.mark.fault(16, "R13", logs="WARNING nodes.turn")
async def test_of_two_hundred_calls_as_many_are_run_as_the_cycles_allow_and_all_are_answered(
    tmp_path: Path,
) -> None:
    many = calls(*(call for n in range(200) for call in research(f"task {n}.").tool_calls))
    simple = {f"task {n}.": [search("Skerry Light"), REPORT, "Lit in 1844. [1]"] for n in range(6)}
    limits = {"max_cycles": 3, "max_parallel_researchers": 3}
    run = lab(tmp_path, orchestrator=[many], researcher=simple, limits=limits)
    state = await run.ask()
    assert [finding.ended for finding in state.findings.values()] == ["done"] * 6
    assert len(results(state.transcript)) == 200
    assert state.messages[-1].text.count("Not found: task ") == MOST_GAPS


async def test_the_thought_of_a_rejected_plan_takes_no_turn_in_the_replay(tmp_path: Path) -> None:
    thoughtful = AIMessage(PLAN, additional_kwargs={REASONING: "I ponder."})
    run = lab(tmp_path, planner=[thoughtful, PLAN], review_plan=True)
    await run.ask()
    await run.ask(Command(resume="no, do it differently please"))
    await run.ask(Command(resume="yes"))
    replayed = [(packet.type, packet.placement.turn_index) for packet in await run.replayed()]
    assert ("deep_research_plan_start", 0) in replayed
    assert ("research_agent_start", 1) in replayed
    assert ("message_start", 2) in replayed


async def test_earlier_thoughts_are_sent_to_a_server_that_requires_them(wires: Wires) -> None:
    given_back = list[str]()

    def demanding(reply: Reply, request: Received) -> Reply:
        earlier = [message for message in request.messages if message.get("role") == "assistant"]
        if any(REASONING not in message for message in earlier):
            return fail(400, f"Missing `{REASONING}` field in the assistant message")
        given_back.extend(message[REASONING] for message in earlier)
        return replace(reply, reasoning="I think so.") if reply.calls else reply

    with wires(habit=demanding) as wire:
        assert is_right(wire, await wire.ask())
    assert set(given_back) == {"I think so."}


@pytest.mark.sweep
@pytest.mark.parametrize(
    "writer",
    [
        ["Let me see [7].\n</think>\n\nLit in 1844. [1] It stands."],
        ["Lit in 1844. [1]\n\n<think>Now the keeper.</think>\n\nIt stands."],
        [
            AIMessage("Lit in 1844. [1] ", response_metadata={"finish_reason": "length"}),
            AIMessage("It stands.", additional_kwargs={REASONING: "I go on."}),
        ],
    ],
    ids=["before it", "in its middle", "between its parts"],
)
async def test_a_thought_within_a_report_is_removed_from_it(
    tmp_path: Path, writer: list[Any]
) -> None:
    # What is learned here about the model would hold for the other tests too.
    run = lab(tmp_path, writer=writer, data_dir=tmp_path / "data")
    state = await run.ask()
    assert state.report and state.report.text.split() == [
        "Lit",
        "in",
        "1844.",
        "[1]",
        "It",
        "stands.",
    ]
    assert "Let me see" not in state.messages[-1].text
    assert {p["placement"]["turn_index"] for p in run.packets if p["type"] == "message_delta"} == {
        2
    }
    assert "Lit in 1844. [1]" in "".join(
        p.content for p in await run.replayed() if p.type == "message_delta"
    )


async def test_no_request_exceeds_a_small_window(wires: Wires) -> None:
    """Like real servers, the fake one counts the output limit too; each researcher finds more than
    fits."""
    window, over = 8_000, list[int]()

    def counting(reply: Reply, request: Received) -> Reply:
        most = request.json.get("max_tokens", 0)
        used = len(json.dumps([request.messages, request.json.get("tools", [])])) // 4
        if used + most <= window:
            return reply
        over.append(used + most)
        return fail(
            400, f"maximum context length is {window} tokens", code="context_length_exceeded"
        )

    small: dict[str, Any] = {
        "window": window,
        "allow_small_window": True,
        "reasoning": True,
        "small": "off",
    }
    with wires(habit=counting, **small) as wire:
        for name, fact in FACTS.items():
            pages = [found(wire.web.url(f"/{name}/{n}"), name, "Wind. " * 300) for n in range(3)]
            wire.engine.on(name, Answer([found(wire.web.url(f"/{name}"), name, fact), *pages]))
        assert is_right(wire, await wire.ask())
        assert over == []


def unless(words: str, reply: Any, *, results: int = 1) -> Script:
    """A model that refuses prompts with these words in a tool result, once there are so many
    results."""

    def answer(messages: list[BaseMessage], _: dict[str, Any]) -> Any:
        texts = [message.text for message in messages if message.type == "tool"]
        return AnswerRefused() if len(texts) >= results and words in " ".join(texts) else reply

    return answer


@pytest.mark.fault(10)
async def test_an_older_result_that_is_refused_is_left_out_of_the_finding_too(
    tmp_path: Path,
) -> None:
    """The newer result is left out first; since that does not help, it is shown again."""
    refusing = unless(POISON, REPORT, results=2)
    finding = unless(POISON, "Nothing was found.")
    run = lab(
        tmp_path,
        researcher=[
            search("Port Anlow ferry"),
            search("Ada Moran Tralee"),
            *[refusing] * 4,
            finding,
        ],
    )
    state = await run.ask()
    last = run.calls("researcher")[-1].messages
    assert every_call_has_one_result(last)
    is_out = [
        message.text == withheld_result("").text for message in last if message.type == "tool"
    ]
    assert is_out == [True, False, False], "the last one is that the end was noted"
    assert [type(message).__name__ for message in last[2:6]] == ["AIMessage", "ToolMessage"] * 2
    assert in_order(state)[0].withheld == 1
    assert (
        "Left out: When was the Skerry Light lit? A result; the provider" in state.messages[-1].text
    )


@pytest.mark.fault(10)
async def test_an_answer_that_was_refused_by_chance_withholds_nothing(tmp_path: Path) -> None:
    state = await lab(
        tmp_path, orchestrator=[research("task 0."), AnswerRefused(), REPORT], researcher=many(1)
    ).ask()
    assert [finding.is_withheld for finding in in_order(state)] == [False]
    assert state.run and state.run.status == "completed"


Answers = Callable[[Received], Reply]
WITHOUT_TROUBLE = {
    "clarifier": 1,
    "planner": 1,
    "orchestrator": 2,
    "researcher": 6,
    "finding": 3,
    "writer": 1,
}


class Break(NamedTuple):
    """Where a stream breaks: after so many pieces, of which the first has no words."""

    after: int
    ending: Literal["cut", "broken", "reset"] = "reset"


FIRST_BYTE, MIDDLE = Break(0), Break(9)


def breaking(answer: Answers, *breaks: Break) -> Answers:
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


def one_task(answer: Answers, *breaks: Break) -> Answers:
    """Findings of which only that on the keeper breaks."""
    broken = breaking(answer, *breaks)
    return lambda request: broken(request) if task_of(request) == "keeper" else answer(request)


@pytest.mark.slow
@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-83", "O-86")
@pytest.mark.parametrize("end", [Break(1), Break(2), Break(9, "cut")])
async def test_a_finding_and_report_that_break_are_completed_by_one_more_call_each(
    wires: Wires, end: Break
) -> None:
    script = {"finding": one_task(noted, end), "writer": breaking(written, end)}
    with wires(script) as wire:
        state = await wire.ask()
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"finding": 4, "writer": 2}
        keeper = found_by(state)["keeper"]
        assert (keeper.ended, keeper.reason, keeper.text) == (
            "done",
            "",
            f"Found: {FACTS['keeper']} [1]",
        )
        shown = defaultdict[int, str](str)
        for packet in wire.of_type("intermediate_report_delta"):
            shown[packet["placement"]["tab_index"]] += packet["content"]
        assert sorted(shown.values()) == sorted(finding.text for finding in state.findings.values())
        assert "".join(packet["content"] for packet in wire.of_type("message_delta")) == WHOLE
        reasons = [packet["reason"] for packet in wire.of_type("call_continued")]
        assert reasons == [f"the connection to {urlsplit(wire.models.url).netloc} broke"] * 2 * (
            end.after > 1
        )
        assert len(wire.of_type("call_delayed")) == 2 * (end.after < 2)
        # Half an answer is paid as well.
        assert total(state.spending).calls == len(wire.requests()) - 2 * (end.after < 2)


@pytest.mark.slow
@pytest.mark.fault(5, 6)
@pytest.mark.behaviour("O-86")
@pytest.mark.parametrize(
    ("breaks", "what"), [((MIDDLE, Break(3, "cut")), "broke"), ((FIRST_BYTE,) * 3, "failed")]
)
async def test_a_report_that_breaks_twice_stops_a_run_which_repeats_it(
    wires: Wires, breaks: Any, what: str
) -> None:
    with wires({"writer": breaking(written, *breaks)}) as wire:
        line = await wire.fail(ModelFailed)
        assert (
            f"the connection to {urlsplit(wire.models.url).netloc} {what}" in line
            and "The model 'fake-1' " in line
        )
        assert "OPENAI_BASE_URL" not in line and "setting" not in line
        assert wire.asked() == WITHOUT_TROUBLE | {"writer": len(breaks)}
        stop = wire.packets[-1]
        assert (stop["stop_reason"], stop["message"], stop["is_resumable"]) == (
            "failed",
            line,
            True,
        )
        assert wire.types().count("stop") == 1
        state = await wire.ask(None)
        assert is_right(wire, state)
        assert wire.asked() == WITHOUT_TROUBLE | {"writer": len(breaks) + 1}
        assert total(state.spending).calls == len(wire.requests()) - breaks.count(FIRST_BYTE)


@pytest.mark.slow
@pytest.mark.fault(5, 6, logs="WARNING core.models.ask")
async def test_a_finding_that_breaks_twice_becomes_excerpts_and_says_why(wires: Wires) -> None:
    with wires({"finding": one_task(noted, Break(4), Break(3))}) as wire:
        state = await wire.ask()
        assert wire.asked() == WITHOUT_TROUBLE | {"finding": 4}
        keeper = found_by(state)["keeper"]
        assert (keeper.ended, keeper.text) == ("partial", f"{FACTS['keeper']} [1]")
        assert f"the connection to {urlsplit(wire.models.url).netloc} broke" in keeper.reason
        assert "OPENAI_BASE_URL" not in keeper.reason
        assert state.run and state.run.status == "completed_with_gaps"
