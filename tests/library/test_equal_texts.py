"""The same text in several files: found once, readable by each path."""

from __future__ import annotations

from pathlib import Path

from kit.files import HARBOUR, Papers

from deep_research.core.library.library import Library


def addresses(library: Library, query: str) -> list[str]:
    return [passage.source.address for passage in library.search(query, 9)]


def test_a_text_in_several_files_is_found_once_and_read_by_each_path(papers: Papers) -> None:
    for name in ("a.md", "old/harbour.md", "z.txt"):
        (papers.docs / name).write_text(HARBOUR)
    library = papers.library()
    assert library.refresh().documents == 6
    assert addresses(library, "deepened harbour Porto Alto") == ["docs:papers/a.md", "docs:papers/salt.txt"]
    documents = [library.read(f"docs:papers/{name}") for name in ("harbour.md", "old/harbour.md", "z.txt")]
    assert [document.text for document in documents if document] == [HARBOUR.strip()] * 3


def test_a_text_is_found_in_the_file_whose_name_is_not_that_of_a_copy(papers: Papers) -> None:
    copies = ("Kopie von harbour.md", "Copy of harbour.md", "harbour - Copy.md", "harbour (1).md", "harbour copy 2.md")
    for name in copies:
        (papers.docs / name).write_text(HARBOUR)
    library = papers.indexed()
    assert addresses(library, "deepened harbour Porto Alto") == ["docs:papers/harbour.md", "docs:papers/salt.txt"]
    assert (
        library.follow("When was the harbour of Porto Alto deepened?", 9)[0].source.address
        == addresses(library, "deepened")[0]
    )
    (papers.docs / "harbour.md").unlink()
    library.refresh()
    assert addresses(library, "deepened") == ["docs:papers/harbour (1).md"]


def test_the_same_file_in_two_folders_is_found_in_the_first_and_read_in_both(papers: Papers, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "same.md").write_text(HARBOUR)
    (other / "more.md").write_text("# Tides\n\nThe harbour of Nord was deepened too.")
    library = papers.indexed(papers.docs, other)
    assert sorted(addresses(library, "deepened")) == ["docs:other/more.md", "docs:papers/harbour.md"]
    assert library.read("docs:other/same.md")
