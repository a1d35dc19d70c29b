"""Documents made for tests: office files, PDF, scans, folders with an index, and what parsing them
gives."""

from __future__ import annotations

import asyncio
import html
import io
import json
import os
import re
import select
import textwrap
import zipfile
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import docx
import numpy
import openpyxl
import pptx
import pytest
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter

from deep_research.core.library._index_file import IndexedFile
from deep_research.core.library.library import Library
from deep_research.core.reading._fetch import Resolver
from deep_research.core.reading.addresses import Unread
from deep_research.core.reading.web_page import WebReader
from deep_research.core.records.sources import Source
from deep_research.core.settings.context import Context
from deep_research.core.settings.limits import Limits
from kit.web import Web

MODIFIED = datetime(2021, 3, 4, 5, 6)
TEXT = "The lamp was lit in 1844."

Edit = Callable[[bytes], bytes]


def saved(document: Any) -> bytes:
    """What an office library writes."""
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


@cache
def word() -> bytes:
    """A Word document of one paragraph."""
    document = docx.Document()
    document.add_paragraph(TEXT)
    return saved(document)


@cache
def slides(*titles: str) -> bytes:
    """A PowerPoint document with a slide for each title."""
    show = pptx.Presentation()
    for title in titles:
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    return saved(show)


def sheet(*rows: list[Any], modified: datetime = MODIFIED) -> bytes:
    """An Excel document of one sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    # The library stamps the day of saving over this one.
    return edited(
        saved(book), {"docProps/core.xml": lambda core: core_properties("", modified.isoformat())}
    )


def core_properties(title: str, modified: str) -> bytes:
    return (
        '<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"'
        ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">'
        f"<dc:title>{title}</dc:title><dcterms:modified>{modified}</dcterms:modified></cp:coreProperties>"
    ).encode()


def edited(data: bytes, edits: Mapping[str, Edit], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """The same archive with some members changed or added."""
    source = zipfile.ZipFile(io.BytesIO(data))
    members = {name: source.read(name) for name in source.namelist()}
    return zipped(
        {**members, **{name: edit(members.get(name, b"")) for name, edit in edits.items()}}, method
    )


def zipped(members: Mapping[str, str | bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive with these members."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def replacing(old: bytes, new: bytes) -> Edit:
    """Exchange the first of these words, which must be there."""

    def edit(content: bytes) -> bytes:
        assert old in content
        return content.replace(old, new, 1)

    return edit


def book(
    chapters: Mapping[str, str], *, title: str = "", date: str = "", further: Mapping[str, str] = {}
) -> bytes:
    """An EPUB with these chapters, whose names are those of their files."""
    item = '<item id="i{}" href="{}" media-type="application/xhtml+xml"/>'
    items = "".join(item.format(number, name) for number, name in enumerate(chapters))
    spine = "".join(f'<itemref idref="i{number}"/>' for number in range(len(chapters)))
    parts = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="text/book.opf"/></rootfiles></container>',
        "text/book.opf": '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<metadata><dc:title>{title}</dc:title><dc:date>{date}</dc:date></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
        **{f"text/{name}": chapter for name, chapter in chapters.items()},
        **further,
    }
    return zipped(parts)


class Put(NamedTuple):
    """A piece of text on a page, from the left and from the bottom, in points."""

    x: float
    y: float
    text: str
    size: float = 11
    rise: float = 0


class Rule(NamedTuple):
    """A line between two points."""

    x: float
    y: float
    to_x: float
    to_y: float


class Field(NamedTuple):
    """A field of a form with its value; `kind`: `Tx` for text, `Btn` for a box that is ticked."""

    x: float
    y: float
    value: str
    kind: str = "Tx"


Piece = Put | Rule | Field | bytes
"""Bytes draw in PDF's own words."""


def width_of(text: str, size: float = 11) -> float:
    """The width of figures in Helvetica."""
    return size * sum(0.556 if sign.isalnum() else 0.3 for sign in text)


