"""Which two addresses are one source, and how the numbers of one researcher become the numbers of the thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

import idna

from ...records.research import Finding
from ...records.sources import Source
from .markers import Marker, settle_fences
from .scanner import KnownMarkers

_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING_PREFIX = "utm_"
_TRACKING = {
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
}


def source_key(address: str) -> str:
    """Return the identity of the document at an address; never raises, and a key is its own key."""
    bare = address.strip().partition("#")[0].strip()
    try:
        parts = urlsplit(bare)
        return _web_key(parts) if parts.scheme in _DEFAULT_PORTS and parts.hostname else bare
    except ValueError:
        return bare


def _web_key(parts: SplitResult) -> str:
    query = "&".join(piece for piece in parts.query.split("&") if not _is_tracking(piece))
    # An empty path asks a server for "/" (RFC 9110, 4.2.3), so both are one page.
    return f"{parts.scheme}://{_authority(parts)}{parts.path or '/'}" + (f"?{query}" if query else "")


def _authority(parts: SplitResult) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{user}{at}{_host(parts.hostname or '')}{port}"


def _host(name: str) -> str:
    if ":" in name:
        return f"[{name}]"
    if name.isascii():
        return name
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return name


def _is_tracking(piece: str) -> bool:
    name = piece.partition("=")[0].lower()
    return name in _TRACKING or name.startswith(_TRACKING_PREFIX)


class NumberedFinding(NamedTuple):
    """A finding with the thread's numbers."""

    text: str
    """The text with markers `[n]` and `[n, m]`."""
    numbers: dict[str, int]
    """The thread's numbers by source key, those of before and the new ones."""
    dropped: int
    """Numbers that named no source and were removed."""


def by_number(sources: Iterable[Source]) -> dict[int, Source]:
    """Return the sources that have a number in the thread, by number and in its order."""
    return {source.number: source for source in sorted(sources, key=lambda one: one.number) if source.number}


def next_number(numbers: Iterable[int]) -> int:
    """Return the number after the highest; gaps are not filled again."""
    return max(numbers, default=0) + 1


def number_finding(text: str, local: Mapping[int, str], numbers: Mapping[str, int]) -> NumberedFinding:
    """Replace a researcher's local numbers by the thread's; new sources get the next ones as the text cites them.

    `local` says which source a local number names, `numbers` which number a source has. A number once given stays;
    a source that is not cited gets none. A code fence that never closes is taken for text.
    """
    given = dict(numbers)
    following = next_number(given.values())
    markers = KnownMarkers(local)
    written: list[str] = []
    for part in markers.feed(settle_fences(text)) + markers.finish():
        if isinstance(part, Marker):
            for key in (keys := dict.fromkeys(local[number] for number in part.numbers)):
                if key not in given:
                    given[key], following = following, following + 1
            part = f"[{', '.join(str(given[key]) for key in keys)}]"
        written.append(part)
    return NumberedFinding("".join(written), given, markers.dropped)


def number_findings(
    findings: Iterable[Finding], sources: Mapping[str, Source]
) -> tuple[dict[str, Finding], dict[str, Source]]:
    """Return the findings that lack the numbers of the thread with these numbers, and the sources that got one.

    They are numbered in the order of their tasks, whatever the order in which they came.
    """
    new = [finding for finding in findings if finding.numbered is None]
    numbers = {source.key: source.number for source in sources.values() if source.number}
    numbered: dict[str, Finding] = {}
    for finding in sorted(new, key=lambda finding: (finding.cycle, finding.position)):
        text, numbers, dropped = number_finding(finding.text, dict(enumerate(finding.sources, 1)), numbers)
        numbered[finding.id] = finding.model_copy(update={"numbered": text, "dropped_markers": dropped})
    cited = {
        key: source.model_copy(update={"number": numbers[key]})
        for key, source in sources.items()
        if key in numbers and not source.number
    }
    return numbered, cited
