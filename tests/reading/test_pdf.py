"""PDF files become text: tables, columns, superscripts, form fields, and numbered pages without
page headers."""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.commands import desk_in
from kit.files import Field, Piece, Put, Rule, column, drawn, pdf_of_scans, width_of
from kit.runs import QUESTION
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject

from deep_research.core.evidence.text.sentences import PAGE_END, page_at
from deep_research.core.reading.documents.worker import parse

LEFT = (
    "The sediment of the lake was taken in two",
    "cores, which were cut in slices of one half",
    "centimetre. Grain size was measured by laser",
    "diffraction after removal of organic matter",
    "with peroxide, and each slice was weighed",
    "before and after it had been dried.",
)
RIGHT = (
    "The oldest reliable date is 11 640 years",
    "before present, from a leaf of dwarf birch",
    "at a depth of 402 centimetres. It places the",
    "onset of the lake nine centuries earlier than",
    "had been proposed, and the ice must have",
    "left the valley long before that.",
)
TABLES = [
    [line.split("|") for line in table.splitlines()]
    for table in (
        "EUR million|Note|2024|2023\nRevenue|4|1,284.6|1,190.2\nCosts||(802.1)|(761.9)",
        "Station|Depth (m)|Flow\nCorrie Weir|3.5|914\nUpper bridge|12.75|88\nMole|0.4|-7",
        "Year|Ships|Steam\n1869|198|9\n1870|205|13\n1871|212|17",
        "|Q1|Q2|Q3\nKeldness|12.5 %|13.1 %|9.0 %\nTralee|1.0 %|0.3 %|77.2 %",
    )
]


def text_of(*pages: Sequence[Piece]) -> str:
    return parse(drawn(*pages), "a.pdf").text


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+(?:[.,]\d+)*", text))


def grid(
    rows: Sequence[Sequence[str]], lefts: Sequence[float], top: float, leading: float = 16
) -> list[Put]:
    """The first column is left-aligned, the others right-aligned."""
    return [
        Put(x + 80 - width_of(cell) if index else x, top - leading * number, cell)
        for number, row in enumerate(rows)
        for index, (x, cell) in enumerate(zip(lefts, row, strict=False))
        if cell
    ]


def markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


@pytest.mark.parametrize("rows", TABLES)
@pytest.mark.parametrize("by_columns", [False, True])
def test_cells_on_one_baseline_are_a_row_under_their_headers(
    rows: Sequence[Sequence[str]], by_columns: bool
) -> None:
    cells = grid(rows, (60, 200, 310, 420), 700)
    cells.sort(key=lambda cell: (cell.x, -cell.y) if by_columns else (-cell.y, cell.x))
    before, after = (
        Put(60, 780, "Income of the harbour"),
        Put(60, 600, "It was a demanding year for all the stations."),
    )
    assert text_of([before, *cells, after]).split("\n\n") == [
        before.text,
        markdown(rows),
        after.text,
    ]


def test_ruled_lines_separate_cells_with_several_lines() -> None:
    rows = (
        ("Item", "Work", "Amount"),
        ("Item 1", "deepening of the channel at low tide, and dredging", "5,594.00"),
        ("Item 2", "granite", "6,554.00"),
    )
    pieces: list[Piece] = [
        *(Put(x, 690, cell) for x, cell in zip((62, 122, 322), rows[0], strict=True)),
        *column(62, 664, ("Item", "1")),
        *column(122, 664, ("deepening of the channel at", "low tide, and dredging")),
        Put(322, 657, "5,594.00"),
        *(Put(x, 624, cell) for x, cell in zip((62, 122, 322), rows[2], strict=True)),
        *(Rule(60, y, 400, y) for y in (705, 680, 640, 615)),
        *(Rule(x, 705, x, 615) for x in (60, 120, 320, 400)),
    ]
    assert text_of(pieces) == markdown(rows)


