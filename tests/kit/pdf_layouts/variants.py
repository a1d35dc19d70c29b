"""Variants of the fifteen layouts, written after the code was changed and measured at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .layouts import (
    SENTENCES,
    Layout,
    Table,
    grid,
    html_prose,
    html_rows,
    paragraphs,
    tex_prose,
    tex_rows,
)
from .programs import by_chromium, by_latex, by_weasyprint

BOGS = Table(
    ["Bog", "Area ha", "Peat m"],
    grid("Ling Moor | 118 | 4.2\nCorrie Moss | 61 | 2.9\nHollin Flow | 240 | 5.5"),
)
WIDE = Table(
    ["Well", "Depth m", "pH", "Nitrate", "Iron", "Remark"],
    grid("""
        W-11 | 42.0 | 7.1 | 18.4 | 0.21 | clear
        W-12 | 38.5 | 6.8 | 51.9 | 1.07 | slightly brown
        W-13 | 55.2 | 7.4 | 9.3 | 0.02 | clear
        W-14 | 29.9 | 6.5 | 63.0 | 2.35 | smell of sulphur
    """),
)
TEXTS = Table(
    ["Task", "Description", "Days"],
    grid("""
        Survey | Walk along the dike and mark every place where the grass is thin or water seeps out | 4
        Drilling | Three holes down to the sand, with a sample for each metre, closed with clay afterwards | 11
        Report | Text, maps and a table of all samples; two printed copies for the board | 6
    """),
)


def _html_table(table: Table, attributes: str = "") -> str:
    head = "<tr>" + "".join(f"<th>{path}</th>" for path in table.paths) + "</tr>"
    return f"<table {attributes}>{head}{html_rows(table.rows)}</table>"


def _columns_page(
    css: str, table: Table, at: int, *, count: int = 24, print_page: Callable[[str], bytes]
) -> bytes:
    before = html_prose(SENTENCES[:at], 4)
    after = html_prose(SENTENCES[at:count], 4)
    return print_page(
        f"<style>@page {{ size: A4; margin: 18mm }} table {{ break-inside: avoid }} {css}</style>"
        f"<h1>Wells and bogs</h1><main>{before}{_html_table(table)}{after}</main>"
    )


def _two_column_variants() -> list[Layout]:
    justified = "body {font: 10pt serif} main {columns: 2; column-gap: 6mm; text-align: justify} td, th {text-align: left; padding-right: 6mm}"
    ragged = "body {font: 9.5pt sans-serif} main {columns: 2; column-gap: 12mm} table {border-collapse: collapse; width: 100%} th {border-bottom: 1px solid; text-align: left} td+td, th+th {text-align: right}"
    grids = "body {font: 10pt/12pt serif} p {margin: 0; text-indent: 4mm} main {columns: 2; column-gap: 8mm; text-align: justify} td, th {text-align: left; padding: 0 5mm 0 0} table {margin: 12pt 0; border-spacing: 0}"
    layouts = list[Layout]()
    for name, css, at, program in (
        ("top-left", justified, 0, by_chromium),
        ("bottom-left", justified, 12, by_weasyprint),
        ("ragged-right-column", ragged, 20, by_chromium),
        ("on-the-line-grid", grids, 8, by_weasyprint),
        ("on-the-line-grid-right", grids, 18, by_chromium),
    ):

        def make(css: str = css, at: int = at, program: Callable[[str], bytes] = program) -> bytes:
            return _columns_page(css, BOGS, at, print_page=program)

        layouts.append(Layout(f"column-{name}", make, [BOGS], SENTENCES[:24]))
    wide_css = justified + " table {column-span: all; margin: 5mm 0; width: 100%}"
    layouts.append(
        Layout(
            "column-span-all",
            lambda: _columns_page(wide_css, WIDE, 12, print_page=by_chromium),
            [WIDE],
            SENTENCES[:24],
        )
    )
    two = SENTENCES[:28]
    body = (
        r"\twocolumn[\begin{center}{\Large Peat}\end{center}\begin{quote}"
        + " ".join(two[:3])
        + r"\end{quote}]\section{One}"
        + tex_prose(two[3:9])
        + r"\begin{table}[t]\caption{Bogs.}\begin{tabular}{lrr}\hline "
        + tex_rows([BOGS.paths])
        + r"\hline "
        + tex_rows(BOGS.rows)
        + r"\hline\end{tabular}\end{table}\begin{table}[b]\centering\small\begin{tabular}{llllll}"
        + tex_rows([WIDE.paths])
        + r"\hline "
        + tex_rows(WIDE.rows)
        + r"\end{tabular}\end{table}"
        + tex_prose(two[9:18])
        + r"\subsection{Two}"
        + tex_prose(two[18:])
    )
    layouts.append(
        Layout(
            "latex-two-tables-in-columns",
            lambda: by_latex(
                body,
                options="twocolumn,9pt",
                preamble=r"\usepackage[margin=15mm]{geometry}\columnsep 5mm",
            ),
            [BOGS, WIDE],
            two,
            "1 1.1 1 1",
        )
    )
    lists = SENTENCES[:12]
    body_lists = (
        tex_prose(lists[:4])
        + r"\begin{itemize}"
        + "".join(rf"\item {text} " for text in lists[4:8])
        + r"\end{itemize}"
        + r"\begin{tabular}{lrr}"
        + tex_rows([BOGS.paths])
        + tex_rows(BOGS.rows)
        + r"\end{tabular}\newpage "
        + tex_prose(lists[8:], 1)
    )
    layouts.append(
        Layout(
            "latex-list-and-table-in-left-column",
            lambda: by_latex(body_lists, options="twocolumn,11pt"),
            [BOGS],
            lists,
            "1",
        )
    )
    return layouts


INVOICE = Table(
    ["Article", "Description", "Quantity", "Price", "Total"],
    grid("""
        4711 | Ball bearing 6204 | 40 | 3.20 | 128.00
        4712 | Shaft seal | 8 | 11.75 | 94.00
        8830 | Labour, fitter | 5 | 62.00 | 310.00
    """),
)
PLAIN_INVOICE = Table(
    ["Description", "Quantity", "Price", "Total"],
    [row[1:] for row in INVOICE.rows],
)
BLOCK = ["Fenwick Pumps", "7 Quay Street", "Port Orrin PO1 3AA"]
META = [
    ["Invoice number", "R-20418"],
    ["Invoice date", "14 May 2025"],
    ["Customer number", "77120"],
]
TERMS = "Payment is due within 14 days of the date of this invoice without deduction."


def _invoice(
    table: Table, middle: str, css: str, program: Callable[[str], bytes]
) -> Callable[[], bytes]:
    def make() -> bytes:
        return program(
            "<style>body {font: 10pt sans-serif} .b {display: flex; justify-content: space-between}"
            f"table {{border-collapse: collapse}} {css}</style>{middle}"
            f"{_html_table(table, 'class=i')}<p>{TERMS}</p>"
        )

    return make


def _invoices() -> list[Layout]:
    lines = "<br>".join(BLOCK)
    meta = "<table class=m>" + html_rows(META) + "</table>"
    numbers = "7 1 3 20418 14 2025 77120"
    near = "table.i {width: 100%; margin-top: 4mm} table.i td+td+td, table.i th+th+th {text-align: right} th {text-align: left} .m td {padding-right: 6mm}"
    ruled = near + " .i td, .i th {border: 1px solid; padding: 1mm}"
    return [
        Layout(
            "invoice-near-address",
            _invoice(
                PLAIN_INVOICE,
                f"<div class=b><div>{lines}</div>{meta}</div>",
                near + " .i th {font-weight: normal}",
                by_weasyprint,
            ),
            [PLAIN_INVOICE],
            [TERMS],
            numbers,
        ),
        Layout(
            "invoice-article-numbers",
            _invoice(INVOICE, f"<div class=b><div>{lines}</div>{meta}</div>", near, by_chromium),
            [INVOICE],
            [TERMS],
            numbers,
        ),
        Layout(
            "invoice-ruled",
            _invoice(
                INVOICE,
                f"<div class=b><div>{lines}</div><div>Ship to:<br>{lines}</div>{meta}</div>",
                ruled,
                by_weasyprint,
            ),
            [INVOICE],
            [TERMS],
            numbers + " 7 1 3",
        ),
        Layout(
            "invoice-three-blocks",
            _invoice(
                PLAIN_INVOICE,
                f"<div class=b><div>{lines}</div><div>Bill to<br>{lines}</div><div>Ship to<br>{lines}</div></div>",
                near,
                by_chromium,
            ),
            [PLAIN_INVOICE],
            [TERMS],
            "7 1 3 7 1 3 7 1 3",
        ),
    ]


def _paths(stubs: Sequence[str], groups: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    return [*stubs, *(f"{group} {name}" for group, names in groups for name in names)]


def _grouped_html(
    stubs: Sequence[str], groups: Sequence[tuple[str, Sequence[str]]], rows: list[list[str]]
) -> str:
    above = "".join("<th></th>" for _ in stubs)
    above += "".join(f"<th colspan={len(names)} class=g>{group}</th>" for group, names in groups)
    below = "".join(f"<th>{name}</th>" for name in (*stubs, *(n for _, ns in groups for n in ns)))
    return f"<table><tr>{above}</tr><tr>{below}</tr>{html_rows(rows)}</table>"


YEARS = ("2023", "2024", "2025")
SALES = grid("""
    North | 12.1 | 13.4 | 15.0 | 3.3 | 2.9 | 4.1
    South | 44.0 | 41.8 | 47.2 | 10.5 | 9.9 | 11.2
    Islands | 2.7 | 3.1 | 3.0 | (0.4) | 0.2 | (0.1)