def column(
    x: float, top: float, lines: Sequence[str], leading: float = 14, size: float = 11
) -> list[Put]:
    """Lines below each other."""
    return [Put(x, top - leading * row, line, size) for row, line in enumerate(lines)]


def drawn(*pages: Sequence[Piece], labels: str = "", turned: int = 0) -> bytes:
    """A PDF with these pieces in their order; `labels`: the `Nums` of its page labels."""
    objects = [
        b"",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    kids, fields = list[int](), list[int]()
    for pieces in pages:
        shown = b"\n".join(_shown(piece) for piece in pieces if not isinstance(piece, Field))
        content = zlib.compress(shown)
        objects.append(
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream"
            % (len(content), content)
        )
        stream, annotations = len(objects), list[int]()
        for field in (piece for piece in pieces if isinstance(piece, Field)):
            objects.append(_field(field, len(objects)))
            annotations.append(len(objects))
        fields += annotations
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d /Contents %d 0 R /Annots [%s]"
            b" /Resources << /Font << /F1 3 0 R >> >> >>"
            % (turned, stream, _references(annotations))
        )
        kids.append(len(objects))
    form = (
        b" /AcroForm << /Fields [%s] /DR << /Font << /Helv 3 0 R >> >> >>" % _references(fields)
        if fields
        else b""
    )
    numbers = b" /PageLabels << /Nums [%s] >>" % labels.encode() if labels else b""
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R%s%s >>" % (form, numbers)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (_references(kids), len(kids))
    body, offsets = b"%PDF-1.7\n", list[int]()
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\n" % (
        count,
        entries,
        count,
    )
    return body + table + b"startxref\n%d\n%%%%EOF\n" % len(body)


def pdf_of(text: str, times: int = 1) -> bytes:
    """A PDF of one page that says these lines so many times."""
    lines = "".join(f"({line}) Tj T* " for line in text.split("\n"))
    return drawn([b"BT /F1 12 Tf 14 TL 72 720 Td " + lines.encode("latin-1") * times + b"ET"])


def _references(numbers: Sequence[int]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def _string(text: str) -> bytes:
    return b"(%s)" % text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(
        b")", rb"\)"
    )


def _shown(piece: Put | Rule | bytes) -> bytes:
    if isinstance(piece, bytes):
        return piece
    if isinstance(piece, Rule):
        return b"%f %f m %f %f l S" % piece
    return b"BT /F1 %f Tf %f Ts %f %f Td %s Tj ET" % (
        piece.size,
        piece.rise,
        piece.x,
        piece.y,
        _string(piece.text),
    )


def _field(field: Field, number: int) -> bytes:
    value = b"/V %s" % _string(field.value) if field.kind == "Tx" else b"/V /Yes /AS /Yes"
    return (
        b"<< /Type /Annot /Subtype /Widget /FT /%s /T (f%d) %s /F 4 /Rect [%f %f %f %f] /DA (/Helv 11 Tf 0 g) >>"
        % (
            *(
                field.kind.encode(),
                number,
                value,
                field.x,
                field.y - 3,
                field.x + 180,
                field.y + 11,
            ),
        )
    )


FONTS = (
    "DejaVuSans.ttf",
    "DejaVuSerif.ttf",
    "LiberationSerif-Regular.ttf",
    "LiberationSans-Regular.ttf",
)
A4 = (1654, 2339)
"""At 200 dots per inch."""
WHITE = 255


def has_fonts() -> bool:
    try:
        return all(ImageFont.truetype(name, 20) for name in FONTS)
    except OSError:
        return False


def printed(
    text: str,
    font: str = FONTS[0],
    size: int = 32,
    width: int = 74,
    height: int = A4[1],
) -> Image.Image:
    """A page with this text, its paragraphs broken into lines.

    `height` is in pixels; a page of a third of A4 is recognised in a third of the time.
    """
    page = Image.new("L", (A4[0], height), WHITE)
    draw, letters, top = ImageDraw.Draw(page), ImageFont.truetype(font, size), 160
    for paragraph in text.split("\n\n"):
        for line in textwrap.wrap(paragraph, width):
            draw.text((150, top), line, font=letters, fill=0)
            top += int(size * 1.45)
        top += size
    return page


def scanned(page: Image.Image, angle: float = 0.5, noise: float = 10, seed: int = 1) -> Image.Image:
    """The page a little askew and with noise."""
    turned = numpy.asarray(page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=WHITE)).astype(
        float
    )
    grain = numpy.random.default_rng(seed).normal(0, noise, turned.shape)
    return Image.fromarray((turned + grain).clip(0, WHITE).astype("uint8"))


