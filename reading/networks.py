"""The networks whose addresses are not the public web.

The table is our own: what the standard library calls private or global changes between its releases, and it lets
through addresses that carry a private one inside.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from .addresses import IPAddress

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
}
"""What no setting opens."""

_NOT_PUBLIC = tuple(ipaddress.ip_network(network) for network in NOT_PUBLIC)
_NEVER = tuple(ipaddress.ip_network(network) for network in NEVER)
# Networks whose addresses end in an IPv4 address: compatible, mapped, translated without and with a gateway.
_ENDING_IN_IPV4 = tuple(
    ipaddress.IPv6Network(network) for network in ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")
)
# Here each gateway chooses the length of its prefix, and with it the place of the IPv4 address (RFC 6052, 2.2).
_LOCALLY_TRANSLATED = ipaddress.IPv6Network("64:ff9b:1::/48")
_PREFIX_BITS = (48, 56, 64, 96)
_UNUSED_BITS = 64, 72


def is_public(number: IPAddress) -> bool:
    """Whether an address belongs to the public internet."""
    if number.version == 6 and number not in PUBLIC_IPV6:
        return False
    return not any(number in network for network in _NOT_PUBLIC)


def is_never_open(number: IPAddress) -> bool:
    """Whether an address, or one that it carries inside, is refused whatever the settings say."""
    return any(one in network for one in (number, *_carried(number)) for network in _NEVER)


def is_never_open_network(network: Network) -> bool:
    """Whether all of a network is refused whatever the settings say."""
    return any(network.version == never.version and network.subnet_of(never) for never in _NEVER)  # type: ignore[arg-type]  # the versions are equal


def _carried(number: IPAddress) -> Iterator[ipaddress.IPv4Address]:
    if number.version == 4:
        return
    assert isinstance(number, ipaddress.IPv6Address)
    if any(number in network for network in _ENDING_IN_IPV4):
        yield ipaddress.IPv4Address(int(number) & 0xFFFF_FFFF)
    if number in _LOCALLY_TRANSLATED:
        yield from (_translated(int(number), bits) for bits in _PREFIX_BITS)
    if number.sixtofour is not None:
        yield number.sixtofour
    if number.teredo is not None:
        yield number.teredo[1]


def _translated(number: int, prefix_bits: int) -> ipaddress.IPv4Address:
    """The IPv4 address behind a prefix of this length; the octet in the middle of all 128 bits is no part of it."""
    if prefix_bits == 96:
        return ipaddress.IPv4Address(number & 0xFFFF_FFFF)
    begin, end = _UNUSED_BITS
    kept = (number >> (128 - begin)) << (128 - end) | number & ((1 << (128 - end)) - 1)
    return ipaddress.IPv4Address(kept >> (88 - prefix_bits) & 0xFFFF_FFFF)
