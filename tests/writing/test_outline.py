"""A report follows the outline in the settings: the writer is asked once where its headings differ,
and the reader is told what still does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import Desk
from kit.models import ScriptedChatModel, by_figures, call, calls
from kit.planned import finished, plan, step
from kit.runs import Lab, lab
from langchain_core.language_models import ModelProfile

from deep_research.core.errors import UnknownSetting
from deep_research.core.settings import server_settings
from deep_research.core.settings.server_settings import UserSettings
from deep_research.core.writing._outline import Outline
from deep_research.state import ResearchState

LIT = "It was lit in 1844. [1]"
TALL = "It stands 38 metres tall. [1]"


class Template(NamedTuple):
    """An outline, and what a writer makes of it."""

    outline: str
    deviating: str
    """The first answer of the writer."""
    kept: str
    """Its second answer."""
    said: tuple[str, ...]
    """What the writer is told in between."""


MARKET_NOTE = Template(
    outline="""# Market note

## Summary
Three sentences for a reader in a hurry.

## Market
What is sold, and how much of it (about 200 words).

## Risks
What could go wrong, the most likely first.
""",
    deviating=f"## Summary\n\n{LIT}\n\n## The market\n\n{TALL}\n\n## Risks\n\nNothing was found.\n\n## Conclusion\n\nBuy.",
    kept=f"## Summary\n\n{LIT} Buy.\n\n## Market\n\n{TALL}\n\n## Risks\n\nNothing was found.",
    said=(
        "The outline's section “Market” is missing.",
        "The section “The market” is not in the outline.",
        "The section “Conclusion” is not in the outline.",
    ),
)
REVIEW = Template(
    outline="""# Systematic review

## Question
## Methods
### Search
Where was searched, and with what words.
### Selection
Which studies were kept, and why.
## Results
A table of the studies.
## Limitations
## References
""",
    deviating=f"## Question\n\n{LIT}\n\n## Results\n\n{TALL}\n\n## Methods\n\n### Search\n\nIn documents.\n\n"
    "### Selection\n\nAll.\n\n## Limitations\n\nNothing was found.",
    kept=f"## Question\n\n{LIT}\n\n## Methods\n\n### Search\n\nIn documents.\n\n### Selection\n\nAll.\n\n"
    f"## Results\n\n{TALL}\n\n#### In detail\n\nNone.\n\n## Limitations\n\nNothing was found.",
    said=("The section “Methods” has to come before “Results”.",),
)
BRIEF = Template(
    outline="""For the harbour board, at most one page.

