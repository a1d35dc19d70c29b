"""The commands that serve other programs until they are stopped: `serve` and `mcp`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .endings import reports_errors, run_interruptibly
from .settings import settings_from_options
from .terminal import say
from .words import DONE


@reports_errors
def run_server(*, host: str, port: int | None, data_dir: Path | None, **options: Any) -> int:
    """Run LangGraph's server with the web page."""
    from .server.serve import serve

    # Absolute, because the server runs in another working directory.
    folder = data_dir and data_dir.absolute()
    serve(settings_from_options(data_dir=folder, **options), host, port, say)
    return DONE


@reports_errors
def run_mcp(*, data_dir: Path | None, **options: Any) -> int:
    """Serve MCP over standard input and output."""
    from .mcp.stdio import serve_stdio

    run_interruptibly(serve_stdio(settings_from_options(data_dir=data_dir, **options)))
    return DONE
