"""The extractive model fills in the forms of the planned strategy."""

from __future__ import annotations

from typing import Any

import pytest
from extractive_forms import QUESTION, ask, fill_in, learned, reminder, searched
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from deep_research.models.extractive import ExtractiveChatModel
from deep_research.models.extractive.forms import FORMS as FILLED_IN
from deep_research.run.fencing import fence
from deep_research.tools.forms import FORMS, SCHEMAS

COMPARISON = "What differences are there between the Silver Heron and the Grey Gannet?"
SHIP = "The Silver Heron was a cargo ship of 1902."
CAPTAIN = "The captain of the Silver Heron was Mara Ellingsen."
BIRTH = "Mara Ellingsen, the captain, was born in Tromsø, Norway."
SAME = "Captain Mara Ellingsen was born in Tromsø."


def kinds(plan: Any) -> list[str]:
    return [
        "thought" if not step.requires_search else "hybrid" if step.requires_previous else "independent"
        for step in plan.steps
    ]


def test_every_form_is_filled_in_whatever_the_role_and_others_tools_are_called_as_ever() -> None:
    assert set(FORMS) == FILLED_IN
    model = ExtractiveChatModel(role="clarifier")
    tool = convert_to_openai_tool(SCHEMAS[FORMS["record_summary"]])
    messages = [SystemMessage("Sum up."), HumanMessage(QUESTION)]
    assert model.bind_tools([tool]).invoke(messages).tool_calls[0]["args"] == {"summary": QUESTION}
    named = {"type": "function", "function": {"name": "generate_plan", "description": "", "parameters": {}}}
    assert model.bind_tools([named]).invoke(messages).tool_calls[0]["name"] == "generate_plan"


def test_a_simple_question_is_one_independent_step() -> None:
    plan = fill_in("make_plan", "What is the boiling point of water?")
    assert kinds(plan) == ["independent"]
    assert plan.steps[0].task == plan.steps[0].title == "What is the boiling point of water?"


def test_the_parts_of_a_question_are_searched_first_and_the_whole_builds_on_them() -> None:
    question = "Who was the captain of the Silver Heron, and which shipyard in Bergen built the Grey Gannet?"
    plan = fill_in("make_plan", question)
    *parts, whole = plan.steps
    assert len(parts) >= 2
    assert kinds(plan) == ["independent"] * len(parts) + ["hybrid"]
    assert (whole.task, whole.depends_on) == (question, [])
    assert all(question in part.task and part.title in part.task and len(part.title) <= 61 for part in parts)


def test_a_comparison_ends_with_a_thought_and_has_six_steps_at_most() -> None:
    plan = fill_in("make_plan", COMPARISON)
    assert kinds(plan)[-2:] == ["hybrid", "thought"]
    assert COMPARISON in plan.steps[-1].task
    animals = ("lion", "zebra", "giraffe", "hippo", "rhino", "leopard")
    items = "\n".join(f"- the {animal} population of Kenya" for animal in animals)
    assert kinds(fill_in("make_plan", f"Give me an overview:\n{items}"))[3:] == ["independent", "hybrid", "thought"]


def test_long_titles_are_cut_at_a_word() -> None:
    title = fill_in("make_plan", "What happened to the " + "very " * 20 + "old ship?").steps[0].title
    assert title.endswith(" very…")
    assert len(title) <= 61


def test_a_plan_is_made_of_all_that_the_user_has_said_since_the_last_report() -> None:
    report = AIMessage("They did.", additional_kwargs={"deep_research": "report"})
    clarification = AIMessage("Which ship?", additional_kwargs={"deep_research": "clarification"})
    said = [HumanMessage("Who built Petra?"), report, HumanMessage("Who was its captain?"), clarification]
    messages = [*said, HumanMessage("The Silver Heron"), reminder()]
    assert ask("make_plan", messages).steps[-1].task == "Who was its captain? The Silver Heron"
    assert ask("record_summary", messages).summary == "Who was its captain? The Silver Heron"


