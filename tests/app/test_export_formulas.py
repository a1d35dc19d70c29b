"""Formulas in reports: which text is one, and how they are set in pages and in Word."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import docx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kit.reports import faults, tree, words, written

from deep_research.app.exports._formulas import formulas_in
from deep_research.app.exports._page import report_page
from deep_research.app.exports._word import report_docx
from deep_research.core.reading.documents.worker import parse

TEXT = r"""## The root $x_1$

It pays if $S > C$ [1], at $5,000 to $7,000. With $n$ years:

$$\text{NPV} = \sum_{t=1}^{n} \frac{S_t}{(1+r)^t}$$

The root is $\sqrt[3]{x}$ **and $\bar{x}$** [2]; `$x$`, $\foo x_{$ and $\href{https://e.example}{x}$.

| Loss | Formula |
|---|---|
| A | $10^3$ |
"""


def test_formulas_are_set_in_mathml_and_what_is_none_stays_as_it_is() -> None:
    page = tree(written(TEXT))
    formulas = page.xpath("//article//math")
    assert [formula.get("alttext") for formula in formulas] == [
        "x_1",
        "S > C",
        "n",
        r"\text{NPV} = \sum_{t=1}^{n} \frac{S_t}{(1+r)^t}",
        r"\sqrt[3]{x}",
        r"\bar{x}",
        r"\href{https://e.example}{x}",
        "10^3",
    ]
    displays = [formula.get("display") for formula in formulas]
    assert displays == [*["inline"] * 3, "block", *["inline"] * 4]
    assert words(formulas[5]) == "x\u0304" and formulas[5].getparent().tag == "strong"
    assert len(formulas[3].xpath(".//mfrac/*")) == 2
    text = words(page.find(".//article"))
    assert "at $5,000 to $7,000." in text and "$x$, $\\foo x_{$ and" in text
    # The degree of a root is no citation, and no link comes from a formula.
    cites = page.xpath("//article//*[starts-with(@class, 'cite')]")
    assert [cite.text for cite in cites] == ["1", "2"]
    assert words(page.xpath("//nav//li")[0]) == "The root x1"
    assert "e.example" not in {*page.xpath("//article//@href")}


def test_formulas_of_a_document_for_word_are_native() -> None:
    data = report_docx(written(TEXT))
    document: Any = docx.Document(BytesIO(data))
    assert len(document.element.body.xpath(".//m:oMath")) == 8
    assert len(document.element.body.xpath(".//m:oMathPara")) == 1
    text = parse(data, "report.docx").text
    for formula in (
        "# The root x1",
        "It pays if S>C [1], at",
        "With n years:",
        "NPV=∑_(t=1)^n(S_t)/((1+r)^t)",
        "The root is x^(1/3) and x\u0304 [2];",
        "| A | 10^3 |",
    ):
        assert formula in text


@pytest.mark.parametrize(
    "latex",
    [
        r"\text{<script>alert(1)</script>}",
        r"\text{<a href='https://e.example'>x</a>}",
        r"x_{\mathrm{\</mi><script>}}",
        "x_" + "{" * 200,
        r"\frac{" * 100 + "1" + "}{2}" * 100,
        "a_1 & b",
    ],
)
def test_a_formula_brings_no_other_markup_into_a_page(latex: str) -> None:
    assert list(faults(report_page(written(f"It is ${latex}$ so.")))) == []


AMOUNTS = st.from_regex(r"\$[0-9]{1,3}(,[0-9]{3})?(\.[0-9])?( ?(million|bn|m|k))?", fullmatch=True)
JOINTS = st.sampled_from([" to ", "–", "-", " and ", "/", ", ", " (", ") = ", "+", " < ", "; US"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(AMOUNTS, JOINTS), min_size=2, max_size=5))
@example([("$5", " = "), ("$6", "$")])
def test_prices_in_dollars_are_no_formulas(prices: list[tuple[str, str]]) -> None:
    text = "It costs " + "".join(amount + joint for amount, joint in prices)
    assert list(formulas_in(text)) == []
