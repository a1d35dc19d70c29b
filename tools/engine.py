"""The interface of search engines: their results, their failures, and how results become hits."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ..core.evidence.citations.citing import source_key
from ..core.reading.addresses import parse_address
from ..core.reading.documents.decode import clean_text, without_controls
from ..core.reading.policy import Policy
from ..core.reading.records import Unread
from ..core.records.sources import Source
from ..core.run.context import Context
from ..core.run.network import connection_problem
from ..core.run.store.pages import text_hash
from .tool import Hit

if TYPE_CHECKING:
    import httpx


_NOTICE = "`langchain-community` is being sunset"
USER_AGENT = "deep-research (research assistant, run by its user)"
_DEFAULT_WAIT = 1.0
"""Seconds to wait before a retry if the engine does not say how long."""
_TITLE_CHARACTERS = 200
_EXCERPT_CHARACTERS = 2000
_DAY_CHARACTERS = 10
_TEXT_CHARACTERS = 20_000
"""Maximum characters kept of a result that is not a web page."""
OVERSAMPLING = 4
"""How many times more results, and characters of titles and excerpts, are examined than may be shown."""
RETRIEVED = "retrieved:"
"""Address prefix of results that are not web pages."""


@contextmanager
def without_notice() -> Iterator[None]:
    """Hide the sunset notice of langchain-community, which does not concern the user, during imports."""
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
    """Whether it is a web page; if not, the excerpt is its whole text, and the address is only a name."""
    location: str = ""
    """Where a reader finds a result that is not a web page, unchecked; empty if unknown."""


class SearchEngine(Protocol):
    """A search engine. Classes in `tools/engines` are created from the settings: `Engine(context)`."""

    name: str
    """Name in `Context.engines`."""
    title: str
    """Name in messages."""
    parallel: int
    """Maximum number of parallel requests from the whole process."""
    gap: float
    """Minimum seconds between an answer and the next request."""

    async def search(self, query: str, count: int) -> list[Found]:
        """Return roughly `count` results, best first; raises `EngineFailed`."""


class EngineFailed(Exception):
    """An engine could not search; the text is one sentence for the user, without keys or third-party text."""

    def __init__(self, words: str, *, is_lasting: bool = False) -> None:
        """`is_lasting`: a retry would not help."""
        super().__init__(words)
        self.words, self.is_lasting = words, is_lasting


class EngineBlocked(EngineFailed):
    """An engine blocked a query as automated; it must rest before the next request."""


class EngineBusy(EngineFailed):
    """An engine could not search at the moment; one retry after `seconds` may succeed."""

    def __init__(self, words: str, seconds: float, *, is_lasting: bool = False) -> None:
        """`is_lasting` applies to the second failure in a row."""
        super().__init__(words, is_lasting=is_lasting)
        self.seconds = seconds


def failed_status(title: str, status: int, retry_after: str = "") -> EngineFailed:
    """Return the failure for an HTTP status other than 200."""
    seconds = seconds_to_wait(retry_after)
    if status == 429:
        return EngineBusy(f"{title} asks for fewer requests (status 429).", seconds)
    if status >= 500:
        return EngineBusy(f"{title} reports an error of its own (status {status}).", seconds, is_lasting=True)
    return EngineFailed(f"{title} refused the search (status {status}).")


def failed_request(title: str, error: httpx.HTTPError, setting: str = "") -> EngineFailed:
    """Return the failure for a transport error; `setting`: the environment variable that set the address, if any."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return unreachable(title, error, setting)
    if isinstance(error, httpx.TimeoutException):
        return too_slow(title)
    return connection_broke_off(title)


def connection_broke_off(title: str) -> EngineBusy:
    """Return the failure for a connection that ended before the answer was complete."""
    return EngineBusy(f"{title} broke off the connection.", _DEFAULT_WAIT, is_lasting=True)


def unreachable(title: str, error: Exception, setting: str = "") -> EngineFailed:
    """Return the failure for an engine that accepts no connection."""
    check = f"check the network and {setting}" if setting else "check the network"
    return EngineFailed(f"{title} cannot be reached: {connection_problem(error, title) or check}.", is_lasting=True)


def too_slow(title: str, seconds: float | None = None) -> EngineFailed:
    """Return the failure for an engine that did not answer in time."""
    within = "in time" if seconds is None else f"within {seconds:g} s"
    return EngineFailed(f"{title} did not answer {within} (limit search_seconds).")


def seconds_to_wait(retry_after: str) -> float:
    """Return the seconds to wait according to a Retry-After header; 1 if it is missing or malformed."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return _DEFAULT_WAIT
    until = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def cleaned(found: Sequence[object], most: int) -> list[Found]:
    """Return the first results, shortened and without invisible characters; `most`: how many may be shown later."""
    results = list[Found]()
    for result in found[: OVERSAMPLING * most]:
        if isinstance(result, Found):
            excerpt = result.excerpt
            text = _clean(excerpt, _EXCERPT_CHARACTERS) if result.is_page else clean_text(excerpt[:_TEXT_CHARACTERS])
            shorter = result._replace(
                title=_clean(result.title, _TITLE_CHARACTERS),
                address=result.address if isinstance(result.address, str) else "",
                excerpt=text.strip(),
                date=_clean(result.date, _DAY_CHARACTERS),
                location=_clean(result.location, _EXCERPT_CHARACTERS),
            )
            results.append(shorter)
    return results


def allowed_results(found: Sequence[Found], context: Context) -> list[Found]:
    """Return the cleaned results that the settings allow; denials take precedence. Raises `UnknownSetting`."""
    policy, after, kept = Policy(context), context.published_after, list[Found]()
    for result in found:
        # For some works only the year or the month is known.
        is_old = after and result.date and result.date < after.isoformat()[: len(result.date)]
        if is_old or not (result.title or result.excerpt):
            continue
        # Addresses are checked as far as possible without resolving their host.
        with suppress(Unread):
            if result.is_page:
                parts = parse_address(result.address)
                policy.check_domain(parts)
                policy.check_ips(parts, [parts.ip] if parts.ip else [])
            kept.append(result)
    return kept


def hit_of(found: Found, key: str, now: str, engines: Iterable[str] = ()) -> Hit:
    """Return a cleaned result as a hit.

    `key`: key of its source; `now`: the current time (ISO 8601); `engines`: names of the engines that found it.
    """
    excerpts = (text_hash(found.excerpt),) if found.excerpt.strip() else ()
    source = Source(
        key=key,
        title=found.title or key,
        location=source_key(found.address) if found.is_page else found.location,
        address=found.address,
        kind="web" if found.is_page else "document",
        date=found.date,
        date_kind="publication" if found.date and found.is_page else "",
        is_cut=not found.is_page and len(found.excerpt) >= _TEXT_CHARACTERS,
        read_at="" if found.is_page else now,
        content_hash="" if found.is_page else text_hash(found.excerpt),
        excerpts=excerpts if found.is_page else (),
        engines=tuple(sorted(engines)),
    )
    return Hit(source, found.excerpt, "" if found.is_page else found.excerpt, score=found.score)


def _clean(text: object, characters: int) -> str:
    """Return the text as one line of visible characters, shortened; empty if it is not a string."""
    if not isinstance(text, str):
        return ""
    visible = clean_text(without_controls(text[: OVERSAMPLING * characters]))
    return " ".join(visible.split())[:characters].rstrip()
