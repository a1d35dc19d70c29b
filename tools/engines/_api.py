"""The base of engines with an HTTP API, and what engines share: requests, dates, failures."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import reduce
from operator import getitem
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from urllib.parse import quote

from ...core.concurrency import in_thread
from ...core.errors import SearchRefused
from ...core.reading.documents.decode import tagged_text
from ...core.reading.policy import Policy
from ...core.settings.context import Context
from ...core.settings.network import (
    CONNECT_SHARE,
    ENCODING,
    AnswerTooLarge,
    connection_problem,
    limit_answer,
    trusted_certificates,
    usable_proxy,
)
from ..engine import (
    ANSWER_BYTES,
    EngineBusy,
    EngineFailed,
    Found,
    PartialResults,
    Reported,
)

if TYPE_CHECKING:
    import httpx

USER_AGENT = "deep-research (research assistant, run by its user)"
_FIELD_CHARACTERS = 20_000
"""Maximum characters that are read of one field of a result."""
_DEFAULT_WAIT = 1.0
"""Seconds to wait before a retry if the engine does not say how long."""
_EXAMPLE = "http://localhost:8888"
_MOST_RESULTS = 100
"""Maximum number of results to request; no API here returns more per response."""
_REFUSAL_BYTES = 10_000
"""How much of a refusal is searched for its reason."""
_QUOTA_SECONDS = 3600.0
"""A wait longer than this many seconds is for a quota, not for the pace of requests."""
_EPOCH, _EPOCH_IN_MILLISECONDS = 10**9, 10**12
"""Larger values of a reset header are times, smaller ones are seconds from now."""
_KEY_REFUSED = re.compile(
    r"\b(?:api|subscription|access)[\s_-]*(?:key|token)|\bunauthori[sz]ed\b", re.IGNORECASE
)
"""Matches a refusal that is about the key, whatever its status."""
_QUERY_CHARACTERS = 400
"""Maximum characters of a query with its domains: the limit of Brave, which is the lowest."""
_NOTHING: Mapping[str, str] = MappingProxyType({})
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\S+)", re.IGNORECASE)
_READ_DAY: tuple[Callable[[str], datetime], ...] = (
    datetime.fromisoformat,
    parsedate_to_datetime,
    lambda text: datetime.strptime(text, "%b %d, %Y"),
)


class ApiRequest(NamedTuple):
    """One request to an engine's API."""

    path: str = ""
    """Appended to the address of the API."""
    params: Mapping[str, str] = _NOTHING
    body: Mapping[str, Any] | None = None
    """Sent as JSON by POST; without one, the request is a GET."""
    headers: Mapping[str, str] = _NOTHING


class ApiAnswer(NamedTuple):
    """An answer of an engine's API."""

    results: list[Any]
    reported: Reported
    """Errors and warnings beside the results."""


