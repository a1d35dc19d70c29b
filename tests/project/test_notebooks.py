"""The notebooks, run from the first cell to the last: what they print is what is kept with them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from kit.forked import Forked
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:\w[\w.-]*/)+\w")


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call] # nbformat has no types


def printed(notebook: Any) -> list[list[str]]:
    """Return the lines that each cell prints, sorted: those of researchers at work together come in
    any order."""
    texts = [
        "".join(output.get("text", "") for output in cell.get("outputs", []))
        for cell in notebook.cells
    ]
    return [sorted(text.splitlines()) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("default")
def test_a_notebook_prints_what_is_kept_with_it(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_client.launcher.Popen", Forked)
    kept, notebook = read(path), read(path)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(
        notebook, timeout=600, coalesce_streams=True, record_timing=False, resources=resources
    ).execute()
    if os.environ.get("UPDATE_GOLDEN"):
        nbformat.write(notebook, path)  # type: ignore[no-untyped-call] # nbformat has no types
    assert printed(notebook) == printed(kept)
    assert any(printed(kept))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_names_no_path_of_the_machine_that_ran_it(path: Path) -> None:
    notebook = read(path)
    outputs = [str(cell.get("outputs", "")) for cell in notebook.cells]
    assert not [found for output in outputs for found in MACHINE_PATH.findall(output)]
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
