"""The fifteen layouts, written before the layout code was changed."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from .programs import ProgramMissing, by_chromium, by_latex, by_office, by_weasyprint

SENTENCES = (Path(__file__).parent / "sentences.txt").read_text(encoding="utf-8").splitlines()


class Table(NamedTuple):
    """A table that a layout shows."""

    paths: list[str]
    """The words of all headings of each column; empty for a column without one."""
    rows: list[list[str]]


class Layout(NamedTuple):
    """A kind of layout, with what is right for it."""

    name: str
    make: Callable[[], bytes]
    tables: list[Table]
    prose: list[str]
    """Sentences in reading order."""
    other: str = ""
    """Further text with numbers: captions, addresses, notes, running heads."""

    @property
    def source_text(self) -> str:
        """Everything that the PDF shows, each heading once."""
        cells = [cell for table in self.tables for row in table.rows for cell in row]
        heads = [
            word for table in self.tables for word in dict.fromkeys(" ".join(table.paths).split())
        ]
        return "\n".join([*self.prose, *cells, *heads, self.other])


def grid(text: str) -> list[list[str]]:
    """Return the cells of lines whose cells are divided by bars."""
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return [[cell.strip() for cell in line.split("|")] for line in lines]


def html_rows(rows: Sequence[Sequence[str]], tag: str = "td") -> str:
    """Return rows of an HTML table."""
    return "".join(
        "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in row) + "</tr>" for row in rows
    )


def tex_rows(rows: Sequence[Sequence[str]]) -> str:
    """Return rows of a LaTeX tabular."""
    lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(lines).replace("%", r"\%").replace("$", r"\$")


def paragraphs(sentences: Sequence[str], size: int = 4) -> list[str]:
    """Return paragraphs of so many sentences."""
    return [" ".join(sentences[at : at + size]) for at in range(0, len(sentences), size)]


def html_prose(sentences: Sequence[str], size: int = 4) -> str:
    """Return paragraphs of HTML."""
    return "".join(f"<p>{text}</p>" for text in paragraphs(sentences, size))


def tex_prose(sentences: Sequence[str], size: int = 4) -> str:
    """Return paragraphs of LaTeX."""
    return "\n\n".join(paragraphs(sentences, size))


# 1: a paper in two columns, a small table in the second one, set without lines at the sides.
IN_COLUMN = Table(
    ["Station", "Depth m", "Sand %", "Clay %"],
    grid("""
        Weir | 2.4 | 61.3 | 8.8
        Ferry | 3.1 | 48.7 | 14.2
        Old quay | 1.9 | 72.0 | 5.1
        Lighthouse | 6.5 | 33.9 | 22.6
    """),
)


def paper_with_table_in_column() -> bytes:
    """A two-column paper by LaTeX with running heads."""
    table = rf"""
\begin{{table}}[b]\centering\caption{{Grain size at four stations.}}\smallskip
\begin{{tabular}}{{lrrr}}\hline
{tex_rows([IN_COLUMN.paths])}\hline
{tex_rows(IN_COLUMN.rows)}\hline
\end{{tabular}}\end{{table}}"""
    prose = SENTENCES
    body = r"\title{Sediments of the Varn}\author{M. Orrin and T. Vale}\date{}\maketitle"
    body += r"\section{Methods}" + tex_prose(prose[:14]) + table + "\n\n"
    body += r"\section{Results}" + tex_prose(prose[14:])
    return by_latex(body, options="twocolumn,10pt", preamble=r"\pagestyle{headings}")


# 2: a table across both columns at the top of the page, another one inside a column.
ACROSS = Table(
    ["Core", "Length m", "Dates", "Oldest years", "Recovery %", "Facies"],
    grid("""
        V-1 | 4.20 | 5 | 6,310 | 97 | channel sand
        V-2 | 3.85 | 3 | 5,940 | 88 | tidal flat
        V-3 | 5.10 | 4 | 7,225 | 91 | levee
        V-4 | 2.75 | 2 | 3,480 | 79 | salt marsh
        V-5 | 6.02 | 3 | 8,115 | 94 | tidal flat
    """),
)
NARROW = Table(
    ["Metal", "Upper", "Lower"],
    grid("""
        Lead | 148.2 | 39.6
        Zinc | 402.7 | 131.0
        Copper | 57.4 | 44.9
    """),
)


def paper_with_two_tables() -> bytes:
    """A two-column paper by LaTeX with a table across both columns and a table in the text."""
    across = rf"""
