"""The notebook, executed from its first cell to its last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def printed(cell: Any) -> str:
    outputs = cell.get("outputs", [])
    texts = [output.get("text", "") or output.get("data", {}).get("text/markdown", "") for output in outputs]
    return "".join(texts)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_runs_and_shows_what_it_says(path: Path, tmp_path: Path) -> None:
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # nbformat has no types
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not kept in the repository"
    done = NotebookClient(notebook, timeout=100, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = "".join(printed(cell) for cell in done.cells)
    assert "1. " in shown
    assert "researching:" in shown
    assert "\n[1]: <file://" in shown
    assert "finally" in printed(done.cells[-1])
