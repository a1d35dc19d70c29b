"""The entries of a list of sources: their number, their words, their address."""

from __future__ import annotations

import re
from typing import NamedTuple

from .addresses import WEB_ADDRESS, address_in, is_page, trimmed

_BRACKETED = r"[\[【［]{1,2}\^?(?P<bracketed>\d{1,3})[\]】］]{1,2}"
_ENTRY = re.compile(
    r"\s*(?:[-*+•·]\s+|>\s*)?(?P<bold>\*\*)?"
    rf"(?:{_BRACKETED}(?P<definition>[:：])?|[（(](?P<enclosed>\d{{1,3}})[)）]|(?P<plain>\d{{1,3}})[.)、．:：](?=\D|$))"
    r"(?P<text>.*)"
)
_INNER = re.compile(rf"\s*{_BRACKETED}(?!\()")
_BULLET = re.compile(r"\s*[-*+•·]\s+(?P<text>\S.*)")
_DEFINITION = re.compile(r"\s{0,3}\[(?P<label>\^?[^\[\]\n]{1,100})\]:\s*(?P<text>\S.*)")
_TARGET_FIRST = re.compile(r"\((?P<target>https?://[^()\s<>]+)\)\s*(?P<words>[^\s(].*)?$", re.IGNORECASE)
_ENDS = re.compile(r"^(?:[:：.\s]|[-*+•·](?=\s))+|[\s\\]+$")
_LABELLED = re.compile(r"\s*(?:(?:URL|Link|DOI|网址|链接)\s*[:：]\s*)?<?(?:https?://|www\.|doi:)", re.IGNORECASE)
_NUMBER_ALONE = re.compile(r"\[\[?\^?(\d{1,3})\]?\]\(([^\s()]{1,2000})\)")


class Entry(NamedTuple):
    """One source as a draft lists it."""

    number: int | None
    """The number that it is given there."""
    text: str
    """Its words as they stand there, address included."""
    address: str
    """Where it can be read; empty if the entry does not say."""
    label: str = ""
    """The name by which links refer to it, if that is no number."""


def numbered_entry(line: str) -> tuple[int, str, str] | None:
    """The number of an entry that begins with one, its text, and the form of the number: `[`, `:` behind it, or `.`."""
    found = _ENTRY.match(line)
    if not found:
        return None
    number = int(found["bracketed"] or found["enclosed"] or found["plain"])
    text, form = found["text"], ":" if found["definition"] else "[" if found["bracketed"] else "."
    if found["bold"]:
        text = text[2:] if text.startswith("**") else f"**{text.lstrip()}"
    if form == "." and (inner := _INNER.match(text)):
        number, text, form = int(inner["bracketed"]), text[inner.end() :], "["
    return number, text, form


def bullet_text(line: str) -> str:
    """The words of an item of a list without numbers; empty if the line is none."""
    found = _BULLET.match(line)
    return found["text"] if found else ""


def definition(line: str) -> tuple[str, str] | None:
    """The label and the words of a footnote's or a link's definition."""
    found = _DEFINITION.match(line)
    return (found["label"], found["text"]) if found else None


def is_address_alone(line: str) -> bool:
    """Whether a line is but an address, perhaps announced as one, and so belongs to the entry above it."""
    return bool(_LABELLED.match(line))


def make_entry(number: int | None, text: str, label: str = "") -> Entry:
    """An entry from its number and its text, which may stand in any of the usual forms."""
    text = _NUMBER_ALONE.sub(r"\1 — <\2>", _ENDS.sub("", " ".join(text.split())))
    if first := _TARGET_FIRST.match(text):
        text = _ENDS.sub("", f"{first['words']} — <{first['target']}>") if first["words"] else f"<{first['target']}>"
    address = address_in(text)
    return Entry(number, _with_address(text, address), address, label)


def _with_address(text: str, address: str) -> str:
    """The text, with the address in a form that can be opened as its first."""
    if not address.startswith(("http://", "https://", "HTTP")) or _first_page(text) == address:
        return text
    return f"{text} — <{address}>"


def _first_page(text: str) -> str:
    return next((trimmed(found[0]) for found in WEB_ADDRESS.finditer(text) if is_page(trimmed(found[0]))), "")
