"""Parses e-mails: main headers, body, and the names of attachments."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from typing import cast

from ..records import Extract, Unreadable
from .decode import clean_text, decode
from .parse_html import visible_text

# Errors that the standard library raises on malformed headers.
_MALFORMED = (MessageError, ValueError, LookupError, AttributeError, TypeError)


def parse_email(data: bytes) -> Extract:
    """Return subject, date and text of an e-mail, preferably its plain text."""
    message = message_from_bytes(data, policy=default)
    subject = _header(message, "Subject")
    headers = [f"{name}: {value}" for name in ("From", "To", "Cc", "Date") if (value := _header(message, name))]
    if not headers and not subject:
        raise Unreadable("broken", "it is not an e-mail")
    plain, html, attached = list[str](), list[str](), list[str]()
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            inner = cast("list[EmailMessage]", part.get_payload())
            attached.append(f"the e-mail {_header(inner[0], 'Subject')!r}" if inner else "an e-mail")
        elif part.get_content_disposition() == "attachment" or part.get_filename():
            attached.append(" ".join(clean_text(part.get_filename() or part.get_content_type()).split()))
        # A multipart message without parts is a text.
        elif part.get_content_maintype() in ("text", "multipart"):
            data = cast("bytes | None", part.get_payload(decode=True)) or b""
            charset = part.get_content_charset("")
            if part.get_content_subtype() == "html":
                html.append(visible_text(data, charset).strip())
            else:
                plain.append(clean_text(decode(data, charset)).strip())
    blocks = [f"# {subject}" if subject else "", "\n".join(headers), *(plain if any(plain) else html)]
    if attached:
        blocks.append(f"Attached: {', '.join(attached)}")
    sender = parseaddr(_header(message, "From"))[1].rpartition("@")[2]
    try:
        date = parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except _MALFORMED:
        date = ""
    return Extract(subject, "\n\n".join(filter(None, blocks)), date, publisher=sender)


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except _MALFORMED:
        value = str(dict(message.raw_items()).get(name, ""))
    return " ".join(clean_text(value).split())


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield all parts, except those inside attached e-mails."""
    inner = message.get_payload()
    if message.get_content_maintype() == "multipart" and isinstance(inner, list):
        for part in cast("list[EmailMessage]", inner):
            yield from _parts(part)
    else:
        yield message
