"""Formulas, symbols, numbers, deletions and drawings of Word documents are read as Word shows
them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from kit.files import TEXT, Edit, edited, replacing, word

from deep_research.core.reading.documents.worker import parse

BODY = "word/document.xml"
MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006"


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(content: str, properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr>{content}</w:p>"


def read(body: str, edits: Mapping[str, Edit] | None = None) -> str:
    """The text of a document with this body."""
    content = f'<w:body xmlns:m="{MATH}">{body}'

    def with_body(document: bytes) -> bytes:
        before, _, behind = document.partition(b"<w:body>")
        return before + content.encode() + behind[behind.index(b"<w:sectPr") :]

    return parse(edited(word(), {BODY: with_body, **(edits or {})}), "a.docx").text


def math(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def power(base: str, exponent: str) -> str:
    return f"<m:sSup><m:e>{math(base)}</m:e><m:sup>{math(exponent)}</m:sup></m:sSup>"


def fraction(above: str, below: str, properties: str = "") -> str:
    return f"<m:f>{properties}<m:num>{math(above)}</m:num><m:den>{math(below)}</m:den></m:f>"


FORMULAS = [
    (f"{math('h=')}{fraction('3', '4')}{power('10', '6')}", "h=3/4 10^6"),
    (f"{power('10', '-3')}{math('·')}<m:rad><m:deg/><m:e>{math('25')}</m:e></m:rad>", "10^-3·√25"),
    (f"<m:rad><m:deg>{math('3')}</m:deg><m:e>{math('27')}</m:e></m:rad>", "27^(1/3)"),
    (
        '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr>'
        f"<m:sub>{math('i=1')}</m:sub><m:sup>{math('12')}</m:sup><m:e>{power('x', '2')}</m:e></m:nary>",
        "∑_(i=1)^12 x^2",
    ),
    (
        f'<m:d><m:dPr><m:begChr m:val="["/><m:endChr m:val="]"/></m:dPr><m:e>{math("1")}{math("0")}'
        f"</m:e></m:d>{math('=')}{fraction('a+b', '2')}",
        "[10]=(a+b)/2",
    ),
    (
        f"<m:func><m:fName>{math('sin')}</m:fName><m:e>{math('x')}</m:e></m:func>"
        f"<m:sSubSup><m:e>{math('y')}</m:e><m:sub>{math('1')}</m:sub><m:sup>{math('2')}</m:sup></m:sSubSup>",
        "sin x y1^2",
    ),
]


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(("formula", "shown"), FORMULAS)
def test_a_formula_keeps_its_value(formula: str, shown: str) -> None:
    body = paragraph(f"{run('It is 5 ')}<m:oMath>{formula}</m:oMath>{run(' now.')}")
    assert read(body) == f"It is 5 {shown} now."


def test_a_formula_behind_a_number_does_not_join_it() -> None:
    assert (
        read(paragraph(f"{run('3')}<m:oMath>{fraction('1', '2')}</m:oMath>{run('0')}")) == "3 1/2 0"
    )


@pytest.mark.sweep(first=2)
@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ('<w:r><w:sym w:font="Symbol" w:char="F0B1"/></w:r>', "±"),
        ('<w:r><w:sym w:font="Wingdings" w:char="F0FE"/></w:r>', "☑"),
        ('<w:r><w:sym w:font="Arial" w:char="00B0"/></w:r>', "°"),
        (run("m", '<w:rFonts w:ascii="Symbol"/>'), "μ"),
        (run("\uf0a3"), "≤"),
        ('<w:r><w:fldChar><w:ffData><w:checkBox><w:checked/></w:checkBox></w:ffData></w:fldChar></w:r>', "☒"),
    ],
)  # fmt: skip
def test_symbols_are_characters(content: str, shown: str) -> None:
    assert read(paragraph(f"{run('At 40 ')}{content}{run(' C')}")) == f"At 40 {shown} C"


def test_struck_out_runs_and_deleted_rows_are_not_read() -> None:
    runs = "".join(
        (
            run("Fare: "),
            run("12.50", "<w:strike/>"),
            run("13.00", "<w:dstrike/>"),
            run("14.80", '<w:strike w:val="0"/>'),
        )
    )
    cells = "<w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    rows = [
        f"<w:tr>{cells.format('Berth', 'Fee')}</w:tr>",
        f'<w:tr><w:trPr><w:del w:id="1"/></w:trPr>{cells.format("4", "999")}</w:tr>',
        f"<w:tr>{cells.format('5', '390')}</w:tr>",
    ]
    text = read(f"{paragraph(runs)}<w:tbl>{''.join(rows)}</w:tbl>")
    assert text == "Fare: 14.80\n\n| Berth | Fee |\n| --- | --- |\n| 5 | 390 |"


def test_the_reading_of_ruby_is_put_in_brackets() -> None:
    ruby = f"<w:ruby><w:rt>{run('とう')}</w:rt><w:rubyBase>{run('東')}</w:rubyBase></w:ruby>"
    assert read(paragraph(f"<w:r>{ruby}</w:r>{run('に')}")) == "東(とう)に"


def level(index: int, shown: str, number_format: str = "decimal", further: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{index}"><w:start w:val="1"/><w:numFmt w:val="{number_format}"/>{further}'
        f'<w:lvlText w:val="{shown}"/></w:lvl>'
    )


def numbered(*levels: str, lists: str = '<w:num w:numId="77"><w:abstractNumId w:val="76"/></w:num>') -> dict[str, Edit]:  # fmt: skip
    """A list with these levels, whose id is 77."""
    abstract = f'<w:abstractNum w:abstractNumId="76">{"".join(levels)}</w:abstractNum>'

    def numbering(part: bytes) -> bytes:
        before, start, behind = part.partition(b"<w:num ")
        return before + abstract.encode() + lists.encode() + start + behind

    return {"word/numbering.xml": numbering}


def item(text: str, level: int, list_id: int = 77) -> str:
    properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{list_id}"/></w:numPr>'
    return paragraph(run(text) if text else "", properties)


def test_clauses_have_the_numbers_of_all_levels() -> None:
    edits = numbered(level(0, "%1."), level(1, "%1.%2"), level(2, "(%3)", "lowerLetter"))
    levels = [0, 1, 1, 2, 2, 0, 1, 2]
    body = "".join(item(f"Clause {index}.", depth) for index, depth in enumerate(levels))
    assert [line.partition(" ")[0] for line in read(body, edits).split("\n\n")] == [
        "1.", "1.1", "1.2", "(a)", "(b)", "2.", "2.1", "(a)",
    ]  # fmt: skip


def test_numbers_have_their_formats_and_words() -> None:
    edits = numbered(
        level(0, "Article %1", "upperRoman"),
        level(1, "Section %1.%2", "decimalZero", "<w:isLgl/>"),
        level(2, "%3)", "ordinal", '<w:lvlRestart w:val="0"/>'),
        level(3, "\uf0b7", "bullet"),
    )
    levels = [0, 0, 0, 0, 1, 2, 0, 2, 3]
    text = read("".join(item("Text.", depth) for depth in levels), edits)
    assert [line.removesuffix(" Text.") for line in text.split("\n\n")] == [
        "Article I", "Article II", "Article III", "Article IV", "Section 4.1", "1st)", "Article V",
        "2nd)", "-",
    ]  # fmt: skip


def test_a_list_restarts_where_word_restarts_it_and_counts_empty_paragraphs() -> None:
    lists = (
        '<w:num w:numId="77"><w:abstractNumId w:val="76"/></w:num>'
        '<w:num w:numId="78"><w:abstractNumId w:val="76"/></w:num>'
        '<w:num w:numId="79"><w:abstractNumId w:val="76"/><w:lvlOverride w:ilvl="0">'
        '<w:startOverride w:val="7"/></w:lvlOverride></w:num>'
    )
    edits = numbered(level(0, "%1."), lists=lists)
    body = "".join(
        (
            item("First", 0),
            item("", 0),
            item("Third", 0),
            item("Continued", 0, 78),
            item("Anew", 0, 79),
            item("Then", 0, 79),
            item("None", 0, 0),
        )
    )
    assert read(body, edits).split("\n\n") == [
        "1. First", "3. Third", "4. Continued", "7. Anew", "8. Then", "None",
    ]  # fmt: skip


def test_numbers_come_from_styles_too() -> None:
    style = (
        '<w:style w:type="paragraph" w:styleId="Clause"><w:name w:val="Clause"/><w:pPr><w:numPr>'
        '<w:numId w:val="77"/></w:numPr></w:pPr></w:style>'
        '<w:style w:type="paragraph" w:styleId="Head"><w:name w:val="Head"/><w:basedOn w:val="Clause"/>'
        '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style></w:styles>'
    )
    edits = numbered(
        level(0, "%1", further='<w:pStyle w:val="Head"/>'),
        level(1, "%1.%2", further='<w:pStyle w:val="Clause"/>'),
    )
    edits["word/styles.xml"] = replacing(b"</w:styles>", style.encode())
    body = paragraph(run("Rent"), '<w:pStyle w:val="Head"/>') + paragraph(
        run("It is 410 euros."), '<w:pStyle w:val="Clause"/>'
    )
    assert read(body, edits) == "# 1 Rent\n\n1.1 It is 410 euros."


def test_diagrams_and_charts_are_text_of_the_document() -> None:
    def point(number: int, text: str) -> str:
        return f'<dgm:pt modelId="{number}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t></dgm:pt>'

    diagram = (
        f'<dgm:dataModel xmlns:dgm="{DRAWING}/diagram" xmlns:a="{DRAWING}/main"><dgm:ptLst>'
        f'<dgm:pt modelId="0" type="doc"/>{point(3, "Repair in May")}{point(1, "Plan")}{point(2, "Dredging in April")}'
        '</dgm:ptLst><dgm:cxnLst><dgm:cxn srcId="0" destId="1" srcOrd="0"/>'
        '<dgm:cxn srcId="1" destId="3" srcOrd="1"/><dgm:cxn srcId="1" destId="2" srcOrd="0"/>'
        "</dgm:cxnLst></dgm:dataModel>"
    )
    values = "".join(
        f'<c:{name}><c:{kind}Ref><c:{kind}Cache><c:pt idx="0"><c:v>{value}</c:v></c:pt></c:{kind}Cache></c:{kind}Ref></c:{name}>'
        for name, kind, value in (("tx", "str", "Ships"), ("cat", "str", "1901"), ("val", "num", "12"))
    )  # fmt: skip
    chart = f'<c:chartSpace xmlns:c="{DRAWING}/chart"><c:chart><c:ser>{values}</c:ser></c:chart></c:chartSpace>'
    relations = "".join(
        f'<Relationship Id="{key}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for key, kind, target in (
            ("rId91", "diagramData", "diagrams/data1.xml"),
            ("rId92", "chart", "charts/chart1.xml"),
        )
    )
    edits: dict[str, Edit] = {
        "word/diagrams/data1.xml": lambda _: diagram.encode(),
        "word/charts/chart1.xml": lambda _: chart.encode(),
        "word/_rels/document.xml.rels": replacing(
            b"</Relationships>", f"{relations}</Relationships>".encode()
        ),
    }
    shown = "".join(
        (
            f'<dgm:relIds xmlns:dgm="{DRAWING}/diagram" xmlns:r="{RELATIONS}" r:dm="rId91"/>',
            f'<c:chart xmlns:c="{DRAWING}/chart" xmlns:r="{RELATIONS}" r:id="rId92"/>',
        )
    )
    body = paragraph(f"{run('The plan:')}<w:r><w:drawing>{shown}</w:drawing></w:r>") + paragraph(
        run("The end.")
    )
    assert read(body, edits).split("\n\n") == [
        "The plan:",
        "- Plan",
        "- Dredging in April",
        "- Repair in May",
        "| | Ships |\n| --- | --- |\n| 1901 | 12 |",
        "The end.",
    ]


def test_an_embedded_object_is_named_in_the_note() -> None:
    shown = b'<w:object><o:OLEObject xmlns:o="urn:schemas-microsoft-com:office:office"/></w:object>'
    edits = {BODY: replacing(b"</w:r></w:p>", shown + b"</w:r></w:p>")}
    extract = parse(edited(word(), edits), "a.docx")
    assert extract.text == TEXT
    assert extract.note == "embedded objects that were not read: 1"
