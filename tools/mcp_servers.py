"""Tools of servers that speak the Model Context Protocol (MCP), through langchain-mcp-adapters."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from typing import Any

from langchain_core.tools import BaseTool

from ..run.concurrency import in_thread
from ..run.context import Context
from ..run.errors import DeepResearchError, ExtraMissing, UnknownSetting

_UNUSABLE = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST_NAME = 64
_loaded: dict[str, tuple[BaseTool, ...]] = {}
"""The tools of a server, by all that is set for it: what they are does not change while a process lives."""


async def load_servers(context: Context) -> None:
    """Ask each server of the settings for its tools, unless this process knows them.

    Raises `ExtraMissing`, and `UnknownSetting` for a server that cannot be used.
    """
    for name, connection in context.mcp.items():
        key = _key(name, connection)
        if key not in _loaded:
            _loaded[key] = await _tools(name, connection, context.limits.search_seconds)


def server_tools(context: Context) -> list[BaseTool]:
    """Return the tools of the servers, once they are loaded; each bears the name of its server before its own."""
    return [tool for name, connection in context.mcp.items() for tool in _loaded.get(_key(name, connection), ())]


def _key(name: str, connection: Mapping[str, Any]) -> str:
    return json.dumps([name, connection], sort_keys=True, default=str)


async def _tools(name: str, connection: Mapping[str, Any], seconds: float) -> tuple[BaseTool, ...]:
    client = await in_thread(lambda: _client(name, connection))
    try:
        async with asyncio.timeout(seconds):
            tools = await client.get_tools()
    except DeepResearchError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise UnknownSetting(
            f"mcp: the server {name!r} gave no list of its tools ({kind}): check its command or address."
        ) from error
    return tuple(one.model_copy(update={"name": _tool_name(name, one.name)}) for one in tools)


def _tool_name(server: str, tool: str) -> str:
    return _UNUSABLE.sub("_", f"{server}_{tool}")[:_LONGEST_NAME]


def _client(name: str, connection: Mapping[str, Any]) -> Any:
    try:
        from langchain_mcp_adapters.client import MultiServerMCPClient
    except ImportError:
        raise ExtraMissing(
            'MCP servers need a package that is not installed: pip install ".[mcp]" in the checkout of deep_research.'
        ) from None
    whole: Any = {"transport": "stdio" if "command" in connection else "streamable_http", **connection}
    return MultiServerMCPClient({name: whole})
