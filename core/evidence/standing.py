"""What a document says about itself: its date, whether it is a draft, what superseded it, from when it is in force."""

from __future__ import annotations

import re
from typing import NamedTuple

from .text.words import dates_in, tokens

HEAD = 500
"""Characters at the beginning of a text that may state its date and its standing."""
DATED = 200_000
"""Characters at the beginning in which the latest date is sought."""
EARLIEST = "1995"
"""Earlier dates are those of something a text is about, not of the text itself."""
BEGINNING = frozenset({"from", "effective", "ab", "partir", "desde", "vanaf", "dal"})
"""Words before the day from which a document is in force."""
BEFORE_BEGINNING = 5
"""Most words before that day in its line: "Valid from", not a sentence about something else."""
DRAFT = frozenset(
    [
        "draft",
        "drafts",
        "entwurf",
        "brouillon",
        "borrador",
        "bozza",
        "rascunho",
        "utkast",
        "udkast",
        "черновик",
        "草案",
        "草稿",
    ]
)
"""Words by which a document calls itself a draft."""
MARK_WORDS = 2
"""Most words of a part of a title that is a mark: "(draft)", "- first draft", but not "Draft horses"."""

_APART = re.compile(r"[()\[\]:;,/_–—]|\s-\s|(?<=\w)-(?=\w)|(?<=\w)-$")
_STATUS = r"^\W*(?:(?:status|state|statut|estado|stato)\W+)?"
# A draft of a date, or for somebody; a ship has a draft of some metres.
_DRAFT_LINE = re.compile(
    rf"{_STATUS}(?:{'|'.join(sorted(DRAFT))})(?:\W*$|\s*[,.;()–—]|\s+-|\s+(?:version|v\d|\w{{2,5}}\b.*\d{{4}}))",
    re.IGNORECASE,
)
_SUPERSEDED = re.compile(
    rf"{_STATUS}(?:(?:this|diese[rs]?|ce|cette|est[ea]|quest[ao])\s(?:[\w-]+\s){{1,4}})?"
    r"(?:superseded|replaced|ersetzt|abgelöst|remplacée?|sustituid[oa]|sostituit[oa]|substituíd[oa]|vervangen)"
    r"\s(?:by|durch|par|por|da|dal|dalla|door)\b[\s:]*(?P<by>.{2,100}?)[\s.*_]*$",
    re.IGNORECASE,
)


class Standing(NamedTuple):
    """Whether a document is in force, by its own words."""

    is_draft: bool = False
    superseded_by: str = ""
    """What took its place, in its words; may be empty."""
    valid_from: str = ""
    """The beginning of the ISO date from which it is in force; may be empty."""


def standing_of(title: str, name: str, text: str) -> Standing:
    """Return what a document says of its standing in its title, the name of its file and its first lines."""
    lines = text[:HEAD].splitlines()
    found = next(filter(None, map(_SUPERSEDED.search, lines)), None)
    valid_from = next(filter(None, map(_beginning_in, (title, *lines))), "")
    is_draft = _is_marked_draft(title, name) or any(map(_DRAFT_LINE.search, lines))
    return Standing(is_draft, found["by"] if found else "", valid_from)


def asks_for_draft(question: str) -> bool:
    """Return whether a question is about a draft."""
    return not DRAFT.isdisjoint(tokens(question))


def date_of(title: str, name: str, text: str, today: str = "") -> str:
    """Return the date of a document as an ISO date or the beginning of one; empty if it has none.

    That is the date in its title or file name, made exact by its first lines, for a year also by a day of the next one;
    else the day from which it is valid; else the first day or month in its first lines; else the latest one in all of
    it. Days in the future do not count: contracts end on such. Without `today`, all days are past.
    """
    last = today or "9999"
    stem = name.rpartition(".")[0]
    # An underscore would count as a letter.
    named = max((date.iso for line in (title, stem.replace("_", "-")) for date in dates_in(line)), default="")
    head = [date.iso for date in dates_in(text[:HEAD])]
    if named:
        # The year of an annual report is that of its figures; it appears in that year or the next.
        until = str(int(named) + 2) if named.isdecimal() else ""
        days = [iso for iso in head if named < iso < until and len(iso) > len("2024-05")]
        exact = [*days, *(iso for iso in head if iso.startswith(named))]
        return next((iso for iso in exact if iso <= last or named > last), named)
    if beginning := next(filter(None, map(_beginning_in, text[:HEAD].splitlines())), ""):
        return beginning
    found = (date.iso for date in dates_in(text[:DATED]))
    past = [iso for iso in found if len(iso) > len("2024") and EARLIEST <= iso <= last]
    return past[0] if past and past[0] in head else max(past, default="")


def _is_marked_draft(title: str, name: str) -> bool:
    stem = name.rpartition(".")[0]
    in_title, in_name = (frozenset(tokens(_APART.sub(" ", words))) for words in (title, stem))
    # The name of a file repeats the title: "draft-horses" is about horses, as its title says.
    is_in_name = not DRAFT.isdisjoint(in_name - in_title)
    # Without a title, that is the name, without its signs.
    is_named_only = title == " ".join(_APART.sub(" ", stem).split())
    parts = map(tokens, _parts(stem if is_named_only else title))
    return is_in_name or any(len(words) <= MARK_WORDS and not DRAFT.isdisjoint(words) for words in parts)


def _parts(words: str) -> list[str]:
    parts = [part for part in _APART.split(words) if part.strip()]
    return parts if len(parts) > 1 or len(tokens(words)) == 1 else []


def _beginning_in(line: str) -> str:
    for date in dates_in(line):
        before = tokens(line[: date.start])
        if len(before) <= BEFORE_BEGINNING and not BEGINNING.isdisjoint(before):
            return date.iso
    return ""
