"""Parses e-mails: main headers, body, and the names of attachments.

Of alternatives, the one that says more is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from email import message_from_bytes
from email.errors import MessageError
from email.message import EmailMessage
from email.policy import default
from email.utils import parseaddr, parsedate_to_datetime
from typing import cast

from ...evidence.text.sentences import MESSAGE_FIELDS
from ._parse_html import visible_text
from .decode import clean_text, decode
from .records import Extract, Unreadable

# Errors that the standard library raises on malformed headers.
_MALFORMED = (MessageError, ValueError, LookupError, AttributeError, TypeError)
_SHOWN = ("From", "To", "Cc", "Date")
"""Headers that are shown below the subject."""
_SUPERFLUOUS = ("text/x-amp-html", "text/enriched", "text/richtext", "text/watch-html")
"""Further forms of the same text."""
_TABLE = re.compile(r"^\|.*\|\n\| --- \|(?: --- \|)+\n\|", re.MULTILINE)
_WORD = re.compile(r"\w+")
_ADDRESS = re.compile(r"https?://\S+|\[image[^\]]*\]|\[cid:[^\]]*\]", re.IGNORECASE)
"""Matches addresses and marks for pictures."""
_QUOTE_MARKS = re.compile(r"(?:\s*>)* ?")
_SALUTATION = re.compile(r"(?=.{2,50}$)[^\d\s]+(?:\s+[^\d\s]+){0,6}[,，،:：!]")


def parse_email(data: bytes) -> Extract:
    """Return subject, date and text of an e-mail; a line below its subject has the other
    headers."""
    message = message_from_bytes(data, policy=default)
    headers = {name: _header(message, name) for name in ("Subject", *_SHOWN)}
    return email_extract(headers, message)


def email_extract(headers: Mapping[str, str], message: EmailMessage) -> Extract:
    """Return what is read of an e-mail with these headers, of which any may be empty; raises
    `Unreadable` if all are."""
    if not any(headers.values()):
        raise Unreadable("broken", "it is not an e-mail")
    attached = list[str]()
    blocks = list[str]()
    if headers["Subject"]:
        blocks.append(f"# {headers['Subject']}")
    shown = [f"{name}: {headers[name]}" for name in _SHOWN if headers[name]]
    if shown:
        blocks.append(f"{MESSAGE_FIELDS}{'; '.join(shown)}")
    blocks += _texts(message, attached)
    if attached:
        blocks.append(f"Attached: {', '.join(attached)}")
    text = "\n\n".join(filter(None, blocks))
    sender = parseaddr(headers["From"])[1].rpartition("@")[2]
    try:
        date = parsedate_to_datetime(headers["Date"]).date().isoformat()
    except _MALFORMED:
        date = ""
    return Extract(headers["Subject"], text, date, publisher=sender)


def _texts(part: EmailMessage, attached: list[str]) -> list[str]:
    """Return the texts of a part in order; the names of attachments are added to `attached`."""
    inner = part.get_payload()
    if part.get_content_maintype() == "multipart" and isinstance(inner, list):
        parts = cast("list[EmailMessage]", inner)
        if part.get_content_subtype() == "alternative":
            return _alternatives(parts, attached)
        return [text for child in parts for text in _texts(child, attached)]
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
            return [visible_text(content, charset, marks_quotes=True).strip()]
        return [_with_salutations_apart(clean_text(decode(content, charset)).strip())]
    return []


def _alternatives(parts: list[EmailMessage], attached: list[str]) -> list[str]:
    """Return the text of the alternative that says more, and what is no alternative to it, such as
    a calendar entry."""
    plain = list[str]()
    rich = list[str]()
    further = list[str]()
    for part in parts:
        texts = [text for text in _texts(part, attached) if text]
        content_type = part.get_content_type()
        if content_type == "text/plain":
            plain += texts
        elif content_type == "text/calendar":
            further += texts
        elif content_type not in _SUPERFLUOUS:
            rich += texts
    if _says_more("\n\n".join(rich), "\n\n".join(plain)):
        return rich + further
    return plain + further


def _says_more(rich: str, plain: str) -> bool:
    """Whether a text with formatting is to be read instead of the plain one.

    The plain one lacks more than half of its words, and not because it says more itself; or has its
    table as mere lines.
    """
    if _TABLE.search(rich) and not _TABLE.search(plain):
        return True
    rich_words = _words_in(rich)
    plain_words = _words_in(plain)
    missing = len(rich_words - plain_words)
    return 2 * missing > len(rich_words) and missing > len(plain_words - rich_words)


def _words_in(text: str) -> set[str]:
    return set(_WORD.findall(_ADDRESS.sub(" ", text.lower())))


def _with_salutations_apart(text: str) -> str:
    """Put a blank line behind the salutation of a message and of each quoted message.

    A salutation is a short first line that ends in a comma or a colon.
    """
    lines = list[str]()
    depth = -1
    is_first = False
    all_lines = text.split("\n")
    for line, following in zip(all_lines, [*all_lines[1:], ""], strict=True):
        marks = _QUOTE_MARKS.match(line)
        quote = marks[0] if marks else ""
        if quote.count(">") != depth:
            is_first = True
            depth = quote.count(">")
        lines.append(line)
        words = line.removeprefix(quote).strip()
        next_marks = _QUOTE_MARKS.match(following)
        is_followed = following.removeprefix(next_marks[0] if next_marks else "").strip() != ""
        if is_first and is_followed and _SALUTATION.fullmatch(words):
            lines.append(quote.rstrip())
        if words:
            is_first = False
    return "\n".join(lines)


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
