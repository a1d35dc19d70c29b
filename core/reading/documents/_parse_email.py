"""Parses e-mails: main headers, body, and the names of attachments."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from typing import cast

from ._parse_html import visible_text
from .decode import clean_text, decode
from .records import Extract, Unreadable

# Errors that the standard library raises on malformed headers.
_MALFORMED = (MessageError, ValueError, LookupError, AttributeError, TypeError)


def parse_email(data: bytes) -> Extract:
    """Return subject, date and text of an e-mail, preferably its plain text."""
    message = message_from_bytes(data, policy=default)
    subject = _header(message, "Subject")
    headers = list[str]()
    for name in ("From", "To", "Cc", "Date"):
        value = _header(message, name)
        if value:
            headers.append(f"{name}: {value}")
    if not headers and not subject:
        raise Unreadable("broken", "it is not an e-mail")
    plain = list[str]()
    html = list[str]()
    attached = list[str]()
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            attached.append(_attached_email(part))
        elif part.get_content_disposition() == "attachment" or part.get_filename():
            name = part.get_filename() or part.get_content_type()
            attached.append(" ".join(clean_text(name).split()))
        # A multipart message without parts is a text.
        elif part.get_content_maintype() in ("text", "multipart"):
            content = cast("bytes | None", part.get_payload(decode=True)) or b""
            charset = part.get_content_charset("")
            if part.get_content_subtype() == "html":
                html.append(visible_text(content, charset).strip())
            else:
                plain.append(clean_text(decode(content, charset)).strip())
    blocks = list[str]()
    if subject:
        blocks.append(f"# {subject}")
    blocks.append("\n".join(headers))
    blocks += plain if any(plain) else html
    if attached:
        blocks.append(f"Attached: {', '.join(attached)}")
    text = "\n\n".join(filter(None, blocks))
    sender = parseaddr(_header(message, "From"))[1].rpartition("@")[2]
    try:
        date = parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except _MALFORMED:
        date = ""
    return Extract(subject, text, date, publisher=sender)


def _attached_email(part: EmailMessage) -> str:
    """Return the name of an attached e-mail, its subject."""
    inner = cast("list[EmailMessage]", part.get_payload())
    if not inner:
        return "an e-mail"
    return f"the e-mail {_header(inner[0], 'Subject')!r}"


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
