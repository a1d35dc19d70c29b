"""Numbers, formulas and deletions of OpenDocument files are read as their programs show them; what
they hide is not."""

from __future__ import annotations

import pytest
from kit.files import zipped

from deep_research.core.reading.documents.records import Extract
from deep_research.core.reading.documents.worker import parse

NAMES = (
    'xmlns:office="o" xmlns:text="t" xmlns:table="b" xmlns:style="s" xmlns:fo="f" xmlns:draw="d"'
    ' xmlns:xlink="x" xmlns:loext="l" xmlns:presentation="p"'
)


def read(body: str, styles: str = "", further: dict[str, str] | None = None) -> Extract:
    content = (
        f"<office:document-content {NAMES}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    return parse(zipped({"content.xml": content, **(further or {})}), "a.odt")


def items(*contents: str) -> str:
    return "".join(f"<text:list-item>{content}</text:list-item>" for content in contents)


def paragraph(text: str) -> str:
    return f"<text:p>{text}</text:p>"


CLAUSES = (
    '<text:list-style style:name="L1">'
    '<text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>'
    '<text:list-level-style-number text:level="2" style:num-format="1" text:display-levels="2"/>'
    '<text:list-level-style-number text:level="3" style:num-format="a" style:num-prefix="(" style:num-suffix=")"/>'
    "</text:list-style>"
    '<text:list-style style:name="L2"><text:list-level-style-bullet text:level="1"/></text:list-style>'
    '<text:list-style style:name="L3"><text:list-level-style-number text:level="1" style:num-format="I"'
    ' loext:num-list-format="Article %1%:" text:start-value="4"/></text:list-style>'
)


def test_list_items_have_the_numbers_of_all_levels() -> None:
    inner = f"<text:list>{items(paragraph('Seven years.'))}</text:list>"
    letters = f"<text:list>{items(paragraph('By post.'), paragraph('By hand.'))}</text:list>"
    second = (
        f"<text:list>{items(paragraph('410 euros.'), paragraph('Notice:') + letters)}</text:list>"
    )
    body = f'<text:list text:style-name="L1">{items(paragraph("Term") + inner, paragraph("Rent") + second)}</text:list>'
    assert read(body, CLAUSES).text.split("\n") == [
        "1. Term", "1.1 Seven years.", "2. Rent", "2.1 410 euros.", "2.2 Notice:",
        "(a) By post.", "(b) By hand.",
    ]  # fmt: skip


def test_a_list_goes_on_where_the_document_says_so() -> None:
    inner = f"<text:list>{items(paragraph('Inner'))}</text:list>"
    body = (
        f'<text:list text:style-name="L1">{items(paragraph("One"))}</text:list>{paragraph("Between.")}'
        f'<text:list text:style-name="L1" text:continue-numbering="true">'
        f"{items(inner, paragraph('Two'))}</text:list>"
        f'<text:list text:style-name="L1">{items(paragraph("Anew"))}</text:list>'
        f'<text:list text:style-name="L2">{items(paragraph("Point"))}</text:list>'
        f'<text:list text:style-name="L3">{items(paragraph("Rent"), paragraph("Term"))}</text:list>'
    )
    assert read(body, CLAUSES).text.replace("\n\n", "\n").split("\n") == [
        "1. One", "Between.", "1.1 Inner", "2. Two", "1. Anew", "- Point", "Article IV: Rent",
        "Article V: Term",
    ]  # fmt: skip


def test_headings_have_the_numbers_of_the_outline_or_of_their_list() -> None:
    styles = (
        f"<office:document-styles {NAMES}><office:styles><text:outline-style>"
        '<text:outline-level-style text:level="1" style:num-format="1"/>'
        '<text:outline-level-style text:level="2" style:num-format="1" text:display-levels="2"/>'
        "</text:outline-style></office:styles></office:document-styles>"
    )

    def heading(text: str, level: int) -> str:
        return f'<text:h text:outline-level="{level}"><text:span>{text}</text:span></text:h>'

    body = (
        heading("Rent", 1)
        + heading("Amount", 2)
        + heading("Term", 2)
        + f'<text:list text:style-name="L3">{items(heading("End", 1))}</text:list>'
    )
    assert read(body, CLAUSES, {"styles.xml": styles}).text.split("\n\n") == [
        "# 1 Rent", "## 1.1 Amount", "## 1.2 Term", "# Article IV: End",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "line",
    ['style:text-line-through-style="solid"', 'style:text-line-through-type="double"'],
)
def test_struck_out_and_hidden_text_is_not_read(line: str) -> None:
    styles = (
        f'<style:style style:name="T1"><style:text-properties {line}/></style:style>'
        '<style:style style:name="T2"><style:text-properties text:display="none"/></style:style>'
        '<style:style style:name="T3"><style:text-properties style:text-line-through-style="none"/></style:style>'
    )
    body = "".join(
        f'<text:span text:style-name="{style}">{text} </text:span>'
        for style, text in (("T1", "12.50"), ("T2", "SECRET"), ("T3", "14.80"))
    )
    assert read(paragraph(f"Fare: {body}euros."), styles).text == "Fare: 14.80 euros."


def test_a_formula_is_text_and_another_object_is_named() -> None:
    formula = (
        '<math xmlns="http://www.w3.org/1998/Math/MathML"><mfrac><mn>3</mn><mn>4</mn></mfrac>'
        "<msup><mn>10</mn><mn>6</mn></msup></math>"
    )
    frames = [
        f'<draw:frame><draw:object xlink:href="./Object {number}"/></draw:frame>'
        for number in (1, 2)
    ]
    extract = read(
        paragraph(f"It is 5{frames[0]} pascals.{frames[1]}"),
        further={"Object 1/content.xml": formula},
    )
    assert extract.text == "It is 5 3/4 10^6 pascals."
    assert extract.note == "embedded objects that were not read: 1"


def test_ruby_is_read_in_brackets() -> None:
    ruby = "<text:ruby><text:ruby-base>東</text:ruby-base><text:ruby-text>とう</text:ruby-text></text:ruby>"
    assert read(paragraph(f"{ruby}に")).text == "東(とう)に"


def test_hidden_sheets_rows_columns_and_slides_are_not_read_and_a_note_names_them() -> None:
    def row(*cells: str, attributes: str = "") -> str:
        written = "".join(
            f"<table:table-cell>{paragraph(cell)}</table:table-cell>" for cell in cells
        )
        return f"<table:table-row {attributes}>{written}</table:table-row>"

    rows = (
        row("Berth", "Old", "Fee")
        + row("B7", "999", "131")
        + row("B8", "888", "96", attributes='table:visibility="filter"')
    )
    columns = '<table:table-column/><table:table-column table:visibility="collapse"/><table:table-column/>'
    styles = (
        '<style:style style:name="ta"><style:table-properties table:display="false"/></style:style>'
        '<style:style style:name="dp"><style:drawing-page-properties presentation:visibility="hidden"/></style:style>'
    )
    body = (
        f'<table:table table:name="Final">{columns}{rows}</table:table>'
        f'<table:table table:name="Draft" table:style-name="ta">{row("B7", "666")}</table:table>'
        f'<draw:page draw:name="Plan" draw:style-name="dp">{paragraph("SECRET")}</draw:page>'
    )
    extract = read(body, styles)
    assert extract.text == "| Berth | Fee |\n| --- | --- |\n| B7 | 131 |"
    assert extract.note == (
        "not read, because hidden: sheet 'Draft', slide 'Plan', rows or columns of 'Final'"
    )
