"""Scans are recognised page by page in reading order; unreadable pages are named."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from kit.files import (
    A4,
    FONTS,
    WHITE,
    file_of,
    has_fonts,
    pdf_of,
    pdf_of_scans,
    printed,
    scanned,
    words_right,
)
from PIL import Image, ImageDraw, ImageFont
from pypdf import PdfReader, PdfWriter, Transformation
from pypdf.generic import RectangleObject

from deep_research.core.evidence.text.sentences import PAGE_END
from deep_research.core.reading.documents._recognition import PAGES, Recogniser
from deep_research.core.reading.documents.pool import Parser
from deep_research.core.reading.documents.records import Extract, Unreadable

if not has_fonts():
    pytest.skip("the fonts DejaVu and Liberation are missing", allow_module_level=True)

TEXTS = (
    "The Skerry Light was lit for the first time on 3 May 1844. Its tower stands 38 metres tall and was built of "
    "granite from the quarry at Ravenspoint. In 1871 the keeper recorded 212 ships within sight of the lantern, 17 of "
    "them under steam.\n\nThe cost of the tower was 14,250 pounds, of which the harbour trust paid 9,600 and the Crown "
    "the remainder. Repairs in 1902 replaced the lens; its light was seen at 21 nautical miles in clear weather.",
    "Die Größe der Fläche beträgt 38,5 Quadratmeter. Über die Höhe des Turmes gibt es ältere Angaben: früher wurden "
    "36,5 Meter genannt. Die Straße zum Hafen wurde 1911 für 2.400 Mark gepflastert, übrigens größtenteils mit Öl "
    "gegen den Staub.",
    "Le phare fût électrifié en 1936, après l'arrivée du câble côtier ; la dépense s'élevait à 88 400 francs. Le "
    "gardien relevait chaque matin la température de l'eau, où les pêcheurs de l'île jetaient déjà leurs filets.",
)

TOWER = (
    "The tower of the Skerry Light stands 38 metres tall, of granite from Ravenspoint. "
    "Its light is seen at 21 nautical miles."
)
SHORT = 330
"""Height of a page in pixels that holds this text; blank paper is searched for text, too."""
HALF = 560
"""Height of a page that holds the German or the French text."""


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    # Limits for a machine on which much else runs.
    with Parser(seconds=60, max_bytes=50_000_000, workers=1) as parser:
        yield parser


def unread(parser: Parser, data: bytes, name: str) -> tuple[str, str]:
    with pytest.raises(Unreadable) as caught:
        parser.parse(data, name)
    return caught.value.reason, str(caught.value)


def flat(extract: Extract) -> str:
    return " ".join(extract.text.replace(PAGE_END, " ").split())


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_six_scanned_pages_nearly_all_words_are_right(parser: Parser) -> None:
    # A whole page, and parts of one; of the formats of pictures each shows a few lines.
    texts = [*TEXTS, TOWER, TOWER, TOWER]
    heights = [A4[1], HALF, HALF, SHORT, SHORT, SHORT]
    pages = [
        scanned(
            printed(texts[n], FONTS[n % 4], 28 + 2 * (n % 4), height=heights[n]),
            (-1.2, -0.6, 0.4, 0.9)[n % 4],
            6 + 2 * n,
            seed=n,
        )
        for n in range(6)
    ]
    book = parser.parse(pdf_of_scans(pages[:2]), "book.pdf")
    forms = {"e.jpeg": "JPEG", "f.png": "PNG", "g.webp": "WEBP", "h.tif": "TIFF"}
    alone = [
        parser.parse(file_of(page, form), name)
        for page, (name, form) in zip(pages[2:], forms.items(), strict=True)
    ]
    read = [*book.text.split(PAGE_END), *(extract.text for extract in alone)]
    shares = [words_right(text, texts[number]) for number, text in enumerate(read)]
    assert len(shares) == 6 and min(shares) >= 0.93 and sum(shares) / 6 >= 0.97, shares
    assert not book.note and not book.is_cut
    # Lines become sentences again.
    assert "granite from the quarry at Ravenspoint." in read[0]


@pytest.mark.slow
@pytest.mark.parametrize("turned", [90, 180, 270])
def test_rotated_pages_are_read_upright(parser: Parser, turned: int) -> None:
    lying = scanned(printed(TOWER, height=SHORT)).rotate(turned, expand=True)
    exif = Image.Exif()
    exif[0x0112] = {90: 6, 180: 3, 270: 8}[turned]
    files = {"undeclared.jpg": file_of(lying)}
    # A library turns what is declared; a quarter each way shows that the angle has the right sign.
    if turned == 90:
        files["declared.pdf"] = pdf_of_scans([lying], rotate=turned)
    elif turned == 270:
        files["declared.jpg"] = file_of(lying, exif=exif)
    for name, data in files.items():
        text = flat(parser.parse(data, name))
        assert words_right(text, TOWER) > 0.95, name
        assert text.index("Skerry") < text.index("Ravenspoint") < text.index("nautical"), name


@pytest.mark.slow
def test_columns_are_read_one_after_the_other_and_tables_row_by_row(parser: Parser) -> None:
    page = Image.new("L", (A4[0], 1100), WHITE)
    draw, letters = ImageDraw.Draw(page), ImageFont.truetype(FONTS[2], 32)
    draw.text(
        (150, 80),
        "A gazette for all the keepers and pilots of the northern coast and its isles",
        0,
        letters,
    )
    lines = (
        ("The keeper wrote each evening what", "the lamp was burning. His wife kept"),
        ("he had seen of ships and of birds,", "the garden and sold what it bore to"),
        ("and how the wind had turned while", "the crew of the mail boat at noon."),
    )
    for number, pair in enumerate(lines * 2):
        for x, line in zip((150, 880), pair, strict=True):
            draw.text((x, 220 + 50 * number), line, 0, letters)
    rows = (
        ("Year", "Ships", "Steam"),
        ("1869", "198", "9"),
        ("1870", "205", "13"),
        ("1871", "212", "17"),
    )
    for number, row in enumerate(rows):
        for x, cell in zip((150, 600, 1000), row, strict=True):
            draw.text((x, 800 + 60 * number), cell, 0, letters)
    text = flat(parser.parse(file_of(scanned(page, 0.7)), "gazette.jpg"))
    assert "how the wind had turned while" in text
    assert (
        text.rindex("turned while")
        < text.index("the lamp was burning")
        < text.index("| Year | Ships | Steam |")
    )
    assert "| 1870 | 205 | 13 | | 1871 | 212 | 17 |" in text


@pytest.mark.slow
def test_a_page_with_a_text_keeps_it_and_the_others_are_recognised(parser: Parser) -> None:
    said = "The board of trade met in Tralee, and paid for the granite of the tower."
    writer, written = PdfWriter(), io.BytesIO()
    # The last page shows its scan upside down and in a form, below a stamp that is text.
    for data in (
        pdf_of(said),
        pdf_of_scans([scanned(printed(TOWER, height=SHORT))]),
        pdf_of("Page 3"),
    ):
        writer.append(PdfReader(io.BytesIO(data)))
    fax = printed(TEXTS[1], height=900).point(lambda value: WHITE * (value > 128)).convert("1")
    scan = PdfReader(io.BytesIO(pdf_of_scans([fax]))).pages[0]
    scan.cropbox = RectangleObject((0, 0, 595, 842))
    writer.pages[2].merge_transformed_page(scan, Transformation().scale(0.9, 0.9).translate(20, 20))
    writer.write(written)
    pages = parser.parse(written.getvalue(), "a.pdf").text.split(PAGE_END)
    first, second, third = (" ".join(page.split()) for page in pages)
    assert first == said
    assert words_right(second, TOWER) > 0.95
    assert third.startswith("Page 3 Die Größe der Fläche") and words_right(third, TEXTS[1]) > 0.9


@pytest.mark.slow
def test_text_that_cannot_be_recognised_is_reported(parser: Parser) -> None:
    russian = (
        "Маяк был зажжён впервые в 1844 году, его высота 38 метров, и свет виден далеко в море."
    )
    message = "the text cannot be recognised, perhaps because of its script"
    assert unread(parser, file_of(printed(russian * 2, height=SHORT)), "ru.png") == (
        "no text",
        f"it is a scan; {message}",
    )
    pages = [printed(text, height=SHORT) for text in (TOWER, russian * 2)]
    extract = parser.parse(pdf_of_scans(pages), "mixed.pdf")
    assert (extract.note, extract.is_cut) == (f"page 2 not read: {message}", True)
    blank = Image.new("L", (900, 700), WHITE)
    assert unread(parser, file_of(blank), "blank.jpg") == (
        "picture",
        "no text was recognised in it",
    )
    assert unread(parser, file_of(blank.resize((64, 64))), "icon.jpg")[0] == "picture"
    assert unread(parser, file_of(printed(TEXTS[0]), "PNG")[:3000], "cut.png") == (
        "broken",
        "it is a broken picture",
    )
    assert unread(parser, b"no picture at all", "a.tiff")[0] == "broken"
    bomb = file_of(Image.new("1", (20_000, 20_000)), "PNG")
    assert unread(parser, bomb, "bomb.png")[0] == "broken"


def test_pages_that_are_not_read_are_named_in_one_line() -> None:
    recogniser = Recogniser()
    for number in (2, 3, 4, 7):
        recogniser.add_missed(number, "torn")
    recogniser.add_missed(9, "burnt")
    assert recogniser.note() == "pages 2–4, 7 not read: torn; page 9 not read: burnt"
    assert str(recogniser.error()) == "it is a scan; torn; burnt" and Recogniser().error() is None
    none_left = Recogniser(most=0)
    none_left.page(1, lambda: Image.new("L", A4))
    assert (
        none_left.note() == "page 1 not read: only 0 scanned pages are recognised" and PAGES == 100
    )
