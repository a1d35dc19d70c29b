"""Word, PowerPoint and Excel documents become text; hostile ones, and books, are refused or read
without their harm."""

from __future__ import annotations

import zipfile
from datetime import date, datetime, time, timedelta
from functools import cache
from typing import Any

import docx
import openpyxl
import pptx
import pytest
from kit.files import (
    TEXT,
    Edit,
    book,
    core_properties,
    edited,
    replacing,
    saved,
    sheet,
    slides,
    word,
    zipped,
)
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from deep_research.core.reading.documents._office import UNPACKED_BYTES
from deep_research.core.reading.documents.records import Extract, Unreadable
from deep_research.core.reading.documents.worker import parse

BODY = "word/document.xml"


def test_a_word_document_keeps_headings_lists_and_tables_in_their_order() -> None:
    document = docx.Document()
    document.add_heading("The Skerry Light", 0)
    document.add_heading("Its keepers", 2)
    document.add_paragraph("Three men kept it.")
    document.add_paragraph("Ada Moran", style="List Bullet")
    table = document.add_table(3, 2)
    for index, text in enumerate(("Year", "Keeper | mate", "1901", "Ada\nMoran", "", "")):
        table.cell(index // 2, index % 2).text = text
    document.add_table(1, 1).cell(0, 0).text = "A frame is no table."
    assert parse(saved(document), "light.docx").text.split("\n\n") == [
        "# The Skerry Light",
        "## Its keepers",
        "Three men kept it.",
        "- Ada Moran",
        "| Year | Keeper \\| mate |\n| --- | --- |\n| 1901 | Ada Moran |",
        "A frame is no table.",
    ]


RELATIONS = b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def related(name: bytes, target: bytes) -> Edit:
    """Relate the main part of a Word document to another."""
    relation = b'<Relationship Id="rId77" Type="%s/%s" Target="%s"/></Relationships>' % (
        RELATIONS,
        name,
        target,
    )
    return replacing(b"</Relationships>", relation)


def test_boxes_fields_notes_and_insertions_in_word_are_read_once_and_hidden_or_deleted_text_is_not() -> (
    None
):
    hidden = b"<w:r><w:rPr><w:vanish/></w:rPr><w:t>SECRET</w:t></w:r>"
    changed = b"<w:del><w:r><w:delText>OLD</w:delText></w:r></w:del><w:ins><w:r><w:t>NEW</w:t></w:r></w:ins>"
    inner = b"<w:txbxContent><w:p><w:r><w:t>In a box.</w:t></w:r></w:p></w:txbxContent>"
    box = (
        b'<w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        b'<mc:Choice Requires="wps">%s</mc:Choice><mc:Fallback>%s</mc:Fallback></mc:AlternateContent></w:r>'
    ) % (inner, inner)
    field = (
        b"<w:sdt><w:sdtContent><w:p><w:r><w:t>In a field.</w:t></w:r></w:p></w:sdtContent></w:sdt>"
    )
    space = b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    note = b"<w:footnote><w:p><w:r><w:t>In a note.</w:t></w:r></w:p></w:footnote>"
    edits = {
        BODY: replacing(b"</w:r></w:p>", b"</w:r>" + hidden + changed + box + b"</w:p>" + field),
        "word/footnotes.xml": lambda _: (
            b'<w:footnotes xmlns:w="%s">%s</w:footnotes>' % (space, note)
        ),
        "word/_rels/document.xml.rels": related(b"footnotes", b"footnotes.xml"),
    }
    shown = [f"{TEXT}NEW", "In a box.", "In a field.", "In a note."]
    assert parse(edited(word(), edits), "a.docx").text.split("\n\n") == shown


def test_slides_become_headings_with_their_text_tables_figures_and_notes() -> None:
    show = pptx.Presentation()
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "The Skerry Light"
    first.placeholders[1].text = "Lit in 1844"
    first.notes_slide.notes_text_frame.text = "Say it slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    below = second.shapes.add_textbox(Inches(1), Inches(5), Inches(2), Inches(1))
    below.text_frame.text = "Below"
    table = second.shapes.add_table(2, 2, Inches(1), Inches(1), Inches(4), Inches(1)).table
    for index, text in enumerate(("Year", "Ships", "1901", "12")):
        table.cell(index // 2, index % 2).text = text
    figures = CategoryChartData()  # type: ignore[no-untyped-call]  # the library is typed in part
    figures.categories = ["1902", "1903"]
    figures.add_series("Wrecks", (3, None))  # type: ignore[no-untyped-call]  # as above
    second.shapes.add_chart(XL_CHART_TYPE.LINE, Inches(1), Inches(3), Inches(4), Inches(1), figures)
    assert parse(saved(show), "a.pptx") == Extract(
        "The Skerry Light",
        "## The Skerry Light\n\n- Lit in 1844\n\nSay it slowly.\n\n## Slide 2\n\n"
        "| Year | Ships |\n| --- | --- |\n| 1901 | 12 |\n\n"
        "|  | Wrecks |\n| --- | --- |\n| 1902 | 3 |\n| 1903 |  |\n\n- Below",
    )


def test_anything_but_a_sentence_on_a_slide_is_a_list_item() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    lines = [
        "The keeper said: “It burns.”",
        "दीप जलता है।",
        "Three lamps:",
        "Oil (whale)",
        "灯亮了。",
    ]
    slide.placeholders[1].text = "\n".join(lines)
    assert parse(saved(show), "a.pptx").text.split("\n\n")[1:] == [
        *lines[:3],
        "- Oil (whale)",
        lines[4],
    ]


def test_sheets_become_headings_and_their_values_look_as_in_the_sheet() -> None:
    workbook = openpyxl.Workbook()
    workbook.active.title = "Keepers"
    for row in (
        ["Keepers of the light"],
        ["From", "Share", "Paid"],
        [date(1901, 2, 3), 0.255, True],
    ):
        workbook.active.append(row)
    workbook.active["B3"].number_format = "0.0%"
    further: list[list[Any]] = [
        ["", "Ships", "Tons"],
        ["", 12.0, 1234567.5],
        ["", "=1+1", datetime(1901, 2, 3, 4, 5)],
    ]
    for values in ([], *further):
        workbook.active.append(values)
    workbook.create_sheet("Nothing")
    assert parse(saved(workbook), "a.xlsx").text == (
        "# Keepers\n\nKeepers of the light\n\n"
        "| From | Share | Paid |\n| --- | --- | --- |\n| 1901-02-03 | 25.5% | TRUE |\n\n"
        "| Ships | Tons |\n| --- | --- |\n| 12 | 1234567.5 |\n|  | 1901-02-03 04:05 |"
    )


def merged_sheet(rows: list[list[Any]], *merged: str) -> str:
    """The text of a sheet with these merged cells."""
    workbook = openpyxl.Workbook()
    for row in rows:
        workbook.active.append(row)
    for span in merged:
        workbook.active.merge_cells(span)
    return parse(saved(workbook), "a.xlsx").text.partition("\n\n")[2]


@pytest.mark.parametrize(
    ("rows", "merged", "shown"),
    [
        (
            [["Region", "2024", None, "2025"], [None, "Plan", "Actual", "Plan"], ["North", 1, 2, 3]],
            ["A1:A2", "B1:C1"],
            "| Region | 2024 / Plan | 2024 / Actual | 2025 / Plan |\n| --- | --- | --- | --- |\n"
            "| North | 1 | 2 | 3 |",
        ),
        (
            [["Fees in euros"], ["", "Plan", None], ["Region", 2024, 2025], ["North", 1, 2]],
            ["A1:E1", "B2:C2"],
            "Fees in euros\n\n| Region | Plan / 2024 | Plan / 2025 |\n| --- | --- | --- |\n"
            "| North | 1 | 2 |",
        ),
        (
            [["Quay", "Berth", "Fee"], ["North", 1, 400], [None, 2, 420], [None, 3, None], ["South"]],
            ["A2:A4", "C3:C4", "A5:C5"],
            "| Quay | Berth | Fee |\n| --- | --- | --- |\n| North | 1 | 400 |\n| North | 2 | 420 |\n"
            "| North | 3 | 420 |\n\nSouth",
        ),
        (
            [["Harbour"], [None], ["Berth", "Fee"], [4, 390]],
            ["A1:B2"],
            "Harbour\n\n| Berth | Fee |\n| --- | --- |\n| 4 | 390 |",
        ),
    ],
)  # fmt: skip
def test_merged_cells_of_a_sheet_are_repeated_and_header_rows_joined(
    rows: list[list[Any]], merged: list[str], shown: str
) -> None:
    assert merged_sheet(rows, *merged) == shown


def test_hidden_sheets_rows_and_columns_are_not_read_and_a_note_says_so() -> None:
    workbook = openpyxl.Workbook()
    sheet = workbook.active
    sheet.title = "Final"
    for row in (["Berth", "Old", "Fee"], ["B7", 999, 131], ["B8", 888, 96], ["B9", 777, 55]):
        sheet.append(row)
    sheet.merge_cells("A3:A4")
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["B"].hidden = True
    for name, state in (("Draft of May", "hidden"), ("Keys", "veryHidden")):
        draft = workbook.create_sheet(name)
        draft.append(["Berth", "Fee"])
        draft.append(["B7", 666])
        draft.sheet_state = state
    extract = parse(saved(workbook), "a.xlsx")
    assert extract.text == ("# Final\n\n| Berth | Fee |\n| --- | --- |\n| B7 | 131 |\n| B8 | 55 |")
    assert extract.note == (
        "not read, because hidden: the sheets 'Draft of May', 'Keys'; "
        "hidden rows or columns were not read: in the sheets 'Final'"
    )


def test_struck_out_cells_and_runs_of_a_sheet_are_not_read() -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["Berth", "Fee"])
    workbook.active.append(["B7", 999])
    workbook.active["B2"].font = Font(strike=True)
    runs = (TextBlock(InlineFont(strike=True), "12.50"), TextBlock(InlineFont(b=True), "14.80"))
    workbook.active.append(["B8", CellRichText(*runs)])
    text = parse(saved(workbook), "a.xlsx").text
    assert text.endswith("| Berth | Fee |\n| --- | --- |\n| B7 |  |\n| B8 | 14.80 |")


@pytest.mark.parametrize(
    ("value", "number_format", "shown"),
    [
        (7, "00000", "00007"),
        (123456789, "000-00-0000", "123-45-6789"),
        (4.5, '0.0 "kg"', "4.5 kg"),
        (400, '"€"#,##0.00', "€400"),
        (-400, '"$"#,##0.00_);[Red]\\("$"#,##0.00\\)', "-$400"),
        (-400, "_-* #,##0.00\\ [$€-407]_-;-* #,##0.00\\ [$€-407]_-", "-400 €"),
        (1_234_567, '#,##0,"k"', "1234.567k"),
        (2_500_000, '[>=1000000]0.0,,"M";0', "2.5M"),
        (-5, "0;[Red]0", "-5"),
        (3, ";;;", ""),
        (timedelta(hours=26, minutes=30), "[h]:mm", "26:30"),
        (timedelta(minutes=-90, seconds=-5), "[h]:mm:ss", "-1:30:05"),
        (time(7, 40), "h:mm", "07:40"),
        (date(2024, 3, 1), "mmm yyyy", "2024-03"),
        (datetime(2024, 3, 1, 9, 30), "d mmm yyyy", "2024-03-01 09:30"),
    ],
)
def test_a_value_is_shown_with_the_unit_and_zeros_of_its_number_format(
    value: Any, number_format: str, shown: str
) -> None:
    workbook = openpyxl.Workbook()
    workbook.active.append(["Name", "Value"])
    workbook.active.append(["x", value])
    workbook.active["B2"].number_format = number_format
    assert parse(saved(workbook), "a.xlsx").text.endswith(f"| x | {shown} |")


def test_each_piece_of_a_long_sheet_stands_under_its_header_and_none_is_missing() -> None:
    extract = parse(
        sheet(["Day", "Ships"], *([f"day {number}", number] for number in range(2_000))), "a.xlsx"
    )
    pieces = extract.text.split("\n\n")[1:]
    assert not extract.is_cut
    assert "| day 1999 | 1999 |" in pieces[-1]
    assert all(piece.startswith("| Day | Ships |\n| --- | --- |\n| day ") for piece in pieces)
    assert all(len(piece) < 1100 for piece in pieces)


def test_a_workbook_with_unknown_styles_is_read() -> None:
    styles = replacing(b"</fills>", b"<unknown/></fills>")
    data = edited(sheet(["Year", "Ships"], [1901, 12]), {"xl/styles.xml": styles})
    assert "| 1901 | 12 |" in parse(data, "a.xlsx").text


@pytest.mark.parametrize(
    ("suffix", "data"), [(".docx", word()), (".pptx", slides("x")), (".xlsx", sheet(["x"]))]
)
def test_title_and_if_needed_date_come_from_the_properties(suffix: str, data: bytes) -> None:
    data = edited(
        data, {"docProps/core.xml": lambda _: core_properties("Skerry Light", "2021-03-04")}
    )
    extract = parse(data, f"1999-01-01 notes{suffix}")
    assert (extract.title, extract.date) == ("Skerry Light", "1999-01-01")
    assert parse(data, f"notes{suffix}").date == "2021-03-04"
    assert parse(data, f"notes{suffix}", today="2021-03-04").date == ""


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    "title", ["PowerPoint Presentation", "Microsoft Word - draft", "Document1", "plan.docx", "12"]
)
def test_a_title_that_a_program_made_up_gives_way_to_the_first_heading(title: str) -> None:
    document = docx.Document()
    document.add_heading("The Skerry Light", 1)
    document.core_properties.title = title
    # The date of the library's template is ignored too.
    assert parse(saved(document), "a.docx")[:3] == ("The Skerry Light", "# The Skerry Light", "")
    shown = edited(
        slides("The lamp"),
        {"docProps/core.xml": lambda _: core_properties(title, "2013-01-27T09:15:58Z")},
    )
    assert parse(shown, "a.pptx")[:3] == ("The lamp", "## The lamp", "")
    assert (
        parse(sheet(["x"], modified=datetime(1980, 1, 1)), "tide_table.xlsx").title == "tide table"
    )


