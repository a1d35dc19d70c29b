"""Requests and connections to OpenAI-compatible servers, whose quirks are learned from their
refusals."""

from __future__ import annotations

import asyncio
import gc
import json
import re
from typing import Any

import pytest
from kit.model_calls import PROMPT, TOOL, Wire, called
from kit.models import call, calls
from kit.openai_server import Reply, fail, say, send, use
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.core.models._faults import fault_kind
from deep_research.core.models.resolve import resolve_model
from deep_research.core.settings.context import Context

Patch = pytest.MonkeyPatch


@pytest.mark.fault("R18")
async def test_a_request_has_no_unnecessary_fields_and_a_key_that_is_never_printed(
    wire: Wire,
) -> None:
    model = wire([say("Yes."), use(("look", {"word": "a"}))])
    made = resolve_model("planner", model.context)
    await model(max_tokens=50)
    await model(tools=[TOOL], tool_choice="any", max_tokens=60, reasoning_effort="low")
    plain, armed = (request.json for request in model.requests)
    assert plain.keys() == {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert armed["tools"] == [TOOL]
    assert (armed["tool_choice"], armed["max_tokens"], armed["reasoning_effort"]) == (
        "required",
        60,
        "low",
    )
    assert (
        plain["messages"][0] == armed["messages"][0] == {"role": "system", "content": "You answer."}
    )
    assert model.requests[0].key == "sk-loopback"
    assert "sk-loopback" not in f"{made!r} {dumps(made)} {made._get_ls_params()}"


async def test_thoughts_are_sent_back_only_to_servers_that_require_them(wire: Wire) -> None:
    complaint = fail(
        400, "Missing `reasoning_content` field in the assistant message at message index 2."
    )
    thought = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
    thought.additional_kwargs["reasoning_content"] = "What is asked?"
    bare = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "d"}])
    prompt = [*PROMPT, thought, ToolMessage("found", tool_call_id="c"), AIMessage("Yes."), bare]
    model = wire([complaint, say("Yes."), say("Again.")])
    await model(prompt)
    await model(prompt)
    kept = [
        [message.get("reasoning_content") for message in request.messages]
        for request in model.requests
    ]
    # A server may refuse an empty thought beside a call.
    again = [None, None, "What is asked?", None, "", " "]
    assert kept == [[None] * 6, again, again]


@pytest.mark.fault(23)
async def test_characters_that_json_cannot_carry_are_neither_sent_nor_accepted(wire: Wire) -> None:
    model = wire([use(("look", {"word": "a"}), text="lit\x00 in \ud800 1844")])
    message = await model([SystemMessage("You\x00 answer."), HumanMessage("What\ud800 is known?")])
    assert [each["content"] for each in model.requests[0].messages] == [
        "You answer.",
        "What is known?",
    ]
    assert message.text == "lit in  1844"


LESSONS = [
    ("Unrecognized request argument supplied: stream_options", "stream_options", None),
    ("Unsupported parameter: 'parallel_tool_calls' is not supported", "parallel_tool_calls", None),
    ("tool_choice 'required' is not supported", "tool_choice", "auto"),
    ("Thinking may not be enabled when tool_choice forces tool use.", "tool_choice", "auto"),
    (
        "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "max_completion_tokens",
        50,
    ),
    ("Unknown parameter: reasoning_effort", "reasoning_effort", None),
]


UNFORCED = [
    "Thinking mode does not support this tool_choice",
    "This model doesn't support the toolConfig.toolChoice.any field. Remove it and try again.",
    "Forced function calling (mode = ANY) is not supported for this model.",
    "The tool_choice parameter does not support being set to required or object.",
]


@pytest.mark.parametrize("complaint", UNFORCED)
async def test_where_calls_cannot_be_forced_they_can_still_be_forbidden(
    wire: Wire, complaint: str
) -> None:
    model = wire([fail(400, complaint), say("Yes."), say("Again.")])
    await model(tools=[TOOL], tool_choice="any")
    await model(tools=[TOOL], tool_choice="none")
    assert [asked.tool_choice for asked in model.requests] == ["required", "auto", "none"]
    assert all(asked.tools for asked in model.requests)


async def test_where_calls_cannot_be_forbidden_no_tools_are_sent_with_a_request_for_text(
    wire: Wire,
) -> None:
    complaint = fail(400, "Bedrock doesn't support tool_choice=none.")
    model = wire([complaint, say("Yes."), use(("look", {"word": "a"}))])
    await model(tools=[TOOL], tool_choice="none")
    await model(tools=[TOOL], tool_choice="any")
    asked = [(request.tool_choice, request.tools) for request in model.requests]
    assert asked == [("none", ["look"]), (None, []), ("required", ["look"])]


