"""Numbers of every kind of document arrive as written: none is changed, joined, lost or invented."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import docx
import openpyxl
import pptx
import pytest
from docx.oxml import OxmlElement
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.files import book, saved, zipped
from kit.thirty_pages import PAGES, Page
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from pptx.util import Inches

from deep_research.core.reading.documents.decode import tagged_text
from deep_research.core.reading.documents.worker import parse

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:\^-?\d+)?")


def numbers(text: str) -> set[str]:
    return set(_NUMBER.findall(text))


@pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])
def test_the_content_of_a_page_is_read_and_what_surrounds_it_is_not(page: Page) -> None:
    text = parse(page.html.encode(), "page.html").text
    assert [fact for fact in page.facts if fact not in text] == []
    assert [words for words in page.noise if words in text] == []


RAISED = [
    ("lit in 1844<sup>3</sup>, of 10<sup>6</sup> candela.</p><p><sup>3</sup> Log", "lit in 1844, of 10^6 candela."),
    ("25<sup>1</sup> million</p><p><sup>1</sup> As of May", "25 million"),
    ("5 x 10<sup>-3</sup> mol of CO<sub>2</sub>", "5 x 10^-3 mol of CO2"),
    ("rose 12<sup>a,b</sup> % and 4.5<sup>*</sup> points", "rose 12 % and 4.5 points"),
    ("20 m<sup>2</sup> of 3 km<sup>2</sup> <p><sup>2</sup> Estimated", "20 m^2 of 3 km^2"),
    ("9.81 m s<sup>&minus;2</sup>, 2<sup>16</sup> = 65536", "9.81 m s^-2, 2^16 = 65536"),
    ("log<sub>2</sub>8, 101<sub>2</sub>, x<sub>1</sub>", "log2 8, 101_2, x1"),
    ("the 19<sup>th</sup> century and the XIX<sup>e</sup>", "the 19th century and the XIXe"),
    ("5<sup>1</sup>/<sub>2</sub> cups for $3<sup>99</sup>", "5 1/2 cups for $3.99"),
    ("H<sub>2</sub>SO<sub>4</sub>, Ca<sup>2+</sup>, now <sup>14</sup>C", "H2SO4, Ca^2+, now 14 C"),
    ("1844<span style='vertical-align: super'>7</span> and 60<a href='#fn:8'>8</a> boats", "1844 and 60 boats"),
    ("Lit in 1844<sup><i>3</i></sup><sup>,</sup><sup>4</sup>", "Lit in 1844"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "shown"), RAISED)
def test_superscripts_and_subscripts_in_pages_never_join_a_number(written: str, shown: str) -> None:
    text = parse(f"<html><body><p>{written}</p></body></html>".encode(), "a.html").text
    assert re.sub(r"\s+", " ", text.partition("\n\n")[0]) == shown


def test_superscripts_in_word_slides_and_sheets_are_read_like_those_in_pages() -> None:
    runs = [
        ("lit in 1844", 0),
        ("3", 1),
        (" with 10", 0),
        ("-", 1),
        ("6", 1),
        (" g of CO", 0),
        ("2", -1),
        (" gas", 0),
    ]
    document, show, sheet = docx.Document(), pptx.Presentation(), openpyxl.Workbook()
    paragraph = document.add_paragraph()
    slide = show.slides.add_slide(show.slide_layouts[6])
    drawn = slide.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame.paragraphs[0]
    for words, shift in runs:
        font, part = paragraph.add_run(words).font, drawn.add_run()
        font.superscript, font.subscript, part.text = shift > 0, shift < 0, words
        part.font._element.set("baseline", str(30_000 * shift))
    fonts = {
        0: InlineFont(b=True),
        1: InlineFont(vertAlign="superscript"),
        -1: InlineFont(vertAlign="subscript"),
    }
    sheet.active["A1"] = CellRichText(*(TextBlock(fonts[shift], words) for words, shift in runs))
    for file, name in ((document, "a.docx"), (show, "a.pptx"), (sheet, "a.xlsx")):
        assert "lit in 1844 with 10^-6 g of CO2 gas" in parse(saved(file), name).text


FORMULAS = [
    ("h=<mfrac><mn>3</mn><mn>4</mn></mfrac><msup><mn>10</mn><mn>6</mn></msup>", "h=3/4 10^6"),
    ("<mn>2</mn><mfrac><mn>1</mn><mn>2</mn></mfrac><mi>x</mi>", "2 1/2 x"),
    ("<msqrt><mn>25</mn></msqrt><mo>+</mo><mroot><mn>32</mn><mn>5</mn></mroot>", "√25+32^(1/5)"),
    (
        "<msup><mrow><mo>-</mo><mn>2</mn></mrow><mn>2</mn></msup><mo>/</mo>"
        "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mrow><mn>2</mn><mi>x</mi></mrow></mfrac>",
        "(-2)^2/(a+b)/(2x)",
    ),
    (
        "<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>"
        "<msub><mi>x</mi><mi>i</mi></msub>",
        "∑_(i=1)^n x_i",
    ),
    ("<msup><mn>30</mn><mo>∘</mo></msup><mi>C</mi>", "30° C"),
    (
        "<semantics><mrow><mn>10</mn><mn>4</mn></mrow><annotation>1e4</annotation></semantics>",
        "104",
    ),
]


@pytest.mark.parametrize(("written", "shown"), FORMULAS)
def test_a_formula_in_mathml_keeps_its_value_in_pages_and_abstracts(
    written: str, shown: str
) -> None:
    page = f"<html><body><p>It is <math>{written}</math>.</p></body></html>"
    assert parse(page.encode(), "a.html").text == f"It is {shown}."
    prefixed = re.sub(r"<(/?)(?=m|s|a)", r"<\1mml:", f"<math>{written}</math>")
    assert tagged_text(f"<jats:p>It is {prefixed}.</jats:p>") == f"It is {shown}."


def test_a_formula_that_is_hidden_behind_its_picture_is_read() -> None:
    power = "<math><msup><mn>10</mn><mn>6</mn></msup></math>"
    hidden = f"<span style='display: none;'>{power}</span><img aria-hidden=true alt='10^{{6}}'>"
    text = parse(
        f"<html><body><p>It held {hidden} cells.</p></body></html>".encode(), "a.html"
    ).text
    assert text == "It held 10^6 cells."


def test_a_formula_next_to_a_number_does_not_join_it() -> None:
    half = "<math><mfrac><mn>1</mn><mn>2</mn></mfrac></math>"
    text = parse(f"<html><body><p>3{half}{half}4 m</p></body></html>".encode(), "a.html").text
    assert text == "3 1/2 1/2 4 m"


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("held 10<sup>6</sup> cells, made in 2014<sup>2</sup>.", "held 10^6 cells, made in 2014."),
        (
            "<jats:p>Of CO<jats:sub>2</jats:sub>, 10<jats:sup>-3</jats:sup></jats:p>",
            "Of CO2, 10^-3",
        ),
        ("&lt;p&gt;10&lt;sup&gt;6&lt;/sup&gt; at p &lt; 0.05&lt;/p&gt;", "10^6 at p < 0.05"),
        ("if a<b and c>d, p < 0.05 &amp; n<5", "if a<b and c>d, p < 0.05 & n<5"),
        (
            "<jats:alternatives><jats:tex-math>$10^{6}$</jats:tex-math><mml:math><mml:msup>"
            "<mml:mn>10</mml:mn><mml:mn>6</mml:mn></mml:msup></mml:math></jats:alternatives> cells",
            "10^6 cells",
        ),
        ("<h4>Aim</h4>It was <s>12</s> 14<br/>m", "Aim It was 14 m"),
    ],
)
def test_titles_and_abstracts_of_engines_are_read_like_pages(written: str, shown: str) -> None:
    assert tagged_text(written) == shown


@pytest.mark.parametrize(
    "struck",
    [
        "<s>12.50</s>",
        "<del>12.50 <b>euros</b></del>",
        "<strike>12.50</strike>",
        "<span style='color:red; text-decoration: line-through red'>12.50</span>",
        "<i style='text-decoration-line:line-through'>12.50</i>",
    ],
)
def test_struck_out_text_of_pages_books_and_mails_is_not_read(struck: str) -> None:
    page = f"<html><body><p>Fare: {struck} <ins>14.80</ins> euros.</p></body></html>"
    mail = f"Subject: x\nContent-Type: text/html\n\n{page}"
    for data, name in (
        (page.encode(), "a.html"),
        (book({"a.xhtml": page}), "a.epub"),
        (mail.encode(), "a.eml"),
    ):
        assert parse(data, name).text.endswith("Fare: 14.80 euros.")


def test_markdown_keeps_its_marks_for_struck_out_text() -> None:
    assert parse(b"Fare: ~~12.50~~ 14.80 euros.", "a.md").text == "Fare: ~~12.50~~ 14.80 euros."


def test_the_reading_of_ruby_is_put_in_brackets() -> None:
    ruby = "<ruby>東<rp>(</rp><rt>とう</rt>京<rt>きょう</rt></ruby> <ruby>10<rt>6</rt></ruby>"
    text = parse(f"<html><body><p>{ruby}</p></body></html>".encode(), "a.html").text
    assert text == "東京(とうきょう) 10(6)"


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        ("<ol type=i start=3>", "iii. a\niv. b\nix. c"),
        ("<ol type=I>", "I. a\nII. b\nIX. c"),
        ("<ol type=a reversed start=3>", "c. a\nb. b\ni. c"),
    ],
)
def test_items_of_a_list_have_the_numbers_that_a_browser_shows(start: str, shown: str) -> None:
    page = f"<html><body>{start}<li>a<li>b<li value=9>c</ol></body></html>"
    assert parse(page.encode(), "a.html").text == shown


TABLES = [
    (
        "<tr><th rowspan=2>Route</th><th colspan=2>Leaves</th></tr><tr><th>Weekdays</th><th>Sunday</th></tr>"
        "<tr><td>Skerry</td><td>07:40</td><td>09:15</td></tr>",
        "| Route | Leaves / Weekdays | Leaves / Sunday |\n| --- | --- | --- |\n| Skerry | 07:40 | 09:15 |",
    ),
    (
        "<thead><tr><td>Age<td>Men<td>Women</tr></thead>"
        "<tr><td rowspan=2>0-4<td>12<td>13</tr><tr><td colspan=2>none</tr>",
        "| Age | Men | Women |\n| --- | --- | --- |\n| 0-4 | 12 | 13 |\n| 0-4 | none | none |",
    ),
    (
        "<tr><td>Year<td>Keepers</tr><tr><td>1901<td>3<td>1 more</tr><tr><td>1932<td>2</tr>",
        "| Year | Keepers | |\n| --- | --- | --- |\n| 1901 | 3 | 1 more |\n| 1932 | 2 | |",
    ),
    (
        "<tr><th>Port<th>Ships</tr><tr><td>Keldness<td>12<br>345</tr>"
        "<tr><th colspan=2>South</tr><tr><td>Hollin<td>9</tr>",
        "| Port | Ships |\n| --- | --- |\n| Keldness | 12; 345 |\n\nSouth\n\n"
        "| Port | Ships |\n| --- | --- |\n| Hollin | 9 |",
    ),
]


@pytest.mark.parametrize(("rows", "shown"), TABLES)
def test_each_table_cell_is_in_its_row_under_its_headers(rows: str, shown: str) -> None:
    assert (
        parse(f"<html><body><table>{rows}</table></body></html>".encode(), "a.html").text == shown
    )


def test_huge_spans_fill_a_table_only_up_to_a_limit() -> None:
    rows = "<tr><td rowspan=65534 colspan=1000>1<td>2</tr>" + "<tr><td>3</tr>" * 3000
    text = parse(f"<html><body><table>{rows}</table></body></html>".encode(), "a.html").text
    assert numbers(text) == {"1", "2", "3"}


def test_merged_cells_and_two_header_rows_are_resolved_in_word_and_on_slides() -> None:
    document, show = docx.Document(), pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    for table in (
        document.add_table(3, 3),
        slide.shapes.add_table(3, 3, 0, 0, Inches(3), Inches(2)).table,
    ):
        for index, text in enumerate(
            ("Route", "Leaves", "", "", "Weekdays", "Sunday", "Skerry", "07:40", "09:15")
        ):
            table.cell(index // 3, index % 3).text = text
        table.cell(0, 0).merge(table.cell(1, 0))
        table.cell(0, 1).merge(table.cell(0, 2))
    for file, name in ((document, "a.docx"), (show, "a.pptx")):
        assert TABLES[0][1] in parse(saved(file), name).text


def test_word_headers_footers_comments_and_notes_are_read_once_and_page_numbers_are_not() -> None:
    document = docx.Document()
    paragraph = document.add_paragraph("The light was lit in 1844.")
    document.add_comment(paragraph.runs, text="Or in 1850?", author="Bo", initials="B")
    for section in (document.sections[0], document.add_section()):
        section.header.is_linked_to_previous = section.footer.is_linked_to_previous = False
        section.header.paragraphs[0].text = "Draft of 3 May 2024"
        field = OxmlElement("w:instrText")
        field.text = "PAGE"
        section.footer.paragraphs[0].add_run("Page 77")._r.append(field)
    first, *blocks = parse(saved(document), "a.docx").text.split("\n\n")
    assert first == "The light was lit in 1844."
    around = sorted(re.sub(r" on [\d-]+", "", block) for block in blocks)
    assert around == ["Comment by Bo: Or in 1850?", "Draft of 3 May 2024"]


class Value(NamedTuple):
    """A number as it is written, and how it is shown."""

    base: str
    power: str = ""
    """Exponent, written as a superscript; empty for most numbers."""

    @property
    def shown(self) -> str:
        return f"{self.base}^{self.power}" if self.power else self.base


NUMBERS = st.integers(0, 10**9) | st.decimals(0, 10**5, places=2)
VALUES = NUMBERS.map(lambda base: Value(str(base))) | st.integers(2, 30).map(
    lambda power: Value("10", str(power))
)
ROWS = st.lists(st.lists(VALUES, min_size=3, max_size=3), min_size=1, max_size=6)
Rows = list[list[Value]]


def as_page(rows: Rows) -> bytes:
    cells = [
        [value.base + f"<sup>{value.power}</sup>" * bool(value.power) for value in row]
        for row in rows
    ]
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells)
    words = "".join(
        f"<li>{cell} boats<sup>1</sup></li><li>{cell}<br>{cell}</li>"
        for row in cells
        for cell in row
    )
    return f"<html><body><ul>{words}</ul><table><tr><th>a<th>b<th>c</tr>{lines}</table></body></html>".encode()


def as_word(rows: Rows) -> bytes:
    document = docx.Document()
    table = document.add_table(len(rows) + 1, 3)
    table.cell(0, 0).merge(table.cell(0, 1)).text = "a"
    for line, row in enumerate(rows, 1):
        for column, value in enumerate(row):
            for paragraph in (
                document.add_paragraph("of "),
                table.cell(line, column).paragraphs[0],
            ):
                paragraph.add_run(value.base)
                paragraph.add_run(value.power).font.superscript = True
    return saved(document)


def as_sheet(rows: Rows) -> bytes:
    sheet = openpyxl.Workbook()
    sheet.active.append(["a", "b", "c"])
    raised = InlineFont(vertAlign="superscript")
    for row in rows:
        powers = [CellRichText(value.base, TextBlock(raised, value.power)) for value in row]
        sheet.active.append(
            [
                rich if value.power else float(value.base)
                for rich, value in zip(powers, row, strict=True)
            ]
        )
    return saved(sheet)


def as_slides(rows: Rows) -> bytes:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    table = slide.shapes.add_table(len(rows), 3, 0, 0, Inches(3), Inches(2)).table
    for line, row in enumerate(rows):
        for column, value in enumerate(row):
            paragraph = table.cell(line, column).text_frame.paragraphs[0]
            paragraph.add_run().text = value.base
            run = paragraph.add_run()
            run.text = value.power
            run.font._element.set("baseline", "30000")
    return saved(show)


def exact(value: str) -> str:
    """A number without trailing zeros, which a spreadsheet does not store."""
    return f"{float(value):.14g}" if re.fullmatch(r"\d+(?:\.\d+)?", value) else value


@pytest.mark.parametrize(
    ("write", "name", "times"),
    [
        *(
            (as_page, "a.html", 4),
            (as_word, "a.docx", 2),
            (as_sheet, "a.xlsx", 1),
            (as_slides, "a.pptx", 1),
        ),
        (lambda rows: book({"a.xhtml": as_page(rows).decode()}), "a.epub", 4),
        (lambda rows: b"Subject: x\nContent-Type: text/html\n\n" + as_page(rows), "a.eml", 4),
    ],
)
@settings(max_examples=5, deadline=None)
@given(rows=ROWS)
def test_the_numbers_of_a_document_are_those_that_its_program_wrote(
    write: Callable[[Rows], bytes], name: str, times: int, rows: Rows
) -> None:
    """Occurrences are counted, so that a lost cell is noticed even if its number occurs elsewhere."""
    written = Counter(exact(value.shown) for row in rows for value in row for _ in range(times))
    read = _NUMBER.findall(re.sub(r"## Slide \d+", "", parse(write(rows), name).text))
    assert Counter(map(exact, read)) == written


_VTT = "WEBVTT\n\n1\n00:01:01.000 --> 00:01:04.000\n<v Ada>It was lit in 1844."
_CELL = {
    "cell_type": "code",
    "source": ["1+1"],
    "outputs": [{"data": {"text/plain": ["2"]}}, {"text": "3\n"}],
}
FURTHER = [
    ("a.yaml", "depth: 12\nname: Keldness\n", "depth: 12"),
    ("a.tex", "\\section{Tide}\nIt rose by 3.2 m.", "It rose by 3.2 m."),
    ("a.log", "2024-05-01 12:00 pump 4 off\n", "2024-05-01 12:00 pump 4 off"),
    ("README", "It was lit in 1844.", "It was lit in 1844."),
    ("a.vtt", _VTT, "It was lit in 1844."),
    ("a.srt", _VTT, "It was lit in 1844."),
    ("a.xml", "<a><ships>12</ships></a>", "<ships>12</ships>"),
    (
        "a.ipynb",
        json.dumps({"cells": [{"source": "# Sum"}, _CELL]}),
        "# Sum\n\n```\n1+1\n```\n\n2\n\n3",
    ),
]


@pytest.mark.parametrize(("name", "written", "shown"), FURTHER)
def test_files_that_are_mostly_text_are_read(name: str, written: str, shown: str) -> None:
    assert shown in parse(written.encode(), name).text


_ODT = """<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:fo="f">
<office:automatic-styles><style:style style:name="T1"><style:text-properties style:text-position="super 58%"/>
</style:style><style:style style:name="T2"><style:text-properties style:text-position=""/></style:style>
</office:automatic-styles><office:body><office:text><text:h text:outline-level="2">Lamp</text:h>
<text:p>Lit in 1844<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>By the log of 1850.
</text:p></text:note-body></text:note> with 10<text:span text:style-name="T1">6</text:span>
<text:span text:style-name="T2">candela</text:span>.</text:p>
<text:list><text:list-item><text:p>3 keepers</text:p></text:list-item></text:list>
<table:table><table:table-row><table:table-cell table:number-columns-spanned="2"><text:p>Ships</text:p>
</table:table-cell><table:covered-table-cell/><table:table-cell><text:p>Crew</text:p></table:table-cell></table:table-row>
<table:table-row><table:table-cell table:number-columns-repeated="2"><text:p>812</text:p></table:table-cell>
<table:table-cell><text:p>9,100</text:p></table:table-cell></table:table-row></table:table></office:text></office:body>
</office:document-content>"""


def test_an_opendocument_is_read_like_a_page_with_its_notes_in_brackets() -> None:
    assert parse(zipped({"content.xml": _ODT}), "a.odt").text == (
        "## Lamp\n\nLit in 1844 (By the log of 1850. ) with 10^6 candela.\n\n- 3 keepers\n\n"
        "| Ships | Ships | Crew |\n| --- | --- | --- |\n| 812 | 812 | 9,100 |"
    )