# In short
# What to do
Each step with its date.
# Open questions
""",
    deviating=f"## In short\n\n{LIT}\n\n### What to do\n\n{TALL}\n\n## Open questions\n",
    kept=f"## In short\n\n{LIT}\n\n## What to do\n\n{TALL}\n\n## Open questions\n\nNothing was found.",
    said=(
        "The heading “What to do” has to have level 2, not 3.",
        "The outline's section “Open questions” is empty.",
    ),
)
GERMAN = Template(
    outline="## Kurzfassung\nDrei Sätze.\n\n## Höhe und Alter\nZahlen mit Quelle (etwa 50 Wörter).\n",
    deviating="## Zusammenfassung\n\nDer Turm wurde 1844 in Betrieb genommen. [1]\n\n## Höhe und Alter\n\n"
    "Der Turm ist 38 Meter hoch. [1]",
    kept="## Kurzfassung\n\nDer Turm wurde 1844 in Betrieb genommen. [1]\n\n## Höhe und Alter\n\n"
    "Der Turm ist 38 Meter hoch. [1]",
    said=(
        "The outline's section “Kurzfassung” is missing.",
        "The section “Zusammenfassung” is not in the outline.",
    ),
)
TEMPLATES = {"market note": MARKET_NOTE, "review": REVIEW, "brief": BRIEF, "German": GERMAN}
PLAN = "# The light\n\n1. History of the light\n\n## Checklist\n\n- When it was lit\n- Written for the board"


def all_answered(count: int) -> dict[str, Any]:
    """Grades of a checklist that is met."""
    return {"grades": [{"number": number + 1, "verdict": "answered"} for number in range(count)]}


def outlined(tmp_path: Path, outline: str, writer: Sequence[Any], **settings: Any) -> Lab:
    """A run whose report has an outline; its verifier finds the checklist met, and judges by
    figures."""
    graded = calls(call("grade_report", **all_answered(40)))
    judge = {"grade_report": [graded], "": lambda messages, _: by_figures(messages[-1].text)}
    verifier = ScriptedChatModel(replies=judge, profile=ModelProfile(max_input_tokens=100_000))
    usual = {"planner": [PLAN], "verifier": verifier, "writer": list(writer)}
    return lab(tmp_path, outline=outline, **{**usual, **settings})


def notes(state: ResearchState) -> str:
    """The notes below the report."""
    return state.messages[-1].text.partition("## Notes")[2]


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize("name", TEMPLATES)
async def test_a_writer_that_deviates_once_keeps_the_outline_in_the_end(
    tmp_path: Path, name: str
) -> None:
    template = TEMPLATES[name]
    run = outlined(tmp_path, template.outline, [template.deviating, template.kept], verify="off")
    state = await run.ask_for_report()
    assert state.report and state.report.text == template.kept
    assert state.report.outline_deviations == ()
    assert state.run.status == "completed"
    first, second = run.calls("writer")
    outline = Outline.read(template.outline)
    assert outline and outline.text in first.text
    assert all(f"- {sentence}\n" in second.text for sentence in template.said)
    assert run.of_type("report_revised")[-1]["content"] == template.kept
    # The sections are items of the checklist, below those of the request.
    assert state.plan
    assert state.plan.requirements == (
        "When it was lit",
        "Written for the board",
        *outline.requirements,
    )
    assert run.words("deep_research_plan_delta") == state.plan.text
    graded = next(asked for asked in run.calls("verifier") if "grade_report" in asked.tools)
    assert all(item in graded.text for item in outline.requirements)
    assert "The words of its sections" in graded.text
    assert run.all_used()


async def test_a_planned_report_keeps_the_outline_too(tmp_path: Path) -> None:
    template = MARKET_NOTE
    drafts = [template.deviating, template.kept]
    rules = {
        "make_plan": lambda asked: {
            **plan(step("Skerry Light"))(asked),
            "requirements": ["When it was lit"],
        },
        "report": lambda _: drafts.pop(0),
        "grade_report": lambda _: all_answered(40),
    }
    run, state = await finished(tmp_path, rules, outline=template.outline, verify="off")
    outline = Outline.read(template.outline)
    assert outline and state.plan
    assert state.plan.requirements == ("When it was lit", *outline.requirements)
    assert (
        f"<outline>\n{outline.whole_text}\n</outline>" in run.asked("make_plan")[0].messages[0].text
    )
    assert state.report and state.report.text == template.kept
    assert not drafts and state.run.status == "completed"


@pytest.mark.parametrize("verify", ["off", "repair"])
async def test_what_still_differs_is_a_note_and_a_gap(tmp_path: Path, verify: str) -> None:
    run = outlined(tmp_path, MARKET_NOTE.outline, [MARKET_NOTE.deviating] * 2, verify=verify)
    state = await run.ask_for_report()
    assert state.report and state.report.text == MARKET_NOTE.deviating
    assert state.report.outline_deviations == MARKET_NOTE.said
    assert all(f"- {sentence}" in notes(state) for sentence in MARKET_NOTE.said)
    assert state.run.status == "completed_with_gaps"
    if state.report.audit:
        assert state.report.audit.open_gaps == MARKET_NOTE.said
    assert run.all_used()


@pytest.mark.parametrize(
    "second",
    [
        MARKET_NOTE.kept.replace(" [1]", ""),
        f"## Summary\n\n{LIT}",
        "I kept the outline.",
    ],
    ids=["without sources", "less of the outline", "no report"],
)
async def test_a_second_version_that_is_worse_is_not_used(tmp_path: Path, second: str) -> None:
    run = outlined(tmp_path, MARKET_NOTE.outline, [MARKET_NOTE.deviating, second], verify="off")
    state = await run.ask_for_report()
    assert state.report and state.report.text == MARKET_NOTE.deviating


async def test_a_report_that_keeps_its_outline_costs_no_further_call(tmp_path: Path) -> None:
    run = outlined(tmp_path, REVIEW.outline, [REVIEW.kept])
    state = await run.ask_for_report()
    assert state.report and state.report.outline_deviations == ()
    assert len(run.calls("writer")) == 1
    assert state.run.status == "completed"


async def test_a_run_without_tokens_left_is_not_asked_for_a_second_version(tmp_path: Path) -> None:
    limits = {"max_tokens": 3_000}
    run = outlined(tmp_path, MARKET_NOTE.outline, [MARKET_NOTE.deviating], limits=limits)
    state = await run.ask_for_report()
    assert state.report and state.report.outline_deviations == MARKET_NOTE.said
    assert "max_tokens" in notes(state)


async def test_a_question_with_an_outline_is_never_answered_quickly(tmp_path: Path) -> None:
    run = outlined(tmp_path, REVIEW.outline, [REVIEW.kept], depth="auto", verify="off")
    state = await run.ask_for_report()
    [asked] = run.calls("clarifier")
    assert asked.tools == ("generate_plan",) and "do not ask for it" in asked.text
    assert state.report and not state.run.is_quick


async def test_a_plan_that_is_edited_keeps_the_sections_in_its_checklist(tmp_path: Path) -> None:
    many = "\n".join(f"## Part {number}\nWords on it." for number in range(30))
    text = "\n\n".join(f"## Part {number}\n\n{LIT}" for number in range(30))
    run = outlined(tmp_path, many, [text], review_plan=True, verify="off")
    state = await run.ask_for_report()
    state = await run.ask("1. Its height\n2. Its keeper")
    assert state.plan and len(state.plan.requirements) == 32
    assert state.plan.requirements[-1] == "“Part 29”: Words on it."


async def test_a_small_writer_is_asked_for_one_section_at_a_time(tmp_path: Path) -> None:
    writer = [LIT, "Nothing was found.", TALL, TALL, LIT, "Nothing was found."]
    run = outlined(tmp_path, REVIEW.outline, writer, small="on", verify="off")
    state = await run.ask_for_report()
    assert state.report and state.report.outline_deviations == ()
    assert "## Methods\n\n### Search\n\n" in state.report.text
    assert state.report.text.endswith("## Limitations\n\nIt was lit in 1844. [1]")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"models": "extractive"}, "without a language model, a report consists of quotations"),
        ({"depth": "quick"}, "a quick answer has no sections (depth)"),
    ],
)
async def test_a_run_that_cannot_follow_the_outline_says_so(
    tmp_path: Path, settings: dict[str, Any], said: str
) -> None:
    run = lab(
        tmp_path,
        outline=MARKET_NOTE.outline,
        clarifier={"look_up": [calls(call("look_up", queries=["Skerry Light"]))]},
        **settings,
    )
    state = await run.ask_for_report()
    assert said in notes(state)
    assert state.report and state.report.outline_deviations == ()


async def test_a_stopped_run_goes_on_with_the_outline_that_it_began_with(tmp_path: Path) -> None:
    run = outlined(tmp_path, MARKET_NOTE.outline, [MARKET_NOTE.kept], verify="off")
    await run.ask(before="write_report")
    run.settings["outline"] = REVIEW.outline
    state = await run.ask(None)
    assert "## Market\n" in run.calls("writer")[0].text
    assert state.report and state.report.outline_deviations == ()


def test_an_outline_holds_for_one_question_of_a_thread(desk: Desk) -> None:
    outline = desk.folder / "outline.md"
    outline.write_text(MARKET_NOTE.outline, "utf-8")
    usual = ["--docs", str(desk.docs), "--model", "extractive", "--thread", "light"]
    first = desk.call("ask", "When was the Skerry Light lit?", "--outline", str(outline), *usual)
    assert "The outline was not used: without a language model" in first.out
    second = desk.call("ask", "Who kept the Skerry Light?", *usual)
    assert second.code == 0 and "The outline was not used" not in second.out


def test_the_outline_of_a_user_replaces_that_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    server_settings._operator.cache_clear()
    monkeypatch.setenv("DEEP_RESEARCH_OUTLINE", BRIEF.outline)
    assert UserSettings().context_of("").outline == BRIEF.outline
    assert UserSettings(outline=REVIEW.outline).context_of("").outline == REVIEW.outline
    server_settings._operator.cache_clear()


@pytest.mark.parametrize(
    ("outline", "said"),
    [
        ("Three pages.", "outline: it has no section; write a heading such as `## Risks`"),
        ("## References\n", "outline: it has no section"),
        ("## \n\n## Risks", "outline: one of its headings has no words"),
        ("## A\n" * 31, "outline: it has 31 headings; at most 30 are allowed"),
        (f"## A\n{'x' * 20_000}", "outline: it has 20005 characters; at most 20000 are allowed"),
    ],
)
async def test_a_text_that_is_no_outline_is_refused_before_anything_is_spent(
    tmp_path: Path, outline: str, said: str
) -> None:
    run = lab(tmp_path, outline=outline)
    with pytest.raises(UnknownSetting) as refused:
        await run.ask()
    assert said in str(refused.value)
    assert not run.calls("clarifier")


def test_an_outline_has_a_title_a_note_and_sections_from_the_second_level() -> None:
    outline = Outline.read(
        "# Brief\n\nTwo pages.\n\n### A\n\n#### B\n- x\n- y\n```\n## code\n```\n"
    )
    assert outline and outline.title == "Brief"
    assert outline.text == "Two pages.\n\n## A\n\n### B\n- x\n- y\n```\n## code\n```"
    assert outline.requirements == ["“A › B”: - x - y ``` ## code ```"]
    assert Outline.read(" \n") is None


NAMES = st.lists(st.sampled_from("ABCDEF"), min_size=1, max_size=6, unique=True)


@given(NAMES, st.data())
def test_any_change_of_the_headings_is_noticed_and_no_other(names: list[str], data: Any) -> None:
    levels = [data.draw(st.integers(2, 3)) for _ in names]
    headings = [f"{'#' * level} {name}" for level, name in zip(levels, names, strict=True)]
    outline = Outline.read("\n".join(headings))
    assert outline
    body = "\n\nWords. [1]\n\n###### Deeper\n\nWords.\n\n"
    shift = data.draw(st.sampled_from(["", "#"]))
    kept = [f"{shift}{heading}{body}" for heading in headings]
    assert outline.deviations("".join(kept)) == []
    changed = data.draw(st.permutations(kept))
    assert bool(outline.deviations("".join(changed))) == (changed != kept)
    fewer = kept[1:]
    assert any("is missing" in said for said in outline.deviations("".join(fewer)))
