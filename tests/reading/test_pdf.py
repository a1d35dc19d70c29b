"""PDF files become text: tables, columns, superscripts, form fields, and pages without running heads."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence

import pytest
from kit.files import Field, Piece, Put, Rule, column, drawn, width_of

from deep_research.core.evidence.text.sentences import page_of, printed_page
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
TABLES = (
    (
        ("EUR million", "Note", "2024", "2023"),
        ("Revenue", "4", "1,284.6", "1,190.2"),
        ("Costs", "", "(802.1)", "(761.9)"),
    ),
    (
        ("Station", "Depth (m)", "Flow"),
        ("Corrie Weir", "3.5", "914"),
        ("Upper bridge", "12.75", "88"),
        ("Mole", "0.4", "-7"),
    ),
    (("Year", "Ships", "Steam"), ("1869", "198", "9"), ("1870", "205", "13"), ("1871", "212", "17")),
    (("", "Q1", "Q2", "Q3"), ("Keldness", "12.5 %", "13.1 %", "9.0 %"), ("Tralee", "1.0 %", "0.3 %", "77.2 %")),
)


def text_of(*pages: Sequence[Piece]) -> str:
    return parse(drawn(*pages), "a.pdf").text


def numbers(text: str) -> Counter[str]:
    return Counter(re.findall(r"\d+(?:[.,]\d+)*", text))


def grid(rows: Sequence[Sequence[str]], lefts: Sequence[float], top: float, leading: float = 16) -> list[Put]:
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
def test_cells_on_one_base_line_are_a_row_under_their_heads(rows: Sequence[Sequence[str]], by_columns: bool) -> None:
    cells = grid(rows, (60, 200, 310, 420), 700)
    cells.sort(key=lambda cell: (cell.x, -cell.y) if by_columns else (-cell.y, cell.x))
    before, after = (
        Put(60, 780, "Income of the harbour"),
        Put(60, 600, "It was a demanding year for all of the stations."),
    )
    assert text_of([before, *cells, after]).split("\n\n") == [before.text, markdown(rows), after.text]


def test_rules_divide_cells_with_several_lines() -> None:
    rows = (
        ("Item", "Work", "Amount"),
        ("Item 1", "deepening of the channel at low tide, and dredging", "5,594.00"),
        ("Item 2", "granite", "6,554.00"),
    )
    pieces: list[Piece] = [
        *(Put(x, 690, cell) for x, cell in zip((62, 122, 322), rows[0], strict=True)),
        *(
            Put(62, 664, "Item"),
            Put(62, 650, "1"),
            Put(122, 664, "deepening of the channel at"),
            Put(322, 657, "5,594.00"),
        ),
        *(
            Put(122, 650, "low tide, and dredging"),
            Put(62, 624, "Item 2"),
            Put(122, 624, "granite"),
            Put(322, 624, "6,554.00"),
        ),
        *(Rule(60, y, 400, y) for y in (705, 680, 640, 615)),
        *(Rule(x, 705, x, 615) for x in (60, 120, 320, 400)),
    ]
    assert text_of(pieces) == markdown(rows)


def test_long_cells_beside_each_other_are_no_columns_of_a_page() -> None:
    cells = (
        (("The ice may leave the valley", "before the spring"), ("A second core is taken from", "the lake in winter")),
        (("The lamp may fail in a storm", "of the autumn"), ("A spare lamp is in the shed", "behind the tower")),
        (("The mole may sink into the silt", "of the channel"), ("Its depth is measured daily", "by the pilots")),
    )
    pieces = [Put(60, 700, "Risk of the works"), Put(320, 700, "Measure that is taken")]
    for index, (risk, measure) in enumerate(cells):
        pieces += [*column(60, 676 - 40 * index, risk), *column(320, 676 - 40 * index, measure)]
    rows = [
        ("Risk of the works", "Measure that is taken"),
        *((" ".join(risk), " ".join(measure)) for risk, measure in cells),
    ]
    assert text_of(pieces) == markdown(rows)


def test_a_label_and_a_value_without_heads_are_a_record() -> None:
    rows = (("Total", "1,284.6"), ("Tax", "190.2"), ("Sum", "1,474.8"))
    assert text_of(grid(rows, (60, 300), 700)) == "Total: 1,284.6\nTax: 190.2\nSum: 1,474.8"


def test_the_mark_of_an_item_is_no_cell() -> None:
    items = ("Call to order", "Budget of the mole", "Any other business")
    pieces: list[Piece] = [
        Put(x, 700 - 30 * n, words) for n, item in enumerate(items) for x, words in ((60, f"{n + 1}."), (90, item))
    ]
    assert text_of(pieces) == "1. Call to order\n\n2. Budget of the mole\n\n3. Any other business"


def by_rows(left: Sequence[Put], right: Sequence[Put]) -> list[Put]:
    return [piece for pair in zip(left, right, strict=True) for piece in pair]


@pytest.mark.parametrize("is_by_rows", [False, True])
@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("gutter", [300, 320])
def test_columns_are_read_one_after_the_other(is_by_rows: bool, offset: float, gutter: float) -> None:
    left, right = column(60, 700, LEFT), column(gutter, 700 - offset, RIGHT)
    title = Put(60, 760, "Two cores from the lake, and what they say about the ice of the north", 16)
    pieces = [title, *(by_rows(left, right) if is_by_rows else [*left, *right])]
    expected = [title.text, " ".join(LEFT), " ".join(RIGHT)]
    assert text_of(pieces).split("\n\n") == expected


WIDTHS = {0.222: "il", 0.278: " .,tf", 0.333: "()r", 0.5: "sck", 0.611: "T", 0.722: "wC", 0.833: "m"}
HELVETICA = {sign: width for width, signs in WIDTHS.items() for sign in signs}


def raised(*parts: tuple[str, float, float], x: float = 60) -> list[Put]:
    """A line of parts with their sizes and how far they are raised."""
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
def test_raised_and_lowered_figures_never_touch_the_figure_before(
    parts: Sequence[tuple[str, float, float]], read: str
) -> None:
    assert text_of(raised(*parts)) == read


@pytest.mark.parametrize(
    ("pieces", "line"),
    [
        ([Put(60, 740, "Applicant"), Field(220, 740, "Marta Quennell")], "Applicant: Marta Quennell"),
        ([Put(60, 740, "Amount (EUR):"), Field(220, 740, "48,300")], "Amount (EUR): 48,300"),
        ([Put(60, 740, "Start ......"), Field(220, 740, "1 September 2026")], "Start: 1 September 2026"),
        ([Field(60, 740, "No label (17)")], "No label (17)"),
        ([Field(60, 740, "", "Btn"), Put(250, 740, "Married")], "☒ Married"),
    ],
)
def test_values_of_form_fields_stand_behind_their_labels(pieces: Sequence[Piece], line: str) -> None:
    assert text_of([*pieces, Put(60, 700, "Signed in Keldness")]).split("\n\n") == [line, "Signed in Keldness"]


def with_head(page: int, body: Sequence[Put], head: str = "Keldness harbour board", foot: str = "") -> list[Put]:
    return [Put(60, 810, head), Put(280, 30, foot or f"Page {page} of 4"), *body]


@pytest.mark.parametrize("feet", [("", ""), ("- 17 -", "- 18 -"), ("iii", "iv"), ("Board 8", "Board 9")])
def test_a_sentence_goes_on_behind_the_end_of_its_page(feet: Sequence[str]) -> None:
    first = column(60, 770, ("The board met in the hall. After a long debate the", "committee approved a budget of"))
    second = column(60, 770, ("3.2 million euros for the new mole.", "The meeting closed at nine."))
    pages = [
        with_head(number, body, foot=foot) for number, body, foot in zip((1, 2), (first, second), feet, strict=True)
    ]
    text = text_of(*pages)
    sentence = "After a long debate the committee approved a budget of\f3.2 million euros for the new mole."
    assert sentence in text
    assert text.count("Keldness harbour board") == 1
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
def test_pages_bear_the_numbers_that_are_printed(labels: str, feet: Sequence[str], printed: Sequence[str]) -> None:
    pages = [[*column(60, 770, (f"Keeper {n} lit the lamp.",)), Put(280, 30, foot)] for n, foot in enumerate(feet)]
    text = parse(drawn(*pages, labels=labels), "a.pdf").text
    pages_of_keepers = [page_of(text, text.index(f"Keeper {n}")) for n in range(4)]
    assert pages_of_keepers == [1, 2, 3, 4]
    assert [printed_page(text, page) for page in pages_of_keepers] == printed


def test_a_long_pdf_asks_for_more_time_and_is_read_to_its_end() -> None:
    asked = list[int]()
    data = drawn(*([Put(60, 700, f"Keeper {n} lit the lamp.")] for n in range(450)))
    text = parse(data, "a.pdf", on_scan=lambda: asked.append(1)).text
    assert len(asked) == 4 and "Keeper 449 lit the lamp." in text and page_of(text, text.index("Keeper 449")) == 450


def test_a_word_that_a_page_cuts_is_whole() -> None:
    text = text_of(
        column(60, 770, ("The handbook of the pump says that the lubri-",)), column(60, 770, ("cation is due.",))
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
def test_a_first_line_that_runs_on_is_no_title(lines: Sequence[str], leading: float) -> None:
    extract = parse(drawn(column(60, 700, lines, leading)), "pump.pdf")
    assert extract.title == "pump"
    assert extract.text == " ".join(lines).replace("- ", "")


def test_lines_at_the_top_of_pages_that_differ_are_content() -> None:
    pages = [
        [Put(60, 810, f"Section {n}. Station {100 + n}."), Put(60, 760, f"It measured {n}7 metres.")]
        for n in range(1, 6)
    ]
    text = text_of(*pages)
    assert all(f"Section {n}. Station {100 + n}." in text and f"{n}7 metres" in text for n in range(1, 6))


def test_turned_pages_are_read_upright() -> None:
    # The page is shown by a quarter turn, and so are its letters.
    table = b"\n".join(
        b"BT /F1 11 Tf 0 1 -1 0 %d %d Tm (%s) Tj ET" % (100 + 16 * n, 60 + 120 * index, cell.encode())
        for n, row in enumerate(TABLES[1])
        for index, cell in enumerate(row)
    )
    data = drawn([Put(60, 700, "X")], turned=90)
    old = re.search(rb"<< /Length \d+ >>\nstream\n.*?\nendstream", data, re.DOTALL)
    assert old is not None
    # The cross-reference table no longer fits, and is mended by the reader.
    turned = data.replace(old[0], b"<< /Length %d >>\nstream\n%s\nendstream" % (len(table), table))
    assert parse(turned, "a.pdf").text == markdown(TABLES[1])


WORDS = ("harbour", "survey", "keeper", "lantern", "granite", "vessel", "tide", "mole", "budget", "council", "pilot")


def a_figure(chance: random.Random) -> str:
    whole, part = chance.randint(10, 999), chance.randint(0, 99)
    return chance.choice(
        [f"{part},{whole:03}.{part % 10}", f"({whole}.5)", f"{part}.{whole}", f"{whole}{part:02}", f"-{part}.0"]
    )


def a_table(chance: random.Random) -> list[list[str]]:
    width = chance.randint(2, 4)
    heads = ["Item", *chance.sample(["2024", "2023", "Change", "Share", "Q1", "Note"], width)]
    rows = [
        [f"{chance.choice(WORDS)} {chance.choice(WORDS)} {n}", *(a_figure(chance) for _ in range(width))]
        for n in range(8)
    ]
    return [heads, *rows]


def a_paragraph(chance: random.Random) -> str:
    return " ".join(
        f"The {' '.join(chance.sample(WORDS, 9))} {a_figure(chance)} {chance.choice(WORDS)}." for _ in range(4)
    )


def by_weasyprint(table: Sequence[Sequence[str]], paragraphs: Sequence[str], style: str) -> bytes:
    from weasyprint import HTML

    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in table)
    first, *rest = (f"<p>{paragraph}</p>" for paragraph in paragraphs)
    css = f"body {{ font: 10pt {FONT} }} td + td {{ text-align: right }} {style}"
    written: bytes = HTML(string=f"<style>{css}</style>{first}<table>{cells}</table>{''.join(rest)}").write_pdf()
    return written


FONT, FC_MATCH = "Liberation Serif", shutil.which("fc-match")
STYLES = (
    "td { padding: 2pt 9pt }",
    "table { border-collapse: collapse } td { border: 1px solid; padding: 3pt }",
    "table { width: 100% } td { padding: 1pt 4pt }",
    "@page { size: A5; @bottom-center { content: counter(page) } @top-left { content: 'Tides' } } td { padding: 3pt }",
    "td { padding: 4pt 12pt; border-bottom: 1px solid } p { text-align: justify }",
)


@pytest.mark.parametrize("style", STYLES)
def test_all_numbers_arrive_and_no_others_and_cells_in_their_row_and_column(style: str) -> None:
    matched = subprocess.run(["fc-match", FONT], capture_output=True, text=True, check=False) if FC_MATCH else None
    if matched and FONT not in matched.stdout:
        pytest.skip(f"With another font than {FONT} the tables do not fit their pages.")
    right = total = 0
    for seed in range(4):
        chance = random.Random(f"{style} {seed}")
        table, paragraphs = a_table(chance), [a_paragraph(chance) for _ in range(6)]
        text = parse(by_weasyprint(table, paragraphs, style), "a.pdf").text
        source = " ".join([*paragraphs, *(cell for row in table for cell in row)])
        rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
        # A table that goes on behind the end of its page has its heads once more.
        read = numbers(re.sub(rf"^{re.escape('| ' + ' | '.join(table[0]) + ' |')}$", "", text, flags=re.MULTILINE))
        assert read == numbers(source) - numbers(" ".join(table[0])), (style, seed)
        right += sum(row in rows for row in table)
        total += len(table)
    assert right >= 0.95 * total
