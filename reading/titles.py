"""Titles that programs put into a file by themselves, told from those that say what it is about."""

from __future__ import annotations

import re

TITLE_CHARACTERS = 150

_OF_A_PROGRAM = re.compile(
    r"^(?:untitled|unbenannt|ohne titel|sans titre|sin t[íi]tulo|microsoft (?:word|powerpoint|excel)\b|power ?point[- ]"
    r"|présentation powerpoint|presentación de powerpoint|slide \d)"
    r"|^(?:document|dokument|documento|word document|presentation|präsentation|présentation|presentación|slide|book"
    r"|mappe|classeur|libro|workbook|title|titel|\(?anonymous\)?|\(?unspecified\)?)[ -]?\d*$"
    r"|\.[a-z]\w{1,4}$",
    re.IGNORECASE,
)


def telling_title(title: str) -> str:
    """The title in one line, or nothing if it says nothing of what the file is about."""
    line = " ".join(title.split())
    return line if any(map(str.isalpha, line)) and not _OF_A_PROGRAM.search(line) else ""


def first_line(text: str) -> str:
    """The first line, if it is short enough and made of words; empty otherwise."""
    line = (re.split(r"[\n\f]", text.lstrip(), maxsplit=1)[0]).strip("# ")
    return line if len(line) <= TITLE_CHARACTERS and any(map(str.isalpha, line)) else ""
