"""The list of documents in prompts of the models that plan and search."""

from __future__ import annotations

from pathlib import Path

from kit.files import Papers
from kit.runs import REPORT, lab, research, written

from deep_research import Context
from deep_research.core.library.library import MOST_LISTED, Library, catalogue

LIGHT = "- Skerry Light (docs:lab-documents/lighthouse.md, 94 characters)"


async def test_models_that_plan_and_search_see_the_documents(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("When was it lit?"), REPORT])
    await run.ask()
    calls = [*run.calls("planner"), *run.calls("orchestrator"), *run.calls("researcher")]
    assert len(calls) > 4 and all(LIGHT in call.messages[0].text for call in calls)


def test_many_documents_are_listed_by_folder(papers: Papers) -> None:
    for number in range(MOST_LISTED):
        (papers.docs / "old" / f"{number}.md").write_text(f"# Paper {number}\n\nIt is one of many.", "utf-8")
    library = papers.library()
    listed = catalogue(library, library.refresh().documents)
    assert listed.splitlines()[1:-1] == ["- docs:papers/old: 151 documents", "- docs:papers: 2 documents"]
    assert catalogue(Library(Context(data_dir=papers.data)), 0) == ""


def test_drafts_and_superseded_versions_are_marked(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "rules",
        {
            "fees_md": "# Fees\n\nVersion 2, valid from 1 May 2024. It costs 9 euros.",
            "fees_old_md": "# Fees\n\nSuperseded by: version 2\nIt costs 7 euros.",
            "berths_md": "# Berths\n\nDraft. There shall be 40.",
        },
    )
    library = Library(Context(docs=(folder,), data_dir=tmp_path / "data"))
    lines = catalogue(library, library.refresh().documents).splitlines()[1:-1]
    assert sorted(line.rpartition("/")[2] for line in lines) == [
        "berths.md, draft, 35 characters)",
        "fees.md, 2024-05-01, 59 characters)",
        "fees_old.md, superseded, 50 characters)",
    ]


def test_a_file_that_is_named_beside_its_folder_is_one_document(papers: Papers) -> None:
    library = papers.indexed(papers.docs, papers.docs / "salt.txt")
    assert [document.source.title for document in library.documents()] == ["Porto Alto harbour", "Velm bridge", "Salt"]
