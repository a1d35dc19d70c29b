"""A follow-up that repeats statements has only those judged that are new, or rest on what has
changed: with both graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from kit.models import ScriptedChatModel, call, calls, units_shown
from kit.planned import Asked, Rule, in_turn, plan, planned_lab, step
from kit.runs import CLEAR, REPORT, Lab, lab, research, search, written
from langchain_core.language_models import ModelProfile
from langchain_core.messages import HumanMessage

from deep_research.app.versions import arevert_thread
from deep_research.core.errors import RateLimited
from deep_research.core.records.research import Strategy
from deep_research.core.store.location import thread_id
from deep_research.core.store.pages import Pages
from deep_research.state import ResearchState

PROFILE = ModelProfile(max_input_tokens=100_000)
FARES = {2022: "The fare was 44 euros in 2022.", 2023: "The fare was 40 euros in 2023."}
FARES[2024] = "The fare was 48 euros in 2024."
SAILS = "The ferry sails twice a day."
FERRY = {"ferry_md": "# The ferry\n\n" + "\n\n".join([*FARES.values(), SAILS]) + "\n"}
MORAN = "# Ada Moran\n\nShe was born in Tralee. The ferry took her for a small fare.\n"
HEAD = "| Year | Fare |\n| --- | --- |\n"
SAILING = "Twice a day the ferry sails, they say. [1]"
RISE = "That is a rise of 20 %."
BORN = "Tralee, they say, is where Ada Moran was born. [2]"
PAID = "In 2022, as is known, 44 euros were paid. [1]"
VERDICTS: Mapping[str, dict[str, Any]] = {
    SAILING: {"verdict": "supported", "words": SAILS},
    RISE: {"verdict": "supported", "calculations": ["(48 - 40) / 40 = 20 %"]},
    PAID: {"verdict": "supported", "words": FARES[2022]},
    BORN: {"verdict": "supported", "words": "She was born in Tralee."},
}


def table(*years: int) -> str:
    rows = [f"| {year} | {FARES[year][13:21]} [1] |" for year in years]
    return HEAD + "\n".join(rows)


def verdicts(prompt: str) -> list[dict[str, Any]]:
    """The verdict on each unit of a request, a function of the unit alone."""
    units, _passages = units_shown(prompt)
    handed_in = list[dict[str, Any]]()
    for unit in units:
        verdict: dict[str, Any] = {"verdict": "reasoning"}
        for text, known in VERDICTS.items():
            if text.startswith(unit["says"]):
                verdict = known
        if "Fare: " in unit["says"]:
            verdict = {"verdict": "supported", "words": FARES[int(unit["says"][:4])]}
        handed_in.append({"unit": unit["unit"], **verdict})
    return handed_in


class Talk(NamedTuple):
    """A thread whose reports are scripted, and what its judge is asked."""

    run: Lab
    requests: Callable[[], Sequence[str]]
    """All requests to the judge so far."""

    async def ask(
        self, question: str, *, edit: bool = False
    ) -> tuple[ResearchState, list[list[str]]]:
        """Ask, or have the report edited; return the state, and the units of each new request to
        the judge."""
        before = len(self.requests())
        words = {"messages": [HumanMessage(question)], "edit": edit}
        state = await self.run.ask(words)
        asked = list[list[str]]()
        for request in self.requests()[before:]:
            units, _passages = units_shown(request)
            asked.append([unit["says"] for unit in units])
        return state, asked


def talk(tmp_path: Path, strategy: Strategy, *reports: str, **settings: Any) -> Talk:
    """A thread that answers each question by the next report, after a search for the ferry."""
    settings = {"verify": "check", **settings}
    if strategy == "planned":
        rules: dict[str, Rule] = {
            "make_plan": in_turn(*(plan(step(f"Ferry fare {number}")) for number in range(9))),
            "report": in_turn(*(_says(report) for report in reports)),
            "judge_units": lambda asked: {"verdicts": verdicts(asked.reminder)},
        }
        planned = planned_lab(tmp_path, rules, **settings)
        run: Lab = planned
        model = planned.model

        def requests() -> Sequence[str]:
            return [request.text for request in model.calls if "judge_units" in request.tools]
    else:
        judge = ScriptedChatModel(
            replies={
                "": lambda messages, _: calls(
                    call("judge_units", verdicts=verdicts(messages[-1].text))
                )
            },
            profile=PROFILE,
        )
        count = len(reports)
        run = lab(
            tmp_path,
            clarifier=settings.pop("clarifier", [CLEAR] * count),
            planner=["1. The fares"] * count,
            orchestrator=[research("What is the ferry's fare?"), REPORT] * count,
            researcher=[search("ferry fare"), REPORT, "It is 48 euros. [1] She paid it. [2]"]
            * count,
            writer=settings.pop("writer", [*reports]),
            verifier=judge,
            **settings,
        )

        def requests() -> Sequence[str]:
            return [request.text for request in judge.calls]

    run.folder = written(tmp_path / "ferry", FERRY)
    return Talk(run, requests)


def _says(report: str) -> Rule:
    def rule(_: Asked) -> Any:
        return report

    return rule


BOTH = pytest.mark.parametrize("strategy", ["orchestrated", "planned"])


@pytest.mark.sweep
@BOTH
async def test_a_follow_up_has_only_new_statements_and_what_rests_on_a_changed_cell_judged(
    tmp_path: Path, strategy: Strategy
) -> None:
    first = f"{SAILING}\n\n{table(2023, 2024)}\n\n{RISE}"
    more = f"{first}\n\n{PAID}"
    other = more.replace(table(2023, 2024), table(2022, 2024))
    thread = talk(tmp_path, strategy, first, more, other)
    state, asked = await thread.ask("What is the fare?")
    assert state.report and state.report.kept
    assert RISE in [unit for request in asked for unit in request]
    decided = [verdict.decided_by for verdict in state.report.verdicts if verdict.text == RISE]
    assert decided == ["calculation"]

    repeated, asked = await thread.ask("And before?")
    assert asked == [[PAID.removesuffix(" [1]")]]
    assert repeated.report and repeated.report.verdicts[:-1] == state.report.verdicts
    assert repeated.report.claims[: len(state.report.claims)] == state.report.claims

    changed, asked = await thread.ask("Compare with 2022.")
    assert set(asked[0]) == {"2022", "2022, Fare: 44 euros", RISE}
    assert changed.report
    shown = {verdict.text: verdict.shown for verdict in changed.report.verdicts}
    assert (shown[RISE], shown["2024, Fare: 48 euros"]) == ("not_verified", "supported")


@pytest.mark.sweep
@BOTH
async def test_statements_of_a_source_that_was_read_again_with_another_text_are_judged_again(
    tmp_path: Path, strategy: Strategy
) -> None:
    report = f"{SAILING}\n\n{BORN}\n\n{PAID}"
    thread = talk(tmp_path, strategy, report, report, report)
    written(thread.run.folder, {**FERRY, "moran_md": MORAN})
    first, asked = await thread.ask("What is the fare?")
    assert first.report and len(first.report.sources) == 2
    assert sum(map(len, asked)) == 3
    _, asked = await thread.ask("And before?")
    assert asked == []
    changed = {"ferry_md": FERRY["ferry_md"] + "\nThe ferry is white.\n"}
    written(thread.run.folder, changed)
    _, asked = await thread.ask("And now?")
    assert asked == [[SAILING.removesuffix(" [1]"), PAID.removesuffix(" [1]")]]


@pytest.mark.slow
async def test_an_edit_has_only_new_words_judged_also_after_an_earlier_version_was_put_back(
    tmp_path: Path,
) -> None:
    def adding(text: str) -> Any:
        edit = {"kind": "insert_after", "block": 3, "text": text}
        return calls(call("edit_report", edits=[edit], done="Added."))

    report = f"{SAILING}\n\n{table(2023, 2024)}\n\n{RISE}"
    writer = {"": [report], "edit_report": [adding(BORN), adding(PAID)]}
    thread = talk(tmp_path, "orchestrated", report, writer=writer)
    written(thread.run.folder, {**FERRY, "moran_md": MORAN})
    first, _ = await thread.ask("What is the fare?")
    edited, asked = await thread.ask("Say where Ada Moran was born.", edit=True)
    assert asked == [[BORN.removesuffix(" [2]")]]
    await arevert_thread(thread.run.graph, thread.run.thread, 1)
    again, asked = await thread.ask("Say what was paid in 2022.", edit=True)
    assert asked == [[PAID.removesuffix(" [1]")]]
    assert first.report and edited.report and again.report
    assert BORN in edited.report.text and BORN not in again.report.text


async def test_verdicts_outlast_a_quick_answer_and_a_report_that_was_not_checked(
    tmp_path: Path,
) -> None:
    report = f"{SAILING}\n\n{PAID}"
    from_read = calls(call("answer_from_read"))
    thread = talk(
        tmp_path,
        "orchestrated",
        *(report, SAILING, report, report),
        clarifier=[CLEAR, from_read, CLEAR, CLEAR],
    )
    first, _ = await thread.ask("What is the fare?")
    answered, asked = await thread.ask("How often does the ferry sail?")
    assert (answered.run.is_recalled, asked) == (True, [])
    assert first.report and answered.report and answered.base
    assert answered.report.kept != answered.base.kept == first.report.kept
    thread.run.settings["verify"] = "off"
    unchecked, _ = await thread.ask("And before?")
    assert unchecked.report and unchecked.report.kept == first.report.kept
    thread.run.settings["verify"] = "check"
    last, asked = await thread.ask("And now?")
    assert asked == []
    assert last.report and last.report.verdicts == first.report.verdicts


@pytest.mark.slow
async def test_a_check_that_was_stopped_goes_on_with_the_kept_verdicts(tmp_path: Path) -> None:
    report = f"{SAILING}\n\n{table(2023, 2024)}"
    thread = talk(tmp_path, "orchestrated", report, f"{report}\n\n{PAID}")
    await thread.ask("What is the fare?")
    judge = thread.run.models["verifier"]
    usual = judge.replies
    judge.replies = [RateLimited("Come back later.")]
    with pytest.raises(RateLimited):
        await thread.run.ask("And before?")
    judge.replies = usual
    before = len(thread.requests())
    state = await thread.run.ask(None)
    [request] = thread.requests()[before:]
    units, _passages = units_shown(request)
    assert [unit["says"] for unit in units] == [PAID.removesuffix(" [1]")]
    assert state.report and {unit.shown for unit in state.report.verdicts} <= {
        "supported",
        "reasoning",
    }


@pytest.mark.sweep
@pytest.mark.parametrize("text", [None, '{"units": 1}'])
async def test_without_readable_verdicts_all_is_judged(tmp_path: Path, text: str | None) -> None:
    thread = talk(tmp_path, "orchestrated", SAILING, SAILING)
    state, asked = await thread.ask("What is the fare?")
    assert state.report
    store = thread.run.graph.page_store
    pages = Pages(store, thread_id(thread.run.thread))
    if text is None:
        await store.adelete(pages.namespace, state.report.kept)
    else:
        await pages.note({state.report.kept: {"text": text}})
    _, again = await thread.ask("And before?")
    assert again == asked == [[SAILING.removesuffix(" [1]")]]
