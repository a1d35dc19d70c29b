"""Titles of files: without markup, without what follows them, and none that a program has made up."""

from __future__ import annotations

import re

TITLE_CHARACTERS = 200
LINE_CHARACTERS = 150
"""Longest first line that is taken for a title."""

_OF_A_PROGRAM = re.compile(
    r"^(?:untitled|unbenannt|ohne titel|sans titre|sin t[íi]tulo|microsoft (?:word|powerpoint|excel)\b|power ?point[- ]"
    r"|présentation powerpoint|presentación de powerpoint|slide \d)"
    r"|^(?:document|dokument|documento|word document|presentation|präsentation|présentation|presentación|slide|book"
    r"|mappe|classeur|libro|workbook|title|titel|\(?anonymous\)?|\(?unspecified\)?)[ -]?\d*$"
    r"|\.[a-z]\w{1,4}$",
    re.IGNORECASE,
)
# "… is closed." and "Dear members,", but not "… Brewing Co." and "… U.S.A."
_SENTENCE_END = re.compile(r"(?:[,;。]|(?:^|\s)[^\sA-Z]\S*\.)$")
_FARTHEST = 1000
"""Characters within which a title ends; of a whole file in one line no more is looked at."""
_NEXT_HEADING = re.compile(r"\s#{2,6}\s")
# What stands behind a bar, or in bold with parts of its own; a first word alone may be the name of the site.
_SECOND_PART = re.compile(r"^(\S+\s.*?\S)\s(?:\|\s|[*_]{2}(?=\S[^*_]*\s[|–—-]\s)).*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(
    r"(?<![\w*])(?:(?P<stars>\*{1,3})(?=\S)([^*]+)(?<=\S)(?P=stars)|(?P<lines>_{1,3})(?=\S)([^_]+\s[^_]+)(?<=\S)(?P=lines)"
    r"|(?P<ticks>`+)([^`]+)(?P=ticks))(?![\w*])"
)
_SIGNS_BEFORE = re.compile(r"^(?:#{1,6}\s+|[|>]\s)+")
_ENDS = re.compile(r"^[*_]{2,}|\s+\{#[^{}]*\}$|\s*(?:[*_]{2,}|\s#+|\|)$")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def plain_title(title: str) -> str:
    """The title in one line without Markdown's markup, and without what follows where lines have run together."""
    first = _NEXT_HEADING.split(_SIGNS_BEFORE.sub("", " ".join(title[:_FARTHEST].split())), maxsplit=1)[0]
    words = _LINK.sub(r"\1", _SECOND_PART.sub(r"\1", first))
    words = _EMPHASIS.sub(lambda found: found[2] or found[4] or found[6], words)
    line = _ESCAPED.sub(r"\1", _ENDS.sub("", words.strip())).strip()
    return line if any(map(str.isalnum, line)) else ""


def telling_title(title: str) -> str:
    """The title in one line, or nothing if it says nothing of what the file is about."""
    line = " ".join(title.split())
    return line if any(map(str.isalpha, line)) and not _OF_A_PROGRAM.search(line) else ""


def first_line(text: str) -> str:
    """The first line as a title, if it is short enough, made of words, and no sentence; empty otherwise."""
    line = plain_title(re.split(r"[\n\f]", text.lstrip(), maxsplit=1)[0])
    is_title = len(line) <= LINE_CHARACTERS and not _SENTENCE_END.search(line)
    return line if is_title and any(map(str.isalpha, line)) else ""