def file_of(page: Image.Image, form: str = "JPEG", **settings: Any) -> bytes:
    written = io.BytesIO()
    page.save(written, form, **({"quality": 60} if form == "JPEG" else {}), **settings)
    return written.getvalue()


def pdf_of_scans(pages: Sequence[Image.Image], rotate: int = 0) -> bytes:
    """A PDF with a picture a page, as JPEG; a page in two colours is stored as a fax."""
    written = io.BytesIO()
    writer = PdfWriter()
    for page in pages:
        writer.append(PdfReader(io.BytesIO(file_of(page, "PDF", resolution=200))))
    for sheet in writer.pages if rotate else ():
        sheet.rotate(rotate)
    writer.write(written)
    return written.getvalue()


def words_right(read: str, text: str) -> float:
    """The share of the words of a text that were read right."""
    wanted, found = Counter(re.findall(r"\S+", text)), Counter(re.findall(r"\S+", read))
    return sum((wanted & found).values()) / wanted.total()


HARBOUR = (
    "# Porto Alto harbour\n\nThe harbour of Porto Alto was deepened in 1893 by Ada Lindqvist.\n"
)
BRIDGE = (
    "Velm bridge\n\nThe bridge over the Velm was opened in 1911. Its builder was Ada Lindqvist.\n"
)
LONG = "\n\n".join(
    f"Chapter {number} tells of ship {number} and of its cargo of salt and tin."
    for number in range(900)
)


class FixedClock:
    def now(self) -> datetime:
        return datetime(2031, 5, 6, 7, 8)

    def seconds(self) -> float:
        return 0.0

    async def sleep(self, seconds: float) -> None:
        await asyncio.Event().wait()


def source_of(entry: IndexedFile) -> Source:
    """An indexed document as a source, if it lies nowhere."""
    path, title, text = entry.path, entry.title, entry.content_hash
    return Source(
        key=path, title=title, location=path, address="", kind="document", content_hash=text
    )


class Papers(NamedTuple):
    """A folder of documents and a data folder."""

    docs: Path
    data: Path

    def context(self, *docs: Path, **limits: float) -> Context:
        values = Limits.model_validate(limits)
        return Context(
            docs=docs or (self.docs,), data_dir=self.data, limits=values, clock=FixedClock()
        )

    def library(self, *docs: Path, **limits: float) -> Library:
        return Library(self.context(*docs, **limits))

    def indexed(self, *docs: Path, **limits: float) -> Library:
        library = self.library(*docs, **limits)
        library.refresh()
        return library

    def index_file(self) -> Path:
        (file,) = (self.data / "indexes").glob("*.sqlite")
        return file

    @classmethod
    def filled(cls, tmp_path: Path) -> Papers:
        """Three short documents, none of a kind whose parser takes long to load."""
        docs = tmp_path / "papers"
        (docs / "old").mkdir(parents=True)
        (docs / "harbour.md").write_text(HARBOUR)
        (docs / "old" / "Velm bridge.txt").write_text(BRIDGE)
        (docs / "salt.txt").write_text("Salt\n\nSalt was traded at Porto Alto until 1950.\n")
        return cls(docs, tmp_path / "data")


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
    path = quotation.path
    if path.suffix == ".pdf":
        text = "\n".join(page.extract_text() for page in PdfReader(path).pages)
    else:
        text = path.read_text(encoding="utf-8")
    if path.suffix in (".html", ".htm"):
        text = re.sub(r"<[^>]+>", " ", text)
    said, quoted = (
        re.sub(r"[\W_]+", "", html.unescape(words)).lower() for words in (text, quotation.text)
    )
    return quoted in said


