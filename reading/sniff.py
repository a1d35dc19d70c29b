"""What the beginning of a page's body shows it to be, whatever its label says."""

from __future__ import annotations

import re

from .decode import CONTROL_SHARE, NOT_IN_TEXT
from .records import Kind, Unread

SNIFFED_BYTES = 1024
WIDE_SHARE = 0.9

_KINDS: dict[str, Kind] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "text",
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/xml": "text",
    "text/json": "text",
    "application/xml": "text",
    "application/json": "text",
    "application/pdf": "pdf",
    "application/x-pdf": "pdf",
}
_NO_LABEL = {
    "",
    "application/octet-stream",
    "binary/octet-stream",
    "application/download",
    "application/force-download",
    "application/x-download",
    "application/unknown",
}
_STRUCTURED = re.compile(r"application/[\w.-]+\+(?:xml|json)")
_LABEL = re.compile(r"[\w.+-]{1,40}/[\w.+-]{1,60}")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
# Each comment ends at its first end, so that there is one way only to take many of them apart.
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*(?:<\?xml[^>]*>\s*)?(?>(?:<!--(?:(?!-->).)*-->\s*)*)"
    rb"<(?:!doctype\s+html|html|head|body)\b",
    re.IGNORECASE | re.DOTALL,
)
_MARKS = (b"\xff\xfe", b"\xfe\xff")
_CONTROL = re.compile(NOT_IN_TEXT.encode())


def charset_of(content_type: str) -> str:
    """The charset that a `Content-Type` header declares; empty if none."""
    found = _CHARSET.search(content_type)
    return found.group(1) if found else ""


def refuse_label(content_type: str) -> None:
    """Refuse what is labelled as something that nobody can read, before any of it is read. Raises `Unread`."""
    label = _label(content_type)
    if label not in _NO_LABEL and label not in _KINDS and not _STRUCTURED.fullmatch(label):
        shown = label if _LABEL.fullmatch(label) else "in an unknown way"
        raise Unread("not text", f"it is labelled {shown}, which is not read")


def kind_of(content_type: str, head: bytes) -> Kind:
    """What a body is that begins with `head`. Raises `Unread` if it is not text."""
    label = _label(content_type)
    if head.lstrip().startswith(b"%PDF-") or (_KINDS.get(label) == "pdf" and b"%PDF-" in head):
        return "pdf"
    if _is_binary(head, charset_of(content_type)):
        raise Unread("not text", "its content is not text")
    if _HTML.match(head.replace(b"\0", b"")):
        return "html"
    kind = _KINDS.get(label, "text")
    return "text" if kind == "pdf" else kind


def _label(content_type: str) -> str:
    # A header that is sent twice arrives with a comma.
    return content_type.partition(";")[0].partition(",")[0].strip().lower()


def _is_binary(head: bytes, charset: str) -> bool:
    if head.startswith(_MARKS) or charset.lower().startswith(("utf-16", "utf-32")) or _is_wide(head):
        return False
    return len(_CONTROL.findall(head)) > CONTROL_SHARE * len(head) + 1


def _is_wide(head: bytes) -> bool:
    """Whether it looks like UTF-16: NULs are many, and nearly all in every second place."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    return even + odd > len(head) // 5 and max(even, odd) > WIDE_SHARE * (even + odd)