class ApiEngine:
    """A search engine with an HTTP API; a subclass builds the request and reads the results."""

    name: str
    title: str
    parallel: int = 2
    gap: float = 0.0
    address: str = ""
    """Address of the API, without the path; empty if the user has to set it."""
    address_name: str = ""
    """Environment variable that overrides the address; `<NAME>_URL` if not set."""
    key_name: str = ""
    """Environment variable with the key; empty if the API takes none."""
    needs_key: bool = True
    """Whether a missing key is an error."""
    denial: str = "choose another engine"
    """Advice to the user if an engine without a key answers with status 401 or 403."""
    results_at: tuple[str, ...] = ("results",)
    """Keys that lead to the list of results in an answer."""
    used_up: str = "credits|quota|budget"
    """Pattern that matches a refusal if the quota is used up."""

    def __init__(self, context: Context, address: str = "") -> None:
        """`address`: the API's URL, instead of the environment variable's.

        Raises `SearchRefused` for a missing or malformed key or address.
        """
        self.context = context
        variable = self._variable()
        self._address = address or os.environ.get(variable, "").strip() or self.address
        if not self._address:
            raise SearchRefused(
                f"{self.title} needs an address: set {variable}, such as {_EXAMPLE}."
            )
        # The variable to name if the address is wrong.
        self._setting = ""
        if self._address not in (address, self.address):
            self._setting = variable
            if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", self._address):
                example = self.address or _EXAMPLE
                raise SearchRefused(
                    f"{variable} must be an address such as {example}, without a password in it."
                )
        self.key = ""
        if self.key_name:
            self.key = self._read_key()

    def _read_key(self) -> str:
        """Return the key in the environment; raises `SearchRefused` if it is malformed, or needed
        and missing."""
        name = self.key_name
        key = os.environ.get(name, "").strip()
        if not key and self.needs_key:
            raise SearchRefused(
                f"{self.title} needs a key: set {name}, or start the question with other engines "
                "(engines)."
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise SearchRefused(f"{name} contains characters that no key has: copy the key again.")
        return key

    @classmethod
    def is_set_up(cls) -> bool:
        """Whether the environment has the engine's key, or its address if there is no default."""
        variable = cls.key_name
        if not variable and not cls.address:
            variable = cls._variable()
        return bool(os.environ.get(variable, "").strip())

    @classmethod
    def _variable(cls) -> str:
        return cls.address_name or f"{cls.name.upper()}_URL"

    def request(self, query: str, count: int) -> ApiRequest:
        """Return the request for `count` results."""
        raise NotImplementedError

    def results(self, answer: Any) -> Any:
        """Return the list of results in a parsed JSON answer; raises any error if it is not an
        answer of this API."""
        return reduce(getitem, self.results_at, answer)

    def found(self, result: Any) -> Found:
        """Convert a result; a result for which this raises an error is left out."""
        raise NotImplementedError

    async def search(self, query: str, count: int) -> list[Found]:
        """Return at most `count` results, best first; raises `EngineFailed`."""
        # Importing the client and reading certificates block.
        return await in_thread(self._search, query, count)

    def _search(self, query: str, count: int) -> list[Found]:
        import httpx

        def limit(response: httpx.Response) -> None:
            limit_answer(response, ANSWER_BYTES, seconds=seconds)

        request = self.request(query, min(count, _MOST_RESULTS))
        seconds = self.context.limits.search_seconds
        options: dict[str, Any] = {
            **connection_options(self._address),
            "timeout": httpx.Timeout(seconds, connect=CONNECT_SHARE * seconds),
            "headers": {
                "User-Agent": USER_AGENT,
                "Accept-Encoding": ENCODING,
                **request.headers,
            },
            "event_hooks": {"response": [limit]},
        }
        try:
            with httpx.Client(**options) as http:
                response = http.request(
                    "GET" if request.body is None else "POST",
                    f"{self._address.rstrip('/')}{request.path}",
                    params=request.params,
                    json=request.body,
                )
        except AnswerTooLarge:
            raise EngineFailed.too_large(self.title) from None
        except TimeoutError:
            raise EngineFailed.too_slow(self.title) from None
        except httpx.HTTPError as error:
            raise failed_request(self.title, error, self._setting) from None
        answer = self._read(response)
        found: list[Found] = []
        for result in answer.results[:count]:
            with suppress(AttributeError, LookupError, TypeError, ValueError):
                found.append(self.found(result))
        return self._with_faults(found, answer.reported)

    def _read(self, response: httpx.Response) -> ApiAnswer:
        """Return the results in an answer, and what it reports beside them.

        Raises `EngineFailed` for a refusal, an empty answer that says why it is empty, and an
        answer of something else.
        """
        answer: Any = None
        results: Any = None
        with suppress(ValueError, RecursionError):
            answer = response.json()
        is_answer = False
        if response.status_code == 200:
            with suppress(AttributeError, LookupError, TypeError, ValueError, RecursionError):
                results = self.results(answer)
                is_answer = isinstance(results, list)
        reported = Reported.of(answer, self.results_at[:1] if is_answer else ())
        if is_answer and (results or not reported.words):
            return ApiAnswer(results, reported)
        words = reported.text
        if not words and response.status_code != 200:
            words = response.content[:_REFUSAL_BYTES].decode(errors="replace")
        if self.key_name:
            self._check_quota(response, words)
        self._check_key(response.status_code, words)
        if reported.words and response.status_code == 200:
            raise EngineFailed(f"{self.title} found nothing and reports {reported.words}.")
        status = response.status_code
        if status in (400, 422, 429) or status >= 500:
            raise failed_status(self.title, status, response.headers.get("Retry-After", ""))
        raise EngineFailed(
            f"{self.title}'s answer (status {status}) is not one of its search API: check "
            f"{self._variable()}.",
            is_lasting=True,
        )

    def _check_quota(self, response: httpx.Response, words: str) -> None:
        """Raise `EngineFailed` if a refusal says that a quota is used up; `words`: its texts."""
        status = response.status_code
        is_used_up = status in (402, 432, 433)
        if status in (200, 400, 403, 422, 429) and re.search(self.used_up, words, re.IGNORECASE):
            is_used_up = True
        wait = _quota_wait(response.headers) if status == 429 else 0.0
        when = ""
        if wait > _QUOTA_SECONDS:
            is_used_up = True
            when = f", or wait {wait / 3600:.0f} h"
        if is_used_up and self.key:
            raise EngineFailed(
                f"The quota of the key for {self.title} is used up (status {status}): raise it, or "
                f"change {self.key_name}{when}.",
                is_lasting=True,
            )
        if is_used_up:
            self._fail(
                f"allows no more searches without a key (status {status}): "
                f"set {self.key_name}{when}"
            )

    def _check_key(self, status: int, words: str) -> None:
        """Raise `EngineFailed` if a refusal is about the key; `words`: its texts."""
        if status in (401, 403) and not self.key_name:
            self._fail(f"refuses searches (status {status}): {self.denial}")
        is_refused = status in (401, 403)
        if status in (200, 400, 422) and self.key_name and _KEY_REFUSED.search(words):
            is_refused = True
        if is_refused and self.key:
            self._fail(f"rejects the key (status {status}): check {self.key_name}")
        if is_refused:
            self._fail(f"refuses searches without a key (status {status}): set {self.key_name}")

    def _fail(self, words: str) -> NoReturn:
        """Raise `EngineFailed` for a lasting failure."""
        raise EngineFailed(f"{self.title} {words}.", is_lasting=True)

    def _with_faults(self, found: list[Found], reported: Reported) -> list[Found]:
        """Return the results, with the errors and warnings that were reported beside them."""
        if not reported.faults:
            return found
        return PartialResults(
            found, f"{self.title} found results, but also reports {reported.faults}."
        )


def failed_status(title: str, status: int, retry_after: str = "") -> EngineFailed:
    """Return the failure for an HTTP status other than 200."""
    seconds = seconds_to_wait(retry_after)
    if status == 429:
        return EngineBusy(f"{title} asks for fewer requests (status 429).", seconds)
    if status >= 500:
        return EngineBusy(
            f"{title} reports an error of its own (status {status}).", seconds, is_lasting=True
        )
    return EngineFailed(f"{title} refused the search (status {status}).")


def failed_request(title: str, error: httpx.HTTPError, setting: str = "") -> EngineFailed:
    """Return the failure for a transport error; `setting`: the environment variable that set the
    address, if any."""
    import httpx

    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.ProxyError):
        return unreachable(title, error, setting)
    if isinstance(error, httpx.TimeoutException):
        return EngineFailed.too_slow(title)
    return connection_broke_off(title)