CHROMIUM = Path("/usr/bin/chromium")
# Tests may run as root, and in containers.
BROWSER = f"{CHROMIUM} --no-sandbox"
SECONDS = 60
"""Until what was killed must have ended, on a busy machine."""
SHELL = """<!doctype html><html><head><title>App</title><link rel=stylesheet href=/app.css></head><body>
<div id=root></div><noscript>You need to enable JavaScript to run this app.</noscript>
<script type=module src=/app.js></script></body></html>"""
APP = """const facts = await (await fetch("/facts.json")).json();
document.title = facts.title;
document.querySelector("#root").innerHTML = `<h1>${facts.title}</h1><p>${facts.text}</p><a href=/more>More</a>`;"""
ATTACK = Path(__file__).with_name("attack.js").read_text("utf-8")
"""Tries all addresses in each way there is, then shows what came of it: so many lines more than
addresses."""
FURTHER_TRIES = 6


def publish_app(web: Web, path: str, title: str, text: str) -> str:
    """A page that is empty until its script has fetched its text."""
    web.publish("/app.js", APP, content_type="text/javascript")
    web.publish(
        "/facts.json", json.dumps({"title": title, "text": text}), content_type="application/json"
    )
    return web.publish(path, SHELL)


def page_with(code: str) -> str:
    """A page of a script alone."""
    return f"<html><head><title>App</title></head><body><script type=module>{code}</script></body></html>"


def show(text: str) -> str:
    return f"document.body.append({json.dumps(text)});"


@asynccontextmanager
async def reading(
    web: Web, resolve: Resolver | None = None, **settings: Any
) -> AsyncIterator[WebReader]:
    limits = Limits(**{"page_seconds": 60, "render_seconds": 120, **settings.pop("limits", {})})
    usual = {"allow_private": (web.netloc,), "robots": False, "browser": BROWSER}
    async with WebReader(Context(limits=limits, **{**usual, **settings}), resolve) as reader:
        yield reader


async def refusal(reader: WebReader, address: str, code: str = "empty shell") -> str:
    with pytest.raises(Unread) as caught:
        await reader.read(address)
    assert caught.value.code == code
    return str(caught.value)


class Traces:
    """What a browser leaves behind: its processes and its files, known by the folder for temporary
    files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._seen: dict[int, int] = {}

    def processes(self) -> set[int]:
        """All that run with this folder in their environment."""
        return {
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/environ")
            if self._is_ours(path)
        }

    def _is_ours(self, path: Path) -> bool:
        try:
            # Parsers wait for more to parse.
            is_parser = b"documents.worker" in path.with_name("cmdline").read_bytes()
            return f"TMPDIR={self.folder}".encode() in path.read_bytes() and not is_parser
        except OSError:
            return False

    def see(self) -> int:
        """Remember the processes that run now; returns how many."""
        for number in self.processes() - self._seen.keys():
            self._seen[number] = os.pidfd_open(number)
        return len(self._seen)

    def check(self) -> None:
        """All processes that were seen have ended, no other runs, and no file is left."""
        for descriptor in self._seen.values():
            assert select.select([descriptor], [], [], SECONDS)[0], "a process has not ended"
            os.close(descriptor)
        self._seen.clear()
        assert self.processes() == set()
        assert list(self.folder.rglob("*")) == []
