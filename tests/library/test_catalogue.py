"""The list of documents in prompts of the models that plan and search."""

from __future__ import annotations

from pathlib import Path

from kit.runs import REPORT, lab, research, write_documents

from deep_research import Context
from deep_research.core.library.library import LISTED, Library, catalogue

LIGHT = "- Skerry Light (docs:lab-documents/lighthouse.md, 94 characters)"


async def test_models_that_plan_and_search_see_the_documents(tmp_path: Path) -> None:
    run = lab(tmp_path, orchestrator=[research("When was it lit?"), REPORT])
    await run.ask()
    calls = [*run.calls("planner"), *run.calls("orchestrator"), *run.calls("researcher")]
    assert len(calls) > 4 and all(LIGHT in call.messages[0].text for call in calls)


def test_many_documents_are_listed_by_folder(tmp_path: Path) -> None:
    for number in range(LISTED + 10):
        folder = tmp_path / "papers" / ("old" if number < 30 else "new")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.md").write_text(f"# Paper {number}\n\nIt is one of many.", "utf-8")
    library = Library(Context(docs=(tmp_path / "papers",), data_dir=tmp_path / "data"))
    count = library.refresh().documents
    listed = catalogue(library, count)
    assert listed.splitlines()[1:-1] == ["- docs:papers/new: 130 documents", "- docs:papers/old: 30 documents"]
    assert catalogue(Library(Context(data_dir=tmp_path / "data")), 0) == ""


def test_drafts_and_superseded_versions_are_marked(tmp_path: Path) -> None:
    folder = tmp_path / "rules"
    folder.mkdir()
    for name, text in {
        "fees.md": "# Fees\n\nVersion 2, valid from 1 May 2024. It costs 9 euros.",
        "fees_old.md": "# Fees\n\nSuperseded by: version 2\nIt costs 7 euros.",
        "berths.md": "# Berths\n\nDraft. There shall be 40.",
    }.items():
        (folder / name).write_text(text, "utf-8")
    library = Library(Context(docs=(folder,), data_dir=tmp_path / "data"))
    lines = catalogue(library, library.refresh().documents).splitlines()[1:-1]
    assert sorted(line.rpartition("/")[2] for line in lines) == [
        "berths.md, draft, 35 characters)",
        "fees.md, 2024-05-01, 59 characters)",
        "fees_old.md, superseded, 50 characters)",
    ]


def test_a_file_that_is_named_beside_its_folder_is_one_document(tmp_path: Path) -> None:
    folder = write_documents(tmp_path / "documents")
    library = Library(Context(docs=[folder, folder / "keeper.md"], data_dir=tmp_path / "data"))
    library.refresh()
    titles = [document.source.title for document in library.documents()]
    assert sorted(titles) == ["Ada Moran", "Port Anlow", "Skerry Light", "Tides"]