\twocolumn[{{\centering Table 1. The five cores.\par\medskip
\begin{{tabular}}{{llrrrl}}\hline
{tex_rows([ACROSS.paths])}\hline
{tex_rows(ACROSS.rows)}\hline\end{{tabular}}\par\bigskip}}]
"""
    narrow = rf"""
\begin{{center}}\begin{{tabular}}{{l@{{\hspace{{2em}}}}r@{{\hspace{{2em}}}}r}}
{tex_rows([NARROW.paths])}\hline
{tex_rows(NARROW.rows)}\end{{tabular}}\end{{center}}"""
    body = across + tex_prose(SENTENCES[:10]) + narrow + "\n\n" + tex_prose(SENTENCES[10:])
    return by_latex(body, options="twocolumn,10pt")


# 3: an invoice: addresses on both sides, the items, sums below the last column.
ITEMS = Table(
    ["Pos.", "Description", "Qty", "Unit price", "Amount"],
    grid("""
        1 | Pressure sensor PS-40 | 12 | 84.50 | 1,014.00
        2 | Mounting bracket, steel | 24 | 6.75 | 162.00
        3 | Calibration on site including travel within the county | 3 | 310.00 | 930.00
        4 | Cable, 5 m | 12 | 9.20 | 110.40
    """),
)


def invoice() -> bytes:
    """An invoice by WeasyPrint."""
    sums = [["Net amount", "2,216.40"], ["VAT 19 %", "421.12"], ["Total EUR", "2,637.52"]]
    sum_rows = "".join(
        f"<tr><td colspan=3></td><td>{name}</td><td class=n>{value}</td></tr>"
        for name, value in sums
    )
    return by_weasyprint(f"""<style>
