"""Where files that were attached to messages are kept: one folder for each thread, below the data folder."""

from __future__ import annotations

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path

ATTACHMENTS = "attachments"
"""Folder of all threads' files, and key of the note in a thread's store that says where it is."""
INDEX_FILE = "index.sqlite"
"""The index of a thread's files; it stands beside their folder, so that both are deleted together."""


def attachments_folder(data_dir: Path) -> Path:
    """Return the folder of the attachments of all threads; blocks."""
    return data_dir.expanduser().resolve() / ATTACHMENTS


def thread_folder(folder: Path, thread_id: str) -> Path:
    """Return the folder of one thread's files below that of all threads; it need not exist."""
    return folder / hashlib.sha256(thread_id.encode()).hexdigest()[:32] / "attached"


def delete_files(folder: Path, thread_id: str) -> None:
    """Delete a thread's files and their index; blocks."""
    with suppress(FileNotFoundError):
        shutil.rmtree(thread_folder(folder, thread_id).parent)


def copy_files(folder: Path, source: str, target: str) -> None:
    """Give another thread its own copy of a thread's files; blocks."""
    with suppress(FileNotFoundError):
        shutil.copytree(thread_folder(folder, source), thread_folder(folder, target), dirs_exist_ok=True)
