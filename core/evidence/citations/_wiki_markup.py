"""Turns the citations of MediaWiki into Markdown: `<ref>`, `{{cite ...}}`, `{{sfn|...}}`, headings
and links."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

# Repetitions in patterns are atomic or bounded, so that a hostile report cannot make matching slow.
_IS_WIKI = re.compile(
    r"<ref\b[^<>]{0,200}>"
    r"|\{\{\s*(?:cite|citation|sfn|harv|r\||literatur|internetquelle|ouvrage|lien web)",
    re.IGNORECASE,
)
_TEMPLATE = re.compile(
    r"\{\{(?P<name>[^{}|\n]{1,60})(?P<fields>(?:\|(?>(?:[^{}]|\{\{[^{}]{0,500}\}\}){0,3000}))?)\}\}"
)
_SHORT = re.compile(r"(?:sfn|harv)[a-z]{0,8}|harvard citation(?: [a-z ]{1,20})?", re.IGNORECASE)
"""Names of templates that cite by authors and year."""
_DESCRIBES = re.compile(
    r"cit(?:e|ation|ar?|azione)?\b(?! needed| required).*"
    r"|literatur|internetquelle|ouvrage|article|lien web",
    re.IGNORECASE,
)
"""Names of templates that describe a source."""
_NOTE = re.compile(
    r"<ref\b(?P<attributes>[^<>/]{0,200})>(?P<words>[^<>]{1,2000})</ref\s*>", re.IGNORECASE
)
_NAMED_NOTE = re.compile(r"<ref\b(?P<attributes>[^<>/]{0,200})/\s*>", re.IGNORECASE)
_NAME = re.compile(r"\bname\s*=\s*(?:\"(?P<quoted>[^\"<>]{1,100})\"|(?P<bare>[^\s\"<>/]{1,100}))")
_PAGE_LINK = re.compile(r"\[\[(?:[^\[\]|\n]{1,200}\|)?(?P<words>[^\[\]|\n]{1,200})\]\]")
_WEB_LINK = re.compile(r"\[(?P<address>https?://[^\s\[\]]{1,1000})(?P<words>[^\[\]\n]{0,300})\]")
_HEADING = re.compile(r"^(?P<level>={1,6})\s*(?P<words>[^=\n]{1,200}?)\s*={1,6}\s*$", re.MULTILINE)
_BULLET = re.compile(r"\s*[*#:;-]*\s*")
_WIDEST_BULLET = 20
"""Maximum length of the marks before a list entry, in characters."""
_AUTHORS = (
    ("last", "first"),
    ("last1", "first1"),
    ("author", ""),
    ("author1", ""),
    ("nachname", "vorname"),
    ("autor", ""),
    ("nom", "prénom"),
    ("nom1", "prénom1"),
    ("auteur", ""),
    ("apellidos", "nombre"),
)
"""Fields of the first author in the languages of large wikis, each with that of the first name."""
_YEARS = ("year", "date", "jahr", "datum", "année", "año", "fecha")
_TITLES = ("title", "titel", "titre", "título", "titolo", "litigants", "chapter")
_WORKS = ("work", "website", "journal", "newspaper", "publisher", "werk", "verlag", "périodique")
_ADDRESSES = ("url", "online", "lire en ligne", "chapter-url", "archive-url")
_PAGES = ("p", "pp", "page", "pages", "loc", "s", "seite", "seiten")


class _Fields(NamedTuple):
    """The fields of a template."""

    positional: Sequence[str]
    named: Mapping[str, str]
    """By names in lower case."""

    def first(self, names: Sequence[str]) -> str:
        """Return the first of these fields that is filled in; empty if none is."""
        return next((self.named[name] for name in names if self.named.get(name)), "")


class WikiMarkup:
    """The citations of a report that is written in MediaWiki's markup."""

    def __init__(self, report: str) -> None:
        self._is_wiki = _IS_WIKI.search(report) is not None
        self._notes = dict[str, str]()
        """The texts of the named footnotes."""
        if self._is_wiki:
            for note in _NOTE.finditer(_PAGE_LINK.sub(_link_words, report)):
                name = _name(note)
                if name:
                    self._notes.setdefault(name, _note_words(note["words"]))

    def plain(self, text: str) -> str:
        """Return a part of the report in which footnotes and templates that cite are Markdown."""
        if not self._is_wiki:
            return text
        text = _PAGE_LINK.sub(_link_words, text)
        text = _NOTE.sub(lambda note: f"^[{_note_words(note['words'])}]", text)
        text = _TEMPLATE.sub(_for_template, text)
        text = _NAMED_NOTE.sub(self._for_named, text)
        return _HEADING.sub(lambda found: f"{'#' * len(found['level'])} {found['words']}", text)

    def _for_named(self, note: re.Match[str]) -> str:
        name = _name(note)
        words = self._notes.get(name)
        # Without a text, the reader of citations reports the name.
        return f"^[{words}]" if words else f"[^{name}]"


