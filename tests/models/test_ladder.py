"""Tool calls are found wherever a model writes them, and no other text is taken for one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.model_calls import called, read
from kit.models import (
    BROKEN,
    CALL,
    FORMS,
    ONE,
    SCHEMAS,
    SEARCH,
    TOOLS,
    TWO,
    UNREAD,
    WRITTEN,
    Asked,
    call,
    calls,
)
from langchain_core.messages import AIMessage
from langchain_core.messages.tool import invalid_tool_call

from deep_research.core.dialogue.transcripts import Calls
from deep_research.core.models._reply import read_reply
from deep_research.nodes.clarify import GENERATE_PLAN_SCHEMA
from deep_research.nodes.plan_steps import MakePlan
from deep_research.nodes.step_turn import RecordRound

NAMES = [tool["function"]["name"] for tool in TOOLS]
PIECES = (
    *"{}[]()\"':,\\\n ",
    "```",
    "name",
    "arguments",
    "generate_report",
    "</",
    "<think>",
    "</think>",
)


@pytest.mark.fault(21)
@pytest.mark.parametrize(("text", "wanted"), FORMS.values(), ids=FORMS)
def test_a_call_written_as_text_is_parsed(text: str, wanted: Asked) -> None:
    message = read(text)
    assert called(message) == wanted
    assert (message.invalid_tool_calls, message.content) == ([], "")


@pytest.mark.fault(12)
@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN)
def test_broken_json_is_repaired(text: str) -> None:
    for wrapped in (
        text,
        f"```json\n{text}\n```",
        f"<tool_call>{text}</tool_call>",
        f"[TOOL_CALLS]{text}",
    ):
        assert called(read(wrapped)) == ONE


@pytest.mark.parametrize("form", ["name and arguments", "fence", "hermes", "tagged", "qwen coder"])
def test_the_text_around_a_call_is_kept(form: str) -> None:
    text, wanted = FORMS[form]
    message = read(f"I look first.\n\n{text}\n\nThen I go on.")
    assert called(message) == wanted
    assert message.text.split() == ["I", "look", "first.", "Then", "I", "go", "on."]


@pytest.mark.fault(8)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would call generate_report() at the end, after internal_search(queries=…).",
        "An `open_url` reads pages; {this} is no JSON and neither is [1] or {.",
        'A weather service answers {"name": "get_weather", "arguments": {"city": "Cork"}} for instance.',
        'Its record is {"name": "Ada", "input": 3} or [{"tool": "hammer"}].',
        '```json\n{"results": [{"name": "Ada Moran", "born": 1880}]}\n```',
        '{"foo": 1}',
        "The tag <tool_call> marks a call.",
        "Use <function=…> or [TOOL_CALLS] for that.",
        "1. Search.\n2. generate_report when done.",
        "A `<|python_tag|>` begins a call, and so does `[TOOL_CALLS]`.",
    ],
)
def test_text_without_a_call_stays_as_it_is(text: str) -> None:
    message = read(text)
    assert (message.tool_calls, message.invalid_tool_calls, message.content) == ([], [], text)


@pytest.mark.fault(21)
@pytest.mark.parametrize("text", UNREAD.values(), ids=UNREAD)
def test_a_call_in_an_unknown_form_is_answered_with_how_to_write_it(text: str) -> None:
    for said in (text, f"I look first.\n\n{text}") if text[0] not in "{`" else (text,):
        message = read(said)
        assert message.tool_calls == []
        assert message.text == ("" if said == text else "I look first.")
        [refusal] = Calls.read(message, NAMES, ()).refused.values()
        first, *how = refusal.split("\n")
        assert first == "Not run: it was written in a form that is not read"
        assert how[1] == '<tool name="internal_search">{"queries": ["…"], "limit": 1}</tool>'


@pytest.mark.sweep(first=12)
@pytest.mark.fault(11)
@pytest.mark.parametrize("form", [*FORMS, *BROKEN])
def test_a_truncated_call_is_never_run(form: str) -> None:
    text = FORMS[form][0] if form in FORMS else BROKEN[form]
    for length in range(len(text) + 1):
        message = read(text[:length], finish_reason="length")
        assert message.tool_calls == []
        assert Calls.read(message, NAMES, ()).accepted == ()


@given(
    st.lists(
        st.sampled_from([*PIECES, CALL[:-9], WRITTEN, *(text[:30] for text, _ in FORMS.values())]),
        max_size=9,
    )
)
def test_any_text_of_a_model_can_be_parsed(parts: list[str]) -> None:
    text = "".join(parts)
    assert all(isinstance(entry["args"], dict) for entry in read(text).tool_calls)
    assert read(text, finish_reason="length").tool_calls == []


@pytest.mark.fault(11, logs="INFO core.dialogue.transcripts")
@pytest.mark.parametrize(
    "text", [CALL[:-20], f"```json\n{CALL[:9]}", f"So:\n<tool_call>{CALL[:3]}", "open_url(['a"]
)
def test_a_truncated_call_is_answered(text: str) -> None:
    [refusal] = Calls.read(read(text, finish_reason="length"), NAMES, ()).refused.values()
    assert refusal == "Not run: the message was cut off at the output limit; write less."


@pytest.mark.fault(11, 12, logs="INFO core.dialogue.transcripts")
@pytest.mark.parametrize(
    "arguments", ['"foo"', '["a"]', "3", '"[1]"', '{"task": "Find out whether the']
)
def test_arguments_that_are_not_an_object_or_end_within_a_string_are_answered(
    arguments: str,
) -> None:
    message = read(
        f'{{"name": "internal_search", "arguments": {arguments}' + "}" * (arguments[0] != "{")
    )
    assert message.tool_calls == []
    [refusal] = Calls.read(message, NAMES, ()).refused.values()
    assert refusal == "Not run: its arguments are not valid JSON."


@pytest.mark.fault(13, logs="INFO core.dialogue.transcripts")
@pytest.mark.parametrize(
    "form",
    [
        "<tool_call>{}</tool_call>",
        '{{"calls": [{}]}}',
        "```json\n{}\n```",
        '<tool name="nope">{{}}</tool>',
    ],
)
def test_a_call_of_an_unknown_tool_is_answered_with_the_names_of_the_tools(form: str) -> None:
    [refusal] = Calls.read(
        read(form.format('{"name": "nope", "arguments": {}}')), NAMES, ()
    ).refused.values()
    assert "there is no tool 'nope'; the tools are generate_report, internal_search" in refusal


@pytest.mark.fault(13)
@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Internal_Search", "internal_search"),
        ("functions.internal_search", "internal_search"),
        ("internal-search", "internal_search"),
        (" internal_search \n", "internal_search"),
        ("internalSearch", "internal_search"),
        ("functions.open_url:3", "open_url"),
        ("open_url<|channel|>commentary", "open_url"),
        ("search", "search"),
        ("internal_search_v2", "internal_search_v2"),
    ],
)
def test_a_native_call_with_a_variant_of_a_tools_name_calls_that_tool(
    written: str, name: str
) -> None:
    message = read_reply(calls(call(written, id="c1", task="t")), TOOLS)
    assert message.tool_calls == [call(name, id="c1", task="t")]


def test_a_name_that_matches_two_tools_matches_none() -> None:
    twins = [{**SEARCH, "function": {**SEARCH["function"], "name": name}} for name in ("a_b", "ab")]
    message = read_reply(calls(call("A-B", id="c1"), call("ab", id="c2")), twins)
    assert [entry["name"] for entry in message.tool_calls] == ["A-B", "ab"]


@pytest.mark.fault(12)
def test_native_arguments_are_repaired_unless_they_were_truncated() -> None:
    written = ("{'urls': ['x'],}", '{"urls": ["x', "foo")
    broken = [invalid_tool_call(name="Open-URL", args=args, id=args) for args in written]
    message = AIMessage("", invalid_tool_calls=broken)
    repaired = read_reply(message, TOOLS)
    assert repaired.tool_calls == [call("open_url", id="{'urls': ['x'],}", urls=["x"])]
    assert repaired.invalid_tool_calls == broken[1:]
    cut = message.model_copy(update={"response_metadata": {"finish_reason": "length"}})
    assert read_reply(cut, TOOLS).tool_calls == []


def test_a_message_is_left_alone_where_no_tools_were_offered() -> None:
    message = AIMessage(CALL)
    assert read_reply(message, []) is message


def test_text_beside_native_calls_is_not_searched_for_calls_and_loses_its_thoughts() -> None:
    message = read_reply(
        calls(call("open_url", id="c1", urls=["x"]), text=f"<think>hm</think>As in {CALL}"), TOOLS
    )
    assert called(message) == TWO[1:]
    assert message.content == f"As in {CALL}"


@pytest.mark.fault(15)
def test_calls_in_a_text_have_unique_ids() -> None:
    first, second = (read(f"<tool_call>{CALL}</tool_call>" * 3) for _ in range(2))
    identifiers = [entry["id"] for entry in first.tool_calls]
    assert identifiers == ["call-1", "call-2", "call-3"]
    assert [entry["id"] for entry in second.tool_calls] == identifiers
    later = Calls.read(second, NAMES, taken=set(identifiers[:2]) - {None})  # type: ignore[arg-type]  # none is there
    assert len({entry["id"] for entry in later.message.tool_calls} | {"call-1", "call-2"}) == 5


def test_bare_arguments_are_a_call_of_the_only_tool() -> None:
    assert called(read(f"Here you are:\n```json\n{WRITTEN}\n```", [SEARCH])) == ONE
    assert called(read("{}", [GENERATE_PLAN_SCHEMA])) == [("generate_plan", {})]
    refused = (
        (WRITTEN, TOOLS),
        ("{}", [SEARCH]),
        ('{"other": 1}', [SEARCH]),
        ("no {} here", [GENERATE_PLAN_SCHEMA]),
    )
    assert [read(text, tools).tool_calls for text, tools in refused] == [[]] * 4


STEPS: list[dict[str, Any]] = [
    {"title": "Light", "task": 'When was it "lit"?', "requires_search": True},
    {"title": "Why", "task": "Why [then]?", "requires_search": False, "depends_on": [1]},
]
PLANNED: Asked = [("make_plan", {"steps": STEPS})]
OF_STEPS = json.dumps({"steps": STEPS})
NESTED = {
    "name and arguments": json.dumps({"name": "make_plan", "arguments": {"steps": STEPS}}),
    "arguments alone": f"```json\n{OF_STEPS}\n```",
    "list as text": json.dumps({"name": "make_plan", "arguments": {"steps": json.dumps(STEPS)}}),
    "list as broken text": json.dumps({"name": "make_plan", "arguments": {"steps": str(STEPS)}}),
    "values as text": OF_STEPS.replace("true", '"true"').replace("[1]", '"[1]"'),
    "nulls": json.dumps(
        {"steps": [{**STEPS[0], "depends_on": None}, {**STEPS[1], "description": None}]}
    ),
    "broken": f"{{'name': 'make_plan', 'arguments': {{'steps': {STEPS!r},}},}}",
    "qwen coder": f"<function=make_plan><parameter=steps>\n{json.dumps(STEPS, indent=1)}\n</parameter></function>",
}


@pytest.mark.fault(21)
@pytest.mark.parametrize("text", NESTED.values(), ids=NESTED)
def test_a_call_with_lists_of_objects_is_read_in_every_form(text: str) -> None:
    assert called(read(text, [SCHEMAS[MakePlan]])) == PLANNED
    assert (
        read(text[: len(text) // 2], [SCHEMAS[MakePlan]], finish_reason="length").tool_calls == []
    )


@pytest.mark.parametrize(
    ("given", "read_as"),
    [
        *((given, STEPS[:1]) for given in (STEPS[0], json.dumps(STEPS[0]), str(STEPS[0]))),
        *((words, words) for words in ("none", "3", '"a"', '{"title": "Wh')),
    ],
)
def test_an_object_in_place_of_a_list_becomes_its_only_entry_and_other_text_stays(
    given: Any, read_as: Any
) -> None:
    message = read_reply(calls(call("make_plan", id="c1", steps=given)), [SCHEMAS[MakePlan]])
    assert called(message) == [("make_plan", {"steps": read_as})]


def test_numbers_within_objects_get_the_type_in_the_schema() -> None:
    gaps = [{"question": "Why?", "relevance": "0.5"}, {"question": "7", "relevance": 1}]
    message = read_reply(calls(call("record_round", id="c1", gaps=gaps)), [SCHEMAS[RecordRound]])
    assert called(message) == [
        ("record_round", {"gaps": [{"question": "Why?", "relevance": 0.5}, gaps[1]]})
    ]
