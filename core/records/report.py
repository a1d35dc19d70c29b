"""Records of a report: its draft, its claims with the passages they cite, the calculations behind
its figures, and the audit of report and run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Literal

from .research import Action, Calculation, Run
from .sources import Dispute, NotRead, Record, Source
from .table import RowBlanks, TableColumn

SupportVerdict = Literal["supported", "unchecked", "unsupported"]
ClaimVerdict = Literal["supported", "unchecked", "unsupported", "uncited"]
JudgeGrade = Literal["unsound", "quotations", "reasoning"]
"""How far a verifier's model can be trusted.

`unsound`: it cannot tell right statements from wrong ones; `quotations`: it can, where sources say
them in words; `reasoning`: also where they follow by calculation or inference.
"""
DecidedBy = Literal["", "quotation", "passages", "calculation", "judge"]
"""What a verdict rests on: a verbatim quotation, quoted passages, calculations with figures of
these, or a model's judgement that code did not prove; empty if nothing was decided."""
Repair = Literal["rewritten", "cited anew", "hedged"]
VersionKind = Literal["research", "question", "edit", "revert", "answer"]
"""How a finished report came about.

`research`: the thread's first; `question`: a later research; `edit`: the user had the report
changed; `refresh`: its sources were read again; `revert`: an earlier version was put back;
`answer`: no version of the report, but a short answer about it.
"""
_CITATION = re.compile(r"\[(?:calc )?[\d, ]+\]")


def word_count(text: str) -> int:
    """Return the number of words in a text, including headings and tables but not citations."""
    count = 0
    for word in _CITATION.sub("", text).split():
        if any(map(str.isalnum, word)):
            count += 1
    return count


_LENGTH_TOLERANCE = 0.1
"""Share by which a draft may be longer or shorter than asked."""


class Grade(Record):
    """Whether a report's draft meets a checklist requirement."""

    requirement: str
    """The checklist item."""
    verdict: Literal["answered", "partly", "not answered", "not judged"]
    """How fully the draft answers it; what the draft calls unknown counts as not answered, and what
    the model gave no grade as not judged."""
    missing: str = ""
    """What the draft lacks, in a few words for the reader; empty if answered."""
    task: str = ""
    """A self-contained research task that would answer it; empty if researchers have already
    searched in vain, or no research can answer it."""
    is_found: bool = False
    """Whether the findings already answer what the draft leaves open, so that it needs no further
    research."""
    is_unasked: bool = False
    """Whether it is no item of the checklist, but a gap that the report before an edit leaves."""

    @property
    def is_open(self) -> bool:
        """Whether the draft is known not to answer it, or only partly."""
        return self.verdict in ("partly", "not answered")


class CitingText(Record):
    """A text with citation markers, and the sources that it cites."""

    text: str
    """Its body in Markdown, with markers `[n]`; in a draft also `[0]` where a citation named no
    existing source."""
    sources: tuple[str, ...]
    """Keys of the cited sources, in the order of their numbers."""
    numbers: tuple[int, ...]
    """Their numbers in the thread, in the same order."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations that it cites, such as `[calc 2]`, and those that these rest on, by
    number."""
    fewest_words: int = 0
    """The fewest words that the user asks for, or about how many; 0 if nobody named a length."""
    most_words: int = 0
    """The most words that the user asks for, or about how many; 0 if nobody named a length."""
    columns: tuple[TableColumn, ...] = ()
    """The columns of its table, if its rows were researched (table strategy)."""
    blanks: tuple[RowBlanks, ...] = ()
    """Where the empty cells of that table were looked for."""

    @property
    def keys(self) -> dict[int, str]:
        """Keys of its sources, by the number in the text."""
        return dict(zip(self.numbers, self.sources, strict=True))

    def cites_any(self, keys: Iterable[str]) -> bool:
        """Whether one of the sources with these keys is among its sources."""
        return not set(self.sources).isdisjoint(keys)

    def cited(self, sources: Mapping[str, Source]) -> list[Source]:
        """Return its sources with `number` set to their number in this text; `sources`: the
        thread's, by key."""
        cited = list[Source]()
        for number, key in self.keys.items():
            cited.append(sources[key].model_copy(update={"number": number}))
        return cited