MACROS = b"application/vnd.ms-word.document.macroEnabled.main+xml"
PLAIN = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def test_documents_with_macros_slide_shows_missing_parts_and_other_names_are_read() -> None:
    types, relations = (
        "[Content_Types].xml",
        {"word/_rels/document.xml.rels": related(b"image", b"x.xml")},
    )
    assert (
        parse(edited(word(), {types: replacing(PLAIN, MACROS), **relations}), "a.docm").text == TEXT
    )
    for name in ("report", "report.txt"):
        assert parse(word(), name).text == TEXT, "the bytes decide"
    running = edited(
        slides("Lit"), {types: replacing(b"presentation.main+xml", b"slideshow.main+xml")}
    )
    assert parse(running, "a.ppsx").title == "Lit"


SHEET = "xl/worksheets/sheet1.xml"


def reason_of(data: bytes, name: str) -> str:
    with pytest.raises(Unreadable) as caught:
        parse(data, name)
    return caught.value.reason


def with_entities(data: bytes, name: str, declared: str, encoding: str = "utf-8") -> bytes:
    def edit(content: bytes) -> bytes:
        start = content.index(b"<", content.index(b"?>")) if b"?>" in content else 0
        body = content[start:].replace(b"lit", b"lit &x; ", 1)
        return f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE w [{declared}]>{body.decode()}'.encode(
            encoding
        )

    return edited(data, {name: edit})


