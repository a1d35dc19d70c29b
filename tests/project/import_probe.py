"""Imports the modules it is given and prints, as JSON, what work that did; run as a script by a
test."""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

SOCKETS = ("socket.connect", "socket.getaddrinfo")
PROCESSES = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.system")
PLUMBING = ("os.py", "_collections_abc.py")

done: list[str] = []


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Write down the events that are work."""
    if event in SOCKETS + PROCESSES:
        done.append(f"{event} {arguments!r}")


def watch_environment(root: Path) -> None:
    """Write down each variable that is read by the package's own code, or by settings made at
    import."""
    environment: Any = type(os.environ)
    read = environment.__getitem__

    def watched(self: Mapping[str, str], name: str) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame and (
            "frozen" in frame.f_code.co_filename or Path(frame.f_code.co_filename).name in PLUMBING
        ):
            frame = frame.f_back
        reader = Path(frame.f_code.co_filename if frame else "")
        # The package's own files, not those of a library installed below it.
        is_ours = reader.is_relative_to(root) and ".venv" not in reader.parts
        if is_ours or "pydantic_settings" in reader.parts:
            done.append(f"{reader} reads {name}")
        return read(self, name)

    environment.__getitem__ = watched


def watch_threads() -> None:
    """Write down each thread that is started."""
    start = threading.Thread.start

    def watched(self: threading.Thread) -> None:
        done.append(f"thread {self.name}")
        start(self)

    threading.Thread.start = watched  # type: ignore[method-assign]  # seen by every library, which is the point


def main(root: str, modules: list[str]) -> None:
    """Import, then report."""
    if not (Path(root) / "__init__.py").exists():
        sys.path.insert(0, root)
    watch_environment(Path(root))
    watch_threads()
    sys.addaudithook(watch)
    for module in modules:
        importlib.import_module(module)
    sys.stdout.write(json.dumps({"done": done, "modules": sorted(sys.modules)}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