body {{ font: 10pt sans-serif }} .sides {{ display: flex; justify-content: space-between }}
table {{ width: 100%; border-collapse: collapse; margin-top: 8mm }}
th {{ text-align: left; border-bottom: 1px solid }} td {{ padding: 1.2mm 2mm 1.2mm 0; vertical-align: top }}
td:nth-child(n+3), th:nth-child(n+3) {{ text-align: right }} td:nth-child(2) {{ width: 60mm }}
</style>
<div class=sides><div>Haldane Instruments Ltd<br>14 Foundry Lane<br>Port Orrin PO4 7QX</div>
<div>Phone 01632 960 114<br>billing@haldane.example<br>VAT no. 839 2214 60</div></div>
<div class=sides style="margin-top: 14mm"><div>Brightwater Utilities<br>Accounts payable<br>220 Canal Street<br>
Wexcombe WX2 1AB</div>
<div>Invoice no. 2025-0417<br>Date 3 March 2025<br>Customer no. 50081<br>Due 2 April 2025</div></div>
<h2>Invoice</h2><p>{INVOICE_PROSE[0]}</p>
<table><tr>{"".join(f"<th>{head}</th>" for head in ITEMS.paths)}</tr>{html_rows(ITEMS.rows)}{sum_rows}</table>
<p>{INVOICE_PROSE[1]} {INVOICE_PROSE[2]}</p>""")


INVOICE_PROSE = [
    "Thank you for your order of 12 February 2025, which we delivered on 28 February 2025.",
    "Please pay within 30 days to account 4471 0982 at Harbour Bank.",
    "Goods remain our property until they have been paid in full.",
]

# 4: a bank statement over two pages; bookings of two lines, empty cells, the header on each page.
BOOKINGS = Table(
    ["Date", "Details", "Paid out", "Paid in", "Balance"],
    grid("""
        01.02.25 | Balance brought forward | | | 2,310.55
        03.02.25 | Rent February Orchard Homes ref 7731 | 845.00 | | 1,465.55
        05.02.25 | Salary Tessaly Works | | 2,980.14 | 4,445.69
        05.02.25 | Card payment Greengrocer 0418 | 37.82 | | 4,407.87
        09.02.25 | Direct debit Northern Power contract 55-1930 | 112.40 | | 4,295.47
        11.02.25 | Refund Rail Direct | | 24.60 | 4,320.07
        14.02.25 | Standing order Savings plan 9920 | 500.00 | | 3,820.07
        18.02.25 | Cash machine Wexcombe High Street | 120.00 | | 3,700.07
        20.02.25 | Interest | | 1.13 | 3,701.20
        26.02.25 | Card payment Harbour Books order 88-204 | 64.95 | | 3,636.25
        28.02.25 | Balance carried forward | | | 3,636.25
    """),
)


def bank_statement() -> bytes:
    """A statement by ReportLab; cells are drawn column by column."""
    try:
        from reportlab.lib.pagesizes import A4
        from reportlab.pdfgen.canvas import Canvas
    except ImportError as error:
        raise ProgramMissing("reportlab") from error
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4)
    for page, part in enumerate((BOOKINGS.rows[:6], BOOKINGS.rows[6:]), 1):
        canvas.setFont("Helvetica", 9)
        for row, line in enumerate(["Ms A. Tarn", "8 Mill Row", "Wexcombe WX1 9ZT"]):
            canvas.drawString(60, 770 - 12 * row, line)
        for row, line in enumerate(
            [f"Statement 2 page {page} of 2", "Account 3350 7718", "Sort code 20-44-51"]
        ):
            canvas.drawRightString(540, 770 - 12 * row, line)
        y = 690
        for x, head in zip((60, 120, 380, 460, 540), BOOKINGS.paths, strict=True):
            draw = canvas.drawString if x < 200 else canvas.drawRightString
            draw(x, y, head)
        canvas.line(60, y - 4, 540, y - 4)
        for date, details, paid_out, paid_in, balance in part:
            y -= 18
            words = details.split()
            cut = len(words) if len(words) < 4 else 2
            canvas.drawString(60, y, date)
            canvas.drawString(120, y, " ".join(words[:cut]))
            canvas.drawRightString(380, y, paid_out)
            canvas.drawRightString(460, y, paid_in)
            canvas.drawRightString(540, y, balance)
            if words[cut:]:
                y -= 11
                canvas.drawString(120, y, " ".join(words[cut:]))
        canvas.setFont("Helvetica", 7)
        canvas.drawString(60, 60, STATEMENT_PROSE[0])
        canvas.showPage()
    canvas.save()
    return stream.getvalue()


STATEMENT_PROSE = ["Please check your statement and tell us within 60 days if anything is wrong."]

# 5: headings over groups of columns, centred, without lines.
SEGMENTS = Table(
    [
        "Segment",
        "Revenue 2024",
        "Revenue 2025",
        "Margin 2024",
        "Margin 2025",
        "Staff 2024",
        "Staff 2025",
    ],
    grid("""
        Turbines | 512.4 | 548.9 | 61.0 | 70.3 | 2,140 | 2,255
        Pumps | 230.8 | 219.5 | (4.2) | 12.6 | 980 | 941
        Services | 118.0 | 142.7 | 33.1 | 39.8 | 1,310 | 1,402
    """),
)


def grouped_heads() -> bytes:
    """A table with two rows of headings by Chromium."""
    groups = "".join(f"<th colspan=2>{name}</th>" for name in ("Revenue", "Margin", "Staff"))
    years = "<th>2024</th><th>2025</th>" * 3
    prose = SENTENCES[:6]
    return by_chromium(f"""<style>body {{ font: 11pt serif }} td, th {{ padding: 1mm 4mm }}
