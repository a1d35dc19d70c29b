"""What models are shown on a thread from which the user has excluded a source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, call, calls, units_shown
from kit.planned import plan, planned_lab, step
from kit.runs import (
    CLEAR,
    PLAN,
    REPORT,
    Lab,
    lab,
    research,
    search,
    write_documents,
    written,
)
from langchain_core.language_models import ModelProfile
from langchain_core.messages import HumanMessage

from deep_research.app.embed import thread_config
from deep_research.app.versions import arevert_thread
from deep_research.core.records.sources import Exclusion
from deep_research.state import ResearchState

EXCLUDED = Exclusion(date="2026-11-29", because="out of date")
HEIGHT = "38"
"""A figure that only the document on the light states."""
BOTH = search("Skerry Light tall", "Ada Moran Tralee")
FINDING = (
    "The Skerry Light is 38 metres tall [1]. Ada Moran was born in Tralee [2]. "
    "With 38 metres it can be seen from far away."
)


def key_of(state: ResearchState, name: str) -> str:
    """The key of the source with this file name."""
    [key] = [key for key in state.sources if key.endswith(name)]
    return key


async def exclude(run: Lab, *names: str) -> None:
    """Exclude the sources with these file names, and no others."""
    state = await run.state()
    excluded = {key_of(state, name): EXCLUDED for name in names}
    await run.graph.aupdate_state(
        thread_config(run.thread), {"excluded": excluded}, as_node="verify_report"
    )


def shown_since(run: Lab, counts: dict[str, int]) -> str:
    """All requests of each role's model after the first ones (`counts`), without the user's own
    words."""
    texts = list[str]()
    for role, model in run.models.items():
        for request in model.calls[counts[role] :]:
            for message in request.messages:
                if not isinstance(message, HumanMessage) or "data-" in message.text:
                    texts.append(message.text)
                    texts.append(json.dumps(getattr(message, "tool_calls", [])))
    return "\n".join(texts)


def counted(run: Lab) -> dict[str, int]:
    return {role: len(model.calls) for role, model in run.models.items()}


def two_questions(tmp_path: Path, second: str, **settings: Any) -> Lab:
    """A thread for two questions, the second of which reports `second`."""
    return lab(
        tmp_path,
        planner=[PLAN, PLAN],
        orchestrator=[research("The light."), REPORT, research("The keeper."), REPORT],
        researcher=[BOTH, REPORT, FINDING, BOTH, REPORT, "Ada Moran was born in Tralee [1]."],
        writer=[f"The Skerry Light is {HEIGHT} metres tall [1].", second],
        **{"clarify": "off", **settings},
    )


async def test_an_excluded_source_is_in_no_later_request_and_cannot_be_cited(
    tmp_path: Path,
) -> None:
    run = two_questions(tmp_path, "Ada Moran was born in Tralee [2]. The light is old [1].")
    state = await run.ask_once()
    assert state.report and HEIGHT in state.report.text
    await exclude(run, "lighthouse.md")
    counts = counted(run)
    state = await run.ask("Where was the keeper born?")
    shown = shown_since(run, counts)
    assert "Tralee" in shown and f"{HEIGHT} metres" not in shown
    assert state.report and state.report.sources == (key_of(state, "keeper.md"),)
    # What was found stays in the thread's record.
    assert any(HEIGHT in finding.text for finding in state.findings.values())


async def test_an_included_source_is_shown_again(tmp_path: Path) -> None:
    run = two_questions(tmp_path, f"It is {HEIGHT} metres tall [1].")
    await run.ask_once()
    await exclude(run, "lighthouse.md")
    await exclude(run)
    counts = counted(run)
    state = await run.ask("How tall is it?")
    assert f"{HEIGHT} metres" in shown_since(run, counts)
    assert state.report and state.report.sources == (key_of(state, "lighthouse.md"),)


async def test_a_step_of_a_plan_gets_no_learning_of_an_excluded_source(tmp_path: Path) -> None:
    rules: dict[str, Any] = {
        "make_plan": plan(step("Skerry Light tall"), step("Ada Moran Tralee")),
        "report": lambda asked: "Ada Moran kept it [1] [2].",
    }
    run = planned_lab(tmp_path, rules, clarify="off")
    state = await run.ask_once()
    assert any("1844" in learning.text for learning in state.learnings.values())
    await exclude(run, "lighthouse.md")
    before = len(run.model.calls)
    state = await run.ask("Where was the keeper born?")
    shown = list[str]()
    for request in run.model.calls[before:]:
        shown.append(request.text)
    assert "Tralee" in "\n".join(shown) and "1844" not in "\n".join(shown)
    assert state.report and key_of(state, "lighthouse.md") not in state.report.sources


@pytest.mark.parametrize("is_denied", [False, True])
async def test_what_was_read_on_a_domain_that_a_follow_up_denies_is_not_used(
    tmp_path: Path, is_denied: bool
) -> None:
    run = two_questions(tmp_path, "Ada Moran was born in Tralee [2].")
    state = await run.ask_once()
    light = state.sources[key_of(state, "lighthouse.md")]
    on_web = light.model_copy(
        update={"kind": "web", "location": "https://old.example.org/light", "read_at": "9999"}
    )
    await run.graph.aupdate_state(
        thread_config(run.thread), {"sources": {light.key: on_web}}, as_node="verify_report"
    )
    run.settings["domains_deny"] = ("example.org",) if is_denied else ()
    writers = len(run.calls("writer"))
    await run.ask("Where was the keeper born?")
    assert (FINDING[:40] in run.calls("writer")[writers].text) is not is_denied


LIT_AND_TALL = "The Skerry Light is 38 metres tall. [1] Ada Moran was born in Tralee. [2]"
EDITS = [{"kind": "insert_after", "block": 1, "text": "She kept the light. [2]"}]


def edited(*edits: dict[str, Any]) -> Any:
    return calls(call("edit_report", edits=list(edits), done="Mended."))


def notes(state: ResearchState) -> str:
    """The notes below the report."""
    return state.messages[-1].text.partition("## Notes")[2]


@pytest.mark.parametrize("named", ["1", "lighthouse.md"])
async def test_a_user_who_does_not_want_a_source_gets_a_version_without_it(
    tmp_path: Path, named: str
) -> None:
    exclude = calls(call("exclude_sources", sources=[named], because="Out of date."))
    run = lab(
        tmp_path,
        clarifier=[CLEAR, exclude],
        researcher=[BOTH, REPORT, FINDING],
        writer={"": [LIT_AND_TALL], "edit_report": [edited(*EDITS)]},
    )
    await run.ask_once()
    counts = counted(run)
    state = await run.ask("Please don't use the first source, it is out of date.")
    assert state.report and state.report.text == (
        "Ada Moran was born in Tralee. [2]\n\nShe kept the light. [2]"
    )
    assert state.excluded[key_of(state, "lighthouse.md")].because == "Out of date."
    changed = 'the excluded source "Skerry Light" was taken out or changed.'
    assert f"1 statement that rested on {changed}" in notes(state)
    # Its clarifier saw the report before it was excluded, and nobody else did.
    counts["clarifier"] += 1
    shown = shown_since(run, counts)
    assert "The user has excluded sources." in shown and "the report: a figure" in shown
    assert "metres tall" not in shown and "Tralee" in shown
    assert state.run.entry == "edit" and run.all_used()


async def test_an_unknown_source_is_asked_for(tmp_path: Path) -> None:
    unknown = calls(call("exclude_sources", sources=["rumours.example"]))
    run = lab(tmp_path, clarifier=[CLEAR, unknown], researcher=[BOTH, REPORT, FINDING])
    await run.ask_once()
    state = await run.ask("Nothing from rumours.example.")
    assert state.run.status == "waiting" and not state.excluded
    assert (
        "'rumours.example'" in state.messages[-1].text
        and "1: Skerry Light" in state.messages[-1].text
    )


@pytest.mark.slow
async def test_a_planned_report_is_edited_without_an_excluded_source(tmp_path: Path) -> None:
    rules: dict[str, Any] = {
        "make_plan": plan(step("Skerry Light tall"), step("Ada Moran Tralee")),
        "report": lambda asked: "It was lit in 1844. [1] She was born in Tralee. [2]",
        "edit_report": lambda asked: {"edits": [], "done": "Nothing to mend."},
    }
    run = planned_lab(tmp_path, rules, clarify="off")
    await run.ask_once()
    await exclude(run, "lighthouse.md")
    before = len(run.model.calls)
    words = {"messages": [HumanMessage("Do without source 1.")], "edit": True}
    state = await run.ask(words)
    assert state.report and "1844" not in state.report.text and "Tralee" in state.report.text
    shown = "\n".join(request.text for request in run.model.calls[before:])
    assert "The user has excluded sources." in shown and "1844" not in shown


async def test_a_report_without_any_source_left_says_so(tmp_path: Path) -> None:
    run = lab(tmp_path, models="extractive", clarify="off", writer=[], verifier=None)
    await run.ask_once()
    state = await run.state()
    excluded = dict.fromkeys(state.sources, EXCLUDED)
    await run.graph.aupdate_state(
        thread_config(run.thread), {"excluded": excluded}, as_node="verify_report"
    )
    state = await run.ask({"messages": [HumanMessage("Do without all.")], "edit": True})
    assert state.report and not state.report.sources and state.report.text
    assert "does not cite" in state.messages[-1].text or "no source" in state.messages[-1].text


KEPT = "Ada Moran was born in Tralee. [2]"
REPLACED = "Chart 12 gives its height as 37 metres. [3]"
INSERT = {"kind": "insert_after", "block": 1, "text": REPLACED}


def replacing_lab(tmp_path: Path, **scripts: Any) -> Lab:
    """A thread whose report has a figure that another source has too."""
    run = lab(
        tmp_path,
        **{
            "researcher": {
                "When was": [BOTH, REPORT, FINDING],
                "To replace": [search("chart tall"), REPORT, "It is 37 metres tall. [1]"],
            },
            "writer": {
                "": [f"## Size\n\nThe Skerry Light is {HEIGHT} metres tall. [1] {KEPT}"],
                "edit_report": [edited(INSERT)],
            },
            **scripts,
        },
    )
    run.folder = write_documents(tmp_path / "papers")
    return run


def add_chart(run: Lab) -> None:
    """Add the other source to the documents."""
    written(run.folder, {"chart_md": "# Chart 12\n\nThe Skerry Light: tall, 37 metres.\n"})


async def test_another_source_is_found_for_what_an_excluded_one_alone_supported(
    tmp_path: Path,
) -> None:
    exclude = calls(call("exclude_sources", sources=["1"], replace=True))
    run = replacing_lab(tmp_path, clarifier=[CLEAR, exclude])
    await run.ask_once()
    add_chart(run)
    counts = counted(run)
    state = await run.ask("Find something better than the first source.")
    [finding] = state.own_findings
    assert 'section "Size": a figure' in finding.task
    assert state.report and state.report.text == f"## Size\n\n{REPLACED}\n\n{KEPT}"
    # Not even masked is the statement shown, except to the clarifier, which excluded its source.
    counts["clarifier"] += 1
    shown = shown_since(run, counts)
    assert f"{HEIGHT} metres" not in shown and "The Skerry Light is" not in shown
    assert 'section "Size": a figure' in shown and "`tasks`" not in shown
    assert not any(exclusion.needs_replacement for exclusion in state.excluded.values())
    assert run.all_used()


async def test_what_an_earlier_version_has_lost_can_be_replaced_afterwards(tmp_path: Path) -> None:
    forms = [edited(), edited(INSERT), edited()]
    writer = {
        "": [f"## Size\n\nThe Skerry Light is {HEIGHT} metres tall. [1] {KEPT}"],
        "edit_report": forms,
    }
    run = replacing_lab(tmp_path, clarify="off", clarifier=[], writer=writer)
    await run.ask_once()
    await exclude(run, "lighthouse.md")
    state = await run.ask({"messages": [HumanMessage("Do without it.")], "edit": True})
    assert state.report and state.report.text == f"## Size\n\n{KEPT}" and not state.own_findings
    add_chart(run)
    [key] = state.excluded
    wanted = {key: EXCLUDED.model_copy(update={"needs_replacement": True})}
    await run.graph.aupdate_state(
        thread_config(run.thread), {"excluded": wanted}, as_node="verify_report"
    )
    state = await run.ask({"messages": [HumanMessage("Replace it.")], "edit": True})
    assert state.report and state.report.text == f"## Size\n\n{REPLACED}\n\n{KEPT}"
    assert len(state.own_findings) == 1
    # The next edit searches for nothing.
    state = await run.ask({"messages": [HumanMessage("Check the words.")], "edit": True})
    assert not state.own_findings and run.all_used()


@pytest.mark.slow
async def test_steps_find_other_sources_for_what_was_lost(tmp_path: Path) -> None:
    rules: dict[str, Any] = {
        "make_plan": plan(step("Skerry Light tall")),
        "report": lambda asked: f"## Size\n\nIt was lit in 1844. [1] {KEPT}",
        "edit_report": lambda asked: {"edits": [], "done": "Nothing was found."},
    }
    run = planned_lab(tmp_path, rules, clarify="off")
    state = await run.ask_once()
    wanted = EXCLUDED.model_copy(update={"needs_replacement": True})
    await run.graph.aupdate_state(
        thread_config(run.thread),
        {"excluded": {key_of(state, "lighthouse.md"): wanted}},
        as_node="verify_report",
    )
    before = len(run.model.calls)
    state = await run.ask({"messages": [HumanMessage("Do without source 1.")], "edit": True})
    [taken] = state.steps
    assert taken.is_over and taken.title == 'section "Size": a figure'
    assert "1844" not in "\n".join(request.text for request in run.model.calls[before:])


SUIT = "Brackwater sued the firm on 12 September 2025."
COSTS = "Its demand is 31,000 pounds."
NOTE = "Brackwater is the largest rival of the firm."
SALES = "It sold 5,520 filters, and it began a lawsuit in autumn."
PAPERS = {
    "suit_md": f"# The lawsuit\n\n{SUIT} {COSTS}\n",
    "note_md": f"# Market note on filters\n\n{NOTE} {SALES}\n",
}
PARTLY = "Brackwater, the largest rival, sued on 12 September 2025"
PROVED = "Brackwater sued on 12 September 2025."
TWICE = "On 12 September 2025 the firm was taken to court by Brackwater"
FIGURES = "Brackwater wants 31,000 pounds and sold 5,520 filters"
LAWSUIT = "There is a lawsuit between the two"
MIXED = f"## Suit\n\n{TWICE}. [1][2] {PARTLY}. [1][2] {FIGURES}. [1][2] {LAWSUIT}. [1][2]"
QUOTED = {
    TWICE: [SUIT],
    PARTLY: [SUIT, NOTE],
    FIGURES: [COSTS, SALES],
    LAWSUIT: [SALES],
    "Brackwater sued": [SUIT],
}
"""What the judge quotes for a statement, from both sources."""


def judging(prompt: str) -> list[dict[str, Any]]:
    """The verdicts on the units of a request; what quotes a passage that is not shown is not
    found, except the statement that each source supports."""
    units, said = units_shown(prompt)
    passages = "\n".join(said.values())
    verdicts = list[dict[str, Any]]()
    for unit in units:
        verdict: dict[str, Any] = {"unit": unit["unit"], "verdict": "reasoning"}
        for words, quoted in QUOTED.items():
            if unit["says"].startswith(words):
                if words == LAWSUIT and SALES not in passages:
                    quoted = [SUIT]
                is_found = all(piece in passages for piece in quoted)
                verdict["verdict"] = "supported" if is_found else "not_found"
                verdict["words"] = "\n".join(quoted) if is_found else ""
        verdicts.append(verdict)
    return verdicts


def suit_lab(tmp_path: Path, *forms: Any, **settings: Any) -> Lab:
    """A thread whose report has statements of two sources."""
    judge = ScriptedChatModel(
        replies={
            "": lambda messages, _: calls(call("judge_units", verdicts=judging(messages[-1].text)))
        },
        profile=ModelProfile(max_input_tokens=100_000),
    )
    search_both = search("Brackwater sued firm", "market note filters")
    run = lab(
        tmp_path,
        researcher={
            "When was": [search_both, REPORT, "Brackwater sued. [1] It is a rival. [2]"],
            "To replace": [REPORT, "Nothing."] * 2,
        },
        writer={"": [MIXED], "edit_report": list(forms)},
        **{"clarify": "off", "clarifier": [], "verifier": judge, **settings},
    )
    run.folder = written(tmp_path / "suit", PAPERS)
    return run


DO_WITHOUT = {"messages": [HumanMessage("Do without source 2.")], "edit": True}


@pytest.mark.parametrize("is_replacing", [False, True])
async def test_a_statement_of_two_sources_stays_without_one_only_if_the_other_supports_it(
    tmp_path: Path, is_replacing: bool
) -> None:
    again = {"kind": "insert_after", "block": 2, "text": "Brackwater sued in 2025. [1]"}
    run = suit_lab(tmp_path, edited(again), edited())
    state = await run.ask()
    assert state.report and state.report.keys[2].endswith("note.md")
    wanted = EXCLUDED.model_copy(update={"needs_replacement": is_replacing})
    await run.graph.aupdate_state(
        thread_config(run.thread),
        {"excluded": {state.report.keys[2]: wanted}},
        as_node="verify_report",
    )
    counts = counted(run)
    state = await run.ask(DO_WITHOUT)
    assert state.report and state.report.text == (
        f"## Suit\n\n{TWICE}. [1] {PROVED} [1] {LAWSUIT}. [1]\n\nBrackwater sued in 2025. [1]"
    )
    changed = 'the excluded source "Market note on filters" were taken out or changed.'
    assert f"2 statements that rested on {changed}" in notes(state)
    assert "No statement of the report" not in notes(state)
    # The kept verdict on one statement holds, and a figure that is gone needs no judge.
    judged = list[list[str]]()
    for request in run.calls("verifier")[counts["verifier"] :]:
        judged.append([unit["says"] for unit in units_shown(request.text)[0]])
    assert judged == [[f"{PARTLY}.", f"{LAWSUIT}."], [PROVED, "Brackwater sued in 2025."]]
    assert "5,520" not in shown_since(run, counts)
    [writer] = run.calls("writer")[counts["writer"] :]
    assert "largest rival" not in writer.text and SUIT in writer.text
    assert 'section "Suit", after' in writer.text
    tasks = [finding.task for finding in state.own_findings]
    if not is_replacing:
        assert not tasks
        # They can also be replaced afterwards.
        wanted = EXCLUDED.model_copy(update={"needs_replacement": True})
        await run.graph.aupdate_state(
            thread_config(run.thread),
            {"excluded": dict.fromkeys(state.excluded, wanted)},
            as_node="verify_report",
        )
        state = await run.ask({"messages": [HumanMessage("Replace it.")], "edit": True})
        tasks = [finding.task for finding in state.own_findings]
    assert len(tasks) == 2
    assert all('section "Suit"' in task and "rival" not in task for task in tasks)
    # Only one of them has lost a figure.
    assert f'a statement, beside what other sources say: "{SUIT}"' in tasks[0]
    assert f'a figure, beside what other sources say: "{COSTS}"' in tasks[1]


@pytest.mark.parametrize("is_reverted", [False, True])
async def test_what_no_judge_has_proved_is_marked_and_named(
    tmp_path: Path, is_reverted: bool
) -> None:
    run = suit_lab(tmp_path, edited(), verify="check" if is_reverted else "off")
    await run.ask()
    await exclude(run, "note.md")
    state = await run.ask(DO_WITHOUT)
    if is_reverted:
        await arevert_thread(run.graph, run.thread, 1)
        state = await run.state()
    assert state.report and "5,520" not in state.messages[-1].text
    text = state.report.text
    assert f"{PARTLY}. [1] *(not verified)*" in text and "[2]" not in text
    assert ("court by Brackwater. [1] *(not" in text) is not is_reverted
    left_out = 'rested on the excluded source "Market note on filters" was taken out.'
    assert f"1 statement that {left_out}" in notes(state)
    assert "whether the others fully support this was not checked" in notes(state)
    assert '"Brackwater, the largest rival, sued on …"' in notes(state)
