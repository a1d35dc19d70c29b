"""The fixed words of a report in each language (`labels.toml`): headings, verdicts, kinds of
sources."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from ...records.sources import Origin, Source

_RIGHT_TO_LEFT = {"ar", "fa", "he"}
_SOURCE_HEADINGS = (
    "references|citations|bibliography|footnotes|sources used|sources cited|list of sources"
    "|works cited|einzelnachweise|quellenverzeichnis|literatur|literaturverzeichnis|références"
    "|bibliographie|referencias|bibliografía|riferimenti|referências|referenties|referenser"
    "|литература|список литературы|(?:主要)?(?:参考|參考|引用)(?:文献|资料|来源)"
)
"""Headings of a source list that other writers use, in addition to ours in each language."""
_PUNCTUATION = re.compile("[.,!¡。！،、]")


class Labels:
    """The fixed words of a report in one language, as attributes named as in `labels.toml`, which
    explains them."""

    def __init__(self, words: Mapping[str, str]) -> None:
        vars(self).update(words)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> str: ...

    @classmethod
    def named(cls, language: str) -> Labels:
        """Return the labels for a language by its English name ("Brazilian Portuguese").

        Unknown names get the English ones.
        """
        known = all_labels()
        for labels_of_language in known.values():
            if labels_of_language.name in language:
                return labels_of_language
        return known["en"]

    def standing(self, source: Source) -> str:
        """Return the label for a source that is retracted, doubted or not in force; otherwise
        empty."""
        if source.is_retracted:
            return self.retracted
        if source.is_draft:
            return self.draft
        if source.superseded_by:
            return self.outdated
        if source.in_force_from:
            return self.to_come
        if source.has_concern:
            return self.concern
        return ""

    def origin(self, source: Source) -> str:
        """Return the label for the kind of a source's publisher; empty if unknown."""
        names: dict[Origin, str] = dict(
            zip(get_args(Origin), self.origins.split(", "), strict=False)
        )
        return names.get(source.publisher_kind, "")

    def time_of(self, source: Source) -> str:
        """Return the date of a source with its kind, and its period; empty if it has neither."""
        forms = {"published": self.published, "updated": self.updated, "as of": self.as_of}
        form = forms.get(source.date_words, "{date}")
        return form.replace("{date}", source.shown_time)

    def remark(self, source: Source) -> str:
        """Return the standing of a source and how it was read.

        Nothing is said about a source that was read completely and in this run.
        """
        remarks = [self.standing(source)]
        host = urlsplit(source.copy_address).netloc
        copy = ", ".join(filter(None, (host, source.copied_on)))
        if copy:
            remarks.append(self.read_copy.replace("{copy}", copy))
        if source.is_earlier:
            remarks.append(f"{self.read_on} {source.read_at[:10]}")
        extents = {
            "part": self.read_in_part,
            "excerpt": self.excerpt_only,
            "not opened": self.not_opened if source.excerpts else self.unread,
        }
        remarks.append(extents.get(source.extent, ""))
        if source.is_rendered:
            remarks.append(self.rendered)
        return ", ".join(filter(None, remarks))


def labels(language_code: str) -> Labels:
    """Return the labels for an ISO 639-1 code, ignoring its region; English for unknown codes."""
    known = all_labels()
    return known.get(_base(language_code), known["en"])


@cache
def all_labels() -> Mapping[str, Labels]:
    """Return the labels of all languages by ISO 639-1 code."""
    tables = tomllib.loads(resources.files(__package__).joinpath("labels.toml").read_text("utf-8"))
    return MappingProxyType({code: Labels(table) for code, table in tables.items()})


@cache
def source_headings() -> str:
    """Return the pattern of the words of a heading above a source list, in all languages."""
    ours = "|".join(labels.sources for labels in all_labels().values())
    return f"sources?|{ours}|{_SOURCE_HEADINGS}"


def is_right_to_left(language_code: str) -> bool:
    """Whether text in this language runs from right to left."""
    return _base(language_code) in _RIGHT_TO_LEFT


def _base(language_code: str) -> str:
    return language_code.lower().replace("_", "-").split("-")[0]


def is_approval(words: str) -> bool:
    """Whether the text approves a plan, in any supported language."""
    return " ".join(_PUNCTUATION.sub(" ", words).lower().replace("’", "'").split()) in _approvals()


@cache
def _approvals() -> frozenset[str]:
    return frozenset(word for own in all_labels().values() for word in own.approvals.split(", "))
