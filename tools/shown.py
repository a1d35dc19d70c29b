"""How a tool call is shown, while it is made and when it is told again: what is asked, then what it brought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..records.research import Scope
from ..records.sources import Source
from ..run import tool_names
from ..run.events import packets
from ..run.events.packets import AnyPacket, Placement, document

_READING = (tool_names.OPEN_URL, tool_names.READ_DOCUMENTS)


def asked(place: Placement, tool: str, inputs: Sequence[str], scope: Scope) -> list[AnyPacket]:
    """The packets that open a call with these queries or addresses; `scope` is what web searches are bound to."""
    if tool in _READING:
        return [packets.OpenUrlStart(placement=place), packets.OpenUrlUrls(placement=place, urls=list(inputs))]
    is_web = tool == tool_names.WEB_SEARCH
    start = packets.SearchToolStart(placement=place, is_internet_search=is_web)
    shown: list[AnyPacket] = [start, packets.SearchToolQueries(placement=place, queries=list(inputs))]
    if is_web and (scope.domains_allow or scope.domains_deny or scope.published_after):
        filters = packets.SearchToolFilters(
            placement=place,
            sources=list(scope.domains_allow),
            excluded=list(scope.domains_deny),
            time_start=scope.published_after or None,
        )
        shown.append(filters)
    return shown


def brought(place: Placement, tool: str, sources: Iterable[Source]) -> AnyPacket:
    """The packet with the sources that a call brought."""
    documents = [document(source) for source in sources]
    if tool in _READING:
        return packets.OpenUrlDocuments(placement=place, documents=documents)
    return packets.SearchToolDocuments(placement=place, documents=documents)
