"""A report: its draft, the claims in it with the passages behind them, and the audit of the run."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from .research import Action
from .sources import NotRead, Record, Source

SupportVerdict = Literal["supported", "unchecked", "unsupported"]
ClaimVerdict = Literal["supported", "unchecked", "unsupported", "uncited"]
Repair = Literal["rewritten", "cited anew", "hedged"]


_CITATION = re.compile(r"\[[\d, ]+\]")


class Grade(Record):
    """Whether the draft of a report meets a requirement of the checklist."""

    requirement: str
    """The item of the checklist."""
    verdict: Literal["answered", "partly", "not answered"]
    """How much of it the draft says; what the draft says to be unknown counts as not answered."""
    missing: str = ""
    """What the draft lacks of it, in a few words for the reader; empty if it is answered."""
    task: str = ""
    """What is to be found out, in words that can be understood alone; empty if researchers have looked for it in vain,
    or no research can supply it."""
    is_found: bool = False
    """Whether findings hold what the draft leaves open of it."""


class CitingText(Record):
    """A text with markers, and the sources that these name."""

    text: str
    """Its body, with bare markers `[n]`; in a draft also `[0]` where a citation named no source."""
    sources: tuple[str, ...]
    """Keys of the cited sources, in the order of their numbers."""
    numbers: tuple[int, ...] = ()
    """Their numbers in the thread; empty: 1, 2, 3 and so on, as reports were numbered before."""

    @property
    def keys(self) -> dict[int, str]:
        """The keys of its sources by their numbers."""
        return dict(zip(self.numbers or range(1, len(self.sources) + 1), self.sources, strict=True))

    def cited(self, sources: Mapping[str, Source]) -> list[Source]:
        """Return its sources, each with its number; `sources` by key."""
        return [sources[key].model_copy(update={"number": number}) for number, key in self.keys.items()]


class Draft(CitingText):
    """A report as its writer wrote it, before it is checked."""

    streamed: str
    """The body as it was streamed, with the same numbers."""
    streamed_sources: tuple[str, ...]
    """Keys of the sources that were cited in it."""
    removed_markers: int
    """Markers that named no source and were removed."""
    has_gaps: bool
    """Whether research has left something open or out."""
    grades: tuple[Grade, ...] = ()
    """How it meets the checklist, in the order of its items; empty until it is graded."""
    is_graded: bool = False
    """Whether `grades` are those of this text."""
    rounds: int = 0
    """Times that something was to be added to it."""
    is_lacking: bool = False
    """Whether something is about to be added to it."""
    findings: tuple[str, ...] = ()
    """Ids of the findings that it was written from."""

    @property
    def words(self) -> int:
        """How many words it has, those of headings and tables included, without citations."""
        return sum(any(map(str.isalnum, word)) for word in _CITATION.sub("", self.text).split())

    @property
    def open_grades(self) -> list[Grade]:
        """Grades of the items that it does not answer, or only in part."""
        return [grade for grade in self.grades if grade.verdict != "answered"]


class CitedPassage(Record):
    """The best passage that one source has for one sentence."""

    source: str
    """Key of the source."""
    verdict: SupportVerdict
    """How well the passage supports the sentence."""
    quote: str
    """The passage, verbatim; empty if the text of the source is not kept."""
    start: int
    """Where it begins in the text, in characters."""
    end: int
    """Where it ends."""
    content_hash: str
    """SHA-256 (hex) of the text in the store; empty if there is none."""
    page: int = 0
    """Page of the document on which it begins, from 1; 0 if the text has no pages, or one."""
    printed_page: str = ""
    """What the page bears as its number; empty if that is `page`, or not known."""
    reasons: tuple[str, ...] = ()
    """What speaks against the passage, in words for the reader."""
    judge: str = ""
    """Name of the model that gave the verdict; empty if none did."""


class ClaimCheck(Record):
    """A sentence of the report that claims something, and what was found about it."""

    start: int
    """Where it begins in the text of the report, in characters."""
    end: int
    """Where it ends, its markers included."""
    verdict: ClaimVerdict
    """That of all its passages together; `uncited`: it has figures and names no source."""
    passages: tuple[CitedPassage, ...] = ()
    """One for each source that it cites, in the order of its markers."""
    independent: int = 0
    """Organisations whose sources support it; those with reprints of one text count once."""
    repair: Repair | None = None
    """How it was repaired; none if it stands as it was written."""
    is_marked: bool = False
    """Whether the report says behind it that it is not verified."""


Shown = Literal["supported", "corrected", "marked", "not_verified", "reasoning"]
"""What a reader is shown of a unit; `reasoning` needs no source."""


class UnitVerdict(Record):
    """What the check made of a unit of the draft: a heading, a clause, a sentence, a cell."""

    text: str
    """Its words, those of a cell with its row's label and its column's head."""
    shown: Shown
    """`marked`: sources say something else, or nothing of it; `not_verified`: nothing proves it."""
    words: str = ""
    """The words of sources that decide."""
    source: str = ""
    """Key of the source of the first of them."""
    operation: str = ""
    """The calculation by which its number follows from numbers in them."""


class Disagreement(Record):
    """Two claims of different sources that cannot both hold."""

    claims: tuple[str, str]
    """The claims."""
    sources: tuple[str, str]
    """Keys of the sources, in the order of the claims."""


class Audit(Record):
    """The account of a finished report, in figures."""

    checked: int
    """Units of the draft: headings, clauses, sentences, parts of tables. Those that follow are parts of these."""
    supported: int
    """Units that sources bear out."""
    corrected: int
    """Units that were wrong and are right now."""
    marked: int
    """Units behind which the report says that they are not verified: sources say something else, or do not say it."""
    not_verified: int
    """Units of which nothing is said: no model has judged them, or it cannot be relied on."""
    reasoning: int
    """Units that need no source: conclusions, statements that something is missing, headings that name a subject."""
    removed_markers: int
    """Citations that named no source and were removed."""
    sources_read: int
    """Sources whose text was read for this question."""
    sources_cited: int
    """Sources that the report cites."""
    independent_sources: int
    """Organisations that these come from; those with reprints of one text count once."""
    excerpts_cited: int = 0
    """Sources that it cites although nothing but what a search showed of them was read."""
    reprints: tuple[tuple[str, ...], ...] = ()
    """Keys of cited sources that are nearly the same text, group by group."""
    is_unverified: bool = False
    """Whether a model has judged the report and more than half of it is not verified: then no sentence is marked."""
    disagreements: tuple[Disagreement, ...] = ()
    """Where sources contradict each other."""
    open_gaps: tuple[str, ...] = ()
    """What the report leaves open of its checklist; without one, what was looked for and not found."""
    not_read: tuple[NotRead, ...] = ()
    """What could not be read."""
    model_calls: int
    """Calls of models, up to this account."""
    input_tokens: int
    """Tokens that they read."""
    output_tokens: int
    """Tokens that they wrote."""
    usd: float
    """Money in US dollars, as far as it is known."""
    seconds: float
    """Active seconds of the run."""
    failures: tuple[str, ...] = ()
    """What went wrong while the report was checked, as it was emitted."""


class Brief(Record):
    """What is known before there is a plan."""

    orientation: str = ""
    """Where the results of the orientation stand in the store (SHA-256, hex); empty if there are none."""
    actions: tuple[Action, ...] = ()
    """The searches that brought them."""
    summary: str = ""
    """What the conversation comes to."""
    queries: tuple[str, ...] = ()
    """What a question that is answered from one search is searched by; empty: its own words."""
    began: float = 0.0
    """Active seconds of the run when its planning began: the time until then is not counted against it."""


class Report(CitingText):
    """The report of one question."""

    claims: tuple[ClaimCheck, ...] = ()
    """Its sentences that claim something, checked; none if that was not wanted."""
    verdicts: tuple[UnitVerdict, ...] = ()
    """What the check made of each unit of the draft."""
    audit: Audit | None = None
    """The account of it; none if it was not checked."""
    grades: tuple[Grade, ...] = ()
    """How it meets the checklist; empty without one."""
