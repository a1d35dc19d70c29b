"""What texts say of themselves: what they replace or are replaced by, and that they are no longer in force."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..words import tokens
from .names import Status, folded
from .vocabulary import DRAFT, DRAFT_SIGNS, KINDS_OF_DOCUMENTS, OUTDATED

HEAD = 800
"""Characters at the beginning of a text in which it tells its status."""
BEGINNING, ENDING = 4000, 2000
"""Characters at both ends of a text in which it says what it replaces."""
_OBJECT = 160
LONGEST_LINE = 80
"""Characters of a line that may be a heading, or tell the status."""
_ACTIVE = re.compile(
    r"\b(?:(?P<ordered>supersede|superseding|replac(?:e|ing)|ersetzen(?! durch)|lost(?!.*\bab\s*$))|"
    r"supersedes|(?:has|have) superseded|replaces|(?:has|have) replaced|lost|"
    r"ersetzt(?! durch)|tritt an die stelle|remplace(?:nt)?|abroge|"
    r"sustituyen?|reemplazan?|deroga|substitui|"
    r"sostituisce|vervangt)\b|(?<!被)(?:取代|替代|代替)(?!为)"
)
_PASSIVE = re.compile(
    r"\b(?:superseded by|replaced by|ersetzt durch|abgelost durch|remplacee?s? par|abrogee?s? par|"
    r"(?:sustituid|reemplazad|derogad)[oa]s? por|substituid[oa] por|sostituit[oa] da|vervangen door)\b|被|由"
)
_PASSIVE_END = re.compile(r"\bdurch\b(?P<object>[^;]{3,120})\b(?:ersetzt|abgelost)\b")
_DOCUMENT = rf"(?:{KINDS_OF_DOCUMENTS})"
_SELF = re.compile(
    rf"\b(?:this|these|the present|diese[rs]?|(?:der|die|das) vorliegende[rs]?|cet?|cette|ces|l[ea]s? presente?s?|"
    rf"est[aeo]s?|el presente|questo|questa|dit|deze)(?: [\w-]+){{0,3}}? {_DOCUMENT}\b"
    r"|本(?:版|文件|办法|规定|价目)|该(?:版|文件)"
)
_OF_DOCUMENT = re.compile(rf"\b{_DOCUMENT}\b|[版案]")
_EARLIER = re.compile(
    r"\b(?:previous|earlier|former|prior|old|older|all|fruhere[nrs]?|bisherige[nrs]?|vorherige[nrs]?|vorige[nrs]?|"
    r"alte[nrs]?|alle|precedente?s?|anciens?|ancienne|anterior(?:es)?|antigu[oa]s?|todas?)\b|[旧舊]|之前|以前"
)
_NEWER = re.compile(
    r"\b(?:new|newer|current|later|neue[nrs]?|aktuelle[nrs]?|nouvel(?:le)?|nuev[oa]|actual|vigente)\b|新"
)
_OVER = re.compile(
    r"\b(?:no longer (?:valid|in force|current|applies|applicable)|out of date|has been withdrawn|"
    r"nicht mehr gultig|nicht mehr in kraft|ausser kraft|gilt nicht mehr|n'est plus (?:en vigueur|valable)|"
    r"ya no (?:es valid|esta en vigor|esta vigente)|sin vigencia)\b|不再有效|已废止|已失效"
)
# A full stop behind one or two figures is that of a German date.
_END = re.compile(r"(?:(?<!\b\d)(?<!\b\d\d)\.|[!?;])(?=\s|$)\s*|[。！？；]")
_STATUS_LINE = re.compile(r"^\W*(?:(?:document )?status|zustand|etat|statut|estado|stato|状态)\s*[:：]\s*(?P<words>.+)")


class Statement(NamedTuple):
    """That a document replaces another one, or is replaced by it."""

    is_replaced: bool
    """Whether the document that says so is the one that is replaced."""
    which: str
    """The words that say which other one, folded."""
    is_of_document: bool
    """Whether the words say that it is a document that is replaced."""

    @property
    def is_of_earlier(self) -> bool:
        """Whether any earlier version is meant."""
        return _EARLIER.search(self.which) is not None

    @property
    def is_of_newer(self) -> bool:
        """Whether the present version is meant."""
        return _NEWER.search(self.which) is not None


def statements_in(text: str) -> list[Statement]:
    """What a text says, at its beginning or end, of what it replaces and of what it is replaced by."""
    ends = text if len(text) <= BEGINNING + ENDING else f"{text[:BEGINNING]}\n\n{text[-ENDING:]}"
    return [statement for piece in _pieces(ends) for statement in _statements(piece)]


def replaces_another(text: str) -> bool:
    """Whether a text says at its beginning or end that it replaces a document."""
    return any(not statement.is_replaced for statement in statements_in(text))


def told_status(line: str) -> str:
    """What stands behind "Status:" in a folded line; empty if it is no such line."""
    told = _STATUS_LINE.match(line)
    return told["words"] if told else ""


def status_in(text: str) -> Status:
    """What the first lines of a text say of its status."""
    for line in folded(text[:HEAD]).splitlines():
        told = told_status(line)
        words = set(tokens(told)) if told else set(tokens(line)[:1])
        if any(sign in told for sign in DRAFT_SIGNS):
            return "draft"
        if told or len(line.strip()) <= LONGEST_LINE:
            if not OUTDATED.isdisjoint(words):
                return "outdated"
            if not DRAFT.isdisjoint(words):
                return "draft"
        if _OVER.search(line) and _SELF.search(line):
            return "outdated"
    return ""


def _pieces(text: str) -> Iterator[str]:
    """The sentences in which something may be said to be replaced, folded."""
    blocks = re.split(r"\n\s*\n|\n(?=\s*[-*#|])", folded(text))
    for block in blocks:
        for piece in _END.split(" ".join(block.split())):
            yield piece.lstrip(" #*>|-_")


def _statements(piece: str) -> Iterator[Statement]:
    if found := _PASSIVE_END.search(piece):
        if is_of_itself(piece[: found.start()]):
            yield _statement(piece[: found.start()], found["object"], is_replaced=True)
        return
    for pattern in (_PASSIVE, _ACTIVE):
        if found := pattern.search(piece):
            before, behind = piece[: found.start()], piece[found.end() :][:_OBJECT]
            # "Replace the filter" and "Replacing the filter" tell the reader what to do.
            if _SELF.search(before) if found.groupdict().get("ordered") else is_of_itself(before):
                yield _statement(before, behind, is_replaced=pattern is _PASSIVE)
            return


def is_of_itself(before: str) -> bool:
    """Whether what stands before the verb is the document: nothing, as in a heading, or `this edition`."""
    return not tokens(before) or _SELF.search(before) is not None


def _statement(before: str, behind: str, *, is_replaced: bool) -> Statement:
    which = _END.split(behind)[0]
    is_of_document = _SELF.search(before) or _OF_DOCUMENT.search(which)
    return Statement(is_replaced, which, is_of_document is not None)
