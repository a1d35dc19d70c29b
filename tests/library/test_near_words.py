"""Words of a question that occur in no document, and what is searched for instead."""

from __future__ import annotations

import pytest
from kit.files import Papers
from kit.runs import written

from deep_research.core.library.library import Library

FILES = {
    "operation_md": "# Die Klinik\n\nNach der Operation der Hüfte bleibt man sechs Tage in der Klinik.\n",
    "policy_md": "# Hygiene policy\n\nHands are washed before each patient is seen.\n",
    "hospital_md": "# Saint Brannoc Hospital\n\nThe hospital has 412 beds, and a library for its patients.\n",
    "insurance_md": "# Versicherung\n\nDie Versicherung der Gäste zahlt der Verein.\n",
    "tide_md": "# The tide\n\nHigh water stood at nine o'clock by the gauge.\n",
    "hospice_md": "# Hospice\n\nThe hospice on the quay was closed.\n",
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
def test_a_misspelt_word_and_a_part_of_a_compound_are_found(library: Library, query: str, name: str) -> None:
    assert found(library, query)[0] == name


@pytest.mark.parametrize("query", ["hospital", "What does the hospice near the quay do?"])
def test_a_word_that_exists_is_not_replaced(library: Library, query: str) -> None:
    [only] = {"hospital.md", "hospice.md"}.intersection(found(library, query))
    assert only[:6] in query


@pytest.mark.parametrize(
    "query", ["xylophone", "tied", "ospital", "Which zebras quarrel over unbaked cinnamon hopsital"]
)
def test_an_unknown_word_without_a_similar_one_or_among_many_is_not_replaced(library: Library, query: str) -> None:
    assert found(library, query) == []


def test_a_question_with_a_misspelt_name_is_answered(library: Library) -> None:
    passages = library.follow("How many beds are there in the hospitle of Saint Branoc?", 5)
    assert passages[0].source.title == "Saint Brannoc Hospital"
