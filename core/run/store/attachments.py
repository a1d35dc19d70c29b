"""Folders of the files attached to messages: one per thread, below the data folder."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

ATTACHMENTS = "attachments"
"""Name of the folder for all threads, and of the note in a thread's store with its path."""
INDEX_FILE = "index.sqlite"
"""Index of a thread's files; next to their folder, so that both are deleted together."""


def attachments_folder(data_dir: Path) -> Path:
    """Return the folder for the attachments of all threads; blocks."""
    return data_dir.expanduser().resolve() / ATTACHMENTS


def thread_folder(folder: Path, thread_id: str) -> Path:
    """Return the folder of a thread's files, inside that of all threads; it need not exist."""
    return folder / hashlib.sha256(thread_id.encode()).hexdigest()[:32] / "attached"


def delete_files(folder: Path, thread_id: str) -> None:
    """Delete a thread's files and their index; blocks."""
    with suppress(FileNotFoundError):
        shutil.rmtree(thread_folder(folder, thread_id).parent)


def copy_files(folder: Path, source: str, target: str) -> None:
    """Copy a thread's files for another thread; blocks."""
    with suppress(FileNotFoundError):
        shutil.copytree(thread_folder(folder, source), thread_folder(folder, target), dirs_exist_ok=True)