def test_the_first_queries_are_the_task_and_its_names() -> None:
    queries = fill_in("choose_queries", learnings=learned((CAPTAIN, 1))).queries
    assert queries == [QUESTION, "Silver Heron"]


def test_later_queries_follow_the_names_that_were_learned_and_never_one_again() -> None:
    known = learned((CAPTAIN, 1), (SHIP, 2))
    queries = fill_in("choose_queries", asked=[QUESTION, "Silver Heron"], learnings=known).queries
    assert any(query.startswith("Mara Ellingsen") and "born" in query for query in queries)
    assert not any(query.startswith("Silver Heron") for query in queries)
    assert fill_in("choose_queries", asked=[QUESTION, "Silver Heron", *queries], learnings=known).queries == []
    assert fill_in("choose_queries", asked=[QUESTION]).queries == []


def test_learnings_are_sentences_of_the_results_with_their_documents() -> None:
    found = searched(("Silver Heron", f"{SHIP} {CAPTAIN}"), ("Mara Ellingsen", BIRTH), ("Tea", "Tea is a hot drink."))
    gaps = ["Where was Mara Ellingsen born?", "Who built the Grey Gannet?", "When was Mara Ellingsen born?", "Why?"]
    filled = fill_in("record_learnings", results=found, gaps=gaps)
    learnings = {(fact.text, fact.document) for fact in filled.learnings}
    assert {(CAPTAIN, 1), (BIRTH, 2)} <= learnings
    assert 3 not in {document for _, document in learnings}
    assert filled.answered_gaps == [1]


def test_results_that_do_not_fit_teach_nothing() -> None:
    filled = fill_in("record_learnings", results=searched(("Tea", "Tea is a hot drink.")), gaps=["Who drinks it?"])
    assert (filled.learnings, filled.answered_gaps) == ([], [])


def test_a_verdict_is_complete_when_the_learnings_hold_the_words_and_the_kind_of_answer() -> None:
    verdict = fill_in("give_verdict", learnings=learned((CAPTAIN, 1), (BIRTH, 2)))
    assert verdict.is_complete
    assert verdict.key_elements == []
    assert "all that the task names" in verdict.reasoning


def test_a_verdict_names_what_is_missing() -> None:
    verdict = fill_in("give_verdict", learnings=learned((SHIP, 1)))
    assert not verdict.is_complete
    assert verdict.key_elements == ["captain", "born"]
    assert verdict.reasoning == "What was learned does not speak of captain and born and names no place."
    nothing = fill_in("give_verdict")
    assert not nothing.is_complete
    assert nothing.key_elements == ["Silver Heron", "captain", "born"]


def test_words_without_the_kind_of_answer_are_not_enough() -> None:
    unborn = "Nobody knows where the captain of the Silver Heron was born."
    verdict = fill_in("give_verdict", learnings=learned((unborn, 1)))
    assert not verdict.is_complete
    assert verdict.reasoning == "What was learned names no place."


def test_words_that_only_ask_are_never_missing() -> None:
    task = "Compare and describe some examples of ships in Tromsø"
    assert fill_in("give_verdict", task).key_elements == ["Tromsø", "ships"]


def test_thoughts_complete_nothing() -> None:
    assert not fill_in("give_verdict", learnings=learned((CAPTAIN, None), (BIRTH, None))).is_complete


def test_a_part_of_a_question_is_judged_by_itself() -> None:
    task = f"the Silver Heron (for the question: {COMPARISON})"
    assert fill_in("give_verdict", task, learnings=learned((SHIP, 1))).is_complete
    assert fill_in("evaluate_outcome", task, learnings=learned((SHIP, 1))).completeness == 1


def test_insights_are_learnings_and_gaps_are_names_of_which_nothing_was_learned() -> None:
    filled = fill_in("record_insights", COMPARISON, learnings=learned((SHIP, 1), ("Tea is a hot drink.", 2)))
    assert filled.insights == [SHIP]
    assert [gap.question for gap in filled.gaps] == ["What is known about Grey Gannet?"]
    assert 0.3 < filled.gaps[0].relevance < 1


