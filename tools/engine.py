"""Search engines: their interface, their results and their failures."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from ..core.evidence.citations.citing import source_key
from ..core.masking import MASK, masked
from ..core.reading.addresses import Unread, parse_address
from ..core.reading.documents.decode import clean_text, without_controls
from ..core.reading.policy import Policy
from ..core.records.sources import Source, text_hash
from ..core.settings.context import Context
from ._paper_standing import paper_standing
from .tool import Hit

_NOTICE = "`langchain-community` is being sunset"
_TITLE_CHARACTERS = 200
_EXCERPT_CHARACTERS = 2000
_DAY_CHARACTERS = 10
ANSWER_BYTES = 4_000_000
"""Maximum size of an engine's answer, decompressed."""
_TEXT_CHARACTERS = 20_000
"""Maximum characters kept of a result that is not a web page."""
OVERSAMPLING = 4
"""How many times more results, and characters of titles and excerpts, are examined than may be
shown."""
RETRIEVED = "retrieved:"
"""Address prefix of results that are not web pages."""
_FAULTS = frozenset((
    "error", "errors", "errormessage", "errmsg", "exception", "exceptions", "failure", "failures",
    "fault", "faults", "unresponsiveengines", "warning", "warnings",
))  # fmt: skip
"""Normalized names of fields of an answer (see `_field`) that only hold what went wrong."""
_WORDS = frozenset(("message", "messages", "msg", "detail", "details", "reason", "notice"))
"""Normalized names of fields that say in words how a request went, well or badly."""
_PARTS = _FAULTS | _WORDS | {"code", "description", "info", "tag", "text", "value"}
"""Normalized names of the texts within such a field; others may repeat the request."""
_SUCCESS = frozenset(("ok", "success"))
_DEEPEST = 5
"""Maximum depth of nested lists and records in what an answer reports."""
_MOST_TEXTS = 8
"""Maximum number of texts shown of one field."""
_REPORT_CHARACTERS = 120
"""Maximum length of a text that is shown."""
_MARKUP = re.compile(r"[\[\]<>{}`*_|\\#]+")


@contextmanager
def without_notice() -> Iterator[None]:
    """Hide the sunset notice of langchain-community, which does not concern the user, during
    imports."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _NOTICE, DeprecationWarning)
        yield


class Found(NamedTuple):
    """One result as returned by the engine."""

    title: str
    """Title of the page; may be empty."""
    address: str
    """Address of the page, unchecked."""
    excerpt: str
    """Excerpt of its text; may be empty."""
    date: str = ""
    """Day of publication (ISO 8601), or only its year or month; empty if unknown."""
    score: float = 0.0
    """The engine's score for the match, from 0 to 1; 0 if unknown."""
    is_page: bool = True
    """Whether it is a web page; if not, the excerpt is its whole text, and the address is only a
    name."""
    location: str = ""
    """Where a reader finds a result that is not a web page, unchecked; empty if unknown."""
    is_retracted: bool = False
    """Whether the engine lists the paper as retracted, withdrawn or removed."""
    has_concern: bool = False
    """Whether the engine lists an expression of concern about the paper."""

    def with_notices(self, notices: object) -> Found:
        """Return the paper with what the notices about it say, as Crossref's `updated-by` and
        Europe PMC's `commentCorrection` list them; malformed ones are ignored."""
        standing = paper_standing(notices)
        return self._replace(
            is_retracted=self.is_retracted or standing.is_retracted,
            has_concern=self.has_concern or standing.has_concern,
        )


class PartialResults(list[Found]):
    """Results of an engine that could search only in part, which a plain list does not say."""

    def __init__(self, found: Iterable[Found], words: str) -> None:
        """`words`: one sentence for the user on what was not searched."""
        super().__init__(found)
        self.words = words