class Draft(CitingText):
    """A report as the writer's model wrote it, before its statements are checked."""

    streamed: str
    """The body as it was streamed to clients, with the same numbers."""
    streamed_sources: tuple[str, ...]
    """Keys of the sources that the streamed text cited."""
    removed_markers: int
    """Number of markers that were removed because they named no existing source."""
    grades: tuple[Grade, ...] = ()
    """Grades of the checklist items, in order; empty until graded."""
    rounds: int = 0
    """Number of research rounds on open items."""
    named_disputes: tuple[tuple[str, str], ...] = ()
    """Claims of the disputes of which the editor found both sides in its text, or which do not bear
    on the request."""
    named_gaps: tuple[str, ...] = ()
    """Open questions that, as the editor found, its text itself says are unknown."""
    findings: tuple[str, ...] = ()
    """Ids of the findings that it was written from."""
    follow_ups: tuple[str, ...] = ()
    """Questions that the reader may ask next, as the editor words them; see `Report.follow_ups`."""
    title: str = ""
    """The title that the model wrote above its text; empty if it wrote none."""
    foreword: str = ""
    """Words of the publisher above the report, such as a disclaimer: plain text, which is shown as
    theirs and not checked."""
    afterword: str = ""
    """The same, below the report."""
    kept: tuple[str, ...] = ()
    """References to the stored verdicts on statements that were judged ahead of the check."""
    judge_calls: int = 0
    """How many calls to the verifier's model were made for them."""
    quotations: str = ""
    """Reference to the stored `CellQuotations` of its table; empty if it has none."""

    @property
    def words(self) -> int:
        """Its word count, including headings and tables but not citations."""
        return word_count(self.text)

    @property
    def surplus_words(self) -> int:
        """By how many words it is longer than the request asks for; negative: for how many it has
        room; 0 if the request names no length."""
        return self.words - self.most_words if self.most_words else 0

    @property
    def length_fault(self) -> str:
        """How its length differs from what the request asks for, in a sentence; empty if it does
        not, by more than a tenth."""
        has = f"The report has {self.words} words, tables and headings included"
        if self.most_words and self.words > self.most_words * (1 + _LENGTH_TOLERANCE):
            return f"{has}; the request asks for {self.most_words}."
        if self.fewest_words and self.words < self.fewest_words * (1 - _LENGTH_TOLERANCE):
            return f"{has}; the request asks for {self.fewest_words}."
        return ""

    @property
    def open_grades(self) -> list[Grade]:
        """Grades of the items that it does not answer or answers only partly."""
        return [grade for grade in self.grades if grade.is_open]


class CitedPassage(Record):
    """The passage of a cited source that best supports a claim."""

    source: str
    """Key of the source."""
    verdict: SupportVerdict
    """Whether the passage supports the claim; `unchecked` if that could not be decided."""
    quote: str
    """The passage, verbatim; empty if the text of the source is not stored."""
    start: int
    """Offset of its first character in the text of the source."""
    end: int
    """Offset after its last character."""
    content_hash: str
    """SHA-256 (hex) of the text in the store; empty if there is no text."""
    page: int = 0
    """Document page on which it begins, from 1; 0 if the text has no page breaks."""
    printed_page: str = ""
    """The page number printed on that page; empty if unknown or equal to `page`."""
    reasons: tuple[str, ...] = ()
    """Reasons why it does not support the claim, worded for the reader."""
    judge: str = ""
    """Name of the model that gave the verdict; empty if no model did."""


class ClaimCheck(Record):
    """A claim of the report and the result of its check."""

    start: int
    """Offset of its first character in the text of the report."""
    end: int
    """Offset after its last character, markers included."""
    verdict: ClaimVerdict
    """The overall verdict; `uncited`: it contains numbers but cites no source."""
    passages: tuple[CitedPassage, ...] = ()
    """One passage for each source that it cites, in the order of the markers."""
    independent: int = 0
    """Number of organisations that support it; organisations that reprint the same text count
    once."""
    repair: Repair | None = None
    """How the check changed it; None if it is as the writer wrote it."""
    is_marked: bool = False
    """Whether the report marks it as not verified."""


PASSAGE_GAP = " … "
"""Between the words of several passages in a verdict."""
Shown = Literal["supported", "corrected", "marked", "not_verified", "reasoning"]
"""The status of a unit as shown to readers; `reasoning` needs no source."""


