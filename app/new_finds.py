"""What the searches of a finished report find now that its author had not seen: new documents, pages and passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from ..core.evidence.checking.source_text import SourceText
from ..core.evidence.text.wording import Wording
from ..core.models.extractive.roles import answers_to
from ..core.models.extractive.units import units_of
from ..core.models.request import Document
from ..core.records.sources import Source
from ..core.writing.additions import Found
from ..tools.tool import Hit
from .reread import existed

PASSAGES = 3
"""Passages that are shown of one source."""


class NewFinds:
    """What some hits say that no text said which the run has read."""

    def __init__(
        self, hits: Iterable[Hit], seen: Mapping[str, Sequence[SourceText]], sources: Mapping[str, Source]
    ) -> None:
        """Take hits, the best first, all sources of the run by key, and the texts that it has read of them."""
        self._seen, self._sources = seen, sources
        self._wordings = [Wording(one.text) for texts in seen.values() for one in texts]
        read = [datetime.fromisoformat(one.read_at).timestamp() for one in sources.values() if one.read_at]
        self._began = min(read, default=0.0)
        self._hits = dict[str, list[Hit]]()
        for hit in hits:
            self._hits.setdefault(hit.source.key, []).append(hit)

    def quoted(self, tasks: Iterable[str], told: Iterable[str]) -> list[Found]:
        """Return the new passages that would be quoted for these tasks, but for what `told` passages say already.

        They answer a task as well as anything that the searches find, or are a link to what does.
        """
        documents = [_document(number, hits) for number, hits in enumerate(self._hits.values(), 1)]
        passages = dict[str, list[str]]()
        for task in tasks:
            for one in answers_to(task, documents) if documents else ():
                # What bears on it only by the title of its document is quoted beside other things, not for itself.
                if one.own:
                    passages.setdefault([*self._hits][one.number - 1], []).append(one.text)
        return [*self._new(passages, told)]

    def all(self, told: Iterable[str]) -> list[Found]:
        """Return all that is new in what the searches show."""
        shown = {key: [unit.text for hit in hits for unit in units_of(hit.excerpt)] for key, hits in self._hits.items()}
        return [*self._new(shown, told)]

    def _new(self, passages: Mapping[str, Sequence[str]], told: Iterable[str]) -> Iterator[Found]:
        known = [Wording(one) for one in told]
        for key, some in passages.items():
            source = self._hits[key][0].source
            if self._is_seen(source):
                continue
            new = dict.fromkeys(" ".join(one.split()) for one in some if self._is_new(one, known))
            if any(Wording(one).words for one in new):
                yield Found(source, tuple(new))

    def _is_seen(self, source: Source) -> bool:
        """Whether the run has had this source before itself as it is."""
        if known := self._sources.get(source.key):
            # Of a page only its excerpt is at hand, which differs from search to search.
            return known.kind == "web" or known.content_hash == source.content_hash
        return existed(source, self._began)

    def _is_new(self, passage: str, told: Sequence[Wording]) -> bool:
        own = Wording(passage)
        is_told = any(one.find(passage) or own.find(one.text) for one in told)
        return not is_told and all(one.find(passage) is None for one in self._wordings)


def newest_first(found: Iterable[Found]) -> list[Found]:
    """Return them by the dates of their sources; those without a date come last, in their order."""
    return sorted(found, key=lambda one: one.source.date, reverse=True)


def _document(number: int, hits: Sequence[Hit]) -> Document:
    source = hits[0].source
    texts = tuple(dict.fromkeys(hit.excerpt for hit in hits))
    return Document(
        number,
        source.title,
        source.address,
        source.date,
        texts,
        is_draft=source.is_draft,
        in_force_from=source.in_force_from,
        is_whole=hits[0].text in texts,
    )
