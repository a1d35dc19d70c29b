"""Finds the sources that the user excludes, and takes what rests on them alone out of everything
that models are shown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from ...state import ResearchState
from ..errors import UserMistake
from ..records import tool_names
from ..records.plan import Learning, Observation, StepOutcome
from ..records.report import CitingText, Draft, FinishedReport, Grade, Report
from ..records.research import Action, Calculation, Finding, Scope, by_calculation_number
from ..records.sources import Dispute, Source
from .checking.calculator import with_basis
from .checking.units import ReportUnit, report_units
from .citations.citing import Edit, name_of, with_edits, without_citations_of
from .citations.markers import (
    cited_calculations,
    marker_numbers,
    replace_markers,
    settle_fences,
    without_markers,
)
from .text.numbers import numbers_in
from .text.sentences import Sentence, sentences_of
from .text.words import tokens

_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_EMPTY_TABLE = re.compile(r"(?m)^[ \t]*\|[^\n]*\n[ \t]*\|[-:| \t]+\|?[ \t]*(?=\n\s*\n|\n?\Z)")
"""Matches a table's header without rows."""
_GONE = "\0"
"""Stands for a sentence that was taken out, until the text is tidied."""
_TRAILING = re.compile(rf"(?m)[ \t]*{_GONE}[ \t{_GONE}]*$")
_SMALLEST_FIGURE = 10
"""Whole numbers without a unit below this one, and years, are too common to tell where they come
from."""
_NO_VALUE = "–"
"""What a table's cell has in place of a value that was taken out."""
_JOINTS = (",", ";", ":", "–", "—")
"""What may stand between two clauses."""
_JOINT = re.compile(r"[ \t]*(?:[,;:–—][ \t]*)?")
"""Matches what follows a clause before the next one."""
_LIST_MARK = re.compile(r"[ \t]*(?:(?:[-*+•]|\d+[.)])[ \t]+)?")
"""Matches the beginning of a list item."""
_ENDS = (".", "!", "?")
_TAIL = re.compile(r"[.!?\s]*(?:\[[^\[\]]*\][.!?\s]*)+\Z")
"""Matches the citations at the end of a sentence, with its full stop."""
_LISTED = 20
"""Maximum number of sources that an error lists."""
_NAMED = 3
"""Maximum number of sources that a note names."""


class _UnknownSource(UserMistake):
    """No source of the thread has the name that the user gives."""


def named_sources(sources: Iterable[Source], names: Sequence[str]) -> list[Source]:
    """Return the sources that the user names by number, address, domain or file name, each once.

    Raises `UserMistake` for a name that no source has; the message lists the sources.
    """
    numbered = sorted(sources, key=lambda source: (not source.number, source.number))
    found = dict[str, Source]()
    for name in names:
        is_known = False
        for source in numbered:
            if _is_named(source, name):
                found[source.key] = source
                is_known = True
        if not is_known:
            raise _UnknownSource(f"No source of the run is {name!r}. {_listing(numbered)}")
    return list(found.values())


def _is_named(source: Source, name: str) -> bool:
    """Whether a name means this source: its number, address, domain or file name."""
    words = name.strip().strip("[]").strip()
    if words.isdecimal():
        return source.number == int(words)
    if source.kind == "web":
        host = (urlsplit(source.location).hostname or "").removeprefix("www.")
        domain = words.lower().removeprefix("www.")
        if domain and f".{host}".endswith(f".{domain}"):
            return True
    file_name = source.short_location.rpartition("/")[2]
    spellings = (source.address, source.location, source.short_location, source.title, file_name)
    return name_of(words) in map(name_of, filter(None, spellings))


def _listing(numbered: Sequence[Source]) -> str:
    """Return the numbered sources as a sentence."""
    shown = list[str]()
    for source in numbered[:_LISTED]:
        if source.number:
            shown.append(f"{source.number}: {source.shown_title}")
    if not shown:
        return "It has no sources yet."
    more = ", …" if len(numbered) > _LISTED else ""
    return f"Its sources: {', '.join(shown)}{more}. Name one by number, domain or file."


