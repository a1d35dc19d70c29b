"""Parses plain text, Markdown, reStructuredText and CSV; finds titles and dates in any file."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from ...evidence.text.sentences import UNSPACED_ENDS
from ...evidence.text.words import date_at
from ._tables import tables_of, up_to_limit
from .records import Extract

if TYPE_CHECKING:
    from ...records.sources import DateKind

PARSED_TITLE_CHARACTERS = 200
_LINE_CHARACTERS = 150
"""Maximum length of a first line that counts as the title."""

_PROGRAM_TITLES = re.compile(
    r"^(?:untitled|unbenannt|ohne titel|sans titre|sin t[íi]tulo"
    r"|microsoft (?:word|powerpoint|excel)\b|power ?point[- ]"
    r"|présentation powerpoint|presentación de powerpoint|slide \d)"
    r"|^(?:document|dokument|documento|word document"
    r"|presentation|präsentation|présentation|presentación|slide|book"
    r"|mappe|classeur|libro|workbook|title|titel|\(?anonymous\)?|\(?unspecified\)?)[ -]?\d*$"
    r"|\.[a-z]\w{1,4}$",
    re.IGNORECASE,
)
# "… is closed.", "Dear members," and "the lubri-", but not "… Brewing Co." and "… U.S.A."
_SENTENCE_END = re.compile(rf"(?:[,;{UNSPACED_ENDS}]|\w[-\u00ad‐]|(?:^|\s)[^\sA-Z]\S*\.)$")
_FARTHEST = 1000
"""Maximum number of characters to search for the end of a title."""
# The part after a bar is dropped, unless the part before is a single word, which may be the site's
# name.
_SECOND_PART = re.compile(r"^(\S+\s.*?\S)\s\|\s.*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
_EMPHASIS = re.compile(
    r"(?<![\w*])(?:(?P<stars>\*{1,3})(?=\S)([^*]+)(?<=\S)(?P=stars)|(?P<lines>_{1,3})(?=\S)([^_]+\s[^_]+)(?<=\S)(?P=lines)"
    r"|(?P<ticks>`+)([^`]+)(?P=ticks))(?![\w*])"
)
_SIGNS_BEFORE = re.compile(r"^(?:#{1,6}\s+|[|>]\s)+")
_ENDS = re.compile(r"^[*_]{2,}|\s+\{#[^{}]*\}$|\s*(?:[*_]{2,}|\s#+|\|)$")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
# Dates from unset clocks and programs' templates.
_PROGRAM_DATES = {
    "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01", "1999-11-30", "2000-01-01",
    "2013-01-27", "2013-12-23",
}  # fmt: skip
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^([^\n]+)\n(?:=+|-+|~+|\*+)[ \t]*$", re.MULTILINE)
_DATES = (
    "updated",
    "lastmod",
    "last_modified_at",
    "modified",
    "date",
    "published",
    "pubdate",
    "created",
)
_CELL_CHARACTERS = 100_000
"""Maximum length of a CSV cell; a longer one means an unclosed quotation mark."""
_SAMPLED_LINES = 50
_SHORT_LINE = 4
"""Minimum length of a heading's underline, unless the heading is shorter."""
# A line after an empty line, with a line of repeated punctuation below or on both sides.
_ADORNED = re.compile(
    r"(?:^(?P<over>(?P<upper>[!-/:-@[-`{-~])(?P=upper){3,})[ \t]*\n"
    r"[ \t]*(?P<title>\S[^\n]*)\n(?P=over)[ \t]*$"
    r"|(?:\A|(?<=\n\n))(?P<words>[^\W_][^\n]*)\n"
    r"(?P<under>(?P<lower>[!-/:-@[-`{-~])(?P=lower)+)[ \t]*$)\n?",
    re.MULTILINE,
)


def plain_title(title: str) -> str:
    """Return the title in one line, without Markdown."""
    first = _SIGNS_BEFORE.sub("", " ".join(title[:_FARTHEST].split()))
    words = _LINK.sub(r"\1", _SECOND_PART.sub(r"\1", first))
    words = _EMPHASIS.sub(lambda emphasis: emphasis[2] or emphasis[4] or emphasis[6], words)
    line = _ESCAPED.sub(r"\1", _ENDS.sub("", words.strip())).strip()
    if not any(map(str.isalnum, line)):
        return ""
    return line


def informative_title(title: str) -> str:
    """Return the title in one line.

    Empty if it is a program's default or says nothing about the content.
    """
    line = " ".join(title.split())
    if not any(map(str.isalpha, line)) or _PROGRAM_TITLES.search(line):
        return ""
    return line