def connection_broke_off(title: str) -> EngineBusy:
    """Return the failure for a connection that ended before the answer was complete."""
    return EngineBusy(f"{title} broke off the connection.", _DEFAULT_WAIT, is_lasting=True)


def unreachable(title: str, error: Exception, setting: str = "") -> EngineFailed:
    """Return the failure for an engine that accepts no connection."""
    advice = connection_problem(error, title)
    if not advice:
        advice = f"check the network and {setting}" if setting else "check the network"
    return EngineFailed(f"{title} cannot be reached: {advice}.", is_lasting=True)


def seconds_to_wait(retry_after: str) -> float:
    """Return the seconds to wait according to a Retry-After header; 1 if it is missing or
    malformed."""
    text = retry_after.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        until = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return _DEFAULT_WAIT
    if not until.tzinfo:
        until = until.replace(tzinfo=UTC)
    return max((until - datetime.now(UTC)).total_seconds(), 0.0)


def _quota_wait(headers: Mapping[str, str]) -> float:
    """Return the longest wait in seconds that a refusal for too many requests asks for.

    Of `X-RateLimit-Remaining: 0, 1832` and `X-RateLimit-Reset: 1, 86400`, each with an entry for
    every period, the periods count in which nothing remains. 0 if nothing is said.
    """
    waits = [0.0]
    if "Retry-After" in headers:
        waits.append(seconds_to_wait(headers["Retry-After"]))
    remaining = headers.get("X-RateLimit-Remaining", "").split(",")
    resets = headers.get("X-RateLimit-Reset", "").split(",")
    for left, reset in zip(remaining, resets, strict=False):
        with suppress(ValueError):
            if float(left) > 0:
                continue
            seconds = float(reset)
            if seconds > _EPOCH_IN_MILLISECONDS:
                seconds /= 1000
            if seconds > _EPOCH:
                seconds -= datetime.now(UTC).timestamp()
            waits.append(seconds)
    return max(waits)


