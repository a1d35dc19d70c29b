"""A fake server of the OpenAI API on loopback: replies by name, streamed as real ones are, with
faults on request."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, TypeAlias

PIECE = 8
"""Characters of one streamed piece."""
LONG_PIECE = 60
"""The same for whole runs: reading many small pieces would take longer than all else in them."""
_COMPLETION = {"id": "chatcmpl-1", "created": 1, "model": "fake-1"}
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
    """How a stream ends: `cut` ends it cleanly but too early, `broken` in the middle of the
    encoding."""
    after: int = 2
    """Pieces that are sent before an ending that is not `whole`."""
    wait: float = 0.0
    """Seconds until the first byte."""
    until: threading.Event | None = None
    """Keeps the answer back until it is set, or until the server closes."""
    indexes: bool = True
    """Whether pieces of calls carry the index that tells them apart."""
    streams: bool = True
    """Whether a request to stream is granted."""
    piece: int = PIECE
    """Characters of one streamed piece."""


def say(text: str, **rest: Any) -> Reply:
    """An answer in words."""
    return Reply(text=text, **rest)


def use(*calls: tuple[str, Mapping[str, Any] | str], **rest: Any) -> Reply:
    """Tool calls: `use(("web_search", {"queries": ["x"]}))`."""
    return Reply(calls=calls, **rest)


def fail(
    status: int,
    message: str = "refused",
    *,
    retry_after: float | str | None = None,
    code: Any = None,
    param: str = "",
) -> Reply:
    """An error in OpenAI's form."""
    error = {"message": message, "type": "error", "code": code, "param": param or None}
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Reply(status=status, headers=headers, body=json.dumps({"error": error}))


def send(body: Any, *, status: int = 200, content_type: str = "application/json") -> Reply:
    """A body as it is: `send("<html>…", content_type="text/html")`, `send({"choices": []})`."""
    return Reply(
        status=status,
        body=body if isinstance(body, str) else json.dumps(body),
        content_type=content_type,
    )


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
    answer = {**_COMPLETION, "object": "chat.completion", "choices": [choice]}
    return answer if reply.usage is None else {**answer, "usage": dict(reply.usage)}


def pieces(reply: Reply, *, with_usage: bool) -> Iterator[dict[str, Any]]:
    """The answer of `/chat/completions` as a stream of objects, without the final `[DONE]`."""
    yield _chunk({"role": "assistant", "content": ""})
    yield from (_chunk({reply.reasoning_field: part}) for part in cut(reply.reasoning, reply.piece))
    yield from (_chunk({"refusal": part}) for part in cut(reply.refusal, reply.piece))
    yield from (_chunk({"content": part}) for part in cut(reply.text, reply.piece))
    for number in range(len(reply.calls)):
        call = _call(reply, number)
        index = {"index": number} if reply.indexes else {}
        arguments = call["function"]["arguments"]
        yield _chunk(
            {"tool_calls": [{**call, **index, "function": {**call["function"], "arguments": ""}}]}
        )
        for part in cut(arguments, reply.piece):
            yield _chunk({"tool_calls": [{**index, "function": {"arguments": part}}]})
    yield _chunk({}, _finish(reply))
    if with_usage and reply.usage is not None:
        yield {**_chunk({}), "choices": [], "usage": dict(reply.usage)}


