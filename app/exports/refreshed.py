"""A report read again: which sentences hold, what changed and what is new, as Markdown, as a page and as data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Literal, NamedTuple

from ...core.evidence.citations.rendering import link_to, plain_line, shown_title, source_place
from ...core.evidence.text.wording import difference
from ...core.records.sources import Source
from ...core.run.conversation import clean, clean_nested
from ..words import counted
from .page import render_page

State = Literal["holds", "changed", "unchecked"]
STATES: Mapping[State, str] = {"changed": "Changed", "unchecked": "Can no longer be checked"}
"""What is shown of a sentence that does not hold as it did."""


class Ground(NamedTuple):
    """What one source of a sentence says then and now."""

    number: int
    """Number of the source in the report."""
    before: str
    """The passage that the sentence rested on; empty if that is not known."""
    now: str
    """The one in its place; empty if there is none."""
    reason: str
    """What is different, or why it cannot be told."""


class Sentence(NamedTuple):
    """A sentence of the report that cites a source, or a row of a table."""

    section: str
    """The heading above it; empty if there is none."""
    before: str
    """As it stands in the report."""
    now: str
    """As it would have to stand there; empty if that is not known, or it has to go."""
    state: State
    grounds: tuple[Ground, ...] = ()
    """Why it does not hold, or cannot be told to; none if it holds."""


class New(NamedTuple):
    """What the searches find now and did not find before."""

    source: Source
    passages: tuple[str, ...]
    """What answers the question in it, the best first."""
    adds: str = ""
    """What it adds to the report, as a model says; empty without one."""
    number: int = 0
    """Number of the source in the report; 0 if it is none."""


class SourceNow(NamedTuple):
    """A source of the report."""

    number: int
    source: Source
    words: str
    """How it is now; empty if it is as it was."""


class Refreshed(NamedTuple):
    """A report read again."""

    thread: str
    question: str
    asked: str
    """When it was asked, in words."""
    read: str
    """When its sources were read again, in words."""
    sentences: Sequence[Sentence]
    """Those that cite a source, in order."""
    new: Sequence[New]
    """The newest first."""
    sources: Sequence[SourceNow]
    notes: Sequence[str]
    """What could not be searched or judged, and why."""

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences hold, changed and can no longer be checked, and how much is new."""
        states = Counter(one.state for one in self.sentences)
        return {**{state: states[state] for state in ("holds", "changed", "unchecked")}, "new": len(self.new)}

    @property
    def is_as_before(self) -> bool:
        """Whether all sentences hold and nothing is new."""
        return self.counts["holds"] == len(self.sentences) and not self.new

    @property
    def sections(self) -> list[tuple[str, list[Sentence]]]:
        """The sentences that do not hold as they did, below the headings of the report."""
        shown = (one for one in self.sentences if one.state != "holds")
        return [(section or "Report", [*own]) for section, own in groupby(shown, key=lambda one: one.section)]

    @property
    def summary(self) -> str:
        """The counts in words."""
        holds, changed, unchecked, new = self.counts.values()
        verb = "holds" if holds == 1 else "hold"
        return (
            f"{counted(holds, 'sentence')} {verb}, {changed} changed, {unchecked} can no longer be checked, {new} new"
        )


def refreshed_markdown(found: Refreshed) -> str:
    """Return it as Markdown."""
    lines = [f"# {plain_line(found.question)}", "", f"**{found.summary}.**", ""]
    lines += [f"The report of {plain_line(found.asked)}, read again on {plain_line(found.read)}.", ""]
    for section, sentences in found.sections:
        lines += [f"## {plain_line(section)}", ""]
        for sentence in sentences:
            lines += [*_sentence_lines(sentence, found.sources), ""]
    if found.new:
        lines += ["## New", "", *(line for one in found.new for line in _new_lines(one)), ""]
    if other := [one for one in found.sources if one.words]:
        lines += ["## Sources", "", *(f"- {_name(one)}: {plain_line(one.words)}" for one in other), ""]
    if found.notes:
        lines += ["## Notes", "", *(f"- {plain_line(note)}" for note in found.notes), ""]
    return clean("\n".join(lines)).rstrip()


def _sentence_lines(sentence: Sentence, sources: Sequence[SourceNow]) -> Iterator[str]:
    yield f"**{STATES[sentence.state]}**"
    yield "\n```diff"
    is_gone = sentence.state == "changed"
    yield f"{'-' if is_gone else ' '} {_one_line(sentence.before)}"
    if sentence.now:
        yield f"+ {_one_line(sentence.now)}"
    yield "```"
    for ground in sentence.grounds:
        yield f"\n{_name(sources[ground.number - 1])}: {plain_line(ground.reason)}."
        if ground.now:
            yield f"\n> {_marked(ground)}"
        elif ground.before and is_gone:
            yield f"\n> ~~{plain_line(ground.before)}~~"


def _marked(ground: Ground) -> str:
    """Return both passages as one line, with what went struck through and what came in bold."""
    signs = {"same": "", "deleted": "~~", "inserted": "**"}
    return "".join(
        f"{signs[piece.kind]}{plain_line(piece.text)}{signs[piece.kind]}{piece.space}"
        for piece in difference(ground.before, ground.now)
    )


def _new_lines(new: New) -> Iterator[str]:
    facts = ", ".join(plain_line(fact) for fact in (source_place(new.source), new.source.date) if fact)
    known = f" (source [{new.number}] of the report)" if new.number else ""
    link = link_to(new.source)
    yield f"- **{plain_line(shown_title(new.source))}** — {facts}{known}{f' <{link}>' if link else ''}"
    if new.adds:
        yield f"  {plain_line(new.adds)}"
    yield from (f"\n  > {plain_line(passage)}\n" for passage in new.passages)


def _name(one: SourceNow) -> str:
    title, place = shown_title(one.source), source_place(one.source)
    return f"[{one.number}] {plain_line(title)}" + (f" — {plain_line(place)}" if place and place != title else "")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def refreshed_page(found: Refreshed) -> str:
    """Return it as one HTML page that needs nothing from outside."""
    return render_page(
        "refreshed.html",
        title=found.question,
        language="en",
        direction="ltr",
        found=found,
        states=STATES,
        difference=difference,
        link_to=link_to,
        shown_title=shown_title,
        place_of=source_place,
    )


def refreshed_json(found: Refreshed) -> str:
    """Return it as data."""
    data = {
        "thread": found.thread,
        "question": found.question,
        "counts": found.counts,
        "sentences": [
            {**one._asdict(), "grounds": [ground._asdict() for ground in one.grounds]} for one in found.sentences
        ],
        "new": [
            {**_place(one.source), "passages": list(one.passages), "adds": one.adds, "n": one.number}
            for one in found.new
        ],
        "sources": [{"n": one.number, **_place(one.source), "change": one.words} for one in found.sources],
        "notes": list(found.notes),
    }
    return json.dumps(clean_nested(data), ensure_ascii=False, indent=2)


def _place(source: Source) -> dict[str, Any]:
    return source.model_dump(include={"title", "location", "date"})
