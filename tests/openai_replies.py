"""What the fake OpenAI server answers: replies by name, and their form on the wire."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

PIECE = 8
"""Characters of one streamed piece."""
KEEP: dict[str, Any] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}


@dataclass(frozen=True)
class Reply:
    """One answer of the server."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any] | str], ...] = ()
    """Tools with their arguments; a text is sent as it is, broken or not."""
    ids: tuple[str | None, ...] | None = None
    """Ids of the calls; `None` for an id that is missing. Not set: `call_0`, `call_1`, …"""
    reasoning: str = ""
    reasoning_field: str = "reasoning_content"
    """Where compatible servers put a thought: also `reasoning`."""
    refusal: str = ""
    finish: str = ""
    """Finish reason; empty: `tool_calls` or `stop`, as it is."""
    usage: Mapping[str, Any] | None = field(default_factory=lambda: KEEP)
    """Token counts; `None`: the server does not count."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    """Sent instead of all the above."""
    content_type: str = "application/json"
    """Of `body`."""
    ending: Literal["whole", "cut", "broken", "reset", "stall"] = "whole"
    """How a stream ends: `cut` ends it cleanly but too early, `broken` in the middle of the encoding."""
    after: int = 2
    """Pieces that are sent before an ending that is not `whole`."""
    wait: float = 0.0
    """Seconds until the first byte."""
    indexes: bool = True
    """Whether pieces of calls carry the index that tells them apart."""
    streams: bool = True
    """Whether a request to stream is granted."""


def say(text: str, **rest: Any) -> Reply:
    """An answer in words."""
    return Reply(text=text, **rest)


def use(*calls: tuple[str, Mapping[str, Any] | str], **rest: Any) -> Reply:
    """Tool calls: `use(("web_search", {"queries": ["x"]}))`."""
    return Reply(calls=calls, **rest)


def fail(
    status: int, message: str = "refused", *, retry_after: float | str | None = None, code: Any = None, param: str = ""
) -> Reply:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "error", "code": code, "param": param or None}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=status, headers=headers, body=json.dumps({"error": error}))


def send(body: Any, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """A body as it is: `send("<html>…", content_type="text/html")`, `send({"choices": []})`."""
    return Reply(status=status, body=body if isinstance(body, str) else json.dumps(body), content_type=content_type)


def whole(reply: Reply) -> dict[str, Any]:
    """The answer of `/chat/completions` in one piece."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message[reply.reasoning_field] = reply.reasoning
    if reply.refusal:
        message["refusal"] = reply.refusal
    if reply.calls:
        message["tool_calls"] = [_call(reply, number) for number in range(len(reply.calls))]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "fake-1", "choices": [choice]}
    return answer if reply.usage is None else {**answer, "usage": dict(reply.usage)}


def pieces(reply: Reply, *, with_usage: bool) -> Iterator[dict[str, Any]]:
    """The answer of `/chat/completions` as a stream of objects, without the final `[DONE]`."""
    yield _chunk({"role": "assistant", "content": ""})
    yield from (_chunk({reply.reasoning_field: part}) for part in cut(reply.reasoning))
    yield from (_chunk({"refusal": part}) for part in cut(reply.refusal))
    yield from (_chunk({"content": part}) for part in cut(reply.text))
    for number in range(len(reply.calls)):
        call = _call(reply, number)
        index = {"index": number} if reply.indexes else {}
        arguments = call["function"]["arguments"]
        yield _chunk({"tool_calls": [{**call, **index, "function": {**call["function"], "arguments": ""}}]})
        for part in cut(arguments):
            yield _chunk({"tool_calls": [{**index, "function": {"arguments": part}}]})
    yield _chunk({}, _finish(reply))
    if with_usage and reply.usage is not None:
        yield {**_chunk({}), "choices": [], "usage": dict(reply.usage)}


def events(reply: Reply) -> Iterator[dict[str, Any]]:
    """The answer of `/responses` as a stream of events."""
    output: list[dict[str, Any]] = []
    yield {"type": "response.created", "response": _response(reply, output, "in_progress")}
    if reply.reasoning:
        yield from _reasoning_events(reply.reasoning, output)
    if reply.text or reply.refusal:
        yield from _text_events(reply, output)
    for number in range(len(reply.calls)):
        yield from _call_events(_call(reply, number), output)
    if reply.finish in ("length", "content_filter"):
        yield {"type": "response.incomplete", "response": _response(reply, output, "incomplete")}
    else:
        yield {"type": "response.completed", "response": _response(reply, output, "completed")}


def cut(text: str) -> Iterator[str]:
    """The text in pieces."""
    return (text[start : start + PIECE] for start in range(0, len(text), PIECE))


def _call(reply: Reply, number: int) -> dict[str, Any]:
    name, given = reply.calls[number]
    identifier = f"call_{number}" if reply.ids is None else reply.ids[number]
    arguments = given if isinstance(given, str) else json.dumps(given)
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    return call if identifier is None else {"id": identifier, **call}


def _finish(reply: Reply) -> str:
    return reply.finish or ("tool_calls" if reply.calls else "stop")


def _chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fake-1",
        "choices": [choice],
    }


def _reasoning_events(thought: str, output: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    place = {"item_id": "rs_1", "output_index": len(output), "summary_index": 0}
    item: dict[str, Any] = {"id": "rs_1", "type": "reasoning", "summary": []}
    yield {"type": "response.output_item.added", "output_index": len(output), "item": item}
    yield {"type": "response.reasoning_summary_part.added", **place, "part": {"type": "summary_text", "text": ""}}
    for part in cut(thought):
        yield {"type": "response.reasoning_summary_text.delta", **place, "delta": part}
    done = {**item, "summary": [{"type": "summary_text", "text": thought}]}
    yield {"type": "response.output_item.done", "output_index": len(output), "item": done}
    output.append(done)


def _text_events(reply: Reply, output: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    place = {"item_id": "msg_1", "output_index": len(output), "content_index": 0}
    item: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": []}
    yield {"type": "response.output_item.added", "output_index": len(output), "item": item}
    for part in cut(reply.text):
        yield {"type": "response.output_text.delta", **place, "delta": part}
    if reply.refusal:
        yield {"type": "response.refusal.done", **place, "refusal": reply.refusal}
    content = [{"type": "output_text", "text": reply.text, "annotations": []}]
    done = {**item, "content": content}
    yield {"type": "response.output_item.done", "output_index": len(output), "item": done}
    output.append(done)


def _call_events(call: dict[str, Any], output: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    number = len(output)
    item = {"id": f"fc_{number}", "type": "function_call", "call_id": call.get("id"), **call["function"]}
    place = {"item_id": item["id"], "output_index": number}
    yield {"type": "response.output_item.added", "output_index": number, "item": {**item, "arguments": ""}}
    for part in cut(item["arguments"]):
        yield {"type": "response.function_call_arguments.delta", **place, "delta": part}
    yield {"type": "response.output_item.done", "output_index": number, "item": item}
    output.append(item)


def _response(reply: Reply, output: list[dict[str, Any]], status: str) -> dict[str, Any]:
    usage = None
    if status != "in_progress" and reply.usage is not None:
        usage = {
            "input_tokens": reply.usage["prompt_tokens"],
            "output_tokens": reply.usage["completion_tokens"],
            "total_tokens": reply.usage["total_tokens"],
            "input_tokens_details": reply.usage.get("prompt_tokens_details", {"cached_tokens": 0}),
            "output_tokens_details": {"reasoning_tokens": 0},
        }
    reason = {"length": "max_output_tokens"}.get(reply.finish, reply.finish)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "fake-1",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": status,
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "usage": usage,
    }
