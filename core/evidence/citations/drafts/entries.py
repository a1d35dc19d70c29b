"""The entries of a list of sources: their number, their words, and the address of the page."""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import urlsplit

from ..citing import source_key

_CHAR = r"[^\s<>()\[\]{}（）［］【】「」『』《》，。；、“”\"`|\\]"
WEB_ADDRESS = re.compile(rf"https?://{_CHAR}+(?:\({_CHAR}*\){_CHAR}*)*", re.IGNORECASE)
_IDENTIFIER = re.compile(
    rf"(?<![\w/.@:-])(?:(?P<www>www\.{_CHAR}+)|doi:\s*(?P<doi>10\.\d{{4,9}}/{_CHAR}+)"
    r"|arxiv:\s*(?P<arxiv>\d{4}\.\d{4,5}(?:v\d+)?))",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<=<)file:[^\s<>]+(?=>)|(?<![\w/.~-])(?:file:)?[\w./~%-]{0,500}[\w%-]\."
    r"(?:md|markdown|txt|html?|pdf|docx?|rst|csv|json|xlsx?|pptx?)\b(?:#[\w.-]+)?",
    re.IGNORECASE,
)
_SCHEME = re.compile(r"^https?://(?:www\.)?", re.IGNORECASE)
_REFERRER = re.compile(r"(?<=[?&])ref=[^&]*&?", re.IGNORECASE)
_INVENTED = re.compile(r"(?:^|\.)(?:example\.(?:com|net|org)|localhost|your-?url\.\w+)$", re.IGNORECASE)
_LONGEST_ENTRY = 4000


def trimmed(address: str) -> str:
    """Return an address that was found in running text without the punctuation that ends its sentence."""
    return address.rstrip(".,;:!?'*_~…！？：’")


def is_page(address: str) -> bool:
    """Whether a web address can lead to a page: not a host of examples (RFC 2606) or of this computer."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return "." in host.strip(".") and not _INVENTED.search(host)


def address_in(text: str) -> str:
    """Return the first address in an entry: a web page, a DOI, an arXiv number, or a file; empty if there is none."""
    text = text[:_LONGEST_ENTRY]
    if page := _first_page(text):
        return page
    text = WEB_ADDRESS.sub(" ", text)
    if found := _IDENTIFIER.search(text):
        if found["www"]:
            return f"https://{trimmed(found['www'])}"
        return f"https://doi.org/{trimmed(found['doi'])}" if found["doi"] else f"https://arxiv.org/abs/{found['arxiv']}"
    file = _FILE.search(text)
    return file[0] if file else ""


def page_key(address: str) -> str:
    """Return the identity of a page: `source_key` without scheme, `www.`, trailing slash, referrer and case."""
    key = _SCHEME.sub("", source_key(address.removeprefix("file:")))
    return _REFERRER.sub("", key).rstrip("?&/").casefold()


def host_of(address: str) -> str:
    """Return the host of a web address."""
    return re.split(r"[/?#]", _SCHEME.sub("", address), maxsplit=1)[0] or address


def _first_page(text: str) -> str:
    return next((page for found in WEB_ADDRESS.finditer(text) if is_page(page := trimmed(found[0]))), "")


_BRACKETED = r"[\[【［]{1,2}\^?(?P<bracketed>\d{1,3})[\]】］]{1,2}"
_ITEM = re.compile(
    r"\s*(?P<bullet>[-*+•·]\s+|>\s*|\d{1,3}[.)]\s+(?=[\[【［]{1,2}\^?\d{1,3}[\]】］](?!\()))?(?P<bold>\*\*)?"
    rf"(?:{_BRACKETED}(?P<colon>[:：])?|[（(](?P<enclosed>\d{{1,3}})[)）]|(?P<plain>\d{{1,3}})[.)、．:：](?=\D|$))"
    r"(?P<text>.*)"
)
MARKER = re.compile(r"(?<!\\)[\[【［]\^?\d{1,3}[^\]】］\n]{0,40}[\]】］]")
_BULLET = re.compile(r"\s*[-*+•·]\s+(?P<text>\S.*)")
_DEFINITION = re.compile(r"\s{0,3}\[(?P<label>\^?[^\[\]\n]{1,100})\]:\s*(?P<text>\S.*)")
_TARGET_FIRST = re.compile(r"\((?P<target>https?://[^()\s<>]+)\)\s*(?P<words>[^\s(].*)?$", re.IGNORECASE)
_ENDS = re.compile(r"^(?:[:：.\s]|[-*+•·](?=\s))+|[\s\\]+$")
_NUMBERED_LINK = re.compile(r"\[\[?\^?(\d{1,3})\]?\]\(([^\s()]{1,2000})\)")
_LINK = re.compile(r"\s*<?https?://", re.IGNORECASE)


class Entry(NamedTuple):
    """One source as a draft lists it."""

    number: int | None
    """Its number in the draft."""
    text: str
    """Its words as they were written, address included."""
    address: str
    """Where it can be read; empty if the entry does not say."""
    label: str = ""
    """The name by which links refer to it."""
    is_marked: bool = False
    """Whether it begins with a marker or a label, which makes it an entry outside of a list too."""


def bullet_text(line: str) -> str:
    """Return the words of an item of a list without numbers; empty if the line is none."""
    found = _BULLET.match(line)
    return found["text"] if found else ""


def read_entry(line: str, following: str) -> Entry | None:
    """Return the entry that begins on a line and goes on with `following`; none if the line begins none."""
    if item := _ITEM.match(line):
        number = int(item["bracketed"] or item["enclosed"] or item["plain"])
        text = item["text"]
        if item["bold"]:
            text = text[2:] if text.startswith("**") else f"**{text.lstrip()}"
        is_definition = bool(item["colon"])
        entry = make_entry(number, f"{text} {following}", str(number) if _LINK.match(text) else "")
        return entry._replace(is_marked=bool(item["bracketed"] and (entry.address or (is_definition and entry.text))))
    if (named := _DEFINITION.match(line)) and (named["label"].startswith("^") or _LINK.match(named["text"])):
        entry = make_entry(None, f"{named['text']} {following}", named["label"])
        return entry._replace(is_marked=bool(entry.address))
    text = bullet_text(line) or (line if WEB_ADDRESS.search(line) and not MARKER.search(line) else "")
    return make_entry(None, f"{text} {following}") if text else None


def make_entry(number: int | None, text: str, label: str = "") -> Entry:
    """Make an entry of its text, with the address in a form that can be opened."""
    text = _NUMBERED_LINK.sub(r"\1 — <\2>", _ENDS.sub("", " ".join(text.split())))
    if first := _TARGET_FIRST.match(text):
        text = _ENDS.sub("", f"{first['words']} — <{first['target']}>") if first["words"] else f"<{first['target']}>"
    address = address_in(text)
    if address.lower().startswith("http") and _first_page(text) != address:
        text = f"{text} — <{address}>"
    return Entry(number, text, address, label)