""")
TWO_STUBS = grid("""
    A1 | Weir | 5 | 7.5 | 9 | 1.5
    B2 | Ferry | 12 | 8.0 | 3 | 2.5
    C3 | Quay | 8 | 6.5 | 4 | 0.5
""")
MIXED = grid("""
    Turbines | 14 | 512.4 | 548.9 | 61.0 | 70.3
    Pumps | 9 | 230.8 | 219.5 | 4.2 | 12.6
    Valves | 3 | 88.1 | 90.6 | 7.7 | 8.8
""")


def _groups() -> list[Layout]:
    wide = "<style>body {font: 10pt sans-serif} table {width: 100%; border-collapse: collapse} td {text-align: right} th {text-align: right} th.g {text-align: center} td:first-child, th:first-child {text-align: left}</style>"
    ruled = wide.replace("th.g {", "th.g {border-bottom: 1px solid; ")
    boxed = wide.replace("td {", "td, th {border: 1px solid #999; padding: 1mm} td {", 1)
    thirds = [("Revenue", YEARS), ("Profit", YEARS)]
    pairs = [("Catch", ("count", "kg")), ("Effort", ("days", "hours"))]
    mixed = [("Revenue", ("2024", "2025")), ("Margin", ("2024", "2025"))]
    prose = SENTENCES[:4]

    def html(css: str, stubs: Sequence[str], groups: list, rows: list) -> Callable[[], bytes]:  # type: ignore[type-arg]
        return lambda: by_chromium(
            css + html_prose(prose[:2]) + _grouped_html(stubs, groups, rows) + html_prose(prose[2:])
        )

    latex = (
        tex_prose(prose)
        + r"\begin{center}\begin{tabular}{lrrrrr}\toprule & & \multicolumn{2}{c}{Revenue} & \multicolumn{2}{c}{Margin} \\ "
        + r"\cmidrule(lr){3-4}\cmidrule(lr){5-6} Unit & Sites & 2024 & 2025 & 2024 & 2025 \\ \midrule "
        + tex_rows(MIXED)
        + r"\bottomrule\end{tabular}\end{center}"
    )
    lone = (
        tex_prose(prose)
        + r"\begin{center}\begin{tabular}{lrrr}\toprule & \multicolumn{3}{c}{Year ended 31 March} \\ "
        + r"\cmidrule(lr){2-4} Region & 2023 & 2024 & 2025 \\ \midrule "
        + tex_rows([row[:4] for row in SALES])
        + r"\bottomrule\end{tabular}\end{center}"
    )
    book = r"\usepackage{booktabs}"
    mixed_paths = _paths(("Unit", "Sites"), mixed)
    return [
        Layout(
            "groups-of-three",
            html(wide, ("Region",), thirds, SALES),
            [Table(_paths(("Region",), thirds), SALES)],
            prose,
        ),
        Layout(
            "groups-of-three-ruled",
            html(ruled, ("Region",), thirds, SALES),
            [Table(_paths(("Region",), thirds), SALES)],
            prose,
        ),
        Layout(
            "groups-two-stubs",
            html(wide, ("Code", "Site"), pairs, TWO_STUBS),
            [Table(_paths(("Code", "Site"), pairs), TWO_STUBS)],
            prose,
        ),
        Layout(
            "groups-boxed",
            html(boxed, ("Region",), thirds, SALES),
            [Table(_paths(("Region",), thirds), SALES)],
            prose,
        ),
        Layout(
            "groups-with-a-plain-column",
            html(wide, ("Unit", "Sites"), mixed, MIXED),
            [Table(mixed_paths, MIXED)],
            prose,
        ),
        Layout(
            "groups-booktabs",
            lambda: by_latex(latex, preamble=book),
            [Table(mixed_paths, MIXED)],
            prose,
            "1",
        ),
        Layout(
            "group-over-all-booktabs",
            lambda: by_latex(lone, preamble=book),
            [
                Table(
                    _paths(("Region",), [("Year ended 31 March", YEARS)]),
                    [row[:4] for row in SALES],
                )
            ],
            prose,
            "1",
        ),
    ]


NAMES_OF_TWO_LINES = Table(
    ["Item", "Quantity", "Unit price", "Total amount"],
    grid("Bolt | 400 | 0.12 | 48.00\nNut | 400 | 0.05 | 20.00\nWasher | 800 | 0.02 | 16.00"),
)
SECTIONS = Table(
    ["£m", "2025", "2024"],
    grid("""
        Intangible assets | 41.2 | 39.9
        Property and plant | 310.7 | 298.4
        Stocks | 66.1 | 70.0
        Cash at bank | 12.5 | 8.8
    """),
)


def _tables() -> list[Layout]:
    prose = SENTENCES[:6]
    before, after = html_prose(prose[:3]), html_prose(prose[3:])
    two_lines = "<table><tr><th>Item</th><th>Quantity</th><th>Unit<br>price</th><th>Total<br>amount</th></tr>"
    sections = (
        "<table><tr><th>£m</th><th>2025</th><th>2024</th></tr><tr><td colspan=3><b>Fixed assets</b></td></tr>"
        + html_rows(SECTIONS.rows[:2])
        + "<tr><td colspan=3><b>Current assets</b></td></tr>"
        + html_rows(SECTIONS.rows[2:])
        + "</table>"
    )
    body = "<style>body {font: 10pt serif} td+td, th+th {text-align: right; padding-left: 9mm} th {vertical-align: bottom} td:first-child, th:first-child {text-align: left}</style>"
    texts = (
        tex_prose(prose[:3])
        + r"\begin{center}\begin{tabular}{lp{60mm}r}\toprule "
        + tex_rows([TEXTS.paths])
        + r"\midrule "
        + tex_rows(TEXTS.rows)
        + r"\bottomrule\end{tabular}\end{center}"
        + tex_prose(prose[3:])
    )
    spaced = texts.replace(r"\bottomrule", r"\bottomrule").replace(" \\\\\n", " \\\\[4pt]\n")
    lined = f"<style>body {{font: 10pt sans-serif}} table {{border-collapse: collapse}} td, th {{border-bottom: 1px solid #aaa; padding: 1.5mm 4mm 1.5mm 0; text-align: left; vertical-align: top}} td:nth-child(2) {{width: 70mm}}</style>{before}{_html_table(TEXTS)}{after}"
    turned = (
        r"\twocolumn "
        + tex_prose(SENTENCES)
        + r"\begin{sidewaystable*}\centering\begin{tabular}{llllll}"
        + tex_rows([WIDE.paths])
        + r"\hline "
        + tex_rows(WIDE.rows)
        + r"\end{tabular}\end{sidewaystable*}"
    )
    notes = list(WIDE.rows[0])
    sidebar = (
        "<style>body {font: 10pt serif} .b {display: flex; gap: 10mm} .s {width: 62mm; font-size: 8.5pt} td {padding-right: 5mm}</style>"
        f"<div class=b><div>{html_prose(SENTENCES[:12], 3)}</div><div class=s>{_html_table(BOGS)}</div></div>"
    )
    del notes
    return [
        Layout(
            "names-of-two-lines",
            lambda: by_weasyprint(
                body + before + two_lines + html_rows(NAMES_OF_TWO_LINES.rows) + "</table>" + after
            ),
            [NAMES_OF_TWO_LINES],
            prose,
        ),
        Layout(
            "sections", lambda: by_chromium(body + before + sections + after), [SECTIONS], prose
        ),
        Layout(
            "wrapped-latex",
            lambda: by_latex(texts, preamble=r"\usepackage{booktabs}"),
            [TEXTS],
            prose,
            "1",
        ),
        Layout(
            "wrapped-latex-spaced",
            lambda: by_latex(spaced, preamble=r"\usepackage{booktabs}"),
            [TEXTS],
            prose,
            "1",
        ),
        Layout("wrapped-lined", lambda: by_weasyprint(lined), [TEXTS], prose),
        Layout(
            "turned-in-two-columns",
            lambda: by_latex(turned, options="10pt", preamble=r"\usepackage{rotating}"),
            [WIDE],
            SENTENCES,
            "1 2",
        ),
        Layout("table-in-sidebar", lambda: by_weasyprint(sidebar), [BOGS], SENTENCES[:12]),
        Layout(
            "only-prose-in-two-columns",
            lambda: by_chromium(
                "<style>body {font: 11pt serif} main {columns: 2}</style><main>"
                + "".join(
                    f"<h3>{n}</h3><p>{text}</p>"
                    for n, text in zip("ABCDEF", paragraphs(SENTENCES, 5), strict=False)
                )
                + "</main>"
            ),
            [],
            SENTENCES,
        ),
    ]


VARIANTS = [*_two_column_variants(), *_invoices(), *_groups(), *_tables()]