LAUGHS = "<!ENTITY x0 'ha'>" + "".join(
    f"<!ENTITY x{number} '{f'&x{number - 1};' * 10}'>" for number in range(1, 12)
)


@pytest.mark.fault("R29")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize(
    ("data", "part", "name"),
    [
        (word(), BODY, "a.docx"),
        (slides("lit"), "ppt/slides/slide1.xml", "a.pptx"),
        (sheet(["lit"]), SHEET, "a.xlsx"),
    ],
)
def test_entities_of_an_office_document_are_refused(
    data: bytes, part: str, name: str, encoding: str
) -> None:
    for declared in ("<!ENTITY x SYSTEM 'file:///etc/passwd'>", f"{LAUGHS}<!ENTITY x '&x11;'>"):
        assert reason_of(with_entities(data, part, declared, encoding), name) == "broken"


def test_entities_of_a_book_are_not_resolved() -> None:
    declared = "<!DOCTYPE html [<!ENTITY x SYSTEM 'file:///etc/hostname'>]>"
    page = f"{declared}<html><body><p>Lit &x; in 1844.</p></body></html>"
    assert parse(book({"a.xhtml": page}), "a.epub").text == "Lit &x; in 1844."
    listing = {"META-INF/container.xml": f"{declared}<container/>"}
    assert reason_of(book({"a.xhtml": page}, further=listing), "a.epub") == "broken"


