"""Parses Outlook's mails (`.msg`): turns their MAPI properties into an e-mail, which is then read
like any other.

The format is Microsoft's [MS-OXMSG], its property ids are those of [MS-OXPROPS].
"""

from __future__ import annotations

import codecs
import io
import struct
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from email import message_from_bytes
from email.encoders import encode_base64
from email.header import Header
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.policy import default
from email.utils import format_datetime

import olefile

from ._parse_email import email_extract
from .decode import clean_text, decode
from .records import Extract, Unreadable

_UNICODE, _BYTES, _BINARY, _STORAGE = "001F", "001E", "0102", "000D"
"""Types of properties: text in UTF-16, text in a code page, bytes, and an embedded message."""
_SUBJECT, _BODY, _HTML, _RTF = 0x0037, 0x1000, 0x1013, 0x1009
_SENDER_NAME, _SENDER_ADDRESSES = 0x0C1A, (0x5D01, 0x0C1F)
_RECIPIENT_TYPE, _NAME, _ADDRESSES = 0x0C15, 0x3001, (0x39FE, 0x3003)
_FILE_NAMES, _CONTENT = (0x3707, 0x3704), 0x3701
_TIMES = (0x0039, 0x0E06)
"""When the mail was sent, and when it was delivered."""
_CODE_PAGES = (0x3FFD, 0x3FDE)
"""Code pages of texts, and of the HTML body."""
_FIELDS = {1: "To", 2: "Cc"}
"""Fields of an e-mail by the type of a recipient."""
_HEADER_BYTES, _EMBEDDED_HEADER_BYTES, _INNER_HEADER_BYTES = 32, 24, 8
"""Bytes before the table of fixed properties: of the message, of one that is attached to it, and of
a recipient or attachment."""
_ENTRY = struct.Struct("<HH4x8s")
"""An entry of that table: type, property id and value."""
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_MOST_PARTS = 1_000
"""Maximum number of recipients, and of attachments, that are read."""
_ENCODINGS = {20127: "ascii", 65000: "utf-7", 65001: "utf-8"}
"""Encodings whose number is not in their name; ISO 8859-1 is 28591, and so on."""
_FIRST_ISO = 28590
_IN_RTF = "its text is only in Outlook's own form (RTF), which is not read: save it as .eml"


