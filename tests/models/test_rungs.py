"""Each rung offers tools in its own form, and reads the calls that come back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.model_calls import called, read
from kit.models import FORM_CLASSES, SCHEMAS, TOOLS, Asked, call, calls
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.core.dialogue.conversation import clean_nested
from deep_research.core.dialogue.transcripts import Calls
from deep_research.core.models._reply import read_reply
from deep_research.core.models._rungs import RungName, prepare
from deep_research.core.writing.forms import Form
from deep_research.nodes.clarify import GENERATE_PLAN_SCHEMA
from deep_research.nodes.plan_steps import MakePlan
from deep_research.nodes.step.analyze import StepAnalysis

TEXT_RUNGS: tuple[RungName, ...] = ("schema", "tags")
CONVERSATION: list[AnyMessage] = [
    SystemMessage("You research."),
    HumanMessage("Look into it."),
    calls(
        call("internal_search", id="c1", queries=["a"]),
        call("internal_search", id="c2", queries=["b"]),
        text="So.",
    ),
    ToolMessage("found a", tool_call_id="c1"),
    ToolMessage("found b", tool_call_id="c2"),
    calls(call("think_tool", id="c3", reasoning="Enough?")),
    ToolMessage("Noted.", tool_call_id="c3"),
    HumanMessage("Round 2."),
]


@pytest.mark.fault(21)
@pytest.mark.parametrize("name", TEXT_RUNGS)
def test_a_model_without_tool_calling_is_shown_calls_and_results_as_text(name: RungName) -> None:
    prepared = prepare(name, CONVERSATION, TOOLS, "any")
    assert [message.type for message in prepared.messages] == [
        "system",
        "human",
        "ai",
        "human",
        "ai",
        "human",
    ]
    assert not any(getattr(message, "tool_calls", None) for message in prepared.messages)
    _, _, first, results, _, last = (message.text for message in prepared.messages)
    assert first.startswith("So.\n\n")
    assert called(read(first)) == [
        ("internal_search", {"queries": ["a"]}),
        ("internal_search", {"queries": ["b"]}),
    ]
    assert (
        results
        == "Result of call 1, internal_search:\nfound a\n\nResult of call 2, internal_search:\nfound b"
    )
    assert last == "Result of think_tool:\nNoted.\n\nRound 2."
    assert prepared.tools == []
    assert set(prepared.settings) == ({"response_format"} if name == "schema" else set())


@pytest.mark.parametrize("name", TEXT_RUNGS)
def test_the_system_prompt_depends_on_the_tools_alone(name: RungName) -> None:
    prompts = {
        prepare(name, CONVERSATION[:end], TOOLS, choice).messages[0].text
        for end in range(1, len(CONVERSATION) + 1)
        for choice in ("any", "auto", "none")
    }
    [prompt] = prompts
    assert prompt.startswith("You research.\n\nTools:\n- internal_search: Search the documents.\n")
    assert "queries (list of text): Short queries." in prompt
    assert "limit (whole number, optional): Most results." in prompt
    assert "\n- generate_report: " in prompt


@pytest.mark.parametrize("name", TEXT_RUNGS)
@pytest.mark.parametrize(
    ("choice", "words"), [("any", ""), ("auto", "To answer in words"), ("none", "and no call.")]
)
def test_the_last_message_says_whether_the_model_may_write_text(
    name: RungName, choice: str, words: str
) -> None:
    *_, last = prepare(name, [*CONVERSATION[:2], HumanMessage("Go on.")], TOOLS, choice).messages
    assert words in last.text and last.text.endswith("Go on.")


def test_without_tools_only_earlier_calls_are_rewritten_and_a_native_request_never_is() -> None:
    for name in TEXT_RUNGS:
        prepared = prepare(name, [*CONVERSATION, AIMessage("One."), AIMessage("Two.")], [], "any")
        assert (prepared.messages[0], prepared.messages[-1].text) == (
            CONVERSATION[0],
            "One.\n\nTwo.",
        )
        assert (prepared.tools, prepared.settings) == ([], {})
    assert prepare("native", CONVERSATION, TOOLS, "any") == (CONVERSATION, TOOLS, {})


def objects_in(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for entry in schema for found in objects_in(entry)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "object" else []
    return own + [found for entry in schema.values() for found in objects_in(entry)]


def test_the_key_of_a_text_says_what_the_text_is_for() -> None:
    prepared = prepare(
        "schema", CONVERSATION[:2], [GENERATE_PLAN_SCHEMA], "auto", "question_to_user"
    )
    held = prepared.settings["response_format"]["json_schema"]["schema"]
    assert list(held["properties"]) == ["calls", "question_to_user"]
    assert '{"calls": [], "question_to_user": "…"}' in prepared.messages[-1].text
    message = read('{"calls": [], "question_to_user": "Which lighthouse?"}', [GENERATE_PLAN_SCHEMA])
    assert (message.tool_calls, message.content) == ([], "Which lighthouse?")


@pytest.mark.parametrize("name", TEXT_RUNGS)
def test_a_model_may_answer_in_text_if_a_call_is_not_forced(name: RungName) -> None:
    answers = (
        ["Which lighthouse?"]
        if name != "schema"
        else ['{"answer": "Which lighthouse?", "calls": []}']
    )
    for answer in [*answers, "Which lighthouse?"]:
        message = read(answer, [GENERATE_PLAN_SCHEMA])
        assert (message.tool_calls, message.content) == ([], "Which lighthouse?")
    described = prepare(name, CONVERSATION[:2], [GENERATE_PLAN_SCHEMA], "auto").messages[0].text
    assert "It takes no arguments." in described
    [example] = [
        line for line in described.splitlines() if "generate_plan" in line and line[0] in "{<"
    ]
    assert called(read(example, [GENERATE_PLAN_SCHEMA])) == [("generate_plan", {})]


def test_a_model_is_shown_the_fields_of_the_objects_in_a_list() -> None:
    instructions = prepare("tags", CONVERSATION[:2], [SCHEMAS[MakePlan]], "any").messages[0].text
    fields = [
        "  steps (list of object): The steps in their order; the first has the number 1.",
        "    title (text): A few words.",
        "    description (text, optional): What the step is for, in one sentence.",
    ]
    assert "\n".join(fields) in instructions
    assert "    depends_on (list of whole number, optional): " in instructions
    assert '"steps": [{"title": "…", "task": "…", "requires_search": true}]' in instructions


@pytest.mark.parametrize("name", TEXT_RUNGS)
@pytest.mark.parametrize("form", FORM_CLASSES.values(), ids=FORM_CLASSES)
def test_the_example_of_a_call_can_be_parsed(name: RungName, form: type[Form]) -> None:
    instructions = prepare(name, CONVERSATION[:2], [SCHEMAS[form]], "any").messages[0].text
    [example] = [line for line in instructions.splitlines() if line[0:1] in ("{", "<")]
    [(tool, arguments)] = called(read(example, [SCHEMAS[form]]))
    assert tool == form.tool_name()
    assert form.model_validate(arguments).model_dump(exclude_unset=True) == arguments


@pytest.mark.parametrize("form", FORM_CLASSES.values(), ids=FORM_CLASSES)
def test_the_schema_is_strict_at_every_depth(form: type[Form]) -> None:
    held = prepare("schema", CONVERSATION[:2], [SCHEMAS[form]], "any").settings["response_format"][
        "json_schema"
    ]
    assert held["strict"] is True
    assert list(held["schema"]["properties"]) == ["calls"]
    objects = objects_in(held["schema"])
    # What stands in several places is written out in each of them.
    assert len(objects) == 3 + json.dumps(form.model_json_schema()).count('"$ref"')
    for entry in objects:
        assert entry["additionalProperties"] is False
        assert entry["required"] == list(entry["properties"])


def test_optional_fields_of_an_object_may_be_null() -> None:
    settings = prepare("schema", CONVERSATION[:2], [SCHEMAS[StepAnalysis]], "any").settings
    [step] = [
        entry
        for entry in objects_in(settings["response_format"])
        if "rationale" in entry["properties"]
    ]
    assert [option["type"] for option in step["properties"]["title"]["anyOf"]] == ["string", "null"]
    blank = {"title": None, "rationale": "Why?", "requires_search": None}
    filled = calls(
        call(
            "record_analysis", id="c1", statements=[], completeness=1, quality=1, next_steps=[blank]
        )
    )
    [(_, arguments)] = called(read_reply(filled, [SCHEMAS[StepAnalysis]]))
    assert arguments["next_steps"] == [{"rationale": "Why?"}]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
VALUES = st.recursive(
    TEXT
    | st.sampled_from(
        ["</tool>", "<think>a</think>", "</think>x", '"}]', "```", "{", "[TOOL_CALLS]"]
    ),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(["internal_search", "open_url", "unknown"]), st.dictionaries(TEXT, VALUES)
    ),
    min_size=1,
    max_size=3,
)


@pytest.mark.parametrize("name", TEXT_RUNGS)
@given(wanted=CALLS)
def test_calls_written_in_the_form_that_was_shown_are_parsed_without_loss(
    name: RungName, wanted: Asked
) -> None:
    entries = [
        call(tool, id=f"c{number}") | {"args": arguments}
        for number, (tool, arguments) in enumerate(wanted)
    ]
    shown = (
        prepare(name, [HumanMessage("q"), AIMessage("", tool_calls=entries)], TOOLS, "any")
        .messages[-1]
        .text
    )
    message = read_reply(AIMessage(shown), TOOLS)
    assert called(message) == [(tool, clean_nested(arguments)) for tool, arguments in wanted]
    assert message.content == ""


WORDS = TEXT | st.sampled_from(
    ["</tool>", '"}]}', "[1]", '{"title": "a"}', "null", "true", "</think>x"]
)
STEPS = st.lists(
    st.fixed_dictionaries(
        {"title": WORDS, "task": WORDS, "requires_search": st.booleans()},
        optional={
            "description": st.none() | WORDS,
            "requires_previous": st.none() | st.booleans(),
            "depends_on": st.none() | st.lists(st.integers(1, 6), max_size=3),
        },
    ),
    min_size=2,
    max_size=2,
)


@pytest.mark.parametrize("name", ["native", *TEXT_RUNGS])
@given(steps=STEPS)
def test_a_plan_passes_each_rung_unchanged(name: RungName, steps: list[dict[str, Any]]) -> None:
    tools = [SCHEMAS[MakePlan]]
    written = calls(call("make_plan", id="c1", steps=steps))
    shown = prepare(name, [HumanMessage("q"), written], tools, "any").messages[-1]
    assert isinstance(shown, AIMessage)
    meant = [{key: value for key, value in step.items() if value is not None} for step in steps]
    decided = Calls.read(read_reply(shown, tools), ["make_plan"], ())
    assert [entry.arguments for entry in decided.accepted] == [clean_nested({"steps": meant})]
    assert decided.message.content == ""
    has_words = any(
        clean_nested(str(step[key])).strip() for step in meant for key in ("title", "task")
    )
    assert not has_words or len(MakePlan.model_validate(decided.accepted[0].arguments).steps) == 2
