"""A server on loopback that speaks OpenAI's API by a script, and keeps what it was asked."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

from openai_replies import KEEP, Reply, events, fail, pieces, say, send, use, whole

__all__ = ["Received", "Reply", "fail", "openai_server", "say", "send", "use"]


STALL_SECONDS = 600.0
"""Longer than any test: who has fallen silent is let go when the server closes."""


@dataclass(frozen=True)
class Received:
    """One request as it came in."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    json: dict[str, Any]
    at: float
    """Seconds of `time.monotonic` when it came."""

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
        return "\n".join(_text(each) for each in self.messages if each.get("role") in ("system", "developer"))

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

    def __init__(self, script: Script, models: Sequence[str]) -> None:
        self.requests: list[Received] = []
        """Requests for answers, in the order in which they came, but for those of `forms`."""
        self.forms: Collection[str] = ()
        """Names of forms that are none of the test's business."""
        self.asides: list[Received] = []
        """Requests for these forms."""
        self.unexpected: list[str] = []
        """Requests that the script had no reply for."""
        self.models = models
        self.paths: Mapping[str, Any] | None = None
        """What other paths than those for answers say, a function by what was asked; those not named are refused."""
        self.asked: list[str] = []
        """Such paths that were asked for."""
        self.url = ""
        """The base URL, with `/v1`."""
        self.closing = threading.Event()
        self.answer = _answerer(script)

    @property
    def environment(self) -> dict[str, str]:
        """Variables that lead a run here."""
        return {"OPENAI_BASE_URL": self.url, "OPENAI_API_KEY": "sk-loopback"}


@contextmanager
def openai_server(script: Script = (), models: Sequence[str] = ("fake-1",)) -> Iterator[OpenAIServer]:
    """Serve by the script: replies in order, or a function from request to reply.

    A request beyond the script is answered with HTTP 400 and fails the test at the end.
    """
    server = OpenAIServer(script, models)

    class Handler(_Handler):
        fake = server

    http = _Server(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
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
                raise LookupError(f"no reply is left for {received.path}: {received.prompt[-120:]!r}")
            return left.pop(0)

    return next_reply


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or message.get("output") or ""
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


class _Server(ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.open: set[socket.socket] = set()

    def hang_up(self) -> None:
        """Close connections that clients keep open, so that their threads end."""
        for connection in list(self.open):
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

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
        self._send(200 if body else 404, json.dumps(body or {"error": "not found"}), "application/json", {})

    def do_GET(self) -> None:
        if self.fake.paths is not None:
            return self._aside(self.path, None)
        listed = [{"id": name, "object": "model", "created": 1, "owned_by": "tests"} for name in self.fake.models]
        self._send(200, json.dumps({"object": "list", "data": listed}), "application/json", {})
        return None

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.fake.paths is not None and self.path.startswith("/api/"):
            return self._aside(self.path, asked)
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.path, headers, asked, time.monotonic())
        is_aside = any(name in json.dumps(asked) for name in self.fake.forms)
        (self.fake.asides if is_aside else self.fake.requests).append(received)
        try:
            reply = self.fake.answer(received)
        except LookupError as error:
            self.fake.unexpected.append(str(error))
            reply = fail(400, str(error))
        if reply.usage is KEEP:
            read = len(json.dumps(asked.get("messages") or asked.get("input"), ensure_ascii=False)) // 4
            reply = replace(reply, usage={**KEEP, "prompt_tokens": max(read, KEEP["prompt_tokens"])})
        self.fake.closing.wait(reply.wait)
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
