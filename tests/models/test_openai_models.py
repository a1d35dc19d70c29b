"""Requests and connections to OpenAI-compatible servers."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from kit.model_calls import PROMPT, TOOL, Wire
from kit.openai_server import Reply, fail, openai_server, say, use
from langchain_core.load import dumps
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage

from deep_research.core.models.resolve import resolve_model
from deep_research.core.run.context import Context


async def test_a_request_carries_what_is_needed_and_no_more(wire: Wire) -> None:
    with openai_server([say("Yes."), use(("look", {"word": "a"}))]) as server:
        model = wire(server)
        await model(max_tokens=50)
        await model(tools=[TOOL], tool_choice="any", max_tokens=60, reasoning_effort="low")
    plain, armed = (request.json for request in server.requests)
    assert plain.keys() == {"model", "messages", "stream", "stream_options", "max_tokens"}
    assert armed["tools"] == [TOOL]
    assert (armed["tool_choice"], armed["max_tokens"], armed["reasoning_effort"]) == ("required", 60, "low")
    assert plain["messages"][0] == armed["messages"][0] == {"role": "system", "content": "You answer."}


async def test_thoughts_go_back_only_to_servers_that_ask_for_them(wire: Wire) -> None:
    complaint = fail(400, "Missing `reasoning_content` field in the assistant message at message index 2.")
    thought = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
    thought.additional_kwargs["reasoning_content"] = "What is asked?"
    bare = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "d"}])
    prompt = [*PROMPT, thought, ToolMessage("found", tool_call_id="c"), AIMessage("Yes."), bare]
    with openai_server([complaint, say("Yes."), say("Again.")]) as server:
        model = wire(server)
        await model(prompt)
        await model(prompt)
    kept = [[message.get("reasoning_content") for message in request.messages] for request in server.requests]
    # A server may refuse an empty thought beside a call.
    again = [None, None, "What is asked?", None, "", " "]
    assert kept == [[None] * 6, again, again]


@pytest.mark.fault(23)
async def test_what_json_cannot_carry_is_neither_sent_nor_taken(wire: Wire) -> None:
    with openai_server([use(("look", {"word": "a"}), text="lit\x00 in \ud800 1844")]) as server:
        message = await wire(server)([SystemMessage("You\x00 answer."), HumanMessage("What\ud800 is known?")])
    assert [each["content"] for each in server.requests[0].messages] == ["You answer.", "What is known?"]
    assert message.text == "lit in  1844"


LESSONS = [
    ("Unrecognized request argument supplied: stream_options", "stream_options", None),
    ("Unsupported parameter: 'parallel_tool_calls' is not supported", "parallel_tool_calls", None),
    ("tool_choice 'required' is not supported", "tool_choice", "auto"),
    ("Thinking may not be enabled when tool_choice forces tool use.", "tool_choice", "auto"),
    ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", "max_completion_tokens", 50),
    ("Unknown parameter: reasoning_effort", "reasoning_effort", None),
]


@pytest.mark.parametrize(("complaint", "name", "value"), LESSONS)
async def test_what_a_server_does_not_take_is_left_out_from_then_on(
    wire: Wire, complaint: str, name: str, value: Any
) -> None:
    with openai_server([fail(400, complaint), say("Yes."), say("Again.")]) as server:
        model = wire(server)
        asked: dict[str, Any] = {
            "tool_choice": "any",
            "parallel_tool_calls": False,
            "max_tokens": 50,
            "reasoning_effort": "low",
        }
        assert (await model(tools=[TOOL], **asked)).text == "Yes."
        assert (await model(tools=[TOOL], **asked)).text == "Again."
    first, *others = (request.json for request in server.requests)
    assert first.get(name) != value
    assert [other.get(name) for other in others] == [value, value]


async def test_only_openai_is_sent_the_new_name_of_the_output_limit(
    wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    with openai_server([say("Yes.")]) as server:
        await wire(server)(max_tokens=50)
    assert server.requests[0].json["max_tokens"] == 50
    monkeypatch.setenv("OPENAI_BASE_URL", "https://eu.api.openai.com/v1")
    model = resolve_model("planner", Context(models="openai:gpt-5-mini"))
    payload = model._get_request_payload(PROMPT, max_tokens=50)  # type: ignore[attr-defined]  # no way to OpenAI's host
    assert payload["max_completion_tokens"] == 50
    assert "max_tokens" not in payload


async def test_all_models_of_a_loop_share_connections(wire: Wire) -> None:
    with openai_server(lambda _: say("Yes.")) as server:
        model, other = wire(server), wire(server, "fake-2")
        await model()
        await model()
        await other()
        first, second = (resolve_model("planner", each.context) for each in (model, other))
        assert first is resolve_model("writer", model.context)
        assert first.http_async_client is second.http_async_client  # type: ignore[attr-defined]
    assert [request.json["model"] for request in server.requests] == ["fake-1", "fake-1", "fake-2"]


def test_each_event_loop_has_connections_of_its_own_and_closes_them(wire: Wire) -> None:
    with openai_server([say("One."), say("Two.")]) as server:
        model = wire(server)
        answers = [asyncio.run(model()).text for _ in range(2)]
        gc.collect()  # warnings of connections that were left open are errors here
    assert answers == ["One.", "Two."]


async def test_no_proxy_and_no_redirect_leads_the_prompt_elsewhere(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://203.0.113.9:3128")
    monkeypatch.setenv("OPENAI_PROXY", "http://203.0.113.9:3128")
    away = Reply(status=307, headers={"Location": "http://203.0.113.9/v1/chat/completions"}, body="{}")
    with openai_server([say("Yes."), away]) as server:
        model = wire(server)
        assert (await model()).text == "Yes."
        with pytest.raises(Exception, match="307"):
            await model()


@pytest.mark.fault("R18")
async def test_the_key_is_sent_and_kept_out_of_sight(wire: Wire) -> None:
    with openai_server([say("Yes.")]) as server:
        model = wire(server)
        await model()
        made = resolve_model("planner", model.context)
        assert "sk-loopback" not in f"{made!r} {dumps(made)} {made._get_ls_params()}"
    assert server.requests[0].key == "sk-loopback"
