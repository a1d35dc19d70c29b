"""Decodes bytes in any charset, and removes invisible characters and tags from text."""

from __future__ import annotations

import codecs
import re
import unicodedata
from contextlib import suppress

from .records import TEXT_CHARACTERS, Unreadable

_SAMPLE_BYTES = 65_536
TEXT_BYTES = 6 * TEXT_CHARACTERS
_NOT_IN_TEXT = r"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f]"
"""Control characters or bytes that are rare in text. ESC is allowed, for coloured logs and
ISO-2022-JP."""
_CONTROL_SHARE = 0.02
"""Maximum share of these characters in a text."""
_FEW_CONTROLS = 8
"""Number of these characters that are accepted in any text, however short."""
_NUL_SHARE = 0.2
"""Minimum share of NUL bytes in UTF-16."""
_SLIPS = 4
"""Minimum number of non-ASCII characters per invalid byte for a text to still count as UTF-8."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BINARY = (
    b"PK\x03\x04", b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"\x1f\x8b", b"7z\xbc\xaf", b"\x7fELF",
    b"SQLite format 3",
)  # fmt: skip
"""First bytes of files that are not text."""
_CANDIDATES = [
    "cp1252", "cp932", "euc_jp", "gb18030", "big5", "euc_kr", "cp1251", "koi8_r", "cp1250",
    "cp1253", "cp1255", "cp1256", "cp1254",
]  # fmt: skip
"""Charsets among which to guess that of a text which is neither Unicode nor declared."""
# Pages declare the smaller charset but use the larger one, as browsers assume.
_AS_MEANT = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"), "cp1252"),
    **dict.fromkeys(("shift_jis", "shift-jis", "x-sjis"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    "iso-8859-9": "cp1254",
}
_CONTROL = re.compile(_NOT_IN_TEXT)
_CONTROL_BYTE = re.compile(_NOT_IN_TEXT.encode())
# Zero-width joiners stay: Persian, Indic scripts and emoji need them. So do variation selectors
# after symbols that may be emoji, except symbols that NFC replaces, so that cleaning twice changes
# nothing.
_UNWANTED = re.compile(
    r"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    r"\u202a-\u202e\u2060-\u206f\u3164\ufe01-\ufe0d\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff]"
)
_LONE_SELECTOR = re.compile(
    r"(?<![\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u2328\u232b-\u2adb\u2add-\u2bff\u3030\u303d\u3297\u3299"
    r"\U0001f000-\U0001faff])[\ufe00\ufe0e\ufe0f](?!(?<=[0-9#*]\ufe0f)\u20e3)"
)
_LINE_ENDS = re.compile(r"\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_ALL_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_STRING_CHARACTERS = 50_000
"""Longer strings with tags are cut."""
_TAG_NAME = r"(?:[A-Za-z][\w.-]*:)?[A-Za-z][\w.-]*"
_TAG = re.compile(
    rf"</?{_TAG_NAME}(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'|[^\s\"'<>=]+))*\s*/?>"
)
_ESCAPED_TAG = re.compile(
    r"&lt;/?(?:(?:jats|mml):\w+|sup|sub|i|b|em|strong|p|br|scp|span)\s*/?&gt;", re.IGNORECASE
)
"""Matches the tags that publishers escape by mistake."""
_INLINE = frozenset(
    (
        "a", "b", "bold", "em", "font", "i", "italic", "mark", "monospace", "named-content",
        "roman", "ruby", "s", "sans-serif", "sc", "scp", "small", "span", "strong", "sub", "sup",
        "tt", "u", "underline", "del", "strike", "ins", "abbr", "code", "cite", "q", "rb", "rt",
        "rp", "inline-formula", "tex-math", "xref",
    )
)  # fmt: skip
"""Tags that do not separate words."""


def decode(data: bytes, declared: str = "", most: int = TEXT_BYTES) -> str:
    """Decode the first `most` bytes.

    By their byte order mark, as UTF-8, by the declared charset, or by the best guess. Raises
    `Unreadable` if they are not text.
    """
    if data.startswith(_BINARY):
        raise Unreadable("not text", "it is not a text file")
    head = data[:most]
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            text = head.removeprefix(mark).decode(encoding, errors="replace")
            break
    else:
        text = _without_bom(head, declared, is_whole=len(data) <= most)
    sample = text[:_SAMPLE_BYTES]
    if len(_CONTROL.findall(sample)) > max(_FEW_CONTROLS, _CONTROL_SHARE * len(sample)):
        raise Unreadable("not text", "it is not a text file")
    return text


def is_binary(head: bytes) -> bool:
    """Whether the first bytes of a file contain too many control characters for a text that is not
    in UTF-16 or UTF-32."""
    return len(_CONTROL_BYTE.findall(head)) > _CONTROL_SHARE * len(head) + 1


def clean_text(text: str) -> str:
    """Return the text in NFC with `\\n` line ends.

    Control, invisible and broken characters are removed.
    """
    text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text))
    # Searching for these is much faster than the pattern.
    if any(selector in text for selector in "\ufe00\ufe0e\ufe0f"):
        text = _LONE_SELECTOR.sub("", text)
    return unicodedata.normalize("NFC", text)


def without_controls(text: str) -> str:
    """Replace each control character (including line ends) and each lone surrogate with a space."""
    return _ALL_CONTROLS.sub(" ", text)


def tagged_text(text: str) -> str:
    """Return a string with tags and entities, such as a title or abstract, as plain text in one
    line."""
    if "<" not in text and "&" not in text:
        return " ".join(text.split())
    # Imported late: most processes that decode text see no such string.
    from html import unescape

    from lxml import html as lxml_html

    from ._raised import footnote_marks, resolve_raised
    from ._tagged import CLOSED_TAG, NOT_XML, drop_tex, resolve_tags, without_prefix

    source = NOT_XML.sub(" ", text[:_STRING_CHARACTERS])
    if _ESCAPED_TAG.search(source):
        source = unescape(source)
    source = CLOSED_TAG.sub(r"<\1\2></\1>", _without_stray_signs(source))
    root = lxml_html.fragment_fromstring(source, create_parent="div")
    drop_tex(root)
    resolve_tags(root)
    for element in root.iter():
        if without_prefix(element) not in _INLINE:
            element.text = f" {element.text or ''}"
            element.tail = f" {element.tail or ''}"
    written = "".join(map(str, root.itertext()))
    return " ".join(resolve_raised(written, footnote_marks(written)).split())


def _without_stray_signs(source: str) -> str:
    """Escape the signs that begin no tag, as in "p < 0.05"."""
    escaped = list[str]()
    position = 0
    for tag in _TAG.finditer(source):
        escaped += [source[position : tag.start()].replace("<", "&lt;"), tag[0]]
        position = tag.end()
    return "".join([*escaped, source[position:].replace("<", "&lt;")])


def _without_bom(data: bytes, declared: str, is_whole: bool) -> str:
    """Decode bytes without a byte order mark.

    Without `is_whole`, they may end within a character.
    """
    sample = data[:_SAMPLE_BYTES]
    charsets = _unicode_charsets(data, sample)
    charsets.append(_AS_MEANT.get(declared.lower(), declared))
    for charset in charsets:
        with suppress(LookupError, UnicodeError):
            return codecs.getincrementaldecoder(charset)().decode(data, final=is_whole)
    # UTF-8 with a few pasted bytes of another charset.
    text = data.decode("utf-8", errors="replace")
    not_ascii = len(text) - sum(map(str.isascii, text))
    if text.count("\ufffd") * _SLIPS < not_ascii:
        return text
    return data.decode(_guessed_charset(sample), errors="replace")


def _unicode_charsets(data: bytes, sample: bytes) -> list[str]:
    """Return the charsets to try before the declared one.

    Text rarely decodes as UTF-8 by chance, but declarations are often wrong.
    """
    # A stray NUL is an accident; NUL in every second byte means UTF-16.
    if sample.count(0) > _NUL_SHARE * len(sample):
        is_little_endian = sample[1::2].count(0) > sample[0::2].count(0)
        return ["utf-16-le" if is_little_endian else "utf-16-be"]
    if b"\x1b$" in data:
        return ["iso2022_jp", "utf-8"]
    return ["utf-8"]


def _guessed_charset(sample: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=_CANDIDATES)
    best = matches.best()
    if not best:
        return "cp1252"
    if best.encoding == "cp1250":
        # Short Western texts fit the Central European charset equally well, but are far more
        # common.
        for match in matches:
            if match.encoding == "cp1252" and match.chaos <= best.chaos:
                return "cp1252"
    return best.encoding
