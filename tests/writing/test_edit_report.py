"""A finished report is edited: by the blocks that the user's request touches, in both strategies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.models import ScriptedChatModel, by_figures, call, calls, units_shown
from kit.planned import PlannedLab, at_first, planned_lab
from kit.runs import CLEAR, QUESTION, REPORT, Hanging, Lab, lab, research, search, stopped_at
from langchain_core.language_models import ModelProfile
from langchain_core.messages import AIMessage, HumanMessage

from deep_research.app.embed import thread_config
from deep_research.app.versions import arevert_thread
from deep_research.core.errors import RateLimited, ReportNotEditable
from deep_research.core.records.report import word_count
from deep_research.nodes.edit_report import EditReport
from deep_research.state import ResearchState

TITLE = "The Skerry Light"
PLAN = f"# {TITLE}\n\n1. History of the light"
DRAFT = """\
## History

The Skerry Light was lit for the first time in 1844. [1] It stands 45 metres tall. [1]

| Light | Lit | Height |
| :-- | --- | --: |
| Skerry | 1844 [1] | 38 metres [1] |

- It is a light. [1]
- Nothing else is known.

## Outlook

It will stand."""
EDIT = "Drop the outlook and add the keepers to the table."
KEEPER = "Who kept the Skerry Light, and when?"
EDITS: list[dict[str, Any]] = [
    {"kind": "delete", "block": 6, "last": 7},
    {"kind": "insert_column", "block": 3, "column": 1, "cells": ["Keeper", "unknown"]},
]
AGAIN = {"kind": "insert_after", "block": 0, "text": "A summary. [1]"}
DONE = "The table names the keepers, and the outlook is gone."


def edits(*given: dict[str, Any], **more: Any) -> Any:
    """A form with edits; without arguments, with the usual ones."""
    chosen = list(given) if given or more else EDITS
    return calls(call("edit_report", edits=chosen, **{"done": DONE, **more}))


def asking(words: str = EDIT) -> dict[str, Any]:
    """The input of an edit without any routing."""
    return {"messages": [HumanMessage(words)], "edit": True}


def edit_lab(tmp_path: Path, *forms: Any, **settings: Any) -> Lab:
    """A run whose first report is `DRAFT`; its writer fills in these forms afterwards."""
    scripts: dict[str, Any] = {
        "planner": [PLAN],
        "writer": {"": [DRAFT], "edit_report": list(forms)},
        "researcher": {
            "When was": [search("Skerry Light"), REPORT, "Lit in 1844, 38 metres tall. [1]"],
            KEEPER: [search("Ada Moran"), REPORT, "Ada Moran kept it from 1901 to 1932. [1]"],
        },
    }
    return lab(tmp_path, **{"verify": "check", **scripts, **settings})


def planned_edit_lab(tmp_path: Path, form: Any, **settings: Any) -> PlannedLab:
    """The same with a typed plan; `form` fills in the form, asked for the first time or again."""
    rules = {"report": lambda _: DRAFT, "edit_report": form}
    return planned_lab(tmp_path, {**rules, **settings.pop("rules", {})}, **settings)


def text_of(state: ResearchState) -> str:
    assert state.report
    return state.report.text


def notes(state: ResearchState) -> str:
    """The notes below the report."""
    return state.messages[-1].text.partition("## Notes")[2]


async def test_blocks_that_no_edit_names_stay_as_they_are(tmp_path: Path) -> None:
    run = edit_lab(tmp_path, edits())
    first = await run.ask_once()
    before = text_of(first)
    # The check has marked a statement and left the others.
    assert "45 metres tall. [1] *(" in before
    packets = len(run.packets)
    state = await run.ask(asking())
    after = text_of(state)
    assert after == before.partition("\n\n## Outlook")[0].replace(
        before[before.index("| Light") : before.index("\n\n- It is")],
        "| Light | Keeper | Lit | Height |\n| :-- | --- | --- | --: |\n"
        "| Skerry | unknown | 1844 [1] | 38 metres [1] |",
    )
    # Nothing was planned, clarified or searched; one form was filled in.
    assert [len(run.calls(role)) for role in ("clarifier", "planner", "writer")] == [1, 1, 2]
    assert state.title == TITLE and state.messages[-1].text.startswith(f"# {TITLE}\n")
    assert DONE in notes(state)
    assert len(state.messages) == 4
    [prompt] = [asked.text for asked in run.calls("writer") if "edit_report" in asked.tools]
    assert '"columns"' in prompt and EDIT in prompt
    assert "It stands 38 metres tall" in prompt
    revised = [packet for packet in run.packets[packets:] if packet["type"] == "report_revised"]
    [packet] = revised
    [changed] = packet["changed"]
    assert packet["content"][changed["start"] : changed["end"]].startswith("| Light | Keeper |")
    assert changed["number"] == 3
    assert state.base and state.base.text == before and state.run.entry == "edit"
    assert not state.edit


@pytest.mark.slow
async def test_the_planned_strategy_edits_as_well(tmp_path: Path) -> None:
    run = planned_edit_lab(tmp_path, lambda _: {"edits": EDITS, "done": DONE})
    before = text_of(await run.ask_once())
    asked = len(run.model.asked)
    state = await run.ask(asking())
    assert text_of(state).startswith(before.partition("\n\n| Light")[0])
    assert "| Light | Keeper |" in text_of(state) and "Outlook" not in text_of(state)
    assert {question.form for question in run.model.asked[asked:]} <= {"edit_report", "judge_units", "rewrite_sentences"}  # fmt: skip


async def test_facts_that_no_source_has_are_researched_once_and_come_back_to_the_edit(
    tmp_path: Path,
) -> None:
    cell = {"kind": "set_cell", "block": 3, "row": 1, "column": 1, "text": "Moran's light [2]"}
    run = edit_lab(tmp_path, edits(tasks=[KEEPER]), edits(cell))
    await run.ask_once()
    state = await run.ask(asking())
    assert "| Moran's light [2] | 1844 [1] |" in text_of(state)
    assert [finding.task for finding in state.own_findings] == [KEEPER]
    first, second = (asked.text for asked in run.calls("writer") if "edit_report" in asked.tools)
    assert "`tasks`" in first and "`tasks`" not in second
    assert "kept it from 1901 to 1932. [2]" in second
    # The orchestrator's model was only asked for the first question.
    assert len(run.calls("orchestrator")) == 2
    assert run.all_used() and state.run.status == "completed"


@pytest.mark.slow
async def test_steps_research_what_an_edit_lacks(tmp_path: Path) -> None:
    first, then = {"edits": [], "tasks": [KEEPER]}, {"edits": EDITS[:1], "done": DONE}
    run = planned_edit_lab(tmp_path, at_first(1, lambda _: first, lambda _: then))
    await run.ask_once()
    state = await run.ask(asking())
    assert [(step.task, step.status) for step in state.steps] == [(KEEPER, "completed")]
    assert "Outlook" not in text_of(state)
    assert not run.asked("update_plan") and len(run.asked("edit_report")) == 2


@pytest.mark.parametrize("is_missing", [False, True])
async def test_a_follow_up_that_changes_the_report_is_routed_to_the_edit(
    tmp_path: Path, is_missing: bool
) -> None:
    missing = [KEEPER] if is_missing else []
    change = call("edit_report", instruction="Drop it.", missing=missing)
    clarifier = [CLEAR, calls(change)]
    run = edit_lab(tmp_path, edits(EDITS[0]), clarifier=clarifier)
    await run.ask_once()
    state = await run.ask("Drop the outlook.")
    assert "Outlook" not in text_of(state) and "45 metres tall" in text_of(state)
    assert len(state.own_findings) == is_missing
    offered = [set(asked.tools) for asked in run.calls("clarifier")]
    assert "edit_report" not in offered[0] and "edit_report" in offered[1]
    [prompt] = [asked.text for asked in run.calls("writer") if "edit_report" in asked.tools]
    assert "In other words: Drop it." in prompt and state.run.entry == "edit"
    assert len(run.calls("planner")) == 1 and run.all_used() == is_missing


async def test_a_refused_edit_does_not_make_an_edit_of_the_next_message(tmp_path: Path) -> None:
    run = lab(tmp_path, models="extractive")
    await run.ask_once()
    with pytest.raises(ReportNotEditable):
        await run.ask(asking())
    state = await run.ask("Who kept it?")
    assert state.run.entry == "follow_up" and state.run.question == "Who kept it?"
    assert EDIT not in [message.text for message in state.messages]


async def test_a_plain_message_is_a_new_question_if_nothing_is_clarified(tmp_path: Path) -> None:
    run = edit_lab(
        tmp_path,
        clarify="off",
        planner=[PLAN, PLAN],
        orchestrator=[research("When was it lit?"), REPORT, REPORT],
        writer={"": [DRAFT, "Nothing. [1]"], "edit_report": [edits()]},
    )
    await run.ask_once()
    state = await run.ask("Drop the outlook.")
    assert state.run.entry == "follow_up" and text_of(state) == "Nothing. [1]"
    # Without sections, it is an answer about the report, which stays the one to edit.
    assert [*state.versions] == ["version 1", "answer 1"]
    assert "| Light | Keeper |" in text_of(await run.ask(asking()))


async def test_a_refused_edit_is_returned_once_with_the_reason_and_then_left_out_and_named(
    tmp_path: Path,
) -> None:
    broken = {"kind": "set_cell", "block": 3, "row": 5, "column": 1, "text": "x"}
    bare = {"kind": "replace", "block": 2, "text": "The Skerry Light was first lit in 1844."}
    mended = {**bare, "text": "The Skerry Light was first lit in 1844. [1]"}
    lost = {"kind": "delete", "block": 40}
    forms = (edits(broken, bare, lost, EDITS[0]), edits(broken, mended, EDITS[0], done=""))
    run = edit_lab(tmp_path, *forms)
    await run.ask_once()
    state = await run.ask(asking())
    assert "\n\nThe Skerry Light was first lit in 1844. [1]\n\n| Light" in text_of(state)
    assert "Outlook" not in text_of(state)
    # The model has not come back to the first of these.
    assert state.run.done == (
        f"{DONE} A change was left out: the report has no such passage. "
        "The change to “Light Lit Height Skerry 1844 38 …” could not be made."
    )
    # It answers the request, and is no part of the report.
    assert "could not be" not in state.messages[-1].text
    assert not any("could not be" in notice for notice in state.run.notices)
    # The figure that nobody asked to drop is named.
    assert "No longer in the report, but in the version before: 45 metres." in notes(state)
    second = [asked.text for asked in run.calls("writer") if "edit_report" in asked.tools][1]
    assert "it drops [1], but keeps the statement" in second
    assert "the table has rows 0 to 1, not 5" in second


async def test_a_long_report_is_rewritten_part_by_part(tmp_path: Path) -> None:
    sections = [f"## Part {number}\n\n{'It is a light. ' * 60}[1]" for number in range(6)]
    draft = "\n\n".join(sections)

    def shorter(messages: Any, _: Any) -> Any:
        asked = messages[-1].text
        assert "changes of blocks" in asked
        first, last = map(
            int, asked.partition("changes of blocks ")[2].split(" alone")[0].split(" to ")
        )
        return edits(
            *[
                {"kind": "replace", "block": number, "text": "It is a light. [1]"}
                for number in range(first, last + 1)
                if number % 2 == 0
            ],
            done="",
        )

    parts = [shorter] * 3
    run = edit_lab(
        tmp_path,
        writer={"": [draft], "edit_report": [edits(covers_all=True), *parts]},
        limits={"form_tokens": 1_100},
        verify="off",
    )
    await run.ask_once()
    state = await run.ask(asking("Make it as short as possible."))
    assert text_of(state) == "\n\n".join(
        f"## Part {number}\n\nIt is a light. [1]" for number in range(6)
    )
    assert "The changes were not checked against the sources (verify)." in notes(state)


async def test_a_report_can_change_its_title_and_its_language(tmp_path: Path) -> None:
    german = "Das Feuer brannte zum ersten Mal im Jahr 1844 und ist 38 Meter hoch. [1]"
    form = edits(
        {"kind": "replace", "block": 1, "last": 7, "text": german},
        title="# Das Feuer von Skerry",
        language="German",
    )
    run = edit_lab(tmp_path, form)
    await run.ask_once()
    state = await run.ask(asking("Translate it into German."))
    assert text_of(state) == german and state.run.language_code == "de"
    assert state.title == "Das Feuer von Skerry"
    assert state.messages[-1].text.startswith("# Das Feuer von Skerry\n")
    assert "This part is not in" not in state.messages[-1].text


async def test_short_answers_leave_the_report_alone_from_which_edits_start(tmp_path: Path) -> None:
    answer = "It was lit in 1844. [1]"
    run = edit_lab(
        tmp_path,
        clarifier=[CLEAR, calls(call("answer_from_read"))],
        writer={"": [DRAFT, answer], "edit_report": [edits(), edits(AGAIN)]},
    )
    before = text_of(await run.ask_once())
    state = await run.ask("When was the Skerry Light lit?")
    assert text_of(state) == answer and state.base and state.base.text == before
    state = await run.ask(asking())
    assert "| Light | Keeper |" in text_of(state) and state.title == TITLE
    # The next edit starts from the edited report.
    edited = text_of(state)
    state = await run.ask(asking("Begin with a summary."))
    assert text_of(state) == f"A summary. [1]\n\n{edited}"


async def test_there_has_to_be_a_report_and_a_model_that_can_edit(tmp_path: Path) -> None:
    run = edit_lab(tmp_path)
    with pytest.raises(ReportNotEditable, match="no finished report to edit"):
        await run.ask(asking())
    # The next message is a question, and the first of the thread.
    state = await run.ask_once()
    assert state.run.entry == "question" and state.report and len(state.messages) == 2
    other = edit_lab(tmp_path)
    await other.ask_once()
    other.settings["models"] = "extractive"
    with pytest.raises(ReportNotEditable, match="edited by a language model"):
        await other.ask(asking())


async def test_a_figure_of_the_users_stands_and_the_source_is_named_beside_it(
    tmp_path: Path,
) -> None:
    text = "It is 40 metres tall (your request). The survey says that it stands 38 metres tall. [1]"
    quoted = "We measured 40 metres"

    def judge(messages: Any, _: Any) -> AIMessage:
        reply = by_figures(messages[-1].text)
        units, _said = units_shown(messages[-1].text)
        for unit, verdict in zip(units, reply.tool_calls[0]["args"]["verdicts"], strict=True):
            if "your request" in unit["says"]:
                assert "cites" not in unit
                verdict.update(verdict="supported", words=quoted)
        return reply

    profile = ModelProfile(max_input_tokens=100_000)
    verifier = ScriptedChatModel(replies={"": judge}, profile=profile)
    form = edits({"kind": "insert_after", "block": 2, "text": text})
    run = edit_lab(tmp_path, form, verifier=verifier)
    await run.ask_once()
    state = await run.ask(
        asking(f"{quoted}: put that beside the lighthouse that is 38 metres tall.")
    )
    assert text in text_of(state)
    # It is quoted by the report, and found for the request.
    assert run.calls("writer")[-1].text.count("It stands 38 metres tall") == 1
    assert state.report
    [judged] = [unit for unit in state.report.verdicts if "40 metres" in unit.text]
    assert judged.shown == "supported" and judged.words == quoted


async def test_a_stopped_edit_goes_on_and_pays_for_nothing_twice(tmp_path: Path) -> None:
    forms = (edits(tasks=[KEEPER]), RateLimited("busy"), edits(EDITS[0]))
    run = edit_lab(tmp_path, *forms)
    await run.ask_once()
    with pytest.raises(RateLimited):
        await run.ask(asking())
    calls_before = [len(run.calls(role)) for role in ("clarifier", "researcher", "verifier")]
    state = await run.ask(None)
    assert "Outlook" not in text_of(state)
    assert [len(run.calls(role)) for role in ("clarifier", "researcher")] == calls_before[:2]
    assert len(state.own_findings) == 1


async def test_a_message_to_a_stopped_edit_is_part_of_it(tmp_path: Path) -> None:
    hanging = Hanging()
    run = edit_lab(tmp_path, hanging, edits(EDITS[0]))
    await run.ask_once()
    await stopped_at(run, hanging.is_begun, message=asking())
    state = await run.ask("Leave the table alone.")
    assert "Outlook" not in text_of(state) and state.run.entry == "edit"
    prompt = run.calls("writer")[-1].text
    assert EDIT in prompt and "Leave the table alone." in prompt


@pytest.mark.sweep
@pytest.mark.parametrize("node", ["edit_report", "verify_report"])
async def test_a_stopped_edit_is_discarded_by_going_back_to_the_version_that_it_changes(
    tmp_path: Path, node: str
) -> None:
    run = edit_lab(tmp_path, edits(AGAIN), edits(AGAIN))
    first = await run.ask_once()
    await run.ask(asking(), before=node)
    version = await arevert_thread(run.graph, run.thread, 1)
    state = await run.state()
    assert list(state.versions) == [version.name] == ["version 1"]
    assert (await run.next(), state.run.status, state.report) == ((), "ended", None)
    # The next edit starts from the version, too.
    state = await run.ask(asking("Add a summary."))
    assert text_of(state).replace("A summary. [1]\n\n", "") == text_of(first)
    assert list(state.versions) == ["version 1", "version 2"]
    assert EDIT not in run.calls("writer")[-1].text


async def test_the_new_version_is_one_message_for_chat_clients(tmp_path: Path) -> None:
    run = edit_lab(tmp_path, edits())
    await run.ask_once()
    ids = set[str]()
    config = thread_config(run.thread)
    stream: Any = run.graph.astream(asking(), config, context=run.context, stream_mode="messages")
    async for message, _ in stream:
        if message.text and not isinstance(message, HumanMessage):
            ids.add(str(message.id))
    state = await run.state()
    assert ids == {state.messages[-1].id}


async def test_words_of_the_publisher_stay_around_an_edited_report(tmp_path: Path) -> None:
    run = edit_lab(tmp_path, edits(EDITS[0]))
    await run.ask(before="verify_report")
    draft = (await run.state()).draft
    assert draft
    words = {"foreword": "For *members*.", "afterword": "No advice."}
    config = thread_config(run.thread)
    await run.graph.aupdate_state(config, {"draft": draft.model_copy(update=words)})
    await run.graph.ainvoke(None, config, context=run.context)
    before = await run.state()
    await run.graph.ainvoke(asking(), config, context=run.context)
    state = await run.state()
    assert before.report and state.report
    assert len(before.report.house_words) == 2
    assert state.report.house_words == before.report.house_words
    assert "Outlook" not in text_of(state)


async def test_a_small_answer_of_a_new_thread_can_be_edited_too(tmp_path: Path) -> None:
    run = edit_lab(
        tmp_path,
        depth="quick",
        clarifier={"look_up": [calls(call("look_up", queries=["Skerry Light"]))]},
        writer={
            "": ["The Skerry Light was lit for the first time in 1844. [1]"],
            "edit_report": [edits({"kind": "replace", "block": 1, "text": "Lit in 1844. [1]"})],
        },
    )
    await run.ask_once()
    state = await run.ask(asking("Shorter."))
    assert text_of(state) == "Lit in 1844. [1]" and not state.run.is_quick
    assert state.report and state.report.audit and state.report.audit.was_judged


@pytest.mark.slow
async def test_the_planned_strategy_routes_a_change_to_the_edit_after_research(
    tmp_path: Path,
) -> None:
    change = calls(call("edit_report", instruction="Name the keeper.", missing=[KEEPER]))
    rules = {"generate_plan": at_first(1, lambda _: {}, lambda _: change)}
    run = planned_edit_lab(tmp_path, lambda _: {"edits": EDITS, "done": DONE}, rules=rules)
    await run.ask_once()
    asked = len(run.model.asked)
    state = await run.ask("Name the keeper in the table.")
    assert "| Light | Keeper |" in text_of(state) and "Outlook" not in text_of(state)
    assert [(step.task, step.status) for step in state.steps] == [(KEEPER, "completed")]
    forms = [question.form for question in run.model.asked[asked:]]
    assert forms.count("edit_report") == 1 and "make_plan" not in forms
    assert "Name the keeper." in run.asked("edit_report")[0].reminder


async def test_a_model_that_fills_in_no_form_leaves_the_report_as_it_is(tmp_path: Path) -> None:
    run = edit_lab(tmp_path, "I have changed it.", "It is done.", clarifier=[CLEAR, CLEAR])
    before = text_of(await run.ask_once())
    state = await run.ask(asking())
    assert text_of(state) == before and state.title == TITLE
    said = "The report was not changed. The model 'scripted' did not fill in 'edit_report'"
    assert notes(state).count(said) == 1
    assert state.run.status == "completed"


async def test_what_the_report_leaves_open_stays_open_until_an_edit_answers_it(
    tmp_path: Path,
) -> None:
    gap = "Who built the light?"
    run = edit_lab(
        tmp_path,
        edits(AGAIN),
        edits(EDITS[0], answered=[1]),
        orchestrator=[research("When was it lit?"), calls(call("generate_report", missing=[gap]))],
        researcher=[search("Skerry Light"), REPORT, "Lit in 1844, 38 metres tall. [1]"],
    )
    assert gap in notes(await run.ask_once())
    state = await run.ask(asking("Begin with a summary."))
    assert gap in notes(state) and state.run.status == "completed_with_gaps"
    prompt = run.calls("writer")[-1].text
    assert f"1. {gap}" in prompt and "`answered`" in prompt
    state = await run.ask(asking())
    assert gap not in notes(state) and state.run.status == "completed"


ALL_KINDS: list[dict[str, Any]] = [
    {"kind": "insert_row", "block": 3, "row": 1, "cells": ["Anlow", "1901 [1]", "12 metres [1]"]},
    {"kind": "move_after", "block": 6, "last": 7, "after": 0},
    {"kind": "replace", "block": 7, "text": "It will stand for long."},
    {"kind": "delete", "block": 5},
    {"kind": "insert_after", "block": 4, "text": "- It is old. [1]"},
    {"kind": "set_cell", "block": 3, "row": 1, "column": 1, "text": "Skerry Light"},
    {"kind": "insert_column", "block": 3, "column": 3, "cells": ["Keeper", "Moran [1]", "none"]},
    {"kind": "delete_column", "block": 3, "column": 2},
    {"kind": "delete_row", "block": 3, "row": 2},
]
OF_ALL_KINDS = """\
## Outlook

