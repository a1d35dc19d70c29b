"""One text in several files: found once, readable under each of their names."""

from __future__ import annotations

from pathlib import Path

from shelf import HARBOUR, Place

from deep_research.core.library.library import Library


def addresses(library: Library, query: str) -> list[str]:
    return [one.source.address for one in library.search(query, 9)]


def test_a_text_that_several_files_hold_is_found_once_and_read_under_each_name(place: Place) -> None:
    for name in ("a.md", "old/harbour.md", "z.txt"):
        (place.docs / name).write_text(HARBOUR)
    library = place.library()
    assert library.refresh().documents == 6
    assert addresses(library, "deepened harbour Porto Alto") == [
        "docs:papers/a.md",
        "docs:papers/salt.txt",
    ]
    documents = [library.read(f"docs:papers/{name}") for name in ("harbour.md", "old/harbour.md", "z.txt")]
    assert [one.text for one in documents if one] == [HARBOUR.strip()] * 3


def test_a_text_is_found_under_the_name_that_is_not_that_of_a_copy(place: Place) -> None:
    for name in (
        "Kopie von harbour.md",
        "Copy of harbour.md",
        "harbour - Copy.md",
        "harbour (1).md",
        "harbour copy 2.md",
    ):
        (place.docs / name).write_text(HARBOUR)
    library = place.indexed()
    assert addresses(library, "deepened harbour Porto Alto") == ["docs:papers/harbour.md", "docs:papers/salt.txt"]
    assert (
        library.follow("When was the harbour of Porto Alto deepened?", 9)[0].source.address == "docs:papers/harbour.md"
    )
    (place.docs / "harbour.md").unlink()
    library.refresh()
    assert addresses(library, "deepened") == ["docs:papers/harbour (1).md"]


def test_the_same_file_in_two_folders_is_found_in_the_first_and_read_in_both(place: Place, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text(HARBOUR)
    (other / "more.md").write_text("# Tides\n\nThe harbour of Nord was deepened too.")
    library = place.indexed(place.docs, other)
    assert sorted(addresses(library, "deepened")) == ["docs:other/more.md", "docs:papers/harbour.md"]
    assert library.read("docs:other/same.md")
