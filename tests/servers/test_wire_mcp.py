"""Under `langgraph dev`, researchers use the tools of MCP servers over both transports, and cite
what these say."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from kit.commands import wire_desk
from kit.mcp import LIT, foreign_server, served
from kit.openai_server import say, use
from kit.server import Conversation, Server
from kit.wire import END, QUESTION, plain_run

pytestmark = pytest.mark.slow

KEPT = "Ada Moran kept the Skerry Light from 1901 to 1932."
KEEPERS = f"""
from mcp.server.fastmcp import FastMCP

server = FastMCP("keepers")

@server.tool()
def find(light: str) -> dict[str, str]:
    "Find who kept a light."
    return {{"title": "Keepers", "url": "https://lights.example/2", "text": "{KEPT}"}}

server.run()
"""
"""A server that is started by its command."""
WRITTEN = f"{LIT} [1] {KEPT} [2]"


async def test_tools_of_foreign_servers_are_used_and_cited_on_the_server(tmp_path: Path) -> None:
    script = tmp_path / "keepers.py"
    script.write_text(KEEPERS, "utf-8")
    calls = [
        *(use((tool, {"light": "Skerry Light"})) for tool in ("lights_look_up", "keepers_find")),
        END,
    ]
    roles = {
        "orchestrator": plain_run(["light"])["orchestrator"],
        "researcher": lambda request: calls[
            sum(message["role"] == "tool" for message in request.messages)
        ],
    }
    with (
        served(foreign_server(log := list[str]())) as url,
        wire_desk(
            tmp_path,
            **roles,
            finding=lambda _: say(f"Found: {WRITTEN}"),
            writer=lambda _: say(WRITTEN),
        ),
    ):
        servers = {
            "lights": {"url": url},
            "keepers": {"command": sys.executable, "args": [str(script)]},
        }
        with Server(
            tmp_path, DEEP_RESEARCH_DOCS="", DEEP_RESEARCH_MCP=json.dumps(servers)
        ) as server:
            async with server.client() as client:
                values = await (await Conversation(client).create()).ask(QUESTION)
    assert log == ["look_up"]
    assert values["messages"][-1]["content"].startswith(WRITTEN)
    assert [claim["verdict"] for claim in values["report"]["claims"]] == ["supported", "supported"]
    sources = [values["sources"][key]["location"] for key in values["report"]["sources"]]
    assert sources == ["https://lights.example/1", "https://lights.example/2"]
    assert server.complaints() == []