def events(reply: Reply) -> Iterator[dict[str, Any]]:
    """The answer of `/responses` as a stream of events."""
    output: list[dict[str, Any]] = []

    def item(
        opening: dict[str, Any], said: list[dict[str, Any]], **done: Any
    ) -> Iterator[dict[str, Any]]:
        position = {"output_index": len(output)}
        yield {"type": "response.output_item.added", **position, "item": opening}
        yield from ({**event, "item_id": opening["id"], **position} for event in said)
        output.append({**opening, **done})
        yield {"type": "response.output_item.done", **position, "item": output[-1]}

    def deltas(kind: str, text: str, **index: int) -> list[dict[str, Any]]:
        return [
            {"type": f"response.{kind}.delta", **index, "delta": part}
            for part in cut(text, reply.piece)
        ]

    yield {"type": "response.created", "response": _response(reply, output, "in_progress")}
    if reply.reasoning:
        part = {
            "type": "response.reasoning_summary_part.added",
            "part": {"type": "summary_text", "text": ""},
        }
        said = [
            {**part, "summary_index": 0},
            *deltas("reasoning_summary_text", reply.reasoning, summary_index=0),
        ]
        summary = [{"type": "summary_text", "text": reply.reasoning}]
        yield from item({"id": "rs_1", "type": "reasoning", "summary": []}, said, summary=summary)
    if reply.text or reply.refusal:
        said = deltas("output_text", reply.text, content_index=0)
        if reply.refusal:
            said.append(
                {"type": "response.refusal.done", "content_index": 0, "refusal": reply.refusal}
            )
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [],
        }
        yield from item(
            message, said, content=[{"type": "output_text", "text": reply.text, "annotations": []}]
        )
    for number in range(len(reply.calls)):
        call = _call(reply, number)
        function, opening = call["function"], {"id": f"fc_{len(output)}", "type": "function_call"}
        said = deltas("function_call_arguments", function["arguments"])
        yield from item(
            {**opening, "call_id": call.get("id"), **function, "arguments": ""}, said, **function
        )
    status = "incomplete" if reply.finish in ("length", "content_filter") else "completed"
    yield {"type": f"response.{status}", "response": _response(reply, output, status)}


def cut(text: str, size: int) -> Iterator[str]:
    """The text in pieces."""
    return (text[start : start + size] for start in range(0, len(text), size))


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
    return {**_COMPLETION, "object": "chat.completion.chunk", "choices": [choice]}


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
    details = {
        "incomplete_details": {"reason": reason} if status == "incomplete" else None,
        "usage": usage,
    }
    fixed = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "fake-1",
        "parallel_tool_calls": True,
    }
    return {
        **fixed,
        "tool_choice": "auto",
        "tools": [],
        "output": list(output),
        "status": status,
        **details,
    }


STALL_SECONDS = 600.0
"""Longer than any test: who has fallen silent is let go when the server closes."""


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    json: dict[str, Any]

    @property
    def key(self) -> str:
        """The API key that was sent."""
        return self.headers.get("authorization", "").removeprefix("Bearer ")

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The prompt, of either API."""
        messages: list[dict[str, Any]] = self.json.get("messages") or self.json.get("input") or []
        return messages

    @property
    def system(self) -> str:
        """The system prompt."""
        return "\n".join(
            _text(each) for each in self.messages if each.get("role") in ("system", "developer")
        )

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(_text(each) for each in self.messages)

    @property
    def tools(self) -> list[str]:
        """Names of the tools that were offered."""
        return [tool.get("function", tool)["name"] for tool in self.json.get("tools", [])]

    @property
    def tool_choice(self) -> Any:
        """The tool choice as it was sent."""
        return self.json.get("tool_choice")


Script: TypeAlias = Sequence[Reply] | Callable[[Received], Reply]


class OpenAIServer:
    """What a test sees of the server."""

    def __init__(self, script: Script) -> None:
        self.requests: list[Received] = []
        """Requests for answers, in the order in which they came, but for those of `forms`."""
        self.forms: Collection[str] = ()
        """Names of forms that are none of the test's business."""
        self.asides: list[Received] = []
        """Requests for these forms."""
        self.unexpected: list[str] = []
        """Requests that the script had no reply for."""
        self.paths: Mapping[str, Any] | None = None
        """What other paths than those for answers say, a function by what was asked; those not
        named are refused."""
        self.asked: list[str] = []
        """Such paths that were asked for."""
        self.piece = PIECE
        """Characters of one streamed piece of an answer that is sent to its end."""
        self.url = ""
        """The base URL, with `/v1`."""
        self.closing = threading.Event()
        self.kept_back: list[threading.Event] = []
        """What answers wait for."""
        self.answer = _answerer(script)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that lead a run here."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-loopback"}


