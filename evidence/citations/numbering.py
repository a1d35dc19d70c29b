"""Merges the numbers of one researcher into the numbers of the thread."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...knowledge import Source
from ...state import Finding
from .known import KnownMarkers
from .markers import Marker
from .protected import settle_fences


class NumberedFinding(NamedTuple):
    """A finding with the thread's numbers."""

    text: str
    """The text with markers `[n]` and `[n, m]`."""
    numbers: dict[str, int]
    """The thread's numbers by source key, those of before and the new ones."""
    dropped: int
    """Numbers that named no source and were removed."""


def by_number(sources: Iterable[Source]) -> dict[int, Source]:
    """The sources that have a number in the thread, by it and in its order."""
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
    """The findings that have no numbers of the thread yet, with them; and the sources that got a number by that.

    They are numbered one after the other in the order of their tasks, whatever the order in which they came.
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
