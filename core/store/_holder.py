"""Who holds a lease: the process, and whether it still does."""

from __future__ import annotations

import os
import platform
import time
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

EXPIRY_SECONDS = 60.0
"""Seconds after which a lease expires if not renewed; longer than any wait for the database."""

active_owners: set[str] = set()
"""Owners of the leases that this process holds; a stored lease of this process with another owner
is stale."""


class Process(NamedTuple):
    """What identifies a process: not its id alone, since ids are reused."""

    pid: int
    birth: str
    """Its start time in the system's units, or `unknown`."""
    machine: str
    """The machine or container in which its id is valid."""


class Holder(NamedTuple):
    """A stored lease, and the process that holds it; as text: that process, for the user."""

    owner: str
    """Unique id of the lease."""
    process: Process
    since: str
    """When the lease was taken (ISO 8601)."""
    age: float
    """Seconds since the lease was renewed; negative if the machine has restarted since, and its
    clock with it."""

    @classmethod
    def of_row(cls, row: tuple[Any, ...]) -> Holder:
        """Return the holder in a row of an SQLite file."""
        owner, pid, birth, machine, since, renewed = row
        # The monotonic clock cannot be set; it restarts with the machine.
        age = time.monotonic() - renewed
        return cls(owner, Process(pid, birth, machine), since, age)

    def is_alive(self) -> bool:
        """Whether the lease is valid: the process exists and has renewed it in time. Blocks, since
        it reads files."""
        if self.process == this_process() and self.owner not in active_owners:
            return False
        if self.process.machine == _machine() and self.process.birth != _birth(self.process.pid):
            return False
        return 0 <= self.age < EXPIRY_SECONDS

    def __str__(self) -> str:
        pid = self.process.pid
        since = f"{datetime.fromisoformat(self.since).astimezone():%Y-%m-%d %H:%M:%S}"
        which = "this" if pid == os.getpid() else "another"
        return f"{which} process ({pid}) since {since}"


def this_process() -> Process:
    """Return this process."""
    return Process(os.getpid(), _birth(os.getpid()), _machine())


def _birth(pid: int) -> str:
    """Return when a process started, `unknown` if the system does not say; empty if it has
    ended."""
    try:
        # The program's name, in parentheses, may contain anything.
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self/stat").exists():
            return ""
    if os.name != "posix":
        return "unknown"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "unknown"


@cache
def _machine() -> str:
    """Return an id of this machine since its last start, or of this container."""
    try:
        # A container has its own process ids.
        space = Path("/proc/self/ns/pid").readlink()
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text('ascii').strip()} {space}"
    except OSError:
        return platform.node()
