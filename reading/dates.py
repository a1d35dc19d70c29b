"""The date in a field of a file."""

from __future__ import annotations

from ..evidence.dates import date_at

# The first day of a clock that was never set, and the day on which the template of a program was made.
_OF_A_PROGRAM = {
    "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01", "1999-11-30", "2000-01-01",
    "2013-01-27", "2013-12-23",
}  # fmt: skip


def iso_date(words: str) -> str:
    """The date that a field begins with; empty if there is none, or one that a program put there by itself."""
    found = date_at(words.strip(), 0)
    return found.iso if found and found.iso not in _OF_A_PROGRAM else ""
