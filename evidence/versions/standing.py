"""Whether a document is in force yet: what says that it is a draft, or from which day on it holds."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import NamedTuple

from .dates import dates_in
from .names import folded, names_draft
from .statements import HEAD, LONGEST_LINE, is_of_itself, told_status
from .vocabulary import DRAFT, DRAFT_SIGNS

_DRAFT = rf"(?:{'|'.join(sorted(DRAFT))})"
_SET_APART = re.compile(rf"[(\[（【]\s*{_DRAFT}\b|(?:\s[–—-]|[,:])\s+{_DRAFT}\W*$|^\W*{_DRAFT}\s*[:–—]")
_SAID = re.compile(
    rf"^\W*{_DRAFT}\s*(?:$|[,.;!–—(])"
    rf"|^\W*{_DRAFT} (?:of|from|dated|vom|du|del?|van|z|от)\b.{{0,20}}\b(?:19|20)\d\d\b"
)
_IN_CAPITALS = re.compile(rf"(?<![^\W_]){_DRAFT.upper()}(?![^\W_])")
_BEGINNING = re.compile(
    r"\b(?:(?:valid|effective|in force|in effect|applicable|appl(?:y|ies))(?: date)?"
    r"(?: (?:from|as (?:of|from)|of|on))?"
    r"|(?:comes?|enters?) into (?:force|effect)(?: on)?|takes? effect(?: on| from)?"
    r"|(?:gultig|gilt|gelten|in kraft)(?: ab| seit| vom)?(?: dem)?|(?:tritt|treten) (?:am|zum|mit)|inkrafttreten"
    r"|(?:valables?|en vigueur|applicables?)(?: a partir| a compter| depuis| des)?(?: du| le| au)?"
    r"|(?:valid[oa]s?|vigentes?|en vigor|aplicables?)(?: desde| a partir)?(?: de)?(?: ?el)?"
    r"|(?:valid[oaie]|in vigore)(?: dal?| a partire dal?)?|em vigor(?: desde| a partir)?(?: de)?"
    r"|(?:geldig|van kracht)(?: vanaf)?|met ingang van|(?:wazn[aey]|obowiazuj[ae]) od"
    r"|действу[ею]т с|вступа[ею]т в силу с)\b[ :]*|(?:^|\b)自(?=\d)"
)
_NEAR = 4
"""Characters that may stand between such words and the date."""


class Standing(NamedTuple):
    """What a reader must know of a document that is not in force, or not yet."""

    is_draft: bool = False
    in_force_from: str = ""
    """The beginning of an ISO date that is still to come; empty if the document is in force, or was."""


def says_it_is_draft(title: str, path: str, text: str) -> bool:
    """Whether a document calls itself a draft, so that it is one even if no other version is known.

    A word alone is not enough: there are draft horses, and the draft of a ship.
    """
    file = PurePosixPath(path)
    if any(map(_is_name_of_draft, (title, file.stem))) or not DRAFT.isdisjoint(map(folded, file.parts[:-1])):
        return True
    lines = [line for line in folded(text[:HEAD]).splitlines() if len(line) <= LONGEST_LINE]
    return any(_SAID.search(line) or names_draft(told_status(line)) for line in lines)


def _is_name_of_draft(name: str) -> bool:
    return bool(_SET_APART.search(folded(name)) or _IN_CAPITALS.search(name)) or any(
        sign in name for sign in DRAFT_SIGNS
    )


def beginning_in(text: str) -> str:
    """From which day on the first lines of a text say that it holds; empty if they do not.

    It is the beginning of an ISO date.
    """
    for line in folded(text[:HEAD]).splitlines():
        found = _BEGINNING.search(line)
        if found and (line.startswith("#") or is_of_itself(line[: found.start()])):
            behind = line[found.end() :]
            day = next((date.iso for date in dates_in(behind) if date.start <= _NEAR), "")
            if day:
                return day
    return ""
