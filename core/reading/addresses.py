"""Web addresses: taken apart once, and checked and connected to from the same parts."""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple
from urllib.parse import quote, unquote, urljoin

import idna

from .records import Unread

ADDRESS_CHARACTERS = 2000
"""Most characters of an address in the form in which it is sent, where one letter may take twelve."""
DEFAULT_PORTS = {"http": 80, "https": 443}

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_PARTS = re.compile(r"([a-z][a-z0-9+.-]*):(?://([^/?#]*)([^?#]*)(\?[^#]*)?)?", re.IGNORECASE)
_UNWANTED = re.compile(r"[\s\\\x00-\x20\x7f-\xa0\ud800-\udfff]")
_SEPARATE = re.compile(r"[\t\n\r]")
_PORT = re.compile(r"[0-9]{1,5}")
# Underscores are in no host name, but in some names of the web.
_NAME = re.compile(r"(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)")
_NAME_CHARACTERS = 253
# Crossref's pattern (https://www.crossref.org/blog/dois-and-matching-regular-expressions/), without what addresses of
# publishers add to a DOI and what follows it in a sentence.
_DOI = re.compile(
    r"\b10\.\d{4,9}/[-._;()/:a-z0-9]{1,200}?(?=(?:[/.](?:full|abstract|e?pdf|html?))*[.;:)/]*(?![-._;()/:a-z0-9]))",
    re.IGNORECASE,
)
_KEPT = "/%:?#[]@!$&'()*+,;=~"


class Address(NamedTuple):
    """A web address in parts that need no further reading."""

    scheme: str
    """`http` or `https`."""
    host: str
    """An IP address in its shortest form, or a name in lower-case ASCII."""
    port: int
    target: str
    """Path and query, percent-encoded, as they are sent."""

    def __str__(self) -> str:
        """Return the address as it is shown and cited, without a fragment."""
        return f"{self.site}{self.target}"

    @property
    def site(self) -> str:
        """Scheme, host and port."""
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port as the `Host` header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def number(self) -> IPAddress | None:
        """The host as an IP address, if it is one."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


def parse_address(text: str) -> Address:
    """Return the parts of an address of the web. Raises `Unread`."""
    if _UNWANTED.search(text):
        raise _bad("it holds spaces, backslashes or control characters")
    # A fragment is not sent, and may hold a whole quotation.
    bare = text.partition("#")[0]
    if len(bare) > ADDRESS_CHARACTERS:
        raise _too_long()
    found = _PARTS.match(bare)
    if found is None or found.group(1).lower() not in DEFAULT_PORTS:
        raise _bad("it does not begin with http:// or https://")
    scheme, authority = found.group(1).lower(), found.group(2)
    if not authority:
        raise _bad("it names no host")
    if "@" in authority:
        raise _bad("it holds a user name or a password")
    host, port = _split(authority, DEFAULT_PORTS[scheme])
    target = (found.group(3) or "/") + (found.group(4) or "")
    address = Address(scheme, host, port, encoded(target))
    if len(str(address)) > ADDRESS_CHARACTERS:
        raise _too_long()
    return address


def doi_in(text: str) -> str:
    """Return the only DOI that a text or an address names, in lower case; empty if it names none, or several."""
    found = {doi.lower() for doi in _DOI.findall(unquote(text))}
    return found.pop() if len(found) == 1 else ""


def join_address(base: str, reference: str) -> Address:
    """Return the address that a page at `base` means by `reference`. Raises `Unread`."""
    # Browsers drop line breaks and encode spaces, and pages rely on it.
    plain = _SEPARATE.sub("", reference.strip()).replace(" ", "%20")
    if _UNWANTED.search(plain):
        raise _bad("it holds backslashes or control characters")
    try:
        joined = urljoin(base, plain)
    except ValueError:
        raise _bad("it cannot be taken apart") from None
    return parse_address(joined)


def encoded(target: str) -> str:
    """Return a path and a query as they are sent: what is encoded already stays as it is."""
    return quote(target, safe=_KEPT)


def parse_host(text: str) -> str:
    """Return a host in the one form in which hosts are compared. Raises `Unread`."""
    if text.startswith("[") and text.endswith("]"):
        return _number(text[1:-1], ipaddress.IPv6Address)
    if len(text) > _NAME_CHARACTERS:
        raise _bad("its host is not a valid name")
    name = _ascii(text)
    if _NUMBER.fullmatch(name):
        # 2130706433, 0x7f.1 and 0177.0.0.1 are loopback to some resolvers.
        return _number(name, ipaddress.IPv4Address)
    if len(name) > _NAME_CHARACTERS or not _NAME.fullmatch(name):
        raise _bad("its host is not a valid name")
    return name


def _split(authority: str, default: int) -> tuple[str, int]:
    host, colon, port = authority.rpartition(":")
    if not colon or port.endswith("]"):
        return parse_host(authority), default
    if not _PORT.fullmatch(port) or not 0 < int(port) < 65_536:
        raise _bad("its port is not a number from 1 to 65535")
    return parse_host(host), int(port)


def _ascii(text: str) -> str:
    if text.isascii():
        return text.lower()
    try:
        return idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except idna.IDNAError:
        raise _bad("its host is not a valid name") from None


def _number(text: str, kind: type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]) -> str:
    if "%" in text:
        raise _bad("its host names a zone of this computer")
    try:
        return str(kind(text))
    except ValueError:
        raise _bad("its host is a number in an unusual form") from None


def _too_long() -> Unread:
    return _bad(f"it is longer than {ADDRESS_CHARACTERS} characters")


def _bad(words: str) -> Unread:
    return Unread("bad address", words)
