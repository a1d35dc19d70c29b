"""Addresses as drafts write them: where they end, which are one page, which are none."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ..numbering import source_key

_CHAR = r"[^\s<>()\[\]{}（）［］【】「」『』《》，。；、“”\"`|\\]"
WEB_ADDRESS = re.compile(rf"https?://{_CHAR}+(?:\({_CHAR}*\){_CHAR}*)*", re.IGNORECASE)
_BARE = re.compile(
    rf"(?<![\w/.@:-])(?:(?P<www>www\.{_CHAR}+)|doi:\s*(?P<doi>10\.\d{{4,9}}/{_CHAR}+)"
    r"|arxiv:\s*(?P<arxiv>\d{4}\.\d{4,5}(?:v\d+)?))",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"(?<=<)file:[^\s<>]+(?=>)|(?<![\w/.~-])(?:file:)?[\w./~%-]{0,500}[\w%-]\."
    r"(?:md|markdown|txt|html?|pdf|docx?|rst|csv|json|xlsx?|pptx?)\b(?:#[\w.-]+)?",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?'*_~…！？：’"
_BEGIN = re.compile(r"^https?://(?:www\.)?", re.IGNORECASE)
_REFERRER = re.compile(r"(?<=[?&])ref=[^&]*&?", re.IGNORECASE)
_INVENTED = re.compile(r"(?:^|\.)(?:example\.(?:com|net|org)|localhost|your-?url\.\w+)$", re.IGNORECASE)
_LONGEST = 4000


def trimmed(address: str) -> str:
    """A web address as it was found in running text, without the punctuation that ends its sentence."""
    return address.rstrip(_TRAILING)


def is_page(address: str) -> bool:
    """Whether a web address can lead to a page: no host of examples (RFC 2606), none that is only here."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return False
    return "." in host.strip(".") and not _INVENTED.search(host)


def address_in(text: str) -> str:
    """The first address in an entry: of the web, a DOI, a number of arXiv, or a file; empty if there is none."""
    text = text[:_LONGEST]
    for found in WEB_ADDRESS.finditer(text):
        address = trimmed(found[0])
        if is_page(address):
            return address
    without_web = WEB_ADDRESS.sub(" ", text)
    if bare := _BARE.search(without_web):
        return _web_form(bare)
    file = _FILE.search(without_web)
    return file[0] if file else ""


def _web_form(bare: re.Match[str]) -> str:
    if bare["www"]:
        return f"https://{trimmed(bare['www'])}"
    return f"https://doi.org/{trimmed(bare['doi'])}" if bare["doi"] else f"https://arxiv.org/abs/{bare['arxiv']}"


def page_key(address: str) -> str:
    """The identity of a page for a reader: `source_key` without scheme, `www.`, trailing slash, referrer and case."""
    key = _BEGIN.sub("", source_key(address.removeprefix("file:")))
    return _REFERRER.sub("", key).rstrip("?&/").casefold()


def host_of(address: str) -> str:
    """The name of the place that a web address leads to."""
    return re.split(r"[/?#]", _BEGIN.sub("", address), maxsplit=1)[0] or address