class TakenOut(NamedTuple):
    """What was taken out of a report with its sources."""

    statements: tuple[str, ...]
    """Without citations."""
    sources: tuple[str, ...]
    """Keys of the excluded sources that the report cites, itself or in its calculations."""
    is_in_part: bool = False
    """Whether part of a statement stays."""

    def note(self, sources: Mapping[str, Source], *, is_mended: bool) -> str:
        """Return a note on the statements; others may read it, so it does not repeat them. Empty if
        there are none.

        `sources` are those of the thread, by key; `is_mended` says whether the report was changed
        afterwards, so that it may have part of a statement again.
        """
        if not self.statements:
            return ""
        count = len(self.statements)
        titles = [f'"{sources[key].shown_title}"' for key in self.sources if key in sources]
        named = ", ".join(titles[:_NAMED])
        if len(titles) > _NAMED:
            named += f" and {len(titles) - _NAMED} more"
        support = f"the excluded {'source' if len(titles) == 1 else 'sources'} {named}".rstrip()
        what = "1 statement" if count == 1 else f"{count} statements"
        done = "was" if count == 1 else "were"
        changed = " or changed" if is_mended or self.is_in_part else ""
        return f"{what} that rested on {support} {done} taken out{changed}."


class ExcludedSources(NamedTuple):
    """The sources that the user excludes from a thread, and the thread without them."""

    keys: Collection[str]
    unproved: Mapping[str, str] = MappingProxyType({})
    """Words of the units that cite other sources as well, but that these do not support, with the
    passages of these that the check found for them."""

    def only_they_support(self, report: CitingText) -> TakenOut:
        """Return the statements of a report that only these sources support, at least in part."""
        parts = self._parts_of(report)
        statements = list[str]()
        for statement in parts.removed_text.splitlines():
            words = " ".join(replace_markers(statement, " ").split()).strip(" |")
            if words:
                statements.append(words.replace(" | ", ", "))
        return TakenOut(tuple(statements), tuple(self._keys_behind(report)), parts.is_in_part)

    def _keys_behind(self, text: CitingText) -> list[str]:
        """Return the keys of those sources that a text cites, itself or in its calculations."""
        behind = list(text.sources)
        for calculation in text.calculations:
            behind += calculation.sources
        return [key for key in dict.fromkeys(behind) if key in self.keys]

    def _parts_of(self, report: CitingText) -> _Parts:
        lost = _lost_calculations(report.calculations, self.keys)
        return _parts(report.text, report.keys, self.keys, lost, self.unproved)

    def have_part_in(self, text: CitingText) -> bool:
        """Whether a text cites one of these sources, or a calculation that rests on one."""
        keys = set(self.keys)
        is_citing = not keys.isdisjoint(text.sources)
        return is_citing or bool(_lost_calculations(text.calculations, keys))

    def with_unproved(self, words: Iterable[str], report: Report) -> ExcludedSources:
        """Return these sources with the `words` of units of a report that cite others as well, but
        that these do not support."""
        said = dict.fromkeys(words, "")
        for unit in report_units(report.text, report.keys):
            if unit.text in said:
                said[unit.text] = self._said_by_others(report, unit.start, unit.end)
        return self._replace(unproved=said)

    def part_left(self, unit: ReportUnit) -> str:
        """Return what stays of a unit; empty if nothing does."""
        return _part_left(unit, self.unproved)

    def with_lost_statements(self, report: Report, now: CitingText) -> ExcludedSources:
        """Return these sources with the statements of an earlier report that cite others as well,
        and that the report as it is now does not have."""
        keys = set(self.keys)
        present = {unit.text for unit in report_units(now.text, now.keys)}
        lost = list[str]()
        for unit in report_units(report.text, report.keys):
            is_mixed = not keys.isdisjoint(unit.sources) and not keys.issuperset(unit.sources)
            if is_mixed and unit.text not in present:
                lost.append(unit.text)
        return self.with_unproved(lost, report)

    def lost_topics(self, report: Report, remaining: str, wanted: ExcludedSources) -> list[str]:
        """Return, for each statement of a report that only these sources support, `wanted` ones
        among them, where it stood, of which kind it was, and what other sources that it cites say.

        Models may see this: it contains no word of the statement, and words around it only as far
        as the `remaining` text of the report still has them.
        """
        units = report_units(report.text, report.keys)
        by_start = dict[int, ReportUnit]()
        for unit in units:
            by_start[unit.start] = unit
        for unit in units:
            # Of a lost sentence or row, its first part.
            by_start.setdefault(unit.sentence_start, unit)
        left = _plain(remaining)
        wanted_calculations = _lost_calculations(report.calculations, wanted.keys)
        topics = list[str]()
        for start, raw in sorted(self._parts_of(report).removed):
            cited = set(map(report.keys.get, marker_numbers(raw)))
            calculated = set(cited_calculations(raw))
            is_wanted = not cited.isdisjoint(wanted.keys)
            is_wanted = is_wanted or not calculated.isdisjoint(wanted_calculations)
            if (cited or calculated) and not is_wanted:
                continue
            around = list[str]()
            section = ""
            for unit in units:
                if unit.kind == "heading" and unit.start < start:
                    section = unit.text
            if section and section in left:
                around.append(f'section "{section}"')
            if start in by_start:
                lost = by_start[start]
                rest = _rest_of_sentence(lost, units, left)
                around.append(_place_of(lost, by_start, left) or rest)
            said = self._said_by_others(report, start, start + len(raw))
            is_figure = not _values_in(raw) <= _values_in(said)
            topic = f"{', '.join(filter(None, around)) or 'the report'}: "
            topic += "a figure" if is_figure else "a statement"
            if said:
                topic += f', beside what other sources say: "{said}"'
            topics.append(topic)
        return topics

    def _said_by_others(self, report: Report, start: int, end: int) -> str:
        """Return the passages of other sources that the check of a report found for its claims
        between two offsets; empty if there are none."""
        quotes = dict[str, None]()
        for claim in report.claims:
            if claim.end <= start or claim.start >= end:
                continue
            for passage in claim.passages:
                if passage.verdict == "supported" and passage.source not in self.keys:
                    quotes[" ".join(passage.quote.split())] = None
        return " … ".join(filter(None, quotes))

    def taken_out_of_state(self, state: ResearchState) -> ResearchState:
        """Return the state as if these sources had not been read.

        Statements that only they support are taken out of findings, earlier reports and the
        orchestrator's transcript, as are learnings, disputes and calculations that rest on them,
        and uncited words with a figure that only such statements have. The user's own messages
        stay. What a source's number stands for does not change.
        """
        keys = {*self.keys} & state.sources.keys()
        if not keys:
            return state
        return _Remainder(state, keys, self.unproved).state()

    def taken_out_of_scope(self, scope: Scope, sources: Mapping[str, Source]) -> Scope:
        """Return a scope with the keys of these sources, and without them among the documents that
        models are told of; `sources` are those of the thread."""
        addresses = set[str]()
        for key in self.keys:
            if key in sources:
                addresses.add(sources[key].address)
        lines = list[str]()
        for line in scope.documents.split("\n"):
            if not any(address and address in line for address in addresses):
                lines.append(line)
        whole = tuple(address for address in scope.whole if address not in addresses)
        return scope.model_copy(
            update={"excluded": tuple(self.keys), "documents": "\n".join(lines), "whole": whole}
        )

    def taken_out_of_report(self, finished: FinishedReport) -> FinishedReport:
        """Return a finished report without what only these sources support, as unchecked, with a
        note on it."""
        report = _report_without(self, finished.report)
        if report == finished.report:
            return finished
        keys = frozenset(self.keys)
        sources = list[Source]()
        for source in finished.sources:
            if source.key not in keys:
                sources.append(source)
        disputes = list[Dispute]()
        for dispute in finished.contradictions:
            if keys.isdisjoint(dispute.sources):
                disputes.append(dispute)
        notes = finished.notes
        known = {source.key: source for source in finished.sources}
        note = self.only_they_support(finished.report).note(known, is_mended=False)
        if note:
            notes = (*notes, note)
        return finished.model_copy(
            update={
                "report": report,
                "sources": tuple(sources),
                "contradictions": tuple(disputes),
                "notes": notes,
            }
        )


