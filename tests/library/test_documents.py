"""The user's documents: what is read, found and left out; a text in several files is found once."""

from __future__ import annotations

import io
import json
import os
import random
from pathlib import Path

import pytest
from kit.commands import Desk
from kit.files import BRIDGE, HARBOUR, Papers, column, drawn, edited, pdf_of, replacing, word
from pypdf import PdfReader, PdfWriter

from deep_research.core.errors import DocumentsUnreadable
from deep_research.core.library._folder import MOST_NAMED, LeftOut, read_file, scan_folder
from deep_research.core.library.library import Library
from deep_research.core.reading.documents.records import Unreadable


def reasons(library: Library) -> dict[str, str]:
    return {entry.path: entry.reason for entry in library.refresh().left_out}


def addresses(library: Library, query: str) -> list[str]:
    return [passage.source.address for passage in library.search(query, 9)]


def test_a_search_finds_passages_in_all_kinds_of_files_which_are_read_by_address_and_by_uri(
    papers: Papers,
) -> None:
    tin = "<title>Tin</title><nav>Menu</nav><p>Tin was traded at Porto Alto until 1960.</p>"
    (papers.docs / "page.html").write_text(tin)
    library = papers.indexed()
    best = library.search("When was the bridge over the Velm opened?", 5)[0]
    assert best.text == BRIDGE.strip()
    assert best.source.title == "Velm bridge"
    assert best.source.address == "docs:papers/old/Velm bridge.txt"
    assert (
        best.source.key
        == best.source.location
        == (papers.docs / "old" / "Velm bridge.txt").as_uri()
    )
    assert best.source.key.endswith("/old/Velm%20bridge.txt")
    assert (best.source.kind, best.source.read_at) == ("document", "2031-05-06T07:08:00")
    assert library.search("tin trade", 5)[0].source.title == "Tin"
    assert library.search("menu", 5) == []
    document = library.read("docs:papers/harbour.md")
    assert document and document.text == HARBOUR.strip()
    assert library.read(document.source.key) == document
    assert len(document.source.content_hash) == 64


NOWHERE = [
    *(
        "docs:papers/../../etc/passwd",
        "docs:papers//etc/passwd",
        "docs:papers/",
        "docs:papers",
        "docs:other/a.md",
    ),
    *(
        "docs:",
        "",
        "file:///etc/passwd",
        "file:",
        "file:///%00",
        "file://[",
        "docs:papers/\ud800",
        "/etc/passwd",
    ),
    "https://example.org/",
]


def test_no_address_leads_out_of_the_folder(papers: Papers) -> None:
    library = papers.indexed()
    assert [address for address in NOWHERE if library.read(address)] == []


def test_a_file_is_opened_as_it_is_but_none_that_is_not_searched(papers: Papers) -> None:
    library = papers.indexed()
    bridge = papers.docs / "old" / "Velm bridge.txt"
    bridge.write_bytes(b"The bridge was closed.\r\n")
    assert library.content(bridge.as_uri()) == bridge.read_bytes()
    assert library.content("docs:papers/old/Velm bridge.txt") == bridge.read_bytes()
    assert papers.library(bridge).content(bridge.as_uri()) == bridge.read_bytes()
    (papers.data / "secret.txt").write_text("secret")
    (papers.docs / ".hidden.txt").write_text("secret")
    (papers.docs / "linked.txt").symlink_to(papers.data / "secret.txt")
    (papers.docs / "linked").symlink_to(papers.data)
    (papers.docs / "program.exe").write_text("secret")
    inside = [".hidden.txt", "linked.txt", "linked/secret.txt", "program.exe", "old/../.hidden.txt"]
    uri = papers.docs.as_uri()
    others = [f"{uri}/{path}" for path in (*inside, "../data/secret.txt", "/etc/passwd", "old")]
    others += [(papers.data / "secret.txt").as_uri(), f"{uri}/%2e%2e/data/secret.txt"]
    for address in (*NOWHERE, *others):
        with pytest.raises(Unreadable):
            library.content(address)
    with pytest.raises(Unreadable, match="larger than 10 bytes"):
        papers.library(max_document_bytes=10).content(bridge.as_uri())