def _link_words(link: re.Match[str]) -> str:
    return link["words"]


def _for_template(template: re.Match[str]) -> str:
    """Return what stands in place of a template outside footnotes; itself if it cites nothing."""
    name = _template_name(template)
    fields = _fields(template["fields"])
    if _SHORT.fullmatch(name) and len(fields.positional) > 1:
        *authors, year = fields.positional
        page = fields.first(_PAGES)
        locator = f", p. {page}" if page else ""
        return f" ({' & '.join(authors)}, {year}{locator})"
    if name == "r" and fields.positional:
        return "".join(f'<ref name="{label}" />' for label in fields.positional)
    if name == "rp":
        # A page behind a marker.
        return ""
    words = _described(name, fields)
    if not words:
        return template[0]
    start = template.start()
    line = template.string[max(0, start - _WIDEST_BULLET) : start].rpartition("\n")[2]
    if line.strip():
        return words if _BULLET.fullmatch(line) else f"^[{words}]"
    return f"- {words}"


def _template_name(template: re.Match[str]) -> str:
    return " ".join(template["name"].split()).casefold()


def _described(name: str, fields: _Fields) -> str:
    """Return the source that a template of this name describes, in words; empty if it describes
    none, or has no title, address or author."""
    if not _DESCRIBES.fullmatch(name):
        return ""
    author = ""
    for last, first in _AUTHORS:
        if fields.named.get(last):
            names = (fields.named[last], fields.named.get(first, ""))
            author = ", ".join(filter(None, names))
            break
    year = fields.first(_YEARS)
    address = fields.first(_ADDRESSES)
    doi = fields.named.get("doi", "")
    if doi and not address:
        address = f"https://doi.org/{doi}"
    title = fields.first(_TITLES)
    if not (title or address or author):
        return ""
    dated = f"{author} ({year})" if year else author
    parts = [dated, title, fields.first(_WORKS), address]
    return _one_line(". ".join(filter(None, parts)))


def _fields(written: str) -> _Fields:
    positional = list[str]()
    named = dict[str, str]()
    for field in written.removeprefix("|").split("|"):
        name, equals, value = field.partition("=")
        if equals and "//" not in name:
            named[" ".join(name.split()).casefold()] = value.strip()
        elif field.strip():
            positional.append(field.strip())
    return _Fields(positional, named)


def _name(note: re.Match[str]) -> str:
    """Return the name of a footnote; empty if it has none."""
    found = _NAME.search(note["attributes"])
    return (found["quoted"] or found["bare"]).strip() if found else ""


def _note_words(words: str) -> str:
    """Return the text of a footnote on one line, with the sources that templates describe."""

    def described(template: re.Match[str]) -> str:
        return _described(_template_name(template), _fields(template["fields"])) or template[0]

    return _one_line(_TEMPLATE.sub(described, words))


def _one_line(words: str) -> str:
    """Return words on one line without brackets, which would end a footnote."""
    words = _WEB_LINK.sub(lambda link: f"{link['words'].strip()} {link['address']}", words)
    return " ".join(re.sub(r"[\[\]]", " ", words).split())
