"""Adds missing citations to statements that a source makes verbatim, or with the same numbers and names.

Small models often state what a source says but omit its number, which would make every statement unsupported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...tools.results import Result
from ..evidence.checking.proof import Known, prove, stands_in
from ..evidence.checking.source_text import SourceText, words_and_figures
from ..evidence.checking.units import ReportUnit, report_units
from ..evidence.citations.citing import Edit, with_edits
from ..evidence.text.quantities import Calculation, numbers_in
from ..evidence.text.words import names

_SHARE = 0.5
"""Minimum share of a statement's words and figures in a passage that does not match verbatim."""


def known_from(results: Iterable[Result]) -> dict[int, Known]:
    """Return the texts of tool results, by source number."""
    found: dict[int, Known] = {}
    for result in results:
        known = found.get(result["document"], Known((), f"{result['title']} {result.get('date', '')}"))
        found[result["document"]] = known._replace(texts=(*known.texts, SourceText("", result["text"])))
    return found


def with_found_citations(text: str, sources: Mapping[int, Known]) -> str:
    """Cite the source of each uncited statement whose source can be identified; `sources` by number.

    That is the first source with a verbatim match, or the only source that has all of the statement's numbers, months
    and names and half of its words in one or two windows. A statement without numbers and names needs a verbatim match.
    """
    stated = (unit for unit in report_units(text, {}) if unit.kind == "statement" and not unit.is_cited)
    found = ((unit, _source_of(unit, sources)) for unit in stated)
    return with_edits(text, [Edit(unit.end, unit.end, f" [{number}]") for unit, number in found if number])


def _source_of(unit: ReportUnit, sources: Mapping[int, Known]) -> int | None:
    """Return the number of the source that states a unit; None if there is none, or no single one."""
    for number, known in sources.items():
        if any(stands_in(unit.text.rstrip(" .!"), text.text) for text in known.texts):
            return number
    own_names = names(unit.text)
    if not (own_names or numbers_in(unit.text)):
        return None
    matching = [number for number, known in sources.items() if _says(known, unit, own_names)]
    return matching[0] if len(matching) == 1 else None


def _says(known: Known, unit: ReportUnit, own_names: list[str]) -> bool:
    """Whether one or two windows of a source's text prove a unit and have its names and half of its words."""
    wanted = words_and_figures(unit.text)
    for text in known.texts:
        windows = text.windows
        for most in (1, 2):
            words = "\n".join(words for _, words in windows.joined(windows.best(unit.text, most)))
            has_names = all(stands_in(name, f"{words} {known.about}") for name in own_names)
            shared = len(wanted & words_and_figures(words)) / max(1, len(wanted))
            if has_names and shared >= _SHARE and not prove(unit, words, Calculation(), {"": known}).fault:
                return True
    return False
