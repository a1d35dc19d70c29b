"""The client that engines with a JSON API share: key, address, time limits, and what a bad answer means."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..core.reading.policy import domains_of
from ..core.run.concurrency import in_thread
from ..core.run.context import Context
from ..core.run.errors import SearchRefused
from .engine import USER_AGENT, EngineFailed, Found, failed_request, failed_status, way_to

if TYPE_CHECKING:
    import httpx

EXAMPLE = "http://localhost:8888"
MOST_RESULTS = 100
"""Results that an engine is asked for at most; no API here gives more in one answer."""
QUERY_CHARACTERS = 400
"""Characters of a query with its domains that web engines take; Brave's limit, the lowest."""
NOTHING: Mapping[str, str] = MappingProxyType({})
_INLINE = re.compile(r"</?(?:jats:)?(?:b|bold|em|i|italic|strong|sub|sup|u)>", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z][^<>]*>")
_DOI = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:)?(10\.\S+)", re.IGNORECASE)
_READ_DAY: tuple[Callable[[str], datetime], ...] = (
    datetime.fromisoformat,
    parsedate_to_datetime,
    lambda text: datetime.strptime(text, "%b %d, %Y"),
)


class ApiRequest(NamedTuple):
    """One request to an engine's API."""

    path: str = ""
    """Behind the address of the API."""
    params: Mapping[str, str] = NOTHING
    body: Mapping[str, Any] | None = None
    """Sent as JSON by POST; without one, the request is a GET."""
    headers: Mapping[str, str] = NOTHING


class ApiEngine:
    """A search engine with a JSON API; a subclass says what it is asked and how its results read."""

    name: str
    title: str
    parallel: int = 2
    gap: float = 0.0
    address: str = ""
    """Of the API, without the path; `<NAME>_URL` takes its place. Empty: only the user can name one."""
    key_name: str = ""
    """Variable of the environment with the key; empty if the API takes none."""
    needs_key: bool = True
    """Whether it answers nobody without a key."""
    denial: str = "choose another engine"
    """What to do when an engine that takes no key answers with status 401 or 403."""
    used_up: str = "credits|quota"
    """Pattern of the words in a refusal that say that the key's quota is used up."""

    def __init__(self, context: Context, address: str = "") -> None:
        """`address`: that of the API, if not as the environment says.

        Raises `SearchRefused` if the key or the address is missing, or cannot be one.
        """
        self.context = context
        variable = f"{self.name.upper()}_URL"
        self._address = address or address_in(variable, self.address, self.title)
        self._setting = "" if self._address in (address, self.address) else variable
        self.key = key_in(self.key_name, self.title, is_needed=self.needs_key) if self.key_name else ""

    @classmethod
    def is_set_up(cls) -> bool:
        """Return whether the environment holds what sets the engine up: its key, or else its address."""
        variable = cls.key_name or ("" if cls.address else f"{cls.name.upper()}_URL")
        return bool(os.environ.get(variable, "").strip())

    def request(self, query: str, count: int) -> ApiRequest:
        """Return the request for `count` results."""
        raise NotImplementedError

    def results(self, answer: Any) -> Any:
        """Return the list of results in an answer; any error means that the answer is not one of the API."""
        raise NotImplementedError

    def found(self, result: Any) -> Found:
        """Return one result as found; any error means that it is left out."""
        raise NotImplementedError

    async def search(self, query: str, count: int) -> list[Found]:
        """Return at most `count` results, the best first; raises `EngineFailed`."""
        # Importing the client and reading certificates block.
        return await in_thread(partial(self._search, query, count))

    def _search(self, query: str, count: int) -> list[Found]:
        import httpx

        limits, request = self.context.limits, self.request(query, min(count, MOST_RESULTS))
        time, headers = httpx.Timeout(limits.search_seconds, connect=limits.connect_seconds), {"User-Agent": USER_AGENT}
        try:
            with httpx.Client(**way_to(self._address), timeout=time, headers={**headers, **request.headers}) as http:
                response = http.request(
                    "GET" if request.body is None else "POST",
                    f"{self._address.rstrip('/')}{request.path}",
                    params=request.params,
                    json=request.body,
                )
        except httpx.HTTPError as error:
            raise failed_request(self.title, error, self._setting) from None
        found = list[Found]()
        for result in self._read(response)[:count]:
            with suppress(AttributeError, LookupError, TypeError, ValueError):
                found.append(self.found(result))
        return found

    def _read(self, response: httpx.Response) -> list[Any]:
        if response.status_code == 200:
            with suppress(AttributeError, LookupError, TypeError, ValueError, RecursionError):
                results = self.results(response.json())
                if isinstance(results, list):
                    return results
        raise refusal(response, self.title, self.key_name, f"{self.name.upper()}_URL", self.used_up, self.denial)


