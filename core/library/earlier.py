"""Searches the pages that the user's finished runs have read, in the texts stored by these runs.

There is no index or copy: a finished run lists its sources in a note, which is deleted with its
texts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from ..evidence.checking.source_text import Windows
from ..evidence.text.similarity import distinct, interleave, rarity
from ..records.sources import Source, text_hash
from ..settings.context import Context
from ..store.pages import LOCAL_USER, Pages
from ._candidates import terms_of

_READ = "read by the finished run"
"""Name of the note that lists the sources of a run."""
_OPENING = 5
"""Number of first letters of a word to scan texts for, since its forms differ only after them."""
_COMPARED = 20
"""Maximum pages per query to compare window by window, which takes a hundred times as long as a
scan."""
_MOST_RUNS = 200
"""Number of the user's latest finished runs to search."""
_RELATED = 0.5
"""Minimum score of a page, as a share of the best page's score."""


class ReadPage(NamedTuple):
    """A page or document that a finished run has read."""

    source: Source
    thread: str
    """Id of the run's thread, which stores the text."""
    text: str = ""
    """The whole text; empty until it is loaded."""
    passage: str = ""
    """The best passage for the query; empty until pages are compared."""


class _ScannedPage(NamedTuple):
    """A page without its text, and the terms that its title or text contains."""

    page: ReadPage
    terms: frozenset[str]


class EarlierPages:
    """The pages that the user's finished runs have read."""

    def __init__(self, pages: Pages, context: Context) -> None:
        """`pages`: those of the user's run that records or searches."""
        # The prefix keeps users of an app apart from users of a server with the same names.
        self._user = pages.user or " ".join(filter(None, (LOCAL_USER, context.user)))
        self._pages = pages
        # A hash, since the store searches names by prefix, and another user's name may have this
        # prefix.
        self._runs = pages.of_thread(f"runs of {text_hash(self._user)}")
        """The list of the user's runs: notes named by thread id."""

    async def record(self, sources: Iterable[Source]) -> None:
        """Record what a finished run has read itself, so that the user's later runs can search
        it."""
        read = list[dict[str, Any]]()
        for source in sources:
            if source.content_hash and not source.is_earlier:
                read.append(source.model_dump(exclude_defaults=True))
        await self._pages.note({_READ: {"user": self._user, "sources": read}})
        await self._runs.note({self._pages.thread: {}})

    async def search(
        self, queries: Sequence[str], most: int, is_open: Callable[[Source], bool]
    ) -> list[ReadPage]:
        """Return at most `most` pages that the user's other runs have read, best first.

        Each matches any of the queries. `is_open` says which sources may be searched. If several
        runs have read a page, the latest text is used.
        """
        terms_by_query = {query: terms_of(query) for query in queries}
        terms = frozenset(chain.from_iterable(terms_by_query.values()))
        scanned = await self._scanned(terms, is_open)
        scanned.sort(key=lambda scan: scan.page.source.read_at, reverse=True)
        latest = distinct(scanned, lambda scan: scan.page.source.key)
        counts = Counter[str]()
        for scan in latest:
            counts.update(scan.terms)
        weights = dict[str, float]()
        for term, count in counts.items():
            weights[term] = rarity(len(latest), count)
        results = list[list[ReadPage]]()
        for query, query_terms in terms_by_query.items():
            loaded = list[ReadPage]()
            for page in _likely(query_terms, latest, weights):
                text = await self._pages.of_thread(page.thread).text(page.source.content_hash)
                if text:
                    loaded.append(page._replace(text=text))
            results.append(await asyncio.to_thread(_best, query, loaded))
        return distinct(interleave(results), lambda page: page.source.key)[:most]

    async def _scanned(
        self, terms: frozenset[str], is_open: Callable[[Source], bool]
    ) -> list[_ScannedPage]:
        """Return the pages read by the user's other runs, each with the terms that it contains."""
        scanned = list[_ScannedPage]()
        for thread in (await self._runs.names())[:_MOST_RUNS]:
            if thread == self._pages.thread:
                continue
            other = self._pages.of_thread(thread)
            note = await other.read_note(_READ)
            # The run may have been deleted, and another user may have started a run with its id.
            if note is None or note["user"] != self._user:
                continue
            sources = list[Source]()
            for fields in note["sources"]:
                source = Source(**fields)
                if is_open(source):
                    sources.append(source)
            texts = await other.texts([source.content_hash for source in sources])
            for source, text in zip(sources, texts, strict=True):
                folded = f"{source.title} {text}".casefold()
                contained = frozenset(term for term in terms if term[:_OPENING] in folded)
                scanned.append(_ScannedPage(ReadPage(source, thread), contained))
        return scanned


def _likely(
    terms: Sequence[str], scanned: Sequence[_ScannedPage], weights: Mapping[str, float]
) -> list[ReadPage]:
    """Return the pages with the rarest terms, rarest first.

    Pages with none of them are left out.
    """

    def score(scan: _ScannedPage) -> float:
        return sum(weights[term] for term in terms if term in scan.terms)

    ranked = sorted(scanned, key=lambda scan: -score(scan))
    likely = list[ReadPage]()
    for scan in ranked[:_COMPARED]:
        if not scan.terms.isdisjoint(terms):
            likely.append(scan.page)
    return likely


def _best(query: str, pages: Sequence[ReadPage]) -> list[ReadPage]:
    """Return the pages that answer a query best, best first, each with its best passage."""
    windows = dict[ReadPage, Windows]()
    shares = dict[ReadPage, float]()
    for page in pages:
        windows[page] = Windows(f"{page.source.title}\n\n{page.text}")
        share = windows[page].share(query)
        if share:
            shares[page] = share
    least = _RELATED * max(shares.values(), default=0.0)
    best = list[ReadPage]()
    for page in sorted(shares, key=lambda page: -shares[page]):
        if shares[page] >= least:
            passage = windows[page].shown(windows[page].best(query, 1))
            best.append(page._replace(passage="\n".join(passage)))
    return best
