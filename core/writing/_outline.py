"""Reads the outline that a user gives for a report, decides whether the report can follow it, and
compares the report's headings with it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import NamedTuple

from ..errors import UnknownSetting
from ..evidence.citations.labels import source_headings
from ..evidence.text.sentences import Section, sections_of
from ..models.resolve import RoleModels
from ..records.report import word_count
from ..records.research import Run
from ..settings.context import Context
from ._titles import without_markup

_MOST_CHARACTERS = 20_000
MOST_SECTIONS = 30
"""Maximum number of an outline's headings."""
_TOP_LEVEL = 2
"""Level of a report's sections: the title above them has level 1."""
_DEEPEST_LEVEL = 6
_ITEM_CHARACTERS = 600
"""Maximum length of a checklist item, in characters."""
_HINT = "write a heading such as `## Risks` for each section, and below it what belongs there"
_NO_MODEL = "The outline was not used: without a language model, a report consists of quotations."
_QUICK = "The outline was not used: a quick answer has no sections (depth)."
_LEVEL = re.compile(r"\s{0,3}(#{1,6})\s")
_HEADING_LINE = re.compile(r"\s*#{1,6}\s[^\n]*")


class HeadedSection(NamedTuple):
    """A heading, and the text below it up to the next one."""

    level: int
    """From 1, as in Markdown."""
    words: str
    """Its words, as written."""
    body: str
    """The text below it; may be empty."""

    @property
    def line(self) -> str:
        """Its line in Markdown."""
        return f"{'#' * self.level} {self.words}"

    @property
    def name(self) -> str:
        """Its words in the form in which they are compared."""
        plain = " ".join(without_markup(self.words).split())
        return plain.rstrip(" .:").casefold()

    @property
    def is_source_list(self) -> bool:
        """Whether a list of sources belongs below it."""
        return re.fullmatch(source_headings(), self.name, re.IGNORECASE) is not None


class Outline(NamedTuple):
    """The sections that a report is to have."""

    title: str
    """Title of the report, or its kind; empty if the outline has none."""
    note: str
    """What it says above its first section, such as the report's length; may be empty."""
    sections: tuple[HeadedSection, ...]
    """Its headings in order, with what belongs below them; the highest have level 2."""

    @classmethod
    def read(cls, text: str) -> Outline | None:
        """Return the outline in a Markdown text; None if the text is blank.

        A heading of the first level above all others is the title. A section for the list of
        sources is left out, since that is printed below every report. Raises `UnknownSetting` for a
        text that is no outline.
        """
        if not text.strip():
            return None
        if len(text) > _MOST_CHARACTERS:
            raise UnknownSetting(
                f"outline: it has {len(text)} characters; at most {_MOST_CHARACTERS} are allowed. "
                "Shorten what belongs in its sections."
            )
        first, *others = sections_of(text)
        notes = [] if _LEVEL.match(first.text) else [first.text.strip()]
        title, headings = _without_title(_headings([first, *others]))
        if title:
            notes.append(_body(others[0] if notes else first))
        headings = [heading for heading in headings if not heading.is_source_list]
        if not headings:
            raise UnknownSetting(f"outline: it has no section; {_HINT}.")
        if len(headings) > MOST_SECTIONS:
            raise UnknownSetting(
                f"outline: it has {len(headings)} headings; at most {MOST_SECTIONS} are allowed."
            )
        for heading in headings:
            if not heading.name:
                raise UnknownSetting(f"outline: one of its headings has no words; {_HINT}.")
        shift = _TOP_LEVEL - min(heading.level for heading in headings)
        sections = list[HeadedSection]()
        for heading in headings:
            level = min(heading.level + shift, _DEEPEST_LEVEL)
            sections.append(heading._replace(level=level))
        return cls(title, "\n\n".join(filter(None, notes)), tuple(sections))

    @classmethod
    def used(cls, run: Run, context: Context) -> Outline | None:
        """Return the outline of a question; None if there is none that the report can follow."""
        if not run.outline or run.is_quick or RoleModels(context).is_extractive("writer"):
            return None
        return cls.read(run.outline)

    @staticmethod
    def check(context: Context) -> tuple[str, ...]:
        """Return a notice if the outline in the settings cannot be followed.

        Raises `UnknownSetting` if it is no outline.
        """
        if Outline.read(context.outline) is None:
            return ()
        if RoleModels(context).is_extractive("writer"):
            return (_NO_MODEL,)
        if context.depth == "quick":
            return (_QUICK,)
        return ()

    @property
    def text(self) -> str:
        """The outline as Markdown, without its title."""
        parts = [self.note] if self.note else []
        for section in self.sections:
            parts.append(f"{section.line}\n{section.body}".rstrip())
        return "\n\n".join(parts)

    @property
    def whole_text(self) -> str:
        """The outline as Markdown, with its title."""
        return f"# {self.title}\n\n{self.text}" if self.title else self.text

    @property
    def requirements(self) -> list[str]:
        """A checklist item for each section, except those that only hold others."""
        items = list[str]()
        above = list[HeadedSection]()
        for index, section in enumerate(self.sections):
            above = [heading for heading in above if heading.level < section.level]
            above.append(section)
            if self.only_holds_others(index):
                continue
            item = f"“{' › '.join(heading.words for heading in above)}”"
            if section.body:
                item += f": {' '.join(section.body.split())}"
            items.append(shorten(item, _ITEM_CHARACTERS, placeholder="…"))
        return items

    def only_holds_others(self, index: int) -> bool:
        """Whether nothing is to be written of its own for the section at this index."""
        return not self.sections[index].body and _has_sections(self.sections, index)

    def deviations(self, report: str) -> list[str]:
        """Return how the headings of a report differ from the outline, a sentence each.

        Named are sections that are missing, empty, in another order or on another level, and other
        headings on the outline's levels. A report's title is no section. Levels count relative to
        the first heading that both have.
        """
        _, headings = _without_title(_headings(sections_of(report)))
        wanted = Counter(section.name for section in self.sections)
        found = list[HeadedSection]()
        surplus = list[HeadedSection]()
        for heading in headings:
            if wanted[heading.name]:
                wanted[heading.name] -= 1
                found.append(heading)
            else:
                surplus.append(heading)
        kept = list[HeadedSection]()
        missing = list[HeadedSection]()
        left = Counter(heading.name for heading in found)
        for section in self.sections:
            if left[section.name]:
                left[section.name] -= 1
                kept.append(section)
            else:
                missing.append(section)
        shift = 0
        if found:
            expected = next(section for section in kept if section.name == found[0].name)
            shift = expected.level - found[0].level
        deepest = max(section.level for section in self.sections)
        sentences = list[str]()
        for section in missing:
            sentences.append(f"The outline's section “{section.words}” is missing.")
        for heading in surplus:
            if heading.level + shift <= deepest:
                sentences.append(f"The section “{heading.words}” is not in the outline.")
        sentences += _misplaced(kept, found, shift)
        sentences += _empty(headings, found)
        return sentences

    @staticmethod
    def section_lengths(report: str) -> list[str]:
        """Return a line for each section of a report with its number of words, without
        citations."""
        _, headings = _without_title(_headings(sections_of(report)))
        lines = list[str]()
        for heading in headings:
            lines.append(f"{heading.words}: {word_count(heading.body)}")
        return lines