It will stand for long.

## History

The Skerry Light was lit for the first time in 1844. [1] It stands 45 metres tall. [1]

| Light | Height | Keeper |
| :-- | --: | --- |
| Skerry Light | 38 metres [1] | Moran [1] |
| Anlow | 12 metres [1] | |

- It is a light. [1]
- It is old. [1]"""


@pytest.mark.sweep
@pytest.mark.parametrize("strategy", ["orchestrated", "planned"])
async def test_all_kinds_of_edits_in_one_form(tmp_path: Path, strategy: str) -> None:
    row = "| Skerry | 1844 [1] | 38 metres [1] |"
    draft = DRAFT.replace(row, f"{row}\n| Moor | 1850 [1] | 9 metres [1] |")
    run: Lab = edit_lab(
        tmp_path, writer={"": [draft], "edit_report": [edits(*ALL_KINDS)]}, verify="off"
    )
    if strategy == "planned":
        form = {"edits": ALL_KINDS, "done": DONE}
        rules = {"report": lambda _: draft}
        run = planned_edit_lab(tmp_path, lambda _: form, rules=rules, verify="off")
    assert text_of(await run.ask_once()) == draft
    state = await run.ask(asking())
    assert text_of(state) == OF_ALL_KINDS
    assert "left out" not in notes(state)


async def test_later_questions_show_models_only_the_latest_version_of_a_report(
    tmp_path: Path,
) -> None:
    run = edit_lab(
        tmp_path,
        edits(EDITS[0]),
        planner=[PLAN, PLAN],
        orchestrator=[research("When was the light lit?"), REPORT, REPORT],
        clarifier=[CLEAR, CLEAR],
        writer={"": [DRAFT, "It was lit in 1844. [1]"], "edit_report": [edits(EDITS[0])]},
    )
    await run.ask_once()
    await run.ask(asking("Drop the outlook."))
    await run.ask("And the keepers?")
    prompt = run.calls("clarifier")[-1].text
    assert prompt.count("## History") == 1 and "## Outlook" not in prompt
    assert "(A version of the report that the user has had changed since.)" in prompt


async def test_wishes_whose_versions_were_undone_are_not_shown_to_the_editor(
    tmp_path: Path,
) -> None:
    forms = [edits(EDITS[0]), edits(AGAIN), edits(AGAIN), edits(AGAIN)]
    run = edit_lab(tmp_path, *forms, verify="off")
    await run.ask_once()
    drop, summary, third = "Drop the outlook.", "Begin with a summary.", "Once more."
    await run.ask(asking(drop))

    async def said_before(words: str) -> str:
        await run.ask(asking(words))
        prompt = run.calls("writer")[-1].text
        return prompt.partition("What the user has said before:")[2].partition(words)[0]

    assert drop in await said_before(summary)
    await arevert_thread(run.graph, run.thread, 1)
    said = await said_before(third)
    assert QUESTION in said and drop not in said and summary not in said
    # A version that is put back after all brings its wish back.
    await arevert_thread(run.graph, run.thread, 2)
    said = await said_before("The last one.")
    assert drop in said and summary not in said and third not in said


def test_the_form_says_how_new_and_earlier_figures_are_calculated() -> None:
    described = EditReport.model_fields["calculations"].description or ""
    assert "`[calc 2] = 12000 €" in described and "`Growth of staff: (48 [2]" in described


async def test_a_length_asked_for_stays_known_to_later_edits(tmp_path: Path) -> None:
    """Words of the marks of the check are not counted."""
    named = edits({**AGAIN, "text": "Summary"})
    shortened = edits({"kind": "delete", "block": 4, "last": 9})
    again = edits({**AGAIN, "text": "The light"})
    run = edit_lab(tmp_path, edits(AGAIN, most_words=25), named, shortened, again)
    await run.ask()
    for words in ("Make it fit 25 words.", "Name the first section."):
        state = await run.ask(asking(words))
        assert "words, tables and headings included; the request asks for 25." in notes(state)
    length = "The user has asked for at most 25 words before."
    prompts = [asked.text for asked in run.calls("writer") if "edit_report" in asked.tools]
    assert [length in prompt for prompt in prompts] == [False, True]
    assert f"the report has {word_count(DRAFT) + 2} words" in prompts[1]
    shorter = await run.ask(asking())
    assert "the request asks for" not in notes(shorter)
    await arevert_thread(run.graph, run.thread, 3)
    reverted = await run.ask(asking("Begin with a heading."))
    assert "the request asks for 25." in notes(reverted)