def test_folders_of_one_name_and_a_single_file_have_addresses_of_their_own(
    papers: Papers, tmp_path: Path
) -> None:
    other, attached = tmp_path / "other" / "papers", tmp_path / "tide table.txt"
    other.mkdir(parents=True)
    (other / "harbour.md").write_text("# Harbour of Nord\n\nNord has a harbour too.")
    attached.write_text("Tide table\n\nHigh water at Porto Alto is at noon.")
    library = papers.indexed(papers.docs, other, other, attached)
    assert sorted(addresses(library, "harbour")) == [
        "docs:papers-2/harbour.md",
        "docs:papers/harbour.md",
    ]
    found = [
        library.read(address) for address in ("docs:papers/harbour.md", "docs:papers-2/harbour.md")
    ]
    assert [document.source.title for document in found if document] == [
        "Porto Alto harbour",
        "Harbour of Nord",
    ]
    assert addresses(library, "high water Porto Alto")[0] == "docs:tide table.txt"
    document = library.read("docs:tide table.txt")
    assert document and library.read(attached.as_uri()) == document


def test_a_file_of_twenty_megabytes_is_read(papers: Papers) -> None:
    writer = PdfWriter(
        clone_from=PdfReader(io.BytesIO(pdf_of("The Skerry Light stands 38 metres tall.")))
    )
    writer.add_attachment("picture.raw", random.Random(1).randbytes(20_000_000))
    writer.write(papers.docs / "large.pdf")
    document = papers.indexed().read("docs:papers/large.pdf")
    assert document and document.text == "The Skerry Light stands 38 metres tall."


@pytest.mark.fault("R29")
@pytest.mark.fault(52, logs="WARNING core.reading.documents.pool")
def test_files_that_cannot_be_read_are_listed_with_their_reasons_and_no_link_or_hidden_file_is_followed(
    papers: Papers, tmp_path: Path
) -> None:
    docs, outside, nothing = papers.docs, tmp_path / "outside", tmp_path / "nothing"
    outside.mkdir()
    (docs / ".git").mkdir()
    secrets = outside / "inner.txt", docs / ".hidden.txt", docs / ".git" / "a.txt"
    badly_named = docs / "bad\nname.txt", Path(os.fsdecode(os.fsencode(docs) + b"/\xff.txt"))
    for path in (*secrets, *badly_named):
        path.write_text("harbour secret")
    image = b"\x89PNG\r\n\x1a\n" + bytes(200)
    for name, data in {
        "empty.txt": b"",
        "broken.pdf": b"%PDF-1.4\n nothing more",
        "image.txt": image,
    }.items():
        (docs / name).write_bytes(data)
    with (docs / "huge.txt").open("wb") as huge:
        huge.truncate(3_000_000_000)
    os.mkfifo(docs / "pipe.txt")
    links = {"leaving.txt": outside / "inner.txt", "outside": outside, "loop": docs}
    links |= {"again.txt": docs / "harbour.md", "dangling.txt": nothing, "picture.gif": nothing}
    links |= {
        "one.txt": docs / "two.txt",
        "two.txt": docs / "one.txt",
        "self.gif": docs / "self.gif",
    }
    for name, target in links.items():
        (docs / name).symlink_to(target)
    library = papers.library()
    assert library.refresh().documents == 3
    assert reasons(library) == {
        "papers/(other files)": "2 of unsupported formats: .gif",
        "papers/bad\ufffdname.txt": "its name contains invalid characters",
        "papers/broken.pdf": "it is a broken PDF file",
        "papers/empty.txt": "it is empty",
        "papers/huge.txt": "3000000000 bytes are more than 50000000 (limit max_document_bytes)",
        "papers/image.txt": "it is not a text file",
        "papers/pipe.txt": "it is not a regular file",
        "papers/\ufffd.txt": "its name contains invalid characters",
        **dict.fromkeys(
            ("papers/leaving.txt", "papers/outside"), "it is a link to outside the folder"
        ),
        **dict.fromkeys(
            ("papers/dangling.txt", "papers/one.txt", "papers/two.txt"), "it is a broken link"
        ),
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
    scan = scan_folder(papers.docs, 1_000_000, 2)
    assert len(scan.files) == 2
    [left_out] = scan.left_out
    assert (left_out.reason, left_out.files) == (
        "it contains 3 files; only the first 2 are read",
        1,
    )


def test_of_very_many_files_that_are_left_out_the_first_are_named_and_the_others_counted(
    papers: Papers,
) -> None:
    for number in range(MOST_NAMED + 5):
        (papers.docs / f"link {number:04}.txt").symlink_to(papers.docs / "nothing")
    status = papers.library().refresh()
    left_out = status.left_out
    assert status.unread == MOST_NAMED + 5
    assert left_out[0] == LeftOut("papers/(more files)", "5 more are left out", "unreadable", 5)
    assert [entry.path for entry in left_out[1:]] == [
        f"papers/link {number:04}.txt" for number in range(MOST_NAMED)
    ]


@pytest.mark.fault(52)
def test_a_folder_that_was_swapped_for_a_link_is_not_read(papers: Papers, tmp_path: Path) -> None:
    (file,) = (
        file for file in scan_folder(papers.docs, 1000, 10).files if file.path == "harbour.md"
    )
    assert read_file(papers.docs, file, 1000) == HARBOUR.encode()
    papers.docs.rename(tmp_path / "elsewhere")
    papers.docs.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unreadable, match="cannot be opened"):
        read_file(papers.docs, file, 1000)


