"""Tells hosts of web addresses apart: which domain they belong to, and who registers it."""

from __future__ import annotations

from urllib.parse import urlsplit

_SECOND_LEVELS = {
    "ac",
    "co",
    "com",
    "edu",
    "go",
    "gob",
    "gouv",
    "gov",
    "gub",
    "net",
    "ne",
    "nic",
    "or",
    "org",
}
"""Second-level labels of country domains under which organisations register, such as the `co` of
`co.uk`."""
_SHARED = {
    "github.io",
    "gitlab.io",
    "blogspot.com",
    "wordpress.com",
    "substack.com",
    "medium.com",
    "netlify.app",
}
"""Domains whose subdomains belong to different organisations."""


def web_host(address: str) -> str:
    """Return the host of an address without `www.`; empty if it has none."""
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def registered_domain(host: str) -> str:
    """Return the domain that the organisation behind a host has registered; an IP address, and a
    host without a domain, as it is."""
    labels = host.split(".")
    if len(labels) < 2 or labels[-1].isdecimal():
        return host
    is_country_domain = len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS
    if is_country_domain or ".".join(labels[-2:]) in _SHARED:
        return ".".join(labels[-3:])
    return ".".join(labels[-2:])


def is_at(host: str, pattern: str) -> bool:
    """Whether a host is a domain or below it.

    `gov.*` matches `gov` of any country, `ir.*` all hosts that begin so.
    """
    name = pattern.removesuffix(".*")
    if name == pattern:
        return f".{host}".endswith(f".{pattern}")
    labels = host.split(".")
    if len(labels) < 2:
        return False
    if name in _SECOND_LEVELS:
        return name == labels[-2]
    return name == labels[0]
