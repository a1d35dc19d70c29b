"""E-mails to text: who wrote to whom and when, and the words; what is attached is named."""

from __future__ import annotations

from collections.abc import Iterator
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from typing import cast

from ..records import Extract, Unreadable
from .decode import clean, decode
from .parse_html import whole_text

SHOWN = ("From", "To", "Cc", "Date")
# What the standard library raises on headers that nobody should have sent.
_MALFORMED = (MessageError, ValueError, LookupError, AttributeError, TypeError)


def parse_email(data: bytes) -> Extract:
    """Return the subject as title, the day on which it was sent, and the text: the plain one if there is one."""
    message = message_from_bytes(data, policy=default)
    subject = _header(message, "Subject")
    head = [f"{name}: {words}" for name in SHOWN if (words := _header(message, name))]
    if not head and not subject:
        raise Unreadable("broken", "it is no e-mail")
    named = ", ".join(_attached(message))
    blocks = [f"# {subject}" if subject else "", "\n".join(head), _body(message), named and f"Attached: {named}"]
    sender = parseaddr(_header(message, "From"))[1].rpartition("@")[2]
    return Extract(subject, "\n\n".join(filter(None, blocks)), _date(message), publisher=sender)


def _header(message: EmailMessage, name: str) -> str:
    try:
        words = str(message.get(name, ""))
    except _MALFORMED:
        words = str(dict(message.raw_items()).get(name, ""))
    return " ".join(clean(words).split())


def _date(message: EmailMessage) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).date().isoformat()
    except _MALFORMED:
        return ""


def _body(message: EmailMessage) -> str:
    """Return what a reader sees as the letter: its plain text, else what its page shows."""
    # A part that should have parts and has none is a text.
    shown = [part for part in _parts(message) if part.get_content_maintype() in ("text", "multipart")]
    texts = {part: _text(part) for part in shown if not _is_attached(part)}
    plain = [text for part, text in texts.items() if text and part.get_content_subtype() != "html"]
    return "\n\n".join(plain or filter(None, texts.values()))


def _text(part: EmailMessage) -> str:
    data = cast("bytes | None", part.get_payload(decode=True)) or b""
    charset = part.get_content_charset("")
    text = whole_text(data, charset) if part.get_content_subtype() == "html" else clean(decode(data, charset))
    return text.strip()


def _attached(message: EmailMessage) -> Iterator[str]:
    """Return the names of the attachments; a whole letter is named by its subject."""
    for part in _parts(message):
        if part.get_content_type() == "message/rfc822":
            inner = cast("list[EmailMessage]", part.get_payload())
            yield f"the e-mail {_header(inner[0], 'Subject')!r}" if inner else "an e-mail"
        elif _is_attached(part):
            yield " ".join(clean(part.get_filename() or part.get_content_type()).split())


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield all parts but those of letters inside the letter."""
    inner = message.get_payload()
    if message.get_content_maintype() == "multipart" and isinstance(inner, list):
        for part in cast("list[EmailMessage]", inner):
            yield from _parts(part)
    else:
        yield message


def _is_attached(part: EmailMessage) -> bool:
    return part.get_content_disposition() == "attachment" or bool(part.get_filename())
