"""Search for trails: passages that answer a question together are found among others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.files import Papers, source_of

from deep_research.core.library._index import Index
from deep_research.core.library._index_file import IndexedFile
from deep_research.core.library._shelf import IndexShelf
from deep_research.core.library._trails import (
    TRAIL_PASSAGES,
    distinctiveness,
    find_trails,
    passages_of,
)

QUESTION = (
    "What did the ships carry for which the harbour was deepened in the town where the founder of the Velm Observatory "
    "was born?"
)
"""The answer is in the last linked document, which only the two before it lead to."""
LINKED = {
    "Velm Observatory": "The Velm Observatory stands on a hill above the river. It was founded by Ada Lindqvist.",
    "Ada Lindqvist": "Ada Lindqvist was an engineer. She was born at Porto Alto, where her mother built boats.",
    "Porto Alto": "Porto Alto is a town on the coast. Its harbour was deepened for ships that carried salt.",
}
"""Each names the next."""
NAMESAKES = {
    "Lindqvist Street": "Lindqvist Street leads from the market to the station. It was paved in a dry summer.",
    "Alto": "An alto is a voice between soprano and tenor. Few choirs have enough of them.",
}
"""They only share parts of names with the linked ones."""
SHARING = {
    **{
        f"Founders {founder}": f"A {founder} founded an observatory. The founder was born in a year of plague."
        for founder in ("merchant", "bishop", "widow", "sailor", "king", "teacher")
    },
    **{
        f"Harbours {goods}": f"A harbour of the town where a founder was born carried {goods}; what ships carried paid."
        for goods in ("timber", "wine", "tin", "wool", "coal", "iron")
    },
}
"""They have more words of the question than the linked ones, and lead nowhere."""
HOSTILE = [
    *(
        'Harbour" OR title:*',
        "NEAR(harbour town, 3)",
        "'; DROP TABLE passages; --",
        "(a+)+$ [harbour",
        "A" * 5_000,
    ),
    *(
        "\\1 \\p{L} (?P<harbour>",
        "Harbour\u202e\u0000 of\u200b Velm",
        "Œuvre ﬁne İstanbul ß",
        "港口 ท่าเรือ 항구",
    ),
    *("%s {harbour} ${town}", ""),
]
WORDS = st.sampled_from(
    [
        "Velm",
        "Ada Lindqvist",
        "Porto Alto",
        "Alto",
        "the",
        "of",
        "harbour",
        "town",
        "founder",
        "born",
        "salt",
        "ships",
    ]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words) + ".") | st.text(
    max_size=80
)
WORLDS_OF_WORDS = st.dictionaries(
    st.sampled_from("ABCDEFGH").map("Paper {}".format) | WORDS, TEXTS, max_size=8
)


@contextmanager
def shelf_of(texts: Mapping[str, str]) -> Iterator[IndexShelf]:
    """An index of texts by title, without files."""
    with TemporaryDirectory() as folder:
        index = Index(Path(folder) / "indexes" / "a.sqlite")
        index.change(
            [
                IndexedFile(title, 1, 1, title, title=title, content_hash=title, text=texts[title])
                for title in texts
            ]
        )
        with index.reading(source_of) as reader:
            yield IndexShelf([reader])


def test_a_folder_of_documents_is_followed_along_the_trail(tmp_path: Path) -> None:
    papers = Papers(tmp_path / "docs", tmp_path / "data")
    papers.docs.mkdir()
    for title, text in (NAMESAKES | SHARING | LINKED).items():
        (papers.docs / f"{title}.md").write_text(f"# {title}\n\n{text}\n", "utf-8")
    library = papers.indexed()
    followed = dict.fromkeys(passage.source.title for passage in library.follow(QUESTION, 25))
    assert [*followed][:3] == [*LINKED]
    found = [passage.source.title for passage in library.search(QUESTION, 25)]
    assert "Ada Lindqvist" not in found[:10], (
        "the words of the question alone do not find what lies in between"
    )


def test_a_name_in_more_passages_is_less_distinctive() -> None:
    weights = [distinctiveness(1_000, holders) for holders in (2, 10, 100, 999)]
    assert weights[0] == 1.0
    assert weights == sorted(set(weights), reverse=True)
    assert (distinctiveness(1_000, 1_000), distinctiveness(1_000, 0)) == (0.0, 0.0)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_of_any_kind_does_not_hide_the_trail(name: str) -> None:
    stranger = f"# {name}\n\nOnce called “{name}”, as {name} was known to Ada Lindqvist."
    with shelf_of(LINKED | {"Stranger": stranger, name: "A hat."}) as shelf:
        passages = passages_of(find_trails(f"{QUESTION} {name} “{name}”", shelf), 5)
        assert {candidate.title for candidate in passages} >= LINKED.keys()


@settings(max_examples=20)
@given(WORLDS_OF_WORDS, st.lists(WORDS, max_size=8).map(" ".join) | st.text(max_size=80))
def test_trails_are_short_distinct_and_best_first(texts: dict[str, str], question: str) -> None:
    with shelf_of(texts) as shelf:
        trails = find_trails(question, shelf)
    assert [trail.value for trail in trails] == sorted(
        (trail.value for trail in trails), reverse=True
    )
    assert len({frozenset(trail.steps) for trail in trails}) == len(trails)
    for trail in trails:
        assert 1 <= len(trail.steps) == len(set(trail.steps)) <= TRAIL_PASSAGES
        assert {step.title for step in trail.steps} <= texts.keys()
    assert len(passages_of(trails, 3)) <= 3
