"""Which addresses the user's lists of domains let through."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from deep_research.evidence.sources import source_key
from deep_research.run.context import Context


def is_wanted(address: str, context: Context) -> bool:
    """Whether `domains_allow` and `domains_deny` let the address through; denial wins."""
    host = _host(address)
    if host is None or _is_below(host, domains(context.domains_deny)):
        return False
    return not context.domains_allow or _is_below(host, domains(context.domains_allow))


def domains(names: Iterable[str]) -> tuple[str, ...]:
    """The names as hosts are written; `https://Example.org/`, `*.example.org` and `.example.org` mean `example.org`."""
    hosts = (_host(f"https://{name.strip().rpartition('//')[2].removeprefix('*').strip('.')}") for name in names)
    return tuple(host for host in hosts if host)


def _host(address: str) -> str | None:
    try:
        name = urlsplit(source_key(address)).hostname
    except ValueError:
        return None
    return name.rstrip(".") if name else None


def _is_below(host: str, names: Iterable[str]) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in names)
