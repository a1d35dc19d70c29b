"""What a document says about itself: whether it is a draft, what superseded it, from when it is in force."""

from __future__ import annotations

import re
from typing import NamedTuple

from .dating import HEAD, in_force_from
from .text.words import WORDS, tokens

DRAFT = frozenset(WORDS["draft_words"].split())
"""Words by which a document calls itself a draft."""
MARK_WORDS = 2
"""Most words of a part of a title that is a mark: "(draft)", "- first draft", but not "Draft horses"."""

_APART = re.compile(r"[()\[\]:;,/_–—]|\s-\s|(?<=\w)-(?=\w)|(?<=\w)-$")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+)*\b")
_STATUS = r"^\W*(?:(?:status|state|statut|estado|stato)\W+)?"
# A draft of a date, or for somebody; a ship has a draft of some metres.
_DRAFT_LINE = re.compile(
    rf"{_STATUS}(?:{'|'.join(sorted(DRAFT))})(?:\W*$|\s*[,.;()–—]|\s+-|\s+(?:version|v\d|\w{{2,5}}\b.*\d{{4}}))",
    re.IGNORECASE,
)
_SUPERSEDED = re.compile(
    rf"{_STATUS}(?:(?:this|diese[rs]?|ce|cette|est[ea]|quest[ao])\s(?:[\w-]+\s){{1,4}})?"
    r"(?:superseded|replaced|ersetzt|abgelöst|remplacée?|sustituid[oa]|sostituit[oa]|substituíd[oa]|vervangen)"
    r"\s(?:by|durch|par|por|da|dal|dalla|door)\b[\s:]*(?:(?:the|die|den|das|dem|der|la|le|les|el|il|lo|de|het)\s)?(?P<by>.{2,100}?)[\s.*_]*$",
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
    is_draft = _is_marked_draft(title, name) or any(map(_DRAFT_LINE.search, lines))
    return Standing(is_draft, found["by"] if found else "", in_force_from(title, text))


def asks_for_draft(question: str) -> bool:
    """Return whether a question is about a draft."""
    return not DRAFT.isdisjoint(tokens(question))


def _is_marked_draft(title: str, name: str) -> bool:
    stem = name.rpartition(".")[0]
    in_title, in_name = (frozenset(tokens(_APART.sub(" ", words))) for words in (title, stem))
    # The name of a file repeats the title: "draft-horses" is about horses, as its title says.
    is_in_name = not DRAFT.isdisjoint(in_name - in_title)
    # Without a title, that is the name, without its signs.
    is_named_only = title == " ".join(_APART.sub(" ", stem).split())
    parts = map(tokens, _parts(_VERSION.sub(" ", stem if is_named_only else title)))
    return is_in_name or any(len(words) <= MARK_WORDS and not DRAFT.isdisjoint(words) for words in parts)


def _parts(words: str) -> list[str]:
    parts = [part for part in _APART.split(words) if part.strip()]
    return parts if len(parts) > 1 or len(tokens(words)) == 1 else []