def refusal(
    response: httpx.Response, title: str, key_name: str, address_name: str, used_up: str, denial: str = ""
) -> EngineFailed:
    """Return the failure that an answer without results stands for, with the setting that mends it.

    `used_up` is the pattern of words that name a quota; `denial` says what to do where there is no key to be refused.
    """
    status = response.status_code
    is_quota = status in (400, 403, 429) and re.search(used_up, response.text, re.IGNORECASE)
    if key_name and (is_quota or status in (402, 432, 433)):
        words = f"The quota of the key for {title} is used up (status {status}): raise it, or change {key_name}."
        return EngineFailed(words, is_lasting=True)
    if status in (401, 403):
        words = f"does not take the key (status {status}): check {key_name}"
        words = words if key_name else f"turns searches away (status {status}): {denial}"
        return EngineFailed(f"{title} {words}.", is_lasting=True)
    if status in (400, 422, 429) or status >= 500:
        return failed_status(title, status, response.headers.get("Retry-After", ""))
    words = f"{title}'s answer (status {status}) is not one of its search API: check {address_name}."
    return EngineFailed(words, is_lasting=True)


def key_in(variable: str, title: str, *, is_needed: bool = True) -> str:
    """Return the key in a variable of the environment; raises `SearchRefused` for one that is missing or malformed."""
    key = os.environ.get(variable, "").strip()
    if not key and is_needed:
        raise SearchRefused(
            f"Searching by {title} needs a key: set {variable}, or begin the question with other engines (engines)."
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise SearchRefused(f"{variable} holds characters that no key has: copy the key once more.")
    return key


def address_in(variable: str, default: str, title: str) -> str:
    """Return the address in a variable of the environment; raises `SearchRefused` for one that cannot be one."""
    address = os.environ.get(variable, "").strip() or default
    if not address:
        raise SearchRefused(f"Searching by {title} needs its address: set {variable}, such as {EXAMPLE}.")
    if not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", address):
        raise SearchRefused(f"{variable} must be an address such as {default or EXAMPLE}, without a password in it.")
    return address


def with_domains(query: str, context: Context, most: int = QUERY_CHARACTERS) -> str:
    """Return the query with its domains as operators, if it stays within `most` characters.

    Results are checked anyway.
    """
    only = " OR ".join(f"site:{name}" for name in domains_of("domains_allow", context.domains_allow))
    denied = [f"-site:{name}" for name in domains_of("domains_deny", context.domains_deny)]
    longer = " ".join([query, *([only] if only else []), *denied])
    return longer if len(longer) <= most else query


def sent_domains(setting: str, entries: Sequence[str], most: int) -> list[str] | None:
    """Return the domains of a setting, if an API that takes so many takes them all: some would be another question."""
    names = domains_of(setting, entries)
    return list(names) if 0 < len(names) <= most and all("." in name for name in names) else None


def text_of(value: object) -> str:
    """Return a value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def plain_text(value: object) -> str:
    """Return a text without its tags and entities, as publishers deposit titles and abstracts."""
    return " ".join(html.unescape(_TAG.sub(" ", _INLINE.sub("", text_of(value)))).split())


def day_of(value: object) -> str:
    """Return the day (ISO 8601) of a time in ISO 8601, RFC 5322 or as `Jan 31, 2025`; empty for anything else."""
    for read in _READ_DAY:
        with suppress(ValueError, OverflowError):
            return read(text_of(value)).date().isoformat()
    return ""


def doi_address(value: object) -> str:
    """Return the address of a DOI, the same for every engine; empty if the value is none.

    DOIs do not distinguish capitals: DOI Handbook, section 2.4, https://doi.org/10.1000/182.
    """
    found = _DOI.fullmatch(text_of(value).strip())
    return f"https://doi.org/{quote(found[1].lower(), safe='/:;()._-,+')}" if found else ""
