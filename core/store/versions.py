"""The finished reports of a thread: each is stored once, under its SHA-256, as JSON."""

from __future__ import annotations

import json

from ..errors import StateUnreadable
from ..records.report import FinishedReport
from ._packing import TEXT
from ._upgrade import UPGRADES
from .pages import Pages


async def keep_finished(pages: Pages, finished: FinishedReport) -> str:
    """Store a finished report and return its SHA-256; the same report is stored once."""
    return await pages.keep(finished.model_dump_json(exclude_defaults=True))


async def read_finished(pages: Pages, content: str) -> FinishedReport | None:
    """Return the finished report with this SHA-256; None if it is not stored.

    Raises `DatabaseUnusable` if it is damaged, and `StateUnreadable` if another version of the code
    has written it.
    """
    stored = await pages.read_note(content)
    if stored is None:
        return None
    try:
        fields = json.loads(stored[TEXT])
        _, fields["report"] = UPGRADES["Report"](fields["report"])
        _, fields["run"] = UPGRADES["Run"](fields["run"])
        return FinishedReport.model_validate(fields)
    except (ValueError, TypeError, KeyError) as error:
        raise StateUnreadable(
            f"The stored report {content[:8]} of the run {pages.thread} cannot be read."
        ) from error
