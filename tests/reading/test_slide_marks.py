"""Diagrams, formulas, symbols and numbers of slides are read as PowerPoint shows them; what it hides
is not."""

from __future__ import annotations

import io
from typing import Any

import pptx
import pytest
from kit.files import Edit, edited, file_of, replacing, saved
from lxml import etree
from PIL import Image
from pptx.util import Inches

from deep_research.core.reading.documents.worker import parse

MAIN = "http://schemas.openxmlformats.org/drawingml/2006/main"
DIAGRAM = "http://schemas.openxmlformats.org/drawingml/2006/diagram"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
NAMES = (
    f'xmlns:a="{MAIN}" xmlns:a14="http://schemas.microsoft.com/office/drawing/2010/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
)


def slide_with(paragraphs: str) -> str:
    """The lines of a slide with these paragraphs."""
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    frame = slide.shapes.add_textbox(0, 0, Inches(3), Inches(1)).text_frame
    body = frame._txBody
    body.remove(frame.paragraphs[0]._p)
    for paragraph in etree.fromstring(f"<a {NAMES}>{paragraphs}</a>"):
        body.append(paragraph)
    return parse(saved(show), "a.pptx").text.partition("\n\n")[2]


def run(text: str, properties: str = "") -> str:
    return f"<a:r><a:rPr {properties}/><a:t>{text}</a:t></a:r>"


POWER = "<m:sSup><m:e><m:r><m:t>10</m:t></m:r></m:e><m:sup><m:r><m:t>6</m:t></m:r></m:sup></m:sSup>"


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        (run("12.50", 'strike="sngStrike"') + run("14.80", 'strike="noStrike"'), "14.80"),
        (run("12.50", 'strike="dblStrike"') + run("14.80"), "14.80"),
        (f"<a14:m><m:oMath>{POWER}</m:oMath></a14:m>", "10^6"),
        (run("\uf0b1"), "±"),
        ('<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>\uf0e0</a:t></a:r>', "→"),
        ('<a:r><a:rPr><a:sym typeface="Wingdings"/></a:rPr><a:t>km</a:t></a:r>', "km"),
    ],
)
def test_struck_out_text_formulas_and_symbols_of_a_slide(content: str, shown: str) -> None:
    text = slide_with(f"<a:p>{run('At 5 ')}{content}{run(' now.')}</a:p>")
    assert text == f"At 5 {shown} now."


def test_the_shape_with_a_formula_is_read_and_the_picture_for_older_programs_is_not() -> None:
    show = pptx.Presentation()
    slide = show.slides.add_slide(show.slide_layouts[6])
    tree = slide.shapes._spTree
    shape = (
        '<p:sp><p:nvSpPr><p:cNvPr id="9" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/>'
        "<p:txBody><a:bodyPr/><a:p>{}</a:p></p:txBody></p:sp>"
    )
    formula = f"{run('Loss: ')}<a14:m><m:oMath>{POWER}</m:oMath></a14:m>"
    alternatives = (
        f'<mc:AlternateContent {NAMES}><mc:Choice Requires="a14">{shape.format(formula)}</mc:Choice>'
        f"<mc:Fallback>{shape.format(run('SECRET'))}</mc:Fallback></mc:AlternateContent>"
    )
    tree.append(etree.fromstring(alternatives))
    assert parse(saved(show), "a.pptx").text == "## Slide 1\n\n- Loss: 10^6"


def test_paragraphs_have_the_numbers_that_the_slide_shows() -> None:
    def item(text: str, level: int, numbering: str) -> str:
        return f'<a:p><a:pPr lvl="{level}">{numbering}</a:pPr>{run(text)}</a:p>'

    paragraphs = "".join(
        (
            item("First", 0, '<a:buAutoNum type="arabicPeriod" startAt="3"/>'),
            item("inner", 1, '<a:buAutoNum type="alphaLcParenR"/>'),
            item("inner", 1, '<a:buAutoNum type="alphaLcParenR"/>'),
            item("Second", 0, '<a:buAutoNum type="arabicPeriod" startAt="3"/>'),
            item("inner", 1, '<a:buAutoNum type="romanUcParenBoth"/>'),
            item("Point", 0, ""),
            item("Anew", 0, '<a:buAutoNum type="arabicPlain"/>'),
        )
    )
    assert slide_with(paragraphs).split("\n\n") == [
        "3. First", "a) inner", "b) inner", "4. Second", "(I) inner", "- Point", "1 Anew",
    ]  # fmt: skip


