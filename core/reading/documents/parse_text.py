"""Plain text, Markdown and reStructuredText; and titles and dates as people write them in files of any kind."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...evidence.text.sentences import UNSPACED_ENDS
from ...evidence.text.words import date_at
from ..records import Extract

if TYPE_CHECKING:
    from ...records.sources import DateKind

TITLE_CHARACTERS = 200
LINE_CHARACTERS = 150
"""Longest first line that is taken for a title."""

_PROGRAM_TITLES = re.compile(
    r"^(?:untitled|unbenannt|ohne titel|sans titre|sin t[íi]tulo|microsoft (?:word|powerpoint|excel)\b|power ?point[- ]"
    r"|présentation powerpoint|presentación de powerpoint|slide \d)"
    r"|^(?:document|dokument|documento|word document|presentation|präsentation|présentation|presentación|slide|book"
    r"|mappe|classeur|libro|workbook|title|titel|\(?anonymous\)?|\(?unspecified\)?)[ -]?\d*$"
    r"|\.[a-z]\w{1,4}$",
    re.IGNORECASE,
)
# "… is closed.", "Dear members," and "the lubri-", but not "… Brewing Co." and "… U.S.A."
_SENTENCE_END = re.compile(rf"(?:[,;{UNSPACED_ENDS}]|\w[-\u00ad‐]|(?:^|\s)[^\sA-Z]\S*\.)$")
_FARTHEST = 1000
"""Characters within which a title ends; of a whole file in one line no more is looked at."""
# What stands behind a bar; a first word alone may be the name of the site.
_SECOND_PART = re.compile(r"^(\S+\s.*?\S)\s\|\s.*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(
    r"(?<![\w*])(?:(?P<stars>\*{1,3})(?=\S)([^*]+)(?<=\S)(?P=stars)|(?P<lines>_{1,3})(?=\S)([^_]+\s[^_]+)(?<=\S)(?P=lines)"
    r"|(?P<ticks>`+)([^`]+)(?P=ticks))(?![\w*])"
)
_SIGNS_BEFORE = re.compile(r"^(?:#{1,6}\s+|[|>]\s)+")
_ENDS = re.compile(r"^[*_]{2,}|\s+\{#[^{}]*\}$|\s*(?:[*_]{2,}|\s#+|\|)$")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
# The first day of a clock that was never set, and the day on which the template of a program was made.
_PROGRAM_DATES = {
    "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01", "1999-11-30", "2000-01-01",
    "2013-01-27", "2013-12-23",
}  # fmt: skip
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^([^\n]+)\n(?:=+|-+|~+|\*+)[ \t]*$", re.MULTILINE)
_DATES = ("updated", "lastmod", "last_modified_at", "modified", "date", "published", "pubdate", "created")
SHORT_LINE = 4
"""Signs below a heading, unless it is shorter itself."""
# A line of words after an empty one, and below it, perhaps above it too, a line of one sign that is as long.
_ADORNED = re.compile(
    r"(?:^(?P<over>(?P<upper>[!-/:-@[-`{-~])(?P=upper){3,})[ \t]*\n[ \t]*(?P<title>\S[^\n]*)\n(?P=over)[ \t]*$"
    r"|(?:\A|(?<=\n\n))(?P<words>[^\W_][^\n]*)\n(?P<under>(?P<lower>[!-/:-@[-`{-~])(?P=lower)+)[ \t]*$)\n?",
    re.MULTILINE,
)


def plain_title(title: str) -> str:
    """Return the title in one line without Markdown's markup."""
    first = _SIGNS_BEFORE.sub("", " ".join(title[:_FARTHEST].split()))
    words = _LINK.sub(r"\1", _SECOND_PART.sub(r"\1", first))
    words = _EMPHASIS.sub(lambda found: found[2] or found[4] or found[6], words)
    line = _ESCAPED.sub(r"\1", _ENDS.sub("", words.strip())).strip()
    return line if any(map(str.isalnum, line)) else ""


def informative_title(title: str) -> str:
    """Return the title in one line, or nothing if it says nothing of what the file is about."""
    line = " ".join(title.split())
    return line if any(map(str.isalpha, line)) and not _PROGRAM_TITLES.search(line) else ""


def first_line(text: str) -> str:
    """Return the first line as a title, if it is short enough, made of words, and not a sentence; empty otherwise."""
    line = plain_title(re.split(r"[\n\f]", text.lstrip(), maxsplit=1)[0])
    is_title = len(line) <= LINE_CHARACTERS and not _SENTENCE_END.search(line)
    return line if is_title and any(map(str.isalpha, line)) else ""


def iso_date(words: str) -> str:
    """Return the date that a field begins with; empty if there is none, or one that a program put there by itself."""
    found = date_at(words.strip(), 0)
    return found.iso if found and found.iso not in _PROGRAM_DATES else ""


def stated_date(fields: Mapping[str, object]) -> tuple[str, DateKind]:
    """Return the date among the fields of a file, and its kind; both empty if they hold none."""
    for name in _DATES:
        if date := iso_date(str(fields.get(name) or "")):
            return date, "document" if name in ("date", "created") else "publication"
    return "", ""


def parse_markdown(text: str) -> Extract:
    """Return title and date from the front matter; without a title there, that of the first heading."""
    found = _FRONT_MATTER.match(text)
    pairs = (line.partition(":") for line in (found.group(1) if found else "").splitlines())
    fields = {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}
    body = text[found.end() :] if found else text
    date, kind = stated_date(fields)
    # A file of nothing but front matter still has that to say.
    shown = body if body.strip() else text
    title, publisher = fields.get("title") or first_heading(body), fields.get("publisher", "")
    return Extract(title, shown, date, date_kind=kind, publisher=publisher)


def parse_text(text: str) -> Extract:
    """Return the text, with its first line as title if that stands apart from the rest."""
    _, _, rest = text.lstrip().partition("\n")
    second = rest.partition("\n")[0].strip()
    is_apart = bool(rest) and not second.strip("=-~*#")
    return Extract(first_line(text) if is_apart else "", text)


def parse_rst(text: str) -> Extract:
    """Return the text with its headings marked as in Markdown, their levels in the order in which their lines appear.

    Directives are words; none of them is carried out.
    """
    levels: list[str] = []

    def heading(found: re.Match[str]) -> str:
        if found["under"] and len(found["under"]) < min(SHORT_LINE, len(found["words"].rstrip())):
            return found[0]
        style = f"{found['upper']} twice" if found["upper"] else found["lower"]
        levels.extend([] if style in levels else [style])
        return f"{'#' * min(levels.index(style) + 1, 6)} {found['title'] or found['words']}\n\n"

    shown = _ADORNED.sub(heading, text)
    stated = re.search(r"^:title:[ \t]+(\S.*)$", text, re.IGNORECASE | re.MULTILINE)
    return Extract(stated.group(1) if stated else first_heading(shown) if levels else "", shown)


def first_heading(text: str) -> str:
    """Return the first heading of a Markdown text; empty if there is none."""
    heading = _HEADING.search(text) or _UNDERLINED.search(text)
    return heading.group(1).rstrip() if heading else ""