class SearchEngine(Protocol):
    """A search engine. Classes in `tools/engines` are created from the settings:
    `Engine(context)`."""

    name: str
    """Name in `Context.engines`."""
    title: str
    """Name in messages."""
    parallel: int
    """Maximum number of parallel requests from the whole process."""
    gap: float
    """Minimum seconds between an answer and the next request."""

    async def search(self, query: str, count: int) -> list[Found]:
        """Return roughly `count` results, best first; raises `EngineFailed`.

        A list of the class `PartialResults` names what was not searched.
        """


class EngineFailed(Exception):
    """An engine could not search; the text is one sentence for the user, without keys, and with
    third-party text only as `Reported` shows it."""

    def __init__(self, words: str, *, is_lasting: bool = False) -> None:
        """`is_lasting`: a retry would not help."""
        super().__init__(words)
        self.words, self.is_lasting = words, is_lasting

    @classmethod
    def too_slow(cls, title: str, seconds: float | None = None) -> EngineFailed:
        """Return the failure for an engine that did not answer in time."""
        within = "in time" if seconds is None else f"within {seconds:g} s"
        return cls(f"{title} did not answer {within} (limit search_seconds).")

    @classmethod
    def too_large(cls, title: str) -> EngineFailed:
        """Return the failure for an engine whose answer is not read to its end."""
        return cls(
            f"{title} sent more than {ANSWER_BYTES} bytes, the most that is read of an answer: "
            "use another engine (engines)."
        )


class EngineBlocked(EngineFailed):
    """An engine blocked a query as automated; it must rest before the next request."""


class EngineBusy(EngineFailed):
    """An engine could not search at the moment; one retry after `seconds` may succeed."""

    def __init__(self, words: str, seconds: float, *, is_lasting: bool = False) -> None:
        """`is_lasting` applies to the second failure in a row."""
        super().__init__(words, is_lasting=is_lasting)
        self.seconds = seconds


class Reported(NamedTuple):
    """What a service reports in an answer, as words for the user; both empty if nothing."""

    faults: str = ""
    """Errors and warnings, with the name of their field: `unresponsive engines: a (timeout)`."""
    words: str = ""
    """Errors, warnings and messages, with the names of their fields."""
    text: str = ""
    """The texts as they were sent, for programs; empty if there are none."""

    @classmethod
    def of(cls, answer: Any, skip: Collection[str] = ()) -> Reported:
        """Return what a parsed JSON answer reports at its top level; `skip`: fields that hold
        results.

        The texts are the service's own: shortened, in one line, without markup and secrets.
        """
        if not isinstance(answer, Mapping):
            return cls()
        faults: list[str] = []
        words: list[str] = []
        sent: list[str] = []
        for key, value in answer.items():
            name = _field(key)
            if key in skip or name not in _FAULTS | _WORDS:
                continue
            texts = list(dict.fromkeys(_texts(value, _DEEPEST)))
            if not texts:
                continue
            sent += texts
            shown = ", ".join(map(_shown, texts[:_MOST_TEXTS]))
            if len(texts) > _MOST_TEXTS:
                shown += f" and {len(texts) - _MOST_TEXTS} more"
            words.append(f"{_shown(str(key))}: {shown}")
            if name in _FAULTS:
                faults.append(words[-1])
        return cls("; ".join(faults), "; ".join(words), "\n".join(sent))


def cleaned(found: Sequence[object], most: int) -> list[Found]:
    """Return the first results, shortened and without invisible characters; `most`: how many may be
    shown later."""
    results: list[Found] = []
    for result in found[: OVERSAMPLING * most]:
        if not isinstance(result, Found):
            continue
        if result.is_page:
            excerpt = _clean(result.excerpt, _EXCERPT_CHARACTERS)
        else:
            excerpt = clean_text(result.excerpt[:_TEXT_CHARACTERS])
        results.append(
            result._replace(
                title=_clean(result.title, _TITLE_CHARACTERS),
                address=result.address if isinstance(result.address, str) else "",
                excerpt=excerpt.strip(),
                date=_clean(result.date, _DAY_CHARACTERS),
                location=_clean(result.location, _EXCERPT_CHARACTERS),
                is_retracted=result.is_retracted is True,
                has_concern=result.has_concern is True,
            )
        )
    return results


