"""Which addresses of the web may be read: the settings of domains, networks that are not public, ports."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..run.context import Context
from ..run.errors import UnknownSetting
from .addresses import Address, IPAddress, parse_host
from .records import Unread

# What people paste: the address of a site's first page, or a pattern for its subdomains.
_DOMAIN = re.compile(r"\s*(?:https?://)?(?:\*?\.)?([^/?#@*\s]+?)/?\s*", re.IGNORECASE)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
NOT_PUBLIC: dict[str, str] = {
    "0.0.0.0/8": "this network",
    "10.0.0.0/8": "private",
    "100.64.0.0/10": "shared by carriers",
    "127.0.0.0/8": "loopback",
    "168.63.129.16/32": "cloud host agent",
    "169.254.0.0/16": "link-local",
    "172.16.0.0/12": "private",
    "192.0.0.0/24": "protocol assignments",
    "192.0.2.0/24": "documentation",
    "192.88.99.0/24": "6to4 relay",
    "192.168.0.0/16": "private",
    "198.18.0.0/15": "benchmarking",
    "198.51.100.0/24": "documentation",
    "203.0.113.0/24": "documentation",
    "224.0.0.0/4": "multicast",
    "240.0.0.0/4": "reserved",
    "2001::/23": "protocol assignments, with Teredo",
    "2001:db8::/32": "documentation",
    "2002::/16": "6to4",
    "3ffe::/16": "former test network",
    "3fff::/20": "documentation",
}
PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
"""All of IPv6 that is given out to the public; anything else is refused unseen."""
NEVER: dict[str, str] = {
    "169.254.0.0/16": "link-local, with the metadata of clouds",
    "168.63.129.16/32": "host agent of a cloud",
    "100.100.100.200/32": "metadata of a cloud",
    "192.0.0.192/32": "metadata of a cloud",
    "fe80::/10": "link-local",
    "fd00:ec2::/32": "metadata of a cloud, and the keys that it gives to its machines",
    "fd20:ce::254/128": "metadata of a cloud",
    "64:ff9b:1::/48": "translated by a gateway that alone knows to what",
}
"""What no setting opens."""
_NOT_PUBLIC = tuple(ipaddress.ip_network(network) for network in NOT_PUBLIC)
_NEVER = tuple(ipaddress.ip_network(network) for network in NEVER)
# Networks whose addresses end in an IPv4 address: compatible, mapped, translated without and with a gateway.
_ENDING_IN_IPV4 = tuple(
    ipaddress.IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
# Brackets, or one colon at most: what else has colons is an IPv6 address without a port.
_ENTRY = re.compile(r"(?:\[(?P<inner>[^\[\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
_EXAMPLES = "10.1.0.0/16, wiki.example, 127.0.0.1:8080 or [fd00::1]:8080"


def domains_of(setting: str, entries: Iterable[str]) -> tuple[str, ...]:
    """Return the hosts that a setting's entries mean, as addresses have them: lower-case ASCII, without port or path.

    `https://Example.org/`, `*.example.org` and `.example.org` mean `example.org`. Raises `UnknownSetting`.
    """
    return tuple(_domain(setting, entry) for entry in entries)


def is_within(host: str, domains: Iterable[str]) -> bool:
    """Whether a host is one of the domains or below one of them."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def _domain(setting: str, entry: str) -> str:
    found = _DOMAIN.fullmatch(entry)
    try:
        return parse_host(found.group(1).removesuffix(".") if found else "")
    except Unread as error:
        raise UnknownSetting(
            f"{setting}: {entry!r} is not a domain such as example.org (without port and path)"
        ) from error


def is_public(number: IPAddress) -> bool:
    """Whether an address belongs to the public internet."""
    if number.version == 6 and number not in PUBLIC_IPV6:
        return False
    return not any(number in network for network in _NOT_PUBLIC)


def _carried(number: IPAddress) -> Iterator[ipaddress.IPv4Address]:
    """Yield the addresses that an IPv6 address carries inside."""
    if number.version == 4:
        return
    assert isinstance(number, ipaddress.IPv6Address)
    if any(number in network for network in _ENDING_IN_IPV4):
        yield ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF)
    if number.sixtofour is not None:
        yield number.sixtofour
    if number.teredo is not None:
        yield number.teredo[1]


