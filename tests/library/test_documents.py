"""The user's documents: what is read, what a search finds, and what is left out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit.files import BRIDGE, HARBOUR, Papers, column, drawn

from deep_research.core.library.folder import MOST_NAMED, LeftOut, read_file, scan_folder
from deep_research.core.library.library import Library
from deep_research.core.reading.records import Unreadable
from deep_research.core.run.errors import DocumentsUnreadable


def reasons(library: Library) -> dict[str, str]:
    return {entry.path: entry.reason for entry in library.refresh().left_out}


def test_a_search_finds_passages_in_all_kinds_of_files(papers: Papers) -> None:
    tin = "<title>Tin</title><nav>Menu</nav><p>Tin was traded at Porto Alto until 1960.</p>"
    (papers.docs / "page.html").write_text(tin)
    library = papers.indexed()
    best = library.search("When was the bridge over the Velm opened?", 5)[0]
    assert best.text == BRIDGE.strip()
    assert best.source.title == "Velm bridge"
    assert best.source.address == "docs:papers/old/Velm bridge.txt"
    assert best.source.key == best.source.location == (papers.docs / "old" / "Velm bridge.txt").as_uri()
    assert best.source.key.endswith("/old/Velm%20bridge.txt")
    assert (best.source.kind, best.source.read_at) == ("document", "2031-05-06T07:08:00")
    assert library.search("tin trade", 5)[0].source.title == "Tin"
    assert library.search("menu", 5) == []


def test_a_document_is_read_by_its_address_and_by_its_uri(papers: Papers) -> None:
    library = papers.indexed()
    document = library.read("docs:papers/harbour.md")
    assert document is not None
    assert document.text == HARBOUR.strip()
    assert library.read(document.source.key) == document
    assert len(document.source.content_hash) == 64


NOWHERE = [
    *("docs:papers/../../etc/passwd", "docs:papers//etc/passwd", "docs:papers/", "docs:papers", "docs:other/a.md"),
    *("docs:", "", "file:///etc/passwd", "file:", "file:///%00", "file://[", "docs:papers/\ud800", "/etc/passwd"),
    "https://example.org/",
]


@pytest.mark.parametrize("address", NOWHERE)
def test_no_address_leads_out_of_the_folder(papers: Papers, address: str) -> None:
    assert papers.indexed().read(address) is None


def test_two_folders_of_one_name_have_different_addresses(papers: Papers, tmp_path: Path) -> None:
    other = tmp_path / "other" / "papers"
    other.mkdir(parents=True)
    (other / "harbour.md").write_text("# Harbour of Nord\n\nNord has a harbour too.")
    library = papers.indexed(papers.docs, other, other)
    addresses = {passage.source.address for passage in library.search("harbour", 9)}
    assert addresses == {"docs:papers/harbour.md", "docs:papers-2/harbour.md"}
    found = [library.read(address) for address in sorted(addresses)]
    assert [document.text.split("\n")[0] for document in found if document] == [
        "# Harbour of Nord",
        "# Porto Alto harbour",
    ]


def test_a_single_attached_file_is_found_beside_a_large_folder(papers: Papers) -> None:
    attached = papers.docs.parent / "tide table.txt"
    attached.write_text("Tide table\n\nHigh water at Porto Alto is at noon.")
    library = papers.indexed(papers.docs, attached)
    best = library.search("high water Porto Alto", 3)[0]
    assert best.source.address == "docs:tide table.txt"
    document = library.read("docs:tide table.txt")
    assert document is not None
    assert library.read(attached.as_uri()) == document


@pytest.mark.fault(52, logs="WARNING core.reading.documents.pool")
def test_a_file_that_cannot_be_read_is_listed_with_its_reason(papers: Papers) -> None:
    (papers.docs / "empty.txt").touch()
    (papers.docs / "broken.pdf").write_bytes(b"%PDF-1.4\n nothing more")
    (papers.docs / "image.txt").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(200))
    with (papers.docs / "huge.txt").open("wb") as huge:
        huge.truncate(3_000_000_000)
    os.mkfifo(papers.docs / "pipe.txt")
    (papers.docs / "bad\nname.txt").write_text("harbour")
    Path(os.fsdecode(os.fsencode(papers.docs) + b"/\xff.txt")).write_text("harbour")
    library = papers.library()
    assert library.refresh().documents == 3
    assert reasons(library) == {
        "papers/bad\ufffdname.txt": "its name contains invalid characters",
        "papers/broken.pdf": "it is a broken PDF file",
        "papers/empty.txt": "it is empty",
        "papers/huge.txt": "3000000000 bytes are more than 50000000 (limit max_document_bytes)",
        "papers/image.txt": "it is not a text file",
        "papers/pipe.txt": "it is not a regular file",
        "papers/\ufffd.txt": "its name contains invalid characters",
    }


@pytest.mark.fault(52, "R29")
def test_links_and_hidden_files_are_not_followed(papers: Papers, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("harbour secret")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "inner.txt").write_text("harbour secret")
    (papers.docs / "leaving.txt").symlink_to(tmp_path / "secret.txt")
    (papers.docs / "outside").symlink_to(tmp_path / "outside")
    (papers.docs / "loop").symlink_to(papers.docs)
    (papers.docs / "again.txt").symlink_to(papers.docs / "harbour.md")
    (papers.docs / "dangling.txt").symlink_to(tmp_path / "nothing")
    (papers.docs / ".hidden.txt").write_text("harbour secret")
    (papers.docs / ".git").mkdir()
    (papers.docs / ".git" / "a.txt").write_text("harbour secret")
    library = papers.library()
    assert library.refresh().documents == 3
    (papers.docs / "picture.gif").symlink_to(tmp_path / "nothing")
    (papers.docs / "one.txt").symlink_to(papers.docs / "two.txt")
    (papers.docs / "two.txt").symlink_to(papers.docs / "one.txt")
    (papers.docs / "self.gif").symlink_to(papers.docs / "self.gif")
    outside, nowhere = "it is a link to outside the folder", "it is a broken link"
    assert reasons(library) == {
        "papers/(other files)": "2 of unsupported formats: .gif",
        "papers/dangling.txt": nowhere,
        "papers/leaving.txt": outside,
        "papers/one.txt": nowhere,
        "papers/outside": outside,
        "papers/two.txt": nowhere,
    }
    assert library.search("secret", 9) == []


@pytest.mark.fault(52)
@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_listed_and_read_once_it_may_be(papers: Papers) -> None:
    locked = papers.docs / "locked.txt"
    locked.write_text("harbour locks")
    locked.chmod(0)
    library = papers.library()
    assert reasons(library) == {"papers/locked.txt": "it cannot be opened (Permission denied)"}
    locked.chmod(0o600)
    assert reasons(library) == {}


def test_a_file_above_the_limit_of_number_is_left_out(papers: Papers) -> None:
    library = papers.library(max_documents=2)
    status = library.refresh()
    assert status.documents == 2
    assert [entry.reason for entry in status.left_out] == ["it contains 3 files; only the first 2 are read"]
    assert status.unread == 1


def test_of_very_many_files_that_are_left_out_the_first_are_named_and_the_others_counted(papers: Papers) -> None:
    for number in range(MOST_NAMED + 5):
        (papers.docs / f"link {number:04}.txt").symlink_to(papers.docs / "nothing")
    status = papers.library().refresh()
    left_out = status.left_out
    assert status.unread == MOST_NAMED + 5
    assert left_out[0] == LeftOut("papers/(more files)", "5 more are left out", "unreadable", 5)
    assert [entry.path for entry in left_out[1:]] == [f"papers/link {number:04}.txt" for number in range(MOST_NAMED)]


@pytest.mark.fault(52)
def test_a_folder_that_was_swapped_for_a_link_is_not_read(papers: Papers, tmp_path: Path) -> None:
    (file,) = (file for file in scan_folder(papers.docs, 1000, 10).files if file.path == "harbour.md")
    assert read_file(papers.docs, file, 1000) == HARBOUR.encode()
    papers.docs.rename(tmp_path / "elsewhere")
    papers.docs.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unreadable, match="cannot be opened"):
        read_file(papers.docs, file, 1000)


def test_a_long_document_is_searched_to_its_end(papers: Papers) -> None:
    last = "The crane of Velm stands in the east."
    page = column(60, 780, ["The mole was built of granite from the quarry."] * 50)
    (papers.docs / "long.pdf").write_bytes(drawn(*[page] * 100, column(60, 780, [last])))
    library = papers.library()
    status = library.refresh()
    assert (status.shortened, status.left_out) == ((), ())
    assert any(last in passage.text for passage in library.search("crane of Velm", 3))


@pytest.mark.parametrize("name", ["nothing", "empty", "unread", "table.docx", "broken.pdf", "null"])
def test_docs_that_give_nothing_are_refused_in_one_line(papers: Papers, tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "unread").mkdir()
    (tmp_path / "unread" / "a.pdf").write_bytes(b"no pdf")
    (tmp_path / "table.docx").write_bytes(b"PK\x03\x04")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-")
    (tmp_path / "null").symlink_to("/dev/null")
    with pytest.raises(DocumentsUnreadable) as caught:
        papers.library(tmp_path / name).refresh()
    message = str(caught.value)
    assert "\n" not in message and "`docs`" in message and "--docs" in message
    assert name in message or name == "null"