def allowed_results(found: Sequence[Found], context: Context) -> list[Found]:
    """Return the cleaned results that the settings allow; denials take precedence. Raises
    `UnknownSetting`."""
    policy = Policy(context)
    after = ""
    if context.published_after:
        after = context.published_after.isoformat()
    allowed: list[Found] = []
    for result in found:
        # For some works only the year or the month is known.
        is_old = result.date and result.date < after[: len(result.date)]
        if is_old or not (result.title or result.excerpt):
            continue
        # Addresses are checked as far as possible without resolving their host.
        with suppress(Unread):
            if result.is_page:
                parts = parse_address(result.address)
                policy.check_domain(parts)
                policy.check_ips(parts, [parts.ip] if parts.ip else [])
            allowed.append(result)
    return allowed


def hit_of(found: Found, key: str, now: str, engines: Iterable[str] = (), lister: str = "") -> Hit:
    """Return a cleaned result as a hit.

    `key`: key of its source; `now`: the current time (ISO 8601); `engines`: names of the engines
    that found it; `lister`: title of the engine that lists it as retracted or doubted, if any.
    """
    title = found.title or key
    names = tuple(sorted(engines))
    if not found.is_page:
        # The excerpt is the whole text.
        document = Source(
            key=key,
            title=title,
            location=found.location,
            address=found.address,
            kind="document",
            date=found.date,
            is_cut=len(found.excerpt) >= _TEXT_CHARACTERS,
            read_at=now,
            content_hash=text_hash(found.excerpt),
            engines=names,
        )
        return Hit(document, found.excerpt, found.excerpt, score=found.score)
    excerpts: tuple[str, ...] = ()
    if found.excerpt.strip():
        excerpts = (text_hash(found.excerpt),)
    page = Source(
        key=key,
        title=title,
        location=source_key(found.address),
        address=found.address,
        kind="web",
        date=found.date,
        is_retracted=found.is_retracted,
        has_concern=found.has_concern,
        listed_by=lister,
        excerpts=excerpts,
        engines=names,
    )
    return Hit(page, found.excerpt, "", score=found.score)


def _clean(text: object, characters: int) -> str:
    """Return the text as one line of visible characters, shortened; empty if it is not a string."""
    if not isinstance(text, str):
        return ""
    visible = clean_text(without_controls(text[: OVERSAMPLING * characters]))
    return " ".join(visible.split())[:characters].rstrip()


def _texts(value: Any, depth: int) -> Iterator[str]:
    """Yield the texts in a field; a pair of a name and a reason is one text."""
    if not depth:
        return
    if isinstance(value, str):
        plain = value.strip()
        if plain and plain.lower() not in _SUCCESS:
            yield plain
    elif isinstance(value, list | tuple):
        is_pair = depth < _DEEPEST and len(value) == 2
        if is_pair and all(isinstance(part, str) and part for part in value):
            yield f"{value[0]} ({value[1]})"
            return
        for item in value:
            yield from _texts(item, depth - 1)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if isinstance(part, Mapping) or _field(key) in _PARTS:
                yield from _texts(part, depth - 1)


def _shown(text: str) -> str:
    """Return a text of a service as one short line without markup and secrets."""
    # Secrets are masked before the text is cut, which could leave a part of one.
    safe = masked(clean_text(without_controls(text[: 10 * _REPORT_CHARACTERS])))
    plain = _MARKUP.sub(" ", safe.replace(MASK, "…"))
    line = " ".join(plain.split()).rstrip(".;,")
    if len(line) > _REPORT_CHARACTERS:
        line = f"{line[: _REPORT_CHARACTERS - 1].rstrip()}…"
    return line


def _field(name: object) -> str:
    """Return the normalized name of a field: the same for `error_message` and `errorMessage`."""
    return re.sub(r"[\W_]", "", str(name)).lower()