def _place_of(unit: ReportUnit, by_start: Mapping[int, ReportUnit], left: str) -> str:
    """Return where a lost unit stood in its section, in words that are `left` of the report; empty
    if there are none. `by_start`: all units by their offsets."""
    if unit.kind == "cell":
        # Its row label and column header.
        named = unit.text.removesuffix(unit.raw_words).rstrip(": ")
        for name in named.split(", "):
            if not name or name not in left:
                return "a cell of a table"
        return f'the cell "{named}" of a table'
    if unit.table_start is not None:
        head = by_start.get(unit.table_start)
        if head and head.text in left:
            return f'a row of the table "{head.text}"'
        return "a row of a table"
    before = _plain(unit.before)
    return f'after "{before}"' if before and before in left else ""


def _rest_of_sentence(lost: ReportUnit, units: Sequence[ReportUnit], left: str) -> str:
    """Return what is `left` of the sentence of a lost clause, as a place; empty if nothing is."""
    rest = list[str]()
    # Where it began the sentence, what follows begins with a capital now.
    known = left.casefold()
    for unit in units:
        is_other = unit.sentence_start == lost.sentence_start and unit.start != lost.start
        if is_other and unit.text.casefold() in known:
            rest.append(unit.text)
    return f'beside "{" … ".join(rest)}"' if rest else ""


