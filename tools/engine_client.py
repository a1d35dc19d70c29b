"""The base of engines with an HTTP API: key, address, time limits, and how failures are reported."""

from __future__ import annotations

import html
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import partial, reduce
from operator import getitem
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from ..core.reading.policy import domains_of
from ..core.run.concurrency import in_thread
from ..core.run.context import Context
from ..core.run.errors import SearchRefused
from ..core.run.network import trusted_certificates, usable_proxy
from .engine import USER_AGENT, EngineFailed, Found, failed_request, failed_status

if TYPE_CHECKING:
    import httpx

_EXAMPLE = "http://localhost:8888"
_MOST_RESULTS = 100
"""Maximum number of results to request; no API here returns more per response."""
_QUERY_CHARACTERS = 400
"""Maximum characters of a query with its domains: the limit of Brave, which is the lowest."""
_NOTHING: Mapping[str, str] = MappingProxyType({})
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
    """Appended to the address of the API."""
    params: Mapping[str, str] = _NOTHING
    body: Mapping[str, Any] | None = None
    """Sent as JSON by POST; without one, the request is a GET."""
    headers: Mapping[str, str] = _NOTHING


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
    used_up: str = "credits|quota"
    """Pattern that matches a refusal if the quota of the key is used up."""

    def __init__(self, context: Context, address: str = "") -> None:
        """`address`: the API's URL, instead of the environment variable's.

        Raises `SearchRefused` for a missing or malformed key or address.
        """
        self.context = context
        variable, name = self._variable(), self.key_name
        self._address = address or os.environ.get(variable, "").strip() or self.address
        if not self._address:
            raise SearchRefused(f"{self.title} needs an address: set {variable}, such as {_EXAMPLE}.")
        # The variable to name if the address is wrong.
        self._setting = "" if self._address in (address, self.address) else variable
        if self._setting and not re.fullmatch(r"https?://[^\s/@]+(/\S*)?", self._address):
            example = self.address or _EXAMPLE
            raise SearchRefused(f"{variable} must be an address such as {example}, without a password in it.")
        self.key = os.environ.get(name, "").strip() if name else ""
        if name and not self.key and self.needs_key:
            raise SearchRefused(
                f"{self.title} needs a key: set {name}, or start the question with other engines (engines)."
            )
        if not self.key.isascii() or not self.key.isprintable() or " " in self.key:
            raise SearchRefused(f"{name} contains characters that no key has: copy the key again.")

    @classmethod
    def is_set_up(cls) -> bool:
        """Whether the environment has the engine's key, or its address if there is no default."""
        variable = cls.key_name or ("" if cls.address else cls._variable())
        return bool(os.environ.get(variable, "").strip())

    @classmethod
    def _variable(cls) -> str:
        return cls.address_name or f"{cls.name.upper()}_URL"

    def request(self, query: str, count: int) -> ApiRequest:
        """Return the request for `count` results."""
        raise NotImplementedError

    def results(self, answer: Any) -> Any:
        """Return the list of results in a parsed JSON answer; raises any error if it is not an answer of this API."""
        return reduce(getitem, self.results_at, answer)

    def found(self, result: Any) -> Found:
        """Convert a result; a result for which this raises an error is left out."""
        raise NotImplementedError

    async def search(self, query: str, count: int) -> list[Found]:
        """Return at most `count` results, best first; raises `EngineFailed`."""
        # Importing the client and reading certificates block.
        return await in_thread(partial(self._search, query, count))

    def _search(self, query: str, count: int) -> list[Found]:
        import httpx

        limits, request = self.context.limits, self.request(query, min(count, _MOST_RESULTS))
        options: dict[str, Any] = {
            **connection_options(self._address),
            "timeout": httpx.Timeout(limits.search_seconds, connect=limits.connect_seconds),
            "headers": {"User-Agent": USER_AGENT, **request.headers},
        }
        try:
            with httpx.Client(**options) as http:
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
        """Return the results in an answer; raises `EngineFailed` for a refusal or an answer of something else."""
        if response.status_code == 200:
            with suppress(AttributeError, LookupError, TypeError, ValueError, RecursionError):
                results = self.results(response.json())
                if isinstance(results, list):
                    return results
        # Each failure names the setting to change.
        status, title, key = response.status_code, self.title, self.key_name
        is_quota = status in (400, 403, 429) and re.search(self.used_up, response.text, re.IGNORECASE)
        if key and (is_quota or status in (402, 432, 433)):
            words = f"The quota of the key for {title} is used up (status {status}): raise it, or change {key}."
        elif status in (401, 403) and key:
            words = f"{title} rejects the key (status {status}): check {key}."
        elif status in (401, 403):
            words = f"{title} refuses searches (status {status}): {self.denial}."
        elif status in (400, 422, 429) or status >= 500:
            raise failed_status(title, status, response.headers.get("Retry-After", ""))
        else:
            words = f"{title}'s answer (status {status}) is not one of its search API: check {self._variable()}."
        raise EngineFailed(words, is_lasting=True)


def connection_options(address: str) -> dict[str, Any]:
    """Return the options of an `httpx` client that reaches an engine: proxy and certificates. Reads files."""
    return {"trust_env": False, "proxy": usable_proxy(address), "verify": trusted_certificates()}


def with_domains(query: str, context: Context, most: int = _QUERY_CHARACTERS) -> str:
    """Return the query with `site:` operators for the domains of the settings, if that fits into `most` characters.

    Results are filtered by domain anyway.
    """
    only = " OR ".join(f"site:{name}" for name in domains_of("domains_allow", context.domains_allow))
    denied = [f"-site:{name}" for name in domains_of("domains_deny", context.domains_deny)]
    longer = " ".join([query, *([only] if only else []), *denied])
    return longer if len(longer) <= most else query


def sent_domains(setting: str, entries: Sequence[str], most: int) -> list[str] | None:
    """Return the domains of a setting; None if there are none or over `most`: a subset would change the search."""
    names = domains_of(setting, entries)
    return list(names) if 0 < len(names) <= most and all("." in name for name in names) else None


def text_of(value: object) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def plain_text(value: object) -> str:
    """Return a text without tags and entities, which publishers leave in titles and abstracts."""
    return " ".join(html.unescape(_TAG.sub(" ", _INLINE.sub("", text_of(value)))).split())


def day_of(value: object) -> str:
    """Return the day (ISO 8601) of a date in ISO 8601, RFC 5322 or as `Jan 31, 2025`; empty for anything else."""
    for read in _READ_DAY:
        with suppress(ValueError, OverflowError):
            return read(text_of(value)).date().isoformat()
    return ""


def doi_address(value: object) -> str:
    """Return the canonical address of a DOI; empty if the value is not a DOI.

    DOIs are case-insensitive: DOI Handbook, section 2.4, https://doi.org/10.1000/182.
    """
    found = _DOI.fullmatch(text_of(value).strip())
    return f"https://doi.org/{quote(found[1].lower(), safe='/:;()._-,+')}" if found else ""
