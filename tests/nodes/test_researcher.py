"""One researcher: what it sees and may call, uncited findings, and results that outgrow its prompt."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from kit.models import Script, call, calls
from kit.runs import (
    REPORT,
    HandClock,
    Lab,
    answered,
    broken_call,
    every_call_has_one_result,
    in_order,
    lab,
    research,
    results,
    search,
    simple_research,
    think,
    written,
)
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage

from deep_research.app.embed import thread_config
from deep_research.core.writing.notes import ReportNotes
from deep_research.tools.results import results_in

AGAIN = "names no source by its number"
TASK = research("Find out when the light was lit.")
LIT = "The Skerry Light was lit in 1844."
CUT = broken_call("generate_report", '{"missing": [')
UNCITED = "Since the forties of that century ships have seen it."
"""A sentence that no source contains."""


def citing(tmp_path: Path, findings: Sequence[Script], reports: list[str]) -> Lab:
    """A run whose researcher and writer give these texts, one per request."""
    script = [search("Skerry Light"), REPORT, *findings]
    return lab(
        tmp_path,
        orchestrator=[research("task 0."), REPORT],
        researcher=script,
        writer=reports,
        verify="off",
    )


async def test_uncited_text_gets_the_numbers_of_sources_that_say_the_same(tmp_path: Path) -> None:
    run = citing(tmp_path, [f"{LIT} It is thought to be pretty."], [LIT])
    state = await run.ask()
    assert [finding.text for finding in in_order(state)] == [
        f"{LIT} [1] It is thought to be pretty."
    ]
    assert state.report and state.report.text == f"{LIT} [1]" and len(state.report.sources) == 1
    assert (len(run.calls("researcher")), len(run.calls("writer"))) == (3, 1)


async def test_text_whose_sources_are_unclear_is_requested_once_more(tmp_path: Path) -> None:
    run = citing(tmp_path, [UNCITED, f"{UNCITED} 【1†source】"], [UNCITED, f"{UNCITED} [1]"])
    state = await run.ask()
    *_, first, second = run.calls("researcher")
    assert AGAIN not in first.text and AGAIN in second.messages[-1].text
    assert second.messages[-2].text == UNCITED
    assert [(finding.text, len(finding.sources) > 0) for finding in in_order(state)] == [
        (f"{UNCITED} [1]", True)
    ]
    assert run.words("intermediate_report_delta") == UNCITED
    [cited] = run.of_type("intermediate_report_cited_docs")
    assert len(cited["cited_docs"]) == 1
    assert AGAIN in run.calls("writer")[1].messages[-1].text
    assert state.report and state.report.text == f"{UNCITED} [1]" and len(state.report.sources) == 1
    [revised] = run.of_type("report_revised")
    assert "[1]" in revised["content"]
    answer = state.messages[-1].text
    assert answer.startswith(f"{UNCITED} [1]") and "cites no source" not in answer


@pytest.mark.sweep
@pytest.mark.parametrize("first", ["", " \n ", REPORT])
async def test_an_empty_finding_is_requested_again(tmp_path: Path, first: Script) -> None:
    run = citing(tmp_path, [first, f"{LIT} [1]"], [f"{LIT} [1]"])
    state = await run.ask()
    assert [finding.text for finding in in_order(state)] == [f"{LIT} [1]"]
    assert ReportNotes(state).lines() == []


async def test_passages_stand_in_for_text_that_cites_nothing_again(tmp_path: Path) -> None:
    made_up = "It was switched on in 1799."
    run = citing(tmp_path, [made_up, made_up], ["It is lit.", "It is lit, I think."])
    state = await run.ask()
    [finding] = in_order(state)
    assert (
        made_up not in finding.text
        and "lit for the first time in 1844" in finding.text
        and "[1]" in finding.text
    )
    assert (finding.ended, "cited no source" in finding.reason) == ("partial", True)
    assert len(run.calls("writer")) == 2
    assert state.report and "lit for the first time in 1844" in state.report.text
    assert "Its report is replaced by quotations" in " ".join(ReportNotes(state).lines())


@pytest.mark.behaviour("O-55", "O-80")
async def test_a_finding_beside_the_end_of_the_research_takes_no_further_call(
    tmp_path: Path,
) -> None:
    aside = "The tower is named in [1]."
    looked_at = search("Ada Moran").model_copy(update={"content": aside})
    ended = calls(
        call("think_tool", reasoning="That is enough."),
        call("generate_report", missing=["who built it"]),
        text=f"{LIT} [1]",
    )
    run, state = await answered(
        tmp_path, orchestrator=[TASK, REPORT], researcher=[search("Skerry Light"), looked_at, ended]
    )
    [finding] = in_order(state)
    assert (finding.numbered, finding.missing) == (f"{LIT} [1]", ("who built it",))
    first, second, last = run.calls("researcher")
    forced = [asked.settings["tool_choice"] for asked in (first, second, last)]
    caps = [asked.settings["max_tokens"] for asked in (first, second, last)]
    assert forced == ["any", "auto", "auto"] and caps == [1024, 10_000, 10_000]
    assert (last.tools, last.messages[0]) == (first.tools, first.messages[0])
    # Only what ends the research is the finding; text beside a search is a thought.
    assert run.words("intermediate_report_delta") == f"{LIT} [1]"
    thoughts = "".join(packet["reasoning"] for packet in run.of_type("reasoning_delta"))
    assert aside in thoughts and "That is enough." in thoughts and LIT not in thoughts
    again = [
        packet for packet in await run.replayed() if packet.type == "intermediate_report_delta"
    ]
    assert "".join(packet.content for packet in again) == f"{LIT} [1]"


@pytest.mark.fault("R9")
async def test_a_run_that_is_stopped_while_such_a_finding_is_shown_does_not_pay_for_it_again(
    tmp_path: Path,
) -> None:
    ended = calls(call("generate_report"), text=f"{LIT} [1]")
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=[search("Skerry Light"), ended])
    given: Any = {"messages": [HumanMessage("What is known?")]}
    way: Any = {"context": run.context, "stream_mode": "custom", "subgraphs": True, "version": "v2"}
    shown: Any = run.graph.astream(given, thread_config(run.thread), **way)
    async with aclosing(shown):
        async for part in shown:
            if part["data"]["type"] == "intermediate_report_start":
                break
    state = await run.ask(None)
    assert [finding.numbered for finding in in_order(state)] == [f"{LIT} [1]"]
    assert len(run.calls("researcher")) == 2 and state.report


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("alone", "choice"),
    [
        (f"{LIT} [1]", "any"),
        (calls(CUT, text=f"{LIT} [1]", finish_reason="length"), "auto"),
    ],
    ids=["no call", "a call that was cut off"],
)
async def test_a_finding_without_the_call_that_ends_the_research_is_kept_and_not_written_again(
    tmp_path: Path, alone: Script, choice: str
) -> None:
    script = [search("Skerry Light"), alone, REPORT]
    run, state = await answered(tmp_path, orchestrator=[TASK, REPORT], researcher=script)
    asked = run.calls("researcher")
    shown = [str(message.text) for message in asked[-1].messages]
    assert len(asked) == 3 and shown.count(f"{LIT} [1]") == 1
    assert "is kept" in shown[-1] and asked[-1].settings["tool_choice"] == choice
    assert [finding.numbered for finding in in_order(state)] == [f"{LIT} [1]"]


async def test_a_finding_that_is_cut_off_at_its_limit_is_partial_and_not_requested_again(
    tmp_path: Path,
) -> None:
    cut = AIMessage(f"{LIT} [1] It is", response_metadata={"finish_reason": "length"})
    run, state = await answered(
        tmp_path, orchestrator=[TASK, REPORT], researcher=[search("Skerry Light"), cut]
    )
    [finding] = in_order(state)
    assert len(run.calls("researcher")) == 2 and finding.text.startswith(f"{LIT} [1]")
    assert (finding.ended, "finding_tokens" in finding.reason) == ("partial", True)


async def test_a_text_that_was_no_finding_is_not_kept_and_what_is_calculated_comes_first(
    tmp_path: Path,
) -> None:
    more = "More on its keeper is in [1]; I shall search."
    sums = call("calculate", calculations=["Age: 1932 [1] - 1844 [1] = years"])
    early = calls(sums, call("generate_report"), text=f"It was lit 80 years before. {LIT} [1]")
    script = [search("Skerry Light"), more, search("Ada Moran"), early, f"{LIT} [1]"]
    run, state = await answered(tmp_path, orchestrator=[TASK, REPORT], researcher=script)
    last = run.calls("researcher")[-1]
    assert last.settings["tool_choice"] == "none"
    assert more not in last.text and "[calc 1]" in last.text
    assert [finding.numbered for finding in in_order(state)] == [f"{LIT} [1]"]


NAMES = ("Skerry", "Anlow", "Tralee", "Moran", "Ostvik", "Holm")


@pytest.mark.fault("R10", "R11")
@pytest.mark.behaviour("O-02", "O-03", "O-44", "O-54", "O-56")
async def test_a_researcher_gets_its_task_alone_its_own_tools_caps_and_text_fenced_as_data(
    tmp_path: Path,
) -> None:
    run, _ = await answered(tmp_path, orchestrator=[TASK, REPORT])
    control = {"generate_report", "think_tool"}
    assert {*run.calls("clarifier")[0].tools} == {"generate_plan"}
    assert {*run.calls("orchestrator")[0].tools} == {"analyze_findings", "research_agent", *control}
    decision, with_result, finding = run.calls("researcher")
    assert {*decision.tools} == {"internal_search", "open_url", "calculate", *control}
    assert [type(message) for message in decision.messages] == [
        SystemMessage,
        HumanMessage,
        HumanMessage,
    ]
    assert decision.messages[1].text == "Find out when the light was lit."
    assert "kept the light" not in decision.text
    [result] = results(with_result.messages).values()
    tag = result.splitlines()[0].strip("<>")
    assert tag.startswith("data-")
    assert result.endswith(f"</{tag}>")
    assert all("have not read" not in asked.messages[-1].text for asked in run.calls("researcher"))
    assert (decision.settings["max_tokens"], decision.settings["tool_choice"]) == (1024, "any")
    assert (finding.settings["max_tokens"], finding.settings["tool_choice"]) == (10_000, "none")
    # The prompt prefix is identical, so that a provider's cache can serve it.
    assert (finding.tools, finding.messages[0]) == (decision.tools, decision.messages[0])


@pytest.mark.behaviour("O-45", "O-46", "O-55")
async def test_after_eight_rounds_without_counting_thoughts_the_finding_is_written(
    tmp_path: Path,
) -> None:
    rounds = [
        message
        for n in range(8)
        for message in (think(f"a {n}"), think(f"b {n}"), search(f"query {n}"))
    ]
    run, state = await answered(
        tmp_path, orchestrator=[TASK, REPORT], researcher=[*rounds, "What there is. [1]"]
    )
    finding = in_order(state)[0]
    assert (len(finding.actions), finding.ended) == (8, "partial")
    assert "max_iterations" in finding.reason
    assert "(Incomplete: its 8 rounds" in run.calls("orchestrator")[1].text
    assert state.run and state.run.status == "completed_with_gaps"


@pytest.mark.behaviour("O-46")
async def test_after_twelve_minutes_the_finding_is_written(tmp_path: Path) -> None:
    clock = HandClock()
    script = [search("Skerry Light"), clock.after(721, think()), "It was lit in 1844. [1]"]
    run = lab(tmp_path, orchestrator=[TASK, REPORT], researcher=script, clock=clock)
    finding = in_order(await run.ask())[0]
    assert (finding.ended, finding.numbered) == ("partial", "It was lit in 1844. [1]")
    assert "researcher_seconds" in finding.reason


@pytest.mark.behaviour("O-47")
async def test_a_third_thought_in_a_row_costs_a_round(tmp_path: Path) -> None:
    script = [search("Skerry"), *(think() for _ in range(2 + 7)), "Nothing was found."]
    run, state = await answered(tmp_path, orchestrator=[TASK, REPORT], researcher=script)
    _, *answers = results(run.calls("researcher")[-1].messages).values()
    assert answers[:2] == ["Noted.", "Noted."]
    assert len(answers) == 9
    assert all("no more thinking" in answer for answer in answers[2:])
    assert in_order(state)[0].ended == "partial"


@pytest.mark.behaviour("O-48", "O-49", "O-75")
async def test_calls_of_the_first_tool_run_together_and_what_is_opened_then_keeps_its_number_and_is_shown_once(
    tmp_path: Path,
) -> None:
    address = "docs:lab-documents/lighthouse.md"
    three = calls(
        call("internal_search", queries=["1844 tall"], id="first"),
        call("internal_search", queries="Ada Moran", id="second"),
        call("open_url", urls=[address], id="other"),
    )
    opened = calls(call("open_url", urls=[address], id="opened"))
    script = [three, opened, REPORT, "It is tall. [1, 2]"]
    run, state = await answered(tmp_path, orchestrator=[TASK, REPORT], researcher=script)
    [finding] = in_order(state)
    actions = [(action.tool, action.id, action.inputs) for action in finding.actions]
    assert actions == [
        ("internal_search", "first", ("1844 tall", "Ada Moran")),
        ("open_url", "opened", (address,)),
    ]
    answers = results(run.calls("researcher")[2].messages)
    assert "Skerry" in answers["first"] and "Run together" in answers["second"]
    assert "one kind of tool" in answers["other"]
    assert every_call_has_one_result(run.calls("researcher")[2].messages)
    shown = ["stands 38 metres tall" in answers[name] for name in ("first", "opened")]
    assert shown == [True, False] and '"shown_before": [1]' in answers["opened"]
    assert len(finding.sources) == len({*finding.sources})


@pytest.mark.fault("R10")
@pytest.mark.behaviour("O-50", "O-51", "O-53")
async def test_silence_unknown_and_failing_tools_are_answered_and_the_researcher_goes_on(
    tmp_path: Path,
) -> None:
    unknown = calls(call("browse", id="b"), call("shell", id="s"))
    wrong = calls(call("open_url", urls=["docs:nowhere/x.md"], id="w"))
    bad_arguments = calls(call("internal_search", text=["x"], id="a"))
    script = ["Hm.", "Well.", unknown, wrong, bad_arguments, *simple_research("Lit in 1844. [1]")]
    run, state = await answered(tmp_path, orchestrator=[TASK, REPORT], researcher=script)
    asked = run.calls("researcher")
    reminders = [request.messages[-1].text.partition("Round ")[2] for request in asked[:4]]
    # The first silence is nudged, the second costs a round, as an unknown tool does.
    assert [(int(text.split()[0]), "no effect" in text) for text in reminders] == [
        *((1, False), (1, True)),
        *((2, True), (3, False)),
    ]
    assert "Hm." not in asked[2].text
    answers = results(asked[5].messages)
    assert "no tool 'browse'" in answers["b"] and "internal_search" in answers["s"]
    assert "docs:nowhere/x.md" in answers["w"]
    assert "arguments are wrong" in answers["a"]
    finding = in_order(state)[0]
    assert (finding.ended, len(finding.actions), finding.numbered) == (
        "done",
        3,
        "Lit in 1844. [1]",
    )


@pytest.mark.fault("R14")
@pytest.mark.behaviour("O-74")
async def test_an_address_that_stays_unknown_is_never_cited_and_findings_are_shown_as_written(
    tmp_path: Path,
) -> None:
    wanted, report = (
        "True. [1, 2] Invented. [9]",
        "It was lit for the first time in 1844. [1] Invented. [9]",
    )
    script = [search("Skerry Light 1844"), REPORT, wanted]
    run, state = await answered(tmp_path, researcher=script, writer=[report])
    finding = in_order(state)[0]
    assert finding.numbered == "True. [1, 2] Invented."
    assert finding.dropped_markers == 1
    assert run.words("intermediate_report_delta") == wanted
    assert (
        run.words("message_delta").rstrip()
        == "It was lit for the first time in 1844. [1] Invented."
    )
    assert state.report
    assert (
        state.report.text == "It was lit for the first time in 1844. [1] Invented. *(not verified)*"
    )
    assert state.report.audit and state.report.audit.removed_markers == 1


async def test_a_citation_of_a_finding_is_corrected_to_the_only_source_that_states_it(
    tmp_path: Path,
) -> None:
    tide = "The spring tide at Port Anlow reaches 5.2 metres above the chart datum."

    def wrongly_cited(messages: Sequence[AnyMessage], _: object) -> str:
        numbers = {result["title"]: result["document"] for result in results_in(messages)}
        light = numbers["Skerry Light"]
        assert light != numbers["Tides"]
        return f"{LIT} [{light}] {tide} [{light}]"

    script = [search("Skerry Light", "spring tide"), REPORT, wrongly_cited]
    _, state = await answered(tmp_path, researcher=script, writer=["It was lit in 1844. [1]"])
    finding = in_order(state)[0]
    assert finding.numbered == f"{LIT} [1] {tide} [2]"
    assert finding.corrected_markers == 1
    assert [source.title for source in state.sources.values() if source.number == 2] == ["Tides"]
    assert state.report and state.report.audit and state.report.audit.corrected_markers == 1


async def test_older_results_shrink_to_what_bears_on_the_task_and_the_prefix_stays(
    tmp_path: Path,
) -> None:
    days = [f"On day {day} the weather was fine, and the sea was calm. " for day in range(120)]
    filler, more = "".join(days[:60]), "".join(days[60:])
    page = f"# {{0}}\n\n{filler}\n\nThe light of {{0}} was lit in 1844.\n\n{more}"
    docs = (
        written(tmp_path / "pages", {f"{name.lower()}_md": page.format(name) for name in NAMES}),
    )
    opened = (
        calls(call("open_url", urls=[f"docs:pages/{name.lower()}.md"], id=name)) for name in NAMES
    )
    script = [search("light"), *opened, REPORT, "It was lit in 1844. [1]"]
    run, state = await answered(
        tmp_path, docs=docs, researcher=script, limits={"results_tokens": 2_500}
    )
    prompts = [[message.text for message in call.messages[:-1]] for call in run.calls("researcher")]
    breaks = [
        number
        for number, (before, after) in enumerate(pairwise(prompts))
        if after[: len(before)] != before
    ]
    assert len(breaks) == 2
    last = results(run.calls("researcher")[-1].messages)
    shown = [len(last[name]) for name in NAMES]
    assert max(shown[:2]) < 1_300 < 2_500 < min(shown[-1:])
    assert all("was lit in 1844" in last[name] for name in NAMES)
    assert prompts[-1][: len(prompts[-2])] == prompts[-2], (
        "the finding is written from what was in view"
    )
    assert in_order(state)[0].ended == "done"