def test_an_answered_step_is_evaluated_as_complete_and_followed_by_nothing() -> None:
    filled = fill_in("evaluate_outcome", learnings=learned((SHIP, 1), (CAPTAIN, 2), (BIRTH, 3)))
    assert (filled.completeness, filled.quality, filled.next_steps) == (1, 1, [])


def test_a_thought_over_the_answers_is_followed_by_nothing() -> None:
    plan = fill_in("make_plan", "Compare the Silver Heron and the Grey Gull.")
    thought = plan.steps[-1]
    filled = fill_in("evaluate_outcome", thought.task, learnings=learned((SHIP, 1)))
    assert (thought.requires_search, filled.completeness, filled.next_steps) == (False, 1, [])


def test_a_step_with_little_is_followed_by_a_search_for_what_it_brought_up() -> None:
    ship = "The Silver Heron belonged to Mara Ellingsen."
    filled = fill_in("evaluate_outcome", learnings=learned((ship, 1)), asked=[QUESTION, "Silver Heron"])
    assert filled.completeness < 0.7
    assert filled.quality == 0.5
    [step] = filled.next_steps
    assert step.requires_search
    assert step.title.startswith("Mara Ellingsen")
    assert step.title in step.rationale
    assert QUESTION in step.rationale


def test_a_step_without_learnings_is_worth_nothing() -> None:
    filled = fill_in("evaluate_outcome")
    assert (filled.completeness, filled.quality, filled.next_steps) == (0, 0, [])


def test_a_further_step_is_worded_from_what_it_has() -> None:
    assert not fill_in("update_step").is_needed
    titled = fill_in("update_step", title="Mara Ellingsen")
    assert (titled.is_needed, titled.title) == (True, "Mara Ellingsen")
    assert titled.task == f"Mara Ellingsen (for the question: {QUESTION})"
    tasked = fill_in("update_step", task="Where did Mara Ellingsen die?")
    assert tasked.is_needed
    assert tasked.title == tasked.task == "Where did Mara Ellingsen die?"


def test_the_plan_is_left_as_it_is() -> None:
    plan = [{"id": "2", "title": "b", "task": "b", "status": "pending", "requires_search": True}]
    update = fill_in("update_plan", plan=plan, learnings=learned((SHIP, 1)))
    assert (update.needless, update.reworded) == ([], [])


def test_an_analysis_says_only_what_can_be_told_of_the_learnings() -> None:
    task = f"What the sources agree and differ on (for the question: {COMPARISON})"
    facts = learned((CAPTAIN, 1), (BIRTH, 1), (SAME, 2), ("All of it is true.", None))
    extent, scope, likeness = fill_in("record_analysis", task, learnings=facts).statements
    assert extent == "What was learned comes to 3 statements from 2 sources."
    assert scope == "What was learned speaks of Silver Heron, but does not speak of Grey Gannet."
    assert likeness == "Two sources are most alike where both speak of Mara, Ellingsen, captain, born and Tromsø."


def test_two_sources_that_say_the_same_word_for_word_are_alike_and_one_source_is_not_compared() -> None:
    twice = fill_in("record_analysis", learnings=learned((BIRTH, 1), (BIRTH, 2))).statements
    assert twice[0] == "What was learned comes to 2 statements from 2 sources."
    assert "most alike" in twice[-1]
    assert len(fill_in("record_analysis", learnings=learned((BIRTH, 1), (SAME, 1))).statements) == 2
    other = fill_in("record_analysis", learnings=learned((BIRTH, 1), (SHIP, 2))).statements
    assert other[-1] == "No two statements of different sources share half of their words."


def test_an_analysis_of_nothing_says_so() -> None:
    assert fill_in("record_analysis").statements == ["Nothing was learned from a source that could be thought over."]


