"""Good and bad answers of OpenAI-compatible servers are read."""

from __future__ import annotations

import json
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import pytest
from kit.engines import Answer, serving
from kit.model_calls import COUNTED, PROMPT, TOOL, Wire, called, error_at, explained
from kit.openai_server import Reply, say, send, use
from langchain_core.messages import AIMessage, HumanMessage

from deep_research.core.models._faults import AnswerBroken, AnswerRefused
from deep_research.core.models._retries import has_content
from deep_research.core.models._role_model import spent_on
from deep_research.core.models._wrapping import reasoning_of
from deep_research.core.models.resolve import resolve_model
from deep_research.core.settings.context import Context


def piece(
    index: int | None, name: str | None, identifier: str | None, arguments: Any
) -> dict[str, Any]:
    call = {"index": index, "id": identifier, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in call.items() if value is not None}]}


def stream(*deltas: dict[str, Any], finish: str | None = "tool_calls") -> Reply:
    chunks = [
        {"id": "x", "choices": [{"index": 0, "delta": delta}], "usage": None} for delta in deltas
    ]
    chunks += [
        {"id": "x", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": None}
    ] * 2
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return send("".join([*events, "data: [DONE]\n\n"]), content_type="text/event-stream")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_text_and_thoughts_are_streamed_and_tokens_are_counted(wire: Wire, name: str) -> None:
    reply = say(
        "It was lit in 1844.", reasoning="What is asked?", reasoning_field=name, usage=COUNTED
    )
    model = wire([reply])
    message = await model()
    assert (message.text, reasoning_of(message)) == ("It was lit in 1844.", "What is asked?")
    assert [reasoning_of(chunk) for chunk in model.chunks if reasoning_of(chunk)] == [
        "What is ",
        "asked?",
    ]
    assert [chunk.text for chunk in model.chunks if chunk.text] == ["It was l", "it in 18", "44."]
    assert message.usage_metadata is not None
    assert message.usage_metadata["input_tokens"] == 90
    assert message.usage_metadata["input_token_details"]["cache_read"] == 60
    assert message.response_metadata["cost"] == 0.0125
    assert message.response_metadata["finish_reason"] == "stop"


async def test_an_unstreamed_answer_is_read_too(wire: Wire) -> None:
    replies = [
        use(("look", {"word": "a"}), reasoning="Hm.", usage=COUNTED, streams=False),
        say("Yes.", usage=COUNTED),
    ]
    model = wire(replies)
    streamed, whole = (
        await model(tools=[TOOL]),
        await resolve_model("planner", model.context).ainvoke(PROMPT),
    )
    assert called(streamed) == [("look", {"word": "a"})]
    assert reasoning_of(streamed) == "Hm."
    assert model.requests[1].json["stream"] is False
    assert whole.text == "Yes."
    assert whole.response_metadata["finish_reason"] == "stop"
    assert whole.usage_metadata == streamed.usage_metadata


@pytest.mark.parametrize(
    "pieces",
    [
        [
            piece(0, "look", "a", '{"word": '),
            piece(0, None, None, '"x"}'),
            piece(1, "look", "b", '{"word": "y"}'),
        ],
        [piece(None, "look", "a", '{"word": "x"}'), piece(None, "look", "b", '{"word": "y"}')],
        [piece(None, "look", None, '{"word": "x"}'), piece(None, "look", None, '{"word": "y"}')],
        [piece(0, "look", "a", '{"word": "x"}'), piece(0, "look", "b", '{"word": "y"}')],
        [
            piece(0, "look", "a", '{"word": '),
            piece(0, "look", "a", '"x"}'),
            piece(1, "look", "a", '{"word": "y"}'),
        ],
        [
            piece(0, "look", "a", '{"word": '),
            piece(0, None, "z", '"x"}'),
            piece(1, "look", None, '{"word": "y"}'),
        ],
        [piece(0, "look", "a", {"word": "x"}), piece(1, "look", "", {"word": "y"})],
    ],
    ids=[
        "as OpenAI does",
        "no index",
        "no id",
        "all the same index",
        "repeated",
        "an id for each piece",
        "objects",
    ],
)
async def test_calls_are_separated_however_they_are_numbered(
    wire: Wire, pieces: list[dict[str, Any]]
) -> None:
    message = await wire([stream(*pieces)])(tools=[TOOL])
    assert called(message) == [("look", {"word": "x"}), ("look", {"word": "y"})]
    identifiers = [call["id"] for call in message.tool_calls]
    assert all(identifiers)
    assert len(set(identifiers)) == 2


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        ([{"type": "text", "text": "Lit in "}, {"type": "text", "text": "1844."}], "Lit in 1844."),
        (["Lit in ", {"type": "text", "text": "1844."}], "Lit in 1844."),
        ([[{"type": "text", "text": "Lit in "}], "1844."], "Lit in 1844."),
        ([[{"type": "output_text", "text": "Lit in 1844.", "annotations": []}]], "Lit in 1844."),
        ([18, 44], "1844"),
    ],
)  # fmt: skip
async def test_content_is_read_as_a_text_a_list_of_blocks_or_a_single_block(
    wire: Wire, contents: list[Any], text: str
) -> None:
    deltas = [{"content": content} for content in contents]
    model = wire([stream(*deltas, finish="stop")])
    assert (await model()).text == text


