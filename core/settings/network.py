"""How connections are made: the environment's proxies and certificate authorities, the time to
connect, and why a connection failed.

Variables: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; SSL_CERT_FILE and SSL_CERT_DIR.
"""

from __future__ import annotations

import os
import re
import ssl
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import UnknownSetting

CONNECT_SHARE = 0.25
"""Share of the time limit of a request for looking up the server's name, and as much again for
connecting to it."""
_CAUSES = 8
"""Number of chained causes of an error to examine: each HTTP library wraps the error of the one
below it."""


def _proxy_for(address: str) -> str | None:
    """Return the proxy that the environment sets for a URL, unchecked; None without one or for this
    machine."""
    target = urlsplit(address)
    proxies = getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy or is_loopback(target.hostname or "localhost") or proxy_bypass(target.netloc):
        return None
    if "://" not in proxy:
        return f"http://{proxy}"
    return proxy


def usable_proxy(address: str) -> str | None:
    """Return the proxy that the environment sets for a URL; raises `UnknownSetting` if that is not
    the address of an HTTP proxy."""
    proxy = _proxy_for(address)
    if proxy and not re.fullmatch(r"https?://([^\s/@]*@)?[^\s/@:]+(:[0-9]{1,5})?/?", proxy):
        raise UnknownSetting(
            "The proxy set in the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) must be an "
            "address such as http://proxy.example:3128; NO_PROXY lists servers that are reached "
            "without it."
        )
    return proxy


def shown_proxy(address: str) -> str:
    """Return the proxy that the environment sets for a URL, unchecked and without user name and
    password; empty without one."""
    proxy = _proxy_for(address)
    if not proxy:
        return ""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def trusted_certificates() -> ssl.SSLContext:
    """Return an SSL context with the environment's CA certificates, else the default ones; blocks
    briefly."""
    return _certificates(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _certificates(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # Slow to import, and needed only if a server is called.
    import httpx

    return httpx.create_ssl_context()


def connection_problem(error: BaseException, server: str) -> str:
    """Return why a connection to a server failed and what to change, worded for the user; empty if
    unknown.

    `server`: what to call the server in the text.
    """
    request = getattr(error, "request", None)
    address = str(getattr(request, "url", ""))
    texts, cause = "", error
    for _ in range(_CAUSES):
        texts += f" {cause}"
        cause = cause.__cause__ or cause.__context__ or cause
    if "CERTIFICATE_VERIFY_FAILED" in texts:
        return (
            f"the certificate of {server} is not signed by a known authority; set SSL_CERT_FILE to "
            "your own"
        )
    if "WRONG_VERSION_NUMBER" in texts or "RECORD_LAYER_FAILURE" in texts:
        return f"{server} does not speak HTTPS; its address may begin with http://"
    proxy = shown_proxy(address)
    if proxy:
        return f"the connection through the proxy {proxy} failed; check HTTPS_PROXY and NO_PROXY"
    return ""


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
