"""Adds citations that a text lacks, where a source says the same word for word, or with the same numbers and names.

Small models often write what a source says and leave its number out; then everything would be called unfounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...tools.results import Result
from ..evidence.checking.proof import Known, prove, stands_in
from ..evidence.checking.source_text import SourceText, words_and_figures
from ..evidence.checking.units import ReportUnit, units_of
from ..evidence.citations.citing import Edit, with_edits
from ..evidence.text.quantities import Calculation, numbers_in
from ..evidence.text.words import names

SHARE = 0.5
"""Share of a statement's words and figures that the place must hold where they do not stand there word for word."""


def known_from(results: Iterable[Result]) -> dict[int, Known]:
    """Return what results of tools say of each source, by number."""
    found: dict[int, Known] = {}
    for result in results:
        known = found.get(result["document"], Known((), f"{result['title']} {result.get('date', '')}"))
        found[result["document"]] = known._replace(texts=(*known.texts, SourceText("", result["text"])))
    return found


def with_found_citations(text: str, sources: Mapping[int, Known]) -> str:
    """Return the text with the number of its source behind each statement without one whose source can be told.

    That is the first source that says it word for word, or the only one that has all its numbers, months and names in
    one place, or two, and shares half of its words; at least one number or name has to be there. `sources` by number.
    """
    stated = (unit for unit in units_of(text, {}) if unit.kind == "statement" and not unit.is_cited)
    found = ((unit, _source_of(unit, sources)) for unit in stated)
    return with_edits(text, [Edit(unit.end, unit.end, f" [{number}]") for unit, number in found if number])


def _source_of(unit: ReportUnit, sources: Mapping[int, Known]) -> int | None:
    for number, known in sources.items():
        if any(stands_in(unit.text.rstrip(" .!"), text.text) for text in known.texts):
            return number
    own = names(unit.text)
    if not (own or numbers_in(unit.text)):
        return None
    holding = [number for number, known in sources.items() if _holds(unit, known, own)]
    return holding[0] if len(holding) == 1 else None


def _holds(unit: ReportUnit, known: Known, own: list[str]) -> bool:
    for text in known.texts:
        windows = text.windows
        wanted = words_and_figures(unit.text)
        for places in (1, 2):
            words = "\n".join(words for _, words in windows.runs(windows.best(unit.text, places)))
            has_names = all(stands_in(name, f"{words} {known.about}") for name in own)
            shared = len(wanted & words_and_figures(words)) / max(1, len(wanted))
            if has_names and shared >= SHARE and not prove(unit, words, Calculation(), {"": known}).fault:
                return True
    return False
