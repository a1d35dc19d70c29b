"""Tables in PDFs: in one column of a page, below headings over several columns, below addresses."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit.files import Piece, Put, Rule, column, drawn, width_of

from deep_research.core.reading.documents.worker import parse

LEFT = (
    "Seven wells were bored between the mill and the",
    "old weir in the spring of 2019. Each of them was",
    "lined with steel to a depth of 24 metres, and was",
    "pumped for 36 hours before a sample was taken.",
    "The samples went to two laboratories, which had",
    "not been told where the water had come from, and",
    "their figures differed by less than 3 per cent in",
    "all cases. Rain fell on 11 days of that spring.",
)
RIGHT = (
    "Nitrate was highest in the wells beside the road,",
    "where the fields are manured twice in every year,",
    "and fell with the distance from them. Iron shows",
    "no such order. We think that it comes out of the",
    "peat, which lies at a depth of 6 to 9 metres in",
    "the whole valley and reaches the river at the old",
    "quay. A second campaign in 2021 found the same",
    "order of the wells, at levels that were 8 per cent",
)
WELLS = (
    ("Well", "Nitrate", "Iron"),
    ("Mill", "18.4", "0.21"),
    ("Weir", "51.9", "1.07"),
    ("Quay", "9.3", "0.02"),
)


def text_of(pieces: Sequence[Piece]) -> str:
    return parse(drawn(pieces), "a.pdf").text


def cells(
    rows: Sequence[Sequence[str]], edges: Sequence[float], top: float, leading: float = 14
) -> list[Put]:
    """The first column begins at its edge, the others end there."""
    return [
        Put(edge - width_of(cell) if index else edge, top - leading * number, cell)
        for number, row in enumerate(rows)
        for index, (edge, cell) in enumerate(zip(edges, row, strict=True))
        if cell
    ]


def centred(middle: float, y: float, text: str) -> Put:
    return Put(middle - width_of(text) / 2, y, text)


def markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{' --- |' * len(rows[0])}", *lines[1:]])


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize(
    ("table", "left", "right"),
    [
        (cells(WELLS, (60, 170, 230), 700), (630, LEFT), (700, RIGHT)),
        (cells(WELLS, (325, 435, 495), 574), (700, LEFT), (700, RIGHT)),
        (cells([row[:2] for row in WELLS], (60, 170), 574), (700, LEFT), (697, RIGHT)),
    ],
    ids=["top of the left column", "bottom of the right column", "beside other base lines"],
)
def test_a_table_in_one_column_of_a_page_takes_no_prose_of_the_other(
    table: Sequence[Put],
    left: tuple[float, Sequence[str]],
    right: tuple[float, Sequence[str]],
    by_rows: bool,
) -> None:
    title = Put(60, 760, "Wells of the lower valley", 16)
    pieces = [title, *column(60, *left), *table, *column(325, *right)]
    if by_rows:
        pieces.sort(key=lambda piece: (-piece.y, piece.x))
    text = text_of(pieces)
    width = len({piece.x for piece in table if piece.text in WELLS[0]})
    assert markdown([row[:width] for row in WELLS]) in text
    assert " ".join(LEFT) in text and " ".join(RIGHT) in text
    assert text.index(LEFT[0]) < text.index(RIGHT[0]) and text.startswith(title.text)


def test_a_table_across_two_columns_of_prose_is_one_table() -> None:
    rows = (
        ("Well", "Depth", "Nitrate", "Iron", "Sulphate"),
        ("Mill", "12.5", "18.4", "0.21", "44.0"),
        ("Weir", "14.0", "51.9", "1.07", "39.5"),
    )
    table = cells(rows, (60, 210, 300, 400, 500), 760)
    text = text_of([*table, *column(60, 700, LEFT), *column(325, 700, RIGHT)])
    assert text.split("\n\n") == [markdown(rows), " ".join(LEFT), " ".join(RIGHT)]


SAMPLES = (
    ("Well", "Depth", "Nitrate", "Iron", "Sulphate"),
    ("Mill", "12.5", "18.4", "0.21", "44.0"),
    ("Weir", "14.0", "51.9", "1.07", "39.5"),
    ("Quay", "9.5", "9.3", "0.02", "41.8"),
)
USES = (("Well", "Owner", "Use"), ("Mill", "Parish", "Drinking"), ("Quay", "Port", "Cooling"))


@pytest.mark.sweep(first=8)
@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("beside", [0, 5], ids=["even base lines", "other base lines"])
@pytest.mark.parametrize("leading", [14, 17], ids=["on the lines of the text", "spaced rows"])
@pytest.mark.parametrize(
    ("rows", "edges"),
    [
        (SAMPLES, (60, 170, 270, 420, 520)),
        (SAMPLES, (60, 180, 327, 420, 520)),
        ([row[:3] for row in SAMPLES], (60, 250, 480)),
        (USES, (60, 230, 470)),
    ],
    ids=["cells beside the gutter", "cells across the gutter", "three columns", "words"],
)
def test_a_table_between_columns_of_prose_that_no_strip_separates_from_it_is_one_table(
    rows: Sequence[Sequence[str]],
    edges: Sequence[float],
    leading: float,
    beside: float,
    by_rows: bool,
) -> None:
    table = cells(rows, edges, 700 - 14 * len(LEFT), leading)
    below = table[-1].y - 14
    pieces = [*column(60, 700, LEFT), *column(325, 700 + beside, RIGHT), *table]
    pieces += [*column(60, below - beside, LEFT), *column(325, below, RIGHT)]
    if by_rows:
        pieces.sort(key=lambda piece: (-piece.y, piece.x))
    prose = [" ".join(LEFT), " ".join(RIGHT)]
    assert text_of(pieces).split("\n\n") == [*prose, markdown(rows), *prose]


@pytest.mark.parametrize("count", [1, 2])
def test_columns_of_prose_that_start_together_below_tables_are_no_cells(count: int) -> None:
    *tops, last = (760, 540, 320)[: count + 1]
    pieces = [*column(60, last, LEFT), *column(325, last, RIGHT)]
    for top in tops:
        pieces += [*column(60, top, LEFT), *column(325, top, RIGHT)]
        pieces += cells(SAMPLES, (60, 180, 280, 420, 520), top - 130, 16)
    prose = [" ".join(LEFT), " ".join(RIGHT)]
    assert text_of(pieces).split("\n\n") == [*prose, markdown(SAMPLES)] * count + prose


def test_group_headings_and_further_lines_belong_to_a_table_between_columns_of_prose() -> None:
    edges = (60, 170, 270, 420, 520)
    rows = [*SAMPLES[:3], ("Quay", "9.5", "9.3", "0.02", "41.8")]
    table = [*cells(rows, edges, 560, 16), Put(60, 500, "of the port")]
    heads = [centred(205, 576, "Field"), centred(460, 576, "Laboratory")]
    pieces = [*column(60, 700, LEFT), *column(325, 705, RIGHT), *heads, *table]
    pieces += [*column(60, 470, LEFT), *column(325, 475, RIGHT)]
    head, mill, weir, quay = rows
    read = (
        (
            head[0],
            *(f"Field / {name}" for name in head[1:3]),
            *(f"Laboratory / {name}" for name in head[3:]),
        ),
        mill,
        weir,
        ("Quay of the port", *quay[1:]),
    )
    prose = [" ".join(LEFT), " ".join(RIGHT)]
    assert text_of(pieces).split("\n\n") == [*prose, markdown(read), *prose]


def test_tables_of_two_columns_stay_apart_on_common_base_lines() -> None:
    berths = (("Berth", "Length", "Fee"), ("Mole", "41.0", "190.5"), ("Pier", "66.5", "240.0"))
    wells = WELLS[:3]
    pieces = [*column(60, 700, LEFT), *column(325, 700, RIGHT)]
    pieces += [*cells(wells, (60, 170, 230), 588), *cells(berths, (325, 435, 495), 588)]
    prose = [" ".join(LEFT), " ".join(RIGHT)]
    read = [prose[0], markdown(wells), prose[1], markdown(berths)]
    assert text_of(pieces).split("\n\n") == read


YEARS = ("2023", "2024", "2025")


@pytest.mark.parametrize("is_ruled", [False, True])
def test_a_heading_centred_over_three_columns_belongs_to_each(is_ruled: bool) -> None:
    rows = (
        ("Region", *YEARS, *YEARS),
        ("North", "12.1", "13.4", "15.0", "3.3", "2.9", "4.1"),
        ("Islands", "2.7", "3.1", "3.0", "0.4", "0.2", "0.1"),
    )
    pieces: list[Piece] = [centred(228, 720, "Sales"), centred(408, 720, "Profit")]
    pieces += cells(rows, (60, 180, 240, 300, 360, 420, 480), 700)
    if is_ruled:
        pieces += [Rule(155, 714, 300, 714), Rule(335, 714, 480, 714)]
    heads = ["Region", *(f"{group} / {year}" for group in ("Sales", "Profit") for year in YEARS)]
    assert text_of(pieces) == markdown([heads, *rows[1:]])


def test_headings_over_two_columns_leave_out_the_columns_of_labels_and_of_plain_figures() -> None:
    rows = (
        ("Unit", "Sites", "2024", "2025", "2024", "2025"),
        ("Pumps", "14", "512.4", "548.9", "61.0", "70.3"),
        ("Valves", "9", "230.8", "219.5", "4.2", "12.6"),
    )
    pieces = [centred(258, 720, "Revenue"), centred(408, 720, "Margin")]
    pieces += cells(rows, (60, 170, 250, 300, 400, 450), 700)
    heads = ("Unit", "Sites", "Revenue / 2024", "Revenue / 2025", "Margin / 2024", "Margin / 2025")
    assert text_of(pieces) == markdown([heads, *rows[1:]])


def test_a_lone_heading_over_all_figures_is_no_title_of_the_table() -> None:
    rows = (("EUR million", "2025", "2024"), ("Costs", "802.1", "761.9"), ("Tax", "41.0", "38.2"))
    pieces = [Put(60, 760, "Income of the harbour"), centred(340, 716, "Year to 31 March")]
    pieces += cells(rows, (60, 320, 380), 700)
    heads = ("EUR million", "Year to 31 March / 2025", "Year to 31 March / 2024")
    assert text_of(pieces).split("\n\n") == ["Income of the harbour", markdown([heads, *rows[1:]])]


def test_the_first_line_of_a_name_is_no_heading_of_the_columns_beside_it() -> None:
    rows = (
        ("Item", "Quantity", "price", "amount"),
        ("Bolt", "400", "0.12", "48.00"),
        ("Washer", "800", "0.02", "16.00"),
    )
    edges = (60, 200, 280, 360)
    pieces = [*cells([("", "", "Unit", "Total")], edges, 713), *cells(rows, edges, 700, 20)]
    heads = ("Item", "Quantity", "Unit price", "Total amount")
    assert text_of(pieces).replace(" / ", " ") == markdown([heads, *rows[1:]])


def test_a_ruled_cell_over_several_columns_and_rows_is_repeated_in_each() -> None:
    pieces: list[Piece] = [
        *(Rule(60, y, 360, y) for y in (720, 680, 660, 640)),
        Rule(160, 700, 360, 700),
        *(Rule(x, 720, x, 640) for x in (60, 160, 360)),
        Rule(260, 700, 260, 640),
        Put(64, 698, "Site"),
        *(Put(x, 705, word) for x, word in ((200, "Catch of"), (250, "fish"))),
        *(Put(x, 685, cell) for x, cell in ((164, "Day"), (264, "Night"))),
        *(Put(x, 665, cell) for x, cell in ((64, "Weir"), (164, "141"), (264, "86"))),
        *(Put(x, 645, cell) for x, cell in ((64, "Quay"), (164, "64"), (264, "45"))),
    ]
    rows = (("Site", "Catch of fish / Day", "Catch of fish / Night"), ("Weir", "141", "86"))
    assert text_of(pieces) == markdown([*rows, ("Quay", "64", "45")])


ITEMS = (
    ("Description", "Quantity", "Price", "Total"),
    ("Ball bearing", "40", "3.20", "128.00"),
    ("Shaft seal", "8", "11.75", "94.00"),
)
ADDRESS = ("Fenwick Pumps", "7 Quay Street", "Port Orrin PO1 3AA")
BLOCK = "\n".join(ADDRESS)


@pytest.mark.parametrize(
    ("right", "read"),
    [
        (column(400, 760, ("Invoice R-20418", "14 May 2025", "Due in 30 days")), None),
        (
            [
                *column(400, 760, ("Invoice", "Date", "Customer")),
                *column(460, 760, ("R-20418", "14 May 2025", "77120")),
            ],
            "Invoice: R-20418\nDate: 14 May 2025\nCustomer: 77120",
        ),
        (
            [
                *column(230, 760, ("Delivered to", *ADDRESS)),
                *column(400, 760, ("Invoice R-20418", "14 May 2025")),
            ],
            f"Delivered to\n{BLOCK}",
        ),
    ],
    ids=["lines", "labels with values", "three blocks"],
)
@pytest.mark.parametrize("is_ruled", [False, True])
def test_addresses_above_the_items_of_an_invoice_are_text(
    right: Sequence[Put], read: str | None, is_ruled: bool
) -> None:
    pieces: list[Piece] = [*column(60, 760, ADDRESS), *right]
    pieces += cells(ITEMS, (60, 300, 400, 500), 690, 18)
    if is_ruled:
        pieces += [Rule(60, y, 500, y) for y in (703, 685, 667, 649)]
    blocks = text_of(pieces).split("\n\n")
    assert blocks[0] == BLOCK and blocks[-1] == markdown(ITEMS)
    assert read is None or read in blocks
    assert not any(block.startswith("|") for block in blocks[:-1])


def test_the_items_of_an_invoice_directly_below_an_address_have_their_own_header() -> None:
    pieces = [*column(60, 740, ADDRESS), *column(400, 740, ("Invoice 118", "May 2025", "Page 1"))]
    pieces += cells(ITEMS, (60, 300, 400, 500), 688, 16)
    assert text_of(pieces).endswith(f"\n\n{markdown(ITEMS)}")


def test_headings_that_nearly_touch_are_cut_where_their_columns_are() -> None:
    rows = (("Well", "Depth", "Nitrate"), ("Mill", "1.5", "18.4"), ("Weir", "2.5", "51.9"))
    pieces = [
        Put(x, 700 - 16 * number, cell)
        for number, row in enumerate(rows)
        for x, cell in zip((60, 150, 186), row, strict=True)
    ]
    assert text_of(pieces) == markdown(rows)


def rows_of_words(rows: Sequence[Sequence[str]], edges: Sequence[float], top: float) -> list[Put]:
    """All columns begin at their edges."""
    return [
        Put(edge, top - 14 * number, cell)
        for number, row in enumerate(rows)
        for edge, cell in zip(edges, row, strict=True)
        if cell
    ]


PLANTS = (
    ("Year", "Tonnes", "Cost", "Tonnes", "Cost"),
    ("2022", "1,210", "88.2", "940", "91.0"),
    ("2023", "1,305", "86.7", "1,002", "90.4"),
    ("2024", "1,377", "85.1", "1,066", "89.3"),
)
KINDS = (
    ("Year", "Kind", "Ships"),
    ("2019", "first", "12"),
    ("2020", "third", "9"),
    ("2021", "first", "15"),
)
PORTS = (
    ("Port", "Year", "Depth"),
    ("Hollin", "2019", "7.5"),
    ("Skerry", "2020", "11.0"),
    ("Anlow", "2021", "9.25"),
)


@pytest.mark.parametrize(
    ("rows", "edges"),
    [
        (KINDS, (60, 93, 180)),
        (PORTS, (60, 180, 212)),
        ([row[:3] for row in PLANTS], (60, 93, 135)),
        (PLANTS, (60, 93, 135, 180, 222)),
    ],
    ids=["years and words", "years and numbers", "two strips", "columns with the same names"],
)
@pytest.mark.parametrize("has_total", [False, True])
def test_a_strip_that_is_narrow_but_empty_in_all_rows_divides_columns(
    rows: Sequence[Sequence[str]], edges: Sequence[float], has_total: bool
) -> None:
    if has_total:
        rows = [*rows, ("All", *rows[1][1:])]
    assert text_of(rows_of_words(rows, edges, 700)) == markdown(rows)


@pytest.mark.parametrize("indent", [0, 16], ids=["at the first column", "centred"])
def test_headings_over_groups_that_begin_behind_a_narrow_strip_belong_to_each(indent: int) -> None:
    heads = [Put(93 + indent, 716, "North"), Put(180 + indent, 716, "South")]
    text = text_of([*heads, *rows_of_words(PLANTS, (60, 93, 135, 180, 222), 700)])
    names = [f"{group} / {name}" for group in ("North", "South") for name in PLANTS[0][1:3]]
    assert text == markdown([("Year", *names), *PLANTS[1:]])


@pytest.mark.parametrize(
    ("labels", "amounts"),
    [
        (("1.  Rope of hemp", "2.  Tar", "3.  Anchors"), ("12.50", "3.10", "140.00")),
        (("Rope of hemp", "Tar in barrels", "Anchors"), ("$  12.50", "$  13.10", "$  40.00")),
        (("Rope  of hemp", "Barrels  of tar", "Two  anchors"), ("12.50", "3.10", "140.00")),
    ],
    ids=["list items", "signs of currencies", "wide spaces"],
)
def test_a_wide_space_within_cells_divides_no_columns(
    labels: Sequence[str], amounts: Sequence[str]
) -> None:
    rows = [("Item", "Price"), *zip(labels, amounts, strict=True)]
    text = text_of(rows_of_words(rows, (60, 250), 700))
    assert " ".join(text.split()) == " ".join(markdown(rows).split())


@pytest.mark.parametrize(
    "figures", [("1 284", "12 450", "1 190"), ("1 284,5", "450,2", "22 190,0")]
)
def test_a_space_between_thousands_never_divides_a_number(figures: Sequence[str]) -> None:
    rows = [("Item", "2024", "2023")]
    rows += [(f"Costs {n}", figure, figures[0]) for n, figure in enumerate(figures)]
    text = text_of(cells(rows, (60, 300, 400), 700))
    assert text == markdown(rows)


def test_a_label_of_three_lines_beside_a_centred_cell_is_one_label() -> None:
    pieces = [*cells([("Site", "Flow", "Count")], (60, 250, 330), 714)]
    pieces += [*column(60, 696, ("Old", "ferry", "quay"), 12), *column(60, 660, ("Weir",))]
    pieces += [*cells([("", "3.5", "914")], (60, 250, 330), 684)]
    pieces += [*cells([("", "12.7", "88")], (60, 250, 330), 660)]
    rows = (("Site", "Flow", "Count"), ("Old ferry quay", "3.5", "914"), ("Weir", "12.7", "88"))
    assert text_of(pieces) == markdown(rows)


def test_a_second_table_with_its_own_header_does_not_continue_the_first() -> None:
    first = (("Site", "Depth", "Sand"), ("Ferry", "17.0", "89.9"), ("Weir", "98.1", "73.2"))
    second = (("Metal", "Upper", "Lower"), ("Lead", "513.1", "60.5"), ("Zinc", "418.6", "81.2"))
    edges = (60, 250, 330)
    text = text_of([*cells(first, edges, 700), *cells(second, edges, 640)])
    assert text.split("\n\n") == [markdown(first), markdown(second)]
