"""Bodies of requests: their limits, and their JSON, which is parsed once and off the event loop.

Only the files in messages and in reports to check may be large. They are taken out of a large body,
so that LangGraph parses and copies only the rest, and put back when the run is authorized.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from contextvars import ContextVar
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.types import Receive, Scope

from ...core.concurrency import in_thread, slot
from .users import server_settings

SMALL_REQUEST_BYTES = 1_000_000
"""Maximum size of a request body without its files."""
_DEPTH, _VALUES = 100, 20_000
"""Maximum nesting of JSON, and maximum number of its values."""
_BODY_SECONDS = 60
"""Timeout for receiving the body of a request."""
_USER_LARGE = 2
"""Maximum number of large requests of a user at the same time; others wait."""
_THREAD_BYTES = 10_000
"""Size from which a body is parsed in a thread."""
_LONG_BYTES = 10_000
"""Size from which a string of a large body is taken out if it belongs to a file."""
_ESCAPED_BYTES = 5_000_000
"""Maximum size of a string with escapes, since decoding it cannot be interrupted."""
_QUOTES = 200_000
"""Maximum number of quotation marks in a large body."""
CHECK = "/research/check"
"""Path to which reports to check are sent."""
_WITH_FILES = re.compile(
    rf"{CHECK}|/threads/[^/]+/(?:commands|stream/events)"
    r"|(?:/threads/[^/]+)?/runs(?:/(?:stream|wait|batch))?"
)
"""Paths to which messages or reports, and thus files, are sent."""
_SENT = "deep_research.sent"
"""Key of a request's scope for its parsed JSON."""
_BACKSLASH = ord("\\")

_files: ContextVar[dict[str, str]] = ContextVar("_files")
"""The files taken out of the current request, by the names that replace them."""


class BodyRefused(Exception):
    """The body exceeds a limit or is not JSON; `status` is that of the response."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Body(NamedTuple):
    """A body within the limits."""

    data: bytes
    """What the app receives: without large files."""
    sent: Any
    """The parsed JSON; None if the body is empty."""


def sent_json(request: Request) -> Any:
    """Return the JSON that a request has sent; None if it sent none."""
    return request.scope.get(_SENT)


def put_files_back(values: Any) -> None:
    """Put the files of the current request back into its messages, in place."""
    files = _files.get({})
    left: list[Any] = [values] if files else []
    while left:
        holder = left.pop()
        items: Any = holder.items() if isinstance(holder, dict) else enumerate(holder)
        for key, value in items:
            if isinstance(value, str) and value in files:
                holder[key] = files.pop(value)
            elif isinstance(value, dict | list):
                left.append(value)


class BodyReader:
    """Reads the body of one request, or the messages of a web socket."""

    def __init__(
        self,
        scope: Scope,
        user: str | None,
        held: ExitStack,
        *,
        is_state: bool = False,
        keeps_files: bool = False,
    ) -> None:
        """`held`: ends when the request no longer needs a large body; `is_state`: the local user
        writes a thread's state, which may be of any size; `keeps_files`: pass a large body on as
        it is."""
        self._scope = scope
        self._path = str(scope["path"]).rstrip("/")
        self._user = user
        self._held = held
        self._is_state = is_state
        self._keeps_files = keeps_files
        self._is_admitted = False
        """Whether a large body has its turn."""

    async def read(self, receive: Receive) -> bytes:
        """Read the body; raises `BodyRefused` if it is too long or too slow."""
        parts = list[bytes]()
        length = 0
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise BodyRefused(400, "The connection ended before the request.")
                    parts.append(message.get("body", b""))
                    length += len(parts[-1])
                    await self._admit(length)
                    if not message.get("more_body"):
                        return b"".join(parts)
        except TimeoutError:
            raise BodyRefused(
                413,
                f"The body of the request did not arrive within {_BODY_SECONDS} s. Of requests "
                f"over {SMALL_REQUEST_BYTES} bytes, {_USER_LARGE} per user are received at once.",
            ) from None

    async def parse(self, data: bytes) -> Body:
        """Parse a body as JSON and take out its large files; raises `BodyRefused`.

        Our own routes read the JSON with `sent_json`.
        """
        await self._admit(len(data))
        _files.set({})
        if not data:
            return Body(data, None)
        if len(data) < _THREAD_BYTES:
            body, files = self._parse(data)
        else:
            body, files = await in_thread(self._parse, data)
        if self._keeps_files:
            return Body(data, body.sent)
        _files.set(files)
        if self._path.startswith("/research/"):
            self._scope[_SENT] = body.sent
        if self._path == CHECK:
            put_files_back(body.sent)
            return body._replace(data=b"")
        return body

    async def _admit(self, length: int) -> None:
        """Refuse a body of this length, or wait for a turn if it is large."""
        most = server_settings().body_bytes
        if length > most:
            raise BodyRefused(
                413, f"The request is longer than {most} bytes (DEEP_RESEARCH_SERVER_BODY_BYTES)."
            )
        if length <= SMALL_REQUEST_BYTES or self._is_state or self._is_admitted:
            return
        if not _WITH_FILES.fullmatch(self._path):
            raise BodyRefused(
                413,
                f"The request is longer than {SMALL_REQUEST_BYTES} bytes; only requests with files "
                "may be.",
            )
        turn = slot(f"large requests of {self._user}", _USER_LARGE)
        await turn.acquire()
        self._is_admitted = True
        self._held.callback(self._leave, turn)

    def _leave(self, turn: asyncio.Semaphore) -> None:
        self._is_admitted = False
        turn.release()

    def _parse(self, data: bytes) -> tuple[Body, dict[str, str]]:
        """Return the body without its large files, and these by the names that replace them."""
        if self._is_state or len(data) <= SMALL_REQUEST_BYTES:
            return Body(data, _loaded(data, is_limited=not self._is_state)), {}
        rest, strings = _without_long_strings(data)
        _check_rest(rest)
        sent = _loaded(rest)
        in_files = set[str]()
        if self._path == CHECK and isinstance(sent, dict):
            in_files.add(str(sent.get("base64")))
        else:
            in_files.update(_strings_of_files(sent))
        files = dict[str, str]()
        others = strings.keys() - in_files
        for name, string in strings.items():
            if name in others:
                rest = rest.replace(name.encode(), string)
                _check_rest(rest)
            else:
                files[name] = _decoded(string)
        if others:
            sent = _loaded(rest)
        return Body(rest, sent), files


def _check_rest(rest: bytes) -> None:
    if len(rest) > SMALL_REQUEST_BYTES:
        raise BodyRefused(
            413, f"Without its files, the request is longer than {SMALL_REQUEST_BYTES} bytes."
        )


def _loaded(data: bytes, *, is_limited: bool = True) -> Any:
    """Return parsed JSON within the limits of depth and number of values."""
    try:
        sent = json.loads(data.decode())
    except ValueError:
        raise BodyRefused(422, "The body of the request is not valid JSON in UTF-8.") from None
    except RecursionError:
        raise _too_deep() from None
    level = [sent]
    values = depth = 0
    while level:
        depth += 1
        values += len(level)
        if depth > _DEPTH:
            raise _too_deep()
        if is_limited and values > _VALUES:
            raise BodyRefused(
                422, f"The JSON of the request has more than {_VALUES} values, the maximum."
            )
        below = list[Any]()
        for value in level:
            below += _items_of(value)
        level = below
    return sent


def _too_deep() -> BodyRefused:
    return BodyRefused(
        422, f"The JSON of the request is nested more than {_DEPTH} levels deep, the maximum."
    )


def _items_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _without_long_strings(data: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return JSON with names in place of its long strings, and these strings as they were written.

    Takes much less time than parsing them.
    """
    strings = dict[str, bytes]()
    parts = list[bytes]()
    prefix = secrets.token_hex(8)
    kept = start = 0
    for end in _quotes(data):
        if not start:
            start = end + 1
            continue
        if end - start > _LONG_BYTES:
            name = f"{prefix}.{len(strings)}."
            strings[name] = data[start:end]
            parts += (data[kept:start], name.encode())
            kept = end
        start = 0
    parts.append(data[kept:])
    return b"".join(parts), strings