class Opening(NamedTuple):
    """What one entry of `allow_private` opens."""

    name: str
    """A host; empty if it is a network."""
    network: Network | None
    port: int | None
    """None: at the ports of `ports`."""

    def fits(self, address: Address, number: IPAddress) -> bool:
        """Whether the entry means this host, or this number to which its name leads."""
        if self.network is not None:
            return number in self.network
        return self.name == address.host


class Policy:
    """The settings, read once. Raises `UnknownSetting` if one of them cannot be understood."""

    def __init__(self, context: Context, page_host: str = "") -> None:
        """`page_host`: host of a page whose scripts run; `allow_private` opens it alone, by its name or number."""
        self._page_host = page_host
        self._ports = context.ports
        self._openings = [_opening(entry) for entry in context.allow_private]
        self._allowed = domains_of("domains_allow", context.domains_allow)
        self._denied = domains_of("domains_deny", context.domains_deny)

    def check_domain(self, address: Address) -> None:
        """Refuse an address outside the settings of domains; denial wins. Raises `Unread`."""
        if is_within(address.host, self._denied):
            raise Unread("denied domain", f"{address.host} is excluded by the setting domains_deny")
        if self._allowed and not is_within(address.host, self._allowed):
            raise Unread("denied domain", f"{address.host} is not among the domains of the setting domains_allow")

    def check_name(self, address: Address) -> None:
        """Refuse, before its name is looked up, an address whose domain or port is closed. Raises `Unread`."""
        self.check_domain(address)
        if address.port not in self._ports and address.port not in {opening.port for opening in self._openings}:
            raise self._closed_port(address)

    def check_numbers(self, address: Address, numbers: Sequence[IPAddress]) -> None:
        """Refuse an address if any number to which its name leads is closed. Raises `Unread`."""
        for number in numbers:
            fitting = {opening.port for opening in self._openings if self._opens(opening, address, number)}
            if any(one in network for one in (number, *_carried(number)) for network in _NEVER):
                raise Unread("private", f"{address.host} leads to an address that is never opened")
            if address.port in fitting:
                continue
            if not is_public(number) and None not in fitting:
                raise Unread("private", f"{address.host} leads into a private network")
            if address.port not in self._ports:
                raise self._closed_port(address)

    def _opens(self, opening: Opening, address: Address, number: IPAddress) -> bool:
        # Any name may come to mean an address in a network that is open, while a script is running.
        is_own = address.host == self._page_host and bool(opening.name or address.number)
        return opening.fits(address, number) and (is_own or not self._page_host)

    def _closed_port(self, address: Address) -> Unread:
        ports = ", ".join(map(str, self._ports))
        return Unread("bad address", f"port {address.port} is not among those that are read ({ports}; setting ports)")


def check_policy(context: Context) -> None:
    """Refuse settings of domains and private networks that cannot be understood. Raises `UnknownSetting`."""
    Policy(context)


def _opening(entry: str) -> Opening:
    found = _ENTRY.fullmatch(entry)
    place = (found["inner"] or found["plain"]) if found else entry
    port = int(found["port"]) if found and found["port"] else None
    if port is not None and not 0 < port < 65_536:
        raise _malformed(entry)
    try:
        network = ipaddress.ip_network(place)
    except ValueError:
        return Opening(_name(entry, place), None, port)
    if any(network.version == never.version and network.subnet_of(never) for never in _NEVER):  # type: ignore[arg-type]  # the versions are equal
        raise UnknownSetting(f"allow_private: {entry!r} is link-local or of a cloud or gateway, which is never opened")
    return Opening("", network, port)


def _name(entry: str, place: str) -> str:
    try:
        return parse_host(place)
    except Unread as error:
        raise _malformed(entry) from error


def _malformed(entry: str) -> UnknownSetting:
    return UnknownSetting(
        f"allow_private: {entry!r} is no network, address or host, with or without a port; write {_EXAMPLES}"
    )