def parse_outlook(data: bytes) -> Extract:
    """Return subject, date and text of a mail; see `parse_email`."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            message = _Properties(file, (), _HEADER_BYTES)
            headers = _headers(message)
            parts = _parts(message)
            has_text = message.has(_BODY) or message.has(_HTML)
            is_in_rtf = message.has(_RTF)
    except (OSError, ValueError, LookupError, TypeError, struct.error, OverflowError) as error:
        raise Unreadable("broken", "it is a broken Outlook message") from error
    extract = email_extract(headers, message_from_bytes(parts.as_bytes(), policy=default))
    if is_in_rtf and not has_text:
        return extract._replace(is_cut=True, note=_IN_RTF)
    return extract


class _Properties:
    """The properties of a message, a recipient or an attachment."""

    def __init__(self, file: olefile.OleFileIO, folder: tuple[str, ...], header_bytes: int) -> None:
        """`folder`: path of its storage in the file; `header_bytes`: see `_HEADER_BYTES`."""
        self._file = file
        self._folder = folder
        self._header_bytes = header_bytes
        self._fixed = dict(self._read_fixed())

    def has(self, identifier: int) -> bool:
        """Whether there is a text or bytes in this property."""
        return bool(self.content(identifier)[0])

    def content(self, identifier: int) -> tuple[bytes, str]:
        """Return the bytes of a property and their encoding; both empty if there are none, and no
        encoding if it is unknown."""
        for kind in (_UNICODE, _BYTES, _BINARY):
            path = self._path(identifier, kind)
            if not self._file.exists(path):
                continue
            data = self._file.openstream(path).read()
            if kind == _UNICODE:
                return data.decode("utf-16-le", errors="replace").encode(), "utf-8"
            return data, self._encoding()
        return b"", ""

    def text(self, *identifiers: int) -> str:
        """Return the first of these properties that is not blank, as one line."""
        for identifier in identifiers:
            data, encoding = self.content(identifier)
            line = " ".join(clean_text(decode(data, encoding)).split()) if data else ""
            if line:
                return line
        return ""

    def number(self, identifier: int) -> int:
        """Return the value of a fixed property as a number; 0 if there is none."""
        return int.from_bytes(self._fixed.get(identifier, b""), "little")

    def inner(self, prefix: str) -> Iterator[_Properties]:
        """Yield the properties of recipients (`__recip`) or attachments (`__attach`), in order."""
        names = set[str]()
        depth = len(self._folder)
        for path in self._file.listdir(streams=True, storages=True):
            is_below = len(path) > depth and tuple(path[:depth]) == self._folder
            if is_below and path[depth].startswith(prefix):
                names.add(path[depth])
        for name in sorted(names)[:_MOST_PARTS]:
            yield _Properties(self._file, (*self._folder, name), _INNER_HEADER_BYTES)

    def embedded(self) -> _Properties | None:
        """Return the message that is this attachment; None if it is a file."""
        path = self._path(_CONTENT, _STORAGE)
        if self._file.get_type(path) != olefile.STGTY_STORAGE:
            return None
        return _Properties(self._file, tuple(path), _EMBEDDED_HEADER_BYTES)

    def _path(self, identifier: int, kind: str) -> list[str]:
        return [*self._folder, f"__substg1.0_{identifier:04X}{kind}"]

    def _read_fixed(self) -> Iterator[tuple[int, bytes]]:
        """Yield the id and the value of each property of fixed length."""
        path = [*self._folder, "__properties_version1.0"]
        if not self._file.exists(path):
            return
        table = self._file.openstream(path).read()[self._header_bytes :]
        whole = len(table) - len(table) % _ENTRY.size
        for _, identifier, value in _ENTRY.iter_unpack(table[:whole]):
            yield identifier, value

    def _encoding(self) -> str:
        """Return the encoding of texts in bytes; empty if it is unknown."""
        for identifier in _CODE_PAGES:
            page = self.number(identifier) & 0xFFFFFFFF
            name = _ENCODINGS.get(page, f"cp{page}")
            if _FIRST_ISO < page <= _FIRST_ISO + 16:
                name = f"iso8859-{page - _FIRST_ISO}"
            try:
                return codecs.lookup(name).name
            except LookupError:
                continue
        return ""


def _headers(message: _Properties) -> dict[str, str]:
    """Return the main headers of a message; those that it does not have are empty."""
    recipients: dict[str, list[str]] = {name: [] for name in _FIELDS.values()}
    for recipient in message.inner("__recip_version1.0_#"):
        field = _FIELDS.get(recipient.number(_RECIPIENT_TYPE) & 0xFF)
        address = _address(recipient.text(_NAME), recipient.text(*_ADDRESSES))
        if field and address:
            recipients[field].append(address)
    return {
        "Subject": message.text(_SUBJECT),
        "From": _address(message.text(_SENDER_NAME), message.text(*_SENDER_ADDRESSES)),
        "To": ", ".join(recipients["To"]),
        "Cc": ", ".join(recipients["Cc"]),
        "Date": _date(message),
    }


def _parts(message: _Properties) -> MIMEMultipart:
    """Return the bodies of a message, and its attachments without their content, as an e-mail."""
    mail = MIMEMultipart("mixed")
    mail.attach(_bodies(message))
    for attachment in message.inner("__attach_version1.0_#"):
        mail.attach(_attached(attachment))
    return mail


def _bodies(message: _Properties) -> MIMEMultipart:
    """Return the plain and the formatted text of a message as alternatives."""
    bodies = MIMEMultipart("alternative")
    for identifier, subtype in ((_BODY, "plain"), (_HTML, "html")):
        data, encoding = message.content(identifier)
        if not data:
            continue
        part = MIMEBase("text", subtype)
        if encoding:
            part.set_param("charset", encoding)
        part.set_payload(data)
        encode_base64(part)
        bodies.attach(part)
    return bodies


def _attached(attachment: _Properties) -> MIMEBase:
    """Return an attached file or message as a part that has only its name."""
    embedded = attachment.embedded()
    if embedded:
        mail = MIMEMultipart("mixed")
        subject = embedded.text(_SUBJECT)
        mail["Subject"] = Header(subject, "utf-8").encode()
        return MIMEMessage(mail)
    part = MIMEBase("application", "octet-stream")
    name = attachment.text(*_FILE_NAMES, _NAME)
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
    return part


def _address(name: str, address: str) -> str:
    """Return a name with its e-mail address; addresses within Exchange are left out."""
    if "@" not in address:
        return name
    return address if name in ("", address) else f"{name} <{address}>"


def _date(message: _Properties) -> str:
    """Return when a message was sent; empty if it does not say."""
    for identifier in _TIMES:
        # In steps of 100 nanoseconds.
        steps = message.number(identifier)
        if steps:
            return format_datetime(_EPOCH + timedelta(microseconds=steps // 10))
    return ""
