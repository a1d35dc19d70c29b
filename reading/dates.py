"""The date in a field of a file, and the one below the title of a page."""

from __future__ import annotations

from ..evidence.text.dates import date_at, dates_in
from ..evidence.text.words import tokens

TOP = 600
"""Characters at the beginning of a page in which its date stands."""
WORDS = 8
"""Words of such a line at most, the date among them."""
DAY = len("2024-05-03")

# The first day of a clock that was never set, and the day on which the template of a program was made.
_OF_A_PROGRAM = {
    "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01", "1999-11-30", "2000-01-01",
    "2013-01-27", "2013-12-23",
}  # fmt: skip


def iso_date(words: str) -> str:
    """The date that a field begins with; empty if there is none, or one that a program put there by itself."""
    found = date_at(words.strip(), 0)
    return found.iso if found and found.iso not in _OF_A_PROGRAM else ""


def dateline(text: str, today: str) -> str:
    """The day on a short line at the top of a page that is no sentence: "Published on 5 March 2022"; empty if none is.

    Days that are still to come are none: events are announced so. Without `today`, all days are past.
    """
    for line in text[:TOP].splitlines():
        if len(tokens(line)) <= WORDS and not line.rstrip().endswith("."):
            for found in dates_in(line):
                if len(found.iso) == DAY and found.iso <= (today or found.iso):
                    return found.iso
    return ""