def test_what_looks_contradictory_is_recorded() -> None:
    facts = learned((BIRTH, 1), ("Mara Ellingsen, the captain, was born in Bergen, Norway.", 2))
    [pair] = fill_in("record_inconsistencies", learnings=facts, candidates=[[1, 2]]).inconsistencies
    assert (pair.claim, pair.other) == (1, 2)
    assert fill_in("record_inconsistencies", learnings=facts).inconsistencies == []


def test_a_report_is_framed_by_the_ends_of_its_lead() -> None:
    frame = fill_in("frame_report", learnings=learned((CAPTAIN, 1), (BIRTH, 2), ("Tea is a hot drink.", 3)))
    assert BIRTH in frame.main_message
    assert set(frame.main_message.replace(BIRTH, "").strip()) <= set(CAPTAIN)
    assert frame.reasoning == "The choice was among 3 sentences from 3 sources."


def test_a_report_on_nothing_is_framed_as_such() -> None:
    frame = fill_in("frame_report", learnings=learned((CAPTAIN, None)))
    assert frame.main_message == f"Nothing that fits was found on “{QUESTION}”."
    assert fill_in("state_intent").intent == ""
    assert "quoted sentences" in fill_in("choose_formatting").formatting


def test_the_last_reminder_that_tells_of_it_says_what_is_known() -> None:
    old, new = reminder(asked=[QUESTION]), reminder(learnings=learned((CAPTAIN, 1)), asked=["Silver Heron"])
    queries = ask("choose_queries", [HumanMessage(QUESTION), old, new, reminder()]).queries
    assert any(query.startswith("Mara Ellingsen") for query in queries)


def test_a_report_quotes_learnings_and_passes_over_thoughts() -> None:
    thought = "What was learned speaks of Silver Heron. Two sources are most alike where both speak of captain."
    shown: list[BaseMessage] = []
    for number, text in enumerate((f"{CAPTAIN} [2]\n{SHIP} [2]", thought, fence(f"{BIRTH} [5]"), "")):
        call = {"name": "research_agent", "args": {"task": "t"}, "id": f"c{number}", "type": "tool_call"}
        shown += [AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id=f"c{number}")]
    messages = [SystemMessage("Write."), HumanMessage(QUESTION), *shown, reminder()]
    report = ExtractiveChatModel(role="writer").invoke(messages).text
    assert f"{BIRTH} [5]" in report.split("\n\n")[0]
    assert f"{CAPTAIN} [2]" in report
    assert "alike" not in report
    assert "data-" not in report


TEXTS = st.one_of(
    st.sampled_from([QUESTION, COMPARISON, SHIP, CAPTAIN, BIRTH, "", "?", "the", "法国的首都是哪里？", "Où est Ys?"]),
    st.text(max_size=60),
    st.lists(st.sampled_from(["Silver", "Heron", "[3]", "born", "1902", "北京", "Ĳ", "compare", "ﬁ", "'s", "?"])).map(
        " ".join
    ),
)
NUMBERS = st.integers(1, 4)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "task": TEXTS,
        "title": TEXTS,
        "learnings": st.lists(st.tuples(TEXTS, st.none() | NUMBERS), max_size=6).map(lambda facts: learned(*facts)),
        "elements": st.lists(st.fixed_dictionaries({"kind": st.just("gap"), "content": TEXTS}), max_size=2),
        "gaps": st.lists(TEXTS, max_size=3),
        "asked": st.lists(TEXTS, max_size=3),
        "candidates": st.lists(st.tuples(NUMBERS, NUMBERS), max_size=2),
    },
)


@pytest.mark.parametrize("form", sorted(FORMS))
@settings(max_examples=40)
@given(text=TEXTS, documents=st.lists(st.tuples(TEXTS, TEXTS), max_size=3), known=KNOWN)
def test_whatever_is_asked_the_answer_fits_its_form(
    form: str, text: str, documents: list[tuple[str, str]], known: dict[str, Any]
) -> None:
    messages = [HumanMessage(text), *searched(*documents), reminder(**known)]
    assert ask(form, messages) == ask(form, messages)
