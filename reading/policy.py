"""Which addresses of the web may be read: the settings of domains, private networks and ports."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from typing import NamedTuple

from ..run.context import Context
from ..run.errors import UnknownSetting
from .addresses import Address, IPAddress, parse_host
from .domains import domains_of, is_within
from .networks import Network, is_never_open, is_never_open_network, is_public
from .records import Unread

# Brackets, or one colon at most: what else has colons is an IPv6 address without a port.
_ENTRY = re.compile(r"(?:\[(?P<inner>[^\[\]]+)\]|(?P<plain>[^:\[\]]+))(?::(?P<port>[0-9]{1,5}))?")
_EXAMPLES = "10.1.0.0/16, wiki.example, 127.0.0.1:8080 or [fd00::1]:8080"


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

    def __init__(self, context: Context) -> None:
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
            fitting = {opening.port for opening in self._openings if opening.fits(address, number)}
            if is_never_open(number):
                raise Unread("private", f"{address.host} leads to an address that is never opened")
            if address.port in fitting:
                continue
            if not is_public(number) and None not in fitting:
                raise Unread("private", f"{address.host} leads into a private network")
            if address.port not in self._ports:
                raise self._closed_port(address)

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
    if is_never_open_network(network):
        raise UnknownSetting(f"allow_private: {entry!r} is link-local or a cloud's own, which is never opened")
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