def _values_in(raw: str) -> set[float]:
    """Return the numbers that a text has beside its citations."""
    return {number.value for number in numbers_in(replace_markers(raw, " "))}


def _plain(text: str) -> str:
    """Return a text in one line without citations, as units have it."""
    return " ".join(without_markers(text).split())


class _Parts(NamedTuple):
    """A text, taken apart at the statements that only excluded sources support."""

    text: str
    """The text without these statements, and without citations of excluded sources."""
    removed: Sequence[tuple[int, str]]
    """The statements, each with its offset in the text after `settle_fences`."""
    cited: str
    """The sentences that cite other sources, as one text."""
    is_in_part: bool = False
    """Whether part of a removed statement stays in the text."""

    @property
    def removed_text(self) -> str:
        """The statements as one text."""
        return "\n".join(raw for _, raw in self.removed)


class _Remainder:
    """What remains of a thread's state without some sources."""

    def __init__(
        self, state: ResearchState, excluded: set[str], unproved: Mapping[str, str]
    ) -> None:
        self._state = state
        self._excluded = excluded
        self._unproved = unproved
        self._numbers = {source.number: source.key for source in state.sources.values()}
        self._numbers.pop(0, None)
        self._lost_calculations = _lost_calculations(state.calculations.values(), excluded)
        """Numbers of the calculations that rest on excluded sources."""
        removed = set[float]()
        known = set[float]()
        for finding in state.findings.values():
            parts = self._parts_of(finding)
            removed |= _figures(parts.removed_text)
            known |= _figures(parts.cited)
        for learning in state.learnings.values():
            if learning.source in excluded:
                removed |= _figures(learning.text)
            elif learning.source:
                known |= _figures(learning.text)
        self._lost = removed - known
        """Figures that only excluded sources state."""

    def state(self) -> ResearchState:
        """Return the state that remains."""
        state = self._state
        learnings = dict[str, Learning]()
        for key, learning in state.learnings.items():
            is_kept = learning.source not in self._excluded
            if is_kept and (learning.source or not self._has_lost(learning.text)):
                learnings[key] = learning
        memory = dict[str, Observation]()
        for key, observation in state.memory.items():
            if self._keeps(observation, learnings):
                memory[key] = observation
        calculations = dict(state.calculations)
        for number in self._lost_calculations:
            del calculations[f"calc {number}"]
        sources = dict(state.sources)
        for key in self._excluded:
            del sources[key]
        brief = state.brief
        found = set[str]()
        for action in brief.actions:
            found.update(action.found)
        if found & self._excluded:
            # The text of the first search cannot be told apart by sources.
            brief = brief.model_copy(update={"orientation": ""})
        return replace(
            state,
            messages=list(map(self._message, state.messages)),
            transcript=list(map(self._message, state.transcript)),
            findings={key: self._finding(found) for key, found in state.findings.items()},
            sources=sources,
            brief=brief,
            outcomes={key: self._outcome(outcome) for key, outcome in state.outcomes.items()},
            learnings=learnings,
            memory=memory,
            calculations=calculations,
            draft=self._draft(state.draft),
            report=self._report(state.report),
            base=self._report(state.base),
        )

    def _parts_of(self, finding: Finding) -> _Parts:
        if finding.numbered is not None:
            return self._parts(finding.numbered)
        return self._own_parts(finding)

    def _parts(self, text: str) -> _Parts:
        """Take a text with the thread's numbers apart."""
        lost = self._lost_calculations
        return _parts(text, self._numbers, self._excluded, lost, self._unproved)

    def _own_parts(self, finding: Finding) -> _Parts:
        """Take the text of a finding with its researcher's numbers apart."""
        local = dict(enumerate(finding.sources, 1))
        lost = _lost_calculations(finding.calculations, self._excluded)
        return _parts(finding.text, local, self._excluded, lost)

    def _finding(self, finding: Finding) -> Finding:
        text = self._own_parts(finding).text
        lost = _lost_calculations(finding.calculations, self._excluded)
        numbered = finding.numbered
        if numbered is not None:
            numbered = self._text(numbered)
        contradictions = list[object]()
        for dispute in finding.contradictions:
            if self._excluded.isdisjoint(dispute.sources):
                contradictions.append(dispute)
        missing = list[str]()
        for gap in finding.missing:
            if not self._has_lost(gap):
                missing.append(gap)
        return finding.model_copy(
            update={
                "text": self._without_lost(text),
                "numbered": numbered,
                "contradictions": tuple(contradictions),
                "missing": tuple(missing),
                "actions": tuple(map(self._action, finding.actions)),
                "calculations": _without_numbers(finding.calculations, lost),
            }
        )

    def _action(self, action: Action) -> Action:
        if action.tool != tool_names.CALCULATE:
            return action
        kept = tuple(line for line in action.inputs if not self._has_lost(line))
        return action.model_copy(update={"inputs": kept})

    def _keeps(self, observation: Observation, learnings: Mapping[str, Learning]) -> bool:
        """Whether an observation does not rest on excluded sources alone."""
        if observation.dispute:
            return self._excluded.isdisjoint(observation.dispute.sources)
        if observation.learnings and learnings.keys().isdisjoint(observation.learnings):
            return False
        return not self._has_lost(observation.text)

    def _outcome(self, outcome: StepOutcome) -> StepOutcome:
        iterations = list[object]()
        for iteration in outcome.iterations:
            verdicts = list[object]()
            for verdict in iteration.verdicts:
                if self._has_lost(verdict.reasoning):
                    verdict = verdict.model_copy(update={"reasoning": ""})
                verdicts.append(verdict)
            iterations.append(iteration.model_copy(update={"verdicts": tuple(verdicts)}))
        return outcome.model_copy(update={"iterations": tuple(iterations)})

    def _message(self, message: AnyMessage) -> AnyMessage:
        """Return a message without what rests on excluded sources; the user's stay as they are."""
        if not isinstance(message, AIMessage | ToolMessage) or not self._numbers:
            return message
        update: dict[str, object] = {"content": self._text(message.text)}
        if isinstance(message, AIMessage):
            calls = list[object]()
            for call in message.tool_calls:
                calls.append({**call, "args": self._arguments(call["args"])})
            update["tool_calls"] = calls
            kept = dict[str, object]()
            for name, value in message.additional_kwargs.items():
                if not isinstance(value, str) or not self._has_lost(value):
                    kept[name] = value
            update["additional_kwargs"] = kept
        return message.model_copy(update=update)

    def _arguments(self, arguments: Mapping[str, object]) -> dict[str, object]:
        kept = dict[str, object]()
        for name, value in arguments.items():
            kept[name] = self._text(value) if isinstance(value, str) else value
        return kept

    def _draft(self, draft: Draft | None) -> Draft | None:
        if draft is None or not ExcludedSources(self._excluded).have_part_in(draft):
            return draft
        kept = _without_keys(draft, self._excluded)
        return draft.model_copy(
            update={
                "text": self._text(draft.text),
                "sources": tuple(kept.values()),
                "numbers": tuple(kept),
                "calculations": _without_numbers(draft.calculations, self._lost_calculations),
            }
        )

    def _report(self, report: Report | None) -> Report | None:
        excluded = ExcludedSources(self._excluded, self._unproved)
        if report is None or not excluded.have_part_in(report):
            return report
        return _report_without(excluded, report, self._without_lost)

    def _text(self, text: str) -> str:
        """Return what remains of a text with the thread's source numbers."""
        return self._without_lost(self._parts(text).text)

    def _without_lost(self, text: str) -> str:
        """Return a text without its uncited sentences and clauses that have a lost figure."""
        edits = list[Edit]()
        mixed = set[int]()
        for sentence in sentences_of(text):
            if not self._has_lost(sentence.raw):
                continue
            if sentence.numbers:
                mixed.add(sentence.start)
            else:
                edits.append(_removal(sentence))
        of_sentence = defaultdict[int, list[ReportUnit]](list)
        if mixed:
            for unit in report_units(text, self._numbers):
                of_sentence[unit.sentence_start].append(unit)
        for start in mixed:
            units = of_sentence[start]
            lost = [unit for unit in units if not unit.sources and self._has_lost(unit.raw)]
            edits += _removals(lost, units, text)
        if not edits:
            return text
        return _tidied(with_edits(settle_fences(text), edits))

    def _has_lost(self, text: str) -> bool:
        return not self._lost.isdisjoint(_figures(text))