async def test_a_server_that_does_not_know_the_choice_of_tools_is_sent_none(wire: Wire) -> None:
    complaint = fail(400, "Unknown parameter: 'tool_choice'.")
    model = wire([complaint, complaint, say("Yes."), say("Again.")])
    await model(tools=[TOOL], tool_choice="any")
    await model(tools=[TOOL], tool_choice="auto")
    choices = [request.tool_choice for request in model.requests]
    assert choices == ["required", "auto", None, None]


UNREAD = [
    ('<function=look>{"word": "amber"</function>', "amber"),
    ('{"name": "look", "arguments": {"word": "amber"}}', "amber"),
    ('<tool_call>[{"name": "look", "parameters": {"word": "amber"}}]</tool_call>', "amber"),
]


@pytest.mark.parametrize(("output", "word"), UNREAD)
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_call_that_its_server_could_not_read_is_read_in_the_error(
    wire: Wire, output: str, word: str, is_streamed: bool
) -> None:
    error = {"code": "tool_use_failed", "message": "Failed.", "failed_generation": output}
    refused = send({"error": error}, status=400)
    if is_streamed:
        refused = send(
            f"data: {json.dumps({'error': error})}\n\n", content_type="text/event-stream"
        )
    model = wire([refused])
    message = await model(tools=[TOOL], tool_choice="any")
    assert called(message) == [("look", {"word": word})]


@pytest.mark.parametrize(("complaint", "name", "value"), LESSONS)
async def test_a_refused_field_is_left_out_from_then_on(
    wire: Wire, complaint: str, name: str, value: Any
) -> None:
    model = wire([fail(400, complaint), say("Yes."), say("Again.")])
    asked: dict[str, Any] = {
        "tool_choice": "any",
        "parallel_tool_calls": False,
        "reasoning_effort": "low",
    }
    for answer in ("Yes.", "Again."):
        assert (await model(tools=[TOOL], max_tokens=50, **asked)).text == answer
    first, *others = (request.json for request in model.requests)
    assert first.get(name) != value
    assert [other.get(name) for other in others] == [value, value]


