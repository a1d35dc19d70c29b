"""Short forms of citations that mean an earlier one: "ibid.", "Ash, op. cit.", "Ash, supra note 3",
"Ash, 12 Q.B. at 47"."""

from __future__ import annotations

import re
from typing import NamedTuple

CONNECTORS = frozenset(
    ("&", "and", "und", "et", "y", "e", "i", "и", "en", "og", "och", "al", "al.", "u.a.", "others")
)
"""Words between the names of authors, or instead of some."""
_NAME = re.compile(r"[^\W\d_][\w'’.&-]*|&")
_SIGNALS = re.compile(
    r"(?:(?:but\s|and\s)?(?:see|compare|accord|contra|with|siehe|s\.|vgl\.?|voir|cf\.?|véase|e\.g\.,?)"
    r"(?:,?\s(?:also|generally|auch|aussi|e\.g\.))?,?\s+){1,3}",
    re.IGNORECASE,
)
"""Matches the words before a citation that say what it is for, such as "but see also"."""
_SAME = re.compile(
    r"(?P<names>[^\d,;]{2,60}[,:]?\s+)??"
    r"(?:ibid(?:em)?\.?|ibíd\.?|ib\.|id\.|idem|ebd\.?|ebenda|a\.\s?a\.\s?O\.|loc\.?\s?cit\.?|(?P<work>op\.?\s?cit\.?)"
    r"|tamże|там же|同上|同前)(?:[\s,.:;(]+[^;\d]{0,40}\d[^;]{0,30})?",
    re.IGNORECASE,
)
NOTE_WORD = r"(?:foot)?notes?|nn?\.?|fnn?\.?|anm\.|fu(?:ß|ss)note"
"""Pattern of the words before the number of a note."""
_ELSEWHERE = (
    r"supra|infra|above|below|oben|unten|ci-dessus|a\.\s?a\.\s?O\.|op\.?\s?cit\.?|loc\.?\s?cit\.?"
)
_OTHER_NOTE = re.compile(
    rf"(?P<names>[^\d;]{{2,80}}?[,\s]\s*)?(?:(?:{_ELSEWHERE})[,\s]{{1,2}}\(?(?:in\s)?(?:{NOTE_WORD})"
    rf"|\((?:{NOTE_WORD}))\s?(?P<note>\d{{1,3}})\)?(?:[\s,.:]+[^;]{{0,60}})?",
    re.IGNORECASE,
)
_BY_PAGE = re.compile(
    r"(?P<names>[^\d,;]{2,60})(?:(?:,[^\d;]{0,80})?(?:,|[,\s](?:pp?|S|ss?|fol)\.)|,[^;]{0,80}?\sat)"
    r"\s*\d[\d\s,–-]{0,15}[.]?"
)
"""Matches the names of authors, perhaps with a title or a reporter, and a page."""
_EMPHASIS = re.compile(r"[*_]")


class ShortForm(NamedTuple):
    """A short form of a citation."""

    names: tuple[str, ...]
    """The words of the names in it, perhaps none."""
    note: str = ""
    """The label of the note that it refers to; empty if it means the citation before, or any of a
    work by these authors."""
    is_work: bool = False
    """Whether it means an earlier work of these authors, not the citation before."""


def short_forms(content: str) -> list[ShortForm] | None:
    """Return the short forms in a marker or a footnote; None if it has something else, too."""
    forms = list[ShortForm]()
    for part in _EMPHASIS.sub("", content).strip(" \t.()[]").split(";"):
        form = _short_form(part.strip())
        if form is None:
            return None
        forms.append(form)
    return forms


def _short_form(part: str) -> ShortForm | None:
    signals = _SIGNALS.match(part)
    bare = part[signals.end() :] if signals else part
    same = _SAME.fullmatch(bare)
    if same:
        names = tuple(names_in(same["names"] or ""))
        return ShortForm(names, is_work=same["work"] is not None)
    other = _OTHER_NOTE.fullmatch(bare)
    if other:
        return ShortForm(tuple(names_in(other["names"] or "")), other["note"])
    return None


def names_with_page(content: str) -> tuple[str, ...]:
    """Return the names in a short form that is only names and a page, such as "Ash, Light, p. 12";
    none if it is something else."""
    bare = _EMPHASIS.sub("", content).strip()
    signals = _SIGNALS.match(bare)
    if signals:
        bare = bare[signals.end() :]
    found = _BY_PAGE.fullmatch(bare)
    return tuple(names_in(found["names"])) if found else ()


def names_in(text: str) -> list[str]:
    """Return the words of names in a text, without what connects them."""
    names = list[str]()
    for found in _NAME.findall(text):
        word = found.casefold().strip(".'’")
        for ending in ("'s", "’s"):
            word = word.removesuffix(ending)
        if word and word not in CONNECTORS and found.casefold() not in CONNECTORS:
            names.append(word)
    return names