td {{ text-align: right }} td:first-child {{ text-align: left }}</style>
{html_prose(prose[:3])}<table><tr><th></th>{groups}</tr><tr><th>Segment</th>{years}</tr>
{html_rows(SEGMENTS.rows)}</table>{html_prose(prose[3:])}""")


# 6: three levels of headings with short rules, and rows that name a group.
LEVELS = Table(
    [
        "Site",
        "Summer Catch Day",
        "Summer Catch Night",
        "Summer Effort h",
        "Winter Catch Day",
        "Winter Catch Night",
        "Winter Effort h",
    ],
    grid("""
        Weir | 141 | 86 | 12.5 | 33 | 19 | 10.0
        Ferry | 97 | 102 | 14.0 | 21 | 28 | 9.5
        Quay | 64 | 45 | 8.5 | 17 | 11 | 7.0
    """),
)


def three_levels() -> bytes:
    """A table with three rows of headings by LaTeX."""
    body = (
        tex_prose(SENTENCES[:5])
        + rf"""

\begin{{table}}[h]\centering\caption{{Fish caught at three sites.}}\smallskip
\begin{{tabular}}{{lrrrrrr}}\hline
 & \multicolumn{{3}}{{c}}{{Summer}} & \multicolumn{{3}}{{c}}{{Winter}} \\ \cline{{2-4}}\cline{{5-7}}
 & \multicolumn{{2}}{{c}}{{Catch}} & Effort & \multicolumn{{2}}{{c}}{{Catch}} & Effort \\
Site & Day & Night & h & Day & Night & h \\ \hline
{tex_rows(LEVELS.rows)}\hline
\end{{tabular}}\end{{table}}

"""
        + tex_prose(SENTENCES[5:10])
    )
    return by_latex(body, options="11pt")


# 7: a table that is turned by 90 degrees, on a page of its own.
TURNED = Table(
    ["Year", "Cargo t", "Ships", "Dredged m3", "Dues EUR", "Accidents"],
    grid("""
        1995 | 1,204,300 | 2,411 | 44,800 | 3,190,000 | 4
        2005 | 1,580,750 | 2,096 | 51,250 | 4,420,500 | 2
        2015 | 1,911,020 | 1,877 | 38,900 | 6,055,300 | 7
        2025 | 1,742,660 | 1,533 | 47,150 | 7,310,900 | 1
    """),
)


def turned_table() -> bytes:
    """A `sidewaystable` by LaTeX."""
    body = (
        tex_prose(SENTENCES[:8])
        + rf"""
\begin{{sidewaystable}}\caption{{The port in four years.}}\centering
\begin{{tabular}}{{lrrrrr}}\hline
{tex_rows([TURNED.paths])}\hline
{tex_rows(TURNED.rows)}\hline
\end{{tabular}}\end{{sidewaystable}}"""
    )
    return by_latex(body, options="11pt", preamble=r"\usepackage{rotating}")


# 8: raised letters in cells, notes directly below the table, a footnote of the page.
NOTED = Table(
    ["Country", "Wind GW", "Solar GW", "Share %"],
    grid("""
        Arland | 12.4 | 8.1 | 46.0
        Bornay | 7.9 | 15.3 | 51.2
        Celt Isles | 3.3 | 0.4 | 38.7
        Dorvia | 21.0 | 18.6 | 29.5
    """),
)


def notes_in_table() -> bytes:
    """A table with notes by WeasyPrint."""
    rows = [list(row) for row in NOTED.rows]
    rows[1][0] += "<sup>a</sup>"
    rows[3][3] += "<sup>b</sup>"
    prose = SENTENCES[4:10]
    return by_weasyprint(f"""<style>body {{ font: 10pt serif }} table {{ border-collapse: collapse }}
