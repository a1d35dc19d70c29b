"""Tells what kind of publisher each source has, and which sources are from the same
organisation."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from urllib.parse import urlsplit

from ..records.sources import DOCUMENT_SCHEME, Origin, Source

# Patterns of hosts, as `_is_at` reads them.
_HOSTS: dict[Origin, str] = {
    "scholarly": """
    edu ac.* arxiv.org doi.org ncbi.nlm.nih.gov biorxiv.org medrxiv.org ssrn.com jstor.org
    nature.com science.org sciencedirect.com springer.com wiley.com tandfonline.com sagepub.com
    academic.oup.com cambridge.org plos.org mdpi.com frontiersin.org cell.com thelancet.com nejm.org
    bmj.com acm.org ieee.org aclanthology.org openreview.net hal.science semanticscholar.org
    scielo.org zenodo.org
    """,
    "official": """
    gov mil int gov.* gouv.* gob.* gub.* go.jp go.kr go.th gc.ca canada.ca govt.nz gv.at admin.ch
    bund.de bundestag.de destatis.de europa.eu un.org oecd.org worldbank.org imf.org overheid.nl
    rijksoverheid.nl insee.fr istat.it ine.es
    """,
    "news": """
    reuters.com apnews.com afp.com bbc.com bbc.co.uk nytimes.com washingtonpost.com wsj.com ft.com
    bloomberg.com economist.com theguardian.com cnn.com cnbc.com npr.org politico.com politico.eu
    axios.com aljazeera.com lemonde.fr lefigaro.fr spiegel.de zeit.de faz.net sueddeutsche.de
    tagesschau.de handelsblatt.com nzz.ch derstandard.at elpais.com elmundo.es corriere.it
    repubblica.it ansa.it publico.pt nrc.nl nos.nl nikkei.com asahi.com scmp.com
    """,
    "forum": """
    reddit.com stackoverflow.com stackexchange.com news.ycombinator.com quora.com zhihu.com x.com
    twitter.com facebook.com linkedin.com youtube.com tiktok.com disqus.com
    """,
    "company": "ir.* investor.* investors.*",
}
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


def origin_of(source: Source) -> Origin:
    """Return the kind of a source's publisher.

    It is `own` for a document; otherwise it follows from the host, or else from the page itself.
    """
    if source.address.startswith(DOCUMENT_SCHEME):
        return "own"
    host = web_host(source.location or source.key)
    for kind, hosts in _HOSTS.items():
        if any(_is_at(host, pattern) for pattern in hosts.split()):
            return kind
    return source.origin


def organisations(sources: Iterable[Source], reprints: Iterable[Collection[str]]) -> dict[str, str]:
    """Return the organisation behind each source, by source key.

    For a page, this is its registered domain; for a document, the publisher that it names, or else
    its folder. Sources that reprint each other (`reprints`: groups of keys) count as one
    organisation.
    """
    by_key = dict[str, str]()
    for source in sources:
        by_key[source.key] = _organisation_of(source)
    for group in reprints:
        owners = set(map(by_key.__getitem__, by_key.keys() & group))
        for key, owner in by_key.items():
            if owner in owners:
                by_key[key] = min(owners)
    return by_key


def _organisation_of(source: Source) -> str:
    if source.address.startswith(DOCUMENT_SCHEME):
        return source.publisher.casefold() or source.address.partition("/")[0]
    host = web_host(source.location or source.key)
    labels = host.split(".")
    if len(labels) < 2 or labels[-1].isdecimal():
        return host or source.key
    is_country_domain = len(labels[-1]) == 2 and labels[-2] in _SECOND_LEVELS
    if is_country_domain or ".".join(labels[-2:]) in _SHARED:
        return ".".join(labels[-3:])
    return ".".join(labels[-2:])


def web_host(address: str) -> str:
    """Return the host of an address without `www.`; empty if it has none."""
    try:
        return (urlsplit(address).hostname or "").removeprefix("www.")
    except ValueError:
        return ""


def _is_at(host: str, pattern: str) -> bool:
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
