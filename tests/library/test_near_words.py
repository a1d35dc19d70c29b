"""Documents that use other words than a question: similar ones for words that occur nowhere, and
those on its topic."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import pytest
from kit.files import Papers
from kit.runs import written
from kit.work import steps_of

from deep_research.core.library.library import TOPIC_DOCUMENTS, TOPIC_WORDS, Library, near_topic

FILES = {
    "operation_md": "# Die Klinik\n\nNach der Operation der Hüfte bleibt man sechs Tage in der Klinik.\n",
    "policy_md": "# Hygiene policy\n\nHands are washed before each patient is seen.\n",
    "hospital_md": "# Saint Brannoc Hospital\n\nThe hospital has 412 beds, and a library for its patients.\n",
    "insurance_md": "# Versicherung\n\nDie Versicherung der Gäste zahlt der Verein.\n",
    "tide_md": "# The tide\n\nHigh water stood at nine o'clock by the gauge.\n",
    "hospice_md": "# Hospice\n\nThe hospice on the quay was closed.\n",
    "boats_md": "# Boats\n\nThere were 1,250 boats, 1.480 nets and 17 300 ropes for ₹4,50,000.\n",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("near")
    return Papers(written(folder / "docs", FILES), folder / "data").indexed()


def found(library: Library, query: str) -> list[str]:
    return [passage.source.address.rpartition("/")[2] for passage in library.search(query, 5)]


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("Hospitall", "hospital.md"),
        ("hygeine", "policy.md"),
        ("libary", "hospital.md"),
        ("Hüftoperation", "operation.md"),
        ("Versicherungsnummer", "insurance.md"),
        ("Operasion", "operation.md"),
    ],
)
def test_a_misspelt_word_and_a_part_of_a_compound_are_found(
    library: Library, query: str, name: str
) -> None:
    assert found(library, query)[0] == name


@pytest.mark.parametrize(
    "number", ["1250", "1'250", "1480", "1,480", "17300", "17.300", "450,000", "४५००००"]
)
def test_a_number_is_found_whatever_groups_its_digits(library: Library, number: str) -> None:
    assert found(library, number) == ["boats.md"]


@pytest.mark.parametrize("query", ["hospital", "What does the hospice near the quay do?"])
def test_a_word_that_exists_is_not_replaced(library: Library, query: str) -> None:
    [only] = {"hospital.md", "hospice.md"}.intersection(found(library, query))
    assert only[:6] in query


@pytest.mark.parametrize(
    "query", ["xylophone", "tied", "ospital", "Which zebras quarrel over unbaked cinnamon hopsital"]
)
def test_an_unknown_word_without_a_similar_one_or_among_many_is_not_replaced(
    library: Library, query: str
) -> None:
    assert found(library, query) == []


def test_a_question_with_a_misspelt_name_is_answered(library: Library) -> None:
    passages = library.follow("How many beds are there in the hospitle of Saint Branoc?", 5)
    assert passages[0].source.title == "Saint Brannoc Hospital"


@pytest.mark.fault("58")
def test_a_word_of_more_than_sixty_letters_is_not_taken_apart(library: Library) -> None:
    assert found(library, f"{'x' * 52}hospital") == ["hospital.md"]
    assert found(library, f"{'x' * 53}hospital") == []
    longest, longer, beyond = (
        steps_of(partial(library.search, "x" * length, 5)) for length in (60, 61, 100_000)
    )
    assert beyond <= longer < longest


SUBJECTS = (
    "salt brine pools wind crystals coast rakes",
    "bells bronze copper tin casting pits clay",
    "looms wool thread dyes shuttles cloth weavers",
    "ships sails ropes masts anchors decks harbour",
)


def test_documents_without_a_word_of_the_text_are_close_if_they_are_on_its_topic() -> None:
    documents = {
        f"{subject[:4]} {number}": f"{' '.join(words)} remark{number}{subject[:4]}"
        for subject in SUBJECTS
        for number, words in enumerate(combinations(subject.split(), 3))
    }
    near = [key for key in near_topic("salt and brine", documents)[:35] if key.startswith("salt")]
    held = [key for key in near if {"salt", "brine"} & {*documents[key].split()}]
    assert len(held) == 25
    assert len(near) >= 30


@pytest.mark.parametrize(
    "documents", [{}, {"a": ""}, {"a": "", "b": "salt"}, {"a": "salt", "b": "salt"}]
)
@pytest.mark.parametrize("text", ["", "salt", "bronze"])
def test_documents_with_any_text_are_ranked(text: str, documents: dict[str, str]) -> None:
    assert sorted(near_topic(text, documents)) == sorted(documents)


def test_a_long_text_finds_one_passage_of_each_document_on_its_topic(papers: Papers) -> None:
    for number in range(2 * TOPIC_DOCUMENTS):
        subject = "salt brine crystals" if number % 2 else "bells bronze copper"
        (papers.docs / f"{number}.md").write_text(
            f"# {subject} {number}\n\nAbout {subject} in the year {number}.\n"
        )
    text = "We study how brine dries into crystals of salt. " * TOPIC_WORDS
    found = papers.indexed().follow(text, 25)
    assert len({passage.source.key for passage in found}) == len(found) == TOPIC_DOCUMENTS
    assert all("salt" in passage.text for passage in found)