def test_long_cells_beside_each_other_are_not_columns_of_a_page() -> None:
    cells = (
        (
            ("The ice may leave the valley", "before the spring"),
            ("A second core is taken from", "the lake in winter"),
        ),
        (
            ("The lamp may fail in a storm", "of the autumn"),
            ("A spare lamp is in the shed", "behind the tower"),
        ),
        (
            ("The mole may sink into the silt", "of the channel"),
            ("Its depth is measured daily", "by the pilots"),
        ),
    )
    pieces = [Put(60, 700, "Risk of the works"), Put(320, 700, "Measure that is taken")]
    for index, (risk, measure) in enumerate(cells):
        pieces += [*column(60, 676 - 40 * index, risk), *column(320, 676 - 40 * index, measure)]
    rows = [
        ("Risk of the works", "Measure that is taken"),
        *((" ".join(risk), " ".join(measure)) for risk, measure in cells),
    ]
    assert text_of(pieces) == markdown(rows)


def test_two_columns_without_headers_are_labels_with_values_and_list_markers_are_not_cells() -> (
    None
):
    rows = (("Total", "1,284.6"), ("Tax", "190.2"), ("Sum", "1,474.8"))
    assert text_of(grid(rows, (60, 300), 700)) == "Total: 1,284.6\nTax: 190.2\nSum: 1,474.8"
    items = ("Call to order", "Budget of the mole", "Any other business")
    pieces = [*column(60, 700, ("1.", "2.", "3."), 30), *column(90, 700, items, 30)]
    assert text_of(pieces) == "1. Call to order\n\n2. Budget of the mole\n\n3. Any other business"


@pytest.mark.parametrize("is_by_rows", [False, True])
@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("gutter", [300, 320])
def test_columns_are_read_one_after_the_other(
    is_by_rows: bool, offset: float, gutter: float
) -> None:
    left, right = column(60, 700, LEFT), column(gutter, 700 - offset, RIGHT)
    title = Put(
        60, 760, "Two cores from the lake, and what they say about the ice of the north", 16
    )
    by_rows = [piece for pair in zip(left, right, strict=True) for piece in pair]
    pieces = [title, *(by_rows if is_by_rows else [*left, *right])]
    assert text_of(pieces).split("\n\n") == [title.text, " ".join(LEFT), " ".join(RIGHT)]


WIDTHS = {
    0.222: "il",
    0.278: " .,tf",
    0.333: "()r",
    0.5: "sck",
    0.611: "T",
    0.722: "wC",
    0.833: "m",
}
HELVETICA = {sign: width for width, signs in WIDTHS.items() for sign in signs}


def raised(*parts: tuple[str, float, float], x: float = 60) -> list[Put]:
    """A line of parts: (text, font size, height above the baseline)."""
    pieces = list[Put]()
    for text, size, rise in parts:
        pieces.append(Put(x, 700, text, size, rise))
        x += size * sum(HELVETICA.get(sign, 0.556) for sign in text)
    return pieces


@pytest.mark.parametrize(
    ("parts", "read"),
    [
        ([("lit in 1844", 11, 0), ("3", 7, 4), (" and", 11, 0)], "lit in 1844 and"),
        ([("about 10", 11, 0), ("6", 7, 4), (" candela", 11, 0)], "about 10^6 candela"),
        ([("grew by 25", 11, 0), ("1", 6, 5), (" million", 11, 0)], "grew by 25 million"),
        ([("about 10", 11, 0), ("-12", 7, 4), (" of it", 11, 0)], "about 10^-12 of it"),
        ([("a flow of 914 m", 11, 0), ("3", 7, 4), ("/s at", 11, 0)], "a flow of 914 m^3/s at"),
        ([("rose to 914", 11, 0), ("2", 11, 4), (" again", 11, 0)], "rose to 914 again"),
        ([("1", 7, 4), (" The keeper left in 1932.", 11, 0)], "1 The keeper left in 1932."),
        ([("of CO", 11, 0), ("2", 7, -2), (" in air", 11, 0)], "of CO2 in air"),
    ],
)
def test_superscripts_and_subscripts_never_join_the_number_before(
    parts: Sequence[tuple[str, float, float]], read: str
) -> None:
    assert text_of(raised(*parts)) == read