def _quotes(data: bytes) -> Iterator[int]:
    """Yield the positions at which the strings of JSON begin and end."""
    position = -1
    for _ in range(_QUOTES):
        position = data.find(b'"', position + 1)
        if position < 0:
            return
        if not _is_escaped(data, position):
            yield position
    raise BodyRefused(
        422,
        f"The request has more than {_QUOTES} quotation marks, the maximum: send files in base64.",
    )


def _is_escaped(data: bytes, position: int) -> bool:
    """Return whether an odd number of backslashes precedes a position."""
    first = position
    while data[first - 1] == _BACKSLASH:
        first -= 1
    return (position - first) % 2 == 1


def _strings_of_files(sent: Any) -> Iterator[str]:
    """Yield the strings in the files of messages: in content blocks that are not texts."""
    left = [sent]
    while left:
        holder = left.pop()
        left += _items_of(holder)
        content = holder.get("content") if isinstance(holder, dict) else None
        for block in content if isinstance(content, list) else ():
            if isinstance(block, dict) and block.get("type") != "text":
                for value in (block, *block.values()):
                    yield from (item for item in _items_of(value) if isinstance(item, str))


def _decoded(string: bytes) -> str:
    """Return the text of a JSON string."""
    has_escapes = b"\\" in string
    if has_escapes:
        # Some clients escape the slashes of base64.
        string = string.replace(b"\\/", b"/")
        has_escapes = b"\\" in string
    if has_escapes and len(string) > _ESCAPED_BYTES:
        raise BodyRefused(
            413,
            f"A file of the request is a text of more than {_ESCAPED_BYTES} bytes: send it in "
            "base64.",
        )
    try:
        text = string.decode()
        if has_escapes:
            text = str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        raise BodyRefused(422, "A file of the request is not valid JSON in UTF-8.") from None
    return text