@contextmanager
def openai_server(script: Script) -> Iterator[OpenAIServer]:
    """Serve by the script: replies in order, or a function from request to reply.

    A request beyond the script is answered with HTTP 400 and fails the test at the end.
    """
    server = OpenAIServer(script)
    http = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": server}))
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        for event in server.kept_back:
            event.set()
        http.shutdown()
        http.hang_up()
        http.server_close()
        thread.join()
    assert not server.unexpected, f"the script had no reply for: {server.unexpected}"


def _answerer(script: Script) -> Callable[[Received], Reply]:
    if callable(script):
        return script
    left, lock = list(script), threading.Lock()

    def next_reply(received: Received) -> Reply:
        with lock:
            if not left:
                raise LookupError(
                    f"no reply is left for {received.path}: {received.prompt[-120:]!r}"
                )
            return left.pop(0)

    return next_reply


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or message.get("output") or ""
    return (
        content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    )


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.open: set[socket.socket] = set()

    def hang_up(self) -> None:
        """Close connections that clients keep open, so that their threads end."""
        for connection in list(self.open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else each answer in several pieces waits 40 ms for the client's acknowledgement of the first.
    disable_nagle_algorithm = True
    fake: OpenAIServer
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.open.add(self.connection)

    def finish(self) -> None:
        self.server.open.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep silent."""

    def _aside(self, path: str, asked: Any) -> None:
        self.fake.asked.append(path)
        said = (self.fake.paths or {}).get(path.partition("?")[0], {})
        body = said(asked) if callable(said) else said
        self._send(
            200 if body else 404, json.dumps(body or {"error": "not found"}), "application/json", {}
        )

    def do_GET(self) -> None:
        if self.fake.paths is not None:
            return self._aside(self.path, None)
        listed = {"id": "fake-1", "object": "model", "created": 1, "owned_by": "tests"}
        self._send(200, json.dumps({"object": "list", "data": [listed]}), "application/json", {})
        return None

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.fake.paths is not None and self.path.startswith("/api/"):
            return self._aside(self.path, asked)
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, asked)
        is_aside = any(name in json.dumps(asked) for name in self.fake.forms)
        (self.fake.asides if is_aside else self.fake.requests).append(received)
        try:
            reply = self.fake.answer(received)
        except LookupError as error:
            self.fake.unexpected.append(str(error))
            reply = fail(400, str(error))
        if reply.usage is KEEP:
            read = (
                len(json.dumps(asked.get("messages") or asked.get("input"), ensure_ascii=False))
                // 4
            )
            reply = replace(
                reply, usage={**KEEP, "prompt_tokens": max(read, KEEP["prompt_tokens"])}
            )
        if reply.ending == "whole":
            reply = replace(reply, piece=self.fake.piece)
        self.fake.closing.wait(reply.wait)
        if reply.until:
            self.fake.kept_back.append(reply.until)
            if not self.fake.closing.is_set():
                reply.until.wait()
        if reply.body is not None:
            self._send(reply.status, reply.body, reply.content_type, reply.headers)
        elif received.path.endswith("/responses"):
            self._stream(events(reply), reply)
        elif asked.get("stream") and reply.streams:
            with_usage = bool((asked.get("stream_options") or {}).get("include_usage"))
            self._stream(pieces(reply, with_usage=with_usage), reply)
        else:
            self._send(200, json.dumps(whole(reply)), "application/json", reply.headers)
        return None

    def _send(self, status: int, body: str, content_type: str, headers: Mapping[str, str]) -> None:
        data = body.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, objects: Iterator[dict[str, Any]], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, each in enumerate(objects):
            if reply.ending != "whole" and number == reply.after:
                return self._end_early(reply.ending)
            event = f"event: {each['type']}\n" if "type" in each else ""
            self._write(f"{event}data: {json.dumps(each)}\n\n")
        self._write("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")
        return None

    def _end_early(self, ending: str) -> None:
        if ending == "cut":
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True
        if ending == "stall":
            self.fake.closing.wait(STALL_SECONDS)
        elif ending == "reset":
            time.sleep(0.02)  # what was sent has to arrive first
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            os.close(self.connection.detach())

    def _write(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
