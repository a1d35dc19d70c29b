"""Citations are recognised in all forms that models write, and other text is not."""

from __future__ import annotations

import pytest

from deep_research.core.evidence.citations.markers import plain_prose

KNOWN = range(1, 4)


@pytest.mark.parametrize(
    ("written", "marker"),
    [
        *(("【1†source】", "[1]"), ("【1:0†L1-L4】", "[1]"), ("[1†12]", "[1]")),
        *(("[^1]", "[1]"), ("[#2]", "[2]"), ("[citation:3]", "[3]"), ("[ref 2]", "[2]")),
        ("[[1]](https://example.com/x)", "[1]"),
        *(("[Source 1]", "[1]"), ("[Sources 1, 3]", "[1, 3]"), ("[document 2]", "[2]"), ("[Doc 2]", "[2]")),
        *(("[1-2]", "[1, 2]"), ("[1–3]", "[1, 2, 3]"), ("[1;3]", "[1, 3]")),
        *(("[3-5]", "[3, 4, 5]"), ("<sup>[1]</sup>", "[1]")),
        *((" ¹", " [1]"), ("¹", "[1]"), ("［1］", "[1]"), ("**[1]**", "**[1]**")),
    ],
)
def test_each_form_of_a_marker_names_its_sources(written: str, marker: str) -> None:
    assert plain_prose(f"Lit in 1844.{written}\nOn 3 May.", KNOWN) == f"Lit in 1844.{marker}\nOn 3 May."


@pytest.mark.parametrize(
    "text",
    [
        "A pool of 20 m² and 10³ litres.",
        "See [Table 1], [2024] and [4].",
        "From [1-90] nothing follows.",
        "`x[^1]` and\n```\ny[1-2]\n```",
        "[^1]: The log of 1850.",
        "Lit in 1844. [1](https://e.example/x)",
        "A [link](https://example.com/1) and [Skerry 1](https://example.com).",
    ],
)
def test_text_that_names_no_known_source_stays_unchanged(text: str) -> None:
    assert plain_prose(text, KNOWN) == text


@pytest.mark.parametrize(
    ("text", "prose"),
    [
        ("```markdown\n# Light\n\nLit. [1]\n```", "# Light\n\nLit. [1]"),
        ("```\nLit. [1]\n```", "Lit. [1]"),
        ("Here is the report:\n\n```markdown\n# Light\n\nLit. [1]\n```\n", "# Light\n\nLit. [1]"),
        ("Sure!\n\n~~~md\nLit. [1]\n~~~", "Lit. [1]"),
        (
            "As written:\n\n```markdown\n# Light\n```\n\nLit. [1]",
            "As written:\n\n```markdown\n# Light\n```\n\nLit. [1]",
        ),
        ("```python\nprint(1)\n```", "```python\nprint(1)\n```"),
        ("```\na\n```\nb\n```", "```\na\n```\nb\n```"),
        ('{"report": "Lit. [1]\\n\\nOn 3 May."}', "Lit. [1]\n\nOn 3 May."),
        ('{"report": "Lit. [1]", "title": "Light"}', '{"report": "Lit. [1]", "title": "Light"}'),
        ("<p>Lit. [1]</p>\n\n<p>On 3 May.</p>", "Lit. [1]\n\nOn 3 May."),
    ],
)
def test_wrappers_around_an_answer_are_removed(text: str, prose: str) -> None:
    assert plain_prose(text, KNOWN) == prose