@pytest.mark.parametrize(
    ("pieces", "line"),
    [
        (
            [Put(60, 740, "Applicant"), Field(220, 740, "Marta Quennell")],
            "Applicant: Marta Quennell",
        ),
        ([Put(60, 740, "Amount (EUR):"), Field(220, 740, "48,300")], "Amount (EUR): 48,300"),
        (
            [Put(60, 740, "Start ......"), Field(220, 740, "1 September 2026")],
            "Start: 1 September 2026",
        ),
        ([Field(60, 740, "No label (17)")], "No label (17)"),
        ([Field(60, 740, "", "Btn"), Put(250, 740, "Married")], "☒ Married"),
    ],
)
def test_values_of_form_fields_follow_their_labels(pieces: Sequence[Piece], line: str) -> None:
    assert text_of([*pieces, Put(60, 700, "Signed in Keldness")]).split("\n\n") == [
        line,
        "Signed in Keldness",
    ]


FEET = [("Page 1 of 4", "Page 2 of 4"), ("- 17 -", "- 18 -"), ("iii", "iv"), ("Board 8", "Board 9")]


@pytest.mark.parametrize("feet", FEET)
def test_a_sentence_continues_on_the_next_page_without_headers_in_between(
    feet: Sequence[str],
) -> None:
    first = column(
        60,
        770,
        ("The board met in the hall. After a long debate the", "committee approved a budget of"),
    )
    second = column(60, 770, ("3.2 million euros for the new mole.", "The meeting closed at nine."))
    head = Put(60, 810, "Keldness harbour board")
    text = text_of(
        *(
            [head, Put(280, 30, foot), *body]
            for body, foot in zip((first, second), feet, strict=True)
        )
    )
    assert (
        "After a long debate the committee approved a budget of\f3.2 million euros for the new mole."
        in text
    )
    assert text.count(head.text) == 1
    assert numbers(text.partition("\n\nPrinted page numbers")[0]) == numbers("3.2")


@pytest.mark.parametrize(
    ("labels", "feet", "printed"),
    [
        ("0 << /S /r >> 2 << /S /D >>", ("", "", "", ""), ["i", "ii", "1", "2"]),
        ("0 << /S /D /St 345 >>", ("", "", "", ""), ["345", "346", "347", "348"]),
        ("0 << /P (A-) /S /D >>", ("", "", "", ""), ["A-1", "A-2", "A-3", "A-4"]),
        ("", ("- 17 -", "- 18 -", "- 19 -", "- 20 -"), ["17", "18", "19", "20"]),
        ("", ("", "1", "2", "3"), ["", "1", "2", "3"]),
        ("", ("1", "2", "3", "4"), ["", "", "", ""]),
    ],
)
def test_pages_have_the_numbers_that_are_printed_on_them(
    labels: str, feet: Sequence[str], printed: Sequence[str]
) -> None:
    pages = [
        [*column(60, 770, (f"Keeper {n} lit the lamp.",)), Put(280, 30, foot)]
        for n, foot in enumerate(feet)
    ]
    text = parse(drawn(*pages, labels=labels), "a.pdf").text
    pages_of_keepers = [page_at(text, text.index(f"Keeper {n}")) for n in range(4)]
    assert [page.number for page in pages_of_keepers] == [1, 2, 3, 4]
    assert [page.printed for page in pages_of_keepers] == printed


def test_a_long_pdf_asks_for_more_time_and_is_read_to_its_end() -> None:
    asked = list[int]()
    data = drawn(*([Put(60, 700, f"Keeper {n} lit the lamp.")] for n in range(450)))
    text = parse(data, "a.pdf", on_scan=lambda: asked.append(1)).text
    assert (
        len(asked) == 4
        and "Keeper 449 lit the lamp." in text
        and page_at(text, text.index("Keeper 449")).number == 450
    )