@cache
def compression_bombs() -> list[bytes]:
    """An archive with a member that unpacks to 60 MB, and one with too many members."""
    empty = dict.fromkeys((f"word/part{number}.bin" for number in range(10_001)), b"")
    return [edited(word(), {BODY: lambda _: bytes(60_000_000)}), zipped(empty)]


@pytest.mark.sweep
@pytest.mark.fault("R29")
@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_a_compression_bomb_is_refused_before_it_is_unpacked(name: str) -> None:
    for bomb in compression_bombs():
        assert reason_of(bomb, name) == "too large"


def test_a_member_that_is_too_large_for_memory_is_not_unpacked() -> None:
    # It is stored without compression, so that it is not refused as a compression bomb.
    data = edited(word(), {"word/styles.xml": lambda _: bytes(UNPACKED_BYTES)}, zipfile.ZIP_STORED)
    assert reason_of(data, "a.docx") == "too large"


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.epub"])
def test_encrypted_broken_and_other_files_are_distinguished(name: str) -> None:
    older = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600)
    locked = bytearray(word())
    for offset in (locked.index(b"PK\x03\x04") + 6, locked.index(b"PK\x01\x02") + 8):
        locked[offset] |= 1
    assert reason_of(older + "EncryptedPackage".encode("utf-16-le"), name) == "encrypted"
    assert reason_of(bytes(locked), name) == "encrypted"
    for data in (older, word()[:5000], b"only text", b"PK\x05\x06" + bytes(18)):
        assert reason_of(data, name) == "broken"