def test_the_texts_of_a_diagram_are_read_in_their_order() -> None:
    def point(number: int, text: str, kind: str = "node") -> str:
        return (
            f'<dgm:pt modelId="{number}" type="{kind}"><dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p>'
            "</dgm:t></dgm:pt>"
        )

    data = (
        f'<dgm:dataModel xmlns:dgm="{DIAGRAM}" xmlns:a="{MAIN}"><dgm:ptLst>'
        f"{point(0, '', 'doc')}{point(2, 'Dredging')}{point(1, 'Survey')}{point(5, 'SECRET', 'pres')}"
        '</dgm:ptLst><dgm:cxnLst><dgm:cxn srcId="0" destId="1" srcOrd="0"/>'
        '<dgm:cxn srcId="0" destId="2" srcOrd="1"/></dgm:cxnLst></dgm:dataModel>'
    )
    frame = (
        f'<p:graphicFrame xmlns:a="{MAIN}" xmlns:r="{RELATIONS}"><p:nvGraphicFramePr>'
        '<p:cNvPr id="9" name="Diagram"/><p:cNvGraphicFramePr/><p:nvPr/></p:nvGraphicFramePr><p:xfrm>'
        f'<a:off x="0" y="0"/><a:ext cx="1" cy="1"/></p:xfrm><a:graphic><a:graphicData uri="{DIAGRAM}">'
        f'<dgm:relIds xmlns:dgm="{DIAGRAM}" r:dm="rId90"/></a:graphicData></a:graphic></p:graphicFrame>'
    )
    relation = (
        f'<Relationship Id="rId90" Type="{RELATIONS}/diagramData" Target="../diagrams/data1.xml"/>'
    )
    show = pptx.Presentation()
    show.slides.add_slide(show.slide_layouts[6])
    edits: dict[str, Edit] = {
        "ppt/diagrams/data1.xml": lambda _: data.encode(),
        "ppt/slides/slide1.xml": replacing(b"</p:spTree>", f"{frame}</p:spTree>".encode()),
        "ppt/slides/_rels/slide1.xml.rels": replacing(
            b"</Relationships>", f"{relation}</Relationships>".encode()
        ),
    }
    text = parse(edited(saved(show), edits), "a.pptx").text
    assert text == "## Slide 1\n\n- Survey\n\n- Dredging"


def test_hidden_slides_and_shapes_are_not_read_and_a_note_names_the_slides() -> None:
    show = pptx.Presentation()
    for title in ("First", "SECRET", "Third"):
        show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = title
    show.slides[1]._element.set("show", "0")
    box: Any = show.slides[2].shapes.add_textbox(0, 0, Inches(3), Inches(1))
    box.text_frame.text = "SECRET"
    next(box._element.iter("{*}cNvPr")).set("hidden", "1")
    extract = parse(saved(show), "a.pptx")
    assert extract.text == "## First\n\n## Third"
    assert extract.note == "not read, because hidden: slides 2"


def test_a_slide_that_is_a_picture_is_named() -> None:
    show = pptx.Presentation()
    show.slides.add_slide(show.slide_layouts[5]).shapes.title.text = "Plan"
    slide = show.slides.add_slide(show.slide_layouts[6])
    slide.shapes.add_picture(io.BytesIO(file_of(Image.new("L", (20, 20)))), 0, 0)
    assert parse(saved(show), "a.pptx").note == "not read, because they are pictures: slides 2"
