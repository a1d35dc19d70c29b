"""What `runs` and `show` print of a run: its overview, which is kept with the run.

It is kept once the run was read in full. While it is up to date, the run can be listed and shown
without LangGraph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.dialogue.conversation import safe_text
from ..core.settings.installed import code_version
from ..core.store.location import FAILURE_NOTE, OVERVIEW_NOTE, SETTINGS_NOTE, StoredThread
from ._settings import RunName

if TYPE_CHECKING:
    from ..core.records.research import Strategy

_CODE = "code"
_VERSION = "version"
_OVERVIEW = "text"
"""Keys in the note of an overview: the version of the code, the version of the thread, and the
overview as JSON."""


class Overview(NamedTuple):
    """What is listed and shown of a run, apart from what can change while its state does not."""

    strategy: Strategy
    title: str
    question: str
    depth: str
    asks: str
    """The question that the run asks the user, or its plan; empty if it is not waiting."""
    is_unfinished: bool
    """Whether the run has steps left."""
    status: str
    """Status of a run that is not running, waiting or failed."""
    doubts: str
    """What keeps it from being plainly done, in words (see `ReportTrust.doubts`)."""
    changed: str
    """Time of the last change (ISO 8601)."""
    stop_reason: str
    time: str
    """How long the run was active, and when and by what it was started, in words."""
    spent: str
    """What it cost, in words."""
    body: str
    """Its plan, research and report as text."""
    data: dict[str, Any]
    """The whole run as data for JSON."""

    def note(self, version: str) -> dict[str, Any]:
        """Return the note that keeps this overview; `version`: that of the thread."""
        return {_CODE: code_version(), _VERSION: version, _OVERVIEW: json.dumps(self._asdict())}

    @classmethod
    def of_note(cls, note: Mapping[str, Any], version: str) -> Overview | None:
        """Return the overview in a note; None if another version of the code kept it, or for
        another version of the thread."""
        if (note.get(_CODE), note.get(_VERSION)) != (code_version(), version):
            return None
        # The database may be damaged.
        with suppress(KeyError, TypeError, ValueError):
            return cls(**json.loads(note[_OVERVIEW]))
        return None


class ListedRun(NamedTuple):
    """A stored run as it is listed and shown."""

    thread: str
    """Thread id."""
    name: str
    """Name of the run on the command line; empty if it has none."""
    failure: str
    """Why the run failed; empty if it did not fail or has completed since."""
    runner: str
    """The other process that is running it, in words; empty if there is none."""
    overview: Overview

    @classmethod
    def kept(cls, thread: StoredThread) -> ListedRun | None:
        """Return the run with its kept overview; None if there is none or it is out of date."""
        overview = Overview.of_note(thread.notes[OVERVIEW_NOTE], thread.version)
        if overview is None:
            return None
        name = str(thread.notes[SETTINGS_NOTE].get("name", ""))
        failure = str(thread.notes[FAILURE_NOTE].get("words", ""))
        return cls(thread.thread_id, name, failure, thread.runner, overview)

    @property
    def status(self) -> str:
        """Status as one word."""
        if self.runner:
            return "running"
        if self.overview.asks:
            return "waiting"
        return "failed" if self.failure else self.overview.status

    @property
    def outcome(self) -> str:
        """Status in words, with what keeps a finished run from being plainly done."""
        if self.status in ("completed", "completed_with_gaps"):
            return ", ".join(filter(None, ("completed", self.overview.doubts)))
        return self.status

    def line(self, shown: str) -> str:
        """Return the run as one line of a list, which starts with `shown`, the beginning of its
        id."""
        name = f"[{self.name}] " if self.name else ""
        words = " ".join(safe_text(name + self.overview.title).split())
        status = "running in another process" if self.runner else self.outcome
        changed = ""
        if self.overview.changed:
            changed = f"{datetime.fromisoformat(self.overview.changed).astimezone():%Y-%m-%d %H:%M}"
        return f"{shown}  {changed:16}  {status:20} {words[:80]}"

    def page(self, name: RunName) -> str:
        """Return the run with its plan, research and report as text; if unfinished, with the
        command that resumes `name`."""
        return safe_text("\n".join([*self._head(name), self.overview.body]).rstrip())

    def json(self) -> str:
        """Return the whole run as JSON."""
        live = {
            "thread": self.thread,
            "name": self.name,
            "status": self.status,
            "failure": self.failure,
        }
        return json.dumps({**self.overview.data, **live}, ensure_ascii=False, indent=2)

    def _head(self, name: RunName) -> list[str]:
        """Return the lines on question, status, time and costs."""
        overview = self.overview
        label = f" [{self.name}]" if self.name else ""
        lines = [f"Run       {self.thread}{label}"]
        if overview.strategy != "orchestrated":
            lines.append(f"Strategy  {overview.strategy}")
        lines.append(f"Question  {overview.question}")
        if overview.depth:
            lines.append(f"Depth     {overview.depth}")
        status = f"Status    {self.outcome}"
        reason = f"in {self.runner}" if self.runner else self.failure or overview.stop_reason
        if reason:
            status += f": {reason}"
        lines.append(status)
        if overview.asks:
            lines.append(f"Resume    {name.command('resume')} --answer TEXT")
        elif overview.is_unfinished and not self.runner:
            lines.append(f"Resume    {name.command('resume')}")
        if overview.time:
            lines.append(f"Time      {overview.time}")
        lines.append(f"Spent     {overview.spent}")
        return lines
