"""A report whose sources were read again: which sentences hold and what changed, as Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal, NamedTuple

from ...core.evidence.citations.rendering import plain_line, shown_title, source_place
from ...core.records.sources import Source
from ...core.run.conversation import clean
from ..words import counted

State = Literal["holds", "changed", "unchecked"]
STATES: Mapping[State, str] = {"changed": "Changed", "unchecked": "Can no longer be checked"}
"""Heading of a sentence that does not hold as it did."""


class Ground(NamedTuple):
    """What one source of a sentence said then and says now."""

    number: int
    """Number of the source in the report."""
    before: str
    """The passage that the sentence rested on; empty if it is not known."""
    now: str
    """The passage that took its place; empty if there is none."""
    reason: str
    """What is different, or why the source could not be compared."""


class Sentence(NamedTuple):
    """A sentence of the report that cites a source, or a row of a table."""

    section: str
    """The heading above it; empty if there is none."""
    before: str
    """The sentence as it stands in the report."""
    now: str
    """The sentence corrected by the new text; empty if the correction is not known."""
    state: State
    grounds: tuple[Ground, ...] = ()
    """Why it no longer holds or could not be checked; empty if it holds."""


class SourceNow(NamedTuple):
    """A source of the report."""

    number: int
    source: Source
    words: str
    """How it differs from before; empty if it does not."""


class Refreshed(NamedTuple):
    """A report whose sources were read again."""

    thread: str
    question: str
    asked: str
    """When the question was asked, in words."""
    read: str
    """When the sources were read again, in words."""
    sentences: Sequence[Sentence]
    """The sentences that cite a source, in order."""
    sources: Sequence[SourceNow]
    notes: Sequence[str]
    """What could not be judged, and why."""

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences hold, changed and can no longer be checked."""
        states = Counter(sentence.state for sentence in self.sentences)
        return {state: states[state] for state in ("holds", "changed", "unchecked")}

    @property
    def sections(self) -> list[tuple[str, list[Sentence]]]:
        """The sentences that do not hold as they did, by the headings of the report."""
        shown = (sentence for sentence in self.sentences if sentence.state != "holds")
        return [(section or "Report", [*own]) for section, own in groupby(shown, key=lambda sentence: sentence.section)]

    @property
    def by_number(self) -> dict[int, SourceNow]:
        """The sources by their numbers."""
        return {source.number: source for source in self.sources}

    @property
    def summary(self) -> str:
        """The counts in words."""
        holds, changed, unchecked = self.counts.values()
        verb = "holds" if holds == 1 else "hold"
        return f"{counted(holds, 'sentence')} {verb}, {changed} changed, {unchecked} can no longer be checked"


def refreshed_markdown(found: Refreshed) -> str:
    """Return it as Markdown."""
    lines = [f"# {plain_line(found.question)}", "", f"**{found.summary}.**", ""]
    lines += [f"The report of {plain_line(found.asked)}, read again on {plain_line(found.read)}.", ""]
    for section, sentences in found.sections:
        lines += [f"## {plain_line(section)}", ""]
        for sentence in sentences:
            lines += [*_sentence_lines(sentence, found.by_number), ""]
    if other := [source for source in found.sources if source.words]:
        lines += ["## Sources", "", *(f"- {_name(source)}: {plain_line(source.words)}" for source in other), ""]
    if found.notes:
        lines += ["## Notes", "", *(f"- {plain_line(note)}" for note in found.notes), ""]
    return clean("\n".join(lines)).rstrip()


def _sentence_lines(sentence: Sentence, sources: Mapping[int, SourceNow]) -> Iterator[str]:
    yield f"**{STATES[sentence.state]}**"
    yield "\n```diff"
    yield f"{'-' if sentence.state == 'changed' else ' '} {' '.join(sentence.before.split())}"
    if sentence.now:
        yield f"+ {' '.join(sentence.now.split())}"
    yield "```"
    for ground in sentence.grounds:
        yield f"\n{_name(sources[ground.number])}: {plain_line(ground.reason)}."
        if ground.before or ground.now:
            signs = {"same": "", "deleted": "~~", "inserted": "**"}
            marked = (f"{signs[kind]}{plain_line(text)}{signs[kind]}" for kind, text in difference(ground))
            yield f"\n> {' '.join(marked)}"


def difference(ground: Ground) -> Iterator[tuple[str, str]]:
    """Yield the words of both passages as one text: what is the `same`, what was `deleted`, what was `inserted`."""
    before, now = ground.before.split(), ground.now.split()
    for kind, i1, i2, j1, j2 in SequenceMatcher(None, before, now, autojunk=False).get_opcodes():
        if kind == "equal":
            yield "same", " ".join(now[j1:j2])
            continue
        if i2 > i1:
            yield "deleted", " ".join(before[i1:i2])
        if j2 > j1:
            yield "inserted", " ".join(now[j1:j2])


def _name(source: SourceNow) -> str:
    title, place = shown_title(source.source), source_place(source.source)
    return f"[{source.number}] {plain_line(title)}" + (f" — {plain_line(place)}" if place and place != title else "")