def first_line(text: str) -> str:
    """Return the first line as a title; empty if it is too long, has no words, or is a sentence."""
    first, *_ = re.split(r"[\n\f]", text.lstrip(), maxsplit=1)
    line = plain_title(first)
    if len(line) > _LINE_CHARACTERS or _SENTENCE_END.search(line):
        return ""
    if not any(map(str.isalpha, line)):
        return ""
    return line


def iso_date(field: str) -> str:
    """Return the date at the start of a field (ISO 8601).

    Empty if there is none or it is a program's default.
    """
    date = date_at(field.strip(), 0)
    if not date or date.iso in _PROGRAM_DATES:
        return ""
    return date.iso


def stated_date(fields: Mapping[str, object]) -> tuple[str, DateKind]:
    """Return the date in the fields of a file and its kind; both empty if there is none."""
    for name in _DATES:
        date = iso_date(str(fields.get(name) or ""))
        if date and name in ("date", "created"):
            return date, "document"
        if date:
            return date, "publication"
    return "", ""


def parse_markdown(text: str) -> Extract:
    """Return the text, with title and date from the front matter.

    The first heading replaces a missing title.
    """
    body = text
    fields = dict[str, str]()
    front_matter = _FRONT_MATTER.match(text)
    if front_matter:
        body = text[front_matter.end() :]
        for line in front_matter[1].splitlines():
            name, _, value = line.partition(":")
            fields[name.strip().lower()] = value.strip().strip("\"'")
    title = fields.get("title") or first_heading(body)
    date, kind = stated_date(fields)
    # If there is only front matter, it is the text.
    if not body.strip():
        body = text
    return Extract(title, body, date, date_kind=kind, publisher=fields.get("publisher", ""))


def parse_text(text: str) -> Extract:
    """Return the text, with its first line as title if a blank line or an underline follows."""
    _, _, rest = text.lstrip().partition("\n")
    second = rest.partition("\n")[0].strip()
    title = ""
    if rest and not second.strip("=-~*#"):
        title = first_line(text)
    return Extract(title, text)


def parse_rst(text: str) -> Extract:
    """Return the text with Markdown headings.

    Their levels follow the order in which the underlines first occur.
    """
    levels: list[str] = []

    def heading(adorned: re.Match[str]) -> str:
        if adorned["over"]:
            style = f"{adorned['upper']} twice"
            title = adorned["title"]
        else:
            style = adorned["lower"]
            title = adorned["words"]
            if len(adorned["under"]) < min(_SHORT_LINE, len(title.rstrip())):
                return adorned[0]
        if style not in levels:
            levels.append(style)
        level = min(levels.index(style) + 1, 6)
        return f"{'#' * level} {title}\n\n"

    markdown = _ADORNED.sub(heading, text)
    stated = re.search(r"^:title:[ \t]+(\S.*)$", text, re.IGNORECASE | re.MULTILINE)
    title = ""
    if stated:
        title = stated[1]
    elif levels:
        title = first_heading(markdown)
    return Extract(title, markdown)


def parse_csv(text: str) -> Extract:
    """Return the text of a CSV file, which has neither title nor date."""
    text = text.lstrip("\n")
    declared = re.match(r"sep=(.)\n", text, re.IGNORECASE)
    if declared:
        delimiter = declared[1]
        text = text[declared.end() :]
    else:
        delimiter = _delimiter(text)
    csv.field_size_limit(_CELL_CHARACTERS)
    lines = text.splitlines(keepends=True)
    rows = partial(csv.reader, lines, delimiter=delimiter, skipinitialspace=True)
    try:
        blocks = list(up_to_limit(tables_of(rows(quoting=csv.QUOTE_MINIMAL))))
    except csv.Error:
        # The quotation mark is unclosed, so read it as a plain character.
        blocks = list(up_to_limit(tables_of(rows(quoting=csv.QUOTE_NONE))))
    return Extract("", "\n\n".join(blocks))


def first_heading(text: str) -> str:
    """Return the first heading of a Markdown text; empty if there is none."""
    heading = _HEADING.search(text) or _UNDERLINED.search(text)
    if not heading:
        return ""
    return heading[1].rstrip()


def _delimiter(text: str) -> str:
    """Return the character that separates the cells of a CSV file."""
    lines = text.split("\n", _SAMPLED_LINES)[:_SAMPLED_LINES]
    return max(",;\t|", key=lambda delimiter: _evenness(lines, delimiter))


def _evenness(lines: list[str], delimiter: str) -> tuple[int, int, int]:
    """Rate a delimiter.

    Fewest quotation marks in cells, then most rows of the same width, then widest rows.
    """
    marks = 0
    widths = Counter[int]()
    for row in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
        marks += sum(cell.count('"') for cell in row)
        if len(row) > 1:
            widths[len(row)] += 1
    if not widths:
        return -marks, 0, 0
    [(width, count)] = widths.most_common(1)
    return -marks, count, width
