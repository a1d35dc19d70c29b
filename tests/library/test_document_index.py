"""The index of documents: its searches, passages, versions and permissions, and access by several
processes."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.files import Papers, source_of
from kit.forked import Forked

from deep_research.core.errors import DatabaseUnusable
from deep_research.core.library._index import Index
from deep_research.core.library._index_file import IndexedFile, connect
from deep_research.core.library._passages import LONGEST_PASSAGE, split_passages

WORDS = st.lists(
    st.sampled_from(["harbour", "salt", "ship", "Velm", "the", "1893"]), min_size=1, max_size=12
)


def answers(index: Index, words: list[str]) -> list[object]:
    """Results of an index for some words, a title and a name."""
    with index.reading(source_of) as reader:
        found = [
            reader.best(words, 3),
            reader.titled(["harbour"], 3),
            reader.with_name(words[0], 2),
        ]
        return [
            reader.counts(words),
            *([reader.passage(number) for number in numbers] for numbers in found),
        ]


@settings(max_examples=15)
@given(st.data(), st.lists(WORDS, min_size=2, max_size=12), WORDS, st.integers(1, 6))
def test_the_order_of_indexing_does_not_change_what_is_found(
    data: st.DataObject, texts: list[list[str]], query: list[str], most: int
) -> None:
    entries = [
        IndexedFile(path, 1, 1, path, title=text[:20], content_hash=path, text=text)
        for path, text in ((f"{number}.txt", " ".join(words)) for number, words in enumerate(texts))
    ]
    words = [word.lower() for word in query]
    with TemporaryDirectory() as folder:
        fresh, kept = (
            Index(Path(folder) / name / "indexes" / "a.sqlite", most=most)
            for name in ("fresh", "kept")
        )
        fresh.change(entries)
        for document in data.draw(st.permutations(entries)):
            kept.change([document])
        for document in data.draw(st.lists(st.sampled_from(entries), max_size=4)):
            kept.change(gone=[document.path])
            kept.change([document, document])
        assert answers(kept, words) == answers(fresh, words)


QUERIES = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=60),
    st.text("\"'*^:(){}+-AND OR NOT NEAR harbour\x00\n", max_size=40),
    st.sampled_from(
        [
            "title:",
            "a AND",
            "NEAR(a b)",
            '"',
            '""',
            "*",
            "harbour*",
            "{title text}: x",
            "🚢",
            "-",
            "\ud800",
        ]
    ),
)


def test_no_query_is_a_syntax_error(papers: Papers) -> None:
    library = papers.indexed()

    @settings(max_examples=60)
    @given(QUERIES)
    def search(query: str) -> None:
        assert isinstance(library.search(query, 5), list)

    search()


@pytest.mark.fault("R20")
def test_the_index_is_private(papers: Papers) -> None:
    papers.indexed()
    assert [path.stat().st_mode & 0o777 for path in (papers.data, papers.data / "indexes")] == [
        0o700,
        0o700,
    ]
    assert papers.index_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.fault(39)
def test_a_data_folder_that_cannot_be_used_is_named(papers: Papers) -> None:
    papers.data.write_text("a file where a folder should be")
    with pytest.raises(DatabaseUnusable, match="indexes"):
        papers.library().refresh()


def test_threads_can_create_the_same_index_at_the_same_time(tmp_path: Path) -> None:
    meeting = threading.Barrier(4, timeout=60)

    def make(number: int) -> None:
        for turn in range(30):
            meeting.wait()
            connect(tmp_path / f"{turn}.sqlite").close()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(make, range(4))) == [None] * 4


@pytest.mark.slow
@pytest.mark.fault(52)
def test_processes_that_index_at_once_and_one_that_is_killed_leave_a_right_index(
    papers: Papers, tmp_path: Path
) -> None:
    for number in range(120):
        (papers.docs / f"{number}.md").write_text(
            f"# Ship {number}\n\nShip {number} carried salt to harbour {number}."
        )
    script = (
        "import sys; from pathlib import Path\n"
        "from deep_research.core.settings.context import Context; from deep_research.core.library.library import Library\n"
        "library = Library(Context(docs=(Path(sys.argv[1]),), data_dir=Path(sys.argv[2])))\n"
        "library.refresh(lambda done, total: print(done, flush=True))\n"
    )
    command = [sys.executable, "-c", script, str(papers.docs), str(papers.data)]
    processes = [Forked(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    assert processes[0].stdout
    processes[0].stdout.readline()
    processes[0].kill()
    errors = [process.communicate()[1].decode() for process in processes]
    assert [process.returncode for process in processes[1:]] == [0, 0], errors
    libraries = (papers.indexed(), Papers(papers.docs, tmp_path / "fresh").indexed())
    kept, fresh = (
        [library.search(query, 25) for query in ("ship 7", "harbour salt")] for library in libraries
    )
    assert kept == fresh


def test_passages_have_a_maximum_length_and_their_headings() -> None:
    text = f"# A\n\nIntro.\n\n## B\n\n{'Word here. ' * 300}\n\n### C\n\n{'x' * 3000}\n\n## D\n{'Last. ' * 90}"
    spans = split_passages(text)
    assert all(0 < span.end - span.start <= LONGEST_PASSAGE for span in spans)
    assert [*dict.fromkeys(span.heading for span in spans)] == ["A", "A › B", "A › B › C", "A › D"]


@pytest.mark.parametrize(
    "sentence", ["港口很深。", "港口很深！", "港は深い？", "बंदरगाह गहरा है। ", "ဆိပ်ကမ်းသည်။ "]
)
def test_a_long_text_is_cut_at_the_ends_of_sentences_in_any_script(sentence: str) -> None:
    text = (sentence * 1000).strip()
    assert {text[span.start : span.end].strip()[-1] for span in split_passages(text)} == {
        sentence.strip()[-1]
    }


@given(st.text("ab #=\n.。", max_size=300))
def test_no_character_of_a_text_is_outside_its_passages(text: str) -> None:
    covered = {offset for span in split_passages(text) for offset in range(span.start, span.end)}
    assert all(offset in covered or not character.strip() for offset, character in enumerate(text))


@pytest.mark.parametrize(
    "query", ["harbour salt ships", "Which salt did the ships bring to the harbour of Velm?"]
)
def test_a_long_document_does_not_hide_the_others(tmp_path: Path, query: str) -> None:
    papers = Papers(tmp_path / "papers", tmp_path / "data")
    papers.docs.mkdir()
    ships = "Ships bring salt to the harbour of Velm. " * 20
    (papers.docs / "long.txt").write_text("\n\n".join(f"Day {day}. {ships}" for day in range(300)))
    for number in range(6):
        (papers.docs / f"{number}.md").write_text(
            f"# Note {number}\n\nIn year {number} ships brought salt to the harbour.\n"
        )
    found = papers.indexed().follow(query, 25)
    assert len({passage.source.address for passage in found[:10]}) >= 5
