"""Which parser reads which kind of file; each is loaded when the first file of its kind comes."""

from __future__ import annotations

from .decode import TEXT_BYTES, clean, decode
from .parse_text import parse_markdown, parse_text
from .records import Extract, Kind


def parse_kind(data: bytes, kind: Kind, charset: str = "", address: str = "") -> Extract:
    """Read the bytes as this kind of file. Raises `Unreadable`."""
    if kind == "pdf" or data.startswith(b"%PDF-"):
        from .parse_pdf import parse_pdf

        return parse_pdf(data)
    if kind == "html":
        from .parse_html import parse_html

        return parse_html(data, charset, address)
    if kind in ("docx", "pptx", "xlsx", "epub"):
        return _packed(data, kind)
    if kind in ("csv", "json", "jsonl", "email"):
        return _structured(data, kind, charset)
    text = clean(decode(data, charset))
    return _written(text, kind)._replace(is_cut=len(data) > TEXT_BYTES)


def _packed(data: bytes, kind: Kind) -> Extract:
    match kind:
        case "docx":
            from .parse_docx import parse_docx

            return parse_docx(data)
        case "pptx":
            from .parse_pptx import parse_pptx

            return parse_pptx(data)
        case "xlsx":
            from .parse_xlsx import parse_xlsx

            return parse_xlsx(data)
        case _:
            from .parse_epub import parse_epub

            return parse_epub(data)


def _structured(data: bytes, kind: Kind, charset: str) -> Extract:
    match kind:
        case "csv":
            from .parse_csv import parse_csv

            return parse_csv(data, charset)
        case "email":
            from .parse_email import parse_email

            return parse_email(data)
        case _:
            from .parse_json import parse_json, parse_jsonl

            return parse_json(data, charset) if kind == "json" else parse_jsonl(data, charset)


def _written(text: str, kind: Kind) -> Extract:
    match kind:
        case "markdown":
            return parse_markdown(text)
        case "rst":
            from .parse_rst import parse_rst

            return parse_rst(text)
        case _:
            return parse_text(text)