def test_a_word_that_is_divided_between_two_pages_is_joined() -> None:
    text = text_of(
        [Put(60, 770, "The handbook of the pump says that the lubri-")],
        [Put(60, 770, "cation is due.")],
    )
    assert text.replace("\f", " ") == "The handbook of the pump says that the lubrication is due."


@pytest.mark.parametrize(
    "lines",
    [
        ("The maintenance handbook says that the lubri-", "cation interval is 640 hours."),
        ("No keeper may leave the lan-", "tern room before the lamp is out."),
        ("The board of Keldness met on 3 May 2024 and", "voted for the mole."),
        ("Both stations were closed,", "and the crew of nine left in the autumn."),
    ],
)
@pytest.mark.parametrize("leading", [14, 30])
def test_a_first_line_whose_sentence_continues_is_not_a_title(
    lines: Sequence[str], leading: float
) -> None:
    extract = parse(drawn(column(60, 700, lines, leading)), "pump.pdf")
    assert extract.title == "pump"
    assert extract.text == " ".join(lines).replace("- ", "")


def test_lines_at_the_top_of_pages_that_differ_are_content() -> None:
    pages = [(f"Section {n}. Station {100 + n}.", f"It measured {n}7 metres.") for n in range(1, 6)]
    text = text_of(*([Put(60, 810, head), Put(60, 760, body)] for head, body in pages))
    assert all(head in text and body in text for head, body in pages)


@pytest.mark.parametrize(
    "first", [drawn([Put(60, 700, "Cropped away.")]), pdf_of_scans([Image.new("L", (400, 400))])]
)
def test_a_page_without_an_area_is_not_a_scan_and_does_not_cost_the_other_pages(
    first: bytes,
) -> None:
    writer, written = PdfWriter(), io.BytesIO()
    for data in (first, drawn([Put(60, 700, "The light was lit in 1844.")])):
        writer.append(PdfReader(io.BytesIO(data)))
    writer.pages[0].cropbox = RectangleObject((900, 900, 950, 950))
    writer.write(written)
    extract = parse(written.getvalue(), "a.pdf")
    assert "The light was lit in 1844." in extract.text and not extract.note


def test_a_dotless_i_at_the_top_of_a_page_is_not_a_roman_number() -> None:
    data = drawn([Put(60, 800, "1"), Put(60, 700, "The light was lit.")])
    # The font shows a dotless i for the code of the figure 1.
    data = data.replace(b"/WinAnsiEncoding", b"<< /Differences [49 /dotlessi] >>")
    assert parse(data, "a.pdf").text.split("\n\n") == ["ı", "The light was lit."]


def test_a_page_that_is_rotated_is_read_upright() -> None:
    # Viewers rotate the page by 90 degrees, and its letters are rotated the other way.
    table = b"\n".join(
        b"BT /F1 11 Tf 0 1 -1 0 %d %d Tm (%s) Tj ET"
        % (100 + 16 * n, 60 + 120 * index, cell.encode())
        for n, row in enumerate(TABLES[1])
        for index, cell in enumerate(row)
    )
    assert parse(drawn([table], turned=90), "a.pdf").text == markdown(TABLES[1])


WORDS = (
    "harbour",
    "survey",
    "keeper",
    "lantern",
    "granite",
    "vessel",
    "tide",
    "mole",
    "budget",
    "council",
    "pilot",
)


def a_figure(chance: random.Random) -> str:
    whole, part = chance.randint(10, 999), chance.randint(0, 99)
    return chance.choice(
        [
            f"{part},{whole:03}.{part % 10}",
            f"({whole}.5)",
            f"{part}.{whole}",
            f"{whole}{part:02}",
            f"-{part}.0",
        ]
    )


def a_sentence(chance: random.Random) -> str:
    return f"The {' '.join(chance.sample(WORDS, 9))} {a_figure(chance)} {chance.choice(WORDS)}."