def _report_without(
    excluded: ExcludedSources, report: Report, clean: Callable[[str], str] = str
) -> Report:
    """Return a report without what only excluded sources support, as unchecked; `clean` is applied
    to its text."""
    kept = _without_keys(report, excluded.keys)
    lost = _lost_calculations(report.calculations, excluded.keys)
    if len(kept) == len(report.sources) and not lost:
        return report
    parts = excluded._parts_of(report)
    text = clean(parts.text)
    grades = list[Grade]()
    # The audit goes, but what the report leaves open stays open.
    for grade in report.all_grades:
        if clean(grade.requirement) != grade.requirement:
            continue
        if parts.removed and grade.verdict == "answered":
            # What answered it may be gone.
            grade = grade.model_copy(update={"verdict": "not judged"})
        grades.append(grade)
    return report.model_copy(
        update={
            "grades": tuple(grades),
            "follow_ups": (),
            "text": text,
            "calculations": _without_numbers(report.calculations, lost),
            "sources": tuple(kept.values()),
            "numbers": tuple(kept),
            # Their offsets are those of the whole text.
            "claims": (),
            "verdicts": (),
            "audit": None,
        }
    )


def _without_keys(text: CitingText, excluded: Collection[str]) -> dict[int, str]:
    """Return the keys of a text's sources by number, without the excluded ones."""
    return {number: key for number, key in text.keys.items() if key not in excluded}


