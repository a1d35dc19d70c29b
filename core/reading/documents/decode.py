"""Bytes to clean text, whatever their charset."""

from __future__ import annotations

import codecs
import re
import unicodedata
from contextlib import suppress

from ..records import TEXT_CHARACTERS, Unreadable

SAMPLE_BYTES = 65_536
TEXT_BYTES = 6 * TEXT_CHARACTERS
NOT_IN_TEXT = r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]"
"""Characters, or bytes, of which a text holds few. Escape is not among them: logs with terminal colours are text, and
Japanese in seven bits is full of it."""
CONTROL_SHARE = 0.02
"""More of them than this share makes it no text."""
FEW_CONTROLS = 8
NUL_SHARE = 0.2
REPLACEMENT = "\ufffd"
SLIPS = 4
"""Characters beyond ASCII, replaced ones among them, for each byte that does not fit."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = (
    b"PK\x03\x04",
    b"\x89PNG",
    b"\xff\xd8\xff",
    b"GIF8",
    b"\x1f\x8b",
    b"7z\xbc\xaf",
    b"\x7fELF",
    b"SQLite format 3",
)
_CANDIDATES = [
    *("cp1252", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251"),
    *("koi8_r", "cp1250", "cp1253", "cp1255", "cp1256", "cp1254"),
]
# Pages name the small set and use the large one that their browsers take for it.
_AS_MEANT = {
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "cp1252",
    "ascii": "cp1252",
    "iso-8859-9": "cp1254",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
}
_CONTROL = re.compile(NOT_IN_TEXT)
# Zero-width joiners stay: Persian, Indic scripts and emoji need them. So do the marks that make an emoji of a symbol;
# symbols that composition replaces are left out, so that clean text stays as it is.
_UNWANTED = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe01-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
_SELECTORS = "\ufe00\ufe0e\ufe0f"
_LONE_SELECTOR = re.compile(
    r"(?<![\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2328\u232b-\u2adb\u2add-\u2bff\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001faff])[\ufe00\ufe0e\ufe0f](?!(?<=[0-9#*]\ufe0f)\u20e3)"
)
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ALL_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def decode(data: bytes, declared: str = "", most: int = TEXT_BYTES) -> str:
    """Return the text of `data`: byte order mark first, then UTF-8, then the declared charset, then what fits best.

    At most `most` bytes are looked at.
    """
    if data.startswith(_BINARY):
        raise Unreadable("not text", "it is not a text file")
    head = data[:most]
    text = _marked(head) or _without_mark(head, declared, is_whole=len(data) <= most)
    sample = text[:SAMPLE_BYTES]
    if len(_CONTROL.findall(sample)) > max(FEW_CONTROLS, CONTROL_SHARE * len(sample)):
        raise Unreadable("not text", "it is not a text file")
    return text


def clean(text: str) -> str:
    """Return the text in composed form, without control, invisible and broken characters, with plain line ends."""
    text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))
    if any(selector in text for selector in _SELECTORS):
        text = _LONE_SELECTOR.sub("", text)
    return unicodedata.normalize("NFC", text)


def without_controls(text: str) -> str:
    """Return the text with a space for each control character, line ends among them, and for each broken one."""
    return _ALL_CONTROLS.sub(" ", text)


def _marked(data: bytes) -> str:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    return ""


def _without_mark(data: bytes, declared: str, is_whole: bool) -> str:
    # UTF-8 before the declaration: what decodes as UTF-8 by chance is rare, a wrong declaration is not.
    names = ["iso2022_jp", "utf-8"] if b"\x1b$" in data else ["utf-8"]
    # A stray NUL is an accident; every second byte NUL is UTF-16.
    if data[:SAMPLE_BYTES].count(0) > NUL_SHARE * len(data[:SAMPLE_BYTES]):
        sample = data[:SAMPLE_BYTES]
        names = ["utf-16-le" if sample[1::2].count(0) > sample[0::2].count(0) else "utf-16-be"]
    for name in [*names, _AS_MEANT.get(declared.lower(), declared)]:
        # A cut may fall inside a character.
        with suppress(LookupError, UnicodeError):
            return codecs.getincrementaldecoder(name)().decode(data, final=is_whole)
    return _with_slips(data) or data.decode(_best_guess(data), errors="replace")


def _with_slips(data: bytes) -> str:
    """Return the text of UTF-8 into which a few bytes of something else were pasted; empty if it is none."""
    text = data.decode("utf-8", errors="replace")
    slips = text.count(REPLACEMENT)
    return text if slips * SLIPS < sum(1 for character in text if character > "\x7f") else ""


def _best_guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:SAMPLE_BYTES], cp_isolation=_CANDIDATES)
    best = matches.best()
    if best is None:
        return "cp1252"
    # Short western texts fit Central Europe's table equally well, and are far more common.
    western = any(match.encoding == "cp1252" and match.chaos <= best.chaos for match in matches)
    return "cp1252" if best.encoding == "cp1250" and western else best.encoding
