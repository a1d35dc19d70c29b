"""Passages are also found by meaning, where that is asked for, and nothing is different where it is not."""

from __future__ import annotations

import logging
import sqlite3
import subprocess
import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest
from searching import new_desk
from shelf import LONG, Place

from deep_research.tools.internal_search import InternalSearch, InternalSearchArguments
from deep_research.tools.library import Library
from deep_research.tools.meaning import Meaning
from deep_research.tools.ranking import Passage

if find_spec("wordllama") is None:
    pytest.skip("the extra embeddings is not installed", allow_module_level=True)

ILLNESS = (
    "The island had one doctor, who treated the fishermen whenever they had fallen ill, in a small house above the old "
    "boat landing, and never asked them for money."
)
PRICES = (
    "The price of automobiles rose sharply in that year, and hardly any family in the valley was able to afford even a "
    "used one before the next winter came round again."
)
QUESTION = "Which physician cured sick sailors?"
"""Has no word in common with the document that answers it."""
CARS = "How expensive were cars?"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place.filled(tmp_path)
    (place.docs / "illness.txt").write_text(ILLNESS)
    return place


def by_meaning(place: Place, *docs: Path) -> Library:
    return Library(place.context(*docs).model_copy(update={"embeddings": True}))


def indexed(place: Place, *docs: Path) -> Library:
    library = by_meaning(place, *docs)
    library.refresh()
    return library


def names(passages: list[Passage]) -> list[str]:
    return [one.source.address for one in passages]


def vectors(place: Place) -> list[tuple[str, int]]:
    """The texts that have vectors, by their titles, and how many."""
    with closing(sqlite3.connect(place.index_file())) as connection:
        rows = connection.execute(
            "SELECT coalesce (title, 'none'), length (vectors) / 256 FROM vectors LEFT JOIN texts ON id = text"
        )
        return sorted(rows)


def kept_bytes(place: Place) -> set[bytes]:
    """The vectors themselves."""
    with closing(sqlite3.connect(place.index_file())) as connection:
        return {row for (row,) in connection.execute("SELECT vectors FROM vectors")}


def test_a_question_in_other_words_finds_its_document_only_by_meaning(place: Place) -> None:
    assert place.indexed().search(QUESTION, 25) == []
    library = indexed(place)
    assert names(library.search(QUESTION, 25))[0] == "docs:papers/illness.txt"
    assert names(library.follow(QUESTION, 25))[0] == "docs:papers/illness.txt"


def test_what_nothing_speaks_of_is_not_found_by_meaning_either(place: Place) -> None:
    library = indexed(place)
    assert library.search("Why do quarterly dividends vary?", 25) == []
    assert library.search("qwzx \ud800", 25) == []


def test_a_question_in_a_language_that_the_model_does_not_know_is_sought_by_its_words(place: Place) -> None:
    assert indexed(place).search("Wer war der physician, und wie hat er die sick sailors cured?", 25) == []
    assert names(by_meaning(place).search("Who, sir, physician, sick sailors cured?", 25)) == [
        "docs:papers/illness.txt"
    ]


def test_documents_in_other_languages_get_no_vectors(place: Place) -> None:
    (place.docs / "arzt.txt").write_text("Der Arzt heilte die Fischer, die auf der Insel krank geworden waren. " * 3)
    indexed(place)
    assert ("arzt", 0) in vectors(place)
    assert ("illness", 1) in vectors(place)


def test_an_index_with_vectors_answers_as_ever_where_meaning_is_not_asked_for(place: Place, tmp_path: Path) -> None:
    (place.docs / "long.txt").write_text(LONG)
    plain = Place(place.docs, tmp_path / "plain").indexed()
    indexed(place)
    for query in ("harbour", "Ada Lindqvist bridge", "chapter ship", QUESTION):
        assert place.library().search(query, 25) == plain.search(query, 25)
        assert place.library().follow(query, 25) == plain.follow(query, 25)


def test_without_the_setting_no_vector_is_made_and_no_package_imported(place: Place) -> None:
    place.indexed()
    with closing(sqlite3.connect(place.index_file())) as connection:
        assert connection.execute("SELECT name FROM sqlite_master WHERE name LIKE 'vectors%'").fetchall() == []


