"""The words that a report needs beside its text: headings, verdicts, names of figures; they stand in `labels.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args
from urllib.parse import urlsplit

from ...records.sources import Origin, Source
from ..origin import origin_of

_RIGHT_TO_LEFT = {"ar", "fa", "he"}


class Labels:
    """The labels of a report in one language, as attributes: `labels.toml` has them, and what each is for."""

    def __init__(self, words: Mapping[str, str]) -> None:
        vars(self).update(words)

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> str: ...

    def standing(self, source: Source) -> str:
        """Return that a source is retracted or not in force; empty if neither holds."""
        if source.is_retracted:
            return self.retracted
        to_come = self.to_come if source.in_force_from else ""
        return self.draft if source.is_draft else self.outdated if source.superseded_by else to_come

    def origin(self, source: Source) -> str:
        """Return what kind of source it is; empty if that is in doubt."""
        names: dict[Origin, str] = dict(zip(get_args(Origin), self.origins.split(", "), strict=False))
        return names.get(origin_of(source), "")

    def remark(self, source: Source) -> str:
        """Return that a source is not in force, and where, when and how it was read, unless now and to its end."""
        extent = {"part": self.read_in_part, "excerpt": self.excerpt_only, "not opened": self.not_opened}
        place = ", ".join(filter(None, (urlsplit(source.copy_address).netloc, source.copied_on)))
        copy = self.read_copy.replace("{place}", place) if place else ""
        read_on = f"{self.read_on} {source.read_at[:10]}" if source.is_earlier else ""
        rendered = self.rendered if source.is_rendered else ""
        return ", ".join(filter(None, (self.standing(source), copy, read_on, extent.get(source.extent, ""), rendered)))


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
    return MappingProxyType({code: Labels(table) for code, table in tables.items()}), MappingProxyType(codes)


def _base(language_code: str) -> str:
    return language_code.lower().replace("_", "-").split("-")[0]
