"""Reads from a document's text whether it is a draft, superseded, or not yet in force."""

from __future__ import annotations

import re
from typing import NamedTuple

from ...evidence.text.words import DRAFT_WORDS, tokens
from ._dating import HEAD, in_force_from

_MARK_WORDS = 2
"""Maximum words of the part of a title that says it is a draft: "(draft)", "- first draft"."""

# Signs between the parts of a title.
_APART = re.compile(r"[()\[\]:;,/_–—]|\s-\s|(?<=\w)-(?=\w)|(?<=\w)-$")
_VERSION = re.compile(r"\bv?\d+(?:\.\d+)*\b")
_STATUS = r"^\W*(?:(?:status|state|statut|estado|stato)\W+)?"
# "Draft of 3 May 2026" and "draft for comment" mark a draft; a ship's "draft of 5 metres" does not.
_DRAFT_LINE = re.compile(
    rf"{_STATUS}(?:{'|'.join(sorted(DRAFT_WORDS))})(?:\W*$|\s*[,.;()–—]|\s+-|\s+(?:version|v\d|\w{{2,5}}\b.*\d{{4}}))",
    re.IGNORECASE,
)
_SUPERSEDED = re.compile(
    rf"{_STATUS}(?:(?:this|diese[rs]?|ce|cette|est[ea]|quest[ao])\s(?:[\w-]+\s){{1,4}})?"
    r"(?:superseded|replaced|ersetzt|abgelöst|remplacée?|sustituid[oa]|sostituit[oa]|substituíd[oa]|vervangen)"
    r"\s(?:by|durch|par|por|da|dal|dalla|door)\b[\s:]*(?:(?:the|die|den|das|dem|der|la|le|les|el|il|lo|de|het)\s)?(?P<by>.{2,100}?)[\s.*_]*$",
    re.IGNORECASE,
)


class Standing(NamedTuple):
    """What a document says about whether it is in force."""

    is_draft: bool = False
    superseded_by: str = ""
    """Name of the document that replaced it; may be empty."""
    valid_from: str = ""
    """ISO date, perhaps without day or month, from which it is in force; may be empty."""


def standing_of(title: str, name: str, text: str) -> Standing:
    """Return the standing of a document, according to its title, file name and first lines."""
    lines = text[:HEAD].splitlines()
    stem = name.rpartition(".")[0]
    is_draft = (
        _is_draft_by_name(title, stem)
        or _is_draft_by_title(title, stem)
        or any(map(_DRAFT_LINE.search, lines))
    )
    superseded_by = ""
    superseded = next(filter(None, map(_SUPERSEDED.search, lines)), None)
    if superseded:
        superseded_by = superseded["by"]
    return Standing(is_draft, superseded_by, in_force_from(title, text))


def _is_draft_by_name(title: str, stem: str) -> bool:
    """Whether a file name says that it is a draft.

    A file name that repeats the title says nothing more: "draft-horses" with the title "Draft
    horses".
    """
    in_name = {*tokens(_APART.sub(" ", stem))}
    in_title = {*tokens(_APART.sub(" ", title))}
    return not DRAFT_WORDS.isdisjoint(in_name - in_title)


def _is_draft_by_title(title: str, stem: str) -> bool:
    """Whether a part of a title says that it is a draft."""
    # A document that has no title gets its file name, without separators, as title.
    is_named_only = title == " ".join(_APART.sub(" ", stem).split())
    marked = _VERSION.sub(" ", stem if is_named_only else title)
    parts = [tokens(part) for part in _APART.split(marked) if part.strip()]
    if len(parts) < 2 and len(tokens(marked)) != 1:
        return False
    return any(len(words) <= _MARK_WORDS and not DRAFT_WORDS.isdisjoint(words) for words in parts)