async def test_of_token_counts_in_every_chunk_the_last_is_used(wire: Wire) -> None:
    chunks: list[dict[str, Any]] = [
        {
            "choices": [{"delta": {"content": "Yes."}}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 1},
        },
        {
            "choices": [{"delta": {}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 90, "completion_tokens": 10},
        },
        {"choices": [], "usage": None},
    ]
    lines = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
    message = await wire([send(lines, content_type="text/event-stream")])()
    assert message.usage_metadata is not None
    assert message.usage_metadata["output_tokens"] == 10


@pytest.mark.sweep(first=3)
@pytest.mark.fault(22)
@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
@pytest.mark.parametrize("responses_api", [False, True])
@pytest.mark.parametrize(
    "count", [float("nan"), float("inf"), -5, 10**30, "many", None, "unstated"]
)
async def test_missing_and_invalid_token_counts_are_estimated(
    wire: Wire, count: Any, responses_api: bool
) -> None:
    counts = {**dict.fromkeys(COUNTED, count), "prompt_tokens_details": {"cached_tokens": count}}
    usage = None if count == "unstated" else counts
    prompt, words = HumanMessage("What is known? " * 400), "It was lit in 1844. " * 20
    model = wire([say(words, usage=usage)], responses_api=responses_api)
    spent = spent_on(await model([prompt]), [prompt], "planner", model.context)
    assert spent and 0.8 < 4 * spent.input_tokens / len(prompt.text) < 1.6
    assert (spent.output_tokens > 50, spent.cached_tokens, spent.usd) == (True, 0, 0)


@pytest.mark.fault(11, 12)
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize(
    ("arguments", "finish"),
    [("foo", "length"), ('["a"]', "model_length"), ('{"word": "x', "MAX_TOKENS")],
)
async def test_arguments_that_are_not_an_object_make_an_invalid_call_and_truncation_is_reported(
    wire: Wire, arguments: str, finish: str, streams: bool
) -> None:
    message = await wire([use(("look", arguments), finish=finish, streams=streams)])(tools=[TOOL])
    assert message.tool_calls == []
    assert [call["args"] for call in message.invalid_tool_calls] == [arguments]
    assert message.response_metadata["finish_reason"] == "length"


@pytest.mark.parametrize("delta", [{"content": "It"}, piece(0, "look", "a", '{"word": "x"}')])
async def test_a_stream_that_ends_with_done_needs_no_finish_reason(
    wire: Wire, delta: dict[str, object]
) -> None:
    message = await wire([stream(delta, finish=None)])(tools=[TOOL])
    assert (message.text, len(message.tool_calls)) == (
        delta.get("content", ""),
        "tool_calls" in delta,
    )


@pytest.mark.fault(22)
@pytest.mark.parametrize(
    ("reply", "what"),
    [
        (send({"choices": []}), "no answer"),
        (send({"choices": None}), "no answer"),
        (send([]), "JSON in an unexpected format"),
        (send({"error": {"message": "boom", "code": 502}}), "an error"),
        (send("<html>Sign in</html>", content_type="text/html"), "a web page instead"),
        (send("[[[", content_type="application/json"), "invalid JSON"),
        (send("data: {]\n\n", content_type="text/event-stream"), "invalid JSON"),
        (
            send('data: {"choices": []}\n\ndata: [DONE]\n\n', content_type="text/event-stream"),
            "no answer",
        ),
        (stream({"content": "It"}, finish="error"), "an error"),
    ],
)
async def test_anything_but_an_answer_counts_as_a_broken_answer(
    wire: Wire, reply: Reply, what: str
) -> None:
    with pytest.raises(AnswerBroken, match=what):
        await wire([reply])()


async def test_the_responses_api_streams_summaries_of_thoughts(wire: Wire) -> None:
    reply = use(
        ("look", {"word": "a"}), text="So be it.", reasoning="What is asked?", usage=COUNTED
    )
    model = wire([reply], responses_api=True, reasoning=True)
    message = await model(tools=[TOOL], tool_choice="any", max_tokens=50, reasoning_effort="low")
    request = model.requests[0]
    assert request.path == "/v1/responses"
    assert request.json["reasoning"] == {"effort": "low", "summary": "auto"}
    assert (request.json["store"], request.json["max_output_tokens"]) == (False, 50)
    assert (request.tools, request.tool_choice) == (["look"], "required")
    assert "".join(map(reasoning_of, model.chunks)) == "What is asked?"
    assert (message.text, called(message)) == ("So be it.", [("look", {"word": "a"})])
    assert message.usage_metadata is not None
    assert message.usage_metadata["input_token_details"]["cache_read"] == 60
    assert message.response_metadata["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        (say("It was lit in 1844.", ending="cut", after=3), AnswerBroken),
        (Reply(refusal="I cannot."), AnswerRefused),
        (say("It was", finish="content_filter"), AnswerRefused),
        (
            send(
                'data: {"type": "error", "message": "boom"}\n\n', content_type="text/event-stream"
            ),
            AnswerBroken,
        ),
    ],
)
async def test_failures_of_the_responses_api_raise_the_same_errors(
    wire: Wire, reply: Reply, error: Any
) -> None:
    with pytest.raises(error):
        await wire([reply], responses_api=True)()