td, th {{ padding: 1mm 5mm 1mm 0; text-align: left }} thead {{ border-top: 1px solid; border-bottom: 1px solid }}
.note {{ font-size: 8pt; margin: 1mm 0 }}</style>
{html_prose(prose[:3])}<p>Table 3. Capacity at the end of 2024.</p>
<table><thead>{html_rows([NOTED.paths], "th")}</thead>{html_rows(rows)}</table>
<p class=note><sup>a</sup> {NOTES[0]}</p><p class=note><sup>b</sup> {NOTES[1]}</p>
{html_prose(prose[3:])}""")


NOTES = [
    "Includes 1.2 GW of plants that are not connected yet.",
    "Provisional figure of the regulator, to be revised in June 2026.",
]

# 9: cells of several lines of text inside lines on all sides.
WRAPPED = Table(
    ["Risk", "Cause", "Measure", "Cost"],
    grid("""
        Flood | High water in the river above 7.5 m at the gauge | Move the pumps to the first floor before 2027 | 240,000
        Fire | Dust in the filters of line 2 | Clean the filters every 14 days and replace the detectors | 18,500
        Strike | The agreement with the union ends in 2026 | Start talks six months earlier | 0
    """),
)


def wrapped_cells() -> bytes:
    """A ruled table with text in its cells by LibreOffice Writer."""
    from docx import Document

    document = Document()
    for text in paragraphs(SENTENCES[:4], 2):
        document.add_paragraph(text)
    table = document.add_table(rows=0, cols=4)
    table.style = "Table Grid"
    for row in [WRAPPED.paths, *WRAPPED.rows]:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
    for text in paragraphs(SENTENCES[4:8], 2):
        document.add_paragraph(text)
    stream = io.BytesIO()
    document.save(stream)
    return by_office(stream.getvalue(), ".docx")


# 10: three columns of text, a table in the middle one.
OPENING = Table(
    ["Day", "Opens", "Closes"],
    grid("""
        Monday | 9.30 | 17.00
        Wednesday | 9.30 | 20.15
        Saturday | 11.00 | 16.45
    """),
)


def newsletter() -> bytes:
    """Three columns by Chromium."""
    before, after = SENTENCES[:11], SENTENCES[11:22]
    table = f"<table><tr>{''.join(f'<th>{h}</th>' for h in OPENING.paths)}</tr>{html_rows(OPENING.rows)}</table>"
    return by_chromium(f"""<style>@page {{ size: A4; margin: 15mm }} body {{ font: 9pt serif }}
main {{ columns: 3; column-gap: 7mm; text-align: justify }} table {{ font-size: 8.5pt; width: 100% }}
th {{ text-align: left }} h1 {{ text-align: center }}</style>
<h1>The Ferry Post</h1><main>{html_prose(before, 3)}{table}{html_prose(after, 3)}</main>""")


# 11: annual accounts: notes, brackets, dashes, indented labels, sums.
ACCOUNTS = Table(
    ["", "Notes", "2025 £000", "2024 £000"],
    grid("""
        Turnover | 3 | 48,210 | 45,377
        Cost of sales | | (31,904) | (30,118)
        Gross profit | | 16,306 | 15,259
        Administrative expenses | 4 | (9,845) | (9,990)
        Other operating income | 5 | - | 312
        Operating profit | | 6,461 | 5,581
        Interest payable | 7 | (718) | (1,043)
        Tax on profit | 8 | (1,380) | (902)
        Profit for the year | | 4,363 | 3,636
    """),
)


def accounts() -> bytes:
    """A profit and loss account by LibreOffice Calc, without lines between cells."""
    from openpyxl import Workbook
    from openpyxl.styles import Alignment, Border, Side

    book = Workbook()
    sheet = book.active
    sheet.append(["Haldane Instruments Ltd"])
    sheet.append(["Profit and loss account for the year ended 31 March 2025"])
    sheet.append([])
    sheet.append(["", "Notes", "2025", "2024"])
    sheet.append(["", "", "£000", "£000"])
    for name, note, *values in ACCOUNTS.rows:
        is_sum = "profit" in name.lower() and "Tax" not in name
        sheet.append([name if is_sum else f"   {name}", note, *values])
        for column in (3, 4):
            if is_sum:
                sheet.cell(sheet.max_row, column).border = Border(top=Side("thin"))
    for row in sheet.iter_rows(min_row=4, min_col=2):
        for cell in row:
            cell.alignment = Alignment(horizontal="right")
    for letter, width in zip("ABCD", (34, 9, 13, 13), strict=True):
        sheet.column_dimensions[letter].width = width
    stream = io.BytesIO()
    book.save(stream)
    return by_office(stream.getvalue(), ".xlsx")


# 12: two tables beside each other, each with a heading of its own.
LEFT = Table(["Import", "Tonnes"], grid("Timber | 8,120\nSalt | 3,455\nGrain | 12,990\nCoal | 640"))
RIGHT = Table(
    ["Export", "Tonnes", "Change"],
    grid("Cement | 5,870 | +4.1\nFish | 2,214 | -0.9\nScrap | 7,031 | +12.6\nPaper | 1,408 | -3.3"),
)


def tables_side_by_side() -> bytes:
    """Two tables beside each other by WeasyPrint."""

    def shown(table: Table) -> str:
        return f"<table>{html_rows([table.paths], 'th')}{html_rows(table.rows)}</table>"

    prose = SENTENCES[10:16]
    return by_weasyprint(f"""<style>body {{ font: 10pt sans-serif }} .both {{ display: flex; gap: 25mm }}
