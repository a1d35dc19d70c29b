"""Puts what was found into the order of its versions: what is in force, or what the question means, comes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from deep_research.evidence.likeness import likeness
from deep_research.evidence.mixing import distinct
from deep_research.evidence.repeated import without_repeated
from deep_research.evidence.sources import DOCUMENT_SCHEME
from deep_research.evidence.versions.asked import Dated, unwanted
from deep_research.evidence.versions.names import base_words
from deep_research.evidence.versions.versions import Edition, superseded
from deep_research.evidence.words import stems, tokens
from deep_research.knowledge import Source
from deep_research.tools.index_shelf import IndexShelf
from deep_research.tools.passages import split_passages
from deep_research.tools.ranking import Passage

MOST_NAMING = 10
"""Passages that hold the title of a document and may say that it is replaced."""
_REPLACING = ("supersedes", "replaces", "ersetzt", "remplace", "sustituye", "reemplaza", "取代", "替代")


def in_force_first(
    question: str, found: Sequence[Passage], shelf: IndexShelf, text_of: Callable[[Source], str]
) -> list[Passage]:
    """The passages with their versions, each text once; those of versions that the question does not mean come last.

    The version in force is added where only an outdated one was found, and the one that the question asks for where
    only another one was.
    """
    sources = _by_key(passage.source for passage in found)
    near = sources | _by_key(_akin(shelf, sources.values()))
    texts = {key: text_of(source) for key, source in near.items()}
    newer = superseded(_edition(source, texts[key]) for key, source in near.items())
    marked = {key: one.model_copy(update={"superseded_by": newer.get(key, "")}) for key, one in near.items()}
    left_out = unwanted(question, [_dated(source) for source in near.values()], newer)
    groups = _groups(newer)
    first, behind = list[Passage](), list[Passage]()
    for passage in found:
        (behind if passage.source.key in left_out else first).append(_of(passage, marked[passage.source.key]))
        for key in groups.get(passage.source.key, ()):
            if key not in sources and (key not in left_out or key in newer.values()):
                counterpart = _counterpart(passage, marked[key], texts[key])
                (behind if key in left_out else first).append(counterpart)
    every = distinct([*first, *behind], lambda one: (one.source.key, one.start))
    return without_repeated(every, lambda one: one.text)


def _by_key(sources: Iterable[Source]) -> dict[str, Source]:
    return {source.key: source for source in sources}


def _akin(shelf: IndexShelf, sources: Iterable[Source]) -> Iterator[Source]:
    """The documents with nearly the title of one of these, and those that may say that one of these is replaced."""
    for source in sources:
        title = " ".join(tokens(source.title))
        near = [*shelf.akin(base_words(source.title)), *shelf.holding(title, _REPLACING, MOST_NAMING)]
        yield from (shelf.passages[one].source for one in near)


def _edition(source: Source, text: str) -> Edition:
    return Edition(source.key, source.title, _path(source), source.date, text)


def _dated(source: Source) -> Dated:
    return Dated(source.key, source.title, _path(source), source.date)


def _path(source: Source) -> str:
    return source.address.removeprefix(DOCUMENT_SCHEME)


def _groups(newer: Mapping[str, str]) -> dict[str, list[str]]:
    """All versions of a document, the one in force first, by the key of each of them."""
    groups: dict[str, list[str]] = {}
    for old, current in newer.items():
        groups.setdefault(current, [current]).append(old)
    return {key: group for group in groups.values() for key in group}


def _of(passage: Passage, source: Source) -> Passage:
    return passage._replace(source=source)


def _counterpart(passage: Passage, source: Source, text: str) -> Passage:
    """The passage of another version that is most like this one."""
    wanted = frozenset(stems(passage.text))
    spans = split_passages(text)
    best = max(spans, key=lambda span: (likeness(wanted, frozenset(stems(text[span.start : span.end]))), -span.start))
    return passage._replace(source=source, start=best.start, heading=best.heading, text=text[best.start : best.end])