def _lost_calculations(calculations: Iterable[Calculation], excluded: Collection[str]) -> set[int]:
    """Return the numbers of the calculations that rest on excluded sources, also through others."""
    known = by_calculation_number(calculations)
    lost = set[int]()
    for number in known:
        for behind in with_basis([number], known):
            for used in behind.inputs:
                if used.source in excluded:
                    lost.add(number)
    return lost


def _without_numbers(
    calculations: Iterable[Calculation], lost: Collection[int]
) -> tuple[Calculation, ...]:
    """Return the calculations that have none of these numbers."""
    kept = by_calculation_number(calculations)
    for number in lost:
        kept.pop(number, None)
    return tuple(kept.values())


def _parts(
    text: str,
    keys: Mapping[int, str],
    excluded: Collection[str],
    lost_calculations: Collection[int] = (),
    unproved: Mapping[str, str] = MappingProxyType({}),
) -> _Parts:
    """Take a text apart; `keys` are the sources' keys by the numbers that it cites. What cites one
    of the `lost_calculations` is removed too, and units with the words of `unproved` ones that cite
    excluded sources beside others; see `ExcludedSources.unproved`."""
    numbers = {number for number, key in keys.items() if key in excluded}
    lost = set(lost_calculations)
    excluded_keys = set(excluded)
    if numbers.isdisjoint(marker_numbers(text)) and lost.isdisjoint(cited_calculations(text)):
        return _Parts(text, (), text)
    settled = settle_fences(text)
    removed = list[tuple[int, str]]()
    cited = list[str]()
    is_in_part = False
    edits = list[Edit]()
    of_sentence = dict[int, list[ReportUnit]]()
    for unit in report_units(text, keys):
        of_sentence.setdefault(unit.sentence_start, []).append(unit)
    for sentence in sentences_of(text):
        units = of_sentence.get(sentence.start, [])
        if any(unit.kind == "head" for unit in units):
            # Its citations go; what cites nothing else then are the cells below it.
            continue
        is_row = any(unit.kind == "cell" for unit in units)
        own = set(sentence.numbers)
        is_calculated = not lost.isdisjoint(cited_calculations(sentence.raw))
        if not is_row and own.isdisjoint(numbers) and not is_calculated:
            if own:
                cited.append(sentence.raw)
            continue
        taken = list[ReportUnit]()
        others = list[ReportUnit]()
        for unit in units:
            is_lost = not lost.isdisjoint(unit.calculations)
            if not unit.sources and not is_lost:
                continue
            is_mixed = not excluded_keys.isdisjoint(unit.sources)
            is_lost = is_lost or excluded_keys.issuperset(unit.sources)
            if is_lost or (is_mixed and unit.text in unproved):
                taken.append(unit)
            else:
                others.append(unit)
        is_whole = not is_row and own <= numbers
        if is_row or len(taken) == len(units):
            is_whole = bool(taken) and not others
        if is_whole:
            removed.append((sentence.start, sentence.raw))
            edit = _removal(sentence)
            shorter = _part_left(units[0], unproved) if len(units) == 1 else ""
            if shorter:
                is_in_part = True
                cited.append(shorter)
                edit = Edit(units[0].start, units[0].end, shorter)
            if is_row:
                # With its line break, since an empty line would end the table.
                edit = Edit(max(0, sentence.start - 1), edit.end, "")
            edits.append(edit)
            continue
        cited += [unit.raw for unit in others]
        for unit in taken:
            removed.append((unit.start, unit.raw))
        edits += _removals(taken, units, settled)
    remaining = without_citations_of(with_edits(settled, edits), numbers)
    return _Parts(_tidied(remaining), removed, "\n".join(cited), is_in_part)


