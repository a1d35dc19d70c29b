"""Shows citations to a reader: markers as links, and the list of sources."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from urllib.parse import quote, unquote

from ..knowledge import Source
from .markers import Marker, Part
from .scanner import scan

_ALLOWED = re.compile(r"https?://[^/?#]|file:/", re.IGNORECASE)
# Only here brackets belong to an address as they are.
_NUMBERED = re.compile(r"https?://\[[0-9a-f:.]+\](?=[:/?#]|$)", re.IGNORECASE)
_PLAIN_IN_LINKS = "!#$%&*+,-./:;=?@_~"
_LONGEST_TITLE = 200
_INVISIBLE = {"Cc", "Cf", "Cs"}
_SPECIAL = re.compile(r"[\\`*_\[\]<>&|~$@]|:(?=//)|(?<=www)\.", re.IGNORECASE)
_BRACKETS = str.maketrans("【［】］", "[[]]")
_ADDRESS = re.compile(r"(?:[a-z]+:)?//\S+|[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}(?:[:/?#]\S*)?", re.IGNORECASE)


def safe_link(location: str) -> str:
    """Return a link that Markdown cannot misread; empty unless it is a web address or a file."""
    stripped = location.strip()
    if not _ALLOWED.match(stripped):
        return ""
    found = _NUMBERED.match(stripped)
    begin = found.group() if found else ""
    return begin + quote(stripped.removeprefix(begin), safe=_PLAIN_IN_LINKS, errors="replace")


def link_citations(text: str, links: Mapping[int, str]) -> str:
    """Turn bare markers into links; a number without a safe link stays a plain `[n]`."""
    return "".join(_linked(part, links) for part in scan(text))


def source_list(sources: Iterable[Source], heading: str) -> str:
    """Return a Markdown list of sources in the order of their numbers, from 1; empty if there are none."""
    lines = [_line(number, source) for number, source in enumerate(sources, start=1)]
    return "\n".join([f"## {heading}", "", *lines, ""]) if lines else ""


def source_name(source: Source) -> str:
    """The title of a source, with a link to it where that is safe."""
    link = safe_link(source.location)
    return f"[{_title(source)}]({link})" if link else _title(source)


def plain_line(text: str) -> str:
    """Return untrusted text as one line in which nothing is markup."""
    return _escaped(_visible(text)).replace("\\_", "_")


def _linked(part: Part, links: Mapping[int, str]) -> str:
    if not isinstance(part, Marker):
        return part
    pairs = zip(part.separators, part.numbers, strict=True)
    return "".join(separator + _link(number, links.get(number, "")) for separator, number in pairs)


def _link(number: int, location: str) -> str:
    link = safe_link(location)
    return f"[{number}]({link})" if link else f"[{number}]"


def _line(number: int, source: Source) -> str:
    link = safe_link(source.location)
    return f"- [{number}] {_title(source)}" + (f" — <{link}>" if link else "")


def shown_title(source: Source) -> str:
    """The title of a source as one line for a reader, not escaped; a title that reads like an address is replaced."""
    title = _visible(source.title)
    if not title or _ADDRESS.fullmatch(title):
        # A title that reads like an address could name another place than the one that is linked.
        title = _visible(_place(source.location) or source.location)
    if len(title) > _LONGEST_TITLE:
        title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
    return title


def _title(source: Source) -> str:
    return _escaped(shown_title(source))


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text.translate(_BRACKETS))


def _visible(text: str) -> str:
    kept = (char for char in text if char.isspace() or unicodedata.category(char) not in _INVISIBLE)
    return " ".join("".join(kept).split())


def _place(location: str) -> str:
    scheme, _, rest = location.strip().partition(":")
    if scheme.lower() == "file":
        return unquote(rest.rstrip("/").rpartition("/")[2])
    return re.split(r"[/?#]", rest.removeprefix("//"))[0].rpartition("@")[2]