class UnitVerdict(Record):
    """The check's result for a unit of the draft: a heading, clause, sentence or cell."""

    text: str
    """Its text; for a cell, with row label and column header."""
    shown: Shown
    """`marked`: sources contradict or do not mention it; `not_verified`: nothing proves it."""
    words: str = ""
    """The words of the sources that decided the verdict; may be empty."""
    source: str = ""
    """Key of the source of the first of these words."""
    after: str = ""
    """If it was corrected: its text afterwards; empty if it was taken out."""
    reason: str = ""
    """If it was corrected, is marked or not verified: why, for the reader; may be empty."""
    is_contradicted: bool = False
    """Whether it is marked because the sources say something else."""
    decided_by: DecidedBy = ""
    """What the verdict rests on; empty if nothing was decided."""
    calculations: tuple[Calculation, ...] = ()
    """The calculations from which its figures follow."""


class Audit(Record):
    """Statistics on a finished report and its run."""

    checked: int
    """Number of units in the draft: headings, clauses, sentences, table cells; broken down in the
    next five fields."""
    supported: int
    """Units supported by sources."""
    corrected: int
    """Units that were wrong and were corrected."""
    marked: int
    """Units marked as not verified: sources contradict or do not mention them."""
    not_verified: int
    """Unproved units without a mark: no model has judged them, or its judgement is unreliable."""
    reasoning: int
    """Units that need no source: conclusions, statements that something is missing, headings that
    name a subject."""
    removed_markers: int
    """Citations removed because they named no existing source."""
    corrected_markers: int = 0
    """Citations of findings that named another source than the one that states it, and were
    corrected."""
    sources_read: int
    """Sources whose text was read for this question."""
    sources_cited: int
    """Sources that the report cites."""
    independent_sources: int
    """Organisations of the cited sources; organisations that reprint the same text count once."""
    excerpts_cited: int = 0
    """Cited sources for which only a search excerpt was read."""
    reprints: tuple[tuple[str, ...], ...] = ()
    """Groups of cited sources (keys) with nearly the same text."""
    judge_grade: JudgeGrade | None = None
    """How far the model that judged the report can be trusted; None if none has judged any of
    it."""
    disagreements: tuple[Dispute, ...] = ()
    """Disputes between sources."""
    open_gaps: tuple[str, ...] = ()
    """What the report leaves open: checklist items, what was declared as not found, parts of the
    question that it leaves out."""
    unfinished: tuple[str, ...] = ()
    """What was not researched to the end, and why; one note each."""
    not_read: tuple[NotRead, ...] = ()
    """Pages and files that could not be read."""
    model_calls: int
    """Model calls up to the audit."""
    input_tokens: int
    """Input tokens of these calls."""
    output_tokens: int
    """Output tokens of these calls."""
    usd: float
    """Cost in US dollars, as far as known."""
    seconds: float
    """Active seconds of the run."""
    failures: tuple[str, ...] = ()
    """Failures during the check, as clients were told."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """All that is missing, as status, notes and exports count it."""
        return (*self.open_gaps, *self.unfinished)

    @property
    def was_judged(self) -> bool:
        """Whether a model that can be trusted judged the report; if not, its figures and quotations
        were looked up at most."""
        return self.judge_grade in ("quotations", "reasoning")


class Brief(Record):
    """Results of the nodes that run before the plan is written."""

    orientation: str = ""
    """SHA-256 (hex) of the results of the broad search of `orient`, in the store; empty if there
    are none."""
    actions: tuple[Action, ...] = ()
    """The tool calls of that search."""
    summary: str = ""
    """Summary of the conversation."""
    queries: tuple[str, ...] = ()
    """Search queries for a question answered from one search; if empty, the question itself is the
    query."""
    instruction: str = ""
    """What is to change in the thread's report, in the user's words; empty if the clarifier's model
    was not asked or the run is no edit."""
    began: float = 0.0
    """Active seconds of the run when planning began; earlier time does not count towards the time
    limit."""


class Report(CitingText):
    """The report of one question."""

    title: str = ""
    """Its title if the check corrected that, or an earlier version was put back; else empty, and
    that of the draft stands, or of the plan."""
    is_title_marked: bool = False
    """Whether the title is marked as not verified."""
    claims: tuple[ClaimCheck, ...] = ()
    """Its checked claims; empty if not checked."""
    verdicts: tuple[UnitVerdict, ...] = ()
    """The check's result for each unit of the draft."""
    audit: Audit | None = None
    """Statistics on it and its run; None if not checked."""
    grades: tuple[Grade, ...] = ()
    """Grades of the checklist items, as of the last draft; empty if there is no checklist."""
    follow_ups: tuple[str, ...] = ()
    """Questions that the reader may ask next, at most three; empty if the editor worded none."""
    outline_deviations: tuple[str, ...] = ()
    """How its headings differ from the outline in the settings; one sentence each."""
    house_words: tuple[str, ...] = ()
    """The parts of its text that are the publisher's own words, as they stand there: foreword and
    afterword of the draft."""
    kept: str = ""
    """SHA-256 (hex) of verdicts with all that they rest on, in the store, with which the thread's
    next check starts: its own, or earlier ones if no model that can be trusted judged it; empty if
    there are none."""

    @property
    def calculations_of_judge(self) -> dict[str, list[Calculation]]:
        """The distinct calculations of the judge behind its figures, in their order, by the
        statement that first rests on each; without those that repeat one that its text cites."""
        shown = set[str]()
        by_statement: dict[str, list[Calculation]] = {}
        for verdict in self.verdicts:
            for calculation in verdict.calculations:
                is_cited = any(map(calculation.repeats, self.calculations))
                if calculation.line not in shown and not calculation.number and not is_cited:
                    by_statement.setdefault(calculation.name, []).append(calculation)
                shown.add(calculation.line)
        return by_statement

    @property
    def all_grades(self) -> tuple[Grade, ...]:
        """Its grades, and one for each further gap that it leaves open, also if that is no item of
        a checklist."""
        grades = list(self.grades)
        known = set(self.outline_deviations)
        for grade in grades:
            known.add(grade.missing or grade.requirement)
        for gap in self.audit.open_gaps if self.audit else ():
            if gap not in known:
                grades.append(Grade(requirement=gap, verdict="not answered", is_unasked=True))
        return tuple(grades)

    @property
    def points(self) -> list[Grade]:
        """Its grades for items of the checklist."""
        return [grade for grade in self.grades if not grade.is_unasked]

    @property
    def checked_text(self) -> str:
        """Its text without the publisher's own words."""
        text = self.text
        for block in self.house_words:
            text = text.removeprefix(block).removesuffix(block)
        return text.strip("\n") if self.house_words else text


