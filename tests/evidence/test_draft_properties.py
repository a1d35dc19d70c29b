"""What holds for any draft, and that none takes long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.evidence.citations.citing import UNKNOWN
from deep_research.core.evidence.citations.drafts.fix import Fixed, clean_draft, fix_citations
from deep_research.core.evidence.citations.markers import Marker
from deep_research.core.evidence.citations.scanner import scan
from deep_research.core.records.sources import Source

MARKERS = ["[1]", "[2]", "[3]", "[9]", "[^1]", "【2】", "【3†L1-L5】", "[1-3]", "[2, 3]", "[0, 1]", "[2016]", "[[1]]"]
LINKS = [
    "[[1]](https://a.test/x)",
    "[2](https://b.test)",
    "[words](https://c.test/y)",
    "https://a.test/x/",
    "(https://d.test)",
]
LINKS += [
    "<https://e.test>",
    "![i](https://i.test/p.png)",
    "http://localhost/x",
    "[docs]",
    "[text][docs]",
    "https://",
    "](",
    "(",
]
WORDS = [
    "a",
    "word",
    "文字",
    "。",
    ". ",
    ",",
    " ",
    ")",
    "[",
    "]",
    "*",
    "|",
    "：",
    "12",
    "\\",
    "\n",
    "\n\n",
    "- ",
    "1. ",
    "> ",
    "# ",
]
LISTS = ["## Sources\n", "### 参考文献\n\n", "**Quellen**\n", "## Further reading\n", "Sources:\n", "---\n"]
LISTS += [
    "[1] Alpha: https://a.test/x\n",
    "[2] Beta https://www.b.test/?utm_source=q\n",
    "1. Gamma (https://c.test/y)\n",
]
LISTS += ["2. [Delta](https://d.test)\n", "- Eps: https://e.test\n", "- no address\n", "[^1]: Foot https://f.test\n"]
LISTS += [
    "[3]: https://g.test\n",
    "[3] Memory\n",
    "[docs]: https://h.test\n",
    "[4] X doi:10.1234/ab.c\n",
    "[5] docs/b.md\n",
]
CODE = ["`[1]`", "`", "``", "```\n", "~~~\n", "```"]

plain = st.lists(st.sampled_from(MARKERS + LINKS + WORDS + LISTS), max_size=22).map("".join)
drafts = st.lists(st.sampled_from(MARKERS + LINKS + WORDS + LISTS + CODE), max_size=22).map("".join) | st.text()
SOURCES = {
    number: Source(key=place, title=place[8:], location=place, address=place, kind="web", number=number)
    for number, place in {2: "https://a.test/x", 3: "https://b.test", 7: "https://c.test/y"}.items()
}


def markers_of(text: str) -> list[int]:
    return [number for part in scan(text) if isinstance(part, Marker) for number in part.numbers]


def parts_of(fixed: Fixed) -> tuple[str, list[int]]:
    """The text above the lists, and the numbers of the list."""
    end = "".join(f"- [{number}] {entry}\n" for number, entry in enumerate(fixed.sources, 1))
    if fixed.further:
        end += "\n" + fixed.text.rsplit("\n\n", 2)[1] + "\n\n" + "".join(f"- {entry}\n" for entry in fixed.further)
    assert fixed.text.endswith(end)
    return fixed.text.removesuffix(end), [*range(1, len(fixed.sources) + 1)]


@given(drafts)
def test_fixing_again_changes_nothing(draft: str) -> None:
    fixed = fix_citations(draft)
    again = fix_citations(fixed.text)
    assert again.text == fixed.text
    assert (again.counts.removed, again.counts.linked, again.counts.before) == (0, 0, fixed.counts.after)


@given(plain)
def test_numbers_run_from_one_in_order_of_first_use_and_each_is_listed_once(draft: str) -> None:
    fixed = fix_citations(draft)
    if fixed.sources:
        body, listed = parts_of(fixed)
        cited = [number for number in markers_of(body) if number < 1000]
        assert list(dict.fromkeys(cited)) == listed
        assert len(cited) == fixed.counts.after


@given(drafts, st.sampled_from(["```", "~~~~"]))
def test_code_in_a_fence_stays_as_it_is(text: str, fence: str) -> None:
    code = f"{fence}\n{text.replace('`', '').replace('~', '')}\n{fence}"
    listed = "\n\n## Sources\n\n[1] A: https://a.test\n[2] B: https://b.test\n"
    assert f"B [1]\n{code}\nA [2]\n" in fix_citations(f"B [2]\n{code}\nA [1]{listed}").text
    assert f"B [2]\n{code}\nA [3]" in clean_draft(f"B [2]\n{code}\nA [3] [4]", SOURCES).text


@pytest.mark.fault("R14")
@given(drafts)
def test_a_cleaned_draft_has_only_markers_of_known_numbers_and_of_nothing(draft: str) -> None:
    cleaned = clean_draft(draft, SOURCES)
    assert set(markers_of(cleaned.text)) <= {*SOURCES, UNKNOWN}


@given(st.text(alphabet=st.characters(exclude_characters="[【［<`\\:\r\n")))
def test_a_line_that_cites_nothing_stays_as_it_is(text: str) -> None:
    assert fix_citations(text).text == text
    assert clean_draft(text, SOURCES).text == text.rstrip()


HOSTILE = [
    "[",
    "]",
    "[]",
    "[[1]",
    "[1](",
    "[a](b ",
    "[1](a/b [1]",
    "`",
    "`[1]",
    "【3†",
    "[1-",
    "[1, ",
    "[^1]: ",
    "https://",
]
HOSTILE += [
    "https://a.test/(",
    "<a ",
    "\n",
    "## Sources\n",
    "Sources\n---\n",
    "[1] x\n",
    "  [1] x\n",
    "[1] https://a.test\n",
]
HOSTILE += [
    "1. https://a.test\n",
    "**",
    "> ",
    "![a](",
    "[1]",
    "[1]\n\n",
    "www.",
    "a.md/",
    "```\n",
    "\n\n[x]: https://a.test\n",
]


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(10)
def test_no_draft_takes_long(piece: str) -> None:
    # What takes the square of the length is cut off by the limit of the test.
    text = piece * (20_000 // len(piece))
    assert fix_citations(text).counts.before >= 0
    assert clean_draft(text, SOURCES).removed >= 0


def test_a_marker_in_a_title_is_no_citation() -> None:
    fixed = fix_citations("A [1].\n\n## Sources\n[1] See [4]: https://a.test\n[2] On [7] and (3): https://b.test\n")
    assert fixed.sources == ("See [4]: https://a.test",)
    assert re.search(r"- On \\\[7\\\] and", fixed.text)
