"""Parses web addresses, so that checks and connections use the same parts. Also finds addresses and
DOIs in texts, and defines `Unread`, the refusal of an address or page."""

from __future__ import annotations

import ipaddress
import re
from contextlib import suppress
from typing import Literal, NamedTuple
from urllib.parse import quote, unquote, urljoin

import idna

ADDRESS_CHARACTERS = 2000
"""Maximum length of an address, percent-encoded as it is sent, where one letter may become twelve
characters."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TOO_LONG = f"it is longer than {ADDRESS_CHARACTERS} characters"

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_PARTS = re.compile(r"([a-z][a-z0-9+.-]*):(?://([^/?#]*)([^?#]*)(\?[^#]*)?)?", re.IGNORECASE)
_UNWANTED = re.compile(r"[\s\\\x00-\x20\x7f-\xa0\ud800-\udfff]")
# Underscores are not valid in host names, but some sites use them.
_HOST_NAME = re.compile(
    r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?"
)
_NUMERIC_HOST = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_NAME_CHARACTERS = 253
# Crossref's pattern (https://www.crossref.org/blog/dois-and-matching-regular-expressions/),
# excluding suffixes that publishers' addresses append and punctuation that follows in a sentence.
_DOI = re.compile(
    r"\b10\.\d{4,9}/[-._;()/:a-z0-9]{1,200}?(?=(?:[/.](?:full|abstract|e?pdf|html?))*[.;:)/]*(?![-._;()/:a-z0-9]))",
    re.IGNORECASE,
)

_IN_TEXT = re.compile(r"https?://[^\s<>\"'`\\\]\[{}|^]+", re.IGNORECASE)
_TRAILING = ".,;:!?*_…"

RefusalCode = Literal[
    "blocked", "paywall", "challenge", "empty shell", "too large", "not text", "gone", "robots",
    "private", "bad address", "redirects", "timed out", "unreachable", "server error", "broken",
    "denied domain",
]  # fmt: skip


class Unread(Exception):
    """A web page has no readable text. The message is for users and models."""

    def __init__(self, code: RefusalCode, message: str, status: int = 0, doi: str = "") -> None:
        """`status`: HTTP status, if that is the reason.

        `doi`: DOI of the paper, if the page shows only part of it.
        """
        super().__init__(message)
        self.code = code
        self.status = status
        self.doi = doi


class Address(NamedTuple):
    """A parsed and normalised web address."""

    scheme: str
    """`http` or `https`."""
    host: str
    """An IP address in its shortest notation, or a name in lower-case ASCII."""
    port: int
    target: str
    """Path and query, percent-encoded as sent."""

    def __str__(self) -> str:
        return f"{self.site}{self.target}"

    @property
    def site(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port as in the `Host` header."""
        host = self.host
        if ":" in host:
            host = f"[{host}]"
        if self.port == _DEFAULT_PORTS[self.scheme]:
            return host
        return f"{host}:{self.port}"

    @property
    def ip(self) -> IPAddress | None:
        """The host as an IP address; None if it is a name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def parse_address(text: str) -> Address:
    """Return the parts of an http or https address, without its fragment.

    Raises `Unread` if it has another scheme, or if browsers and libraries might read it
    differently.
    """
    if _UNWANTED.search(text):
        raise _bad("it contains spaces, backslashes or control characters")
    # The fragment is not sent, and may contain a whole quotation.
    bare = text.partition("#")[0]
    if len(bare) > ADDRESS_CHARACTERS:
        raise _bad(_TOO_LONG)
    parts = _PARTS.match(bare)
    if parts is None or parts[1].lower() not in _DEFAULT_PORTS:
        raise _bad("it does not begin with http:// or https://")
    scheme = parts[1].lower()
    authority = parts[2]
    if not authority:
        raise _bad("it has no host")
    if "@" in authority:
        raise _bad("it contains a user name or a password")
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        host = authority
        port = str(_DEFAULT_PORTS[scheme])
    if not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < 65_536:
        raise _bad("its port is not a number from 1 to 65535")
    path = parts[3] or "/"
    query = parts[4] or ""
    address = Address(scheme, parse_host(host), int(port), encoded(path + query))
    if len(str(address)) > ADDRESS_CHARACTERS:
        raise _bad(_TOO_LONG)
    return address


def addresses_in(text: str) -> list[str]:
    """Return the distinct web addresses in a text, without trailing punctuation."""
    addresses: dict[str, None] = {}
    for address in _IN_TEXT.findall(text):
        # A closing bracket belongs to the address if its opening bracket does, as in names of
        # encyclopedia articles.
        while address[-1] in _TRAILING or (
            address[-1] == ")" and address.count(")") > address.count("(")
        ):
            address = address[:-1]
        addresses[address] = None
    return list(addresses)


def doi_in(text: str) -> str:
    """Return the DOI in a text or address, in lower case.

    Empty if there is none or more than one.
    """
    dois = set(map(str.lower, _DOI.findall(unquote(text))))
    if len(dois) != 1:
        return ""
    return dois.pop()


def join_address(base: str, reference: str) -> Address:
    """Return the address of a link (`reference`) on a page at `base`.

    Raises `Unread` if it cannot be opened safely.
    """
    # Browsers drop line breaks and encode spaces, and pages rely on this.
    plain = re.sub(r"[\t\n\r]", "", reference.strip()).replace(" ", "%20")
    if _UNWANTED.search(plain):
        raise _bad("it contains backslashes or control characters")
    try:
        joined = urljoin(base, plain)
    except ValueError:
        raise _bad("it is malformed") from None
    return parse_address(joined)


def encoded(target: str) -> str:
    """Percent-encode a path and query; existing escapes stay."""
    return quote(target, safe="/%:?#[]@!$&'()*+,;=~")


def parse_host(text: str) -> str:
    """Return a host name in lower-case ASCII, or an IP address in its shortest notation.

    Raises `Unread`.
    """
    if text.startswith("[") and text.endswith("]"):
        return _ip(text[1:-1], ipaddress.IPv6Address)
    name = ""
    with suppress(idna.IDNAError):
        if len(text) <= _NAME_CHARACTERS:
            name = _ascii(text).lower()
    if _NUMERIC_HOST.fullmatch(name):
        # Some resolvers read 2130706433, 0x7f.1 and 0177.0.0.1 as loopback.
        return _ip(name, ipaddress.IPv4Address)
    if len(name) > _NAME_CHARACTERS or not _HOST_NAME.fullmatch(name):
        raise _bad("its host is not a valid name")
    return name


def _ascii(name: str) -> str:
    """Return a host name in ASCII. Raises `IDNAError`."""
    if name.isascii():
        return name
    return idna.encode(name, uts46=True, std3_rules=True).decode("ascii")


def _ip(text: str, kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> str:
    if "%" in text:
        raise _bad("its host contains an IPv6 zone")
    try:
        return str(kind(text))
    except ValueError:
        raise _bad("its host is an IP address in an unusual notation") from None


def _bad(message: str) -> Unread:
    return Unread("bad address", message)
