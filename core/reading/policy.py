"""Decides which web addresses may be read.

Domain settings, private networks, ports, and robots.txt (RFC 9309).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..errors import UnknownSetting
from ..settings.context import Context
from .addresses import Address, IPAddress, Unread, encoded, parse_host

# Users may also paste a home page's address or a pattern for subdomains.
_DOMAIN = re.compile(r"\s*(?:https?://)?(?:\*?\.)?([^/?#@*\s]+?)/?\s*", re.IGNORECASE)
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_RESERVED: dict[str, str] = {
    "private": "10.0.0.0/8 172.16.0.0/12 192.168.0.0/16",
    "shared by carriers": "100.64.0.0/10",
    "this network and loopback": "0.0.0.0/8 127.0.0.0/8",
    "link-local": "169.254.0.0/16",
    "cloud host agent": "168.63.129.16/32",
    "protocol assignments, with Teredo": "192.0.0.0/24 2001::/23",
    "documentation": "192.0.2.0/24 198.51.100.0/24 203.0.113.0/24 2001:db8::/32 3fff::/20",
    "6to4": "192.88.99.0/24 2002::/16",
    "benchmarking": "198.18.0.0/15",
    "multicast and reserved": "224.0.0.0/4 240.0.0.0/4",
    "former test network": "3ffe::/16",
}


def _networks(groups: Mapping[str, str]) -> tuple[Network, ...]:
    return tuple(map(ipaddress.ip_network, " ".join(groups.values()).split()))


NOT_PUBLIC = _networks(_RESERVED)
_PUBLIC_IPV6 = ipaddress.IPv6Network("2000::/3")
"""The global unicast range of IPv6; everything outside it is refused."""
_NEVER_OPENED: dict[str, str] = {
    "link-local, with cloud metadata": "169.254.0.0/16 fe80::/10",
    "cloud host agent": "168.63.129.16/32",
    "cloud metadata, one with machine keys": (
        "100.100.100.200/32 192.0.0.192/32 fd00:ec2::/32 fd20:ce::254/128"
    ),
    "translated by a local gateway to unknown addresses": "64:ff9b:1::/48",
}
NEVER = _networks(_NEVER_OPENED)
"""Networks that no setting can open."""
# IPv6 addresses that end in an IPv4 address: IPv4-compatible, mapped, translated, and NAT64.
_ENDING_IN_IPV4 = tuple(
    map(ipaddress.IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96"))
)
# Brackets, or at most one colon; more colons mean an IPv6 address without a port.
_ENTRY = re.compile(r"(?:\[(?P<inner>[^\[\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")


def _domains_of(setting: str, entries: Iterable[str]) -> tuple[str, ...]:
    """Return the entries of a setting as host names in lower-case ASCII, without port or path.

    `https://Example.org/`, `*.example.org` and `.example.org` all mean `example.org`. Raises
    `UnknownSetting`.
    """
    domains = list[str]()
    for entry in entries:
        match = _DOMAIN.fullmatch(entry)
        host = ""
        if match:
            host = match[1].removesuffix(".")
        try:
            domains.append(parse_host(host))
        except Unread as error:
            raise UnknownSetting(
                f"{setting}: {entry!r} is not a domain such as example.org (without port and path)"
            ) from error
    return tuple(domains)


def _is_within(host: str, domains: Iterable[str]) -> bool:
    """Whether a host is one of the domains or a subdomain of one."""
    return any(host == domain or host.endswith(f".{domain}") for domain in domains)


def is_public(ip: IPAddress) -> bool:
    """Whether an address belongs to the public internet."""
    if ip.version == 6 and ip not in _PUBLIC_IPV6:
        return False
    return not _is_in(ip, NOT_PUBLIC)


def _is_in(ip: IPAddress, networks: Iterable[Network]) -> bool:
    """Whether an address belongs to one of the networks."""
    return any(ip in network for network in networks)


def _embedded(ip: IPAddress) -> Iterator[ipaddress.IPv4Address]:
    """Yield the IPv4 addresses in an IPv6 address, to which a gateway would connect."""
    if isinstance(ip, ipaddress.IPv4Address):
        return
    if _is_in(ip, _ENDING_IN_IPV4):
        yield ipaddress.IPv4Address(int(ip) & 0xFFFF_FFFF)
    if ip.sixtofour is not None:
        yield ip.sixtofour
    if ip.teredo is not None:
        yield ip.teredo[1]


class _Opening(NamedTuple):
    """A parsed entry of the setting `allow_private`."""

    name: str
    """Host; empty for a network."""
    network: Network | None
    port: int | None
    """None if the entry names no port, and so opens those of the setting `ports`."""


class Policy:
    """The rules for addresses, parsed from the settings.

    Raises `UnknownSetting` if one is malformed.
    """

    def __init__(self, context: Context, page_host: str = "") -> None:
        """`page_host`: host of a page whose scripts run.

        `allow_private` then opens nothing but this host.
        """
        self._page_host = page_host
        self._ports = context.ports
        self._openings = [_opening(entry) for entry in context.allow_private]
        self.allowed = _domains_of("domains_allow", context.domains_allow)
        """Domains of the setting `domains_allow`, in lower-case ASCII."""
        self.denied = _domains_of("domains_deny", context.domains_deny)
        """Domains of the setting `domains_deny`, in lower-case ASCII."""

    def denies(self, host: str) -> bool:
        """Whether the setting `domains_deny` excludes a host."""
        return _is_within(host, self.denied)

    def check_domain(self, address: Address) -> None:
        """Check an address against the domain settings. Raises `Unread`.

        `domains_deny` takes precedence.
        """
        if self.denies(address.host):
            raise Unread("denied domain", f"{address.host} is excluded by the setting domains_deny")
        if self.allowed and not _is_within(address.host, self.allowed):
            message = f"{address.host} is not among the domains of the setting domains_allow"
            raise Unread("denied domain", message)

    def check_name(self, address: Address) -> None:
        """Check the domain and port of an address, before its name is resolved. Raises `Unread`."""
        self.check_domain(address)
        opened = {opening.port for opening in self._openings}
        if address.port not in self._ports and address.port not in opened:
            raise self._closed_port(address)

    def check_ips(self, address: Address, ips: Sequence[IPAddress]) -> None:
        """Check all IP addresses of an address's host.

        Raises `Unread` if one of them may not be read.
        """
        for ip in ips:
            opened = self._opened_ports(address, ip)
            for reached in (ip, *_embedded(ip)):
                if _is_in(reached, NEVER):
                    message = f"{address.host} leads to an address that no setting can allow"
                    raise Unread("private", message)
            if address.port in opened:
                continue
            if not is_public(ip) and None not in opened:
                raise Unread("private", f"{address.host} is in a private network")
            if address.port not in self._ports:
                raise self._closed_port(address)

    def _opened_ports(self, address: Address, ip: IPAddress) -> set[int | None]:
        """Return the ports that entries of `allow_private` open for an IP address of this host.

        None stands for those of the setting `ports`.
        """
        opened = set[int | None]()
        for opening in self._openings:
            if opening.network is None:
                fits = opening.name == address.host
            else:
                fits = ip in opening.network
            if fits and self._page_host:
                # While scripts run, their author may point any name into an opened network.
                is_stated = bool(opening.name or address.ip)
                fits = address.host == self._page_host and is_stated
            if fits:
                opened.add(opening.port)
        return opened

    def _closed_port(self, address: Address) -> Unread:
        ports = ", ".join(map(str, self._ports))
        return Unread(
            "bad address", f"port {address.port} is not allowed (only {ports}; setting ports)"
        )


def _opening(entry: str) -> _Opening:
    """Parse an entry of the setting `allow_private`. Raises `UnknownSetting`."""
    malformed = UnknownSetting(
        f"allow_private: {entry!r} is not a network, address or host, with or without a port; "
        "write 10.1.0.0/16, wiki.example, 127.0.0.1:8080 or [fd00::1]:8080"
    )
    host = entry
    port: int | None = None
    match = _ENTRY.fullmatch(entry)
    if match:
        host = match["inner"] or match["plain"]
        if match["port"]:
            port = int(match["port"])
    if port is not None and not 0 < port < 65_536:
        raise malformed
    try:
        network = ipaddress.ip_network(host)
    except ValueError:
        try:
            return _Opening(parse_host(host), None, port)
        except Unread as error:
            raise malformed from error
    for never in NEVER:
        if network.version == never.version and network.subnet_of(never):  # type: ignore[arg-type]  # the versions are equal
            raise UnknownSetting(
                f"allow_private: {entry!r} is link-local or belongs to a cloud or gateway, "
                "which cannot be allowed"
            )
    return _Opening("", network, port)


class _Rule(NamedTuple):
    """An `Allow` or `Disallow` line.

    It is matched in one pass, since regular expressions hang on hostile wildcards.
    """

    is_allowed: bool
    pattern: str

    def fits(self, target: str) -> bool:
        """Whether the pattern (with wildcards) matches the start of a path with query."""
        is_whole = self.pattern.endswith("$")
        first, *others = self.pattern.removesuffix("$").split("*")
        if not target.startswith(first):
            return False
        if not others:
            return not is_whole or len(target) == len(first)
        *middle, last = others
        position = len(first)
        for part in middle:
            start = target.find(part, position)
            if start < 0:
                return False
            position = start + len(part)
        if is_whole:
            return target.endswith(last, position)
        return target.find(last, position) >= 0


class Robots:
    """A site's robots.txt rules for one agent.

    The standard library's parser does not support wildcards.
    """

    def __init__(self, text: str, agent: str) -> None:
        own_rules = list[_Rule]()
        other_rules = list[_Rule]()
        has_group = False
        for agents, rules in _groups(text):
            if agent in agents:
                has_group = True
                own_rules += rules
            if "*" in agents:
                other_rules += rules
        # The longest pattern decides; `Allow` wins if two are equally long.
        self._rules = sorted(
            own_rules if has_group else other_rules,
            key=lambda rule: (len(rule.pattern), rule.is_allowed),
            reverse=True,
        )

    @property
    def has_rules(self) -> bool:
        """Whether any rule is for this agent; without one, all paths may be read."""
        return bool(self._rules)

    def allows(self, target: str) -> bool:
        """Whether a path with query may be read."""
        for rule in self._rules:
            if rule.fits(target):
                return rule.is_allowed
        return True


def _groups(text: str) -> list[tuple[set[str], list[_Rule]]]:
    """Return the groups of a robots.txt: the agents, in lower case, and their rules."""
    agents = set[str]()
    rules = list[_Rule]()
    groups = [(agents, rules)]
    has_rules = False
    for line in text.splitlines():
        field, colon, value = line.partition("#")[0].partition(":")
        if not colon:
            continue
        field = field.strip().lower()
        value = value.strip()
        if field == "user-agent":
            if has_rules:
                agents = set()
                rules = []
                groups.append((agents, rules))
                has_rules = False
            agents.add(value.lower().partition("/")[0])
        elif field in ("allow", "disallow"):
            has_rules = True
            if value:
                rules.append(_Rule(field == "allow", encoded(value)))
    return groups