def test_several_folders_are_searched_by_meaning_together(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "more"
    other.mkdir()
    (other / "nurse.txt").write_text("A nurse looked after the patients, who came from the boats.")
    (other / "prices.txt").write_text(PRICES)
    for docs in ((place.docs, other), (other, place.docs)):
        found = names(indexed(place, *docs).search(QUESTION, 25))
        assert found == ["docs:papers/illness.txt", "docs:more/nurse.txt"]


def test_a_text_in_several_folders_is_found_by_meaning_as_that_of_the_first(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "more"
    other.mkdir()
    (other / "illness.txt").write_text(ILLNESS)
    assert names(indexed(place, place.docs, other).search(QUESTION, 25)) == ["docs:papers/illness.txt"]
    assert names(indexed(place, other, place.docs).search(QUESTION, 25)) == ["docs:more/illness.txt"]


def test_vectors_go_with_their_documents_and_follow_their_changes(place: Place) -> None:
    library = indexed(place)
    (place.docs / "illness.txt").unlink()
    (place.docs / "page.html").unlink()
    (place.docs / "harbour.md").write_text(PRICES)
    library.refresh()
    assert vectors(place) == [("Velm bridge", 1), ("harbour", 1)]
    assert library.search(QUESTION, 25) == []
    assert names(library.search(CARS, 25)) == ["docs:papers/harbour.md"]


def test_what_is_deleted_while_meaning_is_off_leaves_no_vector(place: Place) -> None:
    indexed(place)
    (place.docs / "illness.txt").unlink()
    (place.docs / "prices.txt").write_text(PRICES)
    place.indexed()
    assert "illness" not in dict(vectors(place))
    assert "prices" not in dict(vectors(place))
    assert "none" not in dict(vectors(place))
    library = indexed(place)
    assert names(library.search(CARS, 25)) == ["docs:papers/prices.txt"]


def test_a_text_that_comes_under_another_title_gets_new_vectors(place: Place, tmp_path: Path) -> None:
    (place.docs / "a copy.txt").write_text(ILLNESS)
    indexed(place)
    assert "a copy" in dict(vectors(place))
    before = kept_bytes(place)
    (place.docs / "a copy.txt").unlink()
    indexed(place)
    assert dict(vectors(place))["illness"] == 1
    after, fresh = kept_bytes(place), Place(place.docs, tmp_path / "fresh")
    indexed(fresh)
    assert after == kept_bytes(fresh) != before


class Stopped(Exception):
    """The user has had enough."""


def test_making_vectors_for_an_old_index_goes_on_where_it_was_stopped(place: Place, tmp_path: Path) -> None:
    for number in range(150):
        (place.docs / f"{number}.txt").write_text(f"Ship {number} carried salt to harbour {number}.")
    status = place.indexed().refresh()
    seen: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 70:
            raise Stopped

    with pytest.raises(Stopped):
        by_meaning(place).refresh(stop)
    kept = len(vectors(place))
    assert 64 <= kept < 154
    assert by_meaning(place).refresh(lambda done, total: seen.append((done, total))) == status
    assert seen[0] == (1, 154)
    assert seen[70] == (1, 154 - kept)
    assert seen[-1] == (154 - kept, 154 - kept)
    fresh = indexed(Place(place.docs, tmp_path / "fresh"))
    queries = (QUESTION, "Which vessel transported salt?", "ship 7")
    assert [by_meaning(place).search(one, 25) for one in queries] == [fresh.search(one, 25) for one in queries]


def test_nothing_is_embedded_again_while_it_is_unchanged(place: Place) -> None:
    library = indexed(place)
    seen: list[int] = []
    library.refresh(lambda done, _: seen.append(done))
    assert seen == []


def test_a_damaged_index_gets_its_vectors_again(place: Place) -> None:
    expected = indexed(place).search(QUESTION, 25)
    place.index_file().write_bytes(b"not a database, but long enough to be taken for one" * 100)
    assert by_meaning(place).search(QUESTION, 25) == expected
    assert expected


def test_the_nearest_passages_of_a_long_document_are_found_wherever_they_stand(place: Place) -> None:
    filler = [f"Chapter {number} tells of ship {number} and of its cargo of tin. " * 12 for number in range(400)]
    (place.docs / "long.txt").write_text("\n\n".join([*filler[:300], f"{ILLNESS} " * 5, *filler[300:]]))
    (best, *_) = indexed(place).search(QUESTION, 25)
    assert "doctor" in best.text


def test_the_logging_of_the_program_stays_as_it_is() -> None:
    # In a process of its own: here the package may be imported already, and the test runner listens to the log.
    program = (
        "import logging; from deep_research.tools.meaning import Meaning; Meaning().vectors(['harbour'])\n"
        "print(logging.getLogger().level, logging.getLogger().handlers)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == (f"{logging.WARNING} []\n", "")


def test_a_text_without_words_has_a_vector_of_zeros() -> None:
    assert Meaning().vectors([""]) == [bytes(256)]


async def test_a_researcher_is_shown_what_is_found_by_meaning(place: Place) -> None:
    library = indexed(place)
    context = place.context().model_copy(update={"embeddings": True})
    shown = await InternalSearch(library, context, new_desk()).run(InternalSearchArguments(queries=[QUESTION]))
    assert "one doctor" in shown.hits[0].excerpt
