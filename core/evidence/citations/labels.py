"""The words that a report needs beside its text: headings, verdicts, names of figures; they stand in `labels.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import NamedTuple

from ...records.sources import Source

_RIGHT_TO_LEFT = {"ar", "fa", "he"}


class Labels(NamedTuple):
    """The labels of a report in one language."""

    sources: str
    """Heading of the list of sources."""
    notes: str
    """Heading of what a reader should know about the run."""
    contradictions: str
    """Heading of the table of claims that contradict each other."""
    claim: str
    """Column: the first of two such claims."""
    other_claim: str
    """Column: the second."""
    dates: str
    """Column: the dates of their sources."""
    newer: str
    """Column: which source is newer."""
    not_stated: str
    """A date that the source does not give."""
    not_known: str
    """Which one is newer cannot be told."""
    not_verified: str
    """Mark behind a sentence that its sources do not support."""
    no_citation: str
    """Said above a text without citations."""
    no_source: str
    """The same where nothing was found that could be cited."""
    contents: str
    """Heading of the contents."""
    skip: str
    """Link from the top of a page to the report."""
    evidence: str
    """Heading of the table of sentences and the passages behind them."""
    audit: str
    """Heading of the account of the run in figures."""
    reprints: str
    """Said of sources whose texts are nearly the same, before their numbers."""
    not_read: str
    """Heading of what could not be read, and why."""
    gaps: str
    """Heading of what was looked for and not found."""
    is_extract: str
    """Said of a report that no model has written."""
    unanswered: str
    """Said first where the documents do not answer the question."""
    nothing_on: str
    """What was sought in vain; `{names}` stands for it."""
    nearest: str
    """Heading of passages that do not answer the question, but come near it."""
    related: str
    """Heading of passages that have to do with the answer."""
    outdated: str
    """Mark behind a sentence that only an outdated version says."""
    draft: str
    """Mark behind a sentence that only a draft says."""
    to_come: str
    """Mark behind a sentence of what is to be in force from a later day."""
    supported: str
    """Verdict: the source says so."""
    unchecked: str
    """Verdict: no source says so word for word, and no model has looked."""
    unsupported: str
    """Verdict: the source does not say so."""
    uncited: str
    """Verdict: the sentence has figures and names no source."""
    sentence: str
    """Column: a sentence of the report."""
    source: str
    """Column: a source."""
    verdict: str
    """Column: how well the passage supports the sentence."""
    quote: str
    """Column: the passage."""
    against: str
    """What speaks against the passage."""
    reason: str
    """Column: why something could not be read."""
    read_on: str
    """When a source was read, before the date."""
    read_in_part: str
    """How a source was read: only its beginning, for it is too long."""
    excerpt_only: str
    """How a source was read: nobody opened it, and a search has shown some of it."""
    not_opened: str
    """How a source was read: it could not be opened, and a search has shown some of it."""
    page: str
    """Page of a document, before its number."""
    no_quote: str
    """In place of a passage, where the text of the source is not kept."""
    judge: str
    """The model that gave a verdict, before its name."""
    open_source: str
    """Link from a passage to its source."""
    close: str
    """Button that closes a passage."""
    sentences: str
    """Figure: sentences of the report."""
    cited: str
    """Figure: those that cite a source."""
    without_source: str
    """Figure: sentences with figures that cite nothing."""
    repaired: str
    """Figure: sentences that were repaired after the first check."""
    marked: str
    """Figure: sentences that are marked as not verified."""
    removed_markers: str
    """Figure: citations that named no source."""
    sources_read: str
    """Figure: sources that were read."""
    sources_cited: str
    """Figure: sources that the report cites."""
    independent_sources: str
    """Figure: the same, reprints of one text counted once."""
    model_calls: str
    """Figure: calls of models."""
    tokens: str
    """Figure: tokens read and written."""
    cost: str
    """Figure: money."""
    time: str
    """Figure: time at work."""

    def remark(self, source: Source) -> str:
        """Return that a source is not in force, and how it was read; empty if it is, and was read to its end."""
        to_come = self.to_come if source.in_force_from else ""
        standing = self.draft if source.is_draft else self.outdated if source.superseded_by else to_come
        extent = {"part": self.read_in_part, "excerpt": self.excerpt_only, "not opened": self.not_opened}
        return ", ".join(filter(None, (standing, extent.get(source.extent, ""))))


def labels(language_code: str) -> Labels:
    """Return the labels of a language by its ISO 639-1 code, ignoring a region; English if there are none."""
    known = all_labels()
    return known.get(_base(language_code), known["en"])


def labels_of_named(language: str) -> Labels:
    """Return the labels of a language by its English name, such as "German" or "Brazilian Portuguese"; else English."""
    return labels(next((code for name, code in _read()[1].items() if name in language), ""))


def all_labels() -> Mapping[str, Labels]:
    """Return the labels of all languages by ISO 639-1 code."""
    return _read()[0]


def is_right_to_left(language_code: str) -> bool:
    """Whether text in this language runs from the right."""
    return _base(language_code) in _RIGHT_TO_LEFT


@cache
def _read() -> tuple[Mapping[str, Labels], Mapping[str, str]]:
    """Return the labels by code, and the codes by the languages' English names."""
    tables = tomllib.loads(resources.files(__package__).joinpath("labels.toml").read_text("utf-8"))
    codes = {table.pop("name"): code for code, table in tables.items()}
    return MappingProxyType({code: Labels(**table) for code, table in tables.items()}), MappingProxyType(codes)


def _base(language_code: str) -> str:
    return language_code.lower().replace("_", "-").split("-")[0]