class FinishedReport(Record):
    """A finished report with all that is printed and exported with it; it stays the same when the
    thread goes on."""

    title: str
    """Its title; may be empty."""
    run: Run
    """The run that wrote it, as it ended."""
    report: Report
    sources: tuple[Source, ...]
    """The sources of its text, of `contradictions` and of its calculations, as they were read for
    it."""
    notes: tuple[str, ...]
    """The notes below it."""
    contradictions: tuple[Dispute, ...]
    """Disputes between its sources that its text does not name; a table below it does."""
    left_out: tuple[str, ...]
    """Parts of the question that it leaves out."""
    was_researched: bool
    """Whether the thread had any source, cited or not."""

    @property
    def cited(self) -> list[Source]:
        """The sources that its text, its table of disputes or its calculations cite, ordered by
        number."""
        sources = {source.key: source for source in self.sources}
        cited = {source.key: source for source in self.report.cited(sources)}
        others = list[str]()
        for dispute in self.contradictions:
            others += dispute.sources
        for calculation in self.report.calculations:
            others += calculation.sources
        for key in others:
            if key in sources and sources[key].number:
                cited.setdefault(key, sources[key])
        return sorted(cited.values(), key=lambda source: source.number)


class Version(Record):
    """A finished report of a thread: a version of its report, or a short answer about it."""

    number: int
    """Its number, from 1; answers have numbers of their own."""
    kind: VersionKind
    title: str
    """Title of the report; without one, the beginning of the question."""
    date: str
    """When it was finished (ISO 8601); only the day if an earlier version of the code stored the
    report."""
    content: str
    """SHA-256 (hex) of the `FinishedReport` in the thread's store; empty if only the state has
    it."""
    question_id: str
    """Id of the question that it ended."""
    restores: int = 0
    """If it was put back: the number of the version whose text it has; else 0."""

    @property
    def is_answer(self) -> bool:
        """Whether it is an answer about the report."""
        return self.kind == "answer"

    @property
    def name(self) -> str:
        """Its name for users, unique in its thread: `version 2`, `answer 1`."""
        return f"{'answer' if self.is_answer else 'version'} {self.number}"

    @property
    def listed(self) -> dict[str, object]:
        """What clients are told of it."""
        return self.model_dump(exclude={"content"})
