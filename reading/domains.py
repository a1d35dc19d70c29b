"""The domains of the settings, understood in one way by all who search and read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..run.errors import UnknownSetting
from .addresses import parse_host
from .records import Unread

# What people paste: the address of a site's first page, or a pattern for its subdomains.
_DOMAIN = re.compile(r"\s*(?:https?://)?(?:\*?\.)?([^/?#@*\s]+?)/?\s*", re.IGNORECASE)


def domains_of(setting: str, entries: Iterable[str]) -> tuple[str, ...]:
    """The hosts that a setting's entries mean, as addresses have them: lower-case ASCII, without port or path.

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