def test_a_long_document_is_searched_to_its_end(papers: Papers) -> None:
    last = "The crane of Velm stands in the east."
    page = column(60, 780, ["The mole was built of granite from the quarry."] * 50)
    (papers.docs / "long.pdf").write_bytes(drawn(*[page] * 40, column(60, 780, [last])))
    library = papers.library(parse_seconds=300)
    status = library.refresh()
    assert (status.shortened, status.left_out) == ((), ())
    assert any(last in passage.text for passage in library.search("crane of Velm", 3))


@pytest.mark.parametrize("name", ["nothing", "empty", "unread", "table.docx", "broken.pdf", "null"])
def test_docs_that_give_nothing_are_refused_in_one_line(
    papers: Papers, tmp_path: Path, name: str
) -> None:
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


def test_a_text_is_found_in_the_file_whose_name_is_not_that_of_a_copy(papers: Papers) -> None:
    copies = (
        "Kopie von harbour.md",
        "Copy of harbour.md",
        "harbour - Copy.md",
        "harbour (1).md",
        "harbour copy 2.md",
    )
    for name in copies:
        (papers.docs / name).write_text(HARBOUR)
    library = papers.indexed()
    assert addresses(library, "deepened harbour Porto Alto") == [
        "docs:papers/harbour.md",
        "docs:papers/salt.txt",
    ]
    best = library.follow("When was the harbour of Porto Alto deepened?", 9)[0]
    assert best.source.address == addresses(library, "deepened")[0]
    (papers.docs / "harbour.md").unlink()
    library.refresh()
    assert addresses(library, "deepened") == ["docs:papers/harbour (1).md"]