th {{ text-align: left; border-bottom: 1px solid }} td, th {{ padding: 1mm 4mm 1mm 0 }}</style>
{html_prose(prose[:3])}<div class=both>{shown(LEFT)}{shown(RIGHT)}</div>{html_prose(prose[3:])}""")


# 13: a table that goes on over three pages, its header repeated.
LONG = Table(
    ["Gauge", "River", "Level cm", "Flow m3/s", "Trend"],
    [
        [
            f"G-{100 + 7 * number}",
            ("Varn", "Tessa", "Orrin")[number % 3],
            str(84 + 13 * number % 311),
            f"{17.5 + 3.7 * number:.1f}",
            ("steady", "rising", "falling")[number % 3],
        ]
        for number in range(90)
    ],
)


def table_over_pages() -> bytes:
    """A long table by Chromium."""
    return by_chromium(f"""<style>body {{ font: 11pt sans-serif }} table {{ border-collapse: collapse; width: 100% }}
td, th {{ border: 1px solid; padding: 1mm 2mm; text-align: left }}</style><h1>Gauges</h1>
{html_prose(SENTENCES[:2])}<table><thead>{html_rows([LONG.paths], "th")}</thead>{html_rows(LONG.rows)}</table>
{html_prose(SENTENCES[2:4])}""")


# 14: many narrow columns with little space between them, some cells empty, no lines.
TIMES = Table(
    ["Stop", "101", "103", "105", "107", "109", "111", "113", "115", "117"],
    grid("""
        Harbour | 5.12 | 5.42 | 6.12 | 6.42 | 7.12 | 7.42 | 8.12 | 8.42 | 9.12
        Mill Lane | 5.19 | | 6.19 | | 7.19 | | 8.19 | | 9.19
        Old Weir | 5.25 | 5.53 | 6.25 | 6.53 | 7.25 | 7.53 | 8.25 | 8.53 | 9.25
        University | | 6.01 | | 7.01 | | 8.01 | | 9.01 |
        Airport | 5.48 | 6.14 | 6.48 | 7.14 | 7.48 | 8.14 | 8.48 | 9.14 | 9.48
    """),
)


def timetable() -> bytes:
    """A timetable by ReportLab with columns close to each other."""
    try:
        from reportlab.lib.pagesizes import A4
        from reportlab.pdfgen.canvas import Canvas
    except ImportError as error:
        raise ProgramMissing("reportlab") from error
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4)
    canvas.setFont("Helvetica-Bold", 13)
    canvas.drawString(60, 780, "Line 4 on weekdays")
    canvas.setFont("Helvetica", 9)
    for number, row in enumerate([TIMES.paths, *TIMES.rows]):
        for column, cell in enumerate(row):
            x = 60 if column == 0 else 130 + 26 * column
            draw = canvas.drawString if column == 0 else canvas.drawRightString
            draw(x, 740 - 14 * number, cell)
    canvas.drawString(60, 640, TIMES_PROSE[0])
    canvas.save()
    return stream.getvalue()


TIMES_PROSE = ["Trams on 24 and 31 December run as on Sundays, until 15.30 only."]

# 15: a page whose text runs upwards and that is turned by its /Rotate entry.
WIDE = Table(
    [
        "Substance",
        "CAS number",
        "Limit mg/l",
        "Median mg/l",
        "Maximum mg/l",
        "Samples",
        "Above limit",
    ],
    grid("""
        Nitrate | 14797-55-8 | 50 | 18.4 | 71.2 | 412 | 9
        Chloride | 16887-00-6 | 250 | 44.0 | 188.5 | 398 | 0
        Fluoride | 16984-48-8 | 1.5 | 0.21 | 1.62 | 377 | 2
        Ammonium | 14798-03-9 | 0.5 | 0.04 | 0.93 | 405 | 14
    """),
)


def turned_page() -> bytes:
    """A landscape table on an upright page that is turned for the reader, by ReportLab."""
    try:
        from reportlab.lib.pagesizes import A4
        from reportlab.pdfgen.canvas import Canvas
    except ImportError as error:
        raise ProgramMissing("reportlab") from error
    stream = io.BytesIO()
    canvas = Canvas(stream, pagesize=A4)
    canvas.setPageRotation(90)
    canvas.translate(A4[0], 0)
    canvas.rotate(90)
    canvas.setFont("Helvetica", 10)
    canvas.drawString(60, 520, WIDE_PROSE[0])
    for number, row in enumerate([WIDE.paths, *WIDE.rows]):
        for column, cell in enumerate(row):
            canvas.drawString(60 + 100 * column, 480 - 18 * number, cell)
    canvas.drawString(60, 370, WIDE_PROSE[1])
    canvas.save()
    return stream.getvalue()


WIDE_PROSE = [
    "Substances in the ground water of the county in 2024, wells of all depths together.",
    "Wells above the limit are sampled again within 28 days.",
]

LAYOUTS = [
    Layout(
        "table-in-one-of-two-columns",
        paper_with_table_in_column,
        [IN_COLUMN],
        SENTENCES,
        "1 Table 1: 2 1",
    ),
    Layout("table-across-and-in-column", paper_with_two_tables, [ACROSS, NARROW], SENTENCES, "1 1"),
    Layout(
        "invoice",
        invoice,
        [ITEMS],
        INVOICE_PROSE,
        "14 4 7 01632 960 114 839 2214 60 220 2 1 2025-0417 3 2025 50081 2 2025 2,216.40 19 421.12 2,637.52",
    ),
    Layout(
        "bank-statement",
        bank_statement,
        [BOOKINGS],
        STATEMENT_PROSE,
        "8 1 9 2 1 2 3350 7718 20-44-51",
    ),
    Layout("grouped-heads", grouped_heads, [SEGMENTS], SENTENCES[:6]),
    Layout("three-levels-of-heads", three_levels, [LEVELS], SENTENCES[:10], "Table 1: 1"),
    Layout("turned-table", turned_table, [TURNED], SENTENCES[:8], "Table 1: 1 2"),
    Layout(
        "notes-in-table",
        notes_in_table,
        [NOTED],
        [*SENTENCES[4:7], *NOTES, *SENTENCES[7:10]],
        "Table 3. 2024",
    ),
    Layout("wrapped-cells", wrapped_cells, [WRAPPED], SENTENCES[:8]),
    Layout("table-in-one-of-three-columns", newsletter, [OPENING], SENTENCES[:22]),
    Layout("annual-accounts", accounts, [ACCOUNTS], [], "31 2025"),
    Layout("tables-side-by-side", tables_side_by_side, [LEFT, RIGHT], SENTENCES[10:16]),
    Layout("table-over-pages", table_over_pages, [LONG], SENTENCES[:4]),
    Layout("timetable", timetable, [TIMES], TIMES_PROSE, "4"),
    Layout("turned-page", turned_page, [WIDE], WIDE_PROSE),
]