@pytest.mark.fault("R29")
def test_paths_and_links_to_files_outside_a_document_are_ignored() -> None:
    outside = (
        b'<Relationship Id="rId66" TargetMode="External" Target="file:///etc/passwd"'
        b' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/attachedTemplate"/>'
        b'<Relationship Id="rId67" Target="../../../../etc/passwd"'
        b' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/footnotes"/></Relationships>'
    )
    edits = {
        "../../evil.xml": lambda _: b"<a/>",
        "/etc/evil.xml": lambda _: b"<a/>",
        "word/_rels/document.xml.rels": replacing(b"</Relationships>", outside),
    }
    assert parse(edited(word(), edits), "a.docx").text == TEXT
    package = {
        "text/book.opf": "<package><manifest><item id='a' href='../../../../etc/passwd'/></manifest>"
    }
    package["text/book.opf"] += "<spine><itemref idref='a'/></spine></package>"
    assert reason_of(book({}, further=package), "a.epub") == "empty"


def test_a_sheet_with_one_cell_in_its_farthest_corner_is_read() -> None:
    far = b'<row r="1048576"><c r="XFD1048576"><v>7</v></c></row></sheetData>'
    assert parse(
        edited(sheet(["Lit", "out"]), {SHEET: replacing(b"</sheetData>", far)}), "a.xlsx"
    ).text.endswith("7")
