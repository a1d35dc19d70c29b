"""The authorities that servers of models and searches are checked against, read from the disk once."""

from __future__ import annotations

import os
import ssl
from functools import cache


def trusted_certificates() -> ssl.SSLContext:
    """What the environment names now, else the authorities of browsers. Reading them blocks for a moment."""
    return _read(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


@cache
def _read(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    # It takes long to import, and whoever needs no server needs none of it.
    import httpx

    return httpx.create_ssl_context()