def test_a_text_in_several_files_and_folders_is_found_in_the_first_and_read_by_each_path(
    papers: Papers, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    copies = [
        papers.docs / "a.md",
        papers.docs / "old" / "harbour.md",
        papers.docs / "z.txt",
        other / "same.md",
    ]
    for path in copies:
        path.write_text(HARBOUR)
    (other / "more.md").write_text("# Tides\n\nThe harbour of Nord was deepened too.")
    library = papers.library(papers.docs, other)
    assert library.refresh().documents == 8
    assert sorted(addresses(library, "deepened")) == ["docs:other/more.md", "docs:papers/a.md"]
    documents = [library.read(path.as_uri()) for path in (*copies, papers.docs / "harbour.md")]
    assert [document.text for document in documents if document] == [HARBOUR.strip()] * 5


def test_files_of_older_programs_are_named_each_with_the_format_to_save_it_in(
    papers: Papers,
) -> None:
    for name in ("Offer.XLSB", "terms.doc", "rates.xls", "talk.ppt", "letter.rtf", "photo.raw"):
        (papers.docs / name).write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600))
    library = papers.library()
    status = library.refresh()
    assert status.unread == 5
    assert reasons(library) == {
        "papers/(other files)": "1 of unsupported formats: .raw",
        "papers/Offer.XLSB": ".xlsb files are not read: save it as .xlsx",
        "papers/letter.rtf": ".rtf files are not read: save it as .docx",
        "papers/rates.xls": ".xls files are not read: save it as .xlsx",
        "papers/talk.ppt": ".ppt files are not read: save it as .pptx",
        "papers/terms.doc": ".doc files are not read: save it as .docx",
    }


BODY = "word/document.xml"
SECRET = "CANARY from outside the folder"

REASONS = {
    "(other files)": "3 of unsupported formats: .gif, .zip",
    "away": "it is a link to outside the folder",
    "bomb.docx": "unpack to",
    "broken.pdf": "it is a broken PDF file",
    "endless.txt": "it is a broken link",
    "entity.docx": "word/document.xml in it declares XML entities",
    "huge.csv": "bytes are more than 50000000 (limit max_document_bytes)",
    "pipe.txt": "it is not a regular file",
    "scan.pdf": "there is no text in it",
}
"""What of it cannot be read, and words of why."""
ENTITY = b"\n<!DOCTYPE w [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"


def write_hostile(folder: Path) -> None:
    """Make it, with something outside to which a link leads."""
    outside = folder.parent / "outside"
    for directory in (folder, outside):
        directory.mkdir()
    (outside / "secret.txt").write_text(SECRET)
    (folder / "away").symlink_to(outside)
    (folder / "endless.txt").symlink_to(folder / "endless.txt")
    os.mkfifo(folder / "pipe.txt")
    with (folder / "huge.csv").open("wb") as huge:
        huge.truncate(2_000_000_000)
    files = {
        "light.md": b"# Skerry Light\n\nThe Skerry Light was lit in 1844.\n",
        "broken.pdf": b"%PDF-1.7\n1 0 obj\n<< /Type",
        "scan.pdf": pdf_of(""),
        "bomb.docx": edited(word(), {BODY: lambda _: bytes(200_000_000)}),
        "entity.docx": edited(word(), {BODY: replacing(b"\n", ENTITY)}),
        **dict.fromkeys(("a.gif", "b.gif", "c.zip"), b"x"),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)


@pytest.mark.slow
@pytest.mark.fault(52, "R29")
def test_a_run_over_a_hostile_folder_ends_with_a_report_and_names_what_it_left_out(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path)
    write_hostile(desk.docs)
    question = "When was the Skerry Light lit?"
    ended = desk.run(
        "ask", question, "--docs", "docs", "--model", "extractive", "--thread", "light"
    )
    assert ended.code == 0, ended.err
    assert "The Skerry Light was lit in 1844." in ended.out
    assert SECRET not in ended.out + ended.err
    for name, reason in REASONS.items():
        (line,) = [line for line in ended.out.splitlines() if f"Not read: docs/{name} (" in line]
        assert reason in line
    counted = "documents indexed: 1 of 9; 8 could not be read: docs/away (it is a link"
    assert counted in ended.err
    assert "), and 3 more: `deep-research doctor` with the same --docs lists them\n" in ended.err
    again = desk.call("ask", question, "--docs", str(desk.docs), "--model", "extractive")
    assert counted in again.err, "it is told again where nothing has changed"
    run = json.loads(desk.run("export", "light", "--format", "json").out)
    assert [entry["path"] for entry in run["audit"]["not_read"]] == [
        f"docs/{name}" for name in sorted(REASONS)
    ]
