"""Large files are taken out of the body of a request before it is parsed, and put back unchanged."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest
from starlette.requests import Request

from deep_research.app.server._bodies import (
    SMALL_REQUEST_BYTES,
    BodyReader,
    BodyRefused,
    put_files_back,
    sent_json,
)

FILE_CHARACTERS = SMALL_REQUEST_BYTES // 2
QUESTION = "When was the Skerry Light lit? " * 1000
"""A text as long as the limit of questions allows, which is not taken out."""


def asked(*blocks: Any, metadata: Any = None) -> dict[str, Any]:
    content = [{"type": "text", "text": QUESTION}, *blocks]
    return {"input": {"messages": [{"role": "user", "content": content}]}, "metadata": metadata}


async def parsed(sent: Any, path: str = "/runs", *, ensure_ascii: bool = True) -> tuple[bytes, Any]:
    """What LangGraph receives of a body, and its JSON."""
    with ExitStack() as held:
        reader = BodyReader({"path": path}, "alice", held)
        return await reader.parse(json.dumps(sent, ensure_ascii=ensure_ascii).encode())


@pytest.mark.sweep(first=4)
@pytest.mark.fault("R27")
@pytest.mark.parametrize("ensure_ascii", [True, False])
@pytest.mark.parametrize(
    "unit",
    ["QUJD", "/+A=", "\\", "a\n", "é", "🎈 ", '", "content": [{"words that are long enough": "\\"'],
)
async def test_a_large_file_is_taken_out_of_messages_and_put_back(
    unit: str, *, ensure_ascii: bool
) -> None:
    text = (unit * FILE_CHARACTERS)[:FILE_CHARACTERS]
    blocks = [
        {"type": "file", "base64": text, "extras": {"filename": "a.txt"}},
        {"type": "file", "file": {"file_data": text}},
    ]
    sent = asked(*blocks, metadata={"note": "x" * 20_000})
    data, received = await parsed(sent, ensure_ascii=ensure_ascii)
    # Compared apart from the assertions, which would print them.
    is_same = json.loads(data) == received
    assert is_same and len(data) < 100_000
    put_files_back(received)
    is_same = received == sent
    assert is_same


@pytest.mark.fault("R27")
async def test_other_servers_receive_a_large_file_in_the_body() -> None:
    sent = asked({"type": "file", "base64": "QUJD" * SMALL_REQUEST_BYTES})
    body = json.dumps(sent).encode()
    with ExitStack() as held:
        data, received = await BodyReader({"path": "/runs"}, "bob", held, keeps_files=True).parse(
            body
        )
    is_same = data == body
    assert is_same and len(json.dumps(received)) < 100_000


@pytest.mark.fault("R27")
async def test_only_files_may_be_large() -> None:
    long = "x" * SMALL_REQUEST_BYTES
    for sent in (
        asked(metadata=long),
        asked(metadata={long: ""}),
        asked(metadata=["x" * 20_000] * 60),
        asked({"type": "text", "text": long}),
        {"input": {"messages": [{"role": "user", "content": long}]}},
    ):
        with pytest.raises(BodyRefused, match=r"Without its files.* 1000000 bytes") as refused:
            await parsed(sent)
        assert refused.value.status == 413
    for path in ("/threads", "/threads/search", "/mcp", "/assistants"):
        with pytest.raises(BodyRefused, match="only requests with files") as refused:
            await parsed(asked({"type": "file", "base64": long}), path)
        assert refused.value.status == 413


@pytest.mark.fault("R27")
async def test_a_report_to_check_is_parsed_once_and_not_passed_on() -> None:
    report = {"name": "report.md", "base64": "QUJD" * SMALL_REQUEST_BYTES}
    scope: dict[str, Any] = {"type": "http", "path": "/research/check"}
    reader = BodyReader(scope, "alice", ExitStack())
    data, received = await reader.parse(json.dumps(report).encode())
    is_same = received == report and sent_json(Request(scope)) is received
    assert is_same and data == b""


@pytest.mark.fault("R27")
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"[" * 101 + b"]" * 101, "100 levels"),
        (b"[" * 100_000, "valid JSON|100 levels"),
        (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "100 levels"),
        (b"[" + b"{}," * 20_000 + b"1]", "20000 values"),
        (b'{"a": ' + b"1" * 5000 + b', "supersteps": []}', "valid JSON"),
        ('{"a": "é"}'.encode("latin-1"), "valid JSON"),
        ('{"a": 1}'.encode("utf-16"), "valid JSON"),
        (b"{", "valid JSON"),
        (b"[" + b"{}," * SMALL_REQUEST_BYTES + b"1]", "Without its files"),
        (b'["' + b'\\"' * SMALL_REQUEST_BYTES + b'"]', "quotation marks"),
    ],
    ids=range(10),
)
async def test_json_beyond_the_limits_is_refused_in_words(body: bytes, words: str) -> None:
    with ExitStack() as held, pytest.raises(BodyRefused, match=words) as refused:
        await BodyReader({"path": "/runs"}, "alice", held).parse(body)
    assert refused.value.status == (413 if "files" in words else 422)
