"""Identity of sources: which two addresses are one document."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

import idna

DOCUMENT_SCHEME = "docs:"
"""How the addresses of the user's own documents begin."""
_DEFAULT_PORTS = {"http": 80, "https": 443}
_TRACKING_PREFIX = "utm_"
_TRACKING = {
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "dclid",
    "fbclid",
    "gbraid",
    "gclid",
    "gclsrc",
    "igsh",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_id",
    "wbraid",
    "yclid",
}


def source_key(address: str) -> str:
    """Return the identity of the document at an address; never raises, and a key is its own key."""
    bare = address.strip().partition("#")[0].strip()
    try:
        parts = urlsplit(bare)
        return _web_key(parts) if parts.scheme in _DEFAULT_PORTS and parts.hostname else bare
    except ValueError:
        return bare


def _web_key(parts: SplitResult) -> str:
    query = "&".join(piece for piece in parts.query.split("&") if not _is_tracking(piece))
    # An empty path asks a server for "/" (RFC 9110, 4.2.3), so both are one page.
    return f"{parts.scheme}://{_authority(parts)}{parts.path or '/'}" + (f"?{query}" if query else "")


def _authority(parts: SplitResult) -> str:
    user, at, _ = parts.netloc.rpartition("@")
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{user}{at}{_host(parts.hostname or '')}{port}"


def _host(name: str) -> str:
    if ":" in name:
        return f"[{name}]"
    if name.isascii():
        return name
    try:
        return idna.encode(name, uts46=True).decode("ascii")
    except idna.IDNAError:
        return name


def _is_tracking(piece: str) -> bool:
    name = piece.partition("=")[0].lower()
    return name in _TRACKING or name.startswith(_TRACKING_PREFIX)