FONT, FC_MATCH = "Liberation Serif", shutil.which("fc-match")
STYLES = (
    "td { padding: 2pt 9pt }",
    "table { border-collapse: collapse } td { border: 1px solid; padding: 3pt }",
    "table { width: 100% } td { padding: 1pt 4pt }",
    "@page { size: A5; @bottom-center { content: counter(page) } @top-left { content: 'Tides' } } td { padding: 3pt }",
    "td { padding: 4pt 12pt; border-bottom: 1px solid } p { text-align: justify }",
)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
def test_all_numbers_are_read_and_no_others_and_cells_stay_in_their_row_and_column(
    style: str,
) -> None:
    from weasyprint import HTML

    matched = (
        subprocess.run(["fc-match", FONT], capture_output=True, text=True, check=False)
        if FC_MATCH
        else None
    )
    if matched and FONT not in matched.stdout:
        pytest.skip(f"With another font than {FONT} the tables do not fit their pages.")
    right = total = 0
    for seed in range(2):
        chance = random.Random(f"{style} {seed}")
        heads = chance.sample(
            ["2024", "2023", "Change", "Share", "Q1", "Note"], chance.randint(2, 4)
        )
        table = [["Item", *heads]]
        for n in range(8):
            table.append(
                [
                    f"{chance.choice(WORDS)} {chance.choice(WORDS)} {n}",
                    *(a_figure(chance) for _ in heads),
                ]
            )
        paragraphs = [" ".join(a_sentence(chance) for _ in range(4)) for _ in range(6)]
        cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in table)
        first, *rest = (f"<p>{paragraph}</p>" for paragraph in paragraphs)
        css = f"body {{ font: 10pt {FONT} }} td + td {{ text-align: right }} {style}"
        page = HTML(string=f"<style>{css}</style>{first}<table>{cells}</table>{''.join(rest)}")
        text = parse(page.write_pdf(), "a.pdf").text
        source = " ".join([*paragraphs, *(cell for row in table for cell in row)])
        rows = [
            line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")
        ]
        # A table that continues on the next page repeats its headers there.
        read = numbers(
            re.sub(
                rf"^{re.escape('| ' + ' | '.join(table[0]) + ' |')}$", "", text, flags=re.MULTILINE
            )
        )
        assert read == numbers(source) - numbers(" ".join(table[0])), (style, seed)
        right += sum(row in rows for row in table)
        total += len(table)
    assert right >= 0.95 * total


def test_a_text_without_page_breaks_has_no_page_numbers() -> None:
    assert page_at(text_of([Put(60, 700, "The board paid for the granite.")]), 5).number == 0
    for name in ("a.txt", "a.md", "a.html"):
        assert PAGE_END not in parse(b"<p>One page.\f\n\nAnother\x0cpage.</p>", name).text


@given(st.lists(st.text(alphabet="ab \n", min_size=1).map(str.strip), min_size=2))
def test_pages_are_counted_by_their_separators(pages: list[str]) -> None:
    text, offset = PAGE_END.join(pages), 0
    for number, page in enumerate(pages, 1):
        assert page_at(text, offset).number == number
        offset += len(page) + len(PAGE_END)


def test_a_citation_of_a_pdf_opens_it_at_the_page_of_the_quotation(tmp_path: Path) -> None:
    desk, folder = desk_in(tmp_path), tmp_path / "books"
    folder.mkdir()
    pages = [
        *("The board of trade met in Tralee, and paid for the granite.", ""),
        *(
            "The Skerry Light was lit in 1844. It stands 38 metres tall.",
            "Ada Moran kept it from 1901 to 1932.",
        ),
    ]
    (folder / "light.pdf").write_bytes(drawn(*([Put(60, 700, page)] for page in pages)))
    assert desk.call("ask", QUESTION, "--docs", str(folder), "--thread", "light").code == 0
    run = json.loads(desk.call("export", "light", "--format", "json").out)
    found = {
        passage["quote"]: passage["page"]
        for claim in run["claims"]
        for passage in claim["passages"]
    }
    assert found["The Skerry Light was lit in 1844."] == 3
    html = desk.call("export", "light", "--format", "html").out
    assert "books/light.pdf#page=3" in html and ", page 3" in html and PAGE_END not in html
