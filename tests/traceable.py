"""Looks every cited sentence of a report up in the file that its number opens."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from pypdf import PdfReader

CITATION = re.compile(r"\[(\d+)\]")
DEFINED = re.compile(r"^\[(\d+)\]: <(file:[^>]+)>$", re.MULTILINE)
SENTENCE = re.compile(r"(?P<text>[^\n]+?)(?P<markers>(?: ?\[\d+\])+)")


class Quotation(NamedTuple):
    """A sentence and the file that it is said to stand in."""

    text: str
    path: Path


def quotations(report: str) -> list[Quotation]:
    """The cited sentences of a report in Markdown."""
    body = report.split("\n## Sources")[0]
    files = {number: Path(unquote(urlsplit(link).path)) for number, link in DEFINED.findall(report)}
    found = []
    for match in SENTENCE.finditer(body):
        for number in CITATION.findall(match["markers"]):
            assert f"\n- [{number}] " in report, f"[{number}] is not listed"
            found.append(Quotation(match["text"].strip(), files[number]))
    return found


def stands_in_its_file(quotation: Quotation) -> bool:
    """Whether the file holds the sentence, white space and markup aside."""
    return _plain(quotation.text) in _plain(_text(quotation.path))


def _text(path: Path) -> str:
    if path.suffix == ".pdf":
        return "\n".join(page.extract_text() for page in PdfReader(path).pages)
    text = path.read_text(encoding="utf-8")
    return html.unescape(re.sub(r"<[^>]+>", " ", text)) if path.suffix in (".html", ".htm") else text


def _plain(text: str) -> str:
    return re.sub(r"[\W_]+", "", html.unescape(text)).lower()
