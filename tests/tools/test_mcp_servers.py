"""Tools of real MCP servers, over both transports: offered, called, cited and checked; a hostile
one gets nothing."""

from __future__ import annotations

import inspect
import json
import re
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from kit.mcp import HOSTILE, LIT, foreign_server, forked_servers, served
from kit.models import call, calls
from kit.runs import REPORT, lab, results, search
from mcp.server.fastmcp import FastMCP

from deep_research.core.errors import UnknownSetting
from deep_research.state import ResearchState


def search_letters(query: str) -> list[dict[str, str]]:
    """Search the letters of the keepers."""
    return [
        {
            "name": "Letter of Ada Moran",
            "webUrl": "https://letters.example/moran/7",
            "lastModified": "2024-05-01T08:00:00Z",
            "text": "Ada Moran kept the Skerry Light until 1932.",
        },
        {
            "filePath": "/srv/letters/tower.txt",
            "created_at": "1844-03-02",
            "text": "The tower stands 38 metres tall.",
        },
    ]


def letters_server() -> FastMCP:
    server = FastMCP("letters", log_level="CRITICAL")
    server.add_tool(search_letters)
    return server


def letters_process() -> dict[str, Any]:
    """A connection to the same server as a process."""
    lines = (
        "from mcp.server.fastmcp import FastMCP",
        inspect.getsource(search_letters),
        "server = FastMCP('letters')",
        "server.add_tool(search_letters)",
        "server.run()",
    )
    return {"command": sys.executable, "args": ["-c", "\n".join(lines)]}


MultiServerMCPClient = pytest.importorskip("langchain_mcp_adapters.client").MultiServerMCPClient


async def test_documents_of_a_server_are_cited_by_title_address_and_date_as_a_retriever_or_a_tool(
    tmp_path: Path,
) -> None:
    written = "Ada Moran kept the Skerry Light until 1932. [1] The tower stands 38 metres tall. [2]"
    with served(letters_server()) as url, forked_servers():
        connection: Any = {"transport": "streamable_http", "url": url}
        [letters] = await MultiServerMCPClient({"letters": connection}).get_tools()
        ways: tuple[tuple[Any, dict[str, Any], str], ...] = (
            (search("Skerry Light"), {"retrievers": [letters]}, "document"),
            (
                calls(call("letters_search_letters", query="Skerry Light")),
                {"mcp": {"letters": letters_process()}},
                "web",
            ),
        )
        states = list[tuple[ResearchState, str]]()
        for act, settings, kind in ways:
            # On a busy machine, the process takes long to start.
            limits = {"search_seconds": 300}
            given = {"docs": (), "engines": (), "limits": limits, **settings}
            run = lab(tmp_path, researcher=[act, REPORT, written], writer=[written], **given)
            states.append((await run.ask(), kind))
    for state, kind in states:
        assert state.report is not None
        letter, tower = (state.sources[key] for key in state.report.sources)
        assert (letter.title, letter.location) == (
            "Letter of Ada Moran",
            "https://letters.example/moran/7",
        )
        assert (tower.title, tower.location) == ("tower", "/srv/letters/tower.txt")
        assert (letter.date, tower.date) == ("2024-05-01", "1844-03-02")
        assert (letter.kind, tower.kind) == (kind, "document")
        assert [claim.verdict for claim in state.report.claims] == ["supported", "supported"]
        assert tower.location in state.messages[-1].text


async def test_a_server_that_does_not_start_or_answer_is_refused_before_anything_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        for connection, reason in (
            ({"command": "/nonexistent/server"}, "FileNotFoundError"),
            ({"url": url}, "no answer within 1 s, see search_seconds"),
        ):
            monkeypatch.setenv("DEEP_RESEARCH_MCP", json.dumps({"gone": connection}))
            thread = lab(tmp_path, docs=(), engines=(), limits={"search_seconds": 1})
            refused = re.escape(f"the server 'gone' did not list its tools ({reason})")
            with pytest.raises(UnknownSetting, match=refused):
                await thread.ask()
            assert thread.calls("clarifier") == []


MISLED = f"{LIT} [1] The Skerry Light is 99 metres tall. [1]"
"""What is written by models that believe the server."""


async def test_a_hostile_server_breaks_no_fence_replaces_no_tool_and_the_run_ends_with_a_report(
    tmp_path: Path,
) -> None:
    log = list[str]()
    used: dict[str, dict[str, Any]] = {
        "look_up": {"light": "Skerry Light"},
        "open_url": {"urls": ["x"]},
        **{name: {} for name in ("generate_report", "fail", "flood", "hang")},
    }
    acts = [calls(call(f"lights_{name}", **arguments)) for name, arguments in used.items()]
    with served(foreign_server(log)) as url:
        thread = lab(
            tmp_path,
            researcher=[*acts, REPORT, MISLED],
            writer=[MISLED],
            docs=(),
            engines=(),
            mcp={"lights": {"url": url}},
            limits={"tool_seconds": 3},
        )
        state = await thread.ask()
    assert log == list(used)
    asked = thread.calls("researcher")
    own = [name for name in asked[0].tools if not name.startswith("lights_")]
    assert own == ["open_url", "calculate", "generate_report", "think_tool"]
    replies = list(results(asked[-1].messages).values())[: len(acts)]
    for text in replies:
        # One fence, whose name nobody could know, and nothing in it that ends it or opens another.
        assert re.fullmatch(r"<(data-[0-9a-f]{8})>\n[^<]*\n</\1>", text), text
        assert len(text) < 4000
    assert "lights_fail failed: " in replies[3] and "3 s (tool_seconds)" in replies[-1]
    assert state.run is not None and state.report is not None
    assert [state.sources[key].location for key in state.report.sources] == [
        "https://lights.example/1"
    ]
    assert [claim.verdict for claim in state.report.claims] == ["supported", "unsupported"]
    assert (
        "evil.example" not in state.messages[-1].text and "Mallory" not in state.messages[-1].text
    )
    assert HOSTILE.partition("<")[0].strip() not in state.messages[-1].text


@pytest.mark.sweep
@pytest.mark.fault(62)
@pytest.mark.parametrize("is_json", [False, True])
async def test_an_answer_of_a_server_is_read_up_to_a_limit_and_the_call_fails_at_once(
    tmp_path: Path, *, is_json: bool
) -> None:
    sizes = {"some": 1_000_000, "much": 9_000_000}

    def tell(size: str) -> str:
        return "The Skerry Light is 99 metres tall. " * (sizes[size] // 36)

    acts = [calls(call("lights_tell", size=size)) for size in sizes]
    server = FastMCP("lights", log_level="CRITICAL", json_response=is_json)
    server.add_tool(tell)
    with served(server) as url:
        connection = {"lights": {"url": url}}
        thread = lab(tmp_path, researcher=[*acts, REPORT, LIT], docs=(), engines=(), mcp=connection)
        await thread.ask()
    some, much = list(results(thread.calls("researcher")[-1].messages).values())[:2]
    assert "99 metres" in some
    assert "failed: its answer is larger than 8000000 bytes, the most that is read" in much