def test_only_openai_is_sent_the_new_name_of_the_output_limit(monkeypatch: Patch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://eu.api.openai.com/v1")
    model = resolve_model("planner", Context(models="openai:gpt-5-mini"))
    payload = model._get_request_payload(PROMPT, max_tokens=50)  # type: ignore[attr-defined]  # no way to OpenAI's host
    assert payload["max_completion_tokens"] == 50
    assert "max_tokens" not in payload


async def test_all_models_of_a_loop_share_connections(wire: Wire) -> None:
    model, other = wire([]), wire([], "fake-2")
    first, second = (resolve_model("planner", each.context) for each in (model, other))
    assert first is resolve_model("writer", model.context)
    assert first.http_async_client is second.http_async_client  # type: ignore[attr-defined]


def test_each_event_loop_has_connections_of_its_own_and_closes_them(wire: Wire) -> None:
    model = wire([say("One."), say("Two.")])
    answers = [asyncio.run(model()).text for _ in range(2)]
    gc.collect()  # warnings of connections that were left open are errors here
    assert answers == ["One.", "Two."]


async def test_neither_a_proxy_nor_a_redirect_sends_the_prompt_elsewhere(
    wire: Wire, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://203.0.113.9:3128")
    monkeypatch.setenv("OPENAI_PROXY", "http://203.0.113.9:3128")
    away = Reply(
        status=307, headers={"Location": "http://203.0.113.9/v1/chat/completions"}, body="{}"
    )
    model = wire([say("Yes."), away])
    assert (await model()).text == "Yes."
    with pytest.raises(Exception, match="307"):
        await model()


EFFORT = "Unknown parameter: reasoning_effort"


@pytest.mark.parametrize(
    ("refusal", "kind", "teaches"),
    [
        *(
            (fail(status, EFFORT), kind, True)
            for status, kind in ((400, "rejected"), (404, "model"), (500, "down"))
        ),
        *(
            (fail(status, EFFORT), kind, False)
            for status, kind in ((401, "key"), (429, "limited"), (408, "slow"))
        ),
        (fail(400, f"{EFFORT}; maximum context length"), "long", False),
        (fail(400, f"{EFFORT}; content filter"), "refused", False),
        (fail(400, f"{EFFORT}; the model does not support tools"), "no_tools", False),
    ],
)
async def test_only_a_refused_request_teaches_a_quirk(
    wire: Wire, refusal: Reply, kind: Any, teaches: bool
) -> None:
    first: dict[str, Any] = {} if teaches else {"reasoning_effort": "low"}
    model = wire([refusal] * (1 + teaches) + [say("Yes.")])
    with pytest.raises(Exception) as caught:
        await model(**first)
    assert fault_kind(caught.value) == kind
    assert (await model(reasoning_effort="low")).text == "Yes."
    assert ["reasoning_effort" in request.json for request in model.requests[-2:]] == [
        not teaches
    ] * 2


@pytest.mark.parametrize(
    ("refusal", "limit"),
    [
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8192),
        ("max_tokens is too large: 20000. This model supports at most 16384 completion tokens.", 16384),
        ("`max_completion_tokens` must be less than or equal to `8192`, the maximum value is less than the "
         "`context_window` for this model", 8192),
        ("max_tokens: 20000 > 4,096, which is the maximum allowed number of output tokens", 4096),
        ("max_output_tokens must be between 1 and 12000 (got 20000)", 12000),
        ("Requested 20000 output tokens; this endpoint allows 32768 in, 10000 out", 10000),
    ],
)  # fmt: skip
async def test_the_output_limit_of_a_server_is_learned_from_its_refusal(
    wire: Wire, refusal: str, limit: int
) -> None:
    model = wire([fail(400, refusal), say("Yes."), say("Again."), say("Short.")])
    for tokens in (20_000, 20_000, 100):
        await model(max_tokens=tokens)
    assert [request.json["max_tokens"] for request in model.requests] == [20_000, limit, limit, 100]


async def test_a_window_that_leaves_less_room_limits_only_the_answer_to_that_prompt(
    wire: Wire,
) -> None:
    refusal = (
        "'max_tokens' is too large: 20000. This model's maximum context length is 16384 tokens and your request has "
        "384 input tokens (20000 > 16384 - 384)."
    )
    model = wire([fail(400, refusal), say("Yes."), say("Again.")])
    await model(max_tokens=20_000)
    await model(max_tokens=20_000)
    assert [request.json["max_tokens"] for request in model.requests] == [20_000, 16_000, 20_000]


def _call(*identifiers: str) -> AIMessage:
    return calls(*(call("look", id=identifier) for identifier in identifiers))


def _result(identifier: str) -> ToolMessage:
    return ToolMessage(f"found {identifier}", tool_call_id=identifier)


RULES, ASKED = PROMPT
REMINDER = HumanMessage("Call a tool.")
BEGUN = ["system: You answer.", "user: What is known?"]


@pytest.mark.parametrize(
    ("status", "refusal", "prompt", "sent"),
    [
        (400, "Unexpected role 'user' after role 'tool'", [RULES, ASKED, _call("a"), _result("a"), REMINDER],
         [*BEGUN, "assistant: 1 call", "tool: found a\n\nCall a tool."]),
        (500, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...",
         [RULES, ASKED, REMINDER, AIMessage("Yes."), AIMessage("No."), REMINDER],
         [BEGUN[0], "user: What is known?\n\nCall a tool.", "assistant: Yes.\n\nNo.", "user: Call a tool."]),
        (500, "Jinja Exception: System message must be at the beginning.",
         [RULES, ASKED, AIMessage("Yes."), SystemMessage("Be brief."), REMINDER],
         [*BEGUN, "assistant: Yes.", "user: Be brief.\n\nCall a tool."]),
        (400, "System role not supported", [RULES, ASKED], ["user: You answer.\n\nWhat is known?"]),
        (400, "This model only supports single tool-calls at once!",
         [RULES, ASKED, _call("a", "b"), _result("a"), _result("b")],
         [*BEGUN, "assistant: 1 call", "tool: found a", "assistant: 1 call", "tool: found b"]),
    ],
)  # fmt: skip
async def test_the_order_of_messages_that_a_server_requires_is_learned(
    wire: Wire, status: int, refusal: str, prompt: list[BaseMessage], sent: list[str]
) -> None:
    model = wire([fail(status, refusal), say("Yes."), say("Again.")])
    await model(prompt)
    await model(prompt)
    for request in model.requests[1:]:
        contents = [
            said.get("content") or f"{len(said['tool_calls'])} call" for said in request.messages
        ]
        assert [
            f"{said['role']}: {words}"
            for said, words in zip(request.messages, contents, strict=True)
        ] == sent


async def test_ids_of_calls_are_shortened_for_a_server_that_requires_nine_characters(
    wire: Wire,
) -> None:
    refusal = fail(
        400, "Tool call id was call_0123456789 but must be a-z, A-Z, 0-9, with a length of 9."
    )
    prompt = [RULES, ASKED, _call("call_0123456789", "b"), _result("call_0123456789"), _result("b")]
    model = wire([refusal, say("Yes.")])
    await model(prompt)
    *_, asking, first, second = model.requests[1].messages
    called = [call["id"] for call in asking["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == called
    assert len(set(called)) == 2 and all(
        re.fullmatch("[a-zA-Z0-9]{9}", identifier) for identifier in called
    )
