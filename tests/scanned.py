"""Scans as a scanner makes them: pages of print, askew, with noise, as pictures and as PDFs of pictures."""

from __future__ import annotations

import io
import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter

FONTS = ("DejaVuSans.ttf", "DejaVuSerif.ttf", "LiberationSerif-Regular.ttf", "LiberationSans-Regular.ttf")
A4 = (1654, 2339)
"""At 200 dots per inch."""
WHITE = 255


def has_fonts() -> bool:
    try:
        for name in FONTS:
            ImageFont.truetype(name, 20)
    except OSError:
        return False
    return True


def printed(text: str, font: str = FONTS[0], size: int = 32, width: int = 74) -> Image.Image:
    """A page with this text, its paragraphs broken into lines."""
    page = Image.new("L", A4, WHITE)
    draw, letters, top = ImageDraw.Draw(page), ImageFont.truetype(font, size), 160
    for paragraph in text.split("\n\n"):
        for line in textwrap.wrap(paragraph, width):
            draw.text((150, top), line, font=letters, fill=0)
            top += int(size * 1.45)
        top += size
    return page


def scanned(page: Image.Image, angle: float = 0.5, noise: float = 10, seed: int = 1) -> Image.Image:
    """The page a little askew and with noise."""
    turned = numpy.asarray(page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=WHITE)).astype(float)
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
    for one in writer.pages if rotate else ():
        one.rotate(rotate)
    writer.write(written)
    return written.getvalue()


def words_right(read: str, text: str) -> float:
    """The share of the words of a text that were read right."""
    wanted, found = Counter(re.findall(r"\S+", text)), Counter(re.findall(r"\S+", read))
    return sum((wanted & found).values()) / wanted.total()
