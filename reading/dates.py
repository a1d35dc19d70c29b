"""The date in a field of a file, and the one below the title of a page."""

from __future__ import annotations

from ..evidence.text.dates import date_at, dates_in
from ..evidence.text.words import tokens

TOP = 600
"""Characters at the beginning of a page in which its date stands."""
WORDS = 6
"""Words of such a line at most, besides the date."""
PUBLISHED = frozenset(
    {"published", "posted", "publication", "veroffentlicht", "publie", "publicado", "pubblicato", "gepubliceerd"}
)
"""Words before the day on which a page was published."""
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
    """The day alone on a line at the top of a page, or behind a word of publishing; empty if none stands so.

    Today's is none: portals greet with it; nor are days still to come, on which something will happen.
    """
    for line in text[:TOP].splitlines():
        for found in dates_in(line):
            rest = tokens(f"{line[: found.start]} {line[found.end :]}")
            is_of_page = len(rest) <= WORDS and (not rest or not PUBLISHED.isdisjoint(rest))
            if is_of_page and len(found.iso) == DAY and (not today or found.iso < today):
                return found.iso
    return ""