def test_thoughts_of_other_providers_are_understood() -> None:
    blocks: list[str | dict[str, Any]] = [
        {"type": "thinking", "thinking": "One. "},
        {"type": "thinking", "thinking": [{"type": "text", "text": "Two. "}]},
        {"type": "reasoning", "reasoning": "Three."},
        {"type": "reasoning", "summary": [{"index": 1, "type": "summary_text", "text": ""}]},
        {"type": "reasoning", "summary": [{"text": "Four."}, {"text": "Five."}]},
        {"type": "text", "text": "Six."},
    ]
    assert reasoning_of(AIMessage(blocks)) == "One. Two. Three.\n\nFour.\n\nFive."
    assert reasoning_of(AIMessage("Six.")) == ""


@pytest.mark.parametrize("comment", [": OPENROUTER PROCESSING", ":", ": keep-alive\r"])
async def test_a_keep_alive_comment_of_the_server_yields_an_empty_part(
    wire: Wire, comment: str
) -> None:
    spoken = stream({"content": "Lit in 1844."}, finish="stop")
    model = wire([replace(spoken, body=f"{comment}\n\n" * 3 + str(spoken.body))])
    assert (await model()).text == "Lit in 1844."
    assert [has_content(chunk) for chunk in model.chunks[:4]] == [False, False, False, True]


@pytest.mark.fault(62)
async def test_an_answer_that_is_no_stream_is_read_up_to_a_limit_of_decompressed_bytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packer = zlib.compressobj(wbits=31)
    bomb = b"".join([*(packer.compress(b" " * 1_000_000) for _ in range(60)), packer.flush()])
    headers = {"Content-Encoding": "gzip", "content_type": "application/json"}
    for status in (200, 400):
        reply = Answer(status=status, body=bomb, headers=headers)
        with serving(lambda _, reply=reply: reply) as server:  # type: ignore[misc]
            tracemalloc.start()
            error = await error_at(f"{server.url}/v1", monkeypatch)
            model: Any = resolve_model("planner", Context(models="openai:fake-1"))
            assert await model.read_window() is None
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        assert "returned" in str(explained(error)) and peak < 50_000_000