def connection_options(address: str) -> dict[str, Any]:
    """Return the options of an `httpx` client that reaches an engine: proxy and certificates. Reads
    files."""
    return {"trust_env": False, "proxy": usable_proxy(address), "verify": trusted_certificates()}


def with_domains(query: str, context: Context, most: int = _QUERY_CHARACTERS) -> str:
    """Return the query with `site:` operators for the domains of the settings, if that fits into
    `most` characters.

    Results are filtered by domain anyway.
    """
    policy = Policy(context)
    parts = [query]
    if policy.allowed:
        parts.append(" OR ".join([f"site:{name}" for name in policy.allowed]))
    parts += [f"-site:{name}" for name in policy.denied]
    restricted = " ".join(parts)
    return restricted if len(restricted) <= most else query


def sent_domains(domains: Sequence[str], most: int) -> list[str] | None:
    """Return the domains to send to an engine; None if there are none or over `most`: a subset
    would change the search."""
    if not 0 < len(domains) <= most:
        return None
    if not all("." in name for name in domains):
        return None
    return list(domains)


def text_of(value: object) -> str:
    """Return the value, shortened, if it is a string, else an empty string."""
    return value[:_FIELD_CHARACTERS] if isinstance(value, str) else ""


def plain_text(value: object) -> str:
    """Return a text without tags and entities, which publishers leave in titles and abstracts."""
    return tagged_text(text_of(value))


def day_of(value: object) -> str:
    """Return the day (ISO 8601) of a date in ISO 8601, RFC 5322 or as `Jan 31, 2025`; empty for
    anything else."""
    for read in _READ_DAY:
        with suppress(ValueError, OverflowError):
            return read(text_of(value)).date().isoformat()
    return ""


def doi_address(value: object) -> str:
    """Return the canonical address of a DOI; empty if the value is not a DOI.

    DOIs are case-insensitive: DOI Handbook, section 2.4, https://doi.org/10.1000/182.
    """
    match = _DOI.fullmatch(text_of(value).strip())
    if not match:
        return ""
    return f"https://doi.org/{quote(match[1].lower(), safe='/:;()._-,+')}"
