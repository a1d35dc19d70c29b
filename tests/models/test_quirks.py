"""Quirks of servers are learned from their refusals."""

from __future__ import annotations

import re
from typing import Any

import pytest
from kit.model_calls import Wire
from kit.openai_server import Reply, fail, openai_server, say
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.core.models.faults import Kind, kind_of

EFFORT = "Unknown parameter: reasoning_effort"


@pytest.mark.parametrize(
    ("refusal", "kind", "teaches"),
    [
        (fail(400, EFFORT), "rejected", True),
        (fail(404, EFFORT), "model", True),
        (fail(500, EFFORT), "down", True),
        (fail(401, EFFORT), "key", False),
        (fail(402, EFFORT), "quota", False),
        (fail(429, EFFORT), "limited", False),
        (fail(408, EFFORT), "slow", False),
        (fail(400, f"{EFFORT}; maximum context length"), "long", False),
        (fail(400, f"{EFFORT}; content filter"), "refused", False),
        (fail(400, f"{EFFORT}; the model does not support tools"), "no_tools", False),
    ],
)
async def test_a_refusal_of_the_request_teaches_whatever_its_status_and_other_trouble_teaches_nothing(
    wire: Wire, refusal: Reply, kind: Kind, teaches: bool
) -> None:
    first: dict[str, Any] = {} if teaches else {"reasoning_effort": "low"}
    with openai_server([refusal] * (1 + teaches) + [say("Yes.")]) as server:
        model = wire(server)
        with pytest.raises(Exception) as caught:
            await model(**first)
        assert kind_of(caught.value) == kind
        assert (await model(reasoning_effort="low")).text == "Yes."
    assert ["reasoning_effort" in request.json for request in server.requests[-2:]] == [not teaches] * 2


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
async def test_a_limit_on_answers_is_learned_from_the_number_in_its_refusal(
    wire: Wire, refusal: str, limit: int
) -> None:
    with openai_server([fail(400, refusal), say("Yes."), say("Again."), say("Short.")]) as server:
        model = wire(server)
        for tokens in (20_000, 20_000, 100):
            await model(max_tokens=tokens)
    assert [request.json["max_tokens"] for request in server.requests] == [20_000, limit, limit, 100]


async def test_a_window_that_leaves_less_room_limits_the_answers_to_that_prompt_alone(wire: Wire) -> None:
    refusal = (
        "'max_tokens' is too large: 20000. This model's maximum context length is 16384 tokens and your request has "
        "384 input tokens (20000 > 16384 - 384)."
    )
    with openai_server([fail(400, refusal), say("Yes."), say("Again.")]) as server:
        model = wire(server)
        await model(max_tokens=20_000)
        await model(max_tokens=20_000)
    assert [request.json["max_tokens"] for request in server.requests] == [20_000, 16_000, 20_000]


def _call(*identifiers: str) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": identifier, "name": "look", "args": {}} for identifier in identifiers])


def _result(identifier: str) -> ToolMessage:
    return ToolMessage(f"found {identifier}", tool_call_id=identifier)


ASKED, REMINDER = HumanMessage("What is known?"), HumanMessage("Call a tool.")
RULES = SystemMessage("You answer.")


def _sent(request: Any) -> list[tuple[str, str, int]]:
    return [(said["role"], said.get("content") or "", len(said.get("tool_calls") or ())) for said in request.messages]


@pytest.mark.parametrize(
    ("refusal", "prompt", "sent"),
    [
        (
            fail(400, "Unexpected role 'user' after role 'tool'"),
            [RULES, ASKED, _call("a"), _result("a"), REMINDER],
            [("system", "You answer.", 0), ("user", "What is known?", 0), ("assistant", "", 1),
             ("tool", "found a\n\nCall a tool.", 0)],
        ),
        (
            fail(500, "Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/..."),
            [RULES, ASKED, REMINDER, AIMessage("Yes."), AIMessage("No."), REMINDER],
            [("system", "You answer.", 0), ("user", "What is known?\n\nCall a tool.", 0),
             ("assistant", "Yes.\n\nNo.", 0), ("user", "Call a tool.", 0)],
        ),
        (
            fail(500, "Jinja Exception: System message must be at the beginning."),
            [RULES, ASKED, AIMessage("Yes."), SystemMessage("Be brief."), REMINDER],
            [("system", "You answer.", 0), ("user", "What is known?", 0), ("assistant", "Yes.", 0),
             ("user", "Be brief.\n\nCall a tool.", 0)],
        ),
        (
            fail(400, "System role not supported"),
            [RULES, ASKED],
            [("user", "You answer.\n\nWhat is known?", 0)],
        ),
        (
            fail(400, "This model only supports single tool-calls at once!"),
            [RULES, ASKED, _call("a", "b"), _result("a"), _result("b")],
            [("system", "You answer.", 0), ("user", "What is known?", 0), ("assistant", "", 1), ("tool", "found a", 0),
             ("assistant", "", 1), ("tool", "found b", 0)],
        ),
    ],
)  # fmt: skip
async def test_the_order_of_messages_is_learned(
    wire: Wire, refusal: Reply, prompt: list[BaseMessage], sent: list[tuple[str, str, int]]
) -> None:
    with openai_server([refusal, say("Yes."), say("Again.")]) as server:
        model = wire(server)
        await model(prompt)
        await model(prompt)
    assert [_sent(request) for request in server.requests[1:]] == [sent, sent]


async def test_ids_of_calls_are_shortened_where_a_server_wants_nine_characters(wire: Wire) -> None:
    refusal = fail(400, "Tool call id was call_0123456789 but must be a-z, A-Z, 0-9, with a length of 9.")
    prompt = [RULES, ASKED, _call("call_0123456789", "b"), _result("call_0123456789"), _result("b")]
    with openai_server([refusal, say("Yes.")]) as server:
        await wire(server)(prompt)
    *_, asking, first, second = server.requests[1].messages
    called = [call["id"] for call in asking["tool_calls"]]
    assert [first["tool_call_id"], second["tool_call_id"]] == called
    assert len(set(called)) == 2 and all(re.fullmatch("[a-zA-Z0-9]{9}", identifier) for identifier in called)
