"""What could not be read for a question, and what the reader is told of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...audit import NotRead
from ...knowledge import Source
from ...state import Action, Finding, Run

LISTED = 20
"""Things that could not be read and are named one by one."""


def not_read(run: Run, findings: Iterable[Finding], further: Iterable[Action]) -> list[NotRead]:
    """Documents and pages that could not be read for this question, each once.

    `findings` may be those of the whole thread; `further` are calls of tools that belong to no finding.
    """
    own = [action for finding in findings if finding.question_id == run.id for action in finding.actions]
    failed = (one for action in (*further, *own) for one in action.not_read)
    return list({one.path: one for one in (*run.not_read, *failed)}.values())


def unopened(sources: Mapping[str, Source], unread: Iterable[NotRead]) -> dict[str, Source]:
    """Return those of the sources that could not be opened, with the reason, by key."""
    codes = {one.path: one.code for one in unread}
    failed = {key: codes.get(one.address) or codes.get(one.location, "") for key, one in sources.items()}
    return {
        key: sources[key].model_copy(update={"failure": code})
        for key, code in failed.items()
        if code and not sources[key].content_hash
    }


def unread_notes(unread: Sequence[NotRead]) -> list[str]:
    """The same as notes under the report, at most `LISTED` of them and a last one that counts the rest."""
    notes = [f"Not read: {one.path} ({one.reason.rstrip('.')})." for one in unread[:LISTED]]
    more = len(unread) - LISTED
    return [*notes, f"Not read: {more} more."] if more > 0 else notes
