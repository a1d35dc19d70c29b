"""The search for trails: which passages answer a question together, whatever else lies beside them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trail_world import LINKED, NAMESAKES, QUESTION, SHARING, Folder, MemoryShelf, memory_shelf

from deep_research.core.evidence.text.words import plain_run
from deep_research.core.library.candidates import Candidate, read_query
from deep_research.core.library.index import Index
from deep_research.core.library.shelf import IndexShelf, OpenIndex, Passage
from deep_research.core.library.trails import FIRMEST, LONGEST, Links, Trail, find_trails, passages_of, telling

THE_TRAIL = ["Velm Observatory", "Ada Lindqvist", "Porto Alto"]
WORLDS = {
    "alone": LINKED,
    "beside namesakes": NAMESAKES | LINKED,
    "beside others with more of the words": SHARING | LINKED,
    "beside all of them": NAMESAKES | SHARING | LINKED,
}
HOSTILE = [
    'Harbour" OR title:*',
    "NEAR(harbour town, 3)",
    "'; DROP TABLE passages; --",
    "(a+)+$ [harbour",
    "\\1 \\p{L} (?P<harbour>",
    "Harbour\u202e\u0000 of\u200b Velm",
    "Œuvre ﬁne İstanbul ß",
    "港口 ท่าเรือ 항구",
    "%s {harbour} ${town}",
    "A" * 5_000,
    "",
]
WORDS = st.sampled_from(
    ["Velm", "Ada Lindqvist", "Porto Alto", "Alto", "the", "of", "harbour", "town", "founder", "born", "salt", "ships"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=12).map(lambda words: " ".join(words) + ".")
WORLDS_OF_WORDS = st.dictionaries(st.sampled_from("ABCDEFGH").map("Paper {}".format) | WORDS, TEXTS, max_size=8)


def unread(number: int) -> Passage:
    raise AssertionError(f"passage {number} was read")


def titles(trail: Trail) -> list[str]:
    return [step.title for step in trail.steps]


def links(question: str, shelf: MemoryShelf) -> Links:
    return Links(read_query(question, shelf.size, shelf.counted), shelf)


def told(question: str, texts: Mapping[str, str]) -> list[tuple[list[str], float]]:
    return [(titles(trail), trail.worth) for trail in find_trails(question, memory_shelf(texts))]


@pytest.mark.parametrize("texts", WORLDS.values(), ids=WORLDS)
def test_the_best_trail_leads_from_the_question_to_its_answer(texts: dict[str, str]) -> None:
    assert titles(find_trails(QUESTION, memory_shelf(texts))[0]) == THE_TRAIL


@pytest.mark.parametrize("texts", WORLDS.values(), ids=WORLDS)
def test_a_folder_of_documents_is_followed_along_the_trail(texts: dict[str, str], tmp_path: Path) -> None:
    assert Folder.of(texts, tmp_path).titles(QUESTION)[:3] == THE_TRAIL


def test_the_words_of_the_question_alone_do_not_find_the_document_in_between(tmp_path: Path) -> None:
    folder = Folder.of(WORLDS["beside all of them"], tmp_path)
    assert "Ada Lindqvist" not in folder.searched(QUESTION)[:10]


def test_a_namesake_is_no_part_of_the_trail() -> None:
    best = find_trails(QUESTION, memory_shelf(NAMESAKES | LINKED))[0]
    assert not NAMESAKES.keys() & set(titles(best))


def test_a_name_that_many_share_binds_less_than_a_rare_one() -> None:
    crowd = {f"Minutes {number}": f"The Harbour Board met {number} times." for number in range(40)}
    pair = {
        "Lighthouse": "The Harbour Board built it, and Mara Ellingsen drew its plans.",
        "Pier": "The Harbour Board paid for it.",
        "Sketchbook": "Drawn by Mara Ellingsen on a journey.",
    }
    shelf = memory_shelf(crowd | pair)
    found = {one.title: one for one in shelf.search(["board", "drawn"], 50)}
    between = links("Who drew the lighthouse?", shelf).between
    assert between(found["Lighthouse"], found["Sketchbook"]) > 4 * between(found["Lighthouse"], found["Pier"])


def test_a_name_tells_the_less_the_more_passages_hold_it() -> None:
    told_by = [telling(1_000, holders) for holders in (2, 10, 100, 999)]
    assert told_by[0] == 1.0
    assert told_by == sorted(set(told_by), reverse=True)
    assert (telling(1_000, 1_000), telling(1_000, 0)) == (0.0, 0.0)


def test_documents_added_in_another_order_lead_along_the_same_trails(tmp_path: Path) -> None:
    texts = WORLDS["beside all of them"]
    at_once = Folder.of(texts, tmp_path / "at once")
    later = Folder.at(tmp_path / "later")
    for title in sorted(texts, key=lambda title: title[::-1]):
        (later.place.docs / f"{title}.md").write_text("To be written.", "utf-8")
    later.place.indexed()
    for part in (SHARING, NAMESAKES, LINKED):
        later.add(part)
    assert later.titles(QUESTION) == at_once.titles(QUESTION)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_of_any_kind_does_not_hide_the_trail(name: str, tmp_path: Path) -> None:
    texts = LINKED | {"Stranger": f"# {name}\n\nOnce called “{name}”, as {name} was known to Ada Lindqvist."}
    passages = passages_of(find_trails(f"{QUESTION} {name} “{name}”", memory_shelf(texts | {name: "A hat."})), 5)
    assert {one.title for one in passages} >= set(THE_TRAIL)
    assert set(Folder.of(texts, tmp_path).titles(f"{QUESTION} {name} “{name}”")) >= set(THE_TRAIL)


@pytest.mark.parametrize("question", ["", "?", "the of", "harbour", "x" * 5_000])
def test_what_is_no_question_leads_to_what_holds_it_or_nowhere(question: str) -> None:
    held = {step.title for trail in find_trails(question, memory_shelf(LINKED)) for step in trail.steps}
    assert held <= {"Porto Alto"}


def test_a_word_is_counted_alike_in_memory_and_in_an_index(tmp_path: Path) -> None:
    place = Folder.of(NAMESAKES | SHARING | LINKED, tmp_path).place
    with Index(place.index_file()).reading() as reader:
        for words in (["harbour"], ["harbour", "founder"], ["salt", "salt", "voice"], ["unheard"]):
            in_index = IndexShelf([OpenIndex(reader, unread)]).counted(words)
            assert memory_shelf(NAMESAKES | SHARING | LINKED).counted(words) == in_index


def test_nothing_leads_anywhere_without_documents() -> None:
    assert find_trails(QUESTION, memory_shelf({})) == []


@settings(max_examples=60)
@given(WORLDS_OF_WORDS, st.randoms(use_true_random=False))
def test_the_order_of_adding_changes_no_trail(texts: dict[str, str], random: Random) -> None:
    shuffled = random.sample(list(texts), len(texts))
    assert told(QUESTION, {title: texts[title] for title in shuffled}) == told(QUESTION, texts)


@settings(max_examples=60)
@given(WORLDS_OF_WORDS, st.lists(WORDS, max_size=8).map(" ".join))
def test_trails_are_short_distinct_and_best_first(texts: dict[str, str], question: str) -> None:
    trails = find_trails(question, memory_shelf(texts))
    assert [trail.worth for trail in trails] == sorted((trail.worth for trail in trails), reverse=True)
    assert len({frozenset(trail.steps) for trail in trails}) == len(trails)
    for trail in trails:
        assert 1 <= len(trail.steps) == len(set(trail.steps)) <= LONGEST
        assert set(titles(trail)) <= texts.keys()
    assert len(passages_of(trails, 3)) <= 3


@settings(max_examples=60)
@given(WORLDS_OF_WORDS)
def test_passages_hang_together_both_ways(texts: dict[str, str]) -> None:
    shelf = memory_shelf(texts)
    found: list[Candidate] = shelf.search([word for text in texts.values() for word in text.lower().split()], 10)
    between, backwards = links(QUESTION, shelf).between, links(QUESTION, shelf).between
    for one in found:
        for other in found:
            assert 0.0 <= between(one, other) == backwards(other, one) <= FIRMEST


@given(WORLDS_OF_WORDS, st.lists(WORDS, min_size=1, max_size=6))
def test_passages_in_memory_are_found_as_if_each_was_read(texts: dict[str, str], names: list[str]) -> None:
    runs = {title: f"{plain_run(title)}|{plain_run(text)}" for title, text in texts.items()}
    words = [word for name in names for word in name.lower().split()]
    holders = {word: {title for title, run in runs.items() if f" {word} " in run} for word in words}
    shelf = memory_shelf(texts)
    assert shelf.counted(words) == sum(len(titles) for titles in holders.values())
    assert {one.title for one in shelf.search(words, 50)} == set().union(*holders.values())
    for name in names:
        holding = [one.title for one in shelf.holding(name, words, 50)]
        assert set(holding) == {title for title, run in runs.items() if plain_run(name) in run}
        assert len(holding) == shelf.holders(name)
        assert holding == sorted(holding, key=lambda title: (-sum(f" {word} " in runs[title] for word in words), title))


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=80), max_size=5), st.text(max_size=80))
def test_any_text_can_be_searched(texts: dict[str, str], question: str) -> None:
    for trail in find_trails(question, memory_shelf(texts)):
        assert set(titles(trail)) <= texts.keys()