def _part_left(unit: ReportUnit, unproved: Mapping[str, str]) -> str:
    """Return what stays of a unit, by `ExcludedSources.unproved`: the rest of a whole sentence if
    others do not support an insertion only. Empty if nothing stays."""
    said = unproved.get(unit.text, "")
    is_sentence = unit.kind == "statement" and not unit.around
    return _without_insertion(unit.raw, said) if said and is_sentence else ""


def _without_insertion(raw: str, said: str) -> str:
    """Return a sentence without the words between two commas that passages do not have: "Brack, the
    largest rival, sued" if they say that "Brack sued". Empty if that is not all that they lack, or
    if they do not have the words on both sides of the gap next to each other."""
    tail = _TAIL.search(raw)
    body = raw[: tail.start()] if tail else raw
    known = set(tokens(said))
    pieces = body.split(", ")
    lacking = list[int]()
    for index, piece in enumerate(pieces):
        if not known.issuperset(tokens(piece)):
            lacking.append(index)
    if len(lacking) != 1 or marker_numbers(body) or cited_calculations(body):
        return ""
    [index] = lacking
    before, after = ", ".join(pieces[:index]), ", ".join(pieces[index + 1 :])
    if not before or not after:
        return ""
    seam = f"{before.split()[-1]} {after.split()[0]}"
    if f" {seam} " not in f" {' '.join(said.split())} ":
        return ""
    return f"{before} {after}{raw[len(body) :]}"