def _misplaced(
    kept: Sequence[HeadedSection], found: Sequence[HeadedSection], shift: int
) -> list[str]:
    """Return a sentence for the first section that stands in another order, or else one for each on
    another level.

    `kept`: sections of the outline; `found`: the same ones in the report, where `shift` is to be
    added to their levels.
    """
    for section, heading in zip(kept, found, strict=True):
        if section.name != heading.name:
            return [f"The section “{section.words}” has to come before “{heading.words}”."]
    sentences = list[str]()
    for section, heading in zip(kept, found, strict=True):
        if heading.level + shift != section.level:
            sentences.append(
                f"The heading “{section.words}” has to have level {section.level - shift}, not "
                f"{heading.level}."
            )
    return sentences


def _empty(headings: Sequence[HeadedSection], found: Iterable[HeadedSection]) -> list[str]:
    """Return a sentence for each section of the outline with no words below it."""
    sentences = list[str]()
    found = list(found)
    for index, heading in enumerate(headings):
        if heading in found and not heading.body and not _has_sections(headings, index):
            sentences.append(f"The outline's section “{heading.words}” is empty.")
    return sentences


def _has_sections(headings: Sequence[HeadedSection], index: int) -> bool:
    """Whether the heading at this index has others below it."""
    following = headings[index + 1 : index + 2]
    return bool(following) and following[0].level > headings[index].level


def _headings(sections: Iterable[Section]) -> list[HeadedSection]:
    """Return the headings of the sections of a text."""
    headings = list[HeadedSection]()
    for section in sections:
        mark = _LEVEL.match(section.text)
        if mark:
            headings.append(HeadedSection(len(mark[1]), section.heading, _body(section)))
    return headings


def _body(section: Section) -> str:
    """Return the text of a section below its heading."""
    return _HEADING_LINE.sub("", section.text, count=1).strip()


def _without_title(headings: list[HeadedSection]) -> tuple[str, list[HeadedSection]]:
    """Return the title among the headings of a text, and the others.

    The title is a first heading that is the only one on level 1 and has others below it; empty if
    there is none.
    """
    levels = [heading.level for heading in headings]
    if len(levels) > 1 and levels[0] == 1 and levels.count(1) == 1:
        return headings[0].words, headings[1:]
    return "", headings
