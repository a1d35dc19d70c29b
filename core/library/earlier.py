"""Searches the pages that the user's finished runs have read, in the texts stored by these runs.

There is no index or copy: a finished run lists its sources in a note, which is deleted with its texts.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from ..evidence.checking.source_text import Windows
from ..evidence.text.similarity import distinct, interleave, rarity
from ..records.sources import Source, text_hash
from ..run.context import Context
from ..run.store.pages import LOCAL_USER, Pages
from .candidates import terms_of

_READ = "read by the finished run"
"""Name of the note that lists the sources of a run."""
_OPENING = 5
"""Number of first letters of a word to scan texts for, since its forms differ only after them."""
_COMPARED = 20
"""Maximum pages per query to compare window by window, which takes a hundred times as long as a scan."""
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


async def record_read(pages: Pages, sources: Iterable[Source], context: Context) -> None:
    """Record the sources that a finished run has read itself, so that the user's later runs can search them."""
    user, runs = _runs_of_user(pages, context)
    own = [source for source in sources if source.content_hash and not source.is_earlier]
    read = [source.model_dump(exclude_defaults=True) for source in own]
    await pages.note({_READ: {"user": user, "sources": read}})
    await runs.note({pages.thread: {}})


async def search_read(
    queries: Sequence[str], pages: Pages, context: Context, most: int, is_open: Callable[[Source], bool]
) -> list[ReadPage]:
    """Return at most `most` pages that the user's other runs have read and that match any query, best first.

    `is_open` says which sources may be searched. If several runs have read a page, the latest text is used.
    """
    terms = {query: terms_of(query) for query in queries}
    found = await _scanned(frozenset(chain(*terms.values())), pages, context, is_open)
    found.sort(key=lambda pair: pair[0].source.read_at, reverse=True)
    latest = distinct(found, lambda pair: pair[0].source.key)
    counts = Counter(word for _, contained in latest for word in contained)
    weights = {word: rarity(len(latest), count) for word, count in counts.items()}
    best = list[list[ReadPage]]()
    for query, wanted in terms.items():
        ranked = sorted(latest, key=lambda pair: -sum(weights[word] for word in wanted if word in pair[1]))
        likely = [page for page, contained in ranked[:_COMPARED] if not contained.isdisjoint(wanted)]
        stored = [await pages.of_thread(page.thread).text(page.source.content_hash) for page in likely]
        whole = [page._replace(text=text) for page, text in zip(likely, stored, strict=True) if text]
        best.append(await asyncio.to_thread(_best, query, whole))
    return distinct(interleave(best), lambda page: page.source.key)[:most]


async def _scanned(
    words: frozenset[str], pages: Pages, context: Context, is_open: Callable[[Source], bool]
) -> list[tuple[ReadPage, frozenset[str]]]:
    """Return the pages that the user's other runs have read, each with the words that its title or text contains."""
    found = list[tuple[ReadPage, frozenset[str]]]()
    user, runs = _runs_of_user(pages, context)
    for thread in (await runs.names())[:_MOST_RUNS]:
        if thread == pages.thread:
            continue
        other = pages.of_thread(thread)
        note = await other.read_note(_READ)
        # The run may have been deleted, and another user may have started a run with its id.
        if note is None or note["user"] != user:
            continue
        sources = [source for fields in note["sources"] if is_open(source := Source(**fields))]
        texts = await other.texts([source.content_hash for source in sources])
        for source, text in zip(sources, texts, strict=True):
            folded = f"{source.title} {text}".casefold()
            found.append((ReadPage(source, thread), frozenset(word for word in words if word[:_OPENING] in folded)))
    return found


def _best(query: str, pages: Sequence[ReadPage]) -> list[ReadPage]:
    """Return the pages that answer a query best, best first, each with its best passage."""
    windows = {page: Windows(f"{page.source.title}\n\n{page.text}") for page in pages}
    shares = {page: share for page, own in windows.items() if (share := own.share(query))}
    least = _RELATED * max(shares.values(), default=0.0)
    ordered = sorted((page for page in shares if shares[page] >= least), key=lambda page: -shares[page])
    return [page._replace(passage="\n".join(windows[page].shown(windows[page].best(query, 1)))) for page in ordered]


def _runs_of_user(pages: Pages, context: Context) -> tuple[str, Pages]:
    """Return the user's name as stored in notes, and the list of the user's runs: notes named by thread id."""
    # The prefix keeps users of an app apart from users of a server with the same names.
    user = pages.user or " ".join(filter(None, (LOCAL_USER, context.user)))
    # A hash, since the store searches names by prefix, and another user's name may have this prefix.
    return user, pages.of_thread(f"runs of {text_hash(user)}")