def _removal(sentence: Sentence) -> Edit:
    return Edit(sentence.start, sentence.start + len(sentence.raw), _GONE)


def _removals(taken: Collection[ReportUnit], units: Sequence[ReportUnit], text: str) -> list[Edit]:
    """Return the removals of some `units` of a sentence, with the signs that joined them to it."""
    spans = list[tuple[int, int]]()
    edits = list[Edit]()
    is_next = False
    for unit in units:
        if unit not in taken:
            is_next = False
        elif unit.kind == "cell":
            edits.append(Edit(unit.start, unit.end, _NO_VALUE))
        else:
            if is_next:
                spans[-1] = (spans[-1][0], unit.end)
            else:
                spans.append((unit.start, unit.end))
            is_next = True
    for start, end in spans:
        edits.append(_removal_of_clauses(start, end, units[0].sentence_start, text))
    return edits


def _removal_of_clauses(start: int, end: int, sentence_start: int, text: str) -> Edit:
    """Return the removal of the clauses between two offsets. What comes before the last ones ends
    the sentence, what comes after the first ones begins it, and others leave one joint behind."""
    before = text[:start].rstrip()
    ending = text[:end].rstrip()[-1]
    if before.endswith(_JOINTS) and ending in _ENDS:
        return Edit(len(before) - 1, end, ending)
    if before.endswith("(") and text.startswith(")", end):
        return Edit(len(before[:-1].rstrip()), end + 1, "")
    joint = _JOINT.match(text, end)
    following = joint.end() if joint else end
    if not text[sentence_start:start].strip():
        mark = _LIST_MARK.match(text, start)
        first = text[following : following + 1].upper()
        return Edit(mark.end() if mark else start, following + 1, first)
    if before.endswith(_JOINTS):
        return Edit(start, following, "")
    return Edit(start, end, "")


def _tidied(text: str) -> str:
    """Return a text without the spaces, empty lines and tables that statements have left behind."""
    text = _TRAILING.sub("", text).replace(f"{_GONE} ", "").replace(_GONE, "")
    return _BLANK_LINES.sub("\n\n", _EMPTY_TABLE.sub("", text)).strip("\n")


def _figures(text: str) -> set[float]:
    """Return the figures in a text by which statements can be told apart."""
    figures = set[float]()
    for number in numbers_in(text):
        is_common = number.is_year or number.is_name
        is_small = not number.measure and number.value < _SMALLEST_FIGURE and number.step >= 1
        if not is_common and not is_small:
            figures.add(number.value)
    return figures
