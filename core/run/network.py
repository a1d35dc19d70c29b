"""What stands between this machine and the servers that it calls: proxies, and authorities that vouch for them.

Both come from the variables that most programs read: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY; SSL_CERT_FILE and
SSL_CERT_DIR.
"""

from __future__ import annotations

import os
import re
import ssl
from functools import cache
from ipaddress import ip_address
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from .errors import UnknownSetting

CAUSES = 8
"""Errors behind an error that are looked at: each client wraps the one below it."""


def proxy_for(address: str) -> str | None:
    """Return the proxy that the environment names for a web address, usable or not; None if there is none.

    Nothing on this machine is reached through a proxy, whether NO_PROXY names it or not.
    """
    target, proxies = urlsplit(address), getproxies()
    proxy = proxies.get(target.scheme) or proxies.get("all")
    if not proxy or is_loopback(target.hostname or "localhost") or proxy_bypass(target.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def usable_proxy(address: str) -> str | None:
    """Return the proxy for a web address; raises `UnknownSetting` for one that does not speak HTTP."""
    proxy = proxy_for(address)
    if proxy and not re.fullmatch(r"https?://([^\s/@]*@)?[^\s/@:]+(:[0-9]{1,5})?/?", proxy):
        raise UnknownSetting(
            "The proxy of the environment (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY) must be an address such as "
            "http://proxy.example:3128; NO_PROXY names servers that are reached without it."
        )
    return proxy


def shown(proxy: str) -> str:
    """Return the address of a proxy without the name and the password in it."""
    parts = urlsplit(proxy)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def trusted_certificates() -> ssl.SSLContext:
    """Return the certificates that the environment names now, else those of browsers; blocks for a moment."""
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # It takes long to import, and whoever needs no server needs none of it.
    import httpx

    return httpx.create_ssl_context()


def barrier(error: BaseException, server: str) -> str:
    """Return what stands between this machine and a server that an error did not reach, and the setting to change.

    Empty where the error does not tell.
    """
    address, chain, cause = str(getattr(getattr(error, "request", None), "url", "")), "", error
    for _ in range(CAUSES):
        chain += f" {cause}"
        cause = cause.__cause__ or cause.__context__ or cause
    if "CERTIFICATE_VERIFY_FAILED" in chain:
        return f"no authority known here vouches for the certificate of {server}; name yours in SSL_CERT_FILE"
    if "WRONG_VERSION_NUMBER" in chain or "RECORD_LAYER_FAILURE" in chain:
        return f"{server} does not speak HTTPS; its address may begin with http://"
    if proxy := proxy_for(address):
        return f"the connection through the proxy {shown(proxy)} failed; check HTTPS_PROXY and NO_PROXY"
    return ""


def is_loopback(host: str) -> bool:
    """Return whether a host's name or number is this machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
