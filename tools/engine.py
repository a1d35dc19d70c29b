"""What a search engine is, what it finds, and what a bad answer of it means."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..core.evidence.citations.citing import source_key
from ..core.reading.addresses import parse_address
from ..core.reading.documents.decode import clean, without_controls
from ..core.reading.policy import Policy
from ..core.reading.records import Unread
from ..core.records.sources import Source
from ..core.run.context import Context
from ..core.run.network import barrier, trusted_certificates, usable_proxy
from ..core.run.store.pages import text_hash
from .tool import Hit

if TYPE_CHECKING:
    import httpx


NOTICE = "`langchain-community` is being sunset"
USER_AGENT = "deep-research (research assistant, run by its user)"
DEFAULT_WAIT = 1.0
TITLE_CHARACTERS = 200
EXCERPT_CHARACTERS = 2000
DAY_CHARACTERS = 10
TEXT_CHARACTERS = 20_000
"""Characters that are kept of a result that is not a page."""
LOOKED_AT = 4
"""Results that are looked at for each that may be shown, and characters for each of a title or an excerpt."""
RETRIEVED = "retrieved:"
"""How the addresses of results begin that are no pages."""


@contextmanager
def without_notice() -> Iterator[None]:
    """Hide this one notice, which is for us and not for the user, from whatever is imported meanwhile."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOTICE, DeprecationWarning)
        yield


class Found(NamedTuple):
    """One result as the engine gives it."""

    title: str
    """Title of the page; may be empty."""
    address: str
    """Where the page is, unchecked."""
    excerpt: str
    """A piece of its text; may be empty."""
    date: str = ""
    """Day of publication (ISO 8601), or the beginning of one; empty if the engine does not tell."""
    score: float = 0.0
    """How well it matches the query as the engine has it, from 0 to 1; 0 if it does not tell."""
    is_page: bool = True
    """Whether it is a page of the web; else the excerpt is all of its text, and the address only names it."""
    location: str = ""
    """Where a reader finds what is no page, unchecked; empty if that is not known."""


class SearchEngine(Protocol):
    """Something that searches the web. A class in `tools/engines` is made from the settings: `Engine(context)`."""

    name: str
    """As `Context.engines` names it."""
    title: str
    """As messages name it."""
    parallel: int
    """Requests that it may be sent at once by all researchers of the process."""
    gap: float
    """Seconds that it wants between an answer and the next request."""

    async def search(self, query: str, count: int) -> list[Found]:
        """Return at most about `count` results, the best first; raises `EngineFailed`."""


class EngineFailed(Exception):
    """An engine could not search; its text is one sentence for the user, without keys or foreign words."""

    def __init__(self, words: str, *, is_lasting: bool = False) -> None:
        """`is_lasting` says that asking again would not help."""
        super().__init__(words)
        self.words, self.is_lasting = words, is_lasting


class EngineBlocked(EngineFailed):
    """An engine turned a query away because a program sent it; it has to rest before it is asked again."""


class EngineBusy(EngineFailed):
    """An engine could not search just now, and is worth asking once more after `seconds`."""

    def __init__(self, words: str, seconds: float, *, is_lasting: bool = False) -> None:
        """`is_lasting` holds for the second failure in a row."""
        super().__init__(words, is_lasting=is_lasting)
        self.seconds = seconds


def failed_status(title: str, status: int, retry_after: str = "") -> EngineFailed:
    """Return the failure that an HTTP status other than 200 stands for."""
    seconds = seconds_to_wait(retry_after)
    if status == 429:
        return EngineBusy(f"{title} asks for fewer requests (status 429).", seconds)
    if status >= 500:
        return EngineBusy(f"{title} is out of order (status {status}).", seconds, is_lasting=True)
    return EngineFailed(f"{title} refused the search (status {status}).")


def failed_request(title: str, error: httpx.HTTPError, setting: str = "") -> EngineFailed:
    """Return the failure that an error on the way to the engine stands for."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return unreachable(title, error, setting)
    if isinstance(error, httpx.TimeoutException):
        return too_slow(title)
    return broke_off(title)


def broke_off(title: str) -> EngineBusy:
    """Return the failure of a connection that ended before the answer did."""
    return EngineBusy(f"{title} broke off the connection.", DEFAULT_WAIT, is_lasting=True)


def unreachable(title: str, error: Exception, setting: str = "") -> EngineFailed:
    """Return the failure of an engine that takes no connection."""
    check = f"check the network and {setting}" if setting else "check the network"
    return EngineFailed(f"{title} cannot be reached: {barrier(error, title) or check}.", is_lasting=True)


def too_slow(title: str, seconds: float | None = None) -> EngineFailed:
    """Return the failure of an engine that did not answer in time."""
    within = "in time" if seconds is None else f"within {seconds:g} s"
    return EngineFailed(f"{title} did not answer {within} (search_seconds).")


def seconds_to_wait(retry_after: str) -> float:
    """Return the seconds that a Retry-After header asks for; 1 if it asks for none."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return DEFAULT_WAIT
    until = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def way_to(address: str) -> dict[str, Any]:
    """Return how a client of `httpx` reaches an engine; blocks for a moment."""
    return {"trust_env": False, "proxy": usable_proxy(address), "verify": trusted_certificates()}


def cleaned(found: Sequence[object], most: int) -> list[Found]:
    """Return the first results, short and without what nobody sees: some for each of the `most` that may be shown."""
    return [_cleaned(one) for one in found[: LOOKED_AT * most] if isinstance(one, Found)]


def usable(found: Sequence[Found], context: Context) -> list[Found]:
    """Return the cleaned results that may be shown; denial wins. Raises `UnknownSetting`."""
    policy, after = Policy(context), context.published_after
    return [
        one
        for one in found
        if (one.title or one.excerpt)
        and (not one.is_page or _is_open(one.address, policy))
        # Of some works only the year or the month is known.
        and not (after and one.date and one.date < after.isoformat()[: len(one.date)])
    ]


def _is_open(address: str, policy: Policy) -> bool:
    """Return whether the settings let an address through, as far as it can be told without looking up its host."""
    try:
        parts = parse_address(address)
        policy.check_domain(parts)
        if parts.number:
            policy.check_numbers(parts, [parts.number])
    except Unread:
        return False
    return True


def _cleaned(one: Found) -> Found:
    return Found(
        _clean(one.title, TITLE_CHARACTERS),
        one.address if isinstance(one.address, str) else "",
        _clean(one.excerpt, EXCERPT_CHARACTERS) if one.is_page else clean(one.excerpt[:TEXT_CHARACTERS]).strip(),
        _clean(one.date, DAY_CHARACTERS),
        one.score,
        one.is_page,
        _clean(one.location, EXCERPT_CHARACTERS),
    )


def hit_of(found: Found, key: str, read_at: str = "", engines: Iterable[str] = ()) -> Hit:
    """Return a cleaned result as what a tool found; `key` is that of its source, `read_at` the moment.

    `engines` are the names of the engines that found it.
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
        is_cut=not found.is_page and len(found.excerpt) >= TEXT_CHARACTERS,
        read_at="" if found.is_page else read_at,
        content_hash="" if found.is_page else text_hash(found.excerpt),
        excerpts=excerpts if found.is_page else (),
        engines=tuple(sorted(engines)),
    )
    return Hit(source, found.excerpt, "" if found.is_page else found.excerpt, score=found.score)


def _clean(text: object, characters: int) -> str:
    if not isinstance(text, str):
        return ""
    visible = clean(without_controls(text[: LOOKED_AT * characters]))
    return " ".join(visible.split())[:characters].rstrip()
