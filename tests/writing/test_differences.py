"""Two versions of a text are compared by block and by word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deep_research.core.writing._differences import BlockDifference, text_differences

REPORT = """# The light

The Skerry Light was lit in 1844. [1] It stands 38 metres tall. [2]

| Light | Lit |
| --- | --- |
| Skerry | 1844 [1] |
| Anlow | 1901 [2] |

- Ada Moran kept it. [3]
- The ferry sails twice a day. [4]
"""


def marked(difference: BlockDifference) -> str:
    """A block with what was removed as `{-…}` and what was added as `{+…}`."""
    signs = {"same": "{}", "removed": "{{-{}}}", "added": "{{+{}}}"}
    return "".join(signs[piece.change].format(piece.text) for piece in difference.pieces)


def changes(before: str, after: str) -> list[str]:
    return [marked(block) for block in text_differences(before, after) if block.is_changed]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("lit in 1844. [1]", "lit in 1846. [1]", ["lit in{- 1844}{+ 1846}. [1]"]),
        ("1844. [1]", "1844. [1, 2]", ["The Skerry Light was lit in 1844.{- [1]}{+ [1, 2]}"]),
        ("38 metres", "some 40 metres", ["It stands{- 38}{+ some 40} metres"]),
        ("was lit in 1844", "first shone in 1844", ["Light{- was lit}{+ first shone} in 1844"]),
        ("| 1844 [1] |", "| 1846 [1] |", ["| Skerry |{- 1844}{+ 1846} [1] |"]),
        ("- Ada Moran kept it. [3]\n", "", ["{-- Ada Moran kept it. [3]}"]),
        ("# The light\n", "# The light\n\nIn short.\n", ["{+In short.}"]),
    ],
)
def test_only_the_words_that_differ_are_marked(old: str, new: str, expected: list[str]) -> None:
    found = changes(REPORT, REPORT.replace(old, new))
    assert len(found) == len(expected)
    for block, part in zip(found, expected, strict=True):
        assert part in block


def test_a_new_column_changes_each_row_and_no_other_block() -> None:
    after = REPORT.replace("| Lit |", "| Lit | Tall |").replace("[1] |", "[1] | 38 m |")
    after = after.replace("| --- |\n", "| --- | --- |\n").replace("[2] |", "[2] | 9 m |")
    found = changes(REPORT, after)
    assert len(found) == 3
    assert found[1] == "| Skerry | 1844 [1] |{+ 38 m |}"


def test_a_block_that_has_moved_is_removed_and_added() -> None:
    item = "- Ada Moran kept it. [3]\n"
    first, second = sorted(changes(REPORT, f"{REPORT.replace(item, '')}{item}"))
    assert first.startswith("{+- ") and second == first.replace("{+- ", "{-- ")


def test_words_of_scripts_without_spaces_are_compared_by_character() -> None:
    assert changes("灯台は1844年に点灯した。", "灯台は1846年に点灯した。") == [
        "灯台は{-1844}{+1846}年に点灯した。"
    ]


def test_a_space_alone_is_no_difference() -> None:
    assert changes("It  stands\ntall.", "It stands tall.") == []


def test_long_texts_are_compared_in_time_that_grows_with_their_length() -> None:
    words = " ".join(f"word{number}" for number in range(5_000))
    assert changes(words, f"{words} more") == [f"{{-{words}}}{{+{words} more}}"]
    blocks = "\n\n".join(f"Block {number} of {number * 7}." for number in range(1, 3_001))
    others = "\n\n".join(f"Part {number} at {number * 3}!" for number in range(1, 3_001))
    assert len(changes(blocks, others)) == 6_000


WORDS = st.sampled_from(["light", "1844", "[1]", "#", "- a", "|", "\n", "\n\n", ". ", "é", "灯"])


@given(st.lists(WORDS, max_size=30).map(" ".join), st.lists(WORDS, max_size=30).map(" ".join))
def test_the_pieces_make_up_both_texts(before: str, after: str) -> None:
    differences = text_differences(before, after)
    for text, other in ((before, "added"), (after, "removed")):
        words = list[str]()
        for block in differences:
            words += "".join(part.text for part in block.pieces if part.change != other).split()
        assert words == text.split()
    assert not any(block.is_changed for block in text_differences(before, before))
