"""The records of a request for a table: its rows with their facts, and the pages that state them."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

NOT_APPLICABLE = "n/a"
"""What a cell says whose column does not apply to its row."""
_NAMES = """Anlow Skerry Tralee Orwell Harwich Budeham Wexcombe Porthgarth Lindmoor Ravensea Dunmarrow
    Eastmere Fallowby Gullhaven Hestrand Inverlock Jarrowby Kelpness Lanmouth Marwick Northolm
    Oysterby Pennarth Quillan Rossgate Saltmere Thornsey Ulverby Vikmouth Westray Yarmede Zennorth
    Aldersea Brackholm Craylock Dovermill Elmsound Fernwick Garrowdale Holmsay Ibbercombe Kirkstrand
    Lowestone Mosselby Nethersea Orsayton Penbrae Rathmoor"""
PLACES = tuple(_NAMES.split())
PEOPLE = (
    *("Ada Moran", "Ilse Brandt", "Tomas Rehn", "Carys Pugh", "Jonas Falk", "Mina Okafor"),
    *("Peder Lund", "Ruth Calder", "Sana Iqbal", "Owen Tripp", "Elin Vass", "Hugo Marais"),
)
MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_SEPARATORS = r"[\s|]+"


class Stated(NamedTuple):
    """What a page or a document states on a cell."""

    words: str
    """The sentence or table row that states it; cells of a row are separated by spaces."""
    value: str
    """Its value in these words; empty if the column does not apply."""
    unit: str = ""


class Fact(NamedTuple):
    """What a cell should say."""

    expected: frozenset[str]
    """The values as the table should have them; several if sources disagree, none if no source that
    can be read states any."""
    stated: tuple[Stated, ...]


class Entity(NamedTuple):
    """Something that may be a row."""

    names: tuple[tuple[str, ...], ...]
    """Values of its key columns, the usual spelling first, then others."""
    facts: Mapping[str, Fact]
    """By column, without the key columns."""
    rejected_by: str = ""
    """The words by which it does not count; empty if it does."""
    file: str = ""
    """Name of the document that is the row; empty if rows are searched for."""

    @property
    def counts(self) -> bool:
        """Whether it is a row."""
        return not self.rejected_by


class Page(NamedTuple):
    """A page of the web."""

    path: str
    title: str
    body: str
    """HTML."""
    is_list: bool = False
    """Whether it names rows."""
    status: int = 200


class Document(NamedTuple):
    """A document of a folder."""

    name: str
    lines: Sequence[str]
    """The first one is its title; a line with bars is a row of a table."""


class TableRequest(NamedTuple):
    """A request for a table, with its gold and the sources that bear it out."""

    name: str
    question: str
    row: str
    rules: Sequence[str]
    columns: Sequence[Mapping[str, Any]]
    """As the planner hands them in; key columns come first."""
    ways: Sequence[str]
    """Where rows may be found; empty if each document is a row."""
    entities: Sequence[Entity]
    pages: Sequence[Page] = ()
    documents: Sequence[Document] = ()

    @property
    def keys(self) -> list[str]:
        """Names of the key columns."""
        return [str(column["name"]) for column in self.columns if column.get("is_key")]

    @property
    def design(self) -> dict[str, Any]:
        """The design of the table, as the planner hands it in."""
        return {
            "title": "",
            "row": self.row,
            "rules": list(self.rules),
            "columns": list(map(dict, self.columns)),
            "ways": list(self.ways),
            "is_row_per_document": bool(self.documents),
        }


@cache
def _pattern(words: str) -> re.Pattern[str]:
    parts = map(re.escape, words.split())
    return re.compile(rf"(?<!\w){_SEPARATORS.join(parts)}(?!\w)")


def found_in(words: str, text: str) -> str:
    """Return words as they stand in a text, white space and the bars of tables aside; empty if they
    do not."""
    found = _pattern(words).search(text)
    return found[0] if found else ""


def fact(
    words: str, value: str, *expected: str, unit: str = "", also: Iterable[Stated] = ()
) -> Fact:
    """Return a fact that these words state; without `expected`, the cell says `value`."""
    return Fact(frozenset(expected or (value,)), (Stated(words, value, unit), *also))


def grouped(figure: float) -> str:
    """Return a number as tables have it: thousands are grouped by spaces from 10 000 on."""
    plain = f"{figure:g}" if figure < 1_000_000 else f"{figure:.0f}"
    whole, point, decimals = plain.partition(".")
    if abs(figure) >= 10_000:
        whole = f"{int(whole):,}".replace(",", " ")
    return whole + point + decimals


def day(number: int, year: int) -> tuple[str, str]:
    """Return a day of a year, in words and in ISO 8601."""
    month = number % 12
    of_month = number * 7 % 27 + 1
    return f"{of_month} {MONTHS[month]} {year}", f"{year}-{month + 1:02}-{of_month:02}"


def paragraphs(lines: Iterable[str]) -> str:
    """Return sentences as HTML, each a paragraph."""
    return "".join(f"<p>{html.escape(line)}</p>" for line in lines)


def linked(name: str, path: str, more: str = "") -> str:
    """Return an entry of a list with a link to its page."""
    return f'<li><a href="{path}">{html.escape(name)}</a>{html.escape(more)}</li>'


def sections(topic: str, entries: Sequence[str], size: int, title: str) -> list[Page]:
    """Return the pages of a register with so many entries each, of which each leads to the next."""
    pages = list[Page]()
    count = (len(entries) + size - 1) // size
    for number in range(count):
        body = f"<ul>{''.join(entries[number * size : (number + 1) * size])}</ul>"
        if number + 1 < count:
            body += f'<p><a href="/{topic}/register/{number + 2}">Next page</a></p>'
        shown = f"{title}, page {number + 1}" if number else title
        pages.append(Page(f"/{topic}/register/{number + 1}", shown, body, is_list=True))
    return pages


def filler(name: str, count: int) -> list[str]:
    """Return sentences about something that state no fact of a table."""
    sentences = list[str]()
    for number in range(count):
        person = PEOPLE[number % len(PEOPLE)]
        month = MONTHS[number % len(MONTHS)]
        sentences.append(
            f"{person} wrote about {name} in the harbour chronicle, where visitors of the {month} "
            f"market told of fog, of nets on the quay and of the smell of tar along the old wall."
        )
    return sentences
